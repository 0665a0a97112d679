/* Filters a signal on the first OpenCL device with the emitted header, and compares with a plain loop.
 * Build: cc -std=c99 program.c -o program -lOpenCL -lm
 */
#include "kw_fir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000000, R = 8 };

static float x[N], w[2 * R + 1], y[N];

static double worst_difference(void)
{
    double worst = 0;
    int i, k;
    for (i = 0; i < N; i++) {
        double sum = 0;
        for (k = 0; k <= 2 * R; k++)
            if (i + k - R >= 0 && i + k - R < N)
                sum += (double)w[k] * x[i + k - R];
        if (!(fabs(sum - y[i]) <= worst))
            worst = fabs(sum - y[i]);
    }
    return worst;
}

int main(void)
{
    int i;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 3;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    for (i = 0; i < N; i++)
        x[i] = (float)sin(0.001 * i);
    for (i = 0; i <= 2 * R; i++)
        w[i] = 1.0f / (2 * R + 1);
    cl_mem buffer_x = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, NULL);
    cl_mem buffer_w = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof w, w, NULL);
    cl_mem buffer_y = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof y, NULL, NULL);

    /* What an application needs: a handle for as long as it runs, and one call for each launch. */
    kw_fir *fir;
    kw_fir_shape shape = {N, R};
    kw_status status = kw_fir_create(context, device, &fir);
    if (status == KW_SUCCESS)
        status = kw_fir_enqueue(fir, queue, shape, buffer_x, 0, buffer_w, 0, buffer_y, 0, NULL, 0, NULL, NULL);
    if (status != KW_SUCCESS) {
        fprintf(stderr, "%s\n", kw_status_text(status));
        return 1;
    }

    clEnqueueReadBuffer(queue, buffer_y, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
    kw_fir_choice choice = kw_fir_select(kw_fir_device(fir), &shape);
    double worst = worst_difference();
    printf("layer %s, %s: largest difference %.2g, %s\n", kw_layer_text(choice.layer),
           kw_fir_variant_name(choice.variant), worst, worst < 1e-5 ? "right" : "WRONG");
    kw_fir_destroy(fir);
    clReleaseMemObject(buffer_x);
    clReleaseMemObject(buffer_w);
    clReleaseMemObject(buffer_y);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return worst < 1e-5 ? 0 : 1;
}
