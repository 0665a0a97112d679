/* The search over many shapes at once (tuner/many.h says how it chooses). */
#ifndef KERNWRIGHT_TUNER_TUNE_MANY_H
#define KERNWRIGHT_TUNER_TUNE_MANY_H

#include "tuner/tune.h"

typedef struct tune_many_result {
    uint64_t measured, reused, failed, configs; /* configs: different texts, sizes as arguments */
    double model_seconds;                       /* of that, in the choice of what to measure */
} tune_many_result;

/* Measures up to total->configurations pairs of shape and configuration (those in the store included), for up to
 * total->seconds (of this run), and keeps them in the store. tune_shape with a budget of one configuration then names
 * each shape's winner from there. o->budget is not used.
 *
 * Where a proposal comes from: each shape first gets its templates' defaults and a few of its own strategy's; then
 * three of four pairs come from the model, the others from a strategy that hears what is known of the shape that
 * promises most, and as hints of others. Sizes stay arguments, so that a text is built once; at the end each shape's
 * best is tried with sizes as constants, for which one evaluation of each shape is kept back. Shapes count by their
 * weight and time where the weights differ, else all alike.
 *
 * KW_INTERRUPTED with everything measured stored; KW_FAILED when no shape has a valid configuration. */
kw_code tune_many(evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shapes,
                  size_t n_shapes, const tune_budget *total, tune_many_result *out, kw_error *err);

#endif
