/* What strategies share: what was proposed and told, and moves in a space. */
#include "support_problem.h"
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static space *make_space(problem *p)
{
    static const problem_param params[] = {{"a", "[1, 2, 4, 8]"}, {"b", "[1, 2, 4, 8]"}, {"c", "[0, 1]"}};
    static const char *const constraints[] = {"a * b <= 16", "c == 0 or a > 1"};
    kw_error err;
    space *s = NULL;
    if (problem_make(params, 3, constraints, 2, p, &err) != KW_OK || space_new(&p->def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static void drop_space(space *s, problem *p)
{
    space_free(s);
    problem_clear(p);
}

static void told_again_replaces(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    observations o;
    observations_init(&o, s);
    const uint32_t x[3] = {1, 1, 0}, y[3] = {2, 1, 1}, z[3] = {0, 0, 0};
    assert_true(observations_propose(&o, x) == 0);
    assert_true(observations_has(&o, x) && !observations_has(&o, y));
    assert_true(o.best == SIZE_MAX && observations_find(&o, y) == SIZE_MAX);
    assert_true(observations_tell(&o, x, true, 100) == 0);
    assert_true(observations_tell(&o, y, true, 50) == 1);
    assert_true(observations_tell(&o, z, true, 70) == 2);
    assert_true(o.best == 1 && o.n_ok == 3 && o.n == 3);
    observations_tell(&o, y, true, 90); /* the best was luck */
    assert_true(o.best == 2);
    size_t elites[5];
    assert_true(observations_elites(&o, elites, 5) == 3);
    assert_true(elites[0] == 2 && elites[1] == 1 && elites[2] == 0);
    assert_true(observations_elites(&o, elites, 2) == 2);
    assert_true(elites[0] == 2 && elites[1] == 1);
    observations_tell(&o, z, false, 0);
    assert_true(o.best == 1 && o.n_ok == 2 && o.n_failed == 1);
    observations_tell(&o, y, true, NAN);
    observations_tell(&o, x, true, 0);
    assert_true(o.best == SIZE_MAX && o.n_ok == 0 && o.n_failed == 3);
    observations_clear(&o);
    drop_space(s, &p);
}

/* Whatever is wanted, what comes is valid; what is valid comes as it is. */
static void nearest_is_valid(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    moves m;
    moves_init(&m, s, 1, 0);
    for (int a = -1; a < 6; a++) {
        for (int b = -1; b < 6; b++) {
            double wanted[3] = {a + 0.2, b - 0.2, b % 2};
            uint32_t from[3], found[3], asked[3];
            moves_sample(&m, from);
            moves_nearest(&m, wanted, from, found);
            assert_true(space_contains(s, found));
            for (size_t i = 0; i < 3; i++)
                asked[i] = (uint32_t)fmax(0, round(wanted[i]));
            if (asked[0] < 4 && asked[1] < 4 && asked[2] < 2 && space_contains(s, asked))
                assert_memory_equal(found, asked, sizeof found);
        }
    }
    const double invalid[3] = {3, 3, 0}; /* 8 * 8 */
    const uint32_t from[3] = {0, 0, 0};
    uint32_t found[3];
    moves_nearest(&m, invalid, from, found);
    assert_true(found[0] + found[1] >= 3);
    moves_nearest(&m, (double[3]){NAN, INFINITY, -INFINITY}, from, found);
    assert_true(space_contains(s, found));
    moves_clear(&m);
    drop_space(s, &p);
}

static void distance_counts_changes_and_steps(void **state)
{
    (void)state;
    problem p;
    space *s = make_space(&p);
    moves m;
    moves_init(&m, s, 1, 0);
    const uint32_t x[3] = {1, 1, 0}, next[3] = {2, 1, 0}, far[3] = {1, 1, 1}, both[3] = {2, 1, 1};
    assert_true(moves_distance(&m, x, x) == 0);
    assert_true(fabs(moves_distance(&m, x, next) - (0.5 + 0.5 / 3)) < 1e-12);
    assert_true(moves_distance(&m, x, far) == 1);
    assert_true(fabs(moves_distance(&m, both, x) - (1.5 + 0.5 / 3)) < 1e-12);
    moves_clear(&m);
    drop_space(s, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_again_replaces),
        cmocka_unit_test(nearest_is_valid),
        cmocka_unit_test(distance_counts_changes_and_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
