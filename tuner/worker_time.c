/* Timing the last case: buffer sets to rotate over, and checks of what the timed runs wrote. */
#include "tuner/worker_internal.h"

#include "tuner/inputs.h"
#include "tuner/timing.h"

#include <stdlib.h>
#include <string.h>

#define GPU_CACHE ((uint64_t)64 << 20) /* when the device does not tell the size of its last-level cache */
#define CPU_CACHE ((uint64_t)32 << 20)

typedef struct bench {
    run *run;
    const job_case *c;
    case_data *data, *probe_data;
    buffer_set *sets[TIMING_MAX_SETS];
    size_t n_sets;
    bool is_filled;    /* inputs and guards of the sets are in place */
    buffer_set *probe; /* the only one with inputs that the candidate has not met */
} bench;

static uint64_t cache_bytes(const run *r)
{
    const device_limits *l = &device_describe(r->device)->limits;
    if (l->cache_bytes > 0)
        return (uint64_t)l->cache_bytes;
    if (!l->is_cpu)
        return GPU_CACHE;
    return r->worker->machine.l3_bytes > 0 ? (uint64_t)r->worker->machine.l3_bytes : CPU_CACHE;
}

/* Cold: so many sets that the cache is passed through twice before a set comes round again, within a third of the
 * device's memory. */
static size_t sets_wanted(const run *r, const case_data *data, const plan *p)
{
    if (!r->job->timing.cold)
        return 1;
    const uint64_t memory = (uint64_t)device_describe(r->device)->limits.global_mem_bytes;
    uint64_t one = buffers_need(r->job->task, data->layout, p).tensors, n;
    if (one == 0)
        return 1;
    n = (2 * cache_bytes(r) + one - 1) / one;
    if (memory > 0 && n > memory / 3 / one)
        n = memory / 3 / one;
    return n < 1 ? 1 : n > TIMING_MAX_SETS ? TIMING_MAX_SETS : (size_t)n;
}

static void free_sets(bench *b)
{
    for (size_t i = b->n_sets; i-- > 0;)
        buffers_free(b->sets[i]);
    buffers_free(b->probe);
}

/* The probe set owns the temporaries, all others use them too: what a kernel hides there from one run to the next meets
 * other inputs in the last one. Fewer sets than wanted are no error. */
static bool make_sets(bench *b)
{
    run *r = b->run;
    kw_error err;
    b->probe = buffers_new(r->device, r->job->task, b->data->layout, &b->c->plan, NULL, &err);
    if (!b->probe)
        return run_device_failed(r, &err, "memory for the tensors");
    for (size_t wanted = sets_wanted(r, b->data, &b->c->plan); b->n_sets < wanted; b->n_sets++) {
        b->sets[b->n_sets] = buffers_new(r->device, r->job->task, b->data->layout, &b->c->plan, b->probe, &err);
        if (b->sets[b->n_sets])
            continue;
        if (b->n_sets == 0 || device_last_fault(r->device) != DEVICE_FAULT_MEMORY)
            return run_device_failed(r, &err, "memory to time with cold caches");
        break;
    }
    return true;
}

static kw_code restore(void *cookie, kw_error *err)
{
    bench *b = cookie;
    run_keep_alive(b->run); /* the deadline is for one row of runs */
    kw_code code = buffers_restore(b->probe, b->probe_data, FIRST_POISON, FIRST_GUARD, err);
    for (size_t i = 0; i < b->n_sets && code == KW_OK; i++)
        code = b->is_filled ? buffers_restore_outputs(b->sets[i], b->data, FIRST_POISON, err)
                            : buffers_restore(b->sets[i], b->data, FIRST_POISON, FIRST_GUARD, err);
    b->is_filled = true;
    return code;
}

/* ---- what the timed runs wrote ---- */

/* The candidate passed with these inputs before, and its results repeat: the same bits then. */
static bool same_as_verified(run *r, const buffer_set *set)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        if (!r->verified[i])
            continue;
        kw_error err;
        uint64_t n = 0, first = 0;
        if (device_compare(r->device, r->verified[i], 0, g->whole, g->guard, g->bytes, &n, &first, &err) != KW_OK)
            return run_device_failed(r, &err, "comparing a timed run");
        if (n > 0)
            return run_fail(
                r, OUTCOME_WRONG,
                "a timed run did not write what the same kernel wrote when it was verified: %llu words of %s "
                "differ, the first at byte %llu",
                (unsigned long long)n, g->name, (unsigned long long)first);
    }
    return true;
}

static bool reads_its_output(const bench *b)
{
    for (size_t i = 0; i < b->data->n_tensors; i++)
        if (b->run->job->task->tensors[i].access == TASK_INOUT && !b->data->overwritten[i])
            return true;
    return false;
}

/* One of the other sets: the one that was run last before the probe, if its contents do not depend on how often. */
static bool check_other_set(bench *b, size_t row_runs)
{
    run *r = b->run;
    if (row_runs == 0)
        return true;
    size_t i = (row_runs - 1) % b->n_sets, times = (row_runs - 1 - i) / b->n_sets + 1;
    if (times > 1 && reads_its_output(b))
        return true;
    bool verified = false, clean;
    for (size_t t = 0; t < TASK_MAX_TENSORS; t++)
        verified = verified || (r->verified[t] != NULL);
    if (!verified)
        return run_check_all(r, b->data, b->sets[i], FIRST_POISON, SCREEN_OUTPUTS, "a timed run: ");
    if (!run_screen(r, b->data, b->sets[i], SCREEN_SAME, &clean) || clean)
        return clean;
    return run_check_guards(r, b->sets[i]) && run_check_inputs(r, b->data, b->sets[i]) &&
           same_as_verified(r, b->sets[i]);
}

static bool check_timed(bench *b, size_t row_runs)
{
    run *r = b->run;
    return run_check_all(r, b->probe_data, b->probe, FIRST_POISON, SCREEN_OUTPUTS,
                         "the last timed run, on inputs that the kernel had not met: ") &&
           check_other_set(b, row_runs);
}

/* ---- */

static bool measure(bench *b, timing_result *result)
{
    run *r = b->run;
    timing_rig rig = {.device = r->device,
                      .program = r->program,
                      .n_sets = b->n_sets,
                      .probe = b->probe->launches,
                      .n_launches = b->probe->n_launches,
                      .expected_ns = r->job->mode == JOB_EVALUATE ? r->host_ns : 0,
                      .restore = restore,
                      .cookie = b};
    for (size_t i = 0; i < b->n_sets; i++)
        rig.sets[i] = b->sets[i]->launches;
    double device_ns = 0;
    rig.device_ns = &device_ns;
    kw_error err;
    kw_code code = timing_measure(&rig, &r->job->timing, result, &err);
    r->record->device_ms += device_ns / 1e6;
    if (code == KW_OK)
        return true;
    if (err.code == KW_FAILED && !r->device->lost)
        return run_fail(r, OUTCOME_LAUNCH_ERROR, "timing: %s", err.message);
    return run_device_failed(r, &err, "timing");
}

static void store_samples(job_record *record, timing_result *t)
{
    free(record->samples_ns);
    record->samples_ns = t->samples;
    record->n_samples = t->n;
    record->n_dropped = t->n_dropped;
    record->method = timing_method_name(t->method);
    record->stopped_early = t->stopped_early;
    record->saved_ms = t->saved_ns / 1e6;
}

bool run_time(run *r, const job_case *c)
{
    if (c->plan.n_launches == 0)
        return true; /* nothing to compute, nothing to time */
    bench b = {.run = r, .c = c};
    timing_result result = {.samples = NULL};
    bool good = run_case_data(r, c, c->seed, &b.data) && run_case_data(r, c, inputs_probe_seed(c->seed), &b.probe_data);
    if (good)
        run_announce(r, r->stage);
    good = good && make_sets(&b);
    if (good) {
        run_take_turn(r, STAGE_TIME);
        good = measure(&b, &result);
        if (!r->device->lost)
            run_end_turn(r);
    }
    good = good && check_timed(&b, result.row_runs);
    if (good)
        store_samples(r->record, &result);
    else
        free(result.samples);
    free_sets(&b);
    return good;
}
