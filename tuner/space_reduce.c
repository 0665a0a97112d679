/* From the bottom up: drops edges that lead nowhere, merges nodes with the same edges, and counts. */
#include "tuner/space_build.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEAD UINT32_MAX

/* What the level above needs to know of the nodes below it. */
typedef struct below {
    uint32_t *node_of; /* raw node -> node, DEAD */
    uint64_t *count;   /* per node */
    double *weight;
} below;

typedef struct work {
    space_level *level;
    size_t capacity; /* of level->edges */
    size_t first_capacity, count_capacity, weight_capacity;
    uint32_t *slots; /* hash table of node + 1 */
    size_t n_slots;
    below here;
} work;

static uint64_t hash_edges(const space_edge *edges, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((uint64_t)edges[i].value << 32 | edges[i].child)) * 0x9e3779b97f4a7c15u + (h >> 29);
    return counter_mix(h);
}

static void grow_slots(work *w)
{
    w->n_slots = w->n_slots ? 2 * w->n_slots : 64;
    free(w->slots);
    w->slots = mem_calloc(w->n_slots, sizeof *w->slots);
    const space_level *l = w->level;
    for (size_t i = 0; i < l->n_nodes; i++) {
        size_t at = hash_edges(l->edges + l->first[i], l->first[i + 1] - l->first[i]) & (w->n_slots - 1);
        while (w->slots[at])
            at = (at + 1) & (w->n_slots - 1);
        w->slots[at] = (uint32_t)(i + 1);
    }
}

/* The node whose edges are the n ones that lie behind those of the last node: an earlier equal one, or a new one. */
static uint32_t find_or_add_node(work *w, size_t n)
{
    space_level *l = w->level;
    if (2 * (l->n_nodes + 1) > w->n_slots)
        grow_slots(w);
    const space_edge *edges = l->edges + l->first[l->n_nodes];
    size_t at = hash_edges(edges, n) & (w->n_slots - 1);
    for (; w->slots[at]; at = (at + 1) & (w->n_slots - 1)) {
        uint32_t node = w->slots[at] - 1;
        const space_edge *other = l->edges + l->first[node];
        if (l->first[node + 1] - l->first[node] == n && memcmp(other, edges, n * sizeof *edges) == 0)
            return node;
    }
    l->n_nodes++;
    l->first = mem_grow(l->first, &w->first_capacity, l->n_nodes + 1, sizeof *l->first);
    l->first[l->n_nodes] = l->first[l->n_nodes - 1] + (uint32_t)n;
    w->slots[at] = (uint32_t)l->n_nodes;
    return (uint32_t)(l->n_nodes - 1);
}

/* One raw node: DEAD or its number. */
static uint32_t reduce_node(work *w, const space_raw_level *raw, size_t raw_node, const below *next)
{
    space_level *l = w->level;
    size_t from = raw->first[raw_node], to = raw->first[raw_node + 1], n = 0;
    uint64_t count = 0;
    double weight = 0;
    l->edges = mem_grow(l->edges, &w->capacity, l->first[l->n_nodes] + (to - from), sizeof *l->edges);
    space_edge *edges = l->edges + l->first[l->n_nodes];
    for (size_t i = from; i < to; i++) {
        uint32_t child = next->node_of[raw->edges[i].child];
        if (child == DEAD)
            continue;
        edges[n++] = (space_edge){raw->edges[i].value, child, count};
        count = saturating_add(count, next->count[child]);
        weight += next->weight[child];
    }
    if (n == 0)
        return DEAD;
    size_t known = l->n_nodes;
    uint32_t node = find_or_add_node(w, n);
    if (l->n_nodes > known) {
        w->here.count = mem_grow(w->here.count, &w->count_capacity, l->n_nodes, sizeof *w->here.count);
        w->here.weight = mem_grow(w->here.weight, &w->weight_capacity, l->n_nodes, sizeof *w->here.weight);
        w->here.count[node] = count;
        w->here.weight[node] = weight;
    }
    return node;
}

static void free_below(below *b)
{
    free(b->node_of);
    free(b->count);
    free(b->weight);
}

#define CHECK_EVERY 4096 /* nodes between two looks at the watch */

static kw_code check(const work *w, size_t i, size_t max_bytes, const space_watch *watch, kw_error *err)
{
    if (w->capacity * sizeof *w->level->edges > max_bytes)
        return kw_error_set(err, KW_BAD_INPUT, "the search space needs more than %zu MiB; list fewer values",
                            max_bytes >> 20);
    return watch && i % CHECK_EVERY == 0 ? space_watch_check(watch, err) : KW_OK;
}

/* Reduces one level and replaces *next. The level keeps the weights. */
static kw_code reduce_level(space_raw_level *raw, space_level *level, below *next, size_t max_bytes,
                            const space_watch *watch, kw_error *err)
{
    work w = {.level = level};
    level->param = raw->param;
    level->first = mem_grow(NULL, &w.first_capacity, 1, sizeof *level->first);
    level->first[0] = 0;
    w.here.node_of = mem_alloc(raw->n_nodes * sizeof *w.here.node_of);
    kw_code code = KW_OK;
    for (size_t i = 0; i < raw->n_nodes && code == KW_OK; i++) {
        w.here.node_of[i] = reduce_node(&w, raw, i, next);
        code = check(&w, i, max_bytes, watch, err);
    }
    free(w.slots);
    free(raw->first);
    free(raw->edges);
    raw->first = NULL;
    raw->edges = NULL;
    level->edges = mem_realloc(level->edges, level->first[level->n_nodes] * sizeof *level->edges);
    level->weight = mem_alloc(level->n_nodes * sizeof *level->weight);
    if (level->n_nodes)
        memcpy(level->weight, w.here.weight, level->n_nodes * sizeof *level->weight);
    free_below(next);
    *next = w.here;
    return code;
}

kw_code space_reduce(space_raw_level *raw, size_t n_levels, size_t max_bytes, const space_watch *watch, space_part *out,
                     kw_error *err)
{
    below next = {mem_calloc(1, sizeof(uint32_t)), mem_alloc(sizeof(uint64_t)), mem_alloc(sizeof(double))};
    next.count[0] = 1;
    next.weight[0] = 1;
    out->levels = mem_calloc(n_levels, sizeof *out->levels);
    out->n_levels = n_levels;
    kw_code code = KW_OK;
    for (size_t k = n_levels; k-- > 0;) {
        if (code == KW_OK) {
            code = reduce_level(&raw[k], &out->levels[k], &next, max_bytes, watch, err);
            size_t bytes = out->levels[k].first[out->levels[k].n_nodes] * sizeof(space_edge);
            max_bytes -= bytes < max_bytes ? bytes : max_bytes;
        }
        free(raw[k].first);
        free(raw[k].edges);
        raw[k] = (space_raw_level){0};
    }
    bool alive = code == KW_OK && next.node_of[0] != DEAD;
    out->count = alive ? next.count[0] : 0;
    free_below(&next);
    if (!alive) {
        space_part_free(out);
        return code;
    }
    for (size_t k = 0; k < n_levels && out->count < UINT64_MAX; k++) {
        free(out->levels[k].weight);
        out->levels[k].weight = NULL;
    }
    return KW_OK;
}
