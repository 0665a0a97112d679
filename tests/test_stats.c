#include "base/counter_rng.h"
#include "tuner/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_gives_zeros(void **state)
{
    (void)state;
    stats_summary s = stats_of(NULL, 0);
    assert_int_equal(s.n, 0);
    assert_true(s.median == 0 && s.lo == 0 && s.hi == 0 && s.min == 0 && s.max == 0 && s.mean == 0);
}

static void few_samples_give_the_whole_range(void **state)
{
    (void)state;
    const double one[] = {7};
    stats_summary s = stats_of(one, 1);
    assert_true(s.n == 1 && s.median == 7 && s.lo == 7 && s.hi == 7 && s.mean == 7);
    const double five[] = {5, 1, 4, 2, 3}; /* 2 * 2^-5 = 6.25% misses: not enough for 95% */
    s = stats_of(five, 5);
    assert_true(s.median == 3 && s.lo == 1 && s.hi == 5 && s.min == 1 && s.max == 5 && s.mean == 3);
    assert_true(five[0] == 5 && five[4] == 3); /* unchanged */
    const double four[] = {4, 1, 3, 2};
    assert_true(stats_of(four, 4).median == 2.5);
}

/* Ranks from the published tables of the sign-test interval at 95%. */
static void ranks_are_those_of_the_tables(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double lo, hi;
    } table[] = {{6, 1, 6},   {8, 1, 8},   {9, 2, 8},    {10, 2, 9},   {15, 4, 12},
                 {20, 6, 15}, {25, 8, 18}, {50, 18, 33}, {100, 40, 61}};
    double samples[100];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (size_t k = 0; k < table[i].n; k++)
            samples[k] = (double)(table[i].n - k); /* k-th smallest is k */
        stats_summary s = stats_of(samples, table[i].n);
        assert_true(s.lo == table[i].lo);
        assert_true(s.hi == table[i].hi);
    }
}

/* Skewed samples: the interval must hold the true median at least 95% of the time (2,000 trials: 93.5% is over three
 * standard errors below), and must not be uselessly wide. */
static void interval_covers_the_median(void **state)
{
    (void)state;
    enum { TRIALS = 2000, N = 25 };
    size_t covered = 0;
    double width = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        double x[N];
        for (uint64_t i = 0; i < N; i++)
            x[i] = -log(1 - counter_rng_unit(11, t, i)); /* exponential: median ln 2 */
        stats_summary s = stats_of(x, N);
        covered += s.lo <= log(2) && log(2) <= s.hi;
        width += (s.hi - s.lo) / TRIALS;
    }
    assert_true((double)covered / TRIALS > 0.935);
    assert_true(width < 1.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gives_zeros),
        cmocka_unit_test(few_samples_give_the_whole_range),
        cmocka_unit_test(ranks_are_those_of_the_tables),
        cmocka_unit_test(interval_covers_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
