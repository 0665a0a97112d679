/* Measurements as they are made: what a run and a record say of themselves is what the store then finds. Needs the
 * program (for its worker) and PoCL or another OpenCL device. */
#include "tests/store_fixture.h"

#include "tuner/rows.h"

static evaluator *start(void)
{
    const char *build = getenv("BUILD");
    char command[1024];
    snprintf(command, sizeof command, "%s/kernwright worker --stdio", build ? build : "build");
    evaluator_options options = {.worker_command = command};
    evaluator *e = NULL;
    kw_error err = {0};
    assert_code(evaluator_open(&options, &e, &err), KW_OK, err);
    return e;
}

static bool check_row(const measurement *m, void *cookie)
{
    const rows *r = cookie;
    assert_string_equal(m->task, "scale");
    assert_string_equal(m->task_hash, r->task->hash);
    assert_string_equal(m->types, "T=f16");
    assert_string_equal(m->shape, "{\"M\":3,\"N\":4,\"ld\":8}");
    assert_string_equal(m->scalars, "{\"alpha\":1}");
    assert_string_equal(m->device_key, r->device->key);
    assert_string_equal(m->device_name, r->device->name);
    assert_string_equal(m->driver, r->device->driver);
    assert_string_equal(m->api, "opencl");
    assert_string_equal(m->mode, "warm");
    assert_string_equal(m->template_name, "scale_rows");
    assert_int_equal(m->timing_version, TIMING_VERSION);
    assert_true(strlen(m->host) > 0);
    assert_int_equal(strlen(m->date), 20);
    assert_has(m->run, "Z-"); /* begin and process id of the run */
    if (m->outcome == OUTCOME_OK) {
        assert_int_equal(m->verified, VERIFIED_EXACT);
        assert_string_equal(m->method, "events");
        assert_true(m->time.median == 20 && m->n_samples == 3);
        assert_int_equal(m->registers, 24);
    } else {
        assert_int_equal(m->verified, VERIFIED_NOT); /* whatever the level was to be */
        assert_string_equal(m->detail, "y[3] is 1");
        assert_null(m->method);
    }
    return true;
}

static void rows_of_a_run(void **state)
{
    (void)state;
    kw_error err = {0};
    task *t = fixture_task();
    template *p = fixture_template(t, "scale_rows", false);
    variant *v = fixture_variant(p, 64, 0);
    evaluator *e = start();
    task_types types;
    task_shape shape;
    assert_code(task_types_parse(t, "f16", &types, &err), KW_OK, err);
    assert_code(task_shape_parse(t, "M=3,N=4,ld=8", &shape, &err), KW_OK, err);
    rows r;
    rows_init(&r, e, t, &types, &shape, false);
    double samples[] = {10, 20, 30};
    job_record ok = {.stage = STAGE_DONE, .samples_ns = samples, .n_samples = 3, .method = "events", .registers = 24};
    job_record wrong = {.outcome = OUTCOME_WRONG, .stage = STAGE_VERIFY, .detail = lend("y[3] is 1")};
    char date[21], config[] = "{\"WG\":64,\"FIX\":false}";
    store *s = memory_store();
    measurement m = rows_make(&r, v, config, &ok, VERIFIED_EXACT, date);
    add_row(s, &m);
    m = rows_make(&r, v, config, &wrong, VERIFIED_EXACT, date);
    add_row(s, &m);
    store_query q = rows_query(&r);
    assert_int_equal(count_rows(s, &q), 2);
    assert_code(store_each(s, &q, check_row, &r, &err), KW_OK, err);
    rows other;
    rows_init(&other, e, t, &types, &shape, true); /* cold rows are other rows */
    q = rows_query(&other);
    assert_int_equal(count_rows(s, &q), 0);
    store_close(s);
    rows_clear(&other);
    rows_clear(&r);
    evaluator_close(e);
    variant_free(v);
    template_free(p);
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_a_run)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
