/* What expand_parse.c makes and expand.c runs; nobody else includes this. */
#ifndef KERNWRIGHT_CODEGEN_EXPAND_BODY_H
#define KERNWRIGHT_CODEGEN_EXPAND_BODY_H

#include "codegen/expand.h"

typedef enum piece_kind { PIECE_TEXT, PIECE_VALUE, PIECE_FOR, PIECE_IF, PIECE_LET, PIECE_REQUIRE } piece_kind;

typedef struct piece piece;

typedef struct block {
    const piece *items;
    size_t n;
} block;

/* One arm of an //@if; `test` is NULL for //@else. */
typedef struct branch {
    const expr *test;
    block body;
} branch;

struct piece {
    piece_kind kind;
    expr_where where;           /* of the directive or ${ */
    const char *text;           /* PIECE_TEXT; reason of PIECE_REQUIRE */
    size_t length;              /* of the text of PIECE_TEXT */
    const expr *value;          /* PIECE_VALUE, PIECE_LET, PIECE_REQUIRE */
    int slot;                   /* PIECE_FOR, PIECE_LET */
    const expr *lo, *hi, *step; /* PIECE_FOR; step NULL: 1 */
    block body;                 /* PIECE_FOR */
    const branch *branches;     /* PIECE_IF */
    size_t n_branches;
};

struct body {
    block top;
};

#endif
