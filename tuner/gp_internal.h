/* What gp.c (conditioning, prediction) and gp_fit.c (hyper-parameters) share. */
#ifndef KERNWRIGHT_TUNER_GP_INTERNAL_H
#define KERNWRIGHT_TUNER_GP_INTERNAL_H

#include "tuner/gp.h"

#include <stdbool.h>

#define GP_LONG_LIST 8 /* values from which on a list has periods and powers */

struct gp {
    gp_prior prior;
    size_t n_params;
    size_t *n_values;
    size_t *offset; /* of parameter p in the tables */
    size_t n_table; /* entries of all: per parameter, by distance of indices, for those alike in power and those not */
    uint8_t *power; /* of parameter p and value v at offset[p] / 2 + v: is v + 1 a power of two */
    size_t n_hyper;
    bool jittered;
    double *used;   /* hyper-parameters of the conditioning */
    double *hyper;  /* n_params weights, n_params lengths, the shared ones */
    double *factor; /* of the covariance: a table */
    /* conditioned on */
    size_t n, capacity;
    uint32_t *configs;
    double *y, *beta; /* beta: the targets, whitened */
    double *lower;    /* Cholesky factor, row i at i * capacity */
    double noise, scale;
    /* watched */
    const uint32_t *pool;
    size_t m, stride, n_rows, rows_capacity; /* stride: m rounded up; n_rows: of `white` that are filled */
    float *white;       /* covariance of the watched with the targets' places, whitened; one row per target */
    size_t n_means;     /* targets that are in `mean` */
    float *mean, *left; /* posterior mean and variance of the watched */
};

static inline size_t gp_hyper_at(const gp *g, gp_hyper kind, size_t p)
{
    return kind == GP_WEIGHT ? p : kind == GP_LENGTH ? g->n_params + p : 2 * g->n_params + (kind - GP_NAMES);
}

static inline gp_hyper gp_kind_of(const gp *g, size_t i)
{
    return (gp_hyper)(i / g->n_params < 2 ? i / g->n_params : GP_NAMES + i - 2 * g->n_params);
}

/* Fills the table of factors; `by`, unless NULL, gets their derivatives: a table each for GP_WEIGHT .. GP_POWER. */
void gp_tables(const gp *g, const double *hyper, double *factor, double *const *by);

static inline size_t gp_entry(const gp *g, size_t p, uint32_t a, uint32_t b)
{
    const uint8_t *power = g->power + g->offset[p] / 2;
    return g->offset[p] + (a > b ? a - b : b - a) + (power[a] != power[b] ? g->n_values[p] : 0);
}

static inline double gp_covariance(const gp *g, const double *factor, const uint32_t *a, const uint32_t *b)
{
    double k = 1;
    for (size_t p = 0; p < g->n_params; p++)
        k *= factor[gp_entry(g, p, a[p], b[p])];
    return k;
}

#endif
