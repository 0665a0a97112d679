/* Recursive descent: one function per precedence level, loosest first. Functions return NULL after an error, which is
 * set once, where it is found. */
#include "codegen/expr_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    arena *memory;
    const char *text;
    size_t length;
    token next;      /* not yet consumed */
    size_t last_end; /* end of the token consumed last */
    const expr_scope *scope;
    const expr_source *source;
    const char *locals[EXPR_MAX_DEPTH];
    int n_locals;
    int level;       /* of recursion */
    kw_error *err;
} parser;

/* A list of nodes that grows in the arena. */
typedef struct nodes {
    expr **items;
    size_t n, capacity;
} nodes;

typedef struct function_row {
    const char *name;
    expr_op op;
    size_t least, most; /* arguments */
} function_row;

static const function_row functions[] = {
    {"min", OP_MIN, 1, SIZE_MAX},     {"max", OP_MAX, 1, SIZE_MAX}, {"abs", OP_ABS, 1, 1},
    {"ceil_div", OP_CEIL_DIV, 2, 2},  {"round_up", OP_ROUND_UP, 2, 2}, {"is_pow2", OP_IS_POW2, 1, 1},
    {"log2", OP_LOG2, 1, 1},          {"sizeof", OP_SIZEOF, 1, 1},  {"vec", OP_VEC, 2, 2},
    {"lit", OP_LIT, 2, 2},            {"range", OP_RANGE, 1, 3},    {"list", OP_LIST, 1, 1},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const char *const keywords[] = {"and", "or", "not", "if", "else", "for", "in"};

static expr *parse_test(parser *p);
static expr *parse_or(parser *p);
static expr *parse_unary(parser *p);

expr *node_new(arena *a, node_kind kind, size_t n_kids)
{
    expr *e = arena_alloc(a, sizeof *e);
    e->kind = kind;
    e->n = n_kids;
    e->kids = n_kids ? arena_alloc(a, n_kids * sizeof(expr *)) : NULL;
    e->depth = 1;
    e->lowest_local = NO_LOCAL;
    return e;
}

/* The innermost level that the comprehension itself binds hides what its kids say about it. */
static int first_bound_level(const expr *e)
{
    return e->kind == NODE_COMPREHENSION ? e->slot : INT_MAX;
}

void node_measure(expr *e)
{
    e->depth = 1;
    e->lowest_local = e->kind == NODE_LOCAL ? e->slot : NO_LOCAL;
    for (size_t i = 0; i < e->n; i++) {
        const expr *kid = e->kids[i];
        if (kid->depth >= e->depth)
            e->depth = kid->depth + 1;
        if (kid->lowest_local < e->lowest_local && kid->lowest_local < first_bound_level(e))
            e->lowest_local = kid->lowest_local;
    }
}

/* ---- tokens ---- */

static bool at_word(const parser *p, const char *word)
{
    return token_is(&p->next, p->text, word);
}

static void advance(parser *p)
{
    p->last_end = p->next.at + p->next.length;
    p->next = expr_lex(p->text, p->length, p->last_end);
}

static bool accept(parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    advance(p);
    return true;
}

static void seek(parser *p, size_t offset)
{
    p->last_end = offset;
    p->next = expr_lex(p->text, p->length, offset);
}

static expr *fail(parser *p, size_t at, const char *format, ...) KW_PRINTF(3, 4);

static expr *fail(parser *p, size_t at, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    expr_source_error(p->source, at, p->err, "%s", text);
    return NULL;
}

static expr *unexpected(parser *p, const char *wanted)
{
    const token *t = &p->next;
    if (t->kind == TOKEN_BAD)
        return fail(p, t->at, "%s", t->symbol);
    if (t->kind == TOKEN_END)
        return fail(p, t->at, "the expression ends where %s was expected", wanted);
    int shown = t->length > 40 ? 40 : (int)t->length;
    return fail(p, t->at, "%s was expected, not '%.*s'", wanted, shown, p->text + t->at);
}

static bool expect(parser *p, const char *word, const char *wanted)
{
    if (accept(p, word))
        return true;
    unexpected(p, wanted);
    return false;
}

static bool enter(parser *p)
{
    if (p->level++ < EXPR_MAX_DEPTH)
        return true;
    fail(p, p->next.at, "nested more than %d levels deep", EXPR_MAX_DEPTH);
    return false;
}

/* ---- nodes ---- */

static void add(parser *p, nodes *list, expr *e)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 4;
        expr **larger = arena_alloc(p->memory, list->capacity * sizeof *larger);
        if (list->n)
            memcpy(larger, list->items, list->n * sizeof *larger);
        list->items = larger;
    }
    list->items[list->n++] = e;
}

/* Ends a node whose text starts at `at`. */
static expr *finish(parser *p, expr *e, size_t at)
{
    e->at = at;
    e->end = p->last_end;
    node_measure(e);
    if (e->depth > EXPR_MAX_DEPTH)
        return fail(p, at, "nested more than %d levels deep", EXPR_MAX_DEPTH);
    return e;
}

static expr *from_list(parser *p, node_kind kind, const nodes *list, size_t at)
{
    expr *e = node_new(p->memory, kind, 0);
    e->n = list->n;
    e->kids = list->items;
    return finish(p, e, at);
}

static expr *leaf(parser *p, value v, size_t at)
{
    expr *e = node_new(p->memory, NODE_CONST, 0);
    e->constant = v;
    return finish(p, e, at);
}

static expr *binary(parser *p, expr_op op, expr *left, expr *right, size_t at)
{
    expr *e = node_new(p->memory, NODE_BINARY, 2);
    e->op = op;
    e->kids[0] = left;
    e->kids[1] = right;
    return finish(p, e, at);
}

/* A list of constants is a constant, so that `x in [1, 2]` makes nothing when it is evaluated. */
static expr *list_node(parser *p, const nodes *items, size_t at)
{
    for (size_t i = 0; i < items->n; i++) {
        if (items->items[i]->kind != NODE_CONST)
            return from_list(p, NODE_LIST, items, at);
    }
    value *values = arena_alloc(p->memory, items->n * sizeof *values);
    for (size_t i = 0; i < items->n; i++)
        values[i] = items->items[i]->constant;
    return leaf(p, (value){.kind = VALUE_LIST, .as.list = {values, items->n}}, at);
}

/* ---- names ---- */

static const char *nearest_name(const parser *p, const char *name)
{
    size_t n = 0;
    int n_slots = expr_scope_size(p->scope);
    const char **known = mem_alloc(((size_t)n_slots + EXPR_MAX_DEPTH + N_FUNCTIONS) * sizeof *known);
    for (int i = 0; i < n_slots; i++) {
        const char *visible = expr_scope_name(p->scope, i);
        if (expr_scope_find(p->scope, visible) >= 0)
            known[n++] = visible;
    }
    for (int i = 0; i < p->n_locals; i++)
        known[n++] = p->locals[i];
    const char *near = json_nearest(name, known, n);
    free(known);
    return near;
}

static expr *unknown_name(parser *p, const char *name, size_t at)
{
    if (strcmp(name, "None") == 0)
        return fail(p, at, "there is no None here");
    if (strcmp(name, "lambda") == 0)
        return fail(p, at, "there are no functions to define here");
    const char *near = nearest_name(p, name);
    if (near)
        return fail(p, at, "unknown name '%.60s'; did you mean '%s'?", name, near);
    return fail(p, at, "unknown name '%.60s'", name);
}

static expr *named(parser *p, node_kind kind, int slot, const char *name, size_t at)
{
    expr *e = node_new(p->memory, kind, 0);
    e->slot = slot;
    e->name = name;
    return finish(p, e, at);
}

static expr *parse_name(parser *p)
{
    token t = p->next;
    const char *name = arena_strndup(p->memory, p->text + t.at, t.length);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(name, keywords[i]) == 0)
            return unexpected(p, "a value");
    }
    advance(p);
    for (int i = p->n_locals - 1; i >= 0; i--) {
        if (strcmp(name, p->locals[i]) == 0)
            return named(p, NODE_LOCAL, i, name, t.at);
    }
    int slot = expr_scope_find(p->scope, name);
    if (slot >= 0)
        return named(p, NODE_SLOT, slot, name, t.at);
    if (strcmp(name, "true") == 0 || strcmp(name, "True") == 0)
        return leaf(p, value_bool(true), t.at);
    if (strcmp(name, "false") == 0 || strcmp(name, "False") == 0)
        return leaf(p, value_bool(false), t.at);
    dtype type = dtype_from_name(name);
    if (type != DTYPE_NONE)
        return leaf(p, value_type(type), t.at);
    return unknown_name(p, name, t.at);
}

/* ---- lists, comprehensions, calls ---- */

/* Where the `for` stands that makes a comprehension of what starts here; SIZE_MAX if none does. */
static size_t find_for(const parser *p)
{
    int open = 0;
    token t = p->next;
    while (t.kind != TOKEN_END && t.kind != TOKEN_BAD) {
        bool opens = token_is(&t, p->text, "[") || token_is(&t, p->text, "(");
        bool closes = token_is(&t, p->text, "]") || token_is(&t, p->text, ")");
        if (open == 0 && token_is(&t, p->text, "for"))
            return t.at;
        if (open == 0 && (closes || token_is(&t, p->text, ",")))
            return SIZE_MAX;
        open += opens - closes;
        t = expr_lex(p->text, p->length, t.at + t.length);
    }
    return SIZE_MAX;
}

typedef struct clauses {
    comprehension_clause *items;
    size_t n;
    nodes kids;
} clauses;

static bool parse_for(parser *p, comprehension_clause *c)
{
    token t = p->next;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (t.kind != TOKEN_NAME || token_is(&t, p->text, keywords[i]) || memchr(p->text + t.at, '.', t.length))
            return unexpected(p, "the name of a variable");
    }
    if (p->n_locals == EXPR_MAX_DEPTH)
        return fail(p, t.at, "more than %d variables", EXPR_MAX_DEPTH);
    c->name = arena_strndup(p->memory, p->text + t.at, t.length);
    c->level = p->n_locals;
    advance(p);
    return expect(p, "in", "`in`");
}

/* for x in L [if c]... [for y in ...]...; variables stay visible until the caller drops them. */
static bool parse_clauses(parser *p, clauses *out)
{
    size_t capacity = 0;
    while (at_word(p, "for") || at_word(p, "if")) {
        if (out->n == capacity) {
            capacity = capacity ? 2 * capacity : 2;
            comprehension_clause *larger = arena_alloc(p->memory, capacity * sizeof *larger);
            if (out->n)
                memcpy(larger, out->items, out->n * sizeof *larger);
            out->items = larger;
        }
        comprehension_clause *c = &out->items[out->n++];
        bool is_for = accept(p, "for");
        if (is_for ? !parse_for(p, c) : !accept(p, "if"))
            return false;
        expr *kid = parse_or(p);
        if (!kid)
            return false;
        add(p, &out->kids, kid);
        if (is_for)
            p->locals[p->n_locals++] = c->name;
    }
    return true;
}

/* ITEM for ...: the clauses are read before the item, which uses their variables. */
static expr *parse_comprehension(parser *p, size_t at, size_t for_at)
{
    size_t item_at = p->next.at;
    int outer = p->n_locals;
    clauses c = {0};
    add(p, &c.kids, NULL);
    seek(p, for_at);
    if (!parse_clauses(p, &c))
        return NULL;
    size_t end = p->last_end;
    seek(p, item_at);
    expr *item = parse_test(p);
    if (!item)
        return NULL;
    if (p->next.at != for_at)
        return unexpected(p, "`for`");
    p->n_locals = outer;
    seek(p, end);
    c.kids.items[0] = item;
    expr *e = node_new(p->memory, NODE_COMPREHENSION, 0);
    e->slot = outer;
    e->n = c.kids.n;
    e->kids = c.kids.items;
    e->clauses = c.items;
    return finish(p, e, at);
}

/* Items up to the closing word, which is consumed. */
static bool parse_items(parser *p, const char *close, const char *wanted, nodes *out)
{
    while (!accept(p, close)) {
        expr *e = parse_test(p);
        if (!e)
            return false;
        add(p, out, e);
        if (!accept(p, ",") && !at_word(p, close)) {
            unexpected(p, wanted);
            return false;
        }
    }
    return true;
}

static expr *parse_list(parser *p)
{
    size_t at = p->next.at;
    advance(p);
    size_t for_at = find_for(p);
    if (for_at != SIZE_MAX) {
        expr *e = parse_comprehension(p, at, for_at);
        if (!e || !expect(p, "]", "`]`"))
            return NULL;
        e->end = p->last_end;
        return e;
    }
    nodes items = {0};
    return parse_items(p, "]", "`,` or `]`", &items) ? list_node(p, &items, at) : NULL;
}

/* (x) groups; (x, y) is a list like Python's tuple. */
static expr *parse_group(parser *p)
{
    size_t at = p->next.at;
    advance(p);
    expr *first = parse_test(p);
    if (!first)
        return NULL;
    if (accept(p, ")"))
        return first;
    nodes items = {0};
    add(p, &items, first);
    if (!expect(p, ",", "`)`"))
        return NULL;
    return parse_items(p, ")", "`,` or `)`", &items) ? list_node(p, &items, at) : NULL;
}

static const function_row *find_function(parser *p, const token *t)
{
    const char *names[N_FUNCTIONS];
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        names[i] = functions[i].name;
        if (token_is(t, p->text, names[i]))
            return &functions[i];
    }
    const char *name = arena_strndup(p->memory, p->text + t->at, t->length);
    const char *near = json_nearest(name, names, N_FUNCTIONS);
    if (near)
        fail(p, t->at, "unknown function '%.60s'; did you mean '%s'?", name, near);
    else
        fail(p, t->at, "unknown function '%.60s'", name);
    return NULL;
}

static bool parse_arguments(parser *p, nodes *args)
{
    size_t for_at = find_for(p);
    if (for_at == SIZE_MAX)
        return parse_items(p, ")", "`,` or `)`", args);
    expr *e = parse_comprehension(p, p->next.at, for_at);
    if (!e || !expect(p, ")", "`)`"))
        return false;
    add(p, args, e);
    return true;
}

static expr *parse_call(parser *p)
{
    token name = p->next;
    const function_row *f = find_function(p, &name);
    if (!f)
        return NULL;
    advance(p);
    advance(p);
    nodes args = {0};
    if (!parse_arguments(p, &args))
        return NULL;
    if (args.n < f->least || args.n > f->most) {
        if (f->least == f->most)
            return fail(p, name.at, "%s takes %zu argument%s, not %zu", f->name, f->least, f->least == 1 ? "" : "s",
                        args.n);
        return fail(p, name.at, "%s takes at %s %zu argument%s, not %zu", f->name, args.n < f->least ? "least" : "most",
                    args.n < f->least ? f->least : f->most, f->most == 1 || f->least == 1 ? "" : "s", args.n);
    }
    expr *e = from_list(p, NODE_CALL, &args, name.at);
    if (e)
        e->op = f->op;
    return e;
}

/* ---- operators ---- */

static char *unescape(parser *p, const token *t)
{
    char *out = arena_alloc(p->memory, t->length);
    size_t n = 0;
    for (size_t i = t->at + 1; i < t->at + t->length - 1; i++) {
        char c = p->text[i];
        if (c == '\\') {
            c = p->text[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        out[n++] = c;
    }
    return out;
}

static bool is_call(const parser *p)
{
    if (p->next.kind != TOKEN_NAME)
        return false;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (at_word(p, keywords[i]))
            return false;
    }
    token after = expr_lex(p->text, p->length, p->next.at + p->next.length);
    return token_is(&after, p->text, "(");
}

static expr *parse_atom(parser *p)
{
    token t = p->next;
    if (t.kind == TOKEN_NAME)
        return is_call(p) ? parse_call(p) : parse_name(p);
    if (at_word(p, "("))
        return parse_group(p);
    if (at_word(p, "["))
        return parse_list(p);
    if (t.kind == TOKEN_INT && t.is_min_magnitude)
        return fail(p, t.at, "the integer does not fit in 64 bits");
    if (t.kind != TOKEN_INT && t.kind != TOKEN_REAL && t.kind != TOKEN_STRING)
        return unexpected(p, "a value");
    advance(p);
    if (t.kind == TOKEN_STRING)
        return leaf(p, value_string(unescape(p, &t)), t.at);
    return leaf(p, t.kind == TOKEN_INT ? value_int(t.integer) : value_real(t.real), t.at);
}

static expr *parse_postfix(parser *p)
{
    size_t at = p->next.at;
    expr *e = parse_atom(p);
    while (e && at_word(p, "[")) {
        advance(p);
        expr *index = parse_test(p);
        if (!index || !expect(p, "]", "`]`"))
            return NULL;
        expr *list = e;
        e = node_new(p->memory, NODE_INDEX, 2);
        e->op = OP_INDEX;
        e->kids[0] = list;
        e->kids[1] = index;
        e = finish(p, e, at);
    }
    return e;
}

static expr *parse_power(parser *p)
{
    size_t at = p->next.at;
    expr *left = parse_postfix(p);
    if (!left || !accept(p, "**"))
        return left;
    expr *right = parse_unary(p);
    return right ? binary(p, OP_POW, left, right, at) : NULL;
}

/* The one integer whose magnitude does not fit without its sign. */
static expr *parse_least_integer(parser *p, size_t at)
{
    advance(p);
    if (at_word(p, "**"))
        return fail(p, at, "the integer does not fit in 64 bits");
    return leaf(p, value_int(INT64_MIN), at);
}

/* A negated literal is a constant, so that canonical text reads back as the same tree. */
static expr *negated(parser *p, expr *operand, size_t at)
{
    if (operand->kind == NODE_CONST && operand->constant.kind == VALUE_INT && operand->constant.as.integer != INT64_MIN)
        return leaf(p, value_int(-operand->constant.as.integer), at);
    if (operand->kind == NODE_CONST && operand->constant.kind == VALUE_REAL)
        return leaf(p, value_real(-operand->constant.as.real), at);
    expr *e = node_new(p->memory, NODE_UNARY, 1);
    e->op = OP_NEG;
    e->kids[0] = operand;
    return finish(p, e, at);
}

static expr *parse_unary(parser *p)
{
    size_t at = p->next.at;
    bool is_minus = at_word(p, "-"), is_plus = at_word(p, "+");
    if (!is_minus && !is_plus && !at_word(p, "!"))
        return parse_power(p);
    if (!enter(p))
        return NULL;
    advance(p);
    bool is_least = is_minus && p->next.kind == TOKEN_INT && p->next.is_min_magnitude;
    expr *operand = is_least ? parse_least_integer(p, at) : parse_unary(p);
    p->level--;
    if (is_least)
        return operand;
    if (!operand)
        return NULL;
    if (is_minus)
        return negated(p, operand, at);
    expr *e = node_new(p->memory, NODE_UNARY, 1);
    e->op = is_plus ? OP_POS : OP_NOT;
    e->kids[0] = operand;
    return finish(p, e, at);
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
        if (p->next.kind == TOKEN_SYMBOL && accept(p, row->symbol))
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
    if (accept(p, "in")) {
        *op = OP_IN;
        return true;
    }
    if (!at_word(p, "not"))
        return false;
    token after = expr_lex(p->text, p->length, p->next.at + p->next.length);
    if (!token_is(&after, p->text, "in"))
        return false;
    advance(p);
    advance(p);
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
    add(p, &operands, first);
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
        add(p, &operands, operand);
    } while (accept_comparison(p, &op));
    expr *e = from_list(p, NODE_COMPARE, &operands, at);
    if (e)
        e->ops = ops;
    return e;
}

static expr *parse_not(parser *p)
{
    size_t at = p->next.at;
    if (!at_word(p, "not"))
        return parse_comparison(p);
    if (!enter(p))
        return NULL;
    advance(p);
    expr *operand = parse_not(p);
    p->level--;
    if (!operand)
        return NULL;
    expr *e = node_new(p->memory, NODE_UNARY, 1);
    e->op = OP_NOT;
    e->kids[0] = operand;
    return finish(p, e, at);
}

static expr *parse_terms(parser *p, node_kind kind)
{
    size_t at = p->next.at;
    expr *first = kind == NODE_OR ? parse_terms(p, NODE_AND) : parse_not(p);
    const char *word = kind == NODE_OR ? "or" : "and";
    const char *symbol = kind == NODE_OR ? "||" : "&&";
    if (!first || (!at_word(p, word) && !at_word(p, symbol)))
        return first;
    nodes terms = {0};
    add(p, &terms, first);
    while (accept(p, word) || accept(p, symbol)) {
        expr *term = kind == NODE_OR ? parse_terms(p, NODE_AND) : parse_not(p);
        if (!term)
            return NULL;
        add(p, &terms, term);
    }
    return from_list(p, kind, &terms, at);
}

static expr *parse_or(parser *p)
{
    return parse_terms(p, NODE_OR);
}

/* value [if condition else other] */
static expr *parse_test(parser *p)
{
    size_t at = p->next.at;
    if (!enter(p))
        return NULL;
    expr *then = parse_or(p);
    if (then && accept(p, "if")) {
        expr *e = node_new(p->memory, NODE_IF, 3);
        e->kids[1] = then;
        e->kids[0] = parse_or(p);
        if (!e->kids[0] || !expect(p, "else", "`else`"))
            return NULL;
        e->kids[2] = parse_test(p);
        then = e->kids[2] ? finish(p, e, at) : NULL;
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
    parser state = {.memory = a, .text = source->text, .length = source->length, .scope = scope, .source = source,
                    .err = err};
    parser *p = &state;
    if (p->length > EXPR_MAX_LENGTH)
        return fail(p, 0, "the expression is longer than %d bytes", EXPR_MAX_LENGTH);
    seek(p, 0);
    if (p->next.kind == TOKEN_END)
        return fail(p, 0, "the expression is empty");
    expr *root = parse_test(p);
    if (!root)
        return NULL;
    if (p->next.kind != TOKEN_END) {
        unexpected(p, "an operator or the end");
        return NULL;
    }
    return expr_finish(a, root, source, expr_scope_language(scope), err) == KW_OK ? root : NULL;
}
