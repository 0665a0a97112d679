/* One case: the candidate runs twice on the same inputs with different surroundings, and everything around it is looked
 * at. docs/measurement.md says why. */
#include "tuner/worker_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tuner/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char poison_of[2] = {FIRST_POISON, SECOND_POISON};
static const unsigned char guard_of[2] = {FIRST_GUARD, SECOND_GUARD};

/* Launches of a winner without a look at what they do. */
#define SOAK_RUNS 256
#define SOAK_NS 100000000

/* Of the host memory that the cache may hold, and of what this process may hold at all, as much for cases that are made
 * ahead. */
#define AHEAD_SHARE 2
#define AHEAD_SHARE_OF_ALL 8

/* ---- checks, also used after timing ---- */

bool run_check_guards(run *r, const buffer_set *set)
{
    kw_error err;
    guard_report report;
    if (buffers_check_guards(set, &report, &err) != KW_OK)
        return run_device_failed(r, &err, "reading the guard bands");
    if (!report.where)
        return true;
    return run_fail(r, OUTCOME_OUT_OF_BOUNDS,
                    "wrote %s %s: %zu bytes changed in the guard band, the nearest %zu bytes %s",
                    report.before ? "before the start of" : "past the end of", report.where->name, report.n,
                    report.distance, report.before ? "in front of it" : "behind it");
}

bool run_check_inputs(run *r, const case_data *data, const buffer_set *set)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        if (!g->whole || set->task->tensors[i].access != TASK_IN)
            continue;
        kw_error err;
        uint64_t n = 0, first = 0;
        if (device_compare(r->device, data->pristine[i], 0, g->whole, g->guard, g->bytes, &n, &first, &err) != KW_OK)
            return run_device_failed(r, &err, "comparing the inputs");
        if (n > 0)
            return run_fail(r, OUTCOME_INPUT_MODIFIED,
                            "wrote to the input %s: %" PRIu64 " words differ, the first at byte %" PRIu64, g->name, n,
                            first);
    }
    return true;
}

/* A gap between rows must be as it was before; that is writing out of bounds like any other. */
static bool check_gaps(run *r, const case_data *data, size_t tensor, const void *got, int poison)
{
    const tensor_layout *l = &data->layout[tensor];
    if (l->dense || (data->overwritten[tensor] && poison == BUFFERS_UNWRITTEN))
        return true;
    void *before = NULL;
    uint64_t first = 0;
    kw_error err;
    if (!data->overwritten[tensor]) {
        before = mem_try_alloc(l->bytes);
        if (!before)
            return run_fail(r, OUTCOME_LAUNCH_ERROR, "no host memory to check the gaps between rows");
        if (device_read(r->device, data->pristine[tensor], 0, before, l->bytes, &err) != KW_OK) {
            free(before);
            return run_device_failed(r, &err, "reading an input");
        }
    }
    uint64_t changed = verify_gaps(l, got, before, poison, &first);
    free(before);
    if (changed == 0)
        return true;
    return run_fail(r, OUTCOME_OUT_OF_BOUNDS,
                    "wrote between the rows of %s: %" PRIu64
                    " places that belong to no element, the first at element %" PRIu64,
                    r->job->task->tensors[tensor].name, changed, first);
}

static bool compare_output(run *r, const case_data *data, size_t tensor, const void *got, int poison, const char *where)
{
    const expected *e = &data->expected[tensor];
    const tensor_layout *l = &data->layout[tensor];
    verify_verdict v;
    memset(&v, 0, sizeof v);
    if (!data->overwritten[tensor])
        poison = -1;
    verify_values(&e->rule, l, got, poison, e->logical, e->n, e->value, e->scale, &v);
    if (v.wrong == 0 && e->trusted)
        verify_trusted(&e->rule, l, got, poison, e->trusted, e->max_scale, &v);
    r->record->worst_error = fmax(r->record->worst_error, fmin(v.worst, JOB_MAX_ERROR));
    if (v.wrong == 0)
        return true;
    strb text = STRB_INIT;
    verify_describe(r->job->task->tensors[tensor].name, l, &v, &text);
    run_fail(r, OUTCOME_WRONG, "%s%s", where, strb_text(&text));
    strb_clear(&text);
    return false;
}

/* Looks closer once two runs are known to differ somewhere: gaps differ by their poison, which is no difference. */
static bool find_difference(run *r, const case_data *data, const guarded *g, size_t tensor)
{
    const tensor_layout *l = &data->layout[tensor];
    const size_t size = dtype_bytes(l->type);
    kw_error err;
    unsigned char *one = mem_try_alloc(g->bytes), *two = mem_try_alloc(g->bytes);
    bool good = one && two;
    if (!good)
        run_fail(r, OUTCOME_NONDETERMINISTIC, "two runs on the same inputs differ in %s", g->name);
    if (good && (device_read(r->device, r->verified[tensor], 0, one, g->bytes, &err) != KW_OK ||
                 device_read(r->device, g->whole, g->guard, two, g->bytes, &err) != KW_OK))
        good = run_device_failed(r, &err, "reading the output");
    uint64_t first = 0, n = 0;
    for (uint64_t i = 0; good && i < l->count; i++) {
        uint64_t flat = layout_flat(l, i);
        if (memcmp(one + flat * size, two + flat * size, size) != 0 && n++ == 0)
            first = i;
    }
    if (n > 0) {
        strb name = STRB_INIT;
        verify_name_element(g->name, l, first, &name);
        good = run_fail(r, OUTCOME_NONDETERMINISTIC,
                        "two runs on the same inputs differ: %s is %.9g, then %.9g; %" PRIu64 " of %" PRIu64
                        " elements differ (a race, or memory read that was never written)",
                        strb_text(&name), dtype_load(l->type, one, layout_flat(l, first)),
                        dtype_load(l->type, two, layout_flat(l, first)), n, l->count);
        strb_clear(&name);
    }
    free(one);
    free(two);
    return good;
}

static bool same_as_first(run *r, const case_data *data, const buffer_set *set)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        if (!r->verified[i])
            continue;
        kw_error err;
        uint64_t n = 0, first = 0;
        if (device_compare(r->device, r->verified[i], 0, g->whole, g->guard, g->bytes, &n, &first, &err) != KW_OK)
            return run_device_failed(r, &err, "comparing two runs");
        if (n > 0 && !find_difference(r, data, g, i))
            return false;
    }
    return true;
}

/* Host memory that stays between jobs; NULL when it cannot be had. */
static void *scratch(worker *w, size_t bytes)
{
    if (w->scratch_bytes < bytes) {
        free(w->scratch);
        w->scratch = mem_try_alloc(bytes);
        w->scratch_bytes = w->scratch ? bytes : 0;
    }
    return w->scratch;
}

/* One output, read back as a whole. */
static bool check_output(run *r, const case_data *data, const guarded *g, size_t tensor, int poison, const char *where)
{
    const bool known = data->expected[tensor].known;
    kw_error err;
    if (!known && data->layout[tensor].dense)
        return true;
    void *got = scratch(r->worker, g->bytes);
    if (!got)
        return run_fail(r, OUTCOME_LAUNCH_ERROR, "no host memory to read %s", g->name);
    if (device_read(r->device, g->whole, g->guard, got, g->bytes, &err) != KW_OK)
        return run_device_failed(r, &err, "reading the output");
    return (!known || compare_output(r, data, tensor, got, poison, where)) && check_gaps(r, data, tensor, got, poison);
}

bool run_check_outputs(run *r, const case_data *data, const buffer_set *set, int poison, const char *where)
{
    bool good = true;
    for (size_t i = 0; i < set->task->n_tensors && good; i++)
        if (set->task->tensors[i].access != TASK_IN && set->tensors[i].whole)
            good = check_output(r, data, &set->tensors[i], i, poison, where);
    return good;
}

/* The elements that the reference gave, of an output whose whole was compared on the device. */
static bool check_sample(run *r, const case_data *data, const guarded *g, size_t tensor, int poison, const char *where)
{
    const expected *e = &data->expected[tensor];
    const tensor_layout *l = &data->layout[tensor];
    const size_t size = dtype_bytes(l->type);
    kw_error err;
    verify_verdict v;
    memset(&v, 0, sizeof v);
    void *got = scratch(r->worker, e->n * size);
    if (!got)
        return run_fail(r, OUTCOME_LAUNCH_ERROR, "no host memory to read %s", g->name);
    if (device_gather(r->device, g->whole, g->guard, size, e->logical, e->n, got, &err) != KW_OK)
        return run_device_failed(r, &err, "reading the output");
    verify_sample(&e->rule, l, got, data->overwritten[tensor] ? poison : -1, e->logical, e->n, e->value, e->scale, &v);
    r->record->worst_error = fmax(r->record->worst_error, fmin(v.worst, JOB_MAX_ERROR));
    if (v.wrong == 0)
        return true;
    return check_output(r, data, g, tensor, poison, where); /* says how many are wrong, and where */
}

bool run_check_all(run *r, const case_data *data, const buffer_set *set, int poison, unsigned what, const char *where)
{
    bool clean, good = true;
    if (!run_screen(r, data, set, what, &clean))
        return false;
    if (!clean)
        return run_check_guards(r, set) && run_check_inputs(r, data, set) &&
               (!(what & SCREEN_OUTPUTS) || run_check_outputs(r, data, set, poison, where)) &&
               (!(what & SCREEN_SAME) || same_as_first(r, data, set));
    for (size_t i = 0; (what & SCREEN_OUTPUTS) && i < set->task->n_tensors && good; i++) {
        const guarded *g = &set->tensors[i];
        if (set->task->tensors[i].access == TASK_IN || !g->whole)
            continue;
        good = run_is_screened(r, data, i) ? check_sample(r, data, g, i, poison, where)
                                           : check_output(r, data, g, i, poison, where);
    }
    return good;
}

/* ---- a case ---- */

static void progress(void *cookie)
{
    run_keep_alive(cookie);
}

bool run_case_data(run *r, const job_case *c, uint64_t seed, case_data **out)
{
    kw_reference_fn *reference;
    kw_error err;
    tensor_layout layouts[TASK_MAX_TENSORS];
    if (!run_layouts(r, c, layouts))
        return false;
    if (reference_get(r->worker->references, r->job->task, &reference, &err) != KW_OK)
        return run_fatal(r, &err);
    r->in_reference = reference != NULL; /* announced by `progress`, if anything has to be made at all */
    const case_request q = {
        .job = r->job, .c = c, .seed = seed, .reference = reference, .progress = progress, .cookie = r};
    kw_code code = case_cache_get(r->worker->cases, &q, r->ahead, out, &err);
    r->in_reference = false;
    if (r->said_so)
        run_announce(r, r->stage);
    if (code != KW_OK) {
        /* A device without memory for one shape may have it for others; a contradiction in the task stays. */
        if (r->device->lost)
            return run_device_failed(r, &err, "preparing the inputs");
        return err.code == KW_BAD_INPUT ? run_fatal(r, &err)
                                        : run_fail(r, OUTCOME_LAUNCH_ERROR, "preparing the inputs: %s", err.message);
    }
    bool wanted = c->sampled && reference && r->job->trusted_source && c->trusted_plan.n_launches > 0;
    if (!wanted || (*out)->trusted_done)
        return true;
    stage s = r->stage;
    bool good = run_trusted(r, c, *out);
    if (good)
        run_announce(r, s); /* that was not the candidate's time */
    return good;
}

/* After the first run: copies on the device of what it wrote, to hold the second run against. */
static bool keep_outputs(run *r, const buffer_set *set)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        if (set->task->tensors[i].access == TASK_IN || !g->whole)
            continue;
        kw_error err;
        r->verified[i] = device_alloc(r->device, g->bytes, &err);
        if (!r->verified[i] || device_copy(r->device, g->whole, g->guard, r->verified[i], 0, g->bytes, &err) != KW_OK)
            return run_device_failed(r, &err, "keeping the output of the first run");
    }
    return true;
}

static void drop_outputs(run *r)
{
    for (size_t i = 0; i < TASK_MAX_TENSORS; i++) {
        if (r->verified[i])
            device_free(r->device, r->verified[i]);
        r->verified[i] = NULL;
    }
}

static bool run_once(run *r, const case_data *data, buffer_set *set, int pass, uint64_t seed)
{
    kw_error err;
    /* A simulator knows what was never written. */
    const bool unwritten = pass == 0 && device_describe(r->device)->simulated;
    const int poison = unwritten ? BUFFERS_UNWRITTEN : poison_of[pass];
    if (buffers_restore(set, data, poison, guard_of[pass], &err) != KW_OK)
        return run_device_failed(r, &err, "preparing the buffers");
    if (pass > 0 && !run_leave_gaps(r, data, set, seed))
        return false;
    if (!run_spoil_local(r, set, poison_of[pass]))
        return false;
    int64_t start = clock_now_ns();
    if (set->n_launches > 0 && device_run(r->device, r->program, set->launches, set->n_launches, &err) != KW_OK)
        return run_device_failed(r, &err, "running");
    r->host_ns = (double)(clock_now_ns() - start);
    r->record->device_ms += r->host_ns / 1e6;
    return run_check_log(r) && run_check_all(r, data, set, poison, pass == 0 ? SCREEN_OUTPUTS : SCREEN_SAME, "");
}

/* A simulator runs everything in one order, and a second run would tell nothing that it does not see in the first. */
static bool run_both(run *r, const case_data *data, buffer_set *set, uint64_t seed)
{
    if (r->job->mode == JOB_VERIFY && device_describe(r->device)->simulated)
        return run_once(r, data, set, 0, seed);
    return run_once(r, data, set, 0, seed) && keep_outputs(r, set) && run_once(r, data, set, 1, seed);
}

/* A third run of a small case, in the same buffers on inputs that the candidate has not met: whoever kept a result of
 * the first two gives that one, and what was left in temporaries is there. A winner runs a fourth time, on inputs that
 * differ from the third ones in few elements, and on outputs that hold the third one's results: it may know inputs by
 * some of their elements, or leave alone what is almost right. Fences are up (device_launch.fenced): a read past an end
 * shows in no result, and what was written there has been found before. */
static bool run_on_others(run *r, const job_case *c, buffer_set *set, uint64_t seed, int poison)
{
    case_data *data = NULL;
    kw_error err;
    if (!run_case_data(r, c, seed, &data))
        return false;
    run_announce(r, r->stage);
    if (buffers_restore_tensors(set, data, poison, guard_of[0], &err) != KW_OK)
        return run_device_failed(r, &err, "preparing the buffers");
    if (!run_spoil_local(r, set, poison_of[0]))
        return false;
    for (size_t i = 0; i < set->n_launches; i++)
        set->launches[i].fenced = true;
    if (set->n_launches > 0 && device_run(r->device, r->program, set->launches, set->n_launches, &err) != KW_OK)
        return run_device_failed(r, &err, "running a third time, where a read outside of a tensor is an invalid one");
    return run_check_all(r, data, set, poison, SCREEN_OUTPUTS, "on inputs that were not seen before: ");
}

static void without_fences(buffer_set *set)
{
    for (size_t i = 0; i < set->n_launches; i++)
        set->launches[i].fenced = false;
}

/* Many launches in a row, and two that are looked at: a kernel that counts its launches is another one by then,
 * wherever it counts. The first has other inputs (`seed`) and the temporaries of the launches before, the second has
 * nothing of them. */
static bool run_soak(run *r, const job_case *c, const case_data *data, buffer_set *set, uint64_t seed)
{
    const int64_t start = clock_now_ns();
    kw_error err;
    without_fences(set);
    for (int i = 0; i < SOAK_RUNS && set->n_launches > 0 && clock_now_ns() - start < SOAK_NS; i++)
        if (device_run(r->device, r->program, set->launches, set->n_launches, &err) != KW_OK)
            return run_device_failed(r, &err, "running many times");
    if (!run_on_others(r, c, set, seed, poison_of[0]))
        return false;
    without_fences(set);
    return run_once(r, data, set, 1, c->seed);
}

/* Of the inputs that a case is run on; the first are its own. */
#define CASE_SEEDS 3
static size_t case_seeds(const run *r, const job_case *c, bool others, uint64_t *out)
{
    const uint64_t other = inputs_near_base(inputs_probe_seed(c->seed));
    size_t n = 0;
    out[n++] = c->seed;
    if (others)
        out[n++] = other;
    if (others && r->job->mode == JOB_VERIFY)
        out[n++] = inputs_near_seed(other);
    return n;
}

static uint64_t ahead_bytes(const worker *w)
{
    const uint64_t most = case_cache_host_cap(w->cases) / AHEAD_SHARE, all = w->memory_limit / AHEAD_SHARE_OF_ALL;
    return w->memory_limit > 0 && all < most ? all : most;
}

/* The cases of a winner are made ahead, where there is a core for that: the device has little to do for each. Nothing
 * is timed in such a job. One that is timed has few cases, and shares them with all candidates of its search. */
bool run_begin_ahead(run *r, const bool *others)
{
    const size_t cores = r->worker->machine.physical_cores;
    const size_t n_threads = cores > AHEAD_MOST_THREADS ? AHEAD_MOST_THREADS : cores > 1 ? cores - 1 : 0;
    kw_reference_fn *reference;
    kw_error err;
    if (r->job->mode != JOB_VERIFY || n_threads == 0 || device_describe(r->device)->simulated)
        return true;
    if (reference_get(r->worker->references, r->job->task, &reference, &err) != KW_OK)
        return run_fatal(r, &err);
    case_request *wanted = mem_calloc(r->job->n_cases * CASE_SEEDS + 1, sizeof *wanted);
    size_t n = 0;
    for (size_t i = 0; i < r->job->n_cases; i++) {
        uint64_t seeds[CASE_SEEDS];
        const size_t n_seeds = case_seeds(r, &r->job->cases[i], others[i], seeds);
        for (size_t k = 0; k < n_seeds; k++) {
            wanted[n] = (case_request){.job = r->job, .c = &r->job->cases[i], .seed = seeds[k], .reference = reference};
            n += !case_cache_has(r->worker->cases, &wanted[n]);
        }
    }
    if (n > 1)
        r->ahead = case_ahead_start(wanted, n, n_threads, ahead_bytes(r->worker));
    free(wanted);
    return true;
}

void run_end_ahead(run *r)
{
    case_ahead_stop(r->ahead);
    r->ahead = NULL;
}

static void add_shape(run *r, const job_case *c)
{
    if (r->end == JOB_FATAL || !r->record->detail)
        return;
    strb text = STRB_INIT;
    task_shape_print(r->job->task, &c->shape, &text);
    for (size_t i = 0; i < r->job->task->n_scalars; i++)
        strb_printf(&text, "%s%s=%g", text.length > 0 ? "," : "", r->job->task->scalars[i].name, c->scalars[i]);
    strb_printf(&text, " (%s inputs): %s", distribution_name(c->dist), r->record->detail);
    free(r->record->detail);
    r->record->detail = strb_take(&text);
}

bool run_verify_case(run *r, const job_case *c, bool keep_output, bool others)
{
    case_data *data = NULL;
    kw_error err;
    bool good = run_case_data(r, c, c->seed, &data);
    buffer_set *set = NULL;
    if (good) {
        run_announce(r, r->stage);
        set = buffers_new(r->device, r->job->task, data->layout, &c->plan, NULL, &err);
        good = set ? run_both(r, data, set, c->seed) : run_device_failed(r, &err, "memory for the tensors");
        uint64_t seeds[CASE_SEEDS];
        const size_t n = case_seeds(r, c, others, seeds);
        for (size_t i = 1; good && i < n; i++)
            good = run_on_others(r, c, set, seeds[i], i == 1 ? poison_of[0] : BUFFERS_UNWRITTEN);
        if (good && n > 1 && r->job->mode == JOB_VERIFY && r->stage == STAGE_SMOKE)
            good = run_soak(r, c, data, set, seeds[1]);
    }
    if (!good)
        add_shape(r, c);
    buffers_free(set);
    if (!good || !keep_output)
        drop_outputs(r);
    r->record->cases_passed += good;
    return good;
}
