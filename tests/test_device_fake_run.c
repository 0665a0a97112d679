/* The scripted device: results, faults and times as they are scripted. */
#include "base/mem.h"
#include "tests/support_fake.h"

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

#define SUM "kernel void fake_sum(long n, global const float *x, global float *out) {}\n"
#define GEMM \
    "kernel void fake_gemm_tiled(int M, int N, int K, float alpha, global const float *A, global const float *B,\n" \
    "                            float beta, global float *C) {}\n"

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

/* ---- running ---- */

static void test_copy_is_right(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    float x[RIG_N];
    rig_open(&r, "fake:0", "");
    assert_int_equal(rig_run(&r, x, &err), KW_OK);
    assert_int_equal(rig_wrong(x), 0);
    assert_int_equal(rig_guards(&r), 0);
    rig_close(&r);
}

static void result_is(const char *directive, size_t wrong, uint64_t guards)
{
    rig r;
    kw_error err = {0};
    float x[RIG_N];
    rig_open(&r, "fake:0", directive);
    assert_int_equal(rig_run(&r, x, &err), KW_OK);
    assert_int_equal(rig_wrong(x), wrong);
    assert_int_equal(rig_guards(&r), guards);
    rig_close(&r);
}

static void test_results(void **state)
{
    (void)state;
    result_is("//fake: result=right", 0, 0);
    result_is("//fake: result=wrong", 1, 0);
    result_is("#pragma fake result=nan", 1, 0);
    result_is("//fake: result=constant", RIG_N - 1, 0);
    result_is("//fake: result=oob", 0, 4);
    result_is("//fake: result=oob_before", 0, 4);
}

static void test_oob_without_a_view_stays_inside_the_process(void **state)
{
    (void)state;
    rig r;
    kw_error err = {0};
    rig_open(&r, "fake:0", "//fake: result=oob");
    device_buffer *plain = device_alloc(r.d, RIG_N * sizeof(float), &err);
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
    float x[RIG_N], y[RIG_N];
    rig_open(&r, "fake:0", "//fake: nondeterministic=1");
    rig_run(&r, x, &err);
    rig_run(&r, y, &err);
    assert_memory_not_equal(x, y, sizeof x);
    assert_int_equal(rig_wrong(x), 1);
    rig_close(&r);
    rig_open(&r, "fake:0", "//fake: only=first");
    rig_run(&r, x, &err);
    rig_run(&r, y, &err);
    assert_int_equal(rig_wrong(x), 0);
    assert_int_equal(rig_wrong(y), 1);
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
    float x[RIG_N];
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
    device *d = fake_open("fake:0");
    fake_build(d, "//fake: build=crash\n" COPY, "fake_copy");
}

static void hang_in_build(void)
{
    device *d = fake_open("fake:0");
    fake_build(d, "//fake: build=hang\n" COPY, "fake_copy");
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
    device *d = fake_open("fake:0");
    device_program *p = fake_build(d, SAXPY SUM GEMM, "fake_gemm_tiled");
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
