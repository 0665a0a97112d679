/* What the consumer programs share: a device, buffers, checks. C99 and C++11. The dispatch headers come first, so that
 * they have to bring in all that they need. */
#ifndef CONSUMER_SUPPORT_H
#define CONSUMER_SUPPORT_H

#ifndef KW_NO_LAUNCH
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 }; /* exit status: there is no OpenCL device */

static int failures;

#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)

static inline void check(int holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    failures++;
    printf("%s:%d: does not hold: %s\n", file, line, text);
}

/* The last line of each program's main. */
static inline int report(const char *name)
{
    if (failures)
        printf("%s: %d checks failed\n", name, failures);
    return failures ? 1 : 0;
}

#ifndef KW_NO_LAUNCH

typedef struct machine {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue, loose; /* in order, out of order (NULL if the device has none) */
} machine;

/* The first GPU, else the first device of all. Ends the program as skipped if there is none. */
static inline cl_device_id first_device(void)
{
    cl_platform_id platforms[16];
    cl_uint n = 0, i;
    int any;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        n = 0;
    for (any = 0; any < 2; any++)
        for (i = 0; i < n && i < 16; i++) {
            cl_device_id device;
            if (clGetDeviceIDs(platforms[i], any ? CL_DEVICE_TYPE_ALL : CL_DEVICE_TYPE_GPU, 1, &device, NULL) ==
                CL_SUCCESS)
                return device;
        }
    printf("no OpenCL device\n");
    exit(SKIPPED);
}

static inline machine machine_open(void)
{
    machine m;
    cl_int error;
    m.device = first_device();
    m.context = clCreateContext(NULL, 1, &m.device, NULL, NULL, &error);
    CHECK(error == CL_SUCCESS);
    m.queue = clCreateCommandQueue(m.context, m.device, 0, &error);
    CHECK(error == CL_SUCCESS);
    m.loose = clCreateCommandQueue(m.context, m.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    if (error != CL_SUCCESS)
        m.loose = NULL;
    return m;
}

static inline void machine_close(machine *m)
{
    clReleaseCommandQueue(m->queue);
    if (m->loose)
        clReleaseCommandQueue(m->loose);
    clReleaseContext(m->context);
}

static inline cl_mem make_buffer(const machine *m, size_t floats, const float *data)
{
    cl_int error;
    cl_mem b = clCreateBuffer(m->context, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0),
                              (floats ? floats : 1) * sizeof(float), data ? (void *)(size_t)data : NULL, &error);
    CHECK(error == CL_SUCCESS);
    return b;
}

static inline void read_buffer(const machine *m, cl_mem b, size_t at, size_t floats, float *out)
{
    CHECK(clEnqueueReadBuffer(m->queue, b, CL_TRUE, at * sizeof(float), floats * sizeof(float), out, 0, NULL, NULL) ==
          CL_SUCCESS);
}

static inline int is_complete(cl_event e)
{
    cl_int state = CL_QUEUED;
    clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return state == CL_COMPLETE;
}

/* Bytes to which an offset must be aligned. */
static inline size_t offset_alignment(const machine *m)
{
    cl_uint bits = 0;
    clGetDeviceInfo(m->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    return bits / 8;
}

#endif /* KW_NO_LAUNCH */

static inline float *make_floats(size_t n)
{
    float *x = (float *)malloc((n ? n : 1) * sizeof *x);
    if (!x)
        exit(1);
    return x;
}

/* Small integers, so that sums come out exact in any order. */
static inline float *make_data(size_t n, unsigned seed)
{
    float *x = make_floats(n);
    size_t i;
    for (i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 28) - 8);
    }
    return x;
}

static inline void fill(float *x, size_t n, float with)
{
    size_t i;
    for (i = 0; i < n; i++)
        x[i] = with;
}

#endif
