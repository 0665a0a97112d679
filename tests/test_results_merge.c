/* Merging results: a union that depends on nothing but the lines. Random files against a plain set. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "tuner/results_lines.h"
#include "tuner/results_merge.h"

#include <unistd.h>
#include <zlib.h>

#define HEADER "{\"kernwright\":\"results\",\"schema\":1}\n"
#define UNIVERSE 40 /* different lines */

static uint64_t counter;

static size_t draw(size_t below)
{
    return (size_t)(counter_rng_u64(11, 5, counter++) % below);
}

/* ---- sets of lines as bits ---- */

typedef struct set {
    bool has[UNIVERSE];
} set;

static set draw_set(void)
{
    set s = {{false}};
    size_t share = draw(5);
    for (size_t i = 0; i < UNIVERSE; i++)
        s.has[i] = draw(4) < share;
    return s;
}

/* Common beginnings, lines that are the beginning of others, empty and long ones, bytes over 127. */
static void add_line(strb *out, size_t i)
{
    strb line = STRB_INIT;
    switch (i % 5) {
    case 0:
        strb_printf(&line, "{\"measurement\":{\"task\":\"t%zu\"}}", i);
        break;
    case 1:
        strb_printf(&line, "{\"measurement\":{\"task\":\"t%zu\"}}}}", i - 1);
        break;
    case 2:
        strb_printf(&line, "{\"variant\":{\"\xc3\xa9\":%zu}}", i);
        break;
    case 3:
        strb_printf(&line, "{%zu}", i);
        break;
    default:
        strb_add_char(&line, '{');
        for (size_t k = 0; k < 100 * i; k++)
            strb_add_char(&line, (char)('a' + k % 26));
        strb_add_char(&line, '}');
    }
    strb_add_n(out, line.data, line.length);
    strb_clear(&line);
}

static char *expected(const set *s)
{
    line_set lines = {0};
    strb out = STRB_INIT;
    for (size_t i = 0; i < UNIVERSE; i++) {
        strb line = STRB_INIT;
        add_line(&line, i);
        if (s->has[i])
            line_set_add(&lines, strb_take(&line));
        strb_clear(&line);
    }
    line_set_print(&lines, &out);
    line_set_clear(&lines);
    return strb_take(&out);
}

/* ---- files ---- */

static void write_gzip(const char *path, const char *text, size_t n)
{
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

/* The set as someone may have left it: in order or in none, lines twice, empty lines, carriage returns, headers in
 * between, no last line break, compressed. */
static char *write_set(void **state, const set *s, size_t number)
{
    size_t order[2 * UNIVERSE], n = 0;
    char name[32];
    snprintf(name, sizeof name, "set%zu.jsonl", number);
    char *path = fs_join(*state, name);
    if (draw(3) == 0) {
        char *sorted = expected(s);
        write_text(path, sorted, strlen(sorted));
        free(sorted);
        return path;
    }
    for (size_t i = 0; i < UNIVERSE; i++)
        for (size_t k = s->has[i] ? 1 + (draw(5) == 0) : 0; k > 0; k--)
            order[n++] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = draw(i), x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    strb text = STRB_INIT;
    strb_add(&text, HEADER);
    for (size_t i = 0; i < n; i++) {
        add_line(&text, order[i]);
        strb_add(&text, draw(8) == 0 ? "\r\n" : i + 1 == n && draw(2) ? "" : "\n");
        if (draw(8) == 0 && i + 1 < n)
            strb_add(&text, draw(2) ? "\n" : HEADER);
    }
    if (draw(4) == 0)
        write_gzip(path, text.data, text.length);
    else
        write_text(path, text.data, text.length);
    strb_clear(&text);
    return path;
}

/* Sorted in pieces of at least so many bytes: with a byte each line is a piece, and there are too many for a base. */
static char *merged_in_pieces(void **state, const char *const *paths, size_t n, const char *base, size_t least,
                              results_merge_report *report)
{
    char *out = fs_join(*state, "out.jsonl");
    const size_t sizes[] = {0, least, 3 * least, 10 * least};
    const results_merge_options o = {.paths = paths, .n = n, .base = base, .out = out, .run_bytes = sizes[draw(4)]};
    kw_error err = {0};
    strb text = STRB_INIT;
    assert_code(results_merge(&o, report, &err), KW_OK, err);
    assert_code(fs_read(out, 0, &text, &err), KW_OK, err);
    unlink(out);
    free(out);
    return strb_take(&text);
}

static char *merged(void **state, const char *const *paths, size_t n, const char *base, results_merge_report *report)
{
    return merged_in_pieces(state, paths, n, base, 1000, report);
}

static char *merged_pair(void **state, const char *a, const char *b)
{
    results_merge_report report;
    const char *const paths[] = {a, b};
    return merged_in_pieces(state, paths, 2, NULL, 1, &report);
}

static void assert_same(char *got, char *wanted)
{
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
}

/* ---- properties ---- */

static void unions(void **state)
{
    for (int round = 0; round < 200; round++) {
        enum { MOST = 6 };
        set sets[MOST], all = {{false}};
        char *paths[MOST];
        size_t n = 1 + draw(MOST), common = 0, lines = 0;
        for (size_t i = 0; i < n; i++) {
            sets[i] = draw_set();
            paths[i] = write_set(state, &sets[i], i);
        }
        for (size_t k = 0; k < UNIVERSE; k++) {
            size_t holders = 0;
            for (size_t i = 0; i < n; i++)
                holders += sets[i].has[k];
            all.has[k] = holders > 0;
            lines += holders > 0;
            common += holders > 1;
        }
        const char *const given[MOST] = {paths[0],     paths[1 % n], paths[2 % n],
                                         paths[3 % n], paths[4 % n], paths[5 % n]};
        results_merge_report report;
        assert_same(merged(state, given, n, NULL, &report), expected(&all));
        assert_int_equal(report.lines, lines);
        assert_int_equal(report.common, common);
        for (size_t i = 0; i < n; i++)
            free(paths[i]);
    }
}

static char *kept(void **state, const char *name, char *text)
{
    char *path = fs_join(*state, name);
    write_text(path, text, strlen(text));
    free(text);
    return path;
}

/* A + B = B + A; (A + B) + C = A + (B + C); A + A = A in order. */
static void laws(void **state)
{
    for (int round = 0; round < 100; round++) {
        const set sets[] = {draw_set(), draw_set(), draw_set()};
        char *a = write_set(state, &sets[0], 0), *b = write_set(state, &sets[1], 1), *c = write_set(state, &sets[2], 2);
        assert_same(merged_pair(state, a, b), merged_pair(state, b, a));
        char *ab = kept(state, "ab", merged_pair(state, a, b)), *bc = kept(state, "bc", merged_pair(state, b, c));
        assert_same(merged_pair(state, ab, c), merged_pair(state, a, bc));
        assert_same(merged_pair(state, a, a), expected(&sets[0]));
        assert_same(merged_pair(state, ab, a), merged_pair(state, ab, ab));
        free(a);
        free(b);
        free(c);
        free(ab);
        free(bc);
    }
}

/* Lines of the base that one side took out stay away; all others of both are there. */
static void three_way(void **state)
{
    for (int round = 0; round < 200; round++) {
        const set base = draw_set(), a = draw_set(), b = draw_set();
        set wanted;
        size_t removed = 0;
        for (size_t k = 0; k < UNIVERSE; k++) {
            wanted.has[k] = base.has[k] ? a.has[k] && b.has[k] : a.has[k] || b.has[k];
            removed += base.has[k] && !wanted.has[k];
        }
        char *files[] = {write_set(state, &a, 0), write_set(state, &b, 1), write_set(state, &base, 2)};
        results_merge_report report;
        const char *const paths[] = {files[0], files[1]}, *const other[] = {files[1], files[0]};
        assert_same(merged(state, paths, 2, files[2], &report), expected(&wanted));
        assert_int_equal(report.removed, removed);
        assert_same(merged(state, other, 2, files[2], &report), expected(&wanted));
        for (size_t i = 0; i < 3; i++)
            free(files[i]);
    }
    /* a file that both sides added: git gives an empty base */
    const set a = draw_set();
    char *file = write_set(state, &a, 0), *empty = kept(state, "empty", mem_strdup(""));
    results_merge_report report;
    const char *const paths[] = {file, file};
    assert_same(merged(state, paths, 2, empty, &report), expected(&a));
    free(file);
    free(empty);
}

/* More files than may be open at a time, some of them to be sorted. */
static void many_files(void **state)
{
    enum { FILES = 2 * RESULTS_MERGE_FILES + 50 };
    char **paths = mem_alloc(FILES * sizeof *paths);
    const char **given = mem_alloc(FILES * sizeof *given);
    set all = {{false}};
    for (size_t i = 0; i < FILES; i++) {
        set s = {{false}};
        s.has[i % UNIVERSE] = s.has[(i * 7) % UNIVERSE] = all.has[i % UNIVERSE] = all.has[(i * 7) % UNIVERSE] = true;
        given[i] = paths[i] = write_set(state, &s, i);
    }
    results_merge_report report;
    assert_same(merged(state, given, FILES, NULL, &report), expected(&all));
    char *out = fs_join(*state, "out.jsonl");
    const results_merge_options o = {.paths = given, .n = FILES, .base = paths[0], .out = out};
    kw_error err = {0};
    assert_code(results_merge(&o, &report, &err), KW_BAD_INPUT, err);
    assert_has(err.message, "with a base at most");
    assert_false(fs_is_file(out));
    free(out);
    for (size_t i = 0; i < FILES; i++)
        free(paths[i]);
    free(paths);
    free(given);
}

/* ---- places ---- */

static void into_itself(void **state)
{
    const set a = draw_set(), b = draw_set();
    set both;
    for (size_t i = 0; i < UNIVERSE; i++)
        both.has[i] = a.has[i] || b.has[i];
    char *x = write_set(state, &a, 0), *y = write_set(state, &b, 1);
    const char *const paths[] = {x, y};
    const results_merge_options o = {.paths = paths, .n = 2, .out = x};
    results_merge_report report;
    kw_error err = {0};
    strb text = STRB_INIT;
    assert_code(results_merge(&o, &report, &err), KW_OK, err);
    assert_code(fs_read(x, 0, &text, &err), KW_OK, err);
    assert_same(strb_take(&text), expected(&both));
    free(x);
    free(y);
}

static bool at_once(void)
{
    return true;
}

/* Nothing is written when there is no place to sort in, or when it is stopped. */
static void nothing_half_written(void **state)
{
    strb text = STRB_INIT;
    strb_add(&text, HEADER);
    for (int i = 5000; i > 0; i--)
        strb_printf(&text, "{%d}\n", 10000 + i);
    char *path = kept(state, "unsorted", strb_take(&text)), *out = fs_join(*state, "out.jsonl");
    const char *const paths[] = {path};
    results_merge_report report;
    kw_error err = {0};
    results_merge_options o = {.paths = paths, .n = 1, .out = out, .stop = at_once};
    assert_code(results_merge(&o, &report, &err), KW_INTERRUPTED, err);
    assert_false(fs_is_file(out));
    o.stop = NULL;
    const char *before = getenv("TMPDIR");
    char *old = before ? mem_strdup(before) : NULL;
    setenv("TMPDIR", "/proc", 1); /* a folder that takes no files, not even from root */
    assert_code(results_merge(&o, &report, &err), KW_ENVIRONMENT, err);
    assert_has(err.message, "cannot make a temporary file in /proc");
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    assert_false(fs_is_file(out));
    o.out = "/nowhere/x";
    assert_code(results_merge(&o, &report, &err), KW_ENVIRONMENT, err);
    assert_has(err.message, "/nowhere/x: cannot write");
    free(old);
    free(path);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions),     cmocka_unit_test(laws),        cmocka_unit_test(three_way),
        cmocka_unit_test(many_files), cmocka_unit_test(into_itself), cmocka_unit_test(nothing_half_written),
    };
    return cmocka_run_group_tests_name("merging results", tests, make_folder, remove_folder);
}
