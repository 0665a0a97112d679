/* Normalisation of every row to mean 0 and variance 1, scaled and shifted by column; in double precision.
 *
 * With m the mean of the row, A the mean of its magnitudes, d = x - m, s = 1 / sqrt(variance + eps) and u the last
 * place of the type that a kernel computes in:
 *  - the mean is a sum of C terms divided by C: its error is of the order sqrt(C) u A, and where many terms are equal,
 *    such as in a row of one value, additions one after another err in the same direction: C u A / 32 is allowed. It
 *    passes on to y times s |gamma|;
 *  - the variance, taken from differences, is a sum of positive terms: a relative error of the same order, half of
 *    which comes to y, relative to d s gamma;
 *  - y may be computed as (x - m) s gamma + beta or as x (s gamma) + (beta - m s gamma): the second one rounds x and m,
 *    which are at most |d| + A.
 * The bound of the task is 8 eps sqrt(L) scale with L = C, which makes the scale
 * |gamma| s (A + |d|) (1 + sqrt(C) / 32).
 * A variance from the mean of squares less the square of the mean is not within it where the mean is large against the
 * deviation: that is meant. */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn layernorm_reference;

typedef struct row_facts {
    double mean, magnitude, variance;
} row_facts;

/* Rows met in one call, by the low bits of their number: a caller may list rows in order or elements at random. */
enum { KEPT_ROWS = 256 };

static row_facts row_read(const double *x, int64_t columns)
{
    row_facts row = {0, 0, 0};
    for (int64_t c = 0; c < columns; c++) {
        row.mean += x[c];
        row.magnitude += fabs(x[c]);
    }
    row.mean /= (double)columns;
    row.magnitude /= (double)columns;
    for (int64_t c = 0; c < columns; c++)
        row.variance += (x[c] - row.mean) * (x[c] - row.mean);
    row.variance /= (double)columns;
    return row;
}

void layernorm_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* y is the only output */
    const uint64_t columns = (uint64_t)r->dims[1];
    const double *x = r->tensors[0], *gamma = r->tensors[1], *beta = r->tensors[2], eps = r->scalars[0];
    const double additions = 1 + sqrt((double)columns) / 32;
    row_facts kept[KEPT_ROWS];
    uint64_t kept_row[KEPT_ROWS];
    for (size_t k = 0; k < KEPT_ROWS; k++)
        kept_row[k] = UINT64_MAX;
    for (size_t e = 0; e < n; e++) {
        const uint64_t row = elements[e] / columns, column = elements[e] % columns;
        row_facts *facts = &kept[row % KEPT_ROWS];
        if (kept_row[row % KEPT_ROWS] != row) {
            *facts = row_read(x + row * columns, (int64_t)columns);
            kept_row[row % KEPT_ROWS] = row;
        }
        const double d = x[elements[e]] - facts->mean, s = 1 / sqrt(facts->variance + eps);
        value[e] = d * s * gamma[column] + beta[column];
        scale[e] = fabs(gamma[column]) * s * (facts->magnitude + fabs(d)) * additions;
    }
}
