#include "tuner/tune.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/arms.h"
#include "tuner/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTENDERS 4
#define CONTENDER_SHARE 1.05
#define RETIME_ROWS 3
/* Events hold some microseconds of launch overhead: a shape whose best candidate is below this is timed in batches. */
#define BATCH_BELOW_NS 60000
/* A candidate whose first samples are this much over the best so far is not timed to the end. */
#define HOPELESS 2.0

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
    if (unit > 0) {
        out->seconds = x * unit;
        return true;
    }
    if (*end != '\0' || x != floor(x) || x > 1e15)
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
            return kw_error_set(err, KW_BAD_INPUT,
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

/* ---- the state of one shape's search ---- */

/* A configuration on its way through the evaluator. */
typedef struct trial {
    candidate c;
    arm *arm;
    variant *v;
    char *config_json;
    uint32_t config[]; /* one index per parameter */
} trial;

typedef struct search {
    evaluator *e;
    store *s;
    const task *t;
    const tune_options *o;
    const task_shape *shape;
    rows rows;
    arms arms;
    ledger ledger;
    case_source cases;
    variant *trusted;
    double best_ns;
    timing_method method;   /* batches for all once a fast candidate was seen: methods are never compared */
    uint64_t proposed, measured, reused, failed;
    uint64_t failures[OUTCOME_COUNT];
    char last_failure[256];
    double spent_seconds;   /* by earlier runs */
    int64_t start_ns;
    uint32_t *config;       /* scratch */
} search;

static const template *fallback_of(const tune_options *o)
{
    if (o->fallback)
        return o->fallback;
    for (size_t i = 0; i < o->n_templates; i++)
        if (o->templates[i]->is_fallback)
            return o->templates[i];
    return NULL;
}

static char *config_json(const template *p, const uint32_t *config)
{
    json *j = template_config_to_json(p, config);
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    return strb_take(&text);
}

static double seconds_spent(const search *q)
{
    return q->spent_seconds + (double)(clock_now_ns() - q->start_ns) / 1e9;
}

static void report(search *q, const measurement *m, bool reused, const char *purpose)
{
    if (!q->o->on_progress)
        return;
    tune_progress p = {.shape = q->shape,
                       .m = m,
                       .done = q->measured + q->reused,
                       .budget = q->o->budget.configurations,
                       .seconds = seconds_spent(q),
                       .seconds_budget = q->o->budget.seconds,
                       .best_ns = q->best_ns,
                       .reused = reused,
                       .purpose = purpose};
    q->o->on_progress(&p, q->o->cookie);
}

static void note_outcome(search *q, const measurement *m)
{
    ledger_add(&q->ledger, m);
    if (m->outcome == OUTCOME_OK) {
        if (m->time.n > 0 && m->time.median < q->best_ns)
            q->best_ns = m->time.median;
        if (q->best_ns < BATCH_BELOW_NS)
            q->method = TIMING_BATCH;
        return;
    }
    q->failed++;
    q->failures[m->outcome]++;
    snprintf(q->last_failure, sizeof q->last_failure, "%s", m->detail ? m->detail : "");
    q->last_failure[strcspn(q->last_failure, "\n")] = '\0';
}

/* ---- what the store knows ---- */

/* A stored row counts only if its template, as it is now, still expands to the source that was measured. */
static bool still_current(const search *q, const template *p, const uint32_t *config, const measurement *m)
{
    variant *v;
    if (variant_expand(p, &q->o->types, config, q->shape, &v, NULL) != KW_OK)
        return m->outcome == OUTCOME_EXPAND_ERROR;
    bool same = strcmp(v->hash, m->source_hash) == 0;
    variant_free(v);
    return same;
}

static bool reuse_row(const measurement *m, void *cookie)
{
    search *q = cookie;
    arm *a = arms_find(&q->arms, m->template_name);
    if (!a)
        return true;
    kw_error ignored;
    json *j = json_parse(m->config, strlen(m->config), "store", 1, 1, &ignored);
    bool current = j && template_config_from_json(a->template, j, q->config, &ignored) == KW_OK &&
                   (ledger_find(&q->ledger, m->source_hash) || still_current(q, a->template, q->config, m));
    json_free(j);
    if (!current)
        return true;
    bool first = ledger_find(&q->ledger, m->source_hash) == NULL;
    note_outcome(q, m);
    q->spent_seconds += (m->compile_ms + m->verify_ms + m->time_ms) / 1e3;
    if (first) {
        q->reused++;
        q->proposed++;
        arms_known(a, q->config, m->outcome == OUTCOME_OK, m->time.median);
        report(q, m, true, "search");
    }
    return true;
}

static kw_code reuse_stored(search *q, kw_error *err)
{
    if (!q->s)
        return KW_OK;
    store_query query = rows_query(&q->rows);
    return store_each(q->s, &query, reuse_row, q, err);
}

/* ---- trials ---- */

static kw_code keep(search *q, const variant *v, const measurement *m, kw_error *err)
{
    if (!q->s)
        return KW_OK;
    kw_code code = v && m->outcome == OUTCOME_OK ? store_add_variant(q->s, v, err) : KW_OK;
    return code == KW_OK ? store_add(q->s, m, err) : code;
}

static void free_trial(trial *x)
{
    job_record_clear(&x->c.record);
    variant_free(x->v);
    free(x->config_json);
    free(x);
}

static verified level_of(const search *q)
{
    return q->t->reference ? VERIFIED_EXACT : VERIFIED_NOT;
}

static kw_code record_trial(search *q, trial *x, const char *purpose, kw_error *err)
{
    char date[21];
    measurement m = rows_make(&q->rows, x->v, x->config_json, &x->c.record, level_of(q), date);
    kw_code code = keep(q, x->v, &m, err);
    note_outcome(q, &m);
    report(q, &m, false, purpose);
    return code;
}

/* The text could not even be made: recorded like any other outcome, under a hash of template and configuration. */
static kw_code record_expand_error(search *q, arm *a, const char *json_text, const kw_error *why, kw_error *err)
{
    variant v;
    memset(&v, 0, sizeof v);
    v.template_name = a->template->name;
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s", a->template->name, json_text);
    hash_hex(strb_text(&text), text.length, v.hash);
    strb_clear(&text);
    job_record r;
    memset(&r, 0, sizeof r);
    r.outcome = why->code == KW_FAILED ? OUTCOME_REJECTED : OUTCOME_EXPAND_ERROR;
    r.stage = STAGE_EXPAND;
    r.registers = r.spill_bytes = r.local_bytes = -1;
    r.detail = mem_strdup(why->message);
    char date[21];
    char *config = mem_strdup(json_text);
    measurement m = rows_make(&q->rows, &v, config, &r, VERIFIED_NOT, date);
    kw_code code = keep(q, NULL, &m, err);
    note_outcome(q, &m);
    q->measured++;
    report(q, &m, false, "search");
    free(config);
    job_record_clear(&r);
    return code;
}

/* Proposes one configuration. *asked is false when all spaces are exhausted. */
static kw_code propose(search *q, bool *asked, kw_error *err)
{
    arm *a = arms_ask(&q->arms, q->config);
    *asked = a != NULL;
    if (!a)
        return KW_OK;
    q->proposed++;
    const template *p = a->template;
    trial *x = mem_calloc(1, sizeof *x + p->n_params * sizeof *x->config);
    memcpy(x->config, q->config, p->n_params * sizeof *x->config);
    x->arm = a;
    x->config_json = config_json(p, x->config);
    kw_error why;
    kw_error_clear(&why);
    int64_t from = clock_now_ns();
    kw_code code = variant_expand(p, &q->o->types, x->config, q->shape, &x->v, &why);
    trace_add(q->o->trace, 0, "expand", p->name, from, clock_now_ns(), 0);
    if (code != KW_OK) {
        arms_tell(a, x->config, false, 0);
        code = record_expand_error(q, a, x->config_json, &why, err);
        free_trial(x);
        return code;
    }
    x->c.kind = CANDIDATE_TARGET;
    x->c.variant = x->v;
    x->c.cases = &q->cases;
    x->c.target = *q->shape;
    x->c.hopeless_ns = isfinite(q->best_ns) ? HOPELESS * q->best_ns : 0;
    x->c.method = q->method;
    x->c.cookie = x;
    evaluator_submit(q->e, &x->c);
    return KW_OK;
}

static bool may_propose(const search *q)
{
    const tune_budget *b = &q->o->budget;
    return (b->configurations == 0 || q->proposed < b->configurations) &&
           (b->seconds <= 0 || seconds_spent(q) < b->seconds);
}

/* Takes one finished trial out of the evaluator. KW_OK with *got NULL when none is pending. */
static kw_code next_trial(search *q, trial **got, kw_error *err)
{
    candidate *c = evaluator_next(q->e, err);
    *got = c ? c->cookie : NULL;
    return c ? KW_OK : err->code;
}

/* After an interrupt or a dead evaluator the candidates in flight are the caller's to forget: the evaluator is closed
 * next and never touches them again, so they may stay allocated. */
static kw_code run_search(search *q, kw_error *err)
{
    bool more = true;
    for (;;) {
        while (more && may_propose(q) && evaluator_pending(q->e) < evaluator_depth(q->e)) {
            kw_code code = propose(q, &more, err);
            if (code != KW_OK)
                return code;
        }
        trial *x;
        kw_code code = next_trial(q, &x, err);
        if (code != KW_OK)
            return code;
        if (!x) {
            if (!more || !may_propose(q))
                return KW_OK;
            continue;
        }
        q->measured++;
        bool ok = x->c.record.outcome == OUTCOME_OK;
        code = record_trial(q, x, "search", err);
        ledger_entry *entry = ledger_find(&q->ledger, x->v->hash);
        arms_tell(x->arm, x->config, ok, entry ? entry->time.median : 0);
        free_trial(x);
        if (code != KW_OK)
            return code;
    }
}

/* ---- naming the winner ---- */

/* A trial of an entry that was measured before, rebuilt from its template. NULL if the template is not here. */
static trial *trial_of_entry(search *q, const ledger_entry *entry, candidate_kind kind)
{
    arm *a = arms_find(&q->arms, entry->template_name);
    kw_error ignored;
    json *j = a ? json_parse(entry->config, strlen(entry->config), "store", 1, 1, &ignored) : NULL;
    trial *x = NULL;
    if (j && template_config_from_json(a->template, j, q->config, &ignored) == KW_OK) {
        x = mem_calloc(1, sizeof *x + a->template->n_params * sizeof *x->config);
        memcpy(x->config, q->config, a->template->n_params * sizeof *x->config);
        x->arm = a;
        x->config_json = mem_strdup(entry->config);
        if (variant_expand(a->template, &q->o->types, x->config, q->shape, &x->v, &ignored) != KW_OK) {
            free_trial(x);
            x = NULL;
        }
    }
    json_free(j);
    if (!x)
        return NULL;
    x->c.kind = kind;
    x->c.method = q->method;
    x->c.variant = x->v;
    x->c.cases = &q->cases;
    x->c.target = *q->shape;
    x->c.cookie = x;
    return x;
}

static bool by_other_method(const search *q, const ledger_entry *e)
{
    return q->method == TIMING_BATCH && e->method && strcmp(e->method, "batch") != 0;
}

/* Close contenders are timed again, round by round, so that drift meets them all alike. */
static kw_code retime_contenders(search *q, kw_error *err)
{
    const ledger_entry *close[CONTENDERS];
    char hashes[CONTENDERS][HASH_HEX_SIZE];
    size_t n = ledger_contenders(&q->ledger, CONTENDER_SHARE, close, CONTENDERS);
    for (size_t i = 0; i < n; i++)
        memcpy(hashes[i], close[i]->source_hash, HASH_HEX_SIZE);
    for (size_t round = 0; round < RETIME_ROWS; round++) {
        for (size_t i = 0; i < n; i++) {
            const ledger_entry *entry = ledger_find(&q->ledger, hashes[i]);
            bool needed = n > 1 ? entry->n_rows <= RETIME_ROWS : by_other_method(q, entry);
            if (!entry->ok || !needed)
                continue;
            trial *x = trial_of_entry(q, entry, CANDIDATE_RETIME);
            if (!x)
                continue;
            evaluator_submit(q->e, &x->c);
            kw_code code = next_trial(q, &x, err);
            if (code != KW_OK)
                return code;
            code = record_trial(q, x, "retime", err);
            free_trial(x);
            if (code != KW_OK)
                return code;
        }
    }
    return KW_OK;
}

/* Every edge shape and random ones. A variant that fails there is wrong, however fast: its failure becomes a row. */
static kw_code verify_general(search *q, const ledger_entry *entry, kw_error *err)
{
    if (entry->verified == VERIFIED_GENERAL || !q->t->reference)
        return KW_OK;
    trial *x = trial_of_entry(q, entry, CANDIDATE_GENERAL);
    if (!x)
        return KW_OK;
    evaluator_submit(q->e, &x->c);
    kw_code code = next_trial(q, &x, err);
    if (code != KW_OK)
        return code;
    bool passed = x->c.record.outcome == OUTCOME_OK;
    if (passed && x->c.general_complete) {
        ledger_find(&q->ledger, x->v->hash)->verified = VERIFIED_GENERAL;
        if (q->s)
            code = store_set_verified(q->s, q->t->hash, q->rows.device->key, x->v->hash, VERIFIED_GENERAL, err);
    } else if (!passed && x->c.record.stage != STAGE_EXPAND) {
        code = record_trial(q, x, "general", err);
    }
    free_trial(x);
    return code;
}

/* Does the variant serve shapes it was not made for? */
static bool is_free(const variant *v)
{
    for (size_t d = 0; d < v->task->n_dims; d++)
        if (v->fixed_dims[d] >= 0)
            return false;
    return true;
}

/* The default layer wants a variant that is fast and right everywhere: the best one that has no size as a constant,
 * verified on every edge shape. The fallback is verified as well, since it must serve whatever the others refuse. */
static kw_code verify_defaults(search *q, kw_error *err)
{
    const template *f = fallback_of(q->o);
    bool have_fallback = !f || !arms_find(&q->arms, f->name), have_free = false;
    kw_code code = KW_OK;
    size_t n = 0, limit = q->ledger.n;
    char(*hashes)[HASH_HEX_SIZE] = mem_alloc((limit + 1) * sizeof *hashes);
    const ledger_entry **sorted = mem_alloc((limit + 1) * sizeof *sorted);
    n = ledger_contenders(&q->ledger, INFINITY, sorted, limit);
    for (size_t i = 0; i < n; i++)
        memcpy(hashes[i], sorted[i]->source_hash, HASH_HEX_SIZE);
    for (size_t i = 0; code == KW_OK && i < n && !(have_fallback && have_free); i++) {
        const ledger_entry *e = ledger_find(&q->ledger, hashes[i]);
        bool is_fallback = f && strcmp(e->template_name, f->name) == 0;
        if (is_fallback ? have_fallback : have_free)
            continue;
        trial *x = trial_of_entry(q, e, CANDIDATE_GENERAL);
        bool usable = x && is_free(x->v);
        if (x)
            free_trial(x);
        if (!usable)
            continue;
        code = verify_general(q, e, err);
        e = ledger_find(&q->ledger, hashes[i]);
        if (e->verified == VERIFIED_GENERAL && e->ok)
            *(is_fallback ? &have_fallback : &have_free) = true;
    }
    free(sorted);
    free(hashes);
    return code;
}

static double time_of_default(search *q, const template *p)
{
    if (!p)
        return NAN;
    uint32_t *config = mem_alloc((p->n_params + 1) * sizeof *config);
    variant *v;
    double ns = NAN;
    template_default(p, config);
    if (variant_expand(p, &q->o->types, config, q->shape, &v, NULL) == KW_OK) {
        const ledger_entry *e = ledger_find(&q->ledger, v->hash);
        if (e && e->ok && e->time.n > 0)
            ns = e->time.median;
        variant_free(v);
    }
    free(config);
    return ns;
}

static void describe_winner(search *q, const ledger_entry *w, tune_result *out)
{
    const arm *a = arms_find(&q->arms, w->template_name);
    out->found = true;
    out->tuned_ns = w->time.median;
    out->tuned_lo = w->time.lo;
    out->tuned_hi = w->time.hi;
    out->n_samples = w->n_samples;
    out->verified = w->verified;
    snprintf(out->template_name, sizeof out->template_name, "%s", w->template_name);
    memcpy(out->source_hash, w->source_hash, HASH_HEX_SIZE);
    out->config = mem_strdup(w->config);
    out->naive_ns = time_of_default(q, fallback_of(q->o));
    out->first_ns = a ? time_of_default(q, a->template) : NAN;
    out->gflops = task_flops(q->t, &q->o->types, q->shape) / w->time.median;
    out->gbytes = task_bytes(q->t, &q->o->types, q->shape) / w->time.median;
}

static kw_code nothing_found(const search *q, kw_error *err)
{
    size_t most = OUTCOME_OK;
    for (size_t i = 1; i < OUTCOME_COUNT; i++)
        if (most == OUTCOME_OK || q->failures[i] > q->failures[most])
            most = i;
    if (q->measured + q->reused == 0)
        return kw_error_set(err, KW_FAILED, "no configuration was measured: the budget is too small");
    return kw_error_set(err, KW_FAILED, "none of %llu configurations is valid; most frequent outcome: %s (%llu times); last: %s",
                        (unsigned long long)(q->measured + q->reused), outcome_name((outcome)most),
                        (unsigned long long)q->failures[most], q->last_failure);
}

static kw_code name_winner(search *q, tune_result *out, kw_error *err)
{
    kw_code code = retime_contenders(q, err);
    while (code == KW_OK) {
        const ledger_entry *w = ledger_winner(&q->ledger, NULL, NULL);
        if (!w)
            return nothing_found(q, err);
        code = verify_general(q, w, err);
        if (code == KW_OK && w->ok) {
            describe_winner(q, w, out);
            break;
        }
    }
    return code == KW_OK ? verify_defaults(q, err) : code;
}

/* ---- entry points ---- */

static kw_code expand_trusted(search *q, kw_error *err)
{
    const template *f = fallback_of(q->o);
    if (!f)
        return KW_OK;
    uint32_t *config = mem_alloc((f->n_params + 1) * sizeof *config);
    template_default(f, config);
    kw_code code = variant_expand(f, &q->o->types, config, q->shape, &q->trusted, err);
    free(config);
    return code;
}

static kw_code begin(search *q, evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shape,
                     const template *const *templates, size_t n_templates, kw_error *err)
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
    kw_code code = expand_trusted(q, err);
    if (code == KW_OK)
        code = case_source_init(&q->cases, t, &o->types, &evaluator_device(e)->limits, q->trusted, o->seed, err);
    if (code == KW_OK)
        code = arms_init(&q->arms, templates, n_templates, &o->types, &evaluator_device(e)->limits, shape, o->strategy,
                         o->seed, o->budget.configurations ? o->budget.configurations : UINT64_MAX, err);
    q->config = mem_calloc(arms_longest(&q->arms), sizeof *q->config);
    return code;
}

static void end(search *q)
{
    arms_clear(&q->arms);
    ledger_clear(&q->ledger);
    case_source_clear(&q->cases);
    rows_clear(&q->rows);
    variant_free(q->trusted);
    free(q->config);
}

kw_code tune_shape(evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shape, tune_result *out,
                   kw_error *err)
{
    search q;
    memset(out, 0, sizeof *out);
    out->naive_ns = out->first_ns = NAN;
    kw_code code = begin(&q, e, s, t, o, shape, o->templates, o->n_templates, err);
    if (code == KW_OK && q.arms.notes.length > 0)
        log_info("left out: %s", strb_text(&q.arms.notes));
    for (size_t i = 0; i < q.arms.n; i++)
        out->space_size += space_count(q.arms.items[i].space);
    if (code == KW_OK)
        code = reuse_stored(&q, err);
    if (code == KW_OK)
        code = run_search(&q, err);
    if (code == KW_OK)
        code = name_winner(&q, out, err);
    out->measured = q.measured;
    out->reused = q.reused;
    out->failed = q.failed;
    end(&q);
    return code;
}

kw_code tune_one(evaluator *e, store *s, const task *t, const tune_options *o, const template *p, const uint32_t *config,
                 const task_shape *shape, job_record *record, kw_error *err)
{
    search q;
    memset(record, 0, sizeof *record);
    kw_code code = begin(&q, e, s, t, o, shape, &p, 1, err);
    trial *x = NULL;
    if (code == KW_OK) {
        x = mem_calloc(1, sizeof *x + p->n_params * sizeof *x->config);
        memcpy(x->config, config, p->n_params * sizeof *x->config);
        x->config_json = config_json(p, config);
        code = variant_expand(p, &o->types, config, shape, &x->v, err);
    }
    if (code == KW_OK) {
        x->c.kind = CANDIDATE_TARGET;
        x->c.variant = x->v;
        x->c.cases = &q.cases;
        x->c.target = *shape;
        x->c.cookie = x;
        evaluator_submit(e, &x->c);
        code = next_trial(&q, &x, err);
    }
    if (code == KW_OK && s)
        code = record_trial(&q, x, "search", err);
    if (code == KW_OK) {
        *record = x->c.record;
        memset(&x->c.record, 0, sizeof x->c.record);
    }
    if (code == KW_OK || code != KW_INTERRUPTED)
        if (x)
            free_trial(x);
    end(&q);
    return code;
}
