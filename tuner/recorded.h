/* Recorded spaces: measurements of (all or some) configurations of a kernel, read from the files of several tuners.
 *
 * The constraints are not in these files: what was recorded is what is valid. A configuration that compiled or ran
 * into an error is in the space, as a failure; one that a constraint rejected is not.
 * docs/formats.md says what is read from which format.
 */
#ifndef KERNWRIGHT_TUNER_RECORDED_H
#define KERNWRIGHT_TUNER_RECORDED_H

#include "base/error.h"
#include "tuner/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct recorded {
    /* Of the file without folder and endings; with what tells its spaces apart if it has several. Files of one name in
     * a list have the name of their folder before it. */
    char *name;
    char *plain;           /* the same without the folder */
    char *file;            /* as it was named */
    const char *format;    /* "Kernel Tuner cache", "T4 results", "KTT output", "CLBlast tuner output", "results" */
    char *device, *kernel; /* as recorded; "" where they are not */
    space_param *params;   /* their values in the order of the file, or ascending where the file does not list them */
    size_t n_params;
    space *space;
    size_t n;                            /* space_count */
    double *times_ns;                    /* by rank; NAN: failed */
    double best_ns, worst_ns, median_ns; /* of the valid times */
    size_t n_ok;
    size_t n_failed;   /* all failures */
    size_t n_no_time;  /* of these, the ones whose time is no time: zero, negative, not a number, null */
    size_t n_invalid;  /* left out: rejected by a constraint when it was recorded */
    size_t n_repeated; /* configurations that came more than once; docs/formats.md says what counts */
    char *notes;       /* what was assumed or left out, one line; "" if nothing */
    arena *memory;     /* of names and values */
} recorded;

typedef struct recorded_options {
    double unit_ns; /* nanoseconds of the unit that times are in, whatever the file says; 0: what the file says */
} recorded_options;

/* "ns", "us", "ms", "s". */
kw_code recorded_unit(const char *name, double *ns, kw_error *err);

typedef struct recorded_list {
    recorded **items;
    size_t n, capacity;
} recorded_list;

/* Adds the recorded spaces of a file, plain or gzipped, to the list: results text has one for each task, types, shape,
 * scalars, device, mode, timing version and template, the other formats have one. What is in the file tells the format.
 * KW_BAD_INPUT names the file, and the line or entry: unreadable, cut off, another kind of file, no valid time. */
kw_code recorded_read(const char *path, const recorded_options *o, recorded_list *list, kw_error *err);
/* The same from memory. `name` stands for the file's in messages. */
kw_code recorded_parse(const char *text, size_t length, const char *name, const recorded_options *o,
                       recorded_list *list, kw_error *err);
void recorded_list_clear(recorded_list *list);
void recorded_free(recorded *r);

/* The recorded time, NAN for a failure. false: not recorded. */
bool recorded_time(const recorded *r, const uint32_t *config, double *time_ns);

#endif
