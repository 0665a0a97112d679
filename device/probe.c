/* The roofline probe: programs, buffers, and how a kernel of it is timed. */
#include "device/probe_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define LONG_RUN_NS 5e8 /* of runs above one must do */
#define MAX_STEPS (1 << 24)
#define FILL_BYTE 0x3c /* every word of four is 0.0115 as a float */
#define MAX_RUNS 32

const double probe_length_ns[PROBE_LENGTHS] = {30e3, 300e3, 3e6};
const char *const probe_fma_kernels[PROBE_FMA_KERNELS] = {"probe_fma_plain", "probe_fma_mad", "probe_fma_fma"};

/* ---- arguments ---- */

device_arg probe_int(int32_t x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_I32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

device_arg probe_float(float x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_F32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

device_arg probe_buffer(device_buffer *b)
{
    return (device_arg){.kind = DEVICE_ARG_BUFFER, .buffer = b};
}

/* ---- failures ---- */

kw_code probe_give_up(device_probe *p, const char *what, const kw_error *why, kw_error *err)
{
    if (p->d->lost) {
        kw_error_set(err, KW_ENVIRONMENT, "%s", why->message);
        return kw_error_prefix(err, "%s", what);
    }
    strb_printf(&p->notes, "%s%s: %s", p->notes.length > 0 ? "\n" : "", what, why->message);
    return KW_OK;
}

const char *probe_notes(const device_probe *p)
{
    return strb_text(&p->notes);
}

static void tell_alive(device_probe *p)
{
    if (p->alive)
        p->alive(p->cookie);
}

/* ---- timing ---- */

static const device_launch *always(size_t run, void *cookie)
{
    (void)run;
    return *(const device_launch **)cookie;
}

static void keep_reading(device_probe *p, double ns)
{
    if (ns > 0 && p->n_readings < PROBE_MAX_READINGS)
        p->readings[p->n_readings++] = ns;
}

/* Runs in a row; *ns is the shortest, 0 if there is no reading. */
static kw_code row(device_probe *p, device_program *program, const device_launch *l, size_t n, double *ns,
                   kw_error *err)
{
    double t[MAX_RUNS + 1];
    *ns = 0;
    tell_alive(p);
    kw_code code = device_time_events(p->d, program, always, &l, 1, n, t, err);
    double best = INFINITY;
    for (size_t i = n > 1; code == KW_OK && i < n; i++) {
        keep_reading(p, t[i]);
        best = t[i] > 0 && t[i] < best ? t[i] : best;
    }
    if (code != KW_OK || isfinite(best)) {
        *ns = isfinite(best) ? best : 0;
        return code;
    }
    code = device_time_batch(p->d, program, always, &l, 1, 1, n, t, err); /* a device whose events say nothing */
    for (size_t i = n > 1; code == KW_OK && i < n; i++)
        best = t[i] > 0 && t[i] < best ? t[i] : best;
    *ns = isfinite(best) ? best : 0;
    return code;
}

kw_code probe_fastest(device_probe *p, device_program *program, const device_launch *l, size_t n, double *ns,
                      kw_error *err)
{
    kw_code code = row(p, program, l, 1, ns, err);
    if (code != KW_OK || *ns > LONG_RUN_NS)
        return code;
    return row(p, program, l, (n < MAX_RUNS ? n : MAX_RUNS) + 1, ns, err);
}

kw_code probe_calibrate(device_probe *p, device_program *program, device_launch *l, device_arg *steps, double target_ns,
                        double *ns, kw_error *err)
{
    double n = 16;
    for (;;) {
        *steps = probe_int((int32_t)n);
        kw_code code = probe_fastest(p, program, l, 2, ns, err);
        if (code != KW_OK || !(*ns > 0) || *ns >= target_ns / 2 || n >= MAX_STEPS)
            return code;
        n = fmin(ceil(n * fmin(fmax(target_ns / *ns, 2), 64)), MAX_STEPS);
    }
}

/* ---- programs ---- */

/* NULL if it does not build; then `why` says so. */
static device_program *build(device_probe *p, const char *source, const char *options, const char *const *kernels,
                             size_t n, device_build_info *info, kw_error *why)
{
    device_program *program;
    tell_alive(p);
    return device_build(p->d, source, options, kernels, n, &program, info, why) == KW_OK ? program : NULL;
}

static size_t power_of_two_up_to(size_t most)
{
    size_t n = 1;
    while (2 * n <= most)
        n *= 2;
    return n;
}

static size_t largest_group(const device_probe *p)
{
    int64_t most = p->d->info.limits.max_work_group_size;
    return power_of_two_up_to(most < 1 ? 1 : most > 256 ? 256 : (size_t)most);
}

/* A group that the compiled kernel can have. */
static size_t fitting_group(size_t group, const device_build_info *info)
{
    return info->max_group > 0 && (size_t)info->max_group < group ? power_of_two_up_to((size_t)info->max_group) : group;
}

static kw_code build_memory(device_probe *p, kw_error *err)
{
    static const char *const kernels[] = {"probe_empty",      "probe_copy",       "probe_read",
                                          "probe_write",      "probe_chunk_copy", "probe_chunk_read",
                                          "probe_cache_copy", "probe_cache_read"};
    device_build_info info;
    kw_error why;
    p->memory = build(p, probe_memory_source, "", kernels, sizeof kernels / sizeof kernels[0], &info, &why);
    device_build_info_clear(&info);
    return p->memory ? KW_OK : probe_give_up(p, "memory", &why, err);
}

/* Widths to try: a GPU wants many work-items with narrow vectors, a CPU few with vectors as wide as its registers,
 * whose width is not known. Drivers that compile half arithmetic without advertising it may lack its vectors. */
static const size_t gpu_elements[PROBE_TYPES][PROBE_WIDTHS] = {{4, 0}, {4, 0}, {4, 1}};
static const size_t cpu_elements[PROBE_TYPES][PROBE_WIDTHS] = {{8, 16}, {4, 8}, {16, 0}};

static void compute_options(probe_type type, size_t elements, char *out, size_t size)
{
    static const char *const names[PROBE_TYPES] = {"float", "double", "half"};
    int n = snprintf(out, size, "-DREAL=%s -DVEC=%s", names[type], names[type]);
    if (elements > 1)
        n += snprintf(out + n, size - (size_t)n, "%zu", elements);
    if (type == PROBE_F16)
        snprintf(out + n, size - (size_t)n, " -DPLAIN");
}

/* No program is no error: a CPU without half arithmetic in its list of extensions has none, a GPU may all the same. */
static kw_code build_compute(device_probe *p, probe_type type, kw_error *err)
{
    static const size_t bytes[PROBE_TYPES] = {4, 8, 2};
    static const double factor[PROBE_TYPES] = {1e-9, 1e-18, 6.2e-5};
    static const char *const what[PROBE_TYPES] = {"f32 rate", "f64 rate", "f16 rate"};
    const device_limits *l = &p->d->info.limits;
    bool any = false;
    kw_error why;
    if ((type == PROBE_F64 && !l->has_f64) || (type == PROBE_F16 && l->is_cpu && !l->has_f16))
        return KW_OK;
    for (size_t w = 0; w < PROBE_WIDTHS && !p->d->lost; w++) {
        probe_program *c = &p->compute[type][w];
        c->elements = l->is_cpu ? cpu_elements[type][w] : gpu_elements[type][w];
        c->vector_bytes = c->elements * bytes[type];
        if (c->elements == 0 || (c->elements == 1 && any))
            continue;
        char options[80];
        device_build_info info;
        compute_options(type, c->elements, options, sizeof options);
        c->factor = factor[type];
        c->n_kernels = type == PROBE_F16 ? 1 : PROBE_FMA_KERNELS;
        c->program = build(p, probe_compute_source, options, probe_fma_kernels, c->n_kernels, &info, &why);
        c->group = l->is_cpu ? 1 : fitting_group(largest_group(p), &info);
        any = any || c->program;
        device_build_info_clear(&info);
    }
    return any ? KW_OK : probe_give_up(p, what[type], &why, err);
}

static kw_code build_local(device_probe *p, kw_error *err)
{
    static const char *const kernels[] = {"probe_local"};
    const device_limits *l = &p->d->info.limits;
    bool any = false;
    kw_error why;
    kw_error_set(&why, KW_FAILED, "there is too little of it");
    for (size_t w = 0; w < PROBE_WIDTHS && !p->d->lost; w++) {
        probe_program *c = &p->local[w];
        c->elements = l->is_cpu ? 8 << w : w == 0 ? 4 : 0;
        c->vector_bytes = c->elements * sizeof(float);
        c->group = l->is_cpu ? 1 : largest_group(p); /* PoCL keeps the variables of many work-items in memory */
        size_t span = l->is_cpu ? 64 : c->group, stride = span < 128 ? 8 : 32;
        if (c->elements == 0 || (span + 8 * stride) * c->vector_bytes > (size_t)l->local_mem_bytes)
            continue;
        char options[80];
        snprintf(options, sizeof options, "-DVEC=float%zu -DGROUP=%zu -DSTRIDE=%zu -DMASK=%zu", c->elements, c->group,
                 stride, span - 1);
        device_build_info info;
        c->program = build(p, probe_local_source, options, kernels, 1, &info, &why);
        if (c->program && fitting_group(c->group, &info) < c->group) {
            kw_error_set(&why, KW_FAILED, "groups of %zu are too large for it", c->group);
            device_program_free(p->d, c->program);
            c->program = NULL;
        }
        any = any || c->program;
        device_build_info_clear(&info);
    }
    return any ? KW_OK : probe_give_up(p, "local memory", &why, err);
}

/* ---- buffers ---- */

/* Beyond the last-level cache by far, within a sixteenth of the memory. */
static size_t bytes_wanted(const device_limits *l)
{
    size_t cache = l->cache_bytes > 0 ? (size_t)l->cache_bytes : 0, memory = (size_t)l->global_mem_bytes / 16;
    size_t bytes = cache == 0 ? 1024 * MIB : l->is_cpu ? 4 * cache : 16 * cache;
    size_t least = l->is_cpu ? 128 * MIB : 256 * MIB;
    bytes = bytes < least ? least : bytes > 1024 * MIB ? 1024 * MIB : bytes;
    if (l->is_cpu && cache == 0)
        bytes = 256 * MIB;
    if (memory > 0 && bytes > memory)
        bytes = memory;
    if (l->max_alloc_bytes > 0 && bytes > (size_t)l->max_alloc_bytes / 2)
        bytes = (size_t)l->max_alloc_bytes / 2;
    return bytes < MIB ? MIB : bytes / MIB * MIB;
}

static device_buffer *make_buffer(device_probe *p, size_t bytes, kw_error *err)
{
    const size_t all = bytes + PROBE_CHUNK_SHIFTS * PROBE_CHUNK_WORD;
    tell_alive(p);
    device_buffer *b = device_alloc(p->d, all, err);
    if (b && device_fill(p->d, b, 0, all, FILL_BYTE, err) != KW_OK) {
        device_free(p->d, b);
        b = NULL;
    }
    return b;
}

static kw_code make_buffers(device_probe *p, kw_error *err)
{
    kw_error why;
    kw_error_clear(&why);
    for (p->bytes = bytes_wanted(&p->d->info.limits); p->bytes >= MIB; p->bytes /= 2) {
        p->from = make_buffer(p, p->bytes, &why);
        p->to = p->from ? make_buffer(p, p->bytes, &why) : NULL;
        if (p->to || p->d->lost)
            break;
        device_free(p->d, p->from);
        p->from = NULL;
    }
    if (p->to)
        return KW_OK;
    kw_error_set(err, KW_FAILED, "no memory for buffers of even a MiB: %s", why.message);
    return KW_FAILED;
}

/* ---- life ---- */

kw_code probe_open(device *d, void (*alive)(void *cookie), void *cookie, device_probe **out, kw_error *err)
{
    device_probe *p = mem_calloc(1, sizeof *p);
    p->d = d;
    p->alive = alive;
    p->cookie = cookie;
    kw_code code = make_buffers(p, err);
    if (code == KW_OK)
        code = build_memory(p, err);
    for (int type = 0; code == KW_OK && type < PROBE_TYPES; type++)
        code = build_compute(p, (probe_type)type, err);
    if (code == KW_OK)
        code = build_local(p, err);
    if (code != KW_OK) {
        probe_close(p);
        p = NULL;
    }
    *out = p;
    return code;
}

void probe_close(device_probe *p)
{
    if (!p)
        return;
    for (int w = 0; w < PROBE_WIDTHS; w++) {
        for (int type = 0; type < PROBE_TYPES; type++)
            device_program_free(p->d, p->compute[type][w].program);
        device_program_free(p->d, p->local[w].program);
    }
    device_program_free(p->d, p->memory);
    device_free(p->d, p->from);
    device_free(p->d, p->to);
    strb_clear(&p->notes);
    free(p);
}

/* ---- rulers ---- */

device_launch probe_fma_launch(device_probe *p, const probe_program *c, size_t kernel, size_t groups_per_unit,
                               device_arg *args)
{
    int64_t units = p->d->info.limits.compute_units;
    size_t groups = groups_per_unit * (units > 0 ? (size_t)units : 1);
    size_t most = p->bytes / (c->group * c->vector_bytes);
    args[0] = probe_buffer(p->to);
    args[1] = probe_float((float)c->factor);
    args[2] = probe_int(1);
    return (device_launch){.kernel = probe_fma_kernels[kernel],
                           .rank = 1,
                           .local = {c->group, 1, 1},
                           .groups = {groups < most ? groups : most, 1, 1},
                           .args = args,
                           .n_args = 3};
}

static kw_code compute_ruler(device_probe *p, double ns, device_program **program, size_t *n_launches, kw_error *err)
{
    const probe_program *c = &p->compute[PROBE_F32][0];
    double got;
    if (!c->program)
        return kw_error_set(err, KW_FAILED, "there is no kernel for it");
    p->ruler_launches[0] = probe_fma_launch(p, c, 0, 4, p->ruler_args);
    kw_code code = probe_calibrate(p, c->program, &p->ruler_launches[0], &p->ruler_args[2], ns, &got, err);
    /* The first trial that is long enough may be up to 64 times too long, or was disturbed: its ratio mends that. */
    for (int i = 0; code == KW_OK && got > 0 && i < 3; i++) {
        int32_t steps;
        memcpy(&steps, p->ruler_args[2].bytes, sizeof steps);
        p->ruler_args[2] = probe_int((int32_t)fmin(fmax(round(steps * ns / got), 1), MAX_STEPS));
        code = probe_fastest(p, c->program, &p->ruler_launches[0], 4, &got, err);
    }
    *program = c->program;
    *n_launches = 1;
    return code == KW_OK && !(got > 0) ? kw_error_set(err, KW_FAILED, "it cannot be timed") : code;
}

/* Copies of a part of the buffers, or of all of them several times. */
static kw_code memory_ruler(device_probe *p, double ns, device_program **program, size_t *n_launches, kw_error *err)
{
    if (!p->memory)
        return kw_error_set(err, KW_FAILED, "there is no kernel for it");
    const size_t group = largest_group(p), all = p->bytes / PROBE_WORD / group;
    device_launch *l = &p->ruler_launches[0];
    double groups = fmin(64, (double)all), got;
    p->ruler_args[0] = probe_buffer(p->from);
    p->ruler_args[1] = probe_buffer(p->to);
    *l = (device_launch){.kernel = "probe_copy", .rank = 1, .local = {group, 1, 1}, .args = p->ruler_args, .n_args = 2};
    for (;;) {
        l->groups[0] = (size_t)groups;
        l->groups[1] = l->groups[2] = 1;
        kw_code code = probe_fastest(p, p->memory, l, 4, &got, err);
        if (code != KW_OK || !(got > 0))
            return code != KW_OK ? code : kw_error_set(err, KW_FAILED, "it cannot be timed");
        if (got >= ns / 2 || groups >= (double)all)
            break;
        groups = fmin(ceil(groups * fmin(fmax(ns / got, 2), 64)), (double)all);
    }
    double share = ns / got; /* of the trial */
    *n_launches = share <= 1 ? 1 : (size_t)fmin(round(share + 0.49), PROBE_MAX_LAUNCHES);
    l->groups[0] = (size_t)fmax(1, groups * fmin(share / (double)*n_launches, 1));
    for (size_t i = 1; i < *n_launches; i++)
        p->ruler_launches[i] = *l;
    *program = p->memory;
    return KW_OK;
}

kw_code probe_ruler_of(device_probe *p, probe_ruler kind, double ns, device_program **program,
                       const device_launch **launches, size_t *n_launches, kw_error *err)
{
    *launches = p->ruler_launches;
    return kind == PROBE_COMPUTE ? compute_ruler(p, ns, program, n_launches, err)
                                 : memory_ruler(p, ns, program, n_launches, err);
}
