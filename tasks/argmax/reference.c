/* y[r] = index of the greatest element of row r; of equal ones the first. */
#include "tasks/kw_reference.h"

kw_reference_fn argmax_reference;

void argmax_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* y is the only output */
    const int64_t columns = r->dims[1];
    for (size_t e = 0; e < n; e++) {
        const double *row = r->tensors[0] + (int64_t)elements[e] * columns;
        int64_t greatest = 0;
        for (int64_t c = 1; c < columns; c++)
            if (row[c] > row[greatest])
                greatest = c;
        value[e] = scale[e] = (double)greatest;
    }
}
