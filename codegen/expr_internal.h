/* What the files of the expression language share; nobody else includes this.
 *
 *   expr_scope.c    names                      expr_pars*.c    tokens -> tree
 *   expr_lex.c      text -> tokens             expr_compile.c  tree -> code
 *   expr_ops.c      meaning of the operators   expr_eval.c     runs code
 *   expr_fold.c     partial evaluation         expr_tree.c     questions about trees
 *   expr_print.c    tree -> canonical text     expr_c*.c       tree -> C
 *   expr_list.c     the same for lists, text   expr_source.c   messages with a place
 */
#ifndef KERNWRIGHT_CODEGEN_EXPR_INTERNAL_H
#define KERNWRIGHT_CODEGEN_EXPR_INTERNAL_H

#include "codegen/expr.h"

#include <limits.h>
#include <stdarg.h>

#define EXPR_MAX_LENGTH 65536    /* bytes of text */
#define EXPR_MAX_DEPTH 200       /* levels of a tree, so that walkers may recurse */
#define EXPR_TEXT_PER_ELEMENT 16 /* bytes of joined text that count as one list item */
#define EXPR_MAX_TEMPS 640       /* values held at once while evaluating; depth 200 needs fewer */

/* ---- text and places in it (expr_source.c) ---- */

typedef struct expr_source {
    const char *text;
    size_t length;
    expr_where where;
    bool rewritten; /* by folding: columns of the text are not those of the file */
} expr_source;

/* "FILE:LINE:COL: message | text with >>> at the place" */
kw_code expr_source_error(const expr_source *s, size_t offset, kw_error *err, const char *format, ...) KW_PRINTF(4, 5);

/* ---- tokens (expr_lex.c) ---- */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_INT,
    TOKEN_REAL,
    TOKEN_STRING,
    TOKEN_NAME,   /* names with dots, keywords included */
    TOKEN_SYMBOL, /* one of the punctuation strings */
    TOKEN_BAD     /* `symbol` says what is wrong */
} token_kind;

typedef struct token {
    token_kind kind;
    size_t at, length;
    int64_t integer;
    bool is_min_magnitude; /* 9223372036854775808: fits only behind a minus */
    double real;
    const char *symbol; /* static text of a symbol, or the complaint */
} token;

/* The token that starts at or after `offset`, white space skipped. */
token expr_lex(const char *text, size_t length, size_t offset);
bool expr_token_is(const token *t, const char *text, const char *word); /* a name or symbol spelled like that */

/* ---- operators ---- */

typedef enum expr_op {
    /* one operand */
    OP_NEG,
    OP_POS,
    OP_NOT,
    OP_ABS,
    OP_IS_POW2,
    OP_LOG2,
    OP_SIZEOF,
    OP_MIN_LIST, /* min and max of one list */
    OP_MAX_LIST,
    OP_LIST, /* list(x) */
    /* two operands */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR_DIV,
    OP_MOD,
    OP_POW,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_IN,
    OP_NOT_IN,
    OP_MIN,
    OP_MAX,
    OP_CEIL_DIV,
    OP_ROUND_UP,
    OP_VEC,
    OP_LIT,
    OP_INDEX,
    /* three operands */
    OP_RANGE,
    /* code only */
    OP_MOVE,
    OP_JUMP,          /* to b */
    OP_JUMP_IF_FALSE, /* a: condition, b: target */
    OP_JUMP_IF_TRUE,
    OP_LIST_NEW,  /* dst */
    OP_LIST_PUSH, /* dst, a: item */
    OP_NEXT       /* dst: list, dst+1: position, dst+2: variable; b: target after the last item */
} expr_op;

const char *expr_op_symbol(expr_op op); /* "+", "ceil_div" */

/* What an operation may use, and why it failed. */
typedef struct op_context {
    arena *scratch; /* where lists and text go; NULL: see may_own */
    arena *owned;   /* made on demand when may_own; whoever made the context frees it */
    bool may_own;
    language lang;
    int64_t elements; /* list items still allowed */
    bool explain;     /* write `reason` on failure */
    char reason[240];
} op_context;

/* false: context->reason says why ("overflow", "division by zero", ...). */
bool expr_op_apply1(op_context *c, expr_op op, value a, value *out);
bool expr_op_apply2(op_context *c, expr_op op, value a, value b, value *out);
bool expr_op_range(op_context *c, value from, value to, value step, value *out);
bool expr_op_truth(value v);
bool expr_op_list_push(op_context *c, value *list, value item); /* of a list begun empty by OP_LIST_NEW */
double expr_op_log2(double x); /* x > 0; the same steps as in the C prelude, so that both give the same bits */

/* Between expr_ops.c and expr_list.c. */
bool expr_because(op_context *c, const char *format, ...) KW_PRINTF(2, 3); /* notes the reason; false */
bool expr_too_much(op_context *c);                                         /* the elements are used up; false */
bool expr_wrong_kind(op_context *c, expr_op op, const char *needed, value a);
bool expr_list_join(op_context *c, value a, value b, value *out);
bool expr_list_item(op_context *c, value list, value index, value *out);
bool expr_list_contains(op_context *c, expr_op op, value a, value list, value *out);
bool expr_list_extreme(op_context *c, expr_op op, value list, value *out); /* OP_MIN_LIST, OP_MAX_LIST */
bool expr_text_join(op_context *c, value a, value b, value *out);
bool expr_typed_text(op_context *c, expr_op op, value type, value x, value *out); /* vec, lit */

static inline bool expr_is_whole(value v)
{
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}

static inline int64_t expr_whole(value v)
{
    return v.kind == VALUE_BOOL ? v.as.boolean : v.as.integer;
}

/* ---- trees ---- */

typedef enum node_kind {
    NODE_CONST,   /* constant */
    NODE_SLOT,    /* slot, name */
    NODE_LOCAL,   /* slot: nesting level of the variable of a comprehension; name */
    NODE_UNARY,   /* op */
    NODE_BINARY,  /* op */
    NODE_COMPARE, /* n operands, n - 1 ops */
    NODE_AND,     /* n terms */
    NODE_OR,
    NODE_IF,           /* condition, then, else */
    NODE_CALL,         /* op; n arguments */
    NODE_LIST,         /* n items */
    NODE_INDEX,        /* list, position */
    NODE_COMPREHENSION /* item, then one kid per clause */
} node_kind;

typedef struct comprehension_clause {
    const char *name; /* `for NAME in kid`; NULL: `if kid` */
    int level;        /* of the variable */
} comprehension_clause;

typedef struct expr_code expr_code;

struct expr {
    node_kind kind;
    expr_op op;
    int slot;
    unsigned depth;   /* 1 for leaves */
    int lowest_local; /* outermost variable of a comprehension around it that it uses; NO_LOCAL */
    size_t n;
    expr **kids;
    value constant;
    const char *name;
    const expr_op *ops; /* NODE_COMPARE */
    const comprehension_clause *clauses;
    size_t at, end; /* place in the source text */
    const char *text;
    /* Set by the compiler: evaluating is running code[from..to), then reading `result`. */
    const expr_code *code;
    uint32_t from, to;
    uint32_t result;
};

#define NO_LOCAL INT_MAX

expr *expr_node_new(arena *a, node_kind kind, size_t n_kids);
void expr_node_measure(expr *e); /* depth and lowest_local from the kids */

/* ---- code (expr_compile.c) ---- */

/* An operand is index << 2 | space. */
enum { SPACE_ENV = 0, SPACE_CONST = 1, SPACE_TEMP = 2 };

typedef struct instr {
    uint16_t op, dst; /* dst: a temp */
    uint32_t a, b;
} instr;

struct expr_code {
    const instr *instrs;
    const expr *const *nodes; /* the node that each instruction belongs to, for messages */
    const value *constants;
    uint32_t n_temps;
    const expr_source *source;
    language lang;
};

/* Compiles the tree and gives every node its text; `source` must live as long as the tree. */
kw_code expr_finish(arena *a, expr *root, const expr_source *source, language lang, kw_error *err);

/* ---- the rest ---- */

language expr_scope_language(const expr_scope *s);
/* Gives a tree that was not parsed its canonical text and its code. NULL if it is too complicated. */
const expr *expr_rewritten(arena *a, expr *root, const expr_where *where, language lang);

/* ---- C (expr_c_kind.c) ---- */

typedef enum c_kind { KIND_INT, KIND_REAL, KIND_NUMBER, KIND_NONE /* there is no C for it */ } c_kind;

typedef struct c_refusal {
    const expr *node;
    const char *why; /* "a list" cannot be printed as C */
} c_refusal;

c_kind expr_c_kind(const expr *e, const expr_c_names *names, c_refusal *refusal);
bool expr_c_is_condition(const expr *e); /* always 0 or 1 */

#endif
