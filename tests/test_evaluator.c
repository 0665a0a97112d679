/* The evaluator: what comes back, from real workers on the scripted device. In what order it sends things:
 * test_evaluator_order.c. */
#include "tests/support_evaluator.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const evaluator_options two_workers = {.device = "fake:0", .compile_workers = 1};

static void measures(void **state)
{
    (void)state;
    setting *s = setting_begin(&setting_plain, &two_workers);
    assert_string_equal(evaluator_device(s->e)->spec, "fake:0");
    assert_int_equal(evaluator_hello(s->e)->n_devices, 2);
    candidate *a = setting_add(s, 3, CANDIDATE_TARGET, "N=1000");
    assert_ptr_equal(setting_next(s), a);
    assert_int_equal(a->record.outcome, OUTCOME_OK);
    assert_int_equal(a->record.stage, STAGE_DONE);
    assert_int_equal(a->record.cases_passed, 8);
    assert_true(a->record.n_samples >= 3);
    assert_true(a->record.samples_ns[0] == 4000.0);
    candidate *g = setting_add(s, 3, CANDIDATE_GENERAL, "N=1000");
    assert_ptr_equal(setting_next(s), g);
    assert_int_equal(g->record.outcome, OUTCOME_OK);
    assert_true(g->general_complete);
    assert_int_equal(g->record.n_samples, 0);
    candidate *r = setting_add(s, 3, CANDIDATE_RETIME, "N=1000");
    r->method = TIMING_EVENTS;
    assert_ptr_equal(setting_next(s), r);
    assert_int_equal(r->record.outcome, OUTCOME_OK);
    assert_true(r->record.n_samples >= 3);
    assert_int_equal(evaluator_restarts(s->e), 0);
    setting_end(s);
}

/* Two samples are enough for what is hopeless. */
static void hopeless(void **state)
{
    (void)state;
    setting *s = setting_begin(&setting_plain, &two_workers);
    candidate *slow = &s->c[0], *fast = &s->c[1];
    slow->hopeless_ns = fast->hopeless_ns = 4500;
    setting_add(s, 7, CANDIDATE_TARGET, "N=100");
    setting_add(s, 1, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    assert_true(slow->record.stopped_early);
    assert_int_equal(slow->record.n_samples, 2);
    assert_false(fast->record.stopped_early);
    assert_true(fast->record.n_samples > 2);
    setting_end(s);
}

/* What the variant does not take reaches no worker. */
static void rejected(void **state)
{
    (void)state;
    template_text text = setting_plain;
    text.requires_ = "\"N % 10 == 0\"";
    setting *s = setting_begin(&text, &two_workers);
    candidate *c = setting_add(s, 0, CANDIDATE_TARGET, "N=101");
    assert_ptr_equal(setting_next(s), c);
    assert_int_equal(c->record.outcome, OUTCOME_REJECTED);
    assert_int_equal(c->record.stage, STAGE_EXPAND);
    assert_non_null(strstr(c->record.detail, "N % 10 == 0"));
    setting_end(s);
}

/* Failures of every kind in one search: each is its own, those that can be measured are. */
static void failures(void **state)
{
    (void)state;
    const template_text text = {
        .name = "bad",
        .params =
            "\"D\": {\"values\": [\"time_ns=1000\", \"build=error\", \"build=crash\", \"build=hang\", \"run=crash\","
            " \"run=hang\", \"result=wrong\", \"result=oob\", \"modify=input\", \"nondeterministic=1\","
            " \"run=launch_error\", \"run=does_not_fit\", \"time_ns=2000\"]}",
        .directives = "${D}"};
    static const struct {
        outcome outcome;
        stage stage;
    } wanted[] = {
        {OUTCOME_OK, STAGE_DONE},         {OUTCOME_COMPILE_ERROR, STAGE_COMPILE}, {OUTCOME_CRASH, STAGE_COMPILE},
        {OUTCOME_TIMEOUT, STAGE_COMPILE}, {OUTCOME_CRASH, STAGE_SMOKE},           {OUTCOME_TIMEOUT, STAGE_SMOKE},
        {OUTCOME_WRONG, STAGE_SMOKE},     {OUTCOME_OUT_OF_BOUNDS, STAGE_SMOKE},   {OUTCOME_INPUT_MODIFIED, STAGE_SMOKE},
        {OUTCOME_WRONG, STAGE_SMOKE},     {OUTCOME_LAUNCH_ERROR, STAGE_SMOKE},    {OUTCOME_DOES_NOT_FIT, STAGE_SMOKE},
        {OUTCOME_OK, STAGE_DONE}};
    const evaluator_options o = {
        .device = "fake:0", .compile_workers = 1, .compile_ms = TEST_LIMIT_MS, .run_ms = TEST_LIMIT_MS};
    const size_t n = sizeof wanted / sizeof *wanted;
    setting *s = setting_begin(&text, &o);
    for (uint32_t i = 0; i < n; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    for (size_t i = 0; i < n; i++)
        setting_next(s);
    for (size_t i = 0; i < n; i++) {
        const job_record *r = &s->c[i].record;
        if (r->outcome != wanted[i].outcome || r->stage != wanted[i].stage)
            fail_msg("candidate %zu: %s in stage %s: %s", i, outcome_name(r->outcome), stage_name(r->stage), r->detail);
        if (r->outcome != OUTCOME_OK)
            assert_true(r->detail && *r->detail);
    }
    assert_true(evaluator_restarts(s->e) >= 4);
    setting_end(s);
}

/* One that dies in its turn, or hangs there, leaves it to the others. */
static void dies_in_its_turn(void **state)
{
    (void)state;
    const template_text text = {
        .name = "bad",
        .params = "\"D\": {\"values\": [\"time_ns=1000000\", \"run=crash after=20\", \"run=hang after=20\","
                  " \"run=crash\", \"run=hang\", \"time_ns=2000000\", \"time_ns=3000000\"]}",
        .directives = "${D}"};
    const evaluator_options o = {
        .device = "fake:0", .compile_workers = 1, .timing_workers = 2, .run_ms = TEST_LIMIT_MS};
    static const outcome wanted[] = {OUTCOME_OK,      OUTCOME_CRASH, OUTCOME_TIMEOUT, OUTCOME_CRASH,
                                     OUTCOME_TIMEOUT, OUTCOME_OK,    OUTCOME_OK};
    const size_t n = sizeof wanted / sizeof *wanted;
    setting *s = setting_begin(&text, &o);
    for (uint32_t i = 0; i < n; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    for (size_t i = 0; i < n; i++)
        setting_next(s);
    for (size_t i = 0; i < n; i++)
        if (s->c[i].record.outcome != wanted[i])
            fail_msg("candidate %zu: %s in stage %s: %s", i, outcome_name(s->c[i].record.outcome),
                     stage_name(s->c[i].record.stage), s->c[i].record.detail ? s->c[i].record.detail : "");
    setting_end(s);
}

static void no_such_device(void **state)
{
    (void)state;
    kw_error err = {0};
    evaluator *e = NULL;
    evaluator_options o = {.device = "fake:7"};
    assert_int_equal(evaluator_open(&o, &e, &err), KW_BAD_INPUT);
    assert_null(e);
    assert_non_null(strstr(err.message, "fake:1"));
    unsetenv("KERNWRIGHT_FAKE");
    assert_int_equal(evaluator_open(&o, &e, &err), KW_ENVIRONMENT);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    assert_non_null(strstr(err.message, "no compute device"));
    evaluator_close(NULL);
}

/* After a signal nothing new is sent, what is finished comes back, the rest is the caller's again. */
static void interrupt(void **state)
{
    (void)state;
    kw_error err = {0};
    const template_text text = {
        .name = "hang", .params = "\"D\": {\"values\": [\"time_ns=1000\", \"run=hang\"]}", .directives = "${D}"};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 0};
    setting *s = setting_begin(&text, &o);
    candidate *good = setting_add(s, 0, CANDIDATE_TARGET, "N=100");
    setting_add(s, 1, CANDIDATE_TARGET, "N=100");
    assert_ptr_equal(setting_next(s), good);
    assert_false(evaluator_interrupted(s->e));
    kill(getpid(), SIGINT);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_INTERRUPTED);
    assert_true(evaluator_interrupted(s->e));
    setting_add(s, 0, CANDIDATE_TARGET, "N=100");
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(evaluator_pending(s->e), 2);
    evaluator_forget(s->e);
    assert_int_equal(evaluator_pending(s->e), 0);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_OK);
    setting_end(s);
}

/* A job that was forgotten while it is at work has its turn all the same: its worker is needed again. */
static void forgotten_in_its_turn(void **state)
{
    (void)state;
    kw_error err = {0};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 0, .timing_workers = 2};
    setting *s = setting_begin(&setting_plain, &o);
    setting_add(s, 0, CANDIDATE_TARGET, "N=100");
    evaluator_forget(s->e);
    candidate *c = setting_add(s, 0, CANDIDATE_RETIME, "N=100"); /* only by the first worker, which has the former */
    assert_ptr_equal(evaluator_next_within(s->e, TEST_PATIENCE_MS, &err), c);
    assert_int_equal(c->record.outcome, OUTCOME_OK);
    setting_end(s);
}

/* Who only looks from time to time gets its answer all the same. */
static void looks_without_waiting(void **state)
{
    (void)state;
    kw_error err = {0};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 1};
    setting *s = setting_begin(&setting_plain, &o);
    candidate *c = setting_add(s, 0, CANDIDATE_TARGET, "N=100"), *got = NULL;
    for (int i = 0; i < TEST_PATIENCE_MS / 10 && !got; i++) {
        usleep(10000);
        got = evaluator_next_within(s->e, 0, &err);
        assert_int_equal(err.code, KW_OK);
    }
    assert_ptr_equal(got, c);
    assert_int_equal(got->record.outcome, OUTCOME_OK);
    setting_end(s);
}

static void count_tick(void *cookie)
{
    ++*(size_t *)cookie;
}

/* Other work goes on while a compiler takes its time: the longer it takes, the surer. */
static void ticks(void **state)
{
    (void)state;
    size_t n = 0;
    const template_text text = {
        .name = "slow", .params = "\"A\": {\"values\": [0, 1, 8, 64]}", .directives = "slow_ms=${A * 500}"};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 0};
    setting *s = setting_begin(&text, &o);
    evaluator_set_tick(s->e, count_tick, &n);
    for (uint32_t i = 1; i < 4 && n < 2; i++) { /* a machine that stood still has had no time for more */
        candidate *a = setting_add(s, i, CANDIDATE_TARGET, "N=100");
        assert_ptr_equal(setting_next(s), a);
        assert_int_equal(a->record.outcome, OUTCOME_OK);
    }
    assert_true(n >= 2);
    evaluator_set_tick(s->e, NULL, NULL);
    n = 0;
    setting_add(s, 0, CANDIDATE_TARGET, "N=100");
    setting_next(s);
    assert_int_equal(n, 0);
    setting_end(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures),
        cmocka_unit_test(hopeless),
        cmocka_unit_test(rejected),
        cmocka_unit_test(failures),
        cmocka_unit_test(no_such_device),
        cmocka_unit_test(interrupt),
        cmocka_unit_test(ticks),
        cmocka_unit_test(dies_in_its_turn),
        cmocka_unit_test(looks_without_waiting),
        cmocka_unit_test(forgotten_in_its_turn),
    };
    return cmocka_run_group_tests_name("evaluator", tests, NULL, NULL);
}
