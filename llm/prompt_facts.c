/* What a prompt says of the task, the device and the template format. */
#include "llm/prompt_internal.h"

#include "base/mem.h"
#include "codegen/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the task ---- */

static void add_shapes(const prompt_context *c, strb *s)
{
    strb shape = STRB_INIT;
    const task *t = c->task;
    strb_add(s, "Shapes that count, each as important as the next:\n\n");
    for (size_t i = 0; i < c->n_shapes; i++) {
        strb_reset(&shape);
        task_shape_print(t, &c->shapes[i], &shape);
        strb_printf(s, "- %s", strb_text(&shape));
        double flops = task_flops(t, c->types, &c->shapes[i]), bytes = task_bytes(t, c->types, &c->shapes[i]);
        if (isfinite(flops) && isfinite(bytes) && bytes > 0)
            strb_printf(s, " (%.4g flop, %.4g bytes, %.3g flop per byte)", flops, bytes, flops / bytes);
        strb_add_char(s, '\n');
    }
    strb_clear(&shape);
}

char *prompt_task_text(const prompt_context *c)
{
    strb s = STRB_INIT, types = STRB_INIT;
    const task *t = c->task;
    task_types_print(t, c->types, &types);
    strb_printf(&s, "Task `%s`: %s\n\nElement types: %s.\n\n", t->name, t->doc ? t->doc : "", strb_text(&types));
    strb_add(&s, "task.json, which names dims, tensors and scalars:\n\n```json\n");
    json *description = task_description(t);
    json_print_pretty(description, &s);
    json_free(description);
    if (s.length > 0 && strb_text(&s)[s.length - 1] != '\n')
        strb_add_char(&s, '\n');
    strb_add(&s, "```\n\n");
    add_shapes(c, &s);
    strb_add(&s,
             "\nThe tuner chooses a configuration for each shape by itself, but every shape of the list must have one "
             "that its `requires` admit. The template must be right for every shape that they admit, not for these "
             "only: it is verified on small and odd shapes, with every value of the scalars, and with inputs that are "
             "large, sparse, negative, or equal along a row.\n\n"
             "An element x passes against the reference's value v and scale (below) if |x - v| <= 4 eps |v| + 8 eps "
             "sqrt(L) scale, where eps is 2^-23 for f32 and L is the task's `reduction_length`. Tensors marked `exact` "
             "must be equal.\n");
    strb_clear(&types);
    return strb_take(&s);
}

/* ---- the device ---- */

static void add_figure(strb *s, const char *what, double figure, double unit, const char *name)
{
    if (figure > 0)
        strb_printf(s, "- %s: %.4g %s\n", what, figure / unit, name);
}

static bool has_part(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* What the driver's compiler understands beyond the standard. */
static void add_language(const device_info *d, strb *s)
{
    const bool nvidia = has_part(d->platform, "NVIDIA"),
               groups = has_part(d->extensions, "cl_khr_subgroup") || has_part(d->extensions, "cl_intel_subgroup");
    strb_printf(s, "- language: OpenCL C 1.2; driver: %s %s, %s\n", d->platform, d->driver, d->api);
    strb_printf(s, "- extensions that it names: %s\n", d->extensions[0] ? d->extensions : "none that matter here");
    if (groups)
        strb_add(s, "- sub-group built-ins: yes, behind `#pragma OPENCL EXTENSION NAME : enable` for the extension of "
                    "the list above\n");
    else
        strb_add(s, "- sub-group built-ins (`sub_group_reduce_add` and the like): none; they do not compile\n");
    if (!nvidia)
        return;
    strb_add(
        s, "- inline PTX: yes. GCC's syntax, `asm volatile(\"...\" : outputs : inputs : \"memory\")`, with \"f\" for "
           "float, \"r\" for 32-bit integers, \"l\" for 64-bit integers and generic or global pointers. Shuffles "
           "within the 32 work-items of a warp (consecutive local ids), for example\n"
           "  `asm volatile(\"shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;\" : \"=f\"(y) : \"f\"(x), "
           "\"r\"(16));`,\n"
           "  stand in for sub-group built-ins; `cp.async`, `ld.global.v4.f32`, `mma.sync` and cache hints work too. "
           "All 32 work-items must reach a `.sync`. A pointer to local memory is converted with `cvta.to.shared.u64`\n"
           "- `#pragma unroll` works; float4 accesses become 128-bit ones where the address is a multiple of 16 "
           "bytes\n");
}

static void add_probe(const probe_figures *f, strb *s)
{
    strb_add(s, "\nMeasured on this very device by kernels like yours:\n\n");
    add_figure(s, "copy (bytes read and written)", f->copy, 1e9, "GB/s");
    add_figure(s, "read", f->read, 1e9, "GB/s");
    add_figure(s, "copy within the cache", f->cache_copy, 1e9, "GB/s");
    add_figure(s, "local memory", f->local_read, 1e9, "GB/s");
    add_figure(s, "f32 multiply-adds", f->fma_f32, 1e9, "GFLOP/s");
    add_figure(s, "f16 multiply-adds", f->fma_f16, 1e9, "GFLOP/s");
    add_figure(s, "an empty kernel", f->launch_event_ns, 1e3, "us");
}

char *prompt_device_text(const prompt_context *c)
{
    strb s = STRB_INIT;
    if (!c->device)
        return NULL;
    const device_info *d = c->device;
    const device_limits *l = &d->limits;
    strb_printf(&s, "- name: %s, a %s; key %s\n", c->device_name ? c->device_name : d->name,
                l->is_gpu   ? "GPU"
                : l->is_cpu ? "CPU"
                            : "device",
                d->key);
    strb_printf(&s, "- compute units: %lld; work-items that run in step: %lld\n", (long long)l->compute_units,
                (long long)l->preferred_multiple);
    strb_printf(&s, "- work-group size: at most %lld\n- local memory: %lld bytes for a work-group\n",
                (long long)l->max_work_group_size, (long long)l->local_mem_bytes);
    if (l->cache_bytes > 0)
        strb_printf(&s, "- last-level cache: %.4g MB\n", (double)l->cache_bytes / 1e6);
    strb_printf(&s, "- global memory: %.4g GB\n", (double)l->global_mem_bytes / 1e9);
    strb_printf(&s, "- doubles: %s\n", l->has_f64 ? "yes" : "no");
    add_language(d, &s);
    if (c->probe)
        add_probe(c->probe, &s);
    return strb_take(&s);
}

/* ---- the format ---- */

/* Lines that are for the reader of the page, not of a prompt. */
static bool is_for_the_page(const char *line)
{
    static const char *const marks[] = {"# ", "<!--", "(Both texts are tests"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strncmp(line, marks[i], strlen(marks[i])) == 0)
            return true;
    }
    return false;
}

char *prompt_format_text(const prompt_context *c)
{
    strb s = STRB_INIT;
    if (!c->format_text)
        return NULL;
    const char *end = strstr(c->format_text, "\n## Sidecars");
    bool code = false;
    end = end ? end + 1 : c->format_text + strlen(c->format_text);
    for (const char *line = c->format_text; line < end;) {
        const char *next = strchr(line, '\n');
        next = next && next < end ? next + 1 : end;
        bool fence = strncmp(line, "```", 3) == 0;
        code ^= fence;
        if (code || !is_for_the_page(line)) {
            if (!code && !fence && strncmp(line, "##", 2) == 0)
                strb_add_char(&s, '#');
            strb_add_n(&s, line, (size_t)(next - line));
        }
        line = next;
    }
    return strb_take(&s);
}
