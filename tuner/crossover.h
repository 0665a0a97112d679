/* Every device's best on every other device: what is lost by taking a kernel that was tuned elsewhere. */
#ifndef KERNWRIGHT_TUNER_CROSSOVER_H
#define KERNWRIGHT_TUNER_CROSSOVER_H

#include "base/error.h"
#include "codegen/template.h"
#include "tuner/costs.h"
#include "tuner/evaluator.h"
#include "tuner/probe.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

/* The best of one device on another, over the shapes that both were tuned for. */
typedef struct crossover_cell {
    regret_sum slowdown; /* time over that of the device's own best; of shapes where both were timed by one method */
    size_t n_shapes;     /* tuned on both */
    size_t n_timed, n_failed, n_missing; /* they add up to n_shapes; failed: it does not run there, or runs wrong */
} crossover_cell;

typedef struct crossover {
    char **devices; /* keys, sorted */
    size_t n;
    crossover_cell *cells; /* [from * n + on]; from == on: its own rows, all 1 */
    /* Per device: how much faster its own best is than those of the others, on it: the geometric mean over shapes of
     * each other device, then over these devices, so that none counts more for having more shapes. 1 if nothing is
     * known. */
    double *gain;
    /* Of all of them: the geometric mean over the pairs of devices that have timed shapes. */
    double hardware_speedup;
} crossover;

/* From the store; "best" is the winner that emit would name. KW_FAILED if fewer than two devices have winners. */
kw_code crossover_compare(store *s, const task *t, const task_types *types, crossover *out, kw_error *err);
void crossover_clear(crossover *c);

typedef struct crossover_options {
    const template *fallback; /* serves as trusted variant; NULL: none */
    uint64_t seed;
    bool cold;
    const probe_figures *probe; /* NULL: not known */
    size_t n_between; /* so many of the device's own general variants, those first that are the fastest of them on the
                         most shapes, are measured on all its shapes too: a portfolio is chosen from them. 0: none */
    void (*on_progress)(const task_shape *shape, const measurement *m, void *cookie);
    void *cookie;
} crossover_options;

typedef struct crossover_counts {
    size_t measured, failed; /* failed ones are among the measured */
    size_t no_text;          /* bests whose text the store does not have */
} crossover_counts;

/* Verifies and times on the evaluator's device what the others' winners lack there, and beside them the device's own
 * winner once more. Everything goes to the store. Shapes that this device was not tuned for are left out.
 * KW_INTERRUPTED with what was measured stored. */
kw_code crossover_measure(evaluator *e, store *s, const task *t, const task_types *types, const crossover_options *o,
                          crossover_counts *out, kw_error *err);

#endif
