/* What comes back from a model. */
#include "llm/evolve_internal.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "llm/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The candidate as a file beside its exchange: what a person looks at. */
static void keep_file(const evolution *e, const attempt *a, const char *text)
{
    if (!e->o->folder || journal_following(e->o->journal))
        return;
    kw_error err = {0};
    if (exchange_write_candidate(e->o->folder, a->key, text, &err) != KW_OK)
        log_warn("%s", err.message);
}

static kw_code take_meta(evolution *e, const llm_reply *r)
{
    strb problem = STRB_INIT;
    int id = r->text ? meta_apply(e->meta, e->meta_parent, r->text, &problem) : -1;
    json *j = evolve_event("meta", r->key);
    json_set_int(j, "parent", e->meta_parent);
    json_set_int(j, "new", id);
    if (problem.length > 0)
        json_set_string(j, "problem", strb_text(&problem));
    e->meta_parent = -1;
    strb_clear(&problem);
    return evolve_emit(e, j);
}

static attempt *attempt_of(evolution *e, const char *key)
{
    for (size_t i = e->n_attempts; i-- > 0;) {
        if (e->attempts[i].state == ATTEMPT_ASKED && strcmp(e->attempts[i].key, key) == 0)
            return &e->attempts[i];
    }
    return NULL;
}

bool evolve_waits_for(const evolution *e, const char *key)
{
    if (e->meta_parent >= 0 && strcmp(key, e->meta_key) == 0)
        return true;
    for (size_t i = 0; i < e->n_attempts; i++) {
        if (e->attempts[i].state == ATTEMPT_ASKED && strcmp(e->attempts[i].key, key) == 0)
            return true;
    }
    return false;
}

const char *evolve_text_hash(const llm_reply *r, char out[HASH_HEX_SIZE])
{
    strb text = STRB_INIT;
    if (r->text)
        utf8_add_valid(&text, r->text, strlen(r->text));
    hash_hex(strb_text(&text), text.length, out);
    strb_clear(&text);
    return out;
}

/* Journals of earlier versions have no hashes of texts: these repeat without. */
static void add_text_hash(const evolution *e, const llm_reply *r, json *event)
{
    char hash[HASH_HEX_SIZE];
    const json *next = journal_next(e->o->journal);
    if (r->status <= LLM_CUT && r->text && (!next || json_get(next, "text")))
        json_set_string(event, "text", evolve_text_hash(r, hash));
}

static const char *outcome_of_reply(reply_kind kind)
{
    switch (kind) {
    case REPLY_UNCHANGED:
        return "unchanged";
    case REPLY_OTHER_TASK:
        return "other_task";
    case REPLY_NONE:
    case REPLY_WHOLE:
    case REPLY_EDITS:
        break;
    }
    return "no_code";
}

static void note_model(evolution *e, const llm_reply *r, const reply_result *read)
{
    evolve_result *n = e->result;
    const char *name = r->model ? r->model : "";
    size_t i = 0;
    while (i < n->n_models && strncmp(n->models[i].name, name, sizeof n->models[i].name - 1) != 0)
        i++;
    if (i == sizeof n->models / sizeof *n->models)
        return;
    evolve_model *m = &n->models[i];
    if (i == n->n_models)
        snprintf(m->name, sizeof m->name, "%s", name);
    n->n_models = i == n->n_models ? i + 1 : n->n_models;
    m->replies++;
    m->with_template += read->text != NULL;
    m->edits += read->n_edits;
    m->edits_failed += read->n_failed_edits;
}

static kw_code read_text(evolution *e, attempt *a, const llm_reply *r)
{
    const candidate_kept *parent = *a->parent_hash ? evolve_find(e, a->parent_hash) : NULL;
    reply_context c = {
        .task = e->o->prompt.task->name, .parent = parent ? parent->text : NULL, .cut = r->status == LLM_CUT};
    reply_result read;
    kw_code code;
    reply_read(r->text, strlen(r->text), &c, &read);
    note_model(e, r, &read);
    if (read.repairs.length > 0) /* lines */
        log_info("%s: %.*s", a->key, (int)read.repairs.length - 1, strb_text(&read.repairs));
    if (read.text) {
        char *text = read.text;
        read.text = NULL;
        code = evolve_ready(e, a, text);
    } else if (a->repairs < e->o->repairs && !e->closed && read.kind != REPLY_UNCHANGED) {
        code = evolve_ask_repair(e, a, r->text, strb_text(&read.problem));
    } else {
        code = evolve_finish(e, a, outcome_of_reply(read.kind), NULL, strb_text(&read.problem));
    }
    reply_result_clear(&read);
    return code;
}

/* docs/providers.md: how such a failure is told. */
static bool is_overflow(const llm_reply *r)
{
    static const char says[] = "context overflow";
    return r->status == LLM_FAILED && r->detail && strncmp(r->detail, says, strlen(says)) == 0;
}

/* Also when this was the last question: the run did not get what it asked for. */
static void close_if_nobody_is_left(evolution *e, const llm_reply *r)
{
    strb why = STRB_INIT;
    if (e->closed || !llm_nobody_left(e->o->session))
        return;
    strb_printf(&why, "no provider is left: %s", r->detail ? r->detail : "all have stopped");
    e->closed = true;
    e->why = strb_take(&why);
}

/* A model that fails is told of at once, the same failure once. */
static void tell_failure(evolution *e, const llm_reply *r)
{
    const char *why = r->detail ? r->detail : llm_status_name(r->status);
    if (r->status <= LLM_CUT || r->status == LLM_STOPPED || e->following)
        return;
    if (!e->told || strcmp(e->told, why) != 0)
        log_warn("%s: %s", r->key, why);
    free(e->told);
    e->told = mem_strdup(why);
}

kw_code evolve_take(evolution *e, const llm_reply *r)
{
    json *j = evolve_event("reply", r->key);
    e->n_answered++;
    json_set_string(j, "status", llm_status_name(r->status));
    if (r->status > LLM_CUT)
        json_set_string(j, "detail", r->detail);
    add_text_hash(e, r, j);
    kw_code code = evolve_emit(e, j);
    if (code != KW_OK)
        return code;
    if (e->meta_parent >= 0 && strcmp(r->key, e->meta_key) == 0)
        return take_meta(e, r);
    attempt *a = attempt_of(e, r->key);
    if (!a)
        return KW_OK; /* nobody waits for it */
    if (r->status == LLM_STOPPED && !e->following)
        close_if_nobody_is_left(e, r);
    a->nobody = r->status == LLM_STOPPED;
    if (is_overflow(r)) {
        bool asked;
        code = evolve_ask_shorter(e, a, &asked);
        if (code != KW_OK || asked)
            return code;
    }
    tell_failure(e, r);
    free(a->prompt);
    a->prompt = NULL;
    if (r->status > LLM_CUT || !r->text)
        return evolve_finish(e, a, "no_answer", NULL, r->detail ? r->detail : llm_status_name(r->status));
    return read_text(e, a, r);
}

void evolve_essence(const evolution *e, const char *text, char out[HASH_HEX_SIZE])
{
    strb essence = STRB_INIT;
    if (e->o->steering == 1 || e->o->steering == 2) /* these went by the text itself */
        strb_add(&essence, text);
    else
        reply_essence(text, &essence);
    hash_hex(strb_text(&essence), essence.length, out);
    strb_clear(&essence);
}

/* Was such a text tried, or does another attempt with it wait for the device? */
static bool is_known(const evolution *e, const char *essence)
{
    for (size_t i = 0; i < e->n_kept; i++) {
        if (strcmp(e->kept[i].essence, essence) == 0)
            return true;
    }
    for (size_t i = 0; i < e->n_attempts; i++) {
        if (e->attempts[i].state == ATTEMPT_READY && strcmp(e->attempts[i].essence, essence) == 0)
            return true;
    }
    return false;
}

kw_code evolve_ready(evolution *e, attempt *a, char *text)
{
    keep_file(e, a, text);
    evolve_essence(e, text, a->essence);
    if (is_known(e, a->essence)) {
        free(text);
        return evolve_finish(e, a, "duplicate", NULL, "this text was tried before");
    }
    a->text = text;
    a->state = ATTEMPT_READY;
    return KW_OK;
}

int evolve_cell(const trial_result *r)
{
    int cell = -1;
    double best = 0;
    for (size_t i = 0; i < r->n_offers; i++) {
        if (cell < 0 || r->offers[i].fitness > best) {
            cell = behaviour_cell(&r->offers[i].where);
            best = r->offers[i].fitness;
        }
    }
    return cell;
}

static void count(evolution *e, const attempt *a, const char *outcome_text, const trial_result *r, const char *detail)
{
    evolve_result *n = e->result;
    n->unchanged += strcmp(outcome_text, "unchanged") == 0;
    n->duplicate += strcmp(outcome_text, "duplicate") == 0;
    n->not_asked += strcmp(outcome_text, "not_asked") == 0;
    if (strcmp(outcome_text, "no_answer") == 0) {
        n->no_answer++;
        free(n->no_answer_why);
        n->no_answer_why = mem_strdup(detail ? detail : outcome_text);
    }
    n->no_code += strcmp(outcome_text, "no_code") == 0 || strcmp(outcome_text, "no_answer") == 0 ||
                  strcmp(outcome_text, "other_task") == 0;
    if (!r)
        return;
    n->unread += !r->read;
    n->no_compile += r->read && r->fitness < 0.25;
    n->failed += r->read && r->fitness >= 0.25 && r->fitness < 0.35;
    n->wrong += r->fitness >= 0.35 && r->outcome != OUTCOME_OK;
    n->right += r->outcome == OUTCOME_OK;
    n->repaired += r->outcome == OUTCOME_OK && a->repairs > 0;
    n->better_than_parent += r->outcome == OUTCOME_OK && r->fitness > a->parent_fitness;
}

void evolve_forget_texts(attempt *a)
{
    free(a->text);
    free(a->prompt);
    free(a->repair_text);
    free(a->repair_problem);
    a->text = a->prompt = a->repair_text = a->repair_problem = NULL;
}

/* A repair that nobody wrote takes nothing back: the attempt is what its last candidate was. */
static const trial_result *tried_before(const evolution *e, const attempt *a, const char *outcome_text)
{
    const bool nobody = strcmp(outcome_text, "no_answer") == 0 || strcmp(outcome_text, "not_asked") == 0;
    const bool known = e->o->steering == 0 || e->o->steering >= 4;
    const candidate_kept *k = known && nobody && *a->tried_hash ? evolve_find(e, a->tried_hash) : NULL;
    return k ? &k->result : NULL;
}

kw_code evolve_finish(evolution *e, attempt *a, const char *outcome_text, const trial_result *r, const char *detail)
{
    const trial_result *before = r ? NULL : tried_before(e, a, outcome_text);
    strb no_repair = STRB_INIT;
    if (before) {
        r = before;
        outcome_text = evolve_outcome(r);
        strb_printf(&no_repair, EVOLVE_NO_REPAIR "%s", detail ? detail : "nobody answered");
    }
    double fitness = r ? r->fitness : 0;
    int to = r && r->outcome == OUTCOME_OK ? evolve_cell(r) : -1;
    bool judged = r || strcmp(outcome_text, "no_code") == 0 || strcmp(outcome_text, "other_task") == 0;
    if (judged) { /* no answer and the parent again say nothing about where to go */
        transition t = {.from = a->choice.parent_cell,
                        .to = to,
                        .target = a->choice.target_cell,
                        .parent_fitness = a->parent_fitness,
                        .child_fitness = fitness,
                        .ordinal = a->ordinal};
        steer_learn(e->steer, e->archive, &t);
        if (!a->by_operator)
            meta_learn(e->meta, a->meta, fitness - a->parent_fitness, to >= 0,
                       before && r->detail ? r->detail
                       : detail && *detail ? detail
                                           : outcome_text);
    }
    steer_done(e->steer, a->ordinal);
    e->n_lost += e->following && a->nobody && !*a->tried_hash;
    count(e, a, outcome_text, r, detail);
    evolve_note_move(e, a, r);
    evolve_forget_texts(a);
    a->state = ATTEMPT_DONE;
    strb_reset(&e->last);
    strb_printf(&e->last, "%s: %s", a->key, outcome_text);
    if (r && r->outcome == OUTCOME_OK)
        strb_printf(&e->last, ", fitness %.3f", r->fitness);
    json *j = evolve_event("attempt", a->key);
    json_set_string(j, "outcome", outcome_text);
    if (r) {
        json_set_string(j, "hash", r->template_hash);
        json_set_number(j, "fitness", r->fitness);
        if (before)
            json_set_string(j, "detail", strb_text(&no_repair));
        strb_clear(&no_repair);
    } else {
        json_set_string(j, "detail", detail);
    }
    return evolve_emit(e, j);
}
