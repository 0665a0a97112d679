/* The dispatch model put together from what dispatch_choose.c chose. */
#include "tuner/dispatch.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/dispatch_choose.h"
#include "tuner/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dispatch {
    arena *memory;
    choice choice;
    const variant **variants;
    const char **notes;
    header_device *devices;
    header_tree *trees;
    header_row *rows;
    header_model model;
};

/* ---- numbers of variants ---- */

/* By template and configuration, so that a table can be read and a new row moves few lines. */
static int by_name(const void *a, const void *b)
{
    const known_variant *x = *(const known_variant *const *)a, *y = *(const known_variant *const *)b;
    int c = strcmp(x->v->template_name, y->v->template_name);
    if (c == 0)
        c = strcmp(x->config, y->config);
    return c == 0 ? strcmp(x->hash, y->hash) : c;
}

static void mark_used(known_variant *x, known_variant **used, size_t *n)
{
    if (!x || x->number >= 0)
        return;
    x->number = 0;
    used[(*n)++] = x;
}

/* Numbers the variants that the table names; returns them in that order. */
static known_variant **number_variants(dispatch *d, size_t *n)
{
    choice *c = &d->choice;
    known_variant **used = mem_alloc(c->known.n * sizeof *used);
    *n = 0;
    mark_used(c->fallback, used, n);
    for (size_t i = 0; i < c->n_devices; i++) {
        mark_used(c->devices[i].fallback, used, n);
        for (size_t k = 0; k < c->devices[i].n_rows; k++)
            mark_used(c->devices[i].rows[k].variant, used, n);
        for (size_t k = 0; k < c->devices[i].n_columns; k++)
            if (tree_names(&c->devices[i], c->devices[i].columns[k]))
                mark_used(c->devices[i].columns[k], used, n);
    }
    strb config = STRB_INIT;
    for (size_t i = 0; i < *n; i++) {
        strb_reset(&config);
        json_print(used[i]->v->config, &config);
        used[i]->config = arena_strdup(d->memory, strb_text(&config));
    }
    strb_clear(&config);
    qsort(used, *n, sizeof *used, by_name);
    for (size_t i = 0; i < *n; i++)
        used[i]->number = (int)i;
    return used;
}

/* ---- text for people ---- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* On this device: rows that the variant wins, and its level there; false if the device does not name it. */
static bool use_on_device(const chosen_device *dev, const known_variant *x, size_t *n_rows, verified *level)
{
    size_t n = 0;
    const bool general = dev->fallback == x || tree_names(dev, x);
    *level = general ? VERIFIED_GENERAL : VERIFIED_NOT;
    for (size_t k = 0; k < dev->n_rows; k++) {
        if (dev->rows[k].variant != x)
            continue;
        n++;
        if (dev->rows[k].level > *level)
            *level = dev->rows[k].level;
    }
    *n_rows += n;
    return n > 0 || general;
}

static const char *note_of(dispatch *d, const known_variant *x)
{
    const choice *c = &d->choice;
    size_t n_rows = 0;
    bool named = false, differs = false;
    verified level, first = c->fallback_level;
    strb per_device = STRB_INIT;
    for (size_t i = 0; i < c->n_devices; i++) {
        if (!use_on_device(&c->devices[i], x, &n_rows, &level))
            continue;
        differs = differs || (named && level != first);
        strb_printf(&per_device, "%s%s on %s", named ? ", " : "", verified_name(level), c->devices[i].key);
        first = level;
        named = true;
    }
    const char *levels = differs ? strb_text(&per_device) : verified_name(first);
    const char *text = n_rows == 0 ? arena_printf(d->memory, "verified: %s", levels)
                                   : arena_printf(d->memory, "verified: %s; fastest for %zu shape%s", levels, n_rows,
                                                  n_rows == 1 ? "" : "s");
    strb_clear(&per_device);
    return text;
}

static void note_date(const char *date, const char **first, const char **last)
{
    if (!date || !*date)
        return;
    if (!*first || strcmp(date, *first) < 0)
        *first = date;
    if (!*last || strcmp(date, *last) > 0)
        *last = date;
}

/* Adds the text to a list, device names or drivers, unless it is in it. */
static void list_once(strb *list, const char *text)
{
    static const char separator[] = " / ";
    if (!text || !*text)
        return;
    size_t n = strlen(text), gap = sizeof separator - 1;
    for (const char *p = strb_text(list); (p = strstr(p, text)); p++) {
        bool begins =
            p == strb_text(list) || (p - strb_text(list) >= (long)gap && memcmp(p - gap, separator, gap) == 0);
        if (begins && (p[n] == '\0' || strncmp(p + n, separator, gap) == 0))
            return;
    }
    strb_printf(list, "%s%s", list->length > 0 ? separator : "", text);
}

/* What the winners of the device rest on. Only what an export of the winners tells as well. */
static const char *provenance_of(dispatch *d, const chosen_device *dev)
{
    strb names = STRB_INIT, drivers = STRB_INIT, text = STRB_INIT;
    const char *first = NULL, *last = NULL;
    size_t n_rows = 0, n_samples = 0;
    for (size_t i = 0; i < dev->n_rows; i++) {
        const group_source *s = dev->rows[i].source;
        list_once(&names, s->newest.device_name);
        list_once(&drivers, s->newest.driver);
        note_date(s->first_date, &first, &last);
        note_date(s->newest.date, &first, &last);
        n_rows += s->n_rows;
        n_samples += s->newest.time.n;
    }
    strb_printf(&text, "%s, driver %s, ", names.length ? strb_text(&names) : dev->key,
                drivers.length ? strb_text(&drivers) : "unknown");
    if (first && strncmp(first, last, 10) != 0)
        strb_printf(&text, "%.10s to %.10s, ", first, last);
    else if (first)
        strb_printf(&text, "%.10s, ", first);
    strb_printf(&text, "%zu shape%s, %zu measurement%s, %zu sample%s%s", dev->n_rows, plural(dev->n_rows), n_rows,
                plural(n_rows), n_samples, plural(n_samples),
                strcmp(dev->groups[0].mode, "cold") == 0 ? "" : ", caches warm");
    if (dev->has_tree)
        strb_printf(&text, "; %s of %zu %s, %zu variants; regret of shapes left out: mean %.3f, worst %.3f",
                    dev->report.n_cells > 0 ? "grid" : "tree",
                    dev->report.n_cells > 0 ? dev->report.n_cells : dev->report.n_leaves,
                    dev->report.n_cells > 0 ? "cells" : "leaves", dev->report.n_portfolio, dev->report.held_out.mean,
                    dev->report.held_out.worst);
    const char *kept = arena_strdup(d->memory, strb_text(&text));
    strb_clear(&names);
    strb_clear(&drivers);
    strb_clear(&text);
    return kept;
}

/* ---- the model ---- */

/* The device's tree with the model's numbers. */
static const header_tree *tree_of(dispatch *d, size_t number)
{
    const chosen_device *dev = &d->choice.devices[number];
    if (!dev->has_tree)
        return NULL;
    header_tree *t = &d->trees[number];
    *t = dev->tree;
    t->leaves = arena_alloc(d->memory, t->n_leaves * sizeof *t->leaves);
    memcpy(t->leaves, dev->tree.leaves, t->n_leaves * sizeof *t->leaves);
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++)
            if (t->leaves[i].variants[k] >= 0)
                t->leaves[i].variants[k] = dev->columns[t->leaves[i].variants[k]]->number;
    return t;
}

static void fill_model(dispatch *d, const task_types *types, const char *prefix)
{
    const choice *c = &d->choice;
    size_t n_rows = 0, n_variants;
    known_variant **used = number_variants(d, &n_variants);
    d->variants = mem_alloc(n_variants * sizeof *d->variants);
    d->notes = mem_alloc(n_variants * sizeof *d->notes);
    for (size_t i = 0; i < n_variants; i++) {
        d->variants[i] = used[i]->v;
        d->notes[i] = note_of(d, used[i]);
    }
    free(used);
    d->devices = mem_calloc(c->n_devices, sizeof *d->devices);
    d->trees = mem_calloc(c->n_devices, sizeof *d->trees);
    for (size_t i = 0; i < c->n_devices; i++)
        n_rows += c->devices[i].n_rows;
    d->rows = mem_calloc(n_rows, sizeof *d->rows);
    n_rows = 0;
    for (size_t i = 0; i < c->n_devices; i++) {
        const chosen_device *dev = &c->devices[i];
        d->devices[i] =
            (header_device){dev->key, provenance_of(d, dev), dev->fallback ? dev->fallback->number : -1, tree_of(d, i)};
        for (size_t k = 0; k < dev->n_rows; k++) {
            header_row *row = &d->rows[n_rows++];
            row->device = (int)i;
            row->variant = dev->rows[k].variant->number;
            row->expected_regret = 1;
            memcpy(row->dims, dev->rows[k].shape.dims, sizeof row->dims);
        }
    }
    d->model = (header_model){.task = c->t,
                              .types = *types,
                              .prefix = arena_strdup(d->memory, prefix),
                              .variants = d->variants,
                              .n_variants = n_variants,
                              .variant_notes = d->notes,
                              .devices = d->devices,
                              .n_devices = c->n_devices,
                              .rows = d->rows,
                              .n_rows = n_rows,
                              .default_variant = c->fallback->number,
                              .tool_version = KERNWRIGHT_VERSION};
}

/* ---- nothing to emit: why ---- */

static bool count_row(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return true;
}

static kw_code no_rows(store *s, const task *t, const char *types, const char *device_key, kw_error *err)
{
    size_t n_all = 0, n_task = 0, n_types = 0, n_device = 0;
    store_query all = {.task = t->name, .only_ok = true}, same_task = all, same_types, same_device;
    same_task.task_hash = t->hash;
    same_types = same_task;
    same_types.types = types;
    same_device = same_types;
    same_device.device_key = device_key;
    kw_code code = store_each(s, &all, count_row, &n_all, err);
    if (code == KW_OK)
        code = store_each(s, &same_task, count_row, &n_task, err);
    if (code == KW_OK)
        code = store_each(s, &same_types, count_row, &n_types, err);
    if (code == KW_OK)
        code = store_each(s, &same_device, count_row, &n_device, err);
    if (code != KW_OK)
        return code;
    const char *path = store_path(s);
    if (n_all == 0)
        return kw_error_set(err, KW_FAILED, "%s holds nothing for task %s: run `kernwright tune %s` first", path,
                            t->name, t->name);
    if (n_task == 0)
        return kw_error_set(err, KW_FAILED,
                            "%s holds %s only as the task was before its definition changed: run `kernwright tune "
                            "%s` again",
                            path, t->name, t->name);
    if (n_types == 0)
        return kw_error_set(err, KW_FAILED,
                            "%s holds nothing for %s with %s: tune it with --type, or emit another type", path, t->name,
                            types);
    if (n_device == 0)
        return kw_error_set(err, KW_FAILED, "%s holds nothing for %s on %s: `kernwright devices` lists the keys", path,
                            t->name, device_key);
    return kw_error_set(err, KW_FAILED,
                        "%s holds %s only as a newer kernwright timed it: take that one, or run `kernwright tune %s` "
                        "with this one",
                        path, t->name, t->name);
}

static kw_code no_winner(store *s, const choice *c, kw_error *err)
{
    size_t n_ok = 0, n_known = 0;
    for (size_t i = 0; i < c->groups.n; i++)
        for (size_t k = 0; k < c->groups.items[i].ledger.n; k++) {
            const ledger_entry *e = &c->groups.items[i].ledger.entries[k];
            n_ok += e->ok && e->time.n > 0;
            n_known += e->ok && e->time.n > 0 && e->verified != VERIFIED_NOT;
        }
    if (n_ok == 0)
        return kw_error_set(err, KW_FAILED,
                            "%s: no configuration of %s came out ok: `kernwright results show --failed` says why",
                            store_path(s), c->t->name);
    if (n_known == 0 && !c->allow_unverified)
        return kw_error_set(err, KW_FAILED,
                            "%s: no measurement of %s was checked against a reference: give the task one, or emit "
                            "with --unverified",
                            store_path(s), c->t->name);
    return kw_error_set(err, KW_FAILED,
                        "%s holds no OpenCL source of a measured variant of %s: run `kernwright tune %s`, or export "
                        "the results again",
                        store_path(s), c->t->name, c->t->name);
}

/* ---- entry points ---- */

static kw_code choose(dispatch *d, store *s, const char *types, const char *device_key, kw_error *err)
{
    choice *c = &d->choice;
    kw_code code = choose_load(c, s, types, device_key, err);
    if (code == KW_OK && c->groups.n == 0 && c->groups.n_rejections > 0)
        code = kw_error_set(err, KW_FAILED,
                            "%s: no measurement of %s is believed: `kernwright results show --rejected` says why",
                            store_path(s), c->t->name);
    else if (code == KW_OK && c->groups.n == 0)
        code = no_rows(s, c->t, types, device_key, err);
    if (code == KW_OK)
        code = choose_all(c, s, err);
    if (code == KW_OK && c->n_devices == 0)
        code = no_winner(s, c, err);
    if (code == KW_OK && !c->fallback)
        code = kw_error_set(err, KW_FAILED,
                            "%s holds no checked result of a fallback template of %s, which every header needs: run "
                            "`kernwright tune %s`, which measures it, with a template that says \"fallback\": true",
                            store_path(s), c->t->name, c->t->name);
    return code;
}

kw_code dispatch_build(store *s, const task *t, const task_types *types, const dispatch_options *o, dispatch **out,
                       kw_error *err)
{
    *out = NULL;
    dispatch *d = mem_calloc(1, sizeof *d);
    d->memory = arena_new();
    d->choice.t = t;
    d->choice.allow_unverified = o->allow_unverified;
    d->choice.n_portfolio = o->n_variants;
    d->choice.shapes = o->shapes;
    d->choice.n_shapes = o->n_shapes;
    strb types_text = STRB_INIT;
    task_types_print(t, types, &types_text);
    kw_code code = choose(d, s, strb_text(&types_text), o->device_key, err);
    strb_clear(&types_text);
    if (code != KW_OK) {
        dispatch_free(d);
        return code;
    }
    if (d->choice.groups.n_rejections > 0)
        log_info(
            "%s: %zu measurements of %s are not believed and left out: `kernwright results show --rejected` says why",
            store_path(s), d->choice.groups.n_rejections, t->name);
    if (d->choice.n_without_text > 0)
        log_warn("%s: for %zu shapes the fastest variant has no source text here, the next one is used", store_path(s),
                 d->choice.n_without_text);
    if (d->choice.fallback_level != VERIFIED_GENERAL)
        log_warn("the fallback of %s was checked for its measured shapes only, not for every edge shape", t->name);
    fill_model(d, types, o->prefix);
    *out = d;
    return KW_OK;
}

const dispatch_report *dispatch_device_report(const dispatch *d, size_t number)
{
    return &d->choice.devices[number].report;
}

const header_model *dispatch_model(const dispatch *d)
{
    return &d->model;
}

void dispatch_free(dispatch *d)
{
    if (!d)
        return;
    choice_clear(&d->choice);
    free(d->variants);
    free(d->notes);
    free(d->devices);
    free(d->trees);
    free(d->rows);
    arena_free(d->memory);
    free(d);
}
