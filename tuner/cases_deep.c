/* Cases for a simulator: of those of a general verification the ones it gets through. */
#include "tuner/cases_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEEP_CASES 12
#define DEEP_OPERATIONS 1.5e5
#define DEEP_ELEMENTS 20000
#define DEEP_ITEMS 16384

/* Work-items of all launches: what a simulator's time depends on most. */
static double items_of(const plan *p)
{
    double items = 0;
    for (size_t i = 0; i < p->n_launches; i++) {
        double n = 1;
        for (size_t d = 0; d < p->launches[i].rank; d++)
            n *= (double)p->launches[i].local[d] * (double)p->launches[i].groups[d];
        items += n;
    }
    return items;
}

static bool is_cheap(const case_source *s, const job_case *c)
{
    double operations, elements;
    cases_cost(s, &c->shape, &operations, &elements);
    return !cases_has_empty(s, &c->shape) && operations <= DEEP_OPERATIONS && elements <= DEEP_ELEMENTS &&
           items_of(&c->plan) <= DEEP_ITEMS;
}

static double deep_cost(const case_source *s, const job_case *c)
{
    double operations, elements;
    cases_cost(s, &c->shape, &operations, &elements);
    return operations + elements + items_of(&c->plan);
}

/* By insertion: there are few. */
static void sort_by_cost(const case_source *s, job_case *cases, size_t n)
{
    job_case *moved = mem_alloc(sizeof *moved);
    for (size_t i = 1; i < n; i++) {
        size_t to = i;
        while (to > 0 && deep_cost(s, &cases[to - 1]) > deep_cost(s, &cases[i]))
            to--;
        *moved = cases[i];
        memmove(&cases[to + 1], &cases[to], (i - to) * sizeof *cases);
        cases[to] = *moved;
    }
    free(moved);
}

kw_code cases_deep(const case_source *s, const variant *v, job_case *cases, size_t *n, kw_error *err)
{
    bool complete;
    size_t all = 0, kept = 0;
    *n = 0;
    kw_code code = cases_general(s, v, cases, &all, &complete, err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; i < all; i++)
        if (cases[i].plan.n_launches > 0 && is_cheap(s, &cases[i]) && !cases_seen(s, cases, kept, &cases[i].shape))
            cases[kept++] = cases[i]; /* a simulator sees the same on other inputs */
    if (kept == 0)
        return kw_error_set(err, KW_FAILED, "no shape that the variant takes is small enough to be simulated");
    sort_by_cost(s, cases, kept);
    /* From the cheapest to the dearest in even steps. */
    const size_t wanted = kept < DEEP_CASES ? kept : DEEP_CASES;
    for (size_t i = 0; i < wanted; i++)
        cases[i] = cases[wanted > 1 ? i * (kept - 1) / (wanted - 1) : 0];
    *n = wanted;
    return KW_OK;
}
