/* Strict scan of JSON text, before cJSON sees it: cJSON forgives too much and cannot say where a fault is.
 * For json.c only. */
#ifndef KERNWRIGHT_BASE_JSON_SCAN_H
#define KERNWRIGHT_BASE_JSON_SCAN_H

#include "base/error.h"

#include <stddef.h>

#define JSON_MAX_DEPTH 100
#define JSON_MAX_NUMBER 60 /* characters; cJSON copies a number into 64 bytes */

/* Checks one value with white space before it. *used gets the offset behind the value and the white space after
 * it. On failure sets a message "FILE:LINE:COLUMN: what"; columns count characters. */
kw_code json_scan(const char *text, size_t length, size_t *used, const char *file, int first_line, int first_column,
                  kw_error *err);

/* Sets the message for a fault at text[offset] and returns KW_BAD_INPUT. */
kw_code json_scan_fault(const char *text, size_t offset, const char *file, int first_line, int first_column,
                        kw_error *err, const char *what);

#endif
