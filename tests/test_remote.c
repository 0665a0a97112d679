/* A device behind a runner, with the scripted device in the runner: everything that the function table offers, and what
 * happens when the runner dies. */
#include "tests/support_worker.h"

#include "base/fs.h"
#include "base/mem.h"
#include "device/remote.h"
#include "device/remote_wire.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N 1000
#define LARGE (2 * WINDOW_ROOM + 12345) /* several pieces of the window */

static device *open_remote(uint64_t memory_bytes)
{
    device *d;
    kw_error err;
    char *self = fs_self_path();
    const char *const argv[] = {self, "worker", "--runner", "driver", "0", NULL};
    if (device_open_remote("fake:0", argv, NULL, memory_bytes, &d, &err) != KW_OK)
        fail_msg("%s", err.message);
    free(self);
    return d;
}

static int start(void **state)
{
    *state = open_remote(0);
    return 0;
}

static int end(void **state)
{
    device_close(*state);
    return 0;
}

static device_program *build(device *d, const char *directives)
{
    char source[512];
    const char *const names[] = {"fake_saxpy"};
    device_program *p;
    device_build_info info;
    kw_error err;
    snprintf(source, sizeof source,
             "//fake: %s\n__kernel void fake_saxpy(int n, float a, __global const float *x, __global float *y)\n{\n}\n",
             directives);
    if (device_build(d, source, "", names, 1, &p, &info, &err) != KW_OK)
        fail_msg("%s", err.message);
    device_build_info_clear(&info);
    return p;
}

typedef struct saxpy {
    device_buffer *x, *y;
    device_arg args[4];
    device_launch launch;
} saxpy;

static void make_saxpy(device *d, saxpy *s)
{
    kw_error err;
    float data[N];
    const int32_t n = N;
    const float a = 2;
    for (int i = 0; i < N; i++)
        data[i] = (float)i;
    s->x = device_alloc(d, sizeof data, &err);
    s->y = device_alloc(d, sizeof data, &err);
    assert_int_equal(device_write(d, s->x, 0, data, sizeof data, &err), KW_OK);
    assert_int_equal(device_fill(d, s->y, 0, sizeof data, 0, &err), KW_OK);
    memset(s->args, 0, sizeof s->args);
    s->args[0] = (device_arg){.kind = DEVICE_ARG_BYTES, .n = sizeof n, .type = DTYPE_I32};
    memcpy(s->args[0].bytes, &n, sizeof n);
    s->args[1] = (device_arg){.kind = DEVICE_ARG_BYTES, .n = sizeof a, .type = DTYPE_F32};
    memcpy(s->args[1].bytes, &a, sizeof a);
    s->args[2] = (device_arg){.kind = DEVICE_ARG_BUFFER, .buffer = s->x};
    s->args[3] = (device_arg){.kind = DEVICE_ARG_BUFFER, .buffer = s->y};
    s->launch = (device_launch){
        .kernel = "fake_saxpy", .rank = 1, .local = {64, 1, 1}, .groups = {16, 1, 1}, .args = s->args, .n_args = 4};
}

static void free_saxpy(device *d, saxpy *s)
{
    device_free(d, s->x);
    device_free(d, s->y);
}

/* ---- what works ---- */

static void test_describes_the_device(void **state)
{
    device *d = *state;
    assert_true(device_is_remote(d));
    assert_string_equal(device_describe(d)->spec, "fake:0");
    assert_string_equal(device_describe(d)->key, "fake/scripted/large/64");
    assert_int_equal(device_describe(d)->limits.compute_units, 64);
    assert_true(device_runner_pid(d) > 0 && device_runner_pid(d) != getpid());
}

static void fill_pattern(unsigned char *data, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (unsigned char)((i * 31 + (i >> 9) + seed) & 0xff);
}

/* The same content in both places, and every way between them. */
static void test_buffers_here_and_there(void **state)
{
    device *d = *state;
    kw_error err;
    uint64_t n, first;
    unsigned char *data = mem_alloc(LARGE), *back = mem_alloc(LARGE);
    device_buffer *here = device_alloc(d, LARGE, &err), *there = device_alloc(d, LARGE + 8192, &err);
    device_buffer *view = device_view(d, there, 4096, LARGE, &err);
    assert_non_null(view);
    fill_pattern(data, LARGE, 7);
    assert_int_equal(device_write(d, here, 0, data, LARGE, &err), KW_OK);
    assert_int_equal(device_fill(d, there, 0, LARGE + 8192, 0x5a, &err), KW_OK);
    assert_int_equal(device_copy(d, here, 0, there, 4096, LARGE, &err), KW_OK);
    assert_int_equal(device_read(d, view, 0, back, LARGE, &err), KW_OK);
    assert_memory_equal(data, back, LARGE);
    assert_int_equal(device_compare(d, here, 0, there, 4096, LARGE, &n, &first, &err), KW_OK);
    assert_int_equal(n, 0);
    /* One byte beyond the first piece. */
    const size_t at = WINDOW_ROOM + 4000;
    const unsigned char other = (unsigned char)~data[at];
    assert_int_equal(device_write(d, view, at, &other, 1, &err), KW_OK);
    assert_int_equal(device_compare(d, here, 0, there, 4096, LARGE, &n, &first, &err), KW_OK);
    assert_int_equal(n, 1);
    assert_int_equal(first, at);
    /* Back here, and from there to there. */
    assert_int_equal(device_copy(d, there, 4096, here, 0, LARGE, &err), KW_OK);
    assert_int_equal(device_compare(d, here, 0, view, 0, LARGE, &n, &first, &err), KW_OK);
    assert_int_equal(n, 0);
    device_buffer *third = device_alloc(d, 8192, &err), *of_third = device_view(d, third, 0, 4096, &err);
    assert_int_equal(device_copy(d, there, 4096, third, 0, 4096, &err), KW_OK);
    assert_int_equal(device_compare(d, third, 0, there, 4096, 4096, &n, &first, &err), KW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(device_read(d, there, 0, back, 4096, &err), KW_OK);
    assert_true(back[0] == 0x5a && back[4095] == 0x5a);
    device_free(d, of_third);
    device_free(d, third);
    device_free(d, view);
    device_free(d, there);
    device_free(d, here);
    free(data);
    free(back);
}

static void test_runs(void **state)
{
    device *d = *state;
    kw_error err;
    saxpy s;
    float y[N];
    make_saxpy(d, &s);
    device_program *p = build(d, "");
    assert_int_equal(device_check_args(d, p, &s.launch, &err), KW_OK);
    assert_int_equal(device_run(d, p, &s.launch, 1, &err), KW_OK);
    assert_int_equal(device_read(d, s.y, 0, y, sizeof y, &err), KW_OK);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 2.0f * (float)i);
    s.launch.n_args = 3;
    assert_int_equal(device_check_args(d, p, &s.launch, &err), KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    assert_non_null(strstr(err.message, "takes 4 arguments"));
    device_program_free(d, p);
    free_saxpy(d, &s);
}

static const device_launch *alternate(size_t run, void *cookie)
{
    const saxpy *s = cookie;
    return &s[run % 2].launch;
}

/* Each run takes the launches that it should: the sums in y count the runs. */
static void test_times(void **state)
{
    device *d = *state;
    kw_error err;
    saxpy s[2];
    double ns[5];
    float y;
    make_saxpy(d, &s[0]);
    make_saxpy(d, &s[1]);
    /* Seconds, that nobody waits for: what comes much later than its readings say is not believed. */
    device_program *p = build(d, "time_ns=4000000000");
    assert_int_equal(device_time_events(d, p, alternate, s, 1, 5, ns, &err), KW_OK);
    for (size_t i = 0; i < 5; i++)
        assert_true(ns[i] == 4000000000);
    assert_int_equal(device_time_batch(d, p, alternate, s, 1, 10, 3, ns, &err), KW_OK);
    assert_true(ns[0] == 4000000000 && ns[2] == 4000000000);
    /* 5 and 30 runs: 18 on the first set, 17 on the second. */
    assert_int_equal(device_read(d, s[0].y, 4, &y, sizeof y, &err), KW_OK);
    assert_true(y == 36);
    assert_int_equal(device_read(d, s[1].y, 4, &y, sizeof y, &err), KW_OK);
    assert_true(y == 34);
    device_program_free(d, p);
    free_saxpy(d, &s[0]);
    free_saxpy(d, &s[1]);
}

/* The readings are the runner's; one that has us wait for seconds and claims microseconds is not believed. */
static void test_times_that_cannot_be(void **state)
{
    device *d = *state;
    kw_error err;
    saxpy s;
    double ns[2];
    make_saxpy(d, &s);
    device_program *p = build(d, "time_ns=4000 host_sleep_us=400000");
    assert_int_equal(device_time_events(d, p, alternate, (saxpy[]){s, s}, 1, 2, ns, &err), KW_OK);
    assert_true(ns[0] == 0 && ns[1] == 0);
    device_program_free(d, p);
    free_saxpy(d, &s);
}

/* ---- what fails ---- */

static void test_build_errors(void **state)
{
    device *d = *state;
    const char *const names[] = {"k"};
    device_program *p;
    device_build_info info;
    kw_error err;
    assert_int_equal(
        device_build(d, "//fake: build=error log_mb=100\nkernel void k(int n) {}", "", names, 1, &p, &info, &err),
        KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_BUILD);
    assert_non_null(strstr(err.message, "asks for a build error"));
    assert_true(info.log.length > 1000 && info.log.length <= REMOTE_MAX_LOG);
    device_build_info_clear(&info);
    assert_false(device_describe(d)->simulated);
}

static void test_faults_keep_their_names(void **state)
{
    device *d = *state;
    kw_error err;
    saxpy s;
    make_saxpy(d, &s);
    device_program *p = build(d, "run=does_not_fit");
    assert_int_equal(device_run(d, p, &s.launch, 1, &err), KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    device_program_free(d, p);
    assert_null(device_alloc(d, (size_t)1 << 40, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    free_saxpy(d, &s);
}

static void test_memory_in_all(void **state)
{
    (void)state;
    device *d = open_remote((uint64_t)256 << 20);
    kw_error err;
    device_buffer *one = device_alloc(d, (size_t)120 << 20, &err);
    assert_non_null(one);
    assert_null(device_alloc(d, (size_t)120 << 20, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    assert_non_null(strstr(err.message, "240 MiB in all"));
    device_free(d, one);
    one = device_alloc(d, (size_t)120 << 20, &err);
    assert_non_null(one);
    device_free(d, one);
    device_close(d);
}

/* A dead runner is a lost device; its successor knows nothing of the old objects, and what lies here is still here. */
static void lose_and_revive(device *d, const char *directives, const char *part)
{
    kw_error err;
    saxpy s;
    float x[N];
    make_saxpy(d, &s);
    device_buffer *kept = device_alloc(d, sizeof x, &err);
    assert_int_equal(device_copy(d, s.x, 0, kept, 0, sizeof x, &err), KW_OK);
    device_program *p = build(d, directives);
    assert_int_equal(device_run(d, p, &s.launch, 1, &err), KW_ENVIRONMENT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LOST);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" is not in: %s", part, err.message);
    assert_int_equal(device_run(d, p, &s.launch, 1, &err), KW_ENVIRONMENT); /* sticky */
    device_program *forgotten = p;
    assert_int_equal(device_revive(d, &err), KW_OK);
    assert_int_equal(device_run(d, forgotten, &s.launch, 1, &err), KW_FAILED);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    assert_int_equal(device_read(d, s.y, 0, x, sizeof x, &err), KW_FAILED);
    assert_int_equal(device_read(d, kept, 0, x, sizeof x, &err), KW_OK);
    assert_true(x[0] == 0 && x[N - 1] == N - 1);
    device_program_free(d, forgotten);
    free_saxpy(d, &s);
    device_free(d, kept);
    test_runs((void **)&d);
}

static void test_lost(void **state)
{
    lose_and_revive(*state, "run=crash", "was killed by signal 6");
    lose_and_revive(*state, "run=lost", "the device is lost");
    lose_and_revive(*state, "run=crash", "was killed by signal 6");
}

static void test_killed_from_outside(void **state)
{
    device *d = *state;
    kw_error err;
    kill(device_runner_pid(d), SIGKILL);
    saxpy s;
    const char *const names[] = {"fake_saxpy"};
    device_program *p;
    device_build_info info;
    assert_int_equal(device_build(d, "kernel void fake_saxpy(int n) {}", "", names, 1, &p, &info, &err),
                     KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "signal 9"));
    device_build_info_clear(&info);
    assert_int_equal(device_revive(d, &err), KW_OK);
    make_saxpy(d, &s);
    free_saxpy(d, &s);
}

static void test_eats_memory(void **state)
{
    (void)state;
    device *d = open_remote((uint64_t)200 << 20);
    const char *const names[] = {"k"};
    device_program *p;
    device_build_info info;
    kw_error err;
    assert_int_equal(device_build(d, "//fake: build=eat\nkernel void k(int n) {}", "", names, 1, &p, &info, &err),
                     KW_ENVIRONMENT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LOST);
    assert_non_null(strstr(err.message, "it held more than 200 MiB of memory"));
    device_build_info_clear(&info);
    device_close(d);
}

static void test_no_such_device(void **state)
{
    (void)state;
    device *d;
    kw_error err;
    char *self = fs_self_path();
    const char *const argv[] = {self, "worker", "--runner", "driver", "0", NULL};
    const char *const nothing[] = {"/nonexistent/kernwright", NULL};
    assert_int_equal(device_open_remote("fake:9", argv, NULL, 0, &d, &err), KW_BAD_INPUT);
    assert_null(d);
    assert_int_equal(device_open_remote("fake:0", nothing, NULL, 0, &d, &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "/nonexistent/kernwright"));
    free(self);
}

/* The window is a file: `ulimit -f` bounds it, and the message names it. In a process of its own, for the limit. */
static void test_limit_of_files(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        device *d = NULL;
        kw_error err;
        char *self = fs_self_path();
        const char *const argv[] = {self, "worker", "--runner", "driver", "0", NULL};
        const struct rlimit small = {1 << 20, 1 << 20};
        signal(SIGXFSZ, SIG_IGN);
        const bool told = setrlimit(RLIMIT_FSIZE, &small) == 0 &&
                          device_open_remote("fake:0", argv, NULL, 0, &d, &err) == KW_ENVIRONMENT &&
                          strstr(err.message, "ulimit -f") && strstr(err.message, "files may have 1024 KiB");
        _exit(told ? 0 : 1);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
    setenv("KERNWRIGHT_FAKE", "1", 1);
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, start, end)
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_describes_the_device),
        WITH_DEVICE(test_buffers_here_and_there),
        WITH_DEVICE(test_runs),
        WITH_DEVICE(test_times),
        WITH_DEVICE(test_times_that_cannot_be),
        WITH_DEVICE(test_build_errors),
        WITH_DEVICE(test_faults_keep_their_names),
        cmocka_unit_test(test_memory_in_all),
        WITH_DEVICE(test_lost),
        WITH_DEVICE(test_killed_from_outside),
        cmocka_unit_test(test_eats_memory),
        cmocka_unit_test(test_no_such_device),
        cmocka_unit_test(test_limit_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
