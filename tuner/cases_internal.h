/* Of shapes; shared by the files cases*.c. */
#ifndef KERNWRIGHT_TUNER_CASES_INTERNAL_H
#define KERNWRIGHT_TUNER_CASES_INTERNAL_H

#include "tuner/cases.h"

/* Operations and elements of a shape; infinite if they overflow. */
void cases_cost(const case_source *s, const task_shape *shape, double *operations, double *elements);
/* Has it a tensor without elements? That is a null pointer, which Oclgrind 21.10 does not take. */
bool cases_has_empty(const case_source *s, const task_shape *shape);

#endif
