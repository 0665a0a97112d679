/* Features of shapes, and trees fitted to times: what they find, what they leave out, and what they promise. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "tuner/tree.h"

#include <math.h>

/* ---- features ---- */

static int32_t value_of(const shape_features *f, const char *text, int64_t M, int64_t N)
{
    const int64_t dims[TASK_MAX_DIMS] = {M, N, N};
    int32_t values[FEATURES_MAX];
    features_compute(f, dims, values);
    for (size_t i = 0; i < f->n; i++) {
        strb s = STRB_INIT;
        features_print(f, i, 0, &s);
        const bool found = strncmp(strb_text(&s), text, strlen(text)) == 0 && strb_text(&s)[strlen(text)] == ' ';
        strb_clear(&s);
        if (found)
            return values[i];
    }
    fail_msg("no feature %s", text);
    return 0;
}

static void features_of_two_dims(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    features_of_task(t, &f);
    assert_int_equal(f.n, 6); /* M, N, M*N, alignment of both, M/N; ld is no key dim */
    assert_int_equal(value_of(&f, "M", 1, 7), 0);
    assert_int_equal(value_of(&f, "M", 2, 7), 256);
    assert_int_equal(value_of(&f, "M", 3, 7), 384);
    assert_int_equal(value_of(&f, "M*N", 4, 8), 5 * 256);
    assert_int_equal(value_of(&f, "M/N", 4, 8), -256);
    assert_int_equal(value_of(&f, "M %", 12, 7), 2);
    assert_int_equal(value_of(&f, "N %", 12, 7), 0);
    assert_int_equal(value_of(&f, "N %", 12, 0), 7);
    assert_int_equal(value_of(&f, "N %", 12, INT64_C(1) << 62), 7);
    assert_true(value_of(&f, "N", 1, 0) < -1000);
    int32_t before = value_of(&f, "N", 1, 0);
    for (int64_t n = 1; n <= 512; n++) {
        const int32_t now = value_of(&f, "N", 1, n);
        assert_true(now > before);
        before = now;
    }
    for (int64_t n = 513; n > 0 && n < INT64_MAX / 3; n += n / 2) {
        const int32_t now = value_of(&f, "N", 1, n);
        assert_true(now >= before);
        before = now;
    }
    assert_int_equal(value_of(&f, "M*N", INT64_C(1) << 62, INT64_C(1) << 62), 2 * 62 * 256);
    task_free(t);
}

static void conditions_as_text(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    strb s = STRB_INIT;
    features_of_task(t, &f);
    features_print(&f, 0, 4 * 256, &s); /* M */
    assert_string_equal(strb_text(&s), "M <= 16");
    strb_reset(&s);
    features_print(&f, 2, 4 * 256 + 128, &s);
    assert_string_equal(strb_text(&s), "M*N <= 2^4.50");
    strb_reset(&s);
    features_print(&f, 3, 1, &s);
    assert_string_equal(strb_text(&s), "M % 4 != 0");
    strb_clear(&s);
    task_free(t);
}

/* ---- fitting ---- */

enum { SIDE = 8 };

/* Shapes 2^i x 2^j; `ns` says how long each variant takes. */
static cost_table grid(const task *t, size_t n_variants, double (*ns)(int64_t M, int64_t N, size_t v))
{
    cost_table m;
    costs_init(&m, t, SIDE * SIDE, n_variants);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        m.shapes[i].dims[0] = INT64_C(1) << i / SIDE;
        m.shapes[i].dims[1] = m.shapes[i].dims[2] = INT64_C(1) << i % SIDE;
        for (size_t v = 0; v < n_variants; v++)
            costs_set(&m, i, v, ns(m.shapes[i].dims[0], m.shapes[i].dims[1], v));
    }
    costs_finish(&m);
    return m;
}

static portfolio all_of(const cost_table *m)
{
    portfolio p = {.n = m->n_variants};
    for (size_t v = 0; v < m->n_variants; v++)
        p.variants[v] = v;
    return p;
}

/* Variant 0 for small products, 1 for large ones. */
static double by_product(int64_t M, int64_t N, size_t v)
{
    const bool large = M * N > 256;
    return large == (v == 1) ? 100 : 180;
}

static void one_split_is_found(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    header_tree h;
    features_of_task(t, &f);
    cost_table m = grid(t, 2, by_product);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, (tree_settings){0.1, 0.25, false});
    assert_int_equal(tree_leaves(fit), 2);
    for (size_t i = 0; i < m.n_shapes; i++)
        assert_true(tree_ratio(fit, i) == 1);
    tree_export(fit, (double[]){1.1, 1.2}, &h);
    assert_int_equal(h.n_nodes, 1);
    assert_int_equal(h.nodes[0].next[0], ~0);
    assert_int_equal(h.nodes[0].next[1], ~1);
    assert_int_equal(h.leaves[0].variants[0], 0);
    assert_int_equal(h.leaves[0].variants[1], 1);
    assert_int_equal(h.leaves[0].variants[2], -1);
    assert_int_equal(h.leaves[1].variants[0], 1);
    assert_true(h.leaves[1].expected_regret[0] == 1.2f && h.leaves[1].expected_regret[1] > 1.5f);
    assert_int_equal(h.low[0], 1); /* measured from 1 to 128: asked up to 256 */
    assert_int_equal(h.high[0], 256);
    const int64_t inside[] = {256, 256, 256}, beyond[] = {257, 1, 1}, none[] = {0, 1, 1};
    assert_int_equal(tree_variant(fit, inside, 0), 1);
    assert_int_equal(tree_variant(fit, inside, 1), 0);
    assert_int_equal(tree_variant(fit, inside, 2), SIZE_MAX);
    assert_int_equal(tree_variant(fit, beyond, 0), SIZE_MAX);
    assert_int_equal(tree_variant(fit, none, 0), SIZE_MAX);
    free(h.nodes);
    free(h.leaves);
    tree_free(fit);
    costs_clear(&m);
    task_free(t);
}

/* Labels would split at M = 1, where the winner changes by 0.1%; costs split where it matters. */
static double label_trap(int64_t M, int64_t N, size_t v)
{
    if (N == 128)
        return v == 2 ? 100 : 300;
    return (M > 1) == (v == 1) ? 100 : (v == 2 ? 150 : 100.1);
}

static void costs_not_labels_decide(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    header_tree h;
    features_of_task(t, &f);
    cost_table m = grid(t, 3, label_trap);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, (tree_settings){0.5, 0.25, false});
    tree_export(fit, (double[]){1, 1}, &h);
    assert_int_equal(tree_leaves(fit), 2);
    assert_int_equal(h.nodes[0].feature, 1); /* N */
    assert_int_equal(h.leaves[1].variants[0], 2);
    free(h.nodes);
    free(h.leaves);
    tree_free(fit);
    costs_clear(&m);
    task_free(t);
}

static void a_price_too_high_leaves_one_leaf(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    header_tree h;
    features_of_task(t, &f);
    cost_table m = grid(t, 2, by_product);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, (tree_settings){INFINITY, 1, false});
    assert_int_equal(tree_leaves(fit), 1);
    tree_export(fit, (double[]){1.5}, &h);
    assert_int_equal(h.n_nodes, 0);
    assert_int_equal(h.n_leaves, 1);
    free(h.nodes);
    free(h.leaves);
    tree_free(fit);
    costs_clear(&m);
    task_free(t);
}

/* Each shape has a favourite of its own: without a price the tree would have a leaf for each. */
static double noise(int64_t M, int64_t N, size_t v)
{
    return 100 + 100 * counter_rng_unit(5, v, (uint64_t)(M * 1000 + N));
}

static void leaves_are_as_many_as_a_header_takes(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    features_of_task(t, &f);
    cost_table m = grid(t, 6, noise);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, (tree_settings){0, 0, false});
    assert_true(tree_leaves(fit) > 8 && tree_leaves(fit) <= HEADER_TREE_LEAVES);
    tree_free(fit);
    costs_clear(&m);
    task_free(t);
}

static void what_cannot_run_gives_way(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    features_of_task(t, &f);
    cost_table m = grid(t, 2, by_product);
    costs_exclude(&m, 0, 0);
    costs_finish(&m);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, (tree_settings){0.1, 1, false});
    assert_true(tree_ratio(fit, 0) == 1.8); /* the other one is all that runs there */
    assert_true(tree_ratio(fit, 1) == 1);
    costs_exclude(&m, 0, 1);
    costs_finish(&m);
    assert_true(tree_ratio(fit, 0) == COSTS_MAX_RATIO);
    tree_free(fit);
    costs_clear(&m);
    task_free(t);
}

/* ---- cross-validation ---- */

static double slight_noise(int64_t M, int64_t N, size_t v)
{
    return 100 + 0.02 * noise(M, N, v);
}

static void structure_is_found_and_noise_is_not(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    tree_estimate e;
    features_of_task(t, &f);
    cost_table m = grid(t, 2, by_product);
    tree_cross_validate(&m, &f, 2, NULL, &e);
    assert_int_equal(e.folds, SIDE * SIDE); /* one by one */
    assert_true(regret_mean(&e.held_out) < 1.03);
    assert_true(isfinite(e.settings.leaf_price));
    free(e.ratios);
    costs_clear(&m);
    m = grid(t, 4, slight_noise);
    tree_cross_validate(&m, &f, 4, NULL, &e);
    const portfolio p = all_of(&m);
    tree *fit = tree_fit(&m, &f, &p, NULL, e.settings);
    assert_int_equal(tree_leaves(fit), 1);
    assert_true(regret_mean(&e.held_out) < 1.02);
    tree_free(fit);
    free(e.ratios);
    costs_clear(&m);
    task_free(t);
}

static void too_little_to_validate(void **state)
{
    (void)state;
    task *t = fixture_task();
    shape_features f;
    tree_estimate e;
    cost_table m;
    features_of_task(t, &f);
    for (size_t n = 0; n < 3; n++) {
        costs_init(&m, t, n, 1);
        for (size_t i = 0; i < n; i++) {
            m.shapes[i].dims[0] = m.shapes[i].dims[1] = m.shapes[i].dims[2] = (int64_t)i + 1;
            costs_set(&m, i, 0, 100);
        }
        costs_finish(&m);
        tree_cross_validate(&m, &f, 8, NULL, &e);
        assert_true(regret_mean(&e.held_out) == 1);
        free(e.ratios);
        costs_clear(&m);
    }
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_of_two_dims),
        cmocka_unit_test(conditions_as_text),
        cmocka_unit_test(one_split_is_found),
        cmocka_unit_test(costs_not_labels_decide),
        cmocka_unit_test(a_price_too_high_leaves_one_leaf),
        cmocka_unit_test(leaves_are_as_many_as_a_header_takes),
        cmocka_unit_test(what_cannot_run_gives_way),
        cmocka_unit_test(structure_is_found_and_noise_is_not),
        cmocka_unit_test(too_little_to_validate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
