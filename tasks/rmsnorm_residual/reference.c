/* The residual added, and every row of the sum divided by its root mean square; in double precision.
 *
 * h is one rounded sum: its error is in the bound's first term, and its scale is its magnitude.
 * y has no cancellation behind h: the mean of squares is a sum of positive terms, with a relative error of the order
 * (sqrt(C) + C / 32) u, of which half comes to y (C / 32: equal terms that are added one after another err in the same
 * direction). The bound of the task is 8 eps sqrt(L) scale with L = C, which makes the scale |y| (1 + sqrt(C) / 32). */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn rmsnorm_residual_reference;

enum { TENSOR_H = 3 };

/* Rows met in one call, by the low bits of their number: a caller may list rows in order or elements at random. */
enum { KEPT_ROWS = 256 };

static double mean_square(const double *x, const double *r, int64_t columns)
{
    double sum = 0;
    for (int64_t c = 0; c < columns; c++)
        sum += (x[c] + r[c]) * (x[c] + r[c]);
    return sum / (double)columns;
}

static void normalised(const kw_ref *r, size_t n, const uint64_t *elements, double *value, double *scale)
{
    const uint64_t columns = (uint64_t)r->dims[1];
    const double *x = r->tensors[0], *residual = r->tensors[1], *w = r->tensors[2], eps = r->scalars[0];
    const double additions = 1 + sqrt((double)columns) / 32;
    double kept[KEPT_ROWS];
    uint64_t kept_row[KEPT_ROWS];
    for (size_t k = 0; k < KEPT_ROWS; k++)
        kept_row[k] = UINT64_MAX;
    for (size_t e = 0; e < n; e++) {
        const uint64_t row = elements[e] / columns, at = row * columns;
        double *square = &kept[row % KEPT_ROWS];
        if (kept_row[row % KEPT_ROWS] != row) {
            *square = mean_square(x + at, residual + at, (int64_t)columns);
            kept_row[row % KEPT_ROWS] = row;
        }
        value[e] = (x[elements[e]] + residual[elements[e]]) / sqrt(*square + eps) * w[elements[e] - at];
        scale[e] = fabs(value[e]) * additions;
    }
}

void rmsnorm_residual_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value,
                                double *scale)
{
    if (tensor != TENSOR_H) {
        normalised(r, n, elements, value, scale);
        return;
    }
    for (size_t e = 0; e < n; e++) {
        value[e] = r->tensors[0][elements[e]] + r->tensors[1][elements[e]];
        scale[e] = fabs(value[e]);
    }
}
