/* What one configuration did in a trial, and what a trial's configurations say together. */
#ifndef KERNWRIGHT_LLM_TRIAL_POINT_H
#define KERNWRIGHT_LLM_TRIAL_POINT_H

#include "codegen/template.h"
#include "device/artefact.h"
#include "llm/trial.h"
#include "tuner/store.h"

#include <stddef.h>

typedef struct trial_point {
    char source_hash[HASH_HEX_SIZE];
    char *config;                   /* JSON */
    double *ns, *noise;             /* per shape; NaN: not measured or failed */
    artefact made;                  /* what the compiler made of it; not always known */
    int64_t registers, spill_bytes; /* -1: not known */
} trial_point;

/* Takes what the compiler said from a measurement, live or from the store. */
void trial_point_note(trial_point *x, const measurement *m);
/* Both for the prompt; the caller frees; NULL when there is nothing to say. */
char *trial_what_mattered(const template *p, const trial_point *points, size_t n, const trial_result *r);
/* Registers, spills and instructions of the best on the first shape. */
char *trial_what_was_made(const trial_point *points, size_t n);

#endif
