/* Hyper-parameters by maximum a posteriori. The derivative of the likelihood by any entry of a factor table is the sum of
 * W_ij K_ij / entry over the pairs that use the entry, W = (K^-1 - alpha alpha^T) / 2. So one pass over the pairs serves
 * all hyper-parameters, and the rest happens on the small tables. */
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
    .weight = 0,
    .weight_sd = 1.5,
    .length = -0.3,
    .length_sd = 1,
    .names = -2.2,
    .names_sd = 1,
    .noise = -6,
    .noise_sd = 1.5,
    .scale_sd = 0.7,
};

typedef struct fit {
    const gp *g;
    const uint32_t *configs;
    size_t n;
    gsl_matrix *k, *inverse;
    gsl_vector_const_view y;
    gsl_vector *alpha;
    double *factor, *by_weight, *by_length, *by_names, *by_factor; /* tables */
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

void gp_tables(const gp *g, const double *hyper, double *factor, double *by_weight, double *by_length, double *by_names)
{
    double c = 1 / (1 + exp(-hyper[2 * g->n_params + GP_NAMES]));
    for (size_t p = 0; p < g->n_params; p++) {
        double t = exp(hyper[p]), l = exp(hyper[g->n_params + p]);
        for (size_t d = 0; d < g->n_values[p]; d++) {
            size_t i = g->offset[p] + d;
            double r = d == 0 ? 0 : (double)d / (double)(g->n_values[p] - 1) / l;
            double ordered = matern52(r), same = d == 0, k = (1 - c) * ordered + c * same;
            factor[i] = (1 + t * k) / (1 + t);
            if (!by_weight)
                continue;
            by_weight[i] = t * (k - 1) / ((1 + t) * (1 + t));
            by_length[i] = t / (1 + t) * (1 - c) * matern52_slope(r) * -r;
            by_names[i] = t / (1 + t) * (same - ordered) * c * (1 - c);
        }
    }
}

/* ---- the posterior of hyper-parameters, its negative logarithm ---- */

static double add_prior(const gp *g, const double *hyper, double *gradient)
{
    double sum = 0;
    for (size_t i = 0; i < g->n_hyper; i++) {
        size_t shared = i - 2 * g->n_params;
        double mean = i < g->n_params       ? g->prior.weight
                      : i < 2 * g->n_params ? g->prior.length
                      : shared == GP_NAMES  ? g->prior.names
                      : shared == GP_NOISE  ? g->prior.noise
                                            : 0;
        double sd = i < g->n_params       ? g->prior.weight_sd
                    : i < 2 * g->n_params ? g->prior.length_sd
                    : shared == GP_NAMES  ? g->prior.names_sd
                    : shared == GP_NOISE  ? g->prior.noise_sd
                                          : g->prior.scale_sd;
        double z = (hyper[i] - mean) / sd;
        sum += z * z / 2;
        if (gradient)
            gradient[i] += z / sd;
    }
    return sum;
}

static bool factorise(fit *f, const double *hyper)
{
    const gp *g = f->g;
    double scale = exp(hyper[2 * g->n_params + GP_SCALE]), noise = exp(hyper[2 * g->n_params + GP_NOISE]);
    gp_tables(g, hyper, f->factor, f->by_weight, f->by_length, f->by_names);
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
                f->by_factor[g->offset[p] + (a[p] > b[p] ? a[p] - b[p] : b[p] - a[p])] += share;
        }
        double w = (gsl_matrix_get(f->inverse, i, i) - alpha * alpha) / 2;
        by_scale += w * gsl_matrix_get(f->k, i, i);
        by_noise += w;
    }
    for (size_t p = 0; p < g->n_params; p++) {
        for (size_t i = g->offset[p]; i < g->offset[p] + g->n_values[p]; i++) {
            double by_entry = f->by_factor[i] / f->factor[i];
            gradient[p] += by_entry * f->by_weight[i];
            gradient[g->n_params + p] += by_entry * f->by_length[i];
            gradient[2 * g->n_params + GP_NAMES] += by_entry * f->by_names[i];
        }
    }
    gradient[2 * g->n_params + GP_SCALE] += by_scale;
    gradient[2 * g->n_params + GP_NOISE] += by_noise * exp(hyper[2 * g->n_params + GP_NOISE]);
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
    double *tables = mem_calloc(5 * g->n_table, sizeof *tables);
    fit f = {.g = g,
             .configs = configs,
             .n = n,
             .k = gsl_matrix_calloc(n, n),
             .inverse = gsl_matrix_calloc(n, n),
             .y = gsl_vector_const_view_array(y, n),
             .alpha = gsl_vector_alloc(n),
             .factor = tables,
             .by_weight = tables + g->n_table,
             .by_length = tables + 2 * g->n_table,
             .by_names = tables + 3 * g->n_table,
             .by_factor = tables + 4 * g->n_table};
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* a matrix that is not positive definite is no end */
    minimise(g, &f, iterations);
    gsl_set_error_handler(handler);
    gsl_matrix_free(f.k);
    gsl_matrix_free(f.inverse);
    gsl_vector_free(f.alpha);
    free(tables);
}
