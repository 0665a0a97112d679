/* Many shapes with the times that the model gives them. */
#include "tuner/costmodel_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "base/strb.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SEED 11
#define LARGEST_ALIGN 64
#define LARGEST_DIM 0x1p62

typedef struct draw {
    const cost_table *m;
    int64_t low[TASK_MAX_DIMS], high[TASK_MAX_DIMS]; /* of the measured shapes, and a little further */
    uint64_t next;
} draw;

static void find_hull(draw *d)
{
    for (size_t k = 0; k < d->m->task->n_dims; k++) {
        d->low[k] = INT64_MAX;
        for (size_t i = 0; i < d->m->n_shapes; i++) {
            const int64_t x = d->m->shapes[i].dims[k];
            d->low[k] = x < d->low[k] ? x : d->low[k];
            d->high[k] = x > d->high[k] ? x : d->high[k];
        }
        d->low[k] = (d->low[k] + COSTMODEL_REACH - 1) / COSTMODEL_REACH;
        d->high[k] = d->high[k] > INT64_MAX / COSTMODEL_REACH ? INT64_MAX : d->high[k] * COSTMODEL_REACH;
    }
}

/* Log-uniform between the bounds, and a multiple of the same power of two as `like`, as far as it is that large. */
static int64_t draw_dim(draw *d, size_t k, int64_t like)
{
    const double low = log(fmax((double)d->low[k], 1)), high = log(fmax((double)d->high[k], 1));
    const int64_t x = llround(fmin(exp(low + (high - low) * counter_rng_unit(SEED, 1, d->next++)), LARGEST_DIM));
    int64_t align = 1;
    while (align < LARGEST_ALIGN && like % (2 * align) == 0 && 2 * align <= x)
        align *= 2;
    const int64_t aligned = (x + align / 2) / align * align;
    return aligned > d->high[k] ? d->high[k] : aligned < d->low[k] ? d->low[k] : aligned;
}

/* Written and read as a user's shape, so that dims with a default get it. False: the task refuses it. */
static bool draw_shape(draw *d, task_shape *out)
{
    const task *t = d->m->task;
    const task_shape *like = &d->m->shapes[counter_rng_u64(SEED, 2, d->next++) % d->m->n_shapes];
    strb text = STRB_INIT;
    kw_error err;
    for (size_t k = 0; k < t->n_dims; k++)
        if (t->dims[k].is_key)
            strb_printf(&text, "%s%s=%" PRId64, text.length > 0 ? "," : "", t->dims[k].name,
                        draw_dim(d, k, like->dims[k]));
    const bool ok = task_shape_parse(t, strb_text(&text), out, &err) == KW_OK;
    strb_clear(&text);
    return ok;
}

const cost_table *costmodel_dense(costmodel *c)
{
    const cost_table *m = c->m;
    cost_table *dense = &c->dense;
    draw d = {.m = m};
    double weight = 0;
    if (dense->n_variants > 0)
        return dense;
    find_hull(&d);
    costs_init(dense, m->task, m->n_shapes + COSTMODEL_SHAPES, m->n_variants);
    for (size_t i = 0; i < m->n_shapes; i++) {
        dense->shapes[i] = m->shapes[i];
        dense->best_ns[i] = m->best_ns[i];
        weight += m->shapes[i].weight;
    }
    memcpy(dense->ns, m->ns, m->n_shapes * m->n_variants * sizeof *m->ns);
    dense->n_shapes = m->n_shapes;
    for (size_t i = 0; i < COSTMODEL_SHAPES; i++)
        dense->n_shapes += draw_shape(&d, &dense->shapes[dense->n_shapes]);
    for (size_t i = m->n_shapes; i < dense->n_shapes; i++)
        dense->shapes[i].weight = weight / (double)(dense->n_shapes - m->n_shapes);
    costs_finish(dense);
    return dense;
}

/* The terms of a variant on the drawn shapes, made once. The first is NaN where there is no plan, infinite where its
 * `requires` exclude the shape. */
static const double *dense_terms(costmodel *c, size_t v)
{
    const size_t first = c->m->n_shapes, n = c->dense.n_shapes - first;
    if (!c->dense_terms)
        c->dense_terms = mem_calloc(c->m->n_variants + 1, sizeof *c->dense_terms);
    if (c->dense_terms[v])
        return c->dense_terms[v];
    double *terms = c->dense_terms[v] = mem_calloc(n * COSTMODEL_TERMS + 1, sizeof *terms);
    for (size_t i = 0; i < n; i++) {
        const task_shape *s = &c->dense.shapes[first + i];
        double *to = &terms[i * COSTMODEL_TERMS];
        if (!c->source.runs(c->source.cookie, v, s))
            to[0] = INFINITY;
        else if (!costmodel_terms(c, v, s, to))
            to[0] = NAN;
    }
    return terms;
}

void costmodel_fill(costmodel *c, const portfolio *p, const bool *used)
{
    cost_table *dense = &c->dense;
    (void)costmodel_dense(c);
    const size_t first = c->m->n_shapes, n = dense->n_shapes - first;
    for (size_t i = 0; i < n; i++)
        dense->best_ns[first + i] = INFINITY;
    for (size_t i = 0; i < n * dense->n_variants; i++)
        dense->ns[first * dense->n_variants + i] = NAN;
    for (size_t k = 0; k < p->n; k++) {
        const double *terms = dense_terms(c, p->variants[k]);
        double coefficients[COSTMODEL_TERMS];
        costmodel_fit(c, p->variants[k], used, coefficients);
        for (size_t i = 0; i < n; i++)
            if (isinf(terms[i * COSTMODEL_TERMS]))
                costs_exclude(dense, first + i, p->variants[k]);
            else
                costs_set(dense, first + i, p->variants[k], costmodel_sum(coefficients, &terms[i * COSTMODEL_TERMS]));
    }
    costs_finish(dense);
}
