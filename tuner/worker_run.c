/* How a job ends, and what is said while it runs. */
#include "tuner/worker_internal.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define LEAST_FREE_BYTES ((uint64_t)1 << 20)
#define KEEP_ALIVE_NS 200000000 /* between two announcements of the same stage */

double run_ms(const run *r)
{
    return (double)(clock_now_ns() - r->start_ns) / 1e6;
}

void run_announce(run *r, stage s)
{
    strb line = STRB_INIT;
    job_task_stage_print(r->job->id, s, r->in_reference ? r->job->task->name : NULL, &line);
    r->said_so = r->in_reference;
    r->stage = s;
    r->announced_ns = clock_now_ns();
    worker_send(r->worker, line.data, line.length);
    strb_clear(&line);
}

void run_keep_alive(run *r)
{
    if (r->said_so != r->in_reference || clock_now_ns() - r->announced_ns > KEEP_ALIVE_NS)
        run_announce(r, r->stage);
}

void run_take_turn(run *r, stage s)
{
    const bool asks = r->job->turns == TURNS_ALL || (r->job->turns == TURNS_TIME && s == STAGE_TIME);
    if (!asks)
        return;
    strb line = STRB_INIT;
    job_turn_print(r->job->id, s, TURN_WAIT, &line);
    r->stage = s;
    worker_send(r->worker, line.data, line.length);
    strb_clear(&line);
    worker_wait_go(r->worker, r->job->id);
    r->turn_from_ms = run_ms(r);
    run_announce(r, s);
}

void run_end_turn(run *r)
{
    strb line = STRB_INIT;
    if (r->job->turns == TURNS_NONE)
        return;
    job_turn_print(r->job->id, r->stage, TURN_OVER, &line);
    r->announced_ns = clock_now_ns();
    r->turn_to_ms = run_ms(r);
    worker_send(r->worker, line.data, line.length);
    strb_clear(&line);
}

bool run_fail(run *r, outcome o, const char *format, ...)
{
    strb text = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    r->record->outcome = o;
    r->record->stage = r->stage;
    free(r->record->detail);
    r->record->detail = strb_take(&text);
    return false;
}

bool run_fatal(run *r, const kw_error *err)
{
    r->end = JOB_FATAL;
    r->fatal = *err;
    return false;
}

/* Where it cannot write to its cache PoCL ends its process, or says that the program does not build: every candidate
 * would meet the same. */
static bool is_for_full_disk(const run *r, kw_error *err)
{
    const char *folder = getenv("POCL_CACHE_DIR");
    struct statvfs disk;
    if (r->stage != STAGE_COMPILE || !device_describe(r->device)->builds_at_launch || !folder ||
        statvfs(folder, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize >= LEAST_FREE_BYTES)
        return false;
    kw_error_set(
        err, KW_ENVIRONMENT,
        "the disk that %s is on is full, and the driver cannot compile: free some space, or name another folder in "
        "POCL_CACHE_DIR",
        folder);
    return true;
}

/* A lost device is what a segmentation fault is on a CPU: an illegal access, a watchdog, a reset. */
bool run_device_failed(run *r, const kw_error *err, const char *what)
{
    outcome o = OUTCOME_LAUNCH_ERROR;
    kw_error full;
    switch (device_last_fault(r->device)) {
    case DEVICE_FAULT_BUILD:
        if (is_for_full_disk(r, &full))
            return run_fatal(r, &full);
        o = OUTCOME_COMPILE_ERROR;
        break;
    case DEVICE_FAULT_DOES_NOT_FIT:
        o = OUTCOME_DOES_NOT_FIT;
        break;
    case DEVICE_FAULT_LOST:
        if (is_for_full_disk(r, &full))
            return run_fatal(r, &full);
        r->end = JOB_LOST;
        o = OUTCOME_CRASH;
        break;
    case DEVICE_FAULT_NONE:
    case DEVICE_FAULT_MEMORY:
    case DEVICE_FAULT_LAUNCH:
        break;
    }
    return run_fail(r, o, "%s: %s", what, err->message);
}

bool run_layouts(run *r, const job_case *c, tensor_layout *out)
{
    kw_error err;
    for (size_t i = 0; i < r->job->task->n_tensors; i++)
        if (layout_of(r->job->task, &r->job->types, &c->shape, i, &out[i], &err) != KW_OK)
            return run_fatal(r, &err);
    const device_limits *limits = &device_describe(r->device)->limits;
    buffer_need need = buffers_need(r->job->task, out, &c->plan);
    strb wanted = STRB_INIT, there = STRB_INIT;
    bool good = true;
    if (limits->max_alloc_bytes > 0 && need.largest > (uint64_t)limits->max_alloc_bytes) {
        bytes_print(need.largest, &wanted);
        bytes_print((uint64_t)limits->max_alloc_bytes, &there);
        good = run_fail(r, OUTCOME_LAUNCH_ERROR, "%s needs %s, the device allows %s in one buffer", need.largest_name,
                        strb_text(&wanted), strb_text(&there));
    } else if (limits->global_mem_bytes > 0 && need.tensors + need.temps > (uint64_t)limits->global_mem_bytes) {
        bytes_print(need.tensors + need.temps, &wanted);
        bytes_print((uint64_t)limits->global_mem_bytes, &there);
        good = run_fail(r, OUTCOME_LAUNCH_ERROR, "tensors and temporaries need %s, the device has %s",
                        strb_text(&wanted), strb_text(&there));
    }
    strb_clear(&wanted);
    strb_clear(&there);
    return good;
}
