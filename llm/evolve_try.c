/* Trials, and what they bring to the archive. */
#include "llm/evolve_internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pump_nothing(void *cookie)
{
    (void)cookie;
}

/* From the journal while it is followed, else from the device. */
static kw_code get_trial(evolution *e, const char *key, const char *text, void (*pump)(void *), trial_result *out)
{
    const json *next = journal_next(e->o->journal);
    kw_code code;
    if (next) {
        char hash[HASH_HEX_SIZE];
        hash_hex(text, strlen(text), hash);
        const char *event = json_text(json_get(next, "event")), *recorded = json_text(json_get(next, "key"));
        if (!event || strcmp(event, "trial") != 0 || !recorded || strcmp(recorded, key) != 0)
            return journal_misfit(e->o->journal, KW_FAILED, e->err, "the trial of %s was expected", key);
        kw_error why = {0};
        if (trial_from_json(json_get(next, "trial"), e->o->prompt.n_shapes, out, &why) != KW_OK)
            return journal_misfit(e->o->journal, KW_BAD_INPUT, e->err, "%s", why.message);
        if (strcmp(out->template_hash, hash) != 0) {
            trial_result_clear(out);
            return journal_misfit(e->o->journal, KW_FAILED, e->err,
                                  "%s is not the text that was tried: its %s was changed since", key,
                                  strncmp(key, "seed-", 5) == 0 ? "template" : "reply");
        }
        if (e->o->trial->note)
            e->o->trial->note(e->o->trial_state, text, out);
        return journal_pass(e->o->journal, e->err);
    }
    if (e->o->recorded_only)
        return journal_pass(e->o->journal, e->err); /* it was cut: there is no device to go on with */
    code = e->o->trial->run(e->o->trial_state, text, key, pump, e, out, e->err);
    if (code != KW_OK)
        return code;
    if (e->code != KW_OK) { /* what the pump did went wrong */
        trial_result_clear(out);
        return e->code;
    }
    json *j = evolve_event("trial", key);
    json_set(j, "trial", trial_to_json(out));
    code = evolve_emit(e, j);
    if (code != KW_OK)
        trial_result_clear(out);
    return code;
}

static kw_code get_retime(evolution *e, const offer *held, const offer *now, double *a, double *b)
{
    const json *next = journal_next(e->o->journal);
    if (next) {
        const json *x = json_get(next, "held"), *y = json_get(next, "now");
        const char *event = json_text(json_get(next, "event"));
        if (!event || strcmp(event, "retime") != 0)
            return journal_misfit(e->o->journal, KW_FAILED, e->err, "a re-timing was expected");
        *a = json_kind_of(x) == JSON_NUMBER ? json_number(x) : NAN;
        *b = json_kind_of(y) == JSON_NUMBER ? json_number(y) : NAN;
        return journal_pass(e->o->journal, e->err);
    }
    if (e->o->recorded_only)
        return journal_pass(e->o->journal, e->err);
    kw_code code = e->o->trial->retime(e->o->trial_state, held, now, a, b, e->err);
    if (code != KW_OK)
        return code;
    json *j = json_new_object();
    json_set_string(j, "event", "retime");
    json_set_string(j, "source", now->source_hash);
    json_set_number(j, "held", *a);
    json_set_number(j, "now", *b);
    return evolve_emit(e, j);
}

/* An elite gives way only to what is better after both were timed again. */
static kw_code offer_one(evolution *e, const offer *o, uint64_t ordinal)
{
    archive_verdict v = archive_offer(e->archive, o, ordinal, false);
    offer now = *o;
    if (v == ARCHIVE_UNSURE) {
        int cell = behaviour_cell(&o->where);
        offer held = archive_cell(e->archive, cell)->best;
        double a = NAN, b = NAN;
        kw_code code = get_retime(e, &held, o, &a, &b);
        if (code != KW_OK)
            return code;
        archive_retime(e->archive, cell, a);
        now.fitness = b;
        v = archive_offer(e->archive, &now, ordinal, true);
    }
    if (v != ARCHIVE_NEW && v != ARCHIVE_REPLACED)
        return KW_OK;
    json *j = json_new_object(), *cell = json_new_array();
    json_set_string(j, "event", "elite");
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        json_append(cell, json_new_int(o->where.level[d]));
    json_set(j, "cell", cell);
    json_set_string(j, "hash", o->template_hash);
    json_set_string(j, "source", o->source_hash);
    json_set_number(j, "fitness", now.fitness);
    json_set_string(j, "verdict", v == ARCHIVE_NEW ? "new" : "replaced");
    return evolve_emit(e, j);
}

/* Of the offers for one cell only the best is made: the others could not hold it. */
static kw_code offer_all(evolution *e, const trial_result *r, uint64_t ordinal)
{
    for (int cell = 0; cell < BEHAVIOUR_CELLS; cell++) {
        const offer *best = NULL;
        for (size_t i = 0; i < r->n_offers; i++) {
            if (behaviour_cell(&r->offers[i].where) == cell && (!best || r->offers[i].fitness > best->fitness))
                best = &r->offers[i];
        }
        kw_code code = best ? offer_one(e, best, ordinal) : KW_OK;
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static candidate_kept *keep(evolution *e, const char *key, const char *text, const trial_result *r)
{
    e->kept = mem_grow(e->kept, &e->kept_capacity, e->n_kept + 1, sizeof *e->kept);
    candidate_kept *k = &e->kept[e->n_kept++];
    memset(k, 0, sizeof *k);
    (void)snprintf(k->key, sizeof k->key, "%s", key);
    hash_hex(text, strlen(text), k->hash);
    evolve_essence(e, text, k->essence);
    k->text = mem_strdup(text);
    k->result = *r;
    return k;
}

const char *evolve_outcome(const trial_result *r)
{
    return !r->read ? "not_a_template" : outcome_name(r->outcome);
}

static const offer *best_offer(const trial_result *r)
{
    const offer *best = NULL;
    for (size_t i = 0; i < r->n_offers; i++) {
        if (!best || r->offers[i].fitness > best->fitness)
            best = &r->offers[i];
    }
    return best;
}

/* Another template may still be the same kernel: scores that never change come from there. */
static void note_same_kernel(evolution *e, const char *key)
{
    const candidate_kept *last = &e->kept[e->n_kept - 1];
    const offer *mine = best_offer(&last->result);
    for (size_t i = 0; mine && i + 1 < e->n_kept; i++) {
        const offer *other = best_offer(&e->kept[i].result);
        if (!other || strcmp(other->source_hash, mine->source_hash) != 0)
            continue;
        e->result->same_kernel++;
        if (!e->following)
            log_warn("%s: its best configuration expands to the very kernel of the template %.12s, which was tried "
                     "before",
                     key, e->kept[i].hash);
        return;
    }
}

static void pump_while_busy(void *cookie);

kw_code evolve_try(evolution *e, attempt *a)
{
    trial_result r;
    uint64_t ordinal = a->ordinal;
    size_t index = ordinal - 1; /* attempts may move while the pump asks for more */
    char key[EXCHANGE_KEY_SIZE];
    memcpy(key, a->key, sizeof key);
    kw_code code = get_trial(e, key, a->text, pump_while_busy, &r);
    if (code != KW_OK)
        return code;
    a = &e->attempts[index];
    const candidate_kept *k = keep(e, key, a->text, &r);
    note_same_kernel(e, key);
    e->kept[e->n_kept - 1].move = a->choice.move;
    memcpy(e->kept[e->n_kept - 1].parent_hash, a->parent_hash, sizeof a->parent_hash);
    memcpy(a->tried_hash, k->hash, sizeof a->tried_hash);
    code = offer_all(e, &k->result, ordinal);
    if (code != KW_OK)
        return code;
    bool mend = r.outcome != OUTCOME_OK && !a->by_operator && a->repairs < e->o->repairs && !e->closed;
    if (mend) {
        char *text = a->text;
        a->text = NULL;
        code = evolve_ask_repair(e, a, text, r.detail ? r.detail : evolve_outcome(&r));
        free(text);
        return code;
    }
    return evolve_finish(e, a, evolve_outcome(&r), &r, r.detail);
}

kw_code evolve_seeds(evolution *e)
{
    for (size_t i = 0; i < e->o->n_seeds; i++) {
        char key[EXCHANGE_KEY_SIZE], hash[HASH_HEX_SIZE];
        trial_result r;
        (void)snprintf(key, sizeof key, "seed-%06zu", i + 1);
        hash_hex(e->o->seeds[i], strlen(e->o->seeds[i]), hash);
        if (evolve_find(e, hash))
            continue;
        const bool followed = journal_following(e->o->journal);
        kw_code code = get_trial(e, key, e->o->seeds[i], pump_nothing, &r);
        if (code != KW_OK)
            return code;
        const candidate_kept *k = keep(e, key, e->o->seeds[i], &r);
        if (i == 0)
            e->result->base_fitness = r.fitness;
        if (r.outcome != OUTCOME_OK && !followed)
            log_warn("%s, which the run begins with: %s: %s", key, evolve_outcome(&r),
                     r.detail ? r.detail : "no reason");
        code = offer_all(e, &k->result, 0);
        if (code != KW_OK)
            return code;
        strb_reset(&e->last);
        strb_printf(&e->last, "%s: %s, fitness %.3f", key, evolve_outcome(&r), r.fitness);
        if (e->o->interrupted && e->o->interrupted(e->o->cookie))
            return kw_error_set(e->err, KW_INTERRUPTED, "interrupted");
    }
    return KW_OK;
}

/* Requests go on while the device is at work. */
static void pump_while_busy(void *cookie)
{
    evolution *e = cookie;
    if (e->code == KW_OK)
        e->code = evolve_pump(e, 0);
}
