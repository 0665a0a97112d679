/* Questions. */
#include "llm/evolve_internal.h"

#include "base/counter_rng.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is left of a prompt that was too long, and how often it is made shorter. */
static const double SHRINK = 0.6;
enum { MOST_SHRINKS = 3 };

kw_code evolve_submit(evolution *e, const char *key, const char *kind, const char *text)
{
    if (e->following)
        return KW_OK;
    kw_error why = {0};
    llm_request q = {.kind = kind, .system = prompt_system, .prompt = text, .max_tokens = e->o->max_reply_tokens};
    (void)snprintf(q.key, sizeof q.key, "%s", key);
    kw_code code = llm_submit(e->o->session, &q, &why);
    if (code == KW_FAILED) { /* a budget is spent, or nobody is left to ask */
        if (!e->closed) {
            e->closed = true;
            e->why = mem_strdup(why.message);
        }
        return KW_FAILED;
    }
    if (code != KW_OK && e->err)
        *e->err = why;
    return code;
}

static kw_code emit_ask(evolution *e, const attempt *a, const char *kind)
{
    json *j = evolve_event("ask", a->key);
    json_set_string(j, "kind", kind);
    if (*a->parent_hash)
        json_set_string(j, "parent", a->parent_hash);
    json_set_int(j, "target", a->choice.target_cell);
    json_set_string(j, "move", a->choice.move);
    json_set_int(j, "meta", a->meta);
    return evolve_emit(e, j);
}

/* First the event, then the question: a run that is killed between the two asks it again. */
static kw_code ask(evolution *e, attempt *a, const char *event, const char *kind)
{
    a->state = ATTEMPT_ASKED;
    kw_code code = emit_ask(e, a, event);
    if (code != KW_OK)
        return code;
    code = evolve_submit(e, a->key, kind, a->prompt);
    return code == KW_FAILED ? evolve_finish(e, a, "not_asked", NULL, e->why) : code;
}

static attempt *new_attempt(evolution *e)
{
    e->attempts = mem_grow(e->attempts, &e->attempts_capacity, e->n_attempts + 1, sizeof *e->attempts);
    attempt *a = &e->attempts[e->n_attempts++];
    memset(a, 0, sizeof *a);
    a->ordinal = e->n_attempts;
    return a;
}

static const candidate_kept *kept_of_cell(const evolution *e, int cell)
{
    return cell >= 0 ? evolve_find(e, archive_cell(e->archive, cell)->best.template_hash) : NULL;
}

static prompt_candidate shown(const evolution *e, int cell)
{
    const candidate_kept *k = kept_of_cell(e, cell);
    if (!k)
        return (prompt_candidate){.text = NULL, .cell = -1};
    return (prompt_candidate){
        .text = k->text, .outcome = &k->result, .cell = cell, .config = archive_cell(e->archive, cell)->best.config};
}

static void show_tried(const evolution *e, const attempt *a, prompt_context *c)
{
    size_t n = 0;
    for (size_t i = e->n_kept; i-- > 0 && n < sizeof c->tried / sizeof *c->tried;) {
        const candidate_kept *k = &e->kept[i];
        if (*a->parent_hash && strcmp(k->parent_hash, a->parent_hash) == 0)
            c->tried[n++] = (prompt_candidate){.text = k->text, .outcome = &k->result, .cell = -1};
    }
}

/* Everything that a prompt may show for this attempt. */
static prompt_context context_of(const evolution *e, const attempt *a)
{
    prompt_context c = e->o->prompt;
    const elite *best = archive_best(e->archive);
    c.bytes_per_token = e->o->session ? llm_bytes_per_token(e->o->session) : 0;
    c.max_bytes = e->prompt_bytes;
    c.choice = &a->choice;
    c.parent = shown(e, a->choice.parent_cell);
    for (size_t i = 0; i < sizeof c.inspirations / sizeof *c.inspirations; i++)
        c.inspirations[i] = shown(e, a->choice.inspirations[i]);
    c.best = shown(e, best ? behaviour_cell(&best->best.where) : -1);
    if (e->o->independent) {
        c.parent = (prompt_candidate){.text = e->kept[0].text, .outcome = &e->kept[0].result, .cell = -1};
        c.best = shown(e, -1);
    }
    c.sections = meta_sections(e->meta, a->meta);
    if (!e->o->independent)
        show_tried(e, a, &c);
    return c;
}

static kw_code make_child(evolution *e, attempt *a, const candidate_kept *parent)
{
    strb child = STRB_INIT, what = STRB_INIT;
    const candidate_kept *other = kept_of_cell(e, a->choice.inspirations[0]);
    operator_context c = {.parent = parent ? parent->text : NULL,
                          .other = other ? other->text : NULL,
                          .seed = e->o->seed,
                          .ordinal = a->ordinal};
    bool made = parent && operators_apply(&c, &child, &what);
    a->choice.move = "operator";
    kw_code code = emit_ask(e, a, "operator");
    if (code == KW_OK && made)
        code = evolve_ready(e, a, mem_strdup(strb_text(&child)));
    else if (code == KW_OK)
        code = evolve_finish(e, a, "unchanged", NULL, "no operator applies");
    strb_clear(&child);
    strb_clear(&what);
    return code;
}

static char *text_to_generate(const evolution *e, const attempt *a)
{
    strb text = STRB_INIT, left_out = STRB_INIT;
    prompt_context c = context_of(e, a);
    prompt_generate(&c, &text, &left_out);
    if (left_out.length > 0)
        log_debug("%s: %s", a->key, strb_text(&left_out));
    strb_clear(&left_out);
    return strb_take(&text);
}

/* Nothing but the seed: no target, no ideas of others. */
static steer_choice alone(void)
{
    return (steer_choice){
        .parent_cell = -1, .target_cell = -1, .inspirations = {-1, -1, -1}, .move = "independent of the others"};
}

kw_code evolve_ask(evolution *e)
{
    attempt *a = new_attempt(e);
    a->choice = e->o->independent ? alone() : steer_choose(e->steer, e->archive, a->ordinal);
    steer_out(e->steer, &a->choice, a->ordinal);
    a->meta = e->o->meta && !e->o->independent ? meta_choose(e->meta, a->ordinal) : 0;
    a->by_operator = counter_rng_unit(e->o->seed + 4, a->ordinal, 0) < e->o->operators;
    (void)snprintf(a->key, sizeof a->key, "%s-%06llu", a->by_operator ? "operator" : "generate",
                   (unsigned long long)a->ordinal);
    const candidate_kept *parent = e->o->independent ? &e->kept[0] : kept_of_cell(e, a->choice.parent_cell);
    if (parent && e->o->independent) {
        memcpy(a->parent_hash, parent->hash, sizeof a->parent_hash);
        a->parent_fitness = parent->result.fitness;
    } else if (parent) {
        memcpy(a->parent_hash, parent->hash, sizeof a->parent_hash);
        a->parent_fitness = archive_cell(e->archive, a->choice.parent_cell)->best.fitness;
        archive_visit(e->archive, a->choice.parent_cell);
    }
    e->result->attempts++;
    if (a->by_operator)
        return make_child(e, a, parent);

    a->prompt = text_to_generate(e, a);
    return ask(e, a, "generate", "generate");
}

static char *text_for_repair(const evolution *e, const attempt *a)
{
    strb question = STRB_INIT;
    prompt_context c = context_of(e, a);
    prompt_repair(&c, a->repair_text, a->repair_problem, &question, NULL);
    return strb_take(&question);
}

kw_code evolve_ask_repair(evolution *e, attempt *a, const char *text, const char *problem)
{
    a->repairs++;
    free(a->repair_text);
    free(a->repair_problem);
    a->repair_text = mem_strdup(text);
    a->repair_problem = mem_strdup(problem);
    (void)snprintf(a->key, sizeof a->key, "generate-%06llu-r%d", (unsigned long long)a->ordinal, a->repairs);
    free(a->prompt);
    a->prompt = text_for_repair(e, a);
    return ask(e, a, "repair", "repair");
}

kw_code evolve_ask_shorter(evolution *e, attempt *a, bool *asked)
{
    const size_t length = strlen(a->prompt);
    const bool repair = a->repair_text != NULL;
    *asked = false;
    if (a->shrinks == MOST_SHRINKS || e->closed)
        return KW_OK;
    size_t room = (size_t)((double)length * SHRINK);
    e->prompt_bytes = e->prompt_bytes == 0 || room < e->prompt_bytes ? room : e->prompt_bytes;
    char *shorter = repair ? text_for_repair(e, a) : text_to_generate(e, a);
    if (strlen(shorter) >= length) {
        free(shorter);
        return KW_OK;
    }
    a->shrinks++;
    char *end = strstr(a->key, "-s");
    size_t used = end ? (size_t)(end - a->key) : strlen(a->key);
    (void)snprintf(a->key + used, sizeof a->key - used, "-s%d", a->shrinks);
    log_warn("%s: the prompt is too long for the server: %zu bytes, now %zu", a->key, length, strlen(shorter));
    free(a->prompt);
    a->prompt = shorter;
    *asked = true;
    return ask(e, a, "shorter", repair ? "repair" : "generate");
}

kw_code evolve_submit_meta(evolution *e)
{
    kw_code code = evolve_submit(e, e->meta_key, "meta", e->meta_prompt);
    if (code == KW_FAILED) { /* the sections stay as they are */
        e->meta_parent = -1;
        return KW_OK;
    }
    return code;
}

kw_code evolve_ask_meta(evolution *e)
{
    strb question = STRB_INIT;
    e->meta_parent = meta_prompt(e->meta, &question);
    (void)snprintf(e->meta_key, sizeof e->meta_key, "meta-%06llu", (unsigned long long)++e->n_meta);
    free(e->meta_prompt);
    e->meta_prompt = strb_take(&question);
    json *j = evolve_event("ask", e->meta_key);
    json_set_string(j, "kind", "meta");
    json_set_int(j, "meta", e->meta_parent);
    kw_code code = evolve_emit(e, j);
    return code == KW_OK ? evolve_submit_meta(e) : code;
}
