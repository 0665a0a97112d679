/* Which variants serve a cell of a grid, and in which order. */
#include "tuner/grid_internal.h"

#include <math.h>

#define MAX_SAMPLES 81 /* GRID_VALUES to the power of GRID_MAX_KEYS */
#define MAX_CANDIDATES 16
#define NOBODY 10.0     /* the ratio of a sample that no ranked variant runs */
#define LEAST_GAIN 1e-3 /* of the mean ratio, for which a variant gets a place */

typedef struct cell_work {
    shape_grid *g;
    task_shape shapes[MAX_SAMPLES];
    size_t n;
    double ns[MAX_SAMPLES][PORTFOLIO_MAX], best_ns[MAX_SAMPLES];
    size_t candidates[MAX_CANDIDATES], n_candidates; /* members */
    bool runs[MAX_CANDIDATES][MAX_SAMPLES];
} cell_work;

static bool member_runs(const cell_work *w, size_t member, size_t sample)
{
    const costmodel_source *s = &w->g->c->source;
    return s->runs(s->cookie, w->g->p.variants[member], &w->shapes[sample]);
}

/* All samples of a cell, with the times of all members. */
static void add_samples(cell_work *w, size_t cell)
{
    shape_grid *g = w->g;
    size_t place[GRID_MAX_KEYS] = {0}, number[GRID_MAX_KEYS] = {0}, i;
    for (i = g->n_axes; i-- > 0; cell /= (size_t)g->axes[i].n)
        place[i] = cell % (size_t)g->axes[i].n;
    do {
        grid_sample x;
        task_shape *s = &w->shapes[w->n];
        for (i = 0; i < g->n_axes; i++)
            x.at[i] = place[i] * GRID_VALUES + number[i];
        if (grid_shape(g, &x, s)) {
            const double bytes = costmodel_bytes(g->c, s);
            for (size_t k = 0; k < g->p.n; k++)
                w->ns[w->n][k] = grid_ns(g, k, &x, s, bytes);
            w->n++;
        }
        for (i = 0; i < g->n_axes && ++number[i] == g->axes[i].n_values[place[i]]; i++)
            number[i] = 0;
    } while (i < g->n_axes);
}

static void add_candidate(cell_work *w, size_t member)
{
    for (size_t i = 0; i < w->n_candidates; i++)
        if (w->candidates[i] == member)
            return;
    if (w->n_candidates == MAX_CANDIDATES)
        return;
    for (size_t s = 0; s < w->n; s++)
        w->runs[w->n_candidates][s] = member_runs(w, member, s);
    w->candidates[w->n_candidates++] = member;
}

/* The fastest that runs the sample; members are asked in the order of their times. */
static void add_best_of(cell_work *w, size_t sample)
{
    bool asked[PORTFOLIO_MAX] = {false};
    w->best_ns[sample] = INFINITY;
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < w->g->p.n; k++)
            if (!asked[k] && isfinite(w->ns[sample][k]) && (best == SIZE_MAX || w->ns[sample][k] < w->ns[sample][best]))
                best = k;
        if (best == SIZE_MAX)
            return;
        asked[best] = true;
        if (!member_runs(w, best, sample))
            continue;
        w->best_ns[sample] = w->ns[sample][best];
        add_candidate(w, best);
        return;
    }
}

/* The one with the least mean ratio of those that run all samples. */
static void add_general(cell_work *w)
{
    double mean[PORTFOLIO_MAX];
    for (size_t k = 0; k < w->g->p.n; k++) {
        mean[k] = 0;
        for (size_t s = 0; s < w->n; s++)
            mean[k] += isfinite(w->best_ns[s]) ? w->ns[s][k] / w->best_ns[s] : 0;
    }
    for (size_t tried = 0; tried < w->g->p.n; tried++) {
        size_t best = 0, s = 0;
        for (size_t k = 1; k < w->g->p.n; k++)
            best = mean[k] < mean[best] ? k : best;
        while (s < w->n && member_runs(w, best, s))
            s++;
        if (s == w->n && isfinite(mean[best])) {
            add_candidate(w, best);
            return;
        }
        mean[best] = INFINITY;
    }
}

/* Mean ratio when each sample runs the first of the list that can. */
static double cost_of(const cell_work *w, const size_t *list, size_t n)
{
    double sum = 0;
    for (size_t s = 0; s < w->n; s++) {
        size_t i = 0;
        while (i < n && !w->runs[list[i]][s])
            i++;
        sum += i == n || !isfinite(w->best_ns[s]) ? NOBODY
                                                  : fmin(NOBODY, w->ns[s][w->candidates[list[i]]] / w->best_ns[s]);
    }
    return sum / (double)(w->n > 0 ? w->n : 1);
}

/* Puts candidates where they help most, one after the other. */
static size_t build_list(const cell_work *w, size_t list[HEADER_TREE_RANKED])
{
    size_t n = 0;
    double cost = INFINITY;
    while (n < HEADER_TREE_RANKED) {
        size_t best[HEADER_TREE_RANKED];
        double best_cost = cost - LEAST_GAIN;
        for (size_t c = 0; c < w->n_candidates; c++)
            for (size_t at = 0; at <= n; at++) {
                size_t with[HEADER_TREE_RANKED];
                for (size_t i = 0; i <= n; i++)
                    with[i] = i == at ? c : list[i - (i > at)];
                const double x = cost_of(w, with, n + 1);
                if (!(x < best_cost))
                    continue;
                best_cost = x;
                for (size_t i = 0; i <= n; i++)
                    best[i] = with[i];
            }
        if (!(best_cost < cost - LEAST_GAIN))
            break;
        cost = best_cost;
        n++;
        for (size_t i = 0; i < n; i++)
            list[i] = best[i];
    }
    return n;
}

/* Of the samples that the member runs, or would run if it were asked: over the best. */
static double ratio_of(const cell_work *w, size_t member)
{
    double sum = 0;
    size_t n = 0;
    for (size_t s = 0; s < w->n; s++)
        if (isfinite(w->ns[s][member]) && isfinite(w->best_ns[s])) {
            sum += fmin(NOBODY, w->ns[s][member] / w->best_ns[s]);
            n++;
        }
    return n > 0 ? sum / (double)n : NOBODY;
}

void grid_rank(shape_grid *g, size_t cell, size_t ranked[HEADER_TREE_RANKED], double ratio[HEADER_TREE_RANKED])
{
    cell_work w = {.g = g};
    size_t list[HEADER_TREE_RANKED] = {0}, members[HEADER_TREE_RANKED];
    add_samples(&w, cell);
    for (size_t s = 0; s < w.n; s++)
        add_best_of(&w, s);
    add_general(&w);
    size_t n = build_list(&w, list);
    for (size_t i = 0; i < n; i++)
        members[i] = w.candidates[list[i]];
    for (size_t k = 0; k < g->p.n && n < HEADER_TREE_RANKED; k++) { /* for devices that do not hold the others */
        bool seen = false;
        for (size_t i = 0; i < n; i++)
            seen |= members[i] == g->by_mean[k];
        if (!seen)
            members[n++] = g->by_mean[k];
    }
    for (size_t i = 0; i < HEADER_TREE_RANKED; i++) {
        ranked[i] = i < n ? g->p.variants[members[i]] : SIZE_MAX;
        ratio[i] = i < n ? ratio_of(&w, members[i]) : 0;
    }
}

size_t grid_choice(shape_grid *g, const cost_table *m, size_t shape)
{
    size_t ranked[HEADER_TREE_RANKED];
    double ratio[HEADER_TREE_RANKED];
    grid_rank(g, grid_cell(g, m->shapes[shape].dims), ranked, ratio);
    for (size_t k = 0; k < HEADER_TREE_RANKED && ranked[k] != SIZE_MAX; k++)
        if (costs_runs(m, shape, ranked[k]))
            return ranked[k];
    return SIZE_MAX;
}

void grid_hold_out(shape_grid *g, const cost_table *m, const portfolio *p, const bool *used, double *ratios)
{
    grid_fit(g, p, used);
    for (size_t i = 0; i < m->n_shapes; i++) {
        if (used[i])
            continue;
        const size_t v = grid_choice(g, m, i);
        ratios[i] = v == SIZE_MAX ? COSTS_MAX_RATIO : m->ratio[i * m->n_variants + v];
    }
}
