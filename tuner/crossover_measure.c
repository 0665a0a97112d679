/* What crossover_compare lacks on one device. */
#include "base/mem.h"
#include "tuner/crossover.h"
#include "tuner/dispatch_choose.h"
#include "tuner/rows.h"

#include <stdlib.h>
#include <string.h>

typedef struct session {
    evaluator *e;
    store *s;
    const task *t;
    const task_types *types;
    const crossover_options *o;
    crossover_counts *counts;
    case_source cases;
    variant *trusted;
} session;

static kw_code open_session(session *q, kw_error *err)
{
    const device_limits *limits = &evaluator_device(q->e)->limits;
    kw_code code = KW_OK;
    if (q->o->fallback) {
        uint32_t *config = mem_calloc(q->o->fallback->n_params + 1, sizeof *config);
        template_default(q->o->fallback, config);
        code = variant_expand(q->o->fallback, q->types, config, NULL, &q->trusted, err);
        free(config);
    }
    return code == KW_OK ? case_source_init(&q->cases, q->t, q->types, limits, q->trusted, q->o->seed, err) : code;
}

static void close_session(session *q)
{
    case_source_clear(&q->cases);
    variant_free(q->trusted);
}

/* Runs one and keeps what came out. */
static kw_code run(session *q, const variant *v, const task_shape *shape, candidate_kind kind, timing_method method,
                   double hopeless_ns, kw_error *err)
{
    char date[21];
    rows r;
    strb config = STRB_INIT;
    candidate c = {
        .kind = kind, .variant = v, .cases = &q->cases, .target = *shape, .method = method, .hopeless_ns = hopeless_ns};
    evaluator_submit(q->e, &c);
    if (!evaluator_next(q->e, err)) {
        evaluator_forget(q->e);
        return err->code;
    }
    json_print(v->config, &config);
    rows_init(&r, q->e, q->t, q->types, shape, q->o->cold);
    rows_use_probe(&r, q->o->probe);
    const measurement m =
        rows_make(&r, v, config.data, &c.record, q->t->reference ? VERIFIED_EXACT : VERIFIED_NOT, date);
    kw_code code = store_add(q->s, &m, err);
    q->counts->measured++;
    q->counts->failed += m.outcome != OUTCOME_OK;
    if (q->o->on_progress)
        q->o->on_progress(shape, &m, q->o->cookie);
    rows_clear(&r);
    strb_clear(&config);
    job_record_clear(&c.record);
    return code;
}

static bool is_missing(const chosen_row *own, const char *hash)
{
    const ledger_entry *best = ledger_find(&own->group->ledger, own->variant->hash),
                       *e = ledger_find(&own->group->ledger, hash);
    if (!e)
        return true;
    return e->ok && (e->time.n == 0 || (best->method && e->method && strcmp(best->method, e->method) != 0));
}

static timing_method method_of(const chosen_row *own)
{
    const ledger_entry *best = ledger_find(&own->group->ledger, own->variant->hash);
    return best->method && strcmp(best->method, timing_method_name(TIMING_BATCH)) == 0 ? TIMING_BATCH : TIMING_EVENTS;
}

/* One shape: the others' winners that lack a time here, then the own one again, which met the same conditions. */
static kw_code measure_shape(session *q, const choice *c, const chosen_device *here, const chosen_row *own,
                             kw_error *err)
{
    const char *done[64];
    size_t n_done = 0;
    kw_code code = KW_OK;
    for (size_t d = 0; d < c->n_devices && code == KW_OK; d++) {
        const chosen_device *from = &c->devices[d];
        for (size_t i = 0; from != here && i < from->n_rows && code == KW_OK; i++) {
            const known_variant *x = from->rows[i].variant;
            bool seen = false;
            if (memcmp(from->rows[i].shape.dims, own->shape.dims, q->t->n_dims * sizeof own->shape.dims[0]) != 0 ||
                !is_missing(own, x->hash))
                continue;
            for (size_t k = 0; k < n_done; k++)
                seen = seen || strcmp(done[k], x->hash) == 0;
            if (seen || n_done == sizeof done / sizeof *done)
                continue;
            done[n_done++] = x->hash;
            q->counts->no_text += !x->v;
            if (x->v)
                code = run(q, x->v, &own->shape, CANDIDATE_TARGET, method_of(own), 0, err);
        }
    }
    if (code == KW_OK && n_done > 0 && own->variant->v)
        code = run(q, own->variant->v, &own->shape, CANDIDATE_RETIME, method_of(own), 0, err);
    return code;
}

/* ---- between the shapes of one device ---- */

typedef struct general {
    const known_variant *x;
    size_t n_shapes; /* on which it is the fastest of the general ones */
} general;

static int by_shapes(const void *a, const void *b)
{
    const general *x = a, *y = b;
    if (x->n_shapes != y->n_shapes)
        return x->n_shapes > y->n_shapes ? -1 : 1;
    return strcmp(x->x->hash, y->x->hash);
}

static general *place_of(general *all, size_t *n, const known_variant *x)
{
    size_t k = 0;
    while (k < *n && all[k].x != x)
        k++;
    *n += k == *n;
    all[k].x = x;
    return &all[k];
}

/* The general variants of the device, those first that are the fastest of them on the most shapes. Caller frees. */
static general *find_general(const choice *c, const chosen_device *d, size_t *n)
{
    general *all = mem_calloc(c->known.n + 1, sizeof *all);
    *n = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        const ledger *l = &d->rows[i].group->ledger;
        const ledger_entry *best = NULL;
        for (size_t k = 0; k < l->n; k++) {
            const ledger_entry *e = &l->entries[k];
            if (!may_be_in_tree(c, e))
                continue;
            (void)place_of(all, n, find_known(&c->known, e->source_hash));
            if (!best || e->time.median < best->time.median)
                best = e;
        }
        if (best)
            place_of(all, n, find_known(&c->known, best->source_hash))->n_shapes++;
    }
    qsort(all, *n, sizeof *all, by_shapes);
    return all;
}

/* What takes five times as long as the shape's best need not be known exactly. */
#define HOPELESS 5.0

static kw_code measure_between(session *q, const choice *c, const chosen_device *here, kw_error *err)
{
    const device_limits *limits = &evaluator_device(q->e)->limits;
    size_t n;
    general *all = find_general(c, here, &n);
    kw_code code = KW_OK;
    n = n < q->o->n_between ? n : q->o->n_between;
    for (size_t i = 0; i < here->n_rows && code == KW_OK; i++) {
        const chosen_row *own = &here->rows[i];
        const ledger_entry *best = ledger_find(&own->group->ledger, own->variant->hash);
        for (size_t k = 0; k < n && code == KW_OK; k++) {
            const known_variant *x = all[k].x;
            if (is_missing(own, x->hash) && variant_fits(x->v, &own->shape, limits, NULL))
                code = run(q, x->v, &own->shape, CANDIDATE_TARGET, method_of(own), HOPELESS * best->time.median, err);
        }
    }
    free(all);
    return code;
}

static kw_code measure_all(session *q, const choice *c, kw_error *err)
{
    const char *key = evaluator_device(q->e)->key;
    kw_code code = KW_OK;
    const chosen_device *here = NULL;
    for (size_t d = 0; d < c->n_devices; d++)
        if (strcmp(c->devices[d].key, key) == 0)
            here = &c->devices[d];
    if (!here)
        return kw_error_set(err, KW_FAILED, "%s has no winner of %s on %s: run `kernwright tune %s` there first",
                            store_path(q->s), q->t->name, key, q->t->name);
    for (size_t i = 0; i < here->n_rows && code == KW_OK; i++)
        code = measure_shape(q, c, here, &here->rows[i], err);
    return code == KW_OK && q->o->n_between > 0 ? measure_between(q, c, here, err) : code;
}

kw_code crossover_measure(evaluator *e, store *s, const task *t, const task_types *types, const crossover_options *o,
                          crossover_counts *out, kw_error *err)
{
    session q = {.e = e, .s = s, .t = t, .types = types, .o = o, .counts = out};
    choice c = {.t = t};
    strb text = STRB_INIT;
    memset(out, 0, sizeof *out);
    task_types_print(t, types, &text);
    kw_code code = choose_load(&c, s, strb_text(&text), NULL, err);
    if (code == KW_OK && c.groups.n > 0)
        code = choose_all(&c, s, err);
    if (code == KW_OK)
        code = open_session(&q, err);
    if (code == KW_OK)
        code = measure_all(&q, &c, err);
    close_session(&q);
    choice_clear(&c);
    strb_clear(&text);
    return code;
}
