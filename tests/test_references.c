/* The built-in references against cases worked out by hand and against properties of what they compute. */
#include "tasks/kw_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

kw_reference_fn gemm_reference, saxpy_reference, softmax_reference, reduce_sum_reference, transpose_reference,
    scan_reference, argmax_reference, layernorm_reference, rmsnorm_residual_reference, gemm_bias_gelu_reference;

/* In -1..1, the same every time. */
static double *numbers(size_t n, unsigned seed)
{
    double *x = malloc((n ? n : 1) * sizeof *x);
    assert_non_null(x);
    uint64_t state = seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(state >> 40) / (1 << 23) - 1;
    }
    return x;
}

static uint64_t *count_up(size_t n)
{
    uint64_t *elements = malloc((n ? n : 1) * sizeof *elements);
    assert_non_null(elements);
    for (size_t i = 0; i < n; i++)
        elements[i] = i;
    return elements;
}

/* ---- gemm ---- */

typedef struct gemm_case {
    int64_t M, N, K;
    double alpha, beta;
    const double *A, *B, *C;
} gemm_case;

static void gemm_call(gemm_case g, size_t n, const uint64_t *elements, double *value, double *scale)
{
    const int64_t dims[] = {g.M, g.N, g.K};
    const double scalars[] = {g.alpha, g.beta};
    const double *const tensors[] = {g.A, g.B, g.C};
    const uint64_t sizes[] = {(uint64_t)(g.M * g.K), (uint64_t)(g.K * g.N), (uint64_t)(g.M * g.N)};
    const kw_ref r = {3, dims, 2, scalars, 3, tensors, sizes};
    gemm_reference(&r, 2, n, elements, value, scale);
}

static void gemm_by_hand(void **state)
{
    (void)state;
    const double A[] = {1, -2, 3, 4, 5, -6}, B[] = {7, 8, 9, -10, -11, 12}, C[] = {100, 200, -300, 400};
    /* A B = {7 - 18 - 33, 8 + 20 + 36; 28 + 45 + 66, 32 - 50 - 72} = {-44, 64; 139, -90} */
    const uint64_t elements[] = {3, 0, 1, 2};
    double value[4], scale[4];
    gemm_call((gemm_case){2, 2, 3, 1, 0, A, B, C}, 4, elements, value, scale);
    const double product[] = {-90, -44, 64, 139}, magnitude[] = {154, 58, 64, 139};
    for (int i = 0; i < 4; i++) {
        assert_true(value[i] == product[i]);
        assert_true(scale[i] == magnitude[i]);
    }
    gemm_call((gemm_case){2, 2, 3, -0.5, 2, A, B, C}, 4, elements, value, scale);
    const double mixed[] = {845, 222, 368, -669.5}, terms[] = {877, 229, 432, 669.5};
    for (int i = 0; i < 4; i++) {
        assert_true(value[i] == mixed[i]);
        assert_true(scale[i] == terms[i]);
    }
}

static void gemm_beta_zero_ignores_c(void **state)
{
    (void)state;
    const double A[] = {2}, B[] = {3}, C[] = {NAN};
    const uint64_t element = 0;
    double value, scale;
    gemm_call((gemm_case){1, 1, 1, 1, 0, A, B, C}, 1, &element, &value, &scale);
    assert_true(value == 6 && scale == 6);
}

static void gemm_without_terms_scales_c(void **state)
{
    (void)state;
    const double C[] = {4, -8};
    const uint64_t elements[] = {0, 1};
    double value[2], scale[2];
    gemm_call((gemm_case){1, 2, 0, 1, 0.5, NULL, NULL, C}, 2, elements, value, scale);
    assert_true(value[0] == 2 && value[1] == -4);
    assert_true(scale[0] == 2 && scale[1] == 4);
    gemm_call((gemm_case){1, 2, 0, 1, 0, NULL, NULL, C}, 2, elements, value, scale);
    assert_true(value[0] == 0 && value[1] == 0 && scale[0] == 0 && scale[1] == 0);
}

/* Sizes that end in the middle of a chunk of elements and of a step of K, against one dot product after the other. */
static void gemm_agrees_with_dot_products(void **state)
{
    (void)state;
    enum { M = 61, N = 67, K = 37 };
    double *A = numbers(M * K, 1), *B = numbers(K * N, 2), *C = numbers(M * N, 3);
    uint64_t *elements = count_up(M * N);
    double *value = numbers(M * N, 4), *scale = numbers(M * N, 5);
    gemm_call((gemm_case){M, N, K, 1.5, -1, A, B, C}, M * N, elements, value, scale);
    for (size_t e = 0; e < M * N; e++) {
        double sum = 0, magnitude = 0;
        for (size_t k = 0; k < K; k++) {
            const double product = A[e / N * K + k] * B[k * N + e % N];
            sum += product;
            magnitude += fabs(product);
        }
        assert_true(fabs(value[e] - (1.5 * sum - C[e])) < 1e-13);
        assert_true(fabs(scale[e] - (1.5 * magnitude + fabs(C[e]))) < 1e-13);
    }
    free(A), free(B), free(C), free(elements), free(value), free(scale);
}

/* What an element gets does not depend on which others are asked for. */
static void gemm_elements_are_independent(void **state)
{
    (void)state;
    enum { M = 50, N = 90, K = 19 };
    double *A = numbers(M * K, 6), *B = numbers(K * N, 7), *C = numbers(M * N, 8);
    const gemm_case g = {M, N, K, 1, 1, A, B, C};
    uint64_t *elements = count_up(M * N);
    double *value = numbers(M * N, 9), *scale = numbers(M * N, 10);
    gemm_call(g, M * N, elements, value, scale);
    for (uint64_t e = 0; e < M * N; e += 7) {
        double one_value, one_scale;
        gemm_call(g, 1, &e, &one_value, &one_scale);
        assert_true(one_value == value[e] && one_scale == scale[e]);
    }
    free(A), free(B), free(C), free(elements), free(value), free(scale);
}

/* ---- saxpy ---- */

static void saxpy_by_hand(void **state)
{
    (void)state;
    const double x[] = {1, -2, 3}, y[] = {10, 20, -30}, a = -0.5;
    const double *const tensors[] = {x, y};
    const int64_t N = 3;
    const uint64_t sizes[] = {3, 3}, elements[] = {2, 1, 0};
    const kw_ref r = {1, &N, 1, &a, 2, tensors, sizes};
    double value[3], scale[3];
    saxpy_reference(&r, 1, 3, elements, value, scale);
    assert_true(value[0] == -31.5 && value[1] == 21 && value[2] == 9.5);
    assert_true(scale[0] == 31.5 && scale[1] == 21 && scale[2] == 10.5);
}

/* ---- the tasks without scalars: x is read, y is written ---- */

static void softmax_call(int64_t R, int64_t C, const double *x, const uint64_t *elements, double *value, double *scale)
{
    const int64_t dims[] = {R, C};
    const double *const tensors[] = {x, NULL};
    const uint64_t n = (uint64_t)(R * C), sizes[] = {n, n};
    const kw_ref r = {2, dims, 0, NULL, 2, tensors, sizes};
    softmax_reference(&r, 1, n, elements, value, scale);
}

static void softmax_by_hand(void **state)
{
    (void)state;
    /* Row 0: exp = 1, 2, 5 of 8. Row 1 is the same 710 higher, where exp itself overflows. Row 2: equal elements. */
    const double x[] = {0, log(2), log(5), 710, 710 + log(2), 710 + log(5), -3, -3, -3};
    const double expected[] = {1. / 8, 2. / 8, 5. / 8, 1. / 8, 2. / 8, 5. / 8, 1. / 3, 1. / 3, 1. / 3};
    uint64_t *elements = count_up(9);
    double value[9], scale[9];
    softmax_call(3, 3, x, elements, value, scale);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(value[i] - expected[i]) < 1e-12);
    /* No distance from the maximum: only the errors of the sum, of two additions. */
    assert_true(fabs(scale[6] - value[6] * (1 + 2. / 32 / sqrt(3))) < 1e-15);
    const double mean = (log(5) + 2 * log(2.5)) / 8;
    assert_true(fabs(scale[0] - value[0] * (1 + (2. / 32 + log(5) + mean) / sqrt(3))) < 1e-12);
    free(elements);
}

static void softmax_of_one_column_is_one(void **state)
{
    (void)state;
    const double x[] = {-1000, 0, 1000};
    const uint64_t elements[] = {0, 1, 2};
    double value[3], scale[3];
    softmax_call(3, 1, x, elements, value, scale);
    for (int i = 0; i < 3; i++)
        assert_true(value[i] == 1 && scale[i] == 1);
}

/* Rows sum to 1; an element far below the greatest vanishes without harm; the order of the list does not matter. */
static void softmax_properties(void **state)
{
    (void)state;
    enum { R = 300, C = 11 };
    double *x = numbers(R * C, 11);
    for (size_t i = 0; i < R * C; i++)
        x[i] *= 1000;
    uint64_t *elements = count_up(R * C);
    double *value = numbers(R * C, 12), *scale = numbers(R * C, 13);
    softmax_call(R, C, x, elements, value, scale);
    for (size_t r = 0; r < R; r++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            sum += value[r * C + c];
            assert_true(value[r * C + c] >= 0 && scale[r * C + c] >= value[r * C + c]);
        }
        assert_true(fabs(sum - 1) < 1e-13);
    }
    double *shuffled = numbers(R * C, 14);
    for (size_t i = 0; i < R * C; i++)
        elements[i] = i * 1009 % (R * C); /* 1009 has no factor in common with 3300 */
    softmax_call(R, C, x, elements, shuffled, scale);
    for (size_t i = 0; i < R * C; i++)
        assert_true(shuffled[i] == value[elements[i]]);
    free(x), free(elements), free(value), free(scale), free(shuffled);
}

static void sum_call(int64_t N, const double *x, double *value, double *scale)
{
    const double *const tensors[] = {x, NULL};
    const uint64_t sizes[] = {(uint64_t)N, 1}, element = 0;
    const kw_ref r = {1, &N, 0, NULL, 2, tensors, sizes};
    reduce_sum_reference(&r, 1, 1, &element, value, scale);
}

static void sum_by_hand(void **state)
{
    (void)state;
    const double x[] = {1, -2, 3.5}, cancels[] = {1e20, 1, -1e20, 1};
    double value, scale;
    sum_call(3, x, &value, &scale);
    assert_true(value == 2.5 && scale == 6.5);
    sum_call(0, x, &value, &scale);
    assert_true(value == 0 && scale == 0);
    sum_call(4, cancels, &value, &scale); /* adding up in double without compensation gives 1 */
    assert_true(value == 2);
}

static void transpose_call(int64_t R, int64_t C, const double *x, const uint64_t *elements, double *value,
                           double *scale)
{
    const int64_t dims[] = {R, C};
    const double *const tensors[] = {x, NULL};
    const uint64_t n = (uint64_t)(R * C), sizes[] = {n, n};
    const kw_ref r = {2, dims, 0, NULL, 2, tensors, sizes};
    transpose_reference(&r, 1, n, elements, value, scale);
}

static void transpose_by_hand(void **state)
{
    (void)state;
    const double x[] = {1, 2, -3, 4, 5, 6}, expected[] = {1, 4, 2, 5, -3, 6};
    uint64_t *elements = count_up(6);
    double value[6], scale[6];
    transpose_call(2, 3, x, elements, value, scale);
    for (int i = 0; i < 6; i++)
        assert_true(value[i] == expected[i] && scale[i] == fabs(expected[i]));
    free(elements);
}

static void transpose_twice_is_nothing(void **state)
{
    (void)state;
    enum { R = 13, C = 29 };
    double *x = numbers(R * C, 16), *once = numbers(R * C, 17), *twice = numbers(R * C, 18),
           *scale = numbers(R * C, 19);
    uint64_t *elements = count_up(R * C);
    transpose_call(R, C, x, elements, once, scale);
    transpose_call(C, R, once, elements, twice, scale);
    for (size_t i = 0; i < R * C; i++)
        assert_true(twice[i] == x[i]);
    free(x), free(once), free(twice), free(scale), free(elements);
}

static void rows_call(kw_reference_fn *reference, int64_t R, int64_t C, const double *x, size_t n,
                      const uint64_t *elements, double *value, double *scale)
{
    const int64_t dims[] = {R, C};
    const double *const tensors[] = {x, NULL};
    const uint64_t sizes[] = {(uint64_t)(R * C), (uint64_t)(reference == argmax_reference ? R : R * C)};
    const kw_ref r = {2, dims, 0, NULL, 2, tensors, sizes};
    reference(&r, 1, n, elements, value, scale);
}

static void scan_by_hand(void **state)
{
    (void)state;
    const double x[] = {1, -2, 3.5, 1e20, 1, -1e20}, expected[] = {1, -1, 2.5, 1e20, 1e20, 1};
    const double magnitude[] = {1, 3, 6.5, 1e20, 1e20, 2e20};
    uint64_t *elements = count_up(6);
    double value[6], scale[6];
    rows_call(scan_reference, 2, 3, x, 6, elements, value, scale);
    for (int i = 0; i < 6; i++)
        assert_true(value[i] == expected[i] && scale[i] == magnitude[i]);
    free(elements);
}

/* It walks along a row; whoever asks backwards, twice, or here and there gets the same. */
static void scan_in_any_order(void **state)
{
    (void)state;
    enum { R = 5, C = 37, N = R * C };
    double *x = numbers(N, 20), value[N], scale[N], v, s;
    uint64_t *elements = count_up(N);
    rows_call(scan_reference, R, C, x, N, elements, value, scale);
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t asked[] = {(i * 53) % N, (i * 53) % N};
        rows_call(scan_reference, R, C, x, 1, asked, &v, &s);
        assert_true(v == value[asked[0]] && s == scale[asked[0]]);
        double twice[2], scales[2];
        rows_call(scan_reference, R, C, x, 2, asked, twice, scales);
        assert_true(twice[0] == v && twice[1] == v && scales[1] == s);
    }
    free(x), free(elements);
}

static void argmax_by_hand(void **state)
{
    (void)state;
    const double x[] = {1, 3, 3, -2, -1, -1, 0, 0, 0, -INFINITY, -INFINITY, -INFINITY}, expected[] = {1, 1, 0, 0};
    const uint64_t elements[] = {3, 0, 2, 1};
    double value[4], scale[4];
    rows_call(argmax_reference, 4, 3, x, 4, elements, value, scale);
    for (int i = 0; i < 4; i++)
        assert_true(value[i] == expected[elements[i]]);
}

/* ---- layernorm, rmsnorm_residual, gemm_bias_gelu ---- */

static void layernorm_by_hand(void **state)
{
    (void)state;
    /* Mean 3, variance 4, and with eps 5 a deviation of 3; then a row of one value. */
    const double x[] = {1, 5, 1, 5, 7, 7, 7, 7}, gamma[] = {1, 2, -3, 0}, beta[] = {0, 1, 10, -4}, eps = 5;
    const int64_t dims[] = {2, 4};
    const double *const tensors[] = {x, gamma, beta, NULL};
    const uint64_t sizes[] = {8, 4, 4, 8}, elements[] = {3, 0, 5, 2, 1};
    const kw_ref r = {2, dims, 1, &eps, 4, tensors, sizes};
    const double expected[] = {-4, -2 / 3.0, 1, 12, 1 + 4 / 3.0};
    double value[5], scale[5];
    layernorm_reference(&r, 3, 5, elements, value, scale);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(value[i] - expected[i]) < 1e-14);
    /* |gamma| (mean of magnitudes + |d|) / deviation, and 1/16 for the order of additions. */
    assert_true(scale[0] == 0);
    assert_true(fabs(scale[1] - (3 + 2) / 3.0 * (1 + 2 / 32.0)) < 1e-14);
    assert_true(fabs(scale[2] - 2 * 7 / sqrt(5) * (1 + 2 / 32.0)) < 1e-14);
}

static void rmsnorm_by_hand(void **state)
{
    (void)state;
    /* h is 3, -4; mean square 12.5, with eps 3.5 a divisor of 4. */
    const double x[] = {1, -1}, residual[] = {2, -3}, w[] = {8, 2}, eps = 3.5;
    const int64_t dims[] = {1, 2};
    const double *const tensors[] = {x, residual, w, NULL, NULL};
    const uint64_t sizes[] = {2, 2, 2, 2, 2}, elements[] = {1, 0};
    const kw_ref r = {2, dims, 1, &eps, 5, tensors, sizes};
    double value[2], scale[2];
    rmsnorm_residual_reference(&r, 3, 2, elements, value, scale);
    assert_true(value[0] == -4 && value[1] == 3 && scale[0] == 4 && scale[1] == 3);
    rmsnorm_residual_reference(&r, 4, 2, elements, value, scale);
    assert_true(fabs(value[0] + 2) < 1e-15 && fabs(value[1] - 6) < 1e-15);
    assert_true(scale[0] >= 2 && scale[1] >= 6 && scale[1] < 6.5);
}

static void gelu_call(int64_t M, int64_t N, int64_t K, const double *A, const double *B, const double *bias, size_t n,
                      const uint64_t *elements, double *value, double *scale)
{
    const int64_t dims[] = {M, N, K};
    const double *const tensors[] = {A, B, bias, NULL};
    const uint64_t sizes[] = {(uint64_t)(M * K), (uint64_t)(K * N), (uint64_t)N, (uint64_t)(M * N)};
    const kw_ref r = {3, dims, 0, NULL, 4, tensors, sizes};
    gemm_bias_gelu_reference(&r, 3, n, elements, value, scale);
}

static void gelu_by_hand(void **state)
{
    (void)state;
    /* z = {1 - 2 + 1, 3 + 8 - 10; -1 - 0 + 1, -3 + 0 - 10} = {0, 1; 0, -13} */
    const double A[] = {1, 2, -1, 0}, B[] = {1, 3, -1, 4}, bias[] = {1, -10};
    const uint64_t elements[] = {3, 1, 0, 2};
    double value[4], scale[4];
    gelu_call(2, 2, 2, A, B, bias, 4, elements, value, scale);
    assert_true(value[0] < 0 && value[0] > -1e-36); /* not lost, as in 1 + erf */
    assert_true(fabs(value[1] - 0.841344746068542949) < 1e-15);
    assert_true(value[2] == 0 && value[3] == 0);
    const double terms[] = {13, 21, 4, 2};
    for (int i = 0; i < 4; i++)
        assert_true(fabs(scale[i] - 1.13 * terms[i]) < 1e-13);
    const uint64_t two[] = {1, 0};
    gelu_call(1, 2, 0, NULL, NULL, bias, 2, two, value, scale); /* no terms: gelu of the bias */
    assert_true(fabs(value[1] - 0.841344746068542949) < 1e-15 && fabs(value[0]) < 1e-20);
}

/* Sizes that end in the middle of a chunk and of a step, against one dot product after the other. */
static void gelu_agrees_with_dot_products(void **state)
{
    (void)state;
    enum { M = 59, N = 61, K = 21 };
    double *A = numbers(M * K, 11), *B = numbers(K * N, 12), *bias = numbers(N, 13);
    uint64_t *elements = count_up(M * N);
    double *value = numbers(M * N, 14), *scale = numbers(M * N, 15);
    gelu_call(M, N, K, A, B, bias, M * N, elements, value, scale);
    for (size_t e = 0; e < M * N; e++) {
        double z = bias[e % N];
        for (size_t k = 0; k < K; k++)
            z += A[e / N * K + k] * B[k * N + e % N];
        assert_true(fabs(value[e] - 0.5 * z * (1 + erf(z / sqrt(2)))) < 1e-13);
    }
    free(A), free(B), free(bias), free(elements), free(value), free(scale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_by_hand),
        cmocka_unit_test(gemm_beta_zero_ignores_c),
        cmocka_unit_test(gemm_without_terms_scales_c),
        cmocka_unit_test(gemm_agrees_with_dot_products),
        cmocka_unit_test(gemm_elements_are_independent),
        cmocka_unit_test(saxpy_by_hand),
        cmocka_unit_test(softmax_by_hand),
        cmocka_unit_test(softmax_of_one_column_is_one),
        cmocka_unit_test(softmax_properties),
        cmocka_unit_test(sum_by_hand),
        cmocka_unit_test(transpose_by_hand),
        cmocka_unit_test(transpose_twice_is_nothing),
        cmocka_unit_test(scan_by_hand),
        cmocka_unit_test(scan_in_any_order),
        cmocka_unit_test(argmax_by_hand),
        cmocka_unit_test(layernorm_by_hand),
        cmocka_unit_test(rmsnorm_by_hand),
        cmocka_unit_test(gelu_by_hand),
        cmocka_unit_test(gelu_agrees_with_dot_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
