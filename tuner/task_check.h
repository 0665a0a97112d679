/* Is a task fit to judge kernels by? Its reference must agree with itself, give numbers for ordinary inputs, and use
 * every input. It runs in a worker, since a user's reference is native code. docs/measurement.md, "The task itself". */
#ifndef KERNWRIGHT_TUNER_TASK_CHECK_H
#define KERNWRIGHT_TUNER_TASK_CHECK_H

#include "base/error.h"
#include "codegen/task.h"
#include "tuner/job.h"

/* Starts a worker for it; no device is needed. KW_BAD_INPUT when the reference does not compile, contradicts itself,
 * crashes or does not end within a minute. A task without a reference is fine. */
kw_code task_check(const task *t, const task_types *types, kw_error *err);

/* What a record of mode "check" says: KW_OK, or KW_FAILED for what befell the worker through no doing of the task. */
kw_code task_check_result(const task *t, const job_record *r, kw_error *err);

#endif
