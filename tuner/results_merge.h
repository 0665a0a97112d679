/* Results files of many contributors made one: the union of their lines, by bytes, in an order that depends on nothing
 * but the lines. So merging is commutative, associative and idempotent, and nobody's line is in conflict with another:
 * a grow-only set (Shapiro, Preguica, Baquero, Zawirski: Conflict-free replicated data types, SSS 2011). */
#ifndef KERNWRIGHT_TUNER_RESULTS_MERGE_H
#define KERNWRIGHT_TUNER_RESULTS_MERGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RESULTS_MERGE_MEMORY ((size_t)256 << 20) /* bytes of lines sorted at a time */
#define RESULTS_MERGE_FILES 128                  /* open at a time */

typedef struct results_merge_options {
    const char *const *paths; /* "-": standard input; compressed by gzip or not, in any order of lines */
    size_t n;
    /* NULL: none. Else the version that the files have in common: a line of it that one of the files lacks was removed
     * on purpose, and stays away (a three-way merge of sets). May be an empty file. */
    const char *base;
    const char *out;    /* "-": standard output; may be one of the files */
    size_t run_bytes;   /* 0: RESULTS_MERGE_MEMORY */
    bool (*stop)(void); /* NULL: never; asked now and then */
} results_merge_options;

typedef struct results_merge_report {
    size_t lines;   /* written */
    size_t common;  /* of them in more than one file; of over RESULTS_MERGE_FILES files not all are noticed */
    size_t removed; /* of the base, since a file lacks them */
    size_t sorted;  /* files that were not in order */
} results_merge_report;

/* Lines are not read as JSON: what another version wrote is kept as it is. Each must begin with { and end with }, so
 * that one that was cut off is noticed (KW_BAD_INPUT: FILE:LINE).
 *
 * Files in order are read once and never held (twice where what was written cannot be taken back: standard output);
 * memory is one line and one buffer of each. What turns out not to be in order, and what cannot be read twice, is
 * sorted in pieces of run_bytes by way of files in $TMPDIR or /tmp (KW_ENVIRONMENT if they cannot be written).
 * KW_INTERRUPTED: nothing was written. */
kw_code results_merge(const results_merge_options *o, results_merge_report *report, kw_error *err);

#endif
