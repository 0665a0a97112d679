/* Lines that begin with //@. */
#include "codegen/expand_parser.h"

#include "base/json.h"
#include "codegen/locate.h"

#include <stdlib.h>
#include <string.h>

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

static const char *take_name(body_parser *p, rest *r)
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

static kw_code open_frame(body_parser *p, piece_kind kind, expr_where where)
{
    if (p->depth > EXPAND_MAX_DEPTH)
        return body_parser_fail(p, where.column, "directives are nested more than %d deep", EXPAND_MAX_DEPTH);
    p->frames[p->depth++] = (frame){.kind = kind, .where = where};
    return KW_OK;
}

static void add_name(body_parser *p, const char *name, int *slot)
{
    *slot = expr_scope_add(p->scope, name, EXPR_LOCAL);
    p->frames[p->depth - 1].n_names++;
}

/* //@for NAME in LO..HI [step S] */
static kw_code parse_for(body_parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_FOR, .where = where};
    const char *name = take_name(p, &r);
    if (!locate_is_name(name))
        return body_parser_fail(p, r.column, "expected a name: //@for I in LO..HI [step S]");
    if (strcmp(take_name(p, &r), "in") != 0)
        return body_parser_fail(p, r.column, "expected \"in\": //@for I in LO..HI [step S]");
    const char *dots = find_outside(r.at, r.end, "..");
    if (dots == NULL)
        return body_parser_fail(p, r.column,
                                "expected LO..HI (the end is not part of the loop): //@for I in LO..HI [step S]");
    const char *step = find_outside(dots + 2, r.end, "step");
    const char *hi_end = step != NULL ? step : r.end;
    x.lo = body_parser_expr(p, r.at, (size_t)(dots - r.at), r.column);
    if (x.lo != NULL)
        x.hi = body_parser_expr(p, dots + 2, (size_t)(hi_end - dots - 2), r.column + (int)(dots + 2 - r.at));
    if (x.hi != NULL && step != NULL)
        x.step = body_parser_expr(p, step + 4, (size_t)(r.end - step - 4), r.column + (int)(step + 4 - r.at));
    if (x.hi == NULL || (step != NULL && x.step == NULL))
        return KW_BAD_INPUT;
    kw_code code = open_frame(p, PIECE_FOR, where);
    if (code == KW_OK) {
        add_name(p, name, &x.slot);
        p->frames[p->depth - 1].head = x;
    }
    return code;
}

static kw_code parse_if(body_parser *p, rest r, expr_where where)
{
    const expr *test = body_parser_expr(p, r.at, (size_t)(r.end - r.at), r.column);
    kw_code code = test != NULL ? open_frame(p, PIECE_IF, where) : KW_BAD_INPUT;
    if (code == KW_OK)
        p->frames[p->depth - 1].test = test;
    return code;
}

static void close_branch(body_parser *p, frame *f)
{
    body_parser_hide_names(p, f);
    f->branches = mem_grow(f->branches, &f->branch_capacity, f->n_branches + 1, sizeof *f->branches);
    f->branches[f->n_branches++] = (branch){f->test, body_parser_take(p, f)};
}

/* //@end, //@else: nothing but a // comment may follow. */
static kw_code expect_nothing(body_parser *p, rest r, const char *word)
{
    skip_blanks(&r);
    if (r.at == r.end || (r.end - r.at >= 2 && r.at[0] == '/' && r.at[1] == '/'))
        return KW_OK;
    return body_parser_fail(p, r.column, "nothing may follow //@%s but a // comment", word);
}

static kw_code parse_else(body_parser *p, rest r, expr_where where, bool is_elif)
{
    const char *word = is_elif ? "elif" : "else";
    frame *f = &p->frames[p->depth - 1];
    if (f->kind != PIECE_IF)
        return body_parser_fail(p, where.column, "//@%s without an //@if", word);
    if (f->test == NULL)
        return body_parser_fail(p, where.column, "//@%s after //@else (of the //@if at line %d)", word, f->where.line);
    close_branch(p, f);
    f->test = NULL;
    if (!is_elif)
        return expect_nothing(p, r, word);
    f->test = body_parser_expr(p, r.at, (size_t)(r.end - r.at), r.column);
    return f->test != NULL ? KW_OK : KW_BAD_INPUT;
}

static kw_code parse_end(body_parser *p, rest r, expr_where where)
{
    frame *f = &p->frames[p->depth - 1];
    if (p->depth == 1)
        return body_parser_fail(p, where.column, "//@end without an open //@for or //@if");
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
        body_parser_hide_names(p, f);
        x.body = body_parser_take(p, f);
    }
    free(f->items);
    free(f->branches);
    p->depth--;
    body_parser_add(p, x);
    return expect_nothing(p, r, "end");
}

/* //@let NAME = e */
static kw_code parse_let(body_parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_LET, .where = where};
    const char *name = take_name(p, &r);
    if (!locate_is_name(name))
        return body_parser_fail(p, r.column,
                                "expected a name that is no word of the expression language: //@let X = EXPRESSION");
    skip_blanks(&r);
    if (r.at == r.end || *r.at != '=')
        return body_parser_fail(p, r.column, "expected \"=\": //@let %s = EXPRESSION", name);
    x.value = body_parser_expr(p, r.at + 1, (size_t)(r.end - r.at - 1), r.column + 1);
    if (x.value == NULL)
        return KW_BAD_INPUT;
    add_name(p, name, &x.slot);
    body_parser_add(p, x);
    return KW_OK;
}

/* //@require e "why": the reason is the string that ends the line. */
static kw_code parse_require(body_parser *p, rest r, expr_where where)
{
    piece x = {.kind = PIECE_REQUIRE, .where = where};
    const char *close = r.end;
    while (close > r.at && (close[-1] == ' ' || close[-1] == '\t'))
        close--;
    const char *open = close - 1;
    while (open > r.at && open[-1] != '"')
        open--;
    if (close - r.at < 3 || close[-1] != '"' || open <= r.at)
        return body_parser_fail(p, r.column,
                                "expected an expression and a reason in quotes: //@require TM %% RM == 0 \"why\"");
    x.text = arena_strndup(p->a, open, (size_t)(close - 1 - open));
    x.value = body_parser_expr(p, r.at, (size_t)(open - 1 - r.at), r.column);
    if (x.value == NULL)
        return KW_BAD_INPUT;
    body_parser_add(p, x);
    return KW_OK;
}

/* `at` stands behind "//@". */
kw_code body_parse_directive(body_parser *p, const char *at, const char *end, int column)
{
    expr_where where = {p->file, p->line, column};
    rest r = {at, end, column + 3};
    const char *word = take_name(p, &r);
    body_parser_flush(p);
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
    return body_parser_fail(p, column,
                            "unknown directive //@%s%s%s; there are for, if, elif, else, end, let and require", word,
                            nearest != NULL ? ", did you mean //@" : "", nearest != NULL ? nearest : "");
}

/* A directive behind other text would silently be a comment; that is never meant. */
kw_code body_refuse_directive(body_parser *p, const char *line, const char *end)
{
    for (const char *at = line; at + 3 < end; at++) {
        if (memcmp(at, "//@", 3) != 0)
            continue;
        size_t n = 0;
        while (at + 3 + n < end && is_word_char(at[3 + n]))
            n++;
        for (size_t i = 0; i < N_WORDS; i++)
            if (strlen(directive_words[i]) == n && memcmp(at + 3, directive_words[i], n) == 0)
                return body_parser_fail(p, (int)(at - line) + 1, "//@%s must stand on a line of its own",
                                        directive_words[i]);
    }
    return KW_OK;
}
