#include "base/fs.h"
#include "base/json.h"
#include "base/strb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json *parse(const char *text)
{
    kw_error err = {0};
    json *j = json_parse(text, strlen(text), "t", 1, 1, &err);
    if (!j)
        print_error("%s\n", err.message);
    assert_non_null(j);
    return j;
}

static void assert_prints(const json *j, const char *expected)
{
    strb s = STRB_INIT;
    json_print(j, &s);
    assert_string_equal(strb_text(&s), expected);
    strb_clear(&s);
}

static void round_trips(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1.5",
        "\"\"",
        "[]",
        "{}",
        "[1,[2,{\"a\":[]}]]",
        "{\"b\":1,\"a\":{\"c\":null}}",
        "\"\\\"\\\\\\n\\t\\b\\f\\r/\"",
        "\"\xe2\x82\xac\"",
        "\"\\u0001\"",
        "1e+300",
        "9007199254740992",
        "-9007199254740992",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json *j = parse(texts[i]);
        assert_prints(j, texts[i]);
        json *copy = json_clone(j);
        assert_true(json_equal(j, copy));
        assert_prints(copy, texts[i]);
        json_free(copy);
        json_free(j);
    }
    json_free(NULL);
    assert_null(json_clone(NULL));
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    json *j = parse(" { \"\\u0061\\/\" : \"\\ud83d\\ude00\\u20ac\" } \n");
    assert_string_equal(json_key(json_at(j, 0)), "a/");
    assert_string_equal(json_text(json_get(j, "a/")), "\xf0\x9f\x98\x80\xe2\x82\xac");
    json_free(j);
}

static void faults_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t:1:1: expected a value, found the end of the text"},
        {"  \n ", "t:2:2: expected a value, found the end of the text"},
        {"{\"a\":1,}", "t:1:8: expected a key in quotation marks, found '}'"},
        {"[1,]", "t:1:4: expected a value, found ']'"},
        {"[1 2]", "t:1:4: expected ',' or ']', found '2'"},
        {"{\"a\" 1}", "t:1:6: expected ':', found '1'"},
        {"{\"a\":1", "t:1:7: expected ',' or '}', found the end of the text"},
        {"{\n  \"a\": 1,\n  \"b\": nul\n}", "t:3:8: expected a value, found 'n'"},
        {"1 x", "t:1:3: nothing may follow the value, but something does"},
        {"{} {}", "t:1:4: nothing may follow the value, but something does"},
        {"{\"a\":1,\n \"b\":{\"a\":2}, \"\\u0061\":3}", "t:2:15: the object has this key already"},
        {"01", "t:1:1: a number must not begin with 0"},
        {"-", "t:1:2: expected a digit, found the end of the text"},
        {"1.", "t:1:3: expected a digit, found the end of the text"},
        {"1e+", "t:1:4: expected a digit, found the end of the text"},
        {"+1", "t:1:1: expected a value, found '+'"},
        {".5", "t:1:1: expected a value, found '.'"},
        {"NaN", "t:1:1: expected a value, found 'N'"},
        {"1e999", "t:1:1: the number is out of range"},
        {"[9007199254740993]", "t:1:2: an integer over 2^53 loses digits: write it as a string"},
        {"-18014398509481984", "t:1:1: an integer over 2^53 loses digits: write it as a string"},
        {"\"abc", "t:1:1: the string does not end"},
        {"\"a\nb\"", "t:1:3: a string must end on its line (write a line break as \\n)"},
        {"\"a\tb\"", "t:1:3: control character in a string: write it as an escape"},
        {"\"\\x\"", "t:1:2: unknown escape in a string"},
        {"\"\\u12g4\"", "t:1:6: expected a hex digit, found 'g'"},
        {"\"\\u0000\"", "t:1:2: \\u0000 is not allowed in a string"},
        {"\"\\ud800x\"", "t:1:2: half a surrogate pair"},
        {"\"\\udc00\"", "t:1:2: half a surrogate pair"},
        {"\"\\ud800\\u0041\"", "t:1:2: half a surrogate pair"},
        {"\"\xff\"", "t:1:2: the text is not valid UTF-8"},
        {"[\"\xe2\x82\xac\", x]", "t:1:7: expected a value, found 'x'"},
        {"\xef\xbb\xbf{}", "t:1:1: the text begins with a byte order mark: save it without one"},
        {"// c\n1", "t:1:1: expected a value, found '/'"},
        {"{'a':1}", "t:1:2: expected a key in quotation marks, found '''"},
        {"\x01", "t:1:1: expected a value, found byte 0x01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kw_error err = {0};
        assert_null(json_parse(cases[i].text, strlen(cases[i].text), "t", 1, 1, &err));
        assert_int_equal(err.code, KW_BAD_INPUT);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void places_count_from_the_given_one(void **state)
{
    (void)state;
    kw_error err = {0};
    assert_null(json_parse("{ x", 3, "k.cl", 7, 14, &err));
    assert_string_equal(err.message, "k.cl:7:16: expected a key in quotation marks, found 'x'");
    assert_null(json_parse("{\n x", 4, "k.cl", 7, 14, &err));
    assert_string_equal(err.message, "k.cl:8:2: expected a key in quotation marks, found 'x'");
    assert_null(json_parse("{", 1, NULL, 1, 1, NULL));
}

static void bytes_behind_the_length_are_not_read(void **state)
{
    (void)state;
    char *exact = malloc(4); /* without a NUL, so that a sanitizer sees a read too far */
    for (int i = 0; i < 4; i++)
        exact[i] = (char)('1' + i);
    json *j = json_parse(exact, 4, "t", 1, 1, NULL);
    assert_true(json_number(j) == 1234);
    json_free(j);
    static const char word[] = "true";
    for (int i = 0; i < 3; i++)
        exact[1 + i] = word[i];
    assert_null(json_parse(exact + 1, 3, "t", 1, 1, NULL));
    kw_error err = {0};
    assert_null(json_parse("1\0 2", 4, "t", 1, 1, &err));
    assert_string_equal(err.message, "t:1:2: nothing may follow the value, but something does");
    free(exact);
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    char text[300];
    memset(text, '[', 150);
    memset(text + 150, ']', 150);
    json *j = json_parse(text + 50, 200, "t", 1, 1, NULL);
    assert_non_null(j);
    json_free(j);
    kw_error err = {0};
    assert_null(json_parse(text + 49, 202, "t", 1, 1, &err));
    assert_string_equal(err.message, "t:1:101: nested more than 100 deep");
}

static void prefix_stops_after_the_value(void **state)
{
    (void)state;
    const char *text = " {\"a\":1} */ kernel";
    size_t used = 0;
    json *j = json_parse_prefix(text, strlen(text), &used, "t", 1, 1, NULL);
    assert_non_null(j);
    assert_string_equal(text + used, "*/ kernel");
    json_free(j);
    assert_null(json_parse_prefix("{", 1, &used, "t", 1, 1, NULL));
}

static void files(void **state)
{
    (void)state;
    kw_error err = {0};
    char *folder = fs_temp_folder("test-json", &err);
    char *path = fs_join(folder, "a.json");
    assert_int_equal(fs_write(path, "{\n\"a\" 2}", 8, &err), KW_OK);
    assert_null(json_parse_file(path, &err));
    strb expected = STRB_INIT;
    strb_printf(&expected, "%s:2:5: expected ':', found '2'", path);
    assert_string_equal(err.message, strb_text(&expected));
    strb_clear(&expected);
    assert_int_equal(fs_write(path, "{\"a\":2}\n", 8, &err), KW_OK);
    json *j = json_parse_file(path, &err);
    assert_prints(j, "{\"a\":2}");
    json_free(j);
    fs_remove_tree(folder);
    assert_null(json_parse_file(path, &err));
    free(path);
    free(folder);
}

static void integers(void **state)
{
    (void)state;
    static const int64_t values[] = {
        0,         1,        -1, INT64_C(1) << 53, -(INT64_C(1) << 53), (INT64_C(1) << 53) + 1, -(INT64_C(1) << 53) - 1,
        INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json *j = json_new_int(values[i]);
        strb s = STRB_INIT;
        json_print(j, &s);
        json *back = parse(strb_text(&s));
        int64_t v = 7;
        assert_true(json_int(back, &v));
        assert_int_equal(v, values[i]);
        json_free(back);
        json_free(j);
        strb_clear(&s);
    }
    static const char *const not_integers[] = {"1.5",
                                               "\"12\"",
                                               "\"x\"",
                                               "\"09007199254740993\"",
                                               "true",
                                               "null",
                                               "[]",
                                               "\"9223372036854775808\"",
                                               "\"90071992547409930 \"",
                                               "1e30",
                                               "\"\"",
                                               "\"+9007199254740993\"",
                                               "\"-\""};
    for (size_t i = 0; i < sizeof not_integers / sizeof not_integers[0]; i++) {
        json *j = parse(not_integers[i]);
        int64_t v = 7;
        assert_false(json_int(j, &v));
        assert_int_equal(v, 7);
        json_free(j);
    }
}

static void numbers_print_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {100, "100"},
        {-0.0, "-0"},
        {1e15, "1000000000000000"},
        {1e17, "1e+17"},
        {0x1p60, "1.152921504606847e+18"},
        {12345678901234568.0, "1.2345678901234568e+16"},
        {-12345678901234568.0, "-1.2345678901234568e+16"},
        {5e-324, "5e-324"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {NAN, "null"},
        {INFINITY, "null"},
        {2.5e-9, "2.5e-09"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json *j = json_new_number(cases[i].value);
        assert_prints(j, cases[i].text);
        json_free(j);
        j = parse(cases[i].text);
        if (isfinite(cases[i].value))
            assert_true(json_number(j) == cases[i].value);
        json_free(j);
    }
}

static void reading(void **state)
{
    (void)state;
    json *j = parse("{\"i\":3,\"s\":\"x\",\"b\":true,\"a\":[1,\"y\",null],\"f\":0.5,\"big\":\"9007199254740993\"}");
    assert_int_equal(json_count(j), 6);
    assert_int_equal(json_kind_of(json_get(j, "i")), JSON_NUMBER);
    assert_int_equal(json_kind_of(json_get(j, "absent")), JSON_NULL);
    assert_null(json_get(json_get(j, "a"), "i"));
    const json *a = json_get(j, "a");
    assert_string_equal(json_text(json_at(a, 1)), "y");
    assert_null(json_at(a, 3));
    assert_ptr_equal(json_next(json_first(a)), json_at(a, 1));
    assert_null(json_first(json_get(j, "s")));
    assert_null(json_text(json_at(a, 0)));
    assert_true(json_number(json_at(a, 1)) == 0);
    assert_false(json_truth(json_at(a, 1)));
    assert_true(json_truth(json_get(j, "b")));

    kw_error err = {0};
    int64_t i = 0;
    bool b = false;
    const char *s = NULL;
    assert_int_equal(json_get_int(j, "i", "w", &i, &err), KW_OK);
    assert_int_equal(i, 3);
    assert_int_equal(json_get_int(j, "big", "w", &i, &err), KW_OK);
    assert_int_equal(i, INT64_C(9007199254740993));
    assert_int_equal(json_get_int(j, "x", "task.json: dims.M", &i, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "task.json: dims.M: \"x\" is missing");
    assert_int_equal(json_get_int(j, "f", "w", &i, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "w: \"f\" must be an integer, found 0.5");
    assert_int_equal(json_get_string(j, "s", "w", &s, &err), KW_OK);
    assert_string_equal(s, "x");
    assert_int_equal(json_get_string(j, "a", "w", &s, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "w: \"a\" must be a string, found an array");
    assert_int_equal(json_opt_int(j, "x", "w", 9, &i, &err), KW_OK);
    assert_int_equal(i, 9);
    assert_int_equal(json_opt_int(j, "s", "w", 9, &i, &err), KW_BAD_INPUT);
    assert_int_equal(json_opt_bool(j, "b", "w", false, &b, &err), KW_OK);
    assert_true(b);
    assert_int_equal(json_opt_bool(j, "x", "w", true, &b, &err), KW_OK);
    assert_true(b);
    assert_int_equal(json_opt_bool(j, "i", "w", true, &b, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "w: \"i\" must be true or false, found 3");
    assert_int_equal(json_opt_string(j, "x", "w", "d", &s, &err), KW_OK);
    assert_string_equal(s, "d");
    assert_int_equal(json_opt_string(j, "b", "w", "d", &s, &err), KW_BAD_INPUT);
    json_free(j);
}

static void unknown_keys(void **state)
{
    (void)state;
    static const char *const known[] = {"values", "default", "doc", NULL};
    static const char *const none[] = {NULL};
    kw_error err = {0};
    json *j = parse("{\"default\":1,\"valeus\":[1]}");
    assert_int_equal(json_check_keys(j, known, "p.TM", &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "p.TM: unknown key \"valeus\"; did you mean \"values\"?");
    json_free(j);
    j = parse("{\"unrelated\":1}");
    assert_int_equal(json_check_keys(j, known, "p", &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "p: unknown key \"unrelated\"; known keys: values, default, doc");
    assert_int_equal(json_check_keys(j, none, "p", &err), KW_BAD_INPUT);
    json_free(j);
    j = parse("{\"doc\":1,\"values\":2}");
    assert_int_equal(json_check_keys(j, known, "p", &err), KW_OK);
    assert_int_equal(json_check_keys(json_get(j, "doc"), known, "p", &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "p: expected an object, found a number");
    json_free(j);
}

static void building(void **state)
{
    (void)state;
    json *j = json_new_object();
    json_set_int(j, "a", 1);
    json_set_string(j, "b", "x\xff");
    json_set_string(j, "none", NULL);
    json_set(j, "none", NULL);
    json_set_bool(j, "c", true);
    json_set_number(j, "d", NAN);
    json *list = json_new_array();
    json_append(list, json_new_null());
    json_append(list, json_new_bool(false));
    json_append(list, NULL);
    json_set(j, "e", list);
    json_set_number(j, "a", 0.25); /* replaced in its place */
    assert_prints(j, "{\"a\":0.25,\"b\":\"x\xef\xbf\xbd\",\"c\":true,\"d\":null,\"e\":[null,false]}");
    json *other = json_new_object();
    json_add(other, "k", json_new_int(2));
    json_add(other, "l", NULL);
    assert_prints(other, "{\"k\":2}");
    json_free(other);
    json_add(list, "k", json_new_int(2)); /* what a value cannot hold is freed, not leaked */
    json_set_int(list, "k", 1);
    json_append(j, json_new_int(1));
    assert_int_equal(json_count(j), 5);
    json_free(j);
}

static void equality(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"1", "1.0000000000000002", false},
        {"\"1\"", "1", false},
        {"{\"A\":1}", "{\"a\":1}", false},
        {"true", "false", false},
        {"null", "null", true},
        {"[]", "{}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json *a = parse(cases[i].a), *b = parse(cases[i].b);
        assert_int_equal(json_equal(a, b), cases[i].equal);
        json_free(a);
        json_free(b);
    }
}

static void pretty(void **state)
{
    (void)state;
    json *j = parse("{\"a\":[1,2],\"b\":{\"c\":[{\"d\":\"x\"}]},\"e\":{},\"f\":[]}");
    strb s = STRB_INIT;
    json_print_pretty(j, &s);
    assert_string_equal(strb_text(&s), "{\n  \"a\": [1, 2],\n  \"b\": {\n    \"c\": [\n      {\n        \"d\": \"x\"\n"
                                       "      }\n    ]\n  },\n  \"e\": {},\n  \"f\": []\n}\n");
    json *back = json_parse(strb_text(&s), s.length, "t", 1, 1, NULL);
    assert_true(json_equal(j, back));
    json_free(back);
    json_free(j);
    strb_clear(&s);
}

static void nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"TM", "TN", "SPLITK", "device.local_mem_bytes"};
    assert_string_equal(json_nearest("tm", names, 4), "TM");
    assert_string_equal(json_nearest("SPLTIK", names, 4), "SPLITK");
    assert_string_equal(json_nearest("device.localmem_bytes", names, 4), "device.local_mem_bytes");
    assert_null(json_nearest("Q", names, 4));
    assert_null(json_nearest("completely", names, 4));
    assert_null(json_nearest("TM", names, 0));
}

/* Every object of a large table keeps its keys apart, and time stays near linear. */
static void many_keys(void **state)
{
    (void)state;
    strb text = STRB_INIT;
    strb_add_char(&text, '{');
    for (int i = 0; i < 50000; i++)
        strb_printf(&text, "%s\"key%d\":{\"a\":%d}", i ? "," : "", i, i);
    strb_add(&text, "}");
    json *j = json_parse(strb_text(&text), text.length, "t", 1, 1, NULL);
    assert_int_equal(json_count(j), 50000);
    json_free(j);
    strb_truncate(&text, text.length - 1);
    strb_add(&text, ",\"key77\":0}");
    kw_error err = {0};
    assert_null(json_parse(strb_text(&text), text.length, "t", 1, 1, &err));
    assert_non_null(strstr(err.message, "has this key already"));
    strb_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(places_count_from_the_given_one),
        cmocka_unit_test(bytes_behind_the_length_are_not_read),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(prefix_stops_after_the_value),
        cmocka_unit_test(files),
        cmocka_unit_test(integers),
        cmocka_unit_test(numbers_print_short_and_exact),
        cmocka_unit_test(reading),
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(building),
        cmocka_unit_test(equality),
        cmocka_unit_test(pretty),
        cmocka_unit_test(nearest),
        cmocka_unit_test(many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
