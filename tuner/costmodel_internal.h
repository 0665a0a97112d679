/* For costmodel*.c only. */
#ifndef KERNWRIGHT_TUNER_COSTMODEL_INTERNAL_H
#define KERNWRIGHT_TUNER_COSTMODEL_INTERNAL_H

#include "tuner/costmodel.h"

struct costmodel {
    const cost_table *m;
    costmodel_source source;
    int64_t *steps; /* [variant * TASK_MAX_DIMS + dim] */
    double *terms;  /* [(shape * variants + variant) * COSTMODEL_TERMS]; the first NaN: not timed, or no plan */
    double mean[COSTMODEL_TERMS]; /* share of each term in the times of all variants */
    cost_table dense;             /* n_variants 0: not made yet */
    double **dense_terms;         /* [variant]; NULL: not made yet */
};

/* All that the terms need to know of a variant on a shape: groups, at least 1; bytes; work, padding included. */
typedef struct costmodel_facts {
    double groups, temp_bytes, work;
} costmodel_facts;
bool costmodel_facts_of(const costmodel *c, size_t v, const task_shape *s, costmodel_facts *out); /* false: no plan */
double costmodel_bytes(const costmodel *c, const task_shape *s);
void costmodel_terms_of(const costmodel *c, const costmodel_facts *x, double bytes, double *out);

/* The terms of a variant on a shape; false without a plan. */
bool costmodel_terms(const costmodel *c, size_t v, const task_shape *s, double *out);
/* NaN if it is no time. */
double costmodel_sum(const double *coefficients, const double *terms);

#endif
