#include "tuner/portfolio.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_GAIN 1e-9 /* of the summed cost, relative: below is rounding */

/* Per shape the best and second best ratio among the chosen; the members stand by their place in `set`. */
typedef struct search {
    const cost_table *m;
    const bool *used;
    size_t set[PORTFOLIO_MAX], n;
    double *first, *second;
    size_t *who; /* place of the best */
} search;

static double ratio_of(const search *s, size_t shape, size_t variant)
{
    return s->m->ratio[shape * s->m->n_variants + variant];
}

static bool counts(const search *s, size_t shape)
{
    return !s->used || s->used[shape];
}

static double refresh(search *s)
{
    double cost = 0;
    for (size_t i = 0; i < s->m->n_shapes; i++) {
        s->first[i] = s->second[i] = INFINITY;
        for (size_t k = 0; k < s->n; k++) {
            const double r = ratio_of(s, i, s->set[k]);
            if (r < s->first[i]) {
                s->second[i] = s->first[i];
                s->first[i] = r;
                s->who[i] = k;
            } else if (r < s->second[i]) {
                s->second[i] = r;
            }
        }
        if (counts(s, i))
            cost += s->m->shapes[i].weight * s->first[i];
    }
    return cost;
}

static bool is_member(const search *s, size_t variant)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->set[k] == variant)
            return true;
    return false;
}

/* The cost with `variant` added. */
static double cost_with(const search *s, size_t variant)
{
    double cost = 0;
    for (size_t i = 0; i < s->m->n_shapes; i++)
        if (counts(s, i))
            cost += s->m->shapes[i].weight * fmin(s->first[i], ratio_of(s, i, variant));
    return cost;
}

/* Adds the variant that helps most; false if none does. */
static bool grow(search *s, double *cost)
{
    size_t best = SIZE_MAX;
    double best_cost = s->n == 0 ? INFINITY : *cost * (1 - LEAST_GAIN);
    for (size_t v = 0; v < s->m->n_variants; v++) {
        if (is_member(s, v))
            continue;
        const double c = cost_with(s, v);
        if (c < best_cost) {
            best_cost = c;
            best = v;
        }
    }
    if (best == SIZE_MAX)
        return false;
    s->set[s->n++] = best;
    *cost = refresh(s);
    return true;
}

/* Costs with `variant` in the place of each member: `out` has s->n of them. */
static void costs_of_swaps(const search *s, size_t variant, double *out)
{
    double common = 0;
    for (size_t k = 0; k < s->n; k++)
        out[k] = 0;
    for (size_t i = 0; i < s->m->n_shapes; i++) {
        if (!counts(s, i))
            continue;
        const double w = s->m->shapes[i].weight, r = ratio_of(s, i, variant), kept = fmin(s->first[i], r);
        common += w * kept;
        out[s->who[i]] += w * (fmin(s->second[i], r) - kept); /* without its best */
    }
    for (size_t k = 0; k < s->n; k++)
        out[k] += common;
}

static bool swap_best(search *s, double *cost)
{
    double costs[PORTFOLIO_MAX], best_cost = *cost * (1 - LEAST_GAIN);
    size_t in = SIZE_MAX, out = 0;
    for (size_t v = 0; v < s->m->n_variants; v++) {
        if (is_member(s, v))
            continue;
        costs_of_swaps(s, v, costs);
        for (size_t k = 0; k < s->n; k++)
            if (costs[k] < best_cost) {
                best_cost = costs[k];
                in = v;
                out = k;
            }
    }
    if (in == SIZE_MAX)
        return false;
    s->set[out] = in;
    *cost = refresh(s);
    return true;
}

/* ---- all sets ---- */

/* Are there at most PORTFOLIO_EXACT sets of k out of n? */
static bool is_small(size_t n, size_t k)
{
    double sets = 1;
    for (size_t i = 0; i < k; i++)
        sets *= (double)(n - i) / (double)(i + 1);
    return sets <= PORTFOLIO_EXACT;
}

/* The next set of k out of n in lexicographic order; false behind the last. */
static bool next_set(size_t *set, size_t k, size_t n)
{
    size_t i = k;
    while (i > 0 && set[i - 1] == n - k + i - 1)
        i--;
    if (i == 0)
        return false;
    set[i - 1]++;
    for (; i < k; i++)
        set[i] = set[i - 1] + 1;
    return true;
}

/* Replaces the found set by a better one of its size, if there is one. */
static void try_all(search *s, double cost)
{
    search all = *s;
    for (size_t k = 0; k < s->n; k++)
        all.set[k] = k;
    do {
        const double c = refresh(&all);
        if (c < cost * (1 - LEAST_GAIN)) {
            cost = c;
            memcpy(s->set, all.set, sizeof s->set);
        }
    } while (next_set(all.set, all.n, s->m->n_variants));
}

/* ---- entry points ---- */

static void search_open(search *s, const cost_table *m, const bool *used)
{
    *s = (search){.m = m, .used = used};
    s->first = mem_calloc(m->n_shapes + 1, sizeof *s->first);
    s->second = mem_calloc(m->n_shapes + 1, sizeof *s->second);
    s->who = mem_calloc(m->n_shapes + 1, sizeof *s->who);
}

static void search_close(search *s)
{
    free(s->first);
    free(s->second);
    free(s->who);
}

static int by_number(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void keep(search *s, portfolio *out)
{
    memset(out, 0, sizeof *out);
    qsort(s->set, s->n, sizeof *s->set, by_number);
    memcpy(out->variants, s->set, s->n * sizeof *s->set);
    out->n = s->n;
    (void)refresh(s);
    for (size_t i = 0; i < s->m->n_shapes; i++)
        if (counts(s, i))
            regret_add(&out->regret, s->first[i], s->m->shapes[i].weight);
}

/* Exchanges members as long as that helps; where there are few sets of this size, tries them all. */
static void improve(search *s, double *cost)
{
    while (swap_best(s, cost))
        ;
    if (!s->used && is_small(s->m->n_variants, s->n))
        try_all(s, *cost);
    *cost = refresh(s);
}

/* Drops members that no shape needs. */
static void drop_useless(search *s, double cost)
{
    for (size_t k = s->n; k-- > 0;) {
        search without = *s;
        without.set[k] = without.set[--without.n];
        if (s->n > 1 && refresh(&without) <= cost * (1 + LEAST_GAIN)) {
            memcpy(s->set, without.set, sizeof s->set);
            s->n = without.n;
        }
    }
    (void)refresh(s);
}

void portfolio_choose(const cost_table *m, size_t k, const bool *used, portfolio *out)
{
    search s;
    double cost = INFINITY;
    search_open(&s, m, used);
    k = k > PORTFOLIO_MAX ? PORTFOLIO_MAX : k;
    while (s.n < k && grow(&s, &cost))
        improve(&s, &cost);
    drop_useless(&s, cost);
    keep(&s, out);
    search_close(&s);
}

size_t portfolio_curve(const cost_table *m, size_t k, portfolio *out)
{
    size_t n = 0;
    for (size_t size = 1; size <= k && size <= PORTFOLIO_MAX; size++) {
        portfolio_choose(m, size, NULL, &out[n]);
        if (out[n].n < size)
            break;
        n++;
    }
    return n;
}

size_t portfolio_recommend(const portfolio *curve, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (regret_mean(&curve[i].regret) <= regret_mean(&curve[n - 1].regret) + PORTFOLIO_GAIN)
            return curve[i].n;
    return n;
}
