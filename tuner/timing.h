/* How often and by which clock a kernel is timed. docs/measurement.md has the policy and its reasons.
 *
 * Events: from 30 us a run up, one discarded run, then 5-10 in a row. Batches: below, at least 200 us of runs on a
 * queue without profiling, host clock. A kernel that is hopeless runs twice. Pure policy over the device layer: what is
 * run comes from the caller. */
#ifndef KERNWRIGHT_TUNER_TIMING_H
#define KERNWRIGHT_TUNER_TIMING_H

#include "base/error.h"
#include "device/device.h"
#include "tuner/job.h"

#include <stdbool.h>
#include <stddef.h>

#define TIMING_MAX_SETS 64
#define TIMING_MIN_SAMPLES 5
/* Events hold some microseconds of launch overhead: a shape whose best candidate is below this is timed in batches. */
#define TIMING_BATCH_BELOW_NS 60000

typedef struct timing_rig {
    device *device;
    device_program *program;
    const device_launch *sets[TIMING_MAX_SETS];      /* the launches of each buffer set; runs rotate over them */
    size_t n_sets;                                   /* at least 1 */
    const device_launch *probe;                      /* the set that only the very last run of a row touches */
    size_t n_launches;                               /* of one run, at least 1 */
    double expected_ns;                              /* of a run, by the host, if it has run before; 0: it has not */
    kw_code (*restore)(void *cookie, kw_error *err); /* before every row: all sets as before their first run */
    void *cookie;
    double *device_ns; /* grows by the host's time of all rows, without restoring; may be NULL */
} timing_rig;

typedef struct timing_result {
    double *samples; /* ns a run, in order; caller frees */
    size_t n, n_dropped;
    timing_method method;
    bool stopped_early;
    double saved_ns; /* what the rest would have taken */
    size_t row_runs; /* runs of the last row before the probe's: run i used set i % n_sets */
} timing_result;

/* After KW_OK the probe set has been run exactly once since it was restored. KW_FAILED when the device's timer gave no
 * positive reading; otherwise errors are the device's. */
kw_code timing_measure(const timing_rig *rig, const job_timing *policy, timing_result *out, kw_error *err);

#endif
