#include "tuner/space_problem.h"

#include <stdlib.h>
#include <string.h>

bool space_problem_test(const space_problem *p, const expr *test, size_t constraint, const value *env)
{
    space_tally *tally = &p->tally[constraint];
    bool truth = false;
    kw_error err;
    kw_code code = expr_eval_truth(test, env, &truth, tally->first_error ? NULL : &err);
    if (code != KW_OK) {
        if (!tally->first_error)
            tally->first_error = mem_strdup(err.message);
        tally->errors++;
        return false;
    }
    tally->passed += truth;
    tally->failed += !truth;
    return truth;
}

static void add_terms(space_problem *p, const expr *e, size_t constraint)
{
    size_t n = expr_conjuncts(e, NULL, 0);
    const expr **parts = mem_calloc(n, sizeof(void *));
    expr_conjuncts(e, parts, n);
    p->terms = mem_grow(p->terms, &p->terms_capacity, p->n_terms + n, sizeof *p->terms);
    for (size_t i = 0; i < n; i++)
        p->terms[p->n_terms++] = (space_term){parts[i], constraint, NULL, 0};
    free(parts);
}

/* Folds what is known into a constraint and adds its conjuncts. false if it rejects everything. */
static bool add_folded(space_problem *p, const expr *e, size_t constraint)
{
    kw_error err;
    kw_error_clear(&err);
    const expr *folded = expr_fold(p->memory, e, p->env, &err);
    if (!folded) {
        space_tally *tally = &p->tally[constraint];
        tally->errors++;
        if (!tally->first_error)
            tally->first_error = mem_strdup(err.message);
        return false;
    }
    add_terms(p, folded, constraint);
    return true;
}

/* Lists the parameters that a term uses and that are not settled. */
static void find_params(space_problem *p, space_term *t)
{
    size_t n_slots = p->def->scope_size;
    bool *used = mem_calloc(n_slots, sizeof *used);
    bool *params = mem_calloc(p->def->n_params, sizeof *params);
    expr_used_slots(t->test, used);
    t->n_params = 0;
    for (size_t slot = 0; slot < n_slots; slot++) {
        size_t param = p->param_of[slot];
        if (used[slot] && param != SIZE_MAX && p->n_domain[param] > 1) {
            params[param] = true;
            t->n_params++;
        }
    }
    t->params = arena_alloc(p->memory, (t->n_params + 1) * sizeof *t->params);
    for (size_t i = 0, n = 0; i < p->def->n_params; i++)
        if (params[i])
            t->params[n++] = i;
    free(used);
    free(params);
}

/* Marks a parameter that has one value left as known. */
static void settle(space_problem *p, size_t param)
{
    const space_param *q = &p->def->params[param];
    p->env[q->slot] = q->values[p->domain[param][0]];
}

/* Keeps the values of the term's only parameter that pass it. */
static bool filter(space_problem *p, const space_term *t)
{
    size_t param = t->params[0], kept = 0;
    const space_param *q = &p->def->params[param];
    for (size_t i = 0; i < p->n_domain[param]; i++) {
        p->env[q->slot] = q->values[p->domain[param][i]];
        if (space_problem_test(p, t->test, t->constraint, p->env))
            p->domain[param][kept++] = p->domain[param][i];
    }
    p->env[q->slot] = value_none();
    p->n_domain[param] = kept;
    if (kept == 1)
        settle(p, param);
    return kept > 0;
}

/* Applies the terms of one parameter or none, and keeps the others. *settled: a parameter became known. */
static bool apply_small_terms(space_problem *p, bool *settled)
{
    size_t kept = 0;
    *settled = false;
    for (size_t i = 0; i < p->n_terms; i++) {
        space_term *t = &p->terms[i];
        find_params(p, t);
        if (t->n_params > 1) {
            p->terms[kept++] = *t;
        } else if (t->n_params == 0) {
            if (!space_problem_test(p, t->test, t->constraint, p->env))
                return false;
        } else {
            if (!filter(p, t))
                return false;
            *settled |= p->n_domain[t->params[0]] == 1;
        }
    }
    p->n_terms = kept;
    return true;
}

/* Folds the terms that use a parameter which has become known, and splits them again. */
static bool fold_settled(space_problem *p)
{
    space_term *old = p->terms;
    size_t n_old = p->n_terms;
    p->terms = NULL;
    p->n_terms = p->terms_capacity = 0;
    bool alive = true;
    for (size_t i = 0; i < n_old && alive; i++) {
        bool known = false;
        for (size_t j = 0; j < old[i].n_params; j++)
            known |= p->n_domain[old[i].params[j]] == 1;
        if (known) {
            alive = add_folded(p, old[i].test, old[i].constraint);
        } else {
            p->terms = mem_grow(p->terms, &p->terms_capacity, p->n_terms + 1, sizeof *p->terms);
            p->terms[p->n_terms++] = old[i];
        }
    }
    free(old);
    return alive;
}

static kw_code simplify(space_problem *p, const bool *use, kw_error *err)
{
    for (size_t i = 0; i < p->def->n_constraints; i++)
        if ((!use || use[i]) && !add_folded(p, p->def->constraints[i].test, i))
            return KW_FAILED;
    for (bool settled = true; settled;) {
        kw_code code = space_watch_check(p->watch, err);
        if (code != KW_OK)
            return code;
        if (!apply_small_terms(p, &settled))
            return KW_FAILED;
        if (settled && !fold_settled(p))
            return KW_FAILED;
    }
    return KW_OK;
}

static size_t find_root(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Parameters that share a term, directly or through others, form a group. */
static void make_groups(space_problem *p)
{
    size_t n = p->def->n_params;
    size_t *parent = mem_alloc(n * sizeof *parent);
    for (size_t i = 0; i < n; i++)
        parent[i] = i;
    for (size_t i = 0; i < p->n_terms; i++)
        for (size_t j = 1; j < p->terms[i].n_params; j++)
            parent[find_root(parent, p->terms[i].params[j])] = find_root(parent, p->terms[i].params[0]);
    size_t *number = mem_alloc(n * sizeof *number);
    for (size_t i = 0; i < n; i++)
        number[i] = SPACE_NO_GROUP;
    for (size_t i = 0; i < n; i++) {
        if (p->n_domain[i] == 1) {
            p->group[i] = SPACE_NO_GROUP;
            continue;
        }
        size_t root = find_root(parent, i);
        if (number[root] == SPACE_NO_GROUP)
            number[root] = p->n_groups++;
        p->group[i] = number[root];
    }
    free(parent);
    free(number);
}

static void start_domains(space_problem *p)
{
    const space_def *def = p->def;
    for (size_t i = 0; i < def->scope_size; i++)
        p->param_of[i] = SIZE_MAX;
    for (size_t i = 0; i < def->n_params; i++) {
        const space_param *q = &def->params[i];
        p->param_of[q->slot] = i;
        p->domain[i] = arena_alloc(p->memory, q->n_values * sizeof **p->domain);
        for (size_t k = 0; k < q->n_values; k++)
            p->domain[i][k] = (uint32_t)k;
        p->n_domain[i] = q->n_values;
        p->env[q->slot] = value_none();
        if (q->n_values == 1)
            settle(p, i);
    }
}

kw_code space_problem_new(const space_def *def, const bool *use, const space_watch *watch, space_tally *tally,
                          space_problem **out, kw_error *err)
{
    *out = NULL;
    arena *memory = arena_new();
    space_problem *p = arena_alloc(memory, sizeof *p);
    p->def = def;
    p->watch = watch;
    p->memory = memory;
    p->tally = tally;
    p->env = arena_alloc(memory, (def->scope_size + 1) * sizeof *p->env);
    if (def->scope_size)
        memcpy(p->env, def->env, def->scope_size * sizeof *p->env);
    p->param_of = arena_alloc(memory, (def->scope_size + 1) * sizeof *p->param_of);
    p->domain = arena_alloc(memory, (def->n_params + 1) * sizeof *p->domain);
    p->n_domain = arena_alloc(memory, (def->n_params + 1) * sizeof *p->n_domain);
    p->group = arena_alloc(memory, (def->n_params + 1) * sizeof *p->group);
    start_domains(p);
    kw_code code = simplify(p, use, err);
    if (code != KW_OK) {
        space_problem_free(p);
        return code;
    }
    make_groups(p);
    *out = p;
    return KW_OK;
}

void space_problem_free(space_problem *p)
{
    if (!p)
        return;
    free(p->terms);
    arena_free(p->memory);
}
