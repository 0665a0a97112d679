/* Input generators and tensor layouts. */
#include "base/hash.h"
#include "base/mem.h"
#include "tuner/inputs.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char task_text[] =
    "{\"task\":\"try\",\"dims\":{\"M\":{\"min\":0},\"N\":{\"min\":1},\"ld\":{\"default\":\"N\",\"key\":false}},"
    "\"types\":{\"T\":[\"f32\",\"f16\",\"f64\"]},"
    "\"tensors\":["
    "{\"name\":\"any\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"in\"},"
    "{\"name\":\"positive\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"in\",\"domain\":{\"min\":0}},"
    "{\"name\":\"negative\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"in\",\"domain\":{\"max\":-1}},"
    "{\"name\":\"share\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"in\",\"domain\":{\"min\":0,\"max\":1}},"
    "{\"name\":\"narrow\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"in\",\"domain\":{\"min\":0.25,\"max\":0."
    "75}},"
    "{\"name\":\"where\",\"type\":\"i32\",\"shape\":[\"M\",\"N\"],\"access\":\"in\","
    "\"init\":{\"generator\":\"index\",\"limit\":\"N\"}},"
    "{\"name\":\"count\",\"type\":\"u8\",\"shape\":[\"M\",\"N\"],\"access\":\"in\"},"
    "{\"name\":\"rows\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"strides\":[\"ld\",\"1\"],\"access\":\"out\"}]}";

enum { ANY, POSITIVE, NEGATIVE, SHARE, NARROW, WHERE, COUNT_, ROWS, N_TENSORS };

typedef struct fixture {
    task *t;
    task_types types;
    task_shape shape;
} fixture;

static fixture make(const char *types, const char *shape)
{
    fixture f;
    kw_error err;
    json *j = json_parse(task_text, strlen(task_text), "task.json", 1, 1, &err);
    if (!j || task_from_json(j, "task.json", &f.t, &err) != KW_OK)
        fail_msg("%s", err.message);
    json_free(j);
    assert_int_equal(task_types_parse(f.t, types, &f.types, &err), KW_OK);
    assert_int_equal(task_shape_parse(f.t, shape, &f.shape, &err), KW_OK);
    return f;
}

typedef struct drawn {
    tensor_layout l;
    unsigned char *native;
    double *values;
} drawn;

static drawn fill(const fixture *f, size_t tensor, distribution d, uint64_t seed)
{
    drawn x;
    kw_error err;
    assert_int_equal(layout_of(f->t, &f->types, &f->shape, tensor, &x.l, &err), KW_OK);
    x.native = mem_alloc(x.l.bytes);
    x.values = mem_calloc(x.l.elements + 1, sizeof *x.values);
    if (inputs_fill(f->t, &f->types, &f->shape, tensor, d, seed, &x.l, x.native, x.values, &err) != KW_OK)
        fail_msg("%s", err.message);
    return x;
}

static void drop(drawn *x)
{
    free(x->native);
    free(x->values);
}

/* ---- inputs ---- */

static void test_same_seed_same_bytes(void **state)
{
    (void)state;
    fixture f = make("f32", "M=40,N=50");
    for (int d = 0; d < DIST_COUNT; d++) {
        drawn a = fill(&f, ANY, (distribution)d, 7), b = fill(&f, ANY, (distribution)d, 7);
        drawn other_seed = fill(&f, ANY, (distribution)d, 8), other_tensor = fill(&f, POSITIVE, (distribution)d, 7);
        assert_memory_equal(a.native, b.native, a.l.bytes);
        assert_memory_not_equal(a.native, other_seed.native, a.l.bytes);
        assert_memory_not_equal(a.native, other_tensor.native, a.l.bytes);
        drop(&a);
        drop(&b);
        drop(&other_seed);
        drop(&other_tensor);
    }
    task_free(f.t);
}

/* Workers on other machines must draw the same: the digits of distributions that go round may only change together with
 * TIMING_VERSION or the task's hash, for what was measured was measured on other numbers then. */
static void test_golden_bytes(void **state)
{
    (void)state;
    static const char *const golden[DIST_COUNT] = {
        "513d897d5c0a98082911933804e4dd7b", "65c06bf8f6e4b2c27a5346784856ce0d", "e3aced6360c03be8b0b53111881f7a88",
        "439958c24c4c0100f01a5bf076d8a67b", "6feeb03a8a3976f51b97649325ff8e13", "450fcbf220f7cf4f86894eed0c6ad449",
        "4942f12e3a9786231ca9a619b9b50207", "855964aef0af3b0bd9ae0a594f17a95e", "47c15edf6ca722df76d9ea2827ba185d",
        "07a257fab056b3ee7d91803d243bbeed"};
    fixture f = make("f32", "M=16,N=16");
    for (int d = 0; d < DIST_COUNT; d++) {
        char hash[HASH_HEX_SIZE];
        drawn x = fill(&f, ANY, (distribution)d, 42);
        hash_hex(x.native, x.l.bytes, hash);
        assert_string_equal(hash, golden[d]);
        drop(&x);
    }
    task_free(f.t);
}

static void test_values_are_what_the_type_holds(void **state)
{
    (void)state;
    static const char *const types[] = {"f32", "f16", "f64"};
    for (size_t k = 0; k < 3; k++) {
        fixture f = make(types[k], "M=20,N=30");
        for (size_t tensor = 0; tensor < N_TENSORS; tensor++) {
            for (int d = 0; d < DIST_COUNT; d++) {
                drawn x = fill(&f, tensor, (distribution)d, 3);
                for (uint64_t i = 0; i < x.l.elements; i++) {
                    assert_true(x.values[i] == dtype_load(x.l.type, x.native, i));
                    assert_true(isfinite(x.values[i]));
                    assert_false(d != DIST_OFFSET && x.values[i] == 0 && signbit(x.values[i]));
                }
                drop(&x);
            }
        }
        task_free(f.t);
    }
}

/* Seeds near each other: almost the same inputs, but not quite, of every tensor and distribution. */
static void test_near_seeds(void **state)
{
    (void)state;
    fixture f = make("f32", "M=40,N=50");
    const uint64_t base = inputs_near_base(0x123456789abcdef0u);
    assert_true(inputs_near_seed(base) != base);
    for (int d = 0; d < DIST_COUNT; d++) {
        drawn a = fill(&f, ANY, (distribution)d, base), b = fill(&f, ANY, (distribution)d, inputs_near_seed(base));
        size_t other = 0, almost = 0;
        for (uint64_t i = 0; i < a.l.elements; i++) {
            other += a.values[i] != b.values[i];
            almost += a.values[i] != b.values[i] && fabs(a.values[i] - b.values[i]) < 0.01 * fabs(a.values[i]);
        }
        if (d == DIST_NORMAL || d == DIST_LARGE || d == DIST_NEGATIVE)
            assert_true(almost > 5);
        if (d != DIST_SPARSE) /* most are zero in both */
            assert_true(other > 0);
        assert_true(other < a.l.elements / 8);
        drop(&a);
        drop(&b);
    }
    task_free(f.t);
}

/* Rows far from zero whose numbers are close together; and rows of zeros of both signs. */
static void test_offset_and_scaled(void **state)
{
    (void)state;
    fixture f = make("f32", "M=200,N=30");
    drawn x = fill(&f, ANY, DIST_OFFSET, 5);
    size_t far = 0, near = 0, zeros = 0, negative_zeros = 0, begins = 0;
    for (uint64_t row = 0; row < 200; row++) {
        double least = INFINITY, most = -INFINITY;
        for (uint64_t i = row * 30; i < row * 30 + 30; i++) {
            least = fmin(least, x.values[i]);
            most = fmax(most, x.values[i]);
            negative_zeros += x.values[i] == 0 && signbit(x.values[i]);
        }
        begins += most - least > 1000 && fabs(x.values[row * 30]) > 1000 && fabs(x.values[row * 30 + 3]) > 1000;
        if (most - least > 8) { /* only its beginning is far away */
            assert_true(fabs(x.values[row * 30]) > 1000);
            continue;
        }
        far += fabs(most) > 1000;
        near += most > least && most - least < 1e-4 * fabs(most);
        zeros += most == 0 && least == 0;
    }
    assert_true(far > 25 && near > 25 && zeros > 5 && negative_zeros > 50 && begins > 20);
    drop(&x);
    static const double powers[] = {0x1p50, 0x1p-50, 0x1p25, 0x1p-25};
    for (uint64_t way = 0; way < 4; way++) {
        double squares = 0;
        x = fill(&f, ANY, DIST_SCALED, inputs_scaled_seed(5, way));
        for (uint64_t i = 0; i < x.l.elements; i++)
            squares += x.values[i] / powers[way] * (x.values[i] / powers[way]);
        if (way < 2 || squares < 1e6) /* the others leave some tensors as they are */
            assert_true(fabs(squares / 6000 - 1) < 0.1);
        drop(&x);
    }
    task_free(f.t);
}

/* Where the type ends, for tasks that only compare. */
static void test_scaled_to_the_ends(void **state)
{
    (void)state;
    fixture f = make("f32", "M=50,N=30");
    for (size_t i = 0; i < f.t->n_tensors; i++)
        f.t->tensors[i].compare = TASK_COMPARE_EXACT;
    for (uint64_t way = 0; way < 2; way++) {
        size_t negative_rows = 0;
        drawn x = fill(&f, ANY, DIST_SCALED, inputs_scaled_seed(5, way));
        for (uint64_t row = 0; row < 50; row++) {
            bool negative = true;
            for (uint64_t i = row * 30; i < row * 30 + 30; i++) {
                const double size = fabs(x.values[i]);
                negative = negative && x.values[i] < 0;
                if (way == 0)
                    assert_true(size > 1e38 && 2 * size <= (double)FLT_MAX);
                else
                    assert_true(size < 1e-37 && size / 2 >= (double)FLT_MIN);
            }
            negative_rows += negative;
        }
        assert_in_range(negative_rows, 3, 30);
        drop(&x);
    }
    task_free(f.t);
}

/* Every element counts, neighbours differ, and most rows have one that is far beyond the rest, mostly at an end. */
static void test_peaks(void **state)
{
    (void)state;
    fixture f = make("f32", "M=200,N=30");
    drawn x = fill(&f, ANY, DIST_PEAKS, 5);
    size_t rows = 0, last = 0, first = 0, below = 0;
    for (uint64_t row = 0; row < 200; row++) {
        size_t peaks = 0;
        for (uint64_t i = row * 30; i < row * 30 + 30; i++) {
            const double v = x.values[i];
            assert_true(v != 0 && v == floor(v) && (fabs(v) <= 6 || fabs(v) >= 120));
            assert_true(i % 30 == 0 || v != x.values[i - 1]);
            assert_true(row == 0 || v != x.values[i - 30] || fabs(v) >= 120);
            if (fabs(v) <= 6)
                continue;
            peaks++;
            last += i % 30 == 29;
            first += i % 30 == 0;
            below += v < 0;
        }
        assert_true(peaks <= 1);
        rows += peaks;
    }
    assert_in_range(rows, 150, 195);
    assert_true(last > 30 && first > 25 && below > 25 && below < rows / 2);
    drop(&x);
    task_free(f.t);
}

static void test_normal_has_mean_0_and_variance_1(void **state)
{
    (void)state;
    fixture f = make("f64", "M=200,N=200");
    drawn x = fill(&f, ANY, DIST_NORMAL, 1);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < x.l.elements; i++) {
        sum += x.values[i];
        squares += x.values[i] * x.values[i];
    }
    assert_true(fabs(sum / 40000) < 0.03);
    assert_true(fabs(squares / 40000 - 1) < 0.03);
    drop(&x);
    task_free(f.t);
}

/* One sign; and one value a row, some of them zero. */
static void test_signs_and_rows(void **state)
{
    (void)state;
    fixture f = make("f32", "M=200,N=30");
    drawn x = fill(&f, ANY, DIST_NEGATIVE, 5), bounded = fill(&f, POSITIVE, DIST_NEGATIVE, 5);
    for (uint64_t i = 0; i < x.l.elements; i++) {
        assert_true(x.values[i] <= -0.015625);
        assert_true(bounded.values[i] > 0); /* of one sign, but in its domain */
    }
    drop(&x);
    drop(&bounded);
    x = fill(&f, ANY, DIST_ROWS, 5);
    size_t zeros = 0, changes = 0;
    for (uint64_t i = 0; i < x.l.elements; i++) {
        assert_true(x.values[i] == x.values[i / 30 * 30]);
        zeros += i % 30 == 0 && x.values[i] == 0;
        changes += i >= 30 && i % 30 == 0 && x.values[i] != x.values[i - 30];
    }
    assert_in_range(zeros, 20, 90);
    assert_true(changes > 100);
    drop(&x);
    task_free(f.t);
}

static void test_domains(void **state)
{
    (void)state;
    fixture f = make("f32", "M=60,N=60");
    for (int d = 0; d < DIST_COUNT; d++) {
        for (size_t tensor = 0; tensor < N_TENSORS; tensor++) {
            const task_tensor *t = &f.t->tensors[tensor];
            drawn x = fill(&f, tensor, (distribution)d, 5);
            bool varies = false;
            for (uint64_t i = 0; i < x.l.elements; i++) {
                assert_true(x.values[i] >= t->domain_min && x.values[i] <= t->domain_max);
                varies = varies || x.values[i] != x.values[0];
            }
            assert_true(varies);
            drop(&x);
        }
    }
    /* One value is a domain, too. */
    f.t->tensors[SHARE].domain_min = 1;
    for (int d = 0; d < DIST_COUNT; d++) {
        drawn x = fill(&f, SHARE, (distribution)d, 5);
        for (uint64_t i = 0; i < x.l.elements; i++)
            assert_true(x.values[i] == 1);
        drop(&x);
    }
    task_free(f.t);
}

static void test_integers(void **state)
{
    (void)state;
    fixture f = make("f32", "M=60,N=60");
    drawn x = fill(&f, ANY, DIST_INTEGERS, 5);
    size_t beyond_half = 0;
    for (uint64_t i = 0; i < x.l.elements; i++) {
        unsigned char half[2];
        assert_true(x.values[i] == floor(x.values[i]) && fabs(x.values[i]) < 4096);
        dtype_store(DTYPE_F16, half, 0, x.values[i]);
        beyond_half += dtype_load(DTYPE_F16, half, 0) != x.values[i];
    }
    assert_true(beyond_half > 200 && beyond_half < 900); /* one in eight */
    drop(&x);
    /* Every other tensor has small ones only, so that products stay exact. */
    x = fill(&f, POSITIVE, DIST_INTEGERS, 5);
    for (uint64_t i = 0; i < x.l.elements; i++)
        assert_true(x.values[i] <= 3);
    drop(&x);
    task_free(f.t);
}

/* A sum of more terms than add up exactly has zeros among them: about 16,384 are left, and none is large. */
static void test_integers_of_a_long_sum(void **state)
{
    (void)state;
    kw_error err;
    task *t;
    task_types types;
    task_shape shape;
    tensor_layout l;
    assert_int_equal(task_load("reduce_sum", &t, &err), KW_OK);
    assert_int_equal(task_types_parse(t, NULL, &types, &err), KW_OK);
    assert_int_equal(task_shape_parse(t, "N=4194304", &shape, &err), KW_OK);
    assert_int_equal(layout_of(t, &types, &shape, 0, &l, &err), KW_OK);
    double *values = mem_alloc(l.elements * sizeof *values), sum = 0;
    size_t kept = 0;
    assert_int_equal(inputs_fill(t, &types, &shape, 0, DIST_INTEGERS, 5, &l, NULL, values, &err), KW_OK);
    for (uint64_t i = 0; i < l.elements; i++) {
        assert_true(fabs(values[i]) <= 3 && values[i] == floor(values[i]));
        kept += values[i] != 0;
        sum += fabs(values[i]);
    }
    assert_in_range(kept, 12000, 16000); /* 0 is one of the seven numbers */
    assert_true(sum < 0x1p22);
    free(values);
    task_free(t);
}

static void test_large_and_sparse(void **state)
{
    (void)state;
    fixture f = make("f32", "M=60,N=60");
    double largest = 0;
    size_t zeros = 0, positive = 0;
    drawn large = fill(&f, ANY, DIST_LARGE, 5), sparse = fill(&f, ANY, DIST_SPARSE, 5);
    for (uint64_t i = 0; i < large.l.elements; i++) {
        largest = fmax(largest, fabs(large.values[i]));
        positive += large.values[i] > 0;
        zeros += sparse.values[i] == 0;
    }
    assert_true(largest > 1000);
    assert_true(positive > 1500 && positive < 2100);
    assert_true(zeros > 3200 && zeros < 3500);
    drop(&large);
    drop(&sparse);
    task_free(f.t);
}

/* Of the product of matrices: at every step of k at most one operand is great, and the other is zero there. */
static void test_great_meets_zero(void **state)
{
    (void)state;
    enum { M = 40, N = 30, K = 65 };
    kw_error err;
    task *t;
    task_types types;
    task_shape shape;
    assert_int_equal(task_load("gemm_bias_gelu", &t, &err), KW_OK);
    assert_int_equal(task_types_parse(t, NULL, &types, &err), KW_OK);
    assert_int_equal(task_shape_parse(t, "M=40,N=30,K=65", &shape, &err), KW_OK);
    double *x[3];
    for (size_t i = 0; i < 3; i++) {
        tensor_layout l;
        assert_int_equal(layout_of(t, &types, &shape, i, &l, &err), KW_OK);
        x[i] = mem_calloc(l.elements, sizeof *x[i]);
        assert_int_equal(inputs_fill(t, &types, &shape, i, DIST_MIXED, 11, &l, NULL, x[i], &err), KW_OK);
    }
    size_t great_steps[2] = {0}, rows_without = M, small_products = 0;
    for (size_t k = 0; k < K; k++) {
        double a = 0, b = 0;
        for (size_t m = 0; m < M; m++)
            a = fmax(a, fabs(x[0][m * K + k]));
        for (size_t n = 0; n < N; n++)
            b = fmax(b, fabs(x[1][k * N + n]));
        assert_true(a <= 0x1p26 && b <= 0x1p26);
        assert_true(a * b < 0x1p-6); /* small ones are within 3.5 / 64 */
        great_steps[0] += a >= 0x1p25;
        great_steps[1] += b >= 0x1p25;
        small_products += a > 0 && b > 0;
    }
    assert_in_range(great_steps[0], 1, 16);
    assert_in_range(great_steps[1], 1, 16);
    assert_in_range(small_products, 30, 63);
    for (size_t m = 0; m < M; m++) {
        bool great[2] = {false};
        for (size_t k = 0; k < K; k++)
            if (fabs(x[0][m * K + k]) >= 0x1p25)
                great[x[0][m * K + k] > 0] = true;
        assert_false(great[0] && great[1]);
        rows_without -= great[0] || great[1];
    }
    assert_in_range(rows_without, 1, 30);
    size_t zeros = 0;
    for (size_t n = 0; n < N; n++) { /* added to the products: it must not hide them */
        assert_true(fabs(x[2][n]) < 0x1p-4);
        zeros += x[2][n] == 0;
    }
    assert_in_range(zeros, N / 2, N - 1);
    for (size_t i = 0; i < 3; i++)
        free(x[i]);
    task_free(t);
}

/* A single input: some elements of most rows are great, of one sign a row. Halves keep to their range. */
static void test_mixed_rows_and_halves(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double greatest, small;
    } tries[] = {{"f32", 0x1p26, 0x1p-4}, {"f64", 0x1p26, 0x1p-4}, {"f16", 32, 0x1p-5}};
    for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
        fixture f = make(tries[k].type, "M=64,N=60,ld=70");
        for (size_t tensor = ANY; tensor <= SHARE; tensor++) {
            const bool share = tensor == SHARE; /* 0..1 */
            const double greatest = share ? 1 : tries[k].greatest, small = share ? 0x1p-8 : tries[k].small;
            drawn x = fill(&f, tensor, DIST_MIXED, 5);
            size_t great = 0, zeros = 0, between = 0, negative = 0;
            for (uint64_t i = 0; i < x.l.elements; i++) {
                const double size = fabs(x.values[i]);
                great += size >= greatest / 2;
                zeros += size == 0;
                between += size > small + 2 && size < greatest / 2;
                negative += x.values[i] < 0;
                assert_true(size <= greatest + 2);
            }
            assert_true(great > 20 && great < x.l.elements / 4);
            assert_int_equal(between, 0);
            assert_true(tensor == NEGATIVE ? zeros == 0 : zeros > x.l.elements / 3);
            assert_true(tensor == NEGATIVE ? negative == x.l.elements : tensor == ANY ? negative > 100 : negative == 0);
            drop(&x);
        }
        task_free(f.t);
    }
}

static void test_indices(void **state)
{
    (void)state;
    fixture f = make("f32", "M=60,N=7");
    bool seen[7] = {false};
    drawn x = fill(&f, WHERE, DIST_LARGE, 5);
    for (uint64_t i = 0; i < x.l.elements; i++) {
        assert_true(x.values[i] >= 0 && x.values[i] < 7);
        seen[(size_t)x.values[i]] = true;
    }
    for (size_t i = 0; i < 7; i++)
        assert_true(seen[i]);
    drop(&x);
    task_free(f.t);
}

static void test_probe_seed_is_another(void **state)
{
    (void)state;
    assert_true(inputs_probe_seed(1) != 1);
    assert_true(inputs_probe_seed(1) != inputs_probe_seed(2));
    assert_true(inputs_probe_seed(1) == inputs_probe_seed(1));
}

/* ---- layouts ---- */

static void test_dense_layout(void **state)
{
    (void)state;
    fixture f = make("f16", "M=3,N=5");
    tensor_layout l;
    kw_error err;
    uint64_t logical;
    int64_t index[TASK_MAX_RANK];
    assert_int_equal(layout_of(f.t, &f.types, &f.shape, ROWS, &l, &err), KW_OK); /* ld defaults to N */
    assert_true(l.dense);
    assert_int_equal(l.count, 15);
    assert_int_equal(l.elements, 15);
    assert_int_equal(l.bytes, 30);
    layout_index(&l, 13, index);
    assert_int_equal(index[0], 2);
    assert_int_equal(index[1], 3);
    assert_true(layout_logical(&l, 14, &logical) && logical == 14);
    assert_false(layout_logical(&l, 15, &logical));
    task_free(f.t);
}

static void test_strided_layout(void **state)
{
    (void)state;
    fixture f = make("f32", "M=3,N=5,ld=8");
    tensor_layout l;
    kw_error err;
    assert_int_equal(layout_of(f.t, &f.types, &f.shape, ROWS, &l, &err), KW_OK);
    assert_false(l.dense);
    assert_int_equal(l.count, 15);
    assert_int_equal(l.elements, 21);
    size_t found = 0;
    for (uint64_t flat = 0; flat < l.elements; flat++) {
        uint64_t logical;
        bool gap = flat % 8 >= 5;
        assert_true(layout_logical(&l, flat, &logical) == !gap);
        if (!gap) {
            assert_int_equal(logical, found);
            assert_int_equal(layout_flat(&l, logical), flat);
            found++;
        }
    }
    assert_int_equal(found, 15);
    task_free(f.t);
}

static void test_empty_layout(void **state)
{
    (void)state;
    fixture f = make("f32", "M=0,N=5,ld=8");
    tensor_layout l;
    kw_error err;
    uint64_t *sample;
    assert_int_equal(layout_of(f.t, &f.types, &f.shape, ROWS, &l, &err), KW_OK);
    assert_int_equal(l.count, 0);
    assert_int_equal(l.bytes, 0);
    assert_int_equal(layout_sample(&l, 10, 1, 1, &sample), 0);
    free(sample);
    task_free(f.t);
}

static void test_sample_has_the_corners(void **state)
{
    (void)state;
    fixture f = make("f32", "M=300,N=500,ld=512");
    tensor_layout l;
    kw_error err;
    uint64_t *sample, *again, *other;
    assert_int_equal(layout_of(f.t, &f.types, &f.shape, ROWS, &l, &err), KW_OK);
    size_t n = layout_sample(&l, 100, 9, 4, &sample), m = layout_sample(&l, 100, 9, 4, &again);
    size_t o = layout_sample(&l, 100, 10, 4, &other);
    assert_true(n > 95 && n <= 104);
    assert_int_equal(n, m);
    assert_memory_equal(sample, again, n * sizeof *sample);
    assert_true(o != n || memcmp(sample, other, n * sizeof *sample) != 0);
    bool corners[4] = {false};
    for (size_t i = 0; i < n; i++) {
        assert_true(sample[i] < l.count && (i == 0 || sample[i] > sample[i - 1]));
        corners[0] = corners[0] || sample[i] == 0;
        corners[1] = corners[1] || sample[i] == 499;
        corners[2] = corners[2] || sample[i] == 299 * 500;
        corners[3] = corners[3] || sample[i] == 149999;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(corners[i]);
    free(sample);
    free(again);
    free(other);
    /* No more elements than wanted: all of them. */
    assert_int_equal(layout_sample(&l, 200000, 9, 4, &sample), 150000);
    assert_int_equal(sample[149999], 149999);
    free(sample);
    task_free(f.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_bytes),
        cmocka_unit_test(test_golden_bytes),
        cmocka_unit_test(test_values_are_what_the_type_holds),
        cmocka_unit_test(test_normal_has_mean_0_and_variance_1),
        cmocka_unit_test(test_near_seeds),
        cmocka_unit_test(test_scaled_to_the_ends),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_offset_and_scaled),
        cmocka_unit_test(test_signs_and_rows),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_integers_of_a_long_sum),
        cmocka_unit_test(test_large_and_sparse),
        cmocka_unit_test(test_great_meets_zero),
        cmocka_unit_test(test_mixed_rows_and_halves),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_probe_seed_is_another),
        cmocka_unit_test(test_dense_layout),
        cmocka_unit_test(test_strided_layout),
        cmocka_unit_test(test_empty_layout),
        cmocka_unit_test(test_sample_has_the_corners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
