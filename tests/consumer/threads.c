/* One handle, many threads: right results, and each program is built once. */
#define _POSIX_C_SOURCE 200112L /* barriers */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <pthread.h>

static int builds;
static pthread_mutex_t builds_lock = PTHREAD_MUTEX_INITIALIZER;

static cl_int counted_build(cl_program program, cl_uint n, const cl_device_id *devices, const char *options)
{
    pthread_mutex_lock(&builds_lock);
    builds++;
    pthread_mutex_unlock(&builds_lock);
    return clBuildProgram(program, n, devices, options, NULL, NULL);
}

#define clBuildProgram(program, n, devices, options, notify, data) counted_build(program, n, devices, options)
#include "kw_reduce_sum.h"
#undef clBuildProgram
#include "support.h"

enum { THREADS = 16, CALLS = 12 };

typedef struct job {
    const machine *m;
    kw_reduce_sum *handle;
    pthread_barrier_t *start;
    int number, wrong;
} job;

/* Sums of ones, of lengths that no other thread has: an argument of another thread would show. The default's number of
 * groups is the same for all of them: PoCL 3.1 ends the program (pocl_release_dlhandle_cache: ref_count > 0) when
 * launches of one kernel with different numbers of groups overlap on several queues. */
static void *work(void *cookie)
{
    job *j = (job *)cookie;
    cl_int error;
    cl_command_queue queue = clCreateCommandQueue(j->m->context, j->m->device, 0, &error);
    float *ones = make_floats(8192), got;
    cl_mem x, y = make_buffer(j->m, 1, NULL), workspace = make_buffer(j->m, 1 << 16, NULL);
    int i;
    fill(ones, 8192, 1.0f);
    x = make_buffer(j->m, 8192, ones);
    pthread_barrier_wait(j->start);
    for (i = 0; i < CALLS; i++) {
        const kw_reduce_sum_shape shape = {i % 3 == 0 ? 4096 : 4032 - 4 * j->number - i % 4};
        if (kw_reduce_sum_enqueue(j->handle, queue, shape, x, 0, y, 0, workspace, 0, NULL, NULL) != KW_SUCCESS ||
            clEnqueueReadBuffer(queue, y, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL) != CL_SUCCESS ||
            (int64_t)got != shape.N)
            j->wrong++;
    }
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseMemObject(workspace);
    clReleaseCommandQueue(queue);
    free(ones);
    return NULL;
}

int main(void)
{
    machine m = machine_open();
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    job jobs[THREADS];
    kw_reduce_sum *handle = NULL;
    int i;
    CHECK(kw_reduce_sum_create(m.context, m.device, &handle) == KW_SUCCESS);
    pthread_barrier_init(&start, NULL, THREADS);
    for (i = 0; i < THREADS; i++) {
        jobs[i].m = &m;
        jobs[i].handle = handle;
        jobs[i].start = &start;
        jobs[i].number = i;
        jobs[i].wrong = 0;
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(jobs[i].wrong == 0);
    }
    CHECK(builds == 2); /* the default, and the variant of N = 4096 */
    kw_reduce_sum_destroy(handle);
    machine_close(&m);
    return report("threads");
}
