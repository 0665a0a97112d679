/* A header with binaries: are they used where they fit, and does the text serve where they do not? argv[1] is 1 if they
 * have to be used. TROUBLE stands for a driver that makes trouble: 1 it is given bytes that it refuses, 2 it refuses
 * them by the status of the device, 3 it does not build them, 4 their kernels have other names, 5 it promises
 * groups of one work-item only, whatever a kernel was compiled for (NVIDIA's promises 256): that is no trouble. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

#ifndef TROUBLE
#define TROUBLE 0
#endif

static int sources, binaries, of_binary;

static cl_program with_source(cl_context context, cl_uint n, const char **pieces, cl_int *error)
{
    sources++;
    of_binary = 0;
    return clCreateProgramWithSource(context, n, pieces, NULL, error);
}

static cl_program with_binary(cl_context context, const cl_device_id *device, const size_t *size,
                              const unsigned char **bytes, cl_int *status, cl_int *error)
{
    cl_program program;
    unsigned char *copy = (unsigned char *)malloc(*size);
    const unsigned char *given = copy;
    if (!copy)
        exit(1);
    memcpy(copy, *bytes, *size);
    if (TROUBLE == 1)
        memset(copy, 0xa5, *size < 64 ? *size : 64);
    binaries++;
    program = clCreateProgramWithBinary(context, 1, device, size, &given, status, error);
    free(copy);
    if (TROUBLE == 2)
        *status = CL_INVALID_BINARY;
    of_binary = 1;
    return program;
}

static cl_int build(cl_program program, cl_uint n, const cl_device_id *devices, const char *options)
{
    if (TROUBLE == 3 && of_binary)
        return CL_BUILD_PROGRAM_FAILURE;
    return clBuildProgram(program, n, devices, options, NULL, NULL);
}

static cl_kernel create_kernel(cl_program program, const char *name, cl_int *error)
{
    return clCreateKernel(program, TROUBLE == 4 && of_binary ? "no_such_kernel" : name, error);
}

static cl_int group_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
                         void *value, size_t *got)
{
    cl_int error = clGetKernelWorkGroupInfo(kernel, device, what, size, value, got);
    if (TROUBLE == 5 && what == CL_KERNEL_WORK_GROUP_SIZE)
        *(size_t *)value = 1;
    return error;
}

#define clGetKernelWorkGroupInfo(kernel, device, what, size, value, got) \
    group_info(kernel, device, what, size, value, got)
#define clCreateProgramWithSource(context, n, pieces, lengths, error) with_source(context, n, pieces, error)
#define clCreateProgramWithBinary(context, n, device, size, bytes, status, error) \
    with_binary(context, device, size, bytes, status, error)
#define clBuildProgram(program, n, devices, options, notify, data) build(program, n, devices, options)
#define clCreateKernel(program, name, error) create_kernel(program, name, error)
#include "kw_saxpy.h"
#undef clCreateProgramWithSource
#undef clCreateProgramWithBinary
#undef clBuildProgram
#undef clCreateKernel
#undef clGetKernelWorkGroupInfo
#include "support.h"

static void saxpy(const machine *m, kw_saxpy *handle, int64_t n, int used)
{
    const kw_saxpy_shape shape = {n};
    const kw_saxpy_choice choice = kw_saxpy_select(kw_saxpy_device(handle), &shape);
    float *x = make_data((size_t)n, 1), *y = make_data((size_t)n, 2), *got = make_floats((size_t)n);
    cl_mem a = make_buffer(m, (size_t)n, x), b = make_buffer(m, (size_t)n, y);
    int64_t i, right = 0;
    CHECK(kw_saxpy_enqueue(handle, m->queue, shape, 2.0f, a, 0, b, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(m, b, 0, (size_t)n, got);
    for (i = 0; i < n; i++)
        right += got[i] == 2.0f * x[i] + y[i];
    CHECK(right == n);
    CHECK(kw_saxpy_from_binary(handle, choice.variant) == used);
    CHECK(strcmp(kw_saxpy_build_log(handle), "") == 0);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    free(x);
    free(y);
    free(got);
}

int main(int argc, char **argv)
{
    machine m = machine_open();
    kw_saxpy *handle = NULL;
    const int used = argc > 1 && atoi(argv[1]);
    CHECK(kw_saxpy_create(m.context, m.device, &handle) == KW_SUCCESS);
    CHECK(kw_saxpy_from_binary(handle, 0) == 0);
    saxpy(&m, handle, 1000, used);
    saxpy(&m, handle, 1000, used);
    saxpy(&m, handle, 54321, used);
    CHECK(kw_saxpy_from_binary(handle, -1) == 0);
    CHECK(kw_saxpy_from_binary(handle, kw_saxpy_variant_count()) == 0);
    CHECK(used ? sources == 0 && binaries > 0 : sources > 0);
    CHECK(!TROUBLE || binaries > 0);
    kw_saxpy_destroy(handle);
    machine_close(&m);
    return report("binary");
}
