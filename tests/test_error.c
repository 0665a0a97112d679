#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void set_returns_its_code(void **state)
{
    (void)state;
    kw_error err;
    kw_error_clear(&err);
    assert_int_equal(kw_error_set(&err, KW_BAD_INPUT, "%s: no such file", "a.cl"), KW_BAD_INPUT);
    assert_int_equal(err.code, KW_BAD_INPUT);
    assert_string_equal(err.message, "a.cl: no such file");
    assert_int_equal(kw_error_set(NULL, KW_FAILED, "nobody listens"), KW_FAILED);
    kw_error_clear(&err);
    assert_int_equal(err.code, KW_OK);
    assert_string_equal(err.message, "");
    kw_error_clear(NULL);
}

static void message_stays_on_one_line(void **state)
{
    (void)state;
    kw_error err;
    kw_error_set(&err, KW_FAILED, "a\nb\tc\033[1m \177 \xc3\xa9");
    assert_string_equal(err.message, "a?b\tc?[1m ? \xc3\xa9");
}

static void long_message_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[4000];
    kw_error err;
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        text[sizeof text - 1] = '\0';
        kw_error_set(&err, KW_FAILED, "%s", text);
        size_t n = strlen(err.message);
        assert_true(n > sizeof err.message - 4 && n < sizeof err.message);
        assert_int_equal((n - shift) % 3, 0);
    }
}

static void prefix_goes_in_front(void **state)
{
    (void)state;
    kw_error err;
    kw_error_set(&err, KW_ENVIRONMENT, "cannot open");
    assert_int_equal(kw_error_prefix(&err, "%s:%d", "f", 3), KW_ENVIRONMENT);
    assert_string_equal(err.message, "f:3: cannot open");
    /* the message may be its own argument */
    kw_error_set(&err, KW_FAILED, "again: %s", err.message);
    assert_string_equal(err.message, "again: f:3: cannot open");
    kw_error_prefix(NULL, "nobody listens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_returns_its_code),
        cmocka_unit_test(message_stays_on_one_line),
        cmocka_unit_test(long_message_is_cut_at_a_character),
        cmocka_unit_test(prefix_goes_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
