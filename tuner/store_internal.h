/* Shared by store*.c, results*.c and dispatch*.c only. */
#ifndef KERNWRIGHT_TUNER_STORE_INTERNAL_H
#define KERNWRIGHT_TUNER_STORE_INTERNAL_H

#include "tuner/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    int schema;          /* of the file: older than ours only where it was opened for reading */
    struct trust *trust; /* of store_use_trust; NULL: everybody alike */
    /* Statements that are used often; made at the first use. */
    sqlite3_stmt *insert, *insert_once, *complete, *insert_variant, *replace_variant;
};

/* A private store without a name: in memory as long as it is small, then in a temporary file. No change of it can be
 * taken back. */
kw_code store_open_temporary(store **out, kw_error *err);

/* Sets err from the database's last error; `doing` says what was attempted. */
kw_code store_error(store *s, const char *doing, kw_error *err);
kw_code store_run(store *s, const char *sql, const char *doing, kw_error *err);

/* ---- columns: what a measurement consists of ----
 * One table serves the database and the text of results: same names, same order. "extra" is apart. */

typedef enum store_kind {
    STORE_TEXT,     /* char *; NULL: absent */
    STORE_JSON,     /* char *, the text of an object */
    STORE_VERSION,  /* int */
    STORE_INT,      /* int64_t */
    STORE_REAL,     /* double; one that is not finite is kept as infinity */
    STORE_POSITIVE, /* double; absent unless it is greater than 0 */
    STORE_COUNT,    /* size_t: number of samples behind the times; 0: absent */
    STORE_TIME,     /* double; absent when the count is 0 */
    STORE_SAMPLES,  /* samples_ns and n_samples */
    STORE_OUTCOME,
    STORE_STAGE,
    STORE_VERIFIED
} store_kind;

typedef struct store_column {
    const char *name;
    store_kind kind;
    size_t offset; /* in measurement */
    bool required; /* never absent */
    int schema;    /* the first one with this column; 0: all */
} store_column;

#define STORE_COLUMNS 39
extern const store_column store_columns[STORE_COLUMNS];

/* ---- rows ---- */

/* Inserts. With `once`, a row that is there already (the same in everything but samples and verified level) is only
 * completed: it gets the samples it lacks and the higher level. *added (may be NULL) tells whether a row was made. */
kw_code store_insert(store *s, const measurement *m, bool once, bool *added, kw_error *err);
/* Like store_each, but the row may be taken: copy it and clear the original with memset. */
kw_code store_each_row(store *s, const store_query *q, bool (*each)(measurement *m, void *cookie), void *cookie,
                       kw_error *err);
/* Did at least so many people measure: contributors, or hosts where none is named? */
kw_code store_has_contributors(store *s, int at_least, bool *yes, kw_error *err);
/* Names of the tasks that have measurements, sorted, joined by ", "; appended to `out`. */
kw_code store_task_names(store *s, strb *out, kw_error *err);

/* KW_BAD_INPUT with the column and the row if the row that stands at q cannot have been written by us: of the columns
 * of store_columns, extra and rowid; or of those of the variant table in their order and rowid. */
kw_code store_check_row(const store *s, sqlite3_stmt *q, kw_error *err);
kw_code store_check_variant(const store *s, sqlite3_stmt *q, bool with_text, kw_error *err);

/* ---- variants ---- */

typedef struct store_variant_row {
    const char *task, *task_hash, *source_hash, *language;
    bool is_fallback;
    const char *json_text; /* NULL where it was not asked for */
} store_variant_row;

/* Keeps it unless there is one of that task hash and source hash. */
kw_code store_insert_variant(store *s, const store_variant_row *v, bool *added, kw_error *err);
/* Variants of a task (both NULL: all), in order of task hash and source hash. `each` returns false to stop. */
kw_code store_each_variant(store *s, const char *task_name, const char *task_hash, bool with_text,
                           bool (*each)(const store_variant_row *v, void *cookie), void *cookie, kw_error *err);
/* The variant of a row with its text, which must hash to the row's source hash. Caller frees with variant_free. */
kw_code store_read_variant(const store *s, const task *t, const store_variant_row *v, variant **out, kw_error *err);
/* Their texts only, for n source hashes of one task hash, in the order given; `text` is NULL where there is none. */
kw_code store_variant_texts(store *s, const char *task_hash, const char *const *source_hashes, size_t n,
                            bool (*each)(size_t i, const store_variant_row *v, void *cookie), void *cookie,
                            kw_error *err);

#endif
