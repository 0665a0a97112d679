/* The roofline probe: figures of scripted devices, figures as JSON, limits and floors against known times. */
#include "tests/support_tune.h"
#include "tests/support_worker.h"
#include "tuner/probe.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(x, wanted, share) assert_true(fabs((x) - (wanted)) <= (share)*fabs(wanted))

/* ---- the device layer: the scripted device takes a known time for each work-item and step ---- */

static size_t n_alive;

static void alive(void *cookie)
{
    (void)cookie;
    n_alive++;
}

static probe_figures figures_of(const char *spec, char *notes, size_t size)
{
    device *d = NULL;
    device_probe *p = NULL;
    probe_figures f = {.copy = 0};
    kw_error err;
    if (device_open(spec, &d, &err) != KW_OK || probe_open(d, alive, NULL, &p, &err) != KW_OK ||
        probe_measure(p, &f, &err) != KW_OK)
        fail_msg("%s", err.message);
    snprintf(notes, size, "%s", probe_notes(p));
    probe_close(p);
    device_close(d);
    return f;
}

static void figures(void **state)
{
    (void)state;
    char notes[256];
    n_alive = 0;
    probe_figures f = figures_of("fake:0", notes, sizeof notes);
    assert_string_equal(notes, "");
    assert_true(n_alive > 100);
    /* 0.0003 ns for each work-item: 32 bytes copied, 128 read, 16 written; within the cache 128 and 64 a step */
    assert_near(f.copy, 32 / 0.0003e-9, 0.02);
    assert_near(f.read, 128 / 0.0003e-9, 0.02);
    assert_near(f.write, 16 / 0.0003e-9, 0.02);
    assert_near(f.cache_copy, 128 / 0.0003e-9, 0.02);
    assert_near(f.cache_read, 64 / 0.0003e-9, 0.02);
    assert_near(f.local_read, 8 * 16 / 0.0001e-9, 0.02);
    assert_near(f.fma_f32, 2 * 64 * 4 / 0.0005e-9, 0.02);
    assert_near(f.fma_f64, 2 * 64 * 4 / 0.0005e-9, 0.02);
    assert_true(f.launch_event_ns > 0 && f.launch_batch_ns > 0 && f.launch_single_ns > 0);
    assert_true(f.event_step_ns == 1);
}

/* Groups of 64 at most, 4 units, no double precision, buffers of some MiB. */
static void figures_of_a_small_device(void **state)
{
    (void)state;
    char notes[256];
    probe_figures f = figures_of("fake:1", notes, sizeof notes);
    assert_string_equal(notes, "");
    assert_near(f.copy, 32 / 0.0003e-9, 0.02);
    assert_near(f.fma_f32, 2 * 64 * 4 / 0.0005e-9, 0.02);
    assert_true(f.fma_f64 == 0);
    assert_near(f.local_read, 8 * 16 / 0.0001e-9, 0.02);
}

static void rulers(void **state)
{
    (void)state;
    device *d;
    device_probe *p;
    kw_error err;
    assert_int_equal(device_open("fake:0", &d, &err), KW_OK);
    assert_int_equal(probe_open(d, NULL, NULL, &p, &err), KW_OK);
    for (int i = 0; i < PROBE_LENGTHS; i++) {
        device_program *program;
        const device_launch *launches;
        size_t n;
        assert_int_equal(probe_ruler_of(p, PROBE_COMPUTE, probe_length_ns[i], &program, &launches, &n, &err), KW_OK);
        assert_int_equal(n, 1);
        int32_t steps;
        memcpy(&steps, launches[0].args[2].bytes, sizeof steps);
        double items = (double)(launches[0].groups[0] * launches[0].local[0]);
        assert_near(items * steps * 0.0005, probe_length_ns[i], 0.05);
        assert_int_equal(probe_ruler_of(p, PROBE_MEMORY, probe_length_ns[i], &program, &launches, &n, &err), KW_OK);
        assert_true(n >= 1 && n <= 64);
        assert_string_equal(launches[n - 1].kernel, "probe_copy");
    }
    probe_close(p);
    device_close(d);
}

/* ---- the job ---- */

static void the_job(void **state)
{
    (void)state;
    test_worker w;
    job_record r;
    const job j = {.id = 5, .device = "fake:0", .mode = JOB_PROBE, .limits = {.compile_ms = 1, .run_ms = 2}};
    test_worker_start(&w);
    message hello;
    test_worker_read(&w, &hello);
    message_clear(&hello);
    assert_true(test_worker_do(&w, &j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    assert_int_equal(r.stage, STAGE_DONE);
    assert_int_equal(w.stages[0], STAGE_COMPILE);
    assert_int_equal(w.stages[w.n_stages - 1], STAGE_TIME);
    assert_non_null(r.probe);
    assert_true(r.probe->copy > 0 && r.probe->seconds > 0 && r.compile_ms > 0 && r.time_ms > 0);
    for (int k = 0; k < PROBE_RULERS; k++) {
        for (int i = 0; i < PROBE_LENGTHS; i++) {
            const probe_noise *n = &r.probe->noise[k][i];
            /* readings deviate by 0.5% at most, medians by less */
            assert_true(n->median_ns > 0 && n->noise > 0 && n->noise < 0.01 && fabs(n->bias) < 0.005);
            assert_int_equal(n->batch, i == 0);
        }
    }
    job_record_clear(&r);
    assert_int_equal(test_worker_end(&w), 0);
}

static void the_job_is_read(void **state)
{
    (void)state;
    static const char line[] = "{\"type\":\"job\",\"id\":3,\"device\":\"fake:0\",\"mode\":\"probe\","
                               "\"limits\":{\"compile_ms\":5,\"run_ms\":6}}";
    arena *a = arena_new();
    job j;
    task *t;
    kw_error err;
    assert_int_equal(job_parse(line, strlen(line), a, &j, &t, &err), KW_OK);
    assert_int_equal(j.mode, JOB_PROBE);
    assert_null(t);
    assert_null(j.task);
    assert_int_equal(j.n_cases, 0);
    assert_int_equal(j.limits.run_ms, 6);
    strb text = STRB_INIT;
    job_print(&j, &text);
    assert_int_equal(text.length, strlen(line) + 1);
    assert_memory_equal(text.data, line, strlen(line));
    strb_clear(&text);
    arena_free(a);
}

/* ---- JSON ---- */

static probe_figures some_figures(void)
{
    probe_figures f = {.copy = 3.96e12,
                       .read = 4.1e12,
                       .write = 3.5e12,
                       .cache_copy = 6e12,
                       .cache_read = 8e12,
                       .local_read = 33e12,
                       .fma_f32 = 63.4e12,
                       .fma_f64 = 31e12,
                       .launch_event_ns = 1400,
                       .launch_batch_ns = 5300,
                       .launch_single_ns = 19000,
                       .event_step_ns = 32,
                       .seconds = 4.5};
    for (int k = 0; k < PROBE_RULERS; k++)
        for (int i = 0; i < PROBE_LENGTHS; i++)
            f.noise[k][i] = (probe_noise){.median_ns = probe_length_ns[i] * 1.1,
                                          .noise = (k ? 0.001 : 0.002) * (PROBE_LENGTHS - i),
                                          .bias = i % 2 ? -0.0001 : 0.0002,
                                          .batch = i == 0};
    return f;
}

static void json_round_trip(void **state)
{
    (void)state;
    probe_figures f = some_figures(), got;
    f.noise[PROBE_MEMORY][1] = (probe_noise){.median_ns = 0}; /* not measured: absent */
    json *j = probe_figures_to_json(&f);
    kw_error err;
    assert_null(json_get(j, "fma_f16_flops_per_s"));
    assert_int_equal(json_count(json_get(j, "noise")), 5);
    assert_int_equal(probe_figures_from_json(j, "here", &got, &err), KW_OK);
    assert_memory_equal(&got, &f, sizeof f);
    json_free(j);
}

static void json_that_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "here: must be an object"},
        {"{\"copy_bytes_per_s\":\"fast\"}", "here: copy_bytes_per_s must be a number, 0 or more"},
        {"{\"read_bytes_per_s\":-1}", "here: read_bytes_per_s must be a number, 0 or more"},
        {"{\"noise\":[{\"kernel\":\"memory\",\"length_ns\":30000,\"noise\":-0.1}]}", "here: noise must be a number"},
        {"{\"noise\":[{\"kernel\":\"memory\",\"length_ns\":30000,\"bias\":true}]}", "here: bias must be a number"},
    };
    static const char odd[] = "{\"new\":1,\"noise\":[{},{\"kernel\":\"other\",\"length_ns\":30000,\"noise\":0.5},"
                              "{\"kernel\":\"memory\",\"length_ns\":31000,\"noise\":0.5}]}";
    probe_figures f, none;
    kw_error err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json *j = json_parse(bad[i].text, strlen(bad[i].text), "here", 1, 1, &err);
        assert_non_null(j);
        assert_int_equal(probe_figures_from_json(j, "here", &f, &err), KW_BAD_INPUT);
        assert_memory_equal(err.message, bad[i].message, strlen(bad[i].message));
        json_free(j);
    }
    json *j = json_parse(odd, strlen(odd), "here", 1, 1, &err);
    assert_int_equal(probe_figures_from_json(j, "here", &f, &err), KW_OK);
    memset(&none, 0, sizeof none);
    assert_memory_equal(&f, &none, sizeof f);
    json_free(j);
}

/* ---- limits ---- */

/* A GPU that does not tell its cache, with the figures above. */
static const device_limits gpu = {
    .max_work_group_size = 1024, .global_mem_bytes = INT64_C(140) << 30, .compute_units = 132, .is_gpu = 1};
static const device_limits cpu = {
    .max_work_group_size = 4096, .global_mem_bytes = INT64_C(8) << 30, .cache_bytes = 32 << 20, .is_cpu = 1};

typedef struct judged {
    task *t;
    task_types types;
    task_shape shape;
    probe_figures f;
    probe_case c;
} judged;

static judged *judge_types(const char *task_name, const char *types, const char *dims, const device_limits *l,
                           bool cold)
{
    judged *x = mem_calloc(1, sizeof *x);
    kw_error err;
    if (task_load(task_name, &x->t, &err) != KW_OK || task_types_parse(x->t, types, &x->types, &err) != KW_OK)
        fail_msg("%s", err.message);
    x->shape = shape_of(x->t, dims);
    x->f = some_figures();
    x->c = (probe_case){.figures = &x->f, .limits = l, .t = x->t, .types = &x->types, .shape = &x->shape, .cold = cold};
    return x;
}

static judged *judge(const char *task_name, const char *dims, const device_limits *l, bool cold)
{
    return judge_types(task_name, NULL, dims, l, cold);
}

static void forget(judged *x)
{
    task_free(x->t);
    free(x);
}

static void expect_limit(const char *task_name, const char *dims, bool cold, const char *method, const char *by,
                         double ns)
{
    judged *x = judge(task_name, dims, &gpu, cold);
    probe_limit limit = probe_limit_of(&x->c, method);
    assert_non_null(limit.by);
    assert_string_equal(limit.by, by);
    assert_near(limit.ns, ns, 1e-9);
    forget(x);
}

static void limits(void **state)
{
    (void)state;
    const double n = 4096;
    expect_limit("gemm", "M=4096,N=4096,K=4096", true, "events", "fma", 2 * n * n * n / 63.4e3);
    expect_limit("transpose", "R=4096,C=4096", true, "events", "memory", 8 * n * n / 3.96e3);
    /* warm, but larger than the cache: a part may stay there, it counts as memory all the same */
    expect_limit("transpose", "R=4096,C=4096", false, "events", "memory", 8 * n * n / 3.96e3);
    expect_limit("transpose", "R=2048,C=2048", false, "events", "cache", 8 * n * n / 4 / 8e3);
    expect_limit("transpose", "R=2048,C=2048", true, "events", "memory", 8 * n * n / 4 / 3.96e3);
    /* nearly all is read */
    expect_limit("reduce_sum", "N=100000000", true, "events", "memory", 4 * (1e8 + 1) / 4.1e3);
    /* 64 sets do not fill the cache twice */
    expect_limit("saxpy", "N=100000", true, "events", "launch", 1400);
    expect_limit("saxpy", "N=100000", true, "batch", "launch", 5300);
    expect_limit("gemm", "M=64,N=64,K=64", true, "batch", "launch", 5300);
    expect_limit("gemm", "M=64,N=64,K=65536", true, "events", "fma", 2 * 64.0 * 64 * 65536 / 63.4e3);
}

/* The best times that correct kernels were seen to take on such a device, in us: none may be called implausible, and
 * none may be far beyond 100%. */
static void no_false_alarm(void **state)
{
    (void)state;
    static const struct {
        const char *task_name, *dims;
        double us;
        bool warm_only;
    } seen[] = {
        {"gemm", "M=4096,N=4096,K=4096", 2675, false}, {"gemm", "M=2048,N=2048,K=2048", 339.5, false},
        {"gemm", "M=1024,N=1024,K=1024", 55.6, false}, {"gemm", "M=512,N=512,K=512", 12.6, false},
        {"gemm", "M=256,N=256,K=256", 6.66, false},    {"gemm", "M=4096,N=16,K=4096", 17, true},
        {"gemm", "M=4096,N=64,K=4096", 58.5, false},   {"gemm", "M=64,N=64,K=16384", 13.4, false},
        {"gemm", "M=8192,N=128,K=1024", 56.7, false},  {"gemm", "M=3000,N=3000,K=3000", 1237, false},
        {"gemm", "M=127,N=255,K=511", 7.96, false},    {"softmax", "R=4096,C=4096", 33, false},
        {"transpose", "R=4096,C=4096", 33.5, false},   {"reduce_sum", "N=16777216", 15, false},
    };
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        for (int cold = 0; cold < 2; cold++) {
            if (cold && seen[i].warm_only)
                continue;
            judged *x = judge(seen[i].task_name, seen[i].dims, &gpu, cold != 0);
            double floor = probe_floor_of(&x->c, "").ns, limit = probe_limit_of(&x->c, "batch").ns;
            if (floor > 1e3 * seen[i].us)
                fail_msg("%s %s: floor %g us, seen %g us", seen[i].task_name, seen[i].dims, floor / 1e3, seen[i].us);
            assert_true(limit <= 1.25 * 1e3 * seen[i].us);
            forget(x);
        }
    }
}

/* Twice as fast as possible: seen where it matters. */
static void alarms(void **state)
{
    (void)state;
    judged *x = judge("gemm", "M=4096,N=4096,K=4096", &gpu, true);
    probe_limit floor = probe_floor_of(&x->c, "kernel void gemm() {}");
    assert_string_equal(floor.by, "fma");
    assert_near(floor.ns, 0.8 * 2167.8e3, 1e-3);
    /* matrix units are faster than multiply-adds, but not without limit: what a kernel of three products on the newest
     * of them takes is plausible, a thousandth of the time is not */
    static const char *const sources[] = {"asm volatile(\"mma.sync\")", "x = intel_sub_group_f16_f16_matrix_mad_k16(a)",
                                          "__builtin_amdgcn_mfma_f32_32x32x1f32(a, b, c, 0, 0, 0)"};
    for (size_t i = 0; i < 3; i++) {
        floor = probe_floor_of(&x->c, sources[i]);
        assert_string_equal(floor.by, "matrix");
        assert_near(floor.ns, 0.8 * 2167.8e3 * 3 / 32, 1e-3);
    }
    /* where less is computed, what must be moved remains */
    forget(x);
    x = judge("gemm", "M=4096,N=4096,K=64", &gpu, true);
    floor = probe_floor_of(&x->c, sources[0]);
    assert_string_equal(floor.by, "cache");
    assert_near(floor.ns, 0.8 * (4096.0 * 4096 + 2 * 64 * 4096) * 4 / 8e3, 1e-9);
    forget(x);
    /* beyond all caches only memory counts for the rest: 2 GiB here */
    x = judge("transpose", "R=16384,C=16384", &gpu, true);
    floor = probe_floor_of(&x->c, "");
    assert_string_equal(floor.by, "memory");
    const double bytes = 8.0 * 16384 * 16384, cached = 256 << 20;
    assert_near(floor.ns, 0.8 * (cached / 8e3 + (bytes - cached) / 4.1e3), 1e-9);
    forget(x);
    /* a CPU gets a wider margin */
    x = judge("gemm", "M=1024,N=1024,K=1024", &cpu, true);
    x->f.fma_f32 = 100e9;
    floor = probe_floor_of(&x->c, "");
    assert_near(floor.ns, 0.5 * 2.0 * 1024 * 1024 * 1024 / 100, 1e-9);
    /* and nothing is judged by figures that were made beside other work */
    assert_false(probe_was_busy(&x->f));
    x->f.noise[PROBE_COMPUTE][2].noise = 0.2;
    assert_true(probe_was_busy(&x->f));
    floor = probe_floor_of(&x->c, "");
    assert_true(isnan(floor.ns));
    assert_null(floor.by);
    forget(x);
}

/* A product in other types, with a formula for bytes that counts the output twice although it is written once. */
static task *typed_task(void)
{
    static const char text[] =
        "{\"task\":\"own\",\"dims\":{\"N\":{\"min\":1}},\"types\":{\"T\":[\"f32\",\"f64\",\"f16\",\"i32\"],"
        "\"ACC\":[\"f32\",\"f64\"]},"
        "\"tensors\":[{\"name\":\"x\",\"type\":\"T\",\"shape\":[\"N\",\"N\"],\"access\":\"in\"},"
        "{\"name\":\"y\",\"type\":\"T\",\"shape\":[\"N\",\"N\"],\"access\":\"inout\"}],"
        "\"flops\":\"2*N*N*N\",\"bytes\":\"3*sizeof(T)*N*N\"}";
    kw_error err;
    json *j = json_parse(text, strlen(text), "own", 1, 1, &err);
    task *t = NULL;
    if (!j || task_from_json(j, "own", &t, &err) != KW_OK)
        fail_msg("%s", err.message);
    json_free(j);
    return t;
}

static void element_types(void **state)
{
    (void)state;
    static const struct {
        const char *types, *dims, *limit, *floor; /* NULL: not known */
    } cases[] = {
        {"T=f32,ACC=f32", "N=4096", "fma", "fma"},   {"T=f64,ACC=f64", "N=4096", "fma", "fma"},
        {"T=f32,ACC=f64", "N=4096", NULL, "matrix"}, {"T=f16,ACC=f32", "N=4096", NULL, "matrix"},
        {"T=i32,ACC=f32", "N=4096", NULL, "cache"},  {"T=f16,ACC=f32", "N=8", "launch", "cache"},
    };
    judged x = {.t = typed_task(), .f = some_figures()};
    x.c = (probe_case){.figures = &x.f, .limits = &gpu, .t = x.t, .types = &x.types, .shape = &x.shape, .cold = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kw_error err;
        assert_int_equal(task_types_parse(x.t, cases[i].types, &x.types, &err), KW_OK);
        x.shape = shape_of(x.t, cases[i].dims);
        probe_limit limit = probe_limit_of(&x.c, "batch"), floor = probe_floor_of(&x.c, "");
        if (cases[i].limit)
            assert_string_equal(limit.by, cases[i].limit);
        else
            assert_null(limit.by);
        assert_int_equal(isnan(limit.ns), cases[i].limit == NULL);
        assert_string_equal(floor.by, cases[i].floor);
    }
    /* halves: 32 times as fast as multiply-adds of f32 */
    task_types_parse(x.t, "T=f16,ACC=f32", &x.types, NULL);
    x.shape = shape_of(x.t, "N=4096");
    assert_near(probe_floor_of(&x.c, "").ns, 0.8 * 2 * pow(4096, 3) / (32 * 63.4e3), 1e-9);
    /* the tensors are less than the formula says: the floor takes the smaller */
    task_types_parse(x.t, "T=i32,ACC=f32", &x.types, NULL);
    assert_near(probe_floor_of(&x.c, "").ns, 0.8 * 2 * 4 * 4096 * 4096 / 8e3, 1e-9);
    /* f64 on matrix units, or in slices on those of 8 bits, where f64 is slow */
    task_types_parse(x.t, "T=f64,ACC=f64", &x.types, NULL);
    x.f.fma_f64 = x.f.fma_f32 / 2;
    assert_near(probe_floor_of(&x.c, "asm").ns, 0.8 * 2 * pow(4096, 3) / (3 * 63.4e3), 1e-9);
    x.f.fma_f64 = x.f.fma_f32 * 2;
    assert_near(probe_floor_of(&x.c, "asm").ns, 0.8 * 2 * pow(4096, 3) / (4 * 63.4e3), 1e-9);
    task_free(x.t);
}

/* Nothing known, nothing said. */
static void figures_that_are_missing(void **state)
{
    (void)state;
    judged *x = judge("gemm", "M=64,N=64,K=64", &gpu, true);
    memset(&x->f, 0, sizeof x->f);
    assert_null(probe_limit_of(&x->c, "events").by);
    assert_true(isnan(probe_limit_of(&x->c, "events").ns));
    assert_true(isnan(probe_floor_of(&x->c, "").ns));
    assert_true(isnan(probe_noise_of(&x->f, 1e5)));
    x->f.fma_f32 = 1e12;
    assert_string_equal(probe_limit_of(&x->c, "events").by, "fma");
    forget(x);
}

static void noise(void **state)
{
    (void)state;
    probe_figures f = some_figures();
    assert_true(probe_noise_of(&f, 5e3) == 0.006 && probe_noise_of(&f, 90e3) == 0.006);
    assert_true(probe_noise_of(&f, 100e3) == 0.004 && probe_noise_of(&f, 900e3) == 0.004);
    assert_true(probe_noise_of(&f, 1e6) == 0.002 && probe_noise_of(&f, 1e9) == 0.002);
    f.noise[PROBE_MEMORY][2].noise = 0.03; /* the worse of the two kernels */
    assert_true(probe_noise_of(&f, 1e9) == 0.03);
    f.noise[PROBE_COMPUTE][2].median_ns = f.noise[PROBE_MEMORY][2].median_ns = 0;
    assert_true(isnan(probe_noise_of(&f, 1e9)));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures),
        cmocka_unit_test(figures_of_a_small_device),
        cmocka_unit_test(rulers),
        cmocka_unit_test(the_job),
        cmocka_unit_test(the_job_is_read),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(json_that_is_none),
        cmocka_unit_test(limits),
        cmocka_unit_test(no_false_alarm),
        cmocka_unit_test(alarms),
        cmocka_unit_test(element_types),
        cmocka_unit_test(figures_that_are_missing),
        cmocka_unit_test(noise),
    };
    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
