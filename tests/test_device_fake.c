/* The scripted device, and with it the checks that device.c does in front of every back end. */
#include "base/mem.h"
#include "tests/support_fake.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- discovery ---- */

static void test_listed_only_on_request(void **state)
{
    (void)state;
    kw_error err = {0};
    device_info *list = NULL;
    size_t n = 0;
    unsetenv("KERNWRIGHT_FAKE");
    assert_int_equal(device_fake.list(&list, &(size_t){0}, NULL, &err), KW_OK);
    assert_null(list);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    assert_int_equal(device_fake.list(&list, &n, NULL, &err), KW_OK);
    assert_int_equal(n, 2);
    assert_string_equal(list[0].spec, "fake:0");
    assert_int_equal(list[0].limits.max_work_group_size, 1024);
    assert_int_equal(list[1].limits.max_work_group_size, 64);
    assert_int_equal(list[1].limits.local_mem_bytes, 16384);
    free(list);
}

/* ---- buffers ---- */

static void test_buffers(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_buffer *a = device_alloc(d, 1000, &err), *b = device_alloc(d, 1000, &err);
    unsigned char bytes[1000];
    uint64_t n, first;
    assert_int_equal(device_fill(d, a, 0, 1000, 7, &err), KW_OK);
    assert_int_equal(device_copy(d, a, 0, b, 0, 1000, &err), KW_OK);
    assert_int_equal(device_compare(d, a, 0, b, 0, 1000, &n, &first, &err), KW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(device_write(d, b, 413, "\1\1\1\1", 4, &err), KW_OK); /* words 412 and 416 */
    assert_int_equal(device_write(d, b, 999, "\1", 1, &err), KW_OK);
    assert_int_equal(device_compare(d, a, 0, b, 0, 1000, &n, &first, &err), KW_OK);
    assert_int_equal(n, 3);
    assert_int_equal(first, 412);
    assert_int_equal(device_compare(d, a, 0, b, 0, 998, &n, &first, &err), KW_OK);
    assert_int_equal(n, 2);
    assert_int_equal(device_compare(d, a, 400, b, 400, 12, &n, &first, &err), KW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(device_read(d, b, 410, bytes, 4, &err), KW_OK);
    assert_memory_equal(bytes, "\7\7\7\1", 4);
    device_free(d, a);
    device_free(d, b);
    device_free(d, NULL);
    device_close(d);
}

static void test_ranges_are_checked(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_buffer *a = device_alloc(d, 256, &err);
    char bytes[256];
    uint64_t n, first;
    assert_int_equal(device_read(d, a, 1, bytes, 256, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "read: bytes 1..257 of a buffer of 256"));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    assert_int_equal(device_write(d, a, SIZE_MAX, bytes, 2, &err), KW_BAD_INPUT);
    assert_int_equal(device_fill(d, a, 257, 0, 0, &err), KW_BAD_INPUT);
    assert_int_equal(device_fill(d, NULL, 0, 1, 0, &err), KW_BAD_INPUT);
    assert_int_equal(device_copy(d, a, 0, a, 128, 129, &err), KW_BAD_INPUT);
    assert_int_equal(device_compare(d, a, 2, a, 0, 4, &n, &first, &err), KW_BAD_INPUT);
    assert_null(device_alloc(d, 0, &err));
    assert_null(device_alloc(d, (size_t)1 << 40, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    assert_int_equal(device_write(d, a, 256, bytes, 0, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY); /* a success leaves it */
    device_free(d, a);
    device_close(d);
}

static void test_views(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_buffer *whole = device_alloc(d, 1024, &err);
    size_t step = device_view_alignment(d);
    assert_int_equal(device_fill(d, whole, 0, 1024, 0, &err), KW_OK);
    assert_null(device_view(d, whole, step + 4, 16, &err));
    assert_null(device_view(d, whole, step, 1024, &err));
    assert_null(device_view(d, whole, step, 0, &err));
    device_buffer *view = device_view(d, whole, step, 512, &err);
    device_buffer *inner = device_view(d, view, step, 64, &err);
    assert_int_equal(device_fill(d, inner, 60, 4, 9, &err), KW_OK);
    unsigned char bytes[1024];
    assert_int_equal(device_read(d, whole, 0, bytes, 1024, &err), KW_OK);
    for (size_t i = 0; i < 1024; i++)
        assert_int_equal(bytes[i], i >= 2 * step + 60 && i < 2 * step + 64 ? 9 : 0);
    assert_int_equal(device_read(d, inner, 0, bytes, 65, &err), KW_BAD_INPUT);
    device_free(d, view);  /* the inner one is a view of the whole */
    device_free(d, whole); /* still has a view: stays */
    assert_int_equal(device_fill(d, inner, 0, 4, 9, &err), KW_OK);
    device_free(d, inner);
    device_free(d, whole);
    device_close(d);
}

/* ---- building ---- */

static void build_fails(const char *source, const char *kernel, const char *message)
{
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_program *p = (device_program *)&err;
    device_build_info info;
    assert_int_not_equal(device_build(d, source, "", &kernel, 1, &p, &info, &err), KW_OK);
    assert_null(p);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    if (!strstr(err.message, message))
        fail_msg("message \"%s\" lacks \"%s\"", err.message, message);
    assert_true(info.log.length > 0);
    device_build_info_clear(&info);
    device_close(d);
}

static void test_build_errors(void **state)
{
    (void)state;
    build_fails("//fake: build=error\n" COPY, "fake_copy", "error:");
    build_fails(COPY, "fake_cpoy", "the source has no kernel \"fake_cpoy\"; it has: fake_copy");
    build_fails("// kernel void hidden(int n)\n/* kernel void hidden(int n) */", "hidden", "no kernel");
    build_fails("\n//fake: buidl=error\n" COPY, "fake_copy", "fake.cl:2: error: unknown directive \"buidl=error\"");
    build_fails("//fake: run=maybe\n" COPY, "fake_copy", "run=maybe");
    build_fails("//fake: time_ns\n" COPY, "fake_copy", "time_ns");
    build_fails("//fake: time_ns=-3\n" COPY, "fake_copy", "time_ns=-3");
}

static void test_build_info(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_program *p;
    device_build_info info;
    const char *kernel = "fake_copy";
    assert_int_equal(device_build(d, "#pragma fake registers=40 spill_bytes=8 local_bytes=512 max_group=128\n" COPY,
                                  NULL, &kernel, 1, &p, &info, &err),
                     KW_OK);
    assert_int_equal(info.registers, 40);
    assert_int_equal(info.spill_bytes, 8);
    assert_int_equal(info.local_bytes, 512);
    assert_int_equal(info.max_group, 128);
    assert_string_equal(strb_text(&info.log), "");
    device_build_info_clear(&info);
    assert_int_equal(info.registers, -1);
    device_program_free(d, p);
    device_program_free(d, NULL);
    device_close(d);
}

static void check_args_say(const char *source, const device_launch *l, const char *message)
{
    kw_error err = {0};
    device *d = fake_open("fake:0");
    device_program *p = fake_build(d, source, l->kernel);
    kw_code code = device_check_args(d, p, l, &err);
    if (!message) {
        assert_string_equal(err.message, "");
        assert_int_equal(code, KW_OK);
    } else {
        assert_int_equal(code, KW_BAD_INPUT);
        assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
        if (!strstr(err.message, message))
            fail_msg("message \"%s\" lacks \"%s\"", err.message, message);
    }
    device_program_free(d, p);
    device_close(d);
}

static void test_check_args(void **state)
{
    (void)state;
    device_arg args[5] = {
        int_arg(3), float_arg(2), buffer_arg(NULL), buffer_arg(NULL), {.kind = DEVICE_ARG_LOCAL, .n = 64}};
    device_launch l = {"fake_saxpy", 1, {1}, {1}, args, 4, false};
    check_args_say(SAXPY, &l, NULL);
    l.n_args = 3;
    check_args_say(SAXPY, &l, "kernel \"fake_saxpy\" takes 4 arguments, the launch gives 3");
    l.n_args = 4;
    args[1] = int_arg(2);
    check_args_say(SAXPY, &l, "argument 2 (a): the kernel declares float (f32), the launch gives i32");
    args[1].type = DTYPE_NONE;
    check_args_say(SAXPY, &l, NULL);
    args[1] = float_arg(2);
    args[0] = long_arg(3);
    args[0].type = DTYPE_NONE;
    check_args_say(SAXPY, &l, "argument 1 (n): the kernel declares int (4 bytes), the launch gives 8 bytes");
    args[0] = buffer_arg(NULL);
    check_args_say(SAXPY, &l, "argument 1 (n): the kernel declares a value (int), the launch gives a buffer");
    args[0] = int_arg(3);
    args[3] = args[4];
    check_args_say(SAXPY, &l, "argument 4 (y): the kernel declares a buffer (float*), the launch gives local memory");
    device_launch none = {"nothing", 1, {1}, {1}, NULL, 0, false};
    check_args_say("kernel __attribute__((reqd_work_group_size(8, 1, 1))) void nothing(void) {}", &none, NULL);
    check_args_say("kernel void nothing() {}", &none, NULL);
    device_launch local = {"scan", 1, {1}, {1}, args + 3, 2, false};
    check_args_say("kernel void scan(local float *a, __local float* restrict b) {}", &local, NULL);
    args[3].n = 0;
    check_args_say("kernel void scan(local float *a, __local float* restrict b) {}", &local, "0 bytes of local memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed_only_on_request),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_ranges_are_checked),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_build_errors),
        cmocka_unit_test(test_build_info),
        cmocka_unit_test(test_check_args),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
