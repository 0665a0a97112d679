/* Whom to believe: outliers among the contributors of one group, and contributors that are outliers most of the time.
 * For results_groups.c only. */
#ifndef KERNWRIGHT_TUNER_RESULTS_COMPANY_H
#define KERNWRIGHT_TUNER_RESULTS_COMPANY_H

#include "tuner/results_groups.h"
#include "tuner/results_trust.h"

typedef struct company company;

company *company_new(const trust *t); /* t: weights, borrowed; may be NULL */
void company_free(company *c);        /* NULL is fine */

/* The first time through the rows, those of a group (counts[i]: row i counts) after the other, in the order of groups:
 * who is an outlier how often. Then, once: company_judged. May be left out. */
void company_judge(company *c, const measurement *rows, size_t n, const bool *counts);
void company_judged(company *c);

/* The second time: rows that are not believed move to out->rejections, and counts[i] becomes false. */
void company_reject(company *c, measurement *rows, size_t n, bool *counts, results_groups *out);

#endif
