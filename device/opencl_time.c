/* Timing. The policy is fixed, so that all candidates are measured alike: launches go into an in-order queue one after
 * another, nothing is flushed in between, one clFinish ends a batch or a row of events. Nothing is discarded here. */
#include "device/opencl.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

#define HOST_SLACK_NS 1e6 /* host and device clocks run apart a little */

/* Fills and copies may still be under way: they must neither overlap nor precede what is timed. */
static kw_code settle(device *d, kw_error *err)
{
    cl_int code = clFinish(opencl_of(d)->plain);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "preparing what is timed");
}

/* START to END of one command, 0 if there is no telling. */
static double event_time(cl_event event)
{
    cl_ulong start = 0, end = 0;
    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS ||
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) != CL_SUCCESS)
        return 0;
    return device_event_ns(start, end);
}

/* Sum over the launches of one run; one bad reading spoils it. Longer than the host waited for everything cannot be. */
static double run_time(const opencl *o, const cl_event *events, size_t n, double host_ns)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double ns = event_time(events[i]);
        if (ns <= 0 || !o->events_in_ns)
            return 0;
        sum += ns;
    }
    return sum <= host_ns + HOST_SLACK_NS ? sum : 0;
}

kw_code opencl_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err)
{
    opencl *o = opencl_of(d);
    cl_event *events = mem_calloc(n_runs, n_launches * sizeof(cl_event));
    size_t launched = 0;
    kw_code result = settle(d, err);
    int64_t begin = clock_now_ns();
    for (size_t i = 0; result == KW_OK && i < n_runs; i++) {
        const device_launch *launches = set(i, cookie);
        for (size_t j = 0; result == KW_OK && j < n_launches; j++) {
            result = opencl_enqueue(d, p, &launches[j], o->profiling, &events[launched], err);
            launched += result == KW_OK;
        }
    }
    if (result == KW_OK)
        result = opencl_finish(d, o->profiling, events, launched, err);
    else if (!d->lost)
        clFinish(o->profiling);
    double host_ns = (double)(clock_now_ns() - begin);
    for (size_t i = 0; result == KW_OK && i < n_runs; i++)
        ns[i] = run_time(o, events + i * n_launches, n_launches, host_ns);
    if (!d->lost)
        opencl_release_events(events, launched);
    free(events);
    return result;
}

/* One batch; *ns gets the host time of one run. */
static kw_code time_one_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                              size_t first, size_t n, double *ns, kw_error *err)
{
    opencl *o = opencl_of(d);
    kw_code result = KW_OK;
    int64_t begin = clock_now_ns();
    for (size_t i = first; result == KW_OK && i < first + n; i++) {
        const device_launch *launches = set(i, cookie);
        for (size_t j = 0; result == KW_OK && j < n_launches; j++)
            result = opencl_enqueue(d, p, &launches[j], o->plain, NULL, err);
    }
    if (result == KW_OK)
        result = opencl_finish(d, o->plain, NULL, 0, err);
    else if (!d->lost)
        clFinish(o->plain);
    *ns = (double)(clock_now_ns() - begin) / (double)n;
    return result;
}

kw_code opencl_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    kw_code result = settle(d, err);
    if (result == KW_OK && opencl_fits_queue(d, n_launches, per_batch))
        return opencl_time_queued(d, p, set, cookie, n_launches, per_batch, n_batches, ns, err);
    for (size_t i = 0; result == KW_OK && i < n_batches; i++)
        result = time_one_batch(d, p, set, cookie, n_launches, i * per_batch, per_batch, &ns[i], err);
    return result;
}
