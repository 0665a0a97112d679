/* Replays: what strategies see, what counts, random search in closed form, intervals and scores. */
#include "tuner/simulate.h"
#include "tuner/simulate_stats.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/parallel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOY "tests/recorded/searches/toy.kt.json"
#define SPACES "../shared/data/spaces/"

static recorded_list read_space(const char *path)
{
    const recorded_options o = {0};
    recorded_list list = {0};
    kw_error err = {0};
    if (recorded_read(path, &o, &list, &err) != KW_OK)
        fail_msg("%s", err.message);
    return list;
}

static recorded_list parse_space(const char *text)
{
    const recorded_options o = {0};
    recorded_list list = {0};
    kw_error err = {0};
    if (recorded_parse(text, strlen(text), "text", &o, &list, &err) != KW_OK)
        fail_msg("%s", err.message);
    return list;
}

static simulation run(const recorded_list *list, const strategy_ops *ops, size_t budget, size_t repeat, size_t jobs)
{
    size_t budgets[8];
    for (size_t i = 0; i < list->n; i++)
        budgets[i] = budget;
    simulate_options o = {
        .strategies = &ops, .n_strategies = 1, .repeat = repeat, .seed = 7, .jobs = jobs, .budgets = budgets};
    simulation s;
    kw_error err = {0};
    if (simulate_run(list->items, list->n, &o, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

/* ---- what a strategy sees ---- */

typedef struct witness {
    const space *space;
    size_t asked;
} witness;

static size_t orders_seen, last_sizes[4]; /* of the parameters; runs are in this process */

static void *witness_start(const space *s, const strategy_options *o)
{
    witness *w = mem_calloc(1, sizeof *w);
    size_t sizes[4];
    w->space = s;
    assert_true(o->budget == 30);
    assert_true(space_params(s) == 4 && space_count(s) == 22);
    for (size_t i = 0; i < 4; i++) {
        const space_param *p = space_param_at(s, i);
        char name[8];
        snprintf(name, sizeof name, "p%zu", i);
        assert_string_equal(p->name, name);
        sizes[i] = p->n_values;
        for (size_t k = 0; k < p->n_values; k++) {
            assert_int_equal(p->values[k].kind, VALUE_INT);
            assert_true(p->values[k].as.integer == (int64_t)k);
        }
    }
    orders_seen += memcmp(sizes, last_sizes, sizeof sizes) != 0;
    memcpy(last_sizes, sizes, sizeof sizes);
    return w;
}

static bool witness_ask(void *state, uint32_t *config)
{
    witness *w = state;
    if (w->asked == 22)
        return false;
    space_unrank(w->space, w->asked++, config);
    return true;
}

static void witness_tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    const witness *w = state;
    assert_true(space_contains(w->space, config));
    assert_true(ok ? time_ns >= 500000 && time_ns < 1e7 : time_ns == 0);
}

static const strategy_ops strategy_witness = {
    .name = "witness", .doc = "", .start = witness_start, .ask = witness_ask, .tell = witness_tell, .stop = free};

static void test_view(void **state)
{
    (void)state;
    recorded_list list = read_space(TOY);
    orders_seen = 0;
    simulation s = run(&list, &strategy_witness, 30, 40, 1);
    assert_true(orders_seen > 10); /* 24 orders, 12 of them look different */
    for (size_t i = 0; i < 40; i++) {
        const double *curve = simulation_curve(&s, 0, 0, i);
        for (size_t k = 1; k < 30; k++)
            assert_true(curve[k] <= curve[k - 1]);
        assert_true(curve[21] == 1 && curve[29] == 1); /* all was evaluated; nothing comes after that */
    }
    simulation_clear(&s);
    recorded_list_clear(&list);
}

/* ---- what counts ---- */

static void test_failures_count(void **state)
{
    (void)state;
    /* Every order of the parameters has the failures first: one parameter varies. */
    recorded_list list =
        parse_space("{\"tune_params_keys\":[\"A\"],\"tune_params\":{\"A\":[1,2,3,4,5]},\"cache\":{"
                    "\"1\":{\"A\":1,\"time\":\"RuntimeFailedConfig\"},\"2\":{\"A\":2,\"time\":0},"
                    "\"3\":{\"A\":3,\"time\":3},\"4\":{\"A\":4,\"time\":8},\"5\":{\"A\":5,\"time\":2}}}");
    kw_error err = {0};
    simulation s = run(&list, strategy_find("exhaustive", &err), 6, 2, 1);
    static const double expected[] = {4, 4, 1.5, 1.5, 1, 1};
    for (size_t i = 0; i < 6; i++)
        assert_true(simulation_curve(&s, 0, 0, 1)[i] == expected[i]);
    simulation_clear(&s);
    recorded_list_clear(&list);
}

static void test_one_configuration(void **state)
{
    (void)state;
    recorded_list list = parse_space(
        "{\"tune_params_keys\":[\"A\"],\"tune_params\":{\"A\":[1,2]},\"cache\":{\"2\":{\"A\":2,\"time\":3}}}");
    score_rule rule = score_rule_of(list.items[0]);
    for (size_t i = 0; strategy_table[i]; i++) {
        simulation s = run(&list, strategy_table[i], 5, 2, 1);
        for (size_t k = 0; k < 5; k++)
            assert_true(simulation_curve(&s, 0, 0, 0)[k] == 1);
        estimate one, all = simulate_score(&s, &rule, 0, &one);
        assert_true(isnan(all.mean) && isnan(one.mean));
        simulation_clear(&s);
    }
    assert_true(simulate_random_ratio(list.items[0], 1) == 1);
    score_rule_clear(&rule);
    recorded_list_clear(&list);
}

static void test_jobs_change_nothing(void **state)
{
    (void)state;
    recorded_list list = read_space(TOY);
    kw_error err = {0};
    const strategy_ops *ops = strategy_find("local", &err);
    simulation one = run(&list, ops, 20, 9, 1), three = run(&list, ops, 20, 9, 3);
    assert_true(one.n_values == 180 && three.n_values == 180);
    assert_memory_equal(one.values, three.values, 180 * sizeof(double));
    assert_true(memcmp(simulation_curve(&one, 0, 0, 0), simulation_curve(&one, 0, 0, 1), 20 * sizeof(double)) != 0);
    simulation_clear(&one);
    simulation_clear(&three);
    recorded_list_clear(&list);
}

/* ---- parallel work ---- */

static void die_at_three(size_t i, void *cookie)
{
    int *shared = cookie;
    if (i == 3)
        abort();
    shared[i] = 1;
}

static void test_a_process_that_dies(void **state)
{
    (void)state;
    int *shared = parallel_alloc(8 * sizeof *shared);
    const parallel_work w = {8, 2, die_at_three, NULL, shared};
    kw_error err = {0};
    assert_int_equal(parallel_run(&w, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "signal"));
    parallel_free(shared, 8 * sizeof *shared);
}

/* ---- random search in closed form ---- */

/* Mean over all subsets of this size. */
static double enumerate_subsets(const recorded *r, size_t draws)
{
    double sum = 0;
    size_t n = 0;
    for (uint32_t set = 0; set < 1u << r->n; set++) {
        if ((size_t)__builtin_popcount(set) != draws)
            continue;
        double best = INFINITY;
        for (size_t i = 0; i < r->n; i++)
            if (set >> i & 1u)
                best = fmin(best, r->times_ns[i]);
        sum += isinf(best) ? r->worst_ns : best;
        n++;
    }
    return sum / (double)n / r->best_ns;
}

static void test_exact_random(void **state)
{
    (void)state;
    recorded_list list = parse_space(
        "{\"tune_params_keys\":[\"A\"],\"tune_params\":{\"A\":[1,2,3,4,5,6,7,8]},\"cache\":{"
        "\"1\":{\"A\":1,\"time\":\"RuntimeFailedConfig\"},\"2\":{\"A\":2,\"time\":0},\"3\":{\"A\":3,\"time\":3},"
        "\"4\":{\"A\":4,\"time\":8},\"5\":{\"A\":5,\"time\":2},\"6\":{\"A\":6,\"time\":2},\"7\":{\"A\":7,\"time\":5.5},"
        "\"8\":{\"A\":8,\"time\":\"CompilationFailedConfig\"}}}");
    for (size_t k = 1; k <= 8; k++)
        assert_true(fabs(simulate_random_ratio(list.items[0], k) - enumerate_subsets(list.items[0], k)) < 1e-12);
    recorded_list_clear(&list);
}

/* The table in the README of the recorded spaces, which was computed by another program. */
static void test_exact_random_of_recorded_spaces(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double ratio[5];
    } rows[] = {{"convolution_milo__A100", {1.625, 1.511, 1.405, 1.303, 1.208}},
                {"convolution_milo__A4000", {1.427, 1.315, 1.223, 1.143, 1.073}},
                {"convolution_milo__MI250X", {3.785, 2.314, 1.650, 1.332, 1.148}},
                {"convolution_milo__W7800", {1.441, 1.277, 1.167, 1.097, 1.055}},
                {"dedispersion_milo__A100", {1.011, 1.008, 1.006, 1.005, 1.004}},
                {"dedispersion_milo__W6600", {1.129, 1.102, 1.079, 1.060, 1.045}},
                {"gemm_clblast__RTX_Titan", {1.243, 1.186, 1.141, 1.104, 1.074}},
                {"convolution_old__RTX_3090", {1.274, 1.169, 1.100, 1.058, 1.031}}};
    static const size_t at[] = {25, 50, 100, 200, 400};
    if (!fs_is_folder(SPACES)) {
        print_message("skipped: " SPACES " is not there\n");
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[256];
        snprintf(path, sizeof path, SPACES "%s.kt.json.gz", rows[i].file);
        recorded_list list = read_space(path);
        assert_string_equal(list.items[0]->name, rows[i].file);
        for (size_t k = 0; k < 5; k++) {
            double exact = simulate_random_ratio(list.items[0], at[k]);
            if (fabs(exact - rows[i].ratio[k]) > 0.00051)
                fail_msg("%s at %zu: %.5f, not %.3f", rows[i].file, at[k], exact, rows[i].ratio[k]);
        }
        recorded_list_clear(&list);
    }
}

/* The strategy `random` must agree with the closed form. */
static void test_random_agrees(void **state)
{
    (void)state;
    recorded_list list = read_space(TOY);
    kw_error err = {0};
    simulation s = run(&list, strategy_find("random", &err), 10, 3000, 0);
    for (size_t at = 1; at <= 10; at++) {
        estimate e = simulate_cell_of(&s, 0, 0, SIZE_MAX, at).ratio;
        double slack = 2 * (e.hi - e.lo); /* eight standard errors */
        assert_true(fabs(e.mean - simulate_random_ratio(list.items[0], at)) <= slack);
    }
    simulation_clear(&s);
    recorded_list_clear(&list);
}

/* ---- noise ---- */

static recorded_list hundred(void);

static simulation run_noisy(const recorded_list *list, const strategy_ops *ops, double noise, size_t runs, size_t jobs)
{
    size_t budget = 30;
    simulate_options o = {.strategies = &ops,
                          .n_strategies = 1,
                          .repeat = 4,
                          .seed = 7,
                          .noise = noise,
                          .runs = runs,
                          .jobs = jobs,
                          .budgets = &budget};
    simulation s;
    kw_error err = {0};
    if (simulate_run(list->items, list->n, &o, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

/* Runs of a seed are the same search: what is proposed before anything was told is the same, and without noise all. */
static void test_runs_of_a_seed(void **state)
{
    (void)state;
    kw_error err = {0};
    recorded_list list = hundred();
    const strategy_ops *ops = strategy_find("auto", &err);
    simulation without = run_noisy(&list, ops, 0, 3, 1), once = run_noisy(&list, ops, 0, 0, 1);
    simulation with = run_noisy(&list, ops, 0.5, 3, 1), again = run_noisy(&list, ops, 0.5, 3, 2);
    assert_true(without.repeat == 12 && once.repeat == 4);
    for (size_t i = 0; i < 12; i++) {
        assert_memory_equal(simulation_curve(&without, 0, 0, i), simulation_curve(&once, 0, 0, i / 3),
                            30 * sizeof(double));
        assert_memory_equal(simulation_curve(&with, 0, 0, i), simulation_curve(&again, 0, 0, i), 30 * sizeof(double));
        assert_true(simulation_curve(&with, 0, 0, i)[0] == simulation_curve(&once, 0, 0, i / 3)[0]);
        for (size_t k = 0; k < 30; k++) { /* recorded times, not those that were told: 1..100 over 1 */
            double x = simulation_curve(&with, 0, 0, i)[k];
            assert_true(x == rint(x) && x >= 1 && x <= 100);
        }
    }
    assert_true(simulate_apart_of(&without, 0, 0, 30).most == 0);
    simulate_apart first = simulate_apart_of(&with, 0, 0, 1), last = simulate_apart_of(&with, 0, 0, 30);
    assert_true(first.most == 0 && last.most > 0 && last.mean <= last.most && last.median <= last.most);
    simulation_clear(&without);
    simulation_clear(&once);
    simulation_clear(&with);
    simulation_clear(&again);
    recorded_list_clear(&list);
}

/* ---- intervals ---- */

static void test_intervals(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    estimate e = estimate_mean(x, 10, 1);
    assert_true(e.mean == 5.5);
    assert_true(fabs(e.lo - 3.7) < 0.25 && fabs(e.hi - 7.3) < 0.25); /* sd of the mean 0.908 */
    e = estimate_paired(x, 10);
    assert_true(e.mean == 5.5 && fabs(e.hi - 7.6658) < 1e-3 && fabs(e.lo - 3.3342) < 1e-3); /* t(9) = 2.2622 */
    e = estimate_paired(x, 1);
    assert_true(isinf(e.lo) && isinf(e.hi));
    static const double same[] = {2, 2, 2};
    e = estimate_mean(same, 3, 1);
    assert_true(e.lo == 2 && e.hi == 2);
}

/* ---- the score ---- */

/* 100 times 1..100: places are the worst first, so place i has the time 100 - i. */
static recorded_list hundred(void)
{
    strb text = STRB_INIT, values = STRB_INIT;
    for (int i = 1; i <= 100; i++) {
        strb_printf(&values, "%s%d", i > 1 ? "," : "", i);
        strb_printf(&text, "%s\"%d\":{\"A\":%d,\"time\":%d}", i > 1 ? "," : "", i, i, i);
    }
    strb all = STRB_INIT;
    strb_printf(&all, "{\"tune_params_keys\":[\"A\"],\"tune_params\":{\"A\":[%s]},\"cache\":{%s}}", strb_text(&values),
                strb_text(&text));
    recorded_list list = parse_space(strb_text(&all));
    strb_clear(&text);
    strb_clear(&values);
    strb_clear(&all);
    return list;
}

static void test_score(void **state)
{
    (void)state;
    recorded_list list = hundred();
    score_rule rule = score_rule_of(list.items[0]);
    /* Median 50.5, optimum 1: the baseline ends at 50.5 - 0.95 * 49.5 = 3.475, which place 97 (time 3) is the first to
     * reach: ceil(97 / (101 - 97)) = 25 evaluations. It begins at 50.5 - 0.495 = 50.005, place 50: ceil(50 / 51). */
    assert_true(rule.first == 1 && rule.last == 25);
    assert_true(rule.baseline[0] == 50); /* place rint(1 * 101 / 2) = rint(50.5) = 50 */
    assert_true(rule.baseline[1] == 33); /* place rint(67.33) = 67 */
    assert_true(rule.baseline[24] == 3); /* place rint(97.1) = 97 */
    double at_once[25], halfway[25];
    for (size_t i = 0; i < 25; i++) {
        at_once[i] = 1;
        halfway[i] = (rule.baseline[i] + 1) / 2;
    }
    assert_true(score_of(&rule, rule.baseline) == 0);
    assert_true(score_of(&rule, at_once) == 1);
    assert_true(fabs(score_of(&rule, halfway) - 0.5) < 1e-12);
    score_rule_clear(&rule);
    recorded_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view),
        cmocka_unit_test(test_failures_count),
        cmocka_unit_test(test_one_configuration),
        cmocka_unit_test(test_jobs_change_nothing),
        cmocka_unit_test(test_a_process_that_dies),
        cmocka_unit_test(test_exact_random),
        cmocka_unit_test(test_exact_random_of_recorded_spaces),
        cmocka_unit_test(test_random_agrees),
        cmocka_unit_test(test_runs_of_a_seed),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
