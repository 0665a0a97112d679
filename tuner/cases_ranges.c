/* Values beyond those of the other cases: scalars that the task does not list, inputs far from zero, and inputs that
 * are very large or very small throughout. For winners. */
#include "tuner/cases_internal.h"

#include "base/counter_rng.h"
#include "tuner/inputs.h"

#include <math.h>

#define SCALAR_STREAM 5300

/* x with 8 digits in base 2, which every real type can hold. */
static double short_number(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(rint(fraction * 256) / 256, exponent);
}

/* A number between the least and the greatest listed value: in the middle of the range, or, one in three, so small that
 * it might be taken for nothing. */
static double between(const task_scalar *x, uint64_t bits)
{
    double low = x->values[0], high = x->values[0];
    for (size_t i = 1; i < x->n_values; i++) {
        low = fmin(low, x->values[i]);
        high = fmax(high, x->values[i]);
    }
    if (high <= low)
        return low;
    const double small = ldexp(fmax(fabs(low), fabs(high)), -4 - (int)(bits >> 16 & 7)); /* 1/16 to 1/2048 */
    if ((bits >> 8) % 3 == 0 && small < high && -small > low)
        return short_number(bits >> 24 & 1 ? small : -small);
    if ((bits >> 8) % 3 == 0 && small > low && small < high)
        return short_number(small);
    const double share = (double)(2 * (bits % 6) + 3) / 16; /* 3/16 to 13/16 */
    return short_number(low + (high - low) * share);
}

/* A real scalar that the task lists several values of has all that lie between them. */
void cases_draw_scalars(const case_source *s, uint64_t draw, double *out)
{
    for (size_t i = 0; i < s->task->n_scalars; i++) {
        const task_scalar *x = &s->task->scalars[i];
        const uint64_t bits = counter_rng_u64(s->seed, SCALAR_STREAM + draw, i);
        const bool real = dtype_is_float(task_scalar_type(s->task, s->types, i));
        out[i] = real ? between(x, bits) : x->values[bits % x->n_values];
    }
}

void cases_add_ranges(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    static const distribution of[] = {DIST_NORMAL, DIST_OFFSET, DIST_SCALED};
    size_t found = 0;
    for (uint64_t draw = 0; draw < CASES_RANDOM_TRIES && found < CASES_RANGES && *n < JOB_MAX_CASES - CASES_TARGETS;
         draw++) {
        task_shape shape;
        double scalars[TASK_MAX_SCALARS];
        if (!cases_random_small(s, v, draw, &shape) || !variant_fits(v, &shape, s->limits, NULL) ||
            cases_has_empty(s, &shape) || cases_seen(s, cases, *n, &shape))
            continue;
        cases_draw_scalars(s, draw, scalars);
        const distribution d = of[found % (sizeof of / sizeof *of)];
        if (cases_make(s, v, &shape, *n, d, d == DIST_SCALED ? NULL : scalars, &cases[*n], NULL) != KW_OK)
            continue;
        if (d == DIST_SCALED)
            cases[*n].seed = inputs_scaled_seed(cases[*n].seed, found / (sizeof of / sizeof *of));
        found++;
        ++*n;
    }
}
