/* The roofline probe: from kernels to figures. */
#include "device/probe_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GPU_RUN_NS 2e6 /* long beside what a launch costs, short beside a time slice of the host */
#define CPU_RUN_NS 1.5e6
#define GPU_RUNS 6
#define CPU_RUNS 32 /* the shortest of many short ones is least disturbed by other programs */
#define CPU_L1_BYTES ((size_t)8 << 10)
#define EMPTY_RUNS 30
#define EMPTY_BATCH 200
#define NEVER (-1.0f) /* no sum of the positive numbers in the buffers */

static bool on_cpu(const device_probe *p)
{
    return p->d->info.limits.is_cpu != 0;
}

static size_t units(const device_probe *p)
{
    int64_t n = p->d->info.limits.compute_units;
    return n > 0 ? (size_t)n : 1;
}

static size_t runs(const device_probe *p)
{
    return on_cpu(p) ? CPU_RUNS : GPU_RUNS;
}

static void raise_to(double *figure, double x)
{
    if (isfinite(x) && x > *figure)
        *figure = x;
}

/* Times one launch that does `work`; the figure is work per second. */
static kw_code rate_of(device_probe *p, device_program *program, const device_launch *l, double work, size_t n,
                       const char *what, double *figure, kw_error *err)
{
    kw_error why;
    double ns;
    kw_error_clear(&why);
    if (probe_fastest(p, program, l, n, &ns, &why) != KW_OK)
        return probe_give_up(p, what, &why, err);
    raise_to(figure, work * 1e9 / ns);
    return KW_OK;
}

/* The same with an argument `steps` that says how often the launch does it. */
static kw_code rate_of_steps(device_probe *p, device_program *program, device_launch *l, device_arg *steps, double work,
                             const char *what, double *figure, kw_error *err)
{
    kw_error why;
    double ns;
    int32_t n;
    kw_error_clear(&why);
    if (probe_calibrate(p, program, l, steps, on_cpu(p) ? CPU_RUN_NS : GPU_RUN_NS, &ns, &why) != KW_OK)
        return probe_give_up(p, what, &why, err);
    memcpy(&n, steps->bytes, sizeof n);
    return rate_of(p, program, l, work * n, runs(p), what, figure, err);
}

/* ---- memory ---- */

static size_t memory_group(const device_probe *p)
{
    int64_t most = p->d->info.limits.max_work_group_size;
    size_t group = 256;
    while (most > 0 && group > (size_t)most)
        group /= 2;
    return group;
}

static kw_code streams(device_probe *p, probe_figures *f, kw_error *err)
{
    const size_t group = memory_group(p), words = p->bytes / PROBE_WORD;
    const double bytes = (double)p->bytes;
    device_arg copy[] = {probe_buffer(p->from), probe_buffer(p->to)};
    device_arg read[] = {probe_buffer(p->from), probe_buffer(p->to), probe_float(NEVER)};
    device_arg write[] = {probe_buffer(p->to), probe_float(0.01f)};
    const struct {
        device_launch launch;
        double bytes;
        const char *what;
        double *figure;
    } all[] = {
        {{"probe_copy", 1, {group, 1, 1}, {words / group, 1, 1}, copy, 2, false},
         2 * bytes,
         "copy bandwidth",
         &f->copy},
        {{"probe_read", 1, {group, 1, 1}, {words / group / PROBE_READ_WORDS, 1, 1}, read, 3, false},
         bytes,
         "read bandwidth",
         &f->read},
        {{"probe_write", 1, {group, 1, 1}, {words / group, 1, 1}, write, 2, false},
         bytes,
         "write bandwidth",
         &f->write},
    };
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < sizeof all / sizeof all[0]; i++)
        code = rate_of(p, p->memory, &all[i].launch, all[i].bytes, GPU_RUNS, all[i].what, all[i].figure, err);
    return code;
}

/* Every work-item goes through `span` words of its own, as often as the kernel is asked for; `once`: one time. */
static kw_code chunks(device_probe *p, size_t items, size_t span, bool once, double *copy, double *read, kw_error *err)
{
    const double bytes = (double)(items * span) * PROBE_CHUNK_WORD;
    device_arg c[] = {probe_buffer(p->from), probe_buffer(p->to), probe_int((int32_t)span), probe_int(1)};
    device_arg r[] = {probe_buffer(p->from), probe_buffer(p->to), probe_float(NEVER), probe_int((int32_t)span),
                      probe_int(1)};
    device_launch lc = {"probe_chunk_copy", 1, {1, 1, 1}, {items, 1, 1}, c, 4, false};
    device_launch lr = {"probe_chunk_read", 1, {1, 1, 1}, {items, 1, 1}, r, 5, false};
    static const char what[] = "bandwidth of long runs of words";
    kw_code code = once ? rate_of(p, p->memory, &lc, 2 * bytes, GPU_RUNS, what, copy, err)
                        : rate_of_steps(p, p->memory, &lc, &c[3], 2 * bytes, what, copy, err);
    if (code != KW_OK)
        return code;
    return once ? rate_of(p, p->memory, &lr, bytes, GPU_RUNS, what, read, err)
                : rate_of_steps(p, p->memory, &lr, &r[4], bytes, what, read, err);
}

/* On a CPU data may lie in any cache: within the first level, and within a part of the last one. */
static kw_code cpu_caches(device_probe *p, probe_figures *f, kw_error *err)
{
    const int64_t last = p->d->info.limits.cache_bytes;
    size_t items = 4 * units(p), span = p->bytes / PROBE_CHUNK_WORD / items / 4 * 4;
    kw_code code = chunks(p, items, span, true, &f->copy, &f->read, err);
    if (code == KW_OK)
        code = chunks(p, items, CPU_L1_BYTES / PROBE_CHUNK_WORD, false, &f->cache_copy, &f->cache_read, err);
    size_t part = (last > 0 ? (size_t)last : (size_t)8 << 20) / 4 / items;
    if (part > p->bytes / items)
        part = p->bytes / items;
    if (code == KW_OK && part > CPU_L1_BYTES)
        code = chunks(p, items, part / PROBE_CHUNK_WORD / 4 * 4, false, &f->cache_copy, &f->cache_read, err);
    return code;
}

/* On a GPU only the last-level cache outlives a kernel. 4 MiB are read, or an eighth of it where that is less. */
static kw_code gpu_cache(device_probe *p, probe_figures *f, kw_error *err)
{
    static const size_t per_unit[] = {4, 8};
    const int64_t last = p->d->info.limits.cache_bytes;
    size_t bytes = (size_t)4 << 20;
    while ((last > 0 && bytes > (size_t)last / 8 && bytes > 4096) || bytes > p->bytes)
        bytes /= 2;
    const size_t group = memory_group(p);
    const int32_t mask = (int32_t)(bytes / PROBE_WORD - 1);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < sizeof per_unit / sizeof per_unit[0]; i++) {
        size_t groups = per_unit[i] * units(p), most = p->bytes / PROBE_WORD / group / 2;
        if (groups > most)
            groups = most;
        const double step = (double)(groups * group * PROBE_CACHE_WORDS * PROBE_WORD);
        device_arg c[] = {probe_buffer(p->from), probe_buffer(p->to), probe_int(mask), probe_int(1), probe_int(1)};
        device_arg r[] = {probe_buffer(p->from), probe_buffer(p->to), probe_int(mask), probe_float(NEVER),
                          probe_int(1)};
        device_launch lc = {"probe_cache_copy", 1, {group, 1, 1}, {groups, 1, 1}, c, 5, false};
        device_launch lr = {"probe_cache_read", 1, {group, 1, 1}, {groups, 1, 1}, r, 5, false};
        code = rate_of_steps(p, p->memory, &lc, &c[4], 2 * step, "copy within the cache", &f->cache_copy, err);
        if (code == KW_OK)
            code = rate_of_steps(p, p->memory, &lr, &r[4], step, "reading within the cache", &f->cache_read, err);
    }
    return code;
}

/* ---- arithmetic and local memory ---- */

/* Of a GPU; on a CPU every unit has a few work-items to itself, and more change nothing. */
static const size_t groups_per_unit[] = {4, 2, 8, 16};

static size_t n_occupancies(const device_probe *p)
{
    return on_cpu(p) ? 1 : sizeof groups_per_unit / sizeof *groups_per_unit;
}

static kw_code fma_rate(device_probe *p, probe_type type, const char *what, double *figure, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t w = 0; w < PROBE_WIDTHS; w++) {
        const probe_program *c = &p->compute[type][w];
        const size_t n = c->program ? c->n_kernels * n_occupancies(p) : 0;
        for (size_t i = 0; code == KW_OK && i < n; i++) {
            device_arg args[3];
            device_launch l = probe_fma_launch(p, c, i % c->n_kernels, groups_per_unit[i / c->n_kernels], args);
            double work = (double)(l.groups[0] * c->group * c->elements) * PROBE_FMA_STEP;
            code = rate_of_steps(p, c->program, &l, &args[2], work, what, figure, err);
        }
    }
    return code;
}

static kw_code local_rate(device_probe *p, double *figure, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t w = 0; w < PROBE_WIDTHS; w++) {
        const probe_program *c = &p->local[w];
        for (size_t i = 0; code == KW_OK && c->program && i < n_occupancies(p); i++) {
            size_t groups = groups_per_unit[i] * units(p), most = p->bytes / (c->group * c->vector_bytes);
            device_arg args[] = {probe_buffer(p->to), probe_float(0.01f), probe_int(1)};
            device_launch l = {"probe_local", 1, {c->group, 1, 1}, {groups < most ? groups : most, 1, 1}, args, 3,
                               false};
            double work = (double)(l.groups[0] * c->group * c->vector_bytes) * PROBE_LOCAL_VECTORS;
            code = rate_of_steps(p, c->program, &l, &args[2], work, "local memory", figure, err);
        }
    }
    return code;
}

/* ---- launches and the timer ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the positive ones; 0 if there is none. */
static double least(const double *x, size_t n)
{
    double best = INFINITY;
    for (size_t i = 0; i < n; i++)
        best = x[i] > 0 && x[i] < best ? x[i] : best;
    return isfinite(best) ? best : 0;
}

static const device_launch *always(size_t run, void *cookie)
{
    (void)run;
    return *(const device_launch **)cookie;
}

static kw_code launches(device_probe *p, probe_figures *f, kw_error *err)
{
    device_arg args[] = {probe_int(0)};
    const device_launch l = {"probe_empty", 1, {1, 1, 1}, {1, 1, 1}, args, 1, false}, *cookie = &l;
    double t[EMPTY_RUNS];
    kw_error why;
    kw_error_clear(&why);
    kw_code code = device_time_events(p->d, p->memory, always, &cookie, 1, EMPTY_RUNS, t, &why);
    for (size_t i = 1; code == KW_OK && i < EMPTY_RUNS; i++)
        if (t[i] > 0 && p->n_readings < PROBE_MAX_READINGS)
            p->readings[p->n_readings++] = t[i];
    if (code == KW_OK) {
        f->launch_event_ns = least(t + 1, EMPTY_RUNS - 1);
        code = device_time_batch(p->d, p->memory, always, &cookie, 1, 1, EMPTY_RUNS, t, &why);
    }
    if (code == KW_OK) {
        f->launch_single_ns = least(t + 1, EMPTY_RUNS - 1);
        code = device_time_batch(p->d, p->memory, always, &cookie, 1, EMPTY_BATCH, 8, t, &why);
    }
    if (code != KW_OK)
        return probe_give_up(p, "cost of a launch", &why, err);
    f->launch_batch_ns = least(t + 1, 7);
    return KW_OK;
}

/* The smallest difference between any two readings; 0 if all were alike. */
static double event_step(device_probe *p)
{
    double step = INFINITY;
    qsort(p->readings, p->n_readings, sizeof *p->readings, ascending);
    for (size_t i = 1; i < p->n_readings; i++) {
        double difference = p->readings[i] - p->readings[i - 1];
        if (difference > 0 && difference < step)
            step = difference;
    }
    return isfinite(step) ? step : 0;
}

/* ---- */

kw_code probe_measure(device_probe *p, probe_figures *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    kw_code code = KW_OK;
    if (p->memory) {
        code = launches(p, out, err);
        if (code == KW_OK)
            code = streams(p, out, err);
        if (code == KW_OK)
            code = on_cpu(p) ? cpu_caches(p, out, err) : gpu_cache(p, out, err);
    }
    if (code == KW_OK)
        code = fma_rate(p, PROBE_F32, "f32 rate", &out->fma_f32, err);
    if (code == KW_OK)
        code = fma_rate(p, PROBE_F64, "f64 rate", &out->fma_f64, err);
    if (code == KW_OK)
        code = fma_rate(p, PROBE_F16, "f16 rate", &out->fma_f16, err);
    if (code == KW_OK)
        code = local_rate(p, &out->local_read, err);
    out->event_step_ns = event_step(p);
    return code;
}
