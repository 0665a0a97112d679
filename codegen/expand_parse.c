/* Text with directives -> body. */
#include "codegen/expand_body.h"

#include "base/json.h"
#include "codegen/locate.h"

#include <stdlib.h>
#include <string.h>

/* A directive that is open: what its lines so far came to. */
typedef struct frame {
    piece_kind kind; /* PIECE_FOR or PIECE_IF; the outermost frame is PIECE_TEXT */
    piece head;      /* PIECE_FOR */
    expr_where where;
    piece *items;
    size_t n, capacity;
    branch *branches; /* PIECE_IF: the closed ones */
    size_t n_branches, branch_capacity;
    const expr *test; /* of the open one; NULL: //@else */
    size_t n_names;   /* added to the scope by for and let */
} frame;

typedef struct parser {
    arena *a;
    const char *file;
    int line;
    expr_scope *scope;
    const expr_scope *names_scope; /* the same; the only one of body_parse_inline */
    body_names names;
    frame frames[EXPAND_MAX_DEPTH + 1];
    size_t depth; /* frames in use, at least 1 */
    strb text;    /* the literal run that is being gathered */
    expr_where text_where;
    kw_error *err;
} parser;

static kw_code fail(parser *p, int column, const char *format, ...) KW_PRINTF(3, 4);
static kw_code fail(parser *p, int column, const char *format, ...)
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

static void add_piece(parser *p, piece x)
{
    frame *f = &p->frames[p->depth - 1];
    f->items = mem_grow(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = x;
}

static void flush_text(parser *p)
{
    if (p->text.length == 0)
        return;
    piece x = {.kind = PIECE_TEXT, .where = p->text_where, .length = p->text.length};
    x.text = arena_strndup(p->a, p->text.data, p->text.length);
    add_piece(p, x);
    strb_reset(&p->text);
}

static void add_text(parser *p, const char *text, size_t n, int column)
{
    if (p->text.length == 0)
        p->text_where = (expr_where){p->file, p->line, column};
    strb_add_n(&p->text, text, n);
}

/* The frame's items move into the arena. */
static block take_block(parser *p, frame *f)
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

static const expr *parse_expr(parser *p, const char *text, size_t n, int column)
{
    while (n > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        n--;
        column++;
    }
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    if (n == 0) {
        fail(p, column, "an expression is missing here");
        return NULL;
    }
    const expr *e =
        expr_parse(p->a, arena_strndup(p->a, text, n), p->names_scope, (expr_where){p->file, p->line, column}, p->err);
    for (int slot = 0; e != NULL && slot < p->names.n; slot++) {
        if (!p->names.known[slot] && expr_uses(e, slot)) {
            fail(p, column, "%s %s", expr_scope_name(p->names_scope, slot),
                 why_unknown(expr_scope_role(p->names_scope, slot)));
            return NULL;
        }
    }
    return e;
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
static kw_code parse_text(parser *p, const char *line, const char *end, int base)
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
        flush_text(p);
        const char *close = find_brace(at + 2, end);
        if (close == NULL)
            return fail(p, column, "${ is not closed on this line; write $${ for a plain ${");
        piece x = {.kind = PIECE_VALUE, .where = {p->file, p->line, column}};
        x.value = parse_expr(p, at + 2, (size_t)(close - at - 2), column + 2);
        if (x.value == NULL)
            return KW_BAD_INPUT;
        add_piece(p, x);
        from = at = close + 1;
    }
    add_text(p, from, (size_t)(end - from), base + (int)(from - line));
    return KW_OK;
}

/* ---- directives ---- */

static const char *const directive_words[] = {"for", "if", "elif", "else", "end", "let", "require"};
enum { N_WORDS = sizeof directive_words / sizeof *directive_words };

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The text between a directive's word and the end of the line. */
typedef struct rest {
    const char *at, *end;
    int column; /* of *at */
} rest;

static void skip_blanks(rest *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) {
        r->at++;
        r->column++;
    }
}

static const char *take_name(parser *p, rest *r)
{
    skip_blanks(r);
    const char *from = r->at;
    while (r->at < r->end && is_word_char(*r->at))
        r->at++;
    r->column += (int)(r->at - from);
    return arena_strndup(p->a, from, (size_t)(r->at - from));
}

/* First place outside of brackets and quotes where `what` stands; words only as whole words. NULL if nowhere. */
static const char *find_outside(const char *at, const char *end, const char *what)
{
    size_t n = strlen(what);
    const char *begin = at;
    int depth = 0;
    char quote = '\0';
    for (; at + n <= end; at++) {
        if (quote != '\0') {
            if (*at == '\\')
                at++;
            else if (*at == quote)
                quote = '\0';
            continue;
        }
        if (*at == '"' || *at == '\'')
            quote = *at;
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        bool whole =
            !is_word_char(*what) || ((at == begin || !is_word_char(at[-1])) && (at + n == end || !is_word_char(at[n])));
        if (depth == 0 && whole && memcmp(at, what, n) == 0)
            return at;
    }
    return NULL;
}

static kw_code open_frame(parser *p, piece_kind kind, expr_where where)
{
    if (p->depth > EXPAND_MAX_DEPTH)
        return fail(p, where.column, "directives are nested more than %d deep", EXPAND_MAX_DEPTH);
    p->frames[p->depth++] = (frame){.kind = kind, .where = where};
    return KW_OK;
}

static void add_name(parser *p, const char *name, int *slot)
{
    *slot = expr_scope_add(p->scope, name, EXPR_LOCAL);
    p->frames[p->depth - 1].n_names++;
}

static void hide_names(parser *p, frame *f)
{
    for (; f->n_names > 0; f->n_names--)
        expr_scope_hide_last(p->scope);
}

/* //@for NAME in LO..HI [step S] */
static kw_code parse_for(parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_FOR, .where = where};
    const char *name = take_name(p, &r);
    if (!locate_is_name(name))
        return fail(p, r.column, "expected a name: //@for I in LO..HI [step S]");
    if (strcmp(take_name(p, &r), "in") != 0)
        return fail(p, r.column, "expected \"in\": //@for I in LO..HI [step S]");
    const char *dots = find_outside(r.at, r.end, "..");
    if (dots == NULL)
        return fail(p, r.column, "expected LO..HI (the end is not part of the loop): //@for I in LO..HI [step S]");
    const char *step = find_outside(dots + 2, r.end, "step");
    const char *hi_end = step != NULL ? step : r.end;
    x.lo = parse_expr(p, r.at, (size_t)(dots - r.at), r.column);
    if (x.lo != NULL)
        x.hi = parse_expr(p, dots + 2, (size_t)(hi_end - dots - 2), r.column + (int)(dots + 2 - r.at));
    if (x.hi != NULL && step != NULL)
        x.step = parse_expr(p, step + 4, (size_t)(r.end - step - 4), r.column + (int)(step + 4 - r.at));
    if (x.hi == NULL || (step != NULL && x.step == NULL))
        return KW_BAD_INPUT;
    kw_code code = open_frame(p, PIECE_FOR, where);
    if (code == KW_OK) {
        add_name(p, name, &x.slot);
        p->frames[p->depth - 1].head = x;
    }
    return code;
}

static kw_code parse_if(parser *p, rest r, expr_where where)
{
    const expr *test = parse_expr(p, r.at, (size_t)(r.end - r.at), r.column);
    kw_code code = test != NULL ? open_frame(p, PIECE_IF, where) : KW_BAD_INPUT;
    if (code == KW_OK)
        p->frames[p->depth - 1].test = test;
    return code;
}

static void close_branch(parser *p, frame *f)
{
    hide_names(p, f);
    f->branches = mem_grow(f->branches, &f->branch_capacity, f->n_branches + 1, sizeof *f->branches);
    f->branches[f->n_branches++] = (branch){f->test, take_block(p, f)};
}

/* //@end, //@else: nothing but a // comment may follow. */
static kw_code expect_nothing(parser *p, rest r, const char *word)
{
    skip_blanks(&r);
    if (r.at == r.end || (r.end - r.at >= 2 && r.at[0] == '/' && r.at[1] == '/'))
        return KW_OK;
    return fail(p, r.column, "nothing may follow //@%s but a // comment", word);
}

static kw_code parse_else(parser *p, rest r, expr_where where, bool is_elif)
{
    const char *word = is_elif ? "elif" : "else";
    frame *f = &p->frames[p->depth - 1];
    if (f->kind != PIECE_IF)
        return fail(p, where.column, "//@%s without an //@if", word);
    if (f->test == NULL)
        return fail(p, where.column, "//@%s after //@else (of the //@if at line %d)", word, f->where.line);
    close_branch(p, f);
    f->test = NULL;
    if (!is_elif)
        return expect_nothing(p, r, word);
    f->test = parse_expr(p, r.at, (size_t)(r.end - r.at), r.column);
    return f->test != NULL ? KW_OK : KW_BAD_INPUT;
}

static kw_code parse_end(parser *p, rest r, expr_where where)
{
    frame *f = &p->frames[p->depth - 1];
    if (p->depth == 1)
        return fail(p, where.column, "//@end without an open //@for or //@if");
    piece x = f->head;
    x.where = f->where;
    x.kind = f->kind;
    if (f->kind == PIECE_IF) {
        close_branch(p, f);
        branch *branches = arena_alloc(p->a, f->n_branches * sizeof *branches);
        memcpy(branches, f->branches, f->n_branches * sizeof *branches);
        x.branches = branches;
        x.n_branches = f->n_branches;
    } else {
        hide_names(p, f);
        x.body = take_block(p, f);
    }
    free(f->items);
    free(f->branches);
    p->depth--;
    add_piece(p, x);
    return expect_nothing(p, r, "end");
}

/* //@let NAME = e */
static kw_code parse_let(parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_LET, .where = where};
    const char *name = take_name(p, &r);
    if (!locate_is_name(name))
        return fail(p, r.column, "expected a name that is no word of the expression language: //@let X = EXPRESSION");
    skip_blanks(&r);
    if (r.at == r.end || *r.at != '=')
        return fail(p, r.column, "expected \"=\": //@let %s = EXPRESSION", name);
    x.value = parse_expr(p, r.at + 1, (size_t)(r.end - r.at - 1), r.column + 1);
    if (x.value == NULL)
        return KW_BAD_INPUT;
    add_name(p, name, &x.slot);
    add_piece(p, x);
    return KW_OK;
}

/* //@require e "why": the reason is the string that ends the line. */
static kw_code parse_require(parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_REQUIRE, .where = where};
    const char *close = r.end;
    while (close > r.at && (close[-1] == ' ' || close[-1] == '\t'))
        close--;
    const char *open = close - 1;
    while (open > r.at && open[-1] != '"')
        open--;
    if (close - r.at < 3 || close[-1] != '"' || open <= r.at)
        return fail(p, r.column, "expected an expression and a reason in quotes: //@require TM %% RM == 0 \"why\"");
    x.text = arena_strndup(p->a, open, (size_t)(close - 1 - open));
    x.value = parse_expr(p, r.at, (size_t)(open - 1 - r.at), r.column);
    if (x.value == NULL)
        return KW_BAD_INPUT;
    add_piece(p, x);
    return KW_OK;
}

/* `at` stands behind "//@". */
static kw_code parse_directive(parser *p, const char *at, const char *end, int column)
{
    expr_where where = {p->file, p->line, column};
    rest r = {at, end, column + 3};
    const char *word = take_name(p, &r);
    flush_text(p);
    if (strcmp(word, "for") == 0)
        return parse_for(p, r, where);
    if (strcmp(word, "if") == 0)
        return parse_if(p, r, where);
    if (strcmp(word, "elif") == 0 || strcmp(word, "else") == 0)
        return parse_else(p, r, where, word[2] == 'i');
    if (strcmp(word, "end") == 0)
        return parse_end(p, r, where);
    if (strcmp(word, "let") == 0)
        return parse_let(p, r, where);
    if (strcmp(word, "require") == 0)
        return parse_require(p, r, where);
    const char *nearest = strncmp(word, "end", 3) == 0 ? "end" : json_nearest(word, directive_words, N_WORDS);
    return fail(p, column, "unknown directive //@%s%s%s; there are for, if, elif, else, end, let and require", word,
                nearest != NULL ? ", did you mean //@" : "", nearest != NULL ? nearest : "");
}

/* A directive behind other text would silently be a comment; that is never meant. */
static kw_code refuse_directive(parser *p, const char *line, const char *end)
{
    for (const char *at = line; at + 3 < end; at++) {
        if (memcmp(at, "//@", 3) != 0)
            continue;
        size_t n = 0;
        while (at + 3 + n < end && is_word_char(at[3 + n]))
            n++;
        for (size_t i = 0; i < N_WORDS; i++)
            if (strlen(directive_words[i]) == n && memcmp(at + 3, directive_words[i], n) == 0)
                return fail(p, (int)(at - line) + 1, "//@%s must stand on a line of its own", directive_words[i]);
    }
    return KW_OK;
}

static kw_code parse_line(parser *p, const char *line, const char *end)
{
    const char *at = line;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (end - at >= 3 && memcmp(at, "//@", 3) == 0) {
        const char *stop = end;
        while (stop > at && (stop[-1] == '\n' || stop[-1] == '\r'))
            stop--;
        return parse_directive(p, at + 3, stop, (int)(at - line) + 1);
    }
    kw_code code = refuse_directive(p, at, end);
    return code == KW_OK ? parse_text(p, line, end, 1) : code;
}

static kw_code parse_lines(parser *p, const char *text, size_t length)
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
        return fail(p, f->where.column, "//@%s is never closed: its //@end is missing",
                    f->kind == PIECE_FOR ? "for" : "if");
    }
    return KW_OK;
}

/* ---- entry ---- */

static body *finish(parser *p, kw_code code)
{
    body *b = NULL;
    if (code == KW_OK) {
        flush_text(p);
        b = arena_alloc(p->a, sizeof *b);
        b->top = take_block(p, &p->frames[0]);
    }
    for (size_t i = p->depth; i-- > 0;) {
        if (p->scope != NULL)
            hide_names(p, &p->frames[i]);
        free(p->frames[i].items);
        free(p->frames[i].branches);
    }
    strb_clear(&p->text);
    return b;
}

body *body_parse(arena *a, const char *text, size_t length, const char *file, int first_line, expr_scope *scope,
                 body_names names, kw_error *err)
{
    parser *p = mem_calloc(1, sizeof *p);
    *p = (parser){.a = a,
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
    parser *p = mem_calloc(1, sizeof *p);
    *p = (parser){.a = a,
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
