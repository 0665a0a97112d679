/* A header whose kernel text is linked, not included. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "split_saxpy.h"
#include "support.h"

int main(void)
{
    machine m = machine_open();
    split_saxpy *handle = NULL;
    const split_saxpy_shape shape = {1000};
    char text[4096];
    float *x = make_floats(1000), *y = make_floats(1000);
    cl_mem X, Y;
    int i;
    CHECK(split_saxpy_variant_source(0, text, sizeof text) == strlen(text) && strstr(text, "kernel"));
    for (i = 0; i < 1000; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    X = make_buffer(&m, 1000, x);
    Y = make_buffer(&m, 1000, y);
    CHECK(split_saxpy_create(m.context, m.device, &handle) == KW_SUCCESS);
    CHECK(split_saxpy_enqueue(handle, m.queue, shape, 2.0f, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    CHECK(clEnqueueReadBuffer(m.queue, Y, CL_TRUE, 0, 1000 * sizeof(float), y, 0, NULL, NULL) == CL_SUCCESS);
    for (i = 0; i < 1000; i++)
        CHECK(y[i] == 2.0f * (float)i + 1.0f);
    split_saxpy_destroy(handle);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    free(x);
    free(y);
    machine_close(&m);
    return report("split");
}
