#include "codegen/expr_parser.h"

#include <stdio.h>
#include <string.h>

static const char *const keywords[] = {"and", "or", "not", "if", "else", "for", "in"};

expr *expr_node_new(arena *a, node_kind kind, size_t n_kids)
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

void expr_node_measure(expr *e)
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

bool expr_parser_at(const parser *p, const char *word)
{
    return expr_token_is(&p->next, p->text, word);
}

bool expr_parser_is_keyword(const parser *p, const token *t)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (expr_token_is(t, p->text, keywords[i]))
            return true;
    }
    return false;
}

void expr_parser_advance(parser *p)
{
    p->last_end = p->next.at + p->next.length;
    p->next = expr_lex(p->text, p->length, p->last_end);
}

bool expr_parser_accept(parser *p, const char *word)
{
    if (!expr_parser_at(p, word))
        return false;
    expr_parser_advance(p);
    return true;
}

void expr_parser_seek(parser *p, size_t offset)
{
    p->last_end = offset;
    p->next = expr_lex(p->text, p->length, offset);
}

expr *expr_parser_fail(parser *p, size_t at, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    expr_source_error(p->source, at, p->err, "%s", text);
    return NULL;
}

expr *expr_parser_unexpected(parser *p, const char *wanted)
{
    const token *t = &p->next;
    if (t->kind == TOKEN_BAD)
        return expr_parser_fail(p, t->at, "%s", t->symbol);
    if (t->kind == TOKEN_END)
        return expr_parser_fail(p, t->at, "the expression ends where %s was expected", wanted);
    int shown = t->length > 40 ? 40 : (int)t->length;
    return expr_parser_fail(p, t->at, "%s was expected, not '%.*s'", wanted, shown, p->text + t->at);
}

bool expr_parser_expect(parser *p, const char *word, const char *wanted)
{
    if (expr_parser_accept(p, word))
        return true;
    expr_parser_unexpected(p, wanted);
    return false;
}

bool expr_parser_enter(parser *p)
{
    if (p->level++ < EXPR_MAX_DEPTH)
        return true;
    expr_parser_fail(p, p->next.at, "nested more than %d levels deep", EXPR_MAX_DEPTH);
    return false;
}

/* ---- nodes ---- */

void expr_parser_add(parser *p, nodes *list, expr *e)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 4;
        expr **larger = arena_alloc(p->memory, list->capacity * sizeof(expr *));
        if (list->n)
            memcpy(larger, list->items, list->n * sizeof(expr *));
        list->items = larger;
    }
    list->items[list->n++] = e;
}

/* Ends a node whose text starts at `at`. */
expr *expr_parser_finish(parser *p, expr *e, size_t at)
{
    e->at = at;
    e->end = p->last_end;
    expr_node_measure(e);
    if (e->depth > EXPR_MAX_DEPTH)
        return expr_parser_fail(p, at, "nested more than %d levels deep", EXPR_MAX_DEPTH);
    return e;
}

expr *expr_parser_node(parser *p, node_kind kind, const nodes *list, size_t at)
{
    expr *e = expr_node_new(p->memory, kind, 0);
    e->n = list->n;
    e->kids = list->items;
    return expr_parser_finish(p, e, at);
}

expr *expr_parser_constant(parser *p, value v, size_t at)
{
    expr *e = expr_node_new(p->memory, NODE_CONST, 0);
    e->constant = v;
    return expr_parser_finish(p, e, at);
}

/* A list of constants is a constant, so that `x in [1, 2]` makes nothing when it is evaluated. */
expr *expr_parser_list(parser *p, const nodes *items, size_t at)
{
    for (size_t i = 0; i < items->n; i++) {
        if (items->items[i]->kind != NODE_CONST)
            return expr_parser_node(p, NODE_LIST, items, at);
    }
    value *values = arena_alloc(p->memory, items->n * sizeof *values);
    for (size_t i = 0; i < items->n; i++)
        values[i] = items->items[i]->constant;
    return expr_parser_constant(p, (value){.kind = VALUE_LIST, .as.list = {values, items->n}}, at);
}
