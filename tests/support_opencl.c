#include "tests/support_opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static device *opened; /* NULL if there is no device */

const program_text opencl_test_common = {
    "kernel void scale(int n, float a, global const float *restrict x, global float *y)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i];\n"
    "}\n"
    "kernel void add_one(global float *y, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] += 1.0f;\n"
    "}\n"
    "kernel void outside(global float *y, int n)\n"
    "{\n"
    "    if (get_global_id(0) == 0) {\n"
    "        y[n] = 5.0f;\n"
    "        y[-1] = 6.0f;\n"
    "    }\n"
    "}\n"
    "kernel void reverse(local float *t, global float *y)\n"
    "{\n"
    "    int i = get_local_id(0), n = get_local_size(0);\n"
    "    t[i] = y[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[i] = t[n - 1 - i];\n"
    "}\n",
    {"scale", "add_one", "outside", "reverse"},
    4,
};

const program_text opencl_test_fixed = {
    "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global float *y)\n"
    "{\n"
    "    local float t[64];\n"
    "    t[get_local_id(0)] = y[0];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[get_local_id(0)] = t[7 - get_local_id(0)];\n"
    "}\n",
    {"fixed"},
    1,
};

const program_text opencl_test_nothing = {"kernel void nothing(void) {}\n", {"nothing"}, 1};

int opencl_test_open(void **state)
{
    (void)state;
    kw_error err = {0};
    device_info *list;
    size_t n, index;
    device_list(&list, &n, NULL, &err);
    if (n > 0) {
        assert_int_equal(device_choose(list, n, NULL, &index, &err), KW_OK);
        if (strncmp(list[index].spec, "opencl:", 7) == 0) {
            assert_int_equal(device_open(list[index].spec, &opened, &err), KW_OK);
            assert_string_equal(err.message, "");
        }
    }
    free(list);
    return 0;
}

int opencl_test_close(void **state)
{
    (void)state;
    device_close(opened);
    opened = NULL;
    return 0;
}

device *opencl_test_device(void)
{
    if (!opened) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    return opened;
}

device_program *opencl_test_build(device *d, const program_text *text, device_build_info *info)
{
    kw_error err = {0};
    device_program *p = NULL;
    device_build_info own;
    kw_code code = device_build(d, text->source, NULL, text->kernels, text->n_kernels, &p, info ? info : &own, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KW_OK);
    if (!info)
        device_build_info_clear(&own);
    return p;
}

device_buffer *opencl_test_alloc(device *d, size_t bytes)
{
    kw_error err = {0};
    device_buffer *b = device_alloc(d, bytes, &err);
    assert_string_equal(err.message, "");
    assert_non_null(b);
    return b;
}

void test_ok(kw_code code, const kw_error *err)
{
    if (code != KW_OK)
        fail_msg("%s", err->message);
}

void test_says(const kw_error *err, const char *part)
{
    if (!strstr(err->message, part))
        fail_msg("message \"%s\" lacks \"%s\"", err->message, part);
}
