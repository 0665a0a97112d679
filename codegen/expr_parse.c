/* Recursive descent: one function per precedence level, loosest first. */
#include "codegen/expr_parser.h"

#include <string.h>

static expr *parse_unary(parser *p);

static expr *binary(parser *p, expr_op op, expr *left, expr *right, size_t at)
{
    expr *e = expr_node_new(p->memory, NODE_BINARY, 2);
    e->op = op;
    e->kids[0] = left;
    e->kids[1] = right;
    return expr_parser_finish(p, e, at);
}

static expr *parse_postfix(parser *p)
{
    size_t at = p->next.at;
    expr *e = expr_parse_atom(p);
    while (e && expr_parser_at(p, "[")) {
        expr_parser_advance(p);
        expr *index = expr_parse_test(p);
        if (!index || !expr_parser_expect(p, "]", "`]`"))
            return NULL;
        expr *list = e;
        e = expr_node_new(p->memory, NODE_INDEX, 2);
        e->op = OP_INDEX;
        e->kids[0] = list;
        e->kids[1] = index;
        e = expr_parser_finish(p, e, at);
    }
    return e;
}

static expr *parse_power(parser *p)
{
    size_t at = p->next.at;
    expr *left = parse_postfix(p);
    if (!left || !expr_parser_accept(p, "**"))
        return left;
    expr *right = parse_unary(p);
    return right ? binary(p, OP_POW, left, right, at) : NULL;
}

/* The one integer whose magnitude does not fit without its sign. */
static expr *parse_least_integer(parser *p, size_t at)
{
    expr_parser_advance(p);
    if (expr_parser_at(p, "**"))
        return expr_parser_fail(p, at, "the integer does not fit in 64 bits");
    return expr_parser_constant(p, value_int(INT64_MIN), at);
}

/* A negated literal is a constant, so that canonical text reads back as the same tree. */
static expr *negated(parser *p, expr *operand, size_t at)
{
    if (operand->kind == NODE_CONST && operand->constant.kind == VALUE_INT && operand->constant.as.integer != INT64_MIN)
        return expr_parser_constant(p, value_int(-operand->constant.as.integer), at);
    if (operand->kind == NODE_CONST && operand->constant.kind == VALUE_REAL)
        return expr_parser_constant(p, value_real(-operand->constant.as.real), at);
    expr *e = expr_node_new(p->memory, NODE_UNARY, 1);
    e->op = OP_NEG;
    e->kids[0] = operand;
    return expr_parser_finish(p, e, at);
}

static expr *parse_unary(parser *p)
{
    size_t at = p->next.at;
    bool is_minus = expr_parser_at(p, "-"), is_plus = expr_parser_at(p, "+");
    if (!is_minus && !is_plus && !expr_parser_at(p, "!"))
        return parse_power(p);
    if (!expr_parser_enter(p))
        return NULL;
    expr_parser_advance(p);
    bool is_least = is_minus && p->next.kind == TOKEN_INT && p->next.is_min_magnitude;
    expr *operand = is_least ? parse_least_integer(p, at) : parse_unary(p);
    p->level--;
    if (is_least)
        return operand;
    if (!operand)
        return NULL;
    if (is_minus)
        return negated(p, operand, at);
    expr *e = expr_node_new(p->memory, NODE_UNARY, 1);
    e->op = is_plus ? OP_POS : OP_NOT;
    e->kids[0] = operand;
    return expr_parser_finish(p, e, at);
}

typedef struct operator_row {
    const char *symbol;
    expr_op op;
} operator_row;

static const operator_row term_operators[] = {
    {"*", OP_MUL}, {"/", OP_DIV}, {"//", OP_FLOOR_DIV}, {"%", OP_MOD}, {NULL, OP_ADD}};
static const operator_row sum_operators[] = {{"+", OP_ADD}, {"-", OP_SUB}, {NULL, OP_ADD}};

static const operator_row *accept_operator(parser *p, const operator_row *row)
{
    for (; row->symbol; row++) {
        if (p->next.kind == TOKEN_SYMBOL && expr_parser_accept(p, row->symbol))
            return row;
    }
    return NULL;
}

static expr *parse_term(parser *p)
{
    size_t at = p->next.at;
    expr *left = parse_unary(p);
    const operator_row *row;
    while (left && (row = accept_operator(p, term_operators))) {
        expr *right = parse_unary(p);
        left = right ? binary(p, row->op, left, right, at) : NULL;
    }
    return left;
}

static expr *parse_sum(parser *p)
{
    size_t at = p->next.at;
    expr *left = parse_term(p);
    const operator_row *row;
    while (left && (row = accept_operator(p, sum_operators))) {
        expr *right = parse_term(p);
        left = right ? binary(p, row->op, left, right, at) : NULL;
    }
    return left;
}

static bool accept_comparison(parser *p, expr_op *op)
{
    static const operator_row rows[] = {{"<", OP_LT},  {"<=", OP_LE}, {">", OP_GT}, {">=", OP_GE},
                                        {"==", OP_EQ}, {"!=", OP_NE}, {NULL, OP_LT}};
    const operator_row *row = accept_operator(p, rows);
    if (row) {
        *op = row->op;
        return true;
    }
    if (expr_parser_accept(p, "in")) {
        *op = OP_IN;
        return true;
    }
    if (!expr_parser_at(p, "not"))
        return false;
    token after = expr_lex(p->text, p->length, p->next.at + p->next.length);
    if (!expr_token_is(&after, p->text, "in"))
        return false;
    expr_parser_advance(p);
    expr_parser_advance(p);
    *op = OP_NOT_IN;
    return true;
}

static expr *parse_comparison(parser *p)
{
    size_t at = p->next.at;
    expr *first = parse_sum(p);
    expr_op op;
    if (!first || !accept_comparison(p, &op))
        return first;
    nodes operands = {0};
    size_t capacity = 4;
    expr_op *ops = arena_alloc(p->memory, capacity * sizeof *ops);
    expr_parser_add(p, &operands, first);
    do {
        if (operands.n > capacity) {
            expr_op *larger = arena_alloc(p->memory, 2 * capacity * sizeof *larger);
            memcpy(larger, ops, capacity * sizeof *ops);
            capacity *= 2;
            ops = larger;
        }
        ops[operands.n - 1] = op;
        expr *operand = parse_sum(p);
        if (!operand)
            return NULL;
        expr_parser_add(p, &operands, operand);
    } while (accept_comparison(p, &op));
    expr *e = expr_parser_node(p, NODE_COMPARE, &operands, at);
    if (e)
        e->ops = ops;
    return e;
}

static expr *parse_not(parser *p)
{
    size_t at = p->next.at;
    if (!expr_parser_at(p, "not"))
        return parse_comparison(p);
    if (!expr_parser_enter(p))
        return NULL;
    expr_parser_advance(p);
    expr *operand = parse_not(p);
    p->level--;
    if (!operand)
        return NULL;
    expr *e = expr_node_new(p->memory, NODE_UNARY, 1);
    e->op = OP_NOT;
    e->kids[0] = operand;
    return expr_parser_finish(p, e, at);
}

static expr *parse_terms(parser *p, node_kind kind)
{
    size_t at = p->next.at;
    expr *first = kind == NODE_OR ? parse_terms(p, NODE_AND) : parse_not(p);
    const char *word = kind == NODE_OR ? "or" : "and";
    const char *symbol = kind == NODE_OR ? "||" : "&&";
    if (!first || (!expr_parser_at(p, word) && !expr_parser_at(p, symbol)))
        return first;
    nodes terms = {0};
    expr_parser_add(p, &terms, first);
    while (expr_parser_accept(p, word) || expr_parser_accept(p, symbol)) {
        expr *term = kind == NODE_OR ? parse_terms(p, NODE_AND) : parse_not(p);
        if (!term)
            return NULL;
        expr_parser_add(p, &terms, term);
    }
    return expr_parser_node(p, kind, &terms, at);
}

expr *expr_parse_or(parser *p)
{
    return parse_terms(p, NODE_OR);
}

/* value [if condition else other] */
expr *expr_parse_test(parser *p)
{
    size_t at = p->next.at;
    if (!expr_parser_enter(p))
        return NULL;
    expr *then = expr_parse_or(p);
    if (then && expr_parser_accept(p, "if")) {
        expr *e = expr_node_new(p->memory, NODE_IF, 3);
        e->kids[1] = then;
        e->kids[0] = expr_parse_or(p);
        if (!e->kids[0] || !expr_parser_expect(p, "else", "`else`"))
            return NULL;
        e->kids[2] = expr_parse_test(p);
        then = e->kids[2] ? expr_parser_finish(p, e, at) : NULL;
    }
    p->level--;
    return then;
}

const expr *expr_parse(arena *a, const char *text, const expr_scope *scope, expr_where where, kw_error *err)
{
    expr_source *source = arena_alloc(a, sizeof *source);
    source->length = strlen(text);
    source->text = arena_strdup(a, text);
    source->where = where;
    if (where.file)
        source->where.file = arena_strdup(a, where.file);
    parser state = {
        .memory = a, .text = source->text, .length = source->length, .scope = scope, .source = source, .err = err};
    parser *p = &state;
    if (p->length > EXPR_MAX_LENGTH)
        return expr_parser_fail(p, 0, "the expression is longer than %d bytes", EXPR_MAX_LENGTH);
    expr_parser_seek(p, 0);
    if (p->next.kind == TOKEN_END)
        return expr_parser_fail(p, 0, "the expression is empty");
    expr *root = expr_parse_test(p);
    if (!root)
        return NULL;
    if (p->next.kind != TOKEN_END) {
        expr_parser_unexpected(p, "an operator or the end");
        return NULL;
    }
    return expr_finish(a, root, source, expr_scope_language(scope), err) == KW_OK ? root : NULL;
}
