#include "support_problem.h"

#include <stdlib.h>
#include <string.h>

static void start(problem *out, size_t n_params, size_t n_constraints)
{
    memset(out, 0, sizeof *out);
    out->memory = arena_new();
    out->scope = expr_scope_new();
    out->def.n_params = n_params;
    out->def.params = out->params = arena_alloc(out->memory, (n_params + 1) * sizeof(space_param));
    out->def.n_constraints = n_constraints;
    out->constraints = arena_alloc(out->memory, (n_constraints + 1) * sizeof(space_constraint));
    out->def.constraints = out->constraints;
}

static kw_code add_param(problem *p, size_t i, const char *name, const char *values, kw_error *err)
{
    expr_where where = {name, 1, 1};
    expr_scope *nothing = expr_scope_new();
    const expr *e = expr_parse(p->memory, values, nothing, where, err);
    expr_scope_free(nothing);
    value list;
    if (!e || expr_eval(e, NULL, p->memory, &list, err) != KW_OK)
        return KW_BAD_INPUT;
    if (list.kind != VALUE_LIST)
        return kw_error_set(err, KW_BAD_INPUT, "%s: values are not a list", name);
    space_param *q = &p->params[i];
    q->name = arena_strdup(p->memory, name);
    q->values = list.as.list.items;
    q->n_values = list.as.list.n;
    q->slot = expr_scope_add(p->scope, q->name, EXPR_PARAM);
    return KW_OK;
}

static kw_code add_constraint(problem *p, size_t i, const char *text, kw_error *err)
{
    space_constraint *c = &p->constraints[i];
    expr_where where = {NULL, 0, 0};
    c->text = arena_strdup(p->memory, text);
    c->test = expr_parse(p->memory, c->text, p->scope, where, err);
    return c->test ? KW_OK : KW_BAD_INPUT;
}

static void finish(problem *p)
{
    p->def.scope_size = (size_t)expr_scope_size(p->scope);
    value *env = arena_alloc(p->memory, (p->def.scope_size + 1) * sizeof *env);
    for (size_t i = 0; i < p->def.scope_size; i++)
        env[i] = value_none();
    p->def.env = env;
}

kw_code problem_make(const problem_param *params, size_t n_params, const char *const *constraints, size_t n_constraints,
                     problem *out, kw_error *err)
{
    kw_code code = KW_OK;
    start(out, n_params, n_constraints);
    for (size_t i = 0; i < n_params && code == KW_OK; i++)
        code = add_param(out, i, params[i].name, params[i].values, err);
    for (size_t i = 0; i < n_constraints && code == KW_OK; i++)
        code = add_constraint(out, i, constraints[i], err);
    finish(out);
    if (code != KW_OK)
        problem_clear(out);
    return code;
}

bool problem_allows(const problem *p, const uint32_t *config)
{
    arena *scratch = arena_new();
    value *env = arena_alloc(scratch, (p->def.scope_size + 1) * sizeof *env);
    if (p->def.scope_size)
        memcpy(env, p->def.env, p->def.scope_size * sizeof *env);
    for (size_t i = 0; i < p->def.n_params; i++)
        env[p->def.params[i].slot] = p->def.params[i].values[config[i]];
    bool valid = true;
    for (size_t i = 0; i < p->def.n_constraints && valid; i++) {
        bool truth = false;
        valid = expr_eval_truth(p->def.constraints[i].test, env, &truth, NULL) == KW_OK && truth;
    }
    arena_free(scratch);
    return valid;
}
