/* Parsing and evaluation: meaning, messages, limits. */
#include "codegen/expr.h"
#include "codegen/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 64 };

typedef struct bench {
    arena *memory;
    expr_scope *scope;
    value env[MAX_SLOTS];
} bench;

static void set(bench *b, const char *name, expr_role role, value v)
{
    b->env[expr_scope_add(b->scope, name, role)] = v;
}

static int setup(void **state)
{
    static bench b;
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

static int teardown(void **state)
{
    bench *b = *state;
    expr_scope_free(b->scope);
    arena_free(b->memory);
    return 0;
}

/* The value as text that tells its kind, or the message. */
static const char *result(bench *b, const char *text)
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

static void check_all(bench *b, const pair *pairs, size_t n)
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
    bench *b = *state;
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
    bench *b = *state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kw_error err = {0};
        if (expr_parse(b->memory, texts[i], b->scope, (expr_where){0}, &err))
            fail_msg("%s is accepted", texts[i]);
        assert_string_not_equal(err.message, "");
        assert_null(expr_parse(b->memory, texts[i], b->scope, (expr_where){0}, NULL));
    }
}

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

static void check_limit(bench *b, char *text, const char *complaint)
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
    bench *b = *state;
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

static const expr *parse(bench *b, const char *text)
{
    kw_error err = {0};
    const expr *e = expr_parse(b->memory, text, b->scope, (expr_where){0}, &err);
    if (!e)
        fail_msg("%s", err.message);
    return e;
}

static void test_typed_results(void **state)
{
    bench *b = *state;
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
    bench *b = *state;
    value v;
    kw_error err = {0};
    assert_int_equal(expr_eval(parse(b, "TM in [16, 64] and TM > RM"), b->env, NULL, &v, &err), KW_OK);
    assert_int_equal(expr_eval(parse(b, "[TM]"), b->env, NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "no list or text can be made here"));
}

static void test_constants(void **state)
{
    bench *b = *state;
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
        cmocka_unit_test(test_arithmetic),     cmocka_unit_test(test_logic),
        cmocka_unit_test(test_lists),          cmocka_unit_test(test_functions),
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refused_syntax), cmocka_unit_test(test_hostile_input),
        cmocka_unit_test(test_typed_results),  cmocka_unit_test(test_without_scratch),
        cmocka_unit_test(test_constants),      cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
