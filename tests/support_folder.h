/* For tests that write files: a fresh folder for each of them, gone afterwards. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_FOLDER_H
#define KERNWRIGHT_TESTS_SUPPORT_FOLDER_H

extern char *test_folder; /* of the test at hand */

int test_folder_make(void **state);
int test_folder_remove(void **state);
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, test_folder_make, test_folder_remove)

#endif
