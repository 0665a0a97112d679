/* Evolution for a task on a device: everything that evolve_run needs, opened in the right order. */
#ifndef KERNWRIGHT_LLM_EVOLVE_TASK_H
#define KERNWRIGHT_LLM_EVOLVE_TASK_H

#include "llm/evolve.h"
#include "tuner/evaluator.h"
#include "tuner/store.h"

typedef struct evolve_task_options {
    const task *task; /* borrowed, as everything here */
    task_types types;
    const task_shape *shapes;
    size_t n_shapes;
    bool usual_shapes;            /* nobody chose them: a CPU takes the task's cpu_shapes instead */
    const template *const *seeds; /* templates to begin with; the fallback comes first by itself */
    size_t n_seeds;
    const template *fallback;
    const char *llm;    /* specification of the session: docs/evolution.md */
    const char *record; /* folder for exchanges and journal; NULL: the provider's own, or none */
    bool recorded;      /* --measurements recorded: no device, no model */
    provider_options provider;
    int64_t max_tokens_total, max_prompt_tokens, max_reply_tokens;
    double max_cost;
    uint64_t budget;         /* 0: 24; replay: as many as were recorded */
    size_t in_flight;        /* 0: 4 */
    bool leave_when_waiting; /* only with folder: alone */
    uint64_t rungs[3];       /* configurations a shape; 0: the trials' own */
    int64_t repairs;         /* -1: 1 */
    bool archive, gradient, targets, meta;
    bool independent; /* --independent: nothing is learnt; see evolve_options */
    double operators, stop_fitness;
    uint64_t seed;
    bool cold, probe;
    evaluator_options evaluator;
    const char *store;
    void (*on_progress)(const evolve_progress *p, void *cookie);
    void *cookie;
} evolve_task_options;

/* Errors as of evolve_run, and those of opening: device, store, provider, folder, journal. */
kw_code evolve_task(const evolve_task_options *o, evolve_result *out, kw_error *err);

#endif
