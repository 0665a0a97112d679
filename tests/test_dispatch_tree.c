/* The tree layer of a dispatch model: made from stored rows, named in the table, reported. */
#include "tests/store_fixture.h"

#include "tuner/dispatch.h"
#include "tuner/store_internal.h"

#include <math.h>

enum { NAIVE, SMALL, LARGE, FIXED, VARIANTS };
#define DEVICE "pocl/cpu/test/4"

typedef struct world {
    store *s;
    task *t;
    task_types types;
    template *naive, *rows;
    variant *v[VARIANTS];
} world;

static void add(world *w, int v, int64_t M, int64_t N, double ns)
{
    char shape[64];
    double samples[] = {ns * 0.999, ns, ns * 1.001};
    snprintf(shape, sizeof shape, "{\"M\":%lld,\"N\":%lld}", (long long)M, (long long)N);
    measurement m = fixture_row(w->t->hash, w->v[v]->hash, shape, samples, 3);
    m.template_name = lend(w->v[v]->template_name);
    m.verified = v == FIXED ? VERIFIED_EXACT : VERIFIED_GENERAL;
    add_row(w->s, &m);
}

/* SMALL wins where M is at most 64, LARGE beyond; FIXED beats both on one shape, which is all it can run. */
static void make_world(world *w, int n_shapes)
{
    kw_error err = {0};
    memset(w, 0, sizeof *w);
    w->s = memory_store();
    w->t = fixture_task();
    assert_code(task_types_parse(w->t, NULL, &w->types, &err), KW_OK, err);
    w->naive = fixture_template(w->t, "scale_naive", true);
    w->rows = fixture_template(w->t, "scale_rows", false);
    w->v[NAIVE] = fixture_variant(w->naive, 1, 0);
    w->v[SMALL] = fixture_variant(w->rows, 2, 0);
    w->v[LARGE] = fixture_variant(w->rows, 4, 0);
    w->v[FIXED] = fixture_variant(w->rows, 64, 7);
    for (int i = 0; i < VARIANTS; i++)
        assert_code(store_add_variant(w->s, w->v[i], &err), KW_OK, err);
    for (int i = 0; i < n_shapes; i++) {
        const int64_t M = INT64_C(1) << i, N = i == 3 ? 7 : 10 + i % 3;
        add(w, NAIVE, M, N, 1000);
        add(w, SMALL, M, N, M <= 64 ? 100 : 300);
        add(w, LARGE, M, N, M <= 64 ? 200 : 100);
        if (i == 3)
            add(w, FIXED, M, N, 50);
    }
}

static void clear_world(world *w)
{
    for (int i = 0; i < VARIANTS; i++)
        variant_free(w->v[i]);
    template_free(w->naive);
    template_free(w->rows);
    task_free(w->t);
    store_close(w->s);
}

static dispatch *build(world *w, store *s, size_t n_variants, const task_shape *shapes, size_t n_shapes)
{
    kw_error err = {0};
    dispatch *d = NULL;
    const dispatch_options o = {NULL, false, "kw_", n_variants, shapes, n_shapes};
    assert_code(dispatch_build(s, w->t, &w->types, &o, &d, &err), KW_OK, err);
    return d;
}

static const char *leaf_hash(const header_model *m, size_t leaf, size_t place)
{
    const int v = m->devices[0].tree->leaves[leaf].variants[place];
    return v < 0 ? "" : m->variants[v]->hash;
}

static void tree_of_a_device(void **state)
{
    (void)state;
    world w;
    make_world(&w, 13);
    dispatch *d = build(&w, w.s, 8, NULL, 0);
    const header_model *m = dispatch_model(d);
    const header_tree *t = m->devices[0].tree;
    assert_non_null(t);
    assert_int_equal(t->n_leaves, 2);
    assert_string_equal(leaf_hash(m, 0, 0), w.v[SMALL]->hash);
    assert_string_equal(leaf_hash(m, 0, 1), w.v[LARGE]->hash);
    assert_string_equal(leaf_hash(m, 1, 0), w.v[LARGE]->hash);
    assert_string_equal(leaf_hash(m, 1, 3), "");
    for (size_t i = 0; i < 2; i++)
        assert_true(t->leaves[i].expected_regret[0] >= 1 && t->leaves[i].expected_regret[0] < 1.4f);
    assert_int_equal(m->n_rows, 13); /* the exact layer stays */
    assert_int_equal(m->n_variants, 4);
    const dispatch_report *r = dispatch_device_report(d, 0);
    assert_int_equal(r->n_shapes, 13);
    assert_int_equal(r->n_general, 3);
    assert_int_equal(r->n_portfolio, 2); /* the naive one gains nothing */
    assert_int_equal(r->n_curve, 2);
    assert_int_equal(r->recommended, 2);
    assert_int_equal(r->folds, 13);
    assert_true(r->curve[1].worst == 2); /* against FIXED, which no tree may name */
    assert_true(r->curve[0].mean > r->curve[1].mean);
    assert_true(r->held_out.mean >= r->curve[1].mean);
    assert_has(m->devices[0].provenance, "tree of 2 leaves, 2 variants");
    strb text = STRB_INIT;
    kw_error err = {0};
    assert_code(header_write(m, &text, &err), KW_OK, err);
    assert_has(strb_text(&text), "kw_scale_nodes[]");
    strb_clear(&text);
    dispatch_free(d);
    clear_world(&w);
}

static void none_is_wanted_or_possible(void **state)
{
    (void)state;
    world w;
    make_world(&w, 13);
    dispatch *d = build(&w, w.s, 0, NULL, 0);
    assert_null(dispatch_model(d)->devices[0].tree);
    dispatch_free(d);
    d = build(&w, w.s, 1, NULL, 0);
    assert_int_equal(dispatch_model(d)->devices[0].tree->n_leaves, 1);
    dispatch_free(d);
    clear_world(&w);
    make_world(&w, DISPATCH_TREE_SHAPES - 1);
    d = build(&w, w.s, 8, NULL, 0);
    assert_null(dispatch_model(d)->devices[0].tree);
    assert_int_equal(dispatch_device_report(d, 0)->n_leaves, 0);
    assert_int_equal(dispatch_device_report(d, 0)->n_shapes, DISPATCH_TREE_SHAPES - 1);
    dispatch_free(d);
    clear_world(&w);
}

/* One variant for all: the counts decide which. */
static void counts_of_shapes(void **state)
{
    (void)state;
    world w;
    make_world(&w, 13);
    task_shape rare = {.dims = {4096, 10, 10}, .weight = 1}, often = {.dims = {4, 12, 12}, .weight = 1000};
    dispatch *d = build(&w, w.s, 1, &rare, 1);
    assert_string_equal(leaf_hash(dispatch_model(d), 0, 0), w.v[LARGE]->hash);
    dispatch_free(d);
    d = build(&w, w.s, 1, &often, 1);
    assert_string_equal(leaf_hash(dispatch_model(d), 0, 0), w.v[SMALL]->hash);
    dispatch_free(d);
    clear_world(&w);
}

/* Exported and imported rows give the same header, byte for byte. */
static void text_gives_the_same(void **state)
{
    const char *folder = *state;
    world w;
    kw_error err = {0};
    size_t n;
    make_world(&w, 13);
    strb lines = STRB_INIT, a = STRB_INIT, b = STRB_INIT;
    char *path = fs_join(folder, "results.jsonl");
    assert_code(results_export(w.s, NULL, false, false, &lines, &err), KW_OK, err);
    write_text(path, lines.data, lines.length);
    store *copy = memory_store();
    assert_code(results_import(copy, path, &n, &err), KW_OK, err);
    dispatch *d = build(&w, w.s, 8, NULL, 0), *e = build(&w, copy, 8, NULL, 0);
    assert_code(header_write(dispatch_model(d), &a, &err), KW_OK, err);
    assert_code(header_write(dispatch_model(e), &b, &err), KW_OK, err);
    assert_string_equal(strb_text(&a), strb_text(&b));
    dispatch_free(d);
    dispatch_free(e);
    store_close(copy);
    strb_clear(&lines);
    strb_clear(&a);
    strb_clear(&b);
    free(path);
    clear_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_of_a_device),
        cmocka_unit_test(none_is_wanted_or_possible),
        cmocka_unit_test(counts_of_shapes),
        cmocka_unit_test_setup_teardown(text_gives_the_same, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
