/* Rows of values become a recorded space. */
#include "tuner/recorded_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void recorder_start(recorder *b, const char *file, const char *format)
{
    memset(b, 0, sizeof *b);
    b->file = file;
    b->r = mem_calloc(1, sizeof *b->r);
    b->r->memory = arena_new();
    b->r->format = format;
    b->r->device = b->r->kernel = arena_strdup(b->r->memory, "");
}

void recorder_clear(recorder *b)
{
    for (size_t i = 0; i < b->n_params; i++)
        free(b->params[i].values);
    free(b->params);
    free(b->rows);
    free(b->times);
    free(b->seen);
    strb_clear(&b->notes);
    recorded_free(b->r);
    memset(b, 0, sizeof *b);
}

void recorder_note(recorder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strb_add(&b->notes, b->notes.length ? "; " : "");
    strb_vprintf(&b->notes, format, args);
    va_end(args);
}

/* ---- parameters ---- */

static size_t find_param(const recorder *b, const char *name)
{
    for (size_t i = 0; i < b->n_params; i++) {
        size_t at = (b->n_seen + i) % b->n_params; /* mostly in order */
        if (strcmp(b->params[at].name, name) == 0)
            return at;
    }
    return SIZE_MAX;
}

kw_code recorder_add_param(recorder *b, const char *name, kw_error *err)
{
    if (b->n_params > 0 && find_param(b, name) != SIZE_MAX)
        return kw_error_set(err, KW_BAD_INPUT, "%s: the parameter '%s' is there twice", b->file, name);
    b->params = mem_grow(b->params, &b->params_capacity, b->n_params + 1, sizeof *b->params);
    b->seen = mem_realloc(b->seen, (b->n_params + 1) * sizeof *b->seen);
    b->seen[b->n_params] = false;
    b->params[b->n_params++] = (record_param){.name = arena_strdup(b->r->memory, name)};
    return KW_OK;
}

static size_t find_value(const record_param *p, value v)
{
    size_t i = 0;
    while (i < p->n_values && !value_equal(p->values[i], v))
        i++;
    return i;
}

static size_t find_or_add_value(recorder *b, record_param *p, value v)
{
    size_t at = find_value(p, v);
    if (at == p->n_values) {
        p->values = mem_grow(p->values, &p->capacity, p->n_values + 1, sizeof *p->values);
        p->values[p->n_values++] = value_copy(v, b->r->memory);
    }
    return at;
}

void recorder_add_value(recorder *b, size_t param, value v)
{
    find_or_add_value(b, &b->params[param], v);
}

/* ---- rows ---- */

void recorder_begin(recorder *b)
{
    b->n_seen = 0;
    if (b->n_params > 0)
        memset(b->seen, 0, b->n_params * sizeof *b->seen);
    b->rows = mem_grow(b->rows, &b->rows_capacity, (b->n_rows + 1) * b->n_params, sizeof *b->rows);
}

kw_code recorder_set(recorder *b, const char *name, const json *j, const char *where, kw_error *err)
{
    size_t at = b->n_params > 0 ? find_param(b, name) : SIZE_MAX;
    if (at == SIZE_MAX) {
        if (b->n_rows > 0 || b->listed)
            return kw_error_set(err, KW_BAD_INPUT, "%s: the parameter '%s' is in no entry before it", where, name);
        kw_code code = recorder_add_param(b, name, err);
        if (code != KW_OK)
            return code;
        at = b->n_params - 1;
        b->rows = mem_grow(b->rows, &b->rows_capacity, b->n_params, sizeof *b->rows);
    }
    if (b->seen[at])
        return kw_error_set(err, KW_BAD_INPUT, "%s: the parameter '%s' is there twice", where, name);
    value v;
    arena *scratch = arena_new();
    if (!value_from_json(j, scratch, &v)) {
        arena_free(scratch);
        return kw_error_set(err, KW_BAD_INPUT, "%s: the value of '%s' must be a number, text or true or false", where,
                            name);
    }
    size_t n = b->params[at].n_values;
    b->rows[b->n_rows * b->n_params + at] = (uint32_t)find_or_add_value(b, &b->params[at], v);
    arena_free(scratch);
    if (b->listed && b->params[at].n_values > n)
        recorder_note(b, "a value of '%s' is recorded that the file does not list", name);
    b->seen[at] = true;
    b->n_seen++;
    return KW_OK;
}

kw_code recorder_end(recorder *b, recorded_result result, double time_ns, const char *where, kw_error *err)
{
    if (b->n_seen < b->n_params) {
        size_t missing = 0;
        while (b->seen[missing])
            missing++;
        return kw_error_set(err, KW_BAD_INPUT, "%s: the parameter '%s' has no value", where, b->params[missing].name);
    }
    if (result == RESULT_INVALID) {
        b->r->n_invalid++;
        return KW_OK;
    }
    bool is_time = result == RESULT_TIME && isfinite(time_ns) && time_ns > 0;
    b->r->n_no_time += result == RESULT_TIME && !is_time;
    b->times = mem_grow(b->times, &b->times_capacity, b->n_rows + 1, sizeof *b->times);
    b->times[b->n_rows++] = is_time ? time_ns : NAN;
    return KW_OK;
}

/* ---- the whole ---- */

static int compare_values(const void *a, const void *b)
{
    return value_compare(*(const value *)a, *(const value *)b);
}

/* Values that were observed, not listed, in ascending order. */
static void sort_values(recorder *b, size_t param)
{
    record_param *p = &b->params[param];
    value *sorted = mem_alloc(p->n_values * sizeof *sorted);
    memcpy(sorted, p->values, p->n_values * sizeof *sorted);
    qsort(sorted, p->n_values, sizeof *sorted, compare_values);
    uint32_t *place = mem_alloc(p->n_values * sizeof *place);
    record_param other = {.values = sorted, .n_values = p->n_values};
    for (size_t i = 0; i < p->n_values; i++)
        place[i] = (uint32_t)find_value(&other, p->values[i]);
    for (size_t i = 0; i < b->n_rows; i++)
        b->rows[i * b->n_params + param] = place[b->rows[i * b->n_params + param]];
    free(place);
    free(p->values);
    p->values = sorted;
    p->capacity = p->n_values;
}

static void take_params(recorder *b)
{
    recorded *r = b->r;
    r->n_params = b->n_params;
    r->params = arena_alloc(r->memory, b->n_params * sizeof *r->params);
    for (size_t i = 0; i < b->n_params; i++) {
        if (!b->listed)
            sort_values(b, i);
        const record_param *p = &b->params[i];
        value *values = arena_alloc(r->memory, p->n_values * sizeof *values);
        memcpy(values, p->values, p->n_values * sizeof *values);
        r->params[i] = (space_param){.name = p->name, .values = values, .n_values = p->n_values, .slot = (int)i};
    }
}

/* Times by rank. Of a configuration that comes more than once the valid times count: their mean where they are of one
 * method (with the least of them the luckiest would win), else the least. */
static void take_times(recorder *b)
{
    recorded *r = b->r;
    r->n = (size_t)space_count(r->space);
    r->times_ns = mem_alloc(r->n * sizeof *r->times_ns);
    size_t *n_rows = mem_calloc(r->n, sizeof *n_rows), *n_valid = mem_calloc(r->n, sizeof *n_valid);
    for (size_t i = 0; i < b->n_rows; i++) {
        uint64_t rank = 0;
        space_rank(r->space, b->rows + i * b->n_params, &rank);
        double *time = &r->times_ns[rank];
        r->n_repeated += n_rows[rank]++ == 1;
        if (n_valid[rank] == 0)
            *time = b->times[i];
        else if (!isnan(b->times[i]))
            *time = b->pool ? *time + (b->times[i] - *time) / (double)(n_valid[rank] + 1) : fmin(*time, b->times[i]);
        n_valid[rank] += !isnan(b->times[i]);
    }
    free(n_rows);
    free(n_valid);
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void summarise(recorded *r)
{
    double *valid = mem_alloc(r->n * sizeof *valid);
    for (size_t i = 0; i < r->n; i++)
        if (!isnan(r->times_ns[i]))
            valid[r->n_ok++] = r->times_ns[i];
    r->n_failed = r->n - r->n_ok;
    qsort(valid, r->n_ok, sizeof *valid, compare_doubles);
    if (r->n_ok > 0) {
        r->best_ns = valid[0];
        r->worst_ns = valid[r->n_ok - 1];
        r->median_ns = (valid[(r->n_ok - 1) / 2] + valid[r->n_ok / 2]) / 2;
    }
    free(valid);
}

static void note_counts(recorder *b)
{
    const recorded *r = b->r;
    if (r->n_no_time > 0)
        recorder_note(b, "%zu times that are zero, negative or not a number count as failures", r->n_no_time);
    if (r->n_repeated > 0)
        recorder_note(b, "%zu configurations come more than once: the %s counts", r->n_repeated,
                      b->pool ? "mean" : "best time");
}

kw_code recorder_finish(recorder *b, recorded_list *list, kw_error *err)
{
    recorded *r = b->r;
    kw_code code = KW_OK;
    if (b->n_rows == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: no configuration is recorded in this %s%s", b->file, r->format,
                            r->n_invalid > 0 ? " but invalid ones" : "");
    else if (b->n_params == 0)
        code =
            kw_error_set(err, KW_BAD_INPUT, "%s: the configurations of this %s have no parameters", b->file, r->format);
    if (code == KW_OK) {
        take_params(b);
        code = space_of_list(r->params, r->n_params, b->rows, b->n_rows, &r->space, err);
    }
    if (code == KW_OK) {
        take_times(b);
        summarise(r);
        note_counts(b);
        r->notes = arena_strdup(r->memory, strb_text(&b->notes));
        if (r->n_ok == 0)
            code = kw_error_set(err, KW_BAD_INPUT, "%s: all %zu configurations failed: there is no time to search for",
                                b->file, r->n);
    }
    if (code == KW_OK) {
        list->items = mem_grow(list->items, &list->capacity, list->n + 1, sizeof *list->items);
        list->items[list->n++] = r;
        b->r = NULL;
    }
    recorder_clear(b);
    return code;
}
