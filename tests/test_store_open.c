/* The store and its file: where it lies, what is wrong with it, who else uses it, and what a kill leaves. */
#include "tests/store_fixture.h"

#include "tuner/store_internal.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* A store without WAL that somebody reads at this moment: the switch to WAL waits for the reader. */
static void reader_during_the_switch(void **state)
{
    char *path = fs_join(*state, "switch.db"), name[512], mode[16], c;
    snprintf(name, sizeof name, "file:%s?vfs=unix-none", path);
    store_close(open_store(name)); /* SQLite's "unix-none" has no shared memory either */
    journal_of(path, mode);
    assert_string_equal(mode, "delete");
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db;
        static const kw_error failed = {KW_FAILED, "the reader failed"};
        require_in_child(sqlite3_open(path, &db) == SQLITE_OK, __LINE__, &failed);
        require_in_child(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM fact", NULL, NULL, NULL) == SQLITE_OK, __LINE__,
                         &failed);
        require_in_child(write(ready[1], "+", 1) == 1, __LINE__, &failed);
        usleep(100000);
        sqlite3_close(db);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    store_close(open_store(path));
    journal_of(path, mode);
    assert_string_equal(mode, "wal");
    assert_int_equal(wait_for(pid), 0);
    close(ready[0]);
    close(ready[1]);
    free(path);
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
        cmocka_unit_test(without_permission),
        cmocka_unit_test(writers_at_once),
        cmocka_unit_test(reader_during_the_switch),
        cmocka_unit_test(killed_writer),
    };
    return cmocka_run_group_tests_name("store and its file", tests, make_folder, remove_folder);
}
