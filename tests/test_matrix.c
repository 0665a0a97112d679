/* Recording a matrix, end to end on the scripted device. */
#include "tests/support_tune.h"
#include "tuner/matrix.h"

#include "base/fs.h"
#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N_SHAPES 3

typedef struct setting {
    evaluator *e;
    store *s;
    task *t;
    template *p;
    const template *borrowed;
    task_shape shapes[N_SHAPES];
    matrix_options o;
    matrix_result r;
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

static void use_store(setting *s)
{
    store_close(s->s);
    if (store_open(":memory:", false, &s->s, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
}

static int begin(void **state)
{
    setting *s = mem_calloc(1, sizeof *s);
    s->t = saxpy_task();
    s->shapes[0] = shape_of(s->t, "N=1000");
    s->shapes[1] = shape_of(s->t, "N=50");
    s->shapes[2] = shape_of(s->t, "N=4096");
    s->o = (matrix_options){.tune = {.types = default_types(s->t),
                                     .templates = &s->borrowed,
                                     .n_templates = 1,
                                     .strategy = strategy_find("local", NULL),
                                     .on_progress = on_progress,
                                     .cookie = s},
                            .shapes = s->shapes,
                            .n_shapes = N_SHAPES,
                            .n_configs = 1000};
    open_evaluator(s);
    use_store(s);
    *state = s;
    return 0;
}

static int end(void **state)
{
    setting *s = *state;
    evaluator_close(s->e);
    store_close(s->s);
    template_free(s->p);
    task_free(s->t);
    free(s);
    return 0;
}

static void use(setting *s, const template_text *text)
{
    template_free(s->p);
    s->borrowed = s->p = template_of_text(s->t, text);
}

static kw_code record(setting *s)
{
    s->seen = 0;
    kw_error_clear(&s->err);
    return matrix_record(s->e, s->s, s->t, &s->o, &s->r, &s->err);
}

static void record_ok(setting *s)
{
    if (record(s) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(s->r.measured, s->seen);
}

/* Everything is there: nothing is measured. */
static void record_again(setting *s)
{
    uint64_t ok = s->r.ok, failed = s->r.failed;
    record_ok(s);
    assert_true(s->r.complete);
    assert_int_equal(s->r.measured, 0);
    assert_int_equal(s->r.ok, ok);
    assert_int_equal(s->r.failed, failed);
}

typedef struct rows_seen {
    size_t n, general, batches;
    strb configs; /* in the order of the store */
} rows_seen;

static bool see(const measurement *m, void *cookie)
{
    rows_seen *r = cookie;
    r->n++;
    r->general += m->verified == VERIFIED_GENERAL;
    r->batches += m->method && strcmp(m->method, "batch") == 0;
    strb_printf(&r->configs, "%s\n", m->config);
    return true;
}

static rows_seen look(setting *s, const store_query *q)
{
    rows_seen r = {.configs = STRB_INIT};
    if (store_each(s->s, q, see, &r, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    return r;
}

static size_t rows_of(setting *s, const store_query *q)
{
    rows_seen r = look(s, q);
    strb_clear(&r.configs);
    return r.n;
}

/* 24 configurations; the twelve with A > 2 take two of the shapes. */
static const template_text times = {.name = "times",
                                    .params = "\"A\": {\"values\": [1, 2, 3, 4], \"default\": 2},"
                                              "\"B\": {\"values\": [10, 20, 30, 40, 50, 60], \"default\": 30}",
                                    .requires_ = "\"A <= 2 or N >= 64\"",
                                    .directives = "time_ns=${100 * A * B} registers=${A}",
                                    .more = "\"fallback\": true,"};

static void every_pair(void **state)
{
    setting *s = *state;
    use(s, &times);
    record_ok(s);
    assert_true(s->r.complete);
    assert_int_equal(s->r.configs, 24);
    assert_int_equal(s->r.ok, 12 * 3 + 12 * 2);
    assert_int_equal(s->r.unfit, 12);
    assert_int_equal(s->r.open + s->r.failed + s->r.failed_configs, 0);
    assert_true(s->r.stopped_early > 0);
    rows_seen rows = look(s, &(store_query){.only_ok = true});
    assert_int_equal(rows.general, rows.n); /* verified on edge shapes, once for all shapes */
    strb_clear(&rows.configs);
    variant *v = NULL;
    uint32_t config[2] = {0, 0};
    assert_int_equal(variant_expand(s->p, &s->o.tune.types, config, s->shapes, &v, &s->err), KW_OK);
    variant *stored = NULL;
    assert_int_equal(store_variant(s->s, s->t, v->hash, &stored, &s->err), KW_OK);
    assert_non_null(stored);
    variant_free(stored);
    variant_free(v);
    record_again(s);
}

/* The store counts; the drawn half is the same in every run with this seed, and another with another seed. */
static void more_of_them(void **state)
{
    setting *s = *state;
    use(s, &times);
    s->o.n_configs = 8;
    record_ok(s);
    assert_int_equal(s->r.configs, 8);
    record_again(s);
    s->o.n_configs = 12;
    record_ok(s);
    assert_int_equal(s->r.configs, 12);
    assert_true(s->r.complete);

    const store_query all = {.template_name = "times"};
    char *texts[3];
    const uint64_t seeds[3] = {5, 5, 6};
    const char *const names[3] = {"random", "exhaustive", "random"};
    for (size_t i = 0; i < 3; i++) {
        use_store(s);
        s->o.n_configs = 6;
        s->o.tune.seed = seeds[i];
        s->o.tune.strategy = strategy_find(names[i], NULL);
        s->o.n_shapes = 1; /* one row each */
        s->o.shapes = s->shapes + 2;
        record_ok(s);
        rows_seen rows = look(s, &all);
        texts[i] = strb_take(&rows.configs);
        assert_int_equal(s->r.configs, 6);
    }
    size_t common[2] = {0, 0};
    for (size_t i = 0; i < 2; i++)
        for (const char *p = texts[0]; *p; p += strcspn(p, "\n") + 1) {
            char line[64];
            snprintf(line, sizeof line, "%.*s\n", (int)strcspn(p, "\n"), p);
            common[i] += strstr(texts[i + 1], line) != NULL;
        }
    assert_true(common[0] >= 3); /* the default and the drawn ones */
    assert_true(common[1] < 6);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
}

/* One that computes wrong results, and one that cannot be built: booked once, measured nowhere else. */
static void wrong_ones(void **state)
{
    setting *s = *state;
    const template_text text = {
        .name = "some",
        .params = "\"A\": {\"values\": [1, 2, 3, 4]}",
        .directives =
            "time_ns=${1000 * A} result=${'wrong' if A == 2 else 'right'} build=${'error' if A == 3 else 'ok'}",
        .more = "\"fallback\": true,"};
    use(s, &text);
    record_ok(s);
    assert_int_equal(s->r.configs, 4);
    assert_int_equal(s->r.failed_configs, 2);
    assert_int_equal(s->r.ok, 2 * N_SHAPES);
    assert_int_equal(s->r.failed, 2 * N_SHAPES);
    assert_int_equal(rows_of(s, &(store_query){.only_failed = true}), 2);
    record_again(s);
}

/* A shape on which one candidate shows to be fast is timed in batches, those before it once more. */
static void one_method(void **state)
{
    setting *s = *state;
    const template_text text = {.name = "methods",
                                .params = "\"A\": {\"values\": [500, 7, 8], \"default\": 500}",
                                .directives = "time_ns=${1000 * A}",
                                .more = "\"fallback\": true,"};
    use(s, &text);
    record_ok(s);
    assert_int_equal(s->r.ok, 3 * N_SHAPES);
    rows_seen rows = look(s, &(store_query){.only_ok = true});
    assert_int_equal(rows.batches, 3 * N_SHAPES);
    assert_int_equal(rows.n, 4 * N_SHAPES); /* the slow one by events before */
    strb_clear(&rows.configs);
    record_again(s);
}

/* Sizes are no constants: the text serves all shapes. */
static void no_constants(void **state)
{
    setting *s = *state;
    const template_text text = {.name = "special",
                                .params = "\"SPEC\": {\"values\": [true, false]}, \"A\": {\"values\": [1, 2, 3]}",
                                .directives = "time_ns=${1000 * A}",
                                .more = "\"fallback\": true, \"specialize\": {\"N\": \"SPEC\"},"};
    use(s, &text);
    record_ok(s);
    assert_int_equal(s->r.configs, 3);
    assert_int_equal(s->r.ok, 3 * N_SHAPES);
    rows_seen rows = look(s, &(store_query){.only_ok = true});
    assert_null(strstr(strb_text(&rows.configs), "true"));
    strb_clear(&rows.configs);
    record_again(s);
}

static void time_and_interruption(void **state)
{
    setting *s = *state;
    use(s, &times);
    s->o.seconds = 1e-9;
    record_ok(s);
    assert_false(s->r.complete);
    assert_int_equal(s->r.measured, 0);
    s->o.seconds = 0;
    s->signal_after = 20;
    assert_int_equal(record(s), KW_INTERRUPTED);
    assert_false(s->r.complete);
    uint64_t before = s->r.ok;
    assert_true(before >= 20 && before < 60);
    evaluator_close(s->e);
    open_evaluator(s);
    s->signal_after = 0;
    record_ok(s);
    assert_int_equal(s->r.ok, 60);
    assert_int_equal(s->r.measured, 60 - before);
    record_again(s);
}

static void nothing_valid(void **state)
{
    setting *s = *state;
    const template_text never = {.name = "never",
                                 .params = "\"A\": {\"values\": [1]}",
                                 .requires_ = "\"N > 1000000\"",
                                 .directives = "time_ns=1"};
    use(s, &never);
    assert_int_equal(record(s), KW_FAILED);
    assert_non_null(strstr(s->err.message, "never has no valid configuration for any of the shapes"));
    const template_text wrong = {
        .name = "wrong", .params = "\"A\": {\"values\": [1, 2]}", .directives = "result=wrong registers=${A}"};
    use(s, &wrong);
    assert_int_equal(record(s), KW_FAILED);
    assert_non_null(strstr(s->err.message, "none of 2 configurations could be timed"));
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
        with_evaluator(every_pair),    with_evaluator(more_of_them), with_evaluator(wrong_ones),
        with_evaluator(one_method),    with_evaluator(no_constants), with_evaluator(time_and_interruption),
        with_evaluator(nothing_valid),
    };
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
