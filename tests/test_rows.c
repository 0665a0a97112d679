/* Records as rows of the store. */
#include "tests/support_tune.h"
#include "tuner/rows.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static evaluator *open_evaluator(void)
{
    evaluator *e = NULL;
    kw_error err = {0};
    const evaluator_options o = {.device = "fake:1"};
    if (evaluator_open(&o, &e, &err) != KW_OK)
        fail_msg("%s", err.message);
    return e;
}

static bool count(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return true;
}

/* How many rows of the store the query of these finds. */
static size_t stored(store *s, const rows *r)
{
    kw_error err = {0};
    size_t n = 0;
    const store_query q = rows_query(r);
    assert_int_equal(store_each(s, &q, count, &n, &err), KW_OK);
    return n;
}

static void row_of_a_record(void **state)
{
    (void)state;
    evaluator *e = open_evaluator();
    task *t = saxpy_task();
    task_types types = default_types(t);
    task_shape shape = shape_of(t, "N=1000");
    rows r;
    rows_init(&r, e, t, &types, &shape, true);
    double samples[] = {30, 10, 20};
    char detail[] = "details", config[] = "{\"A\":1}", date[21];
    const variant v = {.hash = "0123456789abcdef", .template_name = "some"};
    job_record record = {.outcome = OUTCOME_OK,
                         .stage = STAGE_DONE,
                         .detail = detail,
                         .samples_ns = samples,
                         .n_samples = 3,
                         .method = "batch",
                         .compile_ms = 1,
                         .verify_ms = 2,
                         .time_ms = 3,
                         .registers = 4,
                         .spill_bytes = 5,
                         .local_bytes = 6,
                         .worst_error = 0.5};
    measurement m = rows_make(&r, &v, config, &record, VERIFIED_EXACT, date);
    assert_string_equal(m.task, "saxpy");
    assert_string_equal(m.task_hash, t->hash);
    assert_string_equal(m.types, "T=f32");
    assert_string_equal(m.shape, "{\"N\":1000}");
    assert_string_equal(m.scalars, "{\"a\":2}"); /* the timed ones */
    assert_string_equal(m.device_key, "fake/scripted/small/4");
    assert_string_equal(m.api, "fake");
    assert_string_equal(m.mode, "cold");
    assert_string_equal(m.source_hash, v.hash);
    assert_string_equal(m.template_name, "some");
    assert_string_equal(m.config, config);
    assert_int_equal(m.verified, VERIFIED_EXACT);
    assert_string_equal(m.method, "batch");
    assert_true(m.time.median == 20 && m.time.min == 10 && m.time.n == 3);
    assert_int_equal(m.registers, 4);
    assert_int_equal(m.timing_version, TIMING_VERSION);
    assert_string_equal(m.driver, "1");
    assert_string_equal(m.device_name, "Fake small");
    assert_string_equal(m.tool_version, KERNWRIGHT_VERSION);
    assert_int_equal(strlen(m.date), 20);
    assert_true(strlen(m.host) > 0 && strlen(m.run) > 20);

    /* What failed is not verified, whatever was asked for. */
    record.outcome = OUTCOME_WRONG;
    record.n_samples = 0;
    record.method = NULL;
    measurement failed = rows_make(&r, &v, config, &record, VERIFIED_EXACT, date);
    assert_int_equal(failed.verified, VERIFIED_NOT);
    assert_int_equal(failed.time.n, 0);

    /* The query finds what was stored, and only for this shape and mode. */
    store *s = NULL;
    kw_error err = {0};
    assert_int_equal(store_open(":memory:", false, &s, &err), KW_OK);
    assert_int_equal(store_add(s, &m, &err), KW_OK);
    assert_int_equal(store_add(s, &failed, &err), KW_OK);
    assert_int_equal(stored(s, &r), 2);
    rows_clear(&r);
    rows_init(&r, e, t, &types, &shape, false);
    assert_int_equal(stored(s, &r), 0);
    rows_clear(&r);
    store_close(s);
    task_free(t);
    evaluator_close(e);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(row_of_a_record)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
