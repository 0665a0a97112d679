/* The number of states after some variables are assigned is about the number of different tuples that the frontier
 * takes: at most the product of its subexpressions' estimates, and at most the number of prefixes that pass the
 * constraints known by then. A transition is one state with one value of the next variable; the cost of an order is the
 * sum of transitions over its levels. Orders come from greedy choices, one for each first variable, and the best of
 * them is improved by moving single variables. */
#include "tuner/space_order.h"

#include <stdlib.h>
#include <string.h>

/* Steps of the cost model: enough for small groups, and for large ones as long as they cost a small share of the
 * construction that they may shorten. */
#define MIN_STEPS 4000
#define MAX_STEPS 200000
#define TRANSITIONS_PER_STEP 4

typedef struct model {
    space_group *g;
    size_t **terms_of; /* per variable: terms that use it */
    size_t *n_terms_of;
    bool *assigned;
    size_t *missing; /* per term: variables not assigned */
    size_t *mark;    /* per subexpression: == round if already counted */
    size_t n_mark, round;
    double prefixes, states, cost;
    size_t steps;
} model;

static void start(model *m)
{
    memset(m->assigned, 0, m->g->n_vars * sizeof *m->assigned);
    for (size_t i = 0; i < m->g->n_terms; i++)
        m->missing[i] = m->g->terms[i].n_vars;
    m->prefixes = m->states = 1;
    m->cost = 0;
}

/* Product of the estimates of the frontier's subexpressions, each counted once; stops at `enough`. */
static double frontier_size(model *m, double enough)
{
    double product = 1;
    m->round++;
    for (size_t i = 0; i < m->g->n_terms && product < enough; i++) {
        if (m->missing[i] == 0 || m->missing[i] == m->g->terms[i].n_vars)
            continue;
        space_frontier f = space_group_frontier(m->g, i, m->assigned);
        for (size_t k = 0; k < f.n; k++) {
            if (f.subs[k] >= m->n_mark) {
                size_t n = 2 * (f.subs[k] + 1);
                m->mark = mem_realloc(m->mark, n * sizeof *m->mark);
                memset(m->mark + m->n_mark, 0, (n - m->n_mark) * sizeof *m->mark);
                m->n_mark = n;
            }
            if (m->mark[f.subs[k]] == m->round)
                continue;
            m->mark[f.subs[k]] = m->round;
            product *= space_group_estimate(m->g, f.subs[k]);
        }
    }
    return product;
}

static void mark_assigned(model *m, size_t var, bool assigned)
{
    m->assigned[var] = assigned;
    for (size_t i = 0; i < m->n_terms_of[var]; i++)
        m->missing[m->terms_of[var][i]] += assigned ? (size_t)-1 : 1;
}

/* Assigns one more variable. */
static void step(model *m, size_t var)
{
    double domain = (double)space_group_domain(m->g, var);
    mark_assigned(m, var, true);
    m->steps++;
    m->cost += m->states * domain;
    m->prefixes *= domain;
    for (size_t i = 0; i < m->n_terms_of[var]; i++)
        if (m->missing[m->terms_of[var][i]] == 0)
            m->prefixes *= m->g->terms[m->terms_of[var][i]].pass_rate;
    double most = m->states * domain < m->prefixes ? m->states * domain : m->prefixes;
    double size = frontier_size(m, most);
    m->states = size < most ? size : most;
    m->states = m->states < 1 ? 1 : m->states;
}

typedef enum rule {
    FEWEST_STATES,   /* and transitions */
    MOST_CONSTRAINED /* fewest prefixes left; then most constraints touched */
} rule;

/* How good it is to assign `var` next; less is better. */
static double preview(model *m, size_t var, rule by)
{
    double prefixes = m->prefixes, states = m->states, cost = m->cost;
    step(m, var);
    double score = m->cost - cost + 4 * m->states;
    if (by == MOST_CONSTRAINED)
        score = m->prefixes / prefixes / (1 + (double)m->n_terms_of[var]);
    mark_assigned(m, var, false);
    m->prefixes = prefixes;
    m->states = states;
    m->cost = cost;
    return score;
}

/* Has the construction no time left? Then any order will do: the first level says so. */
static bool is_over(const model *m)
{
    return space_watch_check(m->g->problem->watch, NULL) != KW_OK;
}

static double greedy(model *m, size_t first, rule by, size_t *order)
{
    start(m);
    for (size_t k = 0; k < m->g->n_vars; k++) {
        size_t best = first;
        double best_score = -1;
        bool hurry = is_over(m);
        for (size_t v = 0; k > 0 && v < m->g->n_vars; v++) {
            if (m->assigned[v])
                continue;
            double score = hurry ? 0 : preview(m, v, by);
            if (best_score < 0 || score < best_score) {
                best = v;
                best_score = score;
            }
        }
        order[k] = best;
        step(m, best);
    }
    return m->cost;
}

static double cost_of(model *m, const size_t *order, double enough)
{
    start(m);
    for (size_t k = 0; k < m->g->n_vars && m->cost < enough; k++)
        step(m, order[k]);
    return m->cost;
}

static void move(size_t *order, size_t from, size_t to)
{
    size_t var = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = var;
}

/* Moves single variables while that lowers the cost. */
static void improve(model *m, size_t *order, double cost)
{
    size_t n = m->g->n_vars;
    for (bool better = true; better;) {
        better = false;
        for (size_t from = 0; from < n; from++) {
            for (size_t to = 0; to < n; to++) {
                if (to == from)
                    continue;
                if (m->steps > MIN_STEPS / 4 && m->steps % 64 < n && is_over(m))
                    return;
                if (m->steps > MIN_STEPS && (m->steps > MAX_STEPS || (double)m->steps > cost / TRANSITIONS_PER_STEP))
                    return;
                move(order, from, to);
                double changed = cost_of(m, order, cost);
                if (changed < cost) {
                    cost = changed;
                    better = true;
                } else {
                    move(order, to, from);
                }
            }
        }
    }
}

static void list_terms(model *m)
{
    space_group *g = m->g;
    m->terms_of = mem_calloc(g->n_vars, sizeof(size_t *));
    m->n_terms_of = mem_calloc(g->n_vars, sizeof *m->n_terms_of);
    for (size_t v = 0; v < g->n_vars; v++)
        m->terms_of[v] = arena_alloc(g->memory, (g->n_terms + 1) * sizeof **m->terms_of);
    for (size_t i = 0; i < g->n_terms; i++)
        for (size_t k = 0; k < g->terms[i].n_vars; k++)
            m->terms_of[g->terms[i].vars[k]][m->n_terms_of[g->terms[i].vars[k]]++] = i;
}

size_t *space_order_find(space_group *g)
{
    size_t n = g->n_vars;
    model m = {.g = g};
    list_terms(&m);
    m.assigned = mem_alloc(n * sizeof *m.assigned);
    m.missing = mem_alloc((g->n_terms + 1) * sizeof *m.missing);
    size_t *best = mem_alloc(n * sizeof *best), *order = mem_alloc(n * sizeof *order);
    double best_cost = -1;
    for (size_t i = 0; i < 2 * n && (i < 2 || m.steps < MIN_STEPS / 2); i++) {
        double cost = greedy(&m, i / 2, i % 2 ? MOST_CONSTRAINED : FEWEST_STATES, order);
        if (best_cost < 0 || cost < best_cost) {
            best_cost = cost;
            memcpy(best, order, n * sizeof *best);
        }
    }
    improve(&m, best, best_cost);
    free(m.terms_of);
    free(m.n_terms_of);
    free(m.assigned);
    free(m.missing);
    free(m.mark);
    free(order);
    return best;
}
