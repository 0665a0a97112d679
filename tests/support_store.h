/* For tests of the store and of results: what its file says of itself, and one with rows of many sorts. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_STORE_H
#define KERNWRIGHT_TESTS_SUPPORT_STORE_H

#include "tuner/store.h"

#define SHAPE_1 "{\"M\":3,\"N\":4}"
#define SHAPE_2 "{\"M\":1024,\"N\":1024}"

/* The journal mode of the database: "wal", "delete". Fails the test if it cannot be asked. */
void store_journal_of(const char *path, char mode[16]);

/* Two shapes with three variants each, some measured twice, one failed, variants stored; on two hosts. */
store *store_of_samples(void);

#endif
