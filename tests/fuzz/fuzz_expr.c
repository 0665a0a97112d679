/* Text of any kind as an expression: what parses evaluates or fails cleanly, folding changes no result, canonical text
 * reads back as the same tree, and printing C never breaks. The first byte picks the environment. */
#include "codegen/expr.h"
#include "codegen/limits.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_NAMES = 6, N_SLOTS = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int fill(expr_scope *scope, value *env, uint8_t pick)
{
    static const char *const names[N_NAMES] = {"M", "TM", "T", "alpha", "L", "S"};
    static const value items[] = {{.kind = VALUE_INT, .as.integer = 4}, {.kind = VALUE_REAL, .as.real = 0.5}};
    const value values[N_NAMES] = {value_int(pick & 1 ? INT64_MAX : 1000),
                                   value_int(pick & 2 ? 0 : 64),
                                   value_type(pick & 4 ? DTYPE_F16 : DTYPE_I32),
                                   value_real(pick & 8 ? 1e300 : -0.5),
                                   {.kind = VALUE_LIST, .as.list = {items, pick & 16 ? 0 : 2}},
                                   value_string(pick & 32 ? "" : "zyx")};
    for (int i = 0; i < N_NAMES; i++)
        env[expr_scope_add(scope, names[i], EXPR_PARAM)] = values[i];
    return limits_add_to_scope(scope); /* device.* stay unknown */
}

static bool same(kw_code a_code, value a, kw_code b_code, value b)
{
    return a_code == KW_OK && b_code == KW_OK ? a.kind == b.kind && value_equal(a, b) : a_code == b_code;
}

static const char *c_name(int slot, void *cookie)
{
    (void)slot;
    (void)cookie;
    return "x";
}

static void try_c(const expr *e, uint8_t pick)
{
    expr_c_names names = {c_name, NULL, NULL, "fault", "kw_", (expr_c_want)(pick >> 6)};
    strb out = STRB_INIT;
    kw_error err = {0};
    bool is_real;
    kw_code code = expr_print_c(e, NULL, &names, &out, &is_real, &err);
    require(code == KW_OK ? out.length > 0 : out.length == 0 && err.message[0] != '\0');
    strb_clear(&out);
}

static void try_expression(arena *a, const expr *e, const expr_scope *scope, const value *env, uint8_t pick)
{
    kw_error err = {0};
    value whole = value_none(), rest = value_none(), part[N_SLOTS];
    bool holds, used[N_SLOTS] = {false}, assigned[N_SLOTS] = {true};
    const expr *subs[8];
    kw_code code = expr_eval(e, env, a, &whole, &err);
    require((code == KW_OK) == (err.message[0] == '\0'));
    expr_eval_truth(e, env, &holds, NULL);
    expr_used_slots(e, used);
    expr_frontier(e, assigned, subs, 8);
    expr_conjuncts(e, subs, 8);
    for (int i = 0; i < N_SLOTS; i++)
        part[i] = i % 2 == (pick & 1) ? env[i] : value_none();
    const expr *folded = expr_fold(a, e, part, NULL);
    kw_code rest_code = folded ? expr_eval(folded, env, a, &rest, NULL) : KW_BAD_INPUT;
    if (folded) {
        /* In parts it may stay below the limit that the whole exceeds. */
        require(same(code, whole, rest_code, rest) || strstr(err.message, "list items"));
        const expr *back = expr_parse(a, expr_text(folded), scope, (expr_where){0}, NULL);
        require(!back || expr_same(folded, back)); /* it may have become too long */
        try_c(folded, pick);
    }
    try_c(e, pick);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    expr_scope *scope = expr_scope_new();
    value env[N_SLOTS] = {{.kind = VALUE_NONE}};
    fill(scope, env, data[0]);
    arena *a = arena_new();
    kw_error err = {0};
    char *text = arena_strndup(a, (const char *)data + 1, size - 1);
    const expr *e = expr_parse(a, text, scope, (expr_where){"fuzz", 1, 1}, &err);
    require(!e == (err.message[0] != '\0'));
    if (e)
        try_expression(a, e, scope, env, data[0]);
    arena_free(a);
    expr_scope_free(scope);
    return 0;
}
