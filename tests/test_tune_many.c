/* The search over many shapes at once, end to end on the scripted device. */
#include "tests/support_tune.h"
#include "tuner/tune_many.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N_SHAPES 10
#define MAX_TEMPLATES 2

typedef struct setting {
    evaluator *e;
    store *s;
    task *t;
    template *p[MAX_TEMPLATES];
    const template *borrowed[MAX_TEMPLATES];
    task_shape shapes[N_SHAPES];
    tune_options o;
    tune_budget total;
    tune_many_result r;
    size_t seen, signal_after;
    kw_error err;
} setting;

static void on_progress(const tune_progress *p, void *cookie)
{
    setting *s = cookie;
    (void)p;
    s->seen++;
    if (s->signal_after && s->seen == s->signal_after)
        kill(getpid(), SIGINT);
}

static void open_evaluator(setting *s)
{
    const evaluator_options o = {.device = "fake:0", .compile_workers = 1, .compile_ms = 60000, .run_ms = 60000};
    if (evaluator_open(&o, &s->e, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
}

static void use(setting *s, const template_text *texts, size_t n)
{
    for (size_t i = 0; i < s->o.n_templates; i++)
        template_free(s->p[i]);
    for (size_t i = 0; i < n; i++)
        s->borrowed[i] = s->p[i] = template_of_text(s->t, &texts[i]);
    s->o.n_templates = n;
}

static int begin(void **state)
{
    setting *s = mem_calloc(1, sizeof *s);
    s->t = saxpy_task();
    for (size_t i = 0; i < N_SHAPES; i++) {
        char text[32];
        snprintf(text, sizeof text, "N=%zu", (size_t)64 << i);
        s->shapes[i] = shape_of(s->t, text);
    }
    s->o = (tune_options){.types = default_types(s->t),
                          .templates = s->borrowed,
                          .strategy = strategy_find("local", NULL),
                          .on_progress = on_progress,
                          .cookie = s};
    open_evaluator(s);
    if (store_open(":memory:", false, &s->s, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    *state = s;
    return 0;
}

static int end(void **state)
{
    setting *s = *state;
    evaluator_close(s->e);
    store_close(s->s);
    use(s, NULL, 0);
    task_free(s->t);
    free(s);
    return 0;
}

static kw_code search(setting *s)
{
    s->seen = 0;
    kw_error_clear(&s->err);
    return tune_many(s->e, s->s, s->t, &s->o, s->shapes, N_SHAPES, &s->total, &s->r, &s->err);
}

static void search_ok(setting *s)
{
    if (search(s) != KW_OK)
        fail_msg("%s", s->err.message);
}

static bool count(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return true;
}

static size_t rows_of(setting *s, const store_query *q)
{
    size_t n = 0;
    if (store_each(s->s, q, count, &n, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    return n;
}

/* The winner of a shape, by a search that measures no more. */
static double winner_of(setting *s, size_t shape, char *config, size_t size)
{
    tune_result r;
    s->o.budget = (tune_budget){1, 0};
    if (tune_shape(s->e, s->s, s->t, &s->o, &s->shapes[shape], &r, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(r.measured, 0);
    assert_true(r.reused > 1);
    double ns = r.tuned_ns;
    snprintf(config, size, "%s", r.config);
    tune_result_clear(&r);
    return ns;
}

/* 144 configurations; those with A of 9 and more take large shapes only. */
static const template_text times = {
    .name = "times",
    .params = "\"A\": {\"values\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], \"default\": 12},"
              "\"B\": {\"values\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], \"default\": 12}",
    .requires_ = "\"A <= 8 or N > 1000\"",
    .directives = "time_ns=${1000 + 150 * (A - 7) * (A - 7) + 100 * B} registers=${A} spill_bytes=${B}",
    .more = "\"fallback\": true,"};

static void all_together(void **state)
{
    setting *s = *state;
    char config[64];
    use(s, &times, 1);
    s->total = (tune_budget){.configurations = 150};
    search_ok(s);
    assert_int_equal(s->r.measured, 150);
    assert_int_equal(s->r.reused + s->r.failed, 0);
    assert_true(s->r.configs < 144);
    for (size_t i = 0; i < N_SHAPES; i++)
        assert_true(winner_of(s, i, config, sizeof config) <= 1.3 * 1100);
    /* Spent; a larger one goes on from there. */
    search_ok(s);
    assert_int_equal(s->r.measured, 0);
    assert_int_equal(s->r.reused, 150);
    s->total.configurations = 160;
    search_ok(s);
    assert_int_equal(s->r.measured, 10);
}

static void nothing_left(void **state)
{
    setting *s = *state;
    const template_text few = {.name = "few",
                               .params = "\"A\": {\"values\": [1, 2, 3, 4]}",
                               .requires_ = "\"A < 4 or N > 1000\"",
                               .directives = "time_ns=${1000 * A}",
                               .more = "\"fallback\": true,"};
    use(s, &few, 1);
    s->total = (tune_budget){.configurations = 1000};
    search_ok(s);
    assert_int_equal(s->r.measured, 3 * N_SHAPES + 6); /* N = 1024 and larger take the fourth */
    assert_int_equal(s->r.configs, 4);
}

/* Sizes as constants are tried with each shape's best, within the budget. */
static void constants(void **state)
{
    setting *s = *state;
    char config[64];
    const template_text text = {
        .name = "special",
        .params = "\"A\": {\"values\": [1, 2, 3, 4, 5]}, \"SPEC\": {\"values\": [true, false], \"default\": false}",
        .directives = "time_ns=${1000 * A - (100 if SPEC else 0)}",
        .more = "\"fallback\": true, \"specialize\": {\"N\": \"SPEC\"},"};
    use(s, &text, 1);
    s->total = (tune_budget){.configurations = 4 * N_SHAPES};
    search_ok(s);
    assert_int_equal(s->r.measured, 4 * N_SHAPES);
    for (size_t i = 0; i < N_SHAPES; i++) {
        assert_true(winner_of(s, i, config, sizeof config) <= 2900);
        assert_non_null(strstr(config, "true"));
    }
    search_ok(s);
    assert_int_equal(s->r.measured, 0);
}

static void wrong_ones(void **state)
{
    setting *s = *state;
    char config[64];
    const template_text text = {.name = "some",
                                .params = "\"A\": {\"values\": [1, 2, 3, 4, 5, 6]}",
                                .directives = "time_ns=${1000 * A} result=${'wrong' if A < 3 else 'right'}",
                                .more = "\"fallback\": true,"};
    use(s, &text, 1);
    s->total = (tune_budget){.configurations = 1000};
    search_ok(s);
    assert_true(s->r.failed >= 2 && s->r.failed < 2 * N_SHAPES);
    for (size_t i = 0; i < N_SHAPES; i++)
        assert_true(winner_of(s, i, config, sizeof config) == 3000);
}

static void several_templates(void **state)
{
    setting *s = *state;
    char config[64];
    const template_text texts[2] = {{.name = "slow",
                                     .params = "\"A\": {\"values\": \"range(20)\"}",
                                     .directives = "time_ns=${100000 + 1000 * A}",
                                     .more = "\"fallback\": true,"},
                                    {.name = "quick",
                                     .params = "\"A\": {\"values\": \"range(20)\", \"default\": 12}",
                                     .requires_ = "\"N > 100\"",
                                     .directives = "time_ns=${20000 + 100 * A}"}};
    use(s, texts, 2);
    s->total = (tune_budget){.configurations = 100};
    search_ok(s);
    assert_int_equal(s->r.measured, 100);
    assert_true(winner_of(s, 0, config, sizeof config) >= 100000); /* only the slow one takes it */
    for (size_t i = 1; i < N_SHAPES; i++)
        assert_true(winner_of(s, i, config, sizeof config) <= 21200);
    assert_true(rows_of(s, &(store_query){.template_name = "quick"}) > 50);
}

static void interrupted(void **state)
{
    setting *s = *state;
    use(s, &times, 1);
    s->total = (tune_budget){.configurations = 60};
    s->signal_after = 20;
    assert_int_equal(search(s), KW_INTERRUPTED);
    const size_t before = rows_of(s, &(store_query){.template_name = "times"});
    assert_true(before >= 20 && before < 60);
    evaluator_close(s->e);
    open_evaluator(s);
    s->signal_after = 0;
    search_ok(s);
    assert_int_equal(s->r.reused, before);
    assert_int_equal(s->r.measured, 60 - before);
    s->total = (tune_budget){.seconds = 1e-9};
    search_ok(s);
    assert_int_equal(s->r.measured, 0);
}

static void nothing_valid(void **state)
{
    setting *s = *state;
    const template_text never = {.name = "never",
                                 .params = "\"A\": {\"values\": [1]}",
                                 .requires_ = "\"N > 1000000\"",
                                 .directives = "time_ns=1"};
    use(s, &never, 1);
    s->total = (tune_budget){.configurations = 60};
    assert_int_equal(search(s), KW_FAILED);
    assert_non_null(strstr(s->err.message, "no shape has a valid configuration"));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
#define with_evaluator(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        with_evaluator(all_together),  with_evaluator(nothing_left),      with_evaluator(constants),
        with_evaluator(wrong_ones),    with_evaluator(several_templates), with_evaluator(interrupted),
        with_evaluator(nothing_valid),
    };
    return cmocka_run_group_tests_name("tune_many", tests, NULL, NULL);
}
