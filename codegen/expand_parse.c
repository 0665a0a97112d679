/* Text with directives -> body. */
#include "codegen/expand_parser.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void add_text(body_parser *p, const char *text, size_t n, int column)
{
    if (p->text.length == 0)
        p->text_where = (expr_where){p->file, p->line, column};
    strb_add_n(&p->text, text, n);
}

/* The end of the expression of a ${ whose text starts at p: its closing brace; NULL if the line has none. */
static const char *find_brace(const char *p, const char *end)
{
    char quote = '\0';
    for (; p < end; p++) {
        if (quote != '\0' && *p == '\\')
            p++;
        else if (quote != '\0')
            quote = *p == quote ? '\0' : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '}')
            return p;
    }
    return NULL;
}

/* Text with ${}: [from, end) of a line that starts at `line`; `base` is the column of line[0]. */
static kw_code parse_text(body_parser *p, const char *line, const char *end, int base)
{
    const char *from = line;
    for (const char *at = line; at + 1 < end;) {
        int column = base + (int)(at - line);
        if (at[0] == '$' && at[1] == '$' && at + 2 < end && at[2] == '{') {
            add_text(p, from, (size_t)(at - from), base + (int)(from - line));
            from = at + 1; /* "$${" stands for "${" */
            at += 3;
            continue;
        }
        if (at[0] != '$' || at[1] != '{') {
            at++;
            continue;
        }
        add_text(p, from, (size_t)(at - from), base + (int)(from - line));
        body_parser_flush(p);
        const char *close = find_brace(at + 2, end);
        if (close == NULL)
            return body_parser_fail(p, column, "${ is not closed on this line; write $${ for a plain ${");
        piece x = {.kind = PIECE_VALUE, .where = {p->file, p->line, column}};
        x.value = body_parser_expr(p, at + 2, (size_t)(close - at - 2), column + 2);
        if (x.value == NULL)
            return KW_BAD_INPUT;
        body_parser_add(p, x);
        from = at = close + 1;
    }
    add_text(p, from, (size_t)(end - from), base + (int)(from - line));
    return KW_OK;
}

static kw_code parse_line(body_parser *p, const char *line, const char *end)
{
    const char *at = line;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (end - at >= 3 && memcmp(at, "//@", 3) == 0) {
        const char *stop = end;
        while (stop > at && (stop[-1] == '\n' || stop[-1] == '\r'))
            stop--;
        return body_parse_directive(p, at + 3, stop, (int)(at - line) + 1);
    }
    kw_code code = body_refuse_directive(p, at, end);
    return code == KW_OK ? parse_text(p, line, end, 1) : code;
}

static kw_code parse_lines(body_parser *p, const char *text, size_t length)
{
    const char *end = text + length;
    for (const char *line = text; line < end; p->line++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline != NULL ? newline + 1 : end;
        kw_code code = parse_line(p, line, next);
        if (code != KW_OK)
            return code;
        line = next;
    }
    if (p->depth > 1) {
        const frame *f = &p->frames[p->depth - 1];
        p->line = f->where.line;
        return body_parser_fail(p, f->where.column, "//@%s is never closed: its //@end is missing",
                                f->kind == PIECE_FOR ? "for" : "if");
    }
    return KW_OK;
}

/* ---- entry ---- */

static body *finish(body_parser *p, kw_code code)
{
    body *b = NULL;
    if (code == KW_OK) {
        body_parser_flush(p);
        b = arena_alloc(p->a, sizeof *b);
        b->top = body_parser_take(p, &p->frames[0]);
    }
    for (size_t i = p->depth; i-- > 0;) {
        if (p->scope != NULL)
            body_parser_hide_names(p, &p->frames[i]);
        free(p->frames[i].items);
        free(p->frames[i].branches);
    }
    strb_clear(&p->text);
    return b;
}

body *body_parse(arena *a, const char *text, size_t length, const char *file, int first_line, expr_scope *scope,
                 body_names names, kw_error *err)
{
    body_parser *p = mem_calloc(1, sizeof *p);
    *p = (body_parser){.a = a,
                       .file = arena_strdup(a, file),
                       .line = first_line,
                       .scope = scope,
                       .names_scope = scope,
                       .names = names,
                       .depth = 1,
                       .err = err};
    body *b = finish(p, parse_lines(p, text, length));
    free(p);
    return b;
}

body *body_parse_inline(arena *a, const char *text, expr_where where, const expr_scope *scope, body_names names,
                        kw_error *err)
{
    body_parser *p = mem_calloc(1, sizeof *p);
    *p = (body_parser){.a = a,
                       .file = arena_strdup(a, where.file),
                       .line = where.line,
                       .names_scope = scope,
                       .names = names,
                       .depth = 1,
                       .err = err};
    body *b = finish(p, parse_text(p, text, text + strlen(text), where.column));
    free(p);
    return b;
}

body *body_literal(arena *a, const char *text, size_t length)
{
    piece *x = arena_alloc(a, sizeof *x);
    *x = (piece){.kind = PIECE_TEXT, .where = {"", 1, 1}, .text = arena_strndup(a, text, length), .length = length};
    body *b = arena_alloc(a, sizeof *b);
    b->top = (block){x, 1};
    return b;
}
