/* Expressions: limits, typed results, constants, scopes. */
#include "tests/support_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- limits ---- */

static char *repeat(const char *head, const char *text, int n, const char *tail)
{
    strb out = STRB_INIT;
    strb_add(&out, head);
    for (int i = 0; i < n; i++)
        strb_add(&out, text);
    strb_add(&out, tail);
    return strb_take(&out);
}

static void check_limit(expr_bench *b, char *text, const char *complaint)
{
    kw_error err = {0};
    value v;
    const expr *e = expr_parse(b->memory, text, b->scope, (expr_where){0}, &err);
    kw_code code = e ? expr_eval(e, b->env, b->memory, &v, &err) : KW_BAD_INPUT;
    if (complaint ? code == KW_OK || !strstr(err.message, complaint) : code != KW_OK)
        fail_msg("%.60s...: wanted %s, got %s", text, complaint ? complaint : "a value", err.message);
    free(text);
}

static void test_hostile_input(void **state)
{
    expr_bench *b = *state;
    check_limit(b, repeat("", "(", 100000, ""), "longer than");
    check_limit(b, repeat("", "(", 60000, ""), "levels deep");
    check_limit(b, repeat("", "[", 60000, ""), "levels deep");
    check_limit(b, repeat("", "-", 60000, "1"), "levels deep");
    check_limit(b, repeat("", "not ", 15000, "1"), "levels deep");
    check_limit(b, repeat("1", "+1", 30000, ""), "levels deep");
    check_limit(b, repeat("1", "**1", 20000, ""), "levels deep");
    check_limit(b, repeat("1", " if 1 else 1", 5000, ""), "levels deep");
    check_limit(b, repeat("TM", "[0]", 20000, ""), "levels deep");
    check_limit(b, repeat("1", "+1", 150, ""), NULL);
    check_limit(b, repeat("1", " and 1", 9000, ""), NULL);
    check_limit(b, repeat("[", "1,", 30000, "]"), NULL);
    check_limit(b, repeat("min(TM", ",M", 20000, ")"), NULL);
    check_limit(b, repeat("TM", "<=abs(M)", 8000, ""), "too complicated");
    check_limit(b, mem_strdup("range(1000001)"), "more than 1000000 list items");
    check_limit(b, mem_strdup("range(-9223372036854775807, 9223372036854775807)"), "more than 1000000 list items");
    check_limit(b, mem_strdup("[0 for i in range(2000) for j in range(2000)]"), "more than 1000000 list items");
    check_limit(b, mem_strdup("[0 for i in range(2000) for j in range(2000) if 0]"), "more than 1000000 list items");
    check_limit(b, mem_strdup("range(999999)"), NULL);
    check_limit(b, mem_strdup("[-1 in [1, 2, 3] for i in range(100000)]"), NULL);
    check_limit(b, mem_strdup("[-1 in [1, 2, 3, 4, 5, 6, 7, 8] for i in range(100000)]"),
                "more than 1000000 list items");
    check_limit(b, mem_strdup("[max([i, 2, 3, 4, 5, 6, 7, 8]) for i in range(100000)]"),
                "more than 1000000 list items");
    check_limit(b, repeat("['", "0123456789abcdef", 100, "' + 'x' for i in range(10000)]"),
                "more than 1000000 list items");
}

/* ---- the other entry points ---- */

static const expr *parse(expr_bench *b, const char *text)
{
    kw_error err = {0};
    const expr *e = expr_parse(b->memory, text, b->scope, (expr_where){0}, &err);
    if (!e)
        fail_msg("%s", err.message);
    return e;
}

static void test_typed_results(void **state)
{
    expr_bench *b = *state;
    int64_t i = 0;
    bool t = false;
    double r = 0;
    kw_error err = {0};
    assert_int_equal(expr_eval_int(parse(b, "M // 3"), b->env, &i, &err), KW_OK);
    assert_int_equal(i, 333);
    assert_int_equal(expr_eval_int(parse(b, "M > 3"), b->env, &i, &err), KW_OK);
    assert_int_equal(i, 1);
    assert_int_equal(expr_eval_int(parse(b, "M / 3"), b->env, &i, &err), KW_BAD_INPUT);
    assert_string_equal(err.message,
                        "333.3333333333333 is real, not an integer; use // or ceil_div, which give integers "
                        "| >>>M / 3");
    assert_int_equal(expr_eval_int(parse(b, "M * 2.0"), b->env, &i, &err), KW_BAD_INPUT);
    assert_int_equal(expr_eval_int(parse(b, "ORDER"), b->env, &i, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "zyx is text, not an integer | >>>ORDER");
    assert_int_equal(expr_eval_truth(parse(b, "[0]"), b->env, &t, &err), KW_OK);
    assert_true(t);
    assert_int_equal(expr_eval_truth(parse(b, "TM in [i for i in range(9)]"), b->env, &t, &err), KW_OK);
    assert_false(t);
    assert_int_equal(expr_eval_real(parse(b, "M"), b->env, &r, &err), KW_OK);
    assert_true(r == 1000);
    assert_int_equal(expr_eval_real(parse(b, "alpha"), b->env, &r, &err), KW_OK);
    assert_true(r == 0.5);
    assert_int_equal(expr_eval_real(parse(b, "T"), b->env, &r, &err), KW_BAD_INPUT);
}

static void test_without_scratch(void **state)
{
    expr_bench *b = *state;
    value v;
    kw_error err = {0};
    assert_int_equal(expr_eval(parse(b, "TM in [16, 64] and TM > RM"), b->env, NULL, &v, &err), KW_OK);
    assert_int_equal(expr_eval(parse(b, "[TM]"), b->env, NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "no list or text can be made here"));
}

static void test_constants(void **state)
{
    expr_bench *b = *state;
    char name[] = "zyx";
    const expr *e = expr_constant(b->memory, value_string(name));
    name[0] = '?'; /* the expression has its own copy */
    value v;
    assert_int_equal(expr_eval(e, NULL, NULL, &v, NULL), KW_OK);
    assert_string_equal(v.as.string, "zyx");
    assert_string_equal(expr_text(e), "'zyx'");
    assert_string_equal(expr_text(expr_constant(b->memory, value_real(4))), "4.0");
    assert_string_equal(expr_text(parse(b, " TM %RM == 0")), " TM %RM == 0");
}

static void test_scopes(void **state)
{
    (void)state;
    expr_scope *s = expr_scope_new();
    assert_int_equal(expr_scope_add(s, "I", EXPR_PARAM), 0);
    expr_scope *copy = expr_scope_copy(s);
    assert_int_equal(expr_scope_add(s, "I", EXPR_LOCAL), 1);
    assert_int_equal(expr_scope_add(s, "J", EXPR_LOCAL), 2);
    assert_int_equal(expr_scope_find(s, "I"), 1);
    expr_scope_hide_last(s);
    assert_int_equal(expr_scope_find(s, "J"), -1);
    assert_int_equal(expr_scope_find(s, "I"), 1);
    expr_scope_hide_last(s);
    assert_int_equal(expr_scope_find(s, "I"), 0);
    assert_int_equal(expr_scope_add(s, "L", EXPR_DIM), 3);
    assert_int_equal(expr_scope_size(s), 4);
    assert_int_equal(expr_scope_role(s, 3), EXPR_DIM);
    assert_string_equal(expr_scope_name(s, 2), "J");
    assert_int_equal(expr_scope_size(copy), 1);
    expr_scope *again = expr_scope_copy(s);
    assert_int_equal(expr_scope_find(again, "I"), 0);
    assert_int_equal(expr_scope_find(again, "J"), -1);
    expr_scope_set_language(again, LANGUAGE_CUDA);
    arena *a = arena_new();
    value v;
    const expr *e = expr_parse(a, "lit(f16, 1)", again, (expr_where){0}, NULL);
    assert_int_equal(expr_eval(e, NULL, a, &v, NULL), KW_OK);
    assert_string_equal(v.as.string, "(__half)1.0f");
    arena_free(a);
    expr_scope_free(again);
    expr_scope_free(copy);
    expr_scope_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_input),   cmocka_unit_test(test_typed_results),
        cmocka_unit_test(test_without_scratch), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, expr_bench_make, expr_bench_free);
}
