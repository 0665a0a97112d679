/* The scripted device, and with it the checks that device.c does in front of every back end. */
#include "base/mem.h"
#include "device/device.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COPY "kernel void fake_copy(int n, global const float *in, global float *out) {}\n"
#define SAXPY \
    "__kernel void fake_saxpy(const int n, const float a, __global const float *restrict x, __global float *y) {}\n"
#define SUM "kernel void fake_sum(long n, global const float *x, global float *out) {}\n"
#define GEMM \
    "kernel void fake_gemm_tiled(int M, int N, int K, float alpha, global const float *A, global const float *B,\n" \
    "                            float beta, global float *C) {}\n"
#define N 100

/* ---- helpers ---- */

static device *open_fake(const char *spec)
{
    kw_error err = {0};
    device *d = NULL;
    assert_int_equal(device_open(spec, &d, &err), KW_OK);
    return d;
}

static device_program *build(device *d, const char *source, const char *kernel)
{
    kw_error err = {0};
    device_program *p = NULL;
    device_build_info info;
    kw_code code = device_build(d, source, "", &kernel, 1, &p, &info, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KW_OK);
    device_build_info_clear(&info);
    return p;
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

static device_arg long_arg(int64_t x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_I64};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

static device_arg float_arg(float x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_F32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

/* A copy kernel with its buffers: in holds 1..N, out is a view into a larger buffer filled with 0x77. */
typedef struct rig {
    device *d;
    device_program *p;
    device_buffer *in, *whole, *out;
    device_arg args[3];
    device_launch launch;
} rig;

static void rig_open(rig *r, const char *spec, const char *directives)
{
    kw_error err = {0};
    char source[1024];
    float x[N];
    memset(r, 0, sizeof *r);
    r->d = open_fake(spec);
    snprintf(source, sizeof source, "%s\n" COPY, directives);
    r->p = build(r->d, source, "fake_copy");
    r->in = device_alloc(r->d, sizeof x, &err);
    r->whole = device_alloc(r->d, 128 + sizeof x + 128, &err);
    assert_int_equal(device_fill(r->d, r->whole, 0, 128 + sizeof x + 128, 0x77, &err), KW_OK);
    r->out = device_view(r->d, r->whole, 128, sizeof x, &err);
    assert_non_null(r->out);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    assert_int_equal(device_write(r->d, r->in, 0, x, sizeof x, &err), KW_OK);
    r->args[0] = int_arg(N);
    r->args[1] = buffer_arg(r->in);
    r->args[2] = buffer_arg(r->out);
    r->launch = (device_launch){"fake_copy", 1, {32, 1, 1}, {4, 1, 1}, r->args, 3, false};
}

static kw_code rig_run(rig *r, float *result, kw_error *err)
{
    kw_error ignored = {0};
    kw_code code = device_run(r->d, r->p, &r->launch, 1, err);
    if (result && code == KW_OK)
        assert_int_equal(device_read(r->d, r->out, 0, result, N * sizeof(float), &ignored), KW_OK);
    return code;
}

/* How many words of the guards around `out` have changed. */
static uint64_t rig_guards(rig *r)
{
    kw_error err = {0};
    unsigned char bytes[128 + N * sizeof(float) + 128];
    uint64_t changed = 0;
    assert_int_equal(device_read(r->d, r->whole, 0, bytes, sizeof bytes, &err), KW_OK);
    for (size_t i = 0; i < sizeof bytes; i++)
        changed += (i < 128 || i >= 128 + N * sizeof(float)) && bytes[i] != 0x77;
    return changed;
}

static void rig_close(rig *r)
{
    device_free(r->d, r->out);
    device_free(r->d, r->whole);
    device_free(r->d, r->in);
    device_program_free(r->d, r->p);
    device_close(r->d);
}

static size_t n_wrong(const float *x)
{
    size_t n = 0;
    for (int i = 0; i < N; i++)
        n += !(fabsf(x[i] - (float)(i + 1)) < 1e-5f);
    return n;
}

/* Runs `run` in a child process and returns its wait status. `patient` waits for as long as it takes; otherwise -1 when
 * it had not ended after 200 ms and was killed. */
static int status_of_child(void (*run)(void), bool patient)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        signal(SIGABRT, SIG_DFL);
        run();
        _exit(0);
    }
    for (int i = 0; patient || i < 20; i++) {
        int status;
        if (waitpid(child, &status, patient ? 0 : WNOHANG) == child)
            return status;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

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
    device *d = open_fake("fake:0");
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
    device *d = open_fake("fake:0");
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
    device *d = open_fake("fake:0");
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
    device *d = open_fake("fake:0");
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
    device *d = open_fake("fake:0");
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
    device *d = open_fake("fake:0");
    device_program *p = build(d, source, l->kernel);
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

/* ---- running ---- */

static void test_copy_is_right(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    float x[N];
    rig_open(&r, "fake:0", "");
    assert_int_equal(rig_run(&r, x, &err), KW_OK);
    assert_int_equal(n_wrong(x), 0);
    assert_int_equal(rig_guards(&r), 0);
    rig_close(&r);
}

static void result_is(const char *directive, size_t wrong, uint64_t guards)
{
    rig r;
    kw_error err = {0};
    float x[N];
    rig_open(&r, "fake:0", directive);
    assert_int_equal(rig_run(&r, x, &err), KW_OK);
    assert_int_equal(n_wrong(x), wrong);
    assert_int_equal(rig_guards(&r), guards);
    rig_close(&r);
}

static void test_results(void **state)
{
    (void)state;
    result_is("//fake: result=right", 0, 0);
    result_is("//fake: result=wrong", 1, 0);
    result_is("#pragma fake result=nan", 1, 0);
    result_is("//fake: result=constant", N - 1, 0);
    result_is("//fake: result=oob", 0, 4);
    result_is("//fake: result=oob_before", 0, 4);
}

static void test_oob_without_a_view_stays_inside_the_process(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    rig_open(&r, "fake:0", "//fake: result=oob");
    device_buffer *plain = device_alloc(r.d, N * sizeof(float), &err);
    r.args[2] = buffer_arg(plain);
    assert_int_equal(rig_run(&r, NULL, &err), KW_OK);
    device_free(r.d, plain);
    rig_close(&r);
}

static void test_nondeterministic_and_only_first(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    float x[N], y[N];
    rig_open(&r, "fake:0", "//fake: nondeterministic=1");
    rig_run(&r, x, &err);
    rig_run(&r, y, &err);
    assert_memory_not_equal(x, y, sizeof x);
    assert_int_equal(n_wrong(x), 1);
    rig_close(&r);
    rig_open(&r, "fake:0", "//fake: only=first");
    rig_run(&r, x, &err);
    rig_run(&r, y, &err);
    assert_int_equal(n_wrong(x), 0);
    assert_int_equal(n_wrong(y), 1);
    rig_close(&r);
}

static void test_modify_input(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    float first = 0;
    rig_open(&r, "fake:0", "//fake: modify=input");
    assert_int_equal(rig_run(&r, NULL, &err), KW_OK);
    assert_int_equal(device_read(r.d, r.in, 0, &first, sizeof first, &err), KW_OK);
    assert_true(first > 1.5f);
    rig_close(&r);
}

static void fault_is(const char *directive, device_fault fault)
{
    rig r;
    kw_error err = {0};
    rig_open(&r, "fake:0", directive);
    assert_int_not_equal(rig_run(&r, NULL, &err), KW_OK);
    assert_int_equal(device_last_fault(r.d), fault);
    assert_true(err.message[0] != '\0');
    rig_close(&r);
}

static void test_faults(void **state)
{
    (void)state;
    fault_is("//fake: run=launch_error", DEVICE_FAULT_LAUNCH);
    fault_is("//fake: run=does_not_fit", DEVICE_FAULT_DOES_NOT_FIT);
    fault_is("//fake: run=no_memory", DEVICE_FAULT_MEMORY);
    fault_is("//fake: max_group=31", DEVICE_FAULT_DOES_NOT_FIT);
    fault_is("//fake: local_bytes=49153", DEVICE_FAULT_DOES_NOT_FIT);
}

static void test_lost_is_sticky(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    float x[N];
    uint64_t n, first;
    rig_open(&r, "fake:0", "//fake: run=lost after=1");
    assert_int_equal(rig_run(&r, x, &err), KW_OK);
    assert_int_equal(rig_run(&r, x, &err), KW_ENVIRONMENT);
    assert_int_equal(device_last_fault(r.d), DEVICE_FAULT_LOST);
    assert_int_equal(device_read(r.d, r.out, 0, x, 4, &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "lost earlier"));
    assert_null(device_alloc(r.d, 4, &err));
    assert_int_equal(device_compare(r.d, r.in, 0, r.in, 0, 4, &n, &first, &err), KW_ENVIRONMENT);
    assert_int_equal(rig_run(&r, NULL, &err), KW_ENVIRONMENT);
    assert_int_equal(device_last_fault(r.d), DEVICE_FAULT_LOST);
    free((unsigned char *)r.in->handle -
         128); /* a lost device frees nothing of the driver's; this test has no driver */
    free((unsigned char *)r.whole->handle - 128);
    r.d->lost = false;
    device_program_free(r.d, r.p);
    r.d->lost = true;
    r.p = NULL;
    rig_close(&r);
}

static void test_small_device_refuses_large_groups(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    rig_open(&r, "fake:1", "");
    r.launch.local[0] = 65;
    assert_int_not_equal(rig_run(&r, NULL, &err), KW_OK);
    assert_int_equal(device_last_fault(r.d), DEVICE_FAULT_DOES_NOT_FIT);
    r.launch.local[0] = 64;
    assert_int_equal(rig_run(&r, NULL, &err), KW_OK);
    r.launch.groups[0] = 0;
    assert_int_not_equal(rig_run(&r, NULL, &err), KW_OK);
    assert_int_equal(device_last_fault(r.d), DEVICE_FAULT_LAUNCH);
    rig_close(&r);
}

static void crash_in_build(void)
{
    device *d = open_fake("fake:0");
    build(d, "//fake: build=crash\n" COPY, "fake_copy");
}

static void hang_in_build(void)
{
    device *d = open_fake("fake:0");
    build(d, "//fake: build=hang\n" COPY, "fake_copy");
}

static void crash_in_run(void)
{
    rig r;
    rig_open(&r, "fake:0", "//fake: run=crash");
    rig_run(&r, NULL, NULL);
}

static void hang_in_run(void)
{
    rig r;
    rig_open(&r, "fake:0", "//fake: run=hang");
    rig_run(&r, NULL, NULL);
}

static void test_crashes_and_hangs(void **state)
{
    (void)state;
    int status = status_of_child(crash_in_build, true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    status = status_of_child(crash_in_run, true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_int_equal(status_of_child(hang_in_build, false), -1);
    assert_int_equal(status_of_child(hang_in_run, false), -1);
}

static void test_saxpy_sum_gemm(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = open_fake("fake:0");
    device_program *p = build(d, SAXPY SUM GEMM, "fake_gemm_tiled");
    float a[6] = {1, 2, 3, 4, 5, 6}, b[12] = {1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3}, c[8], total;
    device_buffer *A = device_alloc(d, sizeof a, &err), *B = device_alloc(d, sizeof b, &err),
                  *C = device_alloc(d, sizeof c, &err);
    device_write(d, A, 0, a, sizeof a, &err);
    device_write(d, B, 0, b, sizeof b, &err);
    device_arg args[] = {int_arg(2),    int_arg(4),    int_arg(3),   float_arg(2),
                         buffer_arg(A), buffer_arg(B), float_arg(0), buffer_arg(C)};
    device_launch l = {"fake_gemm_tiled", 2, {8, 8, 1}, {1, 1, 1}, args, 8, false};
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_OK);
    device_read(d, C, 0, c, sizeof c, &err);
    static const float product[8] = {2, 4, 6, 28, 8, 10, 12, 64};
    assert_memory_equal(c, product, sizeof c);
    args[6] = float_arg(-1);
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_OK);
    device_read(d, C, 0, c, sizeof c, &err);
    for (int i = 0; i < 8; i++)
        assert_true(c[i] == 0);
    device_arg y[] = {int_arg(6), float_arg(10), buffer_arg(A), buffer_arg(B)};
    device_arg s[] = {long_arg(6), buffer_arg(B), buffer_arg(C)};
    device_launch two[] = {{"fake_saxpy", 1, {8}, {1}, y, 4, false}, {"fake_sum", 1, {8}, {1}, s, 3, false}};
    assert_int_equal(device_run(d, p, two, 2, &err), KW_OK);
    device_read(d, C, 0, &total, sizeof total, &err);
    assert_true(total == 213);
    s[0] = long_arg(1000);
    assert_int_not_equal(device_run(d, p, two + 1, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    device_free(d, A);
    device_free(d, B);
    device_free(d, C);
    device_program_free(d, p);
    device_close(d);
}

/* ---- timing ---- */

static const device_launch *set_launch(size_t run, void *cookie)
{
    rig *r = cookie;
    (void)run;
    return &r->launch;
}

static void test_times(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    double ns[20] = {0}, again[20] = {0};
    for (int i = 0; i < 2; i++) {
        rig_open(&r, "fake:0", "//fake: time_ns=50000 noise=10");
        assert_int_equal(device_time_events(r.d, r.p, set_launch, &r, 1, 20, i ? again : ns, &err), KW_OK);
        rig_close(&r);
    }
    assert_memory_equal(ns, again, sizeof ns);
    double low = ns[0], high = ns[0];
    for (int i = 0; i < 20; i++) {
        low = fmin(low, ns[i]);
        high = fmax(high, ns[i]);
    }
    assert_true(low >= 45000 && low < 49000 && high <= 55000 && high > 51000);
    rig_open(&r, "fake:0", "//fake: time_ns=400");
    assert_int_equal(device_time_batch(r.d, r.p, set_launch, &r, 1, 3, 5, ns, &err), KW_OK);
    for (int i = 0; i < 5; i++)
        assert_true(ns[i] == 400);
    assert_int_equal(device_time_batch(r.d, r.p, set_launch, &r, 1, 0, 5, ns, &err), KW_BAD_INPUT);
    rig_close(&r);
    rig_open(&r, "fake:0", "//fake: time_ns=400 backwards_timer=1");
    assert_int_equal(device_time_events(r.d, r.p, set_launch, &r, 1, 2, ns, &err), KW_OK);
    assert_true(ns[0] == 0 && ns[1] == 0);
    rig_close(&r);
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
        cmocka_unit_test(test_copy_is_right),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_oob_without_a_view_stays_inside_the_process),
        cmocka_unit_test(test_nondeterministic_and_only_first),
        cmocka_unit_test(test_modify_input),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_lost_is_sticky),
        cmocka_unit_test(test_small_device_refuses_large_groups),
        cmocka_unit_test(test_crashes_and_hangs),
        cmocka_unit_test(test_saxpy_sum_gemm),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
