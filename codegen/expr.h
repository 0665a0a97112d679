/* The expression language: constraints, geometry, costs, ${}. One parser, one tree, two back ends.
 *
 * Meaning is Python's for + - * // % **, comparisons and chains, and/or/not, `a if c else b`, min max abs, lists,
 * `in`, range, list(), comprehensions, L[i], list +. `/` of two integers is an integer when exact, a real otherwise.
 * && || ! bind as in C and are synonyms. Also ceil_div, round_up, is_pow2, log2, sizeof, vec, lit. Integers are
 * int64; overflow, division by zero, wrong kinds and unknown names are errors.
 * docs/expressions.md is the language's reference.
 *
 * Names resolve to slots of a scope when an expression is parsed; evaluation takes an array of values by slot, so
 * that nothing is looked up by name in the hot path of space construction.
 */
#ifndef KERNWRIGHT_CODEGEN_EXPR_H
#define KERNWRIGHT_CODEGEN_EXPR_H

#include "base/error.h"
#include "base/mem.h"
#include "base/strb.h"
#include "codegen/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- scope: which names exist ---- */

typedef enum expr_role {
    EXPR_PARAM,  /* tuning parameter */
    EXPR_TYPE,   /* type symbol (T, ACC); its value is VALUE_TYPE */
    EXPR_DEVICE, /* device.max_work_group_size, ... */
    EXPR_DIM,    /* M, N, K */
    EXPR_SCALAR, /* alpha, beta */
    EXPR_LOCAL   /* loop variable, //@let */
} expr_role;

typedef struct expr_scope expr_scope;

expr_scope *expr_scope_new(void);
expr_scope *expr_scope_copy(const expr_scope *s); /* same slots; adding to one does not change the other */
void expr_scope_free(expr_scope *s);
/* Adds a name (a dotted one for device.*) and returns its slot. A later name hides an earlier equal one
 * (loop variables); expr_scope_hide_last undoes the last add for later lookups, its slot stays reserved. */
int expr_scope_add(expr_scope *s, const char *name, expr_role role);
void expr_scope_hide_last(expr_scope *s);
/* How vec() and lit() write types and literals in the expressions parsed from now on; OpenCL until set. */
void expr_scope_set_language(expr_scope *s, language lang);
int expr_scope_find(const expr_scope *s, const char *name); /* -1 if absent */
int expr_scope_size(const expr_scope *s);                   /* number of slots: length of an environment */
const char *expr_scope_name(const expr_scope *s, int slot);
expr_role expr_scope_role(const expr_scope *s, int slot);
/* Adds the device.* names in a fixed order; returns the slot of the first. See codegen/limits.h. */

/* ---- expressions ---- */

typedef struct expr expr; /* immutable; owned by the arena given to expr_parse */

/* Where the text stands, for messages: "file:line:column: ..." with the line and a caret is put in `err`
 * as one line: FILE:LINE:COL: message | text of the expression with >>> at the place. */
typedef struct expr_where {
    const char *file; /* may be NULL */
    int line;         /* 1-based position of text[0]; 0: unknown */
    int column;
} expr_where;

/* Parses the whole text. Unknown names suggest the nearest of the scope. NULL and err on failure. */
const expr *expr_parse(arena *a, const char *text, const expr_scope *scope, expr_where where, kw_error *err);

/* A constant as an expression (front matter may give numbers or booleans where expressions are allowed). */
const expr *expr_constant(arena *a, value v);

const char *expr_text(const expr *e); /* the source text it was parsed from (or the constant printed) */

/* Evaluates. env[slot] holds values; VALUE_NONE in a slot that is used is an error naming it ("K is not known
 * here"). Lists and strings made on the way live in `scratch` (may be NULL if the result cannot need it: then such
 * an operation is an error). */
kw_code expr_eval(const expr *e, const value *env, arena *scratch, value *out, kw_error *err);
/* A value that is not an integer is an error that suggests // or ceil_div. Booleans count as 0 and 1. */
kw_code expr_eval_int(const expr *e, const value *env, int64_t *out, kw_error *err);
/* Python's truth: 0, 0.0, "", [] and False are false. */
kw_code expr_eval_truth(const expr *e, const value *env, bool *out, kw_error *err);
/* The truth for n values of one slot at once, the other slots from env: what expr_eval_truth says of each, faster.
 * false if some value takes more than plain integer arithmetic (reals, lists, `or`, overflow, an error, ...), or n is
 * over EXPR_MANY: then ask one by one. */
#define EXPR_MANY 64
bool expr_eval_truth_many(const expr *e, const value *env, int slot, const int64_t *values, size_t n, bool *out);
kw_code expr_eval_real(const expr *e, const value *env, double *out, kw_error *err);

/* List items that one evaluation may make or look at, and all evaluations together that one text is made with. */
#define EXPR_MAX_ELEMENTS 1000000
#define EXPR_MAX_TOTAL_ELEMENTS 8000000

/* Like the evaluations above: `want` says whether the value must be an integer, becomes a truth value, or may be
 * anything. *elements bounds a row of evaluations: it begins as EXPR_MAX_TOTAL_ELEMENTS, and each takes what it
 * needs. */
typedef enum expr_want { EXPR_ANY, EXPR_INT, EXPR_TRUTH } expr_want;
kw_code expr_eval_within(const expr *e, const value *env, arena *scratch, int64_t *elements, expr_want want, value *out,
                         kw_error *err);

/* Does e use the slot? Marks every used slot in used[expr_scope_size]; returns how many. */
bool expr_uses(const expr *e, int slot);
size_t expr_used_slots(const expr *e, bool *used);

/* Partial evaluation: every slot with a known value (env[slot].kind != VALUE_NONE) is replaced by it and constant
 * subtrees are folded; errors inside subtrees that are certainly evaluated are reported, others stay in the tree. */
const expr *expr_fold(arena *a, const expr *e, const value *env, kw_error *err);
bool expr_is_constant(const expr *e, value *out); /* folded to one value? */

/* The frontier of e after some slots are assigned: the maximal subexpressions that use only assigned slots (at
 * least one) while their parent does not. If e itself is fully assigned the frontier is {e}. Used to merge the
 * states of a decision diagram. Conjunctions are split by expr_conjuncts first. Returns the count; writes at most
 * `capacity` pointers. */
size_t expr_frontier(const expr *e, const bool *assigned, const expr **subs, size_t capacity);
/* Splits a and b and c (&& too) into its terms. */
size_t expr_conjuncts(const expr *e, const expr **terms, size_t capacity);
/* Structural identity: same tree, same slots, same constants. */
bool expr_same(const expr *a, const expr *b);

/* ---- C back end ----
 * Prints e as a C99/C++11 expression over int64_t and double for use in emitted headers. Slots with a known value in
 * `known` (may be NULL) are folded; for the others `name(slot, cookie)` gives the C text, a primary expression (an
 * int64_t for dims and device limits, a finite double for real scalars as given by `is_real`). The text calls the
 * helpers of expr_c_prelude and sets *fault_name (an int lvalue, e.g. "kw_fault") to 1 wherever evaluation would be an
 * error: overflow, division by zero, a real where an integer is needed. The value is then meaningless, and finite.
 * Lists, text, types, **, comprehensions must fold away (`x in [1, 2]` may stay); otherwise an error that says so. */
typedef enum expr_c_want {
    EXPR_C_ANY,   /* int64_t (truth as 0/1) or, if *result_is_real, double. A value that is an integer or a real
                     depending on the operands, such as that of M / 2, comes as double. */
    EXPR_C_INT,   /* int64_t, as expr_eval_int: a real is an error now, or a fault when it depends on the operands */
    EXPR_C_TRUTH, /* a condition, as expr_eval_truth */
    EXPR_C_REAL   /* double, as expr_eval_real */
} expr_c_want;

typedef struct expr_c_names {
    const char *(*name)(int slot, void *cookie);
    bool (*is_real)(int slot, void *cookie); /* NULL: none is */
    void *cookie;
    const char *fault_name;
    const char *prefix; /* of helpers: "kw_" -> kw_floor_div(...) */
    expr_c_want want;
} expr_c_names;

kw_code expr_print_c(const expr *e, const value *known, const expr_c_names *names, strb *out, bool *result_is_real,
                     kw_error *err);
/* The static inline helper functions that such text calls, guarded so that several headers can hold them. They need
 * no library, libm included. */
void expr_c_prelude(const char *prefix, strb *out);

/* ---- Python ----
 * Appends e as a Python expression with the same value, for files that other tuners evaluate. names[slot] stands for a
 * slot; where it, or `names`, is NULL the scope's own name does. KW_BAD_INPUT, and nothing is appended, for what Python
 * has no word for: sizeof, vec, lit, log2 and device.* that were not folded away. */
kw_code expr_print_python(const expr *e, const char *const *names, strb *out, kw_error *err);
void value_print_python(value v, strb *out); /* True, 'text', [1, 2] */

#endif
