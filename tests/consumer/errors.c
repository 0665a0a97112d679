/* What goes wrong, and what the header says then. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "kw_gemm.h"
#include "bad_saxpy.h"
#include "dead_saxpy.h"
#include "support.h"

static const kw_gemm_shape split_shape = {17, 33, 300};

static void arguments(const machine *m, kw_gemm *gemm)
{
    const kw_gemm_shape s = {4, 4, 4};
    cl_mem b = make_buffer(m, 16, NULL), big = make_buffer(m, 1 << 16, NULL);
    kw_gemm *none = gemm;
    CHECK(kw_gemm_create(m->context, m->device, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_create(NULL, m->device, &none) == KW_ERROR_ARGUMENT && none == NULL);
    CHECK(kw_gemm_create(m->context, NULL, &none) == KW_ERROR_ARGUMENT && none == NULL);
    CHECK(kw_gemm_enqueue(NULL, m->queue, s, 1, 0, b, 0, b, 0, b, 0, NULL, 0, NULL, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_enqueue(gemm, NULL, s, 1, 0, b, 0, b, 0, b, 0, NULL, 0, NULL, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, b, 0, b, 0, NULL, 0, NULL, 0, NULL, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, b, 0, b, 0, b, 0, NULL, 1, NULL, NULL) == KW_ERROR_ARGUMENT);
    if (offset_alignment(m) > 4)
        CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, big, 4, big, 0, big, 8192, NULL, 0, NULL, NULL) ==
              KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, big, 1 << 18, big, 0, big, 8192, NULL, 0, NULL, NULL) ==
          KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_prepare(gemm, NULL, 1) == KW_ERROR_ARGUMENT);
    CHECK(kw_gemm_prepare(gemm, NULL, 0) == KW_SUCCESS);
    clReleaseMemObject(b);
    clReleaseMemObject(big);
}

/* A buffer one element short. */
static void small_buffers(const machine *m, kw_gemm *gemm)
{
    const kw_gemm_shape s = {4, 5, 6};
    int i;
    for (i = 0; i < 4; i++) {
        cl_mem A = make_buffer(m, i == 0 ? 23 : 24, NULL), B = make_buffer(m, i == 1 ? 29 : 30, NULL);
        cl_mem C = make_buffer(m, i == 2 ? 19 : 20, NULL);
        const kw_status status = kw_gemm_enqueue(gemm, m->queue, s, 1, 0, A, 0, B, 0, C, 0, NULL, 0, NULL, NULL);
        CHECK(status == (i < 3 ? KW_ERROR_ARGUMENT : KW_SUCCESS));
        clFinish(m->queue);
        clReleaseMemObject(A);
        clReleaseMemObject(B);
        clReleaseMemObject(C);
    }
}

static void shapes(const machine *m, kw_gemm *gemm)
{
    static const kw_gemm_shape bad[] = {
        {-1, 4, 4}, {4, INT64_C(1) << 31, 4}, {65536, 65536, 1}, {INT64_MAX, INT64_MAX, 1}};
    cl_mem b = make_buffer(m, 16, NULL);
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        const kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(gemm), &bad[i]);
        CHECK(choice.variant == -1);
        CHECK(kw_gemm_workspace(&choice, &bad[i]) == 0);
        CHECK(strcmp(kw_gemm_variant_name(choice.variant), "none") == 0);
        CHECK(kw_gemm_prepare(gemm, &bad[i], 1) == KW_ERROR_SHAPE);
    }
    for (i = 0; i < 2; i++)
        CHECK(kw_gemm_enqueue(gemm, m->queue, bad[i], 1, 0, b, 0, b, 0, b, 0, NULL, 0, NULL, NULL) == KW_ERROR_SHAPE);
    clReleaseMemObject(b);
}

static void workspaces(const machine *m, kw_gemm *gemm)
{
    const kw_gemm_shape s = split_shape;
    const kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(gemm), &s);
    const size_t bytes = kw_gemm_workspace(&choice, &s);
    cl_mem A = make_buffer(m, 17 * 300, NULL), B = make_buffer(m, 33 * 300, NULL), C = make_buffer(m, 17 * 33, NULL);
    cl_mem small, enough = make_buffer(m, bytes / 4, NULL);
    CHECK(bytes == 17 * 33 * 4 * sizeof(float));
    small = make_buffer(m, bytes / 4 - 1, NULL);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, A, 0, B, 0, C, 0, NULL, 0, NULL, NULL) == KW_ERROR_WORKSPACE);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, A, 0, B, 0, C, 0, small, 0, NULL, NULL) == KW_ERROR_WORKSPACE);
    CHECK(kw_gemm_enqueue(gemm, m->queue, s, 1, 0, A, 0, B, 0, C, 0, enough, 0, NULL, NULL) == KW_SUCCESS);
    clFinish(m->queue);
    clReleaseMemObject(A);
    clReleaseMemObject(B);
    clReleaseMemObject(C);
    clReleaseMemObject(small);
    clReleaseMemObject(enough);
}

/* The only variant does not compile: the log says which one, and what the compiler said; it is not tried again. */
static void dead(const machine *m)
{
    const dead_saxpy_shape s = {100};
    cl_mem x = make_buffer(m, 100, NULL), y = make_buffer(m, 100, NULL);
    dead_saxpy *handle;
    const char *log;
    CHECK(dead_saxpy_create(m->context, m->device, &handle) == KW_SUCCESS);
    CHECK(strcmp(dead_saxpy_build_log(handle), "") == 0);
    CHECK(dead_saxpy_enqueue(handle, m->queue, s, 1, x, 0, y, 0, NULL, 0, NULL, NULL) == KW_ERROR_BUILD);
    log = dead_saxpy_build_log(handle);
    CHECK(strncmp(log, dead_saxpy_variant_name(0), strlen(dead_saxpy_variant_name(0))) == 0);
    CHECK(strstr(log, "clBuildProgram failed: -11") != NULL);
    CHECK(strlen(log) > strlen(dead_saxpy_variant_name(0)) + 50);
    CHECK(dead_saxpy_enqueue(handle, m->queue, s, 1, x, 0, y, 0, NULL, 0, NULL, NULL) == KW_ERROR_BUILD);
    CHECK(dead_saxpy_build_log(handle) == log);
    CHECK(dead_saxpy_prepare(handle, &s, 1) == KW_ERROR_BUILD);
    dead_saxpy_destroy(handle);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

/* The selected variant does not compile, or does not take its groups: another one runs, and the log tells. */
static void fall_back(const machine *m, int64_t n)
{
    const bad_saxpy_shape s = {n};
    float *x = make_data((size_t)n, 1), *y = make_data((size_t)n, 2), *got = make_floats((size_t)n);
    cl_mem X = make_buffer(m, (size_t)n, x), Y = make_buffer(m, (size_t)n, y);
    bad_saxpy *handle;
    bad_saxpy_choice choice;
    int64_t i;
    int wrong = 0;
    CHECK(bad_saxpy_create(m->context, m->device, &handle) == KW_SUCCESS);
    choice = bad_saxpy_select(bad_saxpy_device(handle), &s);
    CHECK(choice.layer == KW_LAYER_EXACT && choice.variant > 0);
    CHECK(bad_saxpy_enqueue(handle, m->queue, s, 2, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(m, Y, 0, (size_t)n, got);
    for (i = 0; i < n; i++)
        wrong += got[i] < 2 * x[i] + y[i] || got[i] > 2 * x[i] + y[i];
    CHECK(wrong == 0);
    CHECK(strstr(bad_saxpy_build_log(handle), bad_saxpy_variant_name(choice.variant)) != NULL);
    if (n == 100)
        CHECK(bad_saxpy_prepare(handle, &s, 1) == KW_ERROR_BUILD);
    bad_saxpy_destroy(handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    free(x);
    free(y);
    free(got);
}

static void texts(void)
{
    int i;
    for (i = KW_SUCCESS; i <= KW_ERROR_OPENCL; i++)
        CHECK(strlen(kw_status_text((kw_status)i)) > 5);
}

int main(void)
{
    machine m = machine_open();
    kw_gemm *gemm = NULL;
    CHECK(kw_gemm_create(m.context, m.device, &gemm) == KW_SUCCESS);
    texts();
    arguments(&m, gemm);
    small_buffers(&m, gemm);
    shapes(&m, gemm);
    workspaces(&m, gemm);
    dead(&m);
    fall_back(&m, 100);
    fall_back(&m, 101);
    kw_gemm_destroy(gemm);
    machine_close(&m);
    return report("errors");
}
