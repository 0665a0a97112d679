/* Of shapes; shared by the files cases*.c. */
#ifndef KERNWRIGHT_TUNER_CASES_INTERNAL_H
#define KERNWRIGHT_TUNER_CASES_INTERNAL_H

#include "tuner/cases.h"

/* Operations and elements of a shape; infinite if they overflow. */
void cases_cost(const case_source *s, const task_shape *shape, double *operations, double *elements);
/* Has it a tensor without elements? That is a null pointer, which Oclgrind 21.10 does not take. */
bool cases_has_empty(const case_source *s, const task_shape *shape);

/* Is it verified in milliseconds? */
bool cases_is_small(const case_source *s, const task_shape *shape);
bool cases_seen(const case_source *s, const job_case *cases, size_t n, const task_shape *shape);
/* Strides and the like follow from the other dims. */
void cases_fill_defaults(const case_source *s, task_shape *shape);
/* Every dim `size`, where it may be and is no constant. */
void cases_cube(const case_source *s, const variant *v, int64_t size, task_shape *out);
/* Dim `along` is `size`, the others are `other`. */
void cases_slab(const case_source *s, const variant *v, size_t along, int64_t size, int64_t other, task_shape *out);
/* The random shape of number `draw` and whether it is small; drawn once for all variants that have no constants. */
bool cases_random_small(const case_source *s, const variant *v, uint64_t draw, task_shape *out);
#define CASES_RANDOM_TRIES 4000
/* `scalars` NULL: those that case number `ordinal` has of the task's listed values. */
kw_code cases_make(const case_source *s, const variant *v, const task_shape *shape, size_t ordinal, distribution d,
                   const double *scalars, job_case *out, kw_error *err);

/* Scalars between those that the task lists; `draw` tells several of them apart. */
void cases_draw_scalars(const case_source *s, uint64_t draw, double *out);

/* Every edge shape again, on inputs of which each element counts and with other scalars; then shapes all of whose dims
 * but one are alike, each in turn. */
void cases_add_edges_again(const case_source *s, const variant *v, job_case *cases, size_t *n);
/* Every dim in turn beyond 16 bits, the others short. Adds at most two cases for each, and leaves room for others. */
void cases_add_long(const case_source *s, const variant *v, job_case *cases, size_t *n);
/* Shapes at the numbers that the variant's text names. Leaves room for the cases of cases_add_ranges and of
 * cases_add_targets. */
void cases_add_numbers(const case_source *s, const variant *v, job_case *cases, size_t *n);
/* CASES_RANGES random shapes, fewer where the variant takes no more that are not there: scalars between those that the
 * task lists, and the distributions of winners. Leaves room for the cases of cases_add_targets. */
void cases_add_ranges(const case_source *s, const variant *v, job_case *cases, size_t *n);
#define CASES_RANGES 15
#define CASES_TARGETS 7

/* Whole numbers in a program's text from 3 to 2^26, without repeats: those that stand beside an operator that compares
 * or divides or steps come first, else in the order of the text. Returns how many, at most `most`. */
size_t cases_numbers_in(const char *text, int64_t *out, size_t most);

#endif
