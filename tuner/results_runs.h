/* Sorted runs in temporary files without a name: the first half of an external merge sort (Knuth, TAOCP 3, 5.4). For
 * results_merge.c only. */
#ifndef KERNWRIGHT_TUNER_RESULTS_RUNS_H
#define KERNWRIGHT_TUNER_RESULTS_RUNS_H

#include "base/error.h"
#include "tuner/results_lines.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- one run: header line, then lines; the caller sees to their order ---- */

typedef struct run_writer run_writer;
/* In $TMPDIR or /tmp; KW_ENVIRONMENT if that cannot be written. */
kw_code run_writer_open(run_writer **out, kw_error *err);
void run_writer_add(run_writer *w, const char *line, size_t length); /* an error is kept until the end */
/* Frees the writer. *fd: the run, to be read from its beginning; -1 if it is not kept, or on failure. */
kw_code run_writer_close(run_writer *w, bool keep, int *fd, kw_error *err);
/* A reader of the run from its beginning; one at a time. */
kw_code run_open(int fd, line_reader **out, kw_error *err);
void run_close(int fd); /* its bytes are gone; -1 is fine */

/* ---- lines in any order made runs ---- */

typedef struct run_maker run_maker;
run_maker *run_maker_new(size_t run_bytes); /* bytes of lines that are sorted at a time */
kw_code run_maker_add(run_maker *r, const char *line, size_t length, kw_error *err);
/* After the last line: one run after the other, -1 when there are no more. The caller's from then on. */
kw_code run_maker_take(run_maker *r, int *fd, kw_error *err);
void run_maker_free(run_maker *r);

#endif
