#include "base/strb.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void empty_has_text(void **state)
{
    (void)state;
    strb s = STRB_INIT;
    assert_string_equal(strb_text(&s), "");
    strb_reset(&s);
    strb_truncate(&s, 10);
    assert_int_equal(s.length, 0);
    char *taken = strb_take(&s);
    assert_string_equal(taken, "");
    free(taken);
    strb_clear(&s);
}

static void adding(void **state)
{
    (void)state;
    strb s = STRB_INIT;
    strb_add(&s, "kernel");
    strb_add_char(&s, ' ');
    strb_add_n(&s, "void main", 4);
    strb_add_n(&s, NULL, 0);
    strb_printf(&s, " %s(%d)", "f", 42);
    assert_string_equal(strb_text(&s), "kernel void f(42)");
    assert_int_equal(s.length, strlen(s.data));
    strb_truncate(&s, 6);
    assert_string_equal(strb_text(&s), "kernel");
    strb_truncate(&s, 7);
    assert_int_equal(s.length, 6);
    char *taken = strb_take(&s);
    assert_string_equal(taken, "kernel");
    assert_null(s.data);
    free(taken);
}

static void printing_more_than_fits(void **state)
{
    (void)state;
    strb s = STRB_INIT;
    strb expected = STRB_INIT;
    for (int i = 0; i < 300; i++) {
        strb_printf(&s, "%*d;", i, i);
        for (int pad = i < 10 ? 1 : i < 100 ? 2 : 3; pad < i; pad++)
            strb_add_char(&expected, ' ');
        strb_printf(&expected, "%d;", i);
    }
    assert_string_equal(strb_text(&s), strb_text(&expected));
    strb_reset(&s);
    assert_string_equal(strb_text(&s), "");
    strb_clear(&s);
    strb_clear(&expected);
}

static void bytes_with_nul_inside(void **state)
{
    (void)state;
    strb s = STRB_INIT;
    strb_add_n(&s, "a\0b", 3);
    assert_int_equal(s.length, 3);
    assert_memory_equal(s.data, "a\0b", 4);
    strb_clear(&s);
}

static void utf8_valid_and_not(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xf0\x80\x80\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xff", 0},
        {"\xe2\x82", 0},
        {"\xc3(", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(utf8_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
    assert_int_equal(utf8_length("", 0), 0);
}

static void utf8_round_trip(void **state)
{
    (void)state;
    static const unsigned long points[] = {0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        strb s = STRB_INIT;
        utf8_add(&s, points[i]);
        assert_int_equal(utf8_length(strb_text(&s), s.length), s.length);
        strb_clear(&s);
    }
    strb s = STRB_INIT;
    utf8_add_valid(&s, "a\xff\xc3\xa9\xc3", 5);
    assert_string_equal(strb_text(&s), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    strb_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_has_text),          cmocka_unit_test(adding),
        cmocka_unit_test(printing_more_than_fits), cmocka_unit_test(bytes_with_nul_inside),
        cmocka_unit_test(utf8_valid_and_not),      cmocka_unit_test(utf8_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
