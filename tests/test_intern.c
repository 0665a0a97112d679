/* Texts kept once. */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void once(void **state)
{
    (void)state;
    enum { TEXTS = 1000 };
    intern_pool *p = intern_new();
    char text[32], *first[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "%d", i * 7);
        first[i] = intern_text(p, text);
        assert_ptr_not_equal(first[i], text);
    }
    for (int i = TEXTS - 1; i >= 0; i--) {
        snprintf(text, sizeof text, "%d", i * 7);
        assert_ptr_equal(intern_text(p, text), first[i]);
        assert_string_equal(first[i], text);
    }
    assert_string_equal(intern_text(p, ""), "");
    assert_ptr_equal(intern_text(p, ""), intern_text(p, ""));
    intern_free(p);
    intern_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(once)};
    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
