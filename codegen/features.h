/* Features of a shape that decision trees ask: integers, computed alike here and in an emitted header (which gets the
 * same arithmetic as text). For each key dim 256 times its logarithm (codegen/runtime/tree.h), for each how often 2
 * divides it, and sums and differences of logarithms: the sizes of products and ratios such as M*N and M*N/K, which
 * decide how many work-groups there are, and what each of them has to do. */
#ifndef KERNWRIGHT_CODEGEN_FEATURES_H
#define KERNWRIGHT_CODEGEN_FEATURES_H

#include "base/strb.h"
#include "codegen/task.h"

#include <stddef.h>
#include <stdint.h>

#define FEATURES_MAX (2 * TASK_MAX_DIMS + 1)

typedef struct shape_feature {
    int align;                  /* >= 0: how often 2 divides this dim (number among the task's dims); -1: logarithms */
    int8_t sign[TASK_MAX_DIMS]; /* 1, -1 or 0: how the dim's logarithm goes into the sum */
} shape_feature;

typedef struct shape_features {
    const task *task;
    shape_feature items[FEATURES_MAX];
    size_t n;
} shape_features;

/* The features of a task, in a fixed order. Products of pairs and ratios only where there are 2 to 4 key dims. */
void features_of_task(const task *t, shape_features *out);
void features_compute(const shape_features *f, const int64_t *dims, int32_t *out);

/* "M*N <= 2^10.50", "M <= 48", "M % 4 != 0": what holds where a feature is at most `at_most`. Appended. */
void features_print(const shape_features *f, size_t i, int32_t at_most, strb *out);

#endif
