/* The roofline probe: what a device reaches at best, measured by kernels of ours. docs/measurement.md says what the
 * figures are used for.
 *
 * Every figure is the best of several runs of several kernels, since it stands for a limit. 0 means not known: the
 * device has no such type, or the kernel did not build, fit or run; the notes say which.
 */
#ifndef KERNWRIGHT_DEVICE_PROBE_H
#define KERNWRIGHT_DEVICE_PROBE_H

#include "base/error.h"
#include "base/strb.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rises when figures of older versions cannot stand beside those of this one. */
#define PROBE_VERSION 2

/* The two kernels that are timed against themselves, and how long a run of them takes. */
typedef enum probe_ruler { PROBE_COMPUTE, PROBE_MEMORY, PROBE_RULERS } probe_ruler;
enum { PROBE_LENGTHS = 3 };
extern const double probe_length_ns[PROBE_LENGTHS]; /* 30 us, 300 us, 3 ms; rising */

/* The same kernel timed as two candidates in turn, many times over. */
typedef struct probe_noise {
    double median_ns; /* of a run; 0: not measured */
    double noise;     /* 95% quantile of |A - B| / mean, A and B being medians */
    double bias;      /* median of (A - B) / mean: what the order alone does */
    bool batch;       /* timed in batches by the host's clock, else by events */
} probe_noise;

typedef struct probe_figures {
    /* bytes a second over buffers far larger than the last-level cache; a copy counts what it reads and writes */
    double copy, read, write;
    double cache_copy, cache_read;    /* the same within a cache */
    double local_read;                /* of local memory, by all compute units together */
    double fma_f32, fma_f64, fma_f16; /* operations a second, a multiply-add being two */
    /* an empty kernel at best: by its event; one of many in a row, and one that is waited for, by the host's clock */
    double launch_event_ns, launch_batch_ns, launch_single_ns;
    double event_step_ns; /* smallest difference seen between two readings of the device's timer */
    probe_noise noise[PROBE_RULERS][PROBE_LENGTHS];
    double seconds; /* the whole took */
} probe_figures;

typedef struct device_probe device_probe;

/* Builds the kernels. `alive` (may be NULL) is called at least once a second or so of work: no run of a kernel and no
 * build lies between two calls more than once. Borrows the device. KW_OK unless the device is lost. */
kw_code probe_open(device *d, void (*alive)(void *cookie), void *cookie, device_probe **out, kw_error *err);
void probe_close(device_probe *p); /* NULL is fine */
/* All figures but noise and seconds. */
kw_code probe_measure(device_probe *p, probe_figures *out, kw_error *err);
/* Launches of a kernel that together take about `ns`; *launches stays valid until the next call. KW_FAILED where there
 * is none, without a note. */
kw_code probe_ruler_of(device_probe *p, probe_ruler kind, double ns, device_program **program,
                       const device_launch **launches, size_t *n_launches, kw_error *err);
const char *probe_notes(const device_probe *p); /* lines of what could not be measured and why; "" if nothing */

#endif
