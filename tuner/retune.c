#include "tuner/retune.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/retune_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH 12 /* results; as the search itself has it */

const char *retune_state_name(retune_state s)
{
    static const char *const names[] = {[RETUNE_NEW] = "new",         [RETUNE_OPEN] = "open",
                                        [RETUNE_CHANGED] = "changed", [RETUNE_EARLIER] = "earlier driver",
                                        [RETUNE_STALE] = "stale",     [RETUNE_DONE] = "done",
                                        [RETUNE_UNFIT] = "unfit"};
    return names[s];
}

/* ---- shapes that were searched to the end ---- */

/* Whether a shape is done is kept with the gain that was left: asked again, a model that was made anew may see it a
 * little differently, and the same command must find nothing to do. Rows of texts that are no more stay in the store,
 * so that their number is kept too: more of them tell that a template changed since. */
static char *done_key(const retune *r, const task_shape *shape)
{
    rows x;
    strb key = STRB_INIT;
    rows_init(&x, r->e, r->t, &r->o->tune.types, shape, r->o->tune.cold);
    strb_printf(&key, "retuned %s %s %s %s %s %s %s", r->t->hash, x.types, x.shape, x.scalars, r->device->key,
                r->device->driver, r->mode);
    for (size_t i = 0; i < r->o->tune.n_templates; i++)
        strb_printf(&key, " %s", r->o->tune.templates[i]->name);
    rows_clear(&x);
    return strb_take(&key);
}

typedef struct search_end {
    double gain;      /* that was left; NaN: it was not searched to the end */
    size_t n_changed; /* then */
} search_end;

static search_end recall_end(const retune *r, const task_shape *shape)
{
    char *key = done_key(r, shape), *text = NULL, *rest;
    kw_error ignored;
    search_end end = {.gain = NAN};
    if (store_fact(r->s, key, &text, &ignored) == KW_OK && text) {
        end.gain = strtod(text, &rest);
        end.n_changed = (size_t)strtoull(rest, NULL, 10);
    }
    free(text);
    free(key);
    return end;
}

static void keep_end(const retune *r, const retune_shape *shape)
{
    char *key = done_key(r, &shape->shape), text[64];
    kw_error why;
    snprintf(text, sizeof text, "%.6g %zu", isfinite(shape->gain) ? shape->gain : 1.0, shape->n_changed);
    if (store_set_fact(r->s, key, text, &why) != KW_OK)
        log_debug("that the shape is done is not kept: %s", why.message);
    free(key);
}

/* ---- the plan ---- */

static bool has_rows_of(const context *c, const char *template_name)
{
    for (size_t i = 0; c && i < c->ledger.n; i++)
        if (strcmp(c->ledger.entries[i].template_name, template_name) == 0)
            return true;
    return false;
}

/* The templates that neither of them (NULL: nothing) has rows of. */
static void list_lacks(const arms *a, const context *here, const context *before, retune_shape *shape)
{
    strb text = STRB_INIT;
    for (size_t i = 0; i < a->n; i++) {
        const char *name = a->items[i].template->name;
        if (!has_rows_of(here, name) && !has_rows_of(before, name))
            strb_printf(&text, "%s%s", text.length ? ", " : "", name);
    }
    snprintf(shape->lacks, sizeof shape->lacks, "%s", text.length ? strb_text(&text) : "");
    strb_clear(&text);
}

/* Do the times of the driver before count as if they were of this one? */
static bool before_holds(const retune *r)
{
    return r->drivers.before[0] && r->drivers.judged && !r->drivers.stale;
}

static retune_state state_of(const retune *r, const retune_shape *shape)
{
    const search_end end = recall_end(r, &shape->shape);
    const bool ended = !isnan(end.gain), changed = shape->n_changed > end.n_changed;
    const bool others = shape->n_changed_before > 0 || shape->lacks[0];
    const uint64_t budget = r->o->tune.budget.configurations;
    const bool held = shape->n_before > 0 && before_holds(r);
    /* The gain that a model of few results expects is no reason to stop, unless nothing is left. */
    const size_t known = shape->n_here + (held ? shape->n_before : 0);
    const double gain = ended ? end.gain : shape->gain;
    const bool enough = gain < r->o->threshold && (known >= ENOUGH || gain <= 0);
    if (held && enough && !changed && !others)
        return RETUNE_DONE;
    if (shape->n_here == 0) {
        if (shape->n_changed > 0 || (held && others))
            return RETUNE_CHANGED;
        if (shape->n_before == 0)
            return RETUNE_NEW;
        if (!r->drivers.judged)
            return RETUNE_EARLIER;
        return r->drivers.stale ? RETUNE_STALE : RETUNE_OPEN;
    }
    if (changed || (others && !ended))
        return RETUNE_CHANGED;
    if (budget > 0 && shape->n_here >= budget)
        return RETUNE_DONE;
    return enough ? RETUNE_DONE : RETUNE_OPEN;
}

/* What is known of one shape here, and what is to be expected; measures nothing. */
static kw_code look(retune *r, retune_shape *shape, kw_error *err)
{
    arms a;
    guide g;
    kw_error why;
    kw_error_clear(&why);
    const tune_options *o = &r->o->tune;
    const context *here = retune_here(r, &shape->shape), *before = retune_before(r, &shape->shape);
    kw_code code = arms_init(&a, o->templates, o->n_templates, &o->types, &r->device->limits, &shape->shape,
                             o->strategy, o->seed, o->budget.configurations, &why);
    if (code == KW_FAILED) {
        shape->state = RETUNE_UNFIT;
        snprintf(shape->lacks, sizeof shape->lacks, "%.250s", why.message);
        return KW_OK;
    }
    if (code != KW_OK)
        return kw_error_set(err, code, "%s", why.message);
    guide_init(&g, r, shape);
    arms_follow(&a, &g.hooks);
    shape->n_before = before ? before->ledger.n : 0;
    /* Rows of an earlier driver whose times hold count as if they were of this one; what was timed since replaces. */
    shape->n_changed_before = 0;
    if (before && before_holds(r))
        guide_tell_known(&g, before, &shape->n_changed_before);
    shape->n_here = guide_tell_known(&g, here, &shape->n_changed);
    shape->gain = informed_gain(g.x);
    shape->agreement = informed_agreement(g.x);
    list_lacks(&a, here, before_holds(r) || shape->n_here == 0 ? before : NULL, shape);
    shape->state = state_of(r, shape);
    guide_clear(&g);
    arms_clear(&a);
    return KW_OK;
}

static kw_code look_at_all(retune *r, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < r->n_shapes; i++) {
        code = look(r, &r->shapes[i], err);
        if (code == KW_OK && evaluator_asked_to_stop(r->e))
            code = kw_error_set(err, KW_INTERRUPTED, "interrupted: nothing was measured");
    }
    return code;
}

/* ---- opening ---- */

static void note_drivers(retune *r)
{
    const char *latest = "";
    for (size_t i = 0; i < r->n_shapes; i++) {
        const task_shape *shape = &r->shapes[i].shape;
        const context *before = retune_before(r, shape), *here = retune_here(r, shape);
        const bool replaced =
            before && here && (here->ledger.n >= before->ledger.n || !isnan(recall_end(r, shape).gain));
        if (before && !replaced && strcmp(before->date, latest) >= 0) {
            latest = before->date;
            snprintf(r->drivers.before, sizeof r->drivers.before, "%s", before->driver);
        }
    }
    snprintf(r->drivers.now, sizeof r->drivers.now, "%s", r->device->driver);
    r->drivers.shift = NAN;
    r->drivers.judged = r->drivers.before[0] == '\0';
    if (!r->drivers.judged)
        retune_recall_verdict(r);
}

static kw_code read_all(retune *r, kw_error *err)
{
    size_t n_used;
    kw_code code = retune_read(r, r->s, store_path(r->s), &n_used, err);
    for (size_t i = 0; code == KW_OK && i < r->o->n_sources; i++) {
        const size_t from = r->notes.length;
        code = retune_read(r, r->o->sources[i], r->o->source_names[i], &n_used, err);
        if (code == KW_OK && n_used == 0) {
            const char *name = r->o->source_names[i], *why = strb_text(&r->notes) + from; /* "NAME: why\n" */
            if (*why)
                why += strlen(name);
            code = kw_error_set(err, KW_BAD_INPUT, "%s: nothing in it can teach %s of these types and templates%.*s",
                                name, r->t->name, (int)strcspn(why, "\n"), why);
        }
    }
    return code;
}

kw_code retune_open(evaluator *e, store *s, const task *t, const retune_options *o, const task_shape *shapes,
                    size_t n_shapes, retune **out, kw_error *err)
{
    retune *r = *out = mem_calloc(1, sizeof *r);
    *r = (retune){.e = e,
                  .s = s,
                  .t = t,
                  .o = o,
                  .device = evaluator_device(e),
                  .mode = o->tune.cold ? "cold" : "warm",
                  .shapes = mem_calloc(n_shapes, sizeof *r->shapes),
                  .n_shapes = n_shapes,
                  .notes = STRB_INIT};
    for (size_t i = 0; i < n_shapes; i++)
        r->shapes[i] = (retune_shape){.shape = shapes[i], .gain = INFINITY, .agreement = NAN};
    for (size_t d = 0; d < t->n_dims; d++)
        r->n_key_dims += t->dims[d].is_key;
    r->book = lessons_new(o->tune.n_templates, r->n_key_dims);
    kw_code code = read_all(r, err);
    if (code == KW_OK) {
        retune_learn(r);
        note_drivers(r);
        code = look_at_all(r, err);
    }
    if (code == KW_OK)
        return KW_OK;
    retune_close(r);
    *out = NULL;
    return code;
}

void retune_close(retune *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_contexts; i++)
        context_clear(&r->contexts[i]);
    lessons_free(r->book);
    free(r->contexts);
    free(r->shapes);
    strb_clear(&r->notes);
    free(r);
}

size_t retune_count(const retune *r)
{
    return r->n_shapes;
}

const retune_shape *retune_at(const retune *r, size_t i)
{
    return &r->shapes[i];
}

size_t retune_lacking(const retune *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_shapes; i++)
        n += r->shapes[i].state != RETUNE_DONE && r->shapes[i].state != RETUNE_UNFIT;
    return n;
}

const retune_drivers *retune_judged(const retune *r)
{
    return &r->drivers;
}

size_t retune_lessons(const retune *r)
{
    return lessons_count(r->book);
}

const char *retune_notes(const retune *r)
{
    return r->notes.length ? r->notes.data : "";
}

kw_code retune_validate(retune *r, kw_error *err)
{
    bool sampled = false;
    kw_code code = retune_time_sample(r, &sampled, err);
    return code == KW_OK && sampled ? look_at_all(r, err) : code;
}

/* ---- the run ---- */

static size_t next_shape(const retune *r, const bool *taken)
{
    double *dims = mem_calloc(r->n_shapes + 1, TASK_MAX_DIMS * sizeof *dims);
    for (size_t i = 0; i < r->n_shapes; i++)
        retune_dims(r->t, &r->shapes[i].shape, dims + i * r->n_key_dims);
    const size_t next = lessons_next_shape(dims, r->n_shapes, r->n_key_dims, taken);
    free(dims);
    return next;
}

static kw_code tune_one_shape(retune *r, retune_shape *shape, kw_error *err)
{
    guide g;
    tune_result result;
    tune_options o = r->o->tune;
    kw_error why;
    kw_error_clear(&why);
    guide_init(&g, r, shape);
    o.guide = &g.hooks;
    kw_code code = tune_shape(r->e, r->s, r->t, &o, &shape->shape, &result, &why);
    if (code == KW_OK && g.x) {
        shape->gain = informed_gain(g.x);
        shape->agreement = informed_agreement(g.x);
        keep_end(r, shape);
    }
    if (r->o->on_shape && code != KW_INTERRUPTED)
        r->o->on_shape(shape, code == KW_OK ? &result : NULL, code == KW_OK ? NULL : &why, r->o->cookie);
    guide_clear(&g);
    tune_result_clear(&result);
    if (code == KW_OK)
        return retune_reread(r, &shape->shape, err);
    return kw_error_set(err, code, "%s", why.message);
}

kw_code retune_run(retune *r, kw_error *err)
{
    bool *taken = mem_calloc(r->n_shapes + 1, sizeof *taken);
    size_t failures = 0, lacking = retune_lacking(r);
    for (size_t i = 0; i < r->n_shapes; i++)
        taken[i] = r->shapes[i].state == RETUNE_DONE || r->shapes[i].state == RETUNE_UNFIT;
    kw_code code = KW_OK;
    for (size_t i; code == KW_OK && (i = next_shape(r, taken)) != SIZE_MAX;) {
        taken[i] = true;
        code = tune_one_shape(r, &r->shapes[i], err);
        if (code == KW_FAILED) {
            failures++;
            code = KW_OK;
        }
    }
    free(taken);
    if (code != KW_OK || failures == 0)
        return code;
    return kw_error_set(err, KW_FAILED, "%zu of %zu shapes failed", failures, lacking);
}
