#include "support_problem.h"
#include "tuner/strategy.h"
#include "tuner/strategy_shuffle.h"

#include "base/counter_rng.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 5 parameters, 1,118 configurations or 134. */
static space *make_space_of(problem *p, const problem_param *params)
{
    static const char *const constraints[] = {"a * b <= 256", "c % 2 == 0 or a > 2", "not d or b >= 4"};
    kw_error err;
    space *s = NULL;
    if (problem_make(params, 5, constraints, 3, p, &err) != KW_OK || space_new(&p->def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static space *make_space(problem *p)
{
    static const problem_param params[] = {{"a", "[1, 2, 4, 8, 16, 32]"},
                                           {"b", "[1, 2, 4, 8, 16, 32]"},
                                           {"c", "list(range(1, 9))"},
                                           {"d", "[False, True]"},
                                           {"e", "['x', 'y', 'z']"}};
    return make_space_of(p, params);
}

static space *make_small_space(problem *p)
{
    static const problem_param params[] = {{"a", "[1, 2, 4, 32]"},
                                           {"b", "[1, 4, 8, 32]"},
                                           {"c", "list(range(1, 6))"},
                                           {"d", "[False, True]"},
                                           {"e", "['x', 'y']"}};
    return make_space_of(p, params);
}

static void drop_space(space *s, problem *p)
{
    space_free(s);
    problem_clear(p);
}

/* Smooth with one best point, (3, 2, 5, 1, 1), and some failures. */
static bool measure(const uint32_t *c, double *time_ns)
{
    static const double best[5] = {3, 2, 5, 1, 1};
    double t = 1000;
    for (size_t i = 0; i < 5; i++)
        t *= 1 + 0.3 * fabs((double)c[i] - best[i]);
    *time_ns = t;
    return (c[0] + 2 * c[1] + c[2]) % 11 != 3;
}

static strategy *begin(const char *name, const space *s, uint64_t seed, uint64_t budget)
{
    kw_error err;
    const strategy_ops *ops = strategy_find(name, &err);
    assert_non_null(ops);
    strategy_options o = {.seed = seed, .budget = budget};
    return strategy_start(ops, s, &o);
}

/* Asks `batch` times before it tells, in reverse order. Returns the evaluations made until it has no more or `budget`
 * is used up; best gets the best time after each. */
static size_t run(strategy *st, const space *s, size_t batch, size_t budget, bool *seen, double *best)
{
    size_t n = 0;
    double least = INFINITY;
    while (n < budget) {
        uint32_t configs[16][5];
        size_t k = 0;
        while (k < batch && n + k < budget && strategy_ask(st, configs[k]))
            k++;
        if (k == 0)
            break;
        while (k-- > 0) {
            uint64_t rank = 0;
            double t = 0;
            assert_true(space_rank(s, configs[k], &rank));
            assert_false(seen[rank]);
            seen[rank] = true;
            bool ok = measure(configs[k], &t);
            strategy_tell(st, configs[k], ok, t);
            if (ok && t < least)
                least = t;
            if (best)
                best[n] = least;
            n++;
        }
    }
    return n;
}

/* ---- every strategy ---- */

static void each_proposes_everything_once(void **state)
{
    (void)state;
    problem p;
    space *s = make_small_space(&p);
    for (size_t i = 0; strategy_table[i]; i++) {
        for (size_t batch = 1; batch <= 16; batch += 15) {
            bool *seen = mem_calloc(space_count(s), sizeof *seen);
            strategy *st = begin(strategy_table[i]->name, s, 5, 100);
            assert_true(run(st, s, batch, SIZE_MAX, seen, NULL) == space_count(s));
            uint32_t config[5];
            assert_false(strategy_ask(st, config));
            strategy_stop(st);
            free(seen);
        }
    }
    drop_space(s, &p);
}

static void each_is_decided_by_its_seed(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    for (size_t i = 0; strategy_table[i]; i++) {
        double best[3][80];
        for (int k = 0; k < 3; k++) {
            bool *seen = mem_calloc(space_count(s), sizeof *seen);
            strategy *st = begin(strategy_table[i]->name, s, k < 2 ? 7 : 8, 80);
            run(st, s, 4, 80, seen, best[k]);
            strategy_stop(st);
            free(seen);
        }
        assert_memory_equal(best[0], best[1], sizeof best[0]);
        if (strcmp(strategy_table[i]->name, "exhaustive") != 0)
            assert_memory_not_equal(best[0], best[2], sizeof best[0]);
    }
    drop_space(s, &p);
}

static void known_and_claimed_are_not_proposed(void **state)
{
    (void)state;
    problem p;
    space *s = make_small_space(&p);
    uint64_t count = space_count(s);
    for (size_t i = 0; strategy_table[i]; i++) {
        strategy *st = begin(strategy_table[i]->name, s, 3, 100);
        bool *seen = mem_calloc(count, sizeof *seen);
        uint32_t config[5];
        for (uint64_t rank = 0; rank < count; rank += 2) {
            double t;
            space_unrank(s, rank, config);
            bool ok = measure(config, &t);
            seen[rank] = true;
            strategy_known(st, config, ok, t);
            strategy_known(st, config, ok, t * 1.01); /* measured twice: no harm */
        }
        space_unrank(s, 1, config);
        seen[1] = true;
        assert_true(strategy_claim(st, config));
        assert_false(strategy_claim(st, config));
        strategy_tell(st, config, true, 5000);
        space_unrank(s, 0, config);
        assert_false(strategy_claim(st, config));
        assert_true(run(st, s, 1, SIZE_MAX, seen, NULL) == count - (count + 1) / 2 - 1);
        strategy_stop(st);
        free(seen);
    }
    drop_space(s, &p);
}

static void known_from_elsewhere_is_ignored(void **state)
{
    (void)state;
    problem p;
    space *s = make_small_space(&p);
    for (size_t i = 0; strategy_table[i]; i++) {
        strategy *st = begin(strategy_table[i]->name, s, 3, 100);
        const uint32_t invalid[5] = {3, 3, 0, 0, 0}; /* a * b = 1024 */
        strategy_known(st, invalid, true, 1);
        assert_false(strategy_claim(st, invalid));
        bool *seen = mem_calloc(space_count(s), sizeof *seen);
        assert_true(run(st, s, 1, SIZE_MAX, seen, NULL) == space_count(s));
        free(seen);
        strategy_stop(st);
    }
    drop_space(s, &p);
}

/* Nothing ever succeeds, or times are not numbers: the whole space is still proposed. */
static void failures_do_not_stop_it(void **state)
{
    (void)state;
    problem p;
    space *s = make_small_space(&p);
    for (size_t i = 0; strategy_table[i]; i++) {
        strategy *st = begin(strategy_table[i]->name, s, 3, 100);
        uint32_t config[5];
        uint64_t n = 0;
        for (; strategy_ask(st, config); n++)
            strategy_tell(st, config, n % 2, n % 4 == 1 ? NAN : -1);
        assert_true(n == space_count(s));
        strategy_stop(st);
    }
    drop_space(s, &p);
}

/* One value of one parameter, or no parameter at all. */
static void one_configuration(void **state)
{
    (void)state;
    static const problem_param params[] = {{"a", "[3]"}};
    for (size_t n_params = 0; n_params < 2; n_params++) {
        problem p;
        kw_error err;
        space *s = NULL;
        assert_int_equal(problem_make(params, n_params, NULL, 0, &p, &err), KW_OK);
        assert_int_equal(space_new(&p.def, 0, &s, &err), KW_OK);
        for (size_t i = 0; strategy_table[i]; i++) {
            strategy *st = begin(strategy_table[i]->name, s, 1, UINT64_MAX);
            uint32_t config[1] = {n_params ? 9 : 0};
            assert_true(strategy_ask(st, config));
            assert_int_equal(config[0], 0);
            assert_false(strategy_ask(st, config));
            strategy_tell(st, config, true, 10);
            assert_false(strategy_ask(st, config));
            strategy_stop(st);
        }
        drop_space(s, &p);
    }
}

/* A space whose ranks do not fit into 64 bits. */
static void huge_space(void **state)
{
    (void)state;
    problem_param params[70];
    arena *names = arena_new();
    for (size_t i = 0; i < 70; i++)
        params[i] = (problem_param){arena_printf(names, "x%zu", i), "[0, 1]"};
    problem p;
    kw_error err;
    space *s = NULL;
    assert_int_equal(problem_make(params, 70, NULL, 0, &p, &err), KW_OK);
    assert_int_equal(space_new(&p.def, 0, &s, &err), KW_OK);
    for (size_t i = 0; strategy_table[i]; i++) {
        strategy *st = begin(strategy_table[i]->name, s, 1, 60);
        size_t ones = 0;
        for (int n = 0; n < 60; n++) {
            uint32_t config[70];
            double t = 100;
            assert_true(strategy_ask(st, config));
            for (size_t k = 0; k < 70; k++) {
                t += config[k];
                ones += config[k];
            }
            strategy_tell(st, config, true, t);
        }
        if (strcmp(strategy_table[i]->name, "random") == 0)
            assert_in_range(ones, 2100 - 160, 2100 + 160); /* 60 * 35, five standard deviations */
        strategy_stop(st);
    }
    drop_space(s, &p);
    arena_free(names);
}

/* ---- each for itself ---- */

static void exhaustive_goes_by_rank(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    strategy *st = begin("exhaustive", s, 0, 10);
    for (uint64_t i = 0; i < space_count(s); i++) {
        uint32_t config[5];
        uint64_t rank = UINT64_MAX;
        assert_true(strategy_ask(st, config));
        assert_true(space_rank(s, config, &rank));
        assert_true(rank == i);
    }
    strategy_stop(st);
    drop_space(s, &p);
}

/* Over 4,000 seeds, the first and the third proposal are uniform over 12 configurations. */
static void random_is_uniform(void **state)
{
    (void)state;
    static const problem_param params[] = {{"a", "[1, 2, 3, 4]"}, {"b", "[1, 2, 3]"}};
    problem p;
    kw_error err;
    space *s = NULL;
    assert_int_equal(problem_make(params, 2, NULL, 0, &p, &err), KW_OK);
    assert_int_equal(space_new(&p.def, 0, &s, &err), KW_OK);
    size_t hits[3][12] = {{0}}, pairs[12][12] = {{0}};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        strategy *st = begin("random", s, seed, 10);
        uint64_t rank[3] = {0};
        for (int i = 0; i < 3; i++) {
            uint32_t config[2];
            assert_true(strategy_ask(st, config));
            space_rank(s, config, &rank[i]);
            hits[i][rank[i]]++;
        }
        pairs[rank[0]][rank[1]]++;
        strategy_stop(st);
    }
    for (int i = 0; i < 3; i++) {
        double chi2 = 0;
        for (int k = 0; k < 12; k++)
            chi2 += pow((double)hits[i][k] - 4000.0 / 12, 2) / (4000.0 / 12);
        assert_true(gsl_cdf_chisq_Q(chi2, 11) > 1e-4);
    }
    double chi2 = 0;
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++)
            chi2 += a == b ? 0 : pow((double)pairs[a][b] - 4000.0 / 132, 2) / (4000.0 / 132);
    assert_true(gsl_cdf_chisq_Q(chi2, 131) > 1e-4);
    drop_space(s, &p);
}

static void shuffle_is_a_permutation(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 4095, 4096, 4097, 70000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        shuffle order = shuffle_of(counts[i], 42 + i);
        bool *seen = mem_calloc(counts[i], sizeof *seen);
        for (uint64_t k = 0; k < counts[i]; k++) {
            uint64_t at = shuffle_at(&order, k);
            assert_true(at < counts[i]);
            assert_false(seen[at]);
            seen[at] = true;
        }
        free(seen);
    }
    shuffle large = shuffle_of(UINT64_MAX, 1);
    for (uint64_t k = 0; k < 1000; k++)
        assert_true(shuffle_at(&large, k) < UINT64_MAX);
}

enum { MEAN_SEEDS = 10 };

static double mean_best(const char *name, const space *s, size_t batch, size_t at)
{
    double sum = 0;
    for (uint64_t seed = 0; seed < MEAN_SEEDS; seed++) {
        double best[200];
        bool *seen = mem_calloc(space_count(s), sizeof *seen);
        strategy *st = begin(name, s, seed, at);
        run(st, s, batch, at, seen, best);
        strategy_stop(st);
        free(seen);
        sum += best[at - 1] / MEAN_SEEDS;
    }
    return sum;
}

static bool is_guided(const char *name)
{
    return strcmp(name, "exhaustive") != 0 && strcmp(name, "random") != 0 && strcmp(name, "sobol") != 0;
}

/* On a smooth landscape with failures, and asked one at a time or eight at once. */
static void guided_ones_beat_random(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    double random = mean_best("random", s, 1, 80);
    for (size_t i = 0; strategy_table[i]; i++) {
        const char *name = strategy_table[i]->name;
        double one = is_guided(name) ? mean_best(name, s, 1, 80) : 0;
        double eight = is_guided(name) ? mean_best(name, s, 8, 80) : 0;
        if (one >= 0.95 * random || eight >= random)
            fail_msg("%s: %g one at a time, %g eight at once; random: %g", name, one, eight, random);
    }
    drop_space(s, &p);
}

/* The best point of 1,118 is found, not only something good. */
static void models_find_the_best(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    assert_true(mean_best("auto", s, 1, 60) < 1010);
    assert_true(mean_best("bayes", s, 1, 60) < 1010);
    assert_true(mean_best("auto", s, 8, 80) < 1050);
    drop_space(s, &p);
}

/* Thousands of failures, more than there are candidates at a time: the model still has something to say. */
static void models_go_on_through_failures(void **state)
{
    static const problem_param params[] = {{"a", "list(range(50))"}, {"b", "list(range(52))"}};
    static const char *const names[] = {"auto", "bayes"};
    (void)state;
    problem p;
    kw_error err;
    space *s = NULL;
    if (problem_make(params, 2, NULL, 0, &p, &err) != KW_OK || space_new(&p.def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < 2; i++) {
        const strategy_ops *ops = strategy_find(names[i], NULL);
        const strategy_options o = {.seed = 1, .budget = 2600};
        void *own = ops->start(s, &o);
        for (uint32_t n = 0; n < 2450; n++) {
            uint32_t config[2];
            assert_true(ops->ask(own, config));
            ops->tell(own, config, n < 10, 1000 + n);
        }
        ops->stop(own);
    }
    drop_space(s, &p);
}

static void unknown_name_suggests(void **state)
{
    (void)state;
    kw_error err;
    kw_error_clear(&err);
    assert_null(strategy_find("randm", &err));
    assert_int_equal(err.code, KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "did you mean 'random'?"));
    assert_non_null(strstr(err.message, "auto, exhaustive, random, sobol"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_proposes_everything_once),
        cmocka_unit_test(each_is_decided_by_its_seed),
        cmocka_unit_test(known_and_claimed_are_not_proposed),
        cmocka_unit_test(known_from_elsewhere_is_ignored),
        cmocka_unit_test(failures_do_not_stop_it),
        cmocka_unit_test(one_configuration),
        cmocka_unit_test(huge_space),
        cmocka_unit_test(exhaustive_goes_by_rank),
        cmocka_unit_test(random_is_uniform),
        cmocka_unit_test(shuffle_is_a_permutation),
        cmocka_unit_test(guided_ones_beat_random),
        cmocka_unit_test(models_find_the_best),
        cmocka_unit_test(models_go_on_through_failures),
        cmocka_unit_test(unknown_name_suggests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
