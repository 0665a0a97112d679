/* Trying a candidate: from a template's text to a fitness and offers for the archive. Behind one table, so that the
 * loop runs alike on a device, on recorded outcomes and on simulated landscapes. */
#ifndef KERNWRIGHT_LLM_TRIAL_H
#define KERNWRIGHT_LLM_TRIAL_H

#include "base/error.h"
#include "base/hash.h"
#include "codegen/task.h"
#include "llm/archive.h"
#include "tuner/outcome.h"

#include <stddef.h>

typedef struct trial_shape {
    double best_ns, lo_ns, hi_ns; /* NaN: nothing valid */
    double base_ns, limit_ns;     /* NaN: not known */
    char *config;                 /* of best_ns, "WG=64 VEC=4"; NULL: not known. Owned by the result it stands in */
} trial_shape;

typedef struct trial_result {
    double fitness;  /* docs/evolution.md */
    bool read;       /* the text is a template of the task */
    outcome outcome; /* OUTCOME ok, or what befell its best configuration otherwise */
    stage stage;
    char *detail;     /* compile log with numbered lines, first wrong element, message of the reader. Owned; NULL */
    char *importance; /* which parameters mattered, a line each. Owned; NULL */
    char *artefact;   /* registers, spills and instructions of the best configuration. Owned; NULL: not known */
    char template_hash[HASH_HEX_SIZE];
    trial_shape *shapes; /* owned */
    size_t n_shapes;
    offer *offers; /* owned, strings too */
    size_t n_offers;
    size_t measured; /* configurations */
} trial_result;
void trial_result_clear(trial_result *r);

typedef struct trial_ops {
    /* `pump` (may be NULL) is called ten times a second while the device works, so that requests in flight progress.
     * KW_OK whatever becomes of the candidate; anything else ends the run (interrupted, no device). */
    kw_code (*run)(void *state, const char *text, const char *key, void (*pump)(void *), void *cookie,
                   trial_result *out, kw_error *err);
    /* Times the elite and the challenger interleaved; fitness of both in *a and *b. */
    kw_code (*retime)(void *state, const offer *x, const offer *y, double *a, double *b, kw_error *err);
    /* A trial that is taken from a journal: what was tried before this process. NULL: makes no difference. */
    void (*note)(void *state, const char *text, const trial_result *r);
    void (*close)(void *state);
} trial_ops;

/* Fitness of a right template from its times; NaN entries of limit_ns are fine. */
double trial_fitness(const trial_shape *shapes, size_t n);

#endif
