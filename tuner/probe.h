/* What the figures of the roofline probe are used for: kept in the store for each device and driver, compared with what
 * candidates need. docs/measurement.md has the rules and the margins. */
#ifndef KERNWRIGHT_TUNER_PROBE_H
#define KERNWRIGHT_TUNER_PROBE_H

#include "codegen/task.h"
#include "device/probe.h"
#include "tuner/evaluator.h"
#include "tuner/store.h"

/* ---- figures as JSON: in the protocol, in the store, for --json ---- */

json *probe_figures_to_json(const probe_figures *f);
/* Absent members are 0: not known. */
kw_code probe_figures_from_json(const json *j, const char *where, probe_figures *out, kw_error *err);

/* ---- in the store ---- */

typedef struct probe_fact {
    probe_figures figures;
    char date[21], host[128];
    char notes[1024]; /* what could not be measured and why; lines; not kept in the store */
    bool fresh;       /* measured now, not taken from the store */
} probe_fact;

/* Takes what the store has of the evaluator's device and driver, unless `again`; else measures, while nothing
 * else is in the evaluator, and stores it; rows that were implausible by older figures are forgotten. `s` may be
 * NULL. KW_FAILED when the device gives no figures, or is a simulator. */
kw_code probe_obtain(evaluator *e, store *s, bool again, probe_fact *out, kw_error *err);
/* *found is false when the store has none of this version. */
kw_code probe_find(store *s, const device_info *d, probe_fact *out, bool *found, kw_error *err);

/* ---- limits ---- */

/* What is to be computed, and where. */
typedef struct probe_case {
    const probe_figures *figures;
    const device_limits *limits;
    const task *t;
    const task_types *types;
    const task_shape *shape;
    bool cold;
} probe_case;

typedef struct probe_limit {
    double ns;      /* NaN when nothing can be said */
    const char *by; /* what it comes from: "fma", "memory", "cache", "launch", of a floor "matrix" as well; NULL when
                       nothing can be said */
} probe_limit;

/* The time of a run that reaches the device's limit; `method` as in a record. Percent of the limit: 100 ns / time. */
probe_limit probe_limit_of(const probe_case *c, const char *method);
/* The time that no run can be below, margins included. `source` of the candidate: kernels that may use matrix units are
 * held to a multiple of the rate of multiply-adds that no such unit surpasses. NaN as well when the machine was too
 * busy for the figures to be limits. */
probe_limit probe_floor_of(const probe_case *c, const char *source);
/* The figures were made while the machine was so busy that they are no limits. */
bool probe_was_busy(const probe_figures *f);
/* How far apart two medians of the same kernel are found when a run takes `ns`: 95% of the pairs are closer. NaN if not
 * known. */
double probe_noise_of(const probe_figures *f, double ns);

#endif
