/* Which parameters mattered in a trial, for the prompt. */
#ifndef KERNWRIGHT_LLM_TRIAL_IMPORTANCE_H
#define KERNWRIGHT_LLM_TRIAL_IMPORTANCE_H

#include "codegen/template.h"

#include <stddef.h>

typedef struct trial_row {
    const char *config; /* JSON */
    double relative;    /* time over the best time of the trial, mean over shapes; NaN: failed */
} trial_row;

/* A line for each parameter whose values differ by more than 3%: "- WG: 128: 1.00, 64: 1.09". The caller frees; NULL
 * when there is nothing to say. */
char *trial_importance(const template *p, const trial_row *rows, size_t n);

#endif
