/* Partial evaluation. What is certainly evaluated may report its errors now; the rest keeps them for later, because a
 * guard such as `B == 0 or A // B > 1` may still make them unreachable. */
#include "codegen/expr_internal.h"

#include <string.h>

#define MAX_CONSTANT_ITEMS 256

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
    expr *e = expr_node_new(f->memory, NODE_CONST, 0);
    e->constant = value_copy(v, f->memory);
    return e;
}

/* The node without its kids. */
static expr *shell(folder *f, const expr *e, size_t n)
{
    expr *copy = expr_node_new(f->memory, e->kind, n);
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

/* What the parser writes as one constant must be one here too: -(3), [1, 2]. */
static expr *as_parsed(folder *f, expr *e)
{
    bool is_number = e->kind == NODE_UNARY && e->op == OP_NEG && e->kids[0]->kind == NODE_CONST;
    if (is_number && e->kids[0]->constant.kind == VALUE_REAL)
        return constant(f, value_real(-e->kids[0]->constant.as.real));
    if (is_number && e->kids[0]->constant.kind == VALUE_INT && e->kids[0]->constant.as.integer != INT64_MIN)
        return constant(f, value_int(-e->kids[0]->constant.as.integer));
    if (e->kind != NODE_LIST)
        return e;
    value *items = arena_alloc(f->memory, e->n * sizeof *items);
    for (size_t i = 0; i < e->n; i++) {
        if (e->kids[i]->kind != NODE_CONST)
            return e;
        items[i] = e->kids[i]->constant;
    }
    return constant(f, (value){.kind = VALUE_LIST, .as.list = {items, e->n}});
}

/* A copy with the known slots replaced and nothing evaluated. */
static expr *substitute(folder *f, const expr *e)
{
    if (e->kind == NODE_SLOT && f->env[e->slot].kind != VALUE_NONE)
        return constant(f, f->env[e->slot]);
    expr *copy = shell(f, e, e->n);
    for (size_t i = 0; i < e->n; i++)
        copy->kids[i] = substitute(f, e->kids[i]);
    expr_node_measure(copy);
    return as_parsed(f, copy);
}

/* range(100000) is shorter text than what it makes. */
static bool is_long_list(value v)
{
    return v.kind == VALUE_LIST && v.as.list.n > MAX_CONSTANT_ITEMS;
}

/* Evaluates a node that needs no unknown slot. */
static expr *evaluate_closed(folder *f, const expr *e, bool certain)
{
    value v;
    if (expr_eval(e, f->env, f->memory, &v, certain ? f->err : NULL) == KW_OK)
        return is_long_list(v) ? substitute(f, e) : constant(f, v);
    return certain ? NULL : substitute(f, e);
}

/* After its kids were folded: a node whose kids are all constants is one too. */
static expr *settle(folder *f, expr *e, bool certain)
{
    expr_node_measure(e);
    for (size_t i = 0; i < e->n; i++) {
        if (e->kids[i]->kind != NODE_CONST)
            return e;
    }
    if (e->n == 0 || e->lowest_local != NO_LOCAL || !expr_rewritten(f->memory, e, &f->where, f->lang))
        return e;
    value v;
    if (expr_eval(e, f->env, f->memory, &v, certain ? f->err : NULL) == KW_OK)
        return is_long_list(v) ? e : constant(f, v);
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
        bool decides = is_constant && expr_op_truth(term->constant) == (e->kind == NODE_OR);
        if (is_constant && !decides && i + 1 < e->n)
            continue;
        copy->kids[n++] = term;
        if (decides)
            break;
    }
    copy->n = n;
    expr_node_measure(copy);
    return n == 1 ? copy->kids[0] : copy;
}

static expr *compare_constants(folder *f, expr_op op, expr *left, expr *right, bool certain)
{
    expr_op *ops = arena_alloc(f->memory, sizeof *ops);
    ops[0] = op;
    expr *pair = expr_node_new(f->memory, NODE_COMPARE, 2);
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
        if (!expr_op_truth(pair->constant) || first + 2 == e->n)
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
    expr_node_measure(copy);
    return copy;
}

static expr *fold_if(folder *f, const expr *e, bool certain)
{
    expr *condition = fold(f, e->kids[0], certain);
    if (!condition)
        return NULL;
    if (condition->kind == NODE_CONST)
        return fold(f, e->kids[expr_op_truth(condition->constant) ? 1 : 2], certain);
    expr *copy = shell(f, e, 3);
    copy->kids[0] = condition;
    copy->kids[1] = fold(f, e->kids[1], false);
    copy->kids[2] = fold(f, e->kids[2], false);
    expr_node_measure(copy);
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
    if (result && result->code->source->length <= EXPR_MAX_LENGTH)
        return result;
    kw_error_set(err, KW_BAD_INPUT, "%.200s: the expression is too long or too complicated once values are put in",
                 e->text);
    return NULL;
}
