/* A search that starts from what others taught (tuner/lesson.h), and knows when it is not worth going on.
 *
 * The expected time of a configuration is what the lessons say of it, each weighted by how well it ranks what was
 * measured here, and a Gaussian process of what they do not say. The weighting is the idea of Feurer, Letham, Hutter,
 * Bakshy, "Practical transfer learning for Bayesian optimization", 2018 (RGPE), with Kendall's correlation weighted by
 * the differences instead of drawn ranks: lessons that rank badly here have no say after a few results. The next
 * configuration has the largest expected improvement (Jones, Schonlau, Welch 1998).
 *
 * Several spaces (templates) are searched together. Deterministic by seed and by what it is told. */
#ifndef KERNWRIGHT_TUNER_INFORMED_H
#define KERNWRIGHT_TUNER_INFORMED_H

#include "tuner/lesson.h"

typedef struct informed informed;

/* The spaces, one for each family that the lessons number, are borrowed; NULL: the family has none here. */
informed *informed_new(const space *const *spaces, size_t n_families, uint64_t seed);
void informed_free(informed *x);
/* Before the first question. `likeness`, 0..1: the rank correlation that is expected of it before anything was seen.
 * The lesson is borrowed. */
void informed_teach(informed *x, lesson *l, double likeness);

/* Should the next one come from elsewhere? Without lessons always; with them, after the first few, every second time,
 * and nearly always where they mislead. */
bool informed_defers(informed *x);
/* The configuration to measure next; it is not proposed again. false: there is none left. */
bool informed_ask(informed *x, size_t *family, uint32_t *config);
/* Does a lesson say something of this family? */
bool informed_knows(const informed *x, size_t family);
/* The caller measures this one by itself; false: it is not valid, was proposed or is known. */
bool informed_claim(informed *x, size_t family, const uint32_t *config);
/* Proposed or not. A time that is no positive number is a failure. What is told again replaces. */
void informed_tell(informed *x, size_t family, const uint32_t *config, bool ok, double time_ns);

/* By how much of its present time the best is expected to improve with one more evaluation: 0.01 is 1%. Infinite
 * before the first success, 0 when nothing is left. */
double informed_gain(informed *x);
/* Is no more than `gain` to be expected of going on? After twelve successes at the earliest, and when that was the
 * answer to two different states: a model of few results is often too sure of itself. Asked before each question. */
bool informed_is_done(informed *x, double gain);
/* How well the lessons together rank what was measured here, -1..1 (Kendall, weighted by differences); NaN with fewer
 * than two results or without lessons. */
double informed_agreement(const informed *x);

#endif
