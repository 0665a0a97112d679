/* What the tensors hold before a kernel runs. Every element is a function of (seed, tensor, element, distribution) in
 * integer arithmetic and a few exact or correctly rounded operations: the same bits in every process and on every
 * machine, so tensors never travel. docs/measurement.md describes the distributions. */
#ifndef KERNWRIGHT_TUNER_INPUTS_H
#define KERNWRIGHT_TUNER_INPUTS_H

#include "base/error.h"
#include "codegen/task.h"
#include "tuner/job.h"
#include "tuner/layout.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills the memory of tensor number `tensor`, gaps included: `native` (l->bytes) in the tensor's type and `values`
 * (l->elements) the same numbers as doubles. Either may be NULL. KW_BAD_INPUT for a domain or an "init" that no value
 * satisfies. */
kw_code inputs_fill(const task *t, const task_types *types, const task_shape *shape, size_t tensor, distribution dist,
                    uint64_t seed, const tensor_layout *l, void *native, double *values, kw_error *err);

/* Is every output compared for equality? Then nothing is rounded, and no number is too large. */
bool inputs_only_exact(const task *t);

/* The seed of the inputs of the last timed run, which a candidate has not seen while it was verified. */
uint64_t inputs_probe_seed(uint64_t seed);
/* A seed for DIST_SCALED whose inputs are scaled in the way of number `way`: far up, far down, then less far, and other
 * tensors than the first only sometimes. */
uint64_t inputs_scaled_seed(uint64_t seed, uint64_t way);
/* A seed that has others near it, and the one near it: the inputs differ in few elements, and in one of every tensor at
 * least (unless it is drawn alike). Whoever knows inputs by some of their elements takes them for the same. */
uint64_t inputs_near_base(uint64_t seed);
uint64_t inputs_near_seed(uint64_t base);

#endif
