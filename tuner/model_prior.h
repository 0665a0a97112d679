/* What is known from other shapes and devices, as a function of the configuration: the logarithm of the time over the
 * best time there, a Gaussian process through what was given. */
#ifndef KERNWRIGHT_TUNER_MODEL_PRIOR_H
#define KERNWRIGHT_TUNER_MODEL_PRIOR_H

#include "tuner/gp.h"
#include "tuner/space.h"

#include <stdbool.h>

typedef struct model_prior model_prior;

model_prior *model_prior_new(const space *s, const gp_prior *prior);
void model_prior_free(model_prior *p);
/* relative >= 1: time / best time there; weight > 0: evidence, 1 for one measurement of a close relative. The same
 * configuration may come from several sources. */
void model_prior_add(model_prior *p, const uint32_t *config, double relative, double weight);
size_t model_prior_size(const model_prior *p);
/* The i-th most promising of those given. */
const uint32_t *model_prior_best(model_prior *p, size_t i);
/* Predicted logarithm of time / best time. */
void model_prior_predict(model_prior *p, const uint32_t *configs, size_t n, float *out);

#endif
