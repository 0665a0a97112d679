/* JSON output of KTT (Kernel Tuning Toolkit), 2.1 and later. Its times are in the unit that its metadata names. */
#include "tuner/recorded_internal.h"

#include <stdio.h>
#include <string.h>

static kw_code read_pairs(recorder *b, const json *pairs, const char *where, kw_error *err)
{
    if (json_kind_of(pairs) != JSON_ARRAY)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"Configuration\" must be an array", where);
    for (const json *pair = json_first(pairs); pair; pair = json_next(pair)) {
        const char *name = json_text(json_get(pair, "Name"));
        const json *v = json_get(pair, "Value");
        if (!name || !v)
            return kw_error_set(err, KW_BAD_INPUT, "%s: each of \"Configuration\" needs \"Name\" and \"Value\"", where);
        kw_code code = recorder_set(b, name, v, where, err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static kw_code read_item(recorder *b, const json *item, double unit_ns, size_t i, kw_error *err)
{
    char where[512];
    snprintf(where, sizeof where, "%.400s: Results[%zu]", b->file, i);
    const char *status = json_text(json_get(item, "Status"));
    if (!status)
        return kw_error_set(err, KW_BAD_INPUT, "%s: no \"Status\"", where);
    recorder_begin(b);
    kw_code code = read_pairs(b, json_get(item, "Configuration"), where, err);
    if (code != KW_OK)
        return code;
    double time_ns = 0;
    bool ok = strcmp(status, "Ok") == 0;
    recorded_result result =
        ok ? recorded_result_of(json_get(item, "TotalDuration"), unit_ns, &time_ns) : RESULT_FAILED;
    if (b->r->kernel[0] == '\0' && json_text(json_get(item, "KernelName")))
        b->r->kernel = arena_strdup(b->r->memory, json_text(json_get(item, "KernelName")));
    return recorder_end(b, result, time_ns, where, err);
}

static kw_code unit_of(recorder *b, const json *metadata, const recorded_options *o, double *unit_ns, kw_error *err)
{
    const char *text = json_text(json_get(metadata, "TimeUnit"));
    *unit_ns = o->unit_ns > 0 ? o->unit_ns : recorded_unit_of(text);
    if (*unit_ns > 0)
        return KW_OK;
    if (text)
        return kw_error_set(err, KW_BAD_INPUT, "%s: unknown \"TimeUnit\" '%s'; give --unit", b->file, text);
    recorder_note(b, "the unit of the times is not stated: taken as us (--unit says otherwise)");
    *unit_ns = 1e3;
    return KW_OK;
}

kw_code recorded_read_ktt(const recorded_source *s, recorded_list *list, kw_error *err)
{
    json *j = json_parse(s->text, s->length, s->file, 1, 1, err);
    if (!j)
        return KW_BAD_INPUT;
    recorder b;
    recorder_start(&b, s->file, "KTT output");
    const json *metadata = json_get(j, "Metadata"), *results = json_get(j, "Results");
    const char *device = json_text(json_get(metadata, "Device"));
    b.r->device = arena_strdup(b.r->memory, device ? device : "");
    double unit_ns = 0;
    kw_code code = unit_of(&b, metadata, s->options, &unit_ns, err);
    if (code == KW_OK && json_kind_of(results) != JSON_ARRAY)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: \"Results\" must be an array", s->file);
    size_t i = 0;
    for (const json *item = json_first(results); item && code == KW_OK; item = json_next(item), i++)
        code = read_item(&b, item, unit_ns, i, err);
    json_free(j);
    if (code == KW_OK)
        return recorder_finish(&b, list, err);
    recorder_clear(&b);
    return code;
}
