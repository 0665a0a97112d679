#include "tuner/tune.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/tune_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A candidate whose first samples are this much over the best so far is not timed to the end. */
#define HOPELESS 2.0
/* After so many proposals in a row that all expand to a known text the search is over. */
#define MAX_REPETITIONS 1000
#define LATEST 0.15 /* weight of the last result in the pace */

/* ---- budget ---- */

static bool parse_part(const char *text, size_t n, tune_budget *out)
{
    char part[32], *end;
    if (n == 0 || n >= sizeof part)
        return false;
    memcpy(part, text, n);
    part[n] = '\0';
    double x = strtod(part, &end);
    if (end == part || !(x > 0) || !isfinite(x))
        return false;
    double unit = strcmp(end, "s") == 0 ? 1 : strcmp(end, "m") == 0 ? 60 : strcmp(end, "h") == 0 ? 3600 : 0;
    if (unit > 0 && out->seconds <= 0) {
        out->seconds = x * unit;
        return true;
    }
    if (*end != '\0' || x != floor(x) || x > 1e15 || out->configurations > 0)
        return false;
    out->configurations = (uint64_t)x;
    return true;
}

kw_code tune_budget_parse(const char *text, tune_budget *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    for (const char *p = text; p; p = *p ? p + 1 : NULL) {
        size_t n = strcspn(p, ",");
        if (!parse_part(p, n, out))
            return kw_error_set(
                err, KW_BAD_INPUT,
                "budget '%s': give a number of configurations (200), a time (60s, 5m, 1h) or both (200,60s)", text);
        p += n;
        if (!*p)
            break;
    }
    return KW_OK;
}

void tune_result_clear(tune_result *r)
{
    free(r->config);
    memset(r, 0, sizeof *r);
}

/* ---- searching ---- */

/* Parameters that do not show in the text make configurations alike: these are neither measured again nor counted.
 * Takes x over if it is one. */
static bool is_repetition(search *q, trial *x)
{
    for (trial *twin = q->pending; twin; twin = twin->next) {
        if (strcmp(twin->v->hash, x->v->hash) != 0)
            continue;
        x->turn = turns_ask(&q->turns, x->arm, x->config, false);
        x->next = twin->twins;
        twin->twins = x;
        return true;
    }
    const ledger_entry *known = ledger_find(&q->ledger, x->v->hash);
    if (known) {
        turns_answer(&q->turns, turns_ask(&q->turns, x->arm, x->config, false), known->ok, known->time.median);
        trial_free(x);
    }
    return known != NULL;
}

/* Proposes one configuration. *asked is false when all spaces are exhausted. */
static kw_code propose(search *q, bool *asked, kw_error *err)
{
    arm *a = arms_ask(&q->arms, q->config);
    *asked = a != NULL;
    if (!a)
        return KW_OK;
    const template *p = a->template;
    trial *x = trial_new(a, p, q->config);
    kw_error why;
    kw_error_clear(&why);
    int64_t from = clock_now_ns();
    kw_code code = variant_expand(p, &q->o->types, x->config, q->shape, &x->v, &why);
    trace_add(q->o->trace, 0, "expand", p->name, from, clock_now_ns(), 0);
    if (code == KW_OK && is_repetition(q, x)) {
        *asked = ++q->repetitions < MAX_REPETITIONS;
        return KW_OK;
    }
    q->repetitions = 0;
    q->proposed++;
    if (code != KW_OK) {
        turns_answer(&q->turns, turns_ask(&q->turns, a, x->config, false), false, 0);
        code = search_record_expand_error(q, x, &why, err);
        trial_free(x);
        return code;
    }
    x->turn = turns_ask(&q->turns, a, x->config, true);
    x->c.hopeless_ns = isfinite(q->turns.best_ns) ? HOPELESS * q->turns.best_ns : 0;
    search_submit(q, x, CANDIDATE_TARGET);
    return KW_OK;
}

/* Nothing is asked whose answer would come after the end of the time, by the pace so far. */
static bool has_time(const search *q)
{
    double budget = q->o->budget.seconds, now = search_seconds(q);
    return budget <= 0 || (now < budget && now + q->pace_s * (double)(evaluator_pending(q->e) + 1) <= budget);
}

static bool may_propose(const search *q)
{
    const tune_budget *b = &q->o->budget;
    return (b->configurations == 0 || q->proposed < b->configurations) && has_time(q);
}

static void answer(search *q, trial *x, bool ok, double ns)
{
    for (; x; x = x->twins)
        turns_answer(&q->turns, x->turn, ok, ns);
}

/* The mean time from one result to the next; the first also waited for drivers. */
static void keep_pace(search *q)
{
    int64_t now = clock_now_ns();
    double s = q->last_ns ? (double)(now - q->last_ns) / 1e9 : 0;
    q->pace_s = q->pace_s > 0 ? (1 - LATEST) * q->pace_s + LATEST * s : s;
    q->last_ns = now;
}

/* A candidate that was the first to be fast enough for batches is timed again, in batches: the strategy hears only of
 * times that can be compared. */
static kw_code take_result(search *q, trial *x, kw_error *err)
{
    q->measured += !x->again;
    bool failed;
    char ignored[256];
    kw_code code = x->c.record.outcome == OUTCOME_OK && !x->again && search_simulates_all(q)
                       ? search_simulate(q, x, &failed, ignored, sizeof ignored, err)
                       : KW_OK;
    if (code == KW_OK)
        code = search_record(q, x, x->again ? "retime" : "search", err);
    search_keep_seconds(q, false);
    const ledger_entry *entry = ledger_find(&q->ledger, x->v->hash);
    bool may_win = entry && entry->ok && entry->time.median < HOPELESS * q->best_ns;
    if (code == KW_OK && may_win && !x->again && search_other_method(q, entry->method)) {
        x->again = true;
        job_record_clear(&x->c.record);
        search_submit(q, x, CANDIDATE_RETIME);
        return KW_OK;
    }
    if (entry)
        answer(q, x, entry->ok, entry->time.median);
    trial_free(x);
    return code;
}

/* Where every evaluation is to follow from those before, so few are asked ahead; the compilers have less to do. */
#define GUIDED_DEPTH 3

/* Beside a simulator nothing is timed on a CPU. */
static size_t depth(const search *q)
{
    const bool is_cpu = evaluator_device(q->e)->limits.is_cpu;
    size_t most = evaluator_depth(q->e);
    if (q->o->guide && most > GUIDED_DEPTH)
        most = is_cpu ? 1 : GUIDED_DEPTH;
    return search_simulates_all(q) && is_cpu ? 1 : most;
}

/* Asks as long as it may. *timeout_ms: how long to wait then before trying again. */
static kw_code fill(search *q, bool *more, int64_t *timeout_ms, kw_error *err)
{
    *timeout_ms = -1;
    while (*more && may_propose(q)) {
        if (!turns_open(&q->turns)) {
            *timeout_ms = turns_patience_ms(&q->turns);
            if (*timeout_ms > 0 || !evaluator_is_starved(q->e))
                break;
            turns_pass(&q->turns);
            continue;
        }
        kw_code code = propose(q, more, err);
        if (code != KW_OK)
            return code;
    }
    if (*timeout_ms == 0) /* late, but the device is busy: until something ends */
        *timeout_ms = -1;
    return KW_OK;
}

/* Once there is nothing left to propose; compiled while the last candidates are. */
static void submit_fallback(search *q, bool *submitted)
{
    if (*submitted || evaluator_pending(q->e) == 0 || search_knows_fallback(q) || search_simulates_all(q))
        return;
    trial *x = search_fallback_trial(q);
    *submitted = true;
    if (!x)
        return;
    x->is_fallback = true;
    search_submit(q, x, CANDIDATE_TARGET);
}

static kw_code take_fallback(search *q, trial *x, kw_error *err)
{
    kw_code code = search_record(q, x, "fallback", err);
    trial_free(x);
    return code;
}

static kw_code run_search(search *q, kw_error *err)
{
    bool more = true, with_fallback = false;
    turns_start(&q->turns, depth(q));
    q->turns.best_ns = q->best_ns; /* of what the store knows */
    for (;;) {
        int64_t timeout_ms;
        trial *x = NULL;
        kw_code code = fill(q, &more, &timeout_ms, err);
        if (code == KW_OK && (!more || !may_propose(q)))
            submit_fallback(q, &with_fallback);
        if (code == KW_OK)
            code = search_next(q, timeout_ms, &x, err);
        if (code != KW_OK)
            return code;
        if (!x) {
            if (evaluator_pending(q->e) == 0 && (!more || !may_propose(q)))
                return KW_OK;
            continue;
        }
        if (!x->again && !x->is_fallback)
            keep_pace(q);
        code = x->is_fallback ? take_fallback(q, x, err) : take_result(q, x, err);
        if (code != KW_OK)
            return code;
    }
}

/* ---- entry points ---- */

static kw_code expand_trusted(search *q, kw_error *err)
{
    const template *f = search_fallback(q->o);
    if (!f)
        return KW_OK;
    uint32_t *config = mem_alloc((f->n_params + 1) * sizeof *config);
    template_default(f, config);
    kw_code code = variant_expand(f, &q->o->types, config, q->shape, &q->trusted, err);
    free(config);
    return code;
}

static kw_code begin(search *q, evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shape,
                     kw_error *err)
{
    memset(q, 0, sizeof *q);
    q->e = e;
    q->s = s;
    q->t = t;
    q->o = o;
    q->shape = shape;
    q->best_ns = INFINITY;
    q->start_ns = clock_now_ns();
    rows_init(&q->rows, e, t, &o->types, shape, o->cold);
    rows_use_probe(&q->rows, o->probe);
    kw_code code = expand_trusted(q, err);
    if (code == KW_OK)
        code = case_source_init(&q->cases, t, &o->types, &evaluator_device(e)->limits, q->trusted, o->seed, err);
    return code;
}

static bool asked_to_stop(void *cookie)
{
    return evaluator_asked_to_stop(cookie);
}

static kw_code begin_search(search *q, kw_error *err)
{
    const tune_options *o = q->o;
    const space_limits build = {.stopped = asked_to_stop, .cookie = q->e};
    kw_code code = arms_init_within(&q->arms, o->templates, o->n_templates, &o->types, &evaluator_device(q->e)->limits,
                                    q->shape, o->strategy, o->seed,
                                    o->budget.configurations ? o->budget.configurations : UINT64_MAX, &build, err);
    if (code != KW_OK)
        return code;
    q->config = mem_calloc(arms_longest(&q->arms), sizeof *q->config);
    if (q->arms.notes.length > 0) /* ordinary: a template for narrow shapes, say */
        log_debug("left out: %s", strb_text(&q->arms.notes));
    if (o->guide)
        arms_follow(&q->arms, o->guide);
    return KW_OK;
}

static void end(search *q)
{
    evaluator_forget(q->e);
    while (q->pending) {
        trial *x = q->pending;
        q->pending = x->next;
        trial_free(x);
    }
    turns_clear(&q->turns);
    arms_clear(&q->arms);
    ledger_clear(&q->ledger);
    case_source_clear(&q->cases);
    rows_clear(&q->rows);
    variant_free(q->trusted);
    free(q->config);
}

kw_code tune_shape(evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shape,
                   tune_result *out, kw_error *err)
{
    search q;
    memset(out, 0, sizeof *out);
    out->naive_ns = out->first_ns = out->limit_ns = out->noise = NAN;
    kw_code code = begin(&q, e, s, t, o, shape, err);
    if (code == KW_OK)
        code = search_check_task(&q, err);
    if (code == KW_OK)
        code = begin_search(&q, err);
    for (size_t i = 0; i < q.arms.n; i++) {
        uint64_t count = space_count(q.arms.items[i].space);
        out->space_size = count > UINT64_MAX - out->space_size ? UINT64_MAX : out->space_size + count;
    }
    if (code == KW_OK)
        code = search_reuse(&q, err);
    if (code == KW_OK) {
        code = run_search(&q, err);
        search_keep_seconds(&q, true);
    }
    if (code == KW_OK)
        code = search_name_winner(&q, out, err);
    out->measured = q.measured;
    out->reused = q.reused;
    out->failed = q.failed;
    out->stopped_early = q.stopped_early;
    out->saved_ms = q.saved_ms;
    end(&q);
    return code;
}

/* What the template, as it stands, says against the configuration: then no worker sees it. */
static bool is_rejected(const search *q, const template *p, const uint32_t *config, job_record *record)
{
    kw_error why;
    kw_error_clear(&why);
    value *env = mem_calloc((size_t)expr_scope_size(p->scope), sizeof *env);
    template_fill(p, &q->o->types, &evaluator_device(q->e)->limits, q->shape, config, env);
    bool rejected = template_rejects(p, env, true, &why) != NULL;
    free(env);
    if (!rejected)
        return false;
    record->outcome = OUTCOME_REJECTED;
    record->stage = STAGE_EXPAND;
    record->registers = record->spill_bytes = record->local_bytes = -1;
    record->detail = mem_strdup(why.message);
    return true;
}

static kw_code measure_one(search *q, const template *p, const uint32_t *config, job_record *record, kw_error *err)
{
    if (is_rejected(q, p, config, record))
        return KW_OK;
    trial *x = trial_new(NULL, p, config);
    kw_code code = variant_expand(p, &q->o->types, config, q->shape, &x->v, err);
    if (code != KW_OK) {
        trial_free(x);
        return code;
    }
    code = search_run_alone(q, x, CANDIDATE_TARGET, err);
    if (code != KW_OK)
        return code; /* it is among the pending ones */
    bool failed = false;
    char deep[256] = "";
    if (x->c.record.outcome == OUTCOME_OK && search_simulates_all(q))
        code = search_simulate(q, x, &failed, deep, sizeof deep, err);
    if (code == KW_OK)
        code = search_record(q, x, "search", err);
    *record = x->c.record;
    memset(&x->c.record, 0, sizeof x->c.record);
    if (deep[0] && !failed && !record->detail) {
        strb text = STRB_INIT;
        strb_printf(&text, "simulated: %s", deep);
        record->detail = strb_take(&text);
    }
    trial_free(x);
    return code;
}

kw_code tune_one(evaluator *e, store *s, const task *t, const tune_options *o, const template *p,
                 const uint32_t *config, const task_shape *shape, job_record *record, kw_error *err)
{
    search q;
    memset(record, 0, sizeof *record);
    kw_code code = begin(&q, e, s, t, o, shape, err);
    if (code == KW_OK)
        code = search_check_task(&q, err);
    if (code == KW_OK)
        code = measure_one(&q, p, config, record, err);
    end(&q);
    return code;
}
