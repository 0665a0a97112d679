/* Spaces too large for brute force, their limits, and what is said when nothing is left. */
#include "support_problem.h"

#include "base/counter_rng.h"
#include "base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next64(void *cookie)
{
    uint64_t *i = cookie;
    return counter_rng_u64(3, 1, (*i)++);
}

static void make(const problem_param *params, size_t n_params, const char *const *constraints, size_t n_constraints,
                 problem *p)
{
    kw_error err;
    if (problem_make(params, n_params, constraints, n_constraints, p, &err) != KW_OK)
        fail_msg("%s", err.message);
}

/* n parameters x0, x1, ... with the same values. */
static void make_equal(size_t n, const char *values, const char *const *constraints, size_t n_constraints, problem *p)
{
    problem_param *params = mem_calloc(n, sizeof *params);
    arena *names = arena_new();
    for (size_t i = 0; i < n; i++)
        params[i] = (problem_param){arena_printf(names, "x%zu", i), values};
    make(params, n, constraints, n_constraints, p);
    arena_free(names);
    free(params);
}

static space *build(const problem *p)
{
    kw_error err;
    space *s = NULL;
    if (space_new(&p->def, 0, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

/* Samples and neighbours of a large space, held to the constraints and to its own ranks. */
static void spot_check(const space *s, const problem *p)
{
    size_t n = space_params(s);
    uint32_t *config = mem_alloc(n * sizeof *config), *other = mem_alloc(64 * n * sizeof *other);
    uint64_t random = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t rank = UINT64_MAX, again = 0;
        space_sample(s, next64, &random, config);
        assert_true(problem_allows(p, config));
        assert_true(space_contains(s, config));
        if (space_count(s) < UINT64_MAX) {
            assert_true(space_rank(s, config, &rank));
            space_unrank(s, rank, other);
            assert_memory_equal(other, config, n * sizeof *config);
        }
        size_t found = space_neighbours(s, config, SPACE_HAMMING, other, 64);
        for (size_t k = 0; k < found && k < 64; k++) {
            assert_true(problem_allows(p, other + k * n));
            assert_true(space_rank(s, other + k * n, &again));
        }
        space_neighbours(s, config, SPACE_ADJACENT, other, 64);
        assert_true(problem_allows(p, other));
    }
    free(config);
    free(other);
}

/* ---- counts known from elsewhere ---- */

static char *shared_folder(void)
{
    const char *set = getenv("KERNWRIGHT_TEST_SPACES");
    return mem_strdup(set ? set : "../shared/data/spaces/problems/construct");
}

static void check_known_count(const char *folder, const char *name, uint64_t count)
{
    strb file = STRB_INIT;
    strb_printf(&file, "%s/%s.T1.json", folder, name);
    problem p;
    kw_error err;
    if (problem_load(strb_text(&file), &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    space *s = build(&p);
    assert_true(space_count(s) == count);
    assert_true(space_bytes(s) < 1 << 20);
    spot_check(s, &p);
    space_free(s);
    problem_clear(&p);
    strb_clear(&file);
}

/* COUNTS.tsv: a header, then lines of name, .., valid (sixth column). */
static void published_counts(void **state)
{
    (void)state;
    char *folder = shared_folder();
    char *path = fs_join(folder, "COUNTS.tsv");
    strb text = STRB_INIT;
    kw_error err;
    if (fs_read(path, 0, &text, &err) != KW_OK) {
        print_message("skipped: no %s (KERNWRIGHT_TEST_SPACES names its folder)\n", path);
        free(path);
        free(folder);
        skip();
    }
    size_t n = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *field[8] = {0}, *tail = NULL;
        size_t k = 0;
        for (char *f = strtok_r(line, "\t", &tail); f && k < 8; f = strtok_r(NULL, "\t", &tail))
            field[k++] = f;
        if (k < 7 || strcmp(field[0], "name") == 0)
            continue;
        check_known_count(folder, field[0], strtoull(field[5], NULL, 10));
        n++;
    }
    assert_int_equal(n, 11);
    strb_clear(&text);
    free(path);
    free(folder);
}

/* Twelve parameters of ten values, 10^12 combinations: how many have a digit sum of at most 30? */
static void sum_of_twelve(void **state)
{
    (void)state;
    static const char *const sum[] = {"x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11 <= 30"};
    uint64_t ways[128] = {1}, expected = 0;
    for (int i = 0; i < 12; i++)
        for (int total = 127; total >= 0; total--)
            for (int digit = 1; digit < 10 && digit <= total; digit++)
                ways[total] += ways[total - digit];
    for (int total = 0; total <= 30; total++)
        expected += ways[total];
    problem p;
    make_equal(12, "list(range(10))", sum, 1, &p);
    space *s = build(&p);
    assert_true(space_cartesian(s) == 1e12);
    assert_true(space_count(s) == expected);
    spot_check(s, &p);
    space_free(s);
    problem_clear(&p);
}

static void ten_to_the_twelfth_without_constraints(void **state)
{
    (void)state;
    problem p;
    make_equal(12, "list(range(10))", NULL, 0, &p);
    space *s = build(&p);
    assert_true(space_count(s) == 1000000000000u);
    uint32_t config[12], near[12];
    space_unrank(s, 123456789012u, config);
    static const uint32_t digits[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2};
    assert_memory_equal(config, digits, sizeof digits);
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, near, 1), 12 * 9);
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, NULL, 0), 12 * 9);
    spot_check(s, &p);
    space_free(s);
    problem_clear(&p);
}

/* ---- counts beyond 64 bits ---- */

static void more_than_fit(void **state)
{
    (void)state;
    problem p;
    make_equal(80, "[0, 1]", NULL, 0, &p);
    space *s = build(&p);
    assert_true(space_count(s) == UINT64_MAX);
    uint64_t rank = 0;
    uint32_t config[80];
    space_unrank(s, 12345, config);
    assert_true(space_rank(s, config, &rank));
    assert_true(rank == 12345);
    spot_check(s, &p);
    assert_true(space_neighbours(s, config, SPACE_ADJACENT, NULL, 0) == SIZE_MAX);
    space_free(s);
    problem_clear(&p);
}

/* One diagram with 2^70 paths but for the one of all zeros: every parameter must be 1 in half of the samples. */
static void more_than_fit_in_one_diagram(void **state)
{
    (void)state;
    strb sum = STRB_INIT;
    for (int i = 0; i < 70; i++)
        strb_printf(&sum, "%sx%d", i ? " + " : "", i);
    strb_add(&sum, " >= 1");
    const char *const constraint[] = {strb_text(&sum)};
    problem p;
    make_equal(70, "[0, 1]", constraint, 1, &p);
    space *s = build(&p);
    assert_true(space_count(s) == UINT64_MAX);
    size_t ones[70] = {0};
    uint64_t random = 0;
    for (int i = 0; i < 4000; i++) {
        uint32_t config[70];
        space_sample(s, next64, &random, config);
        for (int k = 0; k < 70; k++)
            ones[k] += config[k];
    }
    for (int k = 0; k < 70; k++)
        assert_in_range(ones[k], 2000 - 160, 2000 + 160); /* five standard deviations */
    uint64_t rank = 0;
    uint32_t config[70];
    space_unrank(s, 99, config);
    assert_true(space_rank(s, config, &rank));
    assert_true(rank == 99);
    space_free(s);
    problem_clear(&p);
    strb_clear(&sum);
}

/* ---- limits ---- */

/* Sums of different powers never coincide, so nothing merges before the remainder is taken. */
static void too_large_says_so(void **state)
{
    (void)state;
    static const char *const mixed[] = {
        "x0 <= x1", "(x0 + 10*x1 + 100*x2 + 1000*x3 + 10000*x4 + 100000*x5 + 1000000*x6 + 10000000*x7) % 97 == 0"};
    problem p;
    make_equal(8, "list(range(10))", mixed, 2, &p);
    space *s = NULL;
    kw_error err;
    kw_error_clear(&err);
    assert_int_equal(space_new(&p.def, &(space_limits){.max_bytes = 2 << 20}, &s, &err), KW_BAD_INPUT);
    assert_null(s);
    assert_non_null(strstr(err.message, "more than 2 MiB"));
    assert_non_null(strstr(err.message, "10000000*x7) % 97 == 0"));
    problem_clear(&p);
}

/* 100 x 100 pairs of which few are valid: levels that are searched, not looked up in a table. */
static void neighbours_in_sparse_levels(void **state)
{
    (void)state;
    static const char *const alike[] = {"x0 % 50 == x1 % 50", "x1 % 50 == x2 % 50"};
    problem p;
    make_equal(3, "list(range(100))", alike, 2, &p);
    space *s = build(&p);
    assert_true(space_count(s) == 400);
    uint32_t config[3] = {7, 57, 7}, near[3 * 3];
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, near, 3), 3);
    for (int i = 0; i < 3; i++)
        assert_true(space_contains(s, near + 3 * i));
    assert_true(space_bytes(s) < 20000); /* a table alone would take 20,000 for each level */
    config[2] = 8;
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, NULL, 0), 0); /* of what is not valid, */
    config[2] = 1000;
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, NULL, 0), 0); /* or no configuration at all */
    space_free(s);
    problem_clear(&p);
}

/* ---- small ones ---- */

static void one_configuration(void **state)
{
    (void)state;
    static const char *const pin[] = {"x0 + x1 + x2 == 6", "x0 >= 2"};
    problem p;
    make_equal(3, "[0, 1, 2]", pin, 2, &p);
    space *s = build(&p);
    assert_true(space_count(s) == 1);
    uint32_t config[3];
    space_unrank(s, 0, config);
    for (int i = 0; i < 3; i++)
        assert_int_equal(config[i], 2);
    assert_int_equal(space_neighbours(s, config, SPACE_ADJACENT, NULL, 0), 0);
    assert_int_equal(space_neighbours(s, config, SPACE_HAMMING, NULL, 0), 0);
    space_free(s);
    problem_clear(&p);
}

static void no_parameters(void **state)
{
    (void)state;
    problem p;
    make(NULL, 0, NULL, 0, &p);
    space *s = build(&p);
    assert_true(space_count(s) == 1);
    assert_true(space_cartesian(s) == 1);
    uint64_t rank = 9;
    uint32_t config[1];
    space_unrank(s, 0, config);
    assert_true(space_rank(s, config, &rank));
    assert_true(rank == 0);
    space_free(s);
    problem_clear(&p);
}

/* ---- empty ones ---- */

static void expect_empty(const char *const *constraints, size_t n, const char *has, const char *has_not)
{
    problem p;
    make_equal(4, "[1, 2, 4, 8]", constraints, n, &p);
    space *s = NULL;
    kw_error err;
    kw_error_clear(&err);
    assert_int_equal(space_new(&p.def, 0, &s, &err), KW_FAILED);
    assert_null(s);
    if (!strstr(err.message, has))
        fail_msg("'%s' is not in: %s", has, err.message);
    if (has_not && strstr(err.message, has_not))
        fail_msg("'%s' is in: %s", has_not, err.message);
    problem_clear(&p);
}

static void empty_names_the_culprit(void **state)
{
    (void)state;
    static const char *const alone[] = {"x0 < x1", "x2 > 8", "x0 > x1"};
    expect_empty(alone, 3, "the constraint 'x2 > 8' rejects every combination", "x0");
    static const char *const product[] = {"x3 == 1", "x0 * x1 * x2 > 512"};
    expect_empty(product, 2, "the constraint 'x0 * x1 * x2 > 512' rejects every combination", "x3");
    static const char *const cycle[] = {"x3 != 4", "x0 < x1", "x1 < x2", "x0 != 8", "x2 < x0", "x3 > 100"};
    expect_empty(cycle, 6, "the constraints 'x0 < x1', 'x1 < x2' and 'x2 < x0' exclude each other", "x3");
}

static void errors_reject(void **state)
{
    (void)state;
    static const char *const some[] = {"x0 % (x1 - 2) == 0"}; /* fails for x1 = 2: rejected, and no more */
    problem p;
    make_equal(2, "[1, 2, 4, 8]", some, 1, &p);
    space *s = build(&p);
    uint32_t config[2] = {1, 1};
    strb text = STRB_INIT;
    assert_false(space_contains(s, config));
    assert_int_equal(space_explain(s, config, &text), 0);
    assert_non_null(strstr(strb_text(&text), "'x0 % (x1 - 2) == 0' fails for x0=2, x1=2: "));
    assert_non_null(strstr(strb_text(&text), "zero"));
    strb_reset(&text);
    config[0] = 0;
    config[1] = 3; /* 1 % 6 */
    assert_int_equal(space_explain(s, config, &text), 0);
    assert_string_equal(strb_text(&text), "'x0 % (x1 - 2) == 0' is false for x0=1, x1=8");
    strb_clear(&text);
    space_free(s);
    problem_clear(&p);
}

static void errors_everywhere_are_the_message(void **state)
{
    (void)state;
    static const char *const constant[] = {"x0 < x1", "x0 % (8 - 8) == 0"};
    expect_empty(constant, 2, "zero", "x1");
    static const char *const tied[] = {"x0 < x1", "x0 % ((x1 - x1) * x2) == 0"};
    expect_empty(tied, 2, "zero", "x0 < x1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_counts),
        cmocka_unit_test(sum_of_twelve),
        cmocka_unit_test(ten_to_the_twelfth_without_constraints),
        cmocka_unit_test(more_than_fit),
        cmocka_unit_test(more_than_fit_in_one_diagram),
        cmocka_unit_test(too_large_says_so),
        cmocka_unit_test(neighbours_in_sparse_levels),
        cmocka_unit_test(one_configuration),
        cmocka_unit_test(no_parameters),
        cmocka_unit_test(empty_names_the_culprit),
        cmocka_unit_test(errors_reject),
        cmocka_unit_test(errors_everywhere_are_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
