/* The OpenCL back end: opening, closing, and its row in the table.
 *
 * After DEVICE_FAULT_LOST nothing here is called again, not even to release: on some drivers such a call never
 * returns. */
#include "device/opencl.h"

#include "base/mem.h"
#include "device/opencl_cache.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void release(opencl *o)
{
    opencl_cache_close(o->cache);
    opencl_checker_free(o->checker);
    opencl_plug_free(o->plug);
    if (o->compare_result)
        clReleaseMemObject(o->compare_result);
    if (o->compare_kernel)
        clReleaseKernel(o->compare_kernel);
    if (o->compare_program)
        clReleaseProgram(o->compare_program);
    if (o->dummy)
        clReleaseMemObject(o->dummy);
    if (o->profiling)
        clReleaseCommandQueue(o->profiling);
    if (o->plain)
        clReleaseCommandQueue(o->plain);
    if (o->context)
        clReleaseContext(o->context);
    free(o);
}

static kw_code create(opencl *o, cl_int *code)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)o->platform, 0};
    o->context = clCreateContext(properties, 1, &o->id, NULL, NULL, code);
    if (*code == CL_SUCCESS)
        o->plain = clCreateCommandQueue(o->context, o->id, 0, code);
    if (*code == CL_SUCCESS)
        o->profiling = clCreateCommandQueue(o->context, o->id, CL_QUEUE_PROFILING_ENABLE, code);
    if (*code == CL_SUCCESS)
        o->dummy = clCreateBuffer(o->context, CL_MEM_READ_WRITE, 64, NULL, code);
    return *code == CL_SUCCESS ? KW_OK : KW_ENVIRONMENT;
}

/* A CPU device shares the host's memory, and a kernel that runs there can write anywhere: the host compares. A
 * simulator would run our kernels slowly, and report on them. */
static bool compares_on_device(const device_info *info)
{
    const char *wanted = getenv("KERNWRIGHT_COMPARE");
    if (wanted && strcmp(wanted, "device") == 0)
        return true;
    return !info->limits.is_cpu && !info->simulated && !(wanted && strcmp(wanted, "host") == 0);
}

static kw_code open_device(const char *spec, device *d, kw_error *err)
{
    opencl *o = mem_calloc(1, sizeof *o);
    cl_uint bits = 0;
    cl_int code = CL_SUCCESS;
    kw_code found = opencl_find(spec, &o->platform, &o->id, &d->info, err);
    if (found != KW_OK) {
        free(o);
        return found;
    }
    if (create(o, &code) != KW_OK) {
        release(o);
        return kw_error_set(err, KW_ENVIRONMENT, "%s (%s) cannot be opened: %s, %d", spec, d->info.name,
                            opencl_error_name(code), code);
    }
    if (clGetDeviceInfo(o->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) != CL_SUCCESS || bits < 32)
        bits = 1024;
    o->alignment = bits / 8;
    o->verbose_builds = opencl_has_extension(o->id, "cl_nv_compiler_options");
    o->local_is_static = o->verbose_builds;
    o->compares_on_device = compares_on_device(&d->info);
    o->events_in_ns = strcasecmp(d->info.platform, "Apple") != 0;
    o->cache = opencl_cache_of_device(&d->info);
    d->state = o;
    return KW_OK;
}

static void close_device(device *d)
{
    release(opencl_of(d));
}

static size_t view_alignment(const device *d)
{
    return opencl_of(d)->alignment;
}

const device_ops device_opencl = {
    .name = "opencl",
    .list = opencl_list,
    .open = open_device,
    .close = close_device,
    .alloc = opencl_alloc,
    .free_buffer = opencl_free_buffer,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .compare = opencl_compare,
    .can_check = opencl_can_check,
    .check_all = opencl_check_all,
    .gather = opencl_gather,
    .hide = opencl_hide,
    .view_alignment = view_alignment,
    .view = opencl_view,
    .build = opencl_build,
    .free_program = opencl_free_program,
    .program_binary = opencl_program_binary,
    .check_args = opencl_check_args,
    .run = opencl_run,
    .time_events = opencl_time_events,
    .time_batch = opencl_time_batch,
};
