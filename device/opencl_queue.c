/* Batches that the device takes from its queue without waiting for the host.
 *
 * A driver may take longer to enqueue a launch than a short kernel runs (5.5 us against 2 us on an H200), so that the
 * host's clock over a batch times the enqueueing, and the more noisily the busier the host is. Here a kernel of ours
 * that only takes time, the plug, goes first; while it runs the host enqueues the whole batch, whose runs then follow
 * one another as fast as the device can. A sample is the time from the end of the first run to the end of the last one,
 * by the events of these two: what users see whose queue is full. */
#include "device/opencl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STEPS 4096
#define MOST_STEPS (1 << 24)
#define CALIBRATED_NS 100e3  /* as long as that, the cost of a launch does not show in a step's */
#define FIRST_LAUNCH_NS 10e3 /* what enqueueing takes, until it was seen */
#define SLACK 1.5            /* times what the batch is expected to take the host, */
#define SLACK_NS 100e3       /* and so much more */
#define LONGEST_NS 50e6      /* of a plug */

struct opencl_plug {
    cl_program program;
    cl_kernel kernel;
    cl_mem word;
    double step_ns;   /* of one step of its loop */
    double launch_ns; /* what the host lately took to enqueue one launch */
    bool works;
};

/* Each step needs the one before it, and the compiler cannot know the result. */
static const char source[] = "kernel void kernwright_plug(global float *word, uint steps)\n"
                             "{\n"
                             "    float x = word[0];\n"
                             "    for (uint i = 0; i < steps; i++)\n"
                             "        x = fma(x, 0.999f, 0.5f);\n"
                             "    if (x < 0.0f)\n"
                             "        word[0] = x;\n"
                             "}\n";

static cl_int create(opencl *o, opencl_plug *g)
{
    const char *text = source;
    const cl_float zero = 0;
    cl_int code;
    g->program = clCreateProgramWithSource(o->context, 1, &text, NULL, &code);
    if (code == CL_SUCCESS)
        code = clBuildProgram(g->program, 1, &o->id, "", NULL, NULL);
    if (code == CL_SUCCESS)
        g->kernel = clCreateKernel(g->program, "kernwright_plug", &code);
    if (code == CL_SUCCESS)
        g->word = clCreateBuffer(o->context, CL_MEM_READ_WRITE, sizeof zero, NULL, &code);
    if (code == CL_SUCCESS)
        code = clEnqueueWriteBuffer(o->plain, g->word, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL);
    return code;
}

void opencl_plug_free(opencl_plug *g)
{
    if (!g)
        return;
    if (g->word)
        clReleaseMemObject(g->word);
    if (g->kernel)
        clReleaseKernel(g->kernel);
    if (g->program)
        clReleaseProgram(g->program);
    free(g);
}

static cl_int enqueue_plug(opencl *o, cl_uint steps, cl_event *event)
{
    const size_t one = 1;
    cl_int code = clSetKernelArg(o->plug->kernel, 0, sizeof(cl_mem), &o->plug->word);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(o->plug->kernel, 1, sizeof steps, &steps);
    return code == CL_SUCCESS
               ? clEnqueueNDRangeKernel(o->profiling, o->plug->kernel, 1, NULL, &one, &one, 0, NULL, event)
               : code;
}

/* What a step takes; 0 if the events do not tell. */
static cl_int calibrate(opencl *o, double *step_ns)
{
    cl_int code = CL_SUCCESS;
    *step_ns = 0;
    for (cl_uint steps = FIRST_STEPS; code == CL_SUCCESS && steps <= MOST_STEPS; steps *= 8) {
        cl_event event = NULL;
        cl_ulong start = 0, end = 0;
        code = enqueue_plug(o, steps, &event);
        if (code == CL_SUCCESS)
            code = clFinish(o->profiling);
        if (code == CL_SUCCESS)
            code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
        if (code == CL_SUCCESS)
            code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        if (event)
            clReleaseEvent(event);
        const double ns = code == CL_SUCCESS ? device_event_ns(start, end) : 0;
        *step_ns = ns / steps;
        if (ns >= CALIBRATED_NS)
            break;
    }
    return code;
}

/* A CPU device takes the cores that the host enqueues with; a simulator has no time of its own. */
static bool is_wanted(const device *d)
{
    const char *wanted = getenv("KERNWRIGHT_BATCH");
    if (wanted && strcmp(wanted, "queue") == 0)
        return true;
    return !d->info.limits.is_cpu && !d->info.simulated && opencl_of(d)->events_in_ns &&
           !(wanted && strcmp(wanted, "host") == 0);
}

bool opencl_can_queue(device *d)
{
    opencl *o = opencl_of(d);
    if (!is_wanted(d))
        return false;
    if (!o->plug) {
        o->plug = mem_calloc(1, sizeof *o->plug);
        o->plug->launch_ns = FIRST_LAUNCH_NS;
        cl_int code = create(o, o->plug);
        if (code == CL_SUCCESS)
            code = calibrate(o, &o->plug->step_ns);
        o->plug->works = code == CL_SUCCESS && o->plug->step_ns > 0;
        if (!o->plug->works)
            log_debug("%s: no kernel that keeps the device busy while a batch is enqueued (%s, %d): the host's clock",
                      d->info.spec, opencl_error_name(code), code);
    }
    return o->plug->works;
}

/* ---- one batch ---- */

/* How long the plug has to be for so many launches. */
static double plug_ns(const opencl_plug *g, size_t n_launches)
{
    return SLACK * g->launch_ns * (double)n_launches + SLACK_NS;
}

/* Never longer than a plug may be, also when the host became slower in the middle of a row; and a number that the
 * kernel's argument can hold, whatever the events said of a step. */
static cl_uint plug_steps(const opencl_plug *g, size_t n_launches)
{
    return (cl_uint)fmin(fmin(plug_ns(g, n_launches), LONGEST_NS) / g->step_ns, (double)UINT32_MAX);
}

/* The host's share is learnt: at once when it grows, slowly when it shrinks; doubled when the plug ended too soon. */
static void learn(opencl_plug *g, double launch_ns, cl_event plug)
{
    cl_int status = CL_QUEUED;
    clGetEventInfo(plug, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    g->launch_ns = fmax(launch_ns, 0.75 * g->launch_ns + 0.25 * launch_ns);
    if (status == CL_COMPLETE)
        g->launch_ns *= 2;
}

/* From END to END; 0 if there is no telling. */
static double between(const cl_event ends[2], double host_ns)
{
    cl_ulong at[2];
    for (size_t i = 0; i < 2; i++)
        if (clGetEventProfilingInfo(ends[i], CL_PROFILING_COMMAND_END, sizeof at[i], &at[i], NULL) != CL_SUCCESS)
            return 0;
    double ns = device_event_ns(at[0], at[1]);
    return ns <= host_ns ? ns : 0;
}

/* events: of the plug, of the first and of the last run; *n_events are there. */
static kw_code enqueue(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                       size_t first, size_t n, cl_event events[3], size_t *n_events, kw_error *err)
{
    opencl *o = opencl_of(d);
    cl_int code = enqueue_plug(o, plug_steps(o->plug, n * n_launches), &events[0]);
    if (code != CL_SUCCESS)
        return opencl_fail(d, OPENCL_ENQUEUE, code, err, "the kernel that goes ahead of a batch");
    *n_events = 1;
    clFlush(o->profiling);
    int64_t begin = clock_now_ns();
    for (size_t i = 0; i < n; i++) {
        const device_launch *launches = set(first + i, cookie);
        for (size_t j = 0; j < n_launches; j++) {
            const bool marks = j + 1 == n_launches && (i == 0 || i + 1 == n);
            kw_code result = opencl_enqueue(d, p, &launches[j], o->profiling, marks ? &events[*n_events] : NULL, err);
            if (result != KW_OK)
                return result;
            *n_events += marks;
        }
    }
    learn(o->plug, (double)(clock_now_ns() - begin) / (double)(n * n_launches), events[0]);
    return KW_OK;
}

static kw_code time_one(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                        size_t first, size_t n, double *ns, kw_error *err)
{
    opencl *o = opencl_of(d);
    cl_event events[3];
    size_t n_events = 0;
    int64_t begin = clock_now_ns();
    kw_code result = enqueue(d, p, set, cookie, n_launches, first, n, events, &n_events, err);
    if (result == KW_OK)
        result = opencl_finish(d, o->profiling, events, n_events, err);
    else if (!d->lost)
        clFinish(o->profiling);
    if (result == KW_OK)
        *ns = between(events + 1, (double)(clock_now_ns() - begin)) / (double)(n - 1);
    if (!d->lost)
        opencl_release_events(events, n_events);
    return result;
}

kw_code opencl_time_queued(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    kw_code result = KW_OK;
    for (size_t i = 0; result == KW_OK && i < n_batches; i++)
        result = time_one(d, p, set, cookie, n_launches, i * per_batch, per_batch, &ns[i], err);
    return result;
}

bool opencl_fits_queue(device *d, size_t n_launches, size_t per_batch)
{
    if (per_batch < 2 || !opencl_can_queue(d))
        return false;
    opencl_plug *g = opencl_of(d)->plug;
    const bool fits = plug_ns(g, n_launches * per_batch) <= LONGEST_NS;
    /* What is not tried teaches nothing: a host that was slow once is believed to be less so each time. */
    if (!fits)
        g->launch_ns = fmax(fmin(g->launch_ns, FIRST_LAUNCH_NS), 0.75 * g->launch_ns);
    return fits;
}
