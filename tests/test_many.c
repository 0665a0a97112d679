/* Many shapes at once: what is proposed, and that shapes learn from each other. */
#include "tuner/many.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SHAPES 12
#define A_VALUES 8
#define B_VALUES 8
#define CONFIGS (A_VALUES * B_VALUES)

/* The best tile grows with the shape; B matters the same everywhere. */
static double time_of(size_t shape, size_t c)
{
    const size_t row = c / B_VALUES;
    double wanted = (double)shape * (A_VALUES - 1) / (SHAPES - 1), a = (double)row, b = (double)(c % B_VALUES);
    return 1e4 * pow(2, (double)shape) * exp(0.15 * pow(a - wanted, 2) + 0.2 * fabs(b - 5));
}

static many *make(size_t n_shapes, const double *weights, uint64_t seed)
{
    double dims[SHAPES];
    for (size_t i = 0; i < n_shapes; i++)
        dims[i] = 1 + (double)i;
    many *m = many_new(n_shapes, 1, dims, weights, seed);
    for (size_t c = 0; c < CONFIGS; c++) {
        const size_t row = c / B_VALUES;
        const double features[2] = {(double)row / (A_VALUES - 1), (double)(c % B_VALUES) / (B_VALUES - 1)};
        assert_int_equal(many_add_config(m, 0, 2, features), c);
        for (size_t i = 0; i < n_shapes; i++)
            many_allow(m, i, c);
    }
    return m;
}

/* Mean of log(found / best there is) after `total` evaluations. */
static double loss_after(many *m, size_t n_shapes, size_t total)
{
    size_t shape, c;
    for (size_t k = 0; k < total; k++) {
        assert_true(many_ask(m, 2, &shape, &c));
        many_tell(m, shape, c, true, time_of(shape, c));
    }
    double sum = 0;
    for (size_t i = 0; i < n_shapes; i++) {
        double best = INFINITY;
        for (c = 0; c < CONFIGS; c++)
            best = fmin(best, time_of(i, c));
        assert_true(many_best(m, i) < CONFIGS);
        sum += log(time_of(i, many_best(m, i)) / best);
    }
    return sum / (double)n_shapes;
}

/* All pairs once, nothing that is not allowed. */
static void every_pair_once(void **state)
{
    (void)state;
    many *m = many_new(3, 1, (const double[]){1, 2, 3}, NULL, 1);
    for (size_t c = 0; c < 10; c++)
        many_add_config(m, c < 5 ? 0 : 1, 1, &(double){(double)c / 10});
    size_t wanted = 0, asked[3][10] = {{0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t c = i; c < 10; c++, wanted++)
            many_allow(m, i, c);
    size_t n = 0, shape, c;
    while (many_ask(m, 2, &shape, &c)) {
        assert_true(c >= shape);
        assert_int_equal(asked[shape][c]++, 0);
        many_tell(m, shape, c, c % 3 != 0, 100 + (double)c); /* some fail */
        n++;
    }
    assert_int_equal(n, wanted);
    assert_int_equal(many_count(m, 0), 10);
    assert_int_equal(many_best(m, 0), 1);
    assert_int_equal(many_best(m, 2), 2);
    many_free(m);
}

/* Answers come late; a configuration that fails everywhere is not proposed again. */
static void late_answers_and_failures(void **state)
{
    (void)state;
    many *m = make(4, NULL, 2);
    size_t shapes[40], configs[40];
    for (size_t k = 0; k < 40; k++)
        assert_true(many_ask(m, 3, &shapes[k], &configs[k]));
    for (size_t k = 0; k < 40; k++)
        for (size_t i = 0; i < k; i++)
            assert_false(shapes[k] == shapes[i] && configs[k] == configs[i]);
    for (size_t k = 0; k < 40; k++) {
        many_tell(m, shapes[k], configs[k], false, 0);
        many_forget(m, configs[k]);
    }
    assert_int_equal(many_best(m, 0), SIZE_MAX);
    size_t shape, c;
    while (many_ask(m, 3, &shape, &c)) {
        for (size_t i = 0; i < 40; i++)
            assert_int_not_equal(c, configs[i]);
        many_tell(m, shape, c, true, 50);
        many_tell(m, shape, c, true, 55); /* timed once more */
    }
    many_free(m);
}

static void shapes_share(void **state)
{
    (void)state;
    double together = 0, separate = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        many *m = make(SHAPES, NULL, seed);
        together += loss_after(m, SHAPES, 8 * SHAPES) / 5;
        many_free(m);
        double dims[1] = {1};
        for (size_t i = 0; i < SHAPES; i++) {
            many *one = many_new(1, 1, dims, NULL, seed);
            double best = INFINITY, found = INFINITY;
            for (size_t c = 0; c < CONFIGS; c++) {
                const size_t row = c / B_VALUES;
                const double features[2] = {(double)row / (A_VALUES - 1), (double)(c % B_VALUES) / (B_VALUES - 1)};
                many_allow(one, 0, many_add_config(one, 0, 2, features));
                best = fmin(best, time_of(i, c));
            }
            size_t shape, c;
            for (size_t k = 0; k < 8; k++) {
                assert_true(many_ask(one, 2, &shape, &c));
                found = fmin(found, time_of(i, c));
                many_tell(one, 0, c, true, time_of(i, c));
            }
            separate += log(found / best) / SHAPES / 5;
            many_free(one);
        }
    }
    assert_true(together < 0.12);
    assert_true(together < separate / 2);
}

/* The same questions by the same seed, others by another. */
static void repeatable(void **state)
{
    (void)state;
    many *m[3] = {make(SHAPES, NULL, 1), make(SHAPES, NULL, 1), make(SHAPES, NULL, 2)};
    size_t differ = 0;
    for (size_t k = 0; k < 100; k++) {
        size_t shape[3], c[3];
        for (size_t i = 0; i < 3; i++) {
            assert_true(many_ask(m[i], 2, &shape[i], &c[i]));
            many_tell(m[i], shape[i], c[i], true, time_of(shape[i], c[i]));
        }
        assert_int_equal(shape[0], shape[1]);
        assert_int_equal(c[0], c[1]);
        differ += shape[0] != shape[2] || c[0] != c[2];
    }
    assert_true(differ > 0);
    for (size_t i = 0; i < 3; i++)
        many_free(m[i]);
}

/* A shape that counts more gets more, and each gets its start. */
static void weights(void **state)
{
    (void)state;
    double w[SHAPES];
    for (size_t i = 0; i < SHAPES; i++)
        w[i] = (i == 3 ? 1000 : 1) / pow(2, (double)i); /* the times grow by 2 */
    many *m = make(SHAPES, w, 1);
    size_t shape, c;
    for (size_t k = 0; k < 60; k++) {
        assert_true(many_ask(m, 2, &shape, &c));
        many_tell(m, shape, c, true, time_of(shape, c));
    }
    for (size_t i = 0; i < SHAPES; i++)
        assert_true(many_count(m, i) >= 2);
    for (size_t i = 0; i < SHAPES; i++)
        assert_true(i == 3 || many_count(m, 3) >= many_count(m, i));
    many_free(m);
}

/* One evaluation, none that succeeded, equal times: nothing to scale by. */
static void little_to_go_by(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        many *m = make(2, NULL, 3);
        size_t shape, c;
        for (size_t k = 0; k < 2 * CONFIGS; k++) {
            assert_true(many_ask(m, 0, &shape, &c));
            many_tell(m, shape, c, kind == 1, 70);
        }
        assert_false(many_ask(m, 0, &shape, &c));
        many_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_once), cmocka_unit_test(late_answers_and_failures),
        cmocka_unit_test(shapes_share),    cmocka_unit_test(repeatable),
        cmocka_unit_test(weights),         cmocka_unit_test(little_to_go_by),
    };
    return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}
