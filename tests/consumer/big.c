/* A kernel of over 20 KB with every awkward byte: prints the text that the header hands to the driver, for comparison
 * with the original, and runs it. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "big_saxpy.h"
#include "support.h"

int main(int argc, char **argv)
{
    const size_t length = big_saxpy_variant_source(0, NULL, 0);
    char *text = (char *)malloc(length + 1), part[10];
    FILE *out = argc > 1 ? fopen(argv[1], "wb") : NULL;
    const big_saxpy_shape s = {3};
    const float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
    float got[3];
    machine m;
    big_saxpy *big;
    cl_mem X, Y;
    CHECK(length > 20000 && text != NULL);
    if (!text || !out)
        return 1;
    CHECK(big_saxpy_variant_source(0, text, length + 1) == length && strlen(text) == length);
    CHECK(big_saxpy_variant_source(0, part, sizeof part) == length && strncmp(part, text, 9) == 0 && part[9] == '\0');
    CHECK(big_saxpy_variant_source(1, part, sizeof part) == 0);
    CHECK(fwrite(text, 1, length, out) == length && fclose(out) == 0);
    free(text);
    m = machine_open();
    X = make_buffer(&m, 3, x);
    Y = make_buffer(&m, 3, y);
    CHECK(big_saxpy_create(m.context, m.device, &big) == KW_SUCCESS);
    CHECK(big_saxpy_enqueue(big, m.queue, s, 2, X, 0, Y, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    read_buffer(&m, Y, 0, 3, got);
    CHECK(got[0] > 11.9f && got[1] > 23.9f && got[2] > 35.9f && got[2] < 36.1f);
    big_saxpy_destroy(big);
    clReleaseMemObject(X);
    clReleaseMemObject(Y);
    machine_close(&m);
    return report("big");
}
