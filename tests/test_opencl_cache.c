/* The cache of compiled programs: entries that are whole come back, all others are as good as none; a bound that holds;
 * several processes at once. */
#include "base/cache.h"
#include "base/fs.h"
#include "base/mem.h"
#include "device/opencl.h"
#include "device/opencl_cache.h"
#include "tests/support_folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

static opencl_cache *open_cache(uint64_t bytes)
{
    opencl_cache *c = opencl_cache_open(test_folder, bytes);
    assert_non_null(c);
    return c;
}

static opencl_cache_entry entry_of(const char *facts, const char *log, size_t binary_bytes, char fill)
{
    opencl_cache_entry e = {STRB_INIT, STRB_INIT, STRB_INIT};
    strb_add(&e.facts, facts);
    strb_add(&e.log, log);
    for (size_t i = 0; i < binary_bytes; i++)
        strb_add_char(&e.binary, (char)(fill + (char)(i % 251)));
    return e;
}

static void store(opencl_cache *c, const char *key, size_t bytes, char fill)
{
    opencl_cache_entry e = entry_of("{}", "", bytes, fill);
    opencl_cache_store(c, key, &e);
    opencl_cache_entry_clear(&e);
}

static bool find(opencl_cache *c, const char *key, opencl_cache_entry *e)
{
    *e = (opencl_cache_entry){STRB_INIT, STRB_INIT, STRB_INIT};
    return opencl_cache_find(c, key, e);
}

static bool has(opencl_cache *c, const char *key)
{
    opencl_cache_entry e;
    bool found = find(c, key, &e);
    opencl_cache_entry_clear(&e);
    return found;
}

static size_t files(const char *suffix)
{
    char **names;
    size_t n;
    kw_error err;
    assert_int_equal(fs_list(test_folder, suffix, &names, &n, &err), KW_OK);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return n;
}

static char *path_of(const char *key)
{
    char name[64];
    snprintf(name, sizeof name, "%s.kwp", key);
    return fs_join(test_folder, name);
}

static void set_age(const char *name, time_t seconds)
{
    char *path = fs_join(test_folder, name);
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
    free(path);
}

/* ---- entries ---- */

static void test_comes_back(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(1 << 20);
    opencl_cache_entry e = entry_of("{\"a\":1}", "line one\nline \xff two\n", 5000, 'x'), got;
    assert_false(has(c, KEY));
    opencl_cache_store(c, KEY, &e);
    assert_true(find(c, KEY, &got));
    assert_string_equal(strb_text(&got.facts), "{\"a\":1}");
    assert_string_equal(strb_text(&got.log), "line one\nline \xff two\n");
    assert_int_equal(got.binary.length, 5000);
    assert_memory_equal(got.binary.data, e.binary.data, 5000);
    assert_false(has(c, OTHER));
    opencl_cache_entry_clear(&got);
    /* Replaced, also by another process's cache. */
    opencl_cache *second = open_cache(1 << 20);
    store(second, KEY, 10, 'a');
    assert_true(find(c, KEY, &got));
    assert_int_equal(got.binary.length, 10);
    assert_int_equal(got.log.length, 0);
    opencl_cache_entry_clear(&got);
    assert_int_equal(files(".kwp"), 1);
    opencl_cache_remove(c, KEY);
    assert_false(has(second, KEY));
    opencl_cache_entry_clear(&e);
    opencl_cache_close(second);
    opencl_cache_close(c);
}

/* Every cut and every changed byte is found out, and the file goes away. */
static void test_damage(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(1 << 20);
    char *path = path_of(KEY);
    strb whole = STRB_INIT;
    kw_error err;
    store(c, KEY, 300, 'q');
    assert_int_equal(fs_read(path, 0, &whole, &err), KW_OK);
    for (size_t i = 0; i < whole.length; i++) {
        whole.data[i] ^= 0x20;
        assert_int_equal(fs_write(path, whole.data, whole.length, &err), KW_OK);
        assert_false(has(c, KEY));
        assert_false(fs_is_file(path));
        whole.data[i] ^= 0x20;
        assert_int_equal(fs_write(path, whole.data, i, &err), KW_OK); /* cut off */
        assert_false(has(c, KEY));
    }
    strb_add(&whole, "more");
    assert_int_equal(fs_write(path, whole.data, whole.length, &err), KW_OK);
    assert_false(has(c, KEY));
    strb_truncate(&whole, whole.length - 4);
    assert_int_equal(fs_write(path, whole.data, whole.length, &err), KW_OK);
    assert_true(has(c, KEY));
    /* Under another name it is nobody's. */
    char *other = path_of(OTHER);
    assert_int_equal(rename(path, other), 0);
    assert_false(has(c, OTHER));
    free(other);
    static const char *const nonsense[] = {"",
                                           "\n",
                                           "kernwright-program 1 1 1 1 \n",
                                           "kernwright-program 1 -1 -1 5 00000000000000000000000000000000\nabc",
                                           "kernwright-program 1 99999999999999999999 1 1 0\n",
                                           "kernwright-program 2 0 0 0 00000000000000000000000000000000\n"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        assert_int_equal(fs_write(path, nonsense[i], strlen(nonsense[i]), &err), KW_OK);
        assert_false(has(c, KEY));
    }
    free(path);
    strb_clear(&whole);
    opencl_cache_close(c);
}

/* ---- the bound ---- */

static void make_key(char out[33], unsigned i)
{
    snprintf(out, 33, "%032x", i);
}

static void test_the_oldest_make_room(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(100000);
    char key[33], name[40];
    for (unsigned i = 0; i < 9; i++) {
        make_key(key, i);
        store(c, key, 10000, (char)i);
        snprintf(name, sizeof name, "%s.kwp", key);
        set_age(name, 1000 - 10 * (time_t)i);
    }
    make_key(key, 0);
    assert_true(has(c, key)); /* used now: young again */
    make_key(key, 9);
    store(c, key, 10000, 'z'); /* the tenth goes over the bound */
    opencl_cache_trim(c);
    assert_int_equal(files(".kwp"), 8);
    for (unsigned i = 0; i < 10; i++) {
        make_key(key, i);
        assert_int_equal(has(c, key), i != 1 && i != 2);
    }
    opencl_cache_close(c);
}

static void test_bound_holds_by_itself(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(1 << 20);
    char key[33];
    for (unsigned i = 0; i < 300; i++) {
        make_key(key, i);
        store(c, key, 20000, (char)i);
    }
    assert_true(files(".kwp") <= 55); /* 52 fit, and a few until the next look */
    assert_true(files(".kwp") >= 45);
    store(c, KEY, 200000, 'l'); /* alone more than an eighth of all: not kept */
    assert_false(has(c, KEY));
    opencl_cache_close(c);
}

static void test_leftovers(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(1 << 20);
    kw_error err;
    static const char *const names[] = {"new.123.0", "new.124.0", "mine.txt"};
    for (size_t i = 0; i < 3; i++) {
        char *path = fs_join(test_folder, names[i]);
        assert_int_equal(fs_write(path, "x", 1, &err), KW_OK);
        free(path);
        if (i != 1)
            set_age(names[i], 3600);
    }
    opencl_cache_trim(c);
    assert_int_equal(files(".0"), 1); /* the one that may still be written */
    assert_int_equal(files(".txt"), 1);
    opencl_cache_close(c);
}

/* While another process makes room nobody else does, and nobody waits. */
static void test_lock(void **state)
{
    (void)state;
    opencl_cache *c = open_cache(10000);
    char *path = fs_join(test_folder, ".lock"), key[33];
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    for (unsigned i = 0; i < 20; i++) {
        make_key(key, i);
        store(c, key, 1000, (char)i);
    }
    assert_int_equal(files(".kwp"), 20);
    close(fd);
    opencl_cache_trim(c);
    assert_true(files(".kwp") <= 9);
    free(path);
    opencl_cache_close(c);
}

/* Four processes write, read and make room in one folder: what any of them gets is whole. */
static void hammer(unsigned seed)
{
    opencl_cache *c = opencl_cache_open(test_folder, 60000);
    char key[33];
    for (unsigned i = 0; c && i < 400; i++) {
        unsigned which = (i * 7 + seed * 3) % 20;
        make_key(key, which);
        opencl_cache_entry e;
        if (find(c, key, &e)) {
            for (size_t k = 0; k < e.binary.length; k++)
                if (e.binary.data[k] != (char)((char)which + (char)(k % 251)))
                    _exit(1);
            if (e.binary.length != 1000 + which)
                _exit(2);
        }
        opencl_cache_entry_clear(&e);
        store(c, key, 1000 + which, (char)which);
        if (i % 50 == seed)
            opencl_cache_trim(c);
        if (i % 33 == seed)
            opencl_cache_remove(c, key);
    }
    opencl_cache_close(c);
    _exit(c ? 0 : 3);
}

static void test_several_processes(void **state)
{
    (void)state;
    pid_t children[4];
    for (unsigned i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            hammer(i);
    }
    for (unsigned i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_true(files(NULL) >= files(".kwp"));
    assert_true(files(".kwp") <= 20);
}

/* A file that cannot grow stands for a full disk: nothing half-written stays, what was there does. */
static void test_full_disk(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        opencl_cache *c = opencl_cache_open(test_folder, 1 << 20);
        struct rlimit limit = {2000, 2000};
        signal(SIGXFSZ, SIG_IGN);
        store(c, OTHER, 1000, 'o');
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(9);
        store(c, KEY, 5000, 'k');
        store(c, OTHER, 5000, 'p');
        _exit(has(c, KEY) ? 1 : has(c, OTHER) ? 0 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(files(".kwp"), 1);
    assert_int_equal(files(NULL), 2); /* and the lock */
}

/* ---- where ---- */

typedef struct variable {
    const char *name;
    char *before;
} variable;

static variable variables[] = {{"KERNWRIGHT_CACHE", NULL},
                               {"XDG_CACHE_HOME", NULL},
                               {"HOME", NULL},
                               {"TMPDIR", NULL},
                               {"POCL_CACHE_DIR", NULL},
                               {"CUDA_CACHE_PATH", NULL},
                               {"CUDA_CACHE_MAXSIZE", NULL},
                               {"KERNWRIGHT_BINARY_CACHE", NULL}};
#define N_VARIABLES (sizeof variables / sizeof *variables)

static void forget_variables(void)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const char *now = getenv(variables[i].name);
        variables[i].before = now ? mem_strdup(now) : NULL;
        unsetenv(variables[i].name);
    }
}

static void restore_variables(void)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        if (variables[i].before)
            setenv(variables[i].name, variables[i].before, 1);
        else
            unsetenv(variables[i].name);
        free(variables[i].before);
    }
}

static void expect_folder(const char *below)
{
    char *found = cache_folder(), *wanted = fs_join(test_folder, below);
    assert_non_null(found);
    assert_string_equal(found, wanted);
    assert_true(fs_is_folder(found));
    free(found);
    free(wanted);
}

static void test_folders(void **state)
{
    (void)state;
    forget_variables();
    char *home = fs_join(test_folder, "home"), *xdg = fs_join(test_folder, "xdg"),
         *own = fs_join(test_folder, "own/deep"), *file = fs_join(test_folder, "file"),
         *in_file = fs_join(file, "below"), name[64];
    kw_error err;
    fs_write(file, "x", 1, &err);
    setenv("TMPDIR", test_folder, 1);
    snprintf(name, sizeof name, "kernwright-%lu", (unsigned long)geteuid());
    expect_folder(name);
    setenv("HOME", home, 1);
    expect_folder("home/.cache/kernwright");
    setenv("XDG_CACHE_HOME", xdg, 1);
    expect_folder("xdg/kernwright");
    setenv("XDG_CACHE_HOME", in_file, 1); /* cannot be made */
    expect_folder("home/.cache/kernwright");
    setenv("KERNWRIGHT_CACHE", own, 1);
    expect_folder("own/deep");
    opencl_cache_set_drivers();
    char *pocl = fs_join(own, "pocl"), *cuda = fs_join(own, "cuda");
    assert_string_equal(getenv("POCL_CACHE_DIR"), pocl);
    assert_string_equal(getenv("CUDA_CACHE_PATH"), cuda);
    assert_true(fs_is_folder(pocl) && fs_is_folder(cuda));
    setenv("POCL_CACHE_DIR", "/of/the/user", 1);
    setenv("CUDA_CACHE_MAXSIZE", "5", 1);
    opencl_cache_set_drivers();
    assert_string_equal(getenv("POCL_CACHE_DIR"), "/of/the/user");
    assert_string_equal(getenv("CUDA_CACHE_MAXSIZE"), "5");
    /* What the user names is taken or nothing is; never another one in its place. */
    setenv("KERNWRIGHT_CACHE", in_file, 1);
    assert_null(cache_folder());
    unsetenv("POCL_CACHE_DIR");
    opencl_cache_set_drivers();
    assert_null(getenv("POCL_CACHE_DIR"));
    restore_variables();
    free(home);
    free(xdg);
    free(own);
    free(file);
    free(in_file);
    free(pocl);
    free(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_comes_back),
        IN_FOLDER(test_damage),
        IN_FOLDER(test_the_oldest_make_room),
        IN_FOLDER(test_bound_holds_by_itself),
        IN_FOLDER(test_leftovers),
        IN_FOLDER(test_lock),
        IN_FOLDER(test_several_processes),
        IN_FOLDER(test_full_disk),
        IN_FOLDER(test_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
