#include "tuner/space_group.h"

#include "base/counter_rng.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 192       /* evaluations for one estimate */
#define GUARD_SAMPLES 24  /* to find out whether a term may be decided early */
#define SCRATCH_UNTIL 512 /* evaluations between two clearings of the scratch memory */

size_t space_group_domain(const space_group *g, size_t var)
{
    return g->problem->n_domain[g->params[var]];
}

value space_group_value(const space_group *g, size_t var, size_t i)
{
    size_t param = g->params[var];
    return g->problem->def->params[param].values[g->problem->domain[param][i]];
}

int space_group_slot(const space_group *g, size_t var)
{
    return g->problem->def->params[g->params[var]].slot;
}

static bool evaluate(space_group *g, const expr *e, const value *env, value *out)
{
    if (++g->evaluations > SCRATCH_UNTIL) {
        arena_reset(g->scratch);
        g->evaluations = 0;
    }
    return expr_eval(e, env, g->scratch, out, NULL) == KW_OK;
}

/* ---- numbering of values ---- */

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t hash_value(value v)
{
    uint64_t h = (uint64_t)v.kind;
    switch (v.kind) {
    case VALUE_NONE:
        break;
    case VALUE_BOOL:
        h ^= (uint64_t)v.as.boolean << 8;
        break;
    case VALUE_INT:
        h ^= (uint64_t)v.as.integer << 8 ^ (uint64_t)v.as.integer >> 56;
        break;
    case VALUE_REAL:
        h ^= counter_mix(bits_of(v.as.real));
        break;
    case VALUE_STRING:
        h = hash_u64(v.as.string, strlen(v.as.string), h);
        break;
    case VALUE_LIST:
        for (size_t i = 0; i < v.as.list.n; i++)
            h = counter_mix(h) + hash_value(v.as.list.items[i]);
        break;
    case VALUE_TYPE:
        h ^= (uint64_t)v.as.type << 8;
        break;
    }
    return counter_mix(h + 0x9e3779b97f4a7c15u);
}

static bool identical(value a, value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == VALUE_INT)
        return a.as.integer == b.as.integer;
    if (a.kind == VALUE_REAL)
        return bits_of(a.as.real) == bits_of(b.as.real);
    if (a.kind != VALUE_LIST)
        return value_equal(a, b);
    if (a.as.list.n != b.as.list.n)
        return false;
    for (size_t i = 0; i < a.as.list.n; i++)
        if (!identical(a.as.list.items[i], b.as.list.items[i]))
            return false;
    return true;
}

static value keep_value(arena *memory, value v)
{
    if (v.kind == VALUE_STRING) {
        v.as.string = arena_strdup(memory, v.as.string);
    } else if (v.kind == VALUE_LIST) {
        value *items = arena_alloc(memory, (v.as.list.n + 1) * sizeof *items);
        for (size_t i = 0; i < v.as.list.n; i++)
            items[i] = keep_value(memory, v.as.list.items[i]);
        v.as.list.items = items;
    }
    return v;
}

static uint64_t hash_outcome(value v, bool failed)
{
    return failed ? 1 : hash_value(v);
}

static void grow_numbers(space_sub *s)
{
    s->n_slots = s->n_slots ? 2 * s->n_slots : 64;
    free(s->slots);
    s->slots = mem_calloc(s->n_slots, sizeof *s->slots);
    for (size_t i = 0; i < s->n_values; i++) {
        size_t at = hash_outcome(s->values[i].content, s->values[i].failed) & (s->n_slots - 1);
        while (s->slots[at])
            at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = (uint32_t)(i + 1);
    }
}

uint32_t space_group_number(space_group *g, size_t sub, const value *env)
{
    space_sub *s = &g->subs[sub];
    value v;
    bool failed = !evaluate(g, s->e, env, &v);
    if (2 * (s->n_values + 1) > s->n_slots)
        grow_numbers(s);
    size_t at = hash_outcome(v, failed) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        const struct space_sub_value *known = &s->values[s->slots[at] - 1];
        if (known->failed == failed && (failed || identical(known->content, v)))
            return s->slots[at];
    }
    s->values = mem_grow(s->values, &s->values_capacity, s->n_values + 1, sizeof *s->values);
    s->values[s->n_values].content = failed ? value_none() : keep_value(g->memory, v);
    s->values[s->n_values].failed = failed;
    s->slots[at] = (uint32_t)++s->n_values;
    return s->slots[at];
}

/* ---- frontiers ---- */

/* Lists the variables that an expression uses; returns how many. */
static size_t find_vars(space_group *g, const expr *e, size_t **vars)
{
    size_t n = 0;
    *vars = arena_alloc(g->memory, g->n_vars * sizeof **vars);
    for (size_t i = 0; i < g->n_vars; i++)
        if (expr_uses(e, space_group_slot(g, i)))
            (*vars)[n++] = i;
    return n;
}

static size_t find_or_add_sub(space_group *g, const expr *e)
{
    for (size_t i = 0; i < g->n_subs; i++)
        if (g->subs[i].e == e || expr_same(g->subs[i].e, e))
            return i;
    g->subs = mem_grow(g->subs, &g->subs_capacity, g->n_subs + 1, sizeof *g->subs);
    space_sub *s = &g->subs[g->n_subs];
    *s = (space_sub){.e = e};
    s->n_vars = find_vars(g, e, &s->vars);
    return g->n_subs++;
}

space_frontier space_group_inner_frontier(space_group *g, const expr *e, const bool *assigned)
{
    for (size_t i = 0; i < g->n_vars; i++)
        g->assigned_slots[space_group_slot(g, i)] = assigned[i];
    const expr *few[32];
    const expr **found = few;
    size_t n = expr_frontier(e, g->assigned_slots, few, 32);
    if (n > 32) {
        found = mem_calloc(n, sizeof(void *));
        expr_frontier(e, g->assigned_slots, found, n);
    }
    size_t *subs = arena_alloc(g->memory, (n + 1) * sizeof *subs);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t sub = find_or_add_sub(g, found[i]), k = 0;
        while (k < kept && subs[k] != sub)
            k++;
        if (k == kept)
            subs[kept++] = sub;
    }
    if (found != few)
        free(found);
    return (space_frontier){subs, kept};
}

static void grow_known(space_group_term *t)
{
    struct space_known_frontier *old = t->known;
    size_t n_old = t->n_known;
    t->n_known = n_old ? 4 * n_old : 64;
    t->known = mem_calloc(t->n_known, sizeof *t->known);
    for (size_t i = 0; i < n_old; i++) {
        if (!old[i].frontier.subs)
            continue;
        size_t at = counter_mix(old[i].set) & (t->n_known - 1);
        while (t->known[at].frontier.subs)
            at = (at + 1) & (t->n_known - 1);
        t->known[at] = old[i];
    }
    free(old);
}

space_frontier space_group_frontier(space_group *g, size_t term, const bool *assigned)
{
    space_group_term *t = &g->terms[term];
    if (t->n_vars > 64)
        return space_group_inner_frontier(g, t->term->test, assigned);
    uint64_t set = 0;
    for (size_t i = 0; i < t->n_vars; i++)
        set |= (uint64_t)assigned[t->vars[i]] << i;
    if (2 * (t->used + 1) > t->n_known)
        grow_known(t);
    size_t at = counter_mix(set) & (t->n_known - 1);
    for (; t->known[at].frontier.subs; at = (at + 1) & (t->n_known - 1))
        if (t->known[at].set == set)
            return t->known[at].frontier;
    t->known[at].set = set;
    t->known[at].frontier = space_group_inner_frontier(g, t->term->test, assigned);
    t->used++;
    return t->known[at].frontier;
}

/* ---- estimates ---- */

/* Gives the variables values: the i-th of all combinations if there are at most SAMPLES, else the i-th random one. */
static void set_sample(space_group *g, const size_t *vars, size_t n_vars, double combinations, size_t i)
{
    size_t rest = i;
    for (size_t k = 0; k < n_vars; k++) {
        size_t n = space_group_domain(g, vars[k]);
        size_t at = combinations <= SAMPLES ? rest % n : counter_rng_u64(n_vars, vars[k], i) % n;
        rest /= n;
        g->env[space_group_slot(g, vars[k])] = space_group_value(g, vars[k], at);
    }
}

static void clear_sample(space_group *g, const size_t *vars, size_t n_vars)
{
    for (size_t k = 0; k < n_vars; k++)
        g->env[space_group_slot(g, vars[k])] = value_none();
}

static double combinations_of(const space_group *g, const size_t *vars, size_t n_vars)
{
    double product = 1;
    for (size_t k = 0; k < n_vars; k++)
        product *= (double)space_group_domain(g, vars[k]);
    return product;
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double space_group_estimate(space_group *g, size_t sub)
{
    space_sub *s = &g->subs[sub];
    if (s->estimate > 0)
        return s->estimate;
    uint64_t hashes[SAMPLES] = {0};
    double combinations = combinations_of(g, s->vars, s->n_vars);
    size_t n = combinations <= SAMPLES ? (size_t)combinations : SAMPLES;
    for (size_t i = 0; i < n; i++) {
        value v;
        set_sample(g, s->vars, s->n_vars, combinations, i);
        bool failed = !evaluate(g, s->e, g->env, &v);
        hashes[i] = hash_outcome(v, failed);
    }
    clear_sample(g, s->vars, s->n_vars);
    qsort(hashes, n, sizeof *hashes, compare_u64);
    size_t different = n > 0;
    double equal_pairs = 0;
    for (size_t i = 1, run = 1; i < n; i++) {
        bool same = hashes[i] == hashes[i - 1];
        equal_pairs += same ? (double)run : 0;
        run = same ? run + 1 : 1;
        different += !same;
    }
    if (combinations <= SAMPLES) {
        s->estimate = (double)different;
    } else { /* of m equally likely values, n draws have about n (n - 1) / 2m equal pairs */
        double m = equal_pairs > 0 ? (double)n * (double)(n - 1) / (2 * equal_pairs) : combinations;
        m = m < (double)different ? (double)different : m;
        s->estimate = m < combinations ? m : combinations;
    }
    return s->estimate;
}

static void estimate_pass_rate(space_group *g, space_group_term *t)
{
    double combinations = combinations_of(g, t->vars, t->n_vars);
    size_t n = combinations <= SAMPLES ? (size_t)combinations : SAMPLES, passed = 0;
    for (size_t i = 0; i < n; i++) {
        bool truth = false;
        set_sample(g, t->vars, t->n_vars, combinations, i);
        passed += expr_eval_truth(t->term->test, g->env, &truth, NULL) == KW_OK && truth;
    }
    clear_sample(g, t->vars, t->n_vars);
    t->pass_rate = ((double)passed + 0.5) / ((double)n + 0.5);
}

bool space_group_may_decide(space_group *g, size_t term, const bool *assigned)
{
    space_group_term *t = &g->terms[term];
    double combinations = combinations_of(g, t->vars, t->n_vars);
    if (combinations <= SAMPLES) /* random ones here, whatever the number */
        combinations = 2.0 * SAMPLES;
    for (size_t i = 0; i < GUARD_SAMPLES && !t->short_circuits; i++) {
        bool truth;
        set_sample(g, t->vars, t->n_vars, combinations, i);
        for (size_t k = 0; k < t->n_vars; k++)
            if (!assigned[t->vars[k]])
                g->env[space_group_slot(g, t->vars[k])] = value_none();
        t->short_circuits = expr_eval_truth(t->term->test, g->env, &truth, NULL) == KW_OK;
    }
    clear_sample(g, t->vars, t->n_vars);
    return t->short_circuits;
}

/* ---- a group from a problem ---- */

static void add_group_terms(space_group *g, size_t number)
{
    const space_problem *p = g->problem;
    g->terms = arena_alloc(g->memory, (p->n_terms + 1) * sizeof *g->terms);
    for (size_t i = 0; i < p->n_terms; i++) {
        if (p->group[p->terms[i].params[0]] != number)
            continue;
        space_group_term *t = &g->terms[g->n_terms++];
        t->term = &p->terms[i];
        t->n_vars = find_vars(g, t->term->test, &t->vars);
        estimate_pass_rate(g, t);
    }
}

space_group *space_group_new(const space_problem *p, size_t number)
{
    arena *memory = arena_new();
    space_group *g = arena_alloc(memory, sizeof *g);
    g->problem = p;
    g->memory = memory;
    g->scratch = arena_new();
    g->params = arena_alloc(memory, (p->def->n_params + 1) * sizeof *g->params);
    for (size_t i = 0; i < p->def->n_params; i++)
        if (p->group[i] == number)
            g->params[g->n_vars++] = i;
    size_t n_slots = p->def->scope_size + 1;
    g->env = arena_alloc(memory, n_slots * sizeof *g->env);
    memcpy(g->env, p->env, p->def->scope_size * sizeof *g->env);
    g->assigned_slots = arena_alloc(memory, n_slots * sizeof *g->assigned_slots);
    add_group_terms(g, number);
    return g;
}

void space_group_free(space_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_subs; i++) {
        free(g->subs[i].values);
        free(g->subs[i].slots);
    }
    free(g->subs);
    for (size_t i = 0; i < g->n_terms; i++)
        free(g->terms[i].known);
    arena_free(g->scratch);
    arena_free(g->memory);
}
