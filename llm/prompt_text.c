/* What a prompt says. */
#include "llm/prompt.h"

#include "base/mem.h"
#include "codegen/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char prompt_system[] =
    "You write GPU kernels as parameterised templates. An autotuner expands your template, checks the results against "
    "a "
    "reference on many shapes and distributions of inputs, and searches your parameters for the fastest configuration. "
    "You answer with one template.";

/* ---- the task ---- */

static char *task_text(const prompt_context *c)
{
    strb s = STRB_INIT, types = STRB_INIT, shape = STRB_INIT;
    const task *t = c->task;
    task_types_print(t, c->types, &types);
    strb_printf(&s, "Task `%s`: %s\n\nElement types: %s.\n\n", t->name, t->doc ? t->doc : "", strb_text(&types));
    strb_add(&s, "task.json, which names dims, tensors and scalars:\n\n```json\n");
    if (t->source)
        json_print_pretty(t->source, &s);
    strb_add(&s, "\n```\n\nShapes that count, each as important as the next:\n\n");
    for (size_t i = 0; i < c->n_shapes; i++) {
        strb_reset(&shape);
        task_shape_print(t, &c->shapes[i], &shape);
        strb_printf(&s, "- %s", strb_text(&shape));
        double flops = task_flops(t, c->types, &c->shapes[i]), bytes = task_bytes(t, c->types, &c->shapes[i]);
        if (isfinite(flops) && isfinite(bytes) && bytes > 0)
            strb_printf(&s, " (%.4g flop, %.4g bytes, %.3g flop per byte)", flops, bytes, flops / bytes);
        strb_add_char(&s, '\n');
    }
    strb_add(
        &s,
        "\nThe template must be right for every shape that its `requires` admit, not for these only: it is verified on "
        "small and odd shapes too.\n");
    strb_clear(&types);
    strb_clear(&shape);
    return strb_take(&s);
}

/* ---- the device ---- */

static void add_figure(strb *s, const char *what, double figure, double unit, const char *name)
{
    if (figure > 0)
        strb_printf(s, "- %s: %.4g %s\n", what, figure / unit, name);
}

static char *device_text(const prompt_context *c)
{
    strb s = STRB_INIT;
    const device_limits *l = c->device ? &c->device->limits : NULL;
    if (!l)
        return NULL;
    strb_printf(&s, "- name: %s\n", c->device_name ? c->device_name : c->device->name);
    strb_printf(&s,
                "- compute units: %lld\n- work-group size: at most %lld\n- local memory: %lld bytes for a work-group\n",
                (long long)l->compute_units, (long long)l->max_work_group_size, (long long)l->local_mem_bytes);
    if (c->probe) {
        const probe_figures *f = c->probe;
        strb_add(&s, "\nMeasured on this very device by kernels like yours:\n\n");
        add_figure(&s, "copy (bytes read and written)", f->copy, 1e9, "GB/s");
        add_figure(&s, "read", f->read, 1e9, "GB/s");
        add_figure(&s, "copy within the cache", f->cache_copy, 1e9, "GB/s");
        add_figure(&s, "local memory", f->local_read, 1e9, "GB/s");
        add_figure(&s, "f32 multiply-adds", f->fma_f32, 1e9, "GFLOP/s");
        add_figure(&s, "f16 multiply-adds", f->fma_f16, 1e9, "GFLOP/s");
        add_figure(&s, "an empty kernel", f->launch_event_ns, 1e3, "us");
    }
    return strb_take(&s);
}

/* ---- candidates and their outcomes ---- */

void prompt_outcome(const task *t, const task_shape *shapes, const trial_result *r, strb *out)
{
    strb shape = STRB_INIT;
    if (!r->read || r->fitness < 0.5) {
        strb_printf(out, "It failed at the stage `%s` with `%s`:\n\n```\n%s\n```\n", stage_name(r->stage),
                    r->read ? outcome_name(r->outcome) : "not a template", r->detail ? r->detail : "");
        return;
    }
    strb_printf(out, "It is right. %zu configurations were measured; the best of them:\n\n", r->measured);
    for (size_t i = 0; i < r->n_shapes; i++) {
        const trial_shape *s = &r->shapes[i];
        strb_reset(&shape);
        task_shape_print(t, &shapes[i], &shape);
        if (!isfinite(s->best_ns)) {
            strb_printf(out, "- %s: no valid configuration\n", strb_text(&shape));
            continue;
        }
        strb_printf(out, "- %s: %.4g us", strb_text(&shape), s->best_ns / 1e3);
        if (isfinite(s->base_ns))
            strb_printf(out, ", %.3g times as fast as the plain kernel", s->base_ns / s->best_ns);
        if (isfinite(s->limit_ns))
            strb_printf(out, ", %.3g%% of the device's limit", 100 * s->limit_ns / s->best_ns);
        strb_add_char(out, '\n');
    }
    if (r->importance && *r->importance)
        strb_printf(out, "\nWhich parameters mattered:\n\n%s", r->importance);
    if (r->detail && *r->detail)
        strb_printf(out, "\nSome configurations failed, for example:\n\n```\n%s\n```\n", r->detail);
    strb_clear(&shape);
}

static char *candidate_text(const prompt_context *c, const prompt_candidate *k)
{
    strb s = STRB_INIT;
    if (!k->text)
        return NULL;
    strb_printf(&s, "```c\n%s%s```\n", k->text, k->text[0] && k->text[strlen(k->text) - 1] == '\n' ? "" : "\n");
    if (k->cell >= 0) {
        behaviour b = behaviour_of_cell(k->cell);
        strb_printf(&s, "\nIts kind: memory %d, compute %d, parallelism %d.\n", b.level[0], b.level[1], b.level[2]);
    }
    if (k->outcome) {
        strb_add_char(&s, '\n');
        prompt_outcome(c->task, c->shapes, k->outcome, &s);
    }
    return strb_take(&s);
}

/* ---- the target ---- */

/* What to do to reach a level, in the field's own terms. */
static const char *const techniques[BEHAVIOUR_DIMS][BEHAVIOUR_LEVELS] = {
    {"plain scalar accesses, neighbours side by side, nothing staged",
     "vector loads and stores (float4 through vload4 or a cast pointer, a scalar path for tails and alignment), rows "
     "read by "
     "consecutive work-items",
     "tiles staged in local memory and shared by the work-group; padding against bank conflicts",
     "tiles in local memory together with values kept in registers, double buffering or asynchronous copies, so that "
     "loading "
     "overlaps computing"},
    {"one result per work-item, plain operations",
     "fused multiply-adds and vector arithmetic; constants folded; native functions only where the error bound allows",
     "several results per work-item in registers, so that every loaded value is used several times; online (one pass) "
     "forms of "
     "reductions",
     "large tiles of results in registers with full unrolling, matrix units where the type allows, or a reformulation "
     "with fewer "
     "operations"},
    {"independent work-items, no synchronisation", "work-groups that cooperate through local memory and barriers",
     "sub-group (warp) reductions and exchanges in place of barriers",
     "several work-groups on one result: split work, combined by a second launch or by atomics; a choice by the "
     "shape"}};

void prompt_target(const steer_choice *c, strb *out)
{
    if (c->parent_cell < 0 || c->target_cell < 0)
        return;
    behaviour from = behaviour_of_cell(c->parent_cell), to = behaviour_of_cell(c->target_cell);
    bool moved = false;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        if (from.level[d] == to.level[d])
            continue;
        moved = true;
        strb_printf(out, "%s the %s level from %d to %d: %s.\n", to.level[d] > from.level[d] ? "Raise" : "Lower",
                    behaviour_dim_names[d], from.level[d], to.level[d], techniques[d][to.level[d]]);
    }
    if (!moved)
        strb_add(out,
                 "Stay with the kind of kernel that the parent is, and make it faster: better parameters and ranges "
                 "for them, "
                 "better order of work, fewer instructions in the inner loop, better use of what the limit leaves.\n");
}

/* ---- fixed texts ---- */

static const char rules[] =
    "- Answer with one complete template in one fenced code block; or, for a small change, with edits of the "
    "parent:\n\n"
    "      <<<<<<< SEARCH\n      lines of the parent\n      =======\n      lines instead\n      >>>>>>> REPLACE\n\n"
    "- Keep the front matter strict JSON; `task`, tensor, dim and scalar names are those of the task.\n"
    "- Give every choice that may depend on shape or device a parameter with several values, and constraints for the "
    "combinations that cannot work: the tuner will search them. Prefer many values over a guess.\n"
    "- Name in `requires` what the kernel needs of a shape; better, handle tails so that nothing is needed.\n"
    "- OpenCL C 1.2. No printf, no global state, no assumption about what memory holds before the launch. Results must "
    "be the "
    "same in every run, bit for bit: no floating-point atomics.\n"
    "- Accumulate in the type ACC. Do not lower the precision.\n";

static char *copy_of(const char *text)
{
    return text && *text ? mem_strdup(text) : NULL;
}

static char *fenced(const char *text, const char *info)
{
    strb s = STRB_INIT;
    if (!text)
        return NULL;
    strb_printf(&s, "```%s\n%s\n```\n", info, text);
    return strb_take(&s);
}

static void add_common(const prompt_context *c, prompt *p)
{
    prompt_add(p, "The task", task_text(c), 0, false);
    prompt_add(p, "Its reference", fenced(c->reference_text, "c"), 5, true);
    prompt_add(p, "The device", device_text(c), 2, false);
    prompt_add(p, "The template format", copy_of(c->format_text), 1, true);
}

void prompt_generate(const prompt_context *c, strb *out, strb *left_out)
{
    prompt p = {.n = 0};
    strb target = STRB_INIT;
    bool best_is_parent = c->best.text && c->parent.text && strcmp(c->best.text, c->parent.text) == 0;
    prompt_add(&p, NULL,
               mem_strdup(c->parent.text ? "Write a better template than the parent below."
                                         : "Write a template for the task below."),
               0, false);
    prompt_add(&p, "How to go about it", copy_of(c->sections.philosophy), 4, false);
    add_common(c, &p);
    for (size_t i = 0; i < sizeof c->inspirations / sizeof *c->inspirations; i++)
        prompt_add(&p, "Another kernel, for ideas", candidate_text(c, &c->inspirations[i]), 9 - (int)i, false);
    if (!best_is_parent)
        prompt_add(&p, "The best so far", candidate_text(c, &c->best), 6, false);
    prompt_add(&p, "The parent", candidate_text(c, &c->parent), 0, true);
    prompt_add(&p, "What tends to help", copy_of(c->sections.strategies), 4, false);
    prompt_add(&p, "What tends to go wrong", copy_of(c->sections.pitfalls), 4, false);
    if (c->choice)
        prompt_target(c->choice, &target);
    prompt_add(&p, "What to try now", copy_of(strb_text(&target)), 0, false);
    prompt_add(&p, "Before you write", copy_of(c->sections.analysis), 4, false);
    prompt_add(&p, "Rules", mem_strdup(rules), 0, false);
    prompt_print(&p, c->max_tokens, out, left_out);
    prompt_clear(&p);
    strb_clear(&target);
}

void prompt_repair(const prompt_context *c, const char *text, const char *problem, strb *out, strb *left_out)
{
    prompt p = {.n = 0};
    strb error = STRB_INIT;
    strb_printf(&error, "```\n%s\n```\n\nMend it and answer with the whole template.\n", problem);
    prompt_add(&p, NULL,
               mem_strdup("The template below, which you wrote, does not work. What went wrong stands behind it."), 0,
               false);
    add_common(c, &p);
    prompt_add(&p, "What you wrote", fenced(text, "c"), 0, true);
    prompt_add(&p, "What went wrong", strb_take(&error), 0, true);
    prompt_add(&p, "Rules", mem_strdup(rules), 0, false);
    prompt_print(&p, c->max_tokens, out, left_out);
    prompt_clear(&p);
}
