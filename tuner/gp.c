/* Conditioning and prediction. The covariance with the watched configurations is kept whitened (multiplied by the
 * inverse of the Cholesky factor), so that one more target costs one more row. */
#include "tuner/gp_internal.h"

#include "base/mem.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PIVOT 1e-10 /* of a Cholesky factor: below, the target is a duplicate and its noise is raised */
#define LEAST_VARIANCE 1e-9f

static void mark_powers(gp *g)
{
    g->power = mem_calloc(g->n_table / 2, sizeof *g->power);
    for (size_t p = 0; p < g->n_params; p++)
        for (size_t v = 0; v < g->n_values[p]; v++)
            g->power[g->offset[p] / 2 + v] = g->n_values[p] >= GP_LONG_LIST && ((v + 1) & v) == 0;
}

gp *gp_new(size_t n_params, const size_t *n_values, const gp_prior *prior)
{
    gp *g = mem_calloc(1, sizeof *g);
    g->prior = *prior;
    g->n_params = n_params;
    g->n_values = mem_calloc(n_params, sizeof *g->n_values);
    g->offset = mem_calloc(n_params, sizeof *g->offset);
    for (size_t p = 0; p < n_params; p++) {
        g->n_values[p] = n_values[p];
        g->offset[p] = g->n_table;
        g->n_table += 2 * n_values[p];
    }
    mark_powers(g);
    g->n_hyper = gp_hyper_at(g, GP_N_HYPER, 0);
    g->hyper = mem_calloc(g->n_hyper, sizeof *g->hyper);
    g->used = mem_calloc(g->n_hyper, sizeof *g->used);
    g->factor = mem_calloc(g->n_table, sizeof *g->factor);
    for (size_t p = 0; p < n_params; p++)
        for (gp_hyper kind = 0; kind < GP_N_HYPER; kind++)
            g->hyper[gp_hyper_at(g, kind, p)] = prior->mean[kind];
    return g;
}

void gp_free(gp *g)
{
    if (!g)
        return;
    free(g->n_values);
    free(g->offset);
    free(g->power);
    free(g->hyper);
    free(g->used);
    free(g->factor);
    free(g->configs);
    free(g->y);
    free(g->beta);
    free(g->lower);
    free(g->white);
    free(g->mean);
    free(g->left);
    free(g);
}

size_t gp_size(const gp *g)
{
    return g->n;
}

/* ---- conditioning ---- */

static void reserve(gp *g, size_t n)
{
    if (n <= g->capacity)
        return;
    size_t capacity = n + n / 4 + 16;
    g->configs = mem_realloc(g->configs, capacity * g->n_params * sizeof *g->configs);
    g->y = mem_realloc(g->y, capacity * sizeof *g->y);
    g->beta = mem_realloc(g->beta, capacity * sizeof *g->beta);
    double *lower = mem_calloc(capacity * capacity, sizeof *lower);
    for (size_t i = 0; i < g->n; i++)
        memcpy(lower + i * capacity, g->lower + i * g->capacity, (i + 1) * sizeof *lower);
    free(g->lower);
    g->lower = lower;
    g->capacity = capacity;
}

static void append(gp *g, const uint32_t *config, double y, double extra_noise)
{
    reserve(g, g->n + 1);
    size_t n = g->n;
    double *row = g->lower + n * g->capacity;
    memcpy(g->configs + n * g->n_params, config, g->n_params * sizeof *config);
    g->y[n] = y;
    for (size_t j = 0; j < n; j++)
        row[j] = g->scale * gp_covariance(g, g->factor, config, g->configs + j * g->n_params);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, g->lower, (int)g->capacity, row, 1);
    double pivot = g->scale + g->noise + extra_noise - cblas_ddot((int)n, row, 1, row, 1);
    row[n] = sqrt(pivot > LEAST_PIVOT ? pivot : LEAST_PIVOT);
    g->beta[n] = (y - cblas_ddot((int)n, row, 1, g->beta, 1)) / row[n];
    g->n++;
}

void gp_append(gp *g, const uint32_t *config, double y)
{
    append(g, config, y, 0);
}

size_t gp_hypers(const gp *g)
{
    return g->n_hyper;
}

void gp_jitter(gp *g, const double *z, double share)
{
    for (size_t i = 0; i < g->n_hyper; i++)
        g->used[i] = g->hyper[i] + share * z[i] * g->prior.sd[gp_kind_of(g, i)];
    g->jittered = true;
}

void gp_condition(gp *g, const uint32_t *configs, const double *y, const double *extra_noise, size_t n)
{
    if (!g->jittered)
        memcpy(g->used, g->hyper, g->n_hyper * sizeof *g->used);
    g->jittered = false;
    gp_tables(g, g->used, g->factor, NULL);
    g->scale = exp(g->used[gp_hyper_at(g, GP_SCALE, 0)]);
    g->noise = exp(g->used[gp_hyper_at(g, GP_NOISE, 0)]);
    g->n = g->n_rows = g->n_means = 0;
    reserve(g, n);
    for (size_t i = 0; i < n; i++)
        append(g, configs + i * g->n_params, y[i], extra_noise ? extra_noise[i] : 0);
}

void gp_retarget(gp *g, const double *y)
{
    g->n_means = 0;
    for (size_t i = 0; i < g->n; i++) {
        const double *row = g->lower + i * g->capacity;
        g->y[i] = y[i];
        g->beta[i] = (y[i] - cblas_ddot((int)i, row, 1, g->beta, 1)) / row[i];
    }
}

/* ---- prediction ---- */

void gp_watch(gp *g, const uint32_t *pool, size_t m)
{
    g->pool = pool;
    if (m != g->m)
        g->rows_capacity = 0;
    g->m = m;
    g->n_rows = g->n_means = 0;
    g->mean = mem_realloc(g->mean, m * sizeof *g->mean + 1);
    g->left = mem_realloc(g->left, m * sizeof *g->left + 1);
}

/* Covariances of one configuration with the watched ones: the factors that it can have with each value come first. */
static void covariance_row(const gp *g, const uint32_t *at, float *row)
{
    float *by_value = mem_alloc(g->n_table / 2 * sizeof *by_value);
    for (size_t p = 0; p < g->n_params; p++)
        for (uint32_t v = 0; v < g->n_values[p]; v++)
            by_value[g->offset[p] / 2 + v] = (float)g->factor[gp_entry(g, p, at[p], v)];
    for (size_t j = 0; j < g->m; j++) {
        const uint32_t *config = g->pool + j * g->n_params;
        float k = (float)g->scale;
        for (size_t p = 0; p < g->n_params; p++)
            k *= by_value[g->offset[p] / 2 + config[p]];
        row[j] = k;
    }
    free(by_value);
}

static void whiten_row(gp *g, size_t i)
{
    const double *lower = g->lower + i * g->capacity;
    float *row = g->white + i * g->m;
    covariance_row(g, g->configs + i * g->n_params, row);
    for (size_t k = 0; k < i; k++)
        cblas_saxpy((int)g->m, (float)-lower[k], g->white + k * g->m, 1, row, 1);
    cblas_sscal((int)g->m, (float)(1 / lower[i]), row, 1);
}

/* Sums over the rows are kept: only those that came since, or the means of other targets, are added. */
void gp_predict(gp *g, float *mean, float *variance)
{
    if (g->n > g->rows_capacity) {
        g->rows_capacity = g->capacity;
        g->white = mem_realloc(g->white, g->rows_capacity * g->m * sizeof *g->white + 1);
    }
    for (; g->n_rows < g->n; g->n_rows++) {
        const float *row = g->white + g->n_rows * g->m;
        whiten_row(g, g->n_rows);
        for (size_t j = 0; j < g->m; j++)
            g->left[j] = (g->n_rows == 0 ? (float)g->scale : g->left[j]) - row[j] * row[j];
    }
    if (g->n_means == 0)
        memset(g->mean, 0, g->m * sizeof *g->mean);
    for (; g->n_means < g->n; g->n_means++)
        cblas_saxpy((int)g->m, (float)g->beta[g->n_means], g->white + g->n_means * g->m, 1, g->mean, 1);
    for (size_t j = 0; j < g->m; j++) {
        float left = g->n == 0 ? (float)g->scale : g->left[j];
        mean[j] = g->mean[j];
        variance[j] = left < LEAST_VARIANCE ? LEAST_VARIANCE : left;
    }
}
