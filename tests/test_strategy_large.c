/* The default strategy in a space of millions: a search that is repeated, with other noise, ends as well as the first.
 */
#include "support_problem.h"
#include "tuner/strategy.h"

#include "base/counter_rng.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARAMS = 12, BUDGET = 160, RUNS = 3, DEPTH = 8 };

#define NOISE 0.002

static space *make_space(problem *p)
{
    static const char *const constraints[] = {"a * b <= 8", "c <= d or e == 1"};
    static const char *const names[PARAMS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    problem_param params[PARAMS];
    kw_error err;
    space *s = NULL;
    for (size_t i = 0; i < PARAMS; i++)
        params[i] = (problem_param){names[i], "[1, 2, 4, 8]"};
    if (problem_make(params, PARAMS, constraints, 2, p, &err) != KW_OK || space_new(&p->def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

/* Each parameter by itself, and neighbours in pairs; 1000 at the best, (0, 1, 2, 2, 0, 1, 2, 2, ..). */
static double measure(const uint32_t *c)
{
    static const double best[] = {0, 1, 2, 2};
    double t = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        double off = fabs((double)c[i] - best[i % 4]);
        double next = fabs((double)c[(i + 1) % PARAMS] - best[(i + 1) % PARAMS % 4]);
        t += 0.04 * off + 0.05 * (off > 0) * (next > 0);
    }
    return 1000 * exp(t);
}

/* True time of what looked best; the proposals are appended. DEPTH of them are under way at once. */
static double search(const space *s, uint64_t noise_seed, uint32_t *proposals)
{
    kw_error err;
    const strategy_options o = {.seed = 5, .budget = BUDGET};
    strategy *st = strategy_start(strategy_find("auto", &err), s, &o);
    double told[BUDGET], least = INFINITY, winner = INFINITY;
    for (size_t i = 0; i < BUDGET; i++) {
        uint32_t *config = proposals + i * PARAMS;
        if (i >= DEPTH)
            strategy_tell(st, config - (size_t)DEPTH * PARAMS, true, told[i - DEPTH]);
        assert_true(strategy_ask(st, config));
        assert_true(space_contains(s, config));
        double time = measure(config);
        told[i] = time * exp(NOISE * gsl_cdf_ugaussian_Pinv(counter_rng_unit(noise_seed, 0, i) + 0x1p-54));
        if (told[i] < least) {
            least = told[i];
            winner = time;
        }
    }
    strategy_stop(st);
    return winner;
}

static void test_repeated(void **state)
{
    (void)state;
    static uint32_t proposals[RUNS][BUDGET * PARAMS], again[BUDGET * PARAMS];
    problem p;
    space *s = make_space(&p);
    double winners[RUNS];
    assert_true(space_count(s) > 1000000);
    for (size_t i = 0; i < RUNS; i++) {
        winners[i] = search(s, i + 1, proposals[i]);
        assert_true(winners[i] <= 1020);
    }
    assert_true(memcmp(proposals[0], proposals[1], sizeof proposals[0]) != 0); /* noise does part them */
    assert_true(search(s, 1, again) == winners[0]);
    assert_memory_equal(again, proposals[0], sizeof again);
    space_free(s);
    problem_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_repeated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
