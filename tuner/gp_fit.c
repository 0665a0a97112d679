/* Hyper-parameters by maximum a posteriori. The derivative of the likelihood by any entry of a factor table is the sum
 * of W_ij K_ij / entry over the pairs that use the entry, W = (K^-1 - alpha alpha^T) / 2. So one pass over the pairs
 * serves all hyper-parameters, and the rest happens on the small tables. */
#include "tuner/gp_internal.h"

#include "base/mem.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STEP 0.3
#define LINE_TOLERANCE 0.1
#define ENOUGH 1e-3 /* improvement of the logarithm that is not worth another step */
#define FARTHEST 15 /* a hyper-parameter beyond is a line search gone astray */
#define NO_VALUE 1e10

const gp_prior gp_default_prior = {
    .mean =
        {[GP_WEIGHT] = 0, [GP_LENGTH] = -0.3, [GP_NAMES] = -2.2, [GP_PERIOD] = -2, [GP_POWER] = -1.5, [GP_NOISE] = -6},
    .sd = {[GP_WEIGHT] = 1.5,
           [GP_LENGTH] = 1,
           [GP_NAMES] = 1,
           [GP_PERIOD] = 1.5,
           [GP_POWER] = 1.5,
           [GP_NOISE] = 1.5,
           [GP_SCALE] = 0.7},
};

typedef struct fit {
    const gp *g;
    const uint32_t *configs;
    size_t n;
    gsl_matrix *k, *inverse;
    gsl_vector_const_view y;
    gsl_vector *alpha;
    double *factor, *by_factor, *by[GP_NOISE]; /* tables */
} fit;

static double matern52(double r)
{
    double a = sqrt(5) * r;
    return (1 + a + a * a / 3) * exp(-a);
}

static double matern52_slope(double r)
{
    double a = sqrt(5) * r;
    return -sqrt(5) * a * (1 + a) / 3 * exp(-a);
}

void gp_tables(const gp *g, const double *hyper, double *factor, double *const *by)
{
    const double *shared = hyper + gp_hyper_at(g, GP_NAMES, 0);
    double weight[] = {1, exp(shared[0]), exp(shared[1]), exp(shared[2])}; /* ordered, names, period, power */
    for (size_t p = 0; p < g->n_params; p++) {
        double t = exp(hyper[gp_hyper_at(g, GP_WEIGHT, p)]), l = exp(hyper[gp_hyper_at(g, GP_LENGTH, p)]);
        size_t n = g->n_values[p], n_parts = n >= GP_LONG_LIST ? 4 : 2;
        double total = n_parts == 4 ? weight[0] + weight[1] + weight[2] + weight[3] : weight[0] + weight[1];
        for (size_t i = 0; i < 2 * n; i++) {
            size_t d = i % n, at = g->offset[p] + i;
            double r = d == 0 ? 0 : (double)d / (double)(n - 1) / l;
            double part[] = {matern52(r), d == 0, (d % 2 == 0) / 2.0 + (d % 4 == 0) / 2.0, i < n};
            double k = 0;
            for (size_t c = 0; c < n_parts; c++)
                k += weight[c] / total * part[c];
            factor[at] = (1 + t * k) / (1 + t);
            if (!by)
                continue;
            by[GP_WEIGHT][at] = t * (k - 1) / ((1 + t) * (1 + t));
            by[GP_LENGTH][at] = t / (1 + t) * weight[0] / total * matern52_slope(r) * -r;
            for (size_t c = 1; c < 4; c++)
                by[GP_NAMES + c - 1][at] = c < n_parts ? t / (1 + t) * weight[c] / total * (part[c] - k) : 0;
        }
    }
}

/* ---- the posterior of hyper-parameters, its negative logarithm ---- */

static double add_prior(const gp *g, const double *hyper, double *gradient)
{
    double sum = 0;
    for (size_t i = 0; i < g->n_hyper; i++) {
        gp_hyper kind = gp_kind_of(g, i);
        double z = (hyper[i] - g->prior.mean[kind]) / g->prior.sd[kind];
        sum += z * z / 2;
        if (gradient)
            gradient[i] += z / g->prior.sd[kind];
    }
    return sum;
}

static bool factorise(fit *f, const double *hyper)
{
    const gp *g = f->g;
    double scale = exp(hyper[gp_hyper_at(g, GP_SCALE, 0)]), noise = exp(hyper[gp_hyper_at(g, GP_NOISE, 0)]);
    gp_tables(g, hyper, f->factor, f->by);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double k = scale * gp_covariance(g, f->factor, f->configs + i * g->n_params, f->configs + j * g->n_params);
            gsl_matrix_set(f->k, i, j, k);
            gsl_matrix_set(f->inverse, i, j, k + (i == j ? noise : 0));
        }
    }
    return gsl_linalg_cholesky_decomp1(f->inverse) == GSL_SUCCESS;
}

/* The lower triangle of f->inverse becomes the inverse; the pairs' shares go to the tables. */
static void add_likelihood_gradient(fit *f, const double *hyper, double *gradient)
{
    const gp *g = f->g;
    double by_scale = 0, by_noise = 0;
    memset(f->by_factor, 0, g->n_table * sizeof *f->by_factor);
    gsl_linalg_cholesky_invert(f->inverse);
    for (size_t i = 0; i < f->n; i++) {
        const uint32_t *a = f->configs + i * g->n_params;
        double alpha = gsl_vector_get(f->alpha, i);
        for (size_t j = 0; j < i; j++) {
            const uint32_t *b = f->configs + j * g->n_params;
            double w = gsl_matrix_get(f->inverse, i, j) - alpha * gsl_vector_get(f->alpha, j);
            double share = w * gsl_matrix_get(f->k, i, j);
            by_scale += share;
            for (size_t p = 0; p < g->n_params; p++)
                f->by_factor[gp_entry(g, p, a[p], b[p])] += share;
        }
        double w = (gsl_matrix_get(f->inverse, i, i) - alpha * alpha) / 2;
        by_scale += w * gsl_matrix_get(f->k, i, i);
        by_noise += w;
    }
    for (size_t p = 0; p < g->n_params; p++) {
        for (size_t i = g->offset[p]; i < g->offset[p] + 2 * g->n_values[p]; i++) {
            double by_entry = f->by_factor[i] / f->factor[i];
            for (gp_hyper kind = GP_WEIGHT; kind < GP_NOISE && by_entry != 0; kind++)
                gradient[gp_hyper_at(g, kind, p)] += by_entry * f->by[kind][i];
        }
    }
    gradient[gp_hyper_at(g, GP_SCALE, 0)] += by_scale;
    gradient[gp_hyper_at(g, GP_NOISE, 0)] += by_noise * exp(hyper[gp_hyper_at(g, GP_NOISE, 0)]);
}

static double evaluate(fit *f, const double *hyper, double *gradient)
{
    if (gradient)
        memset(gradient, 0, f->g->n_hyper * sizeof *gradient);
    double sum = add_prior(f->g, hyper, gradient);
    if (!isfinite(sum) || !factorise(f, hyper))
        return NO_VALUE;
    for (size_t i = 0; i < f->n; i++)
        sum += log(gsl_matrix_get(f->inverse, i, i));
    gsl_vector_memcpy(f->alpha, &f->y.vector);
    gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, f->inverse, f->alpha);
    double norm = gsl_blas_dnrm2(f->alpha);
    sum += norm * norm / 2;
    gsl_blas_dtrsv(CblasLower, CblasTrans, CblasNonUnit, f->inverse, f->alpha);
    if (gradient)
        add_likelihood_gradient(f, hyper, gradient);
    return isfinite(sum) ? sum : NO_VALUE;
}

/* ---- its minimum ---- */

static double value(const gsl_vector *x, void *f)
{
    return evaluate(f, x->data, NULL);
}

static void slope(const gsl_vector *x, void *f, gsl_vector *gradient)
{
    evaluate(f, x->data, gradient->data);
}

static void value_and_slope(const gsl_vector *x, void *f, double *v, gsl_vector *gradient)
{
    *v = evaluate(f, x->data, gradient->data);
}

static bool sensible(const gsl_vector *x)
{
    for (size_t i = 0; i < x->size; i++)
        if (!(fabs(gsl_vector_get(x, i)) <= FARTHEST))
            return false;
    return true;
}

static void minimise(gp *g, fit *f, int iterations)
{
    gsl_multimin_function_fdf target = {value, slope, value_and_slope, g->n_hyper, f};
    gsl_vector_view x = gsl_vector_view_array(g->hyper, g->n_hyper);
    gsl_multimin_fdfminimizer *m = gsl_multimin_fdfminimizer_alloc(gsl_multimin_fdfminimizer_vector_bfgs2, g->n_hyper);
    gsl_multimin_fdfminimizer_set(m, &target, &x.vector, FIRST_STEP, LINE_TOLERANCE);
    double before = m->f;
    for (int i = 0; i < iterations && gsl_multimin_fdfminimizer_iterate(m) == GSL_SUCCESS; i++) {
        if (i > 2 && before - m->f < ENOUGH)
            break;
        before = m->f;
    }
    if (m->f < NO_VALUE && sensible(m->x))
        gsl_vector_memcpy(&x.vector, m->x);
    gsl_multimin_fdfminimizer_free(m);
}

void gp_fit(gp *g, const uint32_t *configs, const double *y, size_t n, int iterations)
{
    double *tables = mem_calloc((2 + GP_NOISE) * g->n_table, sizeof *tables);
    fit f = {.g = g,
             .configs = configs,
             .n = n,
             .k = gsl_matrix_calloc(n, n),
             .inverse = gsl_matrix_calloc(n, n),
             .y = gsl_vector_const_view_array(y, n),
             .alpha = gsl_vector_alloc(n),
             .factor = tables,
             .by_factor = tables + g->n_table};
    for (size_t kind = 0; kind < GP_NOISE; kind++)
        f.by[kind] = tables + (2 + kind) * g->n_table;
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* a matrix that is not positive definite is no end */
    minimise(g, &f, iterations);
    gsl_set_error_handler(handler);
    gsl_matrix_free(f.k);
    gsl_matrix_free(f.inverse);
    gsl_vector_free(f.alpha);
    free(tables);
}
