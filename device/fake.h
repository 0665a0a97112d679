/* The scripted device, internal. docs/devices.md describes its directives. */
#ifndef KERNWRIGHT_DEVICE_FAKE_H
#define KERNWRIGHT_DEVICE_FAKE_H

#include "device/device.h"

#define FAKE_MAX_PARAMS 32

typedef enum fake_build { FAKE_BUILD_OK, FAKE_BUILD_ERROR, FAKE_BUILD_HANG, FAKE_BUILD_CRASH, FAKE_BUILD_EAT } fake_build;
typedef enum fake_run {
    FAKE_RUN_OK,
    FAKE_RUN_CRASH,
    FAKE_RUN_HANG,
    FAKE_RUN_LOST,
    FAKE_RUN_LAUNCH_ERROR,
    FAKE_RUN_DOES_NOT_FIT,
    FAKE_RUN_NO_MEMORY
} fake_run;
typedef enum fake_result {
    FAKE_RESULT_RIGHT,
    FAKE_RESULT_WRONG,
    FAKE_RESULT_NAN,
    FAKE_RESULT_CONSTANT,
    FAKE_RESULT_OOB,
    FAKE_RESULT_OOB_BEFORE
} fake_result;

/* What the directives of a source say. */
typedef struct fake_script {
    int64_t build, run, result;                                          /* fake_build, fake_run, fake_result */
    int64_t modify_input, nondeterministic, only_first, backwards_timer; /* 0 or 1 */
    int64_t slow_ms, log_mb;                                             /* of the build */
    int64_t after;                                          /* `run` holds from this run on, counted from 0 */
    int64_t host_sleep_us;                                  /* really slept in every run */
    int64_t registers, spill_bytes, local_bytes, max_group; /* for device_build_info; -1: not known */
    double time_ns, noise;                                  /* noise in percent */
    double ns_per_step;                                     /* for each work-item and step: see docs/devices.md */
} fake_script;

typedef struct fake_kernel {
    char name[64];
    device_param params[FAKE_MAX_PARAMS];
    size_t n_params;
} fake_kernel;

typedef struct fake_program {
    fake_script script;
    fake_kernel *kernels;
    size_t n_kernels;
    uint64_t hash;   /* of the source: seeds the noise */
    uint64_t n_runs; /* so far */
} fake_program;

/* Reads directives and kernel definitions. NULL and a message that names the directive when one is not known. */
fake_program *fake_program_parse(const char *source, kw_error *err);
void fake_program_free(fake_program *p);
const fake_kernel *fake_program_find(const fake_program *p, const char *name);

/* A buffer's memory. Outside of [0, bytes) there are FAKE_PADDING bytes on both sides of every allocation. */
#define FAKE_PADDING 128
static inline unsigned char *fake_memory(const device_buffer *b)
{
    return b->handle;
}

/* Runs one launch: the C function that the kernel's name stands for, with what the script does to its result. */
kw_code fake_launch(device *d, const fake_program *p, const device_launch *l, kw_error *err);

#endif
