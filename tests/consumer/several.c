/* Five headers in one translation unit, the same task under two prefixes, one file included twice, first without
 * launching. Runs saxpy, reduce_sum (a workspace, two launches), softmax and transpose. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define KW_NO_LAUNCH
#include "kw_saxpy.h"
#include "kw_reduce_sum.h"
#undef KW_NO_LAUNCH
#include "kw_saxpy.h"
#include "kw_gemm.h"
#include "app_gemm.h"
#include "kw_reduce_sum.h"
#include "kw_softmax.h"
#include "kw_transpose.h"
#include "kw_saxpy.h"
#include "support.h"

static void saxpy(const machine *m, int64_t n, float a)
{
    const kw_saxpy_shape shape = {n};
    float *x = make_data((size_t)n, 1), *y = make_data((size_t)n, 2), *got = make_floats((size_t)n);
    cl_mem X = make_buffer(m, (size_t)n, x), Y = make_buffer(m, (size_t)n, y);
    kw_saxpy *saxpy_handle;
    int64_t i;
    int wrong = 0;
    CHECK(kw_saxpy_create(m->context, m->device, &saxpy_handle) == KW_SUCCESS);
    CHECK(kw_saxpy_enqueue(saxpy_handle, m->queue, shape, a, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(m, Y, 0, (size_t)n, got);
    for (i = 0; i < n; i++)
        wrong += got[i] < a * x[i] + y[i] || got[i] > a * x[i] + y[i];
    CHECK(wrong == 0);
    kw_saxpy_destroy(saxpy_handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    free(x);
    free(y);
    free(got);
}

static void reduce(const machine *m, cl_command_queue queue, int64_t n)
{
    const kw_reduce_sum_shape shape = {n};
    float *x = make_data((size_t)n, 5), got = -1.0f;
    double sum = 0;
    cl_mem X = make_buffer(m, (size_t)n, x), Y = make_buffer(m, 1, NULL), workspace;
    kw_reduce_sum *handle;
    kw_reduce_sum_choice choice;
    cl_event done = NULL;
    size_t bytes;
    int64_t i;
    for (i = 0; i < n; i++)
        sum += (double)x[i];
    CHECK(kw_reduce_sum_create(m->context, m->device, &handle) == KW_SUCCESS);
    choice = kw_reduce_sum_select(kw_reduce_sum_device(handle), &shape);
    bytes = kw_reduce_sum_workspace(&choice, &shape);
    CHECK(bytes > 0);
    workspace = make_buffer(m, bytes / 4, NULL);
    CHECK(kw_reduce_sum_enqueue(handle, queue, shape, X, 0, Y, 0, workspace, 0, NULL, &done) == KW_SUCCESS);
    CHECK(clWaitForEvents(1, &done) == CL_SUCCESS);
    read_buffer(m, Y, 0, 1, &got);
    CHECK((double)got == sum);
    clReleaseEvent(done);
    kw_reduce_sum_destroy(handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    clReleaseMemObject(workspace);
    free(x);
}

static void softmax(const machine *m, int64_t rows, int64_t columns)
{
    const kw_softmax_shape shape = {rows, columns};
    const size_t n = (size_t)(rows * columns);
    float *x = make_data(n, 7), *got = make_floats(n);
    cl_mem X = make_buffer(m, n, x), Y = make_buffer(m, n, NULL);
    kw_softmax *handle;
    kw_softmax_choice choice;
    int64_t r, c;
    int wrong = 0;
    CHECK(kw_softmax_create(m->context, m->device, &handle) == KW_SUCCESS);
    choice = kw_softmax_select(kw_softmax_device(handle), &shape);
    CHECK(kw_softmax_workspace(&choice, &shape) == 0);
    CHECK(kw_softmax_enqueue(handle, m->queue, shape, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(m, Y, 0, n, got);
    for (r = 0; r < rows; r++) {
        double sum = 0;
        for (c = 0; c < columns; c++)
            sum += exp((double)x[r * columns + c] - 8.0);
        for (c = 0; c < columns; c++)
            wrong += !(fabs((double)got[r * columns + c] - exp((double)x[r * columns + c] - 8.0) / sum) < 1e-5);
    }
    CHECK(wrong == 0);
    kw_softmax_destroy(handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    free(x);
    free(got);
}

static void transpose(const machine *m, int64_t rows, int64_t columns)
{
    const kw_transpose_shape shape = {rows, columns};
    const size_t n = (size_t)(rows * columns);
    float *x = make_data(n, 9), *got = make_floats(n);
    cl_mem X = make_buffer(m, n, x), Y = make_buffer(m, n, NULL);
    kw_transpose *handle;
    int64_t r, c;
    int wrong = 0;
    CHECK(kw_transpose_create(m->context, m->device, &handle) == KW_SUCCESS);
    CHECK(kw_transpose_enqueue(handle, m->queue, shape, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(m, Y, 0, n, got);
    for (r = 0; r < rows; r++)
        for (c = 0; c < columns; c++)
            wrong += x[r * columns + c] < got[c * rows + r] || x[r * columns + c] > got[c * rows + r];
    CHECK(wrong == 0);
    kw_transpose_destroy(handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    free(x);
    free(got);
}

int main(void)
{
    machine m = machine_open();
    app_gemm *other = NULL;
    saxpy(&m, 1024, 2.0f);
    saxpy(&m, 1000, -0.5f);
    saxpy(&m, 1, 0.0f);
    reduce(&m, m.queue, 4096);
    reduce(&m, m.queue, 12345);
    reduce(&m, m.queue, 0);
    if (m.loose) {
        reduce(&m, m.loose, 4096);
        reduce(&m, m.loose, 1);
    }
    softmax(&m, 8, 1024);
    softmax(&m, 3, 5);
    transpose(&m, 64, 32);
    transpose(&m, 7, 300);
    CHECK(app_gemm_create(m.context, m.device, &other) == KW_SUCCESS);
    CHECK(app_gemm_variant_count() == 1 && kw_gemm_variant_count() > 1);
    app_gemm_destroy(other);
    machine_close(&m);
    return report("several");
}
