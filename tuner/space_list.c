/* A space from a list of its configurations: the diagram of the sorted list, reduced. */
#include "tuner/space_build.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Row numbers in lexicographic order of the rows: one stable counting sort per parameter, the last parameter first. */
static size_t *sort_rows(const space_param *params, size_t n_params, const uint32_t *configs, size_t n)
{
    size_t *rows = mem_alloc(n * sizeof *rows), *next = mem_alloc(n * sizeof *next);
    for (size_t i = 0; i < n; i++)
        rows[i] = i;
    for (size_t p = n_params; p-- > 0;) {
        size_t *start = mem_calloc(params[p].n_values + 1, sizeof *start);
        for (size_t i = 0; i < n; i++)
            start[configs[i * n_params + p] + 1]++;
        for (size_t v = 0; v < params[p].n_values; v++)
            start[v + 1] += start[v];
        for (size_t i = 0; i < n; i++)
            next[start[configs[rows[i] * n_params + p]]++] = rows[i];
        size_t *sorted = next;
        next = rows;
        rows = sorted;
        free(start);
    }
    free(next);
    return rows;
}

/* What all rows agree in is in no level of the diagram. */
static size_t find_fixed(const uint32_t *configs, size_t n, size_t n_params, uint32_t *fixed)
{
    size_t n_varying = 0;
    for (size_t p = 0; p < n_params; p++) {
        fixed[p] = configs[p];
        for (size_t i = 1; i < n && fixed[p] != SPACE_VARIES; i++)
            if (configs[i * n_params + p] != fixed[p])
                fixed[p] = SPACE_VARIES;
        n_varying += fixed[p] == SPACE_VARIES;
    }
    return n_varying;
}

static void add_edge(space_raw_level *l, bool new_node, uint32_t wanted, uint32_t child)
{
    if (new_node)
        l->first[l->n_nodes++] = (uint32_t)l->n_edges;
    l->edges[l->n_edges++] = (space_raw_edge){wanted, child};
}

/* The tree of the sorted rows: a row shares the nodes of the one before it as far as the two agree. */
static void build_tree(const uint32_t *configs, const size_t *rows, size_t n, size_t n_params, space_raw_level *raw,
                       size_t n_levels)
{
    const uint32_t *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *row = configs + rows[i] * n_params;
        size_t k = 0;
        while (last && k < n_levels && row[raw[k].param] == last[raw[k].param])
            k++;
        for (size_t from = k; k < n_levels; k++) {
            uint32_t child = k + 1 < n_levels ? (uint32_t)raw[k + 1].n_nodes : 0;
            add_edge(&raw[k], k > from || !last, row[raw[k].param], child);
        }
        last = row;
    }
    for (size_t k = 0; k < n_levels; k++)
        raw[k].first[raw[k].n_nodes] = (uint32_t)raw[k].n_edges;
}

static void build_part(space *s, const uint32_t *configs, size_t n, size_t n_levels)
{
    size_t n_params = s->def.n_params, k = 0;
    space_raw_level *raw = mem_calloc(n_levels, sizeof *raw);
    for (size_t p = 0; p < n_params; p++)
        if (s->fixed[p] == SPACE_VARIES)
            raw[k++].param = p;
    for (k = 0; k < n_levels; k++) {
        raw[k].first = mem_alloc((n + 1) * sizeof *raw[k].first);
        raw[k].edges = mem_alloc(n * sizeof *raw[k].edges);
    }
    size_t *rows = sort_rows(s->params, n_params, configs, n);
    build_tree(configs, rows, n, n_params, raw, n_levels);
    free(rows);
    s->parts = mem_calloc(1, sizeof *s->parts);
    s->n_parts = 1;
    space_reduce(raw, n_levels, SIZE_MAX, NULL, s->parts, NULL);
    free(raw);
}

/* No constraint refers to the parameters, but space_explain fills their slots. */
static void copy_params(space *s, const space_param *params, size_t n_params)
{
    s->params = mem_alloc(n_params * sizeof *s->params);
    for (size_t i = 0; i < n_params; i++) {
        s->params[i] = params[i];
        s->params[i].slot = (int)i;
    }
    s->env = mem_calloc(n_params, sizeof *s->env);
    s->def = (space_def){s->params, n_params, NULL, 0, s->env, n_params};
}

kw_code space_of_list(const space_param *params, size_t n_params, const uint32_t *configs, size_t n, space **out,
                      kw_error *err)
{
    *out = NULL;
    if (n == 0)
        return kw_error_set(err, KW_FAILED, "no configuration is valid: the list is empty");
    if (n >= SPACE_VARIES)
        return kw_error_set(err, KW_BAD_INPUT, "a list of %zu configurations is too long", n);
    space *s = mem_calloc(1, sizeof *s);
    s->is_list = true;
    copy_params(s, params, n_params);
    s->fixed = mem_alloc(n_params * sizeof *s->fixed);
    size_t n_levels = find_fixed(configs, n, n_params, s->fixed);
    if (n_levels > 0) {
        build_part(s, configs, n, n_levels);
        space_part_index(s->parts, &s->def, SIZE_MAX);
    }
    s->count = n_levels > 0 ? s->parts[0].count : 1;
    s->bytes = sizeof *s + n_params * (sizeof *s->fixed + sizeof *s->params + sizeof *s->env);
    s->bytes += n_levels > 0 ? sizeof *s->parts + space_part_bytes(s->parts) : 0;
    *out = s;
    return KW_OK;
}
