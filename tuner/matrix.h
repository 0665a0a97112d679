/* A recorded matrix: one list of configurations, measured on every shape that each of them takes. What is tuned over
 * many shapes at once, or chosen for many, is judged by replay on such a recording.
 *
 * A configuration is compiled once and verified once on edge and random shapes; on each shape it is then checked
 * against the expected output and timed. Everything goes to the store, and what is there is not measured again: the
 * same command goes on where one before it stopped.
 */
#ifndef KERNWRIGHT_TUNER_MATRIX_H
#define KERNWRIGHT_TUNER_MATRIX_H

#include "tuner/tune.h"

typedef struct matrix_options {
    tune_options tune; /* types, one template, fallback, strategy (of the found half), seed, cold, probe, callbacks */
    const task_shape *shapes;
    size_t n_shapes;
    size_t n_configs; /* wanted, those in the store included */
    double seconds;   /* of this run; what is in flight then is dropped. 0: until all is measured */
} matrix_options;

typedef struct matrix_result {
    size_t configs, failed_configs;   /* known so far; of these, not right or not to be built */
    uint64_t ok, failed, unfit, open; /* cells: timed; failed; shapes that a configuration does not take; to be done */
    uint64_t measured, stopped_early; /* cells of this run */
    double seconds;                   /* of this run */
    bool complete;                    /* n_configs (or all there are), and nothing is open */
} matrix_result;

/* Which configurations: the template's default; then half of n_configs drawn uniformly, from the space of one shape
 * after the other; the rest proposed by the strategy, for one shape after the other, by all that was measured there.
 * Sizes are never constants in the text, so that every configuration serves every shape that its requires allow.
 *
 * KW_OK also when the time is up (then complete is false); KW_INTERRUPTED; KW_FAILED when nothing can be measured. */
kw_code matrix_record(evaluator *e, store *s, const task *t, const matrix_options *o, matrix_result *out,
                      kw_error *err);

#endif
