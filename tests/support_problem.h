/* For tests: a search space from arrays, and what its constraints say of a configuration. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_PROBLEM_H
#define KERNWRIGHT_TESTS_SUPPORT_PROBLEM_H

#include "tuner/problem.h"

/* A problem from names, texts of list expressions, texts of constraints. */
typedef struct problem_param {
    const char *name, *values;
} problem_param;
kw_code problem_make(const problem_param *params, size_t n_params, const char *const *constraints, size_t n_constraints,
                     problem *out, kw_error *err);

/* Is the configuration valid? Evaluates every constraint as it was written. */
bool problem_allows(const problem *p, const uint32_t *config);

#endif
