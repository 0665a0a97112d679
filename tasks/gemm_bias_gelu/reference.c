/* C = gelu(A B + bias) in double precision, for the listed elements of C.
 *
 * The slope of gelu is at most 1.13, and what a kernel's erf adds is of the order of |z| eps, where z = A B + bias is
 * at most the sum of the magnitudes of its terms: the scale is 1.13 times that sum. */
#include "tasks/kw_reference.h"

#include <math.h>

/* As in the reference of gemm: chunks whose sums stay in the cache walk through K in steps of a cache line of A. */
enum { CHUNK = 2048, STEP = 8 };

static const double MOST_SLOPE = 1.13, SQRT_HALF = 0.70710678118654752440;

kw_reference_fn gemm_bias_gelu_reference;

static void add_products(const kw_ref *r, int64_t from, int64_t to, size_t n, const uint64_t *elements, double *value,
                         double *scale)
{
    const int64_t N = r->dims[1], K = r->dims[2];
    const double *A = r->tensors[0], *B = r->tensors[1];
    for (size_t e = 0; e < n; e++) {
        const double *a = A + (int64_t)(elements[e] / (uint64_t)N) * K;
        const double *b = B + (int64_t)(elements[e] % (uint64_t)N);
        double sum = 0, magnitude = 0;
        for (int64_t k = from; k < to; k++) {
            const double product = a[k] * b[k * N];
            sum += product;
            magnitude += fabs(product);
        }
        value[e] += sum;
        scale[e] += magnitude;
    }
}

/* erfc keeps what 1 + erf would lose where z is far below 0. */
static double gelu(double z)
{
    return 0.5 * z * erfc(-z * SQRT_HALF);
}

void gemm_bias_gelu_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value,
                              double *scale)
{
    (void)tensor; /* C is the only output */
    const int64_t N = r->dims[1], K = r->dims[2];
    const double *bias = r->tensors[2];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t end = first + CHUNK < n ? first + CHUNK : n;
        for (size_t e = first; e < end; e++) {
            value[e] = bias[elements[e] % (uint64_t)N];
            scale[e] = fabs(value[e]);
        }
        for (int64_t k = 0; k < K; k += STEP)
            add_products(r, k, k + STEP < K ? k + STEP : K, end - first, elements + first, value + first,
                         scale + first);
        for (size_t e = first; e < end; e++) {
            value[e] = gelu(value[e]);
            scale[e] *= MOST_SLOPE;
        }
    }
}
