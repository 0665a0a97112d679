/* Problem files: a search space as other tuners state it, in the T1 format (schema 1.0.0). Read are
 * ConfigurationSpace.TuningParameters[] (Name, and Values: the text of a list expression, or a list) and
 * ConfigurationSpace.Conditions[].Expression; which parameters a condition uses follows from its text, since the
 * Parameters lists of such files leave some out. ProblemSize is known in conditions where KernelSpecification gives it
 * as numbers. The rest of the file (kernel, arguments, search, budget) is for the tuner that runs it, and is skipped.
 */
#ifndef KERNWRIGHT_TUNER_PROBLEM_H
#define KERNWRIGHT_TUNER_PROBLEM_H

#include "base/json.h"
#include "base/mem.h"
#include "tuner/space.h"

typedef struct problem {
    arena *memory;
    expr_scope *scope;
    const char *name; /* General.BenchmarkName, else KernelSpecification.KernelName, else "" */
    space_def def;    /* everything in it lies in `memory` */
    space_param *params;
    space_constraint *constraints;
} problem;

/* The file may be gzipped. Errors are KW_BAD_INPUT and name file, line and column; on failure *out is empty. Unlike in
 * templates a parameter's name may be any text: what is no name of the expression language (it holds a space, or is a
 * word such as `in`) can only not be used in conditions. `file` serves messages. */
kw_code problem_load(const char *path, problem *out, kw_error *err);
kw_code problem_parse(const char *text, size_t length, const char *file, problem *out, kw_error *err);
void problem_clear(problem *p);

/* Is this the top of a problem file? */
bool problem_is_one(const json *root);

#endif
