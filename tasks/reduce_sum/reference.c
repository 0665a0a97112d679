/* y[0] = sum of x. Added with Neumaier's compensation, so that millions of terms of mixed sign leave a value that is
 * good to the last bits of a double. */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn reduce_sum_reference;

void reduce_sum_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor;   /* y is the only output */
    (void)elements; /* and has one element */
    const double *x = r->tensors[0];
    double sum = 0, lost = 0, magnitude = 0;
    for (int64_t i = 0; i < r->dims[0]; i++) {
        const double next = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - next) + x[i] : (x[i] - next) + sum;
        sum = next;
        magnitude += fabs(x[i]);
    }
    for (size_t e = 0; e < n; e++) {
        value[e] = sum + lost;
        scale[e] = magnitude;
    }
}
