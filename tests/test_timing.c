/* The timing policy on a device whose clock is a function of the test. */
#include "base/mem.h"
#include "tuner/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the scripted device does and has seen. */
typedef struct script {
    double run_ns;       /* of one run, by both clocks */
    double first_ns;     /* added to the first run of a row: what a discarded run is for */
    size_t bad_readings; /* of each row of events, from its second run on, come back as 0 */
    double overhead_ns;  /* added to events only */
    size_t event_rows, batch_rows, restores;
    size_t last_n, last_per_batch;
    size_t used[16]; /* runs per set in the last row; the probe is number 15 */
    size_t probe_position, total;
    size_t all_runs; /* in rows of events */
    double expected_ns;
} script;

static device_launch launches[16];

static void count_runs(script *s, device_launch_set set, void *cookie, size_t n)
{
    memset(s->used, 0, sizeof s->used);
    s->total = n;
    for (size_t i = 0; i < n; i++) {
        size_t which = (size_t)(set(i, cookie) - launches);
        assert_true(which < 16);
        s->used[which]++;
        if (which == 15)
            s->probe_position = i;
    }
}

static kw_code time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err)
{
    script *s = d->state;
    (void)p;
    (void)n_launches;
    (void)err;
    s->event_rows++;
    s->last_n = n_runs;
    s->all_runs += n_runs;
    count_runs(s, set, cookie, n_runs);
    for (size_t i = 0; i < n_runs; i++)
        ns[i] = i > 0 && i <= s->bad_readings ? 0 : s->run_ns + s->overhead_ns + (i == 0 ? s->first_ns : 0) + (double)i;
    return KW_OK;
}

static kw_code time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    script *s = d->state;
    (void)p;
    (void)n_launches;
    (void)err;
    s->batch_rows++;
    s->last_n = n_batches;
    s->last_per_batch = per_batch;
    count_runs(s, set, cookie, per_batch * n_batches);
    for (size_t i = 0; i < n_batches; i++)
        ns[i] = s->run_ns + (i == 0 ? s->first_ns : 0) + (double)i / 1000;
    return KW_OK;
}

static kw_code restore(void *cookie, kw_error *err)
{
    script *s = cookie;
    (void)err;
    s->restores++;
    return KW_OK;
}

static timing_result measure(script *s, const job_timing *policy, size_t n_sets, kw_code want)
{
    static const device_ops ops = {.name = "scripted", .time_events = time_events, .time_batch = time_batch};
    device d = {.ops = &ops, .state = s};
    device_program program = {.handle = NULL};
    timing_rig rig = {.device = &d,
                      .program = &program,
                      .n_sets = n_sets,
                      .probe = &launches[15],
                      .n_launches = 1,
                      .expected_ns = s->expected_ns,
                      .restore = restore,
                      .cookie = s};
    for (size_t i = 0; i < n_sets; i++)
        rig.sets[i] = &launches[i];
    timing_result result;
    kw_error err;
    assert_int_equal(timing_measure(&rig, policy, &result, &err), want);
    return result;
}

static void test_long_runs_by_events(void **state)
{
    (void)state;
    script s = {.run_ns = 2e6, .first_ns = 5e6};
    job_timing policy = {.min_samples = 7, .cold = true};
    timing_result r = measure(&s, &policy, 3, KW_OK);
    assert_int_equal(r.method, TIMING_EVENTS);
    assert_int_equal(r.n, 7);
    assert_int_equal(r.n_dropped, 0);
    assert_true(r.samples[0] == 2e6 + 1); /* the second of two, then a row without its first run */
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.samples[i] == 2e6 + (double)i);
    assert_int_equal(s.event_rows, 3); /* one run by itself, two, seven */
    assert_int_equal(s.last_n, 7);
    assert_int_equal(s.probe_position, 6);
    assert_int_equal(s.used[15], 1);
    assert_int_equal(r.row_runs, 6);
    assert_int_equal(s.used[0] + s.used[1] + s.used[2], 6);
    assert_int_equal(s.used[2], 2);
    assert_int_equal(s.restores, s.event_rows);
    free(r.samples);
}

static void test_few_runs_of_what_has_run_before(void **state)
{
    (void)state;
    script s = {.run_ns = 3e6, .expected_ns = 3.1e6};
    job_timing policy = {0};
    timing_result r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.n, 5);
    assert_int_equal(s.event_rows, 2);
    assert_int_equal(s.all_runs, 7); /* two of them discarded */
    free(r.samples);
    /* What was expected decides nothing else: the method follows from what the device says. */
    s = (script){.run_ns = 5000, .expected_ns = 9e6};
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_BATCH);
    free(r.samples);
    /* Warming up does not show in a run of 100 ms: all count. */
    s = (script){.run_ns = 1e8, .expected_ns = 1e8};
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.n, 5);
    assert_int_equal(s.all_runs, 5);
    free(r.samples);
}

static void test_more_samples_of_short_runs(void **state)
{
    (void)state;
    script s = {.run_ns = 40000};
    job_timing policy = {.min_samples = 7};
    timing_result r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_EVENTS);
    assert_int_equal(r.n, 10);
    free(r.samples);
    policy.min_samples = 30;
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.n, 30);
    free(r.samples);
}

static void test_very_short_runs_in_batches(void **state)
{
    (void)state;
    script s = {.run_ns = 7000, .overhead_ns = 5000};
    job_timing policy = {.min_samples = 7};
    timing_result r = measure(&s, &policy, 4, KW_OK);
    assert_int_equal(r.method, TIMING_BATCH);
    assert_int_equal(r.n, 7);
    assert_true((double)s.last_per_batch * s.run_ns >= 200000);
    assert_true((double)s.last_per_batch * s.run_ns < 400000);
    assert_true(r.samples[0] > 7000 && r.samples[0] < 7001); /* not the events' figure */
    assert_int_equal(s.last_n, 8);
    assert_int_equal(s.probe_position, s.total - 1);
    assert_int_equal(s.used[15], 1);
    assert_int_equal(r.row_runs, s.total - 1);
    free(r.samples);
}

static void test_method_asked_for(void **state)
{
    (void)state;
    script s = {.run_ns = 29000};
    job_timing policy = {.method = TIMING_EVENTS};
    timing_result r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_EVENTS);
    free(r.samples);
    s.run_ns = 500000;
    policy.method = TIMING_BATCH;
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_BATCH);
    assert_int_equal(s.last_per_batch, 1);
    free(r.samples);
}

static void test_hopeless_is_stopped(void **state)
{
    (void)state;
    script s = {.run_ns = 9e6, .expected_ns = 9e6};
    job_timing policy = {.hopeless_ns = 4e6};
    timing_result r = measure(&s, &policy, 2, KW_OK);
    assert_true(r.stopped_early);
    assert_int_equal(r.n, 2);
    assert_int_equal(s.used[15], 1); /* its result is checked all the same */
    assert_int_equal(r.row_runs, 1);
    assert_int_equal(s.all_runs, 2);                               /* and nothing else was run */
    assert_true(r.saved_ns > 4.9 * 9e6 && r.saved_ns < 5.1 * 9e6); /* one to discard and four to count */
    free(r.samples);
    s.expected_ns = 0;
    policy.hopeless_ns = 10e6;
    r = measure(&s, &policy, 2, KW_OK);
    assert_false(r.stopped_early);
    assert_int_equal(r.n, 5);
    assert_true(r.saved_ns == 0);
    free(r.samples);
    /* Slow only at first: both readings have to say so. */
    s = (script){.run_ns = 9e6, .first_ns = 5e6, .expected_ns = 9e6};
    r = measure(&s, &policy, 2, KW_OK);
    assert_false(r.stopped_early);
    free(r.samples);
    s.run_ns = 9000;
    policy.hopeless_ns = 4000;
    r = measure(&s, &policy, 2, KW_OK);
    assert_true(r.stopped_early);
    assert_int_equal(r.method, TIMING_BATCH);
    assert_int_equal(r.n, 2);
    free(r.samples);
}

static void test_time_is_bounded(void **state)
{
    (void)state;
    script s = {.run_ns = 1e9};
    job_timing policy = {.min_samples = 50, .max_ns = 5100000000};
    timing_result r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.n, 5);
    assert_int_equal(s.event_rows, 3);
    assert_int_equal(s.all_runs, 6);
    free(r.samples);
    policy.max_ns = 1;
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.n, 3);
    free(r.samples);
}

static void test_readings_that_are_none(void **state)
{
    (void)state;
    script s = {.run_ns = 2e6, .bad_readings = 2};
    job_timing policy = {.min_samples = 7};
    timing_result r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_EVENTS);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.n_dropped, 3); /* one of them in the row before */
    free(r.samples);
    /* A timer that mostly runs backwards: the host's clock instead, unless events were asked for. */
    s.bad_readings = 6;
    r = measure(&s, &policy, 1, KW_OK);
    assert_int_equal(r.method, TIMING_BATCH);
    assert_int_equal(r.n, 7);
    free(r.samples);
    policy.method = TIMING_EVENTS;
    r = measure(&s, &policy, 1, KW_FAILED);
    free(r.samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_runs_by_events),
        cmocka_unit_test(test_few_runs_of_what_has_run_before),
        cmocka_unit_test(test_more_samples_of_short_runs),
        cmocka_unit_test(test_very_short_runs_in_batches),
        cmocka_unit_test(test_method_asked_for),
        cmocka_unit_test(test_hopeless_is_stopped),
        cmocka_unit_test(test_time_is_bounded),
        cmocka_unit_test(test_readings_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
