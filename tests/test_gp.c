#include "tuner/gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_PARAMS = 3, N_TARGETS = 40, N_POOL = 8 * 8 * 2 };

static const size_t n_values[N_PARAMS] = {8, 8, 2};

static uint32_t pool[N_POOL * N_PARAMS], configs[N_TARGETS * N_PARAMS];
static double y[N_TARGETS];
static float mean[N_POOL], variance[N_POOL];

/* Smooth, with a main effect and an interaction. */
static double truth(const uint32_t *c)
{
    return 0.4 * c[0] - 1.4 + 0.1 * (c[1] - 3.5) * (c[1] - 3.5) - 0.6 + (c[2] ? 0.2 * (c[0] - 3.5) : 0);
}

static void fill(void)
{
    for (uint32_t i = 0; i < N_POOL; i++)
        memcpy(pool + i * N_PARAMS, (uint32_t[]){i / 16, i / 2 % 8, i % 2}, N_PARAMS * sizeof *pool);
    for (size_t i = 0; i < N_TARGETS; i++) { /* 37 and 128 have no common factor: all different */
        memcpy(configs + i * N_PARAMS, pool + (i * 37 + 5) % N_POOL * N_PARAMS, N_PARAMS * sizeof *configs);
        y[i] = truth(configs + i * N_PARAMS);
    }
}

static gp *fitted(int iterations)
{
    fill();
    gp *g = gp_new(N_PARAMS, n_values, &gp_default_prior);
    gp_fit(g, configs, y, N_TARGETS, iterations);
    gp_condition(g, configs, y, NULL, N_TARGETS);
    gp_watch(g, pool, N_POOL);
    gp_predict(g, mean, variance);
    return g;
}

static double error_of_prediction(void)
{
    double sum = 0;
    for (size_t j = 0; j < N_POOL; j++)
        sum += pow(mean[j] - truth(pool + j * N_PARAMS), 2) / N_POOL;
    return sqrt(sum);
}

static void learns_what_it_was_not_shown(void **state)
{
    (void)state;
    gp *g = fitted(30);
    double error = error_of_prediction();
    assert_true(error < 0.1); /* the standard deviation of the truth is 1.1 */
    for (size_t j = 0; j < N_POOL; j++)
        assert_true(fabs(mean[j] - truth(pool + j * N_PARAMS)) < 6 * sqrt(variance[j]) + 0.05);
    gp_free(g);
    g = fitted(0);
    assert_true(error_of_prediction() > error);
    gp_free(g);
}

static void is_sure_where_it_was_shown(void **state)
{
    (void)state;
    gp *g = fitted(10);
    double known = 0, unknown = 0;
    for (size_t j = 0; j < N_POOL; j++) {
        bool shown = false;
        for (size_t i = 0; i < N_TARGETS; i++)
            shown = shown || memcmp(configs + i * N_PARAMS, pool + j * N_PARAMS, N_PARAMS * sizeof *pool) == 0;
        if (shown && variance[j] > known)
            known = variance[j];
        if (!shown && variance[j] > unknown)
            unknown = variance[j];
    }
    assert_true(known < 0.02);
    assert_true(unknown > known);
    gp_free(g);
}

/* One target after another, and other targets at the same places, give what a new model of all of them gives. */
static void growing_is_the_same_as_beginning_again(void **state)
{
    (void)state;
    gp *g = fitted(10);
    float expected[N_POOL], sure[N_POOL];
    memcpy(expected, mean, sizeof mean);
    memcpy(sure, variance, sizeof variance);
    double half[N_TARGETS / 2] = {0};
    gp_condition(g, configs, half, NULL, N_TARGETS / 2);
    gp_watch(g, pool, N_POOL);
    gp_predict(g, mean, variance);
    for (size_t i = N_TARGETS / 2; i < N_TARGETS; i++) {
        gp_append(g, configs + i * N_PARAMS, y[i]);
        gp_predict(g, mean, variance);
    }
    assert_int_equal(gp_size(g), N_TARGETS);
    gp_retarget(g, y);
    gp_predict(g, mean, variance);
    for (size_t j = 0; j < N_POOL; j++) {
        assert_true(fabs(mean[j] - expected[j]) < 1e-3);
        assert_true(fabs(variance[j] - sure[j]) < 1e-3);
    }
    gp_free(g);
}

/* The same configuration twice, all targets equal, one value only: no failure, and finite. */
static void degenerate_targets(void **state)
{
    (void)state;
    static const size_t one[N_PARAMS] = {1, 8, 2};
    gp *g = gp_new(N_PARAMS, one, &gp_default_prior);
    uint32_t same[4 * N_PARAMS] = {0, 3, 1, 0, 3, 1, 0, 3, 1, 0, 4, 0};
    double zeros[4] = {0};
    gp_fit(g, same, zeros, 4, 20);
    gp_condition(g, same, zeros, NULL, 4);
    gp_append(g, same, 1e6);
    gp_watch(g, same, 4);
    gp_predict(g, mean, variance);
    for (size_t j = 0; j < 4; j++)
        assert_true(isfinite(mean[j]) && variance[j] > 0);
    gp_free(g);
}

/* Of 16 sizes those by a power of two are fast. After some of both kinds, the model tells the rest apart. */
static void powers_of_two_are_alike(void **state)
{
    (void)state;
    static const size_t sixteen[1] = {16};
    static const uint32_t shown[8] = {0, 1, 2, 4, 5, 7, 9, 12};
    double times[8];
    uint32_t all[16];
    for (size_t i = 0; i < 8; i++)
        times[i] = (shown[i] & (shown[i] + 1)) == 0 ? -1.3 : 0.8;
    for (uint32_t i = 0; i < 16; i++)
        all[i] = i;
    gp *g = gp_new(1, sixteen, &gp_default_prior);
    gp_fit(g, shown, times, 8, 20);
    gp_condition(g, shown, times, NULL, 8);
    gp_watch(g, all, 16);
    gp_predict(g, mean, variance);
    assert_true(mean[3] < -0.3 && mean[15] < -0.3);
    assert_true(mean[6] > 0.3 && mean[10] > 0.3 && mean[13] > 0.3);
    gp_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_what_it_was_not_shown),
        cmocka_unit_test(is_sure_where_it_was_shown),
        cmocka_unit_test(growing_is_the_same_as_beginning_again),
        cmocka_unit_test(degenerate_targets),
        cmocka_unit_test(powers_of_two_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
