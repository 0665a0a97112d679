/* A model of times: what a variant takes on a shape where nobody timed it, from what is known of both without running
 * anything: the plan of its launches, and the task's formulas of work and bytes.
 *
 *   t(shape) = sum of c_i b_i(shape), every c_i >= 0
 *
 * With G groups, U compute units, and w the work of one group, padding included:
 *   1, w                                     a launch; the longest group
 *   ceil(G / (U o)) w   for o = 1, 2, 4, 8   rounds of groups, o of them on a unit at once
 *   ceil(G / (U o))     for o = 1, 4         what each round costs whatever it does
 *   bytes, bytes of temporaries, G w / U     memory; throughput
 * Padding: the dims are rounded up to the steps at which G changes, which the plan itself tells (a variant whose number
 * of groups is ceil(M / 64) works in steps of 64), so nothing here knows a template.
 *
 * Each variant has coefficients of its own, fitted to its logarithms of time by iterated weighted non-negative least
 * squares (weights of Huber for the outliers). Beside its times stands the mean share that each term has in the times
 * of all variants: a share has no scale, so a variant with small groups does not pull one with large ones off. Only the
 * ratios between variants on one shape are used.
 */
#ifndef KERNWRIGHT_TUNER_COSTMODEL_H
#define KERNWRIGHT_TUNER_COSTMODEL_H

#include "codegen/variant.h"
#include "tuner/costs.h"
#include "tuner/portfolio.h"

#define COSTMODEL_TERMS 11
/* Made-up shapes that a tree is fitted to beside the measured ones. */
#define COSTMODEL_SHAPES 512
/* Their dims go beyond the measured ones by this factor, down and up. */
#define COSTMODEL_REACH 2

/* What a plan says: groups of the first launch, which has the bulk of the work, and bytes of all temporaries. */
typedef struct costmodel_plan {
    double groups, temp_bytes;
} costmodel_plan;

/* Where plans come from. `variant` is a column of the table. */
typedef struct costmodel_source {
    void *cookie;
    /* false: no plan can be made of it. `requires` are not asked. */
    bool (*plan)(void *cookie, size_t v, const task_shape *s, costmodel_plan *out);
    bool (*runs)(void *cookie, size_t v, const task_shape *s); /* its `requires` allow the shape */
    task_types types;
    double units; /* compute units of the device; below 1 counts as 1 */
} costmodel_source;

typedef struct costmodel costmodel;

/* From the plan of a variant; false if none can be made. */
bool costmodel_plan_variant(const variant *v, const task_shape *s, costmodel_plan *out);
/* The last part of a device key, vendor/arch/name/units; 1 if that is no number. */
double costmodel_units(const char *device_key);

/* Asks for all plans that it needs of the measured shapes and finds the mean shares. `m` and the cookie are
 * borrowed. NULL if less than a quarter of the columns have plans, no shape was timed, or the table has more than
 * COSTMODEL_MOST places: there is no model then. */
#define COSTMODEL_MOST 1000000
costmodel *costmodel_new(const cost_table *m, const costmodel_source *source);
void costmodel_free(costmodel *c); /* NULL is fine */

/* Fits a variant to those shapes of `used` (NULL: all) on which it was timed. */
void costmodel_fit(const costmodel *c, size_t v, const bool *used, double coefficients[COSTMODEL_TERMS]);
/* What that variant takes, ns; NaN without a plan. */
double costmodel_ns(const costmodel *c, size_t v, const double coefficients[COSTMODEL_TERMS], const task_shape *s);

/* The measured table with COSTMODEL_SHAPES rows more (fewer if the task refuses some): shapes drawn log-uniformly from
 * between the least and the largest of each key dim and COSTMODEL_REACH beyond, each as well aligned as some measured
 * one. Together they weigh as much as the measured. Their times are those of costmodel_fill. Owned by the model. */
const cost_table *costmodel_dense(costmodel *c);
/* Fits the members of `p` to the measured shapes of `used` (NULL: all) and fills their times on the others. Columns of
 * other variants stay as they are. */
void costmodel_fill(costmodel *c, const portfolio *p, const bool *used);

#endif
