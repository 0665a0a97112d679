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
#define LANES 16  /* columns that are worked on together */
#define BLOCK 256 /* a multiple of it: with 250 rows 256 KiB */

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

/* Covariances of one configuration with the watched ones from `first` to before `end`: `by_value` has the factors that
 * it can have with each value. */
static void covariance_row(const gp *g, const float *by_value, size_t first, size_t end, float *row)
{
    for (size_t j = first; j < end; j++) {
        const uint32_t *config = g->pool + j * g->n_params;
        float k = (float)g->scale;
        for (size_t p = 0; p < g->n_params; p++)
            k *= by_value[g->offset[p] / 2 + config[p]];
        row[j] = k;
    }
}

static void factors_by_value(const gp *g, const uint32_t *at, float *by_value)
{
    for (size_t p = 0; p < g->n_params; p++)
        for (uint32_t v = 0; v < g->n_values[p]; v++)
            by_value[g->offset[p] / 2 + v] = (float)g->factor[gp_entry(g, p, at[p], v)];
}

/* row -= sum of weight[k] times row k of `rows`, n numbers of each; n is a multiple of LANES, so that compilers see
 * loops of a known length. */
static void subtract_rows(float *restrict row, const float *restrict rows, size_t stride, const double *weight,
                          size_t k, size_t n)
{
    size_t r = 0;
    for (; r + 4 <= k; r += 4) {
        const float *a = rows + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        float wa = (float)weight[r], wb = (float)weight[r + 1], wc = (float)weight[r + 2], wd = (float)weight[r + 3];
        for (size_t j = 0; j < n; j += LANES)
            for (size_t i = j; i < j + LANES; i++)
                row[i] = row[i] - wa * a[i] - wb * b[i] - wc * c[i] - wd * d[i];
    }
    for (; r < k; r++)
        for (size_t j = 0; j < n; j += LANES)
            for (size_t i = j; i < j + LANES; i++)
                row[i] -= (float)weight[r] * rows[r * stride + i];
}

/* Rows `from` to before `to`, in blocks of columns that stay in a cache. Those before are there. */
static void whiten(gp *g, size_t from, size_t to)
{
    size_t width = g->n_table / 2;
    float *by_value = mem_alloc((to - from) * width * sizeof *by_value + 1);
    for (size_t i = from; i < to; i++)
        factors_by_value(g, g->configs + i * g->n_params, by_value + (i - from) * width);
    for (size_t at = 0; at < g->stride; at += BLOCK) {
        size_t end = at + BLOCK < g->stride ? at + BLOCK : g->stride;
        for (size_t i = from; i < to; i++) {
            const double *lower = g->lower + i * g->capacity;
            float *row = g->white + i * g->stride, one = (float)(1 / lower[i]);
            memset(row + at, 0, (end - at) * sizeof *row);
            covariance_row(g, by_value + (i - from) * width, at, end < g->m ? end : g->m, row);
            subtract_rows(row + at, g->white + at, g->stride, lower, i, end - at);
            for (size_t j = at; j < end; j++) {
                row[j] *= one;
                g->left[j] = (i == 0 ? (float)g->scale : g->left[j]) - row[j] * row[j];
            }
        }
    }
    free(by_value);
}

static void add_means(gp *g, size_t from, size_t to)
{
    if (from == 0)
        memset(g->mean, 0, g->stride * sizeof *g->mean);
    for (size_t i = from; i < to; i++)
        cblas_saxpy((int)g->stride, (float)g->beta[i], g->white + i * g->stride, 1, g->mean, 1);
}

static size_t padded(size_t m)
{
    return (m + LANES - 1) / LANES * LANES;
}

void gp_watch(gp *g, const uint32_t *pool, size_t m)
{
    g->pool = pool;
    if (padded(m) != g->stride)
        g->rows_capacity = 0;
    g->m = m;
    g->stride = padded(m);
    g->n_rows = g->n_means = 0;
    g->mean = mem_realloc(g->mean, g->stride * sizeof *g->mean + 1);
    g->left = mem_realloc(g->left, g->stride * sizeof *g->left + 1);
}

/* Sums over the rows are kept: only those that came since, or the means of other targets, are added. */
void gp_predict(gp *g, float *mean, float *variance)
{
    if (g->n > g->rows_capacity) {
        g->rows_capacity = g->capacity;
        g->white = mem_realloc(g->white, g->rows_capacity * g->stride * sizeof *g->white + 1);
    }
    whiten(g, g->n_rows, g->n);
    add_means(g, g->n_means, g->n);
    g->n_rows = g->n_means = g->n;
    for (size_t j = 0; j < g->m; j++) {
        float left = g->n == 0 ? (float)g->scale : g->left[j];
        mean[j] = g->n == 0 ? 0 : g->mean[j];
        variance[j] = left < LEAST_VARIANCE ? LEAST_VARIANCE : left;
    }
}
