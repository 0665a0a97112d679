/* The short way to read a line of results: as this program writes them, in place, without a tree. For results*.c. */
#ifndef KERNWRIGHT_TUNER_RESULTS_SCAN_H
#define KERNWRIGHT_TUNER_RESULTS_SCAN_H

#include "base/strb.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for what does not lie in the line; zeros at first. */
typedef struct scan_room {
    double *samples;
    size_t capacity;
    strb extra;
} scan_room;

void scan_room_clear(scan_room *r);

/* Reads {"measurement":{..}} if it is written as results_row_print or results_pooled_print write it: members in the
 * order of the table, no white space or escapes, in objects only integers, words and plain strings; and if it is right.
 * true: `m` is what results_row_read makes of it; its texts lie in `line`, where NULs were put, and in `r`, until the
 * next call. false: nothing was changed; read it the long way, which also says what is wrong. */
bool results_row_scan(char *line, size_t length, scan_room *r, measurement *m);

/* Does the line belong to a task of another name, as far as its first bytes tell? Then the rest is not looked at. */
bool results_of_other_task(const char *line, size_t length, const char *task_name);

#endif
