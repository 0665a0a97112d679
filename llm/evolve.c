#include "llm/evolve.h"

#include "base/log.h"
#include "base/mem.h"
#include "llm/evolve_internal.h"
#include "llm/evolve_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operators' children wait for the device, not for a model: few are made ahead. */
#define MOST_WAITING_OPERATORS 2
#define WAIT_MS 200
/* A reply that is just being written counts once it has not changed for a second. */
#define SETTLE_MS 1200

const candidate_kept *evolve_find(const evolution *e, const char *hash)
{
    for (size_t i = 0; i < e->n_kept; i++) {
        if (strcmp(e->kept[i].hash, hash) == 0)
            return &e->kept[i];
    }
    return NULL;
}

json *evolve_event(const char *name, const char *key)
{
    json *j = json_new_object();
    json_set_string(j, "event", name);
    json_set_string(j, "key", key);
    return j;
}

kw_code evolve_emit(evolution *e, json *event)
{
    return journal_event(e->o->journal, event, e->err);
}

static size_t count_in(const evolution *e, attempt_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_attempts; i++)
        n += e->attempts[i].state == state;
    return n;
}

static attempt *next_ready(const evolution *e)
{
    for (size_t i = 0; i < e->n_attempts; i++) {
        if (e->attempts[i].state == ATTEMPT_READY)
            return &e->attempts[i];
    }
    return NULL;
}

static uint64_t budget_of(const evolution *e)
{
    return e->o->budget + e->n_lost;
}

static void report(evolution *e)
{
    if (!e->o->on_progress)
        return;
    evolve_progress p = {.asked = e->n_attempts,
                         .in_flight = count_in(e, ATTEMPT_ASKED),
                         .waiting = count_in(e, ATTEMPT_READY),
                         .tried = e->n_kept,
                         .right = e->result->right,
                         .budget = budget_of(e),
                         .archive = e->archive,
                         .last = strb_text(&e->last),
                         .totals = llm_session_totals(e->o->session)};
    p.answered = p.asked - p.in_flight;
    e->o->on_progress(&p, e->o->cookie);
}

/* How many candidates may wait for the device while more are asked for. A run in batches asks once everything that came
 * was tried: its next questions know of all of it. */
static size_t most_waiting(const evolution *e)
{
    return e->o->leave_when_waiting ? 1 : e->o->operators > 0 ? MOST_WAITING_OPERATORS : 2 * e->o->in_flight;
}

/* More questions, as far as budget, flights and the queue allow. */
static kw_code fill(evolution *e)
{
    kw_code code = KW_OK;
    while (code == KW_OK && !e->closed && e->n_attempts < budget_of(e) &&
           count_in(e, ATTEMPT_ASKED) < e->o->in_flight && count_in(e, ATTEMPT_READY) < most_waiting(e)) {
        code = evolve_ask(e);
    }
    if (code == KW_OK && e->o->meta && !e->o->independent && !e->closed && e->meta_parent < 0 &&
        e->n_attempts < budget_of(e) && meta_due(e->meta))
        code = evolve_ask_meta(e);
    return code;
}

kw_code evolve_pump(evolution *e, int64_t timeout_ms)
{
    llm_reply r;
    kw_code code = e->o->leave_when_waiting ? KW_OK : fill(e);
    while (code == KW_OK && llm_poll(e->o->session, timeout_ms, &r)) {
        /* A reply that is not kept is none: the run could not go on from its journal. */
        code = llm_session_trouble(e->o->session, e->err);
        if (code == KW_OK)
            code = evolve_take(e, &r);
        llm_reply_clear(&r);
        timeout_ms = 0;
        if (code == KW_OK && !e->o->leave_when_waiting)
            code = fill(e);
    }
    return code == KW_OK && e->o->leave_when_waiting ? fill(e) : code;
}

static void close_run(evolution *e, const char *why)
{
    if (!e->closed)
        e->why = mem_strdup(why);
    e->closed = true;
}

static bool is_good_enough(const evolution *e)
{
    const elite *best = archive_best(e->archive);
    return e->o->stop_fitness > 0 && best && best->best.fitness >= e->o->stop_fitness;
}

/* ---- following ---- */

/* The reply as the folder has it. One that had no text need not be there. */
static kw_code read_recorded(const evolution *e, const char *key, llm_status status, llm_reply *r)
{
    kw_error why = {0};
    kw_code code = e->o->recorded_only ? KW_OK : exchange_check_reply(e->o->folder, key, &why);
    if (code == KW_OK)
        code = exchange_read_reply(e->o->folder, key, r, &why);
    if (code != KW_OK && status <= LLM_CUT)
        return kw_error_set(e->err, code,
                            "%s; the journal, line %zu, says that it came: put it back, or begin in "
                            "another folder",
                            why.message, journal_line(e->o->journal));
    if (code != KW_OK) {
        memset(r, 0, sizeof *r);
        r->usage = llm_usage_unknown();
        r->cost = NAN;
        (void)snprintf(r->key, sizeof r->key, "%s", key);
    }
    r->status = status;
    return KW_OK;
}

static kw_code follow_reply(evolution *e, const char *key)
{
    llm_reply r;
    char hash[HASH_HEX_SIZE];
    const json *next = journal_next(e->o->journal);
    const char *recorded = json_text(json_get(next, "status")), *detail = json_text(json_get(next, "detail")),
               *text = json_text(json_get(next, "text"));
    llm_status status = LLM_FAILED;
    if (!e->o->folder)
        return kw_error_set(e->err, KW_BAD_INPUT, "a journal is followed, but no folder has its replies");
    if (!evolve_waits_for(e, key))
        return journal_misfit(e->o->journal, KW_FAILED, e->err, "a reply to %.80s, which is not asked here", key);
    if (!recorded || !llm_status_from_name(recorded, &status))
        return journal_misfit(e->o->journal, KW_BAD_INPUT, e->err, "a reply whose status is none");
    kw_code code = read_recorded(e, key, status, &r);
    if (code != KW_OK)
        return code;
    if (text && strcmp(text, evolve_text_hash(&r, hash)) != 0) {
        llm_reply_clear(&r);
        return journal_misfit(e->o->journal, KW_FAILED, e->err, "%s/%s.reply.md was changed since it was taken",
                              e->o->folder, key);
    }
    if (e->o->session)
        llm_session_spent(e->o->session, &r);
    free(r.detail);
    r.detail = detail ? mem_strdup(detail) : NULL;
    code = evolve_take(e, &r);
    llm_reply_clear(&r);
    return code;
}

/* An attempt whose question ends without a reply: nobody was left to ask, or a budget was spent. */
static kw_code follow_not_asked(evolution *e, attempt *a, const json *event)
{
    const char *detail = json_text(json_get(event, "detail"));
    const size_t n = strlen(EVOLVE_NO_REPAIR);
    if (detail && strncmp(detail, EVOLVE_NO_REPAIR, n) == 0)
        detail += n;
    a->nobody = true;
    return evolve_finish(e, a, "not_asked", NULL, detail);
}

static kw_code follow_one(evolution *e)
{
    const json *next = journal_next(e->o->journal);
    const char *event = json_text(json_get(next, "event")), *key = json_text(json_get(next, "key"));
    if (strcmp(event, "settings") == 0) {
        e->settings = json_get(next, "settings");
        return journal_pass(e->o->journal, e->err);
    }
    if (strcmp(event, "end") == 0 || strcmp(event, "leave") == 0) {
        e->ended = true;
        return journal_pass(e->o->journal, e->err);
    }
    e->ended = false;
    if (key && strcmp(event, "ask") == 0)
        return strncmp(key, "meta-", 5) == 0 ? evolve_ask_meta(e) : evolve_ask(e);
    if (key && strcmp(event, "reply") == 0)
        return follow_reply(e, key);
    if (key && strcmp(event, "trial") == 0) {
        for (size_t i = 0; i < e->n_attempts; i++) {
            if (e->attempts[i].state == ATTEMPT_READY && strcmp(e->attempts[i].key, key) == 0)
                return evolve_try(e, &e->attempts[i]);
        }
    }
    if (key && strcmp(event, "attempt") == 0) {
        for (size_t i = 0; i < e->n_attempts; i++) {
            if (e->attempts[i].state == ATTEMPT_ASKED && strcmp(e->attempts[i].key, key) == 0)
                return follow_not_asked(e, &e->attempts[i], next);
        }
    }
    return journal_misfit(e->o->journal, KW_FAILED, e->err, "the event \"%.40s\" does not belong here", event);
}

/* Questions whose answers are not in the journal are asked again, with the prompts that they had. */
static kw_code ask_again(evolution *e)
{
    kw_code code = KW_OK;
    for (size_t i = 0; i < e->n_attempts && code == KW_OK; i++) {
        attempt *a = &e->attempts[i];
        if (a->state != ATTEMPT_ASKED)
            continue;
        code = evolve_submit(e, a->key, a->repairs ? "repair" : "generate", a->prompt);
        if (code == KW_FAILED) /* nobody will answer it */
            code = evolve_finish(e, a, "not_asked", NULL, e->why);
    }
    return code == KW_OK && e->meta_parent >= 0 ? evolve_submit_meta(e) : code;
}

/* ---- the run ---- */

/* What holds from here on, where that was not said before. */
static kw_code emit_settings(evolution *e)
{
    const json *now = e->o->settings;
    if (!now || (e->settings && json_equal(e->settings, now)))
        return KW_OK;
    if (e->settings)
        evolve_settings_tell(e->settings, now);
    json *j = json_new_object();
    json_set_string(j, "event", "settings");
    json_set(j, "settings", json_clone(now));
    return evolve_emit(e, j);
}

static kw_code follow(evolution *e)
{
    kw_code code = KW_OK;
    e->following = true;
    while (code == KW_OK && journal_following(e->o->journal))
        code = follow_one(e);
    e->following = false;
    if (code == KW_OK && !e->o->recorded_only)
        code = emit_settings(e);
    return code == KW_OK && !e->o->recorded_only ? ask_again(e) : code;
}

/* Prompts without a reply. */
static size_t waiting_for(const evolution *e)
{
    return count_in(e, ATTEMPT_ASKED) + (e->meta_parent >= 0);
}

static kw_code leave(evolution *e, size_t waiting)
{
    json *j = json_new_object();
    e->result->waiting = waiting;
    json_set_string(j, "event", "leave");
    json_set_int(j, "waiting", (int64_t)waiting);
    return evolve_emit(e, j);
}

/* How long to look for replies: not while there is something to try. A run in batches waits once, for replies that are
 * just being written, and never for those to questions that it has only now asked. */
static int64_t patience_ms(const evolution *e, bool first)
{
    if (next_ready(e) != NULL || waiting_for(e) == 0)
        return 0;
    return !e->o->leave_when_waiting ? WAIT_MS : first ? SETTLE_MS : 0;
}

static kw_code live(evolution *e)
{
    for (bool first = true;; first = false) {
        if (e->o->interrupted && e->o->interrupted(e->o->cookie))
            return kw_error_set(e->err, KW_INTERRUPTED,
                                e->o->folder ? "interrupted; the run goes on when it is started again"
                                             : "interrupted; what was measured is in the store, but nothing of the run "
                                               "is kept (--record DIR keeps it)");
        if (is_good_enough(e))
            close_run(e, "the best is as good as was asked for");
        size_t answered = e->n_answered;
        kw_code code = evolve_pump(e, patience_ms(e, first));
        if (code != KW_OK)
            return code;
        attempt *ready = next_ready(e);
        if (ready)
            code = evolve_try(e, ready);
        else if (count_in(e, ATTEMPT_ASKED) == 0 && (e->closed || e->n_attempts >= budget_of(e)))
            return KW_OK;
        else if (e->o->leave_when_waiting && waiting_for(e) > 0 && e->n_answered == answered)
            return is_good_enough(e) ? KW_OK : leave(e, waiting_for(e));
        if (code != KW_OK)
            return code;
        report(e);
    }
}

static kw_code emit_run(evolution *e)
{
    json *j =
        e->o->run_info ? json_parse(e->o->run_info, strlen(e->o->run_info), "run", 1, 1, e->err) : json_new_object();
    if (!j)
        return KW_BAD_INPUT;
    json *first = json_new_object(), *seeds = json_new_array();
    json_set_string(first, "event", "run");
    json_set(first, "info", j);
    for (size_t i = 0; i < e->o->n_seeds; i++) {
        char hash[HASH_HEX_SIZE];
        hash_hex(e->o->seeds[i], strlen(e->o->seeds[i]), hash);
        json_append(seeds, json_new_string(hash));
    }
    json_set(first, "seeds", seeds);
    return evolve_emit(e, first);
}

/* Behaviour that does not tell candidates apart steers nothing. */
static void count_kinds(const evolution *e, evolve_result *r)
{
    uint64_t in[BEHAVIOUR_CELLS] = {0};
    r->most_cell = -1;
    for (size_t i = 0; i < e->n_kept; i++) {
        int cell = evolve_cell(&e->kept[i].result);
        if (cell < 0)
            continue;
        r->kinds += in[cell]++ == 0;
        if (in[cell] > r->of_most) {
            r->of_most = in[cell];
            r->most_cell = cell;
        }
    }
}

static void fill_result(evolution *e, kw_code code)
{
    evolve_result *r = e->result;
    const elite *best = archive_best(e->archive);
    const candidate_kept *k = best ? evolve_find(e, best->best.template_hash) : NULL;
    r->steering = steer_report_of(e->steer);
    count_kinds(e, r);
    r->pending = count_in(e, ATTEMPT_ASKED) + count_in(e, ATTEMPT_READY);
    r->totals = llm_session_totals(e->o->session);
    r->abandoned = e->closed && llm_nobody_left(e->o->session);
    if (k) {
        r->best_fitness = best->best.fitness;
        r->best_speed_up = evolve_speed_up(&k->result);
        evolve_trace_best(e, k->hash, r);
        r->best_text = mem_strdup(k->text);
        r->best_config = mem_strdup(best->best.config);
        memcpy(r->best_hash, k->hash, sizeof r->best_hash);
    }
    r->archive = e->archive;
    strb why = STRB_INIT;
    const char *where = e->o->asked_in ? e->o->asked_in : e->o->folder;
    if (r->waiting > 0)
        strb_printf(&why, "%zu prompts wait for replies in %s", r->waiting, where ? where : "no folder");
    const bool stops = e->o->recorded_only && (!e->ended || waiting_for(e) > 0);
    const char *usual = code == KW_INTERRUPTED ? "interrupted"
                        : stops                ? "the record ends before its run does"
                                               : "the budget of candidates is used";
    r->why = r->waiting > 0 ? strb_take(&why) : mem_strdup(e->why ? e->why : usual);
    free(e->why);
    e->why = NULL;
}

static void clear(evolution *e)
{
    for (size_t i = 0; i < e->n_attempts; i++)
        evolve_forget_texts(&e->attempts[i]);
    for (size_t i = 0; i < e->n_kept; i++) {
        free(e->kept[i].text);
        trial_result_clear(&e->kept[i].result);
    }
    free(e->attempts);
    free(e->kept);
    free(e->meta_prompt);
    free(e->why);
    free(e->told);
    steer_free(e->steer);
    meta_free(e->meta);
    strb_clear(&e->last);
}

kw_code evolve_run(const evolve_options *o, evolve_result *out, kw_error *err)
{
    evolution e = {.o = o, .result = out, .err = err, .meta_parent = -1};
    steer_options s = {
        .archive = o->archive, .gradient = o->gradient, .targets = o->targets, .seed = o->seed, .rules = o->steering};
    memset(out, 0, sizeof *out);
    e.archive = archive_new();
    e.steer = steer_new(&s);
    e.meta = meta_new(o->seed);
    kw_code code = emit_run(&e);
    if (code == KW_OK)
        code = evolve_seeds(&e);
    if (code == KW_OK)
        code = follow(&e);
    if (code == KW_OK && !o->recorded_only)
        code = live(&e);
    if (code == KW_OK && !o->recorded_only && out->waiting == 0) {
        json *j = json_new_object();
        json_set_string(j, "event", "end");
        json_set_string(j, "why", e.why ? e.why : "the budget of candidates is used");
        code = evolve_emit(&e, j);
    }
    fill_result(&e, code);
    clear(&e);
    return code;
}

void evolve_result_clear(evolve_result *r)
{
    free(r->best_text);
    free(r->best_config);
    free(r->no_answer_why);
    free(r->why);
    archive_free(r->archive);
    memset(r, 0, sizeof *r);
}
