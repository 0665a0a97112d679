/* What was measured on all devices, as lessons for the retune of one. */
#include "tuner/retune_internal.h"

#include "base/mem.h"
#include "tuner/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void retune_dims(const task *t, const task_shape *shape, double *out)
{
    size_t n = 0;
    for (size_t d = 0; d < t->n_dims; d++)
        if (t->dims[d].is_key)
            out[n++] = log2(1 + (double)shape->dims[d]);
}

bool retune_same_shape(const task *t, const task_shape *a, const task_shape *b)
{
    return memcmp(a->dims, b->dims, t->n_dims * sizeof a->dims[0]) == 0;
}

size_t retune_template(const retune *r, const char *name)
{
    for (size_t i = 0; i < r->o->tune.n_templates; i++)
        if (strcmp(r->o->tune.templates[i]->name, name) == 0)
            return i;
    return SIZE_MAX;
}

size_t retune_longest(const retune *r)
{
    size_t longest = 1;
    for (size_t i = 0; i < r->o->tune.n_templates; i++)
        if (r->o->tune.templates[i]->n_params > longest)
            longest = r->o->tune.templates[i]->n_params;
    return longest;
}

bool retune_config(const retune *r, const ledger_entry *e, size_t *family, uint32_t *config)
{
    *family = retune_template(r, e->template_name);
    if (*family == SIZE_MAX)
        return false;
    kw_error ignored;
    json *j = json_parse(e->config, strlen(e->config), "store", 1, 1, &ignored);
    bool found = j && template_config_recall(r->o->tune.templates[*family], j, config);
    json_free(j);
    return found;
}

/* ---- reading ---- */

typedef struct reader {
    retune *r;
    char *scalars; /* the timed ones */
    bool is_store;
    size_t n_used, n_other_version, n_other_scalars, n_no_shape, n_nameless, n_gone;
    size_t first;   /* contexts of this store begin here */
    char gone[128]; /* a template of theirs that is not here */
} reader;

static bool parse_shape(const task *t, const char *text, task_shape *out)
{
    kw_error ignored;
    json *j = json_parse(text, strlen(text), "store", 1, 1, &ignored);
    bool ok = j && task_shape_from_json(t, j, "store", out, &ignored) == KW_OK;
    json_free(j);
    return ok;
}

/* Rows come sorted by device, mode, shape and timing version: the context is among the latest, or new. */
static context *context_of(reader *q, const measurement *m, const task_shape *shape)
{
    retune *r = q->r;
    const bool here = strcmp(m->device_key, r->device->key) == 0;
    for (size_t i = r->n_contexts; i-- > q->first;) {
        context *c = &r->contexts[i];
        if (strcmp(c->device_key, m->device_key) != 0 || strcmp(c->mode, m->mode) != 0 ||
            c->timing_version != m->timing_version || !retune_same_shape(r->t, &c->shape, shape))
            break;
        if (!here || strcmp(c->driver, m->driver ? m->driver : "") == 0)
            return c;
    }
    r->contexts = mem_grow(r->contexts, &r->capacity, r->n_contexts + 1, sizeof *r->contexts);
    context *c = &r->contexts[r->n_contexts++];
    *c = (context){.device_key = mem_strdup(m->device_key),
                   .driver = mem_strdup(m->driver ? m->driver : ""),
                   .mode = mem_strdup(m->mode),
                   .date = mem_strdup(""),
                   .shape = *shape,
                   .timing_version = m->timing_version,
                   .from_store = q->is_store,
                   .ledger = LEDGER_INIT};
    return c;
}

static bool read_row(const measurement *m, void *cookie)
{
    reader *q = cookie;
    task_shape shape = {.weight = 1};
    if (strcmp(m->task_hash, q->r->t->hash) != 0) {
        q->n_other_version++;
        return true;
    }
    if (strcmp(m->scalars, q->scalars) != 0) {
        q->n_other_scalars++;
        return true;
    }
    if (!parse_shape(q->r->t, m->shape, &shape)) {
        q->n_no_shape++;
        return true;
    }
    if (!m->template_name || !m->config) {
        q->n_nameless++;
        return true;
    }
    if (retune_template(q->r, m->template_name) == SIZE_MAX) {
        q->n_gone++;
        snprintf(q->gone, sizeof q->gone, "%s", m->template_name);
        return true;
    }
    context *c = context_of(q, m, &shape);
    ledger_add(&c->ledger, m);
    if (m->date && strcmp(m->date, c->date) > 0) {
        free(c->date);
        c->date = mem_strdup(m->date);
    }
    q->n_used++;
    return true;
}

static char *timed_scalars(const retune *r)
{
    rows x;
    rows_init(&x, r->e, r->t, &r->o->tune.types, &r->shapes[0].shape, r->o->tune.cold);
    char *text = mem_strdup(x.scalars);
    rows_clear(&x);
    return text;
}

static void note_unused(retune *r, const reader *q, const char *name)
{
    if (q->n_other_version > 0)
        strb_printf(&r->notes, "%s: %zu rows are of another version of %s\n", name, q->n_other_version, r->t->name);
    if (q->n_other_scalars > 0)
        strb_printf(&r->notes, "%s: %zu rows have other scalars than %s\n", name, q->n_other_scalars, q->scalars);
    if (q->n_no_shape > 0)
        strb_printf(&r->notes, "%s: %zu rows have shapes that %s does not have\n", name, q->n_no_shape, r->t->name);
    if (q->n_nameless > 0)
        strb_printf(&r->notes, "%s: %zu rows do not name their template and configuration\n", name, q->n_nameless);
    if (q->n_gone > 0)
        strb_printf(&r->notes, "%s: %zu rows are of templates that are not here, such as %s\n", name, q->n_gone,
                    q->gone);
}

kw_code retune_read(retune *r, store *s, const char *name, size_t *n_used, kw_error *err)
{
    strb types = STRB_INIT;
    task_types_print(r->t, &r->o->tune.types, &types);
    reader q = {.r = r, .scalars = timed_scalars(r), .is_store = s == r->s, .first = r->n_contexts};
    const store_query all = {.task = r->t->name, .types = strb_text(&types)};
    kw_code code = store_each(s, &all, read_row, &q, err);
    note_unused(r, &q, name);
    *n_used = q.n_used;
    free(q.scalars);
    strb_clear(&types);
    return code;
}

/* ---- lessons ---- */

static lesson *lesson_of(retune *r, const context *c)
{
    double dims[TASK_MAX_DIMS];
    uint32_t *config = mem_calloc(retune_longest(r), sizeof *config);
    lesson *l = NULL;
    retune_dims(r->t, &c->shape, dims);
    for (size_t i = 0; i < c->ledger.n; i++) {
        const ledger_entry *e = &c->ledger.entries[i];
        size_t family;
        if (!retune_config(r, e, &family, config))
            continue;
        if (!l)
            l = lessons_add(r->book, c->device_key, dims);
        lesson_add(l, family, r->o->tune.templates[family]->n_params, config, e->ok && e->time.n > 0, e->time.median);
    }
    free(config);
    return l;
}

void retune_learn(retune *r)
{
    for (size_t i = 0; i < r->n_contexts; i++)
        if (!r->contexts[i].lesson)
            r->contexts[i].lesson = lesson_of(r, &r->contexts[i]);
}

/* ---- this device ---- */

static bool is_of(const retune *r, const context *c, const task_shape *shape)
{
    return c->from_store && c->timing_version == TIMING_VERSION && strcmp(c->device_key, r->device->key) == 0 &&
           strcmp(c->mode, r->mode) == 0 && retune_same_shape(r->t, &c->shape, shape);
}

const context *retune_here(const retune *r, const task_shape *shape)
{
    for (size_t i = r->n_contexts; i-- > 0;)
        if (is_of(r, &r->contexts[i], shape) && strcmp(r->contexts[i].driver, r->device->driver) == 0)
            return &r->contexts[i];
    return NULL;
}

const context *retune_before(const retune *r, const task_shape *shape)
{
    const context *latest = NULL;
    for (size_t i = 0; i < r->n_contexts; i++) {
        const context *c = &r->contexts[i];
        if (is_of(r, c, shape) && strcmp(c->driver, r->device->driver) != 0 &&
            (!latest || strcmp(c->date, latest->date) >= 0))
            latest = c;
    }
    return latest;
}

void context_clear(context *c)
{
    free(c->device_key);
    free(c->driver);
    free(c->mode);
    free(c->date);
    ledger_clear(&c->ledger);
}

/* What was known of the shape here gives way to what is read again: the same rows do not teach twice. */
static void forget_here(retune *r, const task_shape *shape)
{
    const context *here = retune_here(r, shape);
    if (!here)
        return;
    context *c = &r->contexts[here - r->contexts];
    lessons_remove(r->book, c->lesson);
    context_clear(c);
    r->n_contexts--;
    memmove(c, c + 1, (size_t)(r->contexts + r->n_contexts - c) * sizeof *c);
}

kw_code retune_reread(retune *r, const task_shape *shape, kw_error *err)
{
    rows x;
    forget_here(r, shape);
    rows_init(&x, r->e, r->t, &r->o->tune.types, shape, r->o->tune.cold);
    const store_query here = rows_query(&x);
    reader q = {.r = r, .scalars = x.scalars, .is_store = true, .first = r->n_contexts};
    kw_code code = store_each(r->s, &here, read_row, &q, err);
    rows_clear(&x);
    retune_learn(r);
    return code;
}
