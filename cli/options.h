/* Command-line options as a table: one row each, which also makes the help text. */
#ifndef KERNWRIGHT_CLI_OPTIONS_H
#define KERNWRIGHT_CLI_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct option_list {
    const char *items[64];
    size_t n;
} option_list;

typedef enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_INT,
    OPTION_COUNT, /* an integer from 0 up */
    OPTION_LIMIT, /* an integer from 1 up */
    OPTION_TOTAL, /* the same, of things that come in millions */
    OPTION_LIST
} option_kind;

typedef struct option_row {
    const char *name; /* "--device"; "-o" is allowed too */
    option_kind kind;
    void *target;      /* bool, const char *, int64_t, option_list */
    const char *value; /* "SPEC": for the help; NULL for flags */
    const char *help;
} option_row;

typedef struct option_set {
    const char *command;  /* "tune" */
    const char *synopsis; /* "TASK [options]" */
    const char *about;    /* a paragraph for --help */
    const option_row *rows;
    size_t n_rows;
} option_set;

/* Parses argv[1..]. Accepts --name VALUE and --name=VALUE; "--" ends options. Positional arguments are gathered in
 * order. --help prints the help on standard output and sets *helped. Unknown options suggest the nearest. */
kw_code options_parse(const option_set *set, int argc, char **argv, option_list *positional, bool *helped,
                      kw_error *err);

#endif
