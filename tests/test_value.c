#include "codegen/limits.h"
#include "codegen/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const dtype all_types[] = {DTYPE_F16, DTYPE_F32, DTYPE_F64, DTYPE_I8,  DTYPE_U8, DTYPE_I16,
                                  DTYPE_U16, DTYPE_I32, DTYPE_U32, DTYPE_I64, DTYPE_U64};

enum { N_TYPES = sizeof all_types / sizeof *all_types };

#define assert_text(v, wanted) \
    do { \
        strb text_ = STRB_INIT; \
        value_print(v, &text_); \
        assert_string_equal(strb_text(&text_), wanted); \
        strb_clear(&text_); \
    } while (0)

static void test_type_names(void **state)
{
    (void)state;
    for (int i = 0; i < N_TYPES; i++)
        assert_int_equal(dtype_from_name(dtype_name(all_types[i])), all_types[i]);
    assert_int_equal(dtype_from_name("float"), DTYPE_NONE);
    assert_int_equal(dtype_from_name("none"), DTYPE_NONE);
    assert_int_equal(dtype_from_name(NULL), DTYPE_NONE);
    assert_int_equal(dtype_bytes(DTYPE_F16), 2);
    assert_int_equal(dtype_bytes(DTYPE_U64), 8);
    assert_true(dtype_is_float(DTYPE_F16) && !dtype_is_float(DTYPE_I32));
}

static void test_type_precision(void **state)
{
    (void)state;
    assert_true(dtype_epsilon(DTYPE_F32) == 0x1p-23 && dtype_epsilon(DTYPE_F16) == 0x1p-10);
    assert_true(dtype_epsilon(DTYPE_F64) == 0x1p-52 && dtype_epsilon(DTYPE_I32) == 0);
    assert_true(dtype_max_exact_int(DTYPE_F16) == 2048 && dtype_max_exact_int(DTYPE_F32) == 0x1p24);
    assert_true(dtype_max_exact_int(DTYPE_I8) == 127 && dtype_max_exact_int(DTYPE_U16) == 65535);
    assert_true(dtype_max_exact_int(DTYPE_U64) == 0x1p53);
}

/* Every half goes to double and back, and the double half way to its neighbour goes to the even one. */
static void test_every_half(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t in = (uint16_t)bits, out = 0;
        double x = dtype_load(DTYPE_F16, &in, 0);
        dtype_store(DTYPE_F16, &out, 0, x);
        if (isnan(x))
            assert_int_equal(out & 0x7e00, 0x7e00);
        else
            assert_int_equal(out, in);
    }
    for (unsigned bits = 0; bits < 0x7bff; bits++) {
        uint16_t pair[2] = {(uint16_t)bits, (uint16_t)(bits + 1)}, out[3];
        double low = dtype_load(DTYPE_F16, pair, 0), high = dtype_load(DTYPE_F16, pair, 1), middle = (low + high) / 2;
        dtype_store(DTYPE_F16, out, 0, middle);
        dtype_store(DTYPE_F16, out, 1, nextafter(middle, 0));
        dtype_store(DTYPE_F16, out, 2, nextafter(middle, INFINITY));
        assert_int_equal(out[0], bits % 2 ? bits + 1 : bits);
        assert_int_equal(out[1], bits);
        assert_int_equal(out[2], bits + 1);
    }
}

static void test_half_limits(void **state)
{
    (void)state;
    uint16_t h;
    dtype_store(DTYPE_F16, &h, 0, 65519.9);
    assert_int_equal(h, 0x7bff);
    dtype_store(DTYPE_F16, &h, 0, -65520);
    assert_int_equal(h, 0xfc00);
    dtype_store(DTYPE_F16, &h, 0, -0.0);
    assert_int_equal(h, 0x8000);
    dtype_store(DTYPE_F16, &h, 0, 0x1p-25); /* half of the least: to even, which is zero */
    assert_int_equal(h, 0);
    h = 0x3c00;
    assert_true(dtype_load(DTYPE_F16, &h, 0) == 1);
}

static void test_store_and_load(void **state)
{
    (void)state;
    for (int i = 0; i < N_TYPES; i++) {
        unsigned char memory[4 * 8] = {0};
        dtype_store(all_types[i], memory, 2, 100);
        assert_true(dtype_load(all_types[i], memory, 2) == 100);
        assert_true(dtype_load(all_types[i], memory, 1) == 0);
        assert_true(dtype_load(all_types[i], memory, 3) == 0);
    }
    int8_t i8;
    dtype_store(DTYPE_I8, &i8, 0, -1e9);
    assert_int_equal(i8, -128);
    dtype_store(DTYPE_I8, &i8, 0, 2.5);
    assert_int_equal(i8, 2);
    uint8_t u8;
    dtype_store(DTYPE_U8, &u8, 0, -3);
    assert_int_equal(u8, 0);
    dtype_store(DTYPE_U8, &u8, 0, NAN);
    assert_int_equal(u8, 0);
    int64_t i64;
    dtype_store(DTYPE_I64, &i64, 0, 1e300);
    assert_true(i64 == INT64_MAX);
    dtype_store(DTYPE_I64, &i64, 0, -1e300);
    assert_true(i64 == INT64_MIN);
    uint64_t u64;
    dtype_store(DTYPE_U64, &u64, 0, 0x1p63);
    assert_true(u64 == (uint64_t)1 << 63);
    dtype_store(DTYPE_U64, &u64, 0, 1e300);
    assert_true(u64 == UINT64_MAX);
}

/* ---- languages ---- */

static void check_literal(language lang, dtype t, value x, const char *wanted)
{
    strb text = STRB_INIT;
    kw_error err = {0};
    kw_code code = language_literal(lang, t, x, &text, &err);
    if (wanted)
        assert_string_equal(strb_text(&text), wanted);
    else
        assert_string_not_equal(err.message, "");
    assert_int_equal(code, wanted ? KW_OK : KW_BAD_INPUT);
    strb_clear(&text);
}

static void test_literals(void **state)
{
    (void)state;
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_int(1), "1.0f");
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_real(0.1), "0.1f");
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_real(1e-20), "1e-20f");
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_int(-2), "(-2.0f)");
    check_literal(LANGUAGE_OPENCL, DTYPE_F64, value_bool(true), "1.0");
    check_literal(LANGUAGE_OPENCL, DTYPE_F16, value_int(1), "(half)1.0f");
    check_literal(LANGUAGE_OPENCL, DTYPE_F16, value_real(-0.5), "((half)-0.5f)");
    check_literal(LANGUAGE_CUDA, DTYPE_F16, value_int(1), "(__half)1.0f");
    check_literal(LANGUAGE_OPENCL, DTYPE_I32, value_int(7), "7");
    check_literal(LANGUAGE_OPENCL, DTYPE_I32, value_int(-7), "(-7)");
    check_literal(LANGUAGE_OPENCL, DTYPE_I32, value_int(INT32_MIN), "(-2147483647 - 1)");
    check_literal(LANGUAGE_OPENCL, DTYPE_U32, value_int(7), "7u");
    check_literal(LANGUAGE_OPENCL, DTYPE_I64, value_int(7), "7L");
    check_literal(LANGUAGE_CUDA, DTYPE_I64, value_int(INT64_MIN), "(-9223372036854775807LL - 1)");
    check_literal(LANGUAGE_CUDA, DTYPE_U64, value_int(7), "7ULL");
    check_literal(LANGUAGE_OPENCL, DTYPE_I8, value_int(-128), "((char)-128)");
    check_literal(LANGUAGE_CUDA, DTYPE_U8, value_int(255), "(unsigned char)255");
    check_literal(LANGUAGE_OPENCL, DTYPE_U8, value_int(256), NULL);
    check_literal(LANGUAGE_OPENCL, DTYPE_U32, value_int(-1), NULL);
    check_literal(LANGUAGE_OPENCL, DTYPE_I32, value_real(1.5), NULL);
    check_literal(LANGUAGE_OPENCL, DTYPE_F16, value_int(70000), NULL);
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_real(1e39), NULL);
    check_literal(LANGUAGE_OPENCL, DTYPE_F32, value_string("1"), NULL);
}

static void check_vector(language lang, dtype t, int64_t n, const char *wanted)
{
    strb text = STRB_INIT;
    kw_code code = language_vector(lang, t, n, &text, NULL);
    assert_int_equal(code, wanted ? KW_OK : KW_BAD_INPUT);
    assert_string_equal(strb_text(&text), wanted ? wanted : "");
    strb_clear(&text);
}

static void test_vectors(void **state)
{
    (void)state;
    check_vector(LANGUAGE_OPENCL, DTYPE_F32, 1, "float");
    check_vector(LANGUAGE_OPENCL, DTYPE_F32, 4, "float4");
    check_vector(LANGUAGE_OPENCL, DTYPE_U8, 16, "uchar16");
    check_vector(LANGUAGE_OPENCL, DTYPE_F32, 5, NULL);
    check_vector(LANGUAGE_OPENCL, DTYPE_F32, 0, NULL);
    check_vector(LANGUAGE_CUDA, DTYPE_F16, 2, "__half2");
    check_vector(LANGUAGE_CUDA, DTYPE_U64, 2, "ulonglong2");
    check_vector(LANGUAGE_CUDA, DTYPE_F16, 4, NULL);
    check_vector(LANGUAGE_CUDA, DTYPE_F32, 8, NULL);
    language lang;
    assert_true(language_from_name("cuda", &lang) && lang == LANGUAGE_CUDA);
    assert_false(language_from_name("CUDA", &lang));
    assert_string_equal(language_name(LANGUAGE_OPENCL), "opencl");
    assert_string_equal(language_type(LANGUAGE_CUDA, DTYPE_U32), "unsigned int");
}

/* ---- values ---- */

static value list_of(const value *items, size_t n)
{
    return (value){.kind = VALUE_LIST, .as.list = {items, n}};
}

static void test_equality(void **state)
{
    (void)state;
    assert_true(value_equal(value_int(1), value_real(1)) && value_equal(value_bool(true), value_int(1)));
    assert_false(value_equal(value_int(1), value_string("1")));
    assert_false(value_equal(value_type(DTYPE_F32), value_string("f32")));
    assert_true(value_equal(value_string("ab"), value_string("ab")));
    value a[] = {value_int(1), value_string("x")}, b[] = {value_real(1), value_string("x")};
    assert_true(value_equal(list_of(a, 2), list_of(b, 2)));
    assert_false(value_equal(list_of(a, 2), list_of(b, 1)));
    assert_true(value_equal(value_none(), value_none()));
}

/* Converted to double these would all be equal. */
static void test_exact_comparison(void **state)
{
    (void)state;
    int64_t big = ((int64_t)1 << 53) + 1;
    assert_int_equal(value_compare_numbers(value_int(big), value_real(0x1p53)), 1);
    assert_int_equal(value_compare_numbers(value_real(0x1p53), value_int(big)), -1);
    assert_int_equal(value_compare_numbers(value_int(INT64_MAX), value_real(0x1p63)), -1);
    assert_int_equal(value_compare_numbers(value_int(INT64_MIN), value_real(-0x1p63)), 0);
    assert_int_equal(value_compare_numbers(value_int(-3), value_real(-3.5)), 1);
    assert_int_equal(value_compare_numbers(value_int(0), value_real(-0.0)), 0);
    assert_int_equal(value_compare_numbers(value_int(5), value_real(-1e300)), 1);
}

static void test_order(void **state)
{
    (void)state;
    value ab[] = {value_int(1), value_int(2)}, ac[] = {value_int(1), value_int(3)};
    const value sorted[] = {value_none(),         value_int(-1),    value_bool(false), value_real(0.5),
                            value_int(1),         value_string(""), value_string("a"), list_of(ab, 0),
                            list_of(ab, 1),       list_of(ab, 2),   list_of(ac, 2),    value_type(DTYPE_F16),
                            value_type(DTYPE_U64)};
    int n = sizeof sorted / sizeof *sorted;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            assert_int_equal(value_compare(sorted[i], sorted[j]), (i > j) - (i < j));
    }
}

static void test_printing(void **state)
{
    (void)state;
    assert_text(value_int(64), "64");
    assert_text(value_real(0.5), "0.5");
    assert_text(value_real(2), "2.0");
    assert_text(value_real(1e20), "1e+20");
    assert_text(value_real(0.1 + 0.2), "0.30000000000000004");
    assert_text(value_real(5e-324), "5e-324");
    assert_text(value_bool(true), "true");
    assert_text(value_string("zyx"), "zyx");
    assert_text(value_type(DTYPE_F32), "f32");
    value items[] = {value_int(1), value_string("it's")};
    assert_text(list_of(items, 2), "[1, it's]");
    strb text = STRB_INIT;
    value_print_source(list_of(items, 2), &text);
    assert_string_equal(strb_text(&text), "[1, \"it's\"]");
    strb_clear(&text);
    value_print_source(value_string("'\"\\\n"), &text);
    assert_string_equal(strb_text(&text), "'\\'\"\\\\\\n'");
    strb_clear(&text);
}

static void test_from_text(void **state)
{
    (void)state;
    arena *a = arena_new();
    assert_true(value_from_text("true", a).kind == VALUE_BOOL);
    assert_true(value_from_text("64", a).as.integer == 64 && value_from_text("-64", a).as.integer == -64);
    assert_true(value_from_text("0.5", a).as.real == 0.5 && value_from_text("1e3", a).kind == VALUE_REAL);
    assert_true(value_from_text("99999999999999999999", a).kind == VALUE_REAL);
    const char *const texts[] = {"", "zyx", "inf", "nan", "0x10", "1e", "-", ".", "1.2.3", "e5", "True", " 1", "1e999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        value v = value_from_text(texts[i], a);
        assert_int_equal(v.kind, VALUE_STRING);
        assert_string_equal(v.as.string, texts[i]);
    }
    arena_free(a);
}

static void test_json_round_trip(void **state)
{
    (void)state;
    arena *a = arena_new();
    value items[] = {value_bool(false), value_int(INT64_MAX), value_int(-3), value_real(0.5), value_string("12")};
    json *j = value_to_json(list_of(items, 5));
    strb text = STRB_INIT;
    json_print(j, &text);
    json *back = json_parse(strb_text(&text), text.length, NULL, 1, 1, NULL);
    value v;
    assert_true(value_from_json(back, a, &v));
    assert_int_equal(v.as.list.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(v.as.list.items[i].kind, items[i].kind);
        assert_true(value_equal(v.as.list.items[i], items[i]));
    }
    json *bad = json_parse("[1, [null]]", 11, NULL, 1, 1, NULL);
    assert_false(value_from_json(bad, a, &v));
    json_free(bad);
    json_free(j);
    json_free(back);
    strb_clear(&text);
    arena_free(a);
}

/* ---- device limits ---- */

static void test_limits(void **state)
{
    (void)state;
    device_limits l = {.max_work_group_size = 1024, .max_work_item_size = {1, 2, 3}, .has_f64 = 1}, back;
    expr_scope *scope = expr_scope_new();
    expr_scope_add(scope, "TM", EXPR_PARAM);
    int first = limits_add_to_scope(scope);
    assert_int_equal(first, 1);
    assert_int_equal(expr_scope_size(scope), 1 + (int)limits_count());
    assert_int_equal(sizeof(device_limits), limits_count() * sizeof(int64_t)); /* no fact is left out */
    value env[64];
    limits_fill(&l, env, first);
    assert_int_equal(env[expr_scope_find(scope, "device.max_work_group_size")].as.integer, 1024);
    assert_int_equal(env[expr_scope_find(scope, "device.max_local_z")].as.integer, 3);
    assert_int_equal(env[expr_scope_find(scope, "device.has_f64")].as.integer, 1);
    assert_int_equal(expr_scope_role(scope, first), EXPR_DEVICE);
    limits_fill(NULL, env, first);
    assert_int_equal(env[first].kind, VALUE_NONE);
    json *j = limits_to_json(&l);
    assert_int_equal(limits_from_json(j, &back, NULL), KW_OK);
    assert_memory_equal(&l, &back, sizeof l);
    json_free(j);
    j = json_new_object();
    json_set_int(j, "compute_units", 4);
    assert_int_equal(limits_from_json(j, &back, NULL), KW_OK);
    assert_int_equal(back.compute_units, 4);
    assert_int_equal(back.is_gpu, 0);
    json_set_string(j, "compute_units", "four");
    kw_error err = {0};
    assert_int_equal(limits_from_json(j, &back, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "compute_units"));
    json_free(j);
    assert_int_equal(limits_from_json(NULL, &back, &err), KW_BAD_INPUT);
    expr_scope_free(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_names),       cmocka_unit_test(test_type_precision),
        cmocka_unit_test(test_every_half),       cmocka_unit_test(test_half_limits),
        cmocka_unit_test(test_store_and_load),   cmocka_unit_test(test_literals),
        cmocka_unit_test(test_vectors),          cmocka_unit_test(test_equality),
        cmocka_unit_test(test_exact_comparison), cmocka_unit_test(test_order),
        cmocka_unit_test(test_printing),         cmocka_unit_test(test_from_text),
        cmocka_unit_test(test_json_round_trip),  cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
