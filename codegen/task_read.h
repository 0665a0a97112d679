/* The JSON of a task into its structure; inside of the task module. */
#ifndef KERNWRIGHT_CODEGEN_TASK_READ_H
#define KERNWRIGHT_CODEGEN_TASK_READ_H

#include "base/error.h"
#include "codegen/locate.h"
#include "codegen/task.h"

/* Reads t->source (t->memory and t->folder are set, all else is empty). Strings are borrowed from the source. */
kw_code task_read(task *t, const locate *l, kw_error *err);

/* Parts of it: the tensors; a name that must be new and well formed; an expression member that may be absent (*out is
 * NULL then) and may use names of the given roles (EXPR_BIT_...); "type": one of the task's symbols (its index) or an
 * element type (*symbol is -1). */
kw_code task_read_tensors(task *t, const locate *l, kw_error *err);
kw_code task_read_name(const task *t, const locate *l, const char *path, const char *name, kw_error *err);
kw_code task_read_expr(task *t, const locate *l, const char *path, const json *object, const char *key, unsigned roles,
                       const expr **out, kw_error *err);
kw_code task_read_type(const task *t, const locate *l, const char *path, const json *object, int *symbol, dtype *fixed,
                       kw_error *err);

/* What decides the numbers, with defaults filled in or left out the same way whatever the author wrote. */
json *task_canonical(const task *t);

#endif
