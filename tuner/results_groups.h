/* What the rows of a store amount to: per identity (all but the source) the variants measured, pooled, and which of
 * them may be named. Results text and dispatch headers are both made from this, so they agree. */
#ifndef KERNWRIGHT_TUNER_RESULTS_GROUPS_H
#define KERNWRIGHT_TUNER_RESULTS_GROUPS_H

#include "base/error.h"
#include "tuner/ledger.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the time of an entry comes from. */
typedef struct group_source {
    measurement newest;  /* of the rows behind it, without samples and detail; time: pooled */
    char first_date[32]; /* of those rows; "" if none has a date */
    size_t n_rows;       /* how many; an imported pooled line counts as what it pooled */
    char **lines;        /* those rows as results text with samples, without line break; only when asked for */
    size_t n_lines, lines_capacity;
} group_source;

/* One task version, types, scalars, device, API, mode and shape. Only rows of the latest timing version are in it, and
 * none that are stale: where a host measured this identity with several drivers, only those of the driver it used last.
 * */
typedef struct results_group {
    char *task, *task_hash, *types, *shape, *scalars, *device_key, *api, *mode;
    int timing_version;
    ledger ledger;         /* without the single samples */
    group_source *sources; /* one per ledger entry; zeros for an entry without a time */
} results_group;

/* A measurement that is left out, and why: it stays in the store and in the text. */
typedef enum rejection_reason {
    REJECTED_WEIGHT,  /* of its contributor: 0 */
    REJECTED_OUTLIER, /* too far from what others measured */
    REJECTED_COMPANY  /* most of what the contributor measured there, and others too, are outliers */
} rejection_reason;
const char *rejection_name(rejection_reason r); /* "weight", "outlier", "company" */

typedef struct rejection {
    measurement m; /* without samples and detail; owned */
    rejection_reason reason;
    double ns; /* what the others measured; 0: not known */
} rejection;

typedef struct results_groups {
    results_group *items; /* sorted by the members above, shape last */
    size_t n, capacity;
    rejection *rejections; /* in the same order */
    size_t n_rejections, rejections_capacity;
    struct intern_pool *texts; /* of groups, their entries and sources; those of rejections are their own */
} results_groups;

/* Where three contributors or more measured, outliers among them are left out (results_trust.h), and all times of a
 * contributor on a device (in all else the same, with one driver) if more than half of those that could be judged are
 * outliers, and at least three. That a variant is wrong is believed of anybody whose weight is not 0.
 *
 * An entry is `ok` only if no row that counts says that the variant computes wrong results anywhere on the device. One
 * that was verified on every edge shape for some shape of the device is VERIFIED_GENERAL for all. */
kw_code results_groups_load(store *s, const store_query *q, bool with_lines, results_groups *out, kw_error *err);
void results_groups_clear(results_groups *g);

/* The same in everything but the shape? */
bool results_same_context(const results_group *a, const results_group *b);

/* The lines of results text; docs/results.md. Each appends to `out`, without line break. */
void results_row_print(const measurement *m, bool with_samples, strb *out);
/* The times of an entry, pooled, with the provenance of the newest row behind them. */
void results_pooled_print(const group_source *source, strb *out);

#endif
