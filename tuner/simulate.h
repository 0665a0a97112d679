/* Replays of recorded spaces: what a strategy would have found, without the device.
 *
 * A strategy sees a space without names and types: parameters in an order shuffled by the seed, values as their
 * places in the recorded order (0, 1, ..), valid configurations, and the times of those it asked for. It knows nothing
 * beforehand. A failure counts as one evaluation; a repeat or an invalid configuration would count as none, but no
 * strategy proposes one. Until something valid was found, its result is the worst valid time.
 */
#ifndef KERNWRIGHT_TUNER_SIMULATE_H
#define KERNWRIGHT_TUNER_SIMULATE_H

#include "base/error.h"
#include "tuner/recorded.h"
#include "tuner/strategy.h"

#include <stddef.h>
#include <stdint.h>

typedef struct simulate_options {
    const strategy_ops *const *strategies;
    size_t n_strategies;
    size_t repeat; /* seeds per space */
    uint64_t seed;
    double noise;          /* standard deviation of the logarithm of a time as told: log-normal; 0: as recorded */
    size_t runs;           /* of each seed, told apart by nothing but the noise; 0 counts as 1 */
    size_t jobs;           /* processes; 0: one per core */
    const size_t *budgets; /* evaluations, one per space; strategies are told */
    void (*progress)(size_t done, size_t of, void *cookie); /* NULL: none */
    void *cookie;
} simulate_options;

typedef struct simulation {
    size_t n_spaces, n_strategies;
    size_t repeat; /* seeds times runs of each: those of the first seed come first */
    size_t runs;
    size_t *budgets; /* copies of the options' */
    size_t *offsets; /* of each space in values */
    double *values;  /* shared memory */
    size_t n_values;
} simulation;

/* Every strategy on every space with every seed. The same options give the same result whatever `jobs` is. */
kw_code simulate_run(recorded *const *spaces, size_t n, const simulate_options *o, simulation *out, kw_error *err);
void simulation_clear(simulation *s);

/* Of one run, strategy `kind` on space `which`: best time after each evaluation over the best recorded time,
 * budgets[which] numbers from 1 up. With noise: the recorded time of the one that looked best. */
const double *simulation_curve(const simulation *s, size_t which, size_t kind, size_t run);

#endif
