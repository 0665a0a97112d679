/* Children without a language model: small, typed changes of a template's front matter and text. They make the whole
 * loop run offline, and refine what a model wrote at no cost in tokens. */
#ifndef KERNWRIGHT_LLM_OPERATORS_H
#define KERNWRIGHT_LLM_OPERATORS_H

#include "base/strb.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct operator_context {
    const char *parent; /* text of a template */
    const char *other;  /* of another one of the same task, for crossover; NULL */
    uint64_t seed, ordinal;
} operator_context;

/* Appends the child to `out` and what was done to `what` ("WG: 512 added"). Tries the operators in an order drawn from
 * (seed, ordinal) until one changes something; false when none does. */
bool operators_apply(const operator_context *c, strb *out, strb *what);

#endif
