/* An application with an emitted header: multiplies matrices of the shapes given on the command line with the kernels
 * that the header picks, compares every element with a plain loop, and says which layer of the header answered. It
 * needs the header and OpenCL, nothing else.
 *
 * usage: consumer opencl:PLATFORM:DEVICE M,N,K ...
 */
#include "kw_gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    cl_context context;
    cl_command_queue queue;
    kw_gemm *gemm;
} program;

static cl_device_id pick_device(const char *spec)
{
    cl_platform_id platforms[16];
    cl_device_id devices[64];
    cl_uint platform, device, n = 0;
    if (sscanf(spec, "opencl:%u:%u", &platform, &device) != 2)
        return NULL;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS || platform >= n || platform >= 16)
        return NULL;
    if (clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 64, devices, &n) != CL_SUCCESS || device >= n ||
        device >= 64)
        return NULL;
    return devices[device];
}

/* 0 if there is no such device. */
static int open_program(program *p, const char *spec)
{
    cl_device_id device = pick_device(spec);
    p->context = device ? clCreateContext(NULL, 1, &device, NULL, NULL, NULL) : NULL;
    p->queue = p->context ? clCreateCommandQueue(p->context, device, 0, NULL) : NULL;
    return p->queue && kw_gemm_create(p->context, device, &p->gemm) == KW_SUCCESS;
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(3);
    }
    return p;
}

static float *random_matrix(size_t n, unsigned *state)
{
    float *x = (float *)allocate(n, sizeof *x);
    size_t i;
    for (i = 0; i < n; i++) {
        *state = *state * 1664525u + 1013904223u;
        x[i] = (float)(*state >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

/* Largest |C - A B| over its bound. The bound is the tuner's: the rounding of the result, and that of the sums, which
 * grows with the magnitudes that are added. */
static double worst_error(const float *a, const float *b, const float *c, size_t m, size_t n, size_t k)
{
    const double eps = 1.1920928955078125e-7;
    double worst = 0;
    double *sum = (double *)allocate(n, sizeof *sum), *magnitude = (double *)allocate(n, sizeof *magnitude);
    size_t i, j, l;
    for (i = 0; i < m; i++) {
        for (j = 0; j < n; j++)
            sum[j] = magnitude[j] = 0;
        for (l = 0; l < k; l++)
            for (j = 0; j < n; j++) {
                double term = (double)a[i * k + l] * b[l * n + j];
                sum[j] += term;
                magnitude[j] += fabs(term);
            }
        for (j = 0; j < n; j++) {
            double bound = 4 * eps * fabs(sum[j]) + 8 * eps * sqrt((double)k) * magnitude[j];
            double error = fabs(sum[j] - c[i * n + j]) / bound;
            if (!(error <= worst)) /* a NaN counts too */
                worst = error;
        }
    }
    free(sum);
    free(magnitude);
    return worst;
}

/* C = A B on the device. */
static kw_status multiply(program *p, kw_gemm_shape s, float *a, float *b, float *c)
{
    const size_t m = (size_t)s.M, n = (size_t)s.N, k = (size_t)s.K;
    kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(p->gemm), &s);
    size_t bytes = kw_gemm_workspace(&choice, &s);
    cl_mem_flags copied = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    cl_mem A = clCreateBuffer(p->context, copied, m * k * sizeof *a, a, NULL);
    cl_mem B = clCreateBuffer(p->context, copied, k * n * sizeof *b, b, NULL);
    cl_mem C = clCreateBuffer(p->context, CL_MEM_READ_WRITE, m * n * sizeof *c, NULL, NULL);
    cl_mem workspace = bytes ? clCreateBuffer(p->context, CL_MEM_READ_WRITE, bytes, NULL, NULL) : NULL;
    kw_status status = kw_gemm_enqueue(p->gemm, p->queue, s, 1.0f, 0.0f, A, 0, B, 0, C, 0, workspace, 0, NULL, NULL);
    if (status == KW_SUCCESS &&
        clEnqueueReadBuffer(p->queue, C, CL_TRUE, 0, m * n * sizeof *c, c, 0, NULL, NULL) != CL_SUCCESS)
        status = KW_ERROR_OPENCL;
    if (A)
        clReleaseMemObject(A);
    if (B)
        clReleaseMemObject(B);
    if (C)
        clReleaseMemObject(C);
    if (workspace)
        clReleaseMemObject(workspace);
    return status;
}

/* Is the answer right? Says so, and who gave it. */
static int try_shape(program *p, kw_gemm_shape s)
{
    unsigned seed = 1;
    size_t m = (size_t)s.M, n = (size_t)s.N, k = (size_t)s.K;
    float *a = random_matrix(m * k, &seed), *b = random_matrix(k * n, &seed), *c = random_matrix(m * n, &seed);
    kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(p->gemm), &s);
    const char *name = kw_gemm_variant_name(choice.variant); /* template and configuration */
    kw_status status = multiply(p, s, a, b, c);
    double error = status == KW_SUCCESS ? worst_error(a, b, c, m, n, k) : HUGE_VAL;
    printf("  M=%lu,N=%lu,K=%lu: ", (unsigned long)m, (unsigned long)n, (unsigned long)k);
    if (status != KW_SUCCESS)
        printf("%s\n%s\n", kw_status_text(status), kw_gemm_build_log(p->gemm));
    else
        printf("%s, largest error %.2g of its bound; layer %s, match %s, %.*s\n", error <= 1 ? "right" : "WRONG", error,
               kw_layer_text(choice.layer), kw_match_text(choice.device_match), (int)strcspn(name, " "), name);
    free(a);
    free(b);
    free(c);
    return error <= 1;
}

int main(int argc, char **argv)
{
    int i, wrong = 0;
    program p = {NULL, NULL, NULL};
    if (argc < 3) {
        fprintf(stderr, "usage: consumer opencl:PLATFORM:DEVICE M,N,K ...\n");
        return 2;
    }
    if (!open_program(&p, argv[1])) {
        fprintf(stderr, "consumer: the OpenCL device %s cannot be used\n", argv[1]);
        return 3;
    }
    for (i = 2; i < argc; i++) {
        kw_gemm_shape s = {0, 0, 0};
        long m, n, k;
        if (sscanf(argv[i], "%ld,%ld,%ld", &m, &n, &k) != 3 || m < 1 || n < 1 || k < 1) {
            fprintf(stderr, "consumer: '%s' is no shape M,N,K\n", argv[i]);
            return 2;
        }
        s.M = m;
        s.N = n;
        s.K = k;
        wrong += !try_shape(&p, s);
    }
    kw_gemm_destroy(p.gemm);
    clReleaseCommandQueue(p.queue);
    clReleaseContext(p.context);
    printf("  %s\n", wrong ? "SOME RESULTS ARE WRONG" : "all results are right");
    return wrong ? 1 : 0;
}
