/* How many tokens a text has, before anybody has counted: from its bytes, by a ratio that is learnt from what a model
 * reports. Every figure from here is an estimate and is marked as one. */
#ifndef KERNWRIGHT_LLM_TOKENS_H
#define KERNWRIGHT_LLM_TOKENS_H

#include <stddef.h>
#include <stdint.h>

/* Of a text nobody has counted anything of; on the safe side for code. */
#define TOKENS_BYTES_EACH 3.0

typedef struct token_ratio {
    double bytes, tokens; /* counted so far; zeros at first */
} token_ratio;

/* `tokens` was reported for a prompt of `bytes`. */
void tokens_learn(token_ratio *r, size_t bytes, int64_t tokens);
/* Bytes a token: what was learnt, and at first mostly TOKENS_BYTES_EACH. */
double tokens_bytes_each(const token_ratio *r);
/* With a margin of a tenth. */
int64_t tokens_estimate(const token_ratio *r, size_t bytes);

#endif
