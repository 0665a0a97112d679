/* The worker protocol, reading side of the worker: one line -> a job. Unknown members are ignored, so that a newer
 * coordinator may say more; what is known must be whole and of the right kind. */
#include "tuner/job.h"

#include "tuner/job_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kw_code bad_name(const char *where, const char *key, const char *name, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "%s: %s \"%.60s\" is not known", where, key, name);
}

static kw_code get_number(const json *o, const char *key, const char *where, double fallback, double *out,
                          kw_error *err)
{
    const json *member = json_get(o, key);
    *out = fallback;
    if (!member)
        return KW_OK;
    if (json_kind_of(member) != JSON_NUMBER)
        return kw_error_set(err, KW_BAD_INPUT, "%s: %s is not a number", where, key);
    *out = json_number(member);
    return KW_OK;
}

static kw_code get_object(const json *o, const char *key, json_kind kind, const char *where, const json **out,
                          kw_error *err)
{
    *out = json_get(o, key);
    if (json_kind_of(*out) != kind)
        return kw_error_set(err, KW_BAD_INPUT, "%s: %s must be %s", where, key, json_kind_name(kind));
    return KW_OK;
}

static kw_code get_text(const json *o, const char *key, const char *where, arena *a, const char **out, kw_error *err)
{
    const char *text;
    kw_code code = json_get_string(o, key, where, &text, err);
    if (code == KW_OK)
        *out = arena_strdup(a, text);
    return code;
}

static kw_code get_seed(const json *o, const char *where, uint64_t *out, kw_error *err)
{
    const char *text;
    kw_code code = json_get_string(o, "seed", where, &text, err);
    if (code != KW_OK)
        return code;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return kw_error_set(err, KW_BAD_INPUT, "%s: seed must be 16 hex digits", where);
    *out = strtoull(text, NULL, 16);
    return KW_OK;
}

static kw_code read_scalars(const json *o, const task *t, const char *where, double *out, kw_error *err)
{
    const json *list;
    kw_code code = get_object(o, "scalars", JSON_ARRAY, where, &list, err);
    if (code != KW_OK)
        return code;
    if (json_count(list) != t->n_scalars)
        return kw_error_set(err, KW_BAD_INPUT, "%s: %zu scalars given, task %s has %zu", where, json_count(list),
                            t->name, t->n_scalars);
    for (size_t i = 0; i < t->n_scalars; i++) {
        const json *x = json_at(list, i);
        if (json_kind_of(x) != JSON_NUMBER)
            return kw_error_set(err, KW_BAD_INPUT, "%s: scalar %s is not a number", where, t->scalars[i].name);
        out[i] = json_number(x);
    }
    return KW_OK;
}

static kw_code read_plans(const json *o, const char *where, arena *a, job_case *out, kw_error *err)
{
    const json *p;
    kw_code code = get_object(o, "plan", JSON_OBJECT, where, &p, err);
    if (code == KW_OK)
        code = plan_from_json(p, a, &out->plan, err);
    const json *trusted = json_get(o, "trusted_plan");
    if (code == KW_OK && trusted)
        code = plan_from_json(trusted, a, &out->trusted_plan, err);
    return code;
}

static kw_code read_case(const json *o, const job *j, const char *where, arena *a, job_case *out, kw_error *err)
{
    const json *shape;
    const char *dist;
    kw_code code = get_object(o, "shape", JSON_OBJECT, where, &shape, err);
    if (code == KW_OK)
        code = task_shape_from_json(j->task, shape, where, &out->shape, err);
    if (code == KW_OK)
        code = read_scalars(o, j->task, where, out->scalars, err);
    if (code == KW_OK)
        code = json_get_string(o, "distribution", where, &dist, err);
    if (code == KW_OK && !distribution_from_name(dist, &out->dist))
        return bad_name(where, "distribution", dist, err);
    if (code == KW_OK)
        code = get_seed(o, where, &out->seed, err);
    if (code == KW_OK)
        code = json_opt_bool(o, "sampled", where, false, &out->sampled, err);
    if (code == KW_OK)
        code = read_plans(o, where, a, out, err);
    return code;
}

static kw_code read_cases(const json *o, arena *a, job *out, kw_error *err)
{
    const json *list;
    kw_code code = get_object(o, "cases", JSON_ARRAY, "job", &list, err);
    if (code != KW_OK)
        return code;
    out->n_cases = json_count(list);
    if (out->n_cases < 1 || out->n_cases > JOB_MAX_CASES)
        return kw_error_set(err, KW_BAD_INPUT, "job: %zu cases; there must be 1 to %d", out->n_cases, JOB_MAX_CASES);
    out->cases = arena_alloc(a, out->n_cases * sizeof *out->cases);
    size_t i = 0;
    for (const json *item = json_first(list); item && code == KW_OK; item = json_next(item), i++) {
        char where[32];
        snprintf(where, sizeof where, "job: case %zu", i + 1);
        code = read_case(item, out, where, a, &out->cases[i], err);
    }
    return code;
}

static kw_code read_timing(const json *o, job_timing *out, kw_error *err)
{
    const json *t = json_get(o, "timing");
    const char *method;
    int64_t min_samples;
    kw_code code = json_opt_string(t, "method", "job: timing", "auto", &method, err);
    if (code == KW_OK && !timing_method_from_name(method, &out->method))
        return bad_name("job: timing", "method", method, err);
    if (code == KW_OK)
        code = json_opt_bool(t, "cold", "job: timing", true, &out->cold, err);
    if (code == KW_OK)
        code = json_opt_int(t, "min_samples", "job: timing", 0, &min_samples, err);
    if (code == KW_OK && (min_samples < 0 || min_samples > 100000))
        return kw_error_set(err, KW_BAD_INPUT, "job: timing: min_samples must be 0 to 100000");
    if (code == KW_OK)
        out->min_samples = (int)min_samples;
    if (code == KW_OK)
        code = json_opt_int(t, "max_ns", "job: timing", 0, &out->max_ns, err);
    if (code == KW_OK)
        code = get_number(t, "hopeless_ns", "job: timing", 0, &out->hopeless_ns, err);
    return code;
}

static kw_code read_limits(const json *o, job *out, kw_error *err)
{
    const json *l = json_get(o, "limits");
    kw_code code = json_opt_int(l, "compile_ms", "job: limits", 0, &out->limits.compile_ms, err);
    if (code == KW_OK)
        code = json_opt_int(l, "run_ms", "job: limits", 0, &out->limits.run_ms, err);
    return code == KW_OK ? json_opt_int(l, "verify_ms", "job: limits", 0, &out->verify_ms, err) : code;
}

static kw_code read_programs(const json *o, arena *a, job *out, kw_error *err)
{
    const json *p;
    kw_code code = get_object(o, "program", JSON_OBJECT, "job", &p, err);
    if (code == KW_OK)
        code = get_text(p, "source", "job: program", a, &out->source, err);
    if (code == KW_OK)
        code = get_text(p, "options", "job: program", a, &out->options, err);
    const json *trusted = json_get(o, "trusted");
    if (code == KW_OK && trusted)
        code = get_text(trusted, "source", "job: trusted", a, &out->trusted_source, err);
    if (code == KW_OK && trusted)
        code = get_text(trusted, "options", "job: trusted", a, &out->trusted_options, err);
    return code;
}

static kw_code read_heading(const json *o, arena *a, job *out, kw_error *err)
{
    const char *mode;
    kw_code code = json_get_int(o, "id", "job", &out->id, err);
    if (code == KW_OK)
        code = get_text(o, "device", "job", a, &out->device, err);
    if (code == KW_OK)
        code = json_get_string(o, "mode", "job", &mode, err);
    if (code == KW_OK && !job_mode_from_name(mode, &out->mode))
        return bad_name("job", "mode", mode, err);
    const char *turns;
    if (code == KW_OK)
        code = json_opt_string(o, "turns", "job", job_turns_name(TURNS_NONE), &turns, err);
    if (code == KW_OK && !job_turns_from_name(turns, &out->turns))
        return bad_name("job", "turns", turns, err);
    return code == KW_OK ? json_opt_bool(o, "prepare", "job", false, &out->prepare, err) : code;
}

static kw_code read_language(const json *o, job *out, kw_error *err)
{
    const char *lang;
    kw_code code = json_get_string(o, "language", "job", &lang, err);
    if (code == KW_OK && !language_from_name(lang, &out->lang))
        return bad_name("job", "language", lang, err);
    return code;
}

static kw_code read_task(const json *o, job *out, task **t, kw_error *err)
{
    const json *description;
    const char *types;
    kw_code code = get_object(o, "task", JSON_OBJECT, "job", &description, err);
    if (code == KW_OK)
        code = task_from_json(description, "job: task", t, err);
    if (code == KW_OK)
        code = json_get_string(o, "types", "job", &types, err);
    if (code != KW_OK)
        return code;
    out->task = *t;
    return task_types_parse(*t, types, &out->types, err);
}

static kw_code read_candidate(const json *o, arena *a, job *out, task **t, kw_error *err)
{
    kw_code code = read_language(o, out, err);
    if (code == KW_OK)
        code = read_programs(o, a, out, err);
    if (code != KW_OK || out->mode == JOB_BINARY)
        return code;
    code = read_task(o, out, t, err);
    if (code == KW_OK)
        code = read_cases(o, a, out, err);
    if (code == KW_OK)
        code = read_timing(o, &out->timing, err);
    return code;
}

static kw_code read_job(const json *o, arena *a, job *out, task **t, kw_error *err)
{
    const char *type;
    kw_code code = json_get_string(o, "type", "job", &type, err);
    if (code == KW_OK && strcmp(type, "job") != 0)
        return bad_name("a line for the worker", "type", type, err);
    if (code == KW_OK)
        code = read_heading(o, a, out, err);
    if (code == KW_OK && out->mode != JOB_PROBE)
        code = read_candidate(o, a, out, t, err);
    if (code == KW_OK)
        code = read_limits(o, out, err);
    return code;
}

kw_code job_parse(const char *line, size_t length, arena *a, job *out, task **t, kw_error *err)
{
    memset(out, 0, sizeof *out);
    *t = NULL;
    json *o = json_parse(line, length, "job", 1, 1, err);
    if (!o)
        return err ? err->code : KW_BAD_INPUT;
    kw_code code = read_job(o, a, out, t, err);
    json_free(o);
    if (code != KW_OK) {
        task_free(*t);
        *t = NULL;
        out->task = NULL;
    }
    return code;
}
