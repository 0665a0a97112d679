/* The model of times against times whose law is known, and the trees that are fitted to what it says. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "tuner/tree.h"

#include <math.h>

enum { UNITS = 10, TILES = 5, SHAPES = 60, KNOWN = 40 };

static const struct {
    int m, n;
    double per_item; /* ns of an element of a tile */
} tiles[TILES] = {{8, 8, 4}, {16, 16, 2}, {64, 16, 1.2}, {64, 64, 0.8}, {128, 64, 0.7}};

static bool plan_tile(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    (void)cookie;
    const double M = (double)s->dims[0], N = (double)s->dims[1];
    *out = (costmodel_plan){ceil(M / tiles[v].m) * ceil(N / tiles[v].n), 0};
    return true;
}

static bool plan_nothing(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    (void)cookie;
    (void)v;
    (void)s;
    (void)out;
    return false;
}

static bool plan_one_group(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    (void)cookie;
    (void)v;
    (void)s;
    *out = (costmodel_plan){1, 0};
    return true;
}

static bool runs_always(void *cookie, size_t v, const task_shape *s)
{
    (void)cookie;
    (void)v;
    (void)s;
    return true;
}

/* The last tile takes even rows only. */
static bool runs_even(void *cookie, size_t v, const task_shape *s)
{
    (void)cookie;
    return v + 1 < TILES || s->dims[0] % 2 == 0;
}

/* A launch, and rounds of whole tiles over the units. */
static double truth(size_t v, const task_shape *s)
{
    costmodel_plan p;
    (void)plan_tile(NULL, v, s, &p);
    return 2000 + ceil(p.groups / UNITS) * tiles[v].m * tiles[v].n * tiles[v].per_item;
}

static costmodel_source source_of(const task *t)
{
    costmodel_source source = {.plan = plan_tile, .runs = runs_always, .units = UNITS};
    kw_error err = {0};
    assert_code(task_types_parse(t, "", &source.types, &err), KW_OK, err);
    return source;
}

static cost_table true_table(const task *t)
{
    cost_table m;
    costs_init(&m, t, SHAPES, TILES);
    for (size_t i = 0; i < SHAPES; i++) {
        for (size_t d = 0; d < 2; d++)
            m.shapes[i].dims[d] = (int64_t)pow(2, 11 * counter_rng_unit(3, d, i));
        m.shapes[i].dims[2] = m.shapes[i].dims[1];
        for (size_t v = 0; v < TILES; v++)
            costs_set(&m, i, v, truth(v, &m.shapes[i]));
    }
    costs_finish(&m);
    return m;
}

/* The largest |log(predicted / true)| over the shapes that are not known. */
static double worst_error(const costmodel *c, const cost_table *m, size_t v, const bool *used)
{
    double fits[COSTMODEL_TERMS], worst = 0;
    costmodel_fit(c, v, used, fits);
    for (size_t i = 0; i < SHAPES; i++)
        if (!used[i])
            worst = fmax(worst, fabs(log(costmodel_ns(c, v, fits, &m->shapes[i]) / truth(v, &m->shapes[i]))));
    return worst;
}

static void units_of_keys(void **state)
{
    (void)state;
    assert_true(costmodel_units("nvidia/sm_90/h200/132") == 132);
    assert_true(costmodel_units("nvidia/sm_90/h200/many") == 1);
    assert_true(costmodel_units("nvidia/sm_90/h200/0") == 1);
    assert_true(costmodel_units("cpu") == 1);
    assert_true(costmodel_units(NULL) == 1);
}

static void a_law_of_its_form_is_found(void **state)
{
    (void)state;
    task *t = fixture_task();
    bool used[SHAPES];
    cost_table m = true_table(t);
    const costmodel_source source = source_of(t);
    costmodel *c = costmodel_new(&m, &source);
    assert_non_null(c);
    for (size_t i = 0; i < SHAPES; i++)
        used[i] = i < KNOWN;
    for (size_t v = 0; v < TILES; v++) {
        const double error = worst_error(c, &m, v, used);
        if (!(error < 0.1))
            fail_msg("tile %zu: %.3f", v, error);
    }
    costmodel_free(c);
    costs_clear(&m);
    task_free(t);
}

static void an_outlier_changes_little(void **state)
{
    (void)state;
    task *t = fixture_task();
    bool used[SHAPES];
    cost_table m = true_table(t);
    const costmodel_source source = source_of(t);
    for (size_t v = 0; v < TILES; v++)
        m.ns[7 * TILES + v] *= 20;
    costmodel *c = costmodel_new(&m, &source);
    assert_non_null(c);
    for (size_t i = 0; i < SHAPES; i++)
        used[i] = i < KNOWN;
    for (size_t v = 0; v < TILES; v++) {
        const double error = worst_error(c, &m, v, used);
        if (!(error < 0.25))
            fail_msg("tile %zu: %.3f", v, error);
    }
    costmodel_free(c);
    costs_clear(&m);
    task_free(t);
}

static void a_few_times_are_helped_by_the_others(void **state)
{
    (void)state;
    task *t = fixture_task();
    bool used[SHAPES] = {false};
    double few[COSTMODEL_TERMS];
    cost_table m = true_table(t);
    const costmodel_source source = source_of(t);
    costmodel *c = costmodel_new(&m, &source);
    assert_non_null(c);
    used[0] = used[1] = used[2] = used[3] = true;
    costmodel_fit(c, 1, used, few);
    for (size_t i = 0; i < SHAPES; i++) {
        const double ratio = costmodel_ns(c, 1, few, &m.shapes[i]) / truth(1, &m.shapes[i]);
        if (!(ratio > 0.2 && ratio < 5))
            fail_msg("shape %zu: %.3f", i, ratio);
    }
    /* Nothing timed at all: no time, rather than a guess. */
    memset(used, 0, sizeof used);
    costmodel_fit(c, 1, used, few);
    assert_true(isnan(costmodel_ns(c, 1, few, &m.shapes[0])));
    costmodel_free(c);
    costs_clear(&m);
    task_free(t);
}

static void dense_rows_are_predicted(void **state)
{
    (void)state;
    task *t = fixture_task();
    double fits[COSTMODEL_TERMS];
    const portfolio p = {.variants = {1, TILES - 1}, .n = 2};
    cost_table m = true_table(t);
    costmodel_source source = source_of(t);
    source.runs = runs_even;
    costmodel *c = costmodel_new(&m, &source);
    assert_non_null(c);
    const cost_table *dense = costmodel_dense(c);
    costmodel_fill(c, &p, NULL);
    costmodel_fit(c, 1, NULL, fits);
    assert_true(dense->n_shapes > SHAPES + COSTMODEL_SHAPES / 2);
    double weight = 0;
    size_t odd = 0;
    for (size_t i = 0; i < SHAPES; i++)
        assert_true(costs_known(dense, i, 0) && dense->shapes[i].dims[0] == m.shapes[i].dims[0]);
    for (size_t i = SHAPES; i < dense->n_shapes; i++) {
        const task_shape *s = &dense->shapes[i];
        weight += s->weight;
        odd += s->dims[0] % 2 != 0;
        assert_true(s->dims[0] >= 1 && s->dims[0] <= 2 * 2048 && s->dims[1] >= 1 && s->dims[1] <= 2 * 2048);
        assert_true(s->dims[2] == s->dims[1]); /* a stride has its default */
        assert_true(fabs(dense->ns[i * TILES + 1] / costmodel_ns(c, 1, fits, s) - 1) < 1e-12);
        assert_true(costs_runs(dense, i, TILES - 1) == (s->dims[0] % 2 == 0));
        assert_false(costs_known(dense, i, 0)); /* no member */
    }
    assert_true(odd > 0 && odd < dense->n_shapes - SHAPES);
    assert_true(fabs(weight - SHAPES) < 1e-6);
    costmodel_free(c);
    costs_clear(&m);
    task_free(t);
}

static void without_plans_there_is_no_model(void **state)
{
    (void)state;
    task *t = fixture_task();
    cost_table m = true_table(t), empty;
    costmodel_source source = source_of(t);
    costs_init(&empty, t, 0, TILES);
    assert_null(costmodel_new(&empty, &source));
    empty.n_shapes = COSTMODEL_MOST; /* too large: looked at no further */
    assert_null(costmodel_new(&empty, &source));
    empty.n_shapes = 0;
    source.plan = plan_nothing;
    assert_null(costmodel_new(&m, &source));
    costmodel_free(NULL);
    costs_clear(&empty);
    costs_clear(&m);
    task_free(t);
}

/* ---- trees ---- */

static void a_tree_by_the_model_loses_less(void **state)
{
    (void)state;
    task *t = fixture_task();
    cost_table m = true_table(t), known;
    const costmodel_source source = source_of(t);
    bool used[SHAPES];
    shape_features f;
    tree_estimate alone, with;
    portfolio p;
    for (size_t i = 0; i < SHAPES; i++)
        used[i] = i < 24;
    costs_subset(&m, used, &known);
    features_of_task(t, &f);
    costmodel *c = costmodel_new(&known, &source);
    assert_non_null(c);
    tree *a = tree_choose(&known, &f, TILES, NULL, &p, &alone), *b = tree_choose(&known, &f, TILES, c, &p, &with);
    assert_false(alone.settings.by_model);
    assert_true(with.settings.by_model);
    assert_true(regret_mean(&with.held_out) <= regret_mean(&alone.held_out));
    regret_sum of_a = {0}, of_b = {0};
    for (size_t i = 24; i < SHAPES; i++) {
        const size_t va = tree_variant(a, m.shapes[i].dims, 0), vb = tree_variant(b, m.shapes[i].dims, 0);
        if (va == SIZE_MAX || vb == SIZE_MAX)
            continue;
        regret_add(&of_a, m.ratio[i * TILES + va], 1);
        regret_add(&of_b, m.ratio[i * TILES + vb], 1);
    }
    if (!(regret_mean(&of_b) < regret_mean(&of_a)))
        fail_msg("%.3f with the model, %.3f without", regret_mean(&of_b), regret_mean(&of_a));
    free(alone.ratios);
    free(with.ratios);
    tree_free(a);
    tree_free(b);
    costmodel_free(c);
    costs_clear(&known);
    costs_clear(&m);
    task_free(t);
}

/* Which is faster jumps with the number of rows, and no plan says so: a split that only the times know. */
static void a_model_that_is_wrong_is_not_taken(void **state)
{
    (void)state;
    task *t = fixture_task();
    costmodel_source source = source_of(t);
    cost_table m;
    shape_features f;
    tree_estimate e;
    portfolio p;
    source.plan = plan_one_group;
    costs_init(&m, t, 64, 2);
    for (size_t i = 0; i < 64; i++) {
        m.shapes[i].dims[0] = INT64_C(1) << i / 8;
        m.shapes[i].dims[1] = m.shapes[i].dims[2] = INT64_C(1) << i % 8;
        const bool middle = i / 8 >= 3 && i / 8 < 6;
        costs_set(&m, i, 0, middle ? 100 : 300);
        costs_set(&m, i, 1, middle ? 300 : 100);
    }
    costs_finish(&m);
    features_of_task(t, &f);
    costmodel *c = costmodel_new(&m, &source);
    assert_non_null(c);
    tree *x = tree_choose(&m, &f, 2, c, &p, &e);
    assert_false(e.settings.by_model);
    for (size_t i = 0; i < 64; i++)
        assert_true(tree_ratio(x, i) == 1);
    tree_free(x);
    free(e.ratios);
    costmodel_free(c);
    costs_clear(&m);
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_keys),
        cmocka_unit_test(a_law_of_its_form_is_found),
        cmocka_unit_test(an_outlier_changes_little),
        cmocka_unit_test(a_few_times_are_helped_by_the_others),
        cmocka_unit_test(dense_rows_are_predicted),
        cmocka_unit_test(without_plans_there_is_no_model),
        cmocka_unit_test(a_tree_by_the_model_loses_less),
        cmocka_unit_test(a_model_that_is_wrong_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
