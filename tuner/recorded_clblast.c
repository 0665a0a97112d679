/* JSON of CLBlast's tuners: times in ms with three decimals, so that a fast kernel may have 0.000; only configurations
 * that ran and were correct. */
#include "tuner/recorded_internal.h"

#include <stdio.h>

static kw_code read_item(recorder *b, const json *item, double unit_ns, size_t i, kw_error *err)
{
    char where[512];
    snprintf(where, sizeof where, "%.400s: results[%zu]", b->file, i);
    const json *params = json_get(item, "parameters"), *time = json_get(item, "time");
    if (json_kind_of(params) != JSON_OBJECT || !time)
        return kw_error_set(err, KW_BAD_INPUT, "%s: needs \"parameters\", an object, and \"time\"", where);
    recorder_begin(b);
    for (const json *m = json_first(params); m; m = json_next(m)) {
        kw_code code = recorder_set(b, json_key(m), m, where, err);
        if (code != KW_OK)
            return code;
    }
    double time_ns;
    recorded_result result = recorded_result_of(time, unit_ns, &time_ns);
    return recorder_end(b, result, time_ns, where, err);
}

kw_code recorded_read_clblast(const recorded_source *s, recorded_list *list, kw_error *err)
{
    json *j = json_parse(s->text, s->length, s->file, 1, 1, err);
    if (!j)
        return KW_BAD_INPUT;
    recorder b;
    recorder_start(&b, s->file, "CLBlast tuner output");
    const char *device = json_text(json_get(j, "clblast_device_name")),
               *family = json_text(json_get(j, "kernel_family"));
    if (!device)
        device = json_text(json_get(j, "device"));
    b.r->device = arena_strdup(b.r->memory, device ? device : "");
    b.r->kernel = arena_strdup(b.r->memory, family ? family : "");
    const json *results = json_get(j, "results");
    kw_code code = KW_OK;
    if (json_kind_of(results) != JSON_ARRAY)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: \"results\" must be an array", s->file);
    double unit_ns = s->options->unit_ns > 0 ? s->options->unit_ns : 1e6;
    size_t i = 0;
    for (const json *item = json_first(results); item && code == KW_OK; item = json_next(item), i++)
        code = read_item(&b, item, unit_ns, i, err);
    json_free(j);
    if (code == KW_OK)
        return recorder_finish(&b, list, err);
    recorder_clear(&b);
    return code;
}
