#include "codegen/expand_parser.h"

#include <string.h>

kw_code body_parser_fail(body_parser *p, int column, const char *format, ...)
{
    strb text = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    kw_error_set(p->err, KW_BAD_INPUT, "%s:%d:%d: %s", p->file, p->line, column, strb_text(&text));
    strb_clear(&text);
    return KW_BAD_INPUT;
}

/* ---- pieces ---- */

void body_parser_add(body_parser *p, piece x)
{
    frame *f = &p->frames[p->depth - 1];
    f->items = mem_grow(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = x;
}

void body_parser_flush(body_parser *p)
{
    if (p->text.length == 0)
        return;
    piece x = {.kind = PIECE_TEXT, .where = p->text_where, .length = p->text.length};
    x.text = arena_strndup(p->a, p->text.data, p->text.length);
    body_parser_add(p, x);
    strb_reset(&p->text);
}

block body_parser_take(body_parser *p, frame *f)
{
    block b = {NULL, f->n};
    if (f->n > 0) {
        piece *items = arena_alloc(p->a, f->n * sizeof *items);
        memcpy(items, f->items, f->n * sizeof *items);
        b.items = items;
    }
    f->n = 0;
    return b;
}

void body_parser_hide_names(body_parser *p, frame *f)
{
    for (; f->n_names > 0; f->n_names--)
        expr_scope_hide_last(p->scope);
}

/* ---- expressions ---- */

static const char *why_unknown(expr_role role)
{
    switch (role) {
    case EXPR_DIM:
        return "is a dim, which has no value when text is made: write its name in the kernel text without ${}, or list "
               "it under \"specialize\"";
    case EXPR_SCALAR:
        return "is a scalar, which has no value when text is made: pass it to the kernel as an argument";
    case EXPR_DEVICE:
        return "cannot be used in kernel text, so that one text serves every device: make it a parameter";
    case EXPR_PARAM:
    case EXPR_TYPE:
    case EXPR_LOCAL:
        break;
    }
    return "has no value here";
}

const expr *body_parser_expr(body_parser *p, const char *text, size_t n, int column)
{
    while (n > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        n--;
        column++;
    }
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    if (n == 0) {
        body_parser_fail(p, column, "an expression is missing here");
        return NULL;
    }
    const expr *e =
        expr_parse(p->a, arena_strndup(p->a, text, n), p->names_scope, (expr_where){p->file, p->line, column}, p->err);
    for (int slot = 0; e != NULL && slot < p->names.n; slot++) {
        if (!p->names.known[slot] && expr_uses(e, slot)) {
            body_parser_fail(p, column, "%s %s", expr_scope_name(p->names_scope, slot),
                             why_unknown(expr_scope_role(p->names_scope, slot)));
            return NULL;
        }
    }
    return e;
}
