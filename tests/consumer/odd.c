/* kw_odd.h: strides, two temporaries in one workspace, scalars of four types, local memory as an argument, globals
 * of the program that have names of the header's parameters, and a log of shapes that have no row. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
extern int shape, handle, queue, workspace, event, wait_list, choice, plan, status, value, row, full;
int shape, handle, queue, workspace, event, wait_list, choice, plan, status, value, row, full;
static char missed[4096];
static void log_miss(const char *line);
#define KW_LOG_MISSES(line) log_miss(line)
#include "kw_odd.h"
#include "support.h"

static void log_miss(const char *line)
{
    strcat(missed, line);
    strcat(missed, "\n");
}

static void run(const machine *m, cl_command_queue q, int64_t rows, int64_t cols, int64_t ld)
{
    const kw_odd_shape s = {rows, cols, ld};
    const int64_t stride = ld ? ld : cols;
    const size_t n = (size_t)((rows - 1) * stride + cols), n_out = (size_t)(rows * cols);
    float *x = make_data(n, 3), *got = make_floats(n_out);
    cl_mem X = make_buffer(m, n, x), Y = make_buffer(m, n_out, NULL), W;
    kw_odd *odd;
    kw_odd_choice c;
    cl_event done = NULL;
    int64_t r, k;
    int wrong = 0;
    CHECK(kw_odd_create(m->context, m->device, &odd) == KW_SUCCESS);
    c = kw_odd_select(kw_odd_device(odd), &s);
    W = make_buffer(m, kw_odd_workspace(&c, &s) / 4, NULL);
    CHECK(kw_odd_enqueue(odd, q, s, -3, 0.5f, UINT64_C(7) << 40, -9, X, 0, Y, 0, W, 0, NULL, &done) == KW_SUCCESS);
    CHECK(clWaitForEvents(1, &done) == CL_SUCCESS);
    read_buffer(m, Y, 0, n_out, got);
    for (r = 0; r < rows; r++)
        for (k = 0; k < cols; k++) {
            const float want = x[r * stride + k] * -3.0f + 0.5f + 7.0f - 9.0f;
            wrong += got[r * cols + k] < want || got[r * cols + k] > want;
        }
    CHECK(wrong == 0);
    clReleaseEvent(done);
    kw_odd_destroy(odd);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    clReleaseMemObject(W);
    free(x);
    free(got);
}

int main(void)
{
    machine m = machine_open();
    run(&m, m.queue, 4, 6, 0);
    run(&m, m.queue, 4, 6, 6);
    run(&m, m.queue, 4, 6, 11);
    CHECK(strcmp(missed, "") == 0);
    run(&m, m.queue, 1000, 3, 0);
    run(&m, m.queue, 9, 1, 2);
    CHECK(strcmp(missed, "{\"static\":1000,\"cols\":3,\"ld\":3,\"T\":\"f32\",\"count\":1}\n"
                         "{\"static\":9,\"cols\":1,\"ld\":2,\"T\":\"f32\",\"count\":1}\n") == 0);
    if (m.loose) {
        run(&m, m.loose, 1000, 3, 4);
        run(&m, m.loose, 4, 6, 0);
    }
    machine_close(&m);
    return report("odd") + shape + handle + queue + workspace + event + wait_list + choice + plan + status + value +
           row + full;
}
