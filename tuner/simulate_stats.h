/* What the runs of a simulation amount to: means with 95% intervals, random search in closed form, the score of the
 * autotuning methodology. docs/replay.md has the definitions. */
#ifndef KERNWRIGHT_TUNER_SIMULATE_STATS_H
#define KERNWRIGHT_TUNER_SIMULATE_STATS_H

#include "tuner/simulate.h"

#include <stdbool.h>

typedef struct estimate {
    double mean, lo, hi;
} estimate;

/* Mean of one number per seed, with the percentile bootstrap interval (2000 resamples, decided by `seed`). */
estimate estimate_mean(const double *x, size_t n, uint64_t seed);
/* Mean with Student's interval: for differences of pairs. n == 1: infinitely wide. */
estimate estimate_paired(const double *x, size_t n);

/* Best/optimum after each evaluation count of `at` and what it is compared with; for one space and strategy. */
typedef struct simulate_cell {
    estimate ratio;     /* mean over seeds of best/optimum */
    estimate vs_random; /* of log(ratio) less that of random search with the same seed and view */
} simulate_cell;

/* One space and strategy at one count. random: the index of the strategy to compare with; SIZE_MAX: none. */
simulate_cell simulate_cell_of(const simulation *s, size_t which, size_t kind, size_t random, size_t at);
/* Over all spaces: geometric mean of the spaces' means, seeds resampled within each space; and the mean of the paired
 * differences, each space counting the same. */
simulate_cell simulate_cell_of_all(const simulation *s, size_t kind, size_t random, size_t at);

/* How far the winners of the runs of one seed are apart at one count: the largest over the least less 1. */
typedef struct simulate_apart {
    double median, mean, most; /* over the seeds */
} simulate_apart;

simulate_apart simulate_apart_of(const simulation *s, size_t which, size_t kind, size_t at);

/* Expected best/optimum of `draws` configurations drawn at random without replacement, exactly; failures count as draws
 * and never win, and the worst valid time stands where all failed. */
double simulate_random_ratio(const recorded *r, size_t draws);

/* The methodology's score of a space: where it begins and ends, in evaluations, and the times over the optimum that
 * its baseline has there. */
typedef struct score_rule {
    size_t first, last; /* evaluations; last < first: this space has no score (all times are the same) */
    double *baseline;   /* of each evaluation from 1 to `last`; owned */
} score_rule;

#define SCORE_CUTOFF 0.95 /* how much of the way from the median to the optimum the baseline goes */
#define SCORE_START 0.01  /* how much of it is left out at the beginning */

score_rule score_rule_of(const recorded *r);
void score_rule_clear(score_rule *rule);
/* Of one run, whose curve has at least rule->last evaluations: 0 like random search, 1 the optimum at once. */
double score_of(const score_rule *rule, const double *curve);

/* Score of one strategy: per space (n_spaces estimates; NAN where a space has none) and the mean over the spaces that
 * have one. */
estimate simulate_score(const simulation *s, const score_rule *rules, size_t kind, estimate *per_space);

#endif
