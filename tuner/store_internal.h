/* Shared by store.c and results.c only. */
#ifndef KERNWRIGHT_TUNER_STORE_INTERNAL_H
#define KERNWRIGHT_TUNER_STORE_INTERNAL_H

#include "tuner/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
};

/* Sets err from the database's last error; `doing` says what was attempted. */
kw_code store_error(store *s, const char *doing, kw_error *err);
kw_code store_run(store *s, const char *sql, const char *doing, kw_error *err);
/* Inserts; with `once` only if no row has the same identity and provenance. *added tells. */
kw_code store_insert(store *s, const measurement *m, bool once, bool *added, kw_error *err);
kw_code store_insert_variant(store *s, const char *task_hash, const char *source_hash, const char *json_text, kw_error *err);
/* All variants of a task (NULL: all tasks), in order of hash. */
kw_code store_each_variant(store *s, const char *task_hash,
                           bool (*each)(const char *task_hash, const char *source_hash, const char *json_text, void *cookie),
                           void *cookie, kw_error *err);

#endif
