/* The OpenCL back end, on whatever device there is (PoCL in `make check`); skipped when there is none. */
#include "base/mem.h"
#include "device/opencl.h"
#include "device/device_key_query.h"
#include "tests/support_opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 1000

/* ---- discovery ---- */

static void test_list(void **state)
{
    (void)state;
    opencl_test_device();
    kw_error err = {0};
    device_info *list;
    size_t n;
    strb note = STRB_INIT;
    test_ok(device_list(&list, &n, &note, &err), &err);
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
    device *d = opencl_test_device();
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
    opencl_test_device();
    kw_error err = {0};
    device *d;
    assert_int_equal(device_open("opencl:0:77", &d, &err), KW_ENVIRONMENT);
    test_says(&err, "opencl:0:77: platform 0 has ");
    assert_int_equal(device_open("opencl:77:0", &d, &err), KW_ENVIRONMENT);
    assert_int_equal(device_open("opencl:0", &d, &err), KW_BAD_INPUT);
    assert_int_equal(device_open("opencl:0:0x", &d, &err), KW_BAD_INPUT);
    assert_null(d);
}

/* ---- buffers ---- */

static void test_buffers(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_buffer *a = opencl_test_alloc(d, N), *b = opencl_test_alloc(d, N);
    unsigned char bytes[N];
    test_ok(device_fill(d, a, 0, N, 0x5a, &err), &err);
    test_ok(device_fill(d, b, 0, N, 0, &err), &err);
    test_ok(device_fill(d, a, 3, 7, 0x11, &err), &err);
    test_ok(device_fill(d, a, 32, 21, 0x22, &err), &err);
    test_ok(device_read(d, a, 0, bytes, N, &err), &err);
    for (int i = 0; i < N; i++)
        assert_int_equal(bytes[i], i >= 3 && i < 10 ? 0x11 : i >= 32 && i < 53 ? 0x22 : 0x5a);
    test_ok(device_copy(d, a, 10, b, 500, 100, &err), &err);
    test_ok(device_read(d, b, 499, bytes, 102, &err), &err);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[1], 0x5a);
    assert_int_equal(bytes[23], 0x22);
    assert_int_equal(bytes[101], 0);
    test_ok(device_write(d, b, N - 1, "\7", 1, &err), &err);
    test_ok(device_read(d, b, N - 1, bytes, 1, &err), &err);
    assert_int_equal(bytes[0], 7);
    device_free(d, a);
    device_free(d, b);
}

static void test_views(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    size_t step = device_view_alignment(d);
    device_buffer *whole = opencl_test_alloc(d, 4 * step + 52);
    unsigned char *bytes = mem_alloc(4 * step + 52);
    uint64_t n, first;
    test_ok(device_fill(d, whole, 0, 4 * step + 52, 1, &err), &err);
    device_buffer *view = device_view(d, whole, step, 2 * step + 20, &err);
    device_buffer *inner = device_view(d, view, step, step + 4, &err);
    assert_non_null(inner);
    test_ok(device_fill(d, inner, 0, step + 4, 2, &err), &err);
    test_ok(device_write(d, view, 0, "\3", 1, &err), &err);
    test_ok(device_read(d, whole, 0, bytes, 4 * step + 52, &err), &err);
    for (size_t i = 0; i < 4 * step + 52; i++)
        assert_int_equal(bytes[i], i == step ? 3 : i >= 2 * step && i < 3 * step + 4 ? 2 : 1);
    test_ok(device_copy(d, inner, 4, view, 4, 16, &err), &err);
    test_ok(device_read(d, view, 0, bytes, 24, &err), &err);
    assert_memory_equal(bytes, "\3\1\1\1\2\2\2\2\2\2\2\2\2\2\2\2\2\2\2\2\1\1\1\1", 24);
    test_ok(device_compare(d, inner, 0, view, step, step + 4, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    test_ok(device_compare(d, view, 0, whole, 0, 24, &n, &first, &err), &err);
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
    device *d = opencl_test_device();
    kw_error err = {0};
    assert_null(device_alloc(d, (size_t)device_describe(d)->limits.max_alloc_bytes + 1, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    test_says(&err, "over what the device allows");
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
    device *d = opencl_test_device();
    kw_error err = {0};
    static const compare_way ways[] = {opencl_compare_mapped, compare_in_pieces, compare_in_one, device_compare};
    unsigned char a[N], b[N];
    device_buffer *A = opencl_test_alloc(d, N), *B = opencl_test_alloc(d, N);
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
        test_ok(device_write(d, A, 0, a, N, &err), &err);
        test_ok(device_write(d, B, 0, b, N, &err), &err);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            uint64_t n = 0, first = 0;
            test_ok(ways[w](d, A, from, B, from, bytes, &n, &first, &err), &err);
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
    device *d = opencl_test_device();
    device_build_info info;
    device_program *p = opencl_test_build(d, &opencl_test_fixed, &info);
    assert_true(info.max_group >= 1 && info.max_group <= device_describe(d)->limits.max_work_group_size);
    assert_true(info.local_bytes >= (int64_t)(64 * sizeof(float)));
    assert_true(info.log.length == 0 || strspn(strb_text(&info.log), " \t\r\n") < info.log.length);
    device_build_info_clear(&info);
    device_program_free(d, p);
}

static void test_build_errors(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_program *p;
    device_build_info info;
    const char *name = "k";
    assert_int_equal(device_build(d, "kernel void k(global float *x)\n{\n    x[0] = undeclared_name;\n}\n", "", &name,
                                  1, &p, &info, &err),
                     KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    assert_null(p);
    test_says(&err, "does not compile: ");
    test_says(&err, "undeclared_name");
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
    test_says(&err, "the source has no kernel \"kk\"; it has: k");
    device_build_info_clear(&info);
}

static void test_options_reach_the_compiler(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_program *p;
    device_build_info info;
    const char *name = "k";
    test_ok(device_build(d, "kernel void k(global VALUE *x) { x[0] = 1; }", "-DVALUE=float", &name, 1, &p, &info, &err),
            &err);
    device_build_info_clear(&info);
    device_program_free(d, p);
}

/* ---- arguments ---- */

static void test_check_args(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *b = opencl_test_alloc(d, 64);
    device_arg args[5] = {int_arg(1), float_arg(2), buffer_arg(b), buffer_arg(NULL), int_arg(3)};
    device_launch l = {"scale", 1, {1}, {1}, args, 4, false};
    test_ok(device_check_args(d, p, &l, &err), &err);
    l.n_args = 5;
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    test_says(&err, "kernel \"scale\" takes 4 arguments, the launch gives 5");
    l.n_args = 3;
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    l.n_args = 4;
    args[1] = int_arg(2);
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    test_says(&err, "argument 2 (a): the kernel declares float (f32), the launch gives i32");
    args[1] = buffer_arg(b);
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    test_says(&err, "the kernel declares a value (float), the launch gives a buffer");
    device_launch local = {"reverse", 1, {1}, {1}, args + 2, 2, false};
    assert_int_equal(device_check_args(d, p, &local, &err), KW_BAD_INPUT);
    test_says(&err, "the kernel declares local memory");
    l.kernel = "missing";
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    test_says(&err, "kernel \"missing\" was not asked for");
    device_launch none = {"nothing", 1, {1}, {1}, NULL, 0, false};
    device_program_free(d, p);
    p = opencl_test_build(d, &opencl_test_nothing, NULL);
    test_ok(device_check_args(d, p, &none, &err), &err);
    test_ok(device_run(d, p, &none, 1, &err), &err);
    device_free(d, b);
    device_program_free(d, p);
}

/* ---- faults ---- */

static void fault(opencl_moment moment, cl_int code, device_fault expected, kw_code result)
{
    device *d = opencl_test_device();
    kw_error err = {0};
    assert_int_equal(opencl_fail(d, moment, code, &err, "trial"), result);
    assert_int_equal(d->fault, expected);
    assert_int_equal(d->lost, expected == DEVICE_FAULT_LOST);
    test_says(&err, opencl_error_name(code));
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
    opencl_test_device()->fault = DEVICE_FAULT_NONE;
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
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, opencl_test_open, opencl_test_close);
}
