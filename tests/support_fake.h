/* For tests of the scripted device: it opened, and a copy kernel on it with its buffers. Failures end the test. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_FAKE_H
#define KERNWRIGHT_TESTS_SUPPORT_FAKE_H

#include "tests/support_device.h"

#define COPY "kernel void fake_copy(int n, global const float *in, global float *out) {}\n"
#define SAXPY \
    "__kernel void fake_saxpy(const int n, const float a, __global const float *restrict x, __global float *y) {}\n"
#define RIG_N 100

device *fake_open(const char *spec);
device_program *fake_build(device *d, const char *source, const char *kernel);

/* A copy kernel with its buffers: in holds 1..RIG_N, out is a view into a larger buffer filled with 0x77. */
typedef struct rig {
    device *d;
    device_program *p;
    device_buffer *in, *whole, *out;
    device_arg args[3];
    device_launch launch;
} rig;

void rig_open(rig *r, const char *spec, const char *directives); /* directives: what stands above the kernel */
void rig_close(rig *r);
/* Runs, and reads `out` into result[RIG_N]; NULL: not. */
kw_code rig_run(rig *r, float *result, kw_error *err);
uint64_t rig_guards(rig *r);      /* how many bytes of the guards around `out` have changed */
size_t rig_wrong(const float *x); /* how many of the RIG_N values are not a copy */

#endif
