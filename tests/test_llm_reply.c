/* What is taken from a model's reply. */
#include "base/mem.h"
#include "llm/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FRONT "/*kernwright {\"task\": \"saxpy\", \"launches\": []} */\n"
#define BODY "__kernel void f(void)\n{\n    int a = 1;\n    int b = 2;\n}\n"

static reply_result read_as(const char *text, const char *parent, bool cut)
{
    reply_context c = {.task = "saxpy", .parent = parent, .cut = cut};
    reply_result r;
    reply_read(text, strlen(text), &c, &r);
    return r;
}

static void expect(const char *text, const char *parent, bool cut, reply_kind kind, const char *result,
                   const char *says)
{
    reply_result r = read_as(text, parent, cut);
    if (r.kind != kind)
        fail_msg("kind %d instead of %d: %s%s\n%s", (int)r.kind, (int)kind, strb_text(&r.problem),
                 strb_text(&r.repairs), text);
    if (result)
        assert_string_equal(r.text, result);
    else
        assert_null(r.text);
    if (says && !strstr(strb_text(&r.problem), says) && !strstr(strb_text(&r.repairs), says))
        fail_msg("\"%s\" is not said: %s%s", says, strb_text(&r.problem), strb_text(&r.repairs));
    reply_result_clear(&r);
}

static void whole_templates(void **state)
{
    (void)state;
    expect("Here:\n```c\n" FRONT BODY "```\n", NULL, false, REPLY_WHOLE, FRONT BODY, NULL);
    expect("~~~~opencl\n" FRONT BODY "~~~~\nDone.", NULL, false, REPLY_WHOLE, FRONT BODY, NULL);
    /* Parts first, the whole at the end. */
    expect("```\nint part;\n```\nthen\n```\n" FRONT "int old;\n```\n```c\n" FRONT BODY "```\n", NULL, false,
           REPLY_WHOLE, FRONT BODY, NULL);
    /* A fence inside a longer fence. */
    expect("````\n" FRONT "// ```\n" BODY "````\n", NULL, false, REPLY_WHOLE, FRONT "// ```\n" BODY, NULL);
    /* Indented in a list. */
    expect("1. so:\n\n   ```c\n   " FRONT "   int x;\n   ```\n", NULL, false, REPLY_WHOLE, FRONT "int x;\n", NULL);
    /* Never closed, but the model was done. */
    expect("```c\n" FRONT BODY, NULL, false, REPLY_WHOLE, FRONT BODY, NULL);
    expect("```c\r\n" FRONT "int x;\r\n```\r\n", NULL, false, REPLY_WHOLE, FRONT "int x;\n", NULL);
    expect("I say\n" FRONT BODY, NULL, false, REPLY_WHOLE, FRONT BODY, "outside of a code block");
    expect("```json\n{\"task\": \"saxpy\", \"launches\": []}\n```\n```c\n" BODY "```\n", NULL, false, REPLY_WHOLE,
           "/*kernwright {\"task\": \"saxpy\", \"launches\": []}\n */\n" BODY, "separate blocks");
    expect("```c\n// A licence\n#include <x>\n" FRONT BODY "```", NULL, false, REPLY_WHOLE, FRONT BODY, "left out");
}

static void no_template(void **state)
{
    (void)state;
    expect("", NULL, false, REPLY_NONE, NULL, "empty");
    expect("I cannot do that.", NULL, false, REPLY_NONE, NULL, "no code block");
    expect("```c\n" BODY "```", NULL, false, REPLY_NONE, NULL, "front matter");
    expect("```c\n" FRONT BODY, NULL, true, REPLY_NONE, NULL, "cut off");
    expect(FRONT BODY, NULL, true, REPLY_NONE, NULL, NULL);
    expect("```c\n/*kernwright {\"task\": \"saxpy\", \"launches\": [} */\n```", NULL, false, REPLY_NONE, NULL,
           "brackets");
    expect("```c\n/*kernwright {\"launches\": []} */\n```", NULL, false, REPLY_NONE, NULL, "no \"task\"");
    expect("```c\n/*kernwright {\"task\": \"gemm\"} */\n```", NULL, false, REPLY_OTHER_TASK, NULL, "\"gemm\"");
}

static void thinking_is_no_answer(void **state)
{
    (void)state;
    expect("<think>```c\n" FRONT "int draft;\n```</think>\n```c\n" FRONT BODY "```", NULL, false, REPLY_WHOLE,
           FRONT BODY, NULL);
    expect("```c\n" FRONT "int draft;\n```\n</think>nothing more", NULL, false, REPLY_NONE, NULL, NULL);
    expect("<think>```c\n" FRONT BODY "```", NULL, false, REPLY_NONE, NULL, NULL);
}

static void slips_are_mended(void **state)
{
    (void)state;
    const char *const slips[] = {
        "/*kernwright {\"task\": \"saxpy\", \"launches\": [],} */",
        "/*kernwright {task: \"saxpy\", launches: []} */",
        "/*kernwright {\"task\": \"saxpy\", // which\n \"launches\": []} */",
        "/*kernwright {'task': 'saxpy', 'launches': []} */",
        "/* kernwright\n{\"task\": saxpy, \"launches\": [], # so\n} */",
        "/*kernwright {\"task\": \"saxpy\" \"launches\": []} */",
    };
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        strb text = STRB_INIT;
        strb_printf(&text, "```c\n%s\n" BODY "```\n", slips[i]);
        reply_result r = read_as(strb_text(&text), NULL, false);
        if (r.kind != REPLY_WHOLE)
            fail_msg("%s: %s", slips[i], strb_text(&r.problem));
        assert_true(r.repairs.length > 0);
        assert_null(strstr(r.text, "which"));
        assert_non_null(strstr(r.text, "\"task\""));
        assert_non_null(strstr(r.text, "\"saxpy\""));
        reply_result_clear(&r);
        strb_clear(&text);
    }
    expect("```c\n/*kernwright {\"task\": \"saxpy\", \"a\": [True, False, None, -1.5e3, 'it\\'s \"x\"'],} */\n```",
           NULL, false, REPLY_WHOLE,
           "/*kernwright {\"task\": \"saxpy\", \"a\": [true, false, null, -1.5e3, \"it's \\\"x\\\"\"]} */\n", "Python");
}

static void edits_of_the_parent(void **state)
{
    (void)state;
    expect("<<<<<<< SEARCH\n    int a = 1;\n=======\n    int a = 3;\n>>>>>>> REPLACE\n", FRONT BODY, false, REPLY_EDITS,
           FRONT "__kernel void f(void)\n{\n    int a = 3;\n    int b = 2;\n}\n", NULL);
    /* In a fence, with other blanks, two of them. */
    expect("```\n<<<<<<< SEARCH\nint a = 1;  \nint b = 2;\n=======\n    int c = 3;\n>>>>>>> REPLACE\n"
           "<<<<<<< SEARCH\nvoid f(void)\n=======\nvoid g(void)\n>>>>>>> REPLACE\n```\n",
           FRONT BODY, false, REPLY_EDITS, FRONT "__kernel void g(void)\n{\n    int c = 3;\n}\n", NULL);
}

static void edits_that_fail(void **state)
{
    (void)state;
    expect("<<<<<<< SEARCH\nint zz;\n=======\nint y;\n>>>>>>> REPLACE\n", FRONT BODY, false, REPLY_NONE, NULL,
           "edit 1: its SEARCH text (\"int zz;\" ...) is not there");
    expect("<<<<<<< SEARCH\nint \n=======\nlong\n>>>>>>> REPLACE\n", FRONT "int a; int b;\n", false, REPLY_NONE, NULL,
           NULL);
    expect("<<<<<<< SEARCH\n=======\nlong\n>>>>>>> REPLACE\n", FRONT BODY, false, REPLY_NONE, NULL, "is empty");
    expect("<<<<<<< SEARCH\nint a = 1;\n=======\nint a = 1;\n>>>>>>> REPLACE\n", FRONT BODY, false, REPLY_UNCHANGED,
           NULL, "change nothing");
    expect("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", NULL, false, REPLY_NONE, NULL, "no parent");
    expect("```c\n" FRONT "// another comment\n" BODY "```", FRONT BODY, false, REPLY_UNCHANGED, NULL, "again");
    expect("<<<<<<< SEARCH\nint a = 1;\n=======\nnever ends", FRONT BODY, false, REPLY_NONE, NULL, NULL);
}

static void anything_is_survivable(void **state)
{
    (void)state;
    reply_context c = {.task = "saxpy", .parent = FRONT BODY};
    reply_result r;
    size_t n = (size_t)5 << 20;
    char *text = mem_alloc(n);
    uint64_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        text[i] = (char)(x >> 56);
    }
    reply_read(text, n, &c, &r);
    assert_null(r.text);
    reply_result_clear(&r);
    memset(text, '{', n);
    const char opening[] = {'`', '`', '`', '\n', '/', '*', 'k', 'e', 'r', 'n', 'w', 'r', 'i', 'g', 'h', 't', ' '};
    memcpy(text, opening, sizeof opening);
    reply_read(text, n, &c, &r); /* very deep */
    assert_null(r.text);
    reply_result_clear(&r);
    memset(text, '`', n);
    reply_read(text, n, &c, &r);
    assert_null(r.text);
    reply_result_clear(&r);
    /* A great many of something small: edits that fail, blocks that are none, blocks that end nowhere. */
    const char *const parts[] = {"<<<<<<< SEARCH\nno\n=======\n>>>>>>> REPLACE\n", "```\n/*kernwright {\n```\n",
                                 "```\n```\n", "> ```\n"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        for (size_t i = 0, length = strlen(parts[k]); i < n; i++)
            text[i] = parts[k][i % length];
        reply_read(text, n, &c, &r);
        assert_null(r.text);
        assert_true(r.problem.length > 0 && r.problem.length < 4100);
        assert_true(r.repairs.length < 4100);
        assert_true(r.n_edits <= 256);
        reply_result_clear(&r);
    }
    free(text);
    reply_read(NULL, 0, &c, &r);
    assert_int_equal(r.kind, REPLY_NONE);
    reply_result_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_templates),        cmocka_unit_test(no_template),
        cmocka_unit_test(thinking_is_no_answer),  cmocka_unit_test(slips_are_mended),
        cmocka_unit_test(edits_of_the_parent),    cmocka_unit_test(edits_that_fail),
        cmocka_unit_test(anything_is_survivable),
    };
    return cmocka_run_group_tests_name("llm_reply", tests, NULL, NULL);
}
