/* Reads a model's reply: which template does it contain?
 *
 * Nothing of it is executed here. Anything is survivable: empty, cut off, megabytes, binary. What was mended is said.
 */
#ifndef KERNWRIGHT_LLM_REPLY_H
#define KERNWRIGHT_LLM_REPLY_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum reply_kind {
    REPLY_NONE,      /* no code */
    REPLY_WHOLE,     /* a whole template */
    REPLY_EDITS,     /* search/replace edits of the parent */
    REPLY_UNCHANGED, /* the parent again */
    REPLY_OTHER_TASK /* a template of another task */
} reply_kind;

typedef struct reply_result {
    reply_kind kind;
    char *text; /* the template; NULL unless WHOLE or EDITS. Owned */
    size_t n_edits, n_failed_edits;
    strb repairs; /* what was mended, a line each: "front matter: trailing comma in line 4" */
    strb problem; /* why there is none, for the repair prompt; one line or a few */
} reply_result;

typedef struct reply_context {
    const char *task;   /* name that the front matter must have */
    const char *parent; /* text that edits apply to; NULL: edits are refused */
    bool cut;           /* the reply was cut off: an unclosed last block is not taken */
} reply_context;

/* length bytes, any. Never fails: what cannot be read is REPLY_NONE with a problem. */
void reply_read(const char *text, size_t length, const reply_context *c, reply_result *out);
void reply_result_clear(reply_result *r);
/* A template without comments (but the front matter) and white space: what makes it another one. */
void reply_essence(const char *text, strb *out);

#endif
