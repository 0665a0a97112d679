/* Values, names, lists, comprehensions and calls. */
#include "codegen/expr_parser.h"

#include <stdlib.h>
#include <string.h>

typedef struct function_row {
    const char *name;
    expr_op op;
    size_t least, most; /* arguments */
} function_row;

static const function_row functions[] = {
    {"min", OP_MIN, 1, SIZE_MAX},    {"max", OP_MAX, 1, SIZE_MAX},    {"abs", OP_ABS, 1, 1},
    {"ceil_div", OP_CEIL_DIV, 2, 2}, {"round_up", OP_ROUND_UP, 2, 2}, {"is_pow2", OP_IS_POW2, 1, 1},
    {"log2", OP_LOG2, 1, 1},         {"sizeof", OP_SIZEOF, 1, 1},     {"vec", OP_VEC, 2, 2},
    {"lit", OP_LIT, 2, 2},           {"range", OP_RANGE, 1, 3},       {"list", OP_LIST, 1, 1},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

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
        return expr_parser_fail(p, at, "there is no None here");
    if (strcmp(name, "lambda") == 0)
        return expr_parser_fail(p, at, "there are no functions to define here");
    const char *near = nearest_name(p, name);
    if (near)
        return expr_parser_fail(p, at, "unknown name '%.60s'; did you mean '%s'?", name, near);
    return expr_parser_fail(p, at, "unknown name '%.60s'", name);
}

static expr *named(parser *p, node_kind kind, int slot, const char *name, size_t at)
{
    expr *e = expr_node_new(p->memory, kind, 0);
    e->slot = slot;
    e->name = name;
    return expr_parser_finish(p, e, at);
}

static expr *parse_name(parser *p)
{
    token t = p->next;
    const char *name = arena_strndup(p->memory, p->text + t.at, t.length);
    if (expr_parser_is_keyword(p, &t))
        return expr_parser_unexpected(p, "a value");
    expr_parser_advance(p);
    for (int i = p->n_locals - 1; i >= 0; i--) {
        if (strcmp(name, p->locals[i]) == 0)
            return named(p, NODE_LOCAL, i, name, t.at);
    }
    int slot = expr_scope_find(p->scope, name);
    if (slot >= 0)
        return named(p, NODE_SLOT, slot, name, t.at);
    if (strcmp(name, "true") == 0 || strcmp(name, "True") == 0)
        return expr_parser_constant(p, value_bool(true), t.at);
    if (strcmp(name, "false") == 0 || strcmp(name, "False") == 0)
        return expr_parser_constant(p, value_bool(false), t.at);
    dtype type = dtype_from_name(name);
    if (type != DTYPE_NONE)
        return expr_parser_constant(p, value_type(type), t.at);
    return unknown_name(p, name, t.at);
}

/* ---- lists, comprehensions, calls ---- */

/* Where the `for` stands that makes a comprehension of what starts here; SIZE_MAX if none does. */
static size_t find_for(const parser *p)
{
    int open = 0;
    token t = p->next;
    while (t.kind != TOKEN_END && t.kind != TOKEN_BAD) {
        bool opens = expr_token_is(&t, p->text, "[") || expr_token_is(&t, p->text, "(");
        bool closes = expr_token_is(&t, p->text, "]") || expr_token_is(&t, p->text, ")");
        if (open == 0 && expr_token_is(&t, p->text, "for"))
            return t.at;
        if (open == 0 && (closes || expr_token_is(&t, p->text, ",")))
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
    if (t.kind != TOKEN_NAME || expr_parser_is_keyword(p, &t) || memchr(p->text + t.at, '.', t.length))
        return expr_parser_unexpected(p, "the name of a variable");
    if (p->n_locals == EXPR_MAX_DEPTH)
        return expr_parser_fail(p, t.at, "more than %d variables", EXPR_MAX_DEPTH);
    c->name = arena_strndup(p->memory, p->text + t.at, t.length);
    c->level = p->n_locals;
    expr_parser_advance(p);
    return expr_parser_expect(p, "in", "`in`");
}

/* for x in L [if c]... [for y in ...]...; variables stay visible until the caller drops them. */
static bool parse_clauses(parser *p, clauses *out)
{
    size_t capacity = 0;
    while (expr_parser_at(p, "for") || expr_parser_at(p, "if")) {
        if (out->n == capacity) {
            capacity = capacity ? 2 * capacity : 2;
            comprehension_clause *larger = arena_alloc(p->memory, capacity * sizeof *larger);
            if (out->n)
                memcpy(larger, out->items, out->n * sizeof *larger);
            out->items = larger;
        }
        comprehension_clause *c = &out->items[out->n++];
        bool is_for = expr_parser_accept(p, "for");
        if (is_for ? !parse_for(p, c) : !expr_parser_accept(p, "if"))
            return false;
        expr *kid = expr_parse_or(p);
        if (!kid)
            return false;
        expr_parser_add(p, &out->kids, kid);
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
    expr_parser_add(p, &c.kids, NULL);
    expr_parser_seek(p, for_at);
    if (!parse_clauses(p, &c))
        return NULL;
    size_t end = p->last_end;
    expr_parser_seek(p, item_at);
    expr *item = expr_parse_test(p);
    if (!item)
        return NULL;
    if (p->next.at != for_at)
        return expr_parser_unexpected(p, "`for`");
    p->n_locals = outer;
    expr_parser_seek(p, end);
    c.kids.items[0] = item;
    expr *e = expr_node_new(p->memory, NODE_COMPREHENSION, 0);
    e->slot = outer;
    e->n = c.kids.n;
    e->kids = c.kids.items;
    e->clauses = c.items;
    return expr_parser_finish(p, e, at);
}

/* Items up to the closing word, which is consumed. */
static bool parse_items(parser *p, const char *close, const char *wanted, nodes *out)
{
    while (!expr_parser_accept(p, close)) {
        expr *e = expr_parse_test(p);
        if (!e)
            return false;
        expr_parser_add(p, out, e);
        if (!expr_parser_accept(p, ",") && !expr_parser_at(p, close)) {
            expr_parser_unexpected(p, wanted);
            return false;
        }
    }
    return true;
}

static expr *parse_list(parser *p)
{
    size_t at = p->next.at;
    expr_parser_advance(p);
    size_t for_at = find_for(p);
    if (for_at != SIZE_MAX) {
        expr *e = parse_comprehension(p, at, for_at);
        if (!e || !expr_parser_expect(p, "]", "`]`"))
            return NULL;
        e->end = p->last_end;
        return e;
    }
    nodes items = {0};
    return parse_items(p, "]", "`,` or `]`", &items) ? expr_parser_list(p, &items, at) : NULL;
}

/* (x) groups; (x, y) is a list like Python's tuple. */
static expr *parse_group(parser *p)
{
    size_t at = p->next.at;
    expr_parser_advance(p);
    expr *first = expr_parse_test(p);
    if (!first)
        return NULL;
    if (expr_parser_accept(p, ")"))
        return first;
    nodes items = {0};
    expr_parser_add(p, &items, first);
    if (!expr_parser_expect(p, ",", "`)`"))
        return NULL;
    return parse_items(p, ")", "`,` or `)`", &items) ? expr_parser_list(p, &items, at) : NULL;
}

static const function_row *find_function(parser *p, const token *t)
{
    const char *names[N_FUNCTIONS];
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        names[i] = functions[i].name;
        if (expr_token_is(t, p->text, names[i]))
            return &functions[i];
    }
    const char *name = arena_strndup(p->memory, p->text + t->at, t->length);
    const char *near = json_nearest(name, names, N_FUNCTIONS);
    if (near)
        expr_parser_fail(p, t->at, "unknown function '%.60s'; did you mean '%s'?", name, near);
    else
        expr_parser_fail(p, t->at, "unknown function '%.60s'", name);
    return NULL;
}

static bool parse_arguments(parser *p, nodes *args)
{
    size_t for_at = find_for(p);
    if (for_at == SIZE_MAX)
        return parse_items(p, ")", "`,` or `)`", args);
    expr *e = parse_comprehension(p, p->next.at, for_at);
    if (!e || !expr_parser_expect(p, ")", "`)`"))
        return false;
    expr_parser_add(p, args, e);
    return true;
}

static expr *parse_call(parser *p)
{
    token name = p->next;
    const function_row *f = find_function(p, &name);
    if (!f)
        return NULL;
    expr_parser_advance(p);
    expr_parser_advance(p);
    nodes args = {0};
    if (!parse_arguments(p, &args))
        return NULL;
    if (args.n < f->least || args.n > f->most) {
        if (f->least == f->most)
            return expr_parser_fail(p, name.at, "%s takes %zu argument%s, not %zu", f->name, f->least,
                                    f->least == 1 ? "" : "s", args.n);
        return expr_parser_fail(p, name.at, "%s takes at %s %zu argument%s, not %zu", f->name,
                                args.n < f->least ? "least" : "most", args.n < f->least ? f->least : f->most,
                                f->most == 1 || f->least == 1 ? "" : "s", args.n);
    }
    expr *e = expr_parser_node(p, NODE_CALL, &args, name.at);
    if (e)
        e->op = f->op;
    return e;
}

/* ---- atoms ---- */

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
    if (p->next.kind != TOKEN_NAME || expr_parser_is_keyword(p, &p->next))
        return false;
    token after = expr_lex(p->text, p->length, p->next.at + p->next.length);
    return expr_token_is(&after, p->text, "(");
}

expr *expr_parse_atom(parser *p)
{
    token t = p->next;
    if (t.kind == TOKEN_NAME)
        return is_call(p) ? parse_call(p) : parse_name(p);
    if (expr_parser_at(p, "("))
        return parse_group(p);
    if (expr_parser_at(p, "["))
        return parse_list(p);
    if (t.kind == TOKEN_INT && t.is_min_magnitude)
        return expr_parser_fail(p, t.at, "the integer does not fit in 64 bits");
    if (t.kind != TOKEN_INT && t.kind != TOKEN_REAL && t.kind != TOKEN_STRING)
        return expr_parser_unexpected(p, "a value");
    expr_parser_advance(p);
    if (t.kind == TOKEN_STRING)
        return expr_parser_constant(p, value_string(unescape(p, &t)), t.at);
    return expr_parser_constant(p, t.kind == TOKEN_INT ? value_int(t.integer) : value_real(t.real), t.at);
}
