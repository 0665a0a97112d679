/* Times of one task on one device: shapes x variants, with holes, and what it costs to run a shape with a variant. */
#ifndef KERNWRIGHT_TUNER_COSTS_H
#define KERNWRIGHT_TUNER_COSTS_H

#include "codegen/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ratio beyond this counts as this: how slow a hopeless variant is decides nothing. */
#define COSTS_MAX_RATIO 100.0
/* What a variant costs on a shape where nobody timed it: as much as the slowest that was timed there, and at least this
 * many times the best. */
#define COSTS_HOLE_RATIO 2.0

typedef struct cost_table {
    const task *task;
    size_t n_shapes, n_variants;
    task_shape *shapes; /* weight > 0 */
    double *best_ns;    /* per shape: of everything that was timed there, also of what no tree may name */
    double *ns;         /* [shape * n_variants + variant]; NaN: not timed; infinity: cannot run it */
    double *ratio;      /* the same place: time over best_ns, 1 to COSTS_MAX_RATIO; holes filled. By costs_finish */
} cost_table;

/* All times NaN, all best_ns infinite, all weights 1. Caller frees with costs_clear. */
void costs_init(cost_table *m, const task *t, size_t n_shapes, size_t n_variants);
void costs_clear(cost_table *m);

/* Sets a time, and the best of its shape. A time that is not finite and above 0 leaves a hole. */
void costs_set(cost_table *m, size_t shape, size_t variant, double ns);
/* The variant's `requires` exclude the shape. */
void costs_exclude(cost_table *m, size_t shape, size_t variant);
/* Something that has no column took this long. */
void costs_note_best(cost_table *m, size_t shape, double ns);
/* Fills `ratio`. A shape where nothing was timed costs 1 whatever runs it. */
void costs_finish(cost_table *m);

/* The shapes of `used` alone, as if the others had never been measured. */
void costs_subset(const cost_table *m, const bool *used, cost_table *out);

bool costs_runs(const cost_table *m, size_t shape, size_t variant);  /* false: excluded */
bool costs_known(const cost_table *m, size_t shape, size_t variant); /* timed */

/* Regret over a set of shapes: time over the best known, weighted. Starts as zeros. */
typedef struct regret_sum {
    double sum, log_sum, weight, worst;
} regret_sum;
void regret_add(regret_sum *r, double ratio, double weight);
double regret_mean(const regret_sum *r);    /* 1 when empty */
double regret_geomean(const regret_sum *r); /* likewise */

#endif
