/* What a prompt says of candidates, and what it asks for. */
#include "llm/line_diff.h"
#include "llm/prompt.h"

#include "base/mem.h"
#include "llm/prompt_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char prompt_system[] =
    "You write GPU kernels as parameterised templates. An autotuner expands your template, checks the results against "
    "a "
    "reference on many shapes and distributions of inputs, and searches your parameters for the fastest configuration. "
    "You answer with one template.";

/* ---- candidates and their outcomes ---- */

/* `text` and `end` between fences that it does not close: what a model wrote stays a quotation. */
static void add_fenced(const char *info, const char *text, const char *end, strb *out)
{
    int fence = 3, run = 0;
    for (const char *p = text; *p; p++) {
        run = *p == '`' ? run + 1 : 0;
        fence = run >= fence ? run + 1 : fence;
    }
    for (int i = 0; i < fence; i++)
        strb_add_char(out, '`');
    strb_printf(out, "%s\n%s%s", info, text, end);
    for (int i = 0; i < fence; i++)
        strb_add_char(out, '`');
    strb_add_char(out, '\n');
}

void prompt_outcome(const task *t, const task_shape *shapes, const trial_result *r, strb *out)
{
    strb shape = STRB_INIT;
    if (!r->read || r->fitness < 0.5) {
        strb_printf(out, "It failed at the stage `%s` with `%s`:\n\n", stage_name(r->stage),
                    r->read ? outcome_name(r->outcome) : "not a template");
        add_fenced("", r->detail ? r->detail : "", "\n", out);
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
        if (s->config)
            strb_printf(out, " with %s", s->config);
        if (isfinite(s->base_ns))
            strb_printf(out, ", %.3g times as fast as the plain kernel", s->base_ns / s->best_ns);
        if (isfinite(s->limit_ns))
            strb_printf(out, ", %.3g%% of the device's limit", 100 * s->limit_ns / s->best_ns);
        strb_add_char(out, '\n');
    }
    if (r->artefact && *r->artefact)
        strb_printf(out, "\nWhat the compiler made of the best configuration of the first shape: %s.\n", r->artefact);
    if (r->importance && *r->importance)
        strb_printf(out,
                    "\nWhich parameters seem to matter (the best time with each value, over the best of all; those "
                    "that made no difference are left out; few configurations were measured):\n\n%s",
                    r->importance);
    if (r->detail && *r->detail) {
        strb_add(out, "\nSome configurations failed, for example:\n\n");
        add_fenced("", r->detail, "\n", out);
    }
    strb_clear(&shape);
}

static size_t room_of(const prompt_context *c)
{
    const double each = c->bytes_per_token > 0 ? c->bytes_per_token : 3;
    const size_t room = (size_t)((double)c->max_tokens * each);
    return c->max_bytes > 0 && c->max_bytes < room ? c->max_bytes : room;
}

/* What a model wrote must be in the prompt, but not megabytes of it: at most this share of the room. */
static void add_written(const prompt_context *c, const char *info, const char *text, double share, strb *out)
{
    strb cut = STRB_INIT;
    prompt_add_cut(text, (size_t)(share * (double)room_of(c)), &cut);
    const bool whole_line = cut.length > 0 && strb_text(&cut)[cut.length - 1] == '\n';
    add_fenced(info, strb_text(&cut), whole_line ? "" : "\n", out);
    strb_clear(&cut);
}

static char *candidate_text(const prompt_context *c, const prompt_candidate *k)
{
    strb s = STRB_INIT;
    if (!k->text)
        return NULL;
    add_written(c, "c", k->text, 0.6, &s);
    if (k->cell >= 0) {
        behaviour b = behaviour_of_cell(k->cell);
        strb_printf(&s, "\nIts kind%s%s: memory %d, compute %d, parallelism %d.\n", k->config ? " with " : "",
                    k->config ? k->config : "", b.level[0], b.level[1], b.level[2]);
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

/* What the levels of a kind are: those of techniques, in a line each. */
static const char levels[] =
    "Kinds of kernels, levels 0 to 3. Memory: scalar accesses; vector accesses; tiles in local memory; tiles with "
    "asynchronous copies, or with vector accesses and reuse in registers. Compute: plain operations; multiply-adds or "
    "vectors; reuse in registers or one-pass (online) forms; large register tiles or matrix units. Parallelism: "
    "independent work-items; barriers in a work-group; sub-group (warp) operations; several launches or atomics.\n\n";

static const char rules[] =
    "- Answer with one complete template in one fenced code block; or, for a small change, with edits of the "
    "parent, whose lines must stand in it exactly so, once:\n\n"
    "      <<<<<<< SEARCH\n      lines of the parent\n      =======\n      lines instead\n      >>>>>>> REPLACE\n\n"
    "- Keep the front matter strict JSON; `task`, tensor, dim and scalar names are those of the task. Kernel arguments "
    "come in the order of `args`: tensors as `__global` pointers (`const` for inputs), dims as `int`, scalars in their "
    "type.\n"
    "- Leave out `fallback`: there is one already.\n"
    "- Give every choice that may depend on shape or device a parameter, with the values that may win and constraints "
    "for the combinations that cannot work. The tuner first tries about four configurations a shape, the default "
    "among them, then a dozen, then some thirty of what looks good: choose defaults that are near the best for the "
    "shapes above, and leave out values that nobody would want.\n"
    "- Name in `requires` what the kernel needs of a shape; better, handle tails so that nothing is needed.\n"
    "- No printf, no global state, no assumption about what memory holds before the launch. Results must be the same "
    "in every run, bit for bit: no floating-point atomics.\n"
    "- Accumulate in the type ACC. Do not lower the precision.\n";

/* Bytes of a diff that a prompt shows. */
enum { MOST_OF_A_DIFF = 2500 };

/* Length of the first n lines, at most 300 bytes. */
static size_t first_lines(const char *text, int n)
{
    size_t length = 0;
    for (; n > 0 && text[length] && length < 300; length++)
        n -= text[length] == '\n';
    return length;
}

static char *copy_of(const char *text)
{
    return text && *text ? mem_strdup(text) : NULL;
}

static char *fenced(const char *text, const char *info)
{
    strb s = STRB_INIT;
    if (!text)
        return NULL;
    add_fenced(info, text, "\n", &s);
    return strb_take(&s);
}

static void add_common(const prompt_context *c, prompt *p)
{
    prompt_add(p, "The task", prompt_task_text(c), 0, false);
    prompt_add(p, "Its reference", fenced(c->reference_text, "c"), 5, true);
    prompt_add(p, "The device", prompt_device_text(c), 2, false);
    prompt_add(p, "The template format", prompt_format_text(c), 1, true);
}

/* What was made of the parent before, as changes: what was tried need not be tried again. */
static char *tried_text(const prompt_context *c)
{
    strb s = STRB_INIT, diff = STRB_INIT;
    for (size_t i = 0; i < sizeof c->tried / sizeof *c->tried && c->parent.text; i++) {
        const prompt_candidate *k = &c->tried[i];
        if (!k->text || !k->outcome)
            continue;
        strb_reset(&diff);
        line_diff(c->parent.text, k->text, MOST_OF_A_DIFF, &diff);
        const trial_result *r = k->outcome;
        strb_printf(&s, "%sThese changes: ", s.length > 0 ? "\n" : "");
        if (r->outcome == OUTCOME_OK && c->parent.outcome)
            strb_printf(&s, "right, fitness %.3f (the parent %.3f).\n\n", r->fitness, c->parent.outcome->fitness);
        else
            strb_printf(&s, "%s: %.*s\n\n", r->read ? outcome_name(r->outcome) : "not a template",
                        r->detail ? (int)first_lines(r->detail, 2) : 0, r->detail ? r->detail : "");
        add_fenced("diff", strb_text(&diff), "", &s);
    }
    strb_clear(&diff);
    return s.length > 0 ? strb_take(&s) : NULL;
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
    prompt_add(&p, "What was tried on it", tried_text(c), 6, false);
    prompt_add(&p, "What tends to help", copy_of(c->sections.strategies), 4, false);
    prompt_add(&p, "What tends to go wrong", copy_of(c->sections.pitfalls), 4, false);
    if (c->choice)
        prompt_target(c->choice, &target);
    if (target.length > 0)
        strb_printf(&target, "\n%s", levels);
    prompt_add(&p, "What to try now", copy_of(strb_text(&target)), 0, false);
    prompt_add(&p, "Before you write", copy_of(c->sections.analysis), 4, false);
    prompt_add(&p, "Rules", mem_strdup(rules), 0, false);
    prompt_print(&p, room_of(c), out, left_out);
    prompt_clear(&p);
    strb_clear(&target);
}

void prompt_repair(const prompt_context *c, const char *text, const char *problem, strb *out, strb *left_out)
{
    prompt p = {.n = 0};
    strb error = STRB_INIT, written = STRB_INIT;
    add_written(c, "c", text, 0.6, &written);
    add_written(c, "", problem, 0.2, &error);
    strb_add(&error, "\nMend it and answer with the whole template.\n");
    prompt_add(&p, NULL,
               mem_strdup("The template below, which you wrote, does not work. What went wrong stands behind it."), 0,
               false);
    add_common(c, &p);
    prompt_add(&p, "What you wrote", strb_take(&written), 0, false);
    prompt_add(&p, "What went wrong", strb_take(&error), 0, false);
    prompt_add(&p, "Rules", mem_strdup(rules), 0, false);
    prompt_print(&p, room_of(c), out, left_out);
    prompt_clear(&p);
}
