/* Trials on a device: the tuner's best within a small budget that grows with what a candidate promises.
 *
 * Rungs as in successive halving (Jamieson and Talwalkar 2016): few configurations of every shape, then more for a
 * candidate that comes near the best of its run. The store keeps every measurement, so a rung goes on where the last
 * one stopped, and a run that is resumed measures nothing twice.
 */
#ifndef KERNWRIGHT_LLM_TRIAL_LIVE_H
#define KERNWRIGHT_LLM_TRIAL_LIVE_H

#include "llm/trial.h"
#include "tuner/evaluator.h"
#include "tuner/store.h"
#include "tuner/tune.h"

enum { TRIAL_RUNGS = 3 };
extern const uint64_t trial_usual_rungs[TRIAL_RUNGS];

typedef struct trial_live_options {
    evaluator *e; /* borrowed, as everything here */
    store *s;
    const task *t;
    task_types types;
    const task_shape *shapes;
    size_t n_shapes;
    const template *fallback;   /* of the task: trusted, and what is compared with */
    const probe_figures *probe; /* NULL: not known */
    bool cold;
    uint64_t seed;
    uint64_t rungs[TRIAL_RUNGS]; /* configurations per shape; 0: the usual */
} trial_live_options;

extern const trial_ops trial_live_ops;
/* Free with trial_live_ops.close. */
void *trial_live_new(const trial_live_options *o);

#endif
