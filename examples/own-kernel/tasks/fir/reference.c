/* Reference of task fir: the right values of some elements of an output, in double precision. */
#include "tasks/kw_reference.h"

#include <math.h>

void fir_reference(const kw_ref *ref, int tensor, size_t count, const uint64_t *elements, double *value,
    double *scale)
{
    const int64_t n = ref->dims[0];
    const int64_t r = ref->dims[1];
    const double *x = ref->tensors[0];
    const double *w = ref->tensors[1];
    /* `tensor` is 2 for y. What an "inout" tensor holds before is in ref->tensors[tensor]. */
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = elements[i]; /* index in the output, row-major */
        value[i] = scale[i] = 0;
        for (int64_t k = 0; k <= 2 * r; k++) {
            const int64_t from = (int64_t)at + k - r;
            const double term = from >= 0 && from < n ? w[k] * x[from] : 0;
            value[i] += term;
            scale[i] += fabs(term);
        }
    }
}
