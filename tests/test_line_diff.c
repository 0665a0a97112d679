/* Changes between two texts, as prompts show them. */
#include "llm/line_diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *from, const char *to, size_t room, const char *wanted)
{
    strb out = STRB_INIT;
    line_diff(from, to, room, &out);
    assert_string_equal(strb_text(&out), wanted);
    strb_clear(&out);
}

static void changes(void **state)
{
    (void)state;
    expect("a\nb\nc\n", "a\nb\nc\n", 1000, "");
    expect("", "", 1000, "");
    expect("a\nb\nc\n", "a\nB\nc\n", 1000, "@@ 2\n-b\n+B\n");
    expect("a\nb\nc\n", "a\nc\nd\n", 1000, "@@ 2\n-b\n@@ 4\n+d\n");
    expect("", "new\n", 1000, "@@ 1\n+new\n");
    expect("gone", "", 1000, "@@ 1\n-gone\n");
    expect("a\nb", "a\nb\n", 1000, "");
}

static void bounded(void **state)
{
    (void)state;
    strb many = STRB_INIT, out = STRB_INIT;
    for (int i = 0; i < 1000; i++)
        strb_printf(&many, "line %d\n", i);
    line_diff("", strb_text(&many), 200, &out);
    assert_true(out.length < 300);
    assert_non_null(strstr(strb_text(&out), "+line 0\n+line 1\n"));
    assert_non_null(strstr(strb_text(&out), "changed lines left out ...]\n"));
    strb_reset(&out);
    for (int i = 0; i < 1500; i++)
        strb_printf(&many, "more %d\n", i);
    line_diff("a\n", strb_text(&many), 200, &out);
    assert_string_equal(strb_text(&out), "[1 lines became 2500]\n");
    strb_clear(&many);
    strb_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes), cmocka_unit_test(bounded)};
    return cmocka_run_group_tests_name("line_diff", tests, NULL, NULL);
}
