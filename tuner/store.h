/* The results store: SQLite, one file. Everything measured is in it as soon as it is known. */
#ifndef KERNWRIGHT_TUNER_STORE_H
#define KERNWRIGHT_TUNER_STORE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "codegen/task.h"
#include "codegen/variant.h"
#include "tuner/outcome.h"
#include "tuner/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_SCHEMA 3 /* 2: limit_ns, limited_by, noise; 3: contributor */

typedef struct store store;

/* Opens or creates. Uses WAL, or a rollback journal where WAL cannot work (said at debug level). Errors, each one line:
 * newer schema (KW_BAD_INPUT: upgrade), not a database or damaged (KW_BAD_INPUT: names the file, says it was left as it
 * is), folder not writable (KW_ENVIRONMENT), locked by another program for over 10 s (KW_ENVIRONMENT). path NULL:
 * $KERNWRIGHT_STORE, else "kernwright.db"; ":memory:" and SQLite's "file:" names work too. read_only: a store that is
 * absent or empty is KW_BAD_INPUT; nothing is written, not even beside the file where that is impossible. */
kw_code store_open(const char *path, bool read_only, store **out, kw_error *err);
const char *store_name(const char *path); /* what it opens */
bool store_is_there(const char *path);    /* is there something to read? Of "file:" names it is left to SQLite */
void store_close(store *s);
const char *store_path(const store *s);

typedef enum verified {
    VERIFIED_NOT,    /* no reference, or failed */
    VERIFIED_EXACT,  /* passed its hidden shapes and its target */
    VERIFIED_GENERAL /* every edge shape that satisfies requires and 20 random ones as well */
} verified;
const char *verified_name(verified v); /* "no", "exact", "general" */
bool verified_from_name(const char *name, verified *out);

/* One measurement. Strings are owned by the row when it comes from the store (measurement_clear), borrowed when it is
 * given to store_add. */
typedef struct measurement {
    /* identity */
    char *task, *task_hash;
    char *types;            /* "T=f32,ACC=f32" */
    char *shape;            /* canonical JSON {"M":..,"N":..,"K":..} */
    char *scalars;          /* canonical JSON {"alpha":1,"beta":0} */
    char *device_key, *api; /* api: "opencl" */
    char *mode;             /* "cold", "warm" */
    int timing_version;
    char *source_hash;
    /* fields */
    char *template_name;
    char *config; /* canonical JSON in parameter order */
    outcome outcome;
    stage stage;
    char *detail; /* NULL if none; cut at 64 KiB */
    verified verified;
    char *method; /* "events", "batch"; NULL when not timed */
    double *samples_ns;
    size_t n_samples;
    stats_summary time; /* of the samples */
    double compile_ms, verify_ms, time_ms;
    int64_t registers, spill_bytes, local_bytes;
    double worst_error;
    /* By the device's figures when it was measured, if they were known (tuner/probe.h); else 0, NULL, 0. */
    double limit_ns;  /* time of a run that reaches the device's limit */
    char *limited_by; /* "fma", "memory", "cache", "launch" */
    double noise;     /* relative difference that two timings of the same kernel may show */
    /* provenance */
    char *device_name, *driver, *host, *run, *date, *tool_version;
    char *contributor; /* who vouches for it; NULL: not said */
    char *extra;       /* unknown fields of imported lines, as JSON; NULL if none */
} measurement;
void measurement_clear(measurement *m);
void measurement_drop_weight(measurement *m); /* samples and detail, not the summary of times */

/* Adds a row in its own transaction: the end of this process, whatever its cause, cannot lose it once this returns. (A
 * power cut may lose the latest rows, nothing else.) detail is cut at 64 KiB and made valid UTF-8. */
kw_code store_add(store *s, const measurement *m, kw_error *err);
/* Keeps the self-contained variant under its source hash. One that is there gives way: the hash says that the text is
 * the same, but comments, requires and the fallback mark may have changed since. */
kw_code store_add_variant(store *s, const variant *v, kw_error *err);
/* NULL and KW_OK if there is none. Caller frees with variant_free. */
kw_code store_variant(store *s, const task *t, const char *source_hash, variant **out, kw_error *err);
/* Raises the verified level of all rows of this source hash, task hash and device. */
kw_code store_set_verified(store *s, const char *task_hash, const char *device_key, const char *source_hash, verified v,
                           kw_error *err);

/* Removes all rows of this outcome, device and driver: they will be measured again. */
kw_code store_forget(store *s, outcome o, const char *device_key, const char *driver, kw_error *err);

/* From now on what is made of this store (winners, headers) weighs contributors as the file says: results_trust.h. */
kw_code store_use_trust(store *s, const char *path, kw_error *err);

/* What to select; NULL members match everything. */
typedef struct store_query {
    const char *task, *task_hash, *types, *shape, *scalars, *device_key, *api, *mode, *driver;
    const char *template_name, *source_hash;
    int timing_version, latest_timing; /* this one; up to this one. 0: any */
    bool only_ok, only_failed;
} store_query;
/* Rows in a fixed order: task, task_hash, types, scalars, device_key, api, mode, shape, timing_version, source_hash,
 * then time of insertion. `each` returns false to stop. The row is borrowed. */
kw_code store_each(store *s, const store_query *q, bool (*each)(const measurement *m, void *cookie), void *cookie,
                   kw_error *err);
/* Plain facts that are not measurements (probe results, ...): small key-value table. */
kw_code store_set_fact(store *s, const char *key, const char *json_text, kw_error *err);
/* *json_text NULL if absent; caller frees. */
kw_code store_fact(store *s, const char *key, char **json_text, kw_error *err);

/* ---- results as text: docs/results.md ---- */

/* First line {"kernwright":"results","schema":1}, then {"variant":..} and {"measurement":..} lines sorted by bytes.
 * all false: winners, and what their tables need; true: every row. samples: with the samples. */
kw_code results_export(store *s, const char *task, bool all, bool samples, strb *out, kw_error *err);
/* All or nothing; the message names file and line of a bad line. */
kw_code results_import(store *s, const char *path, size_t *n_added, kw_error *err);
/* A temporary store that holds what the file holds of a task (NULL: of all), and goes by its name in messages. Of lines
 * of other tasks only the beginning is looked at. On failure too the caller closes *out. */
kw_code results_open(const char *path, const char *task_name, store **out, kw_error *err);

#endif
