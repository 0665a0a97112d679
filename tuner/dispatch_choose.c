#include "tuner/dispatch_choose.h"

#include "base/mem.h"
#include "tuner/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variants in the store ---- */

static bool note_known(const store_variant_row *row, void *cookie)
{
    known_variants *k = cookie;
    k->items = mem_grow(k->items, &k->capacity, k->n + 1, sizeof *k->items);
    known_variant *x = &k->items[k->n++];
    *x = (known_variant){
        .is_fallback = row->is_fallback, .is_opencl = strcmp(row->language, "opencl") == 0, .number = -1};
    snprintf(x->hash, sizeof x->hash, "%s", row->source_hash);
    return true;
}

static int by_hash(const void *key, const void *item)
{
    return strcmp(key, ((const known_variant *)item)->hash);
}

known_variant *find_known(const known_variants *k, const char *source_hash)
{
    return k->n > 0 ? bsearch(source_hash, k->items, k->n, sizeof *k->items, by_hash) : NULL;
}

/* ---- winners ---- */

static bool is_checked(const ledger_entry *e, void *cookie)
{
    const choice *c = cookie;
    return c->allow_unverified || e->verified != VERIFIED_NOT;
}

static bool can_be_emitted(const ledger_entry *e, void *cookie)
{
    const choice *c = cookie;
    const known_variant *x = find_known(&c->known, e->source_hash);
    return is_checked(e, cookie) && x && x->is_opencl;
}

static const ledger_entry *winner_of(choice *c, const results_group *g)
{
    return ledger_winner(&g->ledger, can_be_emitted, c);
}

/* Groups of one device, API and mode: how much they are wanted; 0: they have no winner. Cold times are what a program
 * meets that does other things in between. */
static int rank_context(choice *c, const results_group *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (winner_of(c, &g[i]))
            return 1 + 2 * (strcmp(g->api, "opencl") == 0) + (strcmp(g->mode, "cold") == 0);
    return 0;
}

static size_t context_length(const results_groups *all, size_t from)
{
    size_t n = 1;
    while (from + n < all->n && results_same_context(&all->items[from], &all->items[from + n]))
        n++;
    return n;
}

/* The same shape but for strides: one row can be kept. */
static bool same_key(const task *t, const task_shape *a, const task_shape *b)
{
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key && a->dims[i] != b->dims[i])
            return false;
    return true;
}

/* Have the dims that are not in the key their defaults? */
static bool is_plain(const task *t, const task_shape *shape)
{
    json *key = json_new_object();
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key)
            json_set_int(key, t->dims[i].name, shape->dims[i]);
    task_shape plain;
    bool same = task_shape_from_json(t, key, "shape", &plain, NULL) == KW_OK &&
                memcmp(plain.dims, shape->dims, t->n_dims * sizeof *plain.dims) == 0;
    json_free(key);
    return same;
}

typedef struct sorted_row {
    chosen_row row;
    const task *t;
    bool plain;
} sorted_row;

/* By key dims; of equal ones the one without strides first, then by the other dims. */
static int by_shape(const void *a, const void *b)
{
    const sorted_row *x = a, *y = b;
    const int64_t *p = x->row.shape.dims, *q = y->row.shape.dims;
    for (size_t i = 0; i < x->t->n_dims; i++)
        if (x->t->dims[i].is_key && p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    if (x->plain != y->plain)
        return x->plain ? -1 : 1;
    for (size_t i = 0; i < x->t->n_dims; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return strcmp(x->row.variant->hash, y->row.variant->hash);
}

static kw_code read_shape(const choice *c, const results_group *g, task_shape *out, kw_error *err)
{
    json *j = json_parse(g->shape, strlen(g->shape), "shape", 1, 1, err);
    memset(out, 0, sizeof *out);
    kw_code code = j ? task_shape_from_json(c->t, j, "shape", out, err) : KW_BAD_INPUT;
    json_free(j);
    return code == KW_OK ? code : kw_error_prefix(err, "a measurement of %s on %s", c->t->name, g->device_key);
}

static kw_code choose_rows(choice *c, chosen_device *d, kw_error *err)
{
    sorted_row *rows = mem_calloc(d->n_groups, sizeof *rows);
    size_t n = 0;
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < d->n_groups; i++) {
        const results_group *g = &d->groups[i];
        const ledger_entry *w = winner_of(c, g), *any = ledger_winner(&g->ledger, is_checked, c);
        c->n_without_text += any && any != w && !find_known(&c->known, any->source_hash);
        if (!w)
            continue;
        sorted_row *x = &rows[n++];
        x->t = c->t;
        x->row.group = g;
        x->row.source = &g->sources[w - g->ledger.entries];
        x->row.level = w->verified;
        x->row.variant = find_known(&c->known, w->source_hash);
        code = read_shape(c, g, &x->row.shape, err);
        x->plain = code == KW_OK && is_plain(c->t, &x->row.shape);
    }
    if (code == KW_OK && n > 0)
        qsort(rows, n, sizeof *rows, by_shape);
    d->rows = mem_calloc(n, sizeof *d->rows);
    for (size_t i = 0; code == KW_OK && i < n; i++) {
        if (d->n_rows > 0 && same_key(c->t, &d->rows[d->n_rows - 1].shape, &rows[i].row.shape))
            continue;
        rows[i].row.variant->wanted = true;
        d->rows[d->n_rows++] = rows[i].row;
    }
    free(rows);
    return code;
}

static kw_code choose_devices(choice *c, kw_error *err)
{
    const results_groups *all = &c->groups;
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < all->n;) {
        const char *key = all->items[i].device_key;
        chosen_device d = {.key = key};
        int best = 0;
        while (i < all->n && strcmp(all->items[i].device_key, key) == 0) {
            size_t n = context_length(all, i);
            int rank = rank_context(c, &all->items[i], n);
            if (rank > best) {
                best = rank;
                d.groups = &all->items[i];
                d.n_groups = n;
            }
            i += n;
        }
        if (best == 0)
            continue;
        code = choose_rows(c, &d, err);
        c->devices = mem_grow(c->devices, &c->capacity, c->n_devices + 1, sizeof *c->devices);
        c->devices[c->n_devices++] = d;
    }
    return code;
}

/* ---- texts ---- */

typedef struct text_reader {
    choice *c;
    store *s;
    known_variant **wanted;
    kw_code code;
    kw_error *err;
} text_reader;

static bool read_variant(size_t i, const store_variant_row *row, void *cookie)
{
    text_reader *r = cookie;
    r->code = store_read_variant(r->s, r->c->t, row, &r->wanted[i]->v, r->err);
    return r->code == KW_OK;
}

static kw_code read_wanted(choice *c, store *s, kw_error *err)
{
    known_variant **wanted = mem_alloc(c->known.n * sizeof *wanted);
    const char **hashes = mem_alloc(c->known.n * sizeof *hashes);
    size_t n = 0;
    for (size_t k = 0; k < c->known.n; k++)
        if (c->known.items[k].wanted && !c->known.items[k].v) {
            hashes[n] = c->known.items[k].hash;
            wanted[n++] = &c->known.items[k];
        }
    text_reader r = {.c = c, .s = s, .wanted = wanted, .err = err};
    kw_code code = store_variant_texts(s, c->t->hash, hashes, n, read_variant, &r, err);
    free(wanted);
    free(hashes);
    return code == KW_OK ? r.code : code;
}

/* ---- defaults ---- */

static bool is_fallback(const ledger_entry *e, void *cookie)
{
    const choice *c = cookie;
    const known_variant *x = find_known(&c->known, e->source_hash);
    return can_be_emitted(e, cookie) && x->is_fallback;
}

/* General ones may serve any shape; where no fallback is general, the fastest of each shape stands by. */
static void want_defaults(choice *c)
{
    bool general_fallback = false;
    for (size_t d = 0; d < c->n_devices; d++)
        for (size_t i = 0; i < c->devices[d].n_groups; i++) {
            const ledger *l = &c->devices[d].groups[i].ledger;
            for (size_t k = 0; k < l->n; k++) {
                known_variant *x = find_known(&c->known, l->entries[k].source_hash);
                if (!l->entries[k].ok || l->entries[k].verified != VERIFIED_GENERAL || !x || !x->is_opencl)
                    continue;
                x->wanted = true;
                general_fallback = general_fallback || x->is_fallback;
            }
        }
    for (size_t d = 0; !general_fallback && d < c->n_devices; d++)
        for (size_t i = 0; i < c->devices[d].n_groups; i++) {
            const ledger_entry *e = ledger_fastest(&c->devices[d].groups[i].ledger, is_fallback, c);
            if (e)
                find_known(&c->known, e->source_hash)->wanted = true;
        }
}

bool serves_all_shapes(const variant *v)
{
    for (size_t i = 0; i < v->task->n_dims; i++)
        if (v->fixed_dims[i] >= 0)
            return false;
    return true;
}

/* Per variant, by its place in c->known. */
typedef struct score {
    double speed;     /* sum over shapes of log(slowest general time / this one's) */
    size_t n_shapes;  /* it was measured on */
    size_t n_devices; /* it is general on */
} score;

static bool may_be_default(const ledger_entry *e, const known_variant *x)
{
    return e->ok && e->time.n > 0 && e->verified == VERIFIED_GENERAL && x && x->v && serves_all_shapes(x->v);
}

static void add_group_scores(const choice *c, const results_group *g, score *scores)
{
    double slowest = 0;
    for (size_t k = 0; k < g->ledger.n; k++) {
        const ledger_entry *e = &g->ledger.entries[k];
        if (may_be_default(e, find_known(&c->known, e->source_hash)) && e->time.median > slowest)
            slowest = e->time.median;
    }
    for (size_t k = 0; k < g->ledger.n; k++) {
        const ledger_entry *e = &g->ledger.entries[k];
        const known_variant *x = find_known(&c->known, e->source_hash);
        if (!may_be_default(e, x))
            continue;
        scores[x - c->known.items].speed += log(slowest / e->time.median);
        scores[x - c->known.items].n_shapes++;
    }
}

/* The mean over all shapes of the device ranks like the sum. Then more shapes, then the lower hash. */
static void choose_device_default(choice *c, chosen_device *d, score *total)
{
    score *scores = mem_calloc(c->known.n, sizeof *scores);
    for (size_t i = 0; i < d->n_groups; i++)
        add_group_scores(c, &d->groups[i], scores);
    const score *best = NULL;
    for (size_t k = 0; k < c->known.n; k++) {
        const score *x = &scores[k];
        if (x->n_shapes == 0)
            continue;
        total[k].n_shapes += x->n_shapes;
        total[k].n_devices++;
        if (!best || x->speed > best->speed || (x->speed == best->speed && x->n_shapes > best->n_shapes))
            best = x;
    }
    d->fallback = best ? &c->known.items[best - scores] : NULL;
    free(scores);
}

/* Not general anywhere, but verified for the shapes it was measured on. */
static void count_stand_ins(choice *c, score *total)
{
    for (size_t d = 0; d < c->n_devices; d++)
        for (size_t i = 0; i < c->devices[d].n_groups; i++) {
            const ledger_entry *e = ledger_fastest(&c->devices[d].groups[i].ledger, is_fallback, c);
            const known_variant *x = e ? find_known(&c->known, e->source_hash) : NULL;
            if (x && x->v && serves_all_shapes(x->v))
                total[x - c->known.items].n_shapes++;
        }
}

/* The highest that it has anywhere. */
static verified level_of(const choice *c, const known_variant *x)
{
    verified level = VERIFIED_NOT;
    for (size_t i = 0; i < c->groups.n; i++) {
        const ledger_entry *e = ledger_find(&c->groups.items[i].ledger, x->hash);
        if (e && e->ok && e->verified > level)
            level = e->verified;
    }
    return level;
}

static void choose_header_default(choice *c, score *total)
{
    bool any = false;
    for (size_t k = 0; k < c->known.n; k++)
        any = any || (c->known.items[k].is_fallback && total[k].n_devices > 0);
    if (!any)
        count_stand_ins(c, total);
    const score *best = NULL;
    for (size_t k = 0; k < c->known.n; k++) {
        const score *x = &total[k];
        if (!c->known.items[k].is_fallback || x->n_shapes == 0)
            continue;
        if (!best || x->n_devices > best->n_devices ||
            (x->n_devices == best->n_devices && x->n_shapes > best->n_shapes))
            best = x;
    }
    if (best) {
        c->fallback = &c->known.items[best - total];
        c->fallback_level = best->n_devices > 0 ? VERIFIED_GENERAL : level_of(c, c->fallback);
    }
}

/* ---- the last resort: a fallback checked with an older driver, or on a device that is not in the table ---- */

typedef struct resort {
    choice *c;
    struct {
        size_t n_rows;
        verified level;
    } * seen; /* by the place in c->known */
} resort;

static bool note_fallback_row(const measurement *m, void *cookie)
{
    resort *r = cookie;
    const known_variant *x = find_known(&r->c->known, m->source_hash);
    if (!x || !x->is_fallback || !x->is_opencl || (m->verified == VERIFIED_NOT && !r->c->allow_unverified))
        return true;
    size_t k = (size_t)(x - r->c->known.items);
    r->seen[k].n_rows++;
    if (m->verified > r->seen[k].level)
        r->seen[k].level = m->verified;
    return true;
}

static bool failed_here(const choice *c, const known_variant *x)
{
    for (size_t i = 0; i < c->groups.n; i++) {
        const ledger_entry *e = ledger_find(&c->groups.items[i].ledger, x->hash);
        if (e && !e->ok)
            return true;
    }
    return false;
}

static kw_code choose_last_resort(choice *c, store *s, kw_error *err)
{
    resort r = {.c = c, .seen = mem_calloc(c->known.n, sizeof *r.seen)};
    store_query q = {.task_hash = c->t->hash, .types = c->groups.items[0].types, .only_ok = true};
    kw_code code = store_each(s, &q, note_fallback_row, &r, err);
    for (size_t k = 0; k < c->known.n; k++)
        c->known.items[k].wanted = r.seen[k].n_rows > 0 && !failed_here(c, &c->known.items[k]);
    if (code == KW_OK)
        code = read_wanted(c, s, err);
    for (size_t k = 0; code == KW_OK && k < c->known.n; k++) {
        known_variant *x = &c->known.items[k];
        size_t best = c->fallback ? (size_t)(c->fallback - c->known.items) : 0;
        if (!x->wanted || !x->v || !serves_all_shapes(x->v))
            continue;
        if (!c->fallback || r.seen[k].level > r.seen[best].level ||
            (r.seen[k].level == r.seen[best].level && r.seen[k].n_rows > r.seen[best].n_rows)) {
            c->fallback = x;
            c->fallback_level = r.seen[k].level;
        }
    }
    free(r.seen);
    return code;
}

/* ---- entry points ---- */

static char *timed_scalars(const task *t)
{
    json *scalars = json_new_object();
    for (size_t i = 0; i < t->n_scalars; i++)
        json_set_number(scalars, t->scalars[i].name, t->scalars[i].values[0]);
    strb text = STRB_INIT;
    json_print(scalars, &text);
    json_free(scalars);
    return strb_take(&text);
}

kw_code choose_load(choice *c, store *s, const char *types, const char *device_key, kw_error *err)
{
    char *scalars = timed_scalars(c->t);
    const store_query q = {.task = c->t->name,
                           .task_hash = c->t->hash,
                           .types = types,
                           .scalars = scalars,
                           .device_key = device_key,
                           .latest_timing = TIMING_VERSION};
    kw_code code = results_groups_load(s, &q, false, &c->groups, err);
    free(scalars);
    return code;
}

kw_code choose_all(choice *c, store *s, kw_error *err)
{
    kw_code code = store_each_variant(s, NULL, c->t->hash, false, note_known, &c->known, err);
    if (code == KW_OK)
        code = choose_devices(c, err);
    if (code != KW_OK)
        return code;
    want_defaults(c);
    code = read_wanted(c, s, err);
    if (code != KW_OK)
        return code;
    score *total = mem_calloc(c->known.n, sizeof *total);
    for (size_t d = 0; d < c->n_devices; d++)
        choose_device_default(c, &c->devices[d], total);
    choose_header_default(c, total);
    free(total);
    choose_trees(c);
    return c->fallback || c->n_devices == 0 ? KW_OK : choose_last_resort(c, s, err);
}

void choice_clear(choice *c)
{
    for (size_t k = 0; k < c->known.n; k++)
        variant_free(c->known.items[k].v);
    free(c->known.items);
    for (size_t d = 0; d < c->n_devices; d++) {
        free(c->devices[d].rows);
        free(c->devices[d].columns);
        costs_clear(&c->devices[d].costs);
        free(c->devices[d].tree.nodes);
        free(c->devices[d].tree.leaves);
        if (c->devices[d].tree.grid)
            free(c->devices[d].tree.grid->leaf);
        free(c->devices[d].tree.grid);
    }
    free(c->devices);
    results_groups_clear(&c->groups);
}
