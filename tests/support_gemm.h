/* For tests of templates and variants: the task gemm of tests/golden, and what becomes of a template of it. Failures
 * end the test, unless a code is returned. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_GEMM_H
#define KERNWRIGHT_TESTS_SUPPORT_GEMM_H

#include "codegen/variant.h"

extern task *gemm_task;
extern task_types gemm_types; /* the default ones */

/* Set-up and end of a group of tests. */
int gemm_load(void **state);
int gemm_free(void **state);

template *gemm_template(const char *text); /* named "demo" */
/* `set`: settings such as "TM=32 SPEC=true" over the defaults; `dims`: of a constant variant, or NULL. */
variant *gemm_variant(const template *p, const char *set, const char *dims);
/* The same, where the expansion may fail. */
kw_code gemm_expand(const template *p, const char *set, const char *dims, variant **v, kw_error *err);
task_shape gemm_shape(const char *dims);

#endif
