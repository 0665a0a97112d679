#include "tuner/lesson.h"

#include "base/mem.h"
#include "tuner/gp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS 3   /* that say something */
#define LEAST_FITTED 8 /* rows to which hyper-parameters are fitted */
#define MAX_ROWS 160   /* of a model: the best, and the others evenly */
#define ITERATIONS 10
#define TRUST 0.8 /* slope on what a base says before rows tell, and its standard deviation */
#define TRUST_SD 0.5
#define BEND 1.5 /* medians beyond which times are compressed: how bad the bad are does not matter */

typedef struct row {
    double log_time; /* infinite: failed */
    size_t at;       /* its configuration */
} row;

typedef struct family {
    size_t n_params, n, n_ok, rows_capacity, configs_capacity;
    row *rows; /* sorted by time when `sorted` */
    uint32_t *configs;
    bool sorted;
    gp *model;
    double mean, sd, slope; /* of the rest, and on what the base says */
} family;

struct lesson {
    size_t n_families;
    family *families;
    double best;  /* logarithm of the least time */
    lesson *base; /* NULL: none */
};

lesson *lesson_new(size_t n_families)
{
    lesson *l = mem_calloc(1, sizeof *l);
    l->n_families = n_families;
    l->families = mem_calloc(n_families + 1, sizeof *l->families);
    l->best = INFINITY;
    return l;
}

void lesson_free(lesson *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_families; i++) {
        gp_free(l->families[i].model);
        free(l->families[i].rows);
        free(l->families[i].configs);
    }
    free(l->families);
    free(l);
}

void lesson_add(lesson *l, size_t family_index, size_t n_params, const uint32_t *config, bool ok, double time_ns)
{
    family *f = &l->families[family_index];
    ok = ok && isfinite(time_ns) && time_ns > 0;
    f->n_params = n_params;
    f->rows = mem_grow(f->rows, &f->rows_capacity, f->n + 1, sizeof *f->rows);
    f->configs = mem_grow(f->configs, &f->configs_capacity, f->n + 1, (n_params + 1) * sizeof *f->configs);
    if (n_params > 0)
        memcpy(f->configs + f->n * n_params, config, n_params * sizeof *config);
    f->rows[f->n] = (row){ok ? log(time_ns) : INFINITY, f->n};
    l->best = fmin(l->best, f->rows[f->n].log_time);
    f->n++;
    f->n_ok += ok;
    f->sorted = false;
    gp_free(f->model);
    f->model = NULL;
}

typedef struct share {
    const uint32_t *config;
    double excess, weight; /* excess infinite: failed */
    size_t n_params;
} share;

static int by_config(const void *a, const void *b)
{
    const share *x = a, *y = b;
    for (size_t i = 0; i < x->n_params; i++)
        if (x->config[i] != y->config[i])
            return x->config[i] < y->config[i] ? -1 : 1;
    return 0;
}

static void pool_family(lesson *out, size_t index, const lesson *const *from, const double *weights, size_t n)
{
    share *all = NULL;
    size_t n_all = 0, capacity = 0;
    for (size_t i = 0; i < n; i++) {
        const family *f = &from[i]->families[index];
        for (size_t k = 0; k < f->n; k++) {
            all = mem_grow(all, &capacity, n_all + 1, sizeof *all);
            all[n_all++] = (share){f->configs + f->rows[k].at * f->n_params, f->rows[k].log_time - from[i]->best,
                                   weights[i], f->n_params};
        }
    }
    if (n_all > 0)
        qsort(all, n_all, sizeof *all, by_config);
    for (size_t i = 0, end; i < n_all; i = end) {
        double sum = 0, weight = 0;
        for (end = i; end < n_all && by_config(&all[i], &all[end]) == 0; end++)
            if (isfinite(all[end].excess)) {
                sum += all[end].weight * all[end].excess;
                weight += all[end].weight;
            }
        lesson_add(out, index, all[i].n_params, all[i].config, weight > 0, weight > 0 ? exp(sum / weight) : 0);
    }
    free(all);
}

lesson *lesson_pool(const lesson *const *from, const double *weights, size_t n)
{
    lesson *out = lesson_new(n > 0 ? from[0]->n_families : 0);
    for (size_t f = 0; f < out->n_families; f++)
        pool_family(out, f, from, weights, n);
    return out;
}

size_t lesson_size(const lesson *l, size_t family_index)
{
    return l->families[family_index].n_ok;
}

bool lesson_knows(const lesson *l, size_t family_index)
{
    return l->families[family_index].n_ok >= LEAST_ROWS;
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->log_time != y->log_time)
        return x->log_time < y->log_time ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void sort_rows(family *f)
{
    if (!f->sorted && f->n > 0)
        qsort(f->rows, f->n, sizeof *f->rows, by_time);
    f->sorted = true;
}

const uint32_t *lesson_best(lesson *l, size_t family_index, size_t i)
{
    family *f = &l->families[family_index];
    sort_rows(f);
    return f->configs + f->rows[i].at * f->n_params;
}

double lesson_relative(lesson *l, size_t family_index, size_t i)
{
    family *f = &l->families[family_index];
    sort_rows(f);
    return exp(f->rows[i].log_time - l->best);
}

void lesson_rest_on(lesson *l, lesson *base)
{
    if (l->base == base)
        return;
    l->base = base;
    for (size_t i = 0; i < l->n_families; i++) {
        gp_free(l->families[i].model);
        l->families[i].model = NULL;
    }
}

/* Log time over the best, compressed; a failure counts as the slowest. */
static double target_of(const lesson *l, const family *f, const row *r, double bend)
{
    const row *slowest = &f->rows[f->n_ok - 1];
    double above = (isfinite(r->log_time) ? r->log_time : slowest->log_time) - l->best;
    return above > bend ? bend * (1 + 0.5 * log(above / bend)) : above;
}

static gp *new_model(const space *s)
{
    size_t n = space_params(s), *n_values = mem_calloc(n + 1, sizeof *n_values);
    for (size_t i = 0; i < n; i++)
        n_values[i] = space_param_at(s, i)->n_values;
    gp *g = gp_new(n, n_values, &gp_default_prior);
    free(n_values);
    return g;
}

/* Slope of y on b, by ridge regression towards the trust that lessons deserve before anything is known. */
static double slope_on(const double *b, const double *y, size_t n)
{
    double mb = 0, my = 0, bb = 0, by = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        mb += b[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        bb += (b[i] - mb) * (b[i] - mb);
        by += (b[i] - mb) * (y[i] - my);
        rest += pow(y[i] - my - TRUST * (b[i] - mb), 2);
    }
    const double ridge = rest / (double)n / (TRUST_SD * TRUST_SD);
    return fmin(fmax((by + ridge * TRUST) / (bb + ridge + 1e-9), 0), 1.2);
}

static bool has_base(const lesson *l, size_t family_index)
{
    return l->base && lesson_knows(l->base, family_index);
}

/* Takes from y what the base says of the rows. */
static void subtract_base(const lesson *l, size_t family_index, const space *s, const uint32_t *configs, double *y,
                          size_t n)
{
    family *f = &l->families[family_index];
    f->slope = 0;
    if (!has_base(l, family_index))
        return;
    float *says = mem_alloc(n * sizeof *says);
    double *b = mem_alloc(n * sizeof *b);
    lesson_predict(l->base, family_index, s, configs, n, says);
    for (size_t i = 0; i < n; i++)
        b[i] = says[i];
    f->slope = slope_on(b, y, n);
    for (size_t i = 0; i < n; i++)
        y[i] -= f->slope * b[i];
    free(b);
    free(says);
}

static void learn(const lesson *l, size_t family_index, const space *s)
{
    family *f = &l->families[family_index];
    sort_rows(f);
    const double bend = BEND * (f->rows[f->n_ok / 2].log_time - l->best) + 1e-6;
    size_t n = f->n < MAX_ROWS ? f->n : MAX_ROWS;
    uint32_t *configs = mem_alloc((n * f->n_params + 1) * sizeof *configs);
    double *y = mem_alloc(n * sizeof *y), squares = 0;
    f->mean = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = i < n / 2 ? i : n / 2 + (i - n / 2) * (f->n - n / 2) / (n - n / 2);
        memcpy(configs + i * f->n_params, f->configs + f->rows[k].at * f->n_params, f->n_params * sizeof *configs);
        y[i] = target_of(l, f, &f->rows[k], bend);
    }
    subtract_base(l, family_index, s, configs, y, n);
    for (size_t i = 0; i < n; i++)
        f->mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - f->mean) * (y[i] - f->mean);
    f->sd = sqrt(squares / (double)n) + 1e-9;
    for (size_t i = 0; i < n; i++)
        y[i] = (y[i] - f->mean) / f->sd;
    f->model = new_model(s);
    if (n >= LEAST_FITTED)
        gp_fit(f->model, configs, y, n, ITERATIONS);
    gp_condition(f->model, configs, y, NULL, n);
    free(configs);
    free(y);
}

void lesson_predict(lesson *l, size_t family_index, const space *s, const uint32_t *configs, size_t m, float *out)
{
    family *f = &l->families[family_index];
    if (!f->model)
        learn(l, family_index, s);
    float *variance = mem_alloc(m * sizeof *variance + 1);
    gp_watch(f->model, configs, m);
    gp_predict(f->model, out, variance);
    for (size_t i = 0; i < m; i++)
        out[i] = (float)(f->mean + f->sd * out[i]);
    if (f->slope > 0) {
        float *says = mem_alloc(m * sizeof *says + 1);
        lesson_predict(l->base, family_index, s, configs, m, says);
        for (size_t i = 0; i < m; i++)
            out[i] += (float)f->slope * says[i];
        free(says);
    }
    free(variance);
}
