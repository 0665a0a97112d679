/* Grids: which cell a shape is in, who is ranked there, and that a header's grid says the same. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "tuner/grid_internal.h"
#include "tuner/tree.h"

#include <math.h>

enum { UNITS = 10, TILES = 5, SHAPES = 60 };

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

/* No product of a factor for M and one for N. */
static bool plan_sum(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    (void)cookie;
    *out = (costmodel_plan){ceil((double)s->dims[0] / tiles[v].m) + ceil((double)s->dims[1] / tiles[v].n), 64};
    return true;
}

static bool runs_always(void *cookie, size_t v, const task_shape *s)
{
    (void)cookie;
    (void)v;
    (void)s;
    return true;
}

/* The two large tiles take multiples of 4 only. */
static bool runs_aligned(void *cookie, size_t v, const task_shape *s)
{
    (void)cookie;
    return v < 3 || s->dims[0] % 4 == 0;
}

typedef struct world {
    task *t;
    cost_table m;
    costmodel *c;
    portfolio all;
} world;

static double truth(size_t v, const task_shape *s)
{
    costmodel_plan p;
    (void)plan_tile(NULL, v, s, &p);
    return 2000 + ceil(p.groups / UNITS) * tiles[v].m * tiles[v].n * tiles[v].per_item;
}

/* Shapes of up to 2^11 in both dims; the stride is left at its default. */
static void make_world(world *w, bool (*plans)(void *, size_t, const task_shape *, costmodel_plan *),
                       bool (*runs)(void *, size_t, const task_shape *))
{
    costmodel_source source = {.plan = plans, .runs = runs, .units = UNITS};
    kw_error err = {0};
    *w = (world){.t = fixture_task(), .all = {.variants = {0, 1, 2, 3, 4}, .n = TILES}};
    assert_code(task_types_parse(w->t, "", &source.types, &err), KW_OK, err);
    costs_init(&w->m, w->t, SHAPES, TILES);
    for (size_t i = 0; i < SHAPES; i++) {
        for (size_t d = 0; d < 2; d++)
            w->m.shapes[i].dims[d] = i == 0 ? 1 : i == 1 ? 2048 : (int64_t)pow(2, 11 * counter_rng_unit(3, d, i));
        w->m.shapes[i].dims[2] = w->m.shapes[i].dims[1];
        for (size_t v = 0; v < TILES; v++)
            if (runs(NULL, v, &w->m.shapes[i]))
                costs_set(&w->m, i, v, truth(v, &w->m.shapes[i]));
            else
                costs_exclude(&w->m, i, v);
    }
    costs_finish(&w->m);
    w->c = costmodel_new(&w->m, &source);
    assert_non_null(w->c);
}

static void clear_world(world *w)
{
    costmodel_free(w->c);
    costs_clear(&w->m);
    task_free(w->t);
}

static size_t cell(const shape_grid *g, int64_t M, int64_t N)
{
    const int64_t dims[TASK_MAX_DIMS] = {M, N, N};
    return grid_cell(g, dims);
}

static void cells_end_at_powers_of_two(void **state)
{
    (void)state;
    world w;
    make_world(&w, plan_tile, runs_always);
    shape_grid *g = grid_new(w.c);
    assert_non_null(g);
    assert_true(grid_cells(g) > 1000 && grid_cells(g) <= GRID_CELLS);
    for (int64_t x = 4; x <= 1024; x *= 2) {
        const int64_t next = x + (x > 256 ? x / 256 : 1); /* logarithms have 8 bits behind the point */
        assert_true(cell(g, next, 7) > cell(g, x, 7));
        assert_true(cell(g, 7, next) > cell(g, 7, x));
    }
    assert_int_equal(cell(g, 1023, 500), cell(g, 1024, 500));
    assert_int_equal(cell(g, 5000, 3), cell(g, 2048, 3)); /* beyond: the end */
    assert_int_equal(cell(g, 0, 3), cell(g, 1, 3));
    assert_true(cell(g, 2048, 2048) == grid_cells(g) - 1 && cell(g, 1, 1) == 0);
    grid_free(g);
    clear_world(&w);
}

/* Every sample's values lie in its cell, or below it where the cell has no whole number. */
static void samples_lie_in_their_cells(void **state)
{
    (void)state;
    world w;
    make_world(&w, plan_tile, runs_always);
    shape_grid *g = grid_new(w.c);
    for (size_t a = 0; a < g->n_axes; a++) {
        size_t inside = 0, odd = 0, aligned = 0;
        for (size_t k = 0; k < (size_t)g->axes[a].n; k++)
            for (size_t i = 0; i < g->axes[a].n_values[k]; i++) {
                const int64_t x = g->axes[a].values[k * GRID_VALUES + i];
                const size_t at = a == 0 ? cell(g, x, 1) / (size_t)g->axes[1].n : cell(g, 1, x);
                assert_true(at <= k);
                inside += at == k;
                odd += x % 2 == 1;
                aligned += x % 4 == 0;
            }
        assert_true(inside > (size_t)g->axes[a].n && odd > 20 && aligned > 20);
    }
    grid_free(g);
    clear_world(&w);
}

/* The first of a ranking that a sample runs is nearly the best there, on the mean of a cell's samples. */
static void rankings_serve_their_samples(void **state)
{
    (void)state;
    world w;
    make_world(&w, plan_tile, runs_aligned);
    shape_grid *g = grid_new(w.c);
    double fits[TILES][COSTMODEL_TERMS];
    size_t conditional = 0;
    grid_fit(g, &w.all, NULL);
    for (size_t v = 0; v < TILES; v++)
        costmodel_fit(w.c, v, NULL, fits[v]);
    for (int64_t M = 6; M <= 1536; M *= 2)
        for (int64_t N = 6; N <= 1536; N *= 2) {
            size_t ranked[HEADER_TREE_RANKED];
            double ratio[HEADER_TREE_RANKED];
            grid_rank(g, cell(g, M, N), ranked, ratio);
            bool all = false;
            for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
                assert_true(ranked[k] < TILES && ratio[k] > 0);
                for (size_t i = 0; i < k; i++)
                    assert_true(ranked[i] != ranked[k]);
                all |= ranked[k] < 3;
            }
            assert_true(all); /* no shape is left without a variant */
            conditional += ranked[0] >= 3;
            for (int64_t more = 0; more < 2; more++) { /* aligned, and not */
                const task_shape s = {.dims = {M + (4 - M % 4) % 4 - more, N, N}};
                double best = INFINITY, chosen = NAN;
                for (size_t v = 0; v < TILES; v++)
                    if (runs_aligned(NULL, v, &s))
                        best = fmin(best, costmodel_ns(w.c, v, fits[v], &s));
                for (size_t k = HEADER_TREE_RANKED; k-- > 0;)
                    if (runs_aligned(NULL, ranked[k], &s))
                        chosen = costmodel_ns(w.c, ranked[k], fits[ranked[k]], &s);
                if (!(chosen < 1.5 * best))
                    fail_msg("%lld x %lld: %.0f, best %.0f", (long long)s.dims[0], (long long)N, chosen, best);
            }
        }
    assert_true(conditional > 0);
    grid_free(g);
    clear_world(&w);
}

/* Looked up as products or planned each time: the same numbers. */
static void products_are_what_plans_say(void **state)
{
    (void)state;
    for (int sum = 0; sum < 2; sum++) {
        world w;
        make_world(&w, sum ? plan_sum : plan_tile, runs_always);
        shape_grid *g = grid_new(w.c);
        double fits[COSTMODEL_TERMS];
        grid_fit(g, &w.all, NULL);
        assert_true(sum ? grid_cells(g) <= GRID_CELLS_SLOW : grid_cells(g) > GRID_CELLS_SLOW);
        for (size_t v = 0; v < TILES; v++) {
            assert_int_equal(grid_is_product(g, v), !sum);
            costmodel_fit(w.c, v, NULL, fits);
            for (uint64_t i = 0; i < 200; i++) {
                grid_sample x = {0};
                task_shape s;
                for (size_t a = 0; a < g->n_axes; a++)
                    x.at[a] = (size_t)(counter_rng_u64(5, a, i) % ((size_t)g->axes[a].n * GRID_VALUES));
                assert_true(grid_shape(g, &x, &s));
                assert_int_equal(s.dims[2], s.dims[1]); /* the stride has its default */
                const double ns = grid_ns(g, v, &x, &s, costmodel_bytes(w.c, &s));
                assert_true(fabs(ns / costmodel_ns(w.c, v, fits, &s) - 1) < 1e-9);
            }
        }
        grid_free(g);
        clear_world(&w);
    }
}

static void settled_leaves_are_the_rankings(void **state)
{
    (void)state;
    world w;
    grid_leaves l;
    make_world(&w, plan_tile, runs_aligned);
    shape_grid *g = grid_new(w.c);
    grid_fit(g, &w.all, NULL);
    grid_settle(g, &l);
    assert_true(l.n > 1 && l.n < grid_cells(g));
    size_t cells = 0;
    for (size_t i = 0; i < l.n; i++) {
        assert_true(i == 0 || l.items[i].n_cells <= l.items[i - 1].n_cells);
        cells += l.items[i].n_cells;
    }
    assert_int_equal(cells, grid_cells(g));
    for (uint64_t i = 0; i < 300; i++) {
        const int64_t M = 1 + (int64_t)(counter_rng_u64(6, 0, i) % 3000),
                      N = 1 + (int64_t)(counter_rng_u64(6, 1, i) % 3000);
        const int64_t dims[TASK_MAX_DIMS] = {M, N, N};
        size_t ranked[HEADER_TREE_RANKED];
        double ratio[HEADER_TREE_RANKED];
        grid_rank(g, cell(g, M, N), ranked, ratio);
        assert_memory_equal(l.items[grid_leaf_of(&l, w.t, dims)].ranked, ranked, sizeof ranked);
    }
    /* As a tree: its reach is four times the measured dims, and no further. */
    shape_features f;
    features_of_task(w.t, &f);
    const size_t n = l.n;
    tree *t = tree_of_grid(&w.m, &f, &w.all, &l);
    const int64_t near[TASK_MAX_DIMS] = {8192, 1, 1}, far[TASK_MAX_DIMS] = {8193, 1, 1};
    assert_true(tree_variant(t, near, 0) < TILES);
    assert_true(tree_variant(t, far, 0) == SIZE_MAX);
    assert_int_equal(tree_leaves(t), n);
    assert_int_equal(tree_cells(t), grid_cells(g));
    header_tree h;
    double *regret = mem_calloc(n, sizeof *regret);
    for (size_t i = 0; i < n; i++)
        regret[i] = 1.25;
    tree_export(t, regret, &h);
    assert_int_equal(h.n_nodes, 0);
    assert_int_equal(h.n_leaves, n);
    assert_true(h.leaves[0].expected_regret[0] >= 1.25f);
    for (size_t i = 0; i < SHAPES; i++) {
        const int64_t *dims = w.m.shapes[i].dims;
        assert_int_equal(h.leaves[tree_leaf(t, dims)].variants[0], (int)tree_variant(t, dims, 0));
    }
    free(regret);
    free(h.grid->leaf);
    free(h.grid);
    free(h.nodes);
    free(h.leaves);
    tree_free(t);
    grid_free(g);
    clear_world(&w);
}

/* What is held out is asked of a grid that has not seen it; and sizes are recommended by that. */
static void held_out_regret(void **state)
{
    (void)state;
    world w;
    bool used[SHAPES];
    double ratios[SHAPES] = {0};
    tree_sizes sizes;
    regret_sum r = {0};
    make_world(&w, plan_tile, runs_aligned);
    shape_grid *g = grid_new(w.c);
    for (size_t i = 0; i < SHAPES; i++)
        used[i] = i % 4 != 0;
    grid_hold_out(g, &w.m, &w.all, used, ratios);
    for (size_t i = 0; i < SHAPES; i++) {
        assert_true(used[i] ? ratios[i] == 0 : ratios[i] >= 1);
        if (!used[i])
            regret_add(&r, ratios[i], 1);
    }
    assert_true(regret_geomean(&r) < 1.1);
    tree_try_sizes(&w.m, w.c, &sizes);
    assert_int_equal(sizes.n, 1); /* there are fewer variants than the default */
    assert_int_equal(sizes.recommended, TILES);
    assert_true(sizes.held_out[0].weight == SHAPES);
    tree_try_sizes(&w.m, NULL, &sizes);
    assert_int_equal(sizes.n, 0);
    grid_free(g);
    clear_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_end_at_powers_of_two),      cmocka_unit_test(samples_lie_in_their_cells),
        cmocka_unit_test(rankings_serve_their_samples),    cmocka_unit_test(products_are_what_plans_say),
        cmocka_unit_test(settled_leaves_are_the_rankings), cmocka_unit_test(held_out_regret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
