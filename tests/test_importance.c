/* Parameter importance, on functions whose shares of variance are known. */
#include "tests/store_fixture.h"
#include "tuner/importance.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_PARAMS 8

/* Every combination of `n_values`, with the response of f. */
typedef struct grid {
    size_t n_values[MAX_PARAMS];
    uint32_t *values, *config;
    double *response;
    importance_data d;
} grid;

static void make(grid *g, const size_t *n_values, size_t n_params, double (*f)(const uint32_t *v))
{
    size_t n = 1;
    for (size_t p = 0; p < n_params; p++)
        n *= g->n_values[p] = n_values[p];
    g->values = mem_calloc(n * n_params, sizeof *g->values);
    g->config = mem_calloc(n, sizeof *g->config);
    g->response = mem_calloc(n, sizeof *g->response);
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        for (size_t p = 0; p < n_params; p++) {
            g->values[i * n_params + p] = (uint32_t)(rest % n_values[p]);
            rest /= n_values[p];
        }
        g->config[i] = (uint32_t)i;
        g->response[i] = f(g->values + i * n_params);
    }
    g->d = (importance_data){n_params, n, g->n_values, g->values, g->response, g->config, n};
}

static void clear(grid *g)
{
    free(g->values);
    free(g->config);
    free(g->response);
}

static double share_of(const importance *i, size_t a, size_t b)
{
    const importance_share *list = b == SIZE_MAX ? i->mains : i->pairs;
    for (size_t k = 0; k < (b == SIZE_MAX ? i->n_mains : i->n_pairs); k++)
        if (list[k].a == a && list[k].b == b)
            return list[k].share;
    fail_msg("no share of %zu, %zu", a, b);
    return NAN;
}

static void expect_near(double x, double wanted, double tolerance)
{
    if (!(fabs(x - wanted) <= tolerance))
        fail_msg("%g is not within %g of %g", x, tolerance, wanted);
}

static void compute(const grid *g, importance *out)
{
    kw_error err;
    if (importance_of(&g->d, 1, out, &err) != KW_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < out->n_mains + out->n_pairs; i++) {
        const importance_share *s = i < out->n_mains ? &out->mains[i] : &out->pairs[i - out->n_mains];
        assert_true(s->share >= 0 && s->share <= 1 + 1e-9);
        assert_true(s->lo <= s->share && s->share <= s->hi);
    }
    for (size_t i = 1; i < out->n_mains; i++)
        assert_true(out->mains[i].share <= out->mains[i - 1].share);
}

/* Variances of 0..3 and of 0..1 are 5/4 and 1/4. */
static double additive(const uint32_t *v)
{
    return 2.0 * v[0] + 3.0 * (1 - v[1]);
}

static void main_effects(void **state)
{
    (void)state;
    grid g;
    importance i;
    make(&g, (const size_t[]){4, 2, 3, 5, 1}, 5, additive);
    compute(&g, &i);
    const double a = 4 * 1.25, b = 9 * 0.25;
    expect_near(share_of(&i, 0, SIZE_MAX), a / (a + b), 0.03);
    expect_near(share_of(&i, 1, SIZE_MAX), b / (a + b), 0.03);
    expect_near(share_of(&i, 2, SIZE_MAX), 0, 0.01);
    expect_near(share_of(&i, 3, SIZE_MAX), 0, 0.01);
    expect_near(share_of(&i, 0, 1), 0, 0.01);
    assert_int_equal(i.n_mains, 4); /* the one with one value is not there */
    assert_int_equal(i.n_pairs, 6);
    assert_int_equal(i.mains[0].a, 0);
    assert_int_equal(i.mains[0].best, 0);
    assert_int_equal(i.mains[1].best, 1);
    assert_true(i.explained > 0.95);
    importance_clear(&i);
    clear(&g);
}

/* What one does depends on the other: neither matters alone. The hardest case for trees, whose first cut is a guess. */
static double either(const uint32_t *v)
{
    return v[0] == v[1] ? 1 : 0;
}

static void pairs(void **state)
{
    (void)state;
    grid g;
    importance i;
    make(&g, (const size_t[]){2, 2, 8, 8}, 4, either);
    compute(&g, &i);
    assert_true(share_of(&i, 0, 1) > 0.6 && i.pairs[1].share < 0.15);
    assert_true(share_of(&i, 0, SIZE_MAX) < 0.1 && share_of(&i, 1, SIZE_MAX) < 0.1);
    assert_int_equal(i.pairs[0].a, 0);
    assert_int_equal(i.pairs[0].b, 1);
    importance_clear(&i);
    clear(&g);
}

/* x y with x, y in {1, 2}: two main effects and a small pair. */
static double product(const uint32_t *v)
{
    return (1.0 + v[0]) * (1.0 + v[1]);
}

static void product_of_two(void **state)
{
    (void)state;
    grid g;
    importance i;
    make(&g, (const size_t[]){2, 2, 3, 3}, 4, product);
    compute(&g, &i);
    /* values 1, 2, 2, 4: mean 9/4, variance 25/4 - 81/16 = 19/16; each marginal 3/2, 3: variance 9/16; the rest 1/16 */
    expect_near(share_of(&i, 0, SIZE_MAX), 9.0 / 19, 0.05);
    expect_near(share_of(&i, 1, SIZE_MAX), 9.0 / 19, 0.05);
    expect_near(share_of(&i, 0, 1), 1.0 / 19, 0.03);
    importance_clear(&i);
    clear(&g);
}

static double noise(const uint32_t *v)
{
    return counter_rng_unit(3, v[0] + 4 * v[1], v[2] + 4 * v[3]);
}

/* Nothing matters: the model says so. */
static void nothing_to_learn(void **state)
{
    (void)state;
    grid g;
    importance i;
    make(&g, (const size_t[]){4, 4, 4, 4}, 4, noise);
    compute(&g, &i);
    assert_true(i.explained < 0.2);
    importance_clear(&i);
    clear(&g);
}

static void repeatable(void **state)
{
    (void)state;
    grid g;
    importance i, k;
    make(&g, (const size_t[]){4, 4, 4}, 3, additive);
    compute(&g, &i);
    compute(&g, &k);
    assert_memory_equal(i.mains, k.mains, i.n_mains * sizeof *i.mains);
    importance_clear(&i);
    importance_clear(&k);
    clear(&g);
}

static double constant(const uint32_t *v)
{
    (void)v;
    return 1;
}

static void too_little(void **state)
{
    (void)state;
    const struct {
        size_t n_values[2];
        double (*f)(const uint32_t *);
        const char *part;
    } cases[] = {{{4, 4}, additive, "16 configurations were timed; it takes at least 20"},
                 {{5, 5}, constant, "take the same time"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        grid g;
        importance i;
        kw_error err;
        make(&g, cases[c].n_values, 2, cases[c].f);
        assert_int_equal(importance_of(&g.d, 1, &i, &err), KW_FAILED);
        assert_non_null(strstr(err.message, cases[c].part));
        clear(&g);
    }
}

/* ---- of a store ---- */

/* A in 8, 64, 512 (times 1, 4, 16), B of three words, on two shapes of which one takes a hundred times as long; a
 * wrong variant does not count. */
static void fill(store *s, const char *template_name)
{
    const char *const words[] = {"none", "one", "two"};
    const int sizes[] = {8, 64, 512};
    for (int shape = 0; shape < 2; shape++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                for (int c = 0; c < 3; c++) {
                    char hash[HASH_HEX_SIZE], config[96];
                    double times[3];
                    for (int i = 0; i < 3; i++)
                        times[i] = (shape ? 1e6 : 1e4) * pow(4, a) * (1 + 0.01 * i);
                    snprintf(hash, sizeof hash, "%032x", 100 * a + 10 * b + c + (int)template_name[0] * 1000);
                    snprintf(config, sizeof config, "{\"A\":%d,\"B\":\"%s\",\"C\":%s,\"ONE\":1}", sizes[a], words[b],
                             c == 0   ? "false"
                             : c == 1 ? "true"
                                      : "0.5");
                    measurement m =
                        fixture_row(TASK_HASH, hash, shape ? "{\"M\":9,\"N\":9}" : "{\"M\":1,\"N\":1}", times, 3);
                    m.config = config;
                    m.template_name = lend(template_name);
                    add_row(s, &m);
                }
    measurement wrong = fixture_row(TASK_HASH, HASH_A, "{\"M\":1,\"N\":1}", NULL, 0);
    wrong.config = lend("{\"A\":4096,\"B\":\"none\",\"C\":true,\"ONE\":1}");
    wrong.template_name = lend(template_name);
    wrong.outcome = OUTCOME_WRONG;
    add_row(s, &wrong);
}

typedef struct heard {
    size_t n, n_failed;
    char templates[128];
} heard;

static void hear(const importance_report *r, void *cookie)
{
    heard *h = cookie;
    h->n++;
    h->n_failed += r->failed != NULL;
    strcat(strcat(h->templates, r->template_name), " ");
    if (r->failed)
        return;
    assert_int_equal(r->n_rows, 54);
    assert_int_equal(r->n_configs, 27);
    assert_int_equal(r->n_shapes, 2);
    assert_int_equal(r->result.n_mains, 3);
    const importance_share *first = &r->result.mains[0];
    assert_string_equal(r->names[first->a], "A");
    assert_true(first->share > 0.9);
    assert_string_equal(importance_best(r, first), "8");
    assert_string_equal(r->values[first->a][2], "512"); /* numbers in their order */
}

static void from_a_store(void **state)
{
    (void)state;
    store *s = memory_store();
    kw_error err = {0};
    heard h = {0};
    const store_query q = {.task = "scale"};
    assert_int_equal(importance_each(s, &q, 1, hear, &h, &err), KW_OK);
    assert_int_equal(h.n, 0);
    fill(s, "wide");
    fill(s, "tall");
    double one = 5;
    measurement single = fixture_row(TASK_HASH, HASH_B, "{\"M\":1,\"N\":1}", &one, 1);
    add_row(s, &single);
    assert_int_equal(importance_each(s, &q, 1, hear, &h, &err), KW_OK);
    assert_int_equal(h.n, 3);
    assert_int_equal(h.n_failed, 1); /* one configuration is too few */
    assert_non_null(strstr(h.templates, "wide"));
    assert_non_null(strstr(h.templates, "tall"));
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_effects),     cmocka_unit_test(pairs),      cmocka_unit_test(product_of_two),
        cmocka_unit_test(nothing_to_learn), cmocka_unit_test(repeatable), cmocka_unit_test(too_little),
        cmocka_unit_test(from_a_store),
    };
    return cmocka_run_group_tests_name("importance", tests, NULL, NULL);
}
