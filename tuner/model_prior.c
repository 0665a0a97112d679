#include "tuner/model_prior.h"

#include "base/mem.h"

#include "tuner/strategy_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS 300 /* that the model is made of: the best, and the others evenly */
#define ITERATIONS 15
#define BEND 2.0  /* medians beyond which times are clipped: how bad the bad are does not matter */
#define DOUBT 0.3 /* share of the median that one unit of weight leaves unsure, for the order of promise */

typedef struct point {
    double sum, weight, promise;
    size_t at; /* its configuration */
} point;

struct model_prior {
    const space *space;
    size_t n_params;
    gp *model;
    point *points; /* sorted by promise when `fresh` */
    uint32_t *configs;
    size_t n, points_capacity, configs_capacity;
    bool fresh;
    double mean, sd;
};

model_prior *model_prior_new(const space *s, const gp_prior *prior)
{
    model_prior *p = mem_calloc(1, sizeof *p);
    p->space = s;
    p->n_params = space_params(s);
    size_t *n_values = mem_calloc(p->n_params, sizeof *n_values);
    for (size_t i = 0; i < p->n_params; i++)
        n_values[i] = space_param_at(s, i)->n_values;
    p->model = gp_new(p->n_params, n_values, prior);
    free(n_values);
    return p;
}

void model_prior_free(model_prior *p)
{
    if (!p)
        return;
    gp_free(p->model);
    free(p->points);
    free(p->configs);
    free(p);
}

size_t model_prior_size(const model_prior *p)
{
    return p->n;
}

void model_prior_add(model_prior *p, const uint32_t *config, double relative, double weight)
{
    double excess = log(relative < 1 ? 1 : relative);
    p->fresh = false;
    for (size_t i = 0; i < p->n; i++) {
        point *x = &p->points[i];
        if (memcmp(p->configs + x->at * p->n_params, config, p->n_params * sizeof *config) == 0) {
            x->sum += weight * excess;
            x->weight += weight;
            return;
        }
    }
    p->points = mem_grow(p->points, &p->points_capacity, p->n + 1, sizeof *p->points);
    p->configs = mem_grow(p->configs, &p->configs_capacity, p->n + 1, p->n_params * sizeof *p->configs);
    memcpy(p->configs + p->n * p->n_params, config, p->n_params * sizeof *config);
    p->points[p->n] = (point){weight * excess, weight, 0, p->n};
    p->n++;
}

static int by_promise(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->promise != y->promise)
        return x->promise < y->promise ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_of(const model_prior *p)
{
    double *values = mem_alloc(p->n * sizeof *values);
    for (size_t i = 0; i < p->n; i++)
        values[i] = p->points[i].sum / p->points[i].weight;
    qsort(values, p->n, sizeof *values, by_value);
    double median = values[p->n / 2];
    free(values);
    return median > 1e-6 ? median : 1e-6;
}

static void learn(model_prior *p, double median)
{
    size_t n = p->n < MAX_POINTS ? p->n : MAX_POINTS;
    uint32_t *configs = mem_alloc(n * p->n_params * sizeof *configs);
    double *y = mem_alloc(n * sizeof *y), *noise = mem_alloc(n * sizeof *noise), squares = 0;
    p->mean = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = i < n / 2 ? i : n / 2 + (i - n / 2) * (p->n - n / 2) / (n - n / 2);
        const point *x = &p->points[k];
        memcpy(configs + i * p->n_params, p->configs + x->at * p->n_params, p->n_params * sizeof *configs);
        y[i] = fmin(x->sum / x->weight, BEND * median);
        noise[i] = 0.05 / x->weight;
        p->mean += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - p->mean) * (y[i] - p->mean);
    p->sd = sqrt(squares / (double)n) + 1e-9;
    for (size_t i = 0; i < n; i++)
        y[i] = (y[i] - p->mean) / p->sd;
    gp_fit(p->model, configs, y, n, ITERATIONS);
    gp_condition(p->model, configs, y, noise, n);
    free(configs);
    free(y);
    free(noise);
}

static void refresh(model_prior *p)
{
    if (p->fresh)
        return;
    double median = median_of(p);
    for (size_t i = 0; i < p->n; i++)
        p->points[i].promise = p->points[i].sum / p->points[i].weight + DOUBT * median / p->points[i].weight;
    qsort(p->points, p->n, sizeof *p->points, by_promise);
    learn(p, median);
    p->fresh = true;
}

const uint32_t *model_prior_best(model_prior *p, size_t i)
{
    refresh(p);
    return p->configs + p->points[i].at * p->n_params;
}

void model_prior_predict(model_prior *p, const uint32_t *configs, size_t n, float *out)
{
    if (p->n == 0) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    refresh(p);
    float *variance = mem_alloc(n * sizeof *variance);
    gp_watch(p->model, configs, n);
    gp_predict(p->model, out, variance);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(p->mean + p->sd * out[i]);
    free(variance);
}
