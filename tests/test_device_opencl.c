/* The OpenCL back end, on whatever device there is (PoCL in `make check`); skipped when there is none. */
#include "base/mem.h"
#include "device/opencl.h"
#include "device/device_key_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 1000

static device *opened; /* by the group's set-up: NULL if there is no device */

/* Programs are small: where a compiler cannot take one kernel, only the tests of that kernel fail. */
typedef struct program_text {
    const char *source;
    const char *kernels[4];
    size_t n_kernels;
} program_text;

static const program_text common = {
    "kernel void scale(int n, float a, global const float *restrict x, global float *y)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i];\n"
    "}\n"
    "kernel void add_one(global float *y, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] += 1.0f;\n"
    "}\n"
    "kernel void outside(global float *y, int n)\n"
    "{\n"
    "    if (get_global_id(0) == 0) {\n"
    "        y[n] = 5.0f;\n"
    "        y[-1] = 6.0f;\n"
    "    }\n"
    "}\n"
    "kernel void reverse(local float *t, global float *y)\n"
    "{\n"
    "    int i = get_local_id(0), n = get_local_size(0);\n"
    "    t[i] = y[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[i] = t[n - 1 - i];\n"
    "}\n",
    {"scale", "add_one", "outside", "reverse"},
    4,
};

static const program_text fixed = {
    "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global float *y)\n"
    "{\n"
    "    local float t[64];\n"
    "    t[get_local_id(0)] = y[0];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[get_local_id(0)] = t[7 - get_local_id(0)];\n"
    "}\n",
    {"fixed"},
    1,
};

static const program_text nothing = {"kernel void nothing(void) {}\n", {"nothing"}, 1};

/* ---- helpers ---- */

static int open_any(void **state)
{
    (void)state;
    kw_error err = {0};
    device_info *list;
    size_t n, index;
    device_list(&list, &n, NULL, &err);
    if (n > 0) {
        assert_int_equal(device_choose(list, n, NULL, &index, &err), KW_OK);
        if (strncmp(list[index].spec, "opencl:", 7) == 0) {
            assert_int_equal(device_open(list[index].spec, &opened, &err), KW_OK);
            assert_string_equal(err.message, "");
        }
    }
    free(list);
    return 0;
}

static int close_any(void **state)
{
    (void)state;
    device_close(opened);
    opened = NULL;
    return 0;
}

static device *need(void)
{
    if (!opened) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    return opened;
}

static device_program *build(device *d, const program_text *text, device_build_info *info)
{
    kw_error err = {0};
    device_program *p = NULL;
    device_build_info own;
    kw_code code = device_build(d, text->source, NULL, text->kernels, text->n_kernels, &p, info ? info : &own, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KW_OK);
    if (!info)
        device_build_info_clear(&own);
    return p;
}

static device_buffer *alloc(device *d, size_t bytes)
{
    kw_error err = {0};
    device_buffer *b = device_alloc(d, bytes, &err);
    assert_string_equal(err.message, "");
    assert_non_null(b);
    return b;
}

static device_arg buffer_arg(device_buffer *b)
{
    return (device_arg){.kind = DEVICE_ARG_BUFFER, .buffer = b};
}

static device_arg int_arg(int32_t x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_I32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

static device_arg float_arg(float x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_F32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

static void ok(kw_code code, const kw_error *err)
{
    if (code != KW_OK)
        fail_msg("%s", err->message);
}

static void says(const kw_error *err, const char *part)
{
    if (!strstr(err->message, part))
        fail_msg("message \"%s\" lacks \"%s\"", err->message, part);
}

/* ---- discovery ---- */

static void test_list(void **state)
{
    (void)state;
    need();
    kw_error err = {0};
    device_info *list;
    size_t n;
    strb note = STRB_INIT;
    ok(device_list(&list, &n, &note, &err), &err);
    assert_true(n >= 1);
    const device_info *d = &list[0];
    assert_string_equal(d->spec, "opencl:0:0");
    assert_true(strlen(d->name) > 0 && strlen(d->driver) > 0 && strlen(d->platform) > 0);
    assert_int_equal(strncmp(d->api, "OpenCL ", 7), 0);
    assert_true(d->limits.compute_units >= 1 && d->limits.max_work_group_size >= 1 &&
                d->limits.local_mem_bytes >= 1024);
    assert_true(d->limits.max_alloc_bytes > 0 && d->limits.global_mem_bytes >= d->limits.max_alloc_bytes);
    assert_true(d->limits.max_work_item_size[2] >= 1 && d->limits.preferred_multiple >= 1);
    assert_true(d->limits.is_cpu || d->limits.is_gpu);
    free(list);
    strb_clear(&note);
}

/* The header's query and the tuner's list give one and the same. */
static void test_key_of_header(void **state)
{
    (void)state;
    device *d = need();
    char key[KW_KEY_SIZE];
    kw_key_limits limits;
    kw_key_query(opencl_of(d)->id, key, sizeof key, &limits);
    assert_string_equal(key, device_describe(d)->key);
    assert_memory_equal(&limits, &device_describe(d)->limits, sizeof limits);
    assert_int_equal(limits.max_local_y, device_describe(d)->limits.max_work_item_size[1]);
    assert_int_equal(limits.has_f64, device_describe(d)->limits.has_f64);
    assert_int_equal(limits.cache_bytes, device_describe(d)->limits.cache_bytes);
}

static void test_open_what_is_not_there(void **state)
{
    (void)state;
    need();
    kw_error err = {0};
    device *d;
    assert_int_equal(device_open("opencl:0:77", &d, &err), KW_ENVIRONMENT);
    says(&err, "opencl:0:77: platform 0 has ");
    assert_int_equal(device_open("opencl:77:0", &d, &err), KW_ENVIRONMENT);
    assert_int_equal(device_open("opencl:0", &d, &err), KW_BAD_INPUT);
    assert_int_equal(device_open("opencl:0:0x", &d, &err), KW_BAD_INPUT);
    assert_null(d);
}

/* ---- buffers ---- */

static void test_buffers(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    device_buffer *a = alloc(d, N), *b = alloc(d, N);
    unsigned char bytes[N];
    ok(device_fill(d, a, 0, N, 0x5a, &err), &err);
    ok(device_fill(d, b, 0, N, 0, &err), &err);
    ok(device_fill(d, a, 3, 7, 0x11, &err), &err);
    ok(device_fill(d, a, 32, 21, 0x22, &err), &err);
    ok(device_read(d, a, 0, bytes, N, &err), &err);
    for (int i = 0; i < N; i++)
        assert_int_equal(bytes[i], i >= 3 && i < 10 ? 0x11 : i >= 32 && i < 53 ? 0x22 : 0x5a);
    ok(device_copy(d, a, 10, b, 500, 100, &err), &err);
    ok(device_read(d, b, 499, bytes, 102, &err), &err);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[1], 0x5a);
    assert_int_equal(bytes[23], 0x22);
    assert_int_equal(bytes[101], 0);
    ok(device_write(d, b, N - 1, "\7", 1, &err), &err);
    ok(device_read(d, b, N - 1, bytes, 1, &err), &err);
    assert_int_equal(bytes[0], 7);
    device_free(d, a);
    device_free(d, b);
}

static void test_views(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    size_t step = device_view_alignment(d);
    device_buffer *whole = alloc(d, 4 * step + 52);
    unsigned char *bytes = mem_alloc(4 * step + 52);
    uint64_t n, first;
    ok(device_fill(d, whole, 0, 4 * step + 52, 1, &err), &err);
    device_buffer *view = device_view(d, whole, step, 2 * step + 20, &err);
    device_buffer *inner = device_view(d, view, step, step + 4, &err);
    assert_non_null(inner);
    ok(device_fill(d, inner, 0, step + 4, 2, &err), &err);
    ok(device_write(d, view, 0, "\3", 1, &err), &err);
    ok(device_read(d, whole, 0, bytes, 4 * step + 52, &err), &err);
    for (size_t i = 0; i < 4 * step + 52; i++)
        assert_int_equal(bytes[i], i == step ? 3 : i >= 2 * step && i < 3 * step + 4 ? 2 : 1);
    ok(device_copy(d, inner, 4, view, 4, 16, &err), &err);
    ok(device_read(d, view, 0, bytes, 24, &err), &err);
    assert_memory_equal(bytes, "\3\1\1\1\2\2\2\2\2\2\2\2\2\2\2\2\2\2\2\2\1\1\1\1", 24);
    ok(device_compare(d, inner, 0, view, step, step + 4, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    ok(device_compare(d, view, 0, whole, 0, 24, &n, &first, &err), &err);
    assert_int_equal(n, 5);
    assert_int_equal(first, 0);
    assert_null(device_view(d, whole, 4, 16, &err));
    device_free(d, inner);
    device_free(d, view);
    device_free(d, whole);
    free(bytes);
}

static void test_memory_limit(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    assert_null(device_alloc(d, (size_t)device_describe(d)->limits.max_alloc_bytes + 1, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    says(&err, "over what the device allows");
}

typedef kw_code (*compare_way)(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                               size_t bytes, uint64_t *n, uint64_t *first, kw_error *err);

static kw_code compare_in_pieces(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                                 size_t bytes, uint64_t *n, uint64_t *first, kw_error *err)
{
    return opencl_compare_by_kernel(d, a, a_offset, b, b_offset, bytes, 17, n, first, err);
}

static kw_code compare_in_one(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                              size_t bytes, uint64_t *n, uint64_t *first, kw_error *err)
{
    return opencl_compare_by_kernel(d, a, a_offset, b, b_offset, bytes, (size_t)1 << 30, n, first, err);
}

/* Every way finds the same differences as the host does, for random data, ranges and offsets. */
static void test_compare(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    static const compare_way ways[] = {opencl_compare_mapped, compare_in_pieces, compare_in_one, device_compare};
    unsigned char a[N], b[N];
    device_buffer *A = alloc(d, N), *B = alloc(d, N);
    unsigned seed = 1;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < N; i++) {
            seed = seed * 1103515245u + 12345u;
            a[i] = b[i] = (unsigned char)(seed >> 16);
        }
        for (int i = 0; i < round; i++) {
            seed = seed * 1103515245u + 12345u;
            b[(seed >> 8) % N] ^= 0x80;
        }
        size_t from = (size_t)(seed >> 5) % 50 * 4, bytes = N - from - (seed >> 9) % 300;
        uint64_t expected = 0, at = 0;
        device_compare_memory(a + from, b + from, bytes, 0, &expected, &at);
        ok(device_write(d, A, 0, a, N, &err), &err);
        ok(device_write(d, B, 0, b, N, &err), &err);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            uint64_t n = 0, first = 0;
            ok(ways[w](d, A, from, B, from, bytes, &n, &first, &err), &err);
            assert_int_equal(n, expected);
            assert_int_equal(first, at);
        }
    }
    device_free(d, A);
    device_free(d, B);
}

/* ---- building ---- */

static void test_build_info(void **state)
{
    (void)state;
    device *d = need();
    device_build_info info;
    device_program *p = build(d, &fixed, &info);
    assert_true(info.max_group >= 1 && info.max_group <= device_describe(d)->limits.max_work_group_size);
    assert_true(info.local_bytes >= (int64_t)(64 * sizeof(float)));
    assert_true(info.log.length == 0 || strspn(strb_text(&info.log), " \t\r\n") < info.log.length);
    device_build_info_clear(&info);
    device_program_free(d, p);
}

static void test_build_errors(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    device_program *p;
    device_build_info info;
    const char *name = "k";
    assert_int_equal(device_build(d, "kernel void k(global float *x)\n{\n    x[0] = undeclared_name;\n}\n", "", &name,
                                  1, &p, &info, &err),
                     KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    assert_null(p);
    says(&err, "does not compile: ");
    says(&err, "undeclared_name");
    assert_non_null(strstr(strb_text(&info.log), "undeclared_name"));
    device_build_info_clear(&info);

    assert_int_equal(
        device_build(d, "kernel void k(global float *x) { x[0] = 1; }", "-no-such-option", &name, 1, &p, &info, &err),
        KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    assert_true(info.log.length > 0);
    device_build_info_clear(&info);

    name = "kk";
    assert_int_equal(device_build(d, "kernel void k(global float *x) { x[0] = 1; }", "", &name, 1, &p, &info, &err),
                     KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    says(&err, "the source has no kernel \"kk\"; it has: k");
    device_build_info_clear(&info);
}

static void test_options_reach_the_compiler(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    device_program *p;
    device_build_info info;
    const char *name = "k";
    ok(device_build(d, "kernel void k(global VALUE *x) { x[0] = 1; }", "-DVALUE=float", &name, 1, &p, &info, &err),
       &err);
    device_build_info_clear(&info);
    device_program_free(d, p);
}

/* ---- arguments ---- */

static void test_check_args(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    device_program *p = build(d, &common, NULL);
    device_buffer *b = alloc(d, 64);
    device_arg args[5] = {int_arg(1), float_arg(2), buffer_arg(b), buffer_arg(NULL), int_arg(3)};
    device_launch l = {"scale", 1, {1}, {1}, args, 4, false};
    ok(device_check_args(d, p, &l, &err), &err);
    l.n_args = 5;
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    says(&err, "kernel \"scale\" takes 4 arguments, the launch gives 5");
    l.n_args = 3;
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    l.n_args = 4;
    args[1] = int_arg(2);
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    says(&err, "argument 2 (a): the kernel declares float (f32), the launch gives i32");
    args[1] = buffer_arg(b);
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    says(&err, "the kernel declares a value (float), the launch gives a buffer");
    device_launch local = {"reverse", 1, {1}, {1}, args + 2, 2, false};
    assert_int_equal(device_check_args(d, p, &local, &err), KW_BAD_INPUT);
    says(&err, "the kernel declares local memory");
    l.kernel = "missing";
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    says(&err, "kernel \"missing\" was not asked for");
    device_launch none = {"nothing", 1, {1}, {1}, NULL, 0, false};
    device_program_free(d, p);
    p = build(d, &nothing, NULL);
    ok(device_check_args(d, p, &none, &err), &err);
    ok(device_run(d, p, &none, 1, &err), &err);
    device_free(d, b);
    device_program_free(d, p);
}

/* ---- running ---- */

static void test_run(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    float x[N], y[N];
    device_program *p = build(d, &common, NULL);
    device_buffer *X = alloc(d, sizeof x), *Y = alloc(d, sizeof y);
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    ok(device_write(d, X, 0, x, sizeof x, &err), &err);
    device_arg scale[] = {int_arg(N), float_arg(3), buffer_arg(X), buffer_arg(Y)}, add[] = {buffer_arg(Y), int_arg(N)};
    device_launch launches[] = {{"scale", 1, {8}, {(N + 7) / 8}, scale, 4, false},
                                {"add_one", 1, {8}, {(N + 7) / 8}, add, 2, false},
                                {"add_one", 1, {1}, {N}, add, 2, false}};
    ok(device_run(d, p, launches, 3, &err), &err);
    ok(device_read(d, Y, 0, y, sizeof y, &err), &err);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 3 * (float)i + 2);
    ok(device_run(d, p, launches, 0, &err), &err);
    device_free(d, X);
    device_free(d, Y);
    device_program_free(d, p);
}

/* A kernel that writes outside of its view is seen in the parent's guard bands. */
static void test_guard_bands(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    size_t step = device_view_alignment(d), bytes = N * sizeof(float);
    device_program *p = build(d, &common, NULL);
    device_buffer *whole = alloc(d, step + bytes + step), *guard = alloc(d, step);
    uint64_t n, first;
    ok(device_fill(d, whole, 0, step + bytes + step, 0x77, &err), &err);
    ok(device_fill(d, guard, 0, step, 0x77, &err), &err);
    device_buffer *view = device_view(d, whole, step, bytes, &err);
    assert_non_null(view);
    device_arg args[] = {buffer_arg(view), int_arg(N)};
    device_launch inside = {"add_one", 1, {8}, {(N + 7) / 8}, args, 2, false},
                  outside = {"outside", 1, {1}, {1}, args, 2, false};
    ok(device_run(d, p, &inside, 1, &err), &err);
    ok(device_compare(d, whole, 0, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    ok(device_compare(d, whole, step + bytes, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    ok(device_run(d, p, &outside, 1, &err), &err);
    ok(device_compare(d, whole, 0, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(first, step - 4);
    ok(device_compare(d, whole, step + bytes, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(first, 0);
    device_free(d, view);
    device_free(d, whole);
    device_free(d, guard);
    device_program_free(d, p);
}

static void test_local_argument(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    float y[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    device_program *p = build(d, &common, NULL);
    device_buffer *Y = alloc(d, sizeof y);
    ok(device_write(d, Y, 0, y, sizeof y, &err), &err);
    device_arg args[] = {{.kind = DEVICE_ARG_LOCAL, .n = sizeof y}, buffer_arg(Y)};
    device_launch l = {"reverse", 1, {8}, {1}, args, 2, false};
    ok(device_run(d, p, &l, 1, &err), &err);
    ok(device_read(d, Y, 0, y, sizeof y, &err), &err);
    for (int i = 0; i < 8; i++)
        assert_true(y[i] == (float)(7 - i));
    args[0].n = (size_t)device_describe(d)->limits.local_mem_bytes + 4;
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    says(&err, "bytes of local memory");
    device_free(d, Y);
    device_program_free(d, p);
}

static void test_groups_that_do_not_fit(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    const device_limits *limits = &device_describe(d)->limits;
    device_program *p = build(d, &common, NULL);
    device_buffer *Y = alloc(d, 64);
    device_arg args[] = {buffer_arg(Y), int_arg(1)};
    device_launch l = {"add_one", 2, {(size_t)limits->max_work_group_size, 2}, {1, 1}, args, 2, false};
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    says(&err, "as compiled it can have");
    l = (device_launch){"add_one", 3, {1, 1, (size_t)limits->max_work_item_size[2] + 1}, {1, 1, 1}, args, 2, false};
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    l = (device_launch){"add_one", 1, {8}, {0}, args, 2, false};
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    device_program_free(d, p);
    p = build(d, &fixed, NULL);
    l = (device_launch){"fixed", 2, {8, 1}, {1, 1}, args, 1, false};
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    says(&err, "reqd_work_group_size says 2");
    l.local[1] = 2;
    ok(device_run(d, p, &l, 1, &err), &err);
    device_free(d, Y);
    device_program_free(d, p);
}

/* ---- timing ---- */

typedef struct rotation {
    device_arg args[3][2];
    device_launch launches[3][2];
    size_t calls;
} rotation;

static const device_launch *rotate(size_t run, void *cookie)
{
    rotation *r = cookie;
    assert_int_equal(run, r->calls);
    r->calls++;
    return r->launches[run % 3];
}

/* Every run is really run, on the buffers that the callback gives, and readings are positive or 0. */
static void test_times(void **state)
{
    (void)state;
    device *d = need();
    kw_error err = {0};
    device_program *p = build(d, &common, NULL);
    device_buffer *y[3];
    rotation r = {0};
    double ns[7];
    for (int i = 0; i < 3; i++) {
        y[i] = alloc(d, N * sizeof(float));
        ok(device_fill(d, y[i], 0, N * sizeof(float), 0, &err), &err);
        r.args[i][0] = buffer_arg(y[i]);
        r.args[i][1] = int_arg(N);
        for (int j = 0; j < 2; j++)
            r.launches[i][j] = (device_launch){"add_one", 1, {8}, {N / 8}, r.args[i], 2, false};
    }
    ok(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), &err);
    for (int i = 0; i < 7; i++)
        assert_true(ns[i] >= 0 && ns[i] < 1e12);
    r.calls = 0;
    ok(device_time_batch(d, p, rotate, &r, 2, 4, 5, ns, &err), &err);
    assert_int_equal(r.calls, 20);
    for (int i = 0; i < 5; i++)
        assert_true(ns[i] > 0 && ns[i] < 1e12);
    /* Behind a kernel that keeps the device busy, as on a GPU: the same runs on the same buffers. */
    assert_false(opencl_fits_queue(d, 2, 1));
    setenv("KERNWRIGHT_BATCH", "queue", 1);
    assert_true(opencl_fits_queue(d, 2, 4));
    assert_false(opencl_fits_queue(d, 2, 1));
    assert_false(opencl_fits_queue(d, 2, 1000000)); /* the host would be busy for too long */
    for (int i = 0; i < 3; i++)
        ok(device_fill(d, y[i], 0, N * sizeof(float), 0, &err), &err);
    r.calls = 0;
    ok(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), &err);
    r.calls = 0;
    ok(device_time_batch(d, p, rotate, &r, 2, 4, 5, ns, &err), &err);
    assert_int_equal(r.calls, 20);
    for (int i = 0; i < 5; i++)
        assert_true(ns[i] >= 0 && ns[i] < 1e12);
    setenv("KERNWRIGHT_BATCH", "host", 1);
    assert_false(opencl_fits_queue(d, 2, 4));
    unsetenv("KERNWRIGHT_BATCH");
    assert_int_equal(opencl_can_queue(d), !d->info.limits.is_cpu && !d->info.simulated);
    static const float expected[3] = {2 * (3 + 7), 2 * (2 + 7), 2 * (2 + 6)};
    for (int i = 0; i < 3; i++) {
        float values[N];
        ok(device_read(d, y[i], 0, values, sizeof values, &err), &err);
        for (int j = 0; j < N; j++)
            assert_true(values[j] == expected[i]);
    }
    r.launches[2][1].local[0] = 1 << 20;
    r.calls = 0;
    assert_int_not_equal(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    for (int i = 0; i < 3; i++)
        device_free(d, y[i]);
    device_program_free(d, p);
}

/* ---- faults ---- */

static void fault(opencl_moment moment, cl_int code, device_fault expected, kw_code result)
{
    device *d = need();
    kw_error err = {0};
    assert_int_equal(opencl_fail(d, moment, code, &err, "trial"), result);
    assert_int_equal(d->fault, expected);
    assert_int_equal(d->lost, expected == DEVICE_FAULT_LOST);
    says(&err, opencl_error_name(code));
    d->lost = false;
}

static void test_faults(void **state)
{
    (void)state;
    fault(OPENCL_ENQUEUE, CL_INVALID_WORK_GROUP_SIZE, DEVICE_FAULT_DOES_NOT_FIT, KW_FAILED);
    fault(OPENCL_ENQUEUE, CL_INVALID_WORK_ITEM_SIZE, DEVICE_FAULT_DOES_NOT_FIT, KW_FAILED);
    fault(OPENCL_ENQUEUE, CL_OUT_OF_RESOURCES, DEVICE_FAULT_DOES_NOT_FIT, KW_FAILED); /* the queue is in order */
    fault(OPENCL_ENQUEUE, CL_INVALID_KERNEL_ARGS, DEVICE_FAULT_LAUNCH, KW_FAILED);
    fault(OPENCL_ENQUEUE, CL_MEM_OBJECT_ALLOCATION_FAILURE, DEVICE_FAULT_MEMORY, KW_ENVIRONMENT);
    fault(OPENCL_ENQUEUE, CL_INVALID_COMMAND_QUEUE, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_ENQUEUE, -9999, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_FINISH, CL_OUT_OF_RESOURCES, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_FINISH, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_FINISH, -1234, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_TRANSFER, CL_OUT_OF_RESOURCES, DEVICE_FAULT_LOST, KW_ENVIRONMENT);
    fault(OPENCL_TRANSFER, CL_OUT_OF_HOST_MEMORY, DEVICE_FAULT_MEMORY, KW_ENVIRONMENT);
    fault(OPENCL_PREPARING, CL_OUT_OF_RESOURCES, DEVICE_FAULT_MEMORY, KW_ENVIRONMENT);
    fault(OPENCL_PREPARING, CL_INVALID_ARG_SIZE, DEVICE_FAULT_LAUNCH, KW_FAILED);
    need()->fault = DEVICE_FAULT_NONE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_key_of_header),
        cmocka_unit_test(test_open_what_is_not_there),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_build_info),
        cmocka_unit_test(test_build_errors),
        cmocka_unit_test(test_options_reach_the_compiler),
        cmocka_unit_test(test_check_args),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_guard_bands),
        cmocka_unit_test(test_local_argument),
        cmocka_unit_test(test_groups_that_do_not_fit),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, open_any, close_any);
}
