/* Spaces held to brute force: random small ones and the recorded ones. */
#include "support_problem.h"

#include "base/counter_rng.h"
#include "base/fs.h"

#include <gsl/gsl_cdf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANDOM_SPACES 300
#define MAX_PARAMS 8

/* ---- brute force ---- */

typedef struct brute {
    size_t n_params, n;
    uint32_t *valid; /* n configurations */
    uint64_t raw;
} brute;

static void nth_combination(const space_def *d, uint64_t i, uint32_t *config)
{
    for (size_t k = d->n_params; k-- > 0; i /= d->params[k].n_values)
        config[k] = (uint32_t)(i % d->params[k].n_values);
}

static brute enumerate(const problem *p)
{
    brute b = {.n_params = p->def.n_params, .raw = 1};
    size_t capacity = 0;
    for (size_t k = 0; k < b.n_params; k++)
        b.raw *= p->def.params[k].n_values;
    for (uint64_t i = 0; i < b.raw; i++) {
        uint32_t config[MAX_PARAMS];
        nth_combination(&p->def, i, config);
        if (!problem_allows(p, config))
            continue;
        b.valid = mem_grow(b.valid, &capacity, (b.n + 1) * b.n_params, sizeof *b.valid);
        memcpy(b.valid + b.n++ * b.n_params, config, b.n_params * sizeof *config);
    }
    return b;
}

/* ---- the checks ---- */

static void check_ranks(const space *s, const brute *b)
{
    assert_true(space_count(s) == b->n);
    bool *seen = mem_calloc(b->n, sizeof *seen);
    for (size_t i = 0; i < b->n; i++) {
        uint32_t config[MAX_PARAMS];
        uint64_t rank = UINT64_MAX;
        assert_true(space_rank(s, b->valid + i * b->n_params, &rank));
        assert_true(rank < b->n);
        assert_false(seen[rank]);
        seen[rank] = true;
        space_unrank(s, rank, config);
        assert_memory_equal(config, b->valid + i * b->n_params, b->n_params * sizeof *config);
    }
    free(seen);
}

static void check_membership(const space *s, const problem *p, const brute *b)
{
    for (uint64_t i = 0; i < b->raw; i++) {
        uint32_t config[MAX_PARAMS];
        nth_combination(&p->def, i, config);
        bool valid = problem_allows(p, config);
        assert_true(space_contains(s, config) == valid);
        strb text = STRB_INIT;
        int who = space_explain(s, config, &text);
        assert_true((who < 0) == valid);
        if (who >= 0)
            assert_non_null(strstr(strb_text(&text), p->def.constraints[who].text));
        strb_clear(&text);
    }
}

static bool is_neighbour(const uint32_t *a, const uint32_t *b, size_t n, space_neighbourhood kind)
{
    size_t differ = 0, by_more = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        differ += d > 0;
        by_more += d > 1;
    }
    if (kind == SPACE_HAMMING)
        return differ == 1;
    if (kind == SPACE_ADJACENT)
        return differ > 0 && by_more == 0;
    return differ == 1 && by_more == 0;
}

static void check_neighbours(const space *s, const brute *b, const uint32_t *config, space_neighbourhood kind)
{
    size_t row = b->n_params * sizeof(uint32_t), expected = 0;
    uint32_t *found = mem_alloc((b->n + 1) * row);
    bool *seen = mem_calloc(b->n, sizeof *seen);
    size_t n = space_neighbours(s, config, kind, found, b->n);
    for (size_t i = 0; i < b->n; i++)
        expected += is_neighbour(config, b->valid + i * b->n_params, b->n_params, kind);
    assert_int_equal(n, expected);
    for (size_t i = 0; i < n; i++) {
        uint64_t rank;
        assert_true(is_neighbour(config, found + i * b->n_params, b->n_params, kind));
        assert_true(space_rank(s, found + i * b->n_params, &rank));
        assert_false(seen[rank]);
        seen[rank] = true;
    }
    uint32_t few[2 * MAX_PARAMS];
    assert_int_equal(space_neighbours(s, config, kind, few, 2), expected); /* capacity does not change the answer */
    assert_memory_equal(few, found, (n < 2 ? n : 2) * row);
    free(found);
    free(seen);
}

static void check_all_neighbours(const space *s, const brute *b)
{
    for (size_t i = 0; i < b->n; i += 1 + b->n / 40) {
        const uint32_t *config = b->valid + i * b->n_params;
        check_neighbours(s, b, config, SPACE_HAMMING);
        check_neighbours(s, b, config, SPACE_ADJACENT);
        check_neighbours(s, b, config, SPACE_STRICTLY_ADJACENT);
    }
}

typedef struct source {
    uint64_t seed, i;
} source;

static uint64_t next64(void *cookie)
{
    source *s = cookie;
    return counter_rng_u64(s->seed, 1, s->i++);
}

/* Chi-square over the configurations, 20 draws expected for each. With a fixed seed this cannot flicker. */
static void check_uniform(const space *s, const brute *b, uint64_t seed)
{
    if (b->n < 2 || b->n > 2000)
        return;
    source random = {seed, 0};
    size_t draws = 20 * b->n, *hits = mem_calloc(b->n, sizeof *hits);
    for (size_t i = 0; i < draws; i++) {
        uint32_t config[MAX_PARAMS];
        uint64_t rank = 0;
        space_sample(s, next64, &random, config);
        assert_true(space_rank(s, config, &rank));
        hits[rank]++;
    }
    double chi2 = 0;
    for (size_t i = 0; i < b->n; i++)
        chi2 += ((double)hits[i] - 20) * ((double)hits[i] - 20) / 20;
    free(hits);
    assert_true(gsl_cdf_chisq_Q(chi2, (double)b->n - 1) > 1e-5);
}

static void check_problem(const problem *p, uint64_t seed)
{
    brute b = enumerate(p);
    space *s = NULL;
    kw_error err;
    kw_error_clear(&err);
    kw_code code = space_new(&p->def, 0, &s, &err);
    if (b.n == 0) {
        assert_int_equal(code, KW_FAILED);
        assert_null(s);
        assert_non_null(strstr(err.message, "no configuration is valid"));
        return;
    }
    assert_int_equal(code, KW_OK);
    assert_true(space_cartesian(s) == (double)b.raw);
    check_ranks(s, &b);
    check_membership(s, p, &b);
    check_all_neighbours(s, &b);
    check_uniform(s, &b, seed);
    space_free(s);
    free(b.valid);
}

/* ---- random spaces ---- */

typedef struct maker {
    uint64_t seed, i;
    size_t n_params;
} maker;

static size_t pick(maker *m, size_t n)
{
    return counter_rng_u64(m->seed, 2, m->i++) % n;
}

static void number(maker *m, int depth, strb *out)
{
    static const char *const ops[] = {"+", "-", "*", "//", "%", "/", "+", "*"};
    size_t what = pick(m, depth > 0 ? 8 : 3);
    if (what < 2) {
        strb_printf(out, "p%zu", pick(m, m->n_params));
    } else if (what == 2) {
        strb_printf(out, "%zu", pick(m, 12));
    } else if (what == 3) {
        strb_add(out, pick(m, 2) ? "min(" : "max(");
        number(m, depth - 1, out);
        strb_add(out, ", ");
        number(m, depth - 1, out);
        strb_add(out, ")");
    } else {
        strb_add(out, "(");
        number(m, depth - 1, out);
        strb_printf(out, " %s ", ops[pick(m, 8)]);
        number(m, depth - 1, out);
        strb_add(out, ")");
    }
}

static void condition(maker *m, int depth, strb *out)
{
    static const char *const comparisons[] = {"<=", ">=", "==", "!=", "<", ">", "<=", ">="};
    size_t what = pick(m, depth > 0 ? 8 : 4);
    if (what == 4 || what == 5) {
        strb_add(out, "(");
        condition(m, depth - 1, out);
        strb_add(out, what == 4 ? " or " : " and ");
        condition(m, depth - 1, out);
        strb_add(out, ")");
    } else if (what == 6) {
        strb_add(out, "(");
        condition(m, depth - 1, out);
        strb_add(out, " if ");
        condition(m, depth - 1, out);
        strb_add(out, " else ");
        condition(m, depth - 1, out);
        strb_add(out, ")");
    } else if (what == 7) {
        strb_add(out, "not ");
        condition(m, depth - 1, out);
    } else {
        strb_add(out, "(");
        number(m, 3, out);
        strb_printf(out, " %s ", comparisons[pick(m, 8)]);
        number(m, 2, out);
        strb_add(out, ")");
    }
}

static const char *random_values(maker *m)
{
    static const char *const lists[] = {"[0, 1]",        "[1, 2, 4, 8]", "[3]",           "[1, 2, 3, 4, 5, 6]",
                                        "[False, True]", "[-2, 0, 7]",   "[0.5, 1, 2.0]", "[16, 8, 4]",
                                        "[0, 1, 2, 3]"};
    return lists[pick(m, sizeof lists / sizeof *lists)];
}

static void random_spaces(void **state)
{
    (void)state;
    size_t empty = 0, large = 0;
    for (uint64_t seed = 1; seed <= RANDOM_SPACES; seed++) {
        maker m = {seed, 0, 0};
        m.n_params = 3 + pick(&m, 4);
        problem_param params[MAX_PARAMS];
        strb names[MAX_PARAMS] = {0}, texts[4] = {0};
        const char *constraints[4];
        for (size_t i = 0; i < m.n_params; i++) {
            strb_printf(&names[i], "p%zu", i);
            params[i] = (problem_param){strb_text(&names[i]), random_values(&m)};
        }
        size_t n = 1 + pick(&m, 3);
        for (size_t i = 0; i < n; i++) {
            condition(&m, 2, &texts[i]);
            constraints[i] = strb_text(&texts[i]);
        }
        problem p;
        kw_error err;
        assert_int_equal(problem_make(params, m.n_params, constraints, n, &p, &err), KW_OK);
        check_problem(&p, seed);
        brute b = enumerate(&p);
        empty += b.n == 0;
        large += b.n > 50;
        free(b.valid);
        problem_clear(&p);
        for (size_t i = 0; i < MAX_PARAMS; i++)
            strb_clear(&names[i]);
        for (size_t i = 0; i < 4; i++)
            strb_clear(&texts[i]);
    }
    /* The generator must not have gone lame. */
    print_message("%zu of %d random spaces are empty, %zu have over 50 configurations\n", empty, RANDOM_SPACES, large);
    assert_true(empty > 10);
    assert_true(large > 50);
}

/* ---- recorded spaces ---- */

static void recorded(const char *name)
{
    char *path = fs_join("tests/recorded/spaces", name);
    problem p;
    kw_error err;
    if (problem_load(path, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    check_problem(&p, 7);
    problem_clear(&p);
    free(path);
}

static void recorded_tiled(void **state)
{
    (void)state;
    recorded("tiled.json");
}

static void recorded_stencil(void **state)
{
    (void)state;
    recorded("stencil.json");
}

static void recorded_switches(void **state)
{
    (void)state;
    recorded("switches.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_spaces),
        cmocka_unit_test(recorded_tiled),
        cmocka_unit_test(recorded_stencil),
        cmocka_unit_test(recorded_switches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
