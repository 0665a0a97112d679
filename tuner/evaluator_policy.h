/* How the evaluator shares work between compilers and the device: plain arithmetic, no processes. */
#ifndef KERNWRIGHT_TUNER_EVALUATOR_POLICY_H
#define KERNWRIGHT_TUNER_EVALUATOR_POLICY_H

#include "device/device.h"
#include "tuner/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_TIMING_WORKERS 4

/* What a candidate takes of a compile worker and of the timing worker, recently; 0: not known yet. */
typedef struct evaluator_rates {
    double compile_ms, timing_ms;
} evaluator_rates;

/* Takes what began at `since_ns` and ends now into a mean, the last dozen most. */
void policy_learn(double *mean_ms, int64_t since_ns);

/* Processes that compile. `wanted` < 0: one per physical core, beside a GPU one less (a driver that polls keeps the
 * timing worker's busy), as far as the memory of host and device goes; at least one. */
size_t policy_compile_workers(const device_info *d, const message *hello, int wanted);

typedef struct evaluator_shares {
    size_t n_timing;    /* processes that verify and time; where nobody compiles they do that too */
    size_t n_compilers; /* processes that only compile */
    bool pauses;        /* a CPU device: while one times all others stand still */
} evaluator_shares;

/* Processes that verify and time: two on a GPU, so that it is not idle while one of them only works on the host; one
 * where nothing is compiled ahead, and on a CPU device: there the host is the device. `timing_wanted` > 0: so many, but
 * one on a CPU device without `can_pause` (the others can be stopped), where each would disturb the next.
 * With few compilers beside a CPU device, and nothing wanted, every process compiles, verifies and times its own
 * candidates: that saves building each program a second time, but every process holds inputs and expected values. */
evaluator_shares policy_shares(const device_info *d, const message *hello, int compile_wanted, int timing_wanted,
                               bool can_pause);

/* How many candidates may be compiled, or compiling, before the timing worker takes them. A candidate that is compiled
 * long before is chosen without knowing how those before it came out; with too few the device waits. */
size_t policy_ahead(const evaluator_rates *rates, size_t n_compilers);

/* On a CPU device, where compiling and timing take turns: how many candidates are compiled in one turn. At its
 * end compilers wait for the slowest of them, so that it is longer where compiling is what takes the time. */
size_t policy_batch(const evaluator_rates *rates, size_t n_compilers);

/* How many candidates are in flight: enough for all that may be compiled at once or wait for the timing worker, and for
 * those that are done but whose answer has to wait for an earlier one. Follows from the machine alone, so that a
 * search is the same every time. */
size_t policy_depth(bool is_cpu, size_t n_compilers, size_t n_timing);

/* Samples of a run of a millisecond or more. While the device would only wait for a compiler (`idle`) they cost
 * nothing, and there may be more, within a tenth of a second. `hopeless_ns`: the longest run that is timed to the
 * end. */
int64_t policy_samples(double hopeless_ns, bool idle);

#endif
