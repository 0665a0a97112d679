/* The pool of worker processes: real workers on the scripted device, and scripts in their place. */
#include "tests/support_worker.h"
#include "tuner/pool.h"

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

#define MAX_EVENTS 64

/* What came back, in order. */
typedef struct events {
    struct {
        pool_event_kind kind;
        size_t worker;
        int64_t job;
        stage stage;
        outcome outcome;
        turn_state turn;
        char text[512];
    } list[MAX_EVENTS];
    size_t n, n_done;
} events;

static void on_event(const pool_event *event, void *cookie)
{
    events *e = cookie;
    assert_true(e->n < MAX_EVENTS);
    e->list[e->n].kind = event->kind;
    e->list[e->n].worker = event->worker;
    e->list[e->n].job = event->job;
    e->list[e->n].stage = event->stage;
    e->list[e->n].turn = event->turn;
    if (event->kind == POOL_DONE) {
        e->list[e->n].outcome = event->record->outcome;
        snprintf(e->list[e->n].text, sizeof e->list[0].text, "%.500s",
                 event->record->detail ? event->record->detail : "");
        job_record_clear(event->record);
        e->n_done++;
    }
    if (event->kind == POOL_FAILED)
        snprintf(e->list[e->n].text, sizeof e->list[0].text, "%.500s", event->error->message);
    e->n++;
}

static pool *start(const char *command, size_t n, events *e)
{
    kw_error err = {0};
    pool_options o = {.worker_command = command, .n_workers = n, .hello_ms = 20000};
    pool *p = NULL;
    memset(e, 0, sizeof *e);
    if (pool_start(&o, on_event, e, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    return p;
}

/* Until `n` jobs are done, or the pool failed. */
static kw_code run_until(pool *p, const events *e, size_t n, kw_error *err)
{
    int64_t end = clock_now_ns() + (int64_t)60 * 1000000000;
    while (e->n_done < n) {
        kw_code code = pool_poll(p, 1000, err);
        if (code != KW_OK)
            return code;
        if (clock_now_ns() > end)
            fail_msg("only %zu of %zu jobs came back", e->n_done, n);
    }
    return KW_OK;
}

static void until_idle(pool *p, size_t worker)
{
    int64_t end = clock_now_ns() + (int64_t)60 * 1000000000;
    while (!pool_is_idle(p, worker)) {
        kw_error err = {0};
        if (pool_poll(p, 1000, &err) != KW_OK)
            fail_msg("%s", err.message);
        if (clock_now_ns() > end)
            fail_msg("worker %zu is never idle", worker);
    }
}

static void until_restarted(pool *p, int64_t n)
{
    int64_t end = clock_now_ns() + (int64_t)60 * 1000000000;
    while (pool_restarts(p) < n) {
        kw_error err = {0};
        if (pool_poll(p, 100, &err) != KW_OK)
            fail_msg("%s", err.message);
        if (clock_now_ns() > end)
            fail_msg("restarted only %d times", (int)pool_restarts(p));
    }
}

static void submit_with(pool *p, size_t worker, int64_t id, const char *directives, job_limits limits)
{
    test_job tj;
    strb line = STRB_INIT;
    test_job_make(&tj, "saxpy", directives);
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    test_job_add(&tj, "N=500", DIST_INTEGERS, 2);
    tj.j.id = id;
    tj.j.limits = limits;
    job_print(&tj.j, &line);
    pool_submit(p, worker, id, strb_text(&line), line.length, limits);
    strb_clear(&line);
    test_job_clear(&tj);
}

static void submit(pool *p, size_t worker, int64_t id, const char *directives)
{
    submit_with(p, worker, id, directives, (job_limits){60000, 60000});
}

static void expect_outcome(const events *e, size_t i, int64_t id, outcome o, const char *part)
{
    if (e->list[i].kind != POOL_DONE || e->list[i].job != id || e->list[i].outcome != o ||
        !strstr(e->list[i].text, part))
        fail_msg("event %zu: kind %d, job %d, %s: %s", i, (int)e->list[i].kind, (int)e->list[i].job,
                 outcome_name(e->list[i].outcome), e->list[i].text);
}

static bool has_stage(const events *e, int64_t id, stage s)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->list[i].kind == POOL_STAGE && e->list[i].job == id && e->list[i].stage == s)
            return true;
    return false;
}

/* ---- real workers ---- */

static void stages_and_results(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = start(NULL, 1, &e);
    assert_int_equal(pool_size(p), 1);
    assert_true(pool_is_idle(p, 0));
    assert_int_equal(pool_hello(p)->n_devices, 2);
    for (int64_t id = 1; id <= 2; id++) {
        submit(p, 0, id, "time_ns=5000");
        assert_false(pool_is_idle(p, 0));
        assert_int_equal(run_until(p, &e, (size_t)id, &err), KW_OK);
        expect_outcome(&e, e.n - 1, id, OUTCOME_OK, "");
        assert_true(has_stage(&e, id, STAGE_COMPILE));
        assert_true(has_stage(&e, id, STAGE_VERIFY));
        assert_true(has_stage(&e, id, STAGE_TIME));
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
    pool *p = start(NULL, 1, &e);
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
        until_idle(p, 0);
        submit(p, 0, (int64_t)i + 1, cases[i].directives);
        assert_int_equal(run_until(p, &e, i + 1, &err), KW_OK);
        expect_outcome(&e, e.n - 1, (int64_t)i + 1, cases[i].outcome, cases[i].text);
        assert_int_equal(e.list[e.n - 1].stage, cases[i].stage);
    }
    until_restarted(p, (int64_t)n);
    until_idle(p, 0);
    assert_int_equal(pool_restarts(p), n);
    submit(p, 0, 99, "");
    assert_int_equal(run_until(p, &e, n + 1, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 99, OUTCOME_OK, "");
    pool_stop(p);
}

static void deadlines(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = start(NULL, 1, &e);
    submit_with(p, 0, 1, "build=hang", (job_limits){200, 60000});
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 1, OUTCOME_TIMEOUT, "no end of stage compile within 200 ms");
    until_idle(p, 0);
    submit_with(p, 0, 2, "run=hang", (job_limits){60000, 200});
    assert_int_equal(run_until(p, &e, 2, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 2, OUTCOME_TIMEOUT, "no end of stage smoke within 200 ms");
    until_idle(p, 0);
    submit(p, 0, 3, "");
    assert_int_equal(run_until(p, &e, 3, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 3, OUTCOME_OK, "");
    pool_stop(p);
}

static void grows(void **state)
{
    (void)state;
    events e;
    kw_error err = {0};
    pool *p = start(NULL, 1, &e);
    pool_grow(p, 3);
    pool_grow(p, 2);
    assert_int_equal(pool_size(p), 3);
    for (size_t i = 0; i < 3; i++) {
        until_idle(p, i);
        submit(p, i, 10 + (int64_t)i, i == 1 ? "run=crash" : "");
    }
    assert_int_equal(run_until(p, &e, 3, &err), KW_OK);
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
    pool *p = start(NULL, 2, &e);
    pid_t pids[2] = {(pid_t)pool_hello(p)->pid, 0};
    until_idle(p, 1);
    submit(p, 0, 1, "run=hang");
    while (!has_stage(&e, 1, STAGE_SMOKE))
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
        pool *p = start(NULL, 1, &e);
        submit(p, 0, 1, "run=hang");
        assert_false(pool_interrupted(p));
        kill(getpid(), signals[i]);
        assert_int_equal(run_until(p, &e, 1, &err), KW_INTERRUPTED);
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
    pool *p = start(NULL, 1, &e);
    assert_int_equal(pool_poll(p, 0, &err), KW_OK);
    assert_int_equal(pool_poll(p, 1, &err), KW_OK);
    assert_int_equal(e.n, 0);
    pool_stop(p);
}

/* ---- scripts in place of workers ---- */

#define HELLO \
    "echo '{\"type\":\"hello\",\"protocol\":1,\"version\":\"0\",\"pid\":1,\"host\":\"h\",\"cpu_model\":\"c\"," \
    "\"physical_cores\":1,\"devices\":[],\"note\":\"\"}'; "
#define STAGE "echo '{\"type\":\"stage\",\"id\":7,\"name\":\"compile\"}'; "

static void expect_no_start(const char *command, const char *part)
{
    kw_error err = {0};
    events e = {.n = 0};
    pool_options o = {.worker_command = command, .n_workers = 1, .hello_ms = 300};
    pool *p = NULL;
    assert_int_equal(pool_start(&o, on_event, &e, &p, &err), KW_ENVIRONMENT);
    assert_null(p);
    if (!strstr(err.message, part) || !strstr(err.message, command))
        fail_msg("\"%s\" is not in: %s", part, err.message);
}

static void cannot_start(void **state)
{
    (void)state;
    expect_no_start("echo first >&2; echo second >&2; exit 5", "status 5; its last words: first?second");
    expect_no_start("exit 3", "it ended with status 3");
    expect_no_start("kill -9 $$", "signal 9");
    expect_no_start("/nonexistent/kernwright worker --stdio", "status 127; its last words: ");
    expect_no_start("echo garbage; sleep 20", "what it sent is refused (worker:1:1");
    expect_no_start("echo '{\"type\":\"hello\",\"protocol\":2}'; sleep 20", "protocol");
    expect_no_start("sleep 20", "no answer within");
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
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.list[0].kind, POOL_STAGE);
    expect_outcome(&e, 1, 7, OUTCOME_OK, "");
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
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, 0, 7, OUTCOME_CRASH, "ended with status 4");
    assert_non_null(strstr(e.list[0].text, "bad luck"));
    until_idle(p, 0);
    submit(p, 0, 8, "");
    assert_int_equal(run_until(p, &e, 2, &err), KW_ENVIRONMENT);
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
    kw_code code = pool_start(&o, on_event, &e, &p, &err);
    while (code == KW_OK)
        code = pool_poll(p, -1, &err);
    assert_int_equal(code, KW_ENVIRONMENT);
    assert_int_equal(starts(*state), 3);
    pool_stop(p);
    free(command);
}

#define RESULT "echo '{\"type\":\"result\",\"id\":7,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\"}}'; read line"

static void poll_for(pool *p, int64_t ms)
{
    kw_error err = {0};
    for (int64_t end = clock_now_ns() + ms * 1000000; clock_now_ns() < end;)
        if (pool_poll(p, 20, &err) != KW_OK)
            fail_msg("%s", err.message);
}

/* Whoever waits for its turn has no deadline, and nothing else than "go" lets it on. */
static void waits_for_its_turn(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = start(
        HELLO
        "read line; echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"wait\"}'; read line; "
        "case $line in *'\"go\"'*) echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"over\"}'; " RESULT
        ";; esac; exit 3",
        1, &e);
    submit_with(p, 0, 7, "", (job_limits){60000, 300});
    while (e.n == 0)
        poll_for(p, 20);
    poll_for(p, 900);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.list[0].turn, TURN_WAIT);
    assert_int_equal(e.list[0].stage, STAGE_TIME);
    pool_go(p, 0);
    pool_go(p, 0); /* nobody waits any more */
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.list[1].turn, TURN_OVER);
    expect_outcome(&e, 2, 7, OUTCOME_OK, "");
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
    pool *p = start(HELLO "read line; for i in 1 2 3 4 5 6 7 8; do " STAGE "sleep 0.4; done; " RESULT, 1, &e);
    submit_with(p, 0, 7, "", (job_limits){1500, 1500});
    usleep(2000000);
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 7, OUTCOME_OK, "");
    poll_for(p, 200);
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* More time is given once: who hangs is ended at the second deadline. */
static void hangs_while_nobody_looked(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = start(HELLO "read line; sleep 60", 1, &e);
    submit_with(p, 0, 7, "", (job_limits){300, 300});
    for (int i = 0; i < 10 && e.n_done == 0; i++) {
        usleep(1000000);
        pool_poll(p, 0, &err);
    }
    assert_int_equal(e.n_done, 1);
    expect_outcome(&e, e.n - 1, 7, OUTCOME_TIMEOUT, "");
    pool_stop(p);
}

/* The clock of the loop stands while the search thinks: a deadline that begins then is not over at once. */
static void submitted_after_long_thought(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = start(HELLO "read line; sleep 0.5; " STAGE RESULT, 1, &e);
    until_idle(p, 0);
    usleep(3000000);
    submit_with(p, 0, 7, "", (job_limits){2900, 2900});
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, e.n - 1, 7, OUTCOME_OK, "");
    assert_int_equal(pool_restarts(p), 0);
    pool_stop(p);
}

/* The deadline is back once it may go on. */
static void hangs_in_its_turn(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = start(
        HELLO
        "read line; echo '{\"type\":\"stage\",\"id\":7,\"name\":\"time\",\"turn\":\"wait\"}'; read line; sleep 60",
        1, &e);
    submit_with(p, 0, 7, "", (job_limits){60000, 300});
    while (e.n == 0)
        poll_for(p, 20);
    pool_go(p, 0);
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, 1, 7, OUTCOME_TIMEOUT, "stage time");
    pool_stop(p);
}

/* Who stands still has no deadline, and goes on where it was; its like is not touched. */
static void pauses(void **state)
{
    events e;
    kw_error err = {0};
    (void)state;
    pool *p = start(NULL, 2, &e);
    assert_true(pool_can_pause(p));
    until_idle(p, 1);
    submit_with(p, 0, 1, "", (job_limits){60000, 60000});
    submit_with(p, 1, 2, "host_sleep_us=40000 time_ns=1000000", (job_limits){20000, 2000});
    while (!has_stage(&e, 2, STAGE_SMOKE))
        poll_for(p, 5);
    pool_pause_others(p, 0);
    poll_for(p, 100); /* what was in the pipe */
    const size_t before = e.n_done, events_before = e.n;
    poll_for(p, 2500);
    for (size_t i = events_before; i < e.n; i++)
        assert_int_equal(e.list[i].worker, 0);
    assert_true(e.n_done <= before + 1);
    pool_resume(p);
    assert_int_equal(run_until(p, &e, 2, &err), KW_OK);
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
        pool *p = start(NULL, 2, &e);
        until_idle(p, 1);
        const pid_t pid = (pid_t)pool_hello(p)->pid;
        submit_with(p, 0, 1, "host_sleep_us=40000 time_ns=1000000", (job_limits){60000, 60000});
        while (!has_stage(&e, 1, STAGE_SMOKE))
            poll_for(p, 5);
        pool_pause_others(p, 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
        expect_outcome(&e, e.n - 1, 1, OUTCOME_CRASH, "signal 9");
        poll_for(p, 1500);
        assert_true(pool_is_starting(p, 0));
        assert_int_equal(pool_hello(p)->pid, pid);
        if (with_resume) {
            pool_resume(p);
            until_idle(p, 0);
            assert_int_not_equal(pool_hello(p)->pid, pid);
            submit(p, 0, 2, "");
            assert_int_equal(run_until(p, &e, 2, &err), KW_OK);
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
    pool *p = start(NULL, 2, &e);
    until_idle(p, 1);
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
    for (int i = 0; i < 2000 && state_of(stopped) != 'T'; i++)
        usleep(10000);
    assert_int_equal(state_of(stopped), 'T');
    assert_int_equal(kill(coordinator, SIGKILL), 0);
    assert_int_equal(waitpid(coordinator, NULL, 0), coordinator);
    for (int i = 0; i < 2000 && state_of(stopped); i++)
        usleep(10000);
    const char left = state_of(stopped);
    if (left)
        kill(stopped, SIGKILL);
    assert_int_equal(left, 0);
    close(ends[0]);
    close(ends[1]);
}

/* A line that is no message, in the middle of a job. */
static void garbage_in_a_job(void **state)
{
    events e;
    kw_error err = {0};
    char *command = counter_command(*state, HELLO "read line; " STAGE "echo '{\"type\":\"nonsense\"}'; sleep 30");
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, 1, 7, OUTCOME_CRASH, "in stage compile is refused");
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
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    assert_int_equal(e.n, 2);
    expect_outcome(&e, 1, 7, OUTCOME_OK, "");
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
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_BAD_INPUT);
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
    pool *p = start(command, 1, &e);
    submit(p, 0, 7, "");
    assert_int_equal(run_until(p, &e, 1, &err), KW_OK);
    expect_outcome(&e, 1, 7, OUTCOME_OK, "");
    until_restarted(p, 1);
    until_idle(p, 0);
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
    alarm(300); /* whoever waits for ever has failed */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_results),
        cmocka_unit_test(deaths),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(grows),
        cmocka_unit_test(waits_for_its_turn),
        cmocka_unit_test(hangs_in_its_turn),
        cmocka_unit_test(dies_while_paused),
        cmocka_unit_test(coordinator_is_killed_while_workers_are_stopped),
        cmocka_unit_test(at_work_while_nobody_looked),
        cmocka_unit_test(hangs_while_nobody_looked),
        cmocka_unit_test(submitted_after_long_thought),
        cmocka_unit_test(pauses),
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
