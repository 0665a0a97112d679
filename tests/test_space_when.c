/* Parameters that exist only where others have certain values, held to brute force; and one random neighbour. */
#include "support_problem.h"

#include "base/counter_rng.h"

#include <gsl/gsl_cdf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 5

/* LOCAL switches PAD; PAD, where it exists and is not 0, switches SKEW; TILE is always there. */
static const problem_param params[N] = {{"TILE", "[1, 2, 3, 4]"},
                                        {"LOCAL", "[0, 1, 2]"},
                                        {"PAD", "[4, 2, 1, 0]"},
                                        {"SKEW", "[0, 1, 2, 3, 4]"},
                                        {"LAST", "[0, 1, 2]"}};
static const char *const constraints[] = {"LOCAL != 0 or PAD == 0", "PAD != 0 or SKEW == 2", "TILE * PAD + SKEW <= 9",
                                          "LAST <= LOCAL"};

typedef struct fixture {
    problem p;
    space *s;
    uint32_t *valid; /* rows */
    size_t n;
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    kw_error err = {0};
    if (problem_make(params, N, constraints, sizeof constraints / sizeof *constraints, &f.p, &err) != KW_OK)
        return -1;
    f.p.params[2].when = expr_parse(f.p.memory, "LOCAL != 0", f.p.scope, (expr_where){0}, &err);
    f.p.params[2].preset = 3;
    f.p.params[3].when = expr_parse(f.p.memory, "PAD != 0", f.p.scope, (expr_where){0}, &err);
    f.p.params[3].preset = 2;
    if (space_new(&f.p.def, NULL, &f.s, &err) != KW_OK)
        return -1;
    f.valid = mem_alloc((size_t)(4 * 3 * 4 * 5 * 3) * N * sizeof *f.valid);
    for (uint32_t i = 0; i < 4 * 3 * 4 * 5 * 3; i++) {
        const uint32_t c[N] = {i % 4, i / 4 % 3, i / 12 % 4, i / 48 % 5, i / 240};
        if (problem_allows(&f.p, c))
            memcpy(f.valid + f.n++ * N, c, sizeof c);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    space_free(f.s);
    problem_clear(&f.p);
    free(f.valid);
    return 0;
}

/* The same rules once more, in C. */
static bool exists(const uint32_t *c, size_t i)
{
    return i == 2 ? c[1] != 0 : i == 3 ? c[2] != 3 : true;
}

static void settle(uint32_t *c)
{
    if (!exists(c, 2))
        c[2] = 3;
    if (!exists(c, 3))
        c[3] = 2;
}

static bool is_neighbour(const uint32_t *a, const uint32_t *b, space_neighbourhood kind)
{
    if (memcmp(a, b, N * sizeof *a) == 0)
        return false;
    for (size_t i = 0; i < N && kind != SPACE_ADJACENT; i++) {
        uint32_t c[N];
        memcpy(c, a, sizeof c);
        c[i] = b[i];
        settle(c);
        bool near = kind == SPACE_HAMMING || a[i] + 1 == b[i] || b[i] + 1 == a[i];
        if (a[i] != b[i] && near && exists(a, i) && memcmp(c, b, sizeof c) == 0)
            return true;
    }
    for (size_t i = 0; i < N && kind == SPACE_ADJACENT; i++) {
        bool near = a[i] <= b[i] + 1 && b[i] <= a[i] + 1;
        if (exists(b, i) && !near)
            return false;
    }
    return kind == SPACE_ADJACENT;
}

static size_t row_of(const uint32_t *config)
{
    size_t i = 0;
    while (i < f.n && memcmp(f.valid + i * N, config, N * sizeof *config) != 0)
        i++;
    return i;
}

static void each_counts_once(void **state)
{
    (void)state;
    assert_true(space_count(f.s) == f.n);
    size_t without_local = 0;
    for (size_t i = 0; i < f.n; i++) {
        const uint32_t *c = f.valid + i * N;
        without_local += c[1] == 0;
        for (size_t k = 0; k < N; k++)
            assert_true(space_param_exists(f.s, k, c) == exists(c, k));
    }
    assert_int_equal(without_local, 4); /* TILE only: no duplicates for PAD and SKEW */
}

static void neighbours_see_through_it(void **state)
{
    (void)state;
    static uint32_t found[720 * N];
    for (size_t i = 0; i < f.n; i++) {
        const uint32_t *c = f.valid + i * N;
        for (int kind = SPACE_HAMMING; kind <= SPACE_STRICTLY_ADJACENT; kind++) {
            size_t expected = 0, n = space_neighbours(f.s, c, (space_neighbourhood)kind, found, 720);
            bool seen[720] = {false};
            for (size_t k = 0; k < f.n; k++)
                expected += is_neighbour(c, f.valid + k * N, (space_neighbourhood)kind);
            assert_int_equal(n, expected);
            for (size_t k = 0; k < n; k++) {
                size_t row = row_of(found + k * N);
                assert_true(row < f.n && !seen[row]);
                seen[row] = true;
                assert_true(is_neighbour(c, found + k * N, (space_neighbourhood)kind));
            }
        }
    }
}

/* Turning LOCAL off from a padded configuration is one difference, and the way back too. */
static void a_switch_is_one_difference(void **state)
{
    (void)state;
    const uint32_t padded[N] = {0, 1, 1, 4, 0}, off[N] = {0, 0, 3, 2, 0}, bare[N] = {0, 1, 3, 2, 0};
    assert_true(row_of(padded) < f.n && row_of(off) < f.n && row_of(bare) < f.n);
    assert_true(is_neighbour(padded, off, SPACE_HAMMING));
    assert_true(is_neighbour(off, bare, SPACE_HAMMING));
    assert_false(is_neighbour(off, padded, SPACE_HAMMING));
}

static uint64_t next64(void *cookie)
{
    uint64_t *i = cookie;
    return counter_rng_u64(5, 1, (*i)++);
}

/* Chi-square over the neighbours, 30 draws expected for each; the seed is fixed. */
static void check_uniform(const space *s, const uint32_t *config, size_t n_params)
{
    static uint32_t all[1000 * 16], one[16];
    size_t n = space_neighbours(s, config, SPACE_HAMMING, all, 1000), hits[1000] = {0};
    uint64_t random = 0;
    assert_true(n <= 1000);
    assert_true(space_random_neighbour(s, config, next64, &random, one) == (n > 0));
    for (size_t i = 0; i < 30 * n; i++) {
        size_t k = 0;
        assert_true(space_random_neighbour(s, config, next64, &random, one));
        while (k < n && memcmp(all + k * n_params, one, n_params * sizeof *one) != 0)
            k++;
        assert_true(k < n);
        hits[k]++;
    }
    double chi2 = 0;
    for (size_t k = 0; k < n; k++)
        chi2 += ((double)hits[k] - 30) * ((double)hits[k] - 30) / 30;
    assert_true(n < 2 || gsl_cdf_chisq_Q(chi2, (double)n - 1) > 1e-5);
}

static void a_random_neighbour_is_uniform(void **state)
{
    (void)state;
    for (size_t i = 0; i < f.n; i += 7)
        check_uniform(f.s, f.valid + i * N, N);
    static const char *const files[] = {"tiled.json", "stencil.json", "switches.json"};
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        problem p;
        space *s;
        kw_error err;
        uint32_t config[16];
        snprintf(path, sizeof path, "tests/recorded/spaces/%s", files[i]);
        assert_int_equal(problem_load(path, &p, &err), KW_OK);
        assert_int_equal(space_new(&p.def, NULL, &s, &err), KW_OK);
        assert_true(space_params(s) <= 16);
        for (uint64_t k = 0; k < 5; k++) {
            space_unrank(s, k * (space_count(s) - 1) / 4, config);
            check_uniform(s, config, space_params(s));
        }
        space_free(s);
        problem_clear(&p);
    }
}

/* Nearly every edge off the path leads nowhere: x0 may take any value, the others must follow it. */
static void few_edges_lead_on(void **state)
{
    (void)state;
    static const problem_param many[] = {{"A", "list(range(400))"}, {"B", "list(range(400))"}, {"C", "[0, 1]"}};
    static const char *const follow[] = {"A % 200 == B % 200", "C == 0 or A == B"};
    problem p;
    space *s;
    kw_error err;
    assert_int_equal(problem_make(many, 3, follow, 2, &p, &err), KW_OK);
    assert_int_equal(space_new(&p.def, NULL, &s, &err), KW_OK);
    const uint32_t config[3] = {7, 7, 0};
    check_uniform(s, config, 3);
    const uint32_t wrong[3] = {7, 8, 0};
    uint32_t out[3];
    uint64_t random = 0;
    assert_false(space_random_neighbour(s, wrong, next64, &random, out));
    space_free(s);
    problem_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_counts_once),           cmocka_unit_test(neighbours_see_through_it),
        cmocka_unit_test(a_switch_is_one_difference), cmocka_unit_test(a_random_neighbour_is_uniform),
        cmocka_unit_test(few_edges_lead_on),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
