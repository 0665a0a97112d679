/* Neighbours one of whose parameters differs. */
#include "tuner/space_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- one parameter differs ---- */

/* Takes neighbours from number `skip` on, as many as fit. */
typedef struct sink {
    size_t n_params;
    uint32_t *out;
    size_t capacity, skip, n;
} sink;

/* The next neighbour, `config` but for one parameter. */
static void put(sink *k, const uint32_t *config, size_t param, uint32_t index)
{
    if (k->n >= k->skip && k->n - k->skip < k->capacity) {
        uint32_t *to = k->out + (k->n - k->skip) * k->n_params;
        memcpy(to, config, k->n_params * sizeof *to);
        to[param] = index;
    }
    k->n++;
}

/* Where a configuration passes through a level. */
typedef struct step {
    uint32_t node;
    const uint32_t *column; /* where its value leads from each node; NULL if the level has no table */
} step;

static inline uint32_t walk(const space_level *level, const step *at, uint32_t node, const uint32_t *config)
{
    if (at->column)
        return at->column[node];
    const space_edge *e = space_find_edge(level, node, config[level->param]);
    return e ? e->child : SPACE_NOWHERE;
}

/* false if the configuration leaves the diagram. */
static bool find_path(const space_part *part, const uint32_t *config, step *path)
{
    uint32_t node = 0;
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        size_t own = config[level->param];
        if (level->child && own >= level->n_values)
            return false;
        path[k] = (step){node, level->child ? level->child + own * level->n_nodes : NULL};
        node = walk(level, &path[k], node, config);
        if (node == SPACE_NOWHERE)
            return false;
    }
    return true;
}

/* Does the rest of the configuration, from level k on, lead from `node` to the end? It does as soon as it meets the
 * configuration's own path. */
static bool continues(const space_part *part, size_t k, uint32_t node, const uint32_t *config, const step *path)
{
    for (; k < part->n_levels && node != path[k].node; k++) {
        node = walk(&part->levels[k], &path[k], node, config);
        if (node == SPACE_NOWHERE)
            return false;
    }
    return true;
}

static bool is_step(uint32_t own, uint32_t other, bool by_one)
{
    return by_one ? other + 1 == own || other == own + 1 : other != own;
}

/* Changes each parameter of a part but for switches. Values side by side often lead to the same node. */
static void change_one(const space *s, const space_part *part, const uint32_t *config, const step *path, bool by_one,
                       sink *to)
{
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        uint32_t own = config[level->param], known = SPACE_NOWHERE;
        bool leads = false;
        if (s->is_switch && s->is_switch[level->param])
            continue;
        const space_edge *end = level->edges + level->first[path[k].node + 1];
        for (const space_edge *e = level->edges + level->first[path[k].node]; e < end; e++) {
            if (!is_step(own, e->value, by_one))
                continue;
            if (e->child != known)
                leads = continues(part, k + 1, e->child, config, path);
            known = e->child;
            if (leads)
                put(to, config, level->param, e->value);
        }
    }
}

/* Changes each switch: what no longer exists then takes its default, which what begins to exist has already. */
static void turn_switches(const space *s, const uint32_t *config, bool by_one, sink *to)
{
    size_t n = s->def.n_params;
    uint32_t *changed = mem_alloc(n * sizeof *changed);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t v = 0; s->is_switch[i] && s->fixed[i] == SPACE_VARIES && v < s->def.params[i].n_values; v++) {
            if (!is_step(config[i], v, by_one))
                continue;
            memcpy(changed, config, n * sizeof *changed);
            changed[i] = v;
            space_settle(s, changed);
            if (changed[i] == v && space_contains(s, changed)) /* a switch may itself not exist here */
                put(to, changed, i, v);
        }
    }
    free(changed);
}

static bool find_paths(const space *s, const uint32_t *config, step *paths)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        if (!find_path(&s->parts[i], config, paths))
            return false;
        paths += s->parts[i].n_levels;
    }
    return true;
}

static void one_differs(const space *s, const uint32_t *config, const step *path, bool by_one, sink *to)
{
    for (size_t i = 0; i < s->n_parts; path += s->parts[i++].n_levels)
        change_one(s, &s->parts[i], config, path, by_one, to);
    if (s->is_switch)
        turn_switches(s, config, by_one, to);
}

size_t space_neighbours(const space *s, const uint32_t *config, space_neighbourhood kind, uint32_t *out,
                        size_t capacity)
{
    step few[64];
    step *paths = s->def.n_params > 64 ? mem_alloc(s->def.n_params * sizeof *paths) : few;
    sink to = {s->def.n_params, out, capacity, 0, 0};
    if (find_paths(s, config, paths)) {
        if (kind == SPACE_ADJACENT)
            to.n = space_adjacent(s, config, out, capacity);
        else
            one_differs(s, config, paths, kind == SPACE_STRICTLY_ADJACENT, &to);
    }
    if (paths != few)
        free(paths);
    return to.n;
}

/* ---- one at random ---- */

#define TRIES 32 /* edges off the path that lead nowhere, before all are listed */

/* One of the edges that leave the path, in the order of change_one; *level gets its level. */
static const space_edge *edge_off_path(const space_part *part, const uint32_t *config, const step *path, uint64_t i,
                                       size_t *level)
{
    size_t k = 0;
    for (;; k++) {
        const space_level *l = &part->levels[k];
        uint64_t n = l->first[path[k].node + 1] - l->first[path[k].node] - 1;
        if (i < n)
            break;
        i -= n;
    }
    const space_level *l = &part->levels[k];
    const space_edge *edges = l->edges + l->first[path[k].node];
    *level = k;
    return &edges[i] < space_find_edge(l, path[k].node, config[l->param]) ? &edges[i] : &edges[i + 1];
}

static uint64_t count_edges_off_path(const space_part *part, const step *path)
{
    uint64_t n = 0;
    for (size_t k = 0; k < part->n_levels; k++)
        n += part->levels[k].first[path[k].node + 1] - part->levels[k].first[path[k].node] - 1;
    return n;
}

/* Draws among the edges that leave the path until one leads to the end: each that does is equally likely. false if none
 * of TRIES did. */
static bool draw_neighbour(const space *s, const uint32_t *config, const step *paths, uint64_t (*random64)(void *),
                           void *cookie, uint32_t *out)
{
    uint64_t total = 0;
    const step *path = paths;
    for (size_t i = 0; i < s->n_parts; path += s->parts[i++].n_levels)
        total += count_edges_off_path(&s->parts[i], path);
    for (int try = 0; try < TRIES && total > 0; try++) {
        uint64_t r = space_random_below(total, random64, cookie), n;
        size_t i = 0, k;
        for (path = paths; r >= (n = count_edges_off_path(&s->parts[i], path)); path += s->parts[i++].n_levels)
            r -= n;
        const space_part *part = &s->parts[i];
        const space_edge *e = edge_off_path(part, config, path, r, &k);
        if (!continues(part, k + 1, e->child, config, path))
            continue;
        memcpy(out, config, s->def.n_params * sizeof *out);
        out[part->levels[k].param] = e->value;
        return true;
    }
    return false;
}

static bool list_and_draw(const space *s, const uint32_t *config, const step *paths, uint64_t (*random64)(void *),
                          void *cookie, uint32_t *out)
{
    sink count = {.n_params = s->def.n_params}, one = {.n_params = s->def.n_params, .out = out, .capacity = 1};
    one_differs(s, config, paths, false, &count);
    if (count.n == 0)
        return false;
    one.skip = space_random_below(count.n, random64, cookie);
    one_differs(s, config, paths, false, &one);
    return true;
}

bool space_random_neighbour(const space *s, const uint32_t *config, uint64_t (*random64)(void *), void *cookie,
                            uint32_t *out)
{
    step few[64];
    step *paths = s->def.n_params > 64 ? mem_alloc(s->def.n_params * sizeof *paths) : few;
    bool found = find_paths(s, config, paths);
    if (found)
        found = (!s->is_switch && draw_neighbour(s, config, paths, random64, cookie, out)) ||
                list_and_draw(s, config, paths, random64, cookie, out);
    if (paths != few)
        free(paths);
    return found;
}
