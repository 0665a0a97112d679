/* Partial evaluation. What is certainly evaluated may report its errors now; the rest keeps them for later, because a
 * guard such as `B == 0 or A // B > 1` may still make them unreachable. */
#include "codegen/expr_internal.h"

#include <string.h>

typedef struct folder {
    arena *memory;
    const value *env;
    language lang;
    expr_where where;
    kw_error *err;
} folder;

static expr *fold(folder *f, const expr *e, bool certain);

static bool is_closed(const folder *f, const expr *e)
{
    if (e->kind == NODE_SLOT)
        return f->env[e->slot].kind != VALUE_NONE;
    for (size_t i = 0; i < e->n; i++) {
        if (!is_closed(f, e->kids[i]))
            return false;
    }
    return true;
}

static expr *constant(folder *f, value v)
{
    expr *e = node_new(f->memory, NODE_CONST, 0);
    e->constant = value_copy(v, f->memory);
    return e;
}

/* The node without its kids. */
static expr *shell(folder *f, const expr *e, size_t n)
{
    expr *copy = node_new(f->memory, e->kind, n);
    copy->op = e->op;
    copy->slot = e->slot;
    if (e->name)
        copy->name = arena_strdup(f->memory, e->name);
    if (e->kind == NODE_CONST)
        copy->constant = value_copy(e->constant, f->memory);
    if (e->kind == NODE_COMPARE) {
        expr_op *ops = arena_alloc(f->memory, e->n * sizeof *ops);
        memcpy(ops, e->ops, (e->n - 1) * sizeof *ops);
        copy->ops = ops;
    }
    if (e->kind == NODE_COMPREHENSION) {
        comprehension_clause *clauses = arena_alloc(f->memory, e->n * sizeof *clauses);
        for (size_t i = 0; i + 1 < e->n; i++) {
            clauses[i] = e->clauses[i];
            if (clauses[i].name)
                clauses[i].name = arena_strdup(f->memory, clauses[i].name);
        }
        copy->clauses = clauses;
    }
    return copy;
}

/* A copy with the known slots replaced and nothing evaluated. */
static expr *substitute(folder *f, const expr *e)
{
    if (e->kind == NODE_SLOT && f->env[e->slot].kind != VALUE_NONE)
        return constant(f, f->env[e->slot]);
    expr *copy = shell(f, e, e->n);
    for (size_t i = 0; i < e->n; i++)
        copy->kids[i] = substitute(f, e->kids[i]);
    node_measure(copy);
    return copy;
}

/* Evaluates a node that needs no unknown slot. */
static expr *evaluate_closed(folder *f, const expr *e, bool certain)
{
    value v;
    if (expr_eval(e, f->env, f->memory, &v, certain ? f->err : NULL) == KW_OK)
        return constant(f, v);
    return certain ? NULL : substitute(f, e);
}

/* After its kids were folded: a node whose kids are all constants is one too. */
static expr *settle(folder *f, expr *e, bool certain)
{
    node_measure(e);
    for (size_t i = 0; i < e->n; i++) {
        if (e->kids[i]->kind != NODE_CONST)
            return e;
    }
    if (e->n == 0 || e->lowest_local != NO_LOCAL || !expr_rewritten(f->memory, e, &f->where, f->lang))
        return e;
    value v;
    if (expr_eval(e, f->env, f->memory, &v, certain ? f->err : NULL) == KW_OK)
        return constant(f, v);
    return certain ? NULL : e;
}

/* Drops terms that are known to let the next one decide, and what stands behind a term known to decide. */
static expr *fold_logic(folder *f, const expr *e, bool certain)
{
    expr *copy = shell(f, e, e->n);
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        expr *term = fold(f, e->kids[i], certain && n == 0);
        if (!term)
            return NULL;
        bool is_constant = term->kind == NODE_CONST;
        bool decides = is_constant && op_truth(term->constant) == (e->kind == NODE_OR);
        if (is_constant && !decides && i + 1 < e->n)
            continue;
        copy->kids[n++] = term;
        if (decides)
            break;
    }
    copy->n = n;
    node_measure(copy);
    return n == 1 ? copy->kids[0] : copy;
}

static expr *compare_constants(folder *f, expr_op op, expr *left, expr *right, bool certain)
{
    expr_op *ops = arena_alloc(f->memory, sizeof *ops);
    ops[0] = op;
    expr *pair = node_new(f->memory, NODE_COMPARE, 2);
    pair->ops = ops;
    pair->kids[0] = left;
    pair->kids[1] = right;
    return settle(f, pair, certain);
}

/* Compares leading constants: the chain is over at the first pair that does not hold. */
static expr *fold_compare(folder *f, const expr *e, bool certain)
{
    size_t first = 0; /* operands before it are done with */
    expr *left = fold(f, e->kids[0], certain);
    expr *right = left ? fold(f, e->kids[1], certain) : NULL;
    while (left && right && left->kind == NODE_CONST && right->kind == NODE_CONST) {
        expr *pair = compare_constants(f, e->ops[first], left, right, certain);
        if (!pair)
            return NULL;
        if (pair->kind != NODE_CONST)
            break; /* an error that may never be reached stays */
        if (!op_truth(pair->constant) || first + 2 == e->n)
            return pair;
        first++;
        left = right;
        right = fold(f, e->kids[first + 1], certain);
    }
    if (!left || !right)
        return NULL;
    expr *copy = shell(f, e, e->n - first);
    copy->ops += first;
    copy->kids[0] = left;
    copy->kids[1] = right;
    for (size_t i = 2; i < copy->n; i++)
        copy->kids[i] = fold(f, e->kids[first + i], false);
    node_measure(copy);
    return copy;
}

static expr *fold_if(folder *f, const expr *e, bool certain)
{
    expr *condition = fold(f, e->kids[0], certain);
    if (!condition)
        return NULL;
    if (condition->kind == NODE_CONST)
        return fold(f, e->kids[op_truth(condition->constant) ? 1 : 2], certain);
    expr *copy = shell(f, e, 3);
    copy->kids[0] = condition;
    copy->kids[1] = fold(f, e->kids[1], false);
    copy->kids[2] = fold(f, e->kids[2], false);
    node_measure(copy);
    return copy;
}

static expr *fold(folder *f, const expr *e, bool certain)
{
    if (e->lowest_local == NO_LOCAL && is_closed(f, e))
        return evaluate_closed(f, e, certain);
    if (e->kind == NODE_AND || e->kind == NODE_OR)
        return fold_logic(f, e, certain);
    if (e->kind == NODE_COMPARE)
        return fold_compare(f, e, certain);
    if (e->kind == NODE_IF)
        return fold_if(f, e, certain);
    expr *copy = shell(f, e, e->n);
    for (size_t i = 0; i < e->n; i++) {
        /* Of a comprehension only the first list is certain. */
        copy->kids[i] = fold(f, e->kids[i], certain && (e->kind != NODE_COMPREHENSION || i == 1));
        if (!copy->kids[i])
            return NULL;
    }
    return settle(f, copy, certain);
}

const expr *expr_fold(arena *a, const expr *e, const value *env, kw_error *err)
{
    folder f = {.memory = a, .env = env, .lang = e->code->lang, .where = e->code->source->where, .err = err};
    if (f.where.file)
        f.where.file = arena_strdup(a, f.where.file);
    expr *root = fold(&f, e, true);
    if (!root)
        return NULL;
    const expr *result = expr_rewritten(a, root, &f.where, f.lang);
    if (!result)
        kw_error_set(err, KW_BAD_INPUT, "%.200s: the expression is too complicated to evaluate", e->text);
    return result;
}
