/* What the files of the parser share: expand_parser.c (pieces, expressions), expand_parse_directive.c (//@ lines) and
 * expand_parse.c (text, the whole). An error is set once, where it is found. */
#ifndef KERNWRIGHT_CODEGEN_EXPAND_PARSER_H
#define KERNWRIGHT_CODEGEN_EXPAND_PARSER_H

#include "codegen/expand_body.h"

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

typedef struct body_parser {
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
} body_parser;

/* KW_BAD_INPUT, with "file:line:column: " before the message. */
kw_code body_parser_fail(body_parser *p, int column, const char *format, ...) KW_PRINTF(3, 4);

void body_parser_add(body_parser *p, piece x);         /* to the innermost open directive */
void body_parser_flush(body_parser *p);                /* the literal run becomes a piece */
block body_parser_take(body_parser *p, frame *f);      /* the frame's pieces move into the arena */
void body_parser_hide_names(body_parser *p, frame *f); /* what the frame added to the scope ends */

/* The expression in text[0, n), which stands at this column; NULL after an error. A name without a value when text is
 * made is one. */
const expr *body_parser_expr(body_parser *p, const char *text, size_t n, int column);

/* A line's directive; `at` stands behind "//@", which stands at this column. */
kw_code body_parse_directive(body_parser *p, const char *at, const char *end, int column);

/* A directive behind other text would silently be a comment; that is never meant. */
kw_code body_refuse_directive(body_parser *p, const char *line, const char *end);

#endif
