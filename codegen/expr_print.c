/* Tree -> canonical text, which reads back as the same tree. */
#include "codegen/expr_internal.h"

#include <math.h>
#include <string.h>

/* How tightly a node's outermost operator binds. */
typedef enum precedence {
    PREC_IF,
    PREC_OR,
    PREC_AND,
    PREC_NOT,
    PREC_COMPARE,
    PREC_SUM,
    PREC_TERM,
    PREC_UNARY,
    PREC_POWER,
    PREC_ATOM
} precedence;

/* Written with a minus, which binds less tightly than ** and []. */
static bool is_negative(value v)
{
    return v.kind == VALUE_INT ? v.as.integer < 0 : v.kind == VALUE_REAL && signbit(v.as.real);
}

static precedence precedence_of(const expr *e)
{
    switch (e->kind) {
    case NODE_CONST:
        return is_negative(e->constant) ? PREC_UNARY : PREC_ATOM;
    case NODE_UNARY:
        return e->op == OP_NOT ? PREC_NOT : PREC_UNARY;
    case NODE_BINARY:
        return e->op == OP_POW ? PREC_POWER : e->op == OP_ADD || e->op == OP_SUB ? PREC_SUM : PREC_TERM;
    case NODE_COMPARE:
        return PREC_COMPARE;
    case NODE_AND:
        return PREC_AND;
    case NODE_OR:
        return PREC_OR;
    case NODE_IF:
        return PREC_IF;
    case NODE_SLOT:
    case NODE_LOCAL:
    case NODE_CALL:
    case NODE_LIST:
    case NODE_INDEX:
    case NODE_COMPREHENSION:
        break;
    }
    return PREC_ATOM;
}

static void print_node(expr *e, strb *out);

/* In parentheses if it binds less tightly than its place needs. */
static void print_at(expr *e, precedence least, strb *out)
{
    bool wrap = precedence_of(e) < least;
    strb_add(out, wrap ? "(" : "");
    print_node(e, out);
    strb_add(out, wrap ? ")" : "");
}

static void print_unary(expr *e, strb *out)
{
    if (e->op == OP_NOT) {
        strb_add(out, "not ");
        print_at(e->kids[0], PREC_NOT, out);
        return;
    }
    strb_add(out, expr_op_symbol(e->op));
    print_at(e->kids[0], PREC_UNARY, out);
}

static void print_binary(expr *e, strb *out)
{
    precedence own = precedence_of(e);
    bool is_power = e->op == OP_POW;
    print_at(e->kids[0], is_power ? PREC_ATOM : own, out);
    strb_printf(out, is_power ? "%s" : " %s ", expr_op_symbol(e->op));
    print_at(e->kids[1], is_power ? PREC_UNARY : (precedence)(own + 1), out);
}

static void print_row(expr *e, precedence least, const char *between, strb *out)
{
    for (size_t i = 0; i < e->n; i++) {
        strb_add(out, i ? between : "");
        print_at(e->kids[i], least, out);
    }
}

static void print_compare(expr *e, strb *out)
{
    print_at(e->kids[0], PREC_SUM, out);
    for (size_t i = 1; i < e->n; i++) {
        strb_printf(out, " %s ", expr_op_symbol(e->ops[i - 1]));
        print_at(e->kids[i], PREC_SUM, out);
    }
}

static void print_if(expr *e, strb *out)
{
    print_at(e->kids[1], PREC_OR, out);
    strb_add(out, " if ");
    print_at(e->kids[0], PREC_OR, out);
    strb_add(out, " else ");
    print_at(e->kids[2], PREC_IF, out);
}

static void print_comprehension(expr *e, strb *out)
{
    strb_add_char(out, '[');
    print_at(e->kids[0], PREC_IF, out);
    for (size_t i = 0; i + 1 < e->n; i++) {
        if (e->clauses[i].name)
            strb_printf(out, " for %s in ", e->clauses[i].name);
        else
            strb_add(out, " if ");
        print_at(e->kids[i + 1], PREC_OR, out);
    }
    strb_add_char(out, ']');
}

static void print_node(expr *e, strb *out)
{
    e->at = out->length;
    switch (e->kind) {
    case NODE_CONST:
        value_print_source(e->constant, out);
        break;
    case NODE_SLOT:
    case NODE_LOCAL:
        strb_add(out, e->name);
        break;
    case NODE_UNARY:
        print_unary(e, out);
        break;
    case NODE_BINARY:
        print_binary(e, out);
        break;
    case NODE_COMPARE:
        print_compare(e, out);
        break;
    case NODE_AND:
        print_row(e, PREC_NOT, " and ", out);
        break;
    case NODE_OR:
        print_row(e, PREC_AND, " or ", out);
        break;
    case NODE_IF:
        print_if(e, out);
        break;
    case NODE_CALL:
        strb_printf(out, "%s(", expr_op_symbol(e->op));
        print_row(e, PREC_IF, ", ", out);
        strb_add_char(out, ')');
        break;
    case NODE_LIST:
        strb_add_char(out, '[');
        print_row(e, PREC_IF, ", ", out);
        strb_add_char(out, ']');
        break;
    case NODE_INDEX:
        print_at(e->kids[0], PREC_ATOM, out);
        strb_add_char(out, '[');
        print_at(e->kids[1], PREC_IF, out);
        strb_add_char(out, ']');
        break;
    case NODE_COMPREHENSION:
        print_comprehension(e, out);
        break;
    }
    e->end = out->length;
}

const expr *expr_rewritten(arena *a, expr *root, const expr_where *where, language lang)
{
    strb text = STRB_INIT;
    print_node(root, &text);
    expr_source *source = arena_alloc(a, sizeof *source);
    source->text = arena_strdup(a, strb_text(&text));
    source->length = text.length;
    source->rewritten = true;
    if (where)
        source->where = *where;
    strb_clear(&text);
    return expr_finish(a, root, source, lang, NULL) == KW_OK ? root : NULL;
}

const expr *expr_constant(arena *a, value v)
{
    expr *e = expr_node_new(a, NODE_CONST, 0);
    e->constant = value_copy(v, a);
    return expr_rewritten(a, e, NULL, LANGUAGE_OPENCL);
}
