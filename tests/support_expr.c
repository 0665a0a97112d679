#include "tests/support_expr.h"

#include "base/counter_rng.h"
#include "codegen/limits.h"

#include <stdlib.h>
#include <string.h>

expr_scope *random_scope(void)
{
    static const char *const names[RANDOM_SLOTS] = {"a", "b", "c", "d", "x", "y", "P"};
    expr_scope *scope = expr_scope_new();
    for (int i = 0; i < RANDOM_SLOTS; i++)
        expr_scope_add(scope, names[i], EXPR_DIM);
    return scope;
}

uint64_t random_seed(void)
{
    const char *text = getenv("KERNWRIGHT_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 20261;
}

uint64_t random_below(random_source *g, uint64_t n)
{
    return counter_rng_u64(g->seed, 1, g->n++) % n;
}

static const char *pick(random_source *g, const char *const *from, size_t n)
{
    return from[random_below(g, n)];
}

#define PICK(g, ...) \
    pick(g, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void leaf(random_source *g)
{
    uint64_t r = random_below(g, 20);
    if (r < 9)
        strb_add(g->out, PICK(g, "a", "b", "c", "d"));
    else if (r < 11)
        strb_add(g->out, PICK(g, "x", "y"));
    else if (r < 12)
        strb_add(g->out, "P");
    else if (r < 18)
        strb_printf(g->out, "%d", (int)random_below(g, 10));
    else
        strb_add(g->out, PICK(g, "true", "0.5", "2.0", "1e300", "9223372036854775807", "-9223372036854775808", "-3",
                              "4294967296", "-1", "9007199254740993"));
}

static void call(random_source *g, int depth)
{
    const char *name = PICK(g, "min", "max", "ceil_div", "round_up", "abs", "is_pow2", "log2", "max", "ceil_div");
    bool one = strcmp(name, "abs") == 0 || strcmp(name, "is_pow2") == 0 || strcmp(name, "log2") == 0;
    size_t n = one ? 1 : *name == 'm' ? 2 + random_below(g, 2) : 2;
    strb_printf(g->out, "%s(", name);
    for (size_t i = 0; i < n; i++) {
        strb_add(g->out, i ? ", " : "");
        random_expression(g, depth - 1);
    }
    strb_add(g->out, ")");
}

/* An operand; mostly in parentheses, so that every tree can come out, sometimes not, so that precedence matters. */
static void operand(random_source *g, int depth)
{
    bool wrap = random_below(g, 4) > 0;
    strb_add(g->out, wrap ? "(" : "");
    if (wrap)
        random_expression(g, depth - 1);
    else
        leaf(g);
    strb_add(g->out, wrap ? ")" : "");
}

static void row(random_source *g, int depth, size_t n, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            strb_printf(g->out, " %s ", pick(g, words, n_words));
        operand(g, depth);
    }
}

static void list(random_source *g, int depth)
{
    switch (random_below(g, 5)) {
    case 0:
        strb_add(g->out, "max([i*");
        operand(g, depth);
        strb_add(g->out,
                 PICK(g, " for i in range(4)] + [1])", " for i in [1, 2] if i < a])", " for i in range(a % 5)])"));
        break;
    case 1:
        strb_add(g->out, "[a, 2, x][");
        random_expression(g, depth - 1);
        strb_add(g->out, "]");
        break;
    case 2:
        strb_add(g->out, "min(list(range(");
        random_expression(g, depth - 1);
        strb_add(g->out, ", 9, 2)) + [");
        random_expression(g, depth - 1);
        strb_add(g->out, "])");
        break;
    case 3:
        operand(g, depth);
        strb_add(g->out, PICK(g, "**2", "**b", "**-1", "**0.5", "**(a - b)"));
        break;
    default:
        operand(g, depth);
        strb_add(g->out, PICK(g, " in [a, 3]", " not in [j + 1 for j in range(3)]"));
        break;
    }
}

void random_expression(random_source *g, int depth)
{
    static const char *const arithmetic[] = {"+", "-", "*", "//", "%", "/"};
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const logic[] = {"and", "or"};
    uint64_t r = random_below(g, g->with_lists ? 24 : 20);
    if (depth <= 0 || r < 2) {
        leaf(g);
    } else if (r < 9) {
        row(g, depth, 2 + (random_below(g, 4) == 0), arithmetic, 6);
    } else if (r < 12) {
        row(g, depth, 2 + (random_below(g, 4) == 0), comparisons, 6);
    } else if (r < 14) {
        row(g, depth, 2 + random_below(g, 2), logic + random_below(g, 2), 1);
    } else if (r < 15) {
        strb_add(g->out, PICK(g, "not ", "-", "+", "!", "- -"));
        operand(g, depth);
    } else if (r < 16) {
        operand(g, depth);
        strb_add(g->out, PICK(g, " in [1, 2, 64]", " not in [0, 0.5, true, 'a']"));
    } else if (r < 18) {
        operand(g, depth);
        strb_add(g->out, " if ");
        operand(g, depth);
        strb_add(g->out, " else ");
        operand(g, depth);
    } else if (r < 20) {
        call(g, depth);
    } else {
        list(g, depth);
    }
}

static int64_t some_integer(random_source *g)
{
    static const int64_t odd_ones[] = {
        INT64_MAX,        INT64_MIN,  INT64_MIN + 1, (int64_t)1 << 53, ((int64_t)1 << 53) + 1,
        (int64_t)1 << 32, 3037000500, -3037000500,   2147483648,       -2147483649};
    uint64_t r = random_below(g, 10);
    if (r < 5)
        return (int64_t)random_below(g, 9) - 2;
    if (r < 8)
        return (int64_t)1 << random_below(g, 12);
    return r < 9 ? (int64_t)random_below(g, 100000) - 50000
                 : odd_ones[random_below(g, sizeof odd_ones / sizeof *odd_ones)];
}

static double some_real(random_source *g)
{
    static const double reals[] = {
        0.0, 1.0, 0.5, -2.5, 3.0, 1e308, -1e-300, 9007199254740992.0, 5e-324, 0.1, 0.3, -7.7, 9223372036854775808.0,
        1e17};
    return reals[random_below(g, sizeof reals / sizeof *reals)];
}

void random_environment(random_source *g, value env[RANDOM_SLOTS])
{
    for (int i = 0; i < RANDOM_INTS; i++)
        env[i] = value_int(some_integer(g));
    for (int i = RANDOM_INTS; i < RANDOM_SLOT_P; i++)
        env[i] = value_real(some_real(g));
    env[RANDOM_SLOT_P] = value_int(8);
}

/* ---- a bench ---- */

static void set(expr_bench *b, const char *name, expr_role role, value v)
{
    b->env[expr_scope_add(b->scope, name, role)] = v;
}

int expr_bench_make(void **state)
{
    static expr_bench b;
    static const value list[] = {{.kind = VALUE_INT, .as.integer = 4096}, {.kind = VALUE_INT, .as.integer = 512}};
    memset(&b, 0, sizeof b);
    b.memory = arena_new();
    b.scope = expr_scope_new();
    set(&b, "TM", EXPR_PARAM, value_int(64));
    set(&b, "RM", EXPR_PARAM, value_int(4));
    set(&b, "SPECK", EXPR_PARAM, value_bool(true));
    set(&b, "ORDER", EXPR_PARAM, value_string("zyx"));
    set(&b, "T", EXPR_TYPE, value_type(DTYPE_F32));
    set(&b, "ACC", EXPR_TYPE, value_type(DTYPE_F64));
    set(&b, "M", EXPR_DIM, value_int(1000));
    set(&b, "K", EXPR_DIM, value_none());
    set(&b, "alpha", EXPR_SCALAR, value_real(0.5));
    set(&b, "ProblemSize", EXPR_DIM, (value){.kind = VALUE_LIST, .as.list = {list, 2}});
    device_limits limits = {.max_work_group_size = 256, .local_mem_bytes = 49152};
    limits_fill(&limits, b.env, limits_add_to_scope(b.scope));
    *state = &b;
    return 0;
}

int expr_bench_free(void **state)
{
    expr_bench *b = *state;
    expr_scope_free(b->scope);
    arena_free(b->memory);
    return 0;
}
