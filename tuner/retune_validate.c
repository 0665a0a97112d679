/* Do times of an earlier driver still hold? A sample of old rows is verified and timed again, round by round, so that
 * drift meets them all alike. */
#include "tuner/retune_internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/timing.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3
#define LEAST_NOISE 0.02 /* no two sessions are nearer to each other */
#define MOST_NOISE 0.15
#define NOISES 2.0       /* so many times the noise is moved */
#define MOVED_SHARE 0.25 /* of the sample: the driver made its rows stale */

typedef struct old_row {
    const task_shape *shape;
    variant *v;
    char *config_json;
    rows rows;
    double ns, noise; /* as it was */
    timing_method method;
    double samples[ROUNDS]; /* medians of now */
    size_t n;
    bool failed;
    candidate c;
} old_row;

typedef struct session {
    retune *r;
    old_row *items;
    size_t n;
    case_source cases;
    variant *trusted;
    const char *before;
} session;

/* ---- the verdict, kept ---- */

static char *verdict_key(const retune *r)
{
    strb types = STRB_INIT, key = STRB_INIT;
    task_types_print(r->t, &r->o->tune.types, &types);
    strb_printf(&key, "driver judged %s %s %s %s %s -> %s", r->t->hash, strb_text(&types), r->device->key, r->mode,
                r->drivers.before, r->drivers.now);
    strb_clear(&types);
    return strb_take(&key);
}

void retune_recall_verdict(retune *r)
{
    char *key = verdict_key(r), *text = NULL;
    kw_error ignored;
    if (store_fact(r->s, key, &text, &ignored) == KW_OK && text) {
        json *j = json_parse(text, strlen(text), "store", 1, 1, &ignored);
        int64_t n_timed = 0, n_moved = 0;
        json_int(json_get(j, "timed"), &n_timed);
        json_int(json_get(j, "moved"), &n_moved);
        if (json_get(j, "shift"))
            r->drivers.shift = json_number(json_get(j, "shift"));
        r->drivers.n_timed = (size_t)n_timed;
        r->drivers.n_moved = (size_t)n_moved;
        r->drivers.stale = json_truth(json_get(j, "stale"));
        r->drivers.judged = r->drivers.known = j != NULL;
        json_free(j);
    }
    free(text);
    free(key);
}

static void keep_verdict(const retune *r)
{
    json *j = json_new_object();
    json_set_bool(j, "stale", r->drivers.stale);
    json_set_int(j, "timed", (int64_t)r->drivers.n_timed);
    json_set_int(j, "moved", (int64_t)r->drivers.n_moved);
    if (isfinite(r->drivers.shift))
        json_set_number(j, "shift", r->drivers.shift);
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    char *key = verdict_key(r);
    kw_error why;
    if (store_set_fact(r->s, key, strb_text(&text), &why) != KW_OK)
        log_debug("what became of the driver's rows is not kept: %s", why.message);
    free(key);
    strb_clear(&text);
}

/* ---- the sample ---- */

static void add_row(session *q, const task_shape *shape, const ledger_entry *e)
{
    retune *r = q->r;
    const tune_options *o = &r->o->tune;
    uint32_t *config = mem_calloc(retune_longest(r), sizeof *config);
    size_t family;
    variant *v = NULL;
    bool usable = retune_config(r, e, &family, config) &&
                  variant_expand(o->templates[family], &o->types, config, shape, &v, NULL) == KW_OK &&
                  strcmp(v->hash, e->source_hash) == 0;
    free(config);
    if (!usable) {
        variant_free(v);
        return;
    }
    old_row *x = &q->items[q->n++];
    *x = (old_row){.shape = shape,
                   .v = v,
                   .config_json = mem_strdup(e->config),
                   .ns = e->time.median,
                   .noise = e->noise,
                   .method = e->method && strcmp(e->method, timing_method_name(TIMING_BATCH)) == 0 ? TIMING_BATCH
                                                                                                   : TIMING_EVENTS};
    rows_init(&x->rows, r->e, r->t, &o->types, shape, o->cold);
    rows_use_probe(&x->rows, o->probe);
}

/* Of shapes evenly chosen the winner, and one that is not: a driver may well move the slow ones alone. */
static void choose_sample(session *q)
{
    retune *r = q->r;
    const context **from = mem_calloc(r->n_shapes + 1, sizeof *from);
    size_t n = 0, want = (r->o->sample + 1) / 2;
    for (size_t i = 0; i < r->n_shapes; i++) {
        const context *c = q->before[0] ? retune_before(r, &r->shapes[i].shape) : retune_here(r, &r->shapes[i].shape);
        if (c && ledger_fastest(&c->ledger, NULL, NULL))
            from[n++] = c;
    }
    want = want < n ? want : n;
    for (size_t k = 0; k < want; k++) {
        const context *c = from[k * n / want];
        const ledger_entry *sorted[32];
        const size_t n_sorted = ledger_contenders(&c->ledger, INFINITY, sorted, 32);
        add_row(q, &c->shape, sorted[0]);
        if (n_sorted > 1 && q->n < r->o->sample)
            add_row(q, &c->shape, sorted[n_sorted / 2]);
    }
    free(from);
}

/* ---- timing ---- */

static kw_code take(session *q, old_row *x, size_t round, kw_error *err)
{
    retune *r = q->r;
    char date[21];
    x->c = (candidate){.kind = round == 0 ? CANDIDATE_TARGET : CANDIDATE_RETIME,
                       .variant = x->v,
                       .cases = &q->cases,
                       .target = *x->shape,
                       .method = x->method};
    evaluator_submit(r->e, &x->c);
    if (!evaluator_next(r->e, err)) {
        evaluator_forget(r->e);
        return err->code;
    }
    rows_judge(&x->rows, x->v, &x->c.record);
    const measurement m =
        rows_make(&x->rows, x->v, x->config_json, &x->c.record, r->t->reference ? VERIFIED_EXACT : VERIFIED_NOT, date);
    x->failed = m.outcome != OUTCOME_OK;
    if (!x->failed && m.time.n > 0)
        x->samples[x->n++] = m.time.median;
    kw_code code = m.outcome == OUTCOME_OK ? store_add_variant(r->s, x->v, err) : KW_OK;
    if (code == KW_OK)
        code = store_add(r->s, &m, err);
    if (r->o->tune.on_progress) {
        const tune_progress p = {.shape = x->shape, .m = &m, .best_ns = x->ns, .purpose = "again"};
        r->o->tune.on_progress(&p, r->o->tune.cookie);
    }
    job_record_clear(&x->c.record);
    return code;
}

static kw_code open_cases(session *q, kw_error *err)
{
    const tune_options *o = &q->r->o->tune;
    const template *f = o->fallback;
    for (size_t i = 0; i < o->n_templates && !f; i++)
        f = o->templates[i]->is_fallback ? o->templates[i] : NULL;
    kw_code code = KW_OK;
    if (f) {
        uint32_t *config = mem_calloc(f->n_params + 1, sizeof *config);
        template_default(f, config);
        code = variant_expand(f, &o->types, config, NULL, &q->trusted, err);
        free(config);
    }
    return code == KW_OK
               ? case_source_init(&q->cases, q->r->t, &o->types, &q->r->device->limits, q->trusted, o->seed, err)
               : code;
}

/* ---- judging ---- */

static void judge(session *q)
{
    retune_drivers *d = &q->r->drivers;
    double *shifts = mem_alloc((q->n + 1) * sizeof *shifts);
    size_t n = 0;
    d->n_timed = q->n;
    d->n_moved = 0;
    for (size_t i = 0; i < q->n; i++) {
        old_row *x = &q->items[i];
        if (x->failed || x->n == 0) {
            d->n_moved++;
            continue;
        }
        gsl_sort(x->samples, 1, x->n);
        const double now = gsl_stats_median_from_sorted_data(x->samples, 1, x->n);
        const double shift = log(now / x->ns), noise = fmin(fmax(x->noise, LEAST_NOISE), MOST_NOISE);
        shifts[n++] = shift;
        d->n_moved += fabs(shift) > NOISES * noise;
    }
    if (n > 0)
        gsl_sort(shifts, 1, n);
    d->shift = n > 0 ? exp(gsl_stats_median_from_sorted_data(shifts, 1, n)) : (double)NAN;
    free(shifts);
    if (q->before[0]) {
        d->stale = (double)d->n_moved >= MOVED_SHARE * (double)d->n_timed;
        d->judged = true;
        keep_verdict(q->r);
    }
}

static kw_code time_all(session *q, kw_error *err)
{
    kw_code code = open_cases(q, err);
    for (size_t round = 0; code == KW_OK && round < ROUNDS; round++)
        for (size_t i = 0; code == KW_OK && i < q->n; i++)
            if (!q->items[i].failed)
                code = take(q, &q->items[i], round, err);
    case_source_clear(&q->cases);
    variant_free(q->trusted);
    return code;
}

kw_code retune_time_sample(retune *r, bool *sampled, kw_error *err)
{
    session q = {.r = r, .before = r->drivers.judged ? "" : r->drivers.before};
    *sampled = false;
    if (r->drivers.judged && !r->o->sample_always)
        return KW_OK;
    q.items = mem_calloc(r->o->sample + 2, sizeof *q.items);
    if (r->o->sample > 0)
        choose_sample(&q);
    kw_code code = KW_OK;
    if (q.n > 0) {
        code = time_all(&q, err);
        if (code == KW_OK)
            judge(&q);
    } else if (!r->drivers.judged) { /* nobody may look, or nothing can be run any more */
        r->drivers.stale = r->drivers.judged = true;
    }
    *sampled = code == KW_OK && (q.n > 0 || q.before[0]);
    for (size_t i = 0; i < q.n; i++) {
        variant_free(q.items[i].v);
        free(q.items[i].config_json);
        rows_clear(&q.items[i].rows);
    }
    free(q.items);
    return code;
}
