#include "tuner/tune_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tuner/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIMULATOR_POLL_MS 100

const template *search_fallback(const tune_options *o)
{
    if (o->fallback)
        return o->fallback;
    for (size_t i = 0; i < o->n_templates; i++)
        if (o->templates[i]->is_fallback)
            return o->templates[i];
    return NULL;
}

double search_seconds(const search *q)
{
    return q->spent_seconds + (double)(clock_now_ns() - q->start_ns) / 1e9;
}

void search_report(search *q, const measurement *m, bool reused, const char *purpose)
{
    if (!q->o->on_progress)
        return;
    tune_progress p = {.shape = q->shape,
                       .m = m,
                       .done = q->measured + q->reused,
                       .budget = q->o->budget.configurations,
                       .seconds = search_seconds(q),
                       .seconds_budget = q->o->budget.seconds,
                       .best_ns = q->best_ns,
                       .reused = reused,
                       .purpose = purpose};
    q->o->on_progress(&p, q->o->cookie);
}

bool search_other_method(const search *q, const char *method)
{
    return q->method == TIMING_BATCH && method && strcmp(method, timing_method_name(TIMING_BATCH)) != 0;
}

/* From here on, also for those that are not timed yet. */
static void use_batches(search *q)
{
    q->method = TIMING_BATCH;
    for (trial *x = q->pending; x; x = x->next)
        x->c.method = TIMING_BATCH;
}

void search_note(search *q, const measurement *m)
{
    ledger_entry *e = ledger_add(&q->ledger, m);
    /* The fallback is timed beside the search, by its own name. A template that expands to the same text is searched
     * all the same, whichever of the two was there first. */
    if (m->template_name && arms_find(&q->arms, m->template_name) && !arms_find(&q->arms, e->template_name))
        ledger_rename(e, m);
    if (m->outcome == OUTCOME_OK) {
        if (m->time.n > 0 && m->time.median < TIMING_BATCH_BELOW_NS)
            use_batches(q);
        if (m->time.n > 0 && m->time.median < q->best_ns && !search_other_method(q, m->method))
            q->best_ns = m->time.median;
        return;
    }
    q->failed++;
    q->failures[m->outcome]++;
    char *text = q->failure_text[m->outcome];
    snprintf(text, sizeof q->failure_text[0], "%s", m->detail ? m->detail : "no detail");
    text[strcspn(text, "\n")] = '\0';
}

/* ---- trials ---- */

trial *trial_new(arm *a, const template *p, const uint32_t *config)
{
    trial *x = mem_calloc(1, sizeof *x + p->n_params * sizeof *x->config);
    memcpy(x->config, config, p->n_params * sizeof *x->config);
    x->arm = a;
    x->config_json = template_config_text(p, config);
    return x;
}

void trial_free(trial *x)
{
    while (x) {
        trial *twin = x->twins;
        if (twin)
            twin->twins = twin->next;
        job_record_clear(&x->c.record);
        variant_free(x->v);
        free(x->config_json);
        free(x);
        x = twin;
    }
}

void search_submit(search *q, trial *x, candidate_kind kind)
{
    x->c.kind = kind;
    x->c.method = q->method;
    x->c.variant = x->v;
    x->c.cases = &q->cases;
    x->c.target = *q->shape;
    x->c.cookie = x;
    x->next = q->pending;
    q->pending = x;
    evaluator_submit(q->e, &x->c);
}

/* With an eye on a simulator that was begun with. */
static candidate *wait_for_one(search *q, int64_t timeout_ms, kw_error *err)
{
    candidate *c = NULL;
    if (!q->simulated || timeout_ms >= 0)
        return evaluator_next_within(q->e, timeout_ms, err);
    do {
        search_simulate_beside(q);
        c = evaluator_next_within(q->e, SIMULATOR_POLL_MS, err);
    } while (!c && err->code == KW_OK && evaluator_pending(q->e) > 0);
    return c;
}

kw_code search_next(search *q, int64_t timeout_ms, trial **got, kw_error *err)
{
    candidate *c = wait_for_one(q, timeout_ms, err);
    *got = c ? c->cookie : NULL;
    if (!c)
        return err->code;
    trial **link = &q->pending;
    while (*link != *got)
        link = &(*link)->next;
    *link = (*got)->next;
    (*got)->next = NULL;
    q->stopped_early += c->record.stopped_early;
    q->saved_ms += c->record.saved_ms;
    rows_judge(&q->rows, (*got)->v, &(*got)->c.record);
    return KW_OK;
}

kw_code search_run_alone(search *q, trial *x, candidate_kind kind, kw_error *err)
{
    search_submit(q, x, kind);
    return search_next(q, -1, &x, err);
}

/* ---- records ---- */

static kw_code search_keep(search *q, const variant *v, const measurement *m, kw_error *err)
{
    if (!q->s)
        return KW_OK;
    kw_code code = v && m->outcome == OUTCOME_OK ? store_add_variant(q->s, v, err) : KW_OK;
    return code == KW_OK ? store_add(q->s, m, err) : code;
}

static verified level_of(const search *q)
{
    return q->t->reference ? VERIFIED_EXACT : VERIFIED_NOT;
}

kw_code search_record(search *q, trial *x, const char *purpose, kw_error *err)
{
    char date[21];
    measurement m = rows_make(&q->rows, x->v, x->config_json, &x->c.record, level_of(q), date);
    kw_code code = search_keep(q, x->v, &m, err);
    search_note(q, &m);
    search_report(q, &m, false, purpose);
    return code;
}

kw_code search_record_expand_error(search *q, const trial *x, const kw_error *why, kw_error *err)
{
    variant v;
    memset(&v, 0, sizeof v);
    v.template_name = x->arm->template->name;
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s", v.template_name, x->config_json);
    hash_hex(strb_text(&text), text.length, v.hash);
    strb_clear(&text);
    job_record r;
    memset(&r, 0, sizeof r);
    r.outcome = why->code == KW_FAILED ? OUTCOME_REJECTED : OUTCOME_EXPAND_ERROR;
    r.stage = STAGE_EXPAND;
    r.registers = r.spill_bytes = r.local_bytes = -1;
    r.detail = mem_strdup(why->message);
    char date[21];
    measurement m = rows_make(&q->rows, &v, x->config_json, &r, VERIFIED_NOT, date);
    kw_code code = q->s ? store_add(q->s, &m, err) : KW_OK;
    search_note(q, &m);
    q->measured++;
    search_report(q, &m, false, "search");
    job_record_clear(&r);
    return code;
}
