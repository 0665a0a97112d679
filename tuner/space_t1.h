/* A search space as a problem file of the T1 format (schema 1.0.0), which other tuners read. */
#ifndef KERNWRIGHT_TUNER_SPACE_T1_H
#define KERNWRIGHT_TUNER_SPACE_T1_H

#include "codegen/template.h"
#include "tuner/space.h"

/* Appends the file. Values are listed; conditions hold what the space was made with (device limits, types, dims) as
 * numbers. The kernel is described if `p`, the template that the space was made of, is not NULL: language, name and
 * file, local and global size of its first launch, in which dims that are not known are ProblemSize[i], i in the order
 * of the task's dims. Other tuners cannot run the text of a template, but can construct and search the space.
 * KW_BAD_INPUT: a condition has no form in Python, or the space was made of a list. */
kw_code space_print_t1(const space *s, const template *p, strb *out, kw_error *err);

#endif
