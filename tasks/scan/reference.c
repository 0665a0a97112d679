/* Inclusive prefix sums of rows, in double precision. */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn scan_reference;

/* Where the sum of a row stands: of columns 0 to next - 1. Elements are mostly asked for in order, and then each costs
 * one addition. */
typedef struct progress {
    uint64_t row, next;
    double sum, lost, magnitude;
} progress;

/* One more term, with Neumaier's compensation: a million terms of mixed sign stay good to the last bits of a double. */
static void add(progress *p, double x)
{
    const double next = p->sum + x;
    p->lost += fabs(p->sum) >= fabs(x) ? (p->sum - next) + x : (x - next) + p->sum;
    p->sum = next;
    p->magnitude += fabs(x);
    p->next++;
}

void scan_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* y is the only output */
    const uint64_t columns = (uint64_t)r->dims[1];
    const double *x = r->tensors[0];
    progress p = {.row = UINT64_MAX};
    for (size_t e = 0; e < n; e++) {
        const uint64_t row = elements[e] / columns, column = elements[e] % columns;
        if (row != p.row || column + 1 < p.next)
            p = (progress){.row = row};
        while (p.next <= column)
            add(&p, x[row * columns + p.next]);
        value[e] = p.sum + p.lost;
        scale[e] = p.magnitude;
    }
}
