/* T4 results (schema 1.0.0) of the autotuning methodology. They do not list the values of parameters: the space is made
 * of those that were measured. */
#include "tuner/recorded_internal.h"

#include <stdio.h>
#include <string.h>

static const json *measurement_named(const json *item, const char *name)
{
    for (const json *m = json_first(json_get(item, "measurements")); m; m = json_next(m)) {
        const char *own = json_text(json_get(m, "name"));
        if (own && strcmp(own, name) == 0)
            return m;
    }
    return NULL;
}

/* The mean of several values, as for a time that is a list of runs. */
static double number_of(const json *v)
{
    if (json_kind_of(v) != JSON_ARRAY)
        return json_number(v);
    double sum = 0;
    for (const json *item = json_first(v); item; item = json_next(item))
        sum += json_number(item);
    return json_count(v) > 0 ? sum / (double)json_count(v) : 0;
}

static kw_code take_result(const json *item, double unit_ns, bool overridden, const char *where,
                           recorded_result *result, double *time_ns, kw_error *err)
{
    const char *invalidity = json_text(json_get(item, "invalidity"));
    if (invalidity && strcmp(invalidity, "correct") != 0) {
        *result = strcmp(invalidity, "constraints") == 0 ? RESULT_INVALID : RESULT_FAILED;
        return KW_OK;
    }
    const char *objective = json_text(json_first(json_get(item, "objectives")));
    const json *m = measurement_named(item, objective ? objective : "time");
    if (!m)
        m = measurement_named(item, "time");
    if (!m)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"measurements\" has no '%s'", where,
                            objective ? objective : "time");
    double own = recorded_unit_of(json_text(json_get(m, "unit")));
    const json *v = json_get(m, "value");
    *result = recorded_result_of(v, 1, time_ns);
    if (*result == RESULT_TIME)
        *time_ns = number_of(v) * (own > 0 && !overridden ? own : unit_ns);
    return KW_OK;
}

static kw_code read_item(recorder *b, const json *item, double unit_ns, bool overridden, size_t i, kw_error *err)
{
    char where[512];
    snprintf(where, sizeof where, "%.400s: results[%zu]", b->file, i);
    const json *config = json_get(item, "configuration");
    if (json_kind_of(config) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"configuration\" must be an object", where);
    recorder_begin(b);
    for (const json *m = json_first(config); m; m = json_next(m)) {
        kw_code code = recorder_set(b, json_key(m), m, where, err);
        if (code != KW_OK)
            return code;
    }
    recorded_result result = RESULT_FAILED;
    double time_ns = 0;
    kw_code code = take_result(item, unit_ns, overridden, where, &result, &time_ns, err);
    return code == KW_OK ? recorder_end(b, result, time_ns, where, err) : code;
}

static double unit_of(recorder *b, const json *j, const recorded_options *o)
{
    const json *metadata = json_get(j, "metadata");
    const char *text = json_text(json_get(metadata, "timeunit"));
    double stated = recorded_unit_of(text ? text : json_text(json_get(metadata, "time_unit")));
    if (o->unit_ns > 0)
        return o->unit_ns;
    if (stated > 0)
        return stated;
    recorder_note(b, "the unit of the times is not stated: taken as ms (--unit says otherwise)");
    return 1e6;
}

kw_code recorded_read_t4(const recorded_source *s, recorded_list *list, kw_error *err)
{
    json *j = json_parse(s->text, s->length, s->file, 1, 1, err);
    if (!j)
        return KW_BAD_INPUT;
    recorder b;
    recorder_start(&b, s->file, "T4 results");
    const json *results = json_get(j, "results");
    kw_code code = KW_OK;
    if (json_kind_of(results) != JSON_ARRAY)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: \"results\" must be an array", s->file);
    double unit_ns = unit_of(&b, j, s->options);
    size_t i = 0;
    for (const json *item = json_first(results); item && code == KW_OK; item = json_next(item), i++)
        code = read_item(&b, item, unit_ns, s->options->unit_ns > 0, i, err);
    json_free(j);
    if (code == KW_OK)
        return recorder_finish(&b, list, err);
    recorder_clear(&b);
    return code;
}
