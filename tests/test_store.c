/* The store: what goes in comes out, whatever happens to the file or to the process. */
#include "tests/store_fixture.h"

#include "tuner/store_internal.h"

#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- rows ---- */

static bool copy_row(const measurement *m, void *cookie)
{
    measurement *copy = cookie;
    assert_null(copy->task);
    *copy = *m;
    char **texts[] = {&copy->task, &copy->task_hash, &copy->types, &copy->shape, &copy->scalars, &copy->device_key,
                      &copy->api, &copy->mode, &copy->source_hash, &copy->template_name, &copy->config, &copy->detail,
                      &copy->method, &copy->device_name, &copy->driver, &copy->host, &copy->run, &copy->date,
                      &copy->tool_version, &copy->extra};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i])
            *texts[i] = mem_strdup(*texts[i]);
    copy->samples_ns = NULL;
    if (m->n_samples > 0) {
        copy->samples_ns = mem_alloc(m->n_samples * sizeof *copy->samples_ns);
        memcpy(copy->samples_ns, m->samples_ns, m->n_samples * sizeof *copy->samples_ns);
    }
    return true;
}

static measurement only_row(store *s)
{
    static const store_query any;
    kw_error err = {0};
    measurement m = {0};
    assert_code(store_each(s, &any, copy_row, &m, &err), KW_OK, err);
    assert_non_null(m.task);
    return m;
}

static void assert_same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void assert_same_row(const measurement *a, const measurement *b)
{
    assert_same_text(a->task, b->task);
    assert_same_text(a->task_hash, b->task_hash);
    assert_same_text(a->types, b->types);
    assert_same_text(a->shape, b->shape);
    assert_same_text(a->scalars, b->scalars);
    assert_same_text(a->device_key, b->device_key);
    assert_same_text(a->api, b->api);
    assert_same_text(a->mode, b->mode);
    assert_same_text(a->source_hash, b->source_hash);
    assert_same_text(a->template_name, b->template_name);
    assert_same_text(a->config, b->config);
    assert_same_text(a->detail, b->detail);
    assert_same_text(a->method, b->method);
    assert_same_text(a->device_name, b->device_name);
    assert_same_text(a->driver, b->driver);
    assert_same_text(a->host, b->host);
    assert_same_text(a->run, b->run);
    assert_same_text(a->date, b->date);
    assert_same_text(a->tool_version, b->tool_version);
    assert_same_text(a->extra, b->extra);
    assert_int_equal(a->timing_version, b->timing_version);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->verified, b->verified);
    assert_int_equal(a->n_samples, b->n_samples);
    for (size_t i = 0; i < a->n_samples; i++)
        assert_true(a->samples_ns[i] == b->samples_ns[i]);
    assert_int_equal(a->time.n, b->time.n);
    assert_true(a->time.median == b->time.median && a->time.lo == b->time.lo && a->time.hi == b->time.hi);
    assert_true(a->compile_ms == b->compile_ms && a->verify_ms == b->verify_ms && a->time_ms == b->time_ms);
    assert_int_equal(a->registers, b->registers);
    assert_int_equal(a->spill_bytes, b->spill_bytes);
    assert_int_equal(a->local_bytes, b->local_bytes);
    assert_true(a->worst_error == b->worst_error);
}

static void rows_come_back(void **state)
{
    char *path = fs_join(*state, "rows.db");
    double samples[] = {101.1, 1.0 / 3, 1e9 + 0.1, 99};
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 4);
    in.detail = lend("a line\nand \"another\"");
    in.extra = lend("{\"joules\":2.5}");
    store *s = open_store(path);
    assert_string_equal(store_path(s), path);
    add_row(s, &in);
    store_close(s);
    s = open_store(path);
    measurement out = only_row(s);
    assert_same_row(&in, &out);
    assert_true(out.time.min == 1.0 / 3 && out.time.max == 1e9 + 0.1);
    measurement_clear(&out);
    store_close(s);
    free(path);
}

static void failed_rows_come_back(void **state)
{
    (void)state;
    store *s = memory_store();
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", NULL, 0);
    in.outcome = OUTCOME_COMPILE_ERROR;
    in.stage = STAGE_COMPILE;
    in.verified = VERIFIED_NOT;
    in.method = in.config = in.device_name = NULL;
    in.registers = in.spill_bytes = in.local_bytes = -1;
    in.worst_error = INFINITY;
    add_row(s, &in);
    measurement out = only_row(s);
    assert_same_row(&in, &out);
    measurement_clear(&out);
    store_close(s);
}

/* More text than a log may have is cut between characters; nothing else is ever cut. */
static void long_texts(void **state)
{
    (void)state;
    enum { N = 6000, LIMIT = 64 << 10 };
    double *samples = mem_alloc(N * sizeof *samples);
    for (size_t i = 0; i < N; i++)
        samples[i] = 1000 + (double)i / 7;
    strb log = STRB_INIT;
    strb_add_char(&log, '.');
    while (log.length < LIMIT + 10)
        strb_add(&log, "\xe2\x82\xac"); /* three bytes, so one of them lies across the limit */
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, N);
    in.detail = log.data;
    store *s = memory_store();
    add_row(s, &in);
    measurement out = only_row(s);
    assert_int_equal(out.n_samples, N);
    assert_true(out.samples_ns[N - 1] == samples[N - 1]);
    size_t n = strlen(out.detail);
    assert_true(n <= LIMIT && n > LIMIT - 3 && n % 3 == 1);
    assert_memory_equal(out.detail, log.data, n);
    measurement_clear(&out);
    store_close(s);
    strb_clear(&log);
    free(samples);
}

static bool note_hash(const measurement *m, void *cookie)
{
    strb_printf(cookie, "%c", m->source_hash[HASH_HEX_SIZE - 2]);
    return true;
}

static bool first_only(const measurement *m, void *cookie)
{
    note_hash(m, cookie);
    return false;
}

static void queries(void **state)
{
    (void)state;
    store *s = memory_store();
    double fast[] = {10, 11}, slow[] = {20, 21};
    measurement m = fixture_row(TASK_HASH, HASH_B, "{\"M\":3,\"N\":4}", slow, 2);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", fast, 2);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_C, "{\"M\":1,\"N\":4}", fast, 2);
    m.driver = lend("4.0");
    m.timing_version = TIMING_VERSION + 1;
    m.outcome = OUTCOME_WRONG;
    add_row(s, &m);
    strb order = STRB_INIT;
    kw_error err = {0};
    store_query q = {0};
    assert_code(store_each(s, &q, note_hash, &order, &err), KW_OK, err);
    assert_string_equal(strb_text(&order), "cab"); /* by shape, then source hash */
    strb_reset(&order);
    assert_code(store_each(s, &q, first_only, &order, &err), KW_OK, err);
    assert_string_equal(strb_text(&order), "c");
    strb_clear(&order);
    const store_query some[] = {
        {.task = "scale"}, {.task_hash = TASK_HASH}, {.types = "T=f32"}, {.scalars = "{\"alpha\":1}"}, {.api = "opencl"},
        {.device_key = "pocl/cpu/test/4"}, {.mode = "cold"}, {.template_name = "scale_rows"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_int_equal(count_rows(s, &some[i]), 3);
    const store_query one[] = {{.shape = "{\"M\":1,\"N\":4}"}, {.source_hash = HASH_A}, {.driver = "4.0"},
                               {.timing_version = TIMING_VERSION + 1}, {.only_failed = true}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        assert_int_equal(count_rows(s, &one[i]), 1);
    const store_query none[] = {{.task = "gemm"}, {.task_hash = HASH_A}, {.types = "T=f16"}, {.mode = "warm"}, {.api = "cuda"},
                                {.only_ok = true, .only_failed = true}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(count_rows(s, &none[i]), 0);
    q.only_ok = true;
    assert_int_equal(count_rows(s, &q), 2);
    store_close(s);
}

static void verified_levels(void **state)
{
    (void)state;
    store *s = memory_store();
    double samples[] = {10, 11};
    kw_error err = {0};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    add_row(s, &m);
    assert_code(store_set_verified(s, TASK_HASH, "another/device", HASH_A, VERIFIED_GENERAL, &err), KW_OK, err);
    measurement out = only_row(s);
    assert_int_equal(out.verified, VERIFIED_EXACT);
    measurement_clear(&out);
    assert_code(store_set_verified(s, TASK_HASH, m.device_key, HASH_A, VERIFIED_GENERAL, &err), KW_OK, err);
    assert_code(store_set_verified(s, TASK_HASH, m.device_key, HASH_A, VERIFIED_EXACT, &err), KW_OK, err); /* never lowers */
    out = only_row(s);
    assert_int_equal(out.verified, VERIFIED_GENERAL);
    measurement_clear(&out);
    verified v;
    for (int i = 0; i <= VERIFIED_GENERAL; i++)
        assert_true(verified_from_name(verified_name((verified)i), &v) && v == (verified)i);
    assert_false(verified_from_name("nearly", &v));
    assert_false(verified_from_name(NULL, &v));
    store_close(s);
}

static void facts(void **state)
{
    char *path = fs_join(*state, "facts.db"), *text;
    kw_error err = {0};
    store *s = open_store(path);
    assert_code(store_fact(s, "probe", &text, &err), KW_OK, err);
    assert_null(text);
    assert_code(store_set_fact(s, "probe", "{\"gflops\":1}", &err), KW_OK, err);
    assert_code(store_set_fact(s, "probe", "{\"gflops\":2}", &err), KW_OK, err);
    store_close(s);
    s = open_store(path);
    assert_code(store_fact(s, "probe", &text, &err), KW_OK, err);
    assert_string_equal(text, "{\"gflops\":2}");
    free(text);
    store_close(s);
    free(path);
}

static void variants(void **state)
{
    (void)state;
    task *t = fixture_task();
    template *p = fixture_template(t, "scale_rows", true);
    variant *v = fixture_variant(p, 64, 0), *out;
    store *s = memory_store();
    kw_error err = {0};
    assert_code(store_variant(s, t, v->hash, &out, &err), KW_OK, err);
    assert_null(out);
    assert_code(store_add_variant(s, v, &err), KW_OK, err);
    assert_code(store_add_variant(s, v, &err), KW_OK, err);
    assert_code(store_variant(s, t, v->hash, &out, &err), KW_OK, err);
    assert_non_null(out);
    assert_string_equal(out->hash, v->hash);
    assert_string_equal(out->source, v->source);
    assert_true(out->is_fallback);
    variant_free(out);
    assert_code(store_variant(s, t, HASH_A, &out, &err), KW_OK, err);
    assert_null(out);
    store_close(s);
    variant_free(v);
    template_free(p);
    task_free(t);
}

/* ---- where it lies ---- */

static void default_path(void **state)
{
    char *path = fs_join(*state, "named.db");
    kw_error err = {0};
    store *s;
    setenv("KERNWRIGHT_STORE", path, 1);
    assert_code(store_open(NULL, false, &s, &err), KW_OK, err);
    unsetenv("KERNWRIGHT_STORE");
    assert_string_equal(store_path(s), path);
    store_close(s);
    assert_true(fs_is_file(path));
    free(path);
}

static void in_memory(void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "file:kw?mode=memory"};
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    for (size_t i = 0; i < 2; i++) {
        store *s = open_store(names[i]);
        add_row(s, &m);
        assert_int_equal(count_rows(s, NULL), 1);
        store_close(s);
    }
    assert_false(fs_is_file(":memory:"));
    assert_false(fs_is_file("kw"));
}

static void journal_of(const char *path, char mode[16])
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    snprintf(mode, 16, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
}

/* SQLite's "unix-dotfile" has no shared memory, like some network file systems. */
static void where_wal_cannot_work(void **state)
{
    char *path = fs_join(*state, "dot.db"), name[512], mode[16];
    snprintf(name, sizeof name, "file:%s?vfs=unix-dotfile", path);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    store *s = open_store(name);
    add_row(s, &m);
    store_close(s);
    journal_of(path, mode);
    assert_string_equal(mode, "delete");

    /* elsewhere it becomes a WAL store, and is brought back here with its rows */
    s = open_store(path);
    add_row(s, &m);
    store_close(s);
    journal_of(path, mode);
    assert_string_equal(mode, "wal");
    s = open_store(name);
    add_row(s, &m);
    assert_int_equal(count_rows(s, NULL), 3);
    store *second = open_store(name); /* nobody holds a lock in between */
    add_row(second, &m);
    assert_int_equal(count_rows(s, NULL), 4);
    store_close(second);
    store_close(s);
    journal_of(path, mode);
    assert_string_equal(mode, "delete");
    free(path);
}

static void reading_while_writing(void **state)
{
    char *path = fs_join(*state, "both.db");
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    store *writer = open_store(path), *reader;
    kw_error err = {0};
    add_row(writer, &m);
    assert_code(store_open(path, true, &reader, &err), KW_OK, err);
    assert_int_equal(count_rows(reader, NULL), 1);
    assert_code(store_run(writer, "BEGIN IMMEDIATE", "testing", &err), KW_OK, err);
    add_row(writer, &m);
    assert_int_equal(count_rows(reader, NULL), 1);
    assert_code(store_run(writer, "COMMIT", "testing", &err), KW_OK, err);
    assert_int_equal(count_rows(reader, NULL), 2);
    assert_code(store_add(reader, &m, &err), KW_ENVIRONMENT, err); /* it was opened for reading */
    assert_has(err.message, "cannot be written");
    store_close(reader);
    store_close(writer);
    free(path);
}

/* ---- bad files: one clear line, the right code, nothing changed ---- */

/* Opening must fail with this code and these words, and leave every byte. Both ways of opening if `read_only_too`. */
static void refused(const char *path, kw_code expected, const char *words, bool read_only_too)
{
    size_t before_n = 0, after_n = 0;
    char *before = fs_is_file(path) ? read_text(path, &before_n) : NULL;
    for (int read_only = 0; read_only <= (int)read_only_too; read_only++) {
        kw_error err = {0};
        store *s = NULL;
        assert_code(store_open(path, read_only, &s, &err), expected, err);
        assert_null(s);
        assert_has(err.message, words);
        assert_null(strchr(err.message, '\n'));
        assert_int_equal(err.code, expected);
    }
    assert_int_equal(fs_is_file(path), before != NULL);
    if (before) {
        char *after = read_text(path, &after_n);
        assert_int_equal(before_n, after_n);
        assert_memory_equal(before, after, before_n);
        free(after);
    }
    free(before);
}

/* A store with enough rows for several pages. */
static void make_store(const char *path)
{
    double samples[] = {10, 11};
    store *s = open_store(path);
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    kw_error err = {0};
    assert_code(store_run(s, "BEGIN", "testing", &err), KW_OK, err);
    for (int i = 0; i < 200; i++)
        add_row(s, &m);
    assert_code(store_run(s, "COMMIT", "testing", &err), KW_OK, err);
    store_close(s);
}

static void not_a_database(void **state)
{
    char *path = fs_join(*state, "text.db");
    strb text = STRB_INIT;
    while (text.length < 5000)
        strb_add(&text, "These are my notes, not a database.\n");
    write_text(path, strb_text(&text), text.length);
    refused(path, KW_BAD_INPUT, "not a database); it was left as it is", true);
    write_text(path, "short", 5);
    refused(path, KW_BAD_INPUT, "not a database); it was left as it is", true);
    strb_clear(&text);
    free(path);
}

static void database_of_another_program(void **state)
{
    char *path = fs_join(*state, "other.db");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE bookmarks (url TEXT)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused(path, KW_BAD_INPUT, "a database of another program", true);
    free(path);
}

static void newer_schema(void **state)
{
    char *path = fs_join(*state, "newer.db");
    make_store(path);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=7", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused(path, KW_BAD_INPUT, "has schema 7, this program knows up to 1: use a newer kernwright", true);
    free(path);
}

static void truncated(void **state)
{
    char *path = fs_join(*state, "cut.db");
    make_store(path);
    size_t n;
    char *whole = read_text(path, &n);
    const size_t lengths[] = {n / 2, n - 1, 4096, 5000, 600, 100, 50};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_text(path, whole, lengths[i]);
        kw_error err = {0};
        store *s = NULL;
        assert_int_equal(store_open(path, false, &s, &err), KW_BAD_INPUT);
        refused(path, KW_BAD_INPUT, "it was left as it is", true);
    }
    free(whole);
    free(path);
}

static void damaged(void **state)
{
    char *path = fs_join(*state, "damaged.db");
    make_store(path);
    size_t n;
    char *text = read_text(path, &n);
    memset(text + n / 2, 0xa5, 3000);
    write_text(path, text, n);
    refused(path, KW_BAD_INPUT, "is damaged or cut off", true);
    free(text);
    free(path);
}

static void no_such_place(void **state)
{
    char *path = fs_join(*state, "missing/kw.db"), *file = fs_join(*state, "file"), *below = fs_join(*state, "file/kw.db");
    refused(*state, KW_BAD_INPUT, "is a folder", true);
    refused(path, KW_ENVIRONMENT, "does not exist", false);
    write_text(file, "x", 1);
    refused(below, KW_ENVIRONMENT, "does not exist", false);
    refused("/proc/kw.db", KW_ENVIRONMENT, "cannot be opened", false);
    kw_error err = {0};
    store *s = NULL;
    assert_code(store_open(path, true, &s, &err), KW_BAD_INPUT, err);
    assert_has(err.message, "no store at");
    assert_has(err.message, "kernwright tune");
    free(path);
    free(file);
    free(below);
}

static void empty_files(void **state)
{
    char *path = fs_join(*state, "empty.db");
    write_text(path, "", 0);
    kw_error err = {0};
    store *s = NULL;
    assert_code(store_open(path, true, &s, &err), KW_BAD_INPUT, err);
    assert_has(err.message, "is empty");
    s = open_store(path); /* what `touch` made is as good as none */
    assert_int_equal(count_rows(s, NULL), 0);
    store_close(s);
    free(path);
}

static void locked(void **state)
{
    char *path = fs_join(*state, "locked.db");
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    store *a = open_store(path), *b = open_store(path);
    kw_error err = {0};
    assert_code(store_run(a, "BEGIN IMMEDIATE", "testing", &err), KW_OK, err);
    sqlite3_busy_timeout(b->db, 1);
    assert_code(store_add(b, &m, &err), KW_ENVIRONMENT, err);
    assert_has(err.message, "locked by another program");
    assert_code(store_run(a, "ROLLBACK", "testing", &err), KW_OK, err);
    add_row(b, &m);
    store_close(a);
    store_close(b);
    free(path);
}

/* ---- other processes ---- */

/* Runs `body` in a child without rights over the file system; its failures are counted in the exit status. */
static void without_rights(void (*body)(const char *path), const char *path)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        body(path);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void require_in_child(bool ok, int line, const kw_error *err)
{
    if (ok)
        return;
    fprintf(stderr, "line %d: %s\n", line, err->message);
    _exit(1);
}

static void opens_nothing(const char *path)
{
    kw_error err = {0};
    store *s = NULL;
    require_in_child(store_open(path, false, &s, &err) == KW_ENVIRONMENT, __LINE__, &err);
    require_in_child(strstr(err.message, "--store") != NULL, __LINE__, &err);
}

static void reads_two_rows(const char *path)
{
    kw_error err = {0};
    store *s = NULL;
    opens_nothing(path);
    require_in_child(store_open(path, true, &s, &err) == KW_OK, __LINE__, &err);
    size_t n = 0;
    store_query q = {0};
    require_in_child(store_each(s, &q, count_row, &n, &err) == KW_OK && n == 2, __LINE__, &err);
    store_close(s);
}

static void without_permission(void **state)
{
    char *folder = fs_join(*state, "there % & #1"), *path = fs_join(folder, "kw.db");
    kw_error err = {0};
    assert_code(fs_make_folders(folder, &err), KW_OK, err);
    assert_int_equal(chmod(*state, 0755), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    without_rights(opens_nothing, path);
    assert_int_equal(chmod(folder, 0755), 0);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    store *s = open_store(path);
    add_row(s, &m);
    add_row(s, &m);
    store_close(s);
    /* a WAL store on a medium that cannot be written: readable all the same */
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    without_rights(reads_two_rows, path);
    assert_int_equal(chmod(folder, 0755), 0);
    free(path);
    free(folder);
}

/* A child that opens the store when the pipe closes, adds `n` rows and writes a byte to `done` after each. */
static pid_t start_writer(const char *path, const char *source_hash, int n, int start_fd, int done_fd)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    char c;
    kw_error err = {0};
    store *s = NULL;
    require_in_child(read(start_fd, &c, 1) == 0, __LINE__, &err);
    require_in_child(store_open(path, false, &s, &err) == KW_OK, __LINE__, &err);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, source_hash, "{\"M\":3,\"N\":4}", samples, 2);
    for (int i = 0; i < n; i++) {
        require_in_child(store_add(s, &m, &err) == KW_OK, __LINE__, &err);
        require_in_child(write(done_fd, "+", 1) == 1, __LINE__, &err);
    }
    store_close(s);
    _exit(0);
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Three processes create the same store at the same moment and write at once: nothing is lost. */
static void writers_at_once(void **state)
{
    enum { WRITERS = 3, ROWS = 60 };
    for (int round = 0; round < 4; round++) {
        char *path = fs_join(*state, round % 2 ? "at-once-1.db" : "at-once-0.db");
        if (round == 2)
            remove(path); /* new again */
        int start[2], done[2];
        assert_int_equal(pipe(start), 0);
        assert_int_equal(pipe(done), 0);
        pid_t pids[WRITERS];
        const char *const hashes[WRITERS] = {HASH_A, HASH_B, HASH_C};
        for (int i = 0; i < WRITERS; i++) {
            fflush(NULL);
            pids[i] = fork();
            if (pids[i] == 0) {
                close(start[1]);
                pid_t inner = start_writer(path, hashes[i], ROWS, start[0], done[1]);
                int status = 0;
                waitpid(inner, &status, 0);
                _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
            }
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < WRITERS; i++)
            assert_int_equal(wait_for(pids[i]), 0);
        close(done[0]);
        close(done[1]);
        store *s = open_store(path);
        size_t rounds_in_it = round == 3 ? 2 : 1;
        for (int i = 0; i < WRITERS; i++) {
            store_query q = {.source_hash = hashes[i]};
            assert_int_equal(count_rows(s, &q), ROWS * rounds_in_it);
        }
        store_close(s);
        free(path);
    }
}

/* kill -9 between two adds, or within one: every row that was reported is there. */
static void killed_writer(void **state)
{
    char *path = fs_join(*state, "killed.db");
    size_t expected = 0;
    for (int round = 0; round < 5; round++) {
        int start[2], done[2];
        assert_int_equal(pipe(start), 0);
        assert_int_equal(pipe(done), 0);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            close(start[1]);
            close(done[0]);
            char c;
            kw_error err = {0};
            store *s = NULL;
            require_in_child(read(start[0], &c, 1) == 0, __LINE__, &err);
            require_in_child(store_open(path, false, &s, &err) == KW_OK, __LINE__, &err);
            double samples[] = {10, 11};
            measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
            for (;;) {
                require_in_child(store_add(s, &m, &err) == KW_OK, __LINE__, &err);
                require_in_child(write(done[1], "+", 1) == 1, __LINE__, &err);
            }
        }
        close(start[0]);
        close(start[1]);
        close(done[1]);
        char c;
        for (int i = 0; i < 7 + round; i++)
            assert_int_equal(read(done[0], &c, 1), 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        int status = wait_for(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        expected += (size_t)(7 + round);
        while (read(done[0], &c, 1) == 1)
            expected++;
        close(done[0]);
        store *s = open_store(path);
        size_t n = count_rows(s, NULL);
        assert_true(n == expected || n == expected + 1); /* one may have been added and not reported */
        expected = n;
        store_close(s);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back), cmocka_unit_test(failed_rows_come_back), cmocka_unit_test(long_texts),
        cmocka_unit_test(queries), cmocka_unit_test(verified_levels), cmocka_unit_test(facts), cmocka_unit_test(variants),
        cmocka_unit_test(default_path), cmocka_unit_test(in_memory), cmocka_unit_test(where_wal_cannot_work),
        cmocka_unit_test(reading_while_writing), cmocka_unit_test(not_a_database),
        cmocka_unit_test(database_of_another_program), cmocka_unit_test(newer_schema), cmocka_unit_test(truncated),
        cmocka_unit_test(damaged), cmocka_unit_test(no_such_place), cmocka_unit_test(empty_files), cmocka_unit_test(locked),
        cmocka_unit_test(without_permission), cmocka_unit_test(writers_at_once), cmocka_unit_test(killed_writer),
    };
    return cmocka_run_group_tests_name("store", tests, make_folder, remove_folder);
}
