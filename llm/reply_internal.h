/* The parts of the reply reader. */
#ifndef KERNWRIGHT_LLM_REPLY_INTERNAL_H
#define KERNWRIGHT_LLM_REPLY_INTERNAL_H

#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

/* What a reply says, without the model's thinking: text between <think> and </think>, everything before a lone
 * </think> (the chat template had opened it), everything behind a <think> that is never closed. Appends to `out`. */
void reply_without_thinking(const char *text, size_t length, strb *out);

typedef struct code_block {
    char *info; /* what stands behind the fence: "c", "opencl", "json"; "" */
    char *text;
    bool closed; /* false: the reply ended inside it */
} code_block;

typedef struct code_blocks {
    code_block *items;
    size_t n, capacity;
} code_blocks;

/* Fenced code blocks, by CommonMark's rules. */
void code_blocks_find(const char *text, size_t length, code_blocks *out);
void code_blocks_clear(code_blocks *b);

/* Makes the JSON at the beginning of `text` (which begins with '{') strict: comments and trailing commas go, keys and
 * words get their quotes, Python's True, False and None and its quotes become JSON's. Appends the mended object to
 * `out` and a line for each kind of repair to `repairs`; *used gets the bytes read. false when its brackets do not
 * match. */
bool front_matter_mend(const char *text, size_t length, size_t *used, strb *out, strb *repairs);

/* Applies all search/replace blocks in `reply` to `parent`: exactly, else with blanks at both ends of lines ignored,
 * where that is one place only. Appends the result to `out`; a line for each that was not applied to `problem`.
 * Returns how many blocks there are. */
size_t edits_apply(const char *reply, const char *parent, strb *out, size_t *n_failed, strb *problem);

#endif
