/* Timing policy. */
#include "tuner/timing.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_FROM_NS 30000.0 /* a run shorter than this is timed in batches */
#define FEW_FROM_NS 1e6        /* above, single launches vary by less than a percent: fewer samples do */
#define MANY_SAMPLES 10
#define LONG_RUN_NS 50e6 /* above, what a first launch adds does not show */
#define BATCH_NS 200000.0
#define MAX_BATCH 65536
#define LEAST_SAMPLES 3

/* Which launches the i-th run of a row takes. */
typedef struct row {
    const timing_rig *rig;
    size_t probe_at; /* SIZE_MAX: in no run */
} row;

static const device_launch *pick(size_t run, void *cookie)
{
    const row *r = cookie;
    return run == r->probe_at && r->rig->probe ? r->rig->probe : r->rig->sets[run % r->rig->n_sets];
}

/* ---- a row of runs ---- */

static kw_code row_events(const timing_rig *rig, size_t n, bool probe, double *ns, kw_error *err)
{
    row r = {rig, probe ? n - 1 : SIZE_MAX};
    kw_code code = rig->restore(rig->cookie, err);
    return code == KW_OK ? device_time_events(rig->device, rig->program, pick, &r, rig->n_launches, n, ns, err) : code;
}

static kw_code row_batches(const timing_rig *rig, size_t per_batch, size_t n, bool probe, double *ns, kw_error *err)
{
    row r = {rig, probe ? n * per_batch - 1 : SIZE_MAX};
    kw_code code = rig->restore(rig->cookie, err);
    return code == KW_OK
               ? device_time_batch(rig->device, rig->program, pick, &r, rig->n_launches, per_batch, n, ns, err)
               : code;
}

/* ---- how many ---- */

static size_t samples_wanted(const job_timing *p, double run_ns, size_t many)
{
    size_t n = p->min_samples > 0 ? (size_t)p->min_samples : TIMING_MIN_SAMPLES;
    if (run_ns < FEW_FROM_NS && n < many)
        n = many;
    if (p->max_ns > 0 && run_ns > 0 && (double)n * run_ns > (double)p->max_ns)
        n = (size_t)((double)p->max_ns / run_ns);
    return n < LEAST_SAMPLES ? LEAST_SAMPLES : n;
}

/* Keeps positive readings in order, counts the others. */
static void keep(timing_result *out, const double *ns, size_t n)
{
    free(out->samples);
    out->samples = mem_calloc(n + 1, sizeof *out->samples);
    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (ns[i] > 0 && isfinite(ns[i]))
            out->samples[out->n++] = ns[i];
        else
            out->n_dropped++;
    }
}

/* ---- the two methods ---- */

/* `first_ns`: a reading that was taken in a row, right after a discarded run. */
static kw_code by_events(const timing_rig *rig, const job_timing *p, double first_ns, timing_result *out, kw_error *err)
{
    kw_code code;
    out->method = TIMING_EVENTS;
    if (p->hopeless_ns > 0 && first_ns > p->hopeless_ns) {
        double two[2] = {first_ns, 0};
        code = row_events(rig, 1, true, &two[1], err);
        if (code != KW_OK || two[1] > p->hopeless_ns) {
            out->stopped_early = code == KW_OK;
            out->row_runs = 0;
            keep(out, two, 2);
            return code;
        }
    }
    size_t n = samples_wanted(p, first_ns, MANY_SAMPLES);
    double *ns = mem_calloc(n + 1, sizeof *ns);
    code = row_events(rig, n + 1, true, ns, err);
    out->row_runs = n;
    keep(out, ns + 1, n);
    free(ns);
    return code;
}

/* Runs a batch so often that it takes BATCH_NS; *total_ns is what the last one took. */
static kw_code find_batch(const timing_rig *rig, double guess_ns, size_t *per_batch, double *run_ns, kw_error *err)
{
    double start = guess_ns > 0 ? ceil(BATCH_NS / guess_ns) : 1;
    *per_batch = start < 1 ? 1 : start > MAX_BATCH ? MAX_BATCH : (size_t)start;
    for (;;) {
        kw_code code = row_batches(rig, *per_batch, 1, false, run_ns, err);
        double total = *run_ns * (double)*per_batch;
        if (code != KW_OK || total >= BATCH_NS || *per_batch >= MAX_BATCH)
            return code;
        double factor = total > 0 ? 1.2 * BATCH_NS / total : 8;
        double more = ceil((double)*per_batch * fmin(fmax(factor, 1.2), 64));
        *per_batch = more > MAX_BATCH ? MAX_BATCH : (size_t)more;
    }
}

static kw_code by_batches(const timing_rig *rig, const job_timing *p, double guess_ns, timing_result *out,
                          kw_error *err)
{
    size_t per_batch;
    double run_ns;
    out->method = TIMING_BATCH;
    kw_code code = find_batch(rig, guess_ns, &per_batch, &run_ns, err);
    if (code != KW_OK)
        return code;
    if (p->hopeless_ns > 0 && run_ns > p->hopeless_ns) {
        double two[2] = {run_ns, 0};
        code = row_batches(rig, per_batch, 1, true, &two[1], err);
        if (code != KW_OK || two[1] > p->hopeless_ns) {
            out->stopped_early = code == KW_OK;
            out->row_runs = per_batch - 1;
            keep(out, two, 2);
            return code;
        }
    }
    size_t n = samples_wanted(p, run_ns * (double)per_batch, TIMING_MIN_SAMPLES);
    double *ns = mem_calloc(n + 1, sizeof *ns);
    code = row_batches(rig, per_batch, n + 1, true, ns, err);
    out->row_runs = (n + 1) * per_batch - 1;
    keep(out, ns + 1, n);
    free(ns);
    return code;
}

/* The second run of a row, which is free of what the first one waits for; of a long run the first will do. */
static kw_code estimate(const timing_rig *rig, double *run_ns, kw_error *err)
{
    double ns[2] = {0, 0};
    kw_code code = row_events(rig, 1, false, ns, err);
    *run_ns = ns[0];
    if (code != KW_OK || ns[0] >= LONG_RUN_NS)
        return code;
    code = row_events(rig, 2, false, ns, err);
    *run_ns = ns[1] > 0 ? ns[1] : ns[0];
    return code;
}

kw_code timing_measure(const timing_rig *rig, const job_timing *policy, timing_result *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    double run_ns;
    kw_code code = estimate(rig, &run_ns, err);
    if (code != KW_OK)
        return code;
    bool events = policy->method == TIMING_EVENTS || (policy->method == TIMING_AUTO && run_ns >= EVENTS_FROM_NS);
    if (events) {
        code = by_events(rig, policy, run_ns, out, err);
        /* A timer that runs backwards most of the time is none. */
        if (code != KW_OK || out->n >= LEAST_SAMPLES || out->stopped_early)
            return code;
        if (policy->method == TIMING_EVENTS)
            return kw_error_set(err, KW_FAILED, "%zu of %zu readings of the device's timer were not positive",
                                out->n_dropped, out->n + out->n_dropped);
    } else if (run_ns <= 0) {
        out->n_dropped = 2; /* the readings that were to decide */
    }
    return by_batches(rig, policy, run_ns, out, err);
}
