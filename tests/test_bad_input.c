/* Bad input to a worker: it is told apart, bounded, survived, and nothing is left when the worker is ended. */
#include "tests/support_worker.h"

#include "base/mem.h"
#include "tuner/sandbox.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int start(void **state)
{
    test_worker *w = mem_calloc(1, sizeof *w);
    message hello;
    test_worker_start(w);
    test_worker_read(w, &hello);
    assert_true(strlen(hello.sandbox) > 0);
    message_clear(&hello);
    *state = w;
    return 0;
}

static int end(void **state)
{
    test_worker *w = *state;
    pid_t pid = w->pid;
    int status = test_worker_end(w);
    free(w);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && test_session_size(pid) == 0 ? 0 : -1;
}

static const char *const directives_of_stage[] = {"build=hang", "run=hang", "run=hang after=3",
                                                  "time_ns=50000 run=hang after=7"};
static const stage stages[] = {STAGE_COMPILE, STAGE_SMOKE, STAGE_VERIFY, STAGE_TIME};

static void wait_for_empty_session(pid_t leader)
{
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < TEST_PATIENCE_MS / 10 && test_session_size(leader) > 0; i++)
        nanosleep(&pause, NULL);
    assert_int_equal(test_session_size(leader), 0);
}

/* Ended at its most awkward: nothing of it lives on, and its folder goes with the next sweep. */
static void end_in_stage(size_t i, int signal_number)
{
    test_worker w;
    test_job tj;
    message m;
    strb line = STRB_INIT;
    test_worker_start(&w);
    test_worker_read(&w, &m);
    message_clear(&m);
    test_job_make(&tj, "saxpy", directives_of_stage[i]);
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    test_job_add(&tj, "N=101", DIST_NORMAL, 2);
    test_job_add(&tj, "N=102", DIST_NORMAL, 3);
    job_print(&tj.j, &line);
    test_worker_send(&w, line.data, line.length);
    do
        test_worker_read(&w, &m);
    while (m.stage != stages[i]);
    assert_int_equal(kill(w.pid, signal_number), 0);
    int status = test_worker_end(&w);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal_number);
    wait_for_empty_session(w.pid);
    strb_clear(&line);
    test_job_clear(&tj);
}

static void test_ended_in_every_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        end_in_stage(i, SIGTERM);
        setenv("KERNWRIGHT_RUNNER", "always", 1);
        end_in_stage(i, SIGTERM);
        end_in_stage(i, SIGKILL);
        unsetenv("KERNWRIGHT_RUNNER");
    }
}

static job_record evaluate(test_worker *w, const char *name, const char *directives)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, name, directives);
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    if (!test_worker_do(w, &tj.j, &r))
        fail_msg("the worker ended");
    test_job_clear(&tj);
    return r;
}

/* With its device in a runner a worker survives everything; the next candidate is measured right. Its times are
 * scripted, and long ones: a runner that stood still for longer than its readings say is not believed. */
static void test_worker_goes_on(void **state)
{
    (void)state;
    test_worker w;
    message m;
    setenv("KERNWRIGHT_RUNNER", "always", 1);
    setenv("KERNWRIGHT_MEMORY_MB", "400", 1);
    test_worker_start(&w);
    unsetenv("KERNWRIGHT_RUNNER");
    unsetenv("KERNWRIGHT_MEMORY_MB");
    test_worker_read(&w, &m);
    message_clear(&m);
    static const struct {
        const char *directives, *part;
        outcome o;
        stage s;
    } list[] = {
        {"time_ns=1000000000", NULL, OUTCOME_OK, STAGE_DONE},
        {"build=crash", "build: the process that runs kernels was killed by signal 6", OUTCOME_CRASH, STAGE_COMPILE},
        {"build=eat", "it held more than 400 MiB of memory", OUTCOME_CRASH, STAGE_COMPILE},
        {"build=error log_mb=100", "more bytes of the log are left out", OUTCOME_COMPILE_ERROR, STAGE_COMPILE},
        {"run=crash", "killed by signal 6", OUTCOME_CRASH, STAGE_VERIFY},
        {"run=lost", "device is lost", OUTCOME_CRASH, STAGE_VERIFY},
        {"time_ns=1000000000 run=crash after=3", "timing: ", OUTCOME_CRASH, STAGE_TIME},
        {"result=oob", "past the end of y", OUTCOME_OUT_OF_BOUNDS, STAGE_VERIFY},
        {"modify=input", "input x", OUTCOME_INPUT_MODIFIED, STAGE_VERIFY},
        {"only=first", "two runs", OUTCOME_NONDETERMINISTIC, STAGE_VERIFY},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        job_record r = evaluate(&w, "saxpy", list[i].directives);
        if (r.outcome != list[i].o || r.stage != list[i].s || (list[i].part && !strstr(r.detail, list[i].part)))
            fail_msg("%s: %s in %s: %s", list[i].directives, outcome_name(r.outcome), stage_name(r.stage),
                     r.detail ? r.detail : "");
        assert_true(!r.detail || strlen(r.detail) <= JOB_MAX_DETAIL);
        job_record_clear(&r);
        r = evaluate(&w, "saxpy", "time_ns=1000000000");
        assert_int_equal(r.outcome, OUTCOME_OK);
        assert_true(r.samples_ns[0] == 1000000000);
        job_record_clear(&r);
        assert_int_equal(test_session_size(w.pid), 2);
    }
    assert_int_equal(test_worker_end(&w), 0);
    assert_int_equal(test_session_size(w.pid), 0);
}

/* In the worker's own process (a GPU's case) a log is bounded as well, and so is memory. */
static void test_in_the_worker_itself(void **state)
{
    (void)state;
    test_worker w;
    test_job tj;
    message m;
    job_record r;
    setenv("KERNWRIGHT_MEMORY_MB", "500", 1);
    test_worker_start(&w);
    unsetenv("KERNWRIGHT_MEMORY_MB");
    test_worker_read(&w, &m);
    message_clear(&m);
    r = evaluate(&w, "saxpy", "build=error log_mb=100");
    assert_int_equal(r.outcome, OUTCOME_COMPILE_ERROR);
    assert_true(strlen(r.detail) <= JOB_MAX_DETAIL);
    job_record_clear(&r);
    test_job_make(&tj, "saxpy", "build=eat");
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    assert_false(test_worker_do(&w, &tj.j, &r));
    test_job_clear(&tj);
    int status = test_worker_end(&w);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SANDBOX_EXIT_MEMORY);
}

static void test_more_memory_than_there_is(void **state)
{
    test_worker *w = *state;
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "");
    job_case *c = test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    c->plan.n_temps = 1;
    c->plan.temp_bytes[0] = (uint64_t)1 << 40;
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_LAUNCH_ERROR);
    assert_non_null(strstr(r.detail, "a temporary needs 1.0 TiB, the device allows"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

/* Success without a result: what was poisoned stays poisoned. */
static void test_writes_nothing(void **state)
{
    test_worker *w = *state;
    test_job tj;
    job_record r;
    test_job_make(&tj, "reduce_sum", "");
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    snprintf(tj.source, sizeof tj.source,
             "__kernel void lazy(int n, __global const float *x, __global float *y)\n{\n}\n");
    tj.cases[0].plan.launches[0].kernel = "lazy"; /* the scripted device computes nothing for this name */
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(r.detail, "never written"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_timer_that_runs_backwards(void **state)
{
    job_record r = evaluate(*state, "saxpy", "time_ns=50000 backwards_timer=1");
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_true(r.n_dropped == 2);
    assert_string_equal(r.method, "batch");
    job_record_clear(&r);
}

/* A line that carries a source which is no text is refused with a message, and the worker ends with 2. */
static void refuse_source(const char *in_source, const char *part)
{
    test_worker w;
    test_job tj;
    message m;
    strb line = STRB_INIT, bad = STRB_INIT;
    test_worker_start(&w);
    test_worker_read(&w, &m);
    message_clear(&m);
    test_job_make(&tj, "saxpy", "PLACE");
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    job_print(&tj.j, &line);
    const char *place = strstr(strb_text(&line), "PLACE");
    assert_non_null(place);
    strb_add_n(&bad, line.data, (size_t)(place - line.data));
    strb_add(&bad, in_source);
    strb_add(&bad, place + strlen("PLACE"));
    test_worker_send(&w, bad.data, bad.length);
    test_worker_read(&w, &m);
    assert_int_equal(m.type, MESSAGE_ERROR);
    assert_int_equal(m.error.code, KW_BAD_INPUT);
    if (!strstr(m.error.message, part))
        fail_msg("\"%s\" is not in: %s", part, m.error.message);
    message_clear(&m);
    int status = test_worker_end(&w);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == KW_BAD_INPUT);
    strb_clear(&line);
    strb_clear(&bad);
    test_job_clear(&tj);
}

static void test_sources_that_are_no_text(void **state)
{
    (void)state;
    refuse_source("\\u0000", "u0000 is not allowed");
    refuse_source("\xff\xfe", "UTF-8");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, start, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_in_every_stage),
        cmocka_unit_test(test_worker_goes_on),
        cmocka_unit_test(test_in_the_worker_itself),
        WITH_WORKER(test_more_memory_than_there_is),
        WITH_WORKER(test_writes_nothing),
        WITH_WORKER(test_timer_that_runs_backwards),
        cmocka_unit_test(test_sources_that_are_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
