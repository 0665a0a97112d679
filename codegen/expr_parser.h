/* What the files of the parser share: expr_parser.c (tokens, nodes), expr_parse_atom.c (values, lists, calls) and
 * expr_parse.c (operators). Functions that return a node return NULL after an error, which is set once, where it is
 * found. */
#ifndef KERNWRIGHT_CODEGEN_EXPR_PARSER_H
#define KERNWRIGHT_CODEGEN_EXPR_PARSER_H

#include "codegen/expr_internal.h"

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
    int level; /* of recursion */
    kw_error *err;
} parser;

/* A list of nodes that grows in the arena. */
typedef struct nodes {
    expr **items;
    size_t n, capacity;
} nodes;

/* Tokens. `word` is a name, a keyword or a symbol. */
bool expr_parser_at(const parser *p, const char *word);
bool expr_parser_is_keyword(const parser *p, const token *t);
void expr_parser_advance(parser *p);
bool expr_parser_accept(parser *p, const char *word);
bool expr_parser_expect(parser *p, const char *word, const char *wanted); /* false: the error is set */
void expr_parser_seek(parser *p, size_t offset);                          /* goes on reading there */
bool expr_parser_enter(parser *p);                                        /* one level deeper; the caller counts back */

expr *expr_parser_fail(parser *p, size_t at, const char *format, ...) KW_PRINTF(3, 4); /* NULL */
expr *expr_parser_unexpected(parser *p, const char *wanted);                           /* NULL */

/* Nodes. `at` is where their text starts; it ends with the token consumed last. */
void expr_parser_add(parser *p, nodes *list, expr *e);
expr *expr_parser_finish(parser *p, expr *e, size_t at);
expr *expr_parser_node(parser *p, node_kind kind, const nodes *kids, size_t at);
expr *expr_parser_constant(parser *p, value v, size_t at);
expr *expr_parser_list(parser *p, const nodes *items, size_t at); /* a constant if all items are */

expr *expr_parse_test(parser *p); /* any expression */
expr *expr_parse_or(parser *p);   /* without `if else` outside parentheses */
expr *expr_parse_atom(parser *p);

#endif
