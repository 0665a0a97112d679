/* From the top down: level by level, every state with every value of the next variable. A transition looks up its
 * tests and the numbers of its next tuple in the plan's tables; expressions are evaluated once per different input. */
#include "tuner/space_build.h"

#include "tuner/space_order.h"
#include "tuner/space_plan.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT32_MAX
#define MAX_EDGES (UINT32_MAX - 1)
#define CHECK_EVERY 65536 /* transitions between two looks at the watch */

typedef struct builder {
    space_group *g;
    size_t *order;
    size_t max_bytes, held; /* bytes of finished raw levels */
    space_raw_level *levels;
    size_t *subs; /* that the current tuples are made of */
    size_t n_subs;
    space_states from, to;
    space_plan *plan;
    uint32_t *tuple;        /* the next one */
    uint32_t *decided;      /* per guard */
    value *env;             /* never holds a variable that is not assigned yet */
    const uint32_t *env_of; /* the assignment that it holds (without the new variable) */
    size_t transitions;     /* since the last look at the watch */
} builder;

/* ---- one transition ---- */

static void set_env(builder *b, const uint32_t *assignment, size_t v)
{
    size_t level = b->plan->level;
    for (size_t k = 0; k < level && b->env_of != assignment; k++)
        b->env[space_group_slot(b->g, b->order[k])] = space_group_value(b->g, b->order[k], assignment[k]);
    b->env_of = assignment;
    b->env[space_group_slot(b->g, b->order[level])] = space_group_value(b->g, b->order[level], v);
}

static uint32_t evaluate(builder *b, const space_step *s, const uint32_t *assignment, size_t v)
{
    bool truth;
    set_env(b, assignment, v);
    switch (s->kind) {
    case SPACE_STEP_NUMBER:
        return space_group_number(b->g, s->sub, b->env);
    case SPACE_STEP_TEST:
        return space_problem_test(b->g->problem, s->e, s->constraint, b->env) ? SPACE_TRUE : SPACE_FALSE;
    case SPACE_STEP_GUARD:
        if (expr_eval_truth(s->e, b->env, &truth, NULL) != KW_OK)
            return SPACE_UNDECIDED;
        b->g->problem->tally[s->constraint].failed += !truth;
        return truth ? SPACE_TRUE : SPACE_FALSE;
    }
    return SPACE_UNDECIDED;
}

/* The results of a test for all values of the new variable at once. Where that fails it will again: never after. */
static bool make_row(builder *b, space_step *s, const uint32_t *assignment)
{
    const space_plan *plan = b->plan;
    int slot = space_group_slot(b->g, b->order[plan->level]);
    set_env(b, assignment, 0);
    s->has_row = expr_eval_truth_many(s->e, b->env, slot, plan->integers, plan->n_values, s->row);
    if (!s->has_row) {
        s->row = NULL; /* the group's memory holds it */
        return false;
    }
    space_tally *tally = &b->g->problem->tally[s->constraint];
    for (size_t v = 0; v < plan->n_values; v++) {
        tally->passed += s->row[v];
        tally->failed += !s->row[v];
    }
    return true;
}

static uint32_t result_of(builder *b, space_step *s, const uint32_t *assignment, size_t v)
{
    if (s->row && (s->has_row || make_row(b, s, assignment)))
        return s->row[v] ? SPACE_TRUE : SPACE_FALSE;
    if (!s->table)
        return evaluate(b, s, assignment, v);
    uint32_t *entry = &s->table[s->base + v];
    if (*entry == UNKNOWN)
        *entry = evaluate(b, s, assignment, v);
    return *entry;
}

static bool passes(builder *b, const uint32_t *assignment, size_t v)
{
    space_plan *plan = b->plan;
    for (size_t i = 0; i < plan->n_tests; i++)
        if (result_of(b, &plan->tests[i], assignment, v) == SPACE_FALSE)
            return false;
    for (size_t i = 0; i < plan->n_guards; i++) {
        b->decided[i] = result_of(b, &plan->guards[i], assignment, v);
        if (b->decided[i] == SPACE_FALSE)
            return false;
    }
    return true;
}

static bool is_needed(const builder *b, const space_carry *c)
{
    if (c->always)
        return true;
    for (size_t i = 0; i < c->n_guards; i++)
        if (b->decided[c->guards[i]] == SPACE_UNDECIDED)
            return true;
    return false;
}

static void make_tuple(builder *b, const uint32_t *old, const uint32_t *assignment, size_t v)
{
    space_plan *plan = b->plan;
    for (size_t i = 0; i < plan->n_carries; i++) {
        space_carry *c = &plan->carries[i];
        if (!is_needed(b, c))
            b->tuple[i] = SPACE_ANY;
        else
            b->tuple[i] = c->copy != SIZE_MAX ? old[c->copy] : result_of(b, &c->step, assignment, v);
    }
}

/* ---- one level ---- */

static void set_base(space_step *s, const uint32_t *tuple)
{
    s->base = 0;
    s->has_row = false;
    for (size_t i = 0; s->table && i < s->n_inputs; i++)
        s->base += tuple[s->inputs[i]] * s->strides[i];
}

static void set_bases(space_plan *plan, const uint32_t *tuple)
{
    for (size_t i = 0; i < plan->n_tests; i++)
        set_base(&plan->tests[i], tuple);
    for (size_t i = 0; i < plan->n_guards; i++)
        set_base(&plan->guards[i], tuple);
    for (size_t i = 0; i < plan->n_carries; i++)
        set_base(&plan->carries[i].step, tuple);
}

static size_t bytes_now(const builder *b, const space_raw_level *raw)
{
    return b->held + raw->capacity * sizeof *raw->edges + raw->n_nodes * sizeof *raw->first + b->plan->table_bytes +
           space_states_bytes(&b->from) + space_states_bytes(&b->to);
}

/* Names the level and the pending constraint whose subexpressions take the most different values. */
static kw_code too_large(const builder *b, kw_error *err);

static kw_code check(builder *b, const space_raw_level *raw, kw_error *err)
{
    if (bytes_now(b, raw) > b->max_bytes || raw->n_edges > MAX_EDGES - b->plan->n_values)
        return too_large(b, err);
    b->transitions += b->plan->n_values;
    if (b->transitions < CHECK_EVERY)
        return KW_OK;
    b->transitions = 0;
    return space_watch_check(b->g->problem->watch, err);
}

/* Expands all states of `from` into `to`. */
static kw_code expand(builder *b, space_raw_level *raw, kw_error *err)
{
    space_plan *plan = b->plan;
    size_t param = b->g->params[b->order[plan->level]];
    const uint32_t *domain = b->g->problem->domain[param];
    raw->param = param;
    raw->n_nodes = b->from.n;
    raw->first = mem_alloc((raw->n_nodes + 1) * sizeof *raw->first);
    raw->first[0] = 0;
    b->env_of = NULL;
    kw_code code = KW_OK;
    for (size_t s = 0; s < b->from.n && code == KW_OK; s++) {
        const uint32_t *old = b->from.tuples + s * b->from.width;
        const uint32_t *assignment = b->from.assignments + s * b->from.depth;
        raw->edges = mem_grow(raw->edges, &raw->capacity, raw->n_edges + plan->n_values, sizeof *raw->edges);
        code = check(b, raw, err);
        set_bases(plan, old);
        for (size_t v = 0; v < plan->n_values && code == KW_OK; v++) {
            if (!passes(b, assignment, v))
                continue;
            make_tuple(b, old, assignment, v);
            uint32_t child = space_states_add(&b->to, b->tuple, assignment, (uint32_t)v);
            raw->edges[raw->n_edges++] = (space_raw_edge){domain[v], child};
        }
        raw->first[s + 1] = (uint32_t)raw->n_edges;
    }
    return code;
}

static kw_code too_large(const builder *b, kw_error *err)
{
    const space_def *def = b->g->problem->def;
    const space_group_term *worst = NULL;
    double most = 0;
    bool *assigned = mem_calloc(b->g->n_vars, sizeof *assigned);
    for (size_t k = 0; k <= b->plan->level; k++)
        assigned[b->order[k]] = true;
    for (size_t i = 0; i < b->g->n_terms; i++) {
        space_frontier f = space_group_frontier(b->g, i, assigned);
        double size = 1;
        for (size_t k = 0; k < f.n; k++)
            size *= (double)(b->g->subs[f.subs[k]].n_values + 1);
        if (size > most) {
            most = size;
            worst = &b->g->terms[i];
        }
    }
    free(assigned);
    return kw_error_set(err, KW_BAD_INPUT,
                        "the search space needs more than %zu MiB: %zu partial configurations differ once '%s' has a "
                        "value, most of them because of the constraint '%s'; list fewer values or write it with "
                        "parts that take fewer values (products, remainders)",
                        b->max_bytes >> 20, b->to.n, def->params[b->g->params[b->order[b->plan->level]]].name,
                        worst ? def->constraints[worst->term->constraint].text : "");
}

/* The tuples of the next level are made of the plan's carries. */
static void advance(builder *b)
{
    space_plan *plan = b->plan;
    space_states_free(&b->from);
    b->from = b->to;
    b->to = (space_states){0};
    b->subs = mem_realloc(b->subs, plan->n_carries * sizeof *b->subs);
    b->n_subs = plan->n_carries;
    for (size_t i = 0; i < plan->n_carries; i++)
        b->subs[i] = plan->carries[i].sub;
}

static kw_code build_level(builder *b, size_t level, kw_error *err)
{
    size_t used = b->held + space_states_bytes(&b->from);
    b->plan = space_plan_new(b->g, b->order, level, b->subs, b->n_subs, b->from.n,
                             used < b->max_bytes ? (b->max_bytes - used) / 4 : 0);
    b->tuple = mem_realloc(b->tuple, b->plan->n_carries * sizeof *b->tuple);
    b->decided = mem_realloc(b->decided, b->plan->n_guards * sizeof *b->decided);
    space_states_start(&b->to, b->plan->n_carries, level + 1);
    space_raw_level *raw = &b->levels[level];
    kw_code code = expand(b, raw, err);
    if (code == KW_OK && b->to.n == 0)
        code = KW_FAILED;
    b->held += raw->capacity * sizeof *raw->edges + raw->n_nodes * sizeof *raw->first;
    space_plan_free_tables(b->plan);
    advance(b);
    return code;
}

static kw_code build_levels(builder *b, kw_error *err)
{
    uint32_t nothing = 0;
    space_states_start(&b->from, 0, 0);
    space_states_add(&b->from, &nothing, &nothing, 0);
    kw_code code = KW_OK;
    for (size_t k = 0; k < b->g->n_vars && code == KW_OK; k++)
        code = build_level(b, k, err);
    space_states_free(&b->from);
    space_states_free(&b->to);
    free(b->subs);
    free(b->tuple);
    free(b->decided);
    return code;
}

static kw_code build_tied(space_group *g, size_t max_bytes, space_part *out, kw_error *err)
{
    builder b = {.g = g, .max_bytes = max_bytes};
    b.order = space_order_find(g);
    b.levels = mem_calloc(g->n_vars, sizeof *b.levels);
    b.env = mem_alloc((g->problem->def->scope_size + 1) * sizeof *b.env);
    memcpy(b.env, g->env, g->problem->def->scope_size * sizeof *b.env);
    kw_code code = build_levels(&b, err);
    if (code == KW_OK) {
        code = space_reduce(b.levels, g->n_vars, max_bytes, g->problem->watch, out, err);
        if (code == KW_OK && out->n_levels == 0)
            code = KW_FAILED;
    } else {
        for (size_t k = 0; k < g->n_vars; k++) {
            free(b.levels[k].first);
            free(b.levels[k].edges);
        }
    }
    free(b.levels);
    free(b.order);
    free(b.env);
    return code;
}

/* A parameter that no constraint ties to another: one node, one edge per value left. */
static void build_free(const space_problem *p, size_t param, space_part *out)
{
    size_t n = p->n_domain[param];
    out->levels = mem_calloc(1, sizeof *out->levels);
    out->n_levels = 1;
    out->count = n;
    space_level *l = out->levels;
    l->param = param;
    l->n_nodes = 1;
    l->first = mem_alloc(2 * sizeof *l->first);
    l->first[0] = 0;
    l->first[1] = (uint32_t)n;
    l->edges = mem_alloc(n * sizeof *l->edges);
    for (size_t i = 0; i < n; i++)
        l->edges[i] = (space_edge){p->domain[param][i], 0, i};
}

kw_code space_build_part(const space_problem *p, size_t group, size_t max_bytes, space_part *out, kw_error *err)
{
    size_t members = 0, param = 0;
    for (size_t i = 0; i < p->def->n_params; i++) {
        if (p->group[i] == group) {
            members++;
            param = i;
        }
    }
    if (members == 1) {
        build_free(p, param, out);
        return KW_OK;
    }
    space_group *g = space_group_new(p, group);
    kw_code code = build_tied(g, max_bytes, out, err);
    space_group_free(g);
    return code;
}
