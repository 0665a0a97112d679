/* Gaussian process regression over configurations, for searches guided by a model.
 *
 * Covariance: s * product over parameters p of (1 + t_p k_p) / (1 + t_p). Multiplied out it is an additive model with
 * main effects, pairs and all higher interactions, where t_p weighs what parameter p takes part in (functional ANOVA
 * kernels: Durrande, Ginsbourger, Roustant, Carraro, J. Multivariate Analysis 115, 2013; additive GPs: Duvenaud,
 * Nickisch, Rasmussen, NIPS 2011). A list of values is read in several ways at once; k_p is the weighted mean of
 *   Matern52(|a - b| / l_p), indices scaled to 0..1: the list is ordered                                     (weight 1)
 *   [a = b]: the list is a set of names                                                                      (w_names)
 *   ([|a - b| even] + [|a - b| a multiple of 4]) / 2: every second or fourth of evenly spaced sizes is alike (w_period)
 *   [a + 1 and b + 1 both are powers of two, or both are not]: of the multiples of a step, those by a power of two
 *     are alike, and the others                                                                              (w_power)
 * The last two for lists of at least 8 values only: thread counts 32, 64, 96 .. 1024, say. Times jump between
 * neighbours there, which an ordered or unordered reading would have to see value by value.
 * Hyper-parameters maximise marginal likelihood times log-normal priors (Rasmussen, Williams: Gaussian Processes for
 * Machine Learning, MIT Press 2006, chapters 2, 5), by BFGS with exact gradients.
 */
#ifndef KERNWRIGHT_TUNER_GP_H
#define KERNWRIGHT_TUNER_GP_H

#include <stddef.h>
#include <stdint.h>

/* Hyper-parameters: the first two exist for each parameter. */
typedef enum gp_hyper {
    GP_WEIGHT, /* log t_p */
    GP_LENGTH, /* log l_p */
    GP_NAMES,  /* log w_names */
    GP_PERIOD, /* log w_period */
    GP_POWER,  /* log w_power */
    GP_NOISE,  /* log noise variance, of targets with variance 1 */
    GP_SCALE,  /* log s */
    GP_N_HYPER
} gp_hyper;

/* Normal, of each of them. */
typedef struct gp_prior {
    double mean[GP_N_HYPER], sd[GP_N_HYPER];
} gp_prior;

extern const gp_prior gp_default_prior;

typedef struct gp gp;

gp *gp_new(size_t n_params, const size_t *n_values, const gp_prior *prior);
void gp_free(gp *g);

/* Adapts the hyper-parameters to n targets (mean about 0, variance about 1), at most `iterations` steps from where they
 * are. Configurations are value indices, n_params each, one after another. O(n^3) a step. */
void gp_fit(gp *g, const uint32_t *configs, const double *y, size_t n, int iterations);

/* The next gp_condition uses hyper-parameters that lie beside the fitted ones: z has gp_hypers() standard normal
 * numbers, `share` of the priors' standard deviations each. */
void gp_jitter(gp *g, const double *z, double share);
size_t gp_hypers(const gp *g);

/* Conditions on targets: replaces what it was conditioned on. extra_noise (per target, NULL: none) adds to the fitted
 * noise variance. O(n^3) */
void gp_condition(gp *g, const uint32_t *configs, const double *y, const double *extra_noise, size_t n);
/* One more. O(n^2) */
void gp_append(gp *g, const uint32_t *config, double y);
/* Changes the targets, keeping the configurations: as many as it is conditioned on. O(n^2) */
void gp_retarget(gp *g, const double *y);
size_t gp_size(const gp *g);

/* A set of configurations to be predicted again and again. Borrowed until the next gp_watch; conditioning and appending
 * bring it up to date, at O(n) for one configuration and append. */
void gp_watch(gp *g, const uint32_t *pool, size_t m);
/* Posterior mean and variance (without noise) of the watched configurations. */
void gp_predict(gp *g, float *mean, float *variance);

#endif
