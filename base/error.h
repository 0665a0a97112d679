/* Error codes and the error object that every fallible function fills.
 *
 * A function that can fail returns a kw_code and takes a `kw_error *` as its
 * last parameter; on failure it sets a one-line message that says what went
 * wrong, where, and what to do. `kw_error *` may be NULL when the caller does
 * not want the text. The codes are also the exit codes of the program.
 */
#ifndef KERNWRIGHT_BASE_ERROR_H
#define KERNWRIGHT_BASE_ERROR_H

typedef enum kw_code {
    KW_OK = 0,
    KW_FAILED = 1,       /* the work failed: nothing valid found, a check did not hold */
    KW_BAD_INPUT = 2,    /* bad usage, bad file, bad value */
    KW_ENVIRONMENT = 3,  /* no device, no compiler, no memory, unwritable path */
    KW_INTERRUPTED = 130 /* stopped by a signal; everything measured so far is kept */
} kw_code;

typedef struct kw_error {
    kw_code code;
    char message[2048]; /* one line, no trailing newline; "" while code is KW_OK */
} kw_error;

#define KW_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))

/* Sets code and message and returns `code`, so that a failing line is one line:
 *     return kw_error_set(err, KW_BAD_INPUT, "%s: no such file", path);
 * Long messages are cut, control characters other than tab are replaced by '?'. */
kw_code kw_error_set(kw_error *err, kw_code code, const char *format, ...) KW_PRINTF(3, 4);

/* Puts "text: " in front of the message that is already there; returns err->code. */
kw_code kw_error_prefix(kw_error *err, const char *format, ...) KW_PRINTF(2, 3);

void kw_error_clear(kw_error *err);

#endif
