/* From a job to its record: compile, verify, time. */
#include "tuner/worker_internal.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 64
#define LOG_BYTES 24576    /* of a build log in a detail */
#define SOURCE_BYTES 32768 /* of the numbered source behind it */

/* ---- compile ---- */

/* All kernels that any case launches: which ones differs with the shape. */
static size_t kernels_of(const job *j, const char *names[MAX_KERNELS])
{
    size_t n = 0;
    for (size_t i = 0; i < j->n_cases; i++) {
        const plan *p = &j->cases[i].plan;
        for (size_t l = 0; l < p->n_launches; l++) {
            size_t k = 0;
            while (k < n && strcmp(names[k], p->launches[l].kernel) != 0)
                k++;
            if (k == n && n < MAX_KERNELS)
                names[n++] = p->launches[l].kernel;
        }
    }
    return n;
}

static void add_numbered_source(const char *source, strb *out)
{
    size_t start = out->length;
    int number = 1;
    for (const char *line = source; *line; number++) {
        size_t length = strcspn(line, "\n");
        if (out->length - start + length > SOURCE_BYTES) {
            strb_add(out, "  ... the rest is left out\n");
            return;
        }
        strb_printf(out, "%4d  ", number);
        strb_add_n(out, line, length);
        strb_add_char(out, '\n');
        line += length + (line[length] == '\n');
    }
}

static bool build_failed(run *r, const kw_error *err, const device_build_info *info)
{
    run_device_failed(r, err, "build");
    if (device_last_fault(r->device) == DEVICE_FAULT_MEMORY) {
        r->record->outcome = OUTCOME_COMPILE_ERROR;
        r->record->out_of_memory = true;
    }
    if (r->record->outcome != OUTCOME_COMPILE_ERROR)
        return false;
    strb text = STRB_INIT;
    strb_printf(&text, "%s\n", err->message);
    const char *log = strb_text(&info->log);
    size_t length = info->log.length;
    strb_add_n(&text, log, length < LOG_BYTES ? length : LOG_BYTES);
    if (length > LOG_BYTES)
        strb_printf(&text, "\n... %zu more bytes of the log are left out", length - LOG_BYTES);
    if (text.data[text.length - 1] != '\n')
        strb_add_char(&text, '\n');
    add_numbered_source(r->job->source, &text);
    free(r->record->detail);
    r->record->detail = strb_take(&text);
    return false;
}

/* {"artefact": {...}} */
static void note_artefact(job_record *record, const artefact *a)
{
    if (!a->known)
        return;
    strb text = STRB_INIT;
    json *extra = json_new_object();
    json_set(extra, "artefact", artefact_to_json(a));
    json_print(extra, &text);
    json_free(extra);
    free(record->extra);
    record->extra = strb_take(&text);
}

static bool build(run *r)
{
    const char *names[MAX_KERNELS];
    size_t n = kernels_of(r->job, names);
    kw_error err;
    device_build_info info = {.log = STRB_INIT, .registers = -1, .spill_bytes = -1, .local_bytes = -1, .max_group = -1};
    kw_code code = run_program(r, names, n, &info, &err);
    if (code == KW_OK) {
        r->record->registers = info.registers;
        r->record->spill_bytes = info.spill_bytes;
        r->record->local_bytes = info.local_bytes;
        note_artefact(r->record, &info.artefact);
        r->from_cache = info.from_cache;
    } else {
        r->program = NULL;
        build_failed(r, &err, &info);
    }
    device_build_info_clear(&info);
    return code == KW_OK;
}

/* The launches of one case against the compiled kernels; needs no memory for its tensors. */
static bool check_args(run *r, const job_case *c)
{
    tensor_layout none[TASK_MAX_TENSORS];
    memset(none, 0, sizeof none);
    kw_error err;
    if (buffers_check_plan(r->job->task, &c->plan, &err) != KW_OK ||
        buffers_check_plan(r->job->task, &c->trusted_plan, &err) != KW_OK)
        return run_fail(r, OUTCOME_LAUNCH_ERROR, "%s", err.message);
    plan bare = c->plan;
    memset(bare.temp_bytes, 0, sizeof bare.temp_bytes);
    buffer_set *set = buffers_new(r->device, r->job->task, none, &bare, NULL, &err);
    bool good = set != NULL || run_device_failed(r, &err, "arguments");
    for (size_t i = 0; good && i < set->n_launches; i++)
        if (device_check_args(r->device, r->program, &set->launches[i], &err) != KW_OK)
            good = run_device_failed(r, &err, "arguments");
    buffers_free(set);
    return good;
}

/* A driver that compiles at the first launch of a local size does so here, on buffers of zeros, so that it is neither
 * verified nor timed. */
static bool launch_once(run *r, const job_case *c)
{
    tensor_layout layouts[TASK_MAX_TENSORS];
    kw_error err;
    if (c->plan.n_launches == 0)
        return true;
    if (!run_layouts(r, c, layouts))
        return false;
    buffer_set *set = buffers_new(r->device, r->job->task, layouts, &c->plan, NULL, &err);
    if (!set)
        return run_device_failed(r, &err, "memory for the tensors");
    bool good = buffers_clear(set, &err) == KW_OK || run_device_failed(r, &err, "preparing the buffers");
    if (good && device_run(r->device, r->program, set->launches, set->n_launches, &err) != KW_OK)
        good = run_device_failed(r, &err, "first launch");
    buffers_free(set);
    return good;
}

/* More work-items than this in one dimension and PoCL 3.1 compiles another version of the kernel. */
#define SMALL_GRID 65535

static bool is_small_grid(const plan_launch *l)
{
    bool small = true;
    for (size_t d = 0; d < l->rank; d++)
        small = small && l->local[d] * l->groups[d] <= SMALL_GRID;
    return small;
}

/* Would the driver compile for `b` what it has compiled for `a`? The version for large grids serves small ones too. */
static bool covers(const plan_launch *a, const plan_launch *b)
{
    bool same = strcmp(a->kernel, b->kernel) == 0 && a->rank == b->rank;
    for (size_t d = 0; same && d < a->rank; d++)
        same = a->local[d] == b->local[d];
    return same && (is_small_grid(b) || !is_small_grid(a));
}

/* Of the cases that were launched. */
static bool is_covered(const job *j, const bool *launched, const plan_launch *l)
{
    for (size_t i = 0; i < j->n_cases; i++)
        for (size_t k = 0; launched[i] && k < j->cases[i].plan.n_launches; k++)
            if (covers(&j->cases[i].plan.launches[k], l))
                return true;
    return false;
}

static bool needs_launch(const job *j, const bool *launched, const plan *p)
{
    bool covered = true;
    for (size_t k = 0; k < p->n_launches; k++)
        covered = covered && is_covered(j, launched, &p->launches[k]);
    return !covered;
}

static bool has_large_grid(const plan *p)
{
    bool large = false;
    for (size_t k = 0; k < p->n_launches; k++)
        large = large || !is_small_grid(&p->launches[k]);
    return large;
}

static double elements_of(const run *r, const job_case *c)
{
    double sum = 0;
    for (size_t i = 0; i < r->job->task->n_tensors; i++) {
        uint64_t n = 0;
        kw_error ignored;
        if (task_tensor_elements(r->job->task, &r->job->types, &c->shape, i, &n, &ignored) == KW_OK)
            sum += (double)n;
    }
    return sum;
}

/* Of the cases that still have to be launched the next one: large grids first, whose version serves small ones too, and
 * of these the one with the least work. n_cases: none. */
static size_t next_to_launch(const run *r, const bool *launched)
{
    const job *j = r->job;
    size_t best = j->n_cases;
    for (size_t i = 0; i < j->n_cases; i++) {
        const plan *p = &j->cases[i].plan;
        if (launched[i] || !needs_launch(j, launched, p))
            continue;
        const bool large = has_large_grid(p);
        const bool best_is_large = best < j->n_cases && has_large_grid(&j->cases[best].plan);
        if (best == j->n_cases || (large && !best_is_large) ||
            (large == best_is_large && elements_of(r, &j->cases[i]) < elements_of(r, &j->cases[best])))
            best = i;
    }
    return best;
}

/* As few and as small cases as make the driver compile all that will be launched. */
static bool launch_all(run *r)
{
    bool launched[JOB_MAX_CASES] = {false}, good = true;
    for (size_t i; good && (i = next_to_launch(r, launched)) < r->job->n_cases;) {
        good = launch_once(r, &r->job->cases[i]);
        launched[i] = true;
    }
    return good;
}

static bool compile(run *r)
{
    r->record->compile_start_ms = run_ms(r);
    run_announce(r, STAGE_COMPILE);
    if (r->job->prepare)
        run_prepare_own(r);
    bool good = build(r);
    for (size_t i = 0; good && i < r->job->n_cases; i++)
        good = check_args(r, &r->job->cases[i]);
    if (good && device_describe(r->device)->builds_at_launch && !r->from_cache)
        good = launch_all(r);
    r->record->compile_ms = run_ms(r) - r->record->compile_start_ms;
    return good;
}

/* ---- verify and time ---- */

static bool verify(run *r)
{
    const job *j = r->job;
    run_take_turn(r, j->n_cases > 1 ? STAGE_SMOKE : STAGE_VERIFY);
    r->record->verify_start_ms = run_ms(r);
    bool others[JOB_MAX_CASES];
    for (size_t i = 0; i < j->n_cases; i++) {
        /* One small case, of winners all of them; the target is timed on other inputs as well. */
        others[i] = (i == 0 && j->n_cases > 1) || (j->mode == JOB_VERIFY && !j->cases[i].sampled);
        others[i] = others[i] && !device_describe(r->device)->simulated;
    }
    bool good = run_begin_ahead(r, others);
    for (size_t i = 0; good && i < j->n_cases; i++) {
        const double spent_ms = run_ms(r) - r->record->verify_start_ms;
        if (i > 0 && j->mode == JOB_VERIFY && j->verify_ms > 0 && spent_ms > (double)j->verify_ms)
            break;
        run_announce(r, i == 0 && j->n_cases > 1 ? STAGE_SMOKE : STAGE_VERIFY);
        bool keep = j->mode == JOB_EVALUATE && i == j->n_cases - 1;
        good = run_verify_case(r, &j->cases[i], keep, others[i]);
    }
    run_end_ahead(r);
    r->record->verify_ms = run_ms(r) - r->record->verify_start_ms;
    return good;
}

static bool time_last(run *r)
{
    if (r->job->mode == JOB_TIME)
        run_take_turn(r, STAGE_VERIFY); /* its inputs are drawn on the device */
    r->record->time_start_ms = run_ms(r);
    run_announce(r, STAGE_TIME);
    bool good = run_time(r, &r->job->cases[r->job->n_cases - 1]);
    double end_ms = run_ms(r);
    if (r->job->turns != TURNS_NONE && r->turn_to_ms > r->turn_from_ms) { /* the rest is beside others */
        r->record->time_start_ms = r->turn_from_ms;
        end_ms = r->turn_to_ms;
    }
    r->record->time_ms = end_ms - r->record->time_start_ms;
    return good;
}

/* Compiles, and takes the program from the driver. Nothing is launched. */
static bool hand_over(run *r)
{
    strb binary = STRB_INIT, identity = STRB_INIT;
    kw_error err;
    run_announce(r, STAGE_COMPILE);
    if (!build(r))
        return false;
    if (device_program_binary(r->device, r->program, &binary, &identity, &err) == KW_OK) {
        r->record->n_binary = binary.length;
        r->record->binary = (unsigned char *)strb_take(&binary);
        r->record->identity = strb_take(&identity);
        return true;
    }
    strb_clear(&binary);
    strb_clear(&identity);
    return run_fail(r, OUTCOME_COMPILE_ERROR, "%s", err.message);
}

static bool all_stages(run *r)
{
    job_mode mode = r->job->mode;
    if (mode == JOB_BINARY)
        return hand_over(r);
    if (mode == JOB_CHECK)
        return run_check_task(r);
    if (mode == JOB_PROBE)
        return run_probe(r);
    if (!compile(r))
        return false;
    if ((mode == JOB_VERIFY || mode == JOB_EVALUATE) && !verify(r))
        return false;
    return (mode != JOB_EVALUATE && mode != JOB_TIME) || time_last(r);
}

/* ---- the job ---- */

static void clean_up(run *r)
{
    for (size_t i = 0; i < TASK_MAX_TENSORS; i++)
        if (r->verified[i])
            device_free(r->device, r->verified[i]);
    if (r->program && !r->program_is_kept)
        device_program_free(r->device, r->program);
}

job_end worker_do(worker *w, const job *j, job_record *record, kw_error *fatal)
{
    memset(record, 0, sizeof *record);
    record->registers = record->spill_bytes = record->local_bytes = -1;
    run r = {.worker = w, .job = j, .record = record, .start_ns = clock_now_ns(), .end = JOB_REPORTED};
    if (j->mode != JOB_CHECK && worker_use_device(w, j, fatal) != KW_OK)
        return JOB_FATAL;
    r.device = w->device;
    if (all_stages(&r)) {
        record->outcome = OUTCOME_OK;
        record->stage = STAGE_DONE;
    }
    if (r.end == JOB_FATAL)
        *fatal = r.fatal;
    clean_up(&r); /* on a lost device this touches no driver */
    if (r.end == JOB_LOST)
        return worker_recover(w) ? JOB_REPORTED : JOB_LOST;
    return r.end == JOB_REPORTED && j->mode != JOB_CHECK && !worker_leave_nothing(w) ? JOB_LOST : r.end;
}
