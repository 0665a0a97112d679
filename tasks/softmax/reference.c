/* Softmax of every row, in double precision.
 *
 * The scale is not a sum of terms here, for the result is a quotient of exponentials. With eps the last place of the
 * type that a kernel computes in, and d = max - x >= 0:
 *  - rounding x - max (and the product with log2(e), where exp2 is used) is an absolute error of about d eps in the
 *    exponent, hence a relative error of d eps in exp; the function itself adds a few eps, which the bound's own
 *    factors cover;
 *  - the sum carries the errors of its terms weighted by their share: mean(d) eps, where the mean is taken with the
 *    row's own softmax as weights (at most log C), and its C additions: sqrt(C) eps. Where many terms are equal, such
 *    as those of zeros, additions one after another err in the same direction: C eps / 4 at most.
 * So the relative error of an element is of the order (sqrt(C) + C / 32 + d + mean(d)) eps. The bound of the task is
 * 8 eps sqrt(L) scale with L = C, which makes the scale value * (1 + ((C - 1) / 32 + d + mean(d)) / sqrt(C)).
 * Results below the smallest normal number may be flushed to zero by a device: the floor of the bound is for them. */
#include "tasks/kw_reference.h"

#include <math.h>

kw_reference_fn softmax_reference;

typedef struct row_facts {
    double max, sum, mean_distance;
} row_facts;

/* Rows met in one call, by the low bits of their number: a caller may list whole rows in order or elements at random,
 * and a row of 100,000 elements must not be summed for each of them. */
enum { KEPT_ROWS = 256 };

static row_facts row_read(const double *x, int64_t columns)
{
    row_facts row = {x[0], 0, 0};
    for (int64_t c = 1; c < columns; c++)
        row.max = fmax(row.max, x[c]);
    for (int64_t c = 0; c < columns; c++) {
        const double distance = row.max - x[c], term = exp(-distance);
        row.sum += term;
        row.mean_distance += term * distance;
    }
    row.mean_distance /= row.sum;
    return row;
}

void softmax_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* y is the only output */
    const uint64_t columns = (uint64_t)r->dims[1];
    const double *x = r->tensors[0], root = sqrt((double)columns), additions = (double)columns - 1;
    row_facts kept[KEPT_ROWS];
    uint64_t kept_row[KEPT_ROWS];
    for (size_t k = 0; k < KEPT_ROWS; k++)
        kept_row[k] = UINT64_MAX;
    for (size_t e = 0; e < n; e++) {
        const uint64_t row = elements[e] / columns;
        row_facts *facts = &kept[row % KEPT_ROWS];
        if (kept_row[row % KEPT_ROWS] != row) {
            *facts = row_read(x + row * columns, (int64_t)columns);
            kept_row[row % KEPT_ROWS] = row;
        }
        const double distance = facts->max - x[elements[e]];
        value[e] = exp(-distance) / facts->sum;
        scale[e] = value[e] * (1 + (additions / 32 + distance + facts->mean_distance) / root);
    }
}
