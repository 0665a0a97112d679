/* The search of one shape, end to end on the scripted device. */
#include "tests/support_tuning.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_ROWS 64

/* ---- budgets ---- */

static void budgets(void **state)
{
    (void)state;
    tune_budget b;
    kw_error err = {0};
    const struct {
        const char *text;
        uint64_t configurations;
        double seconds;
    } good[] = {{"200", 200, 0},   {"60s", 0, 60},       {"5m", 0, 300},
                {"1.5h", 0, 5400}, {"200,60s", 200, 60}, {"2m,7", 7, 120}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(tune_budget_parse(good[i].text, &b, &err), KW_OK);
        assert_int_equal(b.configurations, good[i].configurations);
        assert_true(b.seconds == good[i].seconds);
    }
    const char *const bad[] = {"",     "0",     "-5",    "1.5", "60x",     "s",
                               "60s,", ",5",    "5,,6s", "5,6", "5s,6m",   "inf",
                               "nan",  "1e300", "60 s",  "5 ",  "200;60s", "99999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (tune_budget_parse(bad[i], &b, &err) != KW_BAD_INPUT)
            fail_msg("'%s' is taken", bad[i]);
        expect_text(err.message, "200,60s");
    }
}

/* ---- finding ---- */

static const template_text times = {.name = "times",
                                    .params = "\"A\": {\"values\": [1, 2, 3, 4], \"default\": 2},"
                                              "\"B\": {\"values\": [10, 20, 30, 40, 50, 60], \"default\": 30}",
                                    .directives = "time_ns=${1000 * A * B} registers=${A}",
                                    .more = "\"fallback\": true,"};

static void the_best_is_found(void **state)
{
    tuning *s = *state;
    tuning_templates(s, &times, 1);
    tuning_run_ok(s);
    assert_int_equal(s->r.space_size, 24);
    assert_int_equal(s->r.measured, 24);
    assert_int_equal(s->searched, 24);
    assert_int_equal(s->r.failed, 0);
    assert_true(s->r.tuned_ns == 10000);
    assert_true(s->r.naive_ns == 60000);
    assert_true(s->r.first_ns == 60000);
    assert_true(fabs(s->r.gflops - 2000 / 10000.0) < 1e-12);
    assert_true(fabs(s->r.gbytes - 12000 / 10000.0) < 1e-12);
    assert_string_equal(s->r.template_name, "times");
    assert_string_equal(s->r.config, "{\"A\":1,\"B\":10}");
    assert_int_equal(s->r.verified, VERIFIED_GENERAL);
    tuning_run_again(s);
}

static void without_a_store(void **state)
{
    tuning *s = *state;
    store *kept = s->s;
    tuning_templates(s, &times, 1);
    s->s = NULL;
    tuning_run_ok(s);
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 24);
    s->s = kept;
}

/* A budget counts what is stored; a larger one goes on from there. */
static void budget_of_configurations(void **state)
{
    tuning *s = *state;
    tuning_templates(s, &times, 1);
    s->o.strategy = strategy_find("local", NULL);
    s->o.budget.configurations = 7;
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 7);
    tuning_run_again(s);
    s->o.budget.configurations = 10;
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 3);
    assert_int_equal(s->r.reused, 7);
    tuning_run_again(s);
}

/* The seconds of a search are kept, so that they are not spent twice. */
static void budget_of_seconds(void **state)
{
    tuning *s = *state;
    const template_text many = {
        .name = "many", .params = "\"A\": {\"values\": \"range(1000000)\"}", .directives = "time_ns=${1000 + A}"};
    tuning_templates(s, &many, 1);
    s->o.budget = (tune_budget){.seconds = 6};
    tuning_run_ok(s);
    assert_true(s->r.measured > 0);
    s->o.budget.seconds = 1; /* spent, whatever the machine did meanwhile */
    tuning_run_again(s);
    s->o.budget.seconds = 1e-6;
    s->shape = shape_of(s->t, "N=77");
    assert_int_equal(tuning_run(s), KW_FAILED);
    expect_text(s->err.message, "budget is too small");
}

/* Parameters that do not show make nothing new. */
static void repetitions(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "hidden",
                                .params = "\"A\": {\"values\": [1, 2, 3]}, \"HIDDEN\": {\"values\": \"range(500)\"}",
                                .directives = "time_ns=${1000 * A}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 3);
    tuning_run_again(s);
    s->o.strategy = strategy_find("random", NULL);
    s->o.budget.configurations = 3;
    tuning_run_again(s);
}

/* A template that expands to something else now is measured anew. */
static void edited_template(void **state)
{
    tuning *s = *state;
    template_text text = times;
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    text.directives = "time_ns=${1000 * A * B} registers=${A} spill_bytes=9";
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 24);
    assert_int_equal(s->r.reused, 0);
    tuning_run_again(s);
}

/* ---- several templates ---- */

static void templates_share(void **state)
{
    tuning *s = *state;
    const template_text texts[] = {
        {.name = "slow",
         .params = "\"A\": {\"values\": \"range(100)\"}",
         .directives = "time_ns=${100000 + 1000 * A}",
         .more = "\"fallback\": true,"},
        {.name = "quick",
         .params = "\"A\": {\"values\": \"range(100)\", \"default\": 50}",
         .directives = "time_ns=${7000 + 10 * A}"},
        {.name = "never", .params = "\"A\": {\"values\": [1]}", .constraints = "\"A > 1\"", .directives = "time_ns=1"}};
    tuning_templates(s, texts, 3);
    s->o.budget.configurations = 60;
    tuning_run_ok(s);
    assert_string_equal(s->r.template_name, "quick");
    assert_true(s->r.naive_ns == 100000);
    assert_true(s->r.first_ns == 7500);
    assert_int_equal(s->r.space_size, 200);
    size_t slow = tuning_rows(s, &(store_query){.template_name = "slow"});
    assert_true(slow >= 3 && slow <= 12);
    /* The default layer has one that takes every shape, the fallback as well. */
    tuning_run_again(s);
}

/* ---- ties ---- */

static void equal_ones(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "equal",
                                .params = "\"A\": {\"values\": [1, 2, 3, 4, 5, 6, 7, 8]}",
                                .directives = "time_ns=5000 registers=${A}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    /* The lowest hash wins, after the first six contenders were timed four times. */
    for (uint32_t i = 0; i < 8; i++) {
        variant *v;
        assert_int_equal(variant_expand(s->p[0], &s->o.types, &i, &s->shape, &v, &s->err), KW_OK);
        assert_true(strcmp(s->r.source_hash, v->hash) <= 0);
        size_t n = tuning_rows(s, &(store_query){.source_hash = v->hash});
        assert_true(n == 4 || n == 1);
        variant_free(v);
    }
    assert_int_equal(s->retimed, 18);
    assert_int_equal(tuning_rows(s, &(store_query){.only_ok = true}), 26);
    tuning_run_again(s);
}

/* Who is behind with its whole interval after two rows is not timed a third time. */
static void close_ones(void **state)
{
    tuning *s = *state;
    const template_text text = {
        .name = "close", .params = "\"A\": {\"values\": [0, 1, 2, 3]}", .directives = "time_ns=${5000 + 100 * A}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_string_equal(s->r.config, "{\"A\":0}");
    assert_int_equal(s->retimed, 3 + 1 + 1); /* the fourth is 6% behind */
    tuning_run_again(s);
}

/* ---- methods ---- */

typedef struct methods {
    char hash[MAX_ROWS][HASH_HEX_SIZE];
    bool batch[MAX_ROWS], fast[MAX_ROWS];
    size_t n, n_events;
} methods;

static bool collect(const measurement *m, void *cookie)
{
    methods *all = cookie;
    assert_true(all->n < MAX_ROWS);
    memcpy(all->hash[all->n], m->source_hash, HASH_HEX_SIZE);
    all->batch[all->n] = strcmp(m->method, "batch") == 0;
    all->fast[all->n] = m->time.median < 60000;
    all->n_events += !all->batch[all->n];
    all->n++;
    return true;
}

/* Whatever is fast enough to win was timed in batches in the end, the first ones a second time. */
static void one_method(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "border",
                                .params = "\"US\": {\"values\": [200, 50, 45, 100, 41, 55], \"default\": 50}",
                                .directives = "time_ns=${1000 * US}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_true(s->r.tuned_ns == 41000);
    assert_int_equal(s->r.measured, 6);
    methods all = {.n = 0};
    assert_int_equal(store_each(s->s, &(store_query){.only_ok = true}, collect, &all, &s->err), KW_OK);
    assert_true(all.n_events >= 1);
    for (size_t i = 0; i < all.n; i++) {
        bool found = !all.fast[i];
        for (size_t k = 0; k < all.n && !found; k++)
            found = all.batch[k] && strcmp(all.hash[i], all.hash[k]) == 0;
        assert_true(found);
    }
    tuning_run_again(s);
}

/* ---- failures ---- */

static void all_fail(void **state)
{
    tuning *s = *state;
    const template_text text = {
        .name = "bad",
        .params = "\"D\": {\"values\": [\"result=wrong\", \"result=nan\", \"build=error\", \"result=constant\"]}",
        .directives = "${D}"};
    tuning_templates(s, &text, 1);
    assert_int_equal(tuning_run(s), KW_FAILED);
    expect_text(s->err.message, "all of 4 configurations failed, 3 of them as wrong, such as: N=");
    assert_false(s->r.found);
    assert_int_equal(s->r.failed, 4);
    assert_int_equal(tuning_run(s), KW_FAILED);
    assert_int_equal(s->r.measured, 0);
    assert_int_equal(s->r.reused, 4);
    expect_text(s->err.message, "3 of them as wrong");
}

static void some_fail(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "mixed",
                                .params = "\"D\": {\"values\": [\"result=wrong\", \"run=crash\", \"time_ns=9000\","
                                          " \"build=crash\", \"result=oob\", \"modify=input\", \"time_ns=8000\"]}",
                                .directives = "${D}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_int_equal(s->r.failed, 5);
    assert_true(s->r.tuned_ns == 8000);
    assert_true(evaluator_restarts(s->e) >= 2);
    tuning_run_again(s);
}

/* Texts that cannot be made, and configurations that //@require refuses, are outcomes like others. */
static void not_expandable(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "loops",
                                .params = "\"A\": {\"values\": [1, 2, 3, 4]}",
                                .directives = "time_ns=${1000 * A}\n//@require A != 2 \"two is bad\"\n"
                                              "//@if A == 3\n//@for I in 0..10**9\n// x\n//@end\n//@end"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_int_equal(s->r.measured, 4);
    assert_int_equal(s->r.failed, 2);
    assert_true(s->r.tuned_ns == 1000);
    tuning_run_again(s);
    assert_int_equal(s->r.failed, 2);
}

/* The fastest passes for its target and fails on a later run, which the many shapes of the general check come to: the
 * next one wins. */
static void wrong_on_edges(void **state)
{
    tuning *s = *state;
    const template_text text = {.name = "edges",
                                .params = "\"D\": {\"values\": [\"time_ns=1000000\", \"time_ns=2000000\"]}",
                                .directives =
                                    "${D} after=60 run=${'launch_error' if D == 'time_ns=1000000' else 'ok'}"};
    tuning_templates(s, &text, 1);
    tuning_run_ok(s);
    assert_int_equal(s->general, 1);
    assert_true(s->r.tuned_ns == 2000000);
    assert_int_equal(s->r.verified, VERIFIED_GENERAL);
    assert_int_equal(s->r.failed, 1);
    tuning_run_again(s);
}

/* A variant with constants is never general, and its few edge shapes are tried once. */
static void constants(void **state)
{
    tuning *s = *state;
    const template_text texts[] = {
        {.name = "fixed",
         .params = "\"FIX\": {\"values\": [true]}",
         .directives = "time_ns=1000",
         .more = "\"specialize\": {\"N\": \"FIX\"},"},
        {.name = "free", .params = "\"A\": {\"values\": [1]}", .directives = "time_ns=3000"}};
    tuning_templates(s, texts, 2);
    s->shape = shape_of(s->t, "N=257"); /* an edge shape */
    tuning_run_ok(s);
    assert_string_equal(s->r.template_name, "fixed");
    assert_int_equal(s->r.verified, VERIFIED_EXACT);
    tuning_run_again(s);
    assert_int_equal(s->r.verified, VERIFIED_EXACT);
}

/* ---- interrupts ---- */

/* Everything measured is there; another run goes on and comes to the same end as one that was never disturbed. */
static void interrupted(void **state)
{
    tuning *s = *state;
    tuning_templates(s, &times, 1);
    s->signal_after = 5;
    assert_int_equal(tuning_run(s), KW_INTERRUPTED);
    s->signal_after = 0;
    size_t kept = tuning_rows(s, &(store_query){.task = "saxpy"});
    assert_true(kept >= 5 && kept < 24);
    assert_int_equal(kept, s->r.measured);
    evaluator_close(s->e);
    tuning_open_evaluator(s);
    tuning_run_ok(s);
    assert_int_equal(s->r.reused, kept);
    assert_int_equal(s->r.measured, 24 - kept);
    assert_true(s->r.tuned_ns == 10000);
    tuning_run_again(s);
}

/* ---- one configuration ---- */

static void one_configuration(void **state)
{
    tuning *s = *state;
    template_text text = times;
    text.constraints = "\"A < 4\", {\"expr\": \"B // (A - 3) < 100\", \"why\": \"no reason\"}";
    text.requires_ = "\"N % 2 == 0\"";
    text.directives = "time_ns=${1000 * A * B}\n//@require A != 1 \"one is bad\"";
    tuning_templates(s, &text, 1);
    job_record r;
    uint32_t config[2] = {1, 0};
    assert_int_equal(tune_one(s->e, s->s, s->t, &s->o, s->p[0], config, &s->shape, &r, &s->err), KW_OK);
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_true(r.samples_ns[0] == 20000);
    job_record_clear(&r);
    assert_int_equal(tuning_rows(s, &(store_query){.only_ok = true}), 1);

    const struct {
        uint32_t a;
        const char *dims, *part;
    } rejected[] = {{3, "N=1000", "A < 4"}, {2, "N=1000", "division by zero"}, {1, "N=1001", "N % 2 == 0"}};
    for (size_t i = 0; i < 3; i++) {
        task_shape shape = shape_of(s->t, rejected[i].dims);
        config[0] = rejected[i].a;
        assert_int_equal(tune_one(s->e, s->s, s->t, &s->o, s->p[0], config, &shape, &r, &s->err), KW_OK);
        assert_int_equal(r.outcome, OUTCOME_REJECTED);
        expect_text(r.detail, rejected[i].part);
        job_record_clear(&r);
    }
    config[0] = 0;
    assert_int_not_equal(tune_one(s->e, s->s, s->t, &s->o, s->p[0], config, &s->shape, &r, &s->err), KW_OK);
    expect_text(s->err.message, "one is bad");
    assert_int_equal(tuning_rows(s, &(store_query){.task = "saxpy"}), 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
#define with_evaluator(f) cmocka_unit_test_setup_teardown(f, tuning_begin, tuning_end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets),         with_evaluator(the_best_is_found),
        with_evaluator(without_a_store),   with_evaluator(budget_of_configurations),
        with_evaluator(budget_of_seconds), with_evaluator(repetitions),
        with_evaluator(edited_template),   with_evaluator(templates_share),
        with_evaluator(equal_ones),        with_evaluator(close_ones),
        with_evaluator(one_method),        with_evaluator(all_fail),
        with_evaluator(some_fail),         with_evaluator(not_expandable),
        with_evaluator(wrong_on_edges),    with_evaluator(constants),
        with_evaluator(interrupted),       with_evaluator(one_configuration),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
