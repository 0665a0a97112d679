/* For tests of the OpenCL back end: the device, small programs for it. Failures end the test. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_OPENCL_H
#define KERNWRIGHT_TESTS_SUPPORT_OPENCL_H

#include "tests/support_device.h"

/* Set-up and end of a group of tests: opens the device that `make check` would choose, if it is OpenCL's. */
int opencl_test_open(void **state);
int opencl_test_close(void **state);
/* The opened one; skips the test if there is none. */
device *opencl_test_device(void);

/* Programs are small: where a compiler cannot take one kernel, only the tests of that kernel fail. */
typedef struct program_text {
    const char *source;
    const char *kernels[4];
    size_t n_kernels;
} program_text;

/* scale(n, a, x, y): y = a x; add_one(y, n): y += 1; outside(y, n): writes y[-1] and y[n]; reverse(local, y). */
extern const program_text opencl_test_common;
extern const program_text opencl_test_fixed;   /* fixed(y), with a required work-group of 8 x 2 and local memory */
extern const program_text opencl_test_nothing; /* nothing(), without arguments */

device_program *opencl_test_build(device *d, const program_text *text,
                                  device_build_info *info); /* info: NULL if not wanted */
device_buffer *opencl_test_alloc(device *d, size_t bytes);
void test_ok(kw_code code, const kw_error *err);
void test_says(const kw_error *err, const char *part); /* the message has this part */

#endif
