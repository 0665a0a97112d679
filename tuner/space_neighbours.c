#include "tuner/space_build.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- one parameter differs ---- */

typedef struct sink {
    size_t n_params;
    const uint32_t *config;
    uint32_t *out;
    size_t capacity, n;
} sink;

static void put(sink *k, size_t param, uint32_t index)
{
    if (k->n < k->capacity) {
        uint32_t *to = k->out + k->n * k->n_params;
        memcpy(to, k->config, k->n_params * sizeof *to);
        to[param] = index;
    }
    k->n++;
}

/* The nodes that the configuration passes through. false if it leaves the diagram. */
static bool find_path(const space_part *part, const uint32_t *config, uint32_t *path)
{
    uint32_t node = 0;
    for (size_t k = 0; k < part->n_levels; k++) {
        path[k] = node;
        const space_edge *e = space_find_edge(&part->levels[k], node, config[part->levels[k].param]);
        if (!e)
            return false;
        node = e->child;
    }
    return true;
}

/* Does the rest of the configuration, from level k on, lead from `node` to the end? It does as soon as it meets the
 * configuration's own path. */
static bool continues(const space_part *part, size_t k, uint32_t node, const uint32_t *config, const uint32_t *path)
{
    for (; k < part->n_levels; k++) {
        if (node == path[k])
            return true;
        const space_edge *e = space_find_edge(&part->levels[k], node, config[part->levels[k].param]);
        if (!e)
            return false;
        node = e->child;
    }
    return true;
}

static void change_one(const space_part *part, const uint32_t *config, const uint32_t *path, bool by_one, sink *to)
{
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        uint32_t own = config[level->param];
        for (uint32_t i = level->first[path[k]]; i < level->first[path[k] + 1]; i++) {
            const space_edge *e = &level->edges[i];
            bool candidate = by_one ? e->value + 1 == own || e->value == own + 1 : e->value != own;
            if (candidate && continues(part, k + 1, e->child, config, path))
                put(to, level->param, e->value);
        }
    }
}

static bool find_paths(const space *s, const uint32_t *config, uint32_t *paths)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        if (!find_path(&s->parts[i], config, paths))
            return false;
        paths += s->parts[i].n_levels;
    }
    return true;
}

/* ---- every parameter differs by at most 1: the part of the space around a configuration is a small space ---- */

static int compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t sort_unique(uint32_t *items, size_t n)
{
    qsort(items, n, sizeof *items, compare_u32);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || items[i] != items[kept - 1])
            items[kept++] = items[i];
    return kept;
}

/* Keeps the edges of the given nodes whose value is near; replaces *nodes by the children, renumbered from 0. */
static void restrict_level(const space_level *level, uint32_t own, uint32_t **nodes, size_t *n, space_raw_level *raw)
{
    raw->param = level->param;
    raw->n_nodes = *n;
    raw->first = mem_alloc((*n + 1) * sizeof *raw->first);
    raw->first[0] = 0;
    raw->edges = mem_alloc(3 * *n * sizeof *raw->edges);
    for (size_t i = 0; i < *n; i++) {
        for (uint32_t near = own > 0 ? own - 1 : 0; near <= own + 1; near++) {
            const space_edge *e = space_find_edge(level, (*nodes)[i], near);
            if (e)
                raw->edges[raw->n_edges++] = (space_raw_edge){near, e->child};
        }
        raw->first[i + 1] = (uint32_t)raw->n_edges;
    }
    uint32_t *children = mem_alloc(raw->n_edges * sizeof *children);
    for (size_t i = 0; i < raw->n_edges; i++)
        children[i] = raw->edges[i].child;
    *n = sort_unique(children, raw->n_edges);
    for (size_t i = 0; i < raw->n_edges; i++) {
        const uint32_t *at = bsearch(&raw->edges[i].child, children, *n, sizeof *children, compare_u32);
        raw->edges[i].child = (uint32_t)(at - children);
    }
    free(*nodes);
    *nodes = children;
}

static void restrict_part(const space_part *part, const uint32_t *config, space_part *out)
{
    space_raw_level *raw = mem_calloc(part->n_levels, sizeof *raw);
    uint32_t *nodes = mem_calloc(1, sizeof *nodes);
    size_t n = 1;
    for (size_t k = 0; k < part->n_levels; k++)
        restrict_level(&part->levels[k], config[part->levels[k].param], &nodes, &n, &raw[k]);
    space_reduce(raw, part->n_levels, SIZE_MAX, out);
    free(nodes);
    free(raw);
}

static size_t adjacent(const space *s, const uint32_t *config, uint32_t *out, size_t capacity)
{
    space around = *s;
    around.parts = mem_calloc(s->n_parts, sizeof *around.parts);
    around.count = 1;
    for (size_t i = 0; i < s->n_parts; i++) {
        restrict_part(&s->parts[i], config, &around.parts[i]);
        around.count = saturating_mul(around.count, around.parts[i].count);
    }
    uint64_t own = 0;
    space_rank(&around, config, &own);
    uint64_t others = around.count < UINT64_MAX ? around.count - 1 : UINT64_MAX;
    for (uint64_t i = 0; i < others && i < capacity; i++)
        space_unrank(&around, i < own ? i : i + 1, out + i * s->def.n_params);
    for (size_t i = 0; i < s->n_parts; i++)
        space_part_free(&around.parts[i]);
    free(around.parts);
    return others < SIZE_MAX ? (size_t)others : SIZE_MAX;
}

size_t space_neighbours(const space *s, const uint32_t *config, space_neighbourhood kind, uint32_t *out,
                        size_t capacity)
{
    uint32_t few[64];
    uint32_t *paths = s->def.n_params > 64 ? mem_alloc(s->def.n_params * sizeof *paths) : few;
    sink to = {s->def.n_params, config, out, capacity, 0};
    if (find_paths(s, config, paths)) {
        const uint32_t *path = paths;
        for (size_t i = 0; i < s->n_parts && kind != SPACE_ADJACENT; i++) {
            change_one(&s->parts[i], config, path, kind == SPACE_STRICTLY_ADJACENT, &to);
            path += s->parts[i].n_levels;
        }
        if (kind == SPACE_ADJACENT)
            to.n = adjacent(s, config, out, capacity);
    }
    if (paths != few)
        free(paths);
    return to.n;
}
