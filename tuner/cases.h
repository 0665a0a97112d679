/* Which shapes, inputs and scalars a candidate is verified on. */
#ifndef KERNWRIGHT_TUNER_CASES_H
#define KERNWRIGHT_TUNER_CASES_H

#include "base/error.h"
#include "codegen/limits.h"
#include "codegen/variant.h"
#include "tuner/job.h"

#include <stddef.h>
#include <stdint.h>

/* Random shapes that were drawn before; cases.c has it. */
typedef struct case_draws case_draws;

/* The task's edge shapes, read once per run; `shapes` may be empty. */
typedef struct case_source {
    const task *task;
    const task_types *types;
    const device_limits *limits;
    const variant *trusted; /* for sampled cases; NULL: none */
    uint64_t seed;
    task_shape *edges;
    size_t n_edges;
    case_draws *draws; /* grows when it is asked; not for two threads at once */
} case_source;

kw_code case_source_init(case_source *s, const task *t, const task_types *types, const device_limits *limits,
                         const variant *trusted, uint64_t seed, kw_error *err);
void case_source_clear(case_source *s);

/* Smoke shape, hidden shapes, two shapes around the variant's tiles, and last the target. Hidden shapes are the same
 * for all candidates of a run that can take them, so that a worker computes each reference once. Writes at most
 * JOB_MAX_CASES. An error means that the plan for the target cannot be made: the candidate is rejected. */
kw_code cases_for_target(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n,
                         kw_error *err);
/* Every edge shape the variant takes and 20 random ones, then two around its tiles and a larger one; `complete` tells
 * whether that many random ones were found, all edge shapes had room, and no dim is a constant: what "verified:
 * general" needs. */
kw_code cases_general(const case_source *s, const variant *v, job_case *cases, size_t *n, bool *complete,
                      kw_error *err);
/* The target again, if v takes it. A large one on whole numbers that add up exactly: the error bound of a long sum
 * would let a kernel through that leaves out terms, or all of them. One with few outputs on several more inputs, of
 * which each run shows little. Nothing is added for other small ones, whose like is among the others. */
void cases_add_targets(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n);
/* For a simulator, which is some thousand times slower: the smoke shape, then edge shapes and random ones from cheap to
 * dear, up to some thousands of work-items, at most 12. An error means that there is none. */
kw_code cases_deep(const case_source *s, const variant *v, job_case *cases, size_t *n, kw_error *err);
/* For the task itself: random shapes, small enough that a reference takes no time, with every combination of scalars
 * among them, on ordinary inputs. They have no plans. */
size_t cases_for_task(const case_source *s, job_case *cases);
/* The target alone. */
kw_code cases_target_only(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n,
                          kw_error *err);

#endif
