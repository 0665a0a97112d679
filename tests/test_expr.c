/* Parsing and evaluation: meaning, messages, limits. */
#include "tests/support_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The value as text that tells its kind, or the message. */
static const char *result(expr_bench *b, const char *text)
{
    kw_error err = {0};
    value v;
    const expr *e = expr_parse(b->memory, text, b->scope, (expr_where){"t.cl", 7, 20}, &err);
    if (!e || expr_eval(e, b->env, b->memory, &v, &err) != KW_OK)
        return arena_strdup(b->memory, err.message);
    strb out = STRB_INIT;
    value_print_source(v, &out);
    const char *copy = arena_strdup(b->memory, strb_text(&out));
    strb_clear(&out);
    return copy;
}

typedef struct pair {
    const char *text, *wanted;
} pair;

static void check_all(expr_bench *b, const pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = result(b, pairs[i].text);
        if (strcmp(got, pairs[i].wanted) != 0)
            fail_msg("%s\n  gives  %s\n  wanted %s", pairs[i].text, got, pairs[i].wanted);
    }
}

#define CHECK_ALL(b, pairs) check_all(b, pairs, sizeof(pairs) / sizeof *(pairs))

static void test_arithmetic(void **state)
{
    static const pair pairs[] = {{"1 + 2 * 3", "7"},
                                 {"(1 + 2) * 3", "9"},
                                 {"10 - 3 - 2", "5"},
                                 {"2 ** 3 ** 2", "512"},
                                 {"-2 ** 2", "-4"},
                                 {"2 ** -1", "0.5"},
                                 {"2 ** 62", "4611686018427387904"},
                                 {"2 * -3", "-6"},
                                 {"+TM", "64"},
                                 {"- -3", "3"},
                                 {"7 // 2", "3"},
                                 {"-7 // 2", "-4"},
                                 {"7 // -2", "-4"},
                                 {"-7 // -2", "3"},
                                 {"7 % 3", "1"},
                                 {"-7 % 3", "2"},
                                 {"7 % -3", "-2"},
                                 {"6 % -3", "0"},
                                 {"-9223372036854775808 % -1", "0"},
                                 {"7 / 2", "3.5"},
                                 {"8 / 2", "4"},
                                 {"8.0 / 2", "4.0"},
                                 {"0 / 5", "0"},
                                 {"1 - 1 / 4", "0.75"},
                                 {"1.5 // 0.5", "3.0"},
                                 {"-1.5 // 1", "-2.0"},
                                 {"-1.5 % 1.0", "0.5"},
                                 {"1.5 % -1.0", "-0.5"},
                                 {"0.1 + 0.2", "0.30000000000000004"},
                                 {"true + 1", "2"},
                                 {"True * False", "0"},
                                 {"TM // RM * 2", "32"},
                                 {"0x1F + 0b11 + 0o17", "49"},
                                 {".5 + 1. + 1e1", "11.5"},
                                 {"-9223372036854775808", "-9223372036854775808"},
                                 {"(-2) ** 3", "-8"},
                                 {"4 ** 0.5", "2.0"},
                                 {"1 + 2 if false else 3 * 4", "12"}};
    CHECK_ALL(*state, pairs);
}

static void test_logic(void **state)
{
    static const pair pairs[] = {{"1 < 2", "true"},
                                 {"1 < 2 < 3", "true"},
                                 {"1 < 3 < 2", "false"},
                                 {"3 > 2 > 1 > 0", "true"},
                                 {"1 < 2 == 2", "true"},
                                 {"1 == 1.0", "true"},
                                 {"true == 1", "true"},
                                 {"2 and 3", "3"},
                                 {"0 and 1 / 0", "0"},
                                 {"2 or 1 / 0", "2"},
                                 {"0 or 0.0 or 'x'", "'x'"},
                                 {"not 0", "true"},
                                 {"not 1 == 2", "true"},
                                 {"!1 == 0", "true"},
                                 {"!0 && 1 || 0", "1"},
                                 {"1 || 0 && 0", "1"},
                                 {"5 > 3 > 1 / 0 if 0 else 9", "9"},
                                 {"2 > 3 > 1 / 0", "false"},
                                 {"1 if 0 else 2 if 0 else 3", "3"},
                                 {"'' or 4", "4"},
                                 {"not []", "true"},
                                 {"not T", "false"},
                                 {"9007199254740993 == 9007199254740992.0", "false"},
                                 {"9007199254740993 > 9007199254740992.0", "true"},
                                 {"'abc' < 'abd'", "true"},
                                 {"ORDER == 'zyx'", "true"},
                                 {"ORDER == \"xyz\"", "false"},
                                 {"ORDER != 3", "true"},
                                 {"SPECK and TM", "64"},
                                 {"T == f32", "true"},
                                 {"T == ACC", "false"}};
    CHECK_ALL(*state, pairs);
}

static void test_lists(void **state)
{
    static const pair pairs[] = {{"[1, 2.0, 'a', true]", "[1, 2.0, 'a', true]"},
                                 {"[]", "[]"},
                                 {"[1,]", "[1]"},
                                 {"(1, 2)", "[1, 2]"},
                                 {"[1] + [2, 3]", "[1, 2, 3]"},
                                 {"list(range(3))", "[0, 1, 2]"},
                                 {"range(32, 129, 32)", "[32, 64, 96, 128]"},
                                 {"range(3, 0, -1)", "[3, 2, 1]"},
                                 {"range(3, 0)", "[]"},
                                 {"[2**i for i in range(0, 6)]", "[1, 2, 4, 8, 16, 32]"},
                                 {"[i for i in range(9) if i % 2 if i > 3]", "[5, 7]"},
                                 {"[10 * i + j for i in range(3) for j in range(i)]", "[10, 20, 21]"},
                                 {"[[i, j] for i in (1, 2) if i > 1 for j in [i]]", "[[2, 2]]"},
                                 {"[[j for j in range(i)] for i in range(3)]", "[[], [0], [0, 1]]"},
                                 {"[TM for TM in range(2)][0] + TM", "64"},
                                 {"max(i * 2 for i in [1, 5, 3])", "10"},
                                 {"min([3, 1, 2])", "1"},
                                 {"[1, 2, 3][1]", "2"},
                                 {"[1, 2, 3][-1]", "3"},
                                 {"ProblemSize[0] * ProblemSize[1]", "2097152"},
                                 {"[[1, 2], [3]][0][1]", "2"},
                                 {"TM in [16, 64]", "true"},
                                 {"TM not in [16, 64]", "false"},
                                 {"TM in (16, 32)", "false"},
                                 {"2 in [x for x in range(3)]", "true"},
                                 {"[1, 2] == [1.0, 2]", "true"},
                                 {"not TM in [64]", "false"},
                                 {"'a' in ['a']", "true"},
                                 {"[1 if i else 2 for i in [0, 1]]", "[2, 1]"},
                                 {"[i for i in range(20)][17]", "17"}};
    CHECK_ALL(*state, pairs);
}

static void test_functions(void **state)
{
    static const pair pairs[] = {{"min(3, 1, 2)", "1"},
                                 {"max(1, 2.5)", "2.5"},
                                 {"min(1, 1.0)", "1"},
                                 {"max('a', 'b')", "'b'"},
                                 {"abs(-3)", "3"},
                                 {"abs(-2.5)", "2.5"},
                                 {"ceil_div(7, 2)", "4"},
                                 {"ceil_div(-7, 2)", "-3"},
                                 {"ceil_div(7, -2)", "-3"},
                                 {"ceil_div(8, 2)", "4"},
                                 {"ceil_div(9223372036854775807, 2)", "4611686018427387904"},
                                 {"round_up(M, TM)", "1024"},
                                 {"round_up(-5, 4)", "-4"},
                                 {"is_pow2(64)", "true"},
                                 {"is_pow2(0)", "false"},
                                 {"is_pow2(-4)", "false"},
                                 {"log2(1024)", "10"},
                                 {"log2(1)", "0"},
                                 {"log2(0.25)", "-2"},
                                 {"log2(4611686018427387904)", "62"},
                                 {"3.32192809488 < log2(10) < 3.32192809489", "true"},
                                 {"sizeof(T) + sizeof(ACC) + sizeof(f16)", "14"},
                                 {"vec(T, 4)", "'float4'"},
                                 {"vec(T, 1)", "'float'"},
                                 {"lit(T, 1)", "'1.0f'"},
                                 {"lit(i32, -1)", "'(-1)'"},
                                 {"'a' + 'b'", "'ab'"},
                                 {"device.max_work_group_size // 2", "128"}};
    CHECK_ALL(*state, pairs);
}

/* ---- messages ---- */

static void test_messages(void **state)
{
    static const pair pairs[] = {
        {"TMM % RM == 0", "t.cl:7:20: unknown name 'TMM'; did you mean 'TM'? | >>>TMM % RM == 0"},
        {"TM +\n  RMM", "t.cl:8:3: unknown name 'RMM'; did you mean 'RM'? | TM +   >>>RMM"},
        {"TM % device.max_work_size", "t.cl:7:25: unknown name 'device.max_work_size'; did you mean "
                                      "'device.max_work_group_size'? | TM % >>>device.max_work_size"},
        {"cel_div(M, TM)", "t.cl:7:20: unknown function 'cel_div'; did you mean 'ceil_div'? | >>>cel_div(M, TM)"},
        {"K + 1", "t.cl:7:20: K is not known here | >>>K + 1"},
        {"TM if K else 2", "t.cl:7:26: K is not known here | TM if >>>K else 2"},
        {"[K]", "t.cl:7:21: K is not known here | [>>>K]"},
        {"K", "t.cl:7:20: K is not known here | >>>K"},
        {"1 + M * 9223372036854775807",
         "t.cl:7:24: overflow in M * 9223372036854775807 | 1 + >>>M * 9223372036854775807"},
        {"TM // (RM - 4)", "t.cl:7:20: division by zero in TM // (RM - 4) | >>>TM // (RM - 4)"},
        {"M + 'a'", "t.cl:7:20: '+' does not apply to integer and text in M + 'a' | >>>M + 'a'"},
        {"M < 'a'", "t.cl:7:20: '<' does not apply to integer and text in M < 'a' | >>>M < 'a'"},
        {"T == 'f32'",
         "t.cl:7:20: a type is compared with text: write the name of the type without quotes in T == 'f32' "
         "| >>>T == 'f32'"},
        {"[1][1]", "t.cl:7:20: position 1 of a list of 1 in [1][1] | >>>[1][1]"},
        {"max(3)", "t.cl:7:20: 'max' of one value needs a list, not integer in max(3) | >>>max(3)"},
        {"[i for i in M]", "t.cl:7:32: 'for' goes through a list, not integer in M | [i for i in >>>M]"},
        {"vec(T, 5)", "t.cl:7:20: opencl has no vector of 5 f32 in vec(T, 5) | >>>vec(T, 5)"},
        {"TM RM", "t.cl:7:23: an operator or the end was expected, not 'RM' | TM >>>RM"},
        {"(TM", "t.cl:7:23: the expression ends where `)` was expected | (TM>>>"},
        {"TM = 3", "t.cl:7:23: `=` is not an operator; equality is `==` | TM >>>= 3"},
        {"TM ? 1 : 2", "t.cl:7:23: there is no `?:` here; write `a if condition else b` | TM >>>? 1 : 2"},
        {"1 +", "t.cl:7:23: the expression ends where a value was expected | 1 +>>>"},
        {"", "t.cl:7:20: the expression is empty | >>>"},
        {"None", "t.cl:7:20: there is no None here | >>>None"},
        {"9223372036854775808", "t.cl:7:20: the integer does not fit in 64 bits | >>>9223372036854775808"},
        {"12ab", "t.cl:7:20: a number must not run into a name | >>>12ab"},
        {"'abc", "t.cl:7:20: the text has no closing quote | >>>'abc"},
        {"ceil_div(1)", "t.cl:7:20: ceil_div takes 2 arguments, not 1 | >>>ceil_div(1)"},
        {"1 # one", "t.cl:7:22: there are no comments in expressions | 1 >>># one"}};
    CHECK_ALL(*state, pairs);
}

static void test_failures(void **state)
{
    static const char *const texts[] = {"1 / 0",
                                        "1 // 0",
                                        "1 % 0",
                                        "1.0 / 0",
                                        "1.5 // 0.0",
                                        "0 ** -1",
                                        "0.0 ** -1",
                                        "-9223372036854775808 // -1",
                                        "-9223372036854775808 / -1",
                                        "9223372036854775807 + 1",
                                        "-9223372036854775807 - 2",
                                        "2 ** 63",
                                        "2 ** 64",
                                        "abs(-9223372036854775808)",
                                        "-(-9223372036854775807 - 1)",
                                        "ceil_div(-9223372036854775808, -1)",
                                        "round_up(9223372036854775807, 2)",
                                        "1e308 * 10",
                                        "10.0 ** 400",
                                        "(-1) ** 0.5",
                                        "log2(0)",
                                        "log2(-1.0)",
                                        "ceil_div(1.5, 2)",
                                        "is_pow2(2.0)",
                                        "range(1.5)",
                                        "range(1, 2, 0)",
                                        "min([])",
                                        "1 in 2",
                                        "'a' in 'abc'",
                                        "[1] + 1",
                                        "[1] < [2]",
                                        "sizeof(4)",
                                        "lit(T, 'x')",
                                        "lit(i8, 300)",
                                        "-'a'",
                                        "-[1]",
                                        "T + 1",
                                        "list(3)",
                                        "min(1, 'a')",
                                        "[1]['a']",
                                        "3[0]",
                                        "not K",
                                        "K == 1",
                                        "K and 1"};
    expr_bench *b = *state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kw_error err = {0};
        value v;
        const expr *e = expr_parse(b->memory, texts[i], b->scope, (expr_where){0}, &err);
        if (!e)
            fail_msg("%s: %s", texts[i], err.message);
        if (expr_eval(e, b->env, b->memory, &v, &err) != KW_BAD_INPUT || err.message[0] == '\0')
            fail_msg("%s gives no error", texts[i]);
        assert_int_equal(expr_eval(e, b->env, b->memory, &v, NULL), KW_BAD_INPUT);
    }
}

static void test_refused_syntax(void **state)
{
    static const char *const texts[] = {"1 +* 2",
                                        "()",
                                        "[1 2]",
                                        "f(",
                                        "min()",
                                        "1..5",
                                        "a.",
                                        "TM.x",
                                        "and",
                                        "not",
                                        "1 if 2",
                                        "[i for in x]",
                                        "[i for i in]",
                                        "[for i in [1]]",
                                        "[i for 3 in [1]]",
                                        "x for x in [1]",
                                        "1 not 2",
                                        "1 & 2",
                                        "1 | 2",
                                        "~1",
                                        "lambda: 1",
                                        "{1}",
                                        "TM[",
                                        "TM]",
                                        "\"a'",
                                        "@",
                                        "[i for a.b in [1]]",
                                        "0x",
                                        "1e400",
                                        "range(1, 2, 3, 4)",
                                        "9223372036854775808 - 1"};
    expr_bench *b = *state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kw_error err = {0};
        if (expr_parse(b->memory, texts[i], b->scope, (expr_where){0}, &err))
            fail_msg("%s is accepted", texts[i]);
        assert_string_not_equal(err.message, "");
        assert_null(expr_parse(b->memory, texts[i], b->scope, (expr_where){0}, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),     cmocka_unit_test(test_logic),    cmocka_unit_test(test_lists),
        cmocka_unit_test(test_functions),      cmocka_unit_test(test_messages), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refused_syntax),
    };
    return cmocka_run_group_tests(tests, expr_bench_make, expr_bench_free);
}
