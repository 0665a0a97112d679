/* Launching: what can be known beforehand is checked beforehand, since a refused launch may cost the device. */
#include "device/opencl.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static opencl_kernel *find_kernel(device_program *program, const char *name)
{
    opencl_program *p = program->handle;
    for (size_t i = 0; i < p->n_kernels; i++)
        if (strcmp(p->kernels[i].name, name) == 0)
            return &p->kernels[i];
    return NULL;
}

static kw_code no_kernel(device *d, const char *name, kw_error *err)
{
    return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                       "kernel \"%s\" was not asked for when the program was built", name);
}

kw_code opencl_check_args(device *d, device_program *p, const device_launch *l, kw_error *err)
{
    const opencl_kernel *k = find_kernel(p, l->kernel);
    if (!k)
        return no_kernel(d, l->kernel, err);
    return device_check_params(d, l, k->params, k->n_params, err);
}

/* ---- does it fit? ---- */

static kw_code check_group(device *d, const opencl_kernel *k, const device_launch *l, kw_error *err)
{
    const device_limits *limits = &d->info.limits;
    size_t items = 1;
    if (l->rank < 1 || l->rank > 3)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "kernel \"%s\": %u dimensions", l->kernel,
                           l->rank);
    for (unsigned i = 0; i < l->rank; i++) {
        size_t most = (size_t)limits->max_work_item_size[i];
        if (l->local[i] == 0 || l->groups[i] == 0 || l->groups[i] > SIZE_MAX / l->local[i])
            return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                               "kernel \"%s\": %zu groups of %zu work-items in dimension %u", l->kernel, l->groups[i],
                               l->local[i], i);
        if (most > 0 && l->local[i] > most)
            return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED,
                               "kernel \"%s\": %zu work-items of a group in dimension %u, the device allows %zu",
                               l->kernel, l->local[i], i, most);
        if (k->fixed_group[0] && l->local[i] != k->fixed_group[i])
            return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                               "kernel \"%s\": a group of %zu in dimension %u, but its reqd_work_group_size says %zu",
                               l->kernel, l->local[i], i, k->fixed_group[i]);
        items *= l->local[i];
    }
    if (k->max_group > 0 && items > k->max_group)
        return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED,
                           "kernel \"%s\": a group of %zu work-items, as compiled it can have %zu", l->kernel, items,
                           k->max_group);
    return KW_OK;
}

/* Where static local memory may exceed what the device reports (NVIDIA), only launches that bring local memory as an
 * argument are held to it. */
static kw_code check_local(device *d, const opencl_kernel *k, const device_launch *l, kw_error *err)
{
    int64_t dynamic = 0, fixed = k->local_bytes > 0 ? k->local_bytes : 0, most = d->info.limits.local_mem_bytes;
    for (size_t i = 0; i < l->n_args; i++)
        if (l->args[i].kind == DEVICE_ARG_LOCAL)
            dynamic += (int64_t)l->args[i].n;
    int64_t total = dynamic + fixed;
    if (most <= 0 || total <= most || (opencl_of(d)->local_is_static && dynamic == 0))
        return KW_OK;
    return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED,
                       "kernel \"%s\": %lld bytes of local memory (%lld of them as arguments), the device has %lld",
                       l->kernel, (long long)total, (long long)dynamic, (long long)most);
}

/* ---- arguments ---- */

/* All of them, every time: a kernel keeps old ones, and an old buffer may be gone. */
static kw_code set_args(device *d, const opencl_kernel *k, const device_launch *l, kw_error *err)
{
    opencl *o = opencl_of(d);
    char what[160];
    if (l->n_args != k->n_params)
        return device_check_params(d, l, k->params, k->n_params, err);
    for (size_t i = 0; i < l->n_args; i++) {
        const device_arg *a = &l->args[i];
        cl_mem mem = a->kind == DEVICE_ARG_BUFFER && a->buffer ? opencl_mem(a->buffer) : o->dummy;
        cl_int code = a->kind == DEVICE_ARG_BUFFER  ? clSetKernelArg(k->kernel, (cl_uint)i, sizeof(cl_mem), &mem)
                      : a->kind == DEVICE_ARG_LOCAL ? clSetKernelArg(k->kernel, (cl_uint)i, a->n, NULL)
                                                    : clSetKernelArg(k->kernel, (cl_uint)i, a->n, a->bytes);
        if (code == CL_SUCCESS)
            continue;
        snprintf(what, sizeof what, "kernel \"%.80s\", argument %zu is refused", l->kernel, i + 1);
        return opencl_fail(d, OPENCL_PREPARING, code, err, what);
    }
    return KW_OK;
}

/* ---- launching ---- */

kw_code opencl_enqueue(device *d, device_program *p, const device_launch *l, cl_command_queue queue, cl_event *event,
                       kw_error *err)
{
    const opencl_kernel *k = find_kernel(p, l->kernel);
    size_t global[3];
    char what[200];
    kw_code result = k ? check_group(d, k, l, err) : no_kernel(d, l->kernel, err);
    if (result == KW_OK)
        result = check_local(d, k, l, err);
    if (result == KW_OK)
        result = set_args(d, k, l, err);
    if (result != KW_OK)
        return result;
    for (unsigned i = 0; i < l->rank; i++)
        global[i] = l->groups[i] * l->local[i];
    cl_int code = clEnqueueNDRangeKernel(queue, k->kernel, l->rank, NULL, global, l->local, 0, NULL, event);
    if (code == CL_SUCCESS)
        return KW_OK;
    snprintf(what, sizeof what,
             "kernel \"%.80s\" (compiled for groups of up to %zu, %lld bytes of local memory) cannot be launched",
             l->kernel, k->max_group, (long long)k->local_bytes);
    return opencl_fail(d, OPENCL_ENQUEUE, code, err, what);
}

/* Some drivers report a failed kernel only in its event. */
static cl_int worst_status(const cl_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cl_int status = CL_COMPLETE;
        cl_int code = clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        if (code != CL_SUCCESS || status < 0)
            return code != CL_SUCCESS ? code : status;
    }
    return CL_SUCCESS;
}

kw_code opencl_finish(device *d, cl_command_queue queue, const cl_event *events, size_t n, kw_error *err)
{
    cl_int code = clFinish(queue);
    if (code == CL_SUCCESS)
        code = worst_status(events, n);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_FINISH, code, err, "a kernel failed while it ran");
}

void opencl_release_events(cl_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clReleaseEvent(events[i]);
}

kw_code opencl_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err)
{
    opencl *o = opencl_of(d);
    cl_event *events = mem_calloc(n, sizeof(cl_event));
    size_t launched = 0;
    kw_code result = KW_OK;
    const bool fenced = n > 0 && launches[0].fenced && opencl_fences(d);
    if (fenced) {
        clFinish(o->plain); /* fills and copies into what is closed now */
        opencl_fence(launches, n, true);
    }
    while (result == KW_OK && launched < n) {
        result = opencl_enqueue(d, p, &launches[launched], o->plain, &events[launched], err);
        launched += result == KW_OK;
    }
    if (result == KW_OK)
        result = opencl_finish(d, o->plain, events, launched, err);
    else if (!d->lost)
        clFinish(o->plain);
    if (fenced)
        opencl_fence(launches, n, false);
    if (!d->lost)
        opencl_release_events(events, launched);
    free(events);
    return result;
}
