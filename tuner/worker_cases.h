/* Inputs and expected outputs of cases, kept between jobs: three hundred candidates of one search pay for a reference
 * once. Least recently used go first when the caps (a quarter of the device's memory, 2 GiB of the host's or more) are
 * reached. */
#ifndef KERNWRIGHT_TUNER_WORKER_CASES_H
#define KERNWRIGHT_TUNER_WORKER_CASES_H

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
    device_buffer *pristine[TASK_MAX_TENSORS]; /* inputs; NULL for pure outputs and empty tensors */
    bool overwritten[TASK_MAX_TENSORS];        /* outputs, and inouts that the reference does not read */
    expected expected[TASK_MAX_TENSORS];
    bool trusted_done;
    uint64_t device_bytes, host_bytes;
} case_data;

typedef struct case_cache case_cache;

/* The device is borrowed and must outlive the cache. */
/* `host_bytes`: how much of the host's memory it may hold, but at least 2 GiB. */
case_cache *case_cache_new(device *d, uint64_t host_bytes);
void case_cache_free(case_cache *c);

/* Called between pieces of long work on the host. */
typedef void (*case_progress)(void *cookie);

/* From the cache, or made: inputs on the device, expected values from `reference` (NULL: none). Valid until two further
 * calls. Errors are no candidate's fault: memory, or a task that contradicts itself. */
kw_code case_cache_get(case_cache *cache, const job *j, const job_case *c, uint64_t seed, kw_reference_fn *reference,
                       case_progress progress, void *cookie, case_data **out, kw_error *err);

/* Counts what a trusted output adds, which the caller hands over in data->expected[]. */
void case_cache_grown(case_cache *cache, case_data *data, uint64_t host_bytes, uint64_t device_bytes);

#endif
