/* For tests of the expression language: a scope with values of each role; random expressions and environments for the
 * property tests. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_EXPR_H
#define KERNWRIGHT_TESTS_SUPPORT_EXPR_H

#include "base/strb.h"
#include "codegen/expr.h"

#include <stdint.h>

enum { EXPR_BENCH_SLOTS = 64 };

typedef struct expr_bench {
    arena *memory;
    expr_scope *scope;
    value env[EXPR_BENCH_SLOTS];
} expr_bench;

/* Set-up and end of a group of tests; cmocka's state is the bench. */
int expr_bench_make(void **state);
int expr_bench_free(void **state);

enum {
    RANDOM_INTS = 4,
    RANDOM_REALS = 2,
    RANDOM_SLOTS = RANDOM_INTS + RANDOM_REALS + 1,
    RANDOM_SLOT_P = RANDOM_SLOTS - 1
};

typedef struct random_source {
    uint64_t seed, n;
    bool with_lists; /* comprehensions, list(), indices, ** as well */
    strb *out;
} random_source;

/* Slots a, b, c, d (integers), x, y (reals), P (always 8). */
expr_scope *random_scope(void);
uint64_t random_below(random_source *g, uint64_t n);
void random_expression(random_source *g, int depth); /* appends to g->out */
void random_environment(random_source *g, value env[RANDOM_SLOTS]);
uint64_t random_seed(void); /* $KERNWRIGHT_TEST_SEED or a fixed one */

#endif
