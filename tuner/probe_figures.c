/* The figures of the roofline probe as JSON. */
#include "tuner/probe.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"copy_bytes_per_s", offsetof(probe_figures, copy)},
    {"read_bytes_per_s", offsetof(probe_figures, read)},
    {"write_bytes_per_s", offsetof(probe_figures, write)},
    {"cache_copy_bytes_per_s", offsetof(probe_figures, cache_copy)},
    {"cache_read_bytes_per_s", offsetof(probe_figures, cache_read)},
    {"local_read_bytes_per_s", offsetof(probe_figures, local_read)},
    {"fma_f32_flops_per_s", offsetof(probe_figures, fma_f32)},
    {"fma_f64_flops_per_s", offsetof(probe_figures, fma_f64)},
    {"fma_f16_flops_per_s", offsetof(probe_figures, fma_f16)},
    {"launch_event_ns", offsetof(probe_figures, launch_event_ns)},
    {"launch_batch_ns", offsetof(probe_figures, launch_batch_ns)},
    {"launch_single_ns", offsetof(probe_figures, launch_single_ns)},
    {"event_step_ns", offsetof(probe_figures, event_step_ns)},
    {"seconds", offsetof(probe_figures, seconds)},
};

static const char *const ruler_names[PROBE_RULERS] = {"compute", "memory"};

static json *noise_to_json(int ruler, int length, const probe_noise *n)
{
    json *o = json_new_object();
    json_set_string(o, "kernel", ruler_names[ruler]);
    json_set_number(o, "length_ns", probe_length_ns[length]);
    json_set_number(o, "median_ns", n->median_ns);
    json_set_number(o, "noise", n->noise);
    json_set_number(o, "bias", n->bias);
    json_set_string(o, "method", n->batch ? "batch" : "events");
    return o;
}

json *probe_figures_to_json(const probe_figures *f)
{
    json *o = json_new_object(), *noise = json_new_array();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        double x = *(const double *)(const void *)((const char *)f + members[i].offset);
        if (x > 0)
            json_set_number(o, members[i].name, x);
    }
    for (int k = 0; k < PROBE_RULERS; k++)
        for (int i = 0; i < PROBE_LENGTHS; i++)
            if (f->noise[k][i].median_ns > 0)
                json_append(noise, noise_to_json(k, i, &f->noise[k][i]));
    json_set(o, "noise", noise);
    return o;
}

static kw_code read_number(const json *o, const char *name, const char *where, bool negative, double *out,
                           kw_error *err)
{
    const json *x = json_get(o, name);
    double number = json_number(x);
    *out = 0;
    if (!x)
        return KW_OK;
    if (json_kind_of(x) != JSON_NUMBER || !isfinite(number) || (number < 0 && !negative))
        return kw_error_set(err, KW_BAD_INPUT, "%s: %s must be a number%s", where, name, negative ? "" : ", 0 or more");
    *out = number;
    return KW_OK;
}

/* Entries of other kernels or lengths than those of this version are left out. */
static kw_code read_noise(const json *o, const char *where, probe_figures *out, kw_error *err)
{
    const char *kernel = json_text(json_get(o, "kernel")), *method = json_text(json_get(o, "method"));
    double length;
    kw_code code = read_number(o, "length_ns", where, false, &length, err);
    for (int k = 0; code == KW_OK && k < PROBE_RULERS; k++) {
        for (int i = 0; code == KW_OK && i < PROBE_LENGTHS; i++) {
            if (!kernel || strcmp(kernel, ruler_names[k]) != 0 || length != probe_length_ns[i])
                continue;
            probe_noise *n = &out->noise[k][i];
            n->batch = method && strcmp(method, "batch") == 0;
            code = read_number(o, "median_ns", where, false, &n->median_ns, err);
            if (code == KW_OK)
                code = read_number(o, "noise", where, false, &n->noise, err);
            if (code == KW_OK)
                code = read_number(o, "bias", where, true, &n->bias, err);
        }
    }
    return code;
}

kw_code probe_figures_from_json(const json *j, const char *where, probe_figures *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    if (json_kind_of(j) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: must be an object", where);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < sizeof members / sizeof *members; i++)
        code = read_number(j, members[i].name, where, false, (double *)(void *)((char *)out + members[i].offset), err);
    for (const json *n = json_first(json_get(j, "noise")); n && code == KW_OK; n = json_next(n))
        code = read_noise(n, where, out, err);
    return code;
}
