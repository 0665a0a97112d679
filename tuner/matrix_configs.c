/* Which configurations a recorded matrix has: those of the store, drawn ones, proposed ones. */
#include "tuner/matrix_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 1000 /* tries for one new configuration */
#define ASKS 50

/* ---- columns ---- */

/* No size is a constant: one text serves all shapes. */
static bool is_general(const template *p, const uint32_t *config)
{
    uint32_t *other = mem_alloc((p->n_params + 1) * sizeof *other);
    memcpy(other, config, p->n_params * sizeof *other);
    template_specialize(p, false, other);
    bool same = memcmp(other, config, p->n_params * sizeof *other) == 0;
    free(other);
    return same;
}

static column *find_column(const matrix *m, const char *config_json)
{
    for (size_t i = 0; i < m->n_columns; i++)
        if (strcmp(m->columns[i]->config_json, config_json) == 0)
            return m->columns[i];
    return NULL;
}

static bool has_text(const matrix *m, const char *hash)
{
    for (size_t i = 0; i < m->n_columns; i++)
        if (m->columns[i]->v && strcmp(m->columns[i]->v->hash, hash) == 0)
            return true;
    return false;
}

static void free_column(column *c)
{
    variant_free(c->v);
    free(c->config_json);
    free(c->cells);
    free(c);
}

void matrix_clear_columns(matrix *m)
{
    for (size_t i = 0; i < m->n_columns; i++)
        free_column(m->columns[i]);
    free(m->columns);
    for (size_t i = 0; m->shapes && i < m->o->n_shapes; i++) {
        strategy_stop(m->shapes[i].strategy);
        space_free(m->shapes[i].space);
    }
}

/* NULL when it is there already, expands to a text that is, or fits no shape. */
static column *add_column(matrix *m, const uint32_t *config)
{
    const size_t n = m->o->n_shapes;
    char *config_json = template_config_text(m->p, config);
    if (find_column(m, config_json)) {
        free(config_json);
        return NULL;
    }
    column *c = mem_calloc(1, sizeof *c + m->p->n_params * sizeof *c->config);
    memcpy(c->config, config, m->p->n_params * sizeof *config);
    c->config_json = config_json;
    c->cells = mem_calloc(n, sizeof *c->cells);
    kw_error ignored;
    size_t fits = 0;
    bool expands = variant_expand(m->p, &m->o->tune.types, config, m->o->shapes, &c->v, &ignored) == KW_OK;
    for (size_t i = 0; expands && i < n; i++) {
        bool fit = variant_fits(c->v, &m->o->shapes[i], &evaluator_device(m->e)->limits, NULL);
        c->cells[i].state = fit ? CELL_OPEN : CELL_UNFIT;
        fits += fit;
    }
    if (fits == 0 || has_text(m, c->v->hash)) {
        free_column(c);
        return NULL;
    }
    m->columns = mem_grow(m->columns, &m->capacity, m->n_columns + 1, sizeof *m->columns);
    m->columns[m->n_columns++] = c;
    return c;
}

/* ---- cells ---- */

bool matrix_is_open(const matrix *m, const column *c, size_t shape)
{
    const cell *x = &c->cells[shape];
    return !c->failed && (x->state == CELL_OPEN || (x->state == CELL_OK && m->shapes[shape].batch && !x->batch));
}

void matrix_note(matrix *m, column *c, size_t shape, const measurement *row)
{
    matrix_shape *s = &m->shapes[shape];
    cell *x = &c->cells[shape];
    if (row->outcome != OUTCOME_OK) {
        c->failed = c->failed || outcome_is_final(row->outcome);
        x->state = CELL_FAILED;
        return;
    }
    c->any_ok = true;
    c->general = c->general || row->verified == VERIFIED_GENERAL;
    bool batch = rows_is_batch(row);
    if (x->state == CELL_FAILED || row->time.n == 0 || (x->state == CELL_OK && x->batch && !batch))
        return;
    x->state = CELL_OK;
    x->batch = batch;
    x->ns = row->time.median;
    s->batch = s->batch || x->ns < TIMING_BATCH_BELOW_NS;
    if (x->ns < s->best_ns)
        s->best_ns = x->ns;
}

/* ---- the store's ---- */

typedef struct reuse {
    matrix *m;
    size_t shape;
    uint32_t *config;
} reuse;

static bool reuse_row(const measurement *row, void *cookie)
{
    reuse *r = cookie;
    matrix *m = r->m;
    column *c = row->config ? find_column(m, row->config) : NULL;
    if (!c) {
        kw_error ignored;
        json *j = row->config ? json_parse(row->config, strlen(row->config), "store", 1, 1, &ignored) : NULL;
        if (j && template_config_from_json(m->p, j, r->config, &ignored) == KW_OK && is_general(m->p, r->config))
            c = add_column(m, r->config);
        json_free(j);
    }
    if (c && strcmp(c->v->hash, row->source_hash) == 0) /* else the template has changed since */
        matrix_note(m, c, r->shape, row);
    return true;
}

kw_code matrix_reuse(matrix *m, kw_error *err)
{
    reuse r = {.m = m, .config = mem_calloc(m->p->n_params + 1, sizeof *r.config)};
    kw_code code = KW_OK;
    for (r.shape = 0; code == KW_OK && r.shape < m->o->n_shapes; r.shape++) {
        store_query q = rows_query(&m->shapes[r.shape].rows);
        q.template_name = m->p->name;
        code = store_each(m->s, &q, reuse_row, &r, err);
    }
    free(r.config);
    for (size_t i = 0; i < m->n_columns; i++) {
        column *c = m->columns[i];
        bool failed = false;
        for (size_t k = 0; k < m->o->n_shapes; k++)
            failed = failed || c->cells[k].state == CELL_FAILED;
        c->failed = c->failed || (failed && !c->any_ok); /* it did not get through what comes before the shapes */
    }
    return code;
}

/* ---- new ones ---- */

typedef struct draw {
    uint64_t seed, n, at;
} draw;

static uint64_t draw64(void *cookie)
{
    draw *d = cookie;
    return counter_rng_u64(d->seed, 31337 + d->n, d->at++);
}

kw_code matrix_open_spaces(matrix *m, kw_error *err)
{
    size_t made = 0;
    kw_error why;
    kw_error_clear(&why);
    for (size_t i = 0; i < m->o->n_shapes; i++) {
        kw_code code = space_of_template(m->p, &m->o->tune.types, &evaluator_device(m->e)->limits, &m->o->shapes[i],
                                         &m->shapes[i].space, &why);
        if (code != KW_OK && code != KW_FAILED)
            return kw_error_set(err, code, "%s: %s", m->p->name, why.message);
        if (code != KW_OK)
            m->shapes[i].space = NULL;
        made += code == KW_OK;
    }
    return made > 0 ? KW_OK
                    : kw_error_set(err, KW_FAILED, "%s has no valid configuration for any of the shapes: %s",
                                   m->p->name, why.message);
}

/* The n-th drawn one is the same in every run: then those of the store are met again, and passed over. */
static column *draw_column(matrix *m, uint32_t *config)
{
    for (size_t tries = 0; tries < DRAWS; tries++) {
        draw d = {.seed = m->o->tune.seed, .n = m->n_drawn};
        const space *s = m->shapes[m->n_drawn++ % m->o->n_shapes].space;
        if (!s)
            continue;
        space_sample(s, draw64, &d, config);
        template_specialize(m->p, false, config);
        column *c = space_contains(s, config) ? add_column(m, config) : NULL;
        if (c)
            return c;
    }
    return NULL;
}

void matrix_tell(matrix *m, const column *c, size_t shape)
{
    matrix_shape *s = &m->shapes[shape];
    const cell *x = &c->cells[shape];
    if (!s->strategy || x->state == CELL_UNFIT)
        return;
    if (c->failed || x->state == CELL_FAILED)
        strategy_known(s->strategy, c->config, false, 0);
    else if (x->state == CELL_OK && x->batch == s->batch)
        strategy_known(s->strategy, c->config, true, x->ns);
}

static void start_strategies(matrix *m)
{
    m->has_strategies = true;
    for (size_t i = 0; i < m->o->n_shapes; i++) {
        matrix_shape *s = &m->shapes[i];
        if (!s->space)
            continue;
        strategy_options o = {.seed = m->o->tune.seed + i, .budget = m->o->n_configs};
        s->strategy = strategy_start(m->o->tune.strategy, s->space, &o);
        for (size_t k = 0; k < m->n_columns; k++)
            matrix_tell(m, m->columns[k], i);
    }
}

static column *propose_column(matrix *m, uint32_t *config)
{
    if (!m->has_strategies)
        start_strategies(m);
    for (size_t tries = 0; tries < ASKS; tries++) {
        const matrix_shape *s = &m->shapes[m->n_proposed % m->o->n_shapes];
        if (!s->strategy || (tries > 0 && tries % 10 == 0)) {
            m->n_proposed++; /* this shape has no idea */
            continue;
        }
        if (!strategy_ask(s->strategy, config))
            continue;
        template_specialize(m->p, false, config);
        column *c = space_contains(s->space, config) ? add_column(m, config) : NULL;
        if (!c)
            continue;
        m->n_proposed++;
        return c;
    }
    return draw_column(m, config);
}

column *matrix_new_column(matrix *m)
{
    if (m->n_columns >= m->o->n_configs || m->exhausted)
        return NULL;
    uint32_t *config = mem_calloc(m->p->n_params + 1, sizeof *config);
    template_default(m->p, config);
    template_specialize(m->p, false, config);
    column *c = m->n_columns == 0 ? add_column(m, config) : NULL;
    if (!c)
        c = m->n_columns < (m->o->n_configs + 1) / 2 ? draw_column(m, config) : propose_column(m, config);
    m->exhausted = !c;
    free(config);
    return c;
}
