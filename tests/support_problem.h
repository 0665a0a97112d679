/* For tests: a search space from a small problem file, ConfigurationSpace with TuningParameters[].Values (text of a
 * list expression) and Conditions[].Expression, as in T1 files. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_PROBLEM_H
#define KERNWRIGHT_TESTS_SUPPORT_PROBLEM_H

#include "tuner/space.h"

typedef struct problem {
    arena *memory;
    expr_scope *scope;
    space_def def; /* everything in it lies in `memory` */
    space_param *params;
    space_constraint *constraints;
} problem;

kw_code problem_load(const char *path, problem *out, kw_error *err);
kw_code problem_parse(const char *text, const char *name, problem *out, kw_error *err);
void problem_clear(problem *p);

/* The same from arrays: names, texts of list expressions, texts of constraints. */
typedef struct problem_param {
    const char *name, *values;
} problem_param;
kw_code problem_make(const problem_param *params, size_t n_params, const char *const *constraints, size_t n_constraints,
                     problem *out, kw_error *err);

/* Is the configuration valid? Evaluates every constraint as it was written. */
bool problem_allows(const problem *p, const uint32_t *config);

#endif
