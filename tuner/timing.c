/* Timing policy. */
#include "tuner/timing.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_FROM_NS 30000.0 /* a run shorter than this is timed in batches */
#define FEW_FROM_NS 1e6        /* above, single launches vary by less than a percent: fewer samples do */
#define MANY_SAMPLES 10
#define BATCHES 7
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

static void count_time(const timing_rig *rig, int64_t since)
{
    if (rig->device_ns)
        *rig->device_ns += (double)(clock_now_ns() - since);
}

static kw_code row_events(const timing_rig *rig, size_t n, bool probe, double *ns, kw_error *err)
{
    row r = {rig, probe ? n - 1 : SIZE_MAX};
    kw_code code = rig->restore(rig->cookie, err);
    int64_t start = clock_now_ns();
    if (code == KW_OK)
        code = device_time_events(rig->device, rig->program, pick, &r, rig->n_launches, n, ns, err);
    count_time(rig, start);
    return code;
}

static kw_code row_batches(const timing_rig *rig, size_t per_batch, size_t n, bool probe, double *ns, kw_error *err)
{
    row r = {rig, probe ? n * per_batch - 1 : SIZE_MAX};
    kw_code code = rig->restore(rig->cookie, err);
    int64_t start = clock_now_ns();
    if (code == KW_OK)
        code = device_time_batch(rig->device, rig->program, pick, &r, rig->n_launches, per_batch, n, ns, err);
    count_time(rig, start);
    return code;
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

/* Adds positive readings in order, counts the others. */
static void keep(timing_result *out, const double *ns, size_t n)
{
    out->samples = mem_realloc(out->samples, (out->n + n + 1) * sizeof *out->samples);
    for (size_t i = 0; i < n; i++) {
        if (ns[i] > 0 && isfinite(ns[i]))
            out->samples[out->n++] = ns[i];
        else
            out->n_dropped++;
    }
}

/* ---- the two methods ---- */

/* What follows two readings in a row: the second one counts, if the run is so long that few do; so does the first one of
 * a run whose warming up does not show. */
static size_t events_left(const job_timing *p, double run_ns, size_t *reused, size_t *discarded)
{
    *reused = run_ns >= LONG_RUN_NS ? 2 : run_ns >= FEW_FROM_NS ? 1 : 0;
    *discarded = run_ns >= LONG_RUN_NS ? 0 : 1;
    return samples_wanted(p, run_ns, MANY_SAMPLES) - *reused + *discarded;
}

static kw_code by_events(const timing_rig *rig, const job_timing *p, const double first[2], timing_result *out,
                         kw_error *err)
{
    size_t reused, discarded, n = events_left(p, first[1] > 0 ? first[1] : first[0], &reused, &discarded);
    double *ns = mem_calloc(n, sizeof *ns);
    kw_code code = row_events(rig, n, true, ns, err);
    out->method = TIMING_EVENTS;
    out->row_runs = n - 1;
    keep(out, first + 2 - reused, reused);
    keep(out, ns + discarded, n - discarded);
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
    const size_t n = samples_wanted(p, run_ns * (double)per_batch, BATCHES);
    if (p->hopeless_ns > 0 && run_ns > p->hopeless_ns) {
        double two[2] = {run_ns, 0};
        code = row_batches(rig, per_batch, 1, true, &two[1], err);
        if (code != KW_OK || two[1] > p->hopeless_ns) {
            out->stopped_early = code == KW_OK;
            out->saved_ns = (double)(n * per_batch) * run_ns; /* n + 1 batches instead of one */
            out->row_runs = per_batch - 1;
            keep(out, two, 2);
            return code;
        }
    }
    double *ns = mem_calloc(n + 1, sizeof *ns);
    code = row_batches(rig, per_batch, n + 1, true, ns, err);
    out->row_runs = (n + 1) * per_batch - 1;
    keep(out, ns + 1, n);
    free(ns);
    return code;
}

/* Two runs in a row, the second one on the probe. When nothing is known of the kernel yet, a run by itself comes first,
 * so that whatever only the very first one does is not in them. */
static kw_code first_two(const timing_rig *rig, double ns[2], kw_error *err)
{
    kw_code code = rig->expected_ns > 0 ? KW_OK : row_events(rig, 1, false, ns, err);
    return code == KW_OK ? row_events(rig, 2, true, ns, err) : code;
}

static bool is_hopeless(const job_timing *p, const double ns[2])
{
    return p->hopeless_ns > 0 && ns[0] > p->hopeless_ns && ns[1] > p->hopeless_ns;
}

kw_code timing_measure(const timing_rig *rig, const job_timing *policy, timing_result *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    double first[2] = {0, 0};
    kw_code code = first_two(rig, first, err);
    if (code != KW_OK)
        return code;
    double run_ns = first[1] > 0 ? first[1] : first[0];
    bool events = policy->method == TIMING_EVENTS || (policy->method == TIMING_AUTO && run_ns >= EVENTS_FROM_NS);
    if (events && is_hopeless(policy, first)) {
        out->method = TIMING_EVENTS;
        size_t reused, discarded;
        out->stopped_early = true;
        out->saved_ns = (double)events_left(policy, run_ns, &reused, &discarded) * run_ns;
        out->row_runs = 1;
        keep(out, first, 2);
        return KW_OK;
    }
    if (events) {
        code = by_events(rig, policy, first, out, err);
        /* A timer that runs backwards most of the time is none. */
        if (code != KW_OK || out->n >= LEAST_SAMPLES)
            return code;
        if (policy->method == TIMING_EVENTS)
            return kw_error_set(err, KW_FAILED, "%zu of %zu readings of the device's timer were not positive",
                                out->n_dropped, out->n + out->n_dropped);
        out->n = 0;
    } else if (run_ns <= 0) {
        out->n_dropped = 2; /* the readings that were to decide */
    }
    return by_batches(rig, policy, run_ns, out, err);
}
