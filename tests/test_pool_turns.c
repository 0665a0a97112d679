/* Workers that wait for their turn or stand still, and deadlines meanwhile. */
#include "tests/support_pool.h"

#include "base/clock.h"
#include "base/fs.h"

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

/* Whoever waits for its turn has no deadline, and nothing else than "go" lets it on. */
static void waits_for_its_turn(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(
        HELLO
        "read line; echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"wait\"}'; read line; "
        "case $line in *'\"go\"'*) echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"over\"}'; " RESULT
        ";; esac; exit 3",
        1, &e);
    pool_submit_with(p, 0, 7, "", (job_limits){60000, TEST_LIMIT_MS});
    while (e.n == 0)
        pool_poll_for(p, 20);
    pool_poll_for(p, TEST_LIMIT_MS + 1000);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.list[0].turn, TURN_WAIT);
    assert_int_equal(e.list[0].stage, STAGE_TIME);
    pool_go(p, 0);
    pool_go(p, 0); /* nobody waits any more */
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.list[1].turn, TURN_OVER);
    events_expect(&e, 2, 7, OUTCOME_OK, "");
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* Nobody looks for longer than the deadline, as when the coordinator is stopped and goes on: what the worker said in
 * time counts, and it goes on. */
static void at_work_while_nobody_looked(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(HELLO "read line; for i in $(seq 24); do " STAGE "sleep 0.4; done; " RESULT, 1, &e);
    pool_submit_with(p, 0, 7, "", (job_limits){8000, 8000});
    usleep(9000000);
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, e.n - 1, 7, OUTCOME_OK, "");
    pool_poll_for(p, 200);
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* More time is given once: who hangs is ended at the second deadline. */
static void hangs_while_nobody_looked(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(HELLO "read line; sleep 600", 1, &e);
    pool_submit_with(p, 0, 7, "", (job_limits){300, 300});
    for (int i = 0; i < TEST_PATIENCE_MS / 1000 && e.n_done == 0; i++) {
        usleep(1000000);
        pool_poll(p, 0, &err);
    }
    assert_int_equal(e.n_done, 1);
    events_expect(&e, e.n - 1, 7, OUTCOME_TIMEOUT, "");
    pool_stop(p);
}

/* The clock of the loop stands while the search thinks: a deadline that begins then is not over at once. */
static void submitted_after_long_thought(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(HELLO "read line; sleep 0.5; " STAGE RESULT, 1, &e);
    pool_until_idle(p, 0);
    usleep(9000000);
    pool_submit_with(p, 0, 7, "", (job_limits){8000, 8000});
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, e.n - 1, 7, OUTCOME_OK, "");
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* The deadline is back once it may go on. */
static void hangs_in_its_turn(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(
        HELLO
        "read line; echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"wait\"}'; read line; sleep 600",
        1, &e);
    pool_submit_with(p, 0, 7, "", (job_limits){60000, 300});
    while (e.n == 0)
        pool_poll_for(p, 20);
    pool_go(p, 0);
    assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
    events_expect(&e, 1, 7, OUTCOME_TIMEOUT, "stage time");
    pool_stop(p);
}

/* Who stands still has no deadline, and goes on where it was; its like is not touched. */
static void pauses(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = pool_of(NULL, 2, &e);
    assert_true(pool_can_pause(p));
    pool_until_idle(p, 1);
    pool_submit_with(p, 0, 1, "", (job_limits){60000, 60000});
    pool_submit_with(p, 1, 2, "host_sleep_us=40000 time_ns=1000000", (job_limits){60000, TEST_LIMIT_MS});
    while (!events_have_stage(&e, 2, STAGE_SMOKE))
        pool_poll_for(p, 5);
    pool_pause_others(p, 0);
    pool_poll_for(p, 100); /* what was in the pipe */
    const size_t before = e.n_done, events_before = e.n;
    pool_poll_for(p, TEST_LIMIT_MS + 1000);
    for (size_t i = events_before; i < e.n; i++)
        assert_int_equal(e.list[i].worker, 0);
    assert_true(e.n_done <= before + 1);
    pool_resume(p);
    assert_int_equal(pool_run_until(p, &e, 2, &err), KW_OK);
    for (size_t i = 0; i < e.n; i++)
        if (e.list[i].kind == POOL_DONE && e.list[i].outcome != OUTCOME_OK)
            fail_msg("job %d: %s", (int)e.list[i].job, e.list[i].text);
    assert_int_equal(pool_restarts(p), 0);
    pool_pause_others(p, 0);
    pool_stop(p); /* ends who stands still as well */
}

/* Who dies while it stands still is replaced when all go on: a process that is stopped in its first moments would
 * outlive a coordinator that is killed. */
static void dies_while_paused(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    for (int with_resume = 0; with_resume < 2; with_resume++) {
        pool *p = pool_of(NULL, 2, &e);
        pool_until_idle(p, 1);
        const pid_t pid = (pid_t)pool_hello(p)->pid;
        pool_submit_with(p, 0, 1, "host_sleep_us=5000000", (job_limits){60000, 60000}); /* far from its end */
        while (!events_have_stage(&e, 1, STAGE_SMOKE))
            pool_poll_for(p, 5);
        pool_pause_others(p, 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(pool_run_until(p, &e, 1, &err), KW_OK);
        events_expect(&e, e.n - 1, 1, OUTCOME_CRASH, "signal 9");
        pool_poll_for(p, 1500);
        assert_true(pool_is_starting(p, 0));
        assert_int_equal(pool_hello(p)->pid, pid);
        if (with_resume) {
            pool_resume(p);
            pool_until_idle(p, 0);
            assert_int_not_equal(pool_hello(p)->pid, pid);
            pool_submit_saxpy(p, 0, 2, "");
            assert_int_equal(pool_run_until(p, &e, 2, &err), KW_OK);
        }
        pool_stop(p);
    }
}

/* 'T': it is stopped; 0: there is no such process, or it only waits to be reaped. */
static char state_of(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (f)
        fclose(f);
    return state == 'Z' || state == 'X' ? 0 : state;
}

/* A coordinator of its own: stops its first worker and says which one that is. */
static void stop_first_and_wait(int out)
{
    events e;
    pool *p = pool_of(NULL, 2, &e);
    pool_until_idle(p, 1);
    const pid_t pid = (pid_t)pool_hello(p)->pid;
    pool_pause_others(p, 1);
    if (write(out, &pid, sizeof pid) != sizeof pid)
        _exit(1);
    for (;;)
        pause();
}

/* Nobody is left to let them go on. */
static void coordinator_is_killed_while_workers_are_stopped(void **state)
{
    int ends[2];
    pid_t stopped = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const pid_t coordinator = fork();
    if (coordinator == 0)
        stop_first_and_wait(ends[1]);
    assert_int_equal(read(ends[0], &stopped, sizeof stopped), sizeof stopped);
    for (int i = 0; i < TEST_PATIENCE_MS / 10 && state_of(stopped) != 'T'; i++)
        usleep(10000);
    assert_int_equal(state_of(stopped), 'T');
    assert_int_equal(kill(coordinator, SIGKILL), 0);
    assert_int_equal(waitpid(coordinator, NULL, 0), coordinator);
    for (int i = 0; i < TEST_PATIENCE_MS / 10 && state_of(stopped); i++)
        usleep(10000);
    const char left = state_of(stopped);
    if (left)
        kill(stopped, SIGKILL);
    assert_int_equal(left, 0);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_its_turn),
        cmocka_unit_test(hangs_in_its_turn),
        cmocka_unit_test(at_work_while_nobody_looked),
        cmocka_unit_test(hangs_while_nobody_looked),
        cmocka_unit_test(submitted_after_long_thought),
        cmocka_unit_test(pauses),
        cmocka_unit_test(dies_while_paused),
        cmocka_unit_test(coordinator_is_killed_while_workers_are_stopped),
    };
    return cmocka_run_group_tests_name("pool_turns", tests, NULL, NULL);
}
