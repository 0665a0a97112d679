/* Sizes that small shapes do not reach: dims beyond 16 bits, and the target itself on more inputs. For winners. */
#include "tuner/cases_internal.h"

#include "base/counter_rng.h"

#include <string.h>

#define LONG (INT64_C(1) << 16)
#define LONG_OPERATIONS 5e7
#define LONG_ELEMENTS (1u << 21)
#define LONG_STREAM 5400
#define ROWS_DIMS 2 /* tasks of so many dims at most work along rows, where `offset` says something */
/* Inputs of these are those of no other case. */
#define EXACT_SEED 0xe8ac7u
#define FEW_OUTPUTS 64
#define LONG_ROW 1024 /* elements read for each output, from which one run says little */

/* Makes the cases of a slab, unless it is too much work or not for the variant. */
static bool add_slab(const case_source *s, const variant *v, const task_shape *shape, job_case *cases, size_t *n)
{
    static const distribution of[] = {DIST_PEAKS, DIST_OFFSET};
    double operations, elements;
    cases_cost(s, shape, &operations, &elements);
    if (operations > LONG_OPERATIONS || elements > LONG_ELEMENTS || !variant_fits(v, shape, s->limits, NULL))
        return false;
    bool added = false;
    const size_t wanted = s->task->n_dims <= ROWS_DIMS ? 2 : 1;
    for (size_t i = 0; i < wanted && *n < JOB_MAX_CASES - CASES_RANGES - CASES_TARGETS; i++) {
        const bool made = cases_make(s, v, shape, *n, of[i], NULL, &cases[*n], NULL) == KW_OK;
        added = added || made;
        *n += made;
    }
    return added;
}

/* Is it the size of an output, so that whoever numbers results meets it? */
static bool is_of_output(const case_source *s, size_t dim)
{
    for (size_t i = 0; i < s->task->n_tensors; i++) {
        const task_tensor *x = &s->task->tensors[i];
        for (size_t k = 0; k < x->rank && x->access != TASK_IN; k++)
            if (strcmp(expr_text(x->shape[k]), s->task->dims[dim].name) == 0)
                return true;
    }
    return false;
}

void cases_add_long(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    for (size_t d = 0; d < s->task->n_dims; d++) {
        const task_dim *dim = &s->task->dims[d];
        if (v->fixed_dims[d] >= 0 || dim->fallback || (s->task->n_dims > ROWS_DIMS && !is_of_output(s, d)))
            continue; /* a long sum that makes one tile of a product keeps one core busy for a quarter of a second */
        /* First one that no tile divides, then others for variants that take multiples only. */
        const uint64_t r = counter_rng_u64(s->seed, LONG_STREAM, d);
        const int64_t sizes[] = {LONG + 1 + 2 * (int64_t)(r % 2048), LONG + 64 * (1 + (int64_t)(r % 32)), 2 * LONG};
        bool added = false;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !added; i++) {
            for (int64_t other = 3; other >= 1 && !added && sizes[i] <= dim->max; other -= 2) {
                task_shape shape;
                cases_slab(s, v, d, sizes[i], other, &shape);
                added = add_slab(s, v, &shape, cases, n);
            }
        }
    }
}

/* Are so few elements written for so many read that a run on one set of inputs says little? */
static bool says_little(const case_source *s, const task_shape *shape)
{
    double read = 0, written = 0;
    for (size_t i = 0; i < s->task->n_tensors; i++) {
        uint64_t elements;
        kw_error ignored;
        if (task_tensor_elements(s->task, s->types, shape, i, &elements, &ignored) != KW_OK)
            return false;
        *(s->task->tensors[i].access == TASK_IN ? &read : &written) += (double)elements;
    }
    return written <= FEW_OUTPUTS && read >= LONG_ROW * written && read <= LONG_ELEMENTS;
}

void cases_add_targets(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n)
{
    const bool little = says_little(s, target);
    if ((!little && cases_is_small(s, target)) || !variant_fits(v, target, s->limits, NULL))
        return;
    for (size_t i = 0; i < (little ? CASES_TARGETS : 1) && *n < JOB_MAX_CASES; i++) {
        job_case *c = &cases[*n];
        if (cases_make(s, v, target, 0, i == 0 ? DIST_INTEGERS : DIST_PEAKS, NULL, c, NULL) != KW_OK)
            return;
        c->seed = counter_mix(s->seed ^ (EXACT_SEED + i));
        ++*n;
    }
}
