#include "tuner/evaluator_policy.h"

#include "base/clock.h"

#include <string.h>

#define MOST_COMPILERS 256
#define GPU_TIMING_WORKERS 2
/* What a process that compiles may need: host memory, and on a GPU a context (in a quarter of its memory). */
#define COMPILER_BYTES ((int64_t)1 << 30)
#define CONTEXT_BYTES ((int64_t)512 << 20)
/* Compiled candidates that wait for the timing worker, and more of those that compile than the rates ask for. */
#define READY 4
#define READY_SHARE 1.5
/* Candidates a compiler and turn; a compilation is slow when it takes so long, and so many times as long as timing. */
#define SHORT_BATCH 2
#define LONG_BATCH 4
#define SLOW_COMPILE_MS 250
#define SLOW_SHARE 2
#define FEW_SAMPLES 5
#define MORE_SAMPLES 25
#define MORE_NS 100e6
#define LATEST 0.15 /* weight of the last one in a mean */

void policy_learn(double *mean_ms, int64_t since_ns)
{
    double ms = (double)(clock_now_ns() - since_ns) / 1e6;
    *mean_ms = *mean_ms > 0 ? (1 - LATEST) * *mean_ms + LATEST * ms : ms;
}

/* bytes 0: nothing is known. */
static int64_t at_most(int64_t n, int64_t bytes, int64_t bytes_each)
{
    int64_t fit = bytes / bytes_each;
    return bytes <= 0 || n <= fit ? n : fit;
}

size_t policy_compile_workers(const device_info *d, const message *hello, int wanted)
{
    if (wanted >= 0)
        return (size_t)(wanted < MOST_COMPILERS ? wanted : MOST_COMPILERS);
    int64_t n = hello->physical_cores;
    if (!d->limits.is_cpu)
        n = at_most(n - 1, d->limits.global_mem_bytes / 4, CONTEXT_BYTES);
    n = at_most(n, hello->available_bytes, COMPILER_BYTES);
    return (size_t)(n < 1 ? 1 : n < MOST_COMPILERS ? n : MOST_COMPILERS);
}

static size_t timing_workers(const device_info *d, size_t n_compilers, int wanted)
{
    if (wanted > 0)
        return wanted < MOST_TIMING_WORKERS ? (size_t)wanted : MOST_TIMING_WORKERS;
    if (n_compilers == 0)
        return 1;
    const bool is_gpu = !d->limits.is_cpu && !d->simulated && strncmp(d->spec, "opencl:", 7) == 0;
    return is_gpu ? GPU_TIMING_WORKERS : 1;
}

evaluator_shares policy_shares(const device_info *d, const message *hello, int compile_wanted, int timing_wanted,
                               bool can_pause)
{
    const bool is_cpu = d->limits.is_cpu != 0;
    evaluator_shares s = {.n_compilers = policy_compile_workers(d, hello, compile_wanted)};
    s.n_timing = is_cpu && !can_pause ? 1 : timing_workers(d, s.n_compilers, timing_wanted);
    s.pauses = is_cpu && can_pause && s.n_timing + s.n_compilers > 1;
    if (!is_cpu && compile_wanted < 0 && s.n_compilers > s.n_timing)
        s.n_compilers -= s.n_timing - 1; /* each of these keeps a core busy */
    if (s.pauses && timing_wanted == 0 && s.n_compilers > 1 && s.n_compilers <= MOST_TIMING_WORKERS) {
        s.n_timing = s.n_compilers;
        s.n_compilers = 0;
    }
    return s;
}

size_t policy_ahead(const evaluator_rates *rates, size_t n_compilers)
{
    size_t most = n_compilers + 2 * READY;
    if (!(rates->compile_ms > 0) || !(rates->timing_ms > 0))
        return most;
    double wanted = READY_SHARE * rates->compile_ms / rates->timing_ms + READY;
    return wanted < (double)most ? (size_t)wanted : most;
}

size_t policy_batch(const evaluator_rates *rates, size_t n_compilers)
{
    bool long_ones = rates->compile_ms > SLOW_COMPILE_MS && rates->compile_ms > SLOW_SHARE * rates->timing_ms;
    return n_compilers * (rates->timing_ms > 0 && long_ones ? LONG_BATCH : SHORT_BATCH);
}

size_t policy_depth(bool is_cpu, size_t n_compilers, size_t n_timing)
{
    if (is_cpu)
        return (n_compilers > 0 ? n_compilers : n_timing > 1 ? n_timing : 0) * LONG_BATCH + 1;
    return n_compilers > 0 ? n_compilers + 2 * READY + n_timing - 1 : 2;
}

int64_t policy_samples(double hopeless_ns, bool idle)
{
    double n = idle && hopeless_ns > 0 ? MORE_NS / hopeless_ns : FEW_SAMPLES;
    return n < FEW_SAMPLES ? FEW_SAMPLES : n > MORE_SAMPLES ? MORE_SAMPLES : (int64_t)n;
}
