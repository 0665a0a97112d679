/* A second look at edge shapes. For winners.
 *
 * The round of distributions gives every shape one of them. What is wrong at one shape only may be hidden by it: an
 * element that is lost is zero, two that are exchanged are equal, the last column is not the greatest. */
#include "tuner/cases_internal.h"

#define SCALAR_DRAWS 9000 /* apart from those of other cases */
#define ALIKE 33          /* a size that no tile divides, and others for variants that take multiples only */

static bool has_room(size_t n)
{
    return n < JOB_MAX_CASES - CASES_RANGES - CASES_TARGETS;
}

static bool add(const case_source *s, const variant *v, const task_shape *shape, job_case *cases, size_t *n)
{
    double scalars[TASK_MAX_SCALARS];
    if (!has_room(*n) || !variant_fits(v, shape, s->limits, NULL))
        return false;
    cases_draw_scalars(s, SCALAR_DRAWS + *n, scalars);
    const bool made = cases_make(s, v, shape, *n, DIST_PEAKS, scalars, &cases[*n], NULL) == KW_OK;
    *n += made;
    return made;
}

void cases_add_edges_again(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    static const int64_t alike[] = {ALIKE, 2 * ALIKE - 2, 64}, other[] = {17, 100, 128};
    for (size_t i = 0; i < s->n_edges; i++)
        add(s, v, &s->edges[i], cases, n);
    for (size_t d = 0; d < s->task->n_dims && s->task->n_dims > 2; d++) {
        bool added = s->task->dims[d].fallback != NULL; /* follows from the others */
        for (size_t i = 0; i < sizeof alike / sizeof *alike && !added; i++) {
            task_shape shape;
            cases_slab(s, v, d, other[i], alike[i], &shape);
            added = cases_is_small(s, &shape) && add(s, v, &shape, cases, n);
        }
    }
}
