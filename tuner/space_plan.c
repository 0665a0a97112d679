#include "tuner/space_plan.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_TABLE 4096 /* entries that are always worth it */

typedef struct planner {
    space_group *g;
    const size_t *order;
    size_t level;
    const size_t *subs; /* of the current tuples */
    size_t n_subs;
    size_t n_states;
    size_t max_bytes;
    bool *before, *after; /* assigned variables */
    space_plan *plan;
} planner;

static size_t position_of(const planner *p, size_t sub)
{
    for (size_t i = 0; i < p->n_subs; i++)
        if (p->subs[i] == sub)
            return i;
    return SIZE_MAX;
}

/* The table has one dimension per input and one, the fastest, for the new value. */
static void add_table(planner *p, space_step *s)
{
    if (s->n_inputs == p->n_subs) /* the whole tuple: no two states have the same, so nothing would be found */
        return;
    double size = (double)p->plan->n_values, most = 4.0 * (double)p->n_states * size;
    for (size_t i = s->n_inputs; i-- > 0;) {
        s->strides[i] = (size_t)size;
        size *= (double)(p->g->subs[p->subs[s->inputs[i]]].n_values + 1);
        if (size > 1e9)
            return;
    }
    size_t bytes = (size_t)size * sizeof *s->table;
    if ((size > most && size > SMALL_TABLE) || p->plan->table_bytes + bytes > p->max_bytes)
        return;
    p->plan->table_bytes += bytes;
    s->table = mem_alloc(bytes);
    memset(s->table, 0xff, bytes);
}

static space_step make_step(planner *p, const expr *e)
{
    space_group *g = p->g;
    space_step s = {.e = e};
    space_frontier f = space_group_inner_frontier(g, e, p->before);
    s.inputs = arena_alloc(g->memory, (f.n + 1) * sizeof *s.inputs);
    s.strides = arena_alloc(g->memory, (f.n + 1) * sizeof *s.strides);
    for (size_t i = 0; i < f.n; i++)
        s.inputs[s.n_inputs++] = position_of(p, f.subs[i]);
    add_table(p, &s);
    return s;
}

static size_t count_assigned(const space_group_term *t, const bool *assigned)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_vars; i++)
        n += assigned[t->vars[i]];
    return n;
}

/* One more owner of a subexpression: it is needed always (guard SIZE_MAX), or while that guard is undecided. (What an
 * earlier guard has struck out of the tuple stays out: copying keeps SPACE_ANY.) */
static void add_carry(planner *p, size_t sub, size_t guard)
{
    space_plan *plan = p->plan;
    space_carry *c = plan->carries;
    while (c < plan->carries + plan->n_carries && c->sub != sub)
        c++;
    if (c == plan->carries + plan->n_carries) {
        plan->n_carries++;
        c->sub = sub;
        c->guards = arena_alloc(p->g->memory, (p->g->n_terms + 1) * sizeof *c->guards);
    }
    if (guard == SIZE_MAX)
        c->always = true;
    else
        c->guards[c->n_guards++] = guard;
}

/* Sorts the terms: finished ones become tests, pending ones are carried on. */
static void plan_terms(planner *p)
{
    space_group *g = p->g;
    space_plan *plan = p->plan;
    for (size_t i = 0; i < g->n_terms; i++) {
        const space_group_term *t = &g->terms[i];
        size_t n_before = count_assigned(t, p->before), n_after = count_assigned(t, p->after);
        if (n_after == 0 || n_before == t->n_vars)
            continue;
        if (n_after == t->n_vars) {
            space_step *s = &plan->tests[plan->n_tests++];
            *s = make_step(p, t->term->test);
            s->kind = SPACE_STEP_TEST;
            if (!s->table && plan->integers)
                s->row = arena_alloc(g->memory, plan->n_values * sizeof *s->row);
            s->constraint = t->term->constraint;
            continue;
        }
        size_t guard = SIZE_MAX;
        if (n_after > n_before && space_group_may_decide(g, i, p->after)) {
            guard = plan->n_guards++;
            plan->guards[guard] = make_step(p, t->term->test);
            plan->guards[guard].kind = SPACE_STEP_GUARD;
            plan->guards[guard].constraint = t->term->constraint;
        }
        space_frontier f = space_group_frontier(g, i, p->after);
        for (size_t k = 0; k < f.n; k++)
            add_carry(p, f.subs[k], guard);
    }
}

static size_t carries_at_most(const planner *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->g->n_terms; i++)
        n += space_group_frontier(p->g, i, p->after).n;
    return n;
}

static void list_integers(space_group *g, size_t var, space_plan *plan)
{
    if (plan->n_values > EXPR_MANY)
        return;
    int64_t *list = arena_alloc(g->memory, plan->n_values * sizeof *list);
    for (size_t i = 0; i < plan->n_values; i++) {
        value v = space_group_value(g, var, i);
        if (v.kind != VALUE_INT)
            return;
        list[i] = v.as.integer;
    }
    plan->integers = list;
}

space_plan *space_plan_new(space_group *g, const size_t *order, size_t level, const size_t *subs, size_t n_subs,
                           size_t n_states, size_t max_bytes)
{
    space_plan *plan = arena_alloc(g->memory, sizeof *plan);
    planner p = {g, order, level, subs, n_subs, n_states, max_bytes, NULL, NULL, plan};
    p.before = arena_alloc(g->memory, g->n_vars * sizeof *p.before);
    p.after = arena_alloc(g->memory, g->n_vars * sizeof *p.after);
    for (size_t k = 0; k <= level; k++) {
        p.before[order[k]] = k < level;
        p.after[order[k]] = true;
    }
    plan->level = level;
    plan->n_values = space_group_domain(g, order[level]);
    plan->tests = arena_alloc(g->memory, (g->n_terms + 1) * sizeof *plan->tests);
    plan->guards = arena_alloc(g->memory, (g->n_terms + 1) * sizeof *plan->guards);
    plan->carries = arena_alloc(g->memory, (carries_at_most(&p) + 1) * sizeof *plan->carries);
    list_integers(g, order[level], plan);
    plan_terms(&p);
    for (size_t i = 0; i < plan->n_carries; i++) {
        space_carry *c = &plan->carries[i];
        c->copy = position_of(&p, c->sub);
        if (c->copy != SIZE_MAX)
            continue;
        c->step = make_step(&p, g->subs[c->sub].e);
        c->step.kind = SPACE_STEP_NUMBER;
        c->step.sub = c->sub;
    }
    return plan;
}

void space_plan_free_tables(space_plan *p)
{
    for (size_t i = 0; i < p->n_tests; i++)
        free(p->tests[i].table);
    for (size_t i = 0; i < p->n_guards; i++)
        free(p->guards[i].table);
    for (size_t i = 0; i < p->n_carries; i++)
        free(p->carries[i].step.table);
}
