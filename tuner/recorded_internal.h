/* What the readers of recorded spaces share. For recorded*.c only. */
#ifndef KERNWRIGHT_TUNER_RECORDED_INTERNAL_H
#define KERNWRIGHT_TUNER_RECORDED_INTERNAL_H

#include "base/json.h"
#include "base/mem.h"
#include "base/strb.h"
#include "tuner/recorded.h"

/* ---- the text of a file ---- */

/* A file's bytes, unpacked if they are gzipped. KW_BAD_INPUT: unreadable, cut off, damaged, or more than 1 GiB. */
kw_code recorded_load(const char *path, strb *out, kw_error *err);
/* Unpacks in place if `text` is gzipped. */
kw_code recorded_unpack(strb *text, const char *name, kw_error *err);

typedef enum recorded_format {
    RECORDED_UNKNOWN,
    RECORDED_KERNEL_TUNER,
    RECORDED_T4,
    RECORDED_KTT,
    RECORDED_CLBLAST,
    RECORDED_RESULTS
} recorded_format;

/* By the members of the outermost object. *other says what an unknown one seems to be. */
recorded_format recorded_format_of(const char *text, size_t length, const char **other);

/* Writes 0 over NaN and Infinity, which Python writes for numbers that JSON does not have (as times they mean the
 * same: none). Line and column of everything else stay. */
void recorded_mend_numbers(char *text, size_t length);

/* ---- a space under construction ---- */

typedef enum recorded_result {
    RESULT_TIME, /* time_ns; a failure if it is no positive number */
    RESULT_FAILED,
    RESULT_INVALID /* left out */
} recorded_result;

typedef struct record_param {
    char *name;
    value *values;
    size_t n_values, capacity;
} record_param;

typedef struct recorder {
    const char *file; /* for messages */
    recorded *r;      /* under construction: device, kernel, format */
    bool pool;        /* the times of a configuration that comes again are of one method: their mean counts */
    bool listed;      /* the file lists the parameters and their values */
    record_param *params;
    size_t n_params, params_capacity;
    uint32_t *rows; /* indices in values */
    size_t n_rows, rows_capacity;
    double *times;
    size_t times_capacity;
    size_t n_seen; /* of the row at hand */
    bool *seen;
    strb notes;
} recorder;

void recorder_start(recorder *b, const char *file, const char *format);
void recorder_note(recorder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* KW_BAD_INPUT: the name is there already. */
kw_code recorder_add_param(recorder *b, const char *name, kw_error *err);
void recorder_add_value(recorder *b, size_t param, value v); /* copies; a value that is there already is left out */

/* One row: begin, set each parameter, end. `where` prefixes messages. Where the file does not list parameters, those of
 * the first row are the parameters. */
void recorder_begin(recorder *b);
kw_code recorder_set(recorder *b, const char *name, const json *v, const char *where, kw_error *err);
kw_code recorder_end(recorder *b, recorded_result result, double time_ns, const char *where, kw_error *err);

/* Makes the space and adds it to the list, or fails: no row, no valid time. Clears b in both cases. */
kw_code recorder_finish(recorder *b, recorded_list *list, kw_error *err);
void recorder_clear(recorder *b);

/* A time in `unit_ns`: a number; text and null are failures, "InvalidConfig" is invalid. */
recorded_result recorded_result_of(const json *time, double unit_ns, double *time_ns);
/* Nanoseconds of a unit as files spell it ("ms", "miliseconds", "Microseconds"); 0 if unknown. */
double recorded_unit_of(const char *text);

/* ---- one file per format ---- */

typedef struct recorded_source {
    const char *text;
    size_t length;
    const char *file; /* for messages */
    const recorded_options *options;
} recorded_source;

kw_code recorded_read_kernel_tuner(const recorded_source *s, recorded_list *list, kw_error *err);
kw_code recorded_read_t4(const recorded_source *s, recorded_list *list, kw_error *err);
kw_code recorded_read_ktt(const recorded_source *s, recorded_list *list, kw_error *err);
kw_code recorded_read_clblast(const recorded_source *s, recorded_list *list, kw_error *err);
kw_code recorded_read_results(const recorded_source *s, recorded_list *list, kw_error *err);

#endif
