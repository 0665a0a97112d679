/* One expression for many values at once says what it says of each alone, or nothing. */
#include "support_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 20000, N = 12 };

static size_t answered, varied;

static void compare(const expr *e, value *env, int slot, const int64_t *values, size_t n)
{
    bool many[EXPR_MANY];
    if (!expr_eval_truth_many(e, env, slot, values, n, many))
        return;
    answered++;
    for (size_t i = 0; i < n; i++) {
        bool one = false;
        env[slot] = value_int(values[i]);
        if (expr_eval_truth(e, env, &one, NULL) != KW_OK)
            fail_msg("%s has no value at %lld, yet a truth", expr_text(e), (long long)values[i]);
        if (one != many[i])
            fail_msg("%s at %lld: %d alone, %d among many", expr_text(e), (long long)values[i], one, many[i]);
        varied += many[i] != many[0];
    }
}

static void many_are_like_one(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        strb text = STRB_INIT;
        random_source g = {random_seed() + round, 0, false, &text};
        arena *a = arena_new();
        expr_scope *scope = random_scope();
        value env[RANDOM_SLOTS];
        int64_t values[N];
        kw_error err;
        random_environment(&g, env);
        for (size_t i = 0; i < N; i++)
            values[i] = (int64_t)random_below(&g, 40) - (round % 3 == 0 ? 20 : 0);
        if (round % 7 == 0)
            values[3] = INT64_MAX - 1; /* overflow in one of them */
        random_expression(&g, 3);
        const expr *e = expr_parse(a, strb_text(&text), scope, (expr_where){0}, &err);
        if (e)
            compare(e, env, (int)random_below(&g, RANDOM_INTS), values, N);
        expr_scope_free(scope);
        arena_free(a);
        strb_clear(&text);
    }
    print_message("%zu of %d answered\n", answered, ROUNDS);
    assert_true(answered > ROUNDS / 20); /* the short way must not have gone lame */
    assert_true(varied > ROUNDS / 100);
}

static const expr *parse(arena *a, const expr_scope *scope, const char *text)
{
    kw_error err;
    const expr *e = expr_parse(a, text, scope, (expr_where){0}, &err);
    if (!e)
        fail_msg("%s", err.message);
    return e;
}

static void what_is_not_plain_is_refused(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "a * 4 + b <= 100", "a % 4 == 0", "(a + 2) // 2 > b - 3", "a < b", "b < 4", "a"};
    static const char *const other[] = {"a < 3 or b < 3",   "a / 2 < 3",         "min(a, b) < 3",
                                        "a + x < 3",        "(a < b) + 1 < 3",   "a * 9223372036854775807 < 3",
                                        "a % (a - 2) == 0", "(a - 3) // 2 == 0", "x < 3"};
    expr_scope *scope = random_scope();
    arena *a = arena_new();
    value env[RANDOM_SLOTS];
    int64_t values[EXPR_MANY + 1];
    bool out[EXPR_MANY + 1];
    random_source g = {1, 0, false, NULL};
    random_environment(&g, env);
    env[1] = value_int(5);
    env[RANDOM_INTS] = value_real(0.5);
    for (int64_t i = 0; i <= EXPR_MANY; i++)
        values[i] = i;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!expr_eval_truth_many(parse(a, scope, plain[i]), env, 0, values, EXPR_MANY, out))
            fail_msg("%s is refused", plain[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (expr_eval_truth_many(parse(a, scope, other[i]), env, 0, values, EXPR_MANY, out))
            fail_msg("%s is not refused", other[i]);
    assert_false(expr_eval_truth_many(parse(a, scope, plain[0]), env, 0, values, EXPR_MANY + 1, out));
    env[1] = value_none();
    assert_false(expr_eval_truth_many(parse(a, scope, "a < b"), env, 0, values, 4, out));
    arena_free(a);
    expr_scope_free(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_are_like_one),
        cmocka_unit_test(what_is_not_plain_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
