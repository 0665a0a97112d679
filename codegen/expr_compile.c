/* Tree -> three-address code. Operands name a place (environment, constant, temp), so that the usual constraint is a
 * handful of instructions without copies. The code of every subtree is one contiguous run, so that each node can be
 * evaluated by itself. */
#include "codegen/expr_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct compiler {
    arena *memory;
    instr *instrs;
    const expr **nodes;
    size_t n, capacity, node_capacity;
    value *constants;
    size_t n_constants, constant_capacity;
    uint32_t top, most;             /* temps in use, and the most ever */
    uint32_t local[EXPR_MAX_DEPTH]; /* temp of the variable of each level */
    expr_code *code;
} compiler;

static uint32_t operand(uint32_t index, uint32_t space)
{
    return index << 2 | space;
}

static uint32_t temp(compiler *c, uint32_t n)
{
    uint32_t first = c->top;
    c->top += n;
    if (c->top > c->most)
        c->most = c->top;
    return first;
}

static size_t emit(compiler *c, const expr *e, expr_op op, uint32_t dst, uint32_t a, uint32_t b)
{
    c->instrs = mem_grow(c->instrs, &c->capacity, c->n + 1, sizeof *c->instrs);
    c->nodes = mem_grow(c->nodes, &c->node_capacity, c->n + 1, sizeof(expr *));
    c->instrs[c->n] = (instr){(uint16_t)op, (uint16_t)dst, a, b};
    c->nodes[c->n] = e;
    return c->n++;
}

static void land_here(compiler *c, size_t jump)
{
    c->instrs[jump].b = (uint32_t)c->n;
}

static uint32_t constant(compiler *c, value v)
{
    c->constants = mem_grow(c->constants, &c->constant_capacity, c->n_constants + 1, sizeof *c->constants);
    c->constants[c->n_constants] = v;
    return operand((uint32_t)c->n_constants++, SPACE_CONST);
}

static void emit_into(compiler *c, expr *e, uint32_t dst);

/* 12*1024 and the like: numbers that need no environment. */
static bool constant_number(const expr *e, value *out)
{
    op_context context = {.elements = 0};
    value a, b;
    if (e->kind == NODE_CONST) {
        *out = e->constant;
        return value_is_number(*out);
    }
    if (e->kind == NODE_UNARY)
        return constant_number(e->kids[0], &a) && expr_op_apply1(&context, e->op, a, out);
    return e->kind == NODE_BINARY && constant_number(e->kids[0], &a) && constant_number(e->kids[1], &b) &&
           expr_op_apply2(&context, e->op, a, b, out);
}

static bool is_leaf(compiler *c, expr *e, uint32_t *where)
{
    value v;
    if (e->kind == NODE_SLOT)
        *where = operand((uint32_t)e->slot, SPACE_ENV);
    else if (e->kind == NODE_LOCAL)
        *where = operand(c->local[e->slot], SPACE_TEMP);
    else if (e->kind == NODE_CONST)
        *where = constant(c, e->constant);
    else if (constant_number(e, &v))
        *where = constant(c, v);
    else
        return false;
    e->code = c->code;
    e->result = *where;
    return true;
}

/* Where the value of the subtree will be; a leaf needs no code. */
static uint32_t place_of(compiler *c, expr *e)
{
    uint32_t where;
    if (is_leaf(c, e, &where))
        return where;
    uint32_t t = temp(c, 1);
    emit_into(c, e, t);
    return operand(t, SPACE_TEMP);
}

static void emit_compare(compiler *c, expr *e, uint32_t dst)
{
    size_t *jumps = arena_alloc(c->memory, e->n * sizeof *jumps);
    uint32_t left = place_of(c, e->kids[0]);
    for (size_t i = 1; i < e->n; i++) {
        uint32_t right = place_of(c, e->kids[i]);
        emit(c, e, e->ops[i - 1], dst, left, right);
        if (i + 1 < e->n)
            jumps[i] = emit(c, e, OP_JUMP_IF_FALSE, 0, operand(dst, SPACE_TEMP), 0);
        left = right;
    }
    for (size_t i = 1; i + 1 < e->n; i++)
        land_here(c, jumps[i]);
}

/* The value of `a and b` is that of the operand that decided, as in Python. */
static void emit_logic(compiler *c, expr *e, uint32_t dst)
{
    expr_op jump = e->kind == NODE_AND ? OP_JUMP_IF_FALSE : OP_JUMP_IF_TRUE;
    size_t *jumps = arena_alloc(c->memory, e->n * sizeof *jumps);
    for (size_t i = 0; i < e->n; i++) {
        emit_into(c, e->kids[i], dst);
        if (i + 1 < e->n)
            jumps[i] = emit(c, e->kids[i], jump, 0, operand(dst, SPACE_TEMP), 0);
    }
    for (size_t i = 0; i + 1 < e->n; i++)
        land_here(c, jumps[i]);
}

static void emit_if(compiler *c, expr *e, uint32_t dst)
{
    size_t skip_then = emit(c, e->kids[0], OP_JUMP_IF_FALSE, 0, place_of(c, e->kids[0]), 0);
    emit_into(c, e->kids[1], dst);
    size_t skip_else = emit(c, e, OP_JUMP, 0, 0, 0);
    land_here(c, skip_then);
    emit_into(c, e->kids[2], dst);
    land_here(c, skip_else);
}

static void emit_range(compiler *c, expr *e, uint32_t dst)
{
    static const int64_t fallback[] = {0, 0, 1};
    uint32_t t = temp(c, 3);
    for (uint32_t i = 0; i < 3; i++) {
        size_t kid = e->n == 1 ? i - 1 : i; /* range(stop) */
        if (kid < e->n)
            emit_into(c, e->kids[kid], t + i);
        else
            emit(c, e, OP_MOVE, t + i, constant(c, value_int(fallback[i])), 0);
    }
    emit(c, e, OP_RANGE, dst, operand(t, SPACE_TEMP), 0);
}

static void emit_call(compiler *c, expr *e, uint32_t dst)
{
    if (e->op == OP_RANGE) {
        emit_range(c, e, dst);
    } else if (e->n == 1) {
        expr_op op = e->op == OP_MIN ? OP_MIN_LIST : e->op == OP_MAX ? OP_MAX_LIST : e->op;
        emit(c, e, op, dst, place_of(c, e->kids[0]), 0);
    } else {
        uint32_t left = place_of(c, e->kids[0]);
        for (size_t i = 1; i < e->n; i++) {
            uint32_t top = c->top;
            emit(c, e, e->op, dst, left, place_of(c, e->kids[i]));
            c->top = top;
            left = operand(dst, SPACE_TEMP);
        }
    }
}

static void emit_clauses(compiler *c, expr *e, size_t i, uint32_t dst)
{
    if (i + 1 == e->n) {
        emit(c, e, OP_LIST_PUSH, dst, place_of(c, e->kids[0]), 0);
        return;
    }
    const comprehension_clause *clause = &e->clauses[i];
    expr *kid = e->kids[i + 1];
    if (!clause->name) {
        size_t skip = emit(c, kid, OP_JUMP_IF_FALSE, 0, place_of(c, kid), 0);
        emit_clauses(c, e, i + 1, dst);
        land_here(c, skip);
        return;
    }
    uint32_t t = temp(c, 3);
    emit_into(c, kid, t);
    emit(c, e, OP_MOVE, t + 1, constant(c, value_int(0)), 0);
    c->local[clause->level] = t + 2;
    size_t next = emit(c, kid, OP_NEXT, t, 0, 0);
    emit_clauses(c, e, i + 1, dst);
    emit(c, e, OP_JUMP, 0, 0, (uint32_t)next);
    land_here(c, next);
}

static void emit_node(compiler *c, expr *e, uint32_t dst)
{
    switch (e->kind) {
    case NODE_UNARY:
        emit(c, e, e->op, dst, place_of(c, e->kids[0]), 0);
        break;
    case NODE_BINARY:
    case NODE_INDEX: {
        uint32_t left = place_of(c, e->kids[0]);
        emit(c, e, e->op, dst, left, place_of(c, e->kids[1]));
        break;
    }
    case NODE_COMPARE:
        emit_compare(c, e, dst);
        break;
    case NODE_AND:
    case NODE_OR:
        emit_logic(c, e, dst);
        break;
    case NODE_IF:
        emit_if(c, e, dst);
        break;
    case NODE_CALL:
        emit_call(c, e, dst);
        break;
    case NODE_LIST:
        emit(c, e, OP_LIST_NEW, dst, 0, 0);
        for (size_t i = 0; i < e->n; i++) {
            uint32_t top = c->top;
            emit(c, e->kids[i], OP_LIST_PUSH, dst, place_of(c, e->kids[i]), 0);
            c->top = top;
        }
        break;
    case NODE_COMPREHENSION:
        emit(c, e, OP_LIST_NEW, dst, 0, 0);
        emit_clauses(c, e, 0, dst);
        break;
    case NODE_CONST:
    case NODE_SLOT:
    case NODE_LOCAL:
        break; /* leaves */
    }
}

static void emit_into(compiler *c, expr *e, uint32_t dst)
{
    uint32_t where, top = c->top;
    if (is_leaf(c, e, &where)) {
        emit(c, e, OP_MOVE, dst, where, 0);
        return;
    }
    e->code = c->code;
    e->from = (uint32_t)c->n;
    emit_node(c, e, dst);
    e->to = (uint32_t)c->n;
    e->result = operand(dst, SPACE_TEMP);
    c->top = top;
}

static void give_text(arena *a, expr *e, const expr_source *source)
{
    e->text = arena_strndup(a, source->text + e->at, e->end - e->at);
    for (size_t i = 0; i < e->n; i++)
        give_text(a, e->kids[i], source);
}

static void *keep(arena *a, void *items, size_t bytes)
{
    void *copy = arena_alloc(a, bytes);
    if (bytes)
        memcpy(copy, items, bytes);
    free(items);
    return copy;
}

kw_code expr_finish(arena *a, expr *root, const expr_source *source, language lang, kw_error *err)
{
    expr_code *code = arena_alloc(a, sizeof *code);
    compiler c = {.memory = a, .code = code};
    place_of(&c, root);
    code->source = source;
    code->lang = lang;
    code->n_temps = c.most;
    code->constants = keep(a, c.constants, c.n_constants * sizeof *c.constants);
    code->instrs = keep(a, c.instrs, c.n * sizeof *c.instrs);
    code->nodes = keep(a, c.nodes, c.n * sizeof(expr *));
    if (c.most > EXPR_MAX_TEMPS)
        return expr_source_error(source, 0, err, "the expression is too complicated to evaluate");
    give_text(a, root, source);
    root->text = source->text;
    return KW_OK;
}
