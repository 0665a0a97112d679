/* The trace: the file a viewer loads, and the share of time in which nothing ran. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "tuner/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

/* The share is a function of the wall time, which a test cannot choose: so what is compared is the covered time, which
 * follows from it up to rounding. `t0` is a time before trace_new, so intervals are placed behind it with room to
 * spare. */
static double covered_ms(const trace *t)
{
    double wall_ms, share = trace_idle_share(t, &wall_ms);
    return (1 - share) * wall_ms;
}

static void busy_time_is_a_union(void **state)
{
    (void)state;
    trace *t = trace_new();
    int64_t t0 = clock_now_ns();
    trace_add(t, 1, "compile", NULL, t0 + 10 * MS, t0 + 20 * MS, 1);
    trace_add(t, 2, "time", NULL, t0 + 15 * MS, t0 + 30 * MS, 1);   /* overlaps */
    trace_add(t, 2, "verify", NULL, t0 + 16 * MS, t0 + 18 * MS, 1); /* inside */
    trace_add(t, 1, "verify", NULL, t0 + 40 * MS, t0 + 45 * MS, 1); /* apart, and added out of order below */
    trace_add(t, 1, "compile", NULL, t0 + 2 * MS, t0 + 3 * MS, 1);
    trace_add(t, 0, "expand", NULL, t0 + 50 * MS, t0 + 90 * MS, 0); /* not busy */
    double covered = covered_ms(t);
    assert_true(covered > 25.999 && covered < 26.001);
    trace_free(t);
}

/* What began before the trace counts from its beginning on. */
static void earlier_intervals_are_cut(void **state)
{
    (void)state;
    int64_t before = clock_now_ns();
    trace *t = trace_new();
    trace_add(t, 1, "compile", NULL, before - 500 * MS, before, 1);
    assert_true(covered_ms(t) < 0.001);
    assert_true(trace_idle_share(t, NULL) <= 1);
    trace_free(t);
}

static void nothing_happened(void **state)
{
    (void)state;
    trace *t = trace_new();
    assert_true(trace_idle_share(t, NULL) == 1 || trace_idle_share(t, NULL) == 0);
    trace_free(t);
    trace_free(NULL);
    trace_add(NULL, 0, "expand", NULL, 0, 1, 1);
}

static void the_file(void **state)
{
    (void)state;
    kw_error err = {0};
    char *folder = fs_temp_folder("kernwright-test-", &err), *path = fs_join(folder, "trace.json");
    trace *t = trace_new();
    int64_t t0 = clock_now_ns();
    trace_add(t, 0, "expand", "gemm_tiled", t0, t0 + 1500000, 0);
    trace_add(t, 3, "compile", NULL, t0 + 2 * MS, t0 + 4 * MS, 1);
    assert_int_equal(trace_write(t, path, &err), KW_OK);
    trace_free(t);
    json *j = json_parse_file(path, &err);
    assert_non_null(j);
    const json *events = json_get(j, "traceEvents");
    assert_int_equal(json_count(events), 2);
    const json *first = json_at(events, 0), *second = json_at(events, 1);
    assert_string_equal(json_text(json_get(first, "name")), "expand");
    assert_string_equal(json_text(json_get(first, "ph")), "X");
    assert_true(json_number(json_get(first, "dur")) == 1500); /* microseconds */
    assert_true(json_number(json_get(first, "tid")) == 0);
    assert_string_equal(json_text(json_get(json_get(first, "args"), "detail")), "gemm_tiled");
    assert_true(json_number(json_get(second, "tid")) == 3);
    double distance = json_number(json_get(second, "ts")) - json_number(json_get(first, "ts"));
    assert_true(distance > 1999.999 && distance < 2000.001);
    assert_true(json_number(json_get(first, "ts")) >= 0);
    json_free(j);

    /* an unwritable place: one line, the right code */
    t = trace_new();
    assert_int_equal(trace_write(t, "/proc/trace.json", &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "/proc/trace.json"));
    trace_free(t);
    fs_remove_tree(folder);
    free(path);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_time_is_a_union),
        cmocka_unit_test(earlier_intervals_are_cut),
        cmocka_unit_test(nothing_happened),
        cmocka_unit_test(the_file),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
