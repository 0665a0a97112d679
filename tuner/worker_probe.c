/* A job of mode "probe": the figures of the device, and how far apart two timings of the same kernel are. */
#include "tuner/worker_internal.h"

#include "base/clock.h"
#include "tuner/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 20
#define LEAST_PAIRS 8
#define PAIRS_NS INT64_C(1200000000) /* for the pairs of one length; then LEAST_PAIRS must do */
#define SAMPLES 7                    /* as the evaluator asks for */

static void alive(void *cookie)
{
    run_keep_alive(cookie);
}

static kw_code nothing_to_restore(void *cookie, kw_error *err)
{
    (void)err;
    run_keep_alive(cookie);
    return KW_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *x, size_t n)
{
    if (n == 0)
        return 0;
    qsort(x, n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* A candidate's median, timed as the tuner times candidates. */
static kw_code time_one(const timing_rig *rig, timing_method method, double *median, kw_error *err)
{
    const job_timing policy = {.method = method, .min_samples = SAMPLES};
    timing_result result;
    kw_code code = timing_measure(rig, &policy, &result, err);
    *median = code == KW_OK ? median_of(result.samples, result.n) : 0;
    free(result.samples);
    return code;
}

/* A and B in turn, so that drift meets both alike. The pairs are the samples here: |A - B| over their mean. */
static kw_code compare_pairs(const timing_rig *rig, timing_method method, probe_noise *out, kw_error *err)
{
    double difference[PAIRS], size[PAIRS], median[PAIRS];
    size_t n = 0;
    kw_code code = KW_OK;
    for (int64_t begin = clock_now_ns(); n < PAIRS; n++) {
        if (n >= LEAST_PAIRS && clock_now_ns() - begin > PAIRS_NS)
            break;
        double a, b;
        code = time_one(rig, method, &a, err);
        if (code == KW_OK)
            code = time_one(rig, method, &b, err);
        if (code != KW_OK)
            return code;
        median[n] = (a + b) / 2;
        difference[n] = (a - b) / median[n];
        size[n] = fabs(difference[n]);
    }
    qsort(size, n, sizeof *size, ascending);
    out->noise = size[(size_t)ceil(0.95 * (double)n) - 1];
    out->bias = median_of(difference, n);
    out->median_ns = median_of(median, n);
    out->batch = method == TIMING_BATCH;
    return KW_OK;
}

/* A length that cannot be timed stays unknown. false only when the device is lost. */
static bool measure_noise(run *r, device_probe *p, probe_ruler kind, int length, probe_noise *out)
{
    kw_error err;
    timing_rig rig = {.device = r->device,
                      .n_sets = 1,
                      .expected_ns = probe_length_ns[length],
                      .restore = nothing_to_restore,
                      .cookie = r};
    kw_code code = probe_ruler_of(p, kind, probe_length_ns[length], &rig.program, &rig.sets[0], &rig.n_launches, &err);
    timing_method method = probe_length_ns[length] < TIMING_BATCH_BELOW_NS ? TIMING_BATCH : TIMING_EVENTS;
    if (code == KW_OK)
        code = compare_pairs(&rig, method, out, &err);
    if (code == KW_FAILED && method == TIMING_EVENTS && !r->device->lost)
        code = compare_pairs(&rig, TIMING_BATCH, out, &err);
    return code == KW_OK || !r->device->lost || run_device_failed(r, &err, "timing the same kernel twice");
}

static bool measure_all(run *r, device_probe *p, probe_figures *out)
{
    kw_error err;
    run_announce(r, STAGE_TIME);
    if (probe_measure(p, out, &err) != KW_OK)
        return run_device_failed(r, &err, "probe");
    bool good = true;
    for (int kind = 0; good && kind < PROBE_RULERS; kind++)
        for (int i = 0; good && i < PROBE_LENGTHS; i++)
            good = measure_noise(r, p, (probe_ruler)kind, i, &out->noise[kind][i]);
    if (good && !(out->copy > 0) && !(out->fma_f32 > 0))
        good = run_fail(r, OUTCOME_LAUNCH_ERROR, "the device gives no figures: %s", probe_notes(p));
    return good;
}

bool run_probe(run *r)
{
    kw_error err;
    device_probe *p;
    int64_t begin = clock_now_ns();
    r->record->compile_start_ms = run_ms(r);
    run_announce(r, STAGE_COMPILE);
    if (probe_open(r->device, alive, r, &p, &err) != KW_OK)
        return run_device_failed(r, &err, "probe");
    r->record->compile_ms = run_ms(r) - r->record->compile_start_ms;
    r->record->time_start_ms = run_ms(r);
    probe_figures *f = mem_calloc(1, sizeof *f);
    bool good = measure_all(r, p, f);
    f->seconds = (double)(clock_now_ns() - begin) / 1e9;
    r->record->time_ms = run_ms(r) - r->record->time_start_ms;
    if (good && *probe_notes(p))
        r->record->detail = mem_strdup(probe_notes(p));
    if (good)
        r->record->probe = f;
    else
        free(f);
    if (r->end != JOB_LOST)
        probe_close(p);
    return good;
}
