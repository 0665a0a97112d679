/* Results text: export, import, merge. */
#include "tests/store_fixture.h"
#include "tests/support_store.h"

#include "base/clock.h"
#include "tuner/results_merge.h"
#include "tuner/store_internal.h"

#include <math.h>

#define HEADER "{\"kernwright\":\"results\",\"schema\":1}\n"

/* ---- helpers ---- */

static char *export(store *s, const char *task_name, bool all, bool samples)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(results_export(s, task_name, all, samples, &out, &err), KW_OK, err);
    return strb_take(&out);
}

static char *in_folder(void **state, const char *name, const char *text)
{
    char *path = fs_join(*state, name);
    if (text)
        write_text(path, text, strlen(text));
    return path;
}

static size_t import(store *s, void **state, const char *text)
{
    char *path = in_folder(state, "import.jsonl", text);
    kw_error err = {0};
    size_t n = 0;
    assert_code(results_import(s, path, &n, &err), KW_OK, err);
    free(path);
    return n;
}

static size_t count_lines(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static void assert_sorted(const char *text)
{
    assert_memory_equal(text, HEADER, strlen(HEADER));
    const char *previous = NULL;
    for (const char *p = text + strlen(HEADER); *p; p = strchr(p, '\n') + 1) {
        if (previous) {
            size_t a = strcspn(previous, "\n"), b = strcspn(p, "\n");
            int c = memcmp(previous, p, a < b ? a : b);
            assert_true(c < 0 || (c == 0 && a < b));
        }
        previous = p;
    }
}

/* export -> import into an empty store -> export: the same bytes, and a second import adds nothing. */
static void assert_round_trip(store *s, void **state, bool all, bool samples)
{
    char *first = export(s, NULL, all, samples);
    assert_sorted(first);
    store *copy = memory_store();
    size_t n = import(copy, state, first);
    assert_int_equal(n, count_lines(first, "\n") - 1);
    char *second = export(copy, NULL, all, samples);
    assert_string_equal(first, second);
    assert_int_equal(import(copy, state, first), 0);
    free(second);
    second = export(copy, NULL, all, samples);
    assert_string_equal(first, second);
    store_close(copy);
    free(first);
    free(second);
}

/* ---- text of a line ---- */

static void the_format(void **state)
{
    (void)state;
    store *s = memory_store();
    double samples[] = {100.5, 101, 102};
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, samples, 3);
    m.extra = lend("{\"joules\":2.5,\"tags\":[\"a\",\"b\"]}");
    add_row(s, &m);
    char *text = export(s, "scale", true, true);
    assert_string_equal(
        text, HEADER
        "{\"measurement\":{\"task\":\"scale\",\"task_hash\":\"" TASK_HASH
        "\",\"types\":\"T=f32\",\"shape\":{\"M\":3,\"N\":4},"
        "\"scalars\":{\"alpha\":1},\"device_key\":\"pocl/cpu/test/"
        "4\",\"api\":\"opencl\",\"mode\":\"cold\",\"timing_version\":" TIMED ",\"source_hash\":\"" HASH_A
        "\",\"template\":\"scale_rows\",\"config\":{\"WG\":64,\"FIX\":false},\"outcome\":\"ok\","
        "\"stage\":\"done\",\"verified\":\"exact\",\"method\":\"events\",\"n\":3,\"median_ns\":101,\"lo_ns\":100.5,"
        "\"hi_ns\":102,"
        "\"samples_ns\":[100.5,101,102],\"compile_ms\":12.5,\"verify_ms\":3.25,\"time_ms\":1.125,\"registers\":32,"
        "\"spill_bytes\":0,\"local_bytes\":4096,\"worst_error\":0.25,\"device_name\":\"Test CPU\",\"driver\":\"3.1\","
        "\"host\":\"alpha\",\"run\":\"2026-11-30T10:00:00Z-77\",\"date\":\"2026-11-30T10:00:00Z\",\"tool_version\":\"0."
        "1.0\","
        "\"joules\":2.5,\"tags\":[\"a\",\"b\"]}}\n");
    free(text);
    text = export(s, "scale", true, false);
    assert_null(strstr(text, "samples_ns"));
    assert_has(text, "\"n\":3,\"median_ns\":101");
    free(text);
    store_close(s);
}

static void nothing_to_export(void **state)
{
    (void)state;
    store *s = memory_store();
    char *text = export(s, NULL, true, true);
    assert_string_equal(text, HEADER);
    free(text);
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(results_export(s, "scale", false, false, &out, &err), KW_FAILED, err);
    assert_has(err.message, "holds no measurements: run `kernwright tune scale`");
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, NULL, 0);
    add_row(s, &m);
    assert_code(results_export(s, "gemm", false, false, &out, &err), KW_FAILED, err);
    assert_has(err.message, "only of scale");
    assert_int_equal(out.length, 0);
    store_close(s);
}

/* ---- round trips ---- */

static void round_trips(void **state)
{
    store *s = store_of_samples();
    for (int all = 0; all < 2; all++)
        for (int samples = 0; samples < 2; samples++)
            assert_round_trip(s, state, all, samples);
    char *full = export(s, NULL, true, true);
    assert_int_equal(count_lines(full, "{\"measurement\":"), 12);
    assert_int_equal(count_lines(full, "{\"variant\":"), 4);
    free(full);
    store_close(s);
}

/* Rows that are the same to the last byte are one line; rows that differ in anything are two. */
static void equal_rows(void **state)
{
    store *s = memory_store();
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, NULL, 0);
    m.outcome = OUTCOME_COMPILE_ERROR;
    add_row(s, &m);
    add_row(s, &m);
    m.compile_ms = 12.75;
    add_row(s, &m);
    m.detail = lend("a log");
    add_row(s, &m);
    char *text = export(s, NULL, true, true);
    assert_int_equal(count_lines(text, "\n"), 4);
    free(text);
    assert_round_trip(s, state, true, true);
    store_close(s);
}

/* A file without samples, then one with them and a higher level: the row is completed, not doubled. */
static void rows_are_completed(void **state)
{
    store *s = memory_store(), *copy = memory_store();
    double samples[] = {100.5, 101, 102};
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, samples, 3);
    add_row(s, &m);
    char *plain = export(s, NULL, true, false);
    kw_error err = {0};
    assert_code(store_set_verified(s, TASK_HASH, m.device_key, HASH_A, VERIFIED_GENERAL, &err), KW_OK, err);
    char *full = export(s, NULL, true, true);
    assert_int_equal(import(copy, state, plain), 1);
    assert_int_equal(import(copy, state, full), 0);
    assert_int_equal(import(copy, state, plain), 0); /* and nothing is taken back */
    char *now = export(copy, NULL, true, true);
    assert_string_equal(now, full);
    free(now);
    free(plain);
    free(full);
    store_close(s);
    store_close(copy);
}

static void unknown_members_survive(void **state)
{
    double samples[] = {100.5, 101, 102};
    store *s = memory_store(), *copy = memory_store();
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, samples, 3);
    m.extra = lend("{\"joules\":{\"gpu\":2.5,\"note\":\"\xe2\x82\xac \\\"quoted\\\"\"},\"clock\":1980}");
    add_row(s, &m);
    char *text = export(s, NULL, true, true);
    assert_int_equal(import(copy, state, text), 1);
    char *again = export(copy, NULL, true, true);
    assert_string_equal(text, again);
    assert_has(again, "\"clock\":1980}}");
    free(again);
    again = export(copy, NULL, false, false); /* in the winners too */
    assert_has(again, "\"clock\":1980}}");
    free(again);
    free(text);
    store_close(s);
    store_close(copy);
}

/* A member that stands elsewhere, white space, a carriage return, an empty line: read all the same, written in one
 * form. */
static void free_form_is_read(void **state)
{
    store *s = memory_store();
    static const char text[] = HEADER
        "\n  {\"measurement\" : {\"outcome\":\"ok\", \"stage\":\"done\", \"verified\":\"no\", \"n\":1, \"lo_ns\":2e1,\t"
        "\"median_ns\":20.0, \"hi_ns\":20, \"odd\":null, \"mode\":\"warm\", \"api\":\"cuda\", "
        "\"device_key\":\"a/b/c/1\","
        "\"scalars\":{ }, \"shape\":{ \"N\" : 10 }, \"types\":\"T=f32\", \"source_hash\":\"" HASH_B
        "\", \"timing_version\":1,"
        "\"task_hash\":\"" TASK_HASH "\", \"task\":\"scale\", \"worst_error\":null } }\r\n\r\n";
    assert_int_equal(import(s, state, text), 1);
    char *out = export(s, NULL, true, true);
    assert_string_equal(
        out, HEADER "{\"measurement\":{\"task\":\"scale\",\"task_hash\":\"" TASK_HASH
                    "\",\"types\":\"T=f32\",\"shape\":{\"N\":10},"
                    "\"scalars\":{},\"device_key\":\"a/b/c/1\",\"api\":\"cuda\",\"mode\":\"warm\",\"timing_version\":1,"
                    "\"source_hash\":\"" HASH_B "\",\"outcome\":\"ok\",\"stage\":\"done\",\"verified\":\"no\",\"n\":1,"
                    "\"median_ns\":20,\"lo_ns\":20,\"hi_ns\":20,\"compile_ms\":0,\"verify_ms\":0,\"time_ms\":0,\"worst_"
                    "error\":null,"
                    "\"odd\":null}}\n");
    free(out);
    store_close(s);
}

/* ---- winners ---- */

static void winners(void **state)
{
    store *s = store_of_samples();
    char *text = export(s, "scale", false, false);
    assert_null(strstr(text, "samples_ns"));
    assert_null(strstr(text, "timeout"));
    /* per shape: the winner, and the fallback, and each variant that wins elsewhere where it was measured */
    assert_int_equal(count_lines(text, "\"outcome\":\"ok\""), count_lines(text, "{\"measurement\":"));
    assert_int_equal(count_lines(text, "\"template\":\"scale_naive\",\"config\":{\"WG\":64,"), 2);
    assert_int_equal(count_lines(text, "{\"variant\":"), 3);
    /* v 3 wins the first shape, v 2 the second; v 3 was measured twice: pooled, with the newer provenance */
    assert_has(text, "\"n\":8,");
    assert_has(text, "\"rows\":2,\"first_date\":\"2026-11-30T10:00:00Z\"}}");
    assert_has(text, "\"date\":\"2026-12-01T08:00:00Z\"");
    free(text);
    text = export(s, "scale", false, true);
    assert_int_equal(count_lines(text, "samples_ns"), count_lines(text, "{\"measurement\":"));
    assert_null(strstr(text, "\"rows\""));
    free(text);
    (void)state;
    store_close(s);
}

/* A winners file brought back into the store it came from changes no time: pooled lines give way to samples. */
static void winners_come_home(void **state)
{
    store *s = store_of_samples();
    char *first = export(s, NULL, false, false);
    import(s, state, first);
    char *second = export(s, NULL, false, false);
    assert_string_equal(first, second);
    free(first);
    free(second);
    store_close(s);
}

/* In a tie the lower hash wins; the fastest is in the file too, so that the tie is one again after an import. */
static void ties(void **state)
{
    store *s = memory_store();
    double fast[] = {99, 100, 103}, tied[] = {99, 101, 104}, slow[] = {200, 201, 202};
    measurement m = fixture_row(TASK_HASH, HASH_B, SHAPE_1, fast, 3);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_A, SHAPE_1, tied, 3);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_C, SHAPE_1, slow, 3);
    add_row(s, &m);
    char *text = export(s, NULL, false, false);
    assert_has(text, HASH_A);
    assert_has(text, HASH_B);
    assert_null(strstr(text, HASH_C));
    free(text);
    assert_round_trip(s, state, false, false);
    store_close(s);
}

/* One store per row kind that must not count. */
static void rows_that_do_not_count(void **state)
{
    (void)state;
    double fast[] = {10, 11, 12}, slow[] = {100, 101, 102};
    for (int kind = 0; kind < 4; kind++) {
        store *s = memory_store();
        measurement good = fixture_row(TASK_HASH, HASH_A, SHAPE_1, slow, 3);
        measurement bad = fixture_row(TASK_HASH, HASH_B, SHAPE_1, fast, 3);
        if (kind == 0) { /* measured in the old way */
            good.timing_version = TIMING_VERSION + 1;
        } else if (kind == 1) { /* with a driver that this host has replaced */
            good.driver = lend("2.0");
            good.date = lend("2026-12-02T00:00:00Z");
            bad.driver = lend("9.9");
        } else { /* computes wrong results, here or for another shape */
            measurement wrong = fixture_row(TASK_HASH, HASH_B, kind == 2 ? SHAPE_1 : SHAPE_2, NULL, 0);
            wrong.outcome = OUTCOME_WRONG;
            add_row(s, &wrong);
        }
        add_row(s, &bad);
        add_row(s, &good);
        char *text = export(s, NULL, false, false);
        assert_has(text, HASH_A);
        assert_null(strstr(text, HASH_B));
        free(text);
        store_close(s);
    }
    /* another host with the old driver still counts */
    store *s = memory_store();
    measurement a = fixture_row(TASK_HASH, HASH_A, SHAPE_1, slow, 3),
                b = fixture_row(TASK_HASH, HASH_B, SHAPE_1, fast, 3);
    a.driver = lend("2.0");
    a.date = lend("2026-12-02T00:00:00Z");
    b.host = lend("beta");
    add_row(s, &a);
    add_row(s, &b);
    char *text = export(s, NULL, false, false);
    assert_has(text, HASH_B);
    free(text);
    store_close(s);
}

/* ---- merge ---- */

static char *merge(void **state, const char *const *texts, size_t n)
{
    char *paths[4] = {0};
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.jsonl", i);
        paths[i] = in_folder(state, name, texts[i]);
    }
    const char *const given[] = {paths[0], paths[1], paths[2], paths[3]};
    char *merged = in_folder(state, "merged.jsonl", NULL);
    const results_merge_options o = {.paths = given, .n = n, .out = merged};
    results_merge_report report;
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(results_merge(&o, &report, &err), KW_OK, err);
    assert_code(fs_read(merged, (size_t)1 << 30, &out, &err), KW_OK, err);
    assert_int_equal(report.lines + 1, count_lines(strb_text(&out), "\n"));
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(merged);
    return strb_take(&out);
}

static void merges(void **state)
{
    /* lines that this version cannot interpret pass through */
    const char *const texts[] = {HEADER "{\"b\":1}\n{\"a\":\"\xe2\x82\xac\"}\n{\"c\":1}\n",
                                 HEADER "{\"a\":\"z\"}\n{\"b\":1}\r\n\n{\"c\":1}", HEADER,
                                 HEADER "{\"b\":1}\n" HEADER "{\"d\":1}\n"};
    char *text = merge(state, texts, 4);
    assert_string_equal(text, HEADER "{\"a\":\"z\"}\n{\"a\":\"\xe2\x82\xac\"}\n{\"b\":1}\n{\"c\":1}\n{\"d\":1}\n");
    const char *const again[] = {text, texts[1]};
    char *twice = merge(state, again, 2);
    assert_string_equal(text, twice);
    free(text);
    free(twice);

    /* two exports: their union, in whatever order they are given */
    store *s = store_of_samples();
    char *all = export(s, NULL, true, true), *some = export(s, NULL, false, false);
    const char *const one[] = {all, some}, *const other[] = {some, all};
    char *x = merge(state, one, 2), *y = merge(state, other, 2);
    assert_string_equal(x, y);
    assert_sorted(x);
    store *copy = memory_store();
    import(copy, state, x);
    free(y);
    y = export(copy, NULL, false, false);
    assert_string_equal(some, y);
    free(x);
    free(y);
    free(all);
    free(some);
    store_close(s);
    store_close(copy);
}

/* ---- size ---- */

/* 20,000 rows go out, come back and merge; how long it takes is printed, and decides nothing. */
static void many_lines(void **state)
{
    enum { SHAPES = 20, VARIANTS = 1000 };
    store *s = memory_store(), *copy = memory_store();
    kw_error err = {0};
    double samples[10];
    char hash[HASH_HEX_SIZE], shape[64];
    assert_code(store_run(s, "BEGIN", "testing", &err), KW_OK, err);
    for (int i = 0; i < SHAPES * VARIANTS; i++) {
        for (int k = 0; k < 10; k++)
            samples[k] = 1000 + (double)(i * 7919 % 100003) / 3 + k;
        snprintf(hash, sizeof hash, "%032x", i % VARIANTS);
        snprintf(shape, sizeof shape, "{\"M\":%d,\"N\":4}", i / VARIANTS + 1);
        measurement m = fixture_row(TASK_HASH, hash, shape, samples, 10);
        assert_code(store_add(s, &m, &err), KW_OK, err);
    }
    assert_code(store_run(s, "COMMIT", "testing", &err), KW_OK, err);
    int64_t start = clock_now_ns();
    char *text = export(s, NULL, true, true);
    int64_t exported = clock_now_ns();
    assert_int_equal(import(copy, state, text), SHAPES * VARIANTS);
    int64_t imported = clock_now_ns();
    char *winners_text = export(copy, NULL, false, false);
    int64_t chosen = clock_now_ns();
    const char *const both[] = {text, winners_text};
    char *merged = merge(state, both, 2);
    int64_t end = clock_now_ns();
    print_message("20,000 rows: export %.2f s, import %.2f s, winners %.2f s, merge %.2f s\n",
                  (double)(exported - start) / 1e9, (double)(imported - exported) / 1e9,
                  (double)(chosen - imported) / 1e9, (double)(end - chosen) / 1e9);
    char *again = export(copy, NULL, true, true);
    assert_string_equal(text, again);
    free(again);
    free(merged);
    free(winners_text);
    free(text);
    store_close(s);
    store_close(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format),
        cmocka_unit_test(nothing_to_export),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(equal_rows),
        cmocka_unit_test(rows_are_completed),
        cmocka_unit_test(unknown_members_survive),
        cmocka_unit_test(free_form_is_read),
        cmocka_unit_test(winners),
        cmocka_unit_test(winners_come_home),
        cmocka_unit_test(ties),
        cmocka_unit_test(rows_that_do_not_count),
        cmocka_unit_test(merges),
        cmocka_unit_test(many_lines),
    };
    return cmocka_run_group_tests_name("results", tests, make_folder, remove_folder);
}
