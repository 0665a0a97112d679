/* Comparing what a kernel wrote with what it should have written. Pure functions over host memory: no device, no
 * process, so that the comparison can be made wherever the expected values are held.
 *
 * An element passes if |x - v| <= 4 eps(T) |v| + 8 eps(ACC) sqrt(L) scale + floor. NaN passes only where NaN is
 * expected, infinities must match; a value that the type cannot hold may become the infinity of its sign. */
#ifndef KERNWRIGHT_TUNER_VERIFY_H
#define KERNWRIGHT_TUNER_VERIFY_H

#include "base/strb.h"
#include "codegen/task.h"
#include "tuner/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct verify_rule {
    dtype type;
    task_compare compare;
    double relative;  /* 4 eps(T) */
    double per_scale; /* 8 eps(ACC) sqrt(L) */
    double floor;
    double exact_limit; /* whole numbers up to here are exact in T and in ACC */
    bool exact;         /* no tolerance: see verify_must_be_exact */
} verify_rule;

verify_rule verify_rule_of(const task *t, const task_types *types, const task_shape *shape, size_t tensor);

/* Are these expected values such that every order of exact partial sums gives the same? True when each value and each
 * scale is a multiple of 1/4 below a quarter of the exact range (no partial sum can be rounded then) and they are not
 * all below 2 (results such as 0 and 1 come out of functions that need not be exact). */
bool verify_must_be_exact(const verify_rule *r, const double *wanted, const double *scale, size_t n);

typedef struct verify_verdict {
    uint64_t compared, wrong;
    uint64_t unwritten; /* wrong elements that still hold the poison */
    double worst;       /* largest |x - v| / bound of all; infinite for NaN and where no error is allowed */
    uint64_t first;     /* logical number of the first wrong element, and what it was about: */
    double got, expected, bound;
    int64_t low[TASK_MAX_RANK], high[TASK_MAX_RANK]; /* the box around all wrong elements */
} verify_verdict;

/* `got`: the whole memory of the tensor. wanted[i] and scale[i] belong to element logical[i]; logical NULL: to i (n is
 * then l->count). `poison`: the byte that the memory was filled with before; -1: it was not. Adds to *v, which
 * starts zeroed. */
void verify_values(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const uint64_t *logical,
                   size_t n, const double *wanted, const double *scale, verify_verdict *v);

/* The same for a sample alone: got[i] is element logical[i]. Not for sets. */
void verify_sample(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const uint64_t *logical,
                   size_t n, const double *wanted, const double *scale, verify_verdict *v);

/* Every element against the output of a trusted kernel, which has rounding errors of its own: twice the bound, with
 * the largest scale of the elements that the reference gave. */
void verify_trusted(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const void *trusted,
                    double max_scale, verify_verdict *v);

/* What verify_trusted allows: |x - v| <= *relative |v| + *absolute. Both are 0 where nothing is. false for sets, which
 * are not compared element by element. */
bool verify_trusted_bound(const verify_rule *r, double max_scale, double *relative, double *absolute);

/* Memory of the tensor that belongs to no element must be as before: number of changed places, flat number of the
 * first. `before`: the memory as it was; NULL: all bytes were `poison`. */
uint64_t verify_gaps(const tensor_layout *l, const void *got, const void *before, int poison, uint64_t *first);

/* One line: which element, got, expected, bound, how many, and where they lie when they lie in one place. */
void verify_describe(const char *tensor, const tensor_layout *l, const verify_verdict *v, strb *out);
/* "C[3][17]" */
void verify_name_element(const char *tensor, const tensor_layout *l, uint64_t logical, strb *out);

#endif
