/* Knowledge from other shapes and devices. */
#include "support_problem.h"
#include "tuner/strategy.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_PARAMS = 5, N_SEEDS = 8, MOST = 60 };

typedef enum knowledge { NOTHING, RELATED, MISLEADING } knowledge;

static space *make_space(problem *p)
{
    static const problem_param params[] = {{"a", "[1, 2, 4, 8, 16, 32]"},
                                           {"b", "[1, 2, 4, 8, 16, 32]"},
                                           {"c", "list(range(1, 9))"},
                                           {"d", "[False, True]"},
                                           {"e", "['x', 'y', 'z']"}};
    static const char *const constraints[] = {"a * b <= 256", "not d or b >= 4"};
    kw_error err;
    space *s = NULL;
    if (problem_make(params, N_PARAMS, constraints, 2, p, &err) != KW_OK || space_new(&p->def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static double time_around(const uint32_t *c, const double *best)
{
    double t = 1000;
    for (size_t i = 0; i < N_PARAMS; i++)
        t *= 1 + 0.3 * fabs((double)c[i] - best[i]);
    return t;
}

static const double here[N_PARAMS] = {3, 2, 5, 1, 1};

/* 150 configurations of elsewhere: nearly the same landscape, or one with its best point far from ours. */
static void give(strategy *st, const space *s, knowledge what)
{
    static const double near[N_PARAMS] = {3, 2, 6, 1, 1}, far[N_PARAMS] = {0, 5, 0, 0, 2};
    for (uint64_t i = 0; what != NOTHING && i < 150; i++) {
        uint32_t config[N_PARAMS];
        space_unrank(s, i * 101 % space_count(s), config);
        strategy_prior(st, config, time_around(config, what == RELATED ? near : far) / 1000, 1);
    }
}

static double mean_best(const char *name, const space *s, knowledge what, size_t at)
{
    double sum = 0;
    kw_error err;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        strategy *st = strategy_start(strategy_find(name, &err), s, &(strategy_options){seed, MOST});
        double best = INFINITY;
        give(st, s, what);
        for (size_t n = 0; n < at; n++) {
            uint32_t config[N_PARAMS];
            assert_true(strategy_ask(st, config));
            double t = time_around(config, here);
            strategy_tell(st, config, true, t);
            best = fmin(best, t);
        }
        strategy_stop(st);
        sum += best / N_SEEDS;
    }
    return sum;
}

static void what_is_known_elsewhere_helps_at_once(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    double with = mean_best("auto", s, RELATED, 6);
    assert_true(with < 1600);
    assert_true(with < 0.8 * mean_best("auto", s, NOTHING, 6));
    space_free(s);
    problem_clear(&p);
}

static void a_misleading_one_is_overcome(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    assert_true(mean_best("auto", s, MISLEADING, 40) < 1.1 * mean_best("auto", s, NOTHING, 40));
    space_free(s);
    problem_clear(&p);
}

/* It is no evaluation: everything is proposed still. Nonsense is ignored, by every strategy. */
static void it_is_no_evaluation(void **state)
{
    (void)state;
    static const problem_param params[] = {{"a", "[1, 2, 4, 8]"}, {"b", "[1, 2, 3]"}};
    static const char *const constraints[] = {"a * b < 24"};
    problem p;
    kw_error err;
    space *s = NULL;
    assert_int_equal(problem_make(params, 2, constraints, 1, &p, &err), KW_OK);
    assert_int_equal(space_new(&p.def, 0, &s, &err), KW_OK);
    for (size_t i = 0; strategy_table[i]; i++) {
        strategy *st = strategy_start(strategy_table[i], s, &(strategy_options){1, 20});
        uint32_t config[2] = {3, 2}; /* not valid */
        strategy_prior(st, config, 1, 1);
        config[0] = 0;
        strategy_prior(st, config, NAN, 1);
        strategy_prior(st, config, 2, -1);
        strategy_prior(st, config, 0.5, 1);
        strategy_prior(st, config, 2, 3);
        uint64_t n = 0;
        for (; strategy_ask(st, config); n++)
            strategy_tell(st, config, n % 3 != 0, 100 + (double)n);
        assert_true(n == space_count(s));
        strategy_stop(st);
    }
    space_free(s);
    problem_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_elsewhere_helps_at_once),
        cmocka_unit_test(a_misleading_one_is_overcome),
        cmocka_unit_test(it_is_no_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
