/* y = a x + y in double precision. */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn saxpy_reference;

void saxpy_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* y is the only output */
    const double a = r->scalars[0];
    const double *x = r->tensors[0], *y = r->tensors[1];
    for (size_t e = 0; e < n; e++) {
        const double product = a * x[elements[e]], old = y[elements[e]];
        value[e] = product + old;
        scale[e] = fabs(product) + fabs(old);
    }
}
