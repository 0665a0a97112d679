/* y = a x + y with the kernels that the emitted header picks; every element is checked. Built by examples/cmake,
 * examples/make and examples/meson. Exit status: 0 right, 1 wrong or failed, 77 no OpenCL device. */
#include "kw_saxpy.h"

#include <stdio.h>
#include <stdlib.h>

static cl_device_id first_device(void)
{
    cl_platform_id platforms[16];
    cl_device_id device;
    cl_uint n = 0, i;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        return NULL;
    for (i = 0; i < n && i < 16; i++)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
            return device;
    return NULL;
}

/* 1 if every element of the result is right. Integers, so that it must be exact. */
static int run(kw_saxpy *saxpy, cl_context context, cl_command_queue queue, int64_t n)
{
    const kw_saxpy_shape shape = {n};
    const size_t bytes = (size_t)n * sizeof(float);
    float *x = (float *)malloc(bytes), *y = (float *)malloc(bytes);
    cl_mem buffer_x, buffer_y;
    kw_saxpy_choice choice;
    kw_status status;
    int64_t i, right = 0;
    if (!x || !y)
        exit(1);
    for (i = 0; i < n; i++) {
        x[i] = (float)(i % 100);
        y[i] = (float)(i % 7);
    }
    buffer_x = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, x, NULL);
    buffer_y = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, y, NULL);
    status = kw_saxpy_enqueue(saxpy, queue, shape, 3.0f, buffer_x, 0, buffer_y, 0, NULL, 0, NULL, NULL);
    if (status != KW_SUCCESS)
        fprintf(stderr, "N=%ld: %s\n%s\n", (long)n, kw_status_text(status), kw_saxpy_build_log(saxpy));
    else if (clEnqueueReadBuffer(queue, buffer_y, CL_TRUE, 0, bytes, y, 0, NULL, NULL) == CL_SUCCESS)
        for (i = 0; i < n; i++)
            right += y[i] == 3.0f * (float)(i % 100) + (float)(i % 7);
    choice = kw_saxpy_select(kw_saxpy_device(saxpy), &shape);
    printf("N=%ld: %s, layer %s, %s\n", (long)n, right == n ? "right" : "WRONG", kw_layer_text(choice.layer),
           kw_saxpy_variant_name(choice.variant));
    clReleaseMemObject(buffer_x);
    clReleaseMemObject(buffer_y);
    free(x);
    free(y);
    return right == n;
}

int main(void)
{
    static const int64_t sizes[] = {1000, 1000000, 54321};
    cl_device_id device = first_device();
    cl_context context;
    cl_command_queue queue;
    kw_saxpy *saxpy = NULL;
    size_t i, right = 0;
    if (!device) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    if (kw_saxpy_create(context, device, &saxpy) == KW_SUCCESS)
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
            right += (size_t)run(saxpy, context, queue, sizes[i]);
    kw_saxpy_destroy(saxpy);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return right == sizeof sizes / sizeof *sizes ? 0 : 1;
}
