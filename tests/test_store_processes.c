/* The store and other processes: rights, several writers, and what a kill leaves. */
#include "tests/store_fixture.h"
#include "tests/support_store.h"

#include "tuner/store_internal.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    store_journal_of(path, mode);
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
    store_journal_of(path, mode);
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
        cmocka_unit_test(without_permission),
        cmocka_unit_test(writers_at_once),
        cmocka_unit_test(reader_during_the_switch),
        cmocka_unit_test(killed_writer),
    };
    return cmocka_run_group_tests_name("store and other processes", tests, make_folder, remove_folder);
}
