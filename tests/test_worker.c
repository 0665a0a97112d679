/* The whole worker against the scripted device, over pipes: the test is the coordinator. */
#include "tests/support_worker.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int start(void **state)
{
    test_worker *w = mem_calloc(1, sizeof *w);
    message hello;
    test_worker_start(w);
    test_worker_read(w, &hello);
    assert_int_equal(hello.type, MESSAGE_HELLO);
    message_clear(&hello);
    *state = w;
    return 0;
}

/* Every test leaves a worker that ends in order. */
static int end(void **state)
{
    test_worker *w = *state;
    int status = test_worker_end(w);
    free(w);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int end_any(void **state)
{
    test_worker *w = *state;
    test_worker_end(w);
    free(w);
    return 0;
}

/* saxpy on three shapes, evaluated with these directives. */
static void add_cases(test_job *tj)
{
    test_job_add(tj, "N=100", DIST_NORMAL, 11);
    test_job_add(tj, "N=257", DIST_INTEGERS, 12);
    test_job_add(tj, "N=1000", DIST_NORMAL, 13);
}

static job_record evaluate(test_worker *w, const char *directives)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", directives);
    add_cases(&tj);
    assert_true(test_worker_do(w, &tj.j, &r));
    test_job_clear(&tj);
    return r;
}

static void expect(void **state, const char *directives, outcome o, stage s, const char *part)
{
    job_record r = evaluate(*state, directives);
    assert_string_equal(outcome_name(r.outcome), outcome_name(o));
    assert_string_equal(stage_name(r.stage), stage_name(s));
    if (part && (!r.detail || !strstr(r.detail, part)))
        fail_msg("\"%s\" is not in: %s", part, r.detail ? r.detail : "(no detail)");
    assert_int_equal(r.n_samples > 0, o == OUTCOME_OK);
    job_record_clear(&r);
}

/* ---- hello and end ---- */

static void test_hello(void **state)
{
    (void)state;
    test_worker w;
    message hello;
    test_worker_start(&w);
    test_worker_read(&w, &hello);
    assert_int_equal(hello.type, MESSAGE_HELLO);
    assert_int_equal(hello.protocol, PROTOCOL_VERSION);
    assert_int_equal(hello.pid, w.pid);
    assert_true(hello.n_devices >= 2);
    assert_string_equal(hello.devices[hello.n_devices - 2].spec, "fake:0");
    assert_int_equal(hello.devices[hello.n_devices - 2].limits.compute_units, 64);
    assert_true(hello.physical_cores >= 1);
    message_clear(&hello);
    assert_int_equal(test_worker_end(&w), 0);
}

/* ---- outcomes ---- */

static void test_ok(void **state)
{
    test_worker *w = *state;
    job_record r = evaluate(w, "time_ns=50000 noise=1 registers=40 local_bytes=512");
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_int_equal(r.stage, STAGE_DONE);
    assert_null(r.detail);
    assert_int_equal(r.cases_passed, 3);
    assert_int_equal(r.n_samples, 10);
    assert_string_equal(r.method, "events");
    for (size_t i = 0; i < r.n_samples; i++)
        assert_true(r.samples_ns[i] >= 49500 && r.samples_ns[i] <= 50500);
    assert_int_equal(r.registers, 40);
    assert_int_equal(r.local_bytes, 512);
    assert_int_equal(r.spill_bytes, -1);
    assert_true(r.worst_error >= 0 && r.worst_error <= 1);
    assert_true(r.compile_start_ms <= r.verify_start_ms && r.verify_start_ms <= r.time_start_ms);
    /* Every stage was announced before it began, in order. */
    const stage order[] = {STAGE_COMPILE, STAGE_SMOKE, STAGE_VERIFY, STAGE_TIME};
    size_t at = 0;
    assert_int_equal(w->stages[0], STAGE_COMPILE);
    for (size_t i = 0; i < w->n_stages; i++) {
        at += w->stages[i] != order[at];
        assert_int_equal(w->stages[i], order[at]);
    }
    assert_int_equal(at, 3);
    job_record_clear(&r);
}

static void test_short_runs_in_batches(void **state)
{
    job_record r = evaluate(*state, "time_ns=2000");
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_string_equal(r.method, "batch");
    assert_int_equal(r.n_samples, 7);
    assert_true(r.samples_ns[0] == 2000);
    job_record_clear(&r);
}

static void test_compile_errors(void **state)
{
    expect(state, "build=error", OUTCOME_COMPILE_ERROR, STAGE_COMPILE, "   2  __kernel void fake_saxpy(");
    expect(state, "no_such_directive=1", OUTCOME_COMPILE_ERROR, STAGE_COMPILE, "no_such_directive");
    expect(state, "time_ns=50000", OUTCOME_OK, STAGE_DONE, NULL);
}

static void test_wrong_results(void **state)
{
    expect(state, "result=wrong", OUTCOME_WRONG, STAGE_SMOKE, "N=100,a=2 (normal inputs): y[50] is ");
    expect(state, "result=nan", OUTCOME_WRONG, STAGE_SMOKE, "y[50] is nan, expected ");
    expect(state, "result=constant", OUTCOME_WRONG, STAGE_SMOKE, "100 of 100 compared elements wrong");
}

static void test_out_of_bounds(void **state)
{
    expect(state, "result=oob", OUTCOME_OUT_OF_BOUNDS, STAGE_SMOKE, "past the end of y: 4 bytes changed");
    expect(state, "result=oob_before", OUTCOME_OUT_OF_BOUNDS, STAGE_SMOKE, "before the start of y");
}

static void test_input_modified(void **state)
{
    expect(state, "modify=input", OUTCOME_INPUT_MODIFIED, STAGE_SMOKE, "the input x");
}

static void test_nondeterministic(void **state)
{
    /* Right the first time only: what a cached result, or memory never written, looks like. */
    expect(state, "only=first", OUTCOME_NONDETERMINISTIC, STAGE_SMOKE, "two runs on the same inputs differ: y[50] is ");
}

static void test_launch_faults(void **state)
{
    expect(state, "run=launch_error", OUTCOME_LAUNCH_ERROR, STAGE_SMOKE, "refused");
    expect(state, "run=does_not_fit", OUTCOME_DOES_NOT_FIT, STAGE_SMOKE, NULL);
    expect(state, "run=no_memory", OUTCOME_LAUNCH_ERROR, STAGE_SMOKE, NULL);
    expect(state, "max_group=32", OUTCOME_DOES_NOT_FIT, STAGE_SMOKE, "group");
    /* Two runs a case: the fourth is in the second case, the eighth in the timing. */
    expect(state, "run=launch_error after=3", OUTCOME_LAUNCH_ERROR, STAGE_VERIFY, "N=257");
    expect(state, "time_ns=50000 run=launch_error after=8", OUTCOME_LAUNCH_ERROR, STAGE_TIME, NULL);
    expect(state, "time_ns=50000", OUTCOME_OK, STAGE_DONE, NULL);
}

static void test_wrong_arguments(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    add_cases(&tj);
    tj.cases[1].plan.launches[0].n_args = 3;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_LAUNCH_ERROR);
    assert_int_equal(r.stage, STAGE_COMPILE);
    job_record_clear(&r);
    tj.cases[1].plan.launches[0].n_args = 4;
    tj.cases[1].plan.launches[0].args[3].index = 7; /* there is no such tensor */
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_LAUNCH_ERROR);
    assert_non_null(strstr(r.detail, "names nothing of the task"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_timer_that_runs_backwards(void **state)
{
    job_record r = evaluate(*state, "time_ns=50000 backwards_timer=1");
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_string_equal(r.method, "batch"); /* no event can be believed */
    job_record_clear(&r);
}

static void test_hopeless(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=900000");
    add_cases(&tj);
    tj.j.timing.hopeless_ns = 100000;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_true(r.stopped_early);
    assert_int_equal(r.n_samples, 2);
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_modes(void **state)
{
    test_worker *w = *state;
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    add_cases(&tj);
    tj.j.mode = JOB_COMPILE;
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_int_equal(r.cases_passed, 0);
    assert_int_equal(w->n_stages, 1);
    job_record_clear(&r);
    tj.j.mode = JOB_VERIFY;
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_int_equal(r.cases_passed, 3);
    assert_int_equal(r.n_samples, 0);
    assert_null(r.method);
    job_record_clear(&r);
    tj.j.mode = JOB_TIME;
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_int_equal(r.cases_passed, 0);
    assert_int_equal(r.n_samples, 10);
    job_record_clear(&r);
    test_job_clear(&tj);
}

/* What a job says of turns up to its result, e.g. "smoke? time? time. ": it asks (and is let go), and it is over. */
static void told_turns(test_worker *w, const job *j, char *out, size_t size)
{
    strb text = STRB_INIT, line = STRB_INIT;
    message m;
    job_print(j, &line);
    test_worker_send(w, line.data, line.length);
    for (test_worker_read(w, &m); m.type == MESSAGE_STAGE; test_worker_read(w, &m)) {
        if (m.turn != TURN_NONE)
            strb_printf(&text, "%s%s ", stage_name(m.stage), m.turn == TURN_WAIT ? "?" : ".");
        strb_reset(&line);
        job_go_print(j->id, &line);
        if (m.turn == TURN_WAIT)
            test_worker_send(w, line.data, line.length);
        message_clear(&m);
    }
    assert_int_equal(m.type, MESSAGE_RESULT);
    assert_int_equal(m.record.outcome, OUTCOME_OK);
    message_clear(&m);
    snprintf(out, size, "%s", strb_text(&text));
    strb_clear(&text);
    strb_clear(&line);
}

static void test_turns(void **state)
{
    static const struct {
        job_mode mode;
        job_turns turns;
        const char *said;
    } rows[] = {
        {JOB_EVALUATE, TURNS_NONE, ""},
        {JOB_EVALUATE, TURNS_TIME, "time? time. "},
        {JOB_EVALUATE, TURNS_ALL, "smoke? time? time. "},
        {JOB_TIME, TURNS_TIME, "time? time. "},
        {JOB_TIME, TURNS_ALL, "verify? time? time. "},
        {JOB_VERIFY, TURNS_TIME, ""},
        {JOB_VERIFY, TURNS_ALL, "smoke? "},
        {JOB_COMPILE, TURNS_ALL, ""},
    };
    char said[128];
    test_job tj;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    add_cases(&tj);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tj.j.mode = rows[i].mode;
        tj.j.turns = rows[i].turns;
        told_turns(*state, &tj.j, said, sizeof said);
        assert_string_equal(said, rows[i].said);
    }
    test_job_clear(&tj);
}

/* Who waits for its turn and gets another line, or none, ends. */
static void test_turn_without_go(void **state)
{
    (void)state;
    for (int with_line = 0; with_line < 2; with_line++) {
        test_worker w;
        test_job tj;
        strb line = STRB_INIT;
        message m;
        test_worker_start(&w);
        test_worker_read(&w, &m);
        message_clear(&m);
        test_job_make(&tj, "saxpy", "time_ns=50000");
        add_cases(&tj);
        tj.j.turns = TURNS_ALL;
        job_print(&tj.j, &line);
        test_worker_send(&w, line.data, line.length);
        do {
            test_worker_read(&w, &m);
            assert_int_equal(m.type, MESSAGE_STAGE);
        } while (m.turn != TURN_WAIT);
        strb_reset(&line);
        job_go_print(tj.j.id + 1, &line);
        if (with_line)
            test_worker_send(&w, line.data, line.length);
        int status = test_worker_end(&w);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), with_line ? KW_BAD_INPUT : KW_OK);
        strb_clear(&line);
        test_job_clear(&tj);
    }
}

/* Only timed, and wrong: what was timed is looked at. */
static void test_timed_output_is_checked(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=50000 only=first");
    add_cases(&tj);
    tj.j.mode = JOB_TIME;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_int_equal(r.stage, STAGE_TIME);
    assert_non_null(strstr(r.detail, "had not met"));
    assert_int_equal(r.n_samples, 0);
    job_record_clear(&r);
    test_job_clear(&tj);
}

/* ---- other tasks ---- */

static void test_product(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "gemm", "time_ns=50000");
    test_job_add(&tj, "M=5,N=7,K=3", DIST_INTEGERS, 1);
    job_case *c = test_job_add(&tj, "M=17,N=9,K=33", DIST_LARGE, 2);
    c->scalars[1] = 1; /* beta: C is read */
    c->plan.launches[0].args[6].real = 1;
    test_job_add(&tj, "M=4,N=4,K=0", DIST_NORMAL, 3);
    test_job_add(&tj, "M=31,N=32,K=33", DIST_SPARSE, 4);
    assert_true(test_worker_do(*state, &tj.j, &r));
    if (r.outcome != OUTCOME_OK)
        fail_msg("%s", r.detail);
    assert_int_equal(r.cases_passed, 4);
    job_record_clear(&r);
    /* The kernel gets beta = 1 where the case says 0: with C poisoned that cannot pass. */
    tj.cases[0].plan.launches[0].args[6].real = 1;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(r.detail, "C[0][0] is nan"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_empty_shape(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "reduce_sum", "time_ns=50000");
    test_job_add(&tj, "N=0", DIST_NORMAL, 1); /* an empty input: the sum is 0 */
    assert_true(test_worker_do(*state, &tj.j, &r));
    if (r.outcome != OUTCOME_OK)
        fail_msg("%s", r.detail);
    assert_int_equal(r.n_samples, 10);
    job_record_clear(&r);
    /* A plan without launches leaves the output as it was. */
    tj.cases[0].plan.n_launches = 0;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(r.detail, "never written"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_sampled_with_trusted(void **state)
{
    test_worker *w = *state;
    test_job tj, trusted;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    test_job_make(&trusted, "saxpy", "time_ns=1");
    job_case *c = test_job_add(&tj, "N=20000", DIST_NORMAL, 5);
    c->sampled = true;
    c->trusted_plan = c->plan;
    tj.j.trusted_source = trusted.source;
    tj.j.trusted_options = "";
    assert_true(test_worker_do(w, &tj.j, &r));
    if (r.outcome != OUTCOME_OK)
        fail_msg("%s", r.detail);
    job_record_clear(&r);
    /* One wrong element in the middle, which the sample would hardly hit. */
    tj.j.source =
        "//fake: result=wrong\n__kernel void fake_saxpy(int n, float a, __global const float *x, __global float *y) {}";
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(r.detail, "y[10000] is "));
    job_record_clear(&r);
    /* A trusted kernel that is wrong itself, or a reference: no candidate's fault, and none can be judged. */
    trusted.j.source = "//fake: result=constant\n__kernel void fake_saxpy(int n, float a, __global const float *x, "
                       "__global float *y) {}";
    tj.j.source = tj.source;
    tj.j.trusted_source = trusted.j.source;
    test_worker *own;
    start((void **)&own);
    test_worker_refuses(own, &tj.j, KW_BAD_INPUT, "its reference and its fallback template do not agree");
    free(own);
    test_job_clear(&tj);
    test_job_clear(&trusted);
}

static void test_too_large(void **state)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    tj.j.device = "fake:1"; /* 16 MiB in one buffer */
    test_job_add(&tj, "N=6000000", DIST_NORMAL, 5)->sampled = true;
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_LAUNCH_ERROR);
    assert_non_null(strstr(r.detail, "needs 22.9 MiB, the device allows 16.0 MiB in one buffer"));
    job_record_clear(&r);
    test_job_clear(&tj);
}

/* ---- ends of the worker ---- */

static void test_unknown_device(void **state)
{
    (void)state;
    test_worker *w;
    test_job tj;
    start((void **)&w);
    test_job_make(&tj, "saxpy", "time_ns=1");
    add_cases(&tj);
    tj.j.device = "fake:9";
    test_worker_refuses(w, &tj.j, KW_BAD_INPUT, "fake:9");
    free(w);
    test_job_clear(&tj);
}

/* The job is sent, the worker dies of it; returns the last stage it announced. */
static stage dies(const char *directives, int *status)
{
    test_worker w;
    message hello;
    test_job tj;
    job_record r;
    test_worker_start(&w);
    test_worker_read(&w, &hello);
    message_clear(&hello);
    test_job_make(&tj, "saxpy", directives);
    add_cases(&tj);
    assert_false(test_worker_do(&w, &tj.j, &r));
    test_job_clear(&tj);
    *status = test_worker_end(&w);
    assert_true(w.n_stages > 0);
    return w.stages[w.n_stages - 1];
}

static void test_crashes(void **state)
{
    (void)state;
    int status;
    assert_int_equal(dies("build=crash", &status), STAGE_COMPILE);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_int_equal(dies("run=crash", &status), STAGE_SMOKE);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(dies("run=crash after=3", &status), STAGE_VERIFY);
    assert_int_equal(dies("time_ns=50000 run=crash after=7", &status), STAGE_TIME);
}

static void test_hang_is_killed_by_the_coordinator(void **state)
{
    test_worker *w = *state;
    test_job tj;
    strb line = STRB_INIT;
    message m;
    test_job_make(&tj, "saxpy", "run=hang");
    add_cases(&tj);
    job_print(&tj.j, &line);
    test_worker_send(w, line.data, line.length);
    strb_clear(&line);
    do {
        test_worker_read(w, &m);
        assert_int_equal(m.type, MESSAGE_STAGE);
    } while (m.stage != STAGE_SMOKE);
    assert_int_equal(kill(w->pid, 0), 0);
    kill(w->pid, SIGKILL);
    for (char *rest; (rest = test_worker_line(w)) != NULL;)
        free(rest); /* announcements on the way, no result */
    test_job_clear(&tj);
}

static void test_lost_device_ends_the_process_after_the_result(void **state)
{
    (void)state;
    test_worker w;
    message hello;
    test_job tj;
    job_record r;
    test_worker_start(&w);
    test_worker_read(&w, &hello);
    message_clear(&hello);
    test_job_make(&tj, "saxpy", "run=lost");
    add_cases(&tj);
    assert_true(test_worker_do(&w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_CRASH);
    assert_int_equal(r.stage, STAGE_SMOKE);
    assert_non_null(strstr(r.detail, "lost"));
    job_record_clear(&r);
    test_job_clear(&tj);
    assert_null(test_worker_line(&w)); /* it is gone without being told */
    int status = test_worker_end(&w);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), WORKER_EXIT_LOST);
}

static void garbage(const char *text, const char *part)
{
    test_worker *w;
    message m;
    start((void **)&w);
    test_worker_send(w, text, strlen(text));
    test_worker_read(w, &m);
    assert_int_equal(m.type, MESSAGE_ERROR);
    if (!strstr(m.error.message, part))
        fail_msg("\"%s\" is not in: %s", part, m.error.message);
    message_clear(&m);
    int status = test_worker_end(w);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), KW_BAD_INPUT);
    free(w);
}

static void test_lines_that_are_no_jobs(void **state)
{
    (void)state;
    garbage("hello\n", "job");
    garbage("{\"type\":\"job\"}\n", "id");
    garbage("{\"type\":\"dance\",\"id\":1}\n", "dance");
    garbage("{} trailing\n", "");
}

/* Megabytes, and a line that is cut off by the end of input. */
static void test_long_lines(void **state)
{
    test_worker *w = *state;
    test_job tj;
    job_record r;
    strb source = STRB_INIT, comment = STRB_INIT;
    test_job_make(&tj, "saxpy", "time_ns=50000");
    add_cases(&tj);
    strb_add(&source, tj.source);
    while (comment.length < 4096)
        strb_add(&comment, "// a comment that says \"nothing\", at length; ");
    while (source.length < 3u << 20)
        strb_printf(&source, "%s\n", strb_text(&comment));
    tj.j.source = strb_text(&source);
    assert_true(test_worker_do(w, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    job_record_clear(&r);
    test_worker_send(w, "{\"type\":\"jo", 11);
    strb_clear(&source);
    strb_clear(&comment);
    test_job_clear(&tj);
}

/* Many jobs one after another: the cache is used, nothing piles up, a bad one does not hurt the next. */
static void test_many_jobs(void **state)
{
    for (int i = 0; i < 40; i++) {
        expect(state, "time_ns=50000", OUTCOME_OK, STAGE_DONE, NULL);
        expect(state, i % 2 ? "result=oob" : "build=error", i % 2 ? OUTCOME_OUT_OF_BOUNDS : OUTCOME_COMPILE_ERROR,
               i % 2 ? STAGE_SMOKE : STAGE_COMPILE, NULL);
    }
}

static outcome verify_once(test_worker *w, const char *directives)
{
    test_job tj;
    job_record r;
    test_job_make(&tj, "saxpy", directives);
    tj.j.mode = JOB_VERIFY;
    test_job_add(&tj, "N=100", DIST_NORMAL, 11);
    assert_true(test_worker_do(w, &tj.j, &r));
    outcome o = r.outcome;
    job_record_clear(&r);
    test_job_clear(&tj);
    return o;
}

/* Four runs a job, and the fifth run of the program fails: the same text is not built again. A worker keeps a few, so
 * that many others make it forget. */
static void test_programs_are_kept(void **state)
{
    const char *text = "run=launch_error after=4";
    assert_int_equal(verify_once(*state, text), OUTCOME_OK);
    assert_int_equal(verify_once(*state, text), OUTCOME_LAUNCH_ERROR);
    for (int i = 0; i < 20; i++) {
        char other[32];
        snprintf(other, sizeof other, "time_ns=%d", 1000 + i);
        assert_int_equal(verify_once(*state, other), OUTCOME_OK);
    }
    assert_int_equal(verify_once(*state, text), OUTCOME_OK);
}

/* More inputs than a quarter of the device's 64 MiB: the oldest make room, and are drawn anew when they come back. */
static void test_old_cases_make_room(void **state)
{
    for (uint64_t i = 0; i < 9; i++) {
        test_job tj;
        job_record r;
        test_job_make(&tj, "saxpy", "time_ns=50000");
        tj.j.device = "fake:1";
        test_job_add(&tj, "N=400000", DIST_NORMAL, i % 8);
        assert_true(test_worker_do(*state, &tj.j, &r));
        if (r.outcome != OUTCOME_OK)
            fail_msg("%s", r.detail);
        job_record_clear(&r);
        test_job_clear(&tj);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
    kw_error err;
    char *cache = fs_temp_folder("kernwright-test-", &err);
    assert_non_null(cache);
    setenv("KERNWRIGHT_CACHE", cache, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("KERNWRIGHT_DATA", ".", 0); /* wherever this program was built */
#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, start, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello),
        WITH_WORKER(test_ok),
        WITH_WORKER(test_short_runs_in_batches),
        WITH_WORKER(test_compile_errors),
        WITH_WORKER(test_wrong_results),
        WITH_WORKER(test_out_of_bounds),
        WITH_WORKER(test_input_modified),
        WITH_WORKER(test_nondeterministic),
        WITH_WORKER(test_launch_faults),
        WITH_WORKER(test_wrong_arguments),
        WITH_WORKER(test_timer_that_runs_backwards),
        WITH_WORKER(test_hopeless),
        WITH_WORKER(test_modes),
        WITH_WORKER(test_turns),
        cmocka_unit_test(test_turn_without_go),
        WITH_WORKER(test_timed_output_is_checked),
        WITH_WORKER(test_product),
        WITH_WORKER(test_empty_shape),
        WITH_WORKER(test_sampled_with_trusted),
        WITH_WORKER(test_too_large),
        cmocka_unit_test(test_unknown_device),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test_setup_teardown(test_hang_is_killed_by_the_coordinator, start, end_any),
        cmocka_unit_test(test_lost_device_ends_the_process_after_the_result),
        cmocka_unit_test(test_lines_that_are_no_jobs),
        WITH_WORKER(test_long_lines),
        WITH_WORKER(test_many_jobs),
        WITH_WORKER(test_programs_are_kept),
        WITH_WORKER(test_old_cases_make_room),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fs_remove_tree(cache);
    free(cache);
    return failed;
}
