/* A problem file (T1) with its kernel, as a task and a template: what other tuners state can be tuned as it is.
 *
 * The kernel file lies beside the problem file and gets the parameters as macros. Arguments: Vector (a tensor of so
 * many elements, filled at random; Constant fills are not kept), Scalar (a constant), Local. There is no reference, so
 * results are unverified, and one shape: the problem's own. docs/formats.md has what is taken from where.
 */
#ifndef KERNWRIGHT_TUNER_PROBLEM_KERNEL_H
#define KERNWRIGHT_TUNER_PROBLEM_KERNEL_H

#include "codegen/task.h"
#include "codegen/template.h"
#include "tuner/problem.h"

/* KW_BAD_INPUT, naming file and argument, for what has no counterpart here (symbols, custom types, generated data). On
 * failure nothing is made; otherwise the caller frees template, then task. */
kw_code problem_kernel_load(const char *path, task **t, template **p, task_shape *shape, kw_error *err);

/* Is the file a problem file? false also where it cannot be read or is no JSON. */
bool problem_is_file(const char *path);

#endif
