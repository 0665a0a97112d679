/* The output of a trusted kernel, which large shapes are compared with as a whole. */
#include "tuner/worker_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void worker_forget_trusted(worker *w)
{
    if (w->trusted)
        device_program_free(w->device, w->trusted);
    w->trusted = NULL;
    w->trusted_hash[0] = '\0';
}

static bool build_trusted(run *r, const plan *p)
{
    worker *w = r->worker;
    strb text = STRB_INIT;
    char hash[HASH_HEX_SIZE];
    strb_printf(&text, "%s\n%s", r->job->trusted_options, r->job->trusted_source);
    const char *kernels[TEMPLATE_MAX_LAUNCHES];
    for (size_t i = 0; i < p->n_launches; i++) {
        kernels[i] = p->launches[i].kernel;
        strb_printf(&text, "\n%s", kernels[i]);
    }
    hash_hex(strb_text(&text), text.length, hash);
    strb_clear(&text);
    if (w->trusted && strcmp(w->trusted_hash, hash) == 0)
        return true;
    worker_forget_trusted(w);
    kw_error err;
    device_build_info info = {.log = STRB_INIT};
    kw_code code = device_build(r->device, r->job->trusted_source, r->job->trusted_options, kernels, p->n_launches,
                                &w->trusted, &info, &err);
    device_build_info_clear(&info);
    if (code != KW_OK) {
        w->trusted = NULL;
        run_device_failed(r, &err, "building the trusted kernel");
        if (r->record->outcome == OUTCOME_COMPILE_ERROR)
            r->record->outcome = OUTCOME_LAUNCH_ERROR; /* it is not the candidate that does not compile */
        return false;
    }
    memcpy(w->trusted_hash, hash, sizeof hash);
    return true;
}

/* A second copy on the device, to compare with there. Without memory for it the host compares. */
static bool hide_trusted(run *r, case_data *data, size_t tensor, const guarded *g)
{
    kw_error err;
    size_t bytes = (g->bytes + 3) / 4 * 4; /* compared by words */
    device_buffer *copy = device_alloc(r->device, bytes, &err);
    if (!copy)
        return device_last_fault(r->device) == DEVICE_FAULT_MEMORY || run_device_failed(r, &err, "keeping the output");
    data->expected[tensor].hidden = copy;
    case_cache_grown(r->worker->cases, data, 0, bytes);
    if (device_copy(r->device, g->whole, g->guard, copy, 0, g->bytes, &err) != KW_OK ||
        device_hide(r->device, copy, &err) != KW_OK)
        return run_device_failed(r, &err, "keeping the trusted output");
    return true;
}

/* Its output must itself pass where the reference spoke; then it is kept as it is. */
static bool keep_trusted(run *r, case_data *data, const buffer_set *set)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        if (set->task->tensors[i].access == TASK_IN || !g->whole)
            continue;
        kw_error err;
        void *got = mem_try_alloc(g->bytes);
        if (!got)
            return run_fail(r, OUTCOME_LAUNCH_ERROR, "no host memory to keep the trusted %s", g->name);
        if (device_read(r->device, g->whole, g->guard, got, g->bytes, &err) != KW_OK) {
            free(got);
            return run_device_failed(r, &err, "reading the trusted output");
        }
        data->expected[i].trusted = got;
        case_cache_grown(r->worker->cases, data, g->bytes, 0);
        if (device_can_check(r->device) && !hide_trusted(r, data, i, g))
            return false;
    }
    data->trusted_done = true;
    return true;
}

/* Two that should be right differ: no candidate can be judged by them, and none is to blame. */
static bool trusted_differs(run *r)
{
    kw_error err;
    if (r->record->outcome != OUTCOME_WRONG)
        return false;
    kw_error_set(&err, KW_BAD_INPUT,
                 "task %s: its reference and its fallback template do not agree, so one of the two is wrong (or the "
                 "device is), and no candidate can be judged: %s",
                 r->job->task->name, r->record->detail);
    return run_fatal(r, &err);
}

bool run_trusted(run *r, const job_case *c, case_data *data)
{
    if (!build_trusted(r, &c->trusted_plan))
        return false;
    kw_error err;
    buffer_set *set = buffers_new(r->device, r->job->task, data->layout, &c->trusted_plan, NULL, &err);
    if (!set)
        return run_device_failed(r, &err, "memory for the trusted kernel");
    double worst = r->record->worst_error; /* the trusted kernel's error is not the candidate's */
    bool good = true;
    if (buffers_restore(set, data, FIRST_POISON, FIRST_GUARD, &err) != KW_OK)
        good = run_device_failed(r, &err, "preparing the trusted kernel");
    if (good && device_run(r->device, r->worker->trusted, set->launches, set->n_launches, &err) != KW_OK)
        good = run_device_failed(r, &err, "running the trusted kernel");
    if (good && !run_check_outputs(r, data, set, FIRST_POISON, ""))
        good = trusted_differs(r);
    r->record->worst_error = worst;
    good = good && keep_trusted(r, data, set);
    buffers_free(set);
    return good;
}
