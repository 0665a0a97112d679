#include "tuner/costmodel_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 6       /* of reweighting */
#define SWEEPS 400     /* of coordinate descent */
#define SETTLED 1e-7   /* relative change of a coefficient at which it ends */
#define SHRINKAGE 0.3  /* weight of the mean shares of all variants, in measured shapes */
#define RIDGE 1e-6     /* the same of zero, while they are not known: collinear terms share */
#define HUBER 0.3      /* a logarithm that is further off counts less */
#define LEAST_FIT 1e-3 /* predicted over measured, below which logarithms are cut */
#define LARGEST_STEP 4096

/* ---- terms ---- */

bool costmodel_plan_variant(const variant *v, const task_shape *s, costmodel_plan *out)
{
    plan p;
    kw_error err;
    if (!v || plan_make(v, s, NULL, NULL, &p, &err) != KW_OK)
        return false;
    *out = (costmodel_plan){0};
    if (p.n_launches > 0) {
        out->groups = 1;
        for (size_t i = 0; i < p.launches[0].rank; i++)
            out->groups *= (double)p.launches[0].groups[i];
    }
    for (size_t i = 0; i < p.n_temps; i++)
        out->temp_bytes += (double)p.temp_bytes[i];
    return true;
}

double costmodel_units(const char *device_key)
{
    const char *last = device_key ? strrchr(device_key, '/') : NULL;
    char *end = NULL;
    const double units = last ? strtod(last + 1, &end) : 0;
    return end && *end == '\0' && isfinite(units) && units >= 1 ? units : 1;
}

static bool groups_at(const costmodel *c, size_t v, const task_shape *base, size_t dim, int64_t x, double *groups)
{
    task_shape s = *base;
    costmodel_plan at;
    s.dims[dim] = x;
    if (!c->source.plan(c->source.cookie, v, &s, &at))
        return false;
    *groups = at.groups;
    return true;
}

/* The step of a dim in which the number of groups grows: the largest x that needs no more of them than 1 does, if 2 x
 * and 2 x + 1 differ as well; else 1. */
static int64_t find_step(const costmodel *c, size_t v, const task_shape *base, size_t dim)
{
    double one, at, more;
    int64_t low = 1, high = 1;
    if (!groups_at(c, v, base, dim, 1, &one))
        return 1;
    do {
        high *= 2;
        if (high > LARGEST_STEP || !groups_at(c, v, base, dim, high, &at))
            return 1;
    } while (at == one);
    for (low = high / 2; high - low > 1;) {
        const int64_t middle = low + (high - low) / 2;
        if (!groups_at(c, v, base, dim, middle, &at))
            return 1;
        if (at == one)
            low = middle;
        else
            high = middle;
    }
    if (!groups_at(c, v, base, dim, 2 * low, &at) || !groups_at(c, v, base, dim, 2 * low + 1, &more))
        return 1;
    return at != more ? low : 1;
}

/* Work of a shape: the task's flops, else its bytes, else the product of its key dims. */
static double work_of(const costmodel *c, const task_shape *s)
{
    const task *t = c->m->task;
    double work = task_flops(t, &c->source.types, s);
    if (!(work > 0 && isfinite(work)))
        work = task_bytes(t, &c->source.types, s);
    if (work > 0 && isfinite(work))
        return work;
    work = 1;
    for (size_t d = 0; d < t->n_dims; d++)
        if (t->dims[d].is_key)
            work *= fmax((double)s->dims[d], 1);
    return work;
}

bool costmodel_facts_of(const costmodel *c, size_t v, const task_shape *s, costmodel_facts *out)
{
    const task *t = c->m->task;
    costmodel_plan at;
    task_shape padded = *s;
    if (!c->source.plan(c->source.cookie, v, s, &at))
        return false;
    for (size_t d = 0; d < t->n_dims; d++) {
        const int64_t step = c->steps[v * TASK_MAX_DIMS + d];
        if (t->dims[d].is_key && step > 1 && s->dims[d] < INT64_MAX / 2)
            padded.dims[d] = (s->dims[d] + step - 1) / step * step;
    }
    *out = (costmodel_facts){fmax(at.groups, 1), at.temp_bytes, work_of(c, &padded)};
    return true;
}

double costmodel_bytes(const costmodel *c, const task_shape *s)
{
    const double bytes = task_bytes(c->m->task, &c->source.types, s);
    return isfinite(bytes) ? bytes : 0;
}

void costmodel_terms_of(const costmodel *c, const costmodel_facts *x, double bytes, double *out)
{
    static const double at_once[] = {1, 2, 4, 8};
    const double units = fmax(c->source.units, 1), each = x->work / x->groups;
    size_t n = 0;
    out[n++] = 1;
    out[n++] = each;
    for (size_t i = 0; i < 4; i++)
        out[n++] = ceil(x->groups / (units * at_once[i])) * each;
    out[n++] = ceil(x->groups / units);
    out[n++] = ceil(x->groups / (4 * units));
    out[n++] = bytes;
    out[n++] = x->temp_bytes;
    out[n++] = x->groups / units * each;
}

bool costmodel_terms(const costmodel *c, size_t v, const task_shape *s, double *out)
{
    costmodel_facts x;
    if (!costmodel_facts_of(c, v, s, &x))
        return false;
    costmodel_terms_of(c, &x, costmodel_bytes(c, s), out);
    return true;
}

/* ---- the fit ---- */

typedef struct equations {
    double h[COSTMODEL_TERMS][COSTMODEL_TERMS], g[COSTMODEL_TERMS];
} equations;

/* Minimises x'Hx / 2 - g'x with x >= 0 by coordinates, one after the other (V. Franc, V. Hlavac, M. Navara, Sequential
 * coordinate-wise algorithm for the non-negative least squares problem, CAIP 2005). */
static void solve(const equations *e, double *x)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double change = 0, size = 0;
        for (size_t i = 0; i < COSTMODEL_TERMS; i++) {
            double slope = -e->g[i];
            for (size_t k = 0; k < COSTMODEL_TERMS; k++)
                slope += e->h[i][k] * x[k];
            const double to = e->h[i][i] > 0 ? fmax(0, x[i] - slope / e->h[i][i]) : 0;
            change = fmax(change, fabs(to - x[i]));
            size = fmax(size, to);
            x[i] = to;
        }
        if (change <= SETTLED * size)
            break;
    }
}

/* One measured shape: its terms over its time and the scales of the terms, so that their sum shall be 1. `weight` makes
 * the squared error that of the logarithm, as Huber counts it. */
static void add_row(equations *e, const double *row, double weight)
{
    for (size_t i = 0; i < COSTMODEL_TERMS; i++) {
        e->g[i] += weight * row[i];
        for (size_t k = 0; k < COSTMODEL_TERMS; k++)
            e->h[i][k] += weight * row[i] * row[k];
    }
}

static double weight_of(const double *row, const double *x)
{
    double fit = 0;
    for (size_t i = 0; i < COSTMODEL_TERMS; i++)
        fit += row[i] * x[i];
    fit = fmax(fit, LEAST_FIT);
    const double far = fabs(log(fit)), share = fabs(fit - 1) > 1e-9 ? far / fabs(fit - 1) : 1;
    return share * share * (far > HUBER ? HUBER / far : 1);
}

/* Rows of the shapes that count, scaled; returns how many. */
static size_t gather(const costmodel *c, size_t v, const bool *used, double *rows, double *scale)
{
    const cost_table *m = c->m;
    size_t n = 0;
    memset(scale, 0, COSTMODEL_TERMS * sizeof *scale);
    for (size_t s = 0; s < m->n_shapes; s++) {
        const double *terms = &c->terms[(s * m->n_variants + v) * COSTMODEL_TERMS];
        if ((used && !used[s]) || !costs_known(m, s, v) || isnan(terms[0]))
            continue;
        for (size_t i = 0; i < COSTMODEL_TERMS; i++) {
            rows[n * COSTMODEL_TERMS + i] = terms[i] / m->ns[s * m->n_variants + v];
            scale[i] += rows[n * COSTMODEL_TERMS + i] * rows[n * COSTMODEL_TERMS + i];
        }
        n++;
    }
    for (size_t i = 0; i < COSTMODEL_TERMS; i++) {
        scale[i] = sqrt(scale[i] / (n > 0 ? (double)n : 1));
        for (size_t k = 0; k < n && scale[i] > 0; k++)
            rows[k * COSTMODEL_TERMS + i] /= scale[i];
    }
    return n;
}

/* `prior` are shares that the terms are expected to have; NULL: zeros, which hardly count. `shares` are those found,
 * `out` the coefficients: all zeros if no shape took part. Returns how many did. */
static size_t fit(const costmodel *c, size_t v, const bool *used, const double *prior, double *out, double *shares)
{
    double *rows = mem_calloc(c->m->n_shapes * COSTMODEL_TERMS + 1, sizeof *rows), scale[COSTMODEL_TERMS];
    const size_t n = gather(c, v, used, rows, scale);
    const double pull = prior ? SHRINKAGE : RIDGE;
    double x[COSTMODEL_TERMS] = {0};
    for (int round = 0; round < ROUNDS && n > 0; round++) {
        equations e = {0};
        for (size_t k = 0; k < n; k++)
            add_row(&e, &rows[k * COSTMODEL_TERMS], round == 0 ? 1 : weight_of(&rows[k * COSTMODEL_TERMS], x));
        for (size_t i = 0; i < COSTMODEL_TERMS; i++) {
            e.h[i][i] += scale[i] > 0 ? pull : 0;
            e.g[i] += prior && scale[i] > 0 ? pull * prior[i] : 0;
        }
        solve(&e, x);
    }
    for (size_t i = 0; i < COSTMODEL_TERMS; i++)
        out[i] = scale[i] > 0 ? x[i] / scale[i] : 0;
    memcpy(shares, x, sizeof x);
    free(rows);
    return n;
}

/* The mean of the variants that were timed on at least half as many shapes as any. */
static bool find_mean(costmodel *c)
{
    const size_t n_variants = c->m->n_variants;
    double *all = mem_calloc(n_variants * COSTMODEL_TERMS + 1, sizeof *all);
    size_t *n = mem_calloc(n_variants + 1, sizeof *n), most = 0, counted = 0;
    double ignored[COSTMODEL_TERMS];
    for (size_t v = 0; v < n_variants; v++) {
        n[v] = fit(c, v, NULL, NULL, ignored, &all[v * COSTMODEL_TERMS]);
        most = n[v] > most ? n[v] : most;
    }
    for (size_t v = 0; v < n_variants && most > 0; v++) {
        if (2 * n[v] < most)
            continue;
        counted++;
        for (size_t i = 0; i < COSTMODEL_TERMS; i++)
            c->mean[i] += all[v * COSTMODEL_TERMS + i];
    }
    for (size_t i = 0; i < COSTMODEL_TERMS && counted > 0; i++)
        c->mean[i] /= (double)counted;
    free(all);
    free(n);
    return counted > 0;
}

/* ---- entry points ---- */

costmodel *costmodel_new(const cost_table *m, const costmodel_source *source)
{
    if (m->n_shapes > COSTMODEL_MOST / (m->n_variants + 1))
        return NULL;
    costmodel *c = mem_calloc(1, sizeof *c);
    size_t planned = 0;
    *c = (costmodel){.m = m, .source = *source};
    c->steps = mem_calloc(m->n_variants * TASK_MAX_DIMS + 1, sizeof *c->steps);
    c->terms = mem_calloc(m->n_shapes * m->n_variants * COSTMODEL_TERMS + 1, sizeof *c->terms);
    for (size_t v = 0; v < m->n_variants && m->n_shapes > 0; v++) {
        bool any = false;
        for (size_t d = 0; d < m->task->n_dims; d++)
            c->steps[v * TASK_MAX_DIMS + d] = m->task->dims[d].is_key ? find_step(c, v, &m->shapes[0], d) : 1;
        for (size_t s = 0; s < m->n_shapes; s++) {
            double *terms = &c->terms[(s * m->n_variants + v) * COSTMODEL_TERMS];
            const bool has = costs_known(m, s, v) && costmodel_terms(c, v, &m->shapes[s], terms);
            terms[0] = has ? terms[0] : NAN;
            any |= has;
        }
        planned += any;
    }
    if (4 * planned < m->n_variants || !find_mean(c)) {
        costmodel_free(c);
        return NULL;
    }
    return c;
}

void costmodel_free(costmodel *c)
{
    if (!c)
        return;
    for (size_t v = 0; c->dense_terms && v < c->m->n_variants; v++)
        free(c->dense_terms[v]);
    free(c->dense_terms);
    costs_clear(&c->dense);
    free(c->steps);
    free(c->terms);
    free(c);
}

void costmodel_fit(const costmodel *c, size_t v, const bool *used, double coefficients[COSTMODEL_TERMS])
{
    double ignored[COSTMODEL_TERMS];
    (void)fit(c, v, used, c->mean, coefficients, ignored);
}

double costmodel_sum(const double *coefficients, const double *terms)
{
    double ns = 0;
    for (size_t i = 0; i < COSTMODEL_TERMS; i++)
        ns += coefficients[i] * terms[i];
    return ns > 0 && isfinite(ns) ? ns : NAN;
}

double costmodel_ns(const costmodel *c, size_t v, const double coefficients[COSTMODEL_TERMS], const task_shape *s)
{
    double terms[COSTMODEL_TERMS];
    return costmodel_terms(c, v, s, terms) ? costmodel_sum(coefficients, terms) : NAN;
}
