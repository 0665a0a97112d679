/* Times of one task on one device: shapes x variants, with holes, and what it costs to run a shape with a variant. */
#ifndef KERNWRIGHT_TUNER_MATRIX_H
#define KERNWRIGHT_TUNER_MATRIX_H

#include "codegen/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ratio beyond this counts as this: how slow a hopeless variant is decides nothing. */
#define MATRIX_MAX_RATIO 100.0
/* What a variant costs on a shape where nobody timed it: as much as the slowest that was timed there, and at least this
 * many times the best. */
#define MATRIX_HOLE_RATIO 2.0

typedef struct matrix {
    const task *task;
    size_t n_shapes, n_variants;
    task_shape *shapes; /* weight > 0 */
    double *best_ns;    /* per shape: of everything that was timed there, also of what no tree may name */
    double *ns;         /* [shape * n_variants + variant]; NaN: not timed; infinity: cannot run it */
    double *ratio;      /* the same place: time over best_ns, 1 to MATRIX_MAX_RATIO; holes filled. By matrix_finish */
} matrix;

/* All times NaN, all best_ns infinite, all weights 1. Caller frees with matrix_clear. */
void matrix_init(matrix *m, const task *t, size_t n_shapes, size_t n_variants);
void matrix_clear(matrix *m);

/* Sets a time, and the best of its shape. A time that is not finite and above 0 leaves a hole. */
void matrix_set(matrix *m, size_t shape, size_t variant, double ns);
/* The variant's `requires` exclude the shape. */
void matrix_exclude(matrix *m, size_t shape, size_t variant);
/* Something that has no column took this long. */
void matrix_note_best(matrix *m, size_t shape, double ns);
/* Fills `ratio`. A shape where nothing was timed costs 1 whatever runs it. */
void matrix_finish(matrix *m);

bool matrix_runs(const matrix *m, size_t shape, size_t variant);  /* false: excluded */
bool matrix_known(const matrix *m, size_t shape, size_t variant); /* timed */

/* Regret over a set of shapes: time over the best known, weighted. Starts as zeros. */
typedef struct regret_sum {
    double sum, log_sum, weight, worst;
} regret_sum;
void regret_add(regret_sum *r, double ratio, double weight);
double regret_mean(const regret_sum *r);    /* 1 when empty */
double regret_geomean(const regret_sum *r); /* likewise */

#endif
