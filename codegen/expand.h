/* Template text: directives and ${} -> concrete source. */
#ifndef KERNWRIGHT_CODEGEN_EXPAND_H
#define KERNWRIGHT_CODEGEN_EXPAND_H

#include "base/error.h"
#include "base/mem.h"
#include "base/strb.h"
#include "codegen/expr.h"
#include "codegen/value.h"

#include <stddef.h>

#define EXPAND_MAX_BYTES (16u << 20)
#define EXPAND_MAX_ITERATIONS 1000000

typedef struct body body; /* a parsed text: literal runs, ${}, //@for, //@if, //@let, //@require */

/* Parses `text`; line numbers start at `first_line`. Names added by for and let extend `scope` (which grows).
 * Unclosed or stray directives are errors with file, line, column. The body lives in `a`. */
body *body_parse(arena *a, const char *text, size_t length, const char *file, int first_line, expr_scope *scope,
                 kw_error *err);
/* Runs it. `env` has expr_scope_size(scope) entries and is written at the slots of loop variables. KW_FAILED with the
 * reason when a //@require does not hold; KW_BAD_INPUT for errors and for text or loops beyond the limits. Same input, same bytes. */
kw_code body_expand(const body *b, language lang, value *env, strb *out, kw_error *err);

/* Removes comments and collapses blank runs to one space (newlines of preprocessor lines kept): what hashing sees. */
void source_strip(const char *text, strb *out);

#endif
