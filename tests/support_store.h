/* For tests of the store: what its file says of itself. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_STORE_H
#define KERNWRIGHT_TESTS_SUPPORT_STORE_H

/* The journal mode of the database: "wal", "delete". Fails the test if it cannot be asked. */
void store_journal_of(const char *path, char mode[16]);

#endif
