/* The worker protocol: what one side writes the other reads. */
#include "base/mem.h"
#include "tests/support_worker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- jobs ---- */

static void make_job(test_job *tj)
{
    test_job_make(tj, "gemm", "time_ns=1");
    tj->j.id = 77;
    tj->j.mode = JOB_TIME;
    tj->j.options = "-cl-mad-enable";
    tj->j.trusted_source = "__kernel void plain() { /* \"quoted\"\n\ttab */ }";
    tj->j.trusted_options = "";
    tj->j.timing = (job_timing){
        .method = TIMING_BATCH, .cold = true, .min_samples = 9, .max_ns = 2000000000, .hopeless_ns = 1234.5};
    tj->j.limits = (job_limits){.compile_ms = 60000, .run_ms = 10000};
    job_case *c = test_job_add(tj, "M=5,N=7,K=0", DIST_SPARSE, 0xfedcba9876543210u);
    c->scalars[0] = 0.1;
    c->scalars[1] = -3;
    c->sampled = true;
    c->trusted_plan = c->plan;
    c->plan.n_temps = 2;
    c->plan.temp_bytes[1] = (uint64_t)3 << 33;
    c->plan.launches[0].args[1] = (plan_arg){.kind = ARG_LOCAL, .integer = 4096};
    c->plan.launches[0].args[2] =
        (plan_arg){.kind = ARG_VALUE, .type = DTYPE_I64, .integer = INT64_C(0x7edcba9876543210)};
    test_job_add(tj, "M=1,N=2,K=3", DIST_NORMAL, 1);
}

static void assert_same_plan(const plan *a, const plan *b)
{
    assert_int_equal(a->n_launches, b->n_launches);
    assert_int_equal(a->n_temps, b->n_temps);
    assert_memory_equal(a->temp_bytes, b->temp_bytes, sizeof a->temp_bytes);
    for (size_t i = 0; i < a->n_launches; i++) {
        const plan_launch *x = &a->launches[i], *y = &b->launches[i];
        assert_string_equal(x->kernel, y->kernel);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->local, y->local, x->rank * sizeof *x->local);
        assert_memory_equal(x->groups, y->groups, x->rank * sizeof *x->groups);
        assert_int_equal(x->n_args, y->n_args);
        for (size_t k = 0; k < x->n_args; k++) {
            assert_int_equal(x->args[k].kind, y->args[k].kind);
            assert_int_equal(x->args[k].index, y->args[k].index);
            assert_int_equal(x->args[k].type, y->args[k].type);
            assert_true(x->args[k].integer == y->args[k].integer);
            assert_true(x->args[k].real == y->args[k].real);
        }
    }
}

static void test_job_round_trip(void **state)
{
    (void)state;
    test_job tj;
    job j;
    task *t;
    kw_error err;
    strb line = STRB_INIT, again = STRB_INIT;
    make_job(&tj);
    job_print(&tj.j, &line);
    assert_int_equal(line.data[line.length - 1], '\n');
    assert_null(memchr(line.data, '\n', line.length - 1));
    arena *a = arena_new();
    if (job_parse(line.data, line.length - 1, a, &j, &t, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(j.id, 77);
    assert_string_equal(j.device, "fake:0");
    assert_int_equal(j.mode, JOB_TIME);
    assert_int_equal(j.lang, LANGUAGE_OPENCL);
    assert_string_equal(j.source, tj.j.source);
    assert_string_equal(j.options, "-cl-mad-enable");
    assert_string_equal(j.trusted_source, tj.j.trusted_source);
    assert_string_equal(j.task->hash, tj.t->hash);
    assert_memory_equal(&j.types, &tj.j.types, sizeof j.types);
    assert_int_equal(j.timing.method, TIMING_BATCH);
    assert_true(j.timing.cold);
    assert_int_equal(j.timing.min_samples, 9);
    assert_int_equal(j.timing.max_ns, 2000000000);
    assert_true(j.timing.hopeless_ns == 1234.5);
    assert_int_equal(j.limits.compile_ms, 60000);
    assert_int_equal(j.limits.run_ms, 10000);
    assert_int_equal(j.n_cases, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(j.cases[i].shape.dims, tj.cases[i].shape.dims, 3 * sizeof(int64_t));
        assert_memory_equal(j.cases[i].scalars, tj.cases[i].scalars, 2 * sizeof(double));
        assert_int_equal(j.cases[i].dist, tj.cases[i].dist);
        assert_true(j.cases[i].seed == tj.cases[i].seed);
        assert_int_equal(j.cases[i].sampled, tj.cases[i].sampled);
        assert_same_plan(&j.cases[i].plan, &tj.cases[i].plan);
        assert_same_plan(&j.cases[i].trusted_plan, &tj.cases[i].trusted_plan);
    }
    job_print(&j, &again);
    assert_string_equal(strb_text(&again), strb_text(&line));
    task_free(t);
    arena_free(a);
    test_job_clear(&tj);
    strb_clear(&line);
    strb_clear(&again);
}

/* One member of a good job replaced, or removed: the message must name it. */
static void refuse(const char *path, const char *replacement, const char *part)
{
    test_job tj;
    job j;
    task *t;
    kw_error err;
    strb line = STRB_INIT;
    make_job(&tj);
    job_print(&tj.j, &line);
    json *o = json_parse(line.data, line.length, "job", 1, 1, &err);
    assert_non_null(o);
    json *new_value = json_parse(replacement, strlen(replacement), "new", 1, 1, &err);
    assert_non_null(new_value);
    json_set(o, path, new_value);
    strb_reset(&line);
    json_print(o, &line);
    json_free(o);
    arena *a = arena_new();
    assert_int_equal(job_parse(line.data, line.length, a, &j, &t, &err), KW_BAD_INPUT);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" is not in: %s", part, err.message);
    assert_null(t);
    arena_free(a);
    strb_clear(&line);
    test_job_clear(&tj);
}

static void test_bad_jobs(void **state)
{
    (void)state;
    refuse("type", "\"hello\"", "hello");
    refuse("id", "\"x\"", "id");
    refuse("device", "7", "device");
    refuse("mode", "\"dance\"", "mode \"dance\"");
    refuse("language", "\"fortran\"", "fortran");
    refuse("program", "{}", "source");
    refuse("program", "null", "program");
    refuse("trusted", "{\"source\":\"\"}", "options");
    refuse("task", "{\"task\":\"gemm\"}", "job: task");
    refuse("types", "\"T=f99\"", "f99");
    refuse("cases", "[]", "0 cases");
    refuse("cases", "7", "cases");
    refuse("cases", "[{}]", "case 1: shape");
    refuse("cases", "[{\"shape\":{\"M\":1,\"N\":1,\"K\":-4}}]", "case 1");
    refuse("cases", "[{\"shape\":{\"M\":1,\"N\":1,\"K\":1},\"scalars\":[1]}]", "1 scalars given, task gemm has 2");
    refuse("cases", "[{\"shape\":{\"M\":1,\"N\":1,\"K\":1},\"scalars\":[1,\"x\"]}]", "scalar beta");
    refuse("cases", "[{\"shape\":{\"M\":1,\"N\":1,\"K\":1},\"scalars\":[1,0],\"distribution\":\"odd\"}]", "odd");
    refuse("cases",
           "[{\"shape\":{\"M\":1,\"N\":1,\"K\":1},\"scalars\":[1,0],\"distribution\":\"large\",\"seed\":\"0x12\"}]",
           "seed must be 16 hex digits");
    refuse("cases",
           "[{\"shape\":{\"M\":1,\"N\":1,\"K\":1},\"scalars\":[1,0],\"distribution\":\"large\",\"seed\":"
           "\"0123456789abcdef\"}]",
           "plan");
    refuse("timing", "{\"method\":\"guess\"}", "guess");
    refuse("timing", "{\"min_samples\":-1}", "min_samples");
    refuse("timing", "{\"hopeless_ns\":\"soon\"}", "hopeless_ns");
    refuse("limits", "{\"run_ms\":\"long\"}", "run_ms");
}

static void test_unknown_members_are_ignored(void **state)
{
    (void)state;
    test_job tj;
    job j;
    task *t;
    kw_error err;
    strb line = STRB_INIT;
    make_job(&tj);
    job_print(&tj.j, &line);
    json *o = json_parse(line.data, line.length, "job", 1, 1, &err);
    json_set_string(o, "from_the_future", "yes");
    strb_reset(&line);
    json_print(o, &line);
    json_free(o);
    arena *a = arena_new();
    assert_int_equal(job_parse(line.data, line.length, a, &j, &t, &err), KW_OK);
    task_free(t);
    arena_free(a);
    strb_clear(&line);
    test_job_clear(&tj);
}

/* ---- messages ---- */

static message parse(const strb *line)
{
    message m;
    kw_error err;
    assert_int_equal(line->data[line->length - 1], '\n');
    assert_null(memchr(line->data, '\n', line->length - 1));
    if (message_parse(line->data, line->length - 1, &m, &err) != KW_OK)
        fail_msg("%s: %s", err.message, line->data);
    return m;
}

static void test_hello(void **state)
{
    (void)state;
    device_info devices[2] = {
        {.spec = "opencl:0:0", .key = "v/a/n/4", .name = "A device", .limits = {.compute_units = 4}},
        {.spec = "fake:0", .key = "f/a/k/e"}};
    message hello = {.version = "1.2",
                     .pid = 42,
                     .host = "box",
                     .cpu_model = "CPU",
                     .physical_cores = 8,
                     .available_bytes = INT64_C(1) << 36,
                     .devices = devices,
                     .n_devices = 2,
                     .note = "one\ntwo"};
    strb line = STRB_INIT;
    job_hello_print(&hello, &line);
    message m = parse(&line);
    assert_int_equal(m.type, MESSAGE_HELLO);
    assert_int_equal(m.protocol, PROTOCOL_VERSION);
    assert_string_equal(m.version, "1.2");
    assert_int_equal(m.pid, 42);
    assert_string_equal(m.host, "box");
    assert_string_equal(m.cpu_model, "CPU");
    assert_int_equal(m.physical_cores, 8);
    assert_int_equal(m.available_bytes, INT64_C(1) << 36);
    assert_int_equal(m.n_devices, 2);
    assert_string_equal(m.devices[0].key, "v/a/n/4");
    assert_int_equal(m.devices[0].limits.compute_units, 4);
    assert_string_equal(m.devices[1].spec, "fake:0");
    assert_string_equal(m.note, "one\ntwo");
    message_clear(&m);
    strb_clear(&line);
}

static void test_another_protocol_is_refused(void **state)
{
    (void)state;
    static const char line[] =
        "{\"type\":\"hello\",\"protocol\":99,\"version\":\"9.9\",\"host\":\"box\",\"devices\":[]}";
    message m;
    kw_error err;
    assert_int_equal(message_parse(line, strlen(line), &m, &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "box"));
    assert_non_null(strstr(err.message, "protocol 99"));
}

static void test_stage_and_error(void **state)
{
    (void)state;
    for (int s = 0; s < STAGE_COUNT; s++) {
        strb line = STRB_INIT;
        job_stage_print(5, (stage)s, &line);
        message m = parse(&line);
        assert_int_equal(m.type, MESSAGE_STAGE);
        assert_int_equal(m.id, 5);
        assert_int_equal(m.stage, s);
        message_clear(&m);
        strb_clear(&line);
    }
    strb line = STRB_INIT;
    job_error_print(KW_ENVIRONMENT, "no \"compiler\"", &line);
    message m = parse(&line);
    assert_int_equal(m.type, MESSAGE_ERROR);
    assert_int_equal(m.id, -1);
    assert_int_equal(m.error.code, KW_ENVIRONMENT);
    assert_string_equal(m.error.message, "no \"compiler\"");
    message_clear(&m);
    strb_clear(&line);
}

static void test_record_round_trip(void **state)
{
    (void)state;
    double samples[3] = {1234.5, 1.0 / 3, 9e9};
    job_record r = {.stage = STAGE_DONE,
                    .samples_ns = samples,
                    .n_samples = 3,
                    .n_dropped = 2,
                    .method = "events",
                    .stopped_early = true,
                    .saved_ms = 12.25,
                    .compile_ms = 1.5,
                    .verify_ms = 2.5,
                    .time_ms = 3.5,
                    .compile_start_ms = 0.5,
                    .verify_start_ms = 4,
                    .time_start_ms = 5,
                    .device_ms = 5.25,
                    .registers = 128,
                    .spill_bytes = -1,
                    .local_bytes = 4096,
                    .cases_passed = 6,
                    .worst_error = 0.25};
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        strb line = STRB_INIT;
        r.outcome = (outcome)o;
        r.out_of_memory = o % 2 == 1;
        job_record_print(9, &r, &line);
        message m = parse(&line);
        const job_record *got = &m.record;
        assert_int_equal(m.type, MESSAGE_RESULT);
        assert_int_equal(m.id, 9);
        assert_int_equal(got->outcome, o);
        assert_int_equal(got->stage, STAGE_DONE);
        assert_null(got->detail);
        assert_int_equal(got->n_samples, 3);
        assert_memory_equal(got->samples_ns, samples, sizeof samples);
        assert_int_equal(got->n_dropped, 2);
        assert_string_equal(got->method, "events");
        assert_true(got->stopped_early);
        assert_int_equal(got->out_of_memory, o % 2 == 1);
        assert_true(got->saved_ms == 12.25);
        assert_null(got->probe);
        assert_true(got->compile_ms == 1.5 && got->verify_ms == 2.5 && got->time_ms == 3.5);
        assert_true(got->compile_start_ms == 0.5 && got->verify_start_ms == 4 && got->time_start_ms == 5);
        assert_true(got->device_ms == 5.25);
        assert_int_equal(got->registers, 128);
        assert_int_equal(got->spill_bytes, -1);
        assert_int_equal(got->local_bytes, 4096);
        assert_int_equal(got->cases_passed, 6);
        assert_true(got->worst_error == 0.25);
        message_clear(&m);
        strb_clear(&line);
    }
}

static job_record through(const job_record *r)
{
    strb line = STRB_INIT;
    job_record_print(1, r, &line);
    message m = parse(&line);
    strb_clear(&line);
    job_record got = m.record;
    memset(&m.record, 0, sizeof m.record);
    message_clear(&m);
    return got;
}

static void test_details_of_any_kind(void **state)
{
    (void)state;
    char bytes[] = "line 1\nbad \xff\xfe bytes\x01";
    job_record r = {
        .outcome = OUTCOME_COMPILE_ERROR, .stage = STAGE_COMPILE, .detail = bytes, .worst_error = (double)INFINITY};
    job_record got = through(&r);
    assert_string_equal(got.detail, "line 1\nbad \xef\xbf\xbd\xef\xbf\xbd bytes\x01");
    assert_true(got.worst_error == JOB_MAX_ERROR);
    job_record_clear(&got);
    /* A log of 2 MB: both ends are kept. */
    size_t n = 2u << 20;
    char *log = mem_alloc(n + 1);
    memset(log, 'x', n);
    log[n] = '\0';
    for (size_t i = 0; i < 5; i++) {
        log[i] = "first"[i];
        log[n - 4 + i] = "last"[i];
    }
    r.detail = log;
    got = through(&r);
    assert_true(strlen(got.detail) < JOB_MAX_DETAIL + 100);
    assert_memory_equal(got.detail, "first", 5);
    assert_string_equal(got.detail + strlen(got.detail) - 4, "last");
    assert_non_null(strstr(got.detail, "bytes left out"));
    job_record_clear(&got);
    free(log);
}

static void refuse_message(const char *line, const char *part)
{
    message m;
    kw_error err;
    assert_int_not_equal(message_parse(line, strlen(line), &m, &err), KW_OK);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" is not in: %s", part, err.message);
}

static void test_bad_messages(void **state)
{
    (void)state;
    refuse_message("", "worker");
    refuse_message("[1,2]", "type");
    refuse_message("{\"type\":\"song\"}", "song");
    refuse_message("{\"type\":\"hello\"}", "protocol");
    refuse_message("{\"type\":\"hello\",\"protocol\":1}", "devices");
    refuse_message("{\"type\":\"hello\",\"protocol\":1,\"devices\":[{}]}", "spec");
    refuse_message("{\"type\":\"stage\",\"id\":1,\"name\":\"lunch\"}", "lunch");
    refuse_message("{\"type\":\"stage\",\"name\":\"time\"}", "id");
    refuse_message("{\"type\":\"result\",\"id\":1}", "record");
    refuse_message("{\"type\":\"result\",\"id\":1,\"record\":{\"outcome\":\"fine\"}}", "fine");
    refuse_message(
        "{\"type\":\"result\",\"id\":1,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\",\"method\":\"auto\"}}",
        "method");
    refuse_message(
        "{\"type\":\"result\",\"id\":1,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\",\"samples_ns\":[1,null]}}",
        "sample");
    refuse_message("{\"type\":\"result\",\"id\":1,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\",\"dropped\":-1}}",
                   "dropped");
    refuse_message(
        "{\"type\":\"result\",\"id\":1,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\",\"time_ms\":\"1\"}}",
        "time_ms");
    refuse_message("{\"type\":\"error\",\"code\":3}", "text");
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        outcome o;
        assert_true(outcome_from_name(outcome_name((outcome)i), &o));
        assert_int_equal(o, i);
    }
    outcome o;
    stage s;
    assert_false(outcome_from_name("OK", &o));
    assert_false(outcome_from_name(NULL, &o));
    assert_false(stage_from_name("", &s));
    assert_string_equal(distribution_name(DIST_SPARSE), "sparse");
    assert_string_equal(timing_method_name(TIMING_EVENTS), "events");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_round_trip),
        cmocka_unit_test(test_bad_jobs),
        cmocka_unit_test(test_unknown_members_are_ignored),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_another_protocol_is_refused),
        cmocka_unit_test(test_stage_and_error),
        cmocka_unit_test(test_record_round_trip),
        cmocka_unit_test(test_details_of_any_kind),
        cmocka_unit_test(test_bad_messages),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
