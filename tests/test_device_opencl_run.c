/* The OpenCL back end runs and times kernels, on whatever device there is; skipped when there is none. */
#include "device/opencl.h"
#include "tests/support_opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define N 1000

/* ---- running ---- */

static void test_run(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    float x[N], y[N];
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *X = opencl_test_alloc(d, sizeof x), *Y = opencl_test_alloc(d, sizeof y);
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    test_ok(device_write(d, X, 0, x, sizeof x, &err), &err);
    device_arg scale[] = {int_arg(N), float_arg(3), buffer_arg(X), buffer_arg(Y)}, add[] = {buffer_arg(Y), int_arg(N)};
    device_launch launches[] = {{"scale", 1, {8}, {(N + 7) / 8}, scale, 4, false},
                                {"add_one", 1, {8}, {(N + 7) / 8}, add, 2, false},
                                {"add_one", 1, {1}, {N}, add, 2, false}};
    test_ok(device_run(d, p, launches, 3, &err), &err);
    test_ok(device_read(d, Y, 0, y, sizeof y, &err), &err);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 3 * (float)i + 2);
    test_ok(device_run(d, p, launches, 0, &err), &err);
    device_free(d, X);
    device_free(d, Y);
    device_program_free(d, p);
}

/* A kernel that writes outside of its view is seen in the parent's guard bands. */
static void test_guard_bands(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    size_t step = device_view_alignment(d), bytes = N * sizeof(float);
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *whole = opencl_test_alloc(d, step + bytes + step), *guard = opencl_test_alloc(d, step);
    uint64_t n, first;
    test_ok(device_fill(d, whole, 0, step + bytes + step, 0x77, &err), &err);
    test_ok(device_fill(d, guard, 0, step, 0x77, &err), &err);
    device_buffer *view = device_view(d, whole, step, bytes, &err);
    assert_non_null(view);
    device_arg args[] = {buffer_arg(view), int_arg(N)};
    device_launch inside = {"add_one", 1, {8}, {(N + 7) / 8}, args, 2, false},
                  outside = {"outside", 1, {1}, {1}, args, 2, false};
    test_ok(device_run(d, p, &inside, 1, &err), &err);
    test_ok(device_compare(d, whole, 0, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    test_ok(device_compare(d, whole, step + bytes, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 0);
    test_ok(device_run(d, p, &outside, 1, &err), &err);
    test_ok(device_compare(d, whole, 0, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(first, step - 4);
    test_ok(device_compare(d, whole, step + bytes, guard, 0, step, &n, &first, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(first, 0);
    device_free(d, view);
    device_free(d, whole);
    device_free(d, guard);
    device_program_free(d, p);
}

static void test_local_argument(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    float y[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *Y = opencl_test_alloc(d, sizeof y);
    test_ok(device_write(d, Y, 0, y, sizeof y, &err), &err);
    device_arg args[] = {{.kind = DEVICE_ARG_LOCAL, .n = sizeof y}, buffer_arg(Y)};
    device_launch l = {"reverse", 1, {8}, {1}, args, 2, false};
    test_ok(device_run(d, p, &l, 1, &err), &err);
    test_ok(device_read(d, Y, 0, y, sizeof y, &err), &err);
    for (int i = 0; i < 8; i++)
        assert_true(y[i] == (float)(7 - i));
    args[0].n = (size_t)device_describe(d)->limits.local_mem_bytes + 4;
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    test_says(&err, "bytes of local memory");
    device_free(d, Y);
    device_program_free(d, p);
}

static void test_groups_that_do_not_fit(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    const device_limits *limits = &device_describe(d)->limits;
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *Y = opencl_test_alloc(d, 64);
    device_arg args[] = {buffer_arg(Y), int_arg(1)};
    device_launch l = {"add_one", 2, {(size_t)limits->max_work_group_size, 2}, {1, 1}, args, 2, false};
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    test_says(&err, "as compiled it can have");
    l = (device_launch){"add_one", 3, {1, 1, (size_t)limits->max_work_item_size[2] + 1}, {1, 1, 1}, args, 2, false};
    assert_int_not_equal(device_run(d, p, &l, 1, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    l = (device_launch){"add_one", 1, {8}, {0}, args, 2, false};
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_LAUNCH);
    device_program_free(d, p);
    p = opencl_test_build(d, &opencl_test_fixed, NULL);
    l = (device_launch){"fixed", 2, {8, 1}, {1, 1}, args, 1, false};
    assert_int_equal(device_run(d, p, &l, 1, &err), KW_BAD_INPUT);
    test_says(&err, "reqd_work_group_size says 2");
    l.local[1] = 2;
    test_ok(device_run(d, p, &l, 1, &err), &err);
    device_free(d, Y);
    device_program_free(d, p);
}

/* ---- timing ---- */

typedef struct rotation {
    device_arg args[3][2];
    device_launch launches[3][2];
    size_t calls;
} rotation;

static const device_launch *rotate(size_t run, void *cookie)
{
    rotation *r = cookie;
    assert_int_equal(run, r->calls);
    r->calls++;
    return r->launches[run % 3];
}

/* Every run is really run, on the buffers that the callback gives, and readings are positive or 0. */
static void test_times(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *y[3];
    rotation r = {0};
    double ns[7];
    for (int i = 0; i < 3; i++) {
        y[i] = opencl_test_alloc(d, N * sizeof(float));
        test_ok(device_fill(d, y[i], 0, N * sizeof(float), 0, &err), &err);
        r.args[i][0] = buffer_arg(y[i]);
        r.args[i][1] = int_arg(N);
        for (int j = 0; j < 2; j++)
            r.launches[i][j] = (device_launch){"add_one", 1, {8}, {N / 8}, r.args[i], 2, false};
    }
    test_ok(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), &err);
    for (int i = 0; i < 7; i++)
        assert_true(ns[i] >= 0 && ns[i] < 1e12);
    r.calls = 0;
    test_ok(device_time_batch(d, p, rotate, &r, 2, 4, 5, ns, &err), &err);
    assert_int_equal(r.calls, 20);
    for (int i = 0; i < 5; i++)
        assert_true(ns[i] > 0 && ns[i] < 1e12);
    /* Behind a kernel that keeps the device busy, as on a GPU: the same runs on the same buffers. */
    assert_false(opencl_fits_queue(d, 2, 1));
    setenv("KERNWRIGHT_BATCH", "queue", 1);
    assert_true(opencl_fits_queue(d, 2, 4));
    assert_false(opencl_fits_queue(d, 2, 1));
    assert_false(opencl_fits_queue(d, 2, 1000000)); /* the host would be busy for too long */
    for (int i = 0; i < 3; i++)
        test_ok(device_fill(d, y[i], 0, N * sizeof(float), 0, &err), &err);
    r.calls = 0;
    test_ok(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), &err);
    r.calls = 0;
    test_ok(device_time_batch(d, p, rotate, &r, 2, 4, 5, ns, &err), &err);
    assert_int_equal(r.calls, 20);
    for (int i = 0; i < 5; i++)
        assert_true(ns[i] >= 0 && ns[i] < 1e12);
    setenv("KERNWRIGHT_BATCH", "host", 1);
    assert_false(opencl_fits_queue(d, 2, 4));
    unsetenv("KERNWRIGHT_BATCH");
    assert_int_equal(opencl_can_queue(d), !d->info.limits.is_cpu && !d->info.simulated);
    static const float expected[3] = {2 * (3 + 7), 2 * (2 + 7), 2 * (2 + 6)};
    for (int i = 0; i < 3; i++) {
        float values[N];
        test_ok(device_read(d, y[i], 0, values, sizeof values, &err), &err);
        for (int j = 0; j < N; j++)
            assert_true(values[j] == expected[i]);
    }
    r.launches[2][1].local[0] = 1 << 20;
    r.calls = 0;
    assert_int_not_equal(device_time_events(d, p, rotate, &r, 2, 7, ns, &err), KW_OK);
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_DOES_NOT_FIT);
    for (int i = 0; i < 3; i++)
        device_free(d, y[i]);
    device_program_free(d, p);
}

/* ---- a host that stalls ---- */

#define PER_BATCH 4
#define STALL_MS 200
#define MOST_CALLS 200

typedef struct stalling {
    device_arg args[2];
    device_launch launch;
    size_t calls, stalls_at;
} stalling;

/* Between two enqueued runs, as when the machine is busy with something else. */
static const device_launch *stall_once(size_t run, void *cookie)
{
    stalling *s = cookie;
    (void)run;
    for (int ms = 0; s->calls == s->stalls_at && ms < STALL_MS; ms++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    s->calls++;
    return &s->launch;
}

/* One stall makes enqueueing look slow, so that no kernel may keep the device busy for so long: such batches go by the
 * host's clock, but not for good. No run is lost meanwhile. */
static void test_host_stalls(void **state)
{
    (void)state;
    device *d = opencl_test_device();
    kw_error err = {0};
    device_program *p = opencl_test_build(d, &opencl_test_common, NULL);
    device_buffer *y = opencl_test_alloc(d, N * sizeof(float));
    stalling s = {.args = {buffer_arg(y), int_arg(N)}, .stalls_at = 2};
    double ns[3];
    float values[N];
    s.launch = (device_launch){"add_one", 1, {8}, {N / 8}, s.args, 2, false};
    setenv("KERNWRIGHT_BATCH", "queue", 1);
    test_ok(device_fill(d, y, 0, N * sizeof(float), 0, &err), &err);
    test_ok(device_read(d, y, 0, values, sizeof values, &err), &err); /* filled, before another queue adds to it */
    assert_true(opencl_can_queue(d));
    test_ok(opencl_time_queued(d, p, stall_once, &s, 1, PER_BATCH, 1, ns, &err), &err);
    assert_int_equal(s.calls, PER_BATCH);
    assert_true(ns[0] >= 0 && ns[0] < 1e12);
    assert_false(opencl_fits_queue(d, 1, PER_BATCH)); /* 200 ms over 4 runs: a plug of 300 ms */
    test_ok(opencl_time_queued(d, p, stall_once, &s, 1, PER_BATCH, 3, ns, &err), &err);
    for (int i = 0; i < 3; i++)
        assert_true(ns[i] >= 0 && ns[i] < 1e12);
    size_t more = s.calls;
    s.stalls_at = s.calls;
    test_ok(opencl_time_queued(d, p, stall_once, &s, 1, PER_BATCH, 1, ns, &err), &err);
    more = s.calls - more;
    assert_int_equal(more, PER_BATCH);
    int refused = 0;
    while (refused < MOST_CALLS && !opencl_fits_queue(d, 1, PER_BATCH)) {
        test_ok(device_time_batch(d, p, stall_once, &s, 1, PER_BATCH, 1, ns, &err), &err);
        refused++;
    }
    assert_in_range(refused, 1, MOST_CALLS - 1);
    const size_t before = s.calls;
    test_ok(device_time_batch(d, p, stall_once, &s, 1, PER_BATCH, 3, ns, &err), &err);
    assert_int_equal(s.calls - before, 3 * PER_BATCH);
    unsetenv("KERNWRIGHT_BATCH");
    test_ok(device_read(d, y, 0, values, sizeof values, &err), &err);
    for (int j = 0; j < N; j++)
        assert_true(values[j] == (float)s.calls);
    device_free(d, y);
    device_program_free(d, p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_guard_bands),
        cmocka_unit_test(test_local_argument),
        cmocka_unit_test(test_groups_that_do_not_fit),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_host_stalls),
    };
    return cmocka_run_group_tests(tests, opencl_test_open, opencl_test_close);
}
