/* The pool of worker processes: real workers on the scripted device, and scripts in their place. */
#include "tests/support_pool.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- real workers ---- */

static void stages_and_results(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 1, &e);
    assert_int_equal(pool_size(p), 1);
    assert_true(pool_is_idle(p, 0));
    assert_int_equal(pool_hello(p)->n_devices, 2);
    for (int64_t id = 1; id <= 2; id++) {
        pool_submit_saxpy(p, 0, id, "time_ns=5000");
        assert_false(pool_is_idle(p, 0));
        assert_int_equal(pool_run_until(p, &e, (size_t)id, &err), KW_OK);
        events_expect(&e, e.n - 1, id, OUTCOME_OK, "");
        assert_true(events_have_stage(&e, id, STAGE_COMPILE));
        assert_true(events_have_stage(&e, id, STAGE_VERIFY));
        assert_true(events_have_stage(&e, id, STAGE_TIME));
    }
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* Whatever a candidate does to its worker is its own outcome, with the stage; the worker is replaced and goes on. */
static void deaths(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 1, &e);
    const struct {
        const char *directives;
        outcome outcome;
        stage stage;
        const char *text;
    } cases[] = {{"build=crash", OUTCOME_CRASH, STAGE_COMPILE, "signal 6"},
                 {"run=crash", OUTCOME_CRASH, STAGE_SMOKE, "in stage smoke"},
                 {"run=crash after=3", OUTCOME_CRASH, STAGE_VERIFY, "in stage verify"},
                 {"run=crash after=5", OUTCOME_CRASH, STAGE_TIME, "in stage time"},
                 {"run=lost", OUTCOME_CRASH, STAGE_SMOKE, ""}};
    const size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < n; i++) {
        pool_until_idle(p, 0);
        pool_submit_saxpy(p, 0, (int64_t)i + 1, cases[i].directives);
        assert_int_equal(pool_run_until(p, &e, i + 1, &err), KW_OK);
        events_expect(&e, e.n - 1, (int64_t)i + 1, cases[i].outcome, cases[i].text);
        assert_int_equal(e.list[e.n - 1].stage, cases[i].stage);
    }
    pool_until_restarted(p, (int64_t)n);
    pool_until_idle(p, 0);
    assert_int_equal(pool_restarts(p), n);
    pool_submit_saxpy(p, 0, 99, "");
    assert_int_equal(pool_run_until(p, &e, n + 1, &err), KW_OK);
    events_expect(&e, e.n - 1, 99, OUTCOME_OK, "");
    pool_stop(p);
}

static void deadlines(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 1, &e);
    pool_submit_with(p, 0, 1, "build=hang", (job_limits){TEST_LIMIT_MS, 60000});
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, e.n - 1, 1, OUTCOME_TIMEOUT, "no end of stage compile within ");
    pool_until_idle(p, 0);
    pool_submit_with(p, 0, 2, "run=hang", (job_limits){60000, 200});
    assert_int_equal(pool_run_until(p, &e, 2, &err), KW_OK);
    events_expect(&e, e.n - 1, 2, OUTCOME_TIMEOUT, "no end of stage smoke within 200 ms");
    pool_until_idle(p, 0);
    pool_submit_saxpy(p, 0, 3, "");
    assert_int_equal(pool_run_until(p, &e, 3, &err), KW_OK);
    events_expect(&e, e.n - 1, 3, OUTCOME_OK, "");
    pool_stop(p);
}

static void grows(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 1, &e);
    pool_grow(p, 3);
    pool_grow(p, 2);
    assert_int_equal(pool_size(p), 3);
    for (size_t i = 0; i < 3; i++) {
        pool_until_idle(p, i);
        pool_submit_saxpy(p, i, 10 + (int64_t)i, i == 1 ? "run=crash" : "");
    }
    assert_int_equal(pool_run_until(p, &e, 3, &err), KW_OK);
    for (size_t i = 0; i < e.n; i++)
        if (e.list[i].kind == POOL_DONE) {
            assert_int_equal(e.list[i].job, 10 + (int64_t)e.list[i].worker);
            assert_int_equal(e.list[i].outcome, e.list[i].worker == 1 ? OUTCOME_CRASH : OUTCOME_OK);
        }
    pool_stop(p);
}

/* Nothing is left of the workers, also when they are busy. */
static void stop_while_busy(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 2, &e);
    pid_t pids[2] = {(pid_t)pool_hello(p)->pid, 0};
    pool_until_idle(p, 1);
    pool_submit_saxpy(p, 0, 1, "run=hang");
    while (!events_have_stage(&e, 1, STAGE_SMOKE))
        assert_int_equal(pool_poll(p, 1000, &err), KW_OK);
    pool_stop(p);
    assert_int_equal(kill(pids[0], 0), -1);
    assert_int_equal(errno, ESRCH);
    pool_stop(NULL);
}

static void interrupted(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        pool *p = pool_of(NULL, 1, &e);
        pool_submit_saxpy(p, 0, 1, "run=hang");
        assert_false(pool_interrupted(p));
        kill(getpid(), signals[i]);
        assert_int_equal(pool_run_until(p, &e, 1, &err), KW_INTERRUPTED);
        assert_true(pool_interrupted(p));
        assert_int_equal(pool_poll(p, -1, &err), KW_INTERRUPTED); /* at once, and again */
        pool_stop(p);
    }
}

static void poll_does_not_wait(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = pool_of(NULL, 1, &e);
    assert_int_equal(pool_poll(p, 0, &err), KW_OK);
    assert_int_equal(pool_poll(p, 1, &err), KW_OK);
    assert_int_equal(e.n, 0);
    pool_stop(p);
}

/* ---- scripts in place of workers ---- */

/* Those that end by themselves have all the time they need. */
static void expect_no_start_within(const char *command, int64_t hello_ms, const char *part)
{
    kw_error err = {0};
    events e = {.n = 0};
    pool_options o = {.worker_command = command, .n_workers = 1, .hello_ms = hello_ms};
    pool *p = NULL;
    assert_int_equal(pool_start(&o, events_note, &e, &p, &err), KW_ENVIRONMENT);
    assert_null(p);
    if (!strstr(err.message, part) || !strstr(err.message, command))
        fail_msg("\"%s\" is not in: %s", part, err.message);
}

static void expect_no_start(const char *command, const char *part)
{
    expect_no_start_within(command, TEST_PATIENCE_MS, part);
}

static void cannot_start(void **state)
{
    (void)state;
    expect_no_start("echo first >&2; echo second >&2; exit 5", "status 5; its last words: first?second");
    expect_no_start("exit 3", "it ended with status 3");
    expect_no_start("kill -9 $$", "signal 9");
    expect_no_start("/nonexistent/kernwright worker --stdio", "status 127; its last words: ");
    expect_no_start("echo garbage; sleep 200", "what it sent is refused (worker:1:1");
    expect_no_start("echo '{\"type\":\"hello\",\"protocol\":2}'; sleep 200", "protocol");
    expect_no_start_within("sleep 200", 300, "no answer within");
}

/* A file in which every start of a script leaves a line. */
static char *counter_command(const char *folder, const char *script)
{
    strb text = STRB_INIT;
    strb_printf(&text, "echo x >>%s/starts; %s", folder, script);
    return strb_take(&text);
}

static size_t starts(const char *folder)
{
    strb text = STRB_INIT;
    char *path = fs_join(folder, "starts");
    kw_error err = {0};
    if (fs_read(path, 0, &text, &err) != KW_OK)
        fail_msg("%s", err.message);
    size_t n = text.length / 2;
    strb_clear(&text);
    free(path);
    return n;
}

static int make_folder(void **state)
{
    kw_error err;
    *state = fs_temp_folder("kernwright-test-pool-", &err);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    fs_remove_tree(*state);
    free(*state);
    return 0;
}

/* Died before it looked at the job: the next process gets it, and its outcome stands. */
static void lost_before_its_first_stage(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "read line; [ $(wc -l <$STARTS) -lt 2 ] && exit 1; " STAGE
                                                  "echo '{\"type\":\"result\",\"id\":7,\"record\":{\"outcome\":\"ok\","
                                                  "\"stage\":\"done\"}}'; read line");
    char *path = fs_join(*state, "starts");
    setenv("STARTS", path, 1);
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.list[0].kind, POOL_STAGE);
    events_expect(&e, 1, 7, OUTCOME_OK, "");
    assert_int_equal(starts(*state), 2);
    assert_int_equal(pool_restarts(p), 1);
    pool_stop(p);
    free(path);
    free(command);
}

/* Twice is once too often for a job; three processes in a row that begin with nothing are too many for the pool. */
static void lost_again(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "read line; echo bad luck >&2; exit 4");
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, 0, 7, OUTCOME_CRASH, "ended with status 4");
    assert_non_null(strstr(e.list[0].text, "bad luck"));
    pool_until_idle(p, 0);
    pool_submit_saxpy(p, 0, 8, "");
    assert_int_equal(pool_run_until(p, &e, 2, &err), KW_ENVIRONMENT);
    assert_int_equal(e.list[e.n - 1].kind, POOL_FAILED);
    assert_non_null(strstr(err.message, "bad luck"));
    assert_int_equal(starts(*state), 3);
    assert_int_equal(pool_poll(p, -1, &err), KW_ENVIRONMENT);
    pool_stop(p);
    free(command);
}

/* Greets and dies without a job: no endless row of processes. */
static void dies_idle(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "exit 0");
    pool_options o = {.worker_command = command, .n_workers = 1};
    pool *p = NULL;
    memset(&e, 0, sizeof e);
    kw_code code = pool_start(&o, events_note, &e, &p, &err);
    while (code == KW_OK)
        code = pool_poll(p, -1, &err);
    assert_int_equal(code, KW_ENVIRONMENT);
    assert_int_equal(starts(*state), 3);
    pool_stop(p);
    free(command);
}

/* A line that is no message, in the middle of a job. */
static void garbage_in_a_job(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "read line; " STAGE "echo '{\"type\":\"nonsense\"}'; sleep 200");
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, 1, 7, OUTCOME_CRASH, "in stage compile is refused");
    pool_stop(p);
    free(command);
}

/* Answers to jobs that nobody asked for are passed over; a second greeting sends nothing twice. */
static void stray_messages(void **state)
{
    events e;
    kw_error err = {0};
    char *command =
        counter_command(*state, HELLO "echo '{\"type\":\"stage\",\"id\":5,\"name\":\"time\"}'; read line; " HELLO
                                      "echo '{\"type\":\"result\",\"id\":6,\"record\":{\"outcome\":\"wrong\","
                                      "\"stage\":\"verify\"}}'; " STAGE
                                      "echo '{\"type\":\"result\",\"id\":7,\"record\":{\"outcome\":\"ok\","
                                      "\"stage\":\"done\"}}'; read line && exit 9");
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 2);
    events_expect(&e, 1, 7, OUTCOME_OK, "");
    pool_stop(p);
    assert_int_equal(starts(*state), 1);
    free(command);
}

/* The machine or the task is at fault: the run is over, with the worker's own words and code. */
static void own_error(void **state)
{
    events e;
    kw_error err = {0};
    char *command =
        counter_command(*state, HELLO "read line; " STAGE
                                      "echo '{\"type\":\"error\",\"code\":2,\"text\":\"reference.c: no\"}'; exit 2");
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "reference.c: no");
    assert_int_equal(e.n_done, 0);
    pool_stop(p);
    free(command);
}

/* The last result counts although its process is gone, and although a child of it holds the pipe. */
static void result_before_death(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "read line; " STAGE
                                                  "setsid sleep 30 & echo '{\"type\":\"result\",\"id\":7,\"record\":"
                                                  "{\"outcome\":\"ok\",\"stage\":\"done\"}}'; kill -9 $$");
    pool *p = pool_of(command, 1, &e);
    pool_submit_saxpy(p, 0, 7, "");
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, 1, 7, OUTCOME_OK, "");
    pool_until_restarted(p, 1);
    pool_until_idle(p, 0);
    assert_int_equal(starts(*state), 2);
    pool_stop(p);
    free(command);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_results),
        cmocka_unit_test(deaths),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(grows),
        cmocka_unit_test(stop_while_busy),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(poll_does_not_wait),
        cmocka_unit_test(cannot_start),
        cmocka_unit_test_setup_teardown(lost_before_its_first_stage, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(lost_again, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(dies_idle, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(garbage_in_a_job, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(stray_messages, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(own_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(result_before_death, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
