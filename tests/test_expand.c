#include "codegen/expand.h"

#include "base/counter_rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A scope with parameters TM = 64, F = true, S = "zyx", R = 0.5; the types T = f32 and H = f16; a dim M without a
 * value and a dim K = 48. */
typedef struct fixture {
    arena *a;
    expr_scope *scope;
    bool known[8];
} fixture;

static fixture make_fixture(void)
{
    static const char *const names[] = {"TM", "F", "S", "R", "T", "H", "M", "K"};
    static const expr_role roles[] = {EXPR_PARAM, EXPR_PARAM, EXPR_PARAM, EXPR_PARAM,
                                      EXPR_TYPE,  EXPR_TYPE,  EXPR_DIM,   EXPR_DIM};
    fixture f = {arena_new(), expr_scope_new(), {true, true, true, true, true, true, false, true}};
    for (size_t i = 0; i < 8; i++)
        expr_scope_add(f.scope, names[i], roles[i]);
    return f;
}

static void free_fixture(fixture *f)
{
    expr_scope_free(f->scope);
    arena_free(f->a);
}

static kw_code run(const char *text, language lang, strb *out, kw_error *err)
{
    fixture f = make_fixture();
    expr_scope_set_language(f.scope, lang);
    const body *b = body_parse(f.a, text, strlen(text), "k.cl", 10, f.scope, (body_names){f.known, 8}, err);
    kw_code code = KW_BAD_INPUT;
    if (b != NULL) {
        value *env = mem_calloc((size_t)expr_scope_size(f.scope), sizeof *env);
        value start[] = {value_int(64),         value_bool(true),      value_string("zyx"), value_real(0.5),
                         value_type(DTYPE_F32), value_type(DTYPE_F16), value_none(),        value_int(48)};
        memcpy(env, start, sizeof start);
        code = body_expand(b, lang, env, out, err);
        free(env);
    }
    free_fixture(&f);
    return code;
}

static void expands(const char *text, const char *expected)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    if (run(text, LANGUAGE_OPENCL, &out, &err) != KW_OK)
        fail_msg("%s: %s", text, err.message);
    assert_string_equal(strb_text(&out), expected);
    strb_clear(&out);
}

static void fails(const char *text, kw_code expected, const char *part)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    kw_code code = run(text, LANGUAGE_OPENCL, &out, &err);
    strb_clear(&out);
    if (code != expected || strstr(err.message, part) == NULL)
        fail_msg("%s: code %d, \"%s\" is not in: %s", text, (int)code, part, err.message);
    assert_null(strchr(err.message, '\n'));
}

static void prints_values(void **state)
{
    (void)state;
    expands("", "");
    expands("a\n\nb", "a\n\nb");
    expands("x${TM}y", "x64y");
    expands("${TM//2}${F}${not F}${S}${T} ${H}\n", "3210zyxfloat half\n");
    expands("${S == 'a}b'}${\"}\"}", "0}");
    expands("${'\\'}'}${\"\\\\\"}", "'}\\");
    expands("${4/2} ${log2(8)} ${-0.0}", "2 3 0");
    expands("${vec(T,4)} ${vec(T,1)} ${lit(T,R)}", "float4 float 0.5f");
    expands("${ K }", "48");
    expands("${0} ${-7} ${10**18} ${-2**62*2} ${2**62-1+2**62}",
            "0 -7 1000000000000000000 -9223372036854775808 9223372036854775807");
    fails("a ${R}", KW_BAD_INPUT, "k.cl:10:3: ${R} is 0.5, not an integer: write // or ceil_div");
    fails("${[1,2]}", KW_BAD_INPUT, "k.cl:10:1:");
    fails("\n  ${TN}", KW_BAD_INPUT, "k.cl:11:5:");
    fails("${TN}", KW_BAD_INPUT, "TM");
    fails("${M}", KW_BAD_INPUT, "M is a dim, which has no value when text is made");
    fails("${}", KW_BAD_INPUT, "k.cl:10:3: an expression is missing");
    fails("${TM\n}", KW_BAD_INPUT, "k.cl:10:1: ${ is not closed on this line");
    fails("${1//0}", KW_BAD_INPUT, "zero");
}

static void keeps_dollars(void **state)
{
    (void)state;
    expands("$ $$ $x ${TM}$ {", "$ $$ $x 64$ {");
    expands("$${TM}", "${TM}");
    expands("$$${TM}$", "$${TM}$");
    expands("a$", "a$");
}

static void speaks_the_language(void **state)
{
    (void)state;
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_int_equal(run("${H}", LANGUAGE_CUDA, &out, &err), KW_OK);
    assert_string_equal(strb_text(&out), language_type(LANGUAGE_CUDA, DTYPE_F16));
    strb_clear(&out);
}

static void loops(void **state)
{
    (void)state;
    expands("//@for I in 0..3\n${I} ${I*I}\n//@end\nz", "0 0\n1 1\n2 4\nz");
    expands("//@for I in 0..0\nx\n//@end\n", "");
    expands("//@for I in 5..0\nx\n//@end\n", "");
    expands("  //@for I in 1..TM//8 step 3\n${I},\n  //@end // of I\n", "1,\n4,\n7,\n");
    expands("//@for I in 4..0 step -2\n${I}\n//@end\n", "4\n2\n");
    expands("//@for I in 0..2\n//@for J in I..2\n(${I},${J})\n//@end\n//@end\n", "(0,0)\n(0,1)\n(1,1)\n");
    expands("//@for I in 0..2\n//@for I in 5..6\n${I}\n//@end\n${I}\n//@end\n", "5\n0\n5\n1\n");
    expands("//@for step2 in [1,2][0]..max(1, 3)\n${step2}\n//@end\n", "1\n2\n");
    fails("//@for I in 0..2\n${I}\n//@end\n${I}", KW_BAD_INPUT, "k.cl:13:3:");
    fails("//@for I in 0..R\n//@end\n", KW_BAD_INPUT, "k.cl:10:16");
    fails("//@for I in 0..4 step 0\n//@end\n", KW_BAD_INPUT, "k.cl:10:1: the step of the loop is 0");
    fails("//@for I 0..4\n//@end\n", KW_BAD_INPUT, "expected \"in\"");
    fails("//@for in 0..4\n//@end\n", KW_BAD_INPUT, "expected a name");
    fails("//@for I in range(4)\n//@end\n", KW_BAD_INPUT, "expected LO..HI");
    fails("//@for I in ..4\n//@end\n", KW_BAD_INPUT, "an expression is missing");
}

static void limits_loops_and_text(void **state)
{
    (void)state;
    fails("//@for I in 0..1000000\n//@let L = range(100000)\n//@end\n", KW_BAD_INPUT,
          "k.cl:11:12: more than 1000000 list items, or 8000000 in one text in range(100000)");
    fails("//@for I in 0..1000000\n//@if 7 in [1, 2, 3, 4]\n//@elif 7 in [5, 6, 8, 9]\n//@end\n//@end\n", KW_BAD_INPUT,
          "8000000");
    fails("//@for I in 0..1000000\n//@let A = I\n//@let B = I\n//@let C = I\n//@let D = I\n//@let E = I\n//@let F = I\n"
          "//@let G = I\n//@let H = I\n//@let J = I\n//@end\n",
          KW_BAD_INPUT, "this text takes more than 8000000 evaluations");
    fails("//@for I in 0..10**9\nx\n//@end\n", KW_BAD_INPUT,
          "k.cl:10:1: this loop would run 1000000000 times; the limit");
    fails("//@for I in 0..2000\n//@for J in 0..2000\n//@end\n//@end\n", KW_BAD_INPUT, "k.cl:11:1: this loop");
    fails("//@for I in -2**62..2**62\n//@end\n", KW_BAD_INPUT, "limit");
    expands("//@for I in -4611686018427387904..4611686018427387904 step 4611686018427387904\n${I}\n//@end\n",
            "-4611686018427387904\n0\n");
    strb long_line = STRB_INIT;
    strb_add(&long_line, "//@for I in 0..1000000\n");
    for (int i = 0; i < 100; i++)
        strb_add_char(&long_line, 'x');
    strb_add(&long_line, "\n//@end\n");
    fails(strb_text(&long_line), KW_BAD_INPUT, "over the limit of 16 MiB");
    strb_clear(&long_line);
    strb deep = STRB_INIT;
    for (int i = 0; i < 65; i++)
        strb_add(&deep, "//@if F\n");
    fails(strb_text(&deep), KW_BAD_INPUT, "nested more than 64 deep");
    strb_clear(&deep);
}

static void branches(void **state)
{
    (void)state;
    expands("//@if TM > 32\nbig\n//@elif TM > 16\nmid\n//@else\nsmall\n//@end\n", "big\n");
    expands("//@if TM > 64\nbig\n//@elif TM > 16\nmid\n//@else\nsmall\n//@end\n", "mid\n");
    expands("//@if TM > 64\nbig\n//@elif TM > 65\nmid\n//@else // rest\nsmall\n//@end\n", "small\n");
    expands("//@if not F\n${1//0}\n//@end\n", "");
    expands("//@if S == \"zyx\" && K % 16 == 0\nyes\n//@end\n", "yes\n");
    fails("//@if F\n", KW_BAD_INPUT, "k.cl:10:1: //@if is never closed");
    fails("x\n//@if F\n//@for I in 0..2\n//@end\n", KW_BAD_INPUT, "k.cl:11:1: //@if is never closed");
    fails("//@for I in 0..2\n", KW_BAD_INPUT, "//@for is never closed");
    fails("//@end\n", KW_BAD_INPUT, "k.cl:10:1: //@end without");
    fails("//@else\n", KW_BAD_INPUT, "//@else without");
    fails("//@for I in 0..2\n//@else\n//@end\n", KW_BAD_INPUT, "//@else without");
    fails("//@if F\n//@else\n//@elif F\n//@end\n", KW_BAD_INPUT, "//@elif after //@else (of the //@if at line 10)");
    fails("//@if F\n//@else x\n//@end\n", KW_BAD_INPUT, "nothing may follow //@else");
    fails("//@if\n//@end\n", KW_BAD_INPUT, "an expression is missing");
}

static void names_and_requirements(void **state)
{
    (void)state;
    expands("//@let X = TM // 4\n//@let X = X + 1\n${X}\n", "17\n");
    expands("//@let V = vec(T, 2)\n//@let L = [4, 5]\n${V} ${L[1]}\n", "float2 5\n");
    fails("//@if F\n//@let X = 1\n//@end\n${X}", KW_BAD_INPUT, "k.cl:13:3:");
    fails("//@let X TM\n", KW_BAD_INPUT, "expected \"=\"");
    fails("//@let min = 1\n", KW_BAD_INPUT, "expected a name");
    expands("//@require TM % 2 == 0 \"even\"\nx", "x");
    fails("x\n//@require TM % 3 == 0 \"TM must be a multiple of 3\"\n", KW_FAILED,
          "k.cl:11:1: TM must be a multiple of 3");
    fails("//@require TM % 3 == 0\n", KW_BAD_INPUT, "a reason in quotes");
    fails("//@require \"why\"\n", KW_BAD_INPUT, "");
    fails("//@fro I in 0..2\n", KW_BAD_INPUT, "unknown directive //@fro, did you mean //@for");
    fails("//@endif\n", KW_BAD_INPUT, "did you mean //@end");
    fails("} //@end\n", KW_BAD_INPUT, "k.cl:10:3: //@end must stand on a line of its own");
    expands("a //@ b //@endless\n", "a //@ b //@endless\n");
}

static void handles_line_ends(void **state)
{
    (void)state;
    expands("//@if F\r\na ${TM}\r\n//@end\r\nb", "a 64\r\nb");
}

static void keeps_other_texts(void **state)
{
    (void)state;
    fixture f = make_fixture();
    strb out = STRB_INIT;
    kw_error err = {0};
    value env[8] = {value_int(64)};
    const char *text = "//@for ${x} $${";
    assert_int_equal(body_expand(body_literal(f.a, text, strlen(text)), LANGUAGE_OPENCL, env, &out, &err), KW_OK);
    assert_string_equal(strb_text(&out), text);
    strb_reset(&out);
    const body *b =
        body_parse_inline(f.a, "-DX=${TM}", (expr_where){"s", 3, 5}, f.scope, (body_names){f.known, 8}, &err);
    assert_non_null(b);
    assert_int_equal(body_expand(b, LANGUAGE_OPENCL, env, &out, &err), KW_OK);
    assert_string_equal(strb_text(&out), "-DX=64");
    assert_null(body_parse_inline(f.a, "-DX=${TN}", (expr_where){"s", 3, 5}, f.scope, (body_names){f.known, 8}, &err));
    assert_non_null(strstr(err.message, "s:3:11"));
    strb_clear(&out);
    free_fixture(&f);
}

static void strips_to(const char *text, const char *expected)
{
    strb out = STRB_INIT;
    source_strip(text, &out);
    assert_string_equal(strb_text(&out), expected);
    strb_clear(&out);
}

static void strips_comments_and_blanks(void **state)
{
    (void)state;
    strips_to("", "");
    strips_to("  int  a; // x\n\n\tint b; /* y\n z */ int c;\n", "int a; int b; int c;");
    strips_to("a/**/b", "a b");
    strips_to("\"// no /* comment\" '\\'' /*x*/ 'a'", "\"// no /* comment\" '\\'' 'a'");
    strips_to("\"a\\\"//b\" // c", "\"a\\\"//b\"");
    strips_to("x;\n#define A  1 // one\n  # define B \\\n  2\ny;", "x;\n#define A 1\n# define B 2\ny;");
    strips_to("#if A /* a\nb */ > 1\nx\n#endif", "#if A > 1\nx\n#endif");
    strips_to("a // b \\\n c\nd", "a d");
    strips_to("a / b # c\n", "a / b # c");
    strips_to("/* never closed", "");
    strips_to("\"never closed\nint", "\"never closed int");
}

/* What is stripped has nothing left to strip, whatever the text. */
static void strip_is_idempotent(void **state)
{
    (void)state;
    static const char alphabet[] = "ab/* \n#;\t1"; /* no open quote, no stray backslash */
    for (uint64_t i = 0; i < 2000; i++) {
        char text[64];
        size_t n = counter_rng_u64(1, 1, i) % (sizeof text - 1);
        for (size_t k = 0; k < n; k++)
            text[k] = alphabet[counter_rng_u64(2, i, k) % (sizeof alphabet - 1)];
        text[n] = '\0';
        strb once = STRB_INIT, twice = STRB_INIT;
        source_strip(text, &once);
        source_strip(strb_text(&once), &twice);
        assert_string_equal(strb_text(&twice), strb_text(&once));
        strb_clear(&once);
        strb_clear(&twice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_values),          cmocka_unit_test(keeps_dollars),
        cmocka_unit_test(speaks_the_language),    cmocka_unit_test(loops),
        cmocka_unit_test(limits_loops_and_text),  cmocka_unit_test(branches),
        cmocka_unit_test(names_and_requirements), cmocka_unit_test(handles_line_ends),
        cmocka_unit_test(keeps_other_texts),      cmocka_unit_test(strips_comments_and_blanks),
        cmocka_unit_test(strip_is_idempotent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
