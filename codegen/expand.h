/* Template text: directives and ${} -> concrete source. */
#ifndef KERNWRIGHT_CODEGEN_EXPAND_H
#define KERNWRIGHT_CODEGEN_EXPAND_H

#include "base/error.h"
#include "base/mem.h"
#include "base/strb.h"
#include "codegen/expr.h"
#include "codegen/value.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPAND_MAX_BYTES (16u << 20)
#define EXPAND_MAX_ITERATIONS 1000000
#define EXPAND_MAX_DEPTH 64 /* of nested directives */

typedef struct body body; /* a parsed text: literal runs, ${}, //@for, //@if, //@let, //@require */

/* Which names have a value when text is expanded: one entry for each of the first n slots of the scope; later slots are
 * names of for and let. An expression that uses a name without one is an error, since no expansion could succeed. */
typedef struct body_names {
    const bool *known;
    int n;
} body_names;

/* Parses `text`; line numbers start at `first_line`. Names added by for and let extend `scope` (which grows).
 * Unclosed or stray directives are errors with file, line, column. The body lives in `a`, the text too if it must
 * (it is copied). */
body *body_parse(arena *a, const char *text, size_t length, const char *file, int first_line, expr_scope *scope,
                 body_names names, kw_error *err);
/* One piece of text in which only ${} means something (options, values of defines). */
body *body_parse_inline(arena *a, const char *text, expr_where where, const expr_scope *scope, body_names names,
                        kw_error *err);
/* A text that is kept as it is, ${ included. */
body *body_literal(arena *a, const char *text, size_t length);

/* Runs it, appending to `out`. `env` has expr_scope_size(scope) entries and is written at the slots of loop variables.
 * KW_FAILED with the reason when a //@require does not hold; KW_BAD_INPUT for errors and for text or loops beyond the
 * limits (`out` then holds what was made so far). Same input, same bytes. */
kw_code body_expand(const body *b, language lang, value *env, strb *out, kw_error *err);

/* Removes comments and collapses blank runs to one space (newlines of preprocessor lines kept): what hashing sees. */
void source_strip(const char *text, strb *out);

#endif
