/* Reference functions of tasks: built in, or compiled from a user's reference.c and loaded into this process. Only
 * workers call this: a user's reference is native code that may do anything. */
#ifndef KERNWRIGHT_TUNER_REFERENCE_H
#define KERNWRIGHT_TUNER_REFERENCE_H

#include "base/error.h"
#include "codegen/task.h"
#include "tasks/kw_reference.h"

typedef struct reference_cache reference_cache; /* what was loaded by this process */

reference_cache *reference_cache_new(void);
void reference_cache_free(reference_cache *c);

/* *out is NULL, with KW_OK, for a task that names no reference. A source is compiled with $CC (default cc) -shared once
 * per content, compiler and flags into the cache folder: $KERNWRIGHT_CACHE, else $XDG_CACHE_HOME/kernwright, else
 * ~/.cache/kernwright. KW_BAD_INPUT with the compiler's first error when it does not compile or lacks the function;
 * KW_ENVIRONMENT when there is no compiler or the folder cannot be written. */
kw_code reference_get(reference_cache *c, const task *t, kw_reference_fn **out, kw_error *err);

/* Compiles a user's reference into the same folder and loads nothing; nothing to do for others. Errors as above. */
kw_code reference_compile(const task *t, kw_error *err);

#endif
