/* Variables of a few words. */
#include "tuner/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *name, *good, *bad, *part;
    } rows[] = {
        {"KERNWRIGHT_BATCH", "queue", "queu", "$KERNWRIGHT_BATCH is \"queu\", and can be \"queue\" or \"host\" (did"},
        {"KERNWRIGHT_BATCH", "host", "Host", "did you mean \"host\"?"},
        {"KERNWRIGHT_COMPARE", "device", "gpu", "can be \"host\" or \"device\"; mend or unset it"},
        {"KERNWRIGHT_BINARY_CACHE", "off", "0", "can be \"on\" or \"off\""},
        {"KERNWRIGHT_RUNNER", "fresh", "sometimes", "can be \"auto\", \"always\", \"never\" or \"fresh\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kw_error err = {.code = KW_OK};
        setenv(rows[i].name, rows[i].good, 1);
        assert_int_equal(environment_check(&err), KW_OK);
        setenv(rows[i].name, "", 1);
        assert_int_equal(environment_check(&err), KW_OK);
        setenv(rows[i].name, rows[i].bad, 1);
        assert_int_equal(environment_check(&err), KW_BAD_INPUT);
        if (!strstr(err.message, rows[i].part))
            fail_msg("%s", err.message);
        unsetenv(rows[i].name);
        assert_int_equal(environment_check(&err), KW_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
