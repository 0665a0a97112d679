/* Gaussian process regression over configurations, for searches guided by a model.
 *
 * Covariance: s * product over parameters p of (1 + t_p k_p) / (1 + t_p), k_p = (1 - c) Matern52(|a - b| / l_p) + c [a = b].
 * Multiplied out it is an additive model with main effects, pairs and all higher interactions, where t_p weighs what
 * parameter p takes part in (functional ANOVA kernels: Durrande, Ginsbourger, Roustant, Carraro, J. Multivariate Analysis
 * 115, 2013; additive GPs: Duvenaud, Nickisch, Rasmussen, NIPS 2011). A value list is read both as ordered (the Matern
 * part, over indices scaled to 0..1) and as a set of names (the part c).
 * Hyper-parameters maximise marginal likelihood times log-normal priors (Rasmussen, Williams: Gaussian Processes for
 * Machine Learning, MIT Press 2006, chapters 2, 5), by BFGS with exact gradients.
 */
#ifndef KERNWRIGHT_TUNER_GP_H
#define KERNWRIGHT_TUNER_GP_H

#include <stddef.h>
#include <stdint.h>

typedef struct gp_prior {
    double weight, weight_sd; /* log t_p */
    double length, length_sd; /* log l_p */
    double names, names_sd;   /* logit c */
    double noise, noise_sd;   /* log noise variance, of targets with variance 1 */
    double scale_sd;          /* log s; its mean is 0 */
} gp_prior;

extern const gp_prior gp_default_prior;

typedef struct gp gp;

gp *gp_new(size_t n_params, const size_t *n_values, const gp_prior *prior);
void gp_free(gp *g);

/* Adapts the hyper-parameters to n targets (mean about 0, variance about 1), at most `iterations` steps from where they
 * are. Configurations are value indices, n_params each, one after another. O(n^3) a step. */
void gp_fit(gp *g, const uint32_t *configs, const double *y, size_t n, int iterations);

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
