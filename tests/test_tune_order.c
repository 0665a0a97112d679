/* The order in which parallel work ends does not decide what a search proposes; a candidate that keeps everybody waiting
 * does not hold it up. */
#include "tests/support_tune.h"
#include "tuner/tune.h"
#include "tuner/worker.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BUDGET 70

typedef struct searched {
    char *configs[BUDGET];
    size_t n, n_timeouts;
} searched;

static void on_progress(const tune_progress *p, void *cookie)
{
    searched *x = cookie;
    if (strcmp(p->purpose, "search") != 0)
        return;
    assert_true(x->n < BUDGET);
    x->configs[x->n++] = mem_strdup(p->m->config);
    x->n_timeouts += p->m->outcome == OUTCOME_TIMEOUT;
}

static void clear(searched *x)
{
    for (size_t i = 0; i < x->n; i++)
        free(x->configs[i]);
    memset(x, 0, sizeof *x);
}

/* One search from nothing, with four compile workers. */
static void run(const char *directives, const char *how, int64_t compile_ms, searched *x, tune_result *r)
{
    kw_error err = {0};
    evaluator *e = NULL;
    const evaluator_options eo = {
        .device = "fake:0", .compile_workers = 4, .compile_ms = compile_ms, .run_ms = 60000};
    if (evaluator_open(&eo, &e, &err) != KW_OK)
        fail_msg("%s", err.message);
    task *t = saxpy_task();
    const template_text text = {.name = "order",
                                .params = "\"A\": {\"values\": \"range(20)\"}, \"B\": {\"values\": \"range(20)\"},"
                                          "\"C\": {\"values\": \"range(4)\"}",
                                .directives = directives,
                                .more = "\"fallback\": true,"};
    template *p = template_of_text(t, &text);
    const template *const templates[] = {p};
    const tune_options o = {.types = default_types(t),
                            .templates = templates,
                            .n_templates = 1,
                            .strategy = strategy_find(how, NULL),
                            .budget = {.configurations = BUDGET},
                            .seed = 7,
                            .on_progress = on_progress,
                            .cookie = x};
    task_shape shape = shape_of(t, "N=1000");
    if (tune_shape(e, NULL, t, &o, &shape, r, &err) != KW_OK)
        fail_msg("%s", err.message);
    evaluator_close(e);
    template_free(p);
    task_free(t);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same measurements, but every build takes another time: the same configurations are proposed. */
static void test_order_of_ends(void **state)
{
    (void)state;
    static const char *const slow[] = {"slow_ms=${(A * 7 + B * 3 + C) % 11 * 4}", "slow_ms=${(A * 3 + B * 5 + C) % 7 * 6}"};
    searched x[2];
    tune_result r[2];
    memset(x, 0, sizeof x);
    bool same_order = true;
    for (size_t i = 0; i < 2; i++) {
        strb text = STRB_INIT;
        strb_printf(&text, "time_ns=${100000 + 1000 * (A - 13) ** 2 + 300 * (B - 6) ** 2 + 100 * C} registers=${80 * A + 4 * B + C} %s", slow[i]);
        run(strb_text(&text), "local", 60000, &x[i], &r[i]);
        strb_clear(&text);
        assert_int_equal(x[i].n, BUDGET);
    }
    for (size_t k = 0; k < BUDGET; k++)
        same_order = same_order && strcmp(x[0].configs[k], x[1].configs[k]) == 0;
    assert_false(same_order); /* or there was nothing to test */
    for (size_t i = 0; i < 2; i++)
        qsort(x[i].configs, x[i].n, sizeof *x[i].configs, by_text);
    for (size_t k = 0; k < BUDGET; k++)
        assert_string_equal(x[0].configs[k], x[1].configs[k]);
    assert_string_equal(r[0].config, r[1].config);
    for (size_t i = 0; i < 2; i++) {
        clear(&x[i]);
        tune_result_clear(&r[i]);
    }
}

/* The first builds hang for far longer than the search takes: all others are measured meanwhile. */
static void test_late_ones(void **state)
{
    (void)state;
    searched x;
    tune_result r;
    memset(&x, 0, sizeof x);
    run("time_ns=${100000 + 100 * A + 10 * B + C} build=${\"hang\" if A == 0 and B == 1 and C == 0 else \"ok\"}", "exhaustive", 12000, &x, &r);
    assert_int_equal(x.n, BUDGET);
    assert_int_equal(x.n_timeouts, 1);
    assert_non_null(strstr(x.configs[BUDGET - 1], "\"A\":0,\"B\":1,\"C\":0"));
    clear(&x);
    tune_result_clear(&r);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(STDIN_FILENO, STDOUT_FILENO);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(300); /* whoever waits for ever has failed */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_ends),
        cmocka_unit_test(test_late_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
