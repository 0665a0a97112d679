/* A device that computes no more is no candidate's fault: the worker asks a kernel of its own before it believes that a
 * candidate is wrong. Here what comes back from the device is spoiled on its way, as a broken device would: this
 * program puts a clEnqueueReadBuffer of its own in front of the driver's. Skipped where there is no OpenCL device. */
#include "tests/support_worker.h"

#include "base/mem.h"
#define OPENCL_API_PLAIN_NAMES
#include "device/opencl.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HEALTH_BYTES (4096 * sizeof(cl_uint)) /* what the health check reads, and nothing else in these tests */

static opencl_functions drivers;

/* Spoils the first $SPOILED reads of that size. */
static cl_int CL_API_CALL spoiling_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                        size_t bytes, void *data, cl_uint n_events, const cl_event *events,
                                        cl_event *event)
{
    static int spoiled = 0;
    cl_int code = drivers.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, data, n_events, events, event);
    if (bytes == HEALTH_BYTES && getenv("SPOILED") && spoiled < atoi(getenv("SPOILED"))) {
        ((unsigned char *)data)[bytes - 1] ^= 1; /* one bit of the last word */
        spoiled++;
    }
    return code;
}

/* Without an OpenCL library there is nothing to spoil, and the tests are skipped. */
static void spoil_reads(void)
{
    kw_error err;
    if (opencl_load(&err) != KW_OK)
        return;
    drivers = opencl_api;
    opencl_api.clEnqueueReadBuffer = spoiling_read;
}

/* The runner of a CPU device is new whenever there is reason for doubt: only who drives the device itself asks. */
static void start(test_worker *w, char spec[32], const char *spoiled)
{
    message hello;
    setenv("KERNWRIGHT_RUNNER", "never", 1);
    setenv("SPOILED", spoiled, 1);
    test_worker_start(w);
    unsetenv("SPOILED");
    unsetenv("KERNWRIGHT_RUNNER");
    test_worker_read(w, &hello);
    spec[0] = '\0';
    for (size_t i = 0; i < hello.n_devices && !spec[0]; i++)
        if (strncmp(hello.devices[i].spec, "opencl:", 7) == 0 && !hello.devices[i].simulated)
            memcpy(spec, hello.devices[i].spec, sizeof hello.devices[i].spec);
    message_clear(&hello);
    if (spec[0])
        return;
    test_worker_end(w);
    print_message("skipped: no OpenCL device\n");
    skip();
}

static void make_job(test_job *tj, const char *spec)
{
    test_job_make(tj, "saxpy", "");
    tj->j.device = spec;
    tj->j.source = "__kernel void fake_saxpy(int n, float a, __global const float *x, __global float *y)\n"
                   "{\n"
                   "    int i = get_global_id(0);\n"
                   "    if (i < n)\n"
                   "        y[i] = a * x[i] + y[i];\n"
                   "}\n";
    test_job_add(tj, "N=100", DIST_NORMAL, 1);
}

static void answers(const char *spoiled, job_mode mode)
{
    test_worker w;
    test_job tj;
    job_record r;
    char spec[32];
    start(&w, spec, spoiled);
    make_job(&tj, spec);
    tj.j.mode = mode;
    assert_true(test_worker_do(&w, &tj.j, &r));
    if (r.outcome != OUTCOME_OK)
        fail_msg("%s: %s", outcome_name(r.outcome), r.detail ? r.detail : "(no detail)");
    job_record_clear(&r);
    test_job_clear(&tj);
    int status = test_worker_end(&w);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void sound(void **state)
{
    (void)state;
    answers("0", JOB_EVALUATE);
}

/* A reset takes a moment: two wrong answers are forgiven. */
static void recovers(void **state)
{
    (void)state;
    answers("2", JOB_EVALUATE);
}

/* Three are not: the run ends, and no candidate is to blame. */
static void broken(void **state)
{
    test_worker w;
    test_job tj;
    char spec[32];
    (void)state;
    start(&w, spec, "3");
    make_job(&tj, spec);
    test_worker_refuses(&w, &tj.j, KW_ENVIRONMENT, "does not do what a kernel of our own asks of it");
    test_job_clear(&tj);
}

/* Who only compiles does not depend on it. */
static void compiles_all_the_same(void **state)
{
    (void)state;
    answers("99", JOB_COMPILE);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        spoil_reads();
        return test_worker_main(argc, argv);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound), cmocka_unit_test(recovers), cmocka_unit_test(broken),
                                       cmocka_unit_test(compiles_all_the_same)};
    return cmocka_run_group_tests_name("worker_health", tests, NULL, NULL);
}
