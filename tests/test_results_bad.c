/* Results text that cannot be read: one line that names file and line, and nothing changed. */
#include "tests/store_fixture.h"

#include "tuner/results_merge.h"
#include "tuner/store_internal.h"

#define HEADER "{\"kernwright\":\"results\",\"schema\":1}\n"
#define SHAPE_1 "{\"M\":3,\"N\":4}"

static char *export(store *s)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(results_export(s, NULL, true, true, &out, &err), KW_OK, err);
    return strb_take(&out);
}

static char *in_folder(void **state, const char *name, const char *text)
{
    char *path = fs_join(*state, name);
    write_text(path, text, strlen(text));
    return path;
}

static store *one_row_store(void)
{
    store *s = memory_store();
    double samples[] = {50, 51, 52};
    measurement m = fixture_row(TASK_HASH, HASH_B, SHAPE_1, samples, 3);
    add_row(s, &m);
    return s;
}

/* ---- import: the line is named, nothing is added ---- */

static void refused(void **state, const char *text, size_t n, const char *words)
{
    char *path = fs_join(*state, "bad.jsonl");
    write_text(path, text, n);
    store *s = one_row_store();
    char *before = export(s);
    kw_error err = {0};
    size_t added = 77;
    assert_code(results_import(s, path, &added, &err), KW_BAD_INPUT, err);
    assert_has(err.message, words);
    assert_int_equal(added, 0);
    assert_null(strchr(err.message, '\n'));
    char *after = export(s);
    assert_string_equal(before, after);
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, NULL, 0);
    add_row(s, &m); /* no transaction was left open */
    free(before);
    free(after);
    store_close(s);
    free(path);
}

/* A good line with one piece of text replaced. */
static char *changed_line(const char *old, const char *new)
{
    store *s = memory_store();
    double samples[] = {100.5, 101, 102};
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, samples, 3);
    add_row(s, &m);
    char *text = export(s);
    store_close(s);
    const char *at = strstr(text, old);
    assert_non_null(at);
    strb out = STRB_INIT;
    strb_add_n(&out, text, (size_t)(at - text));
    strb_add(&out, new);
    strb_add(&out, at + strlen(old));
    free(text);
    return strb_take(&out);
}

static void bad_measurements(void **state)
{
    static const char *const cases[][3] = {
        {"\"task\":\"scale\",", "", "bad.jsonl:2: the measurement lacks \"task\""},
        {"\"timing_version\":" TIMED ",", "", "lacks \"timing_version\""},
        {"\"timing_version\":" TIMED, "\"timing_version\":1.5", "\"timing_version\" must be an integer, 1 or more"},
        {"\"timing_version\":" TIMED, "\"timing_version\":0", "\"timing_version\" must be an integer, 1 or more"},
        {"\"types\":\"T=f32\"", "\"types\":[\"f32\"]", "bad.jsonl:2: \"types\" must be a string"},
        {"\"shape\":{\"M\":3,\"N\":4}", "\"shape\":\"M=3\"", "\"shape\" must be an object"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":-1", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":1.5", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":null", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":[]", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":\"3\"", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":true", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"shape\":{\"M\":3", "\"shape\":{\"M\":{}", "bad.jsonl:2: \"shape\" must be an object of whole numbers"},
        {"\"outcome\":\"ok\"", "\"outcome\":\"fine\"", "\"outcome\" must be \"ok\""},
        {"\"stage\":\"done\"", "\"stage\":4", "\"stage\" must be"},
        {"\"verified\":\"exact\"", "\"verified\":\"yes\"", "\"verified\" must be \"no\", \"exact\" or \"general\""},
        {"\"n\":3,", "", "go together"},
        {"\"n\":3", "\"n\":4", "\"n\" is 4, but there are 3 samples"},
        {"\"n\":3", "\"n\":-3", "\"n\" must be an integer, 1 or more"},
        {"\"median_ns\":101", "\"median_ns\":0", "\"median_ns\" must be a number greater than 0"},
        {"\"median_ns\":101", "\"median_ns\":103", "must lie between"},
        {"[100.5,101,102]", "[100.5,-1,102]", "\"samples_ns\" must be"},
        {"[100.5,101,102]", "[]", "\"samples_ns\" must be"},
        {"\"registers\":32", "\"registers\":\"many\"", "\"registers\" must be an integer"},
        {"\"worst_error\":0.25", "\"worst_error\":true", "\"worst_error\" must be a number or null"},
        {HASH_A, "abc", "\"source_hash\" must be 32 digits"},
        {TASK_HASH, "0000000000000000000000000000ZZZZ", "\"task_hash\" must be 32 digits"},
        {"\"config\":{", "\"config\":{\"config\"", "bad.jsonl:2:"},
        {"{\"measurement\":", "{\"measured\":", "bad.jsonl:2: neither"},
        {"}}\n", "},\"note\":1}\n", "bad.jsonl:2: neither"},
        {"\"host\":\"alpha\"", "\"host\":\"alpha\",\"host\":\"beta\"", "bad.jsonl:2:"},
        {"\"alpha\",", "\"al\xff\xfe\",", "is not UTF-8 text"},
        {"}}\n", "}", "bad.jsonl:2:"},
        {"{\"measurement\":", "\n\n[1]\n{\"measurement\":", "bad.jsonl:4: neither"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = changed_line(cases[i][0], cases[i][1]);
        refused(state, text, strlen(text), cases[i][2]);
        free(text);
    }
}

/* Good lines before the bad one are not kept. */
static void all_or_nothing(void **state)
{
    char *good = changed_line("\n{", "\n{");
    strb text = STRB_INIT;
    strb_printf(&text, "%s{\"variant\":{}}\n", good);
    refused(state, strb_text(&text), text.length, "bad.jsonl:3: ");
    strb_clear(&text);
    free(good);
}

static void bad_variants(void **state)
{
    static const char *const cases[][2] = {
        {"{\"variant\":{\"task_hash\":\"" TASK_HASH "\"}}", "bad.jsonl:2"},
        {"{\"variant\":{\"task\":\"scale\",\"task_hash\":\"12\",\"source_hash\":\"" HASH_A "\"}}",
         "\"task_hash\" must be"},
        {"{\"variant\":{\"task\":\"scale\",\"task_hash\":\"" TASK_HASH "\",\"source_hash\":\"" HASH_A "\"}}",
         "language"},
        {"{\"variant\":[]}", "neither"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strb text = STRB_INIT;
        strb_printf(&text, "%s%s\n", HEADER, cases[i][0]);
        refused(state, strb_text(&text), text.length, cases[i][1]);
        strb_clear(&text);
    }
}

static void bad_files(void **state)
{
    static const char *const cases[][2] = {
        {"", "bad.jsonl:1: not a kernwright results file"},
        {"{\"measurement\":{}}\n", "bad.jsonl:1: not a kernwright results file"},
        {"M,N,K\n", "bad.jsonl:1: not a kernwright results file"},
        {"{\"kernwright\":\"results\",\"schema\":2}\n",
         "schema 2, this program knows schema 1: use a newer kernwright"},
        {HEADER "<<<<<<< HEAD\n",
         "bad.jsonl:2: a conflict marker: merge the two versions with `kernwright results merge`"},
        {HEADER "=======\n", "bad.jsonl:2: a conflict marker"},
        {HEADER ">>>>>>> theirs\n", "bad.jsonl:2: a conflict marker"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(state, cases[i][0], strlen(cases[i][0]), cases[i][1]);
    static const char with_nul[] = HEADER "{\"measurement\":\0}\n";
    refused(state, with_nul, sizeof with_nul - 1, "bad.jsonl:2:16: byte 0x00");
    store *s = memory_store();
    kw_error err = {0};
    size_t n;
    assert_code(results_import(s, "/nowhere/x.jsonl", &n, &err), KW_BAD_INPUT, err);
    assert_has(err.message, "/nowhere/x.jsonl: cannot open");
    assert_code(results_import(s, *state, &n, &err), KW_BAD_INPUT, err); /* a folder */
    store_close(s);
}

/* The message says so, and what lay where the result was to go still does. */
static void merge_refused(void **state, const char *const *paths, size_t n, const char *words)
{
    char *out = in_folder(state, "merged.jsonl", "what was there");
    const results_merge_options o = {.paths = paths, .n = n, .out = out};
    results_merge_report report;
    kw_error err = {0};
    strb now = STRB_INIT;
    assert_code(results_merge(&o, &report, &err), KW_BAD_INPUT, err);
    assert_has(err.message, words);
    assert_code(fs_read(out, 0, &now, &err), KW_OK, err);
    assert_string_equal(strb_text(&now), "what was there");
    strb_clear(&now);
    free(out);
}

static void endless_line(void **state)
{
    char *path = fs_join(*state, "bad.jsonl");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(HEADER, f);
    char *chunk = mem_alloc(1 << 20);
    memset(chunk, ' ', 1 << 20);
    for (int i = 0; i < 65; i++)
        assert_int_equal(fwrite(chunk, 1, 1 << 20, f), 1 << 20);
    fclose(f);
    free(chunk);
    store *s = memory_store();
    kw_error err = {0};
    size_t n;
    assert_code(results_import(s, path, &n, &err), KW_BAD_INPUT, err);
    assert_has(err.message, "bad.jsonl:2: the line is longer than 64 MiB");
    const char *paths[] = {path};
    merge_refused(state, paths, 1, "bad.jsonl:2: the line is longer than 64 MiB");
    store_close(s);
    remove(path);
    free(path);
}

static void a_store_that_cannot_be_written(void **state)
{
    char *path = fs_join(*state, "read-only.db"), *text = in_folder(state, "good.jsonl", HEADER);
    store_close(open_store(path));
    kw_error err = {0};
    store *s = NULL;
    size_t n;
    assert_code(store_open(path, true, &s, &err), KW_OK, err);
    char *line = changed_line("\n{", "\n{");
    write_text(text, line, strlen(line));
    assert_code(results_import(s, text, &n, &err), KW_ENVIRONMENT, err);
    assert_has(err.message, "cannot be written");
    store_close(s);
    free(line);
    free(text);
    free(path);
}

/* ---- merge ---- */

static void bad_merges(void **state)
{
    static const char *const cases[][2] = {
        {"", "1.jsonl:1: not a kernwright results file"},
        {"{\"b\":1}\n", "1.jsonl:1: not a kernwright results file"},
        {"{\"kernwright\":\"results\",\"schema\":3}\n", "1.jsonl:1: results of schema 3"},
        {HEADER "{\"b\":1}\n<<<<<<< ours\n{\"c\":1}\n", "1.jsonl:3: a conflict marker"},
        {"<<<<<<< ours\n" HEADER, "1.jsonl:1: a conflict marker"},
        {HEADER "{\"b\":1}\n{\"measurement\":{\"task\"", "1.jsonl:3: not a line of results"},
        {HEADER "{\"b\":\"\xc0\x80\"}\n", "1.jsonl:2:7: byte 0xc0 is not UTF-8"},
        {HEADER "{\"b\":1}\n{\"kernwright\":\"results\",\"schema\":2}\n{\"c\":1}\n", "1.jsonl:3: results of schema 2"},
        {HEADER "{\"c\":1}\n{\"b\":1\n", "1.jsonl:3: not a line of results"},
    };
    char *good = in_folder(state, "0.jsonl", HEADER "{\"a\":1}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bad = in_folder(state, "1.jsonl", cases[i][0]);
        const char *paths[] = {good, bad};
        merge_refused(state, paths, 2, cases[i][1]);
        free(bad);
    }
    free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_measurements), cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(bad_variants),     cmocka_unit_test(bad_files),
        cmocka_unit_test(endless_line),     cmocka_unit_test(a_store_that_cannot_be_written),
        cmocka_unit_test(bad_merges),
    };
    return cmocka_run_group_tests_name("bad results", tests, make_folder, remove_folder);
}
