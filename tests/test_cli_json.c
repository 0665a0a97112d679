/* What the program prints for other programs: every line of --json is JSON with the members that are promised, and a
 * trace is one that viewers load. The program is $BUILD/kernwright, on the scripted device. */
#include "tests/support_tune.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/subprocess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_LINES 64

typedef struct setting {
    char *program, *folder;
    subprocess_result r;
    json *lines[MAX_LINES]; /* of the last run */
    size_t n;
} setting;

static void forget(setting *s)
{
    for (size_t i = 0; i < s->n; i++)
        json_free(s->lines[i]);
    s->n = 0;
    subprocess_result_clear(&s->r);
    memset(&s->r, 0, sizeof s->r);
}

/* Runs the program with these words, which are split at blanks. */
static void run(setting *s, int status, const char *words)
{
    const char *argv[32] = {s->program};
    char *copy = mem_strdup(words), *save = NULL;
    size_t n = 1;
    kw_error err = {0};
    forget(s);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    const subprocess_spec spec = {.argv = argv, .folder = s->folder, .timeout_ms = 120000};
    if (subprocess_run(&spec, &s->r, &err) != KW_OK)
        fail_msg("%s", err.message);
    free(copy);
    if (s->r.status != status)
        fail_msg("%s: status %d: %s", words, s->r.status, strb_text(&s->r.errors));
}

static json *parse(const char *text, size_t length)
{
    kw_error err = {0};
    json *j = json_parse(text, length, "output", 1, 1, &err);
    if (!j)
        fail_msg("%s: %.*s", err.message, (int)length, text);
    return j;
}

/* Output of one JSON object a line. */
static void run_lines(setting *s, int status, const char *words)
{
    run(s, status, words);
    const char *text = strb_text(&s->r.output);
    while (*text) {
        size_t length = strcspn(text, "\n");
        assert_int_equal(text[length], '\n');
        assert_true(s->n < MAX_LINES);
        s->lines[s->n] = parse(text, length);
        assert_int_equal(json_kind_of(s->lines[s->n++]), JSON_OBJECT);
        text += length + 1;
    }
}

/* Output that is one array. */
static const json *run_array(setting *s, int status, const char *words)
{
    run(s, status, words);
    s->lines[0] = parse(strb_text(&s->r.output), s->r.output.length);
    s->n = 1;
    assert_int_equal(json_kind_of(s->lines[0]), JSON_ARRAY);
    return s->lines[0];
}

/* `members`: "name:kind ..." with t(ext), n(umber), b(ool), o(bject), a(rray). */
static void expect_members(const json *o, const char *members)
{
    static const json_kind kinds[] = {
        ['t'] = JSON_STRING, ['n'] = JSON_NUMBER, ['b'] = JSON_BOOL, ['o'] = JSON_OBJECT, ['a'] = JSON_ARRAY};
    char *copy = mem_strdup(members), *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *colon = strchr(word, ':');
        *colon = '\0';
        const json *member = json_get(o, word);
        if (!member || json_kind_of(member) != kinds[(unsigned char)colon[1]])
            fail_msg("%s is %s", word, json_kind_name(json_kind_of(member)));
    }
    free(copy);
}

static void expect_text(const json *o, const char *key, const char *wanted)
{
    assert_non_null(json_text(json_get(o, key)));
    assert_string_equal(json_text(json_get(o, key)), wanted);
}

static bool is_text(const json *o, const char *key, const char *wanted)
{
    const char *text = json_text(json_get(o, key));
    return text && strcmp(text, wanted) == 0;
}

static void write_template(const setting *s, const template_text *t)
{
    kw_error err = {0};
    strb name = STRB_INIT;
    strb_printf(&name, "%s.cl", t->name);
    char *text = template_text_make(t), *path = fs_join(s->folder, strb_text(&name));
    if (fs_write(path, text, strlen(text), &err) != KW_OK)
        fail_msg("%s", err.message);
    free(path);
    free(text);
    strb_clear(&name);
}

static int begin(void **state)
{
    setting *s = mem_calloc(1, sizeof *s);
    const char *build = getenv("BUILD");
    char *path = fs_join(build ? build : "build", "kernwright");
    kw_error err = {0};
    s->program = realpath(path, NULL);
    if (!s->program)
        fail_msg("%s is not there", path);
    free(path);
    s->folder = fs_temp_folder("kernwright-test-cli-", &err);
    assert_non_null(s->folder);
    write_template(s,
                   &(template_text){.name = "good",
                                    .params = "\"A\": {\"values\": [1, 2, 3]}, \"S\": {\"values\": [\"\\u00e4 \\\"\"]}",
                                    .directives = "time_ns=${1000 * A}\n// ${S}",
                                    .more = "\"fallback\": true,"});
    write_template(
        s, &(template_text){.name = "mixed",
                            .params = "\"D\": {\"values\": [\"result=wrong\", \"build=error\", \"time_ns=50000\"]}",
                            .directives = "${D}"});
    write_template(
        s, &(template_text){.name = "bad", .params = "\"D\": {\"values\": [\"result=wrong\"]}", .directives = "${D}"});
    *state = s;
    return 0;
}

static int end(void **state)
{
    setting *s = *state;
    forget(s);
    fs_remove_tree(s->folder);
    free(s->folder);
    free(s->program);
    free(s);
    return 0;
}

/* ---- lists ---- */

static void lists(void **state)
{
    setting *s = *state;
    const json *list = run_array(s, 0, "devices --json");
    assert_int_equal(json_count(list), 2);
    expect_members(json_at(list, 0), "spec:t key:t name:t platform:t driver:t limits:o");
    expect_text(json_at(list, 1), "spec", "fake:1");

    list = run_array(s, 0, "tasks --json");
    assert_true(json_count(list) >= 5);
    for (const json *t = json_first(list); t; t = json_next(t))
        expect_members(t, "name:t doc:t dims:t types:t folder:t hash:t");

    list = run_array(s, 0, "templates --json");
    assert_true(json_count(list) >= 8);
    for (const json *t = json_first(list); t; t = json_next(t))
        expect_members(t, "name:t task:t language:t fallback:b path:t cartesian:n params:o when:o");
    list = run_array(s, 0, "templates saxpy --json");
    for (const json *t = json_first(list); t; t = json_next(t))
        expect_text(t, "task", "saxpy");

    list = run_array(s, 0, "doctor --json");
    for (const json *c = json_first(list); c; c = json_next(c))
        expect_members(c, "state:t check:t text:t");

    run_lines(s, 0, "check saxpy_naive good.cl --json");
    assert_int_equal(s->n, 2);
    expect_members(s->lines[1], "file:t state:t text:t count:n cartesian:n");
    expect_text(s->lines[1], "state", "ok");
    run_lines(s, 2, "check nothing.cl good.cl --json");
    assert_int_equal(s->n, 2);
    expect_text(s->lines[0], "state", "error");
    expect_text(s->lines[1], "state", "ok");
}

static void no_device(void **state)
{
    setting *s = *state;
    unsetenv("KERNWRIGHT_FAKE");
    const json *list = run_array(s, 3, "devices --json");
    assert_int_equal(json_count(list), 0);
    list = run_array(s, 3, "doctor --json");
    size_t n_failed = 0;
    for (const json *c = json_first(list); c; c = json_next(c))
        n_failed += is_text(c, "state", "FAIL");
    assert_int_equal(n_failed, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
}

/* ---- measuring ---- */

static size_t count(const setting *s, const char *key, const char *wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += is_text(s->lines[i], key, wanted);
    return n;
}

static void tune_lines(void **state)
{
    setting *s = *state;
    run_lines(s, 0, "tune saxpy --template good.cl --template mixed.cl --dims N=100 --json --strategy exhaustive");
    assert_int_equal(count(s, "purpose", "search"), 6);
    assert_int_equal(count(s, "outcome", "wrong"), 1);
    assert_int_equal(count(s, "outcome", "compile_error"), 1);
    const json *last = json_get(s->lines[s->n - 1], "result");
    assert_non_null(last);
    expect_members(last, "shape:o template:t config:o naive_ns:n first_ns:n tuned_ns:n lo_ns:n hi_ns:n n:n gflops:n "
                         "gbytes_per_s:n verified:t source_hash:t measured:n reused:n failed:n space:n");
    expect_text(last, "template", "good");
    for (size_t i = 0; i + 1 < s->n; i++) {
        expect_members(s->lines[i], "shape:o template:t config:o outcome:t stage:t purpose:t reused:b");
        if (is_text(s->lines[i], "outcome", "ok") && !is_text(s->lines[i], "purpose", "general"))
            expect_members(s->lines[i], "median_ns:n lo_ns:n hi_ns:n n:n");
    }

    run_lines(s, 0, "tune saxpy --template good.cl --template mixed.cl --dims N=100 --json --strategy exhaustive");
    assert_int_equal(s->n, 7);
    for (size_t i = 0; i + 1 < s->n; i++)
        assert_true(json_truth(json_get(s->lines[i], "reused")));

    run_lines(s, 0, "results show --json");
    for (size_t i = 0; i < s->n; i++)
        expect_members(s->lines[i], "task:t types:t shape:o device:t mode:t template:t config:o outcome:t stage:t "
                                    "verified:t source_hash:t driver:t date:t");
    run_lines(s, 0, "results show --failed --json");
    assert_int_equal(s->n, 2);
    for (size_t i = 0; i < s->n; i++)
        expect_members(s->lines[i], "detail:t");
}

/* A shape without a winner is a line too. */
static void tune_failure(void **state)
{
    setting *s = *state;
    run_lines(s, 1, "tune saxpy --template bad.cl --dims N=100 --json --store bad.db");
    /* The fallback is measured when all others are wrong, to tell a wrong kernel from a wrong reference. */
    assert_int_equal(s->n, 3);
    const json *error = json_get(s->lines[2], "error");
    expect_members(error, "shape:o code:n text:t");
    int64_t code;
    assert_true(json_int(json_get(error, "code"), &code) && code == 1);
}

static void time_lines(void **state)
{
    setting *s = *state;
    run_lines(s, 0, "time good.cl --dims N=100 --json");
    assert_int_equal(s->n, 1);
    expect_members(s->lines[0], "template:t config:o shape:o outcome:t stage:t method:t median_ns:n lo_ns:n hi_ns:n "
                                "samples_ns:a compile_ms:n verify_ms:n time_ms:n worst_error:n");
    assert_true(json_count(json_get(s->lines[0], "samples_ns")) >= 3);
    run_lines(s, 1, "time bad.cl --dims N=100 --json");
    expect_members(s->lines[0], "outcome:t stage:t detail:t samples_ns:a");
}

static void expanded(void **state)
{
    setting *s = *state;
    run(s, 0, "expand good.cl --json --set A=2");
    s->lines[0] = parse(strb_text(&s->r.output), s->r.output.length);
    s->n = 1;
    expect_members(s->lines[0], "source:t config:o launches:a");
}

/* ---- trace ---- */

static void trace_file(void **state)
{
    setting *s = *state;
    kw_error err = {0};
    run(s, 0, "tune saxpy --template good.cl --dims N=333 --trace trace.json --store trace.db");
    if (!strstr(strb_text(&s->r.errors), "trace trace.json: wall ") || !strstr(strb_text(&s->r.errors), "idle "))
        fail_msg("no idle share: %s", strb_text(&s->r.errors));
    char *path = fs_join(s->folder, "trace.json");
    json *j = json_parse_file(path, &err);
    if (!j)
        fail_msg("%s", err.message);
    size_t n_compile = 0, n_time = 0;
    const json *events = json_get(j, "traceEvents");
    for (const json *e = json_first(events); e; e = json_next(e)) {
        expect_members(e, "name:t ph:t ts:n dur:n pid:n tid:n");
        expect_text(e, "ph", "X");
        assert_true(json_number(json_get(e, "ts")) >= 0 && json_number(json_get(e, "dur")) >= 0);
        n_compile += is_text(e, "name", "compile");
        n_time += is_text(e, "name", "time");
    }
    assert_true(n_compile >= 3);
    assert_true(n_time >= 3);
    json_free(j);
    free(path);
}

int main(void)
{
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("KERNWRIGHT_DEVICE", "fake:0", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    unsetenv("KERNWRIGHT_STORE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),        cmocka_unit_test(no_device),  cmocka_unit_test(tune_lines),
        cmocka_unit_test(tune_failure), cmocka_unit_test(time_lines), cmocka_unit_test(expanded),
        cmocka_unit_test(trace_file),
    };
    return cmocka_run_group_tests_name("cli_json", tests, begin, end);
}
