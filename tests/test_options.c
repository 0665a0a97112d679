/* The options table and the text table of the program. */
#include "cli/options.h"
#include "cli/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct parsed {
    bool flag, helped;
    const char *text, *out;
    int64_t number, count, limit;
    option_list list, positional;
    kw_error err;
} parsed;

static kw_code parse(parsed *p, int argc, ...)
{
    memset(p, 0, sizeof *p);
    const option_row rows[] = {
        {"--flag", OPTION_FLAG, &p->flag, NULL, "a flag"},   {"--text", OPTION_TEXT, &p->text, "WORD", "a text"},
        {"-o", OPTION_TEXT, &p->out, "FILE", "a file"},      {"--number", OPTION_INT, &p->number, "N", "any integer"},
        {"--count", OPTION_COUNT, &p->count, "N", "from 0"}, {"--limit", OPTION_LIMIT, &p->limit, "N", "from 1"},
        {"--list", OPTION_LIST, &p->list, "X", "several"},
    };
    const option_set set = {"thing", "FILE [options]", "Does it.", rows, sizeof rows / sizeof *rows};
    char command[] = "thing", *argv[80] = {command};
    va_list args;
    va_start(args, argc);
    for (int i = 1; i <= argc; i++)
        argv[i] = va_arg(args, char *);
    va_end(args);
    return options_parse(&set, argc + 1, argv, &p->positional, &p->helped, &p->err);
}

static void expect(const parsed *p, kw_code code, const char *part)
{
    assert_int_equal(code, KW_BAD_INPUT);
    if (!strstr(p->err.message, part))
        fail_msg("\"%s\" is not in: %s", part, p->err.message);
}

static void every_kind(void **state)
{
    (void)state;
    parsed p = {.flag = false};
    assert_int_equal(parse(&p, 14, "one", "--flag", "--text", "a b", "--number=-5", "--count", "0", "--limit=1",
                           "--list", "x=1", "--list=y=2", "-o", "-", "two"),
                     KW_OK);
    assert_true(p.flag);
    assert_false(p.helped);
    assert_string_equal(p.text, "a b");
    assert_string_equal(p.out, "-");
    assert_int_equal(p.number, -5);
    assert_int_equal(p.count, 0);
    assert_int_equal(p.limit, 1);
    assert_int_equal(p.list.n, 2);
    assert_string_equal(p.list.items[1], "y=2");
    assert_int_equal(p.positional.n, 2);
    assert_string_equal(p.positional.items[1], "two");
}

static void empty_value_and_end_of_options(void **state)
{
    (void)state;
    parsed p = {.flag = false};
    assert_int_equal(parse(&p, 5, "--text=", "--", "--flag", "--", "-"), KW_OK);
    assert_string_equal(p.text, "");
    assert_false(p.flag);
    assert_int_equal(p.positional.n, 3);
    assert_string_equal(p.positional.items[0], "--flag");
}

static void nothing_at_all(void **state)
{
    (void)state;
    parsed p = {.flag = false};
    assert_int_equal(parse(&p, 0), KW_OK);
    assert_int_equal(p.positional.n, 0);
}

static void refused(void **state)
{
    (void)state;
    parsed p = {.flag = false};
    expect(&p, parse(&p, 1, "--txt"), "unknown option --txt, did you mean --text; see kernwright thing --help");
    expect(&p, parse(&p, 1, "--txt=5"), "unknown option --txt,");
    expect(&p, parse(&p, 1, "--zzzzzzzz"), "unknown option --zzzzzzzz; see");
    expect(&p, parse(&p, 1, "--text"), "--text needs a value (WORD)");
    expect(&p, parse(&p, 1, "--flag=yes"), "--flag takes no value");
    expect(&p, parse(&p, 2, "--number", "5x"), "--number needs an integer, not '5x'");
    expect(&p, parse(&p, 2, "--number", ""), "needs an integer");
    expect(&p, parse(&p, 2, "--number", "99999999999999999999"), "needs an integer");
    expect(&p, parse(&p, 2, "--count", "-1"), "--count needs an integer from 0");
    expect(&p, parse(&p, 2, "--limit", "0"), "--limit needs an integer from 1");
    expect(&p, parse(&p, 2, "--limit", "1000001"), "to 1000000, not '1000001'");
}

/* What comes after the error is not looked at, what comes before stands. */
static void too_many(void **state)
{
    (void)state;
    parsed p = {.flag = false};
    option_list many = {.n = 0};
    char command[] = "thing", arg[] = "x", *argv[80] = {command};
    const option_set set = {"thing", "", "", NULL, 0};
    bool helped;
    for (int i = 1; i < 80; i++)
        argv[i] = arg;
    assert_int_equal(options_parse(&set, 65, argv, &many, &helped, &p.err), KW_OK);
    assert_int_equal(many.n, 64);
    expect(&p, options_parse(&set, 66, argv, &many, &helped, &p.err), "too many arguments (64 at most)");
}

/* ---- table ---- */

static char *printed(const table *t)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    table_print(t, to);
    fclose(to);
    return text;
}

static void columns(void **state)
{
    (void)state;
    table *t = table_new("name|ms|note");
    table_text(t, "long name");
    table_number(t, 1.25, 4);
    table_text(t, "x");
    table_end_row(t);
    table_text(t, NULL);
    table_number(t, NAN, 4);
    table_end_row(t);
    table_text(t, "n");
    table_number(t, 12345.678, 4);
    table_text(t, "last");
    table_end_row(t);
    char *text = printed(t);
    assert_string_equal(text, "name          ms  note\n"
                              "long name  1.250  x\n"
                              "-              -  \n"
                              "n          12346  last\n");
    free(text);
    table_free(t);
}

static void numbers(void **state)
{
    (void)state;
    table *t = table_new("x");
    const double values[] = {0, 0.0005, 0.00001234, 1e-12, 9.996, 999.96, -2.5, INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        table_number(t, values[i], 4);
        table_end_row(t);
    }
    char *text = printed(t);
    const char *const wanted[] = {"0.000\n",  "0.0005000\n", "0.00001234\n", "0.000000000\n",
                                  " 9.996\n", "1000.0\n",    "-2.500\n",     "-\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("%s is not in\n%s", wanted[i], text);
    free(text);
    table_free(t);
}

static void no_rows_no_output(void **state)
{
    (void)state;
    table *t = table_new("a|b");
    char *text = printed(t);
    assert_string_equal(text, "");
    free(text);
    table_free(t);
    table_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),     cmocka_unit_test(empty_value_and_end_of_options),
        cmocka_unit_test(nothing_at_all), cmocka_unit_test(refused),
        cmocka_unit_test(too_many),       cmocka_unit_test(columns),
        cmocka_unit_test(numbers),        cmocka_unit_test(no_rows_no_output),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
