/* C = alpha A B + beta C in double precision, for the listed elements of C. */
#include "tasks/kw_reference.h"

#include <math.h>

/* Elements are taken in chunks whose sums stay in the cache, and a chunk walks through K in steps of a cache line of A,
 * so that B is read row by row: 4,096 scattered elements of a product of 4096 x 4096 matrices cost tens of milliseconds
 * where one column of B after the other would miss the cache at every term. */
enum { CHUNK = 2048, STEP = 8 };

kw_reference_fn gemm_reference;

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

/* beta 0 means that C is not read: it may hold anything, NaN included. */
static void finish(const kw_ref *r, size_t n, const uint64_t *elements, double *value, double *scale)
{
    const double alpha = r->scalars[0], beta = r->scalars[1];
    const double *C = r->tensors[2];
    for (size_t e = 0; e < n; e++) {
        const double old = beta != 0 ? beta * C[elements[e]] : 0;
        value[e] = alpha * value[e] + old;
        scale[e] = fabs(alpha) * scale[e] + fabs(old);
    }
}

void gemm_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, double *scale)
{
    (void)tensor; /* C is the only output */
    const int64_t K = r->dims[2];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        for (size_t e = first; e < first + count; e++)
            value[e] = scale[e] = 0;
        for (int64_t k = 0; k < K; k += STEP)
            add_products(r, k, k + STEP < K ? k + STEP : K, count, elements + first, value + first, scale + first);
        finish(r, count, elements + first, value + first, scale + first);
    }
}
