/* Cost tables with holes, and which few variants serve a set of shapes best. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "tuner/portfolio.h"

#include <math.h>

static cost_table table_of(const task *t, size_t n_shapes, size_t n_variants, const double *ns)
{
    cost_table m;
    costs_init(&m, t, n_shapes, n_variants);
    for (size_t i = 0; i < n_shapes; i++)
        for (size_t v = 0; v < n_variants; v++)
            costs_set(&m, i, v, ns[i * n_variants + v]);
    costs_finish(&m);
    return m;
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-9))
        fail_msg("%.12g, expected %.12g", got, expected);
}

/* ---- tables ---- */

static void holes_cost_what_the_slowest_costs(void **state)
{
    (void)state;
    task *t = fixture_task();
    const double ns[] = {100, 300, NAN, /* one more hole than times that differ by 3 */
                         100, 110, NAN, /* where all are alike, a hole is still twice the best */
                         50,  -1,  0,   /* times that are none */
                         NAN, NAN, NAN};
    cost_table m = table_of(t, 4, 3, ns);
    assert_near(m.ratio[2], 3);
    assert_near(m.ratio[3 + 2], COSTS_HOLE_RATIO);
    assert_near(m.ratio[6 + 1], COSTS_HOLE_RATIO);
    assert_near(m.ratio[9], 1); /* nothing is known: nothing is preferred */
    assert_false(costs_known(&m, 2, 1));
    assert_true(costs_runs(&m, 2, 1));
    costs_clear(&m);
    task_free(t);
}

static void what_has_no_column_counts_as_best(void **state)
{
    (void)state;
    task *t = fixture_task();
    cost_table m;
    costs_init(&m, t, 1, 2);
    costs_set(&m, 0, 0, 200);
    costs_exclude(&m, 0, 1);
    costs_note_best(&m, 0, 100);
    costs_note_best(&m, 0, INFINITY);
    costs_note_best(&m, 0, NAN);
    costs_finish(&m);
    assert_near(m.ratio[0], 2);
    assert_near(m.ratio[1], 2);
    assert_false(costs_runs(&m, 0, 1));
    costs_clear(&m);
    task_free(t);
}

static void hopeless_times_are_capped(void **state)
{
    (void)state;
    task *t = fixture_task();
    const double ns[] = {1, 1e9};
    cost_table m = table_of(t, 1, 2, ns);
    assert_near(m.ratio[1], COSTS_MAX_RATIO);
    costs_clear(&m);
    task_free(t);
}

/* ---- portfolios ---- */

/* Variant 0 is best on the mean, but 1 and 2 together serve all: a greedy choice alone keeps 0. */
static void exchange_beats_greed(void **state)
{
    (void)state;
    task *t = fixture_task();
    const double ns[] = {12, 10, 30, /**/ 12, 10, 30, /**/ 12, 30, 10, /**/ 12, 30, 10};
    cost_table m = table_of(t, 4, 3, ns);
    portfolio p;
    portfolio_choose(&m, 1, NULL, &p);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.variants[0], 0);
    assert_near(regret_mean(&p.regret), 1.2);
    portfolio_choose(&m, 2, NULL, &p);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.variants[0], 1);
    assert_int_equal(p.variants[1], 2);
    assert_near(regret_mean(&p.regret), 1);
    portfolio_choose(&m, 3, NULL, &p);
    assert_int_equal(p.n, 2); /* one more gains nothing */
    costs_clear(&m);
    task_free(t);
}

static void weights_count(void **state)
{
    (void)state;
    task *t = fixture_task();
    const double ns[] = {10, 20, /**/ 20, 10};
    cost_table m = table_of(t, 2, 2, ns);
    portfolio p;
    m.shapes[1].weight = 3;
    portfolio_choose(&m, 1, NULL, &p);
    assert_int_equal(p.variants[0], 1);
    assert_near(regret_mean(&p.regret), 1.25);
    assert_near(regret_geomean(&p.regret), pow(2, 0.25));
    assert_near(p.regret.worst, 2);
    m.shapes[1].weight = 0.5;
    portfolio_choose(&m, 1, NULL, &p);
    assert_int_equal(p.variants[0], 0);
    const bool only_second[] = {false, true};
    portfolio_choose(&m, 1, only_second, &p);
    assert_int_equal(p.variants[0], 1);
    costs_clear(&m);
    task_free(t);
}

static double cost_of(const cost_table *m, const size_t *set, size_t k)
{
    double cost = 0;
    for (size_t i = 0; i < m->n_shapes; i++) {
        double best = INFINITY;
        for (size_t j = 0; j < k; j++)
            best = fmin(best, m->ratio[i * m->n_variants + set[j]]);
        cost += best;
    }
    return cost / (double)m->n_shapes;
}

/* On random tables: sets of three out of 12 are the best of all; larger ones are where no single exchange helps, and
 * never worse than smaller ones. */
static void random_tables(void **state)
{
    (void)state;
    task *t = fixture_task();
    double ns[20 * 12];
    portfolio p, curve[PORTFOLIO_MAX];
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (size_t i = 0; i < 20 * 12; i++)
            ns[i] = 100 + 400 * counter_rng_unit(seed, 0, i);
        cost_table m = table_of(t, 20, 12, ns);
        double best = INFINITY;
        for (size_t a = 0; a < 12; a++)
            for (size_t b = a + 1; b < 12; b++)
                for (size_t c = b + 1; c < 12; c++)
                    best = fmin(best, cost_of(&m, (size_t[]){a, b, c}, 3));
        portfolio_choose(&m, 3, NULL, &p);
        assert_near(regret_mean(&p.regret), best);
        assert_near(cost_of(&m, p.variants, p.n), best);
        const size_t n = portfolio_curve(&m, PORTFOLIO_MAX, curve);
        for (size_t k = 1; k < n; k++)
            assert_true(regret_mean(&curve[k].regret) < regret_mean(&curve[k - 1].regret));
        const size_t wanted = portfolio_recommend(curve, n);
        assert_true(regret_mean(&curve[wanted - 1].regret) <= regret_mean(&curve[n - 1].regret) + PORTFOLIO_GAIN);
        assert_true(wanted == 1 ||
                    regret_mean(&curve[wanted - 2].regret) > regret_mean(&curve[n - 1].regret) + PORTFOLIO_GAIN);
        costs_clear(&m);
    }
    task_free(t);
}

static void nothing_to_choose_from(void **state)
{
    (void)state;
    task *t = fixture_task();
    cost_table m = table_of(t, 0, 0, NULL);
    portfolio p, curve[4];
    portfolio_choose(&m, 8, NULL, &p);
    assert_int_equal(p.n, 0);
    assert_near(regret_mean(&p.regret), 1);
    assert_int_equal(portfolio_curve(&m, 4, curve), 0);
    costs_clear(&m);
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_cost_what_the_slowest_costs),
        cmocka_unit_test(what_has_no_column_counts_as_best),
        cmocka_unit_test(hopeless_times_are_capped),
        cmocka_unit_test(exchange_beats_greed),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(random_tables),
        cmocka_unit_test(nothing_to_choose_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
