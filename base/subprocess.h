/* Runs another program to its end: the C compiler, a probe, an external reference.
 *
 * No shell is involved: argv[0] is looked up in $PATH and the arguments arrive as they are. The child leads its own
 * process group, so that on a time-out its children (a compiler's assembler and linker) are ended with it; Ctrl-C on
 * the terminal reaches us only.
 * Every call has its own event loop: no state is shared, and calls from several threads do not meet.
 */
#ifndef KERNWRIGHT_BASE_SUBPROCESS_H
#define KERNWRIGHT_BASE_SUBPROCESS_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct subprocess_spec {
    const char *const *argv;      /* NULL-terminated; argv[0] is the program */
    const char *const *extra_env; /* NULL-terminated "NAME=value" on top of our environment; NULL: none */
    const char *folder;           /* working folder; NULL: ours */
    const char *input;            /* what the child reads on standard input; NULL: nothing (/dev/null) */
    size_t input_length;
    size_t max_output_bytes; /* kept of each of standard output and error, the rest is dropped; 0: 1 MiB */
    int64_t timeout_ms;      /* wall clock; 0: no limit */
} subprocess_spec;

typedef struct subprocess_result {
    int status;          /* exit status; -1 if a signal ended it */
    int signal;          /* that signal; 0 if it exited */
    bool timed_out;      /* its process group was killed at the deadline */
    bool output_cut;     /* standard output or error was longer than max_output_bytes */
    strb output, errors; /* standard output and standard error */
    int64_t wall_ns;
} subprocess_result;

/* KW_OK whenever the program ran and ended, however it ended: look at `result`. KW_ENVIRONMENT if it could not be
 * started (not found, not executable). Always call subprocess_result_clear afterwards. */
kw_code subprocess_run(const subprocess_spec *spec, subprocess_result *result, kw_error *err);

/* "exit status 1", "killed by signal 11 (Segmentation fault)", "did not end within 2000 ms"; caller frees. */
char *subprocess_describe(const subprocess_spec *spec, const subprocess_result *result);

void subprocess_result_clear(subprocess_result *result);

#endif
