/* Recorded spaces: one small space in every format, and what is wrong with files. */
#include "tuner/recorded.h"

#include "base/counter_rng.h"
#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define TOY "tests/recorded/searches/toy"

static const recorded_options as_stated;

/* ---- help ---- */

static recorded_list read_file(const char *path)
{
    recorded_list list = {0};
    kw_error err = {0};
    if (recorded_read(path, &as_stated, &list, &err) != KW_OK)
        fail_msg("%s", err.message);
    return list;
}

static kw_code parse(const char *text, recorded_list *list, kw_error *err)
{
    memset(list, 0, sizeof *list);
    memset(err, 0, sizeof *err);
    return recorded_parse(text, strlen(text), "file.json", &as_stated, list, err);
}

static recorded_list parses(const char *text)
{
    recorded_list list;
    kw_error err;
    if (parse(text, &list, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_true(list.n == 1);
    return list;
}

static void refused(const char *text, const char *part)
{
    recorded_list list;
    kw_error err;
    assert_int_equal(parse(text, &list, &err), KW_BAD_INPUT);
    assert_true(list.n == 0);
    if (!strstr(err.message, part) || strncmp(err.message, "file.json", 9) != 0 || strchr(err.message, '\n'))
        fail_msg("\"%s\" is not in: %s", part, err.message);
    recorded_list_clear(&list);
}

static size_t param_named(const recorded *r, const char *name)
{
    for (size_t i = 0; i < r->n_params; i++)
        if (strcmp(r->params[i].name, name) == 0)
            return i;
    fail_msg("no parameter %s", name);
    return 0;
}

/* The time of a configuration of the toy, found by values. */
static double toy_time(const recorded *r, int64_t a, int64_t b, const char *order)
{
    value wanted[] = {value_int(a), value_int(b), value_string(order), value_int(1)};
    static const char *const names[] = {"for", "tile x", "order", "cmem"};
    uint32_t config[4];
    double time_ns = -1;
    for (size_t k = 0; k < 4; k++) {
        size_t at = param_named(r, names[k]);
        config[at] = 0;
        while (!value_equal(r->params[at].values[config[at]], wanted[k]))
            config[at]++;
    }
    assert_true(recorded_time(r, config, &time_ns));
    return time_ns;
}

static char *text_of(const char *path)
{
    strb text = STRB_INIT;
    kw_error err = {0};
    if (fs_read(path, 0, &text, &err) != KW_OK)
        fail_msg("%s", err.message);
    return strb_take(&text);
}

/* ---- one space, every format ---- */

static void check_toy(const recorded *r)
{
    assert_true(r->n == 22);
    assert_true(r->n_params == 4);
    assert_true(r->n_failed == 4 && r->n_ok == 18);
    assert_true(space_count(r->space) == 22);
    assert_true(r->best_ns == 500000);
    assert_true(toy_time(r, 4, 2, "ab") == 500000);
    assert_true(toy_time(r, 4, 2, "ba") == 625000);
    assert_true(isnan(toy_time(r, 2, 3, "ab")));
    size_t order = param_named(r, "order"), tile = param_named(r, "tile x");
    assert_true(r->params[order].n_values == 2);
    assert_string_equal(r->params[order].values[0].as.string, "ab");
    for (int64_t i = 0; i < 3; i++)
        assert_true(r->params[tile].values[i].as.integer == i + 1);
}

static void test_formats(void **state)
{
    (void)state;
    static const struct {
        const char *file, *format, *device;
    } cases[] = {{TOY ".kt.json", "Kernel Tuner cache", "Toy GPU"},
                 {TOY ".T4.json", "T4 results", ""},
                 {TOY ".ktt.json", "KTT output", "Toy GPU"},
                 {TOY ".results.jsonl", "results", "Toy GPU"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recorded_list list = read_file(cases[i].file);
        assert_true(list.n == 1);
        assert_string_equal(list.items[0]->format, cases[i].format);
        assert_string_equal(list.items[0]->device, cases[i].device);
        check_toy(list.items[0]);
        recorded_list_clear(&list);
    }
}

static void test_clblast(void **state)
{
    (void)state;
    recorded_list list = read_file(TOY ".clblast.json");
    const recorded *r = list.items[0];
    assert_string_equal(r->format, "CLBlast tuner output");
    assert_string_equal(r->name, "toy.clblast");
    assert_true(r->n == 18 && r->n_failed == 0 && r->n_params == 3);
    assert_true(r->best_ns == 500000);
    recorded_list_clear(&list);
}

static void test_names(void **state)
{
    (void)state;
    recorded_list list = read_file(TOY ".kt.json");
    assert_string_equal(list.items[0]->name, "toy");
    assert_string_equal(list.items[0]->kernel, "toy");
    assert_non_null(strstr(list.items[0]->notes, "taken as ms"));
    recorded_list_clear(&list);
}

/* ---- gzip ---- */

static void write_file(const char *path, const void *data, size_t length)
{
    kw_error err = {0};
    if (fs_write(path, data, length, &err) != KW_OK)
        fail_msg("%s", err.message);
}

static void test_gzip(void **state)
{
    (void)state;
    kw_error err = {0};
    char *folder = fs_temp_folder("recorded", &err), *text = text_of(TOY ".kt.json");
    char *path = fs_join(folder, "no-ending"); /* told by the content */
    gzFile z = gzopen(path, "wb");
    assert_true(gzwrite(z, text, (unsigned)strlen(text) / 2) > 0);
    gzclose(z);
    z = gzopen(path, "ab"); /* a second member */
    assert_true(gzwrite(z, text + strlen(text) / 2, (unsigned)(strlen(text) - strlen(text) / 2)) > 0);
    gzclose(z);
    recorded_list list = read_file(path);
    check_toy(list.items[0]);
    recorded_list_clear(&list);

    strb packed = STRB_INIT;
    assert_int_equal(fs_read(path, 0, &packed, &err), KW_OK);
    for (size_t cut = 2; cut < packed.length; cut += 37) {
        write_file(path, packed.data, cut);
        assert_int_equal(recorded_read(path, &as_stated, &list, &err), KW_BAD_INPUT);
        assert_true(list.n == 0);
        assert_null(strchr(err.message, '\n'));
    }
    packed.data[packed.length / 3] ^= 0x55;
    write_file(path, packed.data, packed.length);
    assert_int_equal(recorded_read(path, &as_stated, &list, &err), KW_BAD_INPUT);
    fs_remove_tree(folder);
    strb_clear(&packed);
    free(path);
    free(folder);
    free(text);
}

/* ---- Kernel Tuner's habits ---- */

#define HEAD \
    "{\"device_name\":\"d\",\"kernel_name\":\"k\",\"tune_params_keys\":[\"A\",\"B\"]," \
    "\"tune_params\":{\"A\":[1,2],\"B\":[1,2]},\"cache\":{"
#define ENTRY(a, b, t) "\"" #a "," #b "\":{\"A\":" #a ",\"B\":" #b ",\"time\":" t "}"

static void test_unfinished(void **state)
{
    (void)state;
    static const char *const ends[] = {"", ",", ",\n", "\n", " , \n\n", "}", "}\n", "},\n"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s,\n%s%s", HEAD, ENTRY(1, 1, "2"), ENTRY(2, 2, "1"), ends[i]);
        recorded_list list = parses(text);
        assert_true(list.items[0]->n == 2);
        assert_non_null(strstr(list.items[0]->notes, "unfinished"));
        recorded_list_clear(&list);
    }
    recorded_list list = parses(HEAD ENTRY(1, 1, "2") "}}");
    assert_null(strstr(list.items[0]->notes, "unfinished"));
    recorded_list_clear(&list);
}

static void test_order_of_members(void **state)
{
    (void)state;
    recorded_list list = parses("{\"cache\":{" ENTRY(1, 2, "3") "},\"tune_params\":{\"B\":[1,2],\"A\":[1,2]},"
                                                                "\"tune_params_keys\":[\"B\",\"A\"]}");
    assert_string_equal(list.items[0]->params[0].name, "B");
    assert_true(list.items[0]->best_ns == 3e6);
    recorded_list_clear(&list);
    list = parses(HEAD ENTRY(1, 2, "3") "},\"more\":{\"x\":[1]}}");
    assert_true(list.items[0]->n == 1);
    recorded_list_clear(&list);
}

static void test_times_that_are_none(void **state)
{
    (void)state;
    recorded_list list =
        parses(HEAD ENTRY(1, 1, "0") "," ENTRY(1, 2, "-1.5") "," ENTRY(2, 1, "NaN") "," ENTRY(2, 2, "7") "}}");
    const recorded *r = list.items[0];
    assert_true(r->n == 4 && r->n_failed == 3 && r->n_no_time == 3);
    assert_true(r->best_ns == 7e6 && r->worst_ns == 7e6);
    assert_non_null(strstr(r->notes, "3 times"));
    recorded_list_clear(&list);
    list = parses(
        HEAD ENTRY(1, 1, "Infinity") "," ENTRY(1, 2, "-Infinity") "," ENTRY(2, 1, "null") "," ENTRY(2, 2, "1e-3") "}}");
    assert_true(list.items[0]->n_no_time == 3 && list.items[0]->n_ok == 1);
    recorded_list_clear(&list);
    list = parses(HEAD ENTRY(1, 1, "\"RuntimeFailedConfig\"") "," ENTRY(1, 2, "\"InvalidConfig\"") "," ENTRY(
        2, 1, "\"3.5\"") "," ENTRY(2, 2, "4") "}}");
    r = list.items[0];
    assert_true(r->n == 3 && r->n_failed == 2 && r->n_no_time == 0 && r->n_invalid == 1);
    assert_false(space_contains(r->space, (const uint32_t[]){0, 1}));
    assert_true(space_contains(r->space, (const uint32_t[]){1, 0}));
    recorded_list_clear(&list);
    list = parses(
        HEAD "\"1,1\":{\"A\":1,\"B\":1,\"time\":5,\"__error__\":\"CompilationFailedConfig\"}," ENTRY(2, 2, "4") "}}");
    assert_true(list.items[0]->n_failed == 1);
    recorded_list_clear(&list);
}

static void test_repeats_and_other_values(void **state)
{
    (void)state;
    recorded_list list = parses(HEAD ENTRY(1, 1, "5") "," ENTRY(1, 1, "3") "," ENTRY(2, 7, "9") "}}");
    const recorded *r = list.items[0];
    assert_true(r->n == 2 && r->n_repeated == 1 && r->best_ns == 3e6);
    assert_true(r->params[1].n_values == 3);
    assert_non_null(strstr(r->notes, "does not list"));
    recorded_list_clear(&list);
    list = parses("{\"tune_params_keys\":[\"A\"],\"tune_params\":{\"A\":[1,2,1,1.0]},\"cache\":{"
                  "\"1\":{\"A\":1.0,\"time\":5}}}");
    assert_true(list.items[0]->params[0].n_values == 2); /* duplicate values are one */
    recorded_list_clear(&list);
}

static void test_one_configuration(void **state)
{
    (void)state;
    recorded_list list = parses(HEAD ENTRY(2, 1, "5") "}}");
    const recorded *r = list.items[0];
    double time_ns;
    assert_true(r->n == 1 && space_count(r->space) == 1);
    assert_true(recorded_time(r, (const uint32_t[]){1, 0}, &time_ns) && time_ns == 5e6);
    assert_false(recorded_time(r, (const uint32_t[]){0, 0}, &time_ns));
    assert_true(space_neighbours(r->space, (const uint32_t[]){1, 0}, SPACE_HAMMING, NULL, 0) == 0);
    assert_true(space_neighbours(r->space, (const uint32_t[]){1, 0}, SPACE_ADJACENT, NULL, 0) == 0);
    recorded_list_clear(&list);
}

/* ---- units ---- */

static void test_units(void **state)
{
    (void)state;
    static const char text[] = HEAD ENTRY(1, 1, "5") "}}";
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 5}, {"us", 5e3}, {"ms", 5e6}, {"s", 5e9}};
    kw_error err = {0};
    for (size_t i = 0; i < 4; i++) {
        recorded_options o = {0};
        recorded_list list = {0};
        assert_int_equal(recorded_unit(units[i].name, &o.unit_ns, &err), KW_OK);
        assert_int_equal(recorded_parse(text, sizeof text - 1, "f", &o, &list, &err), KW_OK);
        assert_true(list.items[0]->best_ns == units[i].ns);
        assert_null(strstr(list.items[0]->notes, "unit"));
        recorded_list_clear(&list);
    }
    double ns;
    assert_int_equal(recorded_unit("parsec", &ns, &err), KW_BAD_INPUT);
    static const char *const spelled[] = {"milliseconds", "miliseconds", "seconds", "microseconds"};
    static const double expected[] = {4e6, 4e6, 4e9, 4e3};
    for (size_t i = 0; i < 4; i++) {
        char t4[512];
        snprintf(t4, sizeof t4,
                 "{\"metadata\":{\"timeunit\":\"%s\"},\"results\":[{\"configuration\":{\"A\":1},"
                 "\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\",\"value\":4,\"unit\":\"\"}]}]}",
                 spelled[i]);
        recorded_list list = parses(t4);
        assert_true(list.items[0]->best_ns == expected[i]);
        recorded_list_clear(&list);
    }
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    refused("", "empty");
    refused(" \n", "empty");
    refused("kernel void f() {}", "no JSON");
    refused("[1,2]", "a JSON array");
    refused("{}", "another kind");
    refused("{\"ConfigurationSpace\":{},\"KernelSpecification\":{}}", "T1 problem");
    refused("{\"task\":\"gemm\",\"launches\":[]}", "a template");
    refused("{\"tune_params_keys\":[\"A\"]", "cut off");
    refused("{\"tune_params_keys\":[\"A\"]}", "\"cache\"");
    refused("{\"cache\":{}}", "tune_params_keys");
    refused("{\"tune_params_keys\":[\"A\"],\"tune_params\":{},\"cache\":{}}", "no values of 'A'");
    refused("{\"tune_params_keys\":[\"A\",\"A\"],\"tune_params\":{\"A\":[1]},\"cache\":{}}", "twice");
    refused(HEAD "}}", "no configuration is recorded");
    refused(HEAD, "no configuration is recorded");
    refused(HEAD ENTRY(1, 1, "\"InvalidConfig\"") "}}", "but invalid ones");
    refused(HEAD ENTRY(1, 1, "0") "," ENTRY(1, 2, "\"CompilationFailedConfig\"") "}}", "all 2 configurations failed");
    refused(HEAD "\"1,1\":{\"A\":1,\"time\":3}}}", "'B' has no value");
    refused(HEAD "\"1,1\":{\"A\":1,\"B\":1}}}", "no \"time\"");
    refused(HEAD "\"1,1\":{\"A\":1,\"B\":{},\"time\":3}}}", "'B' must be");
    refused(HEAD "\"1,1\":3}}", "must be an object");
    refused(HEAD ENTRY(1, 1, "5") "\n\"2,2\":{\"A\":2,\"B\":", "file.json:2:");
    refused(HEAD ENTRY(1, 1, "5") ",\"2,2\":{\"A\":2,\"B\":", "file.json:1:");
    refused(HEAD ENTRY(1, 1, "5") "}} more", "nothing may follow");
    refused("{\"results\":3}", "\"results\" must be an array");
    refused("{\"results\":[]}", "no configuration is recorded");
    refused("{\"results\":[{\"configuration\":{\"A\":1}}]}", "'time'");
    refused("{\"results\":[{\"configuration\":3}]}", "results[0]");
    refused("{\"results\":[{\"configuration\":{\"A\":1},\"invalidity\":\"compile\"},"
            "{\"configuration\":{\"B\":1},\"invalidity\":\"compile\"}]}",
            "'B' is in no entry before it");
    refused("{\"Metadata\":{\"TimeUnit\":\"Fortnights\"},\"Results\":[]}", "Fortnights");
    refused("{\"Results\":[{}]}", "no \"Status\"");
    refused("{\"kernel_family\":\"xgemm\",\"results\":[{\"parameters\":{\"A\":1}}]}", "\"time\"");
    refused("{\"kernel_family\":\"xgemm\",\"results\":[{\"parameters\":{\"A\":1},\"time\":0.000}]}", "all 1");
    refused("{\"kernwright\":\"results\",\"schema\":1}\n", "no measurement");
    refused("{\"kernwright\":\"results\",\"schema\":1}\n{\"measurement\":{}}\n", "file.json:2");
    refused("{\"kernwright\":\"results\",\"schema\":1}\n{\"other\":{}}\n", "file.json:2");
}

static void test_no_such_file(void **state)
{
    (void)state;
    recorded_list list = {0};
    kw_error err = {0};
    assert_int_equal(recorded_read("tests/recorded/nowhere.json", &as_stated, &list, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "nowhere.json"));
    assert_int_equal(recorded_read("tests/recorded", &as_stated, &list, &err), KW_BAD_INPUT);
}

/* ---- spaces from lists ---- */

#define LIST_PARAMS 4

static size_t count_neighbours(const uint32_t *list, size_t n, const uint32_t *of, space_neighbourhood kind)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *other = list + i * LIST_PARAMS;
        unsigned differ = 0, most = 0;
        for (size_t k = 0; k < LIST_PARAMS; k++) {
            unsigned gap = other[k] > of[k] ? other[k] - of[k] : of[k] - other[k];
            differ += gap > 0;
            most = gap > most ? gap : most;
        }
        found += kind == SPACE_HAMMING    ? differ == 1
                 : kind == SPACE_ADJACENT ? differ > 0 && most <= 1
                                          : differ == 1 && most == 1;
    }
    return found;
}

static void test_lists(void **state)
{
    (void)state;
    static const size_t sizes[LIST_PARAMS] = {5, 1, 4, 3};
    value values[5] = {value_int(0), value_int(1), value_int(2), value_int(3), value_int(4)};
    space_param params[LIST_PARAMS];
    for (size_t k = 0; k < LIST_PARAMS; k++)
        params[k] = (space_param){.name = "p", .values = values, .n_values = sizes[k]};
    for (uint64_t round = 0; round < 200; round++) {
        uint32_t all[60 * LIST_PARAMS], shuffled[60 * LIST_PARAMS + LIST_PARAMS];
        size_t n = 0;
        for (uint32_t i = 0; i < 60; i++) { /* in lexicographic order */
            const uint32_t config[LIST_PARAMS] = {i / 12, 0, i / 3 % 4, i % 3};
            if (counter_rng_unit(round, 0, i) * 200 < (double)(round + 1))
                memcpy(all + n++ * LIST_PARAMS, config, sizeof config);
        }
        if (n == 0)
            continue;
        for (size_t i = 0; i < n; i++) /* another order: backwards */
            memcpy(shuffled + i * LIST_PARAMS, all + (n - 1 - i) * LIST_PARAMS, LIST_PARAMS * sizeof *all);
        memcpy(shuffled + n * LIST_PARAMS, all, LIST_PARAMS * sizeof *all); /* one comes twice */
        space *s;
        assert_int_equal(space_of_list(params, LIST_PARAMS, shuffled, n + 1, &s, NULL), KW_OK);
        assert_true(space_count(s) == n);
        for (size_t i = 0; i < n; i++) {
            uint32_t back[LIST_PARAMS];
            uint64_t rank = UINT64_MAX;
            const uint32_t *config = all + i * LIST_PARAMS;
            assert_true(space_rank(s, config, &rank) && rank == i);
            space_unrank(s, i, back);
            assert_memory_equal(back, config, sizeof back);
            for (int kind = SPACE_HAMMING; kind <= SPACE_STRICTLY_ADJACENT; kind++)
                assert_true(space_neighbours(s, config, (space_neighbourhood)kind, NULL, 0) ==
                            count_neighbours(all, n, config, (space_neighbourhood)kind));
        }
        size_t contained = 0;
        for (uint32_t i = 0; i < 60; i++)
            contained += space_contains(s, (const uint32_t[]){i / 12, 0, i / 3 % 4, i % 3});
        assert_true(contained == n);
        space_free(s);
    }
    space *none;
    kw_error err = {0};
    assert_int_equal(space_of_list(params, LIST_PARAMS, NULL, 0, &none, &err), KW_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_clblast),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_order_of_members),
        cmocka_unit_test(test_times_that_are_none),
        cmocka_unit_test(test_repeats_and_other_values),
        cmocka_unit_test(test_one_configuration),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_such_file),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
