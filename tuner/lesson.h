/* What one search elsewhere taught: another device, another shape, an earlier driver. Its times as a function of the
 * configuration, one Gaussian process for each template; only their order and their ratios are used.
 *
 * A lesson belongs to no search here and serves many of them. */
#ifndef KERNWRIGHT_TUNER_LESSON_H
#define KERNWRIGHT_TUNER_LESSON_H

#include "tuner/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lesson lesson;

/* Templates go by number, 0 .. n_families - 1. */
lesson *lesson_new(size_t n_families);
void lesson_free(lesson *l);
/* A configuration of n_params value indices; time_ns of a failure is ignored. One that comes again replaces nothing:
 * give pooled times. */
void lesson_add(lesson *l, size_t family, size_t n_params, const uint32_t *config, bool ok, double time_ns);
/* One lesson of n, each by its weight (> 0): of every configuration the weighted mean of its logarithms over the best
 * time of each. */
lesson *lesson_pool(const lesson *const *from, const double *weights, size_t n);
/* What stands beneath l from now on: another lesson, of other devices say, times a slope that l's rows tell. Where l
 * has rows it is corrected, elsewhere it is the best guess there is. Borrowed; NULL: nothing. */
void lesson_rest_on(lesson *l, lesson *base);
/* Of one family; successes only. */
size_t lesson_size(const lesson *l, size_t family);
/* The i-th fastest of them. */
const uint32_t *lesson_best(lesson *l, size_t family, size_t i);
/* Its time over the best time there. */
double lesson_relative(lesson *l, size_t family, size_t i);
/* Does it know enough of the family to say something? */
bool lesson_knows(const lesson *l, size_t family);
/* Predicted logarithm of time over the best time there, large ones compressed, of m configurations. `s` is a space of
 * the family, whatever its shape; the lesson knows it. */
void lesson_predict(lesson *l, size_t family, const space *s, const uint32_t *configs, size_t m, float *out);

#endif
