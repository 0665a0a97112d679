/* The order in which parallel work ends does not decide what a search proposes; a candidate that keeps everybody
 * waiting does not hold it up. */
#include "tests/support_tune.h"
#include "tuner/tune_internal.h"
#include "tuner/worker.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/counter_rng.h"

#define BUDGET 70

/* ---- the turns themselves ---- */

enum { ASKED = 500, DEPTH = 5 };

/* A strategy that only notes what it is told; configuration i is told as the i-th. */
static size_t n_told;

static void *note_start(const space *s, const strategy_options *o)
{
    (void)s;
    (void)o;
    n_told = 0;
    return &n_told;
}

static bool note_ask(void *state, uint32_t *config)
{
    (void)state;
    (void)config;
    return false;
}

static void note_tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    (void)state;
    assert_int_equal(config[0], n_told);
    assert_true(ok == (n_told % 3 != 0));
    assert_true(!ok || time_ns == 1000 - (double)n_told);
    n_told++;
}

static void note_stop(void *state)
{
    (void)state;
}

static void answer(turns *ts, turn *t)
{
    uint32_t i = t->config[0];
    turns_answer(ts, t, i % 3 != 0, 1000 - (double)i);
}

/* Answers come in any order, some at once: when a question is asked, the same are told every time. */
static void test_turns(void **state)
{
    (void)state;
    static const strategy_ops ops = {
        .name = "note", .doc = "", .start = note_start, .ask = note_ask, .tell = note_tell, .stop = note_stop};
    const template_text text = {.name = "order", .params = "\"A\": {\"values\": \"range(500)\"}"};
    task *t = saxpy_task();
    template *p = template_of_text(t, &text);
    const template *const templates[] = {p};
    task_types types = default_types(t);
    task_shape shape = shape_of(t, "N=100");
    kw_error err = {0};
    size_t told_at[2][ASKED]; /* by question, in two runs */
    for (uint64_t seed = 0; seed < 20; seed++) {
        arms a;
        turns ts;
        turn *open[ASKED] = {NULL};
        size_t n_open = 0;
        assert_int_equal(arms_init(&a, templates, 1, &types, fake_limits(), &shape, &ops, 1, 100, &err), KW_OK);
        turns_start(&ts, DEPTH);
        for (uint32_t i = 0; i < ASKED;) {
            if (turns_open(&ts)) {
                bool in_flight = i % 4 != 1; /* the others are known at once */
                told_at[seed > 0][i] = n_told;
                turn *x = turns_ask(&ts, &a.items[0], &i, in_flight);
                if (in_flight)
                    open[n_open++] = x;
                else
                    answer(&ts, x);
                assert_true(n_open <= ts.n_in_flight && ts.n_in_flight <= DEPTH);
                i++;
                if (n_open == 0 || counter_mix(seed * 1000 + i) % 3)
                    continue;
            }
            size_t k = counter_mix(seed * 7777 + i * 13 + n_open) % n_open;
            turn *x = open[k];
            open[k] = open[--n_open];
            answer(&ts, x);
        }
        for (size_t i = 0; i < ASKED; i++)
            assert_int_equal(told_at[seed > 0][i], told_at[0][i]);
        assert_true(n_told >= ASKED - 2 * DEPTH && n_told < ASKED);
        turns_clear(&ts);
        arms_clear(&a);
    }
    template_free(p);
    task_free(t);
}

/* ---- whole searches ---- */

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
    const evaluator_options eo = {.device = "fake:0", .compile_workers = 4, .compile_ms = compile_ms, .run_ms = 60000};
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

/* Two searches with the same measurements, but every build takes another time: are the same configurations proposed? */
static bool proposes_the_same(void)
{
    static const char *const slow[] = {"slow_ms=${(A * 7 + B * 3 + C) % 11 * 4}",
                                       "slow_ms=${(A * 3 + B * 5 + C) % 7 * 6}"};
    searched x[2];
    tune_result r[2];
    bool same = true;
    memset(x, 0, sizeof x);
    for (size_t i = 0; i < 2; i++) {
        strb text = STRB_INIT;
        strb_printf(&text,
                    "time_ns=${100000 + 1000 * (A - 13) ** 2 + 300 * (B - 6) ** 2 + 100 * C} registers=${80 * A + 4 * "
                    "B + C} %s",
                    slow[i]);
        run(strb_text(&text), "local", 60000, &x[i], &r[i]);
        strb_clear(&text);
        assert_int_equal(x[i].n, BUDGET);
        qsort(x[i].configs, x[i].n, sizeof *x[i].configs, by_text);
    }
    for (size_t k = 0; k < BUDGET; k++)
        same = same && strcmp(x[0].configs[k], x[1].configs[k]) == 0;
    same = same && strcmp(r[0].config, r[1].config) == 0;
    for (size_t i = 0; i < 2; i++) {
        clear(&x[i]);
        tune_result_clear(&r[i]);
    }
    return same;
}

/* A candidate that is five seconds late is passed over, and so is one whose process stood still: then once more. */
static void test_order_of_ends(void **state)
{
    (void)state;
    assert_true(proposes_the_same() || proposes_the_same() || proposes_the_same());
}

/* The first build hangs until its deadline; whether all others were measured meanwhile. */
static bool goes_on_within(int64_t compile_ms)
{
    searched x;
    tune_result r;
    memset(&x, 0, sizeof x);
    run("time_ns=${100000 + 100 * A + 10 * B + C} build=${\"hang\" if A == 0 and B == 1 and C == 0 else \"ok\"}",
        "exhaustive", compile_ms, &x, &r);
    assert_int_equal(x.n, BUDGET);
    assert_int_equal(x.n_timeouts, 1);
    const bool is_last = strstr(x.configs[BUDGET - 1], "\"A\":0,\"B\":1,\"C\":0") != NULL;
    clear(&x);
    tune_result_clear(&r);
    return is_last;
}

/* It hangs for longer than the search takes, on a busy machine as well. */
static void test_late_ones(void **state)
{
    (void)state;
    assert_true(goes_on_within(12000) || goes_on_within(50000) || goes_on_within(200000));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(STDIN_FILENO, STDOUT_FILENO);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_order_of_ends),
        cmocka_unit_test(test_late_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
