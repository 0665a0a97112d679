#include "base/fs.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *folder; /* fresh for every test */

static int set_up(void **state)
{
    (void)state;
    kw_error err = {0};
    folder = fs_temp_folder("test-fs", &err);
    return folder ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    bool gone = !fs_is_folder(folder);
    free(folder);
    return gone ? 0 : -1;
}

static void assert_holds(const char *path, const char *text)
{
    strb s = STRB_INIT;
    assert_int_equal(fs_read(path, 0, &s, NULL), KW_OK);
    assert_string_equal(strb_text(&s), text);
    strb_clear(&s);
}

static size_t entries(const char *path)
{
    char **names;
    size_t n;
    assert_int_equal(fs_list(path, NULL, &names, &n, NULL), KW_OK);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return n;
}

static void writes_replace_whole(void **state)
{
    (void)state;
    char *path = fs_join(folder, "a");
    assert_int_equal(fs_write(path, "long old text", 13, NULL), KW_OK);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(fs_write(path, "new", 3, NULL), KW_OK);
    assert_holds(path, "new");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(entries(folder), 1); /* no temporary file stays */
    assert_int_equal(fs_write(path, NULL, 0, NULL), KW_OK);
    assert_holds(path, "");
    free(path);
}

static void failed_write_leaves_all_as_it_was(void **state)
{
    (void)state;
    kw_error err = {0};
    char *path = fs_join(folder, "absent/a");
    assert_int_equal(fs_write(path, "x", 1, &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "absent/a: cannot write: No such file or directory"));
    free(path);
    assert_int_equal(fs_write(folder, "x", 1, &err), KW_ENVIRONMENT);
    assert_int_equal(entries(folder), 0);
    assert_int_equal(fs_write("/dev/full", "x", 1, &err), KW_ENVIRONMENT);
    assert_string_equal(err.message, "/dev/full: cannot write: No space left on device");
}

static void links_and_devices_stay(void **state)
{
    (void)state;
    char *target = fs_join(folder, "target"), *name = fs_join(folder, "link");
    assert_int_equal(fs_write(target, "1", 1, NULL), KW_OK);
    assert_int_equal(symlink("target", name), 0);
    assert_int_equal(fs_write(name, "2", 1, NULL), KW_OK);
    assert_holds(target, "2");
    struct stat st;
    assert_int_equal(lstat(name, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(fs_write("/dev/null", "x", 1, NULL), KW_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    free(target);
    free(name);
}

static void reads_append_and_have_a_limit(void **state)
{
    (void)state;
    kw_error err = {0};
    char *path = fs_join(folder, "a");
    assert_int_equal(fs_write(path, "12345", 5, NULL), KW_OK);
    strb s = STRB_INIT;
    strb_add(&s, ">");
    assert_int_equal(fs_read(path, 5, &s, &err), KW_OK);
    assert_string_equal(strb_text(&s), ">12345");
    assert_int_equal(fs_read(path, 4, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "larger than 4 bytes"));
    assert_string_equal(strb_text(&s), ">12345");
    assert_int_equal(fs_read(folder, 0, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "Is a directory"));
    assert_int_equal(fs_read("/absent/file", 0, &s, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "/absent/file: cannot open: No such file or directory");
    strb_clear(&s);
    free(path);
}

static void folders(void **state)
{
    (void)state;
    kw_error err = {0};
    char *deep = fs_join(folder, "a/b//c/"), *file = fs_join(folder, "f"), *below = fs_join(folder, "f/x");
    assert_int_equal(fs_make_folders(deep, &err), KW_OK);
    assert_true(fs_is_folder(deep));
    assert_int_equal(fs_make_folders(deep, &err), KW_OK);
    assert_int_equal(fs_write(file, "", 0, NULL), KW_OK);
    assert_true(fs_is_file(file));
    assert_false(fs_is_file(folder));
    assert_false(fs_is_folder(file));
    assert_int_equal(fs_make_folders(below, &err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "/f: cannot make folder: Not a directory"));
    free(deep);
    free(file);
    free(below);
}

static void listing_is_sorted_and_filtered(void **state)
{
    (void)state;
    static const char *const made[] = {"b.cl", "a.cl", "B.cl", "c.json", ".cl"};
    for (size_t i = 0; i < 5; i++) {
        char *path = fs_join(folder, made[i]);
        assert_int_equal(fs_write(path, "", 0, NULL), KW_OK);
        free(path);
    }
    char **names;
    size_t n;
    assert_int_equal(fs_list(folder, ".cl", &names, &n, NULL), KW_OK);
    static const char *const expected[] = {".cl", "B.cl", "a.cl", "b.cl"};
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(names[i], expected[i]);
        free(names[i]);
    }
    free(names);
    assert_int_equal(entries(folder), 5);
    assert_int_equal(fs_list("/absent", NULL, &names, &n, NULL), KW_BAD_INPUT);
    assert_null(names);
}

static void paths(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *joined;
    } joins[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
    for (size_t i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        char *s = fs_join(joins[i].a, joins[i].b);
        assert_string_equal(s, joins[i].joined);
        free(s);
    }
    static const struct {
        const char *path, *folder, *base;
    } parts[] = {{"a/b.cl", "a", "b.cl"}, {"b.cl", ".", "b.cl"}, {"/b", "/", "b"}, {"/a/b/c", "/a/b", "c"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *s = fs_folder_of(parts[i].path);
        assert_string_equal(s, parts[i].folder);
        assert_string_equal(fs_base_name(parts[i].path), parts[i].base);
        free(s);
    }
    char *self = fs_self_path();
    assert_non_null(self);
    assert_string_equal(fs_base_name(self), "test_fs");
    free(self);
}

static void data_folder_order(void **state)
{
    (void)state;
    char *mine = fs_join(folder, "base");
    assert_int_equal(fs_make_folders(mine, NULL), KW_OK);
    setenv("KERNWRIGHT_DATA", folder, 1);
    char *found = fs_data_folder("base");
    assert_string_equal(found, mine);
    free(found);
    unsetenv("KERNWRIGHT_DATA");
    /* this program lies in BUILD/tests of a checkout: the folders of the checkout are found */
    found = fs_data_folder("base");
    assert_non_null(found);
    assert_string_not_equal(found, mine);
    free(found);
    assert_null(fs_data_folder("no-such-data"));
    free(mine);
}

static void temp_folder_follows_tmpdir(void **state)
{
    (void)state;
    const char *set = getenv("TMPDIR");
    char *before = set ? mem_strdup(set) : NULL;
    setenv("TMPDIR", folder, 1);
    char *made = fs_temp_folder("x", NULL);
    assert_int_equal(strncmp(made, folder, strlen(folder)), 0);
    free(made);
    setenv("TMPDIR", "relative", 1);
    assert_string_equal(fs_temp_root(), "/tmp");
    setenv("TMPDIR", "/absent", 1);
    assert_string_equal(fs_temp_root(), "/tmp");
    made = fs_temp_folder("x", NULL);
    assert_int_equal(strncmp(made, "/tmp/x.", 7), 0);
    fs_remove_tree(made);
    free(made);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_replace_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_write_leaves_all_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_and_devices_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_append_and_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listing_is_sorted_and_filtered, set_up, tear_down),
        cmocka_unit_test(paths),
        cmocka_unit_test_setup_teardown(data_folder_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(temp_folder_follows_tmpdir, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
