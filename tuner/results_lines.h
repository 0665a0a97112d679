/* Results text as lines: reading them from a file, and keeping a set of them. For results*.c only. */
#ifndef KERNWRIGHT_TUNER_RESULTS_LINES_H
#define KERNWRIGHT_TUNER_RESULTS_LINES_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

#define RESULTS_SCHEMA 1
#define RESULTS_MAX_LINE ((size_t)64 << 20) /* bytes */

/* ---- reading ---- */

typedef struct line_reader line_reader;

/* Opens the file ("-": standard input), compressed by gzip or not, and reads the header line. Errors (KW_BAD_INPUT) say
 * FILE:LINE: what. */
kw_code line_reader_open(const char *path, line_reader **out, kw_error *err);
/* The same of an open file, from where it stands; takes the descriptor. */
kw_code line_reader_open_fd(int fd, const char *name, line_reader **out, kw_error *err);
/* The next line that is not empty, without line break: valid UTF-8, at most RESULTS_MAX_LINE bytes, not a conflict
 * marker of a version control system. Header lines in between (files joined by cat) are checked and skipped. *line is
 * NULL at the end; it may be changed, and is valid until the next call. */
kw_code line_reader_next(line_reader *r, char **line, size_t *length, kw_error *err);
int line_reader_number(const line_reader *r);       /* of the line read last, 1-based */
const char *line_reader_name(const line_reader *r); /* for messages */
void line_reader_close(line_reader *r);             /* NULL is fine */

extern const char results_header_line[]; /* of RESULTS_SCHEMA, without line break */

/* ---- a set of lines ---- */

typedef struct line_set {
    char **lines;
    size_t n, capacity;
} line_set;

void line_set_add(line_set *s, char *line); /* takes it */
/* Header line, then the different lines in the order of their bytes. */
void line_set_print(line_set *s, strb *out);
void line_set_clear(line_set *s);

#endif
