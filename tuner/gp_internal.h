/* What gp.c (conditioning, prediction) and gp_fit.c (hyper-parameters) share. */
#ifndef KERNWRIGHT_TUNER_GP_INTERNAL_H
#define KERNWRIGHT_TUNER_GP_INTERNAL_H

#include "tuner/gp.h"

#include <stdbool.h>

/* Hyper-parameters lie in one array: log t_p, log l_p (n_params each), then these. */
enum { GP_NAMES, GP_NOISE, GP_SCALE, GP_SHARED };

struct gp {
    gp_prior prior;
    size_t n_params;
    size_t *n_values;
    size_t *offset; /* of parameter p in the tables */
    size_t n_table; /* entries of all: one per parameter and distance of indices */
    size_t n_hyper;
    double *hyper;
    double *factor; /* of the covariance, by parameter and distance */
    /* conditioned on */
    size_t n, capacity;
    uint32_t *configs;
    double *y, *beta; /* beta: the targets, whitened */
    double *lower;    /* Cholesky factor, row i at i * capacity */
    double noise, scale;
    /* watched */
    const uint32_t *pool;
    size_t m, n_rows, rows_capacity; /* n_rows: of `white` that are filled */
    float *white; /* covariance of the watched with the targets' places, whitened; one row of m per target */
};

/* Fills tables of factors from hyper-parameters; the derivatives (NULL: left out) are those by log t_p, log l_p, logit c. */
void gp_tables(const gp *g, const double *hyper, double *factor, double *by_weight, double *by_length,
               double *by_names);

static inline double gp_covariance(const gp *g, const double *factor, const uint32_t *a, const uint32_t *b)
{
    double k = 1;
    for (size_t p = 0; p < g->n_params; p++)
        k *= factor[g->offset[p] + (a[p] > b[p] ? a[p] - b[p] : b[p] - a[p])];
    return k;
}

#endif
