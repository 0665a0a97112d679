/* Tuning many shapes at once: which shape gets the next evaluation, and which configuration.
 *
 * One model for all shapes: a Gaussian process over (logarithms of the dims, configuration) that predicts log time (C.
 * E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, chapter 2). Its covariance is a
 * sum: what a shape does to all configurations, what a configuration does on all shapes, and what it does on shapes
 * like this one, by a squared exponential of the distance of shapes and an exponential of the number of parameters that
 * differ; see many_internal.h. The pair with the largest expected improvement on its shape's best is next (J. Mockus;
 * D. R. Jones, M. Schonlau, W. J. Welch, "Efficient global optimization", 1998), several shapes at a time. The standard
 * deviation in it is not the exact one but that of the most similar evaluation alone, which takes no triangular solve
 * for each pair.
 *
 * It knows nothing of templates, devices or stores: bench/many_shapes.c replays recorded matrices through it. */
#ifndef KERNWRIGHT_TUNER_MANY_H
#define KERNWRIGHT_TUNER_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct many many;

/* log2_dims: n_shapes x n_dims, log2(1 + dim). weights: how much a second of each shape counts; NULL: every shape
 * counts the same, by the logarithm of its time. Both are copied. */
many *many_new(size_t n_shapes, size_t n_dims, const double *log2_dims, const double *weights, uint64_t seed);
void many_free(many *m);

/* A configuration, once; returns its number. `features`: n of them, each 0..1 (the place of a value in the list of its
 * parameter). Those of another family (template) have nothing in common with it. */
size_t many_add_config(many *m, int family, size_t n, const double *features);
/* It may be measured on this shape. Nothing else is ever proposed. */
void many_allow(many *m, size_t shape, size_t config);

/* The next pair; it is not proposed again. false: every allowed pair was, or at least nothing promises anything while
 * others are out. Shapes with fewer than `start` evaluations come first, with configurations at random. */
bool many_ask(many *m, size_t start, size_t *shape, size_t *config);
/* The shape where one more evaluation promises most; for those who have another source of configurations. */
size_t many_next_shape(many *m, size_t start);
/* What came of a pair, proposed or not; ok false: it failed there. The last time told counts. */
void many_tell(many *m, size_t shape, size_t config, bool ok, double time_ns);
/* Is it allowed there, and was neither proposed nor told? */
bool many_is_free(const many *m, size_t shape, size_t config);
/* The caller measures this free pair by itself: it is not proposed any more. */
void many_claim(many *m, size_t shape, size_t config);
/* It fails everywhere. */
void many_forget(many *m, size_t config);

/* Evaluations of a shape so far, and its best: SIZE_MAX before the first success. */
size_t many_count(const many *m, size_t shape);
size_t many_best(const many *m, size_t shape);
/* Time of a pair over its shape's best; NaN when it was not measured, or failed. */
double many_relative(const many *m, size_t shape, size_t config);
/* How much two shapes have in common, 0..1. */
double many_alike(const many *m, size_t a, size_t b);

#endif
