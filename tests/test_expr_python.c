/* Expressions as Python text. That Python finds the same values is seen by bench/formats.py. */
#include "codegen/expr.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    arena *memory;
    expr_scope *scope;
} fixture;

static int set_up(void **state)
{
    fixture *f = mem_calloc(1, sizeof *f);
    f->memory = arena_new();
    f->scope = expr_scope_new();
    expr_scope_add(f->scope, "A", EXPR_PARAM);
    expr_scope_add(f->scope, "B", EXPR_PARAM);
    expr_scope_add(f->scope, "device.cores", EXPR_DEVICE);
    expr_scope_add(f->scope, "M", EXPR_DIM);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    expr_scope_free(f->scope);
    arena_free(f->memory);
    free(f);
    return 0;
}

static const expr *parse(fixture *f, const char *text)
{
    kw_error err = {0};
    const expr *e = expr_parse(f->memory, text, f->scope, (expr_where){NULL, 0, 0}, &err);
    if (!e)
        fail_msg("%s", err.message);
    return e;
}

static void test_texts(void **state)
{
    static const struct {
        const char *text, *python;
    } cases[] = {{"A + B * 2", "(A + (B * 2))"},
                 {"A && !B || true", "((A and (not B)) or True)"},
                 {"1 < A <= B != 3", "(1 < A <= B != 3)"},
                 {"-A ** 2", "(-(A ** 2))"},
                 {"(-3) ** A", "((-3) ** A)"},
                 {"A if B == 'it\\'s' else 0.5", "(A if (B == 'it\\'s') else 0.5)"},
                 {"A in [1, 2, 'x']", "(A in [1, 2, 'x'])"},
                 {"A not in (1, 2)", "(A not in [1, 2])"},
                 {"ceil_div(A, B)", "(-(-A // B))"},
                 {"ceil_div(-A, 3)", "(-(-(-A) // 3))"},
                 {"round_up(A, B)", "((-(-A // B)) * B)"},
                 {"is_pow2(A)", "(bin(A).count('1') == 1 and A > 0)"},
                 {"min(A, B, 3) // max([A, 1])[0]", "(min(A, B, 3) // max([A, 1])[0])"},
                 {"[x * A for x in range(B) if x % 2]", "[(x * A) for x in range(B) if (x % 2)]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strb out = STRB_INIT;
        kw_error err = {0};
        if (expr_print_python(parse(*state, cases[i].text), NULL, &out, &err) != KW_OK)
            fail_msg("%s", err.message);
        assert_string_equal(strb_text(&out), cases[i].python);
        strb_clear(&out);
    }
}

static void test_names(void **state)
{
    static const char *const names[] = {NULL, NULL, NULL, "ProblemSize[0]"};
    strb out = STRB_INIT;
    assert_int_equal(expr_print_python(parse(*state, "M // A"), names, &out, NULL), KW_OK);
    assert_string_equal(strb_text(&out), "(ProblemSize[0] // A)");
    strb_clear(&out);
}

static void test_no_word_for_it(void **state)
{
    static const char *const texts[] = {"log2(A) > 3", "A <= device.cores", "B == 1 or log2(A) == 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        strb out = STRB_INIT;
        kw_error err = {0};
        strb_add(&out, "before");
        assert_int_equal(expr_print_python(parse(*state, texts[i]), NULL, &out, &err), KW_BAD_INPUT);
        assert_string_equal(strb_text(&out), "before");
        assert_non_null(strstr(err.message, texts[i]));
        strb_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_word_for_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
