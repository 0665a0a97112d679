/* Which parameters decide the time: functional analysis of variance of a random forest.
 *
 * Method: F. Hutter, H. Hoos, K. Leyton-Brown, "An efficient approach for assessing hyperparameter importance", ICML
 * 2014. Trees predict log(time / best time of the shape) from the values of the parameters. A tree is a step function
 * on the product of all values, so its marginal means, and the variance that each of them has, are sums over its
 * leaves. The share of a parameter is the variance of its marginal mean, in the total variance of the tree; that of a
 * pair is what its joint marginal mean adds to both. All values of a parameter weigh the same, whether
 * combinations of them are valid or not.
 *
 * The intervals come from REPLICATES forests, each on configurations drawn anew with replacement (the bootstrap, B.
 * Efron 1979; whole configurations, since rows of one configuration on several shapes resemble each other).
 */
#ifndef KERNWRIGHT_TUNER_IMPORTANCE_H
#define KERNWRIGHT_TUNER_IMPORTANCE_H

#include "base/error.h"
#include "tuner/store.h"

#include <stddef.h>
#include <stdint.h>

#define IMPORTANCE_MAX_VALUES 64 /* of one parameter; more are put together, neighbour by neighbour */
#define IMPORTANCE_LEAST_CONFIGS 20

typedef struct importance_data {
    size_t n_params, n_rows;
    const size_t *n_values; /* of each parameter, at most IMPORTANCE_MAX_VALUES; 1: it decides nothing */
    const uint32_t *values; /* n_rows x n_params value indices, in an order in which neighbours are alike */
    const double *response; /* n_rows: logarithms of times */
    const uint32_t *config; /* n_rows: which rows are of the same configuration; 0..n_configs-1 */
    size_t n_configs;
} importance_data;

typedef struct importance_share {
    size_t a, b;          /* parameters; b: SIZE_MAX for one alone */
    double share, lo, hi; /* 0..1, with a 90% interval */
    uint32_t best;        /* one alone: the value with the least marginal mean */
} importance_share;

typedef struct importance {
    importance_share *mains; /* largest first; of parameters with more than one value */
    size_t n_mains;
    importance_share *pairs; /* likewise */
    size_t n_pairs;
    double
        explained; /* share of the variance of configurations that a forest has not seen; negative: worse than a mean */
} importance;

/* KW_FAILED when there is too little to go by: fewer than IMPORTANCE_LEAST_CONFIGS configurations, or all are alike. */
kw_code importance_of(const importance_data *d, uint64_t seed, importance *out, kw_error *err);
void importance_clear(importance *i);

/* ---- of a store ---- */

/* The measurements of one template, task version, types, scalars, device and mode, over all shapes. */
typedef struct importance_report {
    const char *task, *types, *device_key, *mode, *template_name;
    size_t n_rows, n_configs, n_shapes;
    char **names;   /* of the parameters */
    char ***values; /* texts of the values of each, in order */
    const size_t *n_texts;
    importance result;
    const kw_error *failed; /* NULL: result is valid; else why not */
} importance_report;

/* Text of the best value of a parameter; of the first, where several were put together. */
const char *importance_best(const importance_report *r, const importance_share *s);
/* One report per template that was measured at all; borrowed. */
kw_code importance_each(store *s, const store_query *q, uint64_t seed,
                        void (*each)(const importance_report *r, void *cookie), void *cookie, kw_error *err);

#endif
