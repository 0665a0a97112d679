/* The folder of caches: made private, and nothing taken that others could have filled. */
#include "base/cache.h"
#include "base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *top;

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_made_private(void **state)
{
    (void)state;
    char *path = fs_join(top, "new/deep");
    assert_true(cache_make_private(path));
    assert_int_equal(mode_of(path), 0700);
    assert_true(cache_make_private(path)); /* and again */
    free(path);
}

static void test_writable_by_others(void **state)
{
    (void)state;
    static const mode_t refused[] = {0777, 0770, 0702, 0720};
    char *path = fs_join(top, "open");
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(chmod(path, refused[i]), 0);
        assert_false(cache_make_private(path));
    }
    assert_int_equal(chmod(path, 0755), 0);
    assert_true(cache_make_private(path));
    free(path);
}

static void test_links(void **state)
{
    (void)state;
    char *path = fs_join(top, "target"), *own = fs_join(top, "own"), *dangling = fs_join(top, "dangling"),
         *foreign = fs_join(top, "foreign");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, own), 0);
    assert_true(cache_make_private(own));
    assert_int_equal(symlink("/nonexistent/kernwright", dangling), 0);
    assert_false(cache_make_private(dangling));
    assert_int_equal(symlink(path, foreign), 0);
    if (geteuid() == 0) { /* who else can make a link in another's name? */
        assert_int_equal(lchown(foreign, 65534, 65534), 0);
        assert_false(cache_make_private(foreign));
    }
    free(path);
    free(own);
    free(dangling);
    free(foreign);
}

static void test_folder_of_another(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root makes files of another user\n");
        skip();
    }
    char *path = fs_join(top, "theirs");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_false(cache_make_private(path));
    setenv("KERNWRIGHT_CACHE", path, 1);
    assert_null(cache_folder());
    unsetenv("KERNWRIGHT_CACHE");
    free(path);
}

static void test_named_by_the_user(void **state)
{
    (void)state;
    char *path = fs_join(top, "named");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0); /* the group's: as the user says */
    setenv("KERNWRIGHT_CACHE", path, 1);
    char *found = cache_folder();
    assert_string_equal(found, path);
    free(found);
    assert_int_equal(chmod(path, 0777), 0);
    assert_null(cache_folder());
    unsetenv("KERNWRIGHT_CACHE");
    free(path);
}

int main(void)
{
    kw_error err;
    top = fs_temp_folder("kernwright-test-", &err);
    assert_non_null(top);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_private),
        cmocka_unit_test(test_writable_by_others),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_folder_of_another),
        cmocka_unit_test(test_named_by_the_user),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fs_remove_tree(top);
    free(top);
    return failed;
}
