#include "tuner/tune_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that the luck of a first measurement may have kept from the front. A list of so many goes down to two or three
 * soon: who is behind the leader with the whole interval is out. */
#define CONTENDERS 6
#define CONTENDER_SHARE 1.05
#define MOST_SHARE 1.10 /* on a noisy device */
#define ROWS_TO_JUDGE 2
#define RETIME_ROWS 3
#define RETIME_PASSES 16

trial *search_trial_of_entry(search *q, const ledger_entry *entry)
{
    arm *a = arms_find(&q->arms, entry->template_name);
    kw_error ignored;
    json *j = a ? json_parse(entry->config, strlen(entry->config), "store", 1, 1, &ignored) : NULL;
    trial *x = NULL;
    if (j && template_config_recall(a->template, j, q->config)) {
        x = trial_new(a, a->template, q->config);
        if (variant_expand(a->template, &q->o->types, x->config, q->shape, &x->v, &ignored) != KW_OK) {
            trial_free(x);
            x = NULL;
        }
    }
    json_free(j);
    return x;
}

static kw_code retime(search *q, trial *x, kw_error *err)
{
    kw_code code = search_run_alone(q, x, CANDIDATE_RETIME, err);
    if (code != KW_OK)
        return code;
    code = search_record(q, x, "retime", err);
    trial_free(x);
    return code;
}

static double contender_share(const search *q)
{
    const ledger_entry *leader = ledger_fastest(&q->ledger, NULL, NULL);
    double share = leader && 1 + leader->noise > CONTENDER_SHARE ? 1 + leader->noise : CONTENDER_SHARE;
    return share < MOST_SHARE ? share : MOST_SHARE;
}

/* Is another row of a contender of use? */
static bool is_needed(const search *q, const ledger_entry *entry, size_t n_contenders)
{
    if (!entry->ok)
        return false;
    if (n_contenders == 1)
        return search_other_method(q, entry->method);
    bool is_behind = entry->n_rows >= ROWS_TO_JUDGE && entry->time.lo > ledger_fastest(&q->ledger, NULL, NULL)->time.hi;
    return entry->n_rows <= RETIME_ROWS && !is_behind;
}

/* The present contenders, round by round, so that drift meets them all alike. *n_timed: how many rows that made. */
static kw_code retime_once(search *q, size_t *n_timed, kw_error *err)
{
    const ledger_entry *close[CONTENDERS];
    char hashes[CONTENDERS][HASH_HEX_SIZE];
    size_t n = ledger_contenders(&q->ledger, contender_share(q), close, CONTENDERS);
    *n_timed = 0;
    for (size_t i = 0; i < n; i++)
        memcpy(hashes[i], close[i]->source_hash, HASH_HEX_SIZE);
    for (size_t round = 0; round < RETIME_ROWS; round++) {
        for (size_t i = 0; i < n; i++) {
            const ledger_entry *entry = ledger_find(&q->ledger, hashes[i]);
            trial *x = is_needed(q, entry, n) ? search_trial_of_entry(q, entry) : NULL;
            kw_code code = x ? retime(q, x, err) : KW_OK;
            if (code != KW_OK)
                return code;
            *n_timed += x != NULL;
        }
    }
    return KW_OK;
}

/* More samples can bring others close to the front: they get theirs as well, so that the same command again finds
 * nothing left to do. */
static kw_code retime_contenders(search *q, kw_error *err)
{
    size_t n_timed = 1;
    kw_code code = KW_OK;
    for (int pass = 0; code == KW_OK && n_timed > 0 && pass < RETIME_PASSES; pass++)
        code = retime_once(q, &n_timed, err);
    return code;
}

/* That a variant with constants passed all edge shapes it takes does not make it general; it is a fact of its own, so
 * that it is tried once. */
static char *edges_key(const search *q, const char *source_hash)
{
    strb key = STRB_INIT;
    strb_printf(&key, "edges %s %s %s %s", q->t->hash, q->rows.device->key, q->rows.device->driver, source_hash);
    return strb_take(&key);
}

static bool edges_passed(const search *q, const char *source_hash)
{
    char *key = q->s ? edges_key(q, source_hash) : NULL, *text = NULL;
    bool passed = key && store_fact(q->s, key, &text, NULL) == KW_OK && text;
    free(text);
    free(key);
    return passed;
}

static kw_code note_general(search *q, const trial *x, kw_error *err)
{
    if (x->c.general_complete)
        ledger_find(&q->ledger, x->v->hash)->verified = VERIFIED_GENERAL;
    if (!q->s)
        return KW_OK;
    if (x->c.general_complete)
        return store_set_verified(q->s, q->t->hash, q->rows.device->key, x->v->hash, VERIFIED_GENERAL, err);
    char *key = edges_key(q, x->v->hash);
    kw_code code = store_set_fact(q->s, key, "true", err);
    free(key);
    return code;
}

/* Every edge shape and random ones. A variant that fails there is wrong, however fast: its failure becomes a row. */
static kw_code verify_general(search *q, const ledger_entry *entry, kw_error *err)
{
    if (entry->verified == VERIFIED_GENERAL || !q->t->reference || edges_passed(q, entry->source_hash))
        return KW_OK;
    trial *x = search_trial_of_entry(q, entry);
    if (!x)
        return KW_OK;
    kw_code code = search_run_alone(q, x, CANDIDATE_GENERAL, err);
    if (code != KW_OK)
        return code;
    if (x->c.record.outcome == OUTCOME_OK)
        code = note_general(q, x, err);
    else if (x->c.record.stage != STAGE_EXPAND)
        code = search_record(q, x, "general", err);
    trial_free(x);
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

/* The fallback at its default configuration, when it is not among the templates of the search: every header needs it
 * verified, and the table its time. NULL: there is none to measure. */
trial *search_fallback_trial(search *q)
{
    const template *f = search_fallback(q->o);
    kw_error ignored;
    if (!f || arms_find(&q->arms, f->name) || !q->t->reference || !q->trusted ||
        !variant_fits(q->trusted, q->shape, &evaluator_device(q->e)->limits, NULL))
        return NULL;
    uint32_t *config = mem_alloc((f->n_params + 1) * sizeof *config);
    template_default(f, config);
    trial *x = trial_new(NULL, f, config);
    free(config);
    if (variant_expand(f, &q->o->types, x->config, q->shape, &x->v, &ignored) == KW_OK)
        return x;
    trial_free(x);
    return NULL;
}

bool search_knows_fallback(search *q)
{
    return q->trusted && ledger_find(&q->ledger, q->trusted->hash) != NULL;
}

/* Times it if that was not done beside the search, and verifies it on every edge shape. */
static kw_code measure_fallback(search *q, kw_error *err)
{
    trial *x = search_fallback_trial(q);
    kw_code code = KW_OK;
    if (!x)
        return KW_OK;
    if (!search_knows_fallback(q)) {
        code = search_run_alone(q, x, CANDIDATE_TARGET, err);
        if (code != KW_OK)
            return code; /* x is still among the pending ones, which are freed together */
        code = search_record(q, x, "fallback", err);
    }
    const ledger_entry *entry = ledger_find(&q->ledger, x->v->hash);
    if (code == KW_OK && entry && entry->ok && entry->verified != VERIFIED_GENERAL && !edges_passed(q, x->v->hash)) {
        job_record_clear(&x->c.record);
        code = search_run_alone(q, x, CANDIDATE_GENERAL, err);
        if (code != KW_OK)
            return code;
        code = x->c.record.outcome == OUTCOME_OK ? note_general(q, x, err) : search_record(q, x, "general", err);
    }
    trial_free(x);
    return code;
}

/* The default layer wants a variant that is fast and right everywhere: the best one that has no size as a constant,
 * verified on every edge shape. The fallback is verified as well, since it must serve whatever the others refuse. */
static kw_code verify_defaults(search *q, kw_error *err)
{
    const template *f = search_fallback(q->o);
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
        trial *x = search_trial_of_entry(q, e);
        bool usable = x && is_free(x->v);
        if (x)
            trial_free(x);
        if (!usable)
            continue;
        code = verify_general(q, e, err);
        e = ledger_find(&q->ledger, hashes[i]);
        char ignored[256];
        if (code == KW_OK && e->ok && e->verified == VERIFIED_GENERAL)
            code = search_simulate_entry(q, e, ignored, sizeof ignored, err);
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
    out->naive_ns = time_of_default(q, search_fallback(q->o));
    out->first_ns = a ? time_of_default(q, a->template) : NAN;
    out->gflops = task_flops(q->t, &q->o->types, q->shape) / w->time.median;
    out->gbytes = task_bytes(q->t, &q->o->types, q->shape) / w->time.median;
    if (!q->o->probe)
        return;
    probe_limit limit = probe_limit_of(&q->rows.judged, w->method);
    out->limit_ns = limit.ns;
    out->limited_by = limit.by;
    out->noise = probe_noise_of(q->o->probe, w->time.median);
}

static kw_code nothing_found(search *q, kw_error *err)
{
    size_t most = OUTCOME_OK;
    for (size_t i = 1; i < OUTCOME_COUNT; i++)
        if (q->failures[i] > 0 && (most == OUTCOME_OK || q->failures[i] > q->failures[most]))
            most = i;
    if (most == OUTCOME_OK)
        return kw_error_set(err, KW_FAILED, "no configuration was measured: the budget is too small");
    const ledger_entry *f = q->trusted ? ledger_find(&q->ledger, q->trusted->hash) : NULL;
    const bool suspect = most == OUTCOME_WRONG && f && !f->ok && f->outcome == OUTCOME_WRONG;
    const bool counted = f && !f->ok && f->outcome == (outcome)most && !arms_find(&q->arms, f->template_name);
    const unsigned long long all = q->measured + q->reused, n = q->failures[most] - counted;
    return kw_error_set(err, KW_FAILED, "all of %llu configurations failed, %llu of them as %s%s, such as: %s", all, n,
                        outcome_name((outcome)most),
                        suspect ? ", the fallback template too, so that the task's reference is suspect" : "",
                        q->failure_text[most]);
}

static bool is_searched(const ledger_entry *e, void *cookie)
{
    search *q = cookie;
    return arms_find(&q->arms, e->template_name) != NULL;
}

/* A winner that fails on an edge shape or under the simulator makes way for the next. */
static kw_code name_winner(search *q, tune_result *out, kw_error *err)
{
    for (;;) {
        kw_code code = retime_contenders(q, err);
        if (code != KW_OK)
            return code;
        const ledger_entry *w = ledger_winner(&q->ledger, is_searched, q);
        if (!w && q->failures[OUTCOME_WRONG] > 0 && search_fallback(q->o)) /* is it they that are wrong? */
            code = measure_fallback(q, err);
        if (code != KW_OK)
            return code;
        if (!w)
            return nothing_found(q, err);
        char hash[HASH_HEX_SIZE];
        memcpy(hash, w->source_hash, sizeof hash);
        search_simulate_begin(q, w); /* beside the edge shapes, which nobody times */
        code = verify_general(q, w, err);
        if (code != KW_OK)
            return code;
        /* What is only verified may have a simulator beside it, also on a CPU. */
        if (w->ok && (search_knows_fallback(q) || !evaluator_device(q->e)->limits.is_cpu))
            code = measure_fallback(q, err);
        if (code != KW_OK)
            return code;
        w = ledger_find(&q->ledger, hash); /* the list may have grown */
        char deep[sizeof out->deep_check];
        if (w->ok)
            code = search_simulate_entry(q, w, deep, sizeof deep, err);
        if (code != KW_OK)
            return code;
        if (!w->ok)
            continue;
        memcpy(out->deep_check, deep, sizeof deep);
        code = measure_fallback(q, err);
        if (code != KW_OK)
            return code;
        describe_winner(q, ledger_winner(&q->ledger, is_searched, q), out);
        return verify_defaults(q, err);
    }
}

kw_code search_name_winner(search *q, tune_result *out, kw_error *err)
{
    kw_code code = name_winner(q, out, err);
    search_simulate_end(q);
    return code;
}
