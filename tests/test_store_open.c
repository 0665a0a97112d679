/* The store and its file: where it lies, and what is wrong with it. */
#include "tests/store_fixture.h"
#include "tests/support_store.h"

#include "tuner/store_internal.h"

#include <unistd.h>

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
    store_journal_of(path, mode);
    assert_string_equal(mode, "delete");

    /* elsewhere it becomes a WAL store, and is brought back here with its rows */
    s = open_store(path);
    add_row(s, &m);
    store_close(s);
    store_journal_of(path, mode);
    assert_string_equal(mode, "wal");
    s = open_store(name);
    add_row(s, &m);
    assert_int_equal(count_rows(s, NULL), 3);
    store *second = open_store(name); /* nobody holds a lock in between */
    add_row(second, &m);
    assert_int_equal(count_rows(s, NULL), 4);
    store_close(second);
    store_close(s);
    store_journal_of(path, mode);
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
    refused(path, KW_BAD_INPUT, "has schema 7, this program knows up to 3: use a newer kernwright", true);
    free(path);
}

/* A store as the first version made it: its rows are read as they are, and for writing it is made complete. */
static void older_schema(void **state)
{
    char *path = fs_join(*state, "older.db");
    make_store(path);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "ALTER TABLE measurement DROP COLUMN limit_ns;"
                                  "ALTER TABLE measurement DROP COLUMN limited_by;"
                                  "ALTER TABLE measurement DROP COLUMN noise;"
                                  "ALTER TABLE measurement DROP COLUMN contributor; PRAGMA user_version=1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    kw_error err = {0};
    store *s = NULL;
    size_t rows;
    assert_code(store_open(path, true, &s, &err), KW_OK, err);
    rows = count_rows(s, NULL);
    assert_true(rows > 0);
    store_close(s);
    s = open_store(path);
    assert_int_equal(count_rows(s, NULL), rows);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_C, "{\"M\":3,\"N\":4}", samples, 2);
    m.limit_ns = 5;
    m.limited_by = lend("memory");
    m.noise = 0.25;
    m.contributor = lend("somebody");
    add_row(s, &m);
    store_close(s);
    assert_code(store_open(path, true, &s, &err), KW_OK, err);
    assert_int_equal(count_rows(s, NULL), rows + 1);
    store_close(s);
    free(path);
}

/* The schema between: what it has is not added again. */
static void second_schema(void **state)
{
    char *path = fs_join(*state, "second.db");
    make_store(path);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "ALTER TABLE measurement DROP COLUMN contributor; PRAGMA user_version=2", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    kw_error err = {0};
    store *s = NULL;
    bool several;
    assert_code(store_open(path, true, &s, &err), KW_OK, err);
    assert_code(store_has_contributors(s, 1, &several, &err), KW_OK, err);
    assert_true(several);
    const size_t rows = count_rows(s, NULL);
    store_close(s);
    s = open_store(path);
    assert_int_equal(count_rows(s, NULL), rows);
    store_close(s);
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
    char *path = fs_join(*state, "missing/kw.db"), *file = fs_join(*state, "file"),
         *below = fs_join(*state, "file/kw.db");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_path),
        cmocka_unit_test(in_memory),
        cmocka_unit_test(where_wal_cannot_work),
        cmocka_unit_test(reading_while_writing),
        cmocka_unit_test(not_a_database),
        cmocka_unit_test(database_of_another_program),
        cmocka_unit_test(newer_schema),
        cmocka_unit_test(older_schema),
        cmocka_unit_test(second_schema),
        cmocka_unit_test(truncated),
        cmocka_unit_test(damaged),
        cmocka_unit_test(no_such_place),
        cmocka_unit_test(empty_files),
        cmocka_unit_test(locked),
    };
    return cmocka_run_group_tests_name("store and its file", tests, make_folder, remove_folder);
}
