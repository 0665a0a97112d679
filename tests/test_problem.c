/* Problem files (T1): what is read, what is said of bad ones, and configurations as text. */
#include "tuner/problem.h"
#include "tuner/space_show.h"

#include "base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_OF(params, conditions) \
    "{\"ConfigurationSpace\": {\n\"TuningParameters\": [" params "],\n\"Conditions\": [" conditions "]}}"
#define P(name, values) "{\"Name\": \"" name "\", \"Type\": \"int\", \"Values\": \"" values "\"}"
#define C(text) "{\"Expression\": \"" text "\", \"Parameters\": []}"

static void refused(const char *text, const char *part)
{
    problem p;
    kw_error err = {0};
    kw_code code = problem_parse(text, strlen(text), "f.json", &p, &err);
    if (code != KW_BAD_INPUT || strstr(err.message, part) == NULL)
        fail_msg("code %d, \"%s\" is not in: %s", (int)code, part, err.message);
    assert_null(strchr(err.message, '\n'));
    assert_null(p.memory);
}

static void good(const char *text, problem *p)
{
    kw_error err = {0};
    if (problem_parse(text, strlen(text), "f.json", p, &err) != KW_OK)
        fail_msg("%s", err.message);
}

static uint64_t count_of(const char *text)
{
    problem p;
    space *s;
    kw_error err = {0};
    good(text, &p);
    if (space_new(&p.def, NULL, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    uint64_t n = space_count(s);
    space_free(s);
    problem_clear(&p);
    return n;
}

static void reads_what_files_hold(void **state)
{
    (void)state;
    assert_true(count_of(FILE_OF(P("A", "[1, 2] + list(range(4, 17, 4))") ", " P("B", "[2**i for i in range(3)]"),
                                 C("A % B == 0") ", " C("2 <= A * B <= 32 and A / 2 != B"))) == 9);
    assert_true(count_of(FILE_OF(P("A", "[True, False]") ", " P("B", "['x', 'yy']"), C("A or B == 'x'"))) == 3);
    assert_true(count_of(FILE_OF("{\"Name\": \"A\", \"Values\": [1, 2, 3]}", C("A > 1"))) == 2); /* a list as it is */
    assert_true(count_of(FILE_OF(P("A", "[7]"), "")) == 1);
    assert_true(count_of("{\"General\": {\"BenchmarkName\": \"b\", \"x\": [1]}, \"ConfigurationSpace\": "
                         "{\"TuningParameters\": [" P("A", "[1, 2, 3, 4]") "], \"Conditions\": [" C(
                             "A * 2 <= ProblemSize[1]") "]}, \"KernelSpecification\": {\"ProblemSize\": [2, 6]}}") ==
                3);
    assert_true(count_of("{\"ConfigurationSpace\": {\"TuningParameters\": [" P("A", "[1, 2]") "]}}") == 2);
}

static void names_may_be_any_text(void **state)
{
    (void)state;
    assert_true(
        count_of(FILE_OF(P("block size", "[1, 2]") ", " P("in", "[1, 2, 3]") ", " P("x", "[1, 2]"), C("x > 1"))) == 6);
    assert_true(count_of(FILE_OF(P("lambda", "[1, 2]") ", " P("step", "[1, 2]"), C("lambda < step"))) == 1);
    refused(FILE_OF(P("block size", "[1, 2]"), C("block size < 2")),
            "the parameter's name 'block size' cannot stand in a condition: rename it");
    refused(FILE_OF(P("in", "[1, 2]"), C("in < 2")), "the parameter's name 'in' cannot stand in a condition");
    refused(FILE_OF(P("A", "[1, 2]") ", " P("A", "[1]"), ""), "there are two parameters of the name 'A'");
    refused(FILE_OF(P("", "[1, 2]"), ""), "f.json:2:");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    refused(FILE_OF(P("A", "[]"), ""), "the parameter 'A' has no values; list at least one");
    refused(FILE_OF(P("A", "[1, 2, 1]"), ""), "f.json:2:");
    refused(FILE_OF(P("A", "[1, 2, 1]"), ""), "the parameter 'A' lists the value 1 twice");
    refused(FILE_OF(P("A", "[1, 1.0]"), ""), "lists the value 1");
    refused(FILE_OF(P("A", "[[1], [2]]"), ""), "not lists");
    refused(FILE_OF(P("A", "4"), ""), "must be a list");
    refused(FILE_OF(P("A", "[1, 2"), ""), "f.json:2:67:");
    refused(FILE_OF(P("A", "[1, B]"), ""), "unknown name 'B'");
    refused(FILE_OF(P("A", "[1 // 0]"), ""), "zero");
    refused(FILE_OF(P("A", "list(range(100000000))"), ""), "f.json:2:");
    refused(FILE_OF(P("A", "open('x')"), ""), "unknown function 'open'");
    refused(FILE_OF("{\"Name\": \"A\"}", ""), "the parameter 'A' has no \"Values\"");
    refused(FILE_OF("{\"Name\": \"A\", \"Values\": {}}", ""), "must be a list");
    refused(FILE_OF("3", ""), "must be an object");
    refused(FILE_OF("", ""), "at least one parameter");
}

static void bad_conditions_are_refused(void **state)
{
    (void)state;
    refused(FILE_OF(P("A", "[1, 2]"), C("popcount(A) == 1")), "f.json:3:32: unknown function 'popcount'");
    refused(FILE_OF(P("AB", "[1, 2]"), C("AC == 1")), "did you mean 'AB'");
    refused(FILE_OF(P("A", "[1, 2]"), C("A ==")), "f.json:3:");
    refused(FILE_OF(P("A", "[1, 2]"), "{\"Parameters\": [\"A\"]}"), "Expression");
    refused(FILE_OF(P("A", "[1, 2]"), "{\"Expression\": 3}"), "Expression");
    refused("{\"ConfigurationSpace\": {\"TuningParameters\": [" P("A", "[1]") "], \"Conditions\": 3}}",
            "must be a list");
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const char whole[] = FILE_OF(P("A", "[1, 2]") ", " P("B", "[1, 2]"), C("A < B"));
    refused("", "f.json:1:1");
    refused("[1, 2]", "no problem file");
    refused("{}", "no problem file");
    refused("{\"ConfigurationSpace\": {\"TuningParameters\": 4}}", "no problem file");
    refused("{\"ConfigurationSpace\": {}} x", "f.json:1:");
    for (size_t n = 0; n + 1 < sizeof whole; n++) { /* cut off anywhere */
        problem p;
        kw_error err = {0};
        assert_int_equal(problem_parse(whole, n, "f.json", &p, &err), KW_BAD_INPUT);
        assert_non_null(strstr(err.message, "f.json:"));
    }
}

/* ---- configurations as text ---- */

static void explained(const space *s, const char *given, uint64_t expected, const char *part)
{
    uint32_t config[8];
    uint64_t count = 99;
    strb text = STRB_INIT;
    kw_error err = {0};
    if (space_config_read(s, given, config, &err) != KW_OK ||
        space_explain_some(s, config, NULL, &count, &text, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_true(count == expected);
    if (strstr(strb_text(&text), part) == NULL)
        fail_msg("'%s' is not in: %s", part, strb_text(&text));
    assert_true(count == 0 || text.length == 0);
    strb_clear(&text);
}

static void configurations_are_explained(void **state)
{
    (void)state;
    problem p;
    space *s;
    kw_error err = {0};
    uint32_t config[3];
    good(FILE_OF(P("A", "[1, 2, 4]") ", " P("B", "[1, 2, 4]") ", " P("MODE", "['1', 'x']"),
                 C("A * B <= 4") ", " C("MODE == 'x' or A % (B - 1) == 0")),
         &p);
    assert_int_equal(space_new(&p.def, NULL, &s, &err), KW_OK);
    explained(s, "A=2,B=2,MODE=1", 1, "");
    explained(s, "A=4,B=4,MODE=x", 0, "'A * B <= 4' is false for A=4, B=4");
    explained(s, "A=4, B=1,MODE=1", 0, "'MODE == 'x' or A % (B - 1) == 0' fails for A=4, B=1, MODE=1: ");
    explained(s, "A=4", 1, "");
    explained(s, "B=4,A=2", 0, "'A * B <= 4'");
    explained(s, "", space_count(s), "");
    assert_int_equal(space_config_read(s, "A=3", config, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "A=3 is not among the parameter's values: 1, 2, 4");
    assert_int_equal(space_config_read(s, "MOD=x", config, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "there is no parameter 'MOD', did you mean 'MODE'; the space has A, B, MODE"));
    assert_int_equal(space_config_read(s, "A", config, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected NAME=VALUE"));
    space_unrank(s, 0, config);
    strb text = STRB_INIT;
    space_config_print(s, config, &text);
    json *j = space_config_to_json(s, config);
    strb_add(&text, " ");
    json_print(j, &text);
    assert_non_null(strstr(strb_text(&text), "\"MODE\":"));
    json_free(j);
    strb_clear(&text);
    space_free(s);
    problem_clear(&p);
}

/* ---- limits ---- */

typedef struct stopper {
    int asked, after;
} stopper;

static bool stop_after(void *cookie)
{
    stopper *s = cookie;
    return ++s->asked > s->after;
}

/* Sums that never coincide: nothing merges before the remainder is taken. */
static const char hard[] =
    FILE_OF(P("a", "list(range(40))") ", " P("b", "list(range(40))") ", " P("c", "list(range(40))") ", " P(
                "d", "list(range(40))") ", " P("e", "list(range(40))"),
            C("(a + 40*b + 1600*c + 64000*d + 2560000*e) % 97 == 0"));

static void construction_stops(void **state)
{
    (void)state;
    problem p;
    space *s = NULL;
    kw_error err = {0};
    good(hard, &p);
    space_limits limits = {.max_bytes = 32 << 20};
    assert_int_equal(space_new(&p.def, &limits, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "needs more than 32 MiB"));
    limits = (space_limits){.max_seconds = 1e-9};
    assert_int_equal(space_new(&p.def, &limits, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "building the search space takes more than 1e-09 s; list fewer values"));
    for (int after = 0; after < 40; after += 3) { /* wherever it is asked */
        stopper at = {0, after};
        limits = (space_limits){.max_bytes = 256 << 20, .stopped = stop_after, .cookie = &at};
        assert_int_equal(space_new(&p.def, &limits, &s, &err), KW_INTERRUPTED);
        assert_string_equal(err.message, "interrupted while the search space was being built");
        assert_null(s);
    }
    problem_clear(&p);
}

/* Looking for the constraints that exclude each other stops too. */
static void the_search_for_a_culprit_stops(void **state)
{
    (void)state;
    problem p;
    space *s = NULL;
    kw_error err = {0};
    good(FILE_OF(P("a", "[1, 2]") ", " P("b", "[1, 2]"), C("a < b") ", " C("b < a")), &p);
    stopper never = {0, 1000000};
    space_limits limits = {.stopped = stop_after, .cookie = &never};
    assert_int_equal(space_new(&p.def, &limits, &s, &err), KW_FAILED);
    assert_true(never.asked > 2);
    stopper last = {0, never.asked - 1};
    limits.cookie = &last;
    assert_int_equal(space_new(&p.def, &limits, &s, &err), KW_INTERRUPTED);
    problem_clear(&p);
}

/* ---- kinds of files ---- */

static void kind_of(const char *text, kw_code code, int kind, const char *part)
{
    char *folder = fs_temp_folder("kernwright-kind-", NULL), *path = fs_join(folder, "file");
    space_file found;
    kw_error err = {0};
    assert_int_equal(fs_write(path, text, strlen(text), NULL), KW_OK);
    assert_int_equal(space_file_kind(path, &found, &err), code);
    if (code == KW_OK)
        assert_int_equal(found, kind);
    else if (!strstr(err.message, part))
        fail_msg("'%s' is not in: %s", part, err.message);
    fs_remove_tree(folder);
    free(path);
    free(folder);
}

static void files_are_told_apart(void **state)
{
    (void)state;
    kind_of("/*kernwright {\"task\": \"saxpy\"} */", KW_OK, SPACE_FILE_TEMPLATE, "");
    kind_of("kernel void k() {}", KW_OK, SPACE_FILE_TEMPLATE, "");
    kind_of("\n{\"task\": \"saxpy\", \"launches\": []}", KW_OK, SPACE_FILE_TEMPLATE, "");
    kind_of(FILE_OF(P("A", "[1]"), ""), KW_OK, SPACE_FILE_PROBLEM, "");
    kind_of("{\"device_name\": \"d\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"A\"], \"tune_params\": {\"A\": "
            "[1]}, \"cache\": {\n\"1\": {\"A\": 1, \"time\": 2.5},",
            KW_OK, SPACE_FILE_RECORDED, "");
    kind_of("{\"a\": 1}", KW_BAD_INPUT, 0, "neither a template nor a problem file");
    kind_of("{\"a\": ", KW_BAD_INPUT, 0, ":1:7:");
    kw_error err = {0};
    space_file found;
    assert_int_equal(space_file_kind("/nowhere/at/all", &found, &err), KW_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_files_hold),  cmocka_unit_test(names_may_be_any_text),
        cmocka_unit_test(bad_values_are_refused), cmocka_unit_test(bad_conditions_are_refused),
        cmocka_unit_test(bad_files_are_refused),  cmocka_unit_test(configurations_are_explained),
        cmocka_unit_test(construction_stops),     cmocka_unit_test(the_search_for_a_culprit_stops),
        cmocka_unit_test(files_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
