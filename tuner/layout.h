/* Where the elements of a tensor lie in its memory. An element has a logical number (row-major over the shape, no gaps)
 * and a flat one (its place in memory, counted in elements); they are the same for a dense tensor. */
#ifndef KERNWRIGHT_TUNER_LAYOUT_H
#define KERNWRIGHT_TUNER_LAYOUT_H

#include "base/error.h"
#include "codegen/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tensor_layout {
    dtype type;
    size_t rank;
    int64_t shape[TASK_MAX_RANK];
    int64_t stride[TASK_MAX_RANK]; /* in elements */
    uint64_t count;                /* elements that the tensor has */
    uint64_t elements;             /* elements that its memory spans: over count when strides leave gaps */
    uint64_t bytes;                /* of the memory */
    bool dense;
} tensor_layout;

kw_code layout_of(const task *t, const task_types *types, const task_shape *s, size_t tensor, tensor_layout *out,
                  kw_error *err);

uint64_t layout_flat(const tensor_layout *l, uint64_t logical);
void layout_index(const tensor_layout *l, uint64_t logical, int64_t index[TASK_MAX_RANK]);

/* Logical number of a flat element; false for a place in a gap, or outside. */
bool layout_logical(const tensor_layout *l, uint64_t flat, uint64_t *logical);

/* At most `wanted` logical numbers drawn from (seed, stream), and all corners (first and last element among them), in
 * ascending order without repeats; everything when the tensor has no more than `wanted` elements. Caller frees *out. */
size_t layout_sample(const tensor_layout *l, size_t wanted, uint64_t seed, uint64_t stream, uint64_t **out);

#endif
