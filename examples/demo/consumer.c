/* An application that ships the emitted header: multiplies matrices of the shapes given on the command line with the
 * kernel the header picks, compares every element with a plain loop, and says which layer answered.
 *
 * usage: consumer PLATFORM DEVICE M,N,K ...
 */
#include "kw_gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static cl_device_id pick_device(unsigned platform, unsigned index)
{
    cl_platform_id platforms[16];
    cl_device_id devices[16];
    cl_uint n = 0;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS || platform >= n)
        return NULL;
    if (clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 16, devices, &n) != CL_SUCCESS || index >= n)
        return NULL;
    return devices[index];
}

static float *random_matrix(size_t n, unsigned *state)
{
    float *x = (float *)malloc((n ? n : 1) * sizeof *x);
    size_t i;
    for (i = 0; x && i < n; i++) {
        *state = *state * 1664525u + 1013904223u;
        x[i] = (float)(*state >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

/* Largest |C - A B| over sqrt(K) times the rounding unit; a right kernel stays around 1. */
static double worst_error(const float *a, const float *b, const float *c, size_t m, size_t n, size_t k)
{
    double worst = 0, *row = (double *)malloc(n * sizeof *row);
    size_t i, j, l;
    for (i = 0; row && i < m; i++) {
        for (j = 0; j < n; j++)
            row[j] = 0;
        for (l = 0; l < k; l++)
            for (j = 0; j < n; j++)
                row[j] += (double)a[i * k + l] * b[l * n + j];
        for (j = 0; j < n; j++) {
            double e = fabs(row[j] - c[i * n + j]) / (1.1920929e-7 * sqrt((double)k + 1));
            if (!(e <= worst)) /* a NaN counts too */
                worst = e;
        }
    }
    free(row);
    return worst;
}

static const char *layer_name(kw_layer layer)
{
    return layer == KW_LAYER_EXACT ? "exact" : layer == KW_LAYER_TREE ? "tree" : "default";
}

static int multiply(cl_context context, cl_command_queue queue, kw_gemm *gemm, const kw_device *device, kw_gemm_shape s)
{
    unsigned seed = 1;
    size_t m = (size_t)s.M, n = (size_t)s.N, k = (size_t)s.K;
    float *a = random_matrix(m * k, &seed), *b = random_matrix(k * n, &seed), *c = random_matrix(m * n, &seed);
    kw_gemm_choice choice = kw_gemm_select(device, &s);
    size_t space = kw_gemm_workspace(&choice, &s);
    cl_mem ma = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, m * k * sizeof *a, a, NULL);
    cl_mem mb = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, k * n * sizeof *b, b, NULL);
    cl_mem mc = clCreateBuffer(context, CL_MEM_READ_WRITE, m * n * sizeof *c, NULL, NULL);
    cl_mem work = space ? clCreateBuffer(context, CL_MEM_READ_WRITE, space, NULL, NULL) : NULL;
    double error;
    kw_status status = kw_gemm_enqueue(gemm, queue, s, 1.0f, ma, 0, mb, 0, 0.0f, mc, 0, work, 0, NULL, NULL);
    if (status != KW_SUCCESS) {
        printf("%ldx%ldx%ld: %s\n%s\n", (long)m, (long)n, (long)k, kw_status_text(status), kw_gemm_build_log(gemm));
        return 1;
    }
    clEnqueueReadBuffer(queue, mc, CL_TRUE, 0, m * n * sizeof *c, c, 0, NULL, NULL);
    error = worst_error(a, b, c, m, n, k);
    printf("  %5ldx%ldx%ld: layer %s, %s, error %.2f of rounding: %s\n", (long)m, (long)n, (long)k, layer_name(choice.layer),
           kw_gemm_variant_name(choice.variant), error, error <= 16 ? "right" : "WRONG");
    clReleaseMemObject(ma);
    clReleaseMemObject(mb);
    clReleaseMemObject(mc);
    if (work)
        clReleaseMemObject(work);
    free(a);
    free(b);
    free(c);
    return error <= 16 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int i, wrong = 0;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    kw_device device;
    kw_gemm *gemm = NULL;
    if (argc < 4) {
        fprintf(stderr, "usage: consumer PLATFORM DEVICE M,N,K ...\n");
        return 2;
    }
    id = pick_device((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
    context = id ? clCreateContext(NULL, 1, &id, NULL, NULL, NULL) : NULL;
    queue = context ? clCreateCommandQueue(context, id, 0, NULL) : NULL;
    if (!queue || kw_device_init(&device, id) != KW_SUCCESS || kw_gemm_create(context, id, &gemm) != KW_SUCCESS) {
        fprintf(stderr, "no OpenCL device %s:%s\n", argv[1], argv[2]);
        return 3;
    }
    for (i = 3; i < argc; i++) {
        kw_gemm_shape s = {0, 0, 0};
        long m, n, k;
        if (sscanf(argv[i], "%ld,%ld,%ld", &m, &n, &k) != 3)
            return 2;
        s.M = m;
        s.N = n;
        s.K = k;
        wrong += multiply(context, queue, gemm, &device, s);
    }
    kw_gemm_destroy(gemm);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("  %s\n", wrong ? "SOME RESULTS ARE WRONG" : "all results are right");
    return wrong ? 1 : 0;
}
