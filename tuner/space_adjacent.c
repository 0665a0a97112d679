/* Neighbours all of whose parameters differ by at most 1: the part of the space around a configuration is a small
 * space. */
#include "tuner/space_build.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

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

/* The preset value of a parameter that may not exist, where it is not near the parameter's own; else SPACE_VARIES. */
static uint32_t far_preset(const space *s, size_t param, const uint32_t *config)
{
    const space_param *p = &s->def.params[param];
    uint32_t preset = (uint32_t)p->preset, own = config[param];
    return !p->when || (preset <= own + 1 && own <= preset + 1) ? SPACE_VARIES : preset;
}

/* Keeps the edges of the given nodes whose value is near or `far`; replaces *nodes by the children, renumbered from 0.
 */
static void restrict_level(const space_level *level, uint32_t own, uint32_t far, uint32_t **nodes, size_t *n,
                           space_raw_level *raw)
{
    uint32_t wanted[4], n_wanted = 0;
    if (far < own)
        wanted[n_wanted++] = far;
    for (uint32_t near = own > 0 ? own - 1 : 0; near <= own + 1; near++)
        wanted[n_wanted++] = near;
    if (far > own && far != SPACE_VARIES)
        wanted[n_wanted++] = far;
    raw->param = level->param;
    raw->n_nodes = *n;
    raw->first = mem_alloc((*n + 1) * sizeof *raw->first);
    raw->first[0] = 0;
    raw->edges = mem_alloc(4 * *n * sizeof *raw->edges);
    for (size_t i = 0; i < *n; i++) {
        for (uint32_t k = 0; k < n_wanted; k++) {
            const space_edge *e = space_find_edge(level, (*nodes)[i], wanted[k]);
            if (e)
                raw->edges[raw->n_edges++] = (space_raw_edge){wanted[k], e->child};
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

static void restrict_part(const space *s, const space_part *part, const uint32_t *config, space_part *out)
{
    space_raw_level *raw = mem_calloc(part->n_levels, sizeof *raw);
    uint32_t *nodes = mem_calloc(1, sizeof *nodes);
    size_t n = 1;
    for (size_t k = 0; k < part->n_levels; k++)
        restrict_level(&part->levels[k], config[part->levels[k].param], far_preset(s, part->levels[k].param, config),
                       &nodes, &n, &raw[k]);
    space_reduce(raw, part->n_levels, SIZE_MAX, NULL, out, NULL);
    free(nodes);
    free(raw);
}

static bool has_far_preset(const space *s, const uint32_t *config)
{
    for (size_t i = 0; i < s->def.n_params; i++)
        if (s->fixed[i] == SPACE_VARIES && far_preset(s, i, config) != SPACE_VARIES)
            return true;
    return false;
}

/* A preset value that is not near is right only where the parameter does not exist. */
static bool presets_are_right(const space *s, const uint32_t *own, const uint32_t *other)
{
    for (size_t i = 0; i < s->def.n_params; i++)
        if (other[i] != own[i] && other[i] == far_preset(s, i, own) && space_param_exists(s, i, other))
            return false;
    return true;
}

/* Looks at each configuration around: there is no diagram of those that are right. */
static uint64_t list_with_presets(const space *around, const uint32_t *config, uint64_t own, uint32_t *out,
                                  size_t capacity)
{
    size_t n = around->def.n_params;
    uint64_t found = 0;
    uint32_t *other = mem_alloc(n * sizeof *other);
    for (uint64_t i = 0; i < around->count; i++) {
        if (i == own)
            continue;
        space_unrank(around, i, other);
        if (!presets_are_right(around, config, other))
            continue;
        if (found < capacity)
            memcpy(out + found * n, other, n * sizeof *other);
        found++;
    }
    free(other);
    return found;
}

size_t space_adjacent(const space *s, const uint32_t *config, uint32_t *out, size_t capacity)
{
    space around = *s;
    around.parts = mem_calloc(s->n_parts, sizeof *around.parts);
    around.count = 1;
    for (size_t i = 0; i < s->n_parts; i++) {
        restrict_part(s, &s->parts[i], config, &around.parts[i]);
        around.count = saturating_mul(around.count, around.parts[i].count);
    }
    uint64_t own = 0;
    space_rank(&around, config, &own);
    uint64_t others = around.count < UINT64_MAX ? around.count - 1 : UINT64_MAX;
    if (has_far_preset(s, config))
        others = list_with_presets(&around, config, own, out, capacity);
    else
        for (uint64_t i = 0; i < others && i < capacity; i++)
            space_unrank(&around, i < own ? i : i + 1, out + i * s->def.n_params);
    for (size_t i = 0; i < s->n_parts; i++)
        space_part_free(&around.parts[i]);
    free(around.parts);
    return others < SIZE_MAX ? (size_t)others : SIZE_MAX;
}
