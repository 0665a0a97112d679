/* Where the matrix of bench/dispatch.c comes from: a recorded one, or a model. */
#include "bench/dispatch.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

enum { UNITS = 132, SYNTHETIC_SHAPES = 150 };

static size_t make_tiles(tile *out)
{
    static const int sizes[] = {8, 16, 32, 64, 128}, splits[] = {1, 4, 16}, vectors[] = {1, 4};
    size_t n = 0;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++)
            for (size_t c = 0; c < 3; c++)
                for (size_t d = 0; d < 2; d++)
                    out[n++] = (tile){sizes[a], sizes[b], splits[c], vectors[d]};
    return n;
}

/* Tiles run in waves over the units. A tile costs the larger of its arithmetic, the better reused the larger it is, and
 * its loads, cheaper as vectors; splitting the sum makes more tiles and adds a second pass. Nanoseconds. */
static double model_ns(const tile *t, const int64_t *dims)
{
    const double M = (double)dims[0], N = (double)dims[1], K = (double)dims[2];
    const double tiles = ceil(M / t->m) * ceil(N / t->n) * t->split, k = ceil(K / t->split);
    const double area = (double)t->m * t->n, reuse = area / (area + 24.0 * (t->m + t->n));
    const double per_unit = fmin(4, 16384.0 / area), waves = ceil(tiles / (UNITS * per_unit));
    const double arithmetic = 2 * area * k / (400 * reuse) * per_unit;
    const double loads = 4 * k * (t->m + t->n) / (t->vector == 4 ? 30.0 : 18.0) * per_unit;
    const double memory = 4 * (M * K + K * N + M * N) / 4000.0;
    const double sum = t->split > 1 ? 2500 + 4 * M * N * (t->split + 1) / 3000.0 : 0;
    return 2500 + fmax(waves * (600 + fmax(arithmetic, loads)), memory) + sum;
}

static void make_synthetic(const task *t, uint64_t seed, const task_shape *more, size_t n_more, cost_table *m)
{
    tile tiles[256];
    const size_t n_tiles = make_tiles(tiles);
    uint64_t c = 0;
    costs_init(m, t, SYNTHETIC_SHAPES + n_more, n_tiles);
    for (size_t i = 0; i < m->n_shapes; i++) {
        for (size_t d = 0; d < 3; d++) {
            const int64_t x = (int64_t)pow(2, 13 * counter_rng_unit(seed, 1, c++));
            m->shapes[i].dims[d] = counter_rng_unit(seed, 1, c++) < 0.5 ? x : (x + 7) / 8 * 8;
        }
        if (i >= SYNTHETIC_SHAPES)
            memcpy(m->shapes[i].dims, more[i - SYNTHETIC_SHAPES].dims, sizeof more->dims);
        for (size_t v = 0; v < n_tiles; v++) {
            const int64_t *dims = m->shapes[i].dims;
            const double noise = exp(0.02 * (counter_rng_unit(seed, 2, i * n_tiles + v) - 0.5));
            if (tiles[v].vector == 4 && (dims[1] % 4 != 0 || dims[2] % 4 != 0))
                costs_exclude(m, i, v);
            else
                costs_set(m, i, v, model_ns(&tiles[v], dims) * noise);
        }
    }
    costs_finish(m);
}

/* ---- plans, for the model of times ---- */

static bool plan_of(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    const columns *c = cookie;
    if (c->variants)
        return costmodel_plan_variant(c->variants[v], s, out);
    const double M = (double)s->dims[0], N = (double)s->dims[1];
    const tile *x = &c->tiles[v];
    *out = (costmodel_plan){ceil(M / x->m) * ceil(N / x->n) * x->split, x->split > 1 ? 4 * M * N * x->split : 0};
    return true;
}

static bool runs(void *cookie, size_t v, const task_shape *s)
{
    const columns *c = cookie;
    if (c->variants)
        return c->variants[v] && variant_fits(c->variants[v], s, NULL, NULL);
    return c->tiles[v].vector != 4 || (s->dims[1] % 4 == 0 && s->dims[2] % 4 == 0);
}

/* NULL where the template is gone or expands to another text now. */
static variant *expand_entry(template *const *templates, size_t n, const task_types *types, const ledger_entry *e)
{
    variant *v = NULL;
    kw_error err;
    for (size_t i = 0; i < n; i++) {
        const template *p = templates[i];
        if (strcmp(p->name, e->template_name) != 0)
            continue;
        uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
        json *j = json_parse(e->config, strlen(e->config), "config", 1, 1, &err);
        if (j && template_config_from_json(p, j, config, &err) == KW_OK &&
            variant_expand(p, types, config, NULL, &v, &err) == KW_OK && strcmp(v->hash, e->source_hash) != 0) {
            variant_free(v);
            v = NULL;
        }
        json_free(j);
        free(config);
    }
    return v;
}

/* ---- recorded ---- */

/* Places of general variants among all source hashes of a context. */
static size_t find_columns(const results_group *g, size_t n, const char **hashes, size_t capacity)
{
    size_t n_hashes = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < g[i].ledger.n; k++) {
            const ledger_entry *e = &g[i].ledger.entries[k];
            size_t h = 0;
            while (h < n_hashes && strcmp(hashes[h], e->source_hash) != 0)
                h++;
            if (h == n_hashes && n_hashes < capacity && e->ok && e->verified == VERIFIED_GENERAL)
                hashes[n_hashes++] = e->source_hash;
        }
    return n_hashes;
}

/* What was not timed counts as not able to run: a recorded matrix has every configuration on every shape that it
 * takes. */
static void read_context(const task *t, const results_group *g, size_t n, const char **hashes, size_t n_hashes,
                         cost_table *m)
{
    kw_error err = {0};
    costs_init(m, t, n, n_hashes);
    for (size_t i = 0; i < n; i++) {
        json *j = json_parse(g[i].shape, strlen(g[i].shape), "shape", 1, 1, &err);
        need(j ? task_shape_from_json(t, j, "shape", &m->shapes[i], &err) : KW_BAD_INPUT, &err);
        m->shapes[i].weight = 1;
        json_free(j);
        for (size_t k = 0; k < g[i].ledger.n; k++)
            if (g[i].ledger.entries[k].ok && g[i].ledger.entries[k].time.n > 0)
                costs_note_best(m, i, g[i].ledger.entries[k].time.median);
        for (size_t v = 0; v < m->n_variants; v++) {
            const ledger_entry *e = ledger_find(&g[i].ledger, hashes[v]);
            if (e && e->ok && e->time.n > 0)
                costs_set(m, i, v, e->time.median);
            else
                costs_exclude(m, i, v);
        }
    }
    costs_finish(m);
}

static void find_variants(const task *t, const task_types *types, const results_group *g, size_t n, const char **hashes,
                          size_t n_hashes, columns *c)
{
    kw_error err = {0};
    template **templates;
    size_t n_templates;
    need(template_find(t, NULL, 0, &templates, &n_templates, &err), &err);
    *c = (columns){.variants = mem_calloc(n_hashes + 1, sizeof *c->variants), .n = n_hashes};
    for (size_t v = 0; v < n_hashes; v++)
        for (size_t i = 0; i < n && !c->variants[v]; i++) {
            const ledger_entry *e = ledger_find(&g[i].ledger, hashes[v]);
            c->variants[v] = e ? expand_entry(templates, n_templates, types, e) : NULL;
        }
    for (size_t i = 0; i < n_templates; i++)
        template_free(templates[i]);
    free(templates);
}

/* ---- times measured again ---- */

static const results_group *group_of(const cost_table *m, size_t shape, const results_group *g, size_t n)
{
    kw_error err = {0};
    for (size_t i = 0; i < n; i++) {
        task_shape s;
        json *j = json_parse(g[i].shape, strlen(g[i].shape), "shape", 1, 1, &err);
        need(j ? task_shape_from_json(m->task, j, "shape", &s, &err) : KW_BAD_INPUT, &err);
        json_free(j);
        if (memcmp(s.dims, m->shapes[shape].dims, m->task->n_dims * sizeof *s.dims) == 0)
            return &g[i];
    }
    return NULL;
}

static double again_ns(const results_group *g, const char *hash)
{
    const ledger_entry *e = ledger_find(&g->ledger, hash);
    return e && e->ok && e->time.n > 0 ? e->time.median : NAN;
}

static void read_again(matrix_data *d, const char **hashes, const results_group *again, size_t n)
{
    const cost_table *m = &d->m;
    for (size_t i = 0; i < m->n_shapes; i++) {
        const results_group *g = group_of(m, i, again, n);
        for (size_t v = 0; v < m->n_variants; v++)
            d->again_ns[i * m->n_variants + v] = g ? again_ns(g, hashes[v]) : NAN;
    }
}

/* Variants that some shape has a second time of. */
static size_t keep_again(const results_group *again, size_t n, const char **hashes, size_t n_hashes)
{
    size_t kept = 0;
    for (size_t v = 0; v < n_hashes; v++) {
        bool timed = n == 0;
        for (size_t i = 0; i < n && !timed; i++)
            timed = !isnan(again_ns(&again[i], hashes[v]));
        if (timed)
            hashes[kept++] = hashes[v];
    }
    return kept;
}

/* ---- entry points ---- */

bool is_listed(const cost_table *m, const int64_t *dims, const task_shape *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(dims, list[i].dims, m->task->n_dims * sizeof *dims) == 0)
            return true;
    return false;
}

void synthetic_matrix(const task *t, const char *type, uint64_t seed, const task_shape *more, size_t n_more,
                      matrix_data *out)
{
    kw_error err = {0};
    *out = (matrix_data){0};
    out->source = (costmodel_source){.cookie = &out->c, .plan = plan_of, .runs = runs, .units = UNITS};
    need(task_types_parse(t, type, &out->source.types, &err), &err);
    (void)make_tiles(out->c.tiles);
    make_synthetic(t, seed, more, n_more, &out->m);
    out->luck_expected = 1;
    out->again_ns = mem_calloc(out->m.n_shapes * out->m.n_variants + 1, sizeof *out->again_ns);
    for (size_t i = 0; i < out->m.n_shapes * out->m.n_variants; i++)
        out->again_ns[i] = NAN;
}

/* Columns of which a listed shape has a time. */
static size_t keep_timed(const task *t, const results_group *g, size_t n, const char **hashes, size_t n_hashes,
                         const task_shape *list, size_t n_list)
{
    cost_table m;
    size_t kept = 0;
    read_context(t, g, n, hashes, n_hashes, &m);
    for (size_t v = 0; v < n_hashes; v++) {
        bool timed = n_list == 0;
        for (size_t i = 0; i < n && !timed; i++)
            timed = costs_known(&m, i, v) && is_listed(&m, m.shapes[i].dims, list, n_list);
        if (timed)
            hashes[kept++] = hashes[v];
    }
    costs_clear(&m);
    return kept;
}

void recorded_matrix(const task *t, const task_types *types, const results_group *g, size_t n, const task_shape *list,
                     size_t n_list, const results_group *again, size_t n_again, matrix_data *out)
{
    enum { MOST = 4096 };
    const char **hashes = mem_calloc(MOST, sizeof *hashes);
    *out = (matrix_data){0};
    size_t n_hashes = find_columns(g, n, hashes, MOST);
    n_hashes = keep_timed(t, g, n, hashes, n_hashes, list, n_list);
    n_hashes = keep_again(again, n_again, hashes, n_hashes);
    read_context(t, g, n, hashes, n_hashes, &out->m);
    find_variants(t, types, g, n, hashes, n_hashes, &out->c);
    out->source = (costmodel_source){
        .cookie = &out->c, .plan = plan_of, .runs = runs, .types = *types, .units = costmodel_units(g[0].device_key)};
    out->again_ns = mem_calloc(n * n_hashes + 1, sizeof *out->again_ns);
    read_again(out, hashes, again, n_again);
    out->luck_expected = luck_by_intervals(&out->m, g, hashes);
    free(hashes);
}

void matrix_data_clear(matrix_data *d)
{
    for (size_t v = 0; d->c.variants && v < d->c.n; v++)
        variant_free(d->c.variants[v]);
    free(d->c.variants);
    free(d->again_ns);
    costs_clear(&d->m);
}
