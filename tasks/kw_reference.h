/* What a reference function sees. Included by every tasks/NAME/reference.c and by users' own.
 *
 * A reference gives, in double precision, the value of the listed elements of one output tensor, and for each the
 * sum of the magnitudes of the terms that were added to make it (|alpha a b| ... + |beta c|): the error bound of a
 * correct kernel scales with that sum. For an element that is only copied the scale is its magnitude.
 * It must not keep state, and must not write anything but value[] and scale[]. A user's own is called from one thread
 * only; those that come with Kernwright are asked about several cases by several threads at once.
 */
#ifndef KW_REFERENCE_H
#define KW_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kw_ref {
    size_t n_dims;
    const int64_t *dims; /* in the order of task.json */
    size_t n_scalars;
    const double *scalars; /* in the order of task.json */
    size_t n_tensors;
    const double *const *tensors; /* in the order of task.json: the elements BEFORE the kernel runs, as doubles that the
                                     tensor's type can hold; flat, in memory order, strides included; NULL for
                                     pure outputs */
    const uint64_t *elements;     /* number of elements of each tensor */
} kw_ref;

/* values of the n listed elements (flat index into the tensor's memory) of tensor `tensor` of task.json, an output,
 * and for each the sum of |terms| */
typedef void kw_reference_fn(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value,
                             double *scale);

#ifdef __cplusplus
}
#endif
#endif
