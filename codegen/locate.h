/* Where in the text of a JSON document a value stands, so that messages about tasks and templates name file, line and
 * column. A value is named by its path: "launches[1].args[2]"; "" is the whole document. */
#ifndef KERNWRIGHT_CODEGEN_LOCATE_H
#define KERNWRIGHT_CODEGEN_LOCATE_H

#include "base/error.h"
#include "base/json.h"
#include "codegen/expr.h"

#include <stdbool.h>
#include <stddef.h>

/* A longer path is cut, which only makes a position less exact. */
typedef struct locate_path {
    char text[192];
} locate_path;

locate_path locate_join(const char *format, ...) KW_PRINTF(1, 2);

typedef struct locate {
    const char *file; /* for messages; not NULL */
    const char *text; /* the JSON text, known to be valid; NULL when only the tree is at hand */
    size_t length;
    int line, column; /* 1-based position of text[0] in the file */
} locate;

/* Position of the value; of the deepest enclosing one that exists if the path does not; line 0 without text. */
expr_where locate_value(const locate *l, const char *path);
/* Position of the first character inside the string at `path` (for expressions). */
expr_where locate_string_text(const locate *l, const char *path);

/* Sets "FILE:LINE:COLUMN: PATH: message" (KW_BAD_INPUT), leaving out what is not known, and returns the code. */
kw_code locate_error(const locate *l, const char *path, kw_error *err, const char *format, ...) KW_PRINTF(4, 5);

/* Refuses an object's keys that are not in the NULL-terminated list and suggests the nearest known one. */
kw_code locate_check_keys(const locate *l, const char *path, const json *object, const char *const *known,
                          kw_error *err);

/* Member `key` of the object at `path`; absent gives `fallback`, another kind is an error. */
kw_code locate_opt_string(const locate *l, const char *path, const json *object, const char *key, const char *fallback,
                          const char **out, kw_error *err);
kw_code locate_opt_bool(const locate *l, const char *path, const json *object, const char *key, bool fallback,
                        bool *out, kw_error *err);
kw_code locate_opt_int(const locate *l, const char *path, const json *object, const char *key, int64_t fallback,
                       int64_t *out, kw_error *err);
kw_code locate_opt_real(const locate *l, const char *path, const json *object, const char *key, double fallback,
                        double *out, kw_error *err);
/* A required string that is not empty. */
kw_code locate_get_string(const locate *l, const char *path, const json *object, const char *key, const char **out,
                          kw_error *err);
/* A member that must be an array if present; *out is NULL when absent. */
kw_code locate_opt_array(const locate *l, const char *path, const json *object, const char *key, const json **out,
                         kw_error *err);

kw_code locate_need_object(const locate *l, const char *path, const json *j, kw_error *err);
/* A string member that must be one of `choices`; absent means the first. *out is its index. */
kw_code locate_choice(const locate *l, const char *path, const json *object, const char *key,
                      const char *const *choices, size_t n, int *out, kw_error *err);

/* Which names an expression may use: bits of expr_role. */
#define EXPR_BIT_PARAM (1u << EXPR_PARAM)
#define EXPR_BIT_TYPE (1u << EXPR_TYPE)
#define EXPR_BIT_DEVICE (1u << EXPR_DEVICE)
#define EXPR_BIT_DIM (1u << EXPR_DIM)
#define EXPR_BIT_SCALAR (1u << EXPR_SCALAR)

/* An expression given as text, or as a number or boolean. `j` is the value at `path`. */
kw_code locate_expr(const locate *l, const char *path, const json *j, arena *a, const expr_scope *scope, unsigned roles,
                    const expr **out, kw_error *err);

/* Is `name` usable as a name in expressions and kernel text: letters, digits, _, not starting with a digit, and no
 * word of the expression language? */
bool locate_is_name(const char *name);
bool locate_is_c_name(const char *name); /* any C identifier */

#endif
