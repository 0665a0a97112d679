/* Checks by kernels of ours say "all is well" exactly where the host finds nothing wrong, on whatever OpenCL
 * device there is; skipped when there is none. */
#include "base/counter_rng.h"
#include "base/mem.h"
#include "device/opencl.h"
#include "tuner/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static device *opened; /* by the group's set-up: NULL if there is no device */

static int open_any(void **state)
{
    (void)state;
    kw_error err = {0};
    device_info *list;
    size_t n, index;
    setenv("KERNWRIGHT_COMPARE", "device", 1);
    device_list(&list, &n, NULL, &err);
    if (n > 0 && device_choose(list, n, NULL, &index, &err) == KW_OK && strncmp(list[index].spec, "opencl:", 7) == 0)
        assert_int_equal(device_open(list[index].spec, &opened, &err), KW_OK);
    free(list);
    return 0;
}

static int close_any(void **state)
{
    (void)state;
    device_close(opened);
    return 0;
}

static device *need(void)
{
    if (!opened) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    assert_true(device_can_check(opened));
    return opened;
}

static void ok(kw_code code, const kw_error *err)
{
    if (code != KW_OK)
        fail_msg("%s", err->message);
}

static device_buffer *buffer_of(device *d, const void *data, size_t bytes)
{
    kw_error err = {0};
    device_buffer *b = device_alloc(d, bytes, &err);
    assert_non_null(b);
    ok(device_write(d, b, 0, data, bytes, &err), &err);
    return b;
}

static bool doubts(device *d, device_check c)
{
    kw_error err = {0};
    ok(device_check_all(d, &c, 1, &err), &err);
    return c.doubt;
}

static void test_filled(void **state)
{
    (void)state;
    device *d = need();
    enum { SIZE = 70000 };
    static unsigned char bytes[SIZE];
    kw_error err = {0};
    memset(bytes, 0xa5, SIZE);
    device_buffer *b = buffer_of(d, bytes, SIZE);
    device_check all = {.kind = DEVICE_CHECK_FILLED, .a = b, .bytes = SIZE, .byte = 0xa5};
    assert_false(doubts(d, all));
    static const size_t places[] = {0, 1, 2, 3, 63, 64, 4095, 65537, SIZE - 2, SIZE - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ok(device_write(d, b, places[i], "\xa4", 1, &err), &err);
        assert_true(doubts(d, all));
        device_check before = {.kind = DEVICE_CHECK_FILLED, .a = b, .bytes = places[i], .byte = 0xa5};
        assert_false(doubts(d, before));
        device_check after = {.kind = DEVICE_CHECK_FILLED,
                              .a = b,
                              .a_offset = places[i] + 1,
                              .bytes = SIZE - places[i] - 1,
                              .byte = 0xa5};
        assert_false(doubts(d, after));
        ok(device_write(d, b, places[i], "\xa5", 1, &err), &err);
    }
    all.byte = 0xa4;
    assert_true(doubts(d, all));
    device_free(d, b);
}

static void test_same(void **state)
{
    (void)state;
    device *d = need();
    enum { SIZE = 5003 };
    unsigned char bytes[SIZE];
    kw_error err = {0};
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)counter_mix(i);
    device_buffer *a = buffer_of(d, bytes, SIZE), *b = buffer_of(d, bytes, SIZE);
    for (size_t bytes_compared = SIZE - 7; bytes_compared <= SIZE; bytes_compared++) {
        device_check all = {.kind = DEVICE_CHECK_SAME, .a = a, .b = b, .bytes = bytes_compared};
        assert_false(doubts(d, all));
        for (size_t at = SIZE - 9; at < SIZE; at++) {
            unsigned char other = bytes[at] ^ 1;
            ok(device_write(d, b, at, &other, 1, &err), &err);
            assert_int_equal(doubts(d, all), at < bytes_compared);
            ok(device_write(d, b, at, &bytes[at], 1, &err), &err);
        }
    }
    device_check shifted = {.kind = DEVICE_CHECK_SAME, .a = a, .b = b, .a_offset = 4, .bytes = 400};
    assert_true(doubts(d, shifted));
    device_free(d, a);
    device_free(d, b);
}

/* ---- close ---- */

static void fill(dtype type, void *out, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        dtype_store(type, out, i, ldexp(counter_rng_unit(seed, 1, i) - 0.5, (int)(counter_mix(i) % 12)));
}

static device_buffer *hidden_of(device *d, const void *data, size_t bytes)
{
    kw_error err = {0};
    device_buffer *b = device_alloc(d, (bytes + 3) / 4 * 4, &err);
    assert_non_null(b);
    ok(device_fill(d, b, 0, b->bytes, 0, &err), &err);
    ok(device_write(d, b, 0, data, bytes, &err), &err);
    ok(device_hide(d, b, &err), &err);
    return b;
}

/* The host's verdict on the same memory. */
static double worst_on_host(dtype type, const void *got, const void *wanted, size_t n, double relative, double absolute)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double x = dtype_load(type, got, i), v = dtype_load(type, wanted, i);
        double ratio = fabs(x - v) / (relative * fabs(v) + absolute);
        worst = isnan(ratio) ? (double)INFINITY : fmax(worst, ratio);
    }
    return worst;
}

static void close_of_type(device *d, dtype type, size_t n)
{
    const size_t size = dtype_bytes(type);
    const double relative = 4 * dtype_epsilon(type), absolute = 0.25 * dtype_epsilon(type);
    unsigned char *wanted = mem_calloc(n + 4, size), *got = mem_calloc(n + 4, size);
    kw_error err = {0};
    fill(type, wanted, n, 7);
    device_buffer *b = hidden_of(d, wanted, n * size);
    for (int round = 0; round < 30; round++) {
        /* Errors of up to 1.3 times the bound in a few elements; in some rounds none is over. */
        memcpy(got, wanted, n * size);
        for (size_t k = 0; k < 20; k++) {
            size_t i = counter_rng_u64(11, (uint64_t)round, k) % n;
            double v = dtype_load(type, wanted, i), share = counter_rng_unit(12, (uint64_t)round, k) * 2.6 - 1.3;
            dtype_store(type, got, i, v + share * (relative * fabs(v) + absolute) * (round % 2 ? 0.7 : 1));
        }
        if (round % 10 == 9)
            dtype_store(type, got, n - 1, round == 9 ? (double)NAN : round == 19 ? (double)INFINITY : 1e4);
        device_buffer *a = buffer_of(d, got, (n + 4) * size);
        device_check c = {.kind = DEVICE_CHECK_CLOSE,
                          .a = a,
                          .b = b,
                          .bytes = n * size,
                          .type = type,
                          .relative = relative,
                          .absolute = absolute};
        ok(device_check_all(d, &c, 1, &err), &err);
        double worst = worst_on_host(type, got, wanted, n, relative, absolute);
        if (c.doubt != (worst > 1)) /* no case lies within the margin */
            fail_msg("%s, round %d: doubt %d, largest ratio %g", dtype_name(type), round, c.doubt, worst);
        if (!c.doubt)
            assert_true(fabs(c.worst - worst) <= 1e-5 * worst);
        /* Bits. */
        c.relative = c.absolute = 0;
        assert_true(doubts(d, c) || memcmp(got, wanted, n * size) == 0);
        device_free(d, a);
    }
    device_free(d, b);
    free(wanted);
    free(got);
}

static void test_close(void **state)
{
    (void)state;
    device *d = need();
    static const size_t counts[] = {1, 2, 3, 127, 128, 129, 1001, 30001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        close_of_type(d, DTYPE_F32, counts[i]);
        close_of_type(d, DTYPE_F16, counts[i]);
        if (device_describe(d)->limits.has_f64)
            close_of_type(d, DTYPE_F64, counts[i]);
    }
}

/* Every half, against the host's conversion. */
static void test_all_halves(void **state)
{
    (void)state;
    device *d = need();
    enum { N = 65536 };
    uint16_t *halves = mem_calloc(N, sizeof *halves);
    double *values = mem_calloc(N, sizeof *values);
    size_t n = 0;
    for (unsigned i = 0; i < N; i++) {
        uint16_t h = (uint16_t)i;
        if (isfinite(dtype_load(DTYPE_F16, &h, 0)))
            halves[n++] = h;
    }
    /* A bound of half a step of the smallest ones: any wrong conversion of either side would show against the other. */
    device_buffer *a = buffer_of(d, halves, n * 2), *b = hidden_of(d, halves, n * 2);
    device_check c = {.kind = DEVICE_CHECK_CLOSE, .a = a, .b = b, .bytes = n * 2, .type = DTYPE_F16, .absolute = 1e-9};
    assert_false(doubts(d, c));
    /* And each one step on: more than a quarter of the step away, less than one and a half. */
    kw_error err = {0};
    for (size_t i = 0; i < n; i++)
        halves[i] ^= 1;
    ok(device_write(d, a, 0, halves, n * 2, &err), &err);
    c.relative = 1.001 * dtype_epsilon(DTYPE_F16);
    c.absolute = 1.001 * 0x1p-24;
    assert_false(doubts(d, c));
    c.relative = 0.24 * dtype_epsilon(DTYPE_F16);
    c.absolute = 0.24 * 0x1p-24;
    assert_true(doubts(d, c));
    device_free(d, a);
    device_free(d, b);
    free(halves);
    free(values);
}

static void test_bits_of_any_type(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    for (size_t bytes = 1; bytes <= 13; bytes++) {
        unsigned char one[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, other[16];
        device_buffer *a = buffer_of(d, one, 16), *b = hidden_of(d, one, bytes);
        device_check c = {
            .kind = DEVICE_CHECK_CLOSE, .a = a, .b = b, .bytes = bytes, .type = DTYPE_U8, .relative = 1, .absolute = 1};
        assert_false(doubts(d, c)); /* integers: a tolerance is the host's business */
        for (size_t at = 0; at < 16; at++) {
            memcpy(other, one, 16);
            other[at] ^= 0x80;
            ok(device_write(d, a, 0, other, 16, &err), &err);
            assert_int_equal(doubts(d, c), at < bytes);
        }
        device_free(d, a);
        device_free(d, b);
    }
}

/* In single precision: no statement about what a device may flush to zero, nor about doubles. */
static void test_without_doubles(void **state)
{
    (void)state;
    device *d = need();
    device *single = NULL;
    kw_error err = {0};
    ok(device_open(device_describe(d)->spec, &single, &err), &err);
    single->info.limits.has_f64 = 0;
    assert_true(device_can_check(single));
    close_of_type(single, DTYPE_F32, 5000);
    close_of_type(single, DTYPE_F16, 5000);
    double zero[4] = {0};
    device_buffer *a = buffer_of(single, zero, sizeof zero), *b = hidden_of(single, zero, sizeof zero);
    device_check c = {
        .kind = DEVICE_CHECK_CLOSE, .a = a, .b = b, .bytes = sizeof zero, .type = DTYPE_F64, .absolute = 1e-6};
    assert_true(doubts(single, c));
    c.type = DTYPE_F32;
    assert_false(doubts(single, c));
    c.absolute = 0x1p-126;
    assert_true(doubts(single, c));
    device_free(single, a);
    device_free(single, b);
    device_close(single);
}

/* A hidden buffer holds nothing of the original, and comes back. */
static void test_hidden(void **state)
{
    (void)state;
    device *d = need();
    enum { N = 4096 };
    float *values = mem_calloc(N, sizeof *values), *read = mem_calloc(N, sizeof *read);
    kw_error err = {0};
    fill(DTYPE_F32, values, N, 3);
    memset(values, 0, N * 2); /* half of it constant */
    device_buffer *b = hidden_of(d, values, N * sizeof *values);
    ok(device_read(d, b, 0, read, N * sizeof *read, &err), &err);
    size_t same = 0, repeated = 0;
    for (size_t i = 0; i < N; i++) {
        same += memcmp(&values[i], &read[i], sizeof *read) == 0;
        repeated += i > 0 && memcmp(&read[i], &read[i - 1], sizeof *read) == 0;
    }
    assert_true(same <= 1 && repeated <= 1);
    ok(device_hide(d, b, &err), &err);
    ok(device_read(d, b, 0, read, N * sizeof *read, &err), &err);
    assert_memory_equal(read, values, N * sizeof *read);
    device_free(d, b);
    free(values);
    free(read);
}

static void test_gather(void **state)
{
    (void)state;
    device *d = need();
    enum { BYTES = 40000 };
    unsigned char *bytes = mem_alloc(BYTES);
    uint64_t index[500];
    unsigned char got[500 * 8];
    kw_error err = {0};
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)counter_mix(i);
    device_buffer *b = buffer_of(d, bytes, BYTES);
    for (size_t size = 1; size <= 8; size *= 2) {
        for (size_t offset = 0; offset <= 128; offset += 64) {
            for (size_t i = 0; i < 500; i++)
                index[i] = i == 499 ? (BYTES - offset) / size - 1 : counter_mix(i) % ((BYTES - offset) / size);
            ok(device_gather(d, b, offset, size, index, 500, got, &err), &err);
            for (size_t i = 0; i < 500; i++)
                assert_memory_equal(got + i * size, bytes + offset + index[i] * size, size);
        }
    }
    index[3] = BYTES / 8;
    assert_int_equal(device_gather(d, b, 0, 8, index, 500, got, &err), KW_BAD_INPUT);
    device_free(d, b);
    free(bytes);
}

/* Many at once: each has its own answer. */
static void test_a_long_list(void **state)
{
    (void)state;
    device *d = need();
    enum { N = 700 };
    kw_error err = {0};
    unsigned char bytes[N];
    device_check *list = mem_calloc(N, sizeof *list);
    for (size_t i = 0; i < N; i++)
        bytes[i] = i % 5 == 0;
    device_buffer *b = buffer_of(d, bytes, N);
    for (size_t i = 0; i < N; i++)
        list[i] = (device_check){.kind = DEVICE_CHECK_FILLED, .a = b, .a_offset = i, .bytes = 1, .byte = 0};
    ok(device_check_all(d, list, N, &err), &err);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(list[i].doubt, i % 5 == 0);
    ok(device_check_all(d, list, 0, &err), &err);
    list[1].a_offset = N;
    assert_int_equal(device_check_all(d, list, N, &err), KW_BAD_INPUT);
    device_free(d, b);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filled),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_bits_of_any_type),
        cmocka_unit_test(test_without_doubles),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_a_long_list),
    };
    return cmocka_run_group_tests(tests, open_any, close_any);
}
