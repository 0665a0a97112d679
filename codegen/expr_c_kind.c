/* The kind that a subexpression has in C: an integer, a real, or a "number", whose kind depends on the operands (7 / 2
 * is a real, 8 / 2 an integer) and which is a small tagged struct at run time. */
#include "codegen/expr_internal.h"

typedef struct query {
    const expr_c_names *names;
    c_refusal *refusal;
} query;

static c_kind kind_of(query *q, const expr *e);

/* The kind of a value that is one of several. */
static c_kind join(query *q, const expr *e, size_t first)
{
    c_kind all = kind_of(q, e->kids[first]);
    for (size_t i = first + 1; i < e->n; i++) {
        c_kind k = kind_of(q, e->kids[i]);
        if (k != all && all != KIND_NONE)
            all = k == KIND_NONE ? KIND_NONE : KIND_NUMBER;
    }
    return all;
}

static c_kind arithmetic_kind(query *q, const expr *e)
{
    c_kind a = kind_of(q, e->kids[0]), b = kind_of(q, e->kids[1]);
    if (a == KIND_NONE || b == KIND_NONE)
        return KIND_NONE;
    if (a == KIND_REAL || b == KIND_REAL)
        return KIND_REAL;
    return a == KIND_INT && b == KIND_INT && e->op != OP_DIV ? KIND_INT : KIND_NUMBER;
}

static c_kind none(query *q, const expr *e, const char *why)
{
    q->refusal->node = e;
    q->refusal->why = why;
    return KIND_NONE;
}

static c_kind call_kind(query *q, const expr *e)
{
    switch ((int)e->op) {
    case OP_ABS:
        return kind_of(q, e->kids[0]);
    case OP_CEIL_DIV:
    case OP_ROUND_UP:
    case OP_IS_POW2:
        return KIND_INT;
    case OP_LOG2:
        return KIND_NUMBER;
    case OP_MIN:
    case OP_MAX:
        return e->n > 1 ? join(q, e, 0) : none(q, e, "a list");
    default:
        return none(q, e, expr_op_symbol(e->op));
    }
}

static c_kind kind_of(query *q, const expr *e)
{
    switch (e->kind) {
    case NODE_CONST:
        if (!value_is_number(e->constant))
            return none(q, e, value_kind_name(e->constant.kind));
        return e->constant.kind == VALUE_REAL ? KIND_REAL : KIND_INT;
    case NODE_SLOT:
        return q->names->is_real && q->names->is_real(e->slot, q->names->cookie) ? KIND_REAL : KIND_INT;
    case NODE_UNARY:
        return e->op == OP_NOT ? KIND_INT : kind_of(q, e->kids[0]);
    case NODE_BINARY:
        return e->op == OP_POW ? none(q, e, "**") : arithmetic_kind(q, e);
    case NODE_COMPARE:
        return KIND_INT;
    case NODE_AND:
    case NODE_OR:
        return join(q, e, 0);
    case NODE_IF:
        return join(q, e, 1);
    case NODE_CALL:
        return call_kind(q, e);
    case NODE_LOCAL:
    case NODE_LIST:
    case NODE_INDEX:
    case NODE_COMPREHENSION:
        break;
    }
    return none(q, e, e->kind == NODE_INDEX ? "an item of a list" : "a list");
}

/* Always 0 or 1? */
bool expr_c_is_condition(const expr *e)
{
    if (e->kind == NODE_AND || e->kind == NODE_OR) {
        for (size_t i = 0; i < e->n; i++) {
            if (!expr_c_is_condition(e->kids[i]))
                return false;
        }
        return true;
    }
    return e->kind == NODE_COMPARE || (e->kind == NODE_UNARY && e->op == OP_NOT) ||
           (e->kind == NODE_CALL && e->op == OP_IS_POW2) || (e->kind == NODE_CONST && e->constant.kind == VALUE_BOOL);
}

c_kind expr_c_kind(const expr *e, const expr_c_names *names, c_refusal *refusal)
{
    query q = {names, refusal};
    return kind_of(&q, e);
}
