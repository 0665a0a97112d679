/* The host's half of a case: inputs as the device will hold them, and what the outputs should hold. It is arithmetic on
 * memory of its own that knows no device: two cases can be made at once by two threads, but for a task whose reference
 * is not ours (worker_ahead.h). */
#ifndef KERNWRIGHT_TUNER_WORKER_VALUES_H
#define KERNWRIGHT_TUNER_WORKER_VALUES_H

#include "base/hash.h"
#include "device/device.h"
#include "tasks/kw_reference.h"
#include "tuner/job.h"
#include "tuner/layout.h"
#include "tuner/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLED_ELEMENTS 4096

/* What one output should hold. */
typedef struct expected {
    bool known; /* there is a reference and the tensor is not empty */
    verify_rule rule;
    uint64_t *logical; /* the elements that the reference gave; NULL: all */
    size_t n;
    double *value, *scale;
    double max_scale;
    void *trusted;         /* memory of the tensor as a trusted kernel left it; NULL: none */
    device_buffer *hidden; /* the same on a device that can compare, of no use to a kernel (device_hide); or NULL */
} expected;

typedef struct case_data {
    struct case_data *next;
    char key[HASH_HEX_SIZE];
    uint64_t last_used;
    size_t n_tensors;
    tensor_layout layout[TASK_MAX_TENSORS];
    void *native[TASK_MAX_TENSORS];            /* inputs on their way to the device; NULL once they are there */
    double *values[TASK_MAX_TENSORS];          /* the same as doubles; NULL once the reference was asked */
    device_buffer *pristine[TASK_MAX_TENSORS]; /* inputs; NULL for pure outputs and empty tensors */
    bool overwritten[TASK_MAX_TENSORS];        /* outputs, and inouts that the reference does not read */
    expected expected[TASK_MAX_TENSORS];
    bool reference_asked, trusted_done;
    uint64_t device_bytes, host_bytes; /* inputs on their way are not counted */
} case_data;

/* Called between pieces of long work on the host. */
typedef void (*case_progress)(void *cookie);

/* What a case is made from. */
typedef struct case_request {
    const job *job;
    const job_case *c;
    uint64_t seed;
    kw_reference_fn *reference; /* NULL: none */
    case_progress progress;
    void *cookie;
} case_request;

/* All that a case's data depend on. */
void case_key(const case_request *q, char out[HASH_HEX_SIZE]);
/* Bytes of host memory that its inputs take while it is made; UINT64_MAX where that overflows. */
uint64_t case_inputs_bytes(const case_request *q);

/* Without inputs and expected values: layouts only. Errors: a task that contradicts itself. The caller frees *out with
 * case_data_free, in either case. */
kw_code case_data_new(const case_request *q, case_data **out, kw_error *err);
/* The host's memory and `data` itself; buffers on a device are the caller's. NULL is fine. */
void case_data_free(case_data *data);

/* Has the tensor contents before a run? */
bool case_is_input(const case_request *q, const case_data *data, size_t tensor);
/* Fills native[tensor] and values[tensor]. KW_ENVIRONMENT without memory. */
kw_code case_draw(const case_request *q, case_data *data, size_t tensor, kw_error *err);
/* Asks the reference, when all inputs are drawn, and frees them as doubles. KW_ENVIRONMENT without memory. */
kw_code case_expect(const case_request *q, case_data *data, kw_error *err);

#endif
