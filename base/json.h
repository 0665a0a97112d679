/* The JSON edge: the only file that includes cJSON is json.c.
 *
 * Reading is strict: one value, nothing but white space after it, no duplicate
 * keys, valid UTF-8, nesting of at most 100. Errors say "FILE:LINE:COLUMN: what".
 * Integers whose magnitude is over 2^53 travel as strings of digits; json_get_int
 * accepts both. Unknown keys are the caller's business (json_check_keys).
 */
#ifndef KERNWRIGHT_BASE_JSON_H
#define KERNWRIGHT_BASE_JSON_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cJSON json; /* opaque outside json.c */

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

/* Parses `length` bytes. `file` and `first_line`, `first_column` (1-based position of text[0] in that
 * file) only serve messages. Returns NULL and sets `err` (KW_BAD_INPUT) on failure. Caller frees with json_free. */
json *json_parse(const char *text, size_t length, const char *file, int first_line, int first_column, kw_error *err);
json *json_parse_file(const char *path, kw_error *err);
/* Like json_parse but stops after the first value; *used gets the number of bytes consumed. */
json *json_parse_prefix(const char *text, size_t length, size_t *used, const char *file, int first_line,
                        int first_column, kw_error *err);
void json_free(json *j); /* NULL is fine */
json *json_clone(const json *j);
bool json_equal(const json *a, const json *b);

json_kind json_kind_of(const json *j); /* NULL counts as JSON_NULL */
const char *json_kind_name(json_kind kind);

/* Members and items, in the order of the text. Borrowed from the parent. */
const json *json_get(const json *object, const char *key); /* NULL if absent or not an object */
size_t json_count(const json *array_or_object);
const json *json_at(const json *array_or_object, size_t i); /* walks from the first: for long ones use the two below */
const json *json_first(const json *array_or_object);        /* NULL if empty or not a container */
const json *json_next(const json *item);                    /* NULL after the last */
const char *json_key(const json *member);                   /* of an object's member */

/* Plain reads of a value of known kind; no errors: wrong kinds give NULL, 0, false. */
const char *json_text(const json *j);
double json_number(const json *j);
bool json_truth(const json *j);
/* true if j is an integer in int64 range (a number without fraction, or a string of digits over 2^53). */
bool json_int(const json *j, int64_t *out);

/* Checked reads. `where` prefixes messages ("task.json: dims.M"). A missing key is an error for the
 * get_ forms and gives `fallback` for the opt_ forms; a present key of another kind is an error for both. */
kw_code json_get_int(const json *object, const char *key, const char *where, int64_t *out, kw_error *err);
kw_code json_get_string(const json *object, const char *key, const char *where, const char **out, kw_error *err);
kw_code json_opt_int(const json *object, const char *key, const char *where, int64_t fallback, int64_t *out,
                     kw_error *err);
kw_code json_opt_bool(const json *object, const char *key, const char *where, bool fallback, bool *out, kw_error *err);
kw_code json_opt_string(const json *object, const char *key, const char *where, const char *fallback, const char **out,
                        kw_error *err);
/* Refuses keys that are not in the NULL-terminated list and suggests the nearest known one. */
kw_code json_check_keys(const json *object, const char *const *known, const char *where, kw_error *err);

/* Building. Adding to a container passes ownership to it; a NULL value is ignored. */
json *json_new_object(void);
json *json_new_array(void);
json *json_new_string(const char *text);
json *json_new_int(int64_t value);   /* a string of digits over 2^53 */
json *json_new_number(double value); /* NaN and infinities become null */
json *json_new_bool(bool value);
json *json_new_null(void);
void json_set(json *object, const char *key, json *value); /* replaces an existing member */
void json_add(json *object, const char *key, json *value); /* of a key that is not there: does not look for it */
void json_set_string(json *object, const char *key, const char *text); /* NULL text: nothing is added */
void json_set_int(json *object, const char *key, int64_t value);
void json_set_number(json *object, const char *key, double value);
void json_set_bool(json *object, const char *key, bool value);
void json_append(json *array, json *value);

/* Printing: one line without spaces, members in order of insertion; numbers in the shortest form that reads
 * back the same. `pretty` gives indented text for people. Same value, same bytes. */
void json_print(const json *j, strb *out);
void json_print_pretty(const json *j, strb *out);

/* The nearest name by edit distance, for "did you mean". NULL when nothing is near. */
const char *json_nearest(const char *name, const char *const *candidates, size_t n);

#endif
