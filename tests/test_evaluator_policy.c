/* How work is shared between compilers and the device. */
#include "base/clock.h"
#include "tuner/evaluator_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define GIB (INT64_C(1) << 30)

static size_t workers(int64_t cores, int64_t host_bytes, int64_t device_bytes, bool is_cpu, int wanted)
{
    device_info d = {.limits = {.global_mem_bytes = device_bytes, .is_cpu = is_cpu}};
    message hello = {.physical_cores = cores, .available_bytes = host_bytes};
    return policy_compile_workers(&d, &hello, wanted);
}

static void test_compile_workers(void **state)
{
    (void)state;
    assert_int_equal(workers(16, 120 * GIB, 141 * GIB, false, -1), 15); /* one core polls */
    assert_int_equal(workers(16, 120 * GIB, 120 * GIB, true, -1), 16);
    assert_int_equal(workers(64, 10 * GIB, 80 * GIB, false, -1), 10); /* the host's memory */
    assert_int_equal(workers(64, 100 * GIB, 8 * GIB, false, -1), 4);  /* the device's, for contexts */
    assert_int_equal(workers(64, GIB / 2, 8 * GIB, false, -1), 1);    /* at least one */
    assert_int_equal(workers(1, 100 * GIB, 8 * GIB, false, -1), 1);
    assert_int_equal(workers(0, 0, 0, true, -1), 1); /* nothing is known */
    assert_int_equal(workers(8, 0, 0, false, -1), 7);
    assert_int_equal(workers(64, GIB, GIB, false, 12), 12); /* as the user says */
    assert_int_equal(workers(64, GIB, GIB, true, 0), 0);
    assert_int_equal(workers(64, GIB, GIB, true, 100000), 256);
}

static void test_shares(void **state)
{
    static const struct {
        const char *spec;
        bool is_cpu, can_pause;
        int compile_wanted, timing_wanted;
        evaluator_shares is;
    } rows[] = {
        {"opencl:0:0", false, true, -1, 0, {2, 14, false}}, /* 15 compile, of which one makes room */
        {"opencl:0:0", false, true, -1, 1, {1, 15, false}},
        {"opencl:0:0", false, true, -1, 99, {4, 12, false}},
        {"opencl:0:0", false, true, 3, 0, {2, 3, false}},
        {"opencl:0:0", false, true, 0, 0, {1, 0, false}},
        {"fake:0", false, true, -1, 0, {1, 15, false}},
        {"opencl:0:0", true, true, -1, 0, {1, 16, true}},
        {"opencl:0:0", true, false, -1, 0, {1, 16, false}},
        {"opencl:0:0", true, true, 4, 0, {4, 0, true}}, /* each its own */
        {"opencl:0:0", true, true, 5, 0, {1, 5, true}},
        {"opencl:0:0", true, true, 1, 0, {1, 1, true}},
        {"opencl:0:0", true, true, 0, 0, {1, 0, false}}, /* nobody to stop */
        {"opencl:0:0", true, true, 4, 2, {2, 4, true}},
        {"opencl:0:0", true, true, 0, 2, {2, 0, true}}, /* the other one that times is stopped */
        {"opencl:0:0", true, false, 0, 2, {1, 0, false}},
        {"opencl:0:0", true, false, 4, 99, {1, 4, false}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        device_info d = {.limits = {.global_mem_bytes = 80 * GIB, .is_cpu = rows[i].is_cpu}};
        const message hello = {.physical_cores = 16, .available_bytes = 100 * GIB};
        snprintf(d.spec, sizeof d.spec, "%s", rows[i].spec);
        const evaluator_shares got =
            policy_shares(&d, &hello, rows[i].compile_wanted, rows[i].timing_wanted, rows[i].can_pause);
        if (got.n_timing != rows[i].is.n_timing || got.n_compilers != rows[i].is.n_compilers ||
            got.pauses != rows[i].is.pauses)
            fail_msg("row %zu: %zu time, %zu compile, pauses %d", i, got.n_timing, got.n_compilers, got.pauses);
    }
}

static void test_ahead(void **state)
{
    (void)state;
    evaluator_rates rates = {0, 0};
    assert_int_equal(policy_ahead(&rates, 15), 23);
    rates = (evaluator_rates){1000, 400}; /* three compilers keep the device busy */
    assert_int_equal(policy_ahead(&rates, 15), 7);
    rates = (evaluator_rates){1000, 50}; /* twenty would: all there are */
    assert_int_equal(policy_ahead(&rates, 15), 23);
    rates = (evaluator_rates){10, 400};
    assert_int_equal(policy_ahead(&rates, 15), 4);
    assert_int_equal(policy_ahead(&rates, 0), 4);
}

static void test_depth(void **state)
{
    (void)state;
    assert_int_equal(policy_depth(false, 8, 1), 16);
    assert_int_equal(policy_depth(false, 15, 1), 23); /* all that policy_ahead may ask for */
    assert_int_equal(policy_depth(false, 0, 1), 2);
    assert_int_equal(policy_depth(true, 2, 1), 9); /* a long turn, and one more */
    assert_int_equal(policy_depth(true, 0, 1), 1);
}

static void test_batch(void **state)
{
    (void)state;
    assert_int_equal(policy_batch(&(evaluator_rates){0, 0}, 2), 4);
    assert_int_equal(policy_batch(&(evaluator_rates){2000, 0}, 2), 4);
    assert_int_equal(policy_batch(&(evaluator_rates){2000, 300}, 2), 8);
    assert_int_equal(policy_batch(&(evaluator_rates){2000, 1500}, 2), 4);
    assert_int_equal(policy_batch(&(evaluator_rates){30, 1}, 2), 4);
}

static void test_samples(void **state)
{
    (void)state;
    assert_int_equal(policy_samples(6e6, false), 5);
    assert_int_equal(policy_samples(6e6, true), 16);
    assert_int_equal(policy_samples(1e6, true), 25);
    assert_int_equal(policy_samples(1e9, true), 5); /* long runs: no more than needed */
    assert_int_equal(policy_samples(0, true), 5);   /* nothing is known of how long */
}

static void test_learn(void **state)
{
    (void)state;
    double mean = 0;
    policy_learn(&mean, clock_now_ns() - 100000000);
    assert_true(mean >= 100);
    for (int i = 0; i < 100; i++)
        policy_learn(&mean, clock_now_ns() - 1000000000);
    assert_true(mean >= 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compile_workers), cmocka_unit_test(test_shares), cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_depth),           cmocka_unit_test(test_batch),  cmocka_unit_test(test_samples),
        cmocka_unit_test(test_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
