/* The search over many shapes: its texts, and what is known of them on each shape. */
#include "tuner/tune_many_internal.h"

#include "base/mem.h"
#include "tuner/timing.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static void add_to_model(together *g, const known *k)
{
    double *features = mem_calloc(k->p->n_params + 1, sizeof *features);
    int family = 0;
    while (g->o->templates[family] != k->p)
        family++;
    for (size_t i = 0; i < k->p->n_params; i++)
        features[i] = k->p->params[i].n_values > 1 ? (double)k->config[i] / (double)(k->p->params[i].n_values - 1) : 0;
    size_t index = many_add_config(g->model, family, k->p->n_params, features);
    for (size_t i = 0; i < g->n_shapes; i++)
        if (g->shapes[i].has_arms && variant_fits(k->v, g->shapes[i].shape, &evaluator_device(g->e)->limits, NULL))
            many_allow(g->model, i, index);
    free(features);
}

size_t together_know(together *g, const template *p, const uint32_t *config)
{
    variant *v;
    if (variant_expand(p, &g->o->types, config, g->shapes[0].shape, &v, NULL) != KW_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < g->n_known; i++) {
        if (strcmp(g->known[i].v->hash, v->hash) == 0) {
            variant_free(v);
            return i;
        }
    }
    g->known = mem_grow(g->known, &g->capacity, g->n_known + 1, sizeof *g->known);
    known *k = &g->known[g->n_known];
    *k = (known){.p = p,
                 .v = v,
                 .config = mem_alloc((p->n_params + 1) * sizeof *config),
                 .config_json = template_config_text(p, config)};
    memcpy(k->config, config, p->n_params * sizeof *config);
    g->n_known++;
    add_to_model(g, k);
    return g->n_known - 1;
}

/* ---- what is known of a pair ---- */

answer together_answer(const measurement *m)
{
    return (answer){.outcome = m->outcome,
                    .ok = m->outcome == OUTCOME_OK && m->time.n > 0,
                    .batch = rows_is_batch(m),
                    .ns = m->time.median};
}

void together_note(together *g, size_t shape, size_t index, const answer *x)
{
    one_shape *s = &g->shapes[shape];
    s->batch = s->batch || (x->ok && x->ns < TIMING_BATCH_BELOW_NS);
    if (x->ok && x->ns < s->best_ns && (x->batch || !s->batch))
        s->best_ns = x->ns;
    if (index == SIZE_MAX)
        return;
    const known *k = &g->known[index];
    many_tell(g->model, shape, index, x->ok, x->ns);
    if (outcome_is_final(x->outcome))
        many_forget(g->model, index);
    arm *a = s->has_arms ? arms_find(&s->arms, k->p->name) : NULL;
    if (a)
        arms_known(a, k->config, x->ok, x->ns);
}

typedef struct reuse {
    together *g;
    size_t shape;
} reuse;

static bool reuse_row(const measurement *m, void *cookie)
{
    const reuse *r = cookie;
    together *g = r->g;
    kw_error ignored;
    const one_shape *s = &g->shapes[r->shape];
    arm *a =
        m->template_name && m->config && s->has_arms ? arms_find(&g->shapes[r->shape].arms, m->template_name) : NULL;
    json *j = a ? json_parse(m->config, strlen(m->config), "store", 1, 1, &ignored) : NULL;
    if (j && template_config_from_json(a->template, j, g->config, &ignored) == KW_OK) {
        template_specialize(a->template, false, g->config);
        size_t index = together_know(g, a->template, g->config);
        if (index != SIZE_MAX && strcmp(g->known[index].v->hash, m->source_hash) == 0) {
            bool first = many_is_free(g->model, r->shape, index);
            const answer x = together_answer(m);
            together_note(g, r->shape, index, &x);
            g->n += first;
            g->out->reused += first;
        }
    }
    json_free(j);
    return true;
}

kw_code together_reuse(together *g, kw_error *err)
{
    kw_code code = KW_OK;
    reuse r = {.g = g};
    for (r.shape = 0; code == KW_OK && r.shape < g->n_shapes; r.shape++) {
        store_query q = rows_query(&g->shapes[r.shape].rows);
        code = store_each(g->s, &q, reuse_row, &r, err);
    }
    return code;
}
