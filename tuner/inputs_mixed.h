/* Great and small numbers within one tensor, for DIST_MIXED. Where one operand is great the others are zero, so that a
 * result is made of small numbers alone, and with it the bound of its error, which follows the magnitudes of the terms
 * (docs/measurement.md, "Great beside small"). */
#ifndef KERNWRIGHT_TUNER_INPUTS_MIXED_H
#define KERNWRIGHT_TUNER_INPUTS_MIXED_H

#include "codegen/task.h"
#include "tuner/layout.h"

#include <stdint.h>

typedef enum mixed_size { MIXED_ZERO, MIXED_SMALL, MIXED_GREAT, MIXED_GREAT_NEGATIVE } mixed_size;

/* How the sizes of one tensor's elements follow from their places. */
typedef struct mixed_rule {
    const tensor_layout *layout; /* borrowed */
    uint64_t seed, stream;
    size_t rank;    /* of the tensor */
    size_t axis;    /* the dimension along which it meets the others; `rank`: it does not have it */
    int64_t extent; /* of that dimension */
    int64_t first;  /* along it, tensor number k of those that meet is great at first + k in any case */
    size_t ordinal; /* of this tensor among those that meet along it */
    size_t meeting; /* how many do */
} mixed_rule;

/* The dimension along which most inputs of the task meet: one that the outputs lack, over which is summed, before one
 * that they have; then the innermost. A dimension of a tensor counts if it is one dim of the task and nothing else. */
mixed_rule mixed_rule_of(const task *t, size_t tensor, const tensor_layout *l, uint64_t seed);

/* `flat`: place in the tensor's memory. Gaps between rows hold zeros. */
mixed_size mixed_size_at(const mixed_rule *m, uint64_t flat);

#endif
