#include "tests/support_folder.h"

#include "base/fs.h"

#include <stdlib.h>

char *test_folder;

int test_folder_make(void **state)
{
    (void)state;
    test_folder = fs_temp_folder("kwtest", NULL);
    return test_folder ? 0 : -1;
}

int test_folder_remove(void **state)
{
    (void)state;
    fs_remove_tree(test_folder);
    free(test_folder);
    test_folder = NULL;
    return 0;
}
