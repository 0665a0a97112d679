#include "llm/session.h"

#include "base/counter_rng.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/provider_internal.h"
#include "llm/tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS 16
/* One provider of the ensemble. */
typedef struct member {
    const provider_ops *ops;
    void *state;
    double weight;
    char *stopped; /* why it will not answer again; NULL: it may */
    bool in_place; /* a folder that is the record too: prompts and replies lie there already */
    char *spec;
} member;

typedef struct flight {
    char key[EXCHANGE_KEY_SIZE];
    int64_t prompt, tokens; /* of the prompt, estimated; the most that it may use */
} flight;

struct llm_session {
    member members[MAX_MEMBERS];
    size_t n_members;
    flight *flights;
    size_t n_flights, capacity;
    char *record, *replay;
    int64_t max_tokens;
    double max_cost;
    llm_totals totals;
    size_t turn;      /* who is polled first */
    kw_error trouble; /* the first exchange that could not be kept; KW_OK: none */
};

static const provider_ops *find_provider(const char *text, size_t length)
{
    for (size_t i = 0; provider_table[i]; i++) {
        if (strlen(provider_table[i]->name) == length && strncmp(provider_table[i]->name, text, length) == 0)
            return provider_table[i];
    }
    return NULL;
}

static kw_code unknown_provider(const char *spec, kw_error *err)
{
    strb known = STRB_INIT;
    const char *names[32];
    size_t n = 0;
    char *name = mem_strndup(spec, strcspn(spec, ":*,"));
    for (; n < sizeof names / sizeof *names && provider_table[n]; n++) {
        names[n] = provider_table[n]->name;
        strb_printf(&known, "%s%s", n ? ", " : "", names[n]);
    }
    const char *near = json_nearest(name, names, n);
    if (near && strcmp(near, name) == 0)
        kw_error_set(err, KW_BAD_INPUT, "--llm %s: behind \"%s\" stands a colon, or nothing", spec, name);
    else
        kw_error_set(err, KW_BAD_INPUT, "--llm %s: there is no provider \"%s\"%s%s%s (there are %s)", spec, name,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", strb_text(&known));
    strb_clear(&known);
    free(name);
    return KW_BAD_INPUT;
}

/* Where the next member begins: behind a comma that a provider's name follows. What stands behind command: may hold
 * commas of its own. */
static const char *end_of_member(const char *spec)
{
    for (const char *comma = strchr(spec, ','); comma; comma = strchr(comma + 1, ',')) {
        if (find_provider(comma + 1, strcspn(comma + 1, ":*,")))
            return comma;
    }
    return spec + strlen(spec);
}

/* Takes "*WEIGHT" off the end; 1 if there is none: what stands behind a star and is no number belongs to a program. */
static kw_code take_weight(char *text, double *weight, kw_error *err)
{
    char *star = strrchr(text, '*'), *end;
    *weight = 1;
    if (!star || !star[1])
        return KW_OK;
    double number = strtod(star + 1, &end);
    if (*end)
        return KW_OK;
    if (!(number > 0) || !isfinite(number))
        return kw_error_set(err, KW_BAD_INPUT,
                            "--llm %s: a weight is a number above 0 (where \"%s\" is no weight, write *1 behind it)",
                            text, star);
    *weight = number;
    *star = 0;
    return KW_OK;
}

/* A model, an address or a folder stands in messages, which are one line; a program may be several. */
static kw_code check_characters(const char *spec, kw_error *err)
{
    for (const char *at = spec; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return kw_error_set(err, KW_BAD_INPUT, "--llm: byte 0x%02x at position %zu is no character of a line",
                                (unsigned char)*at, (size_t)(at - spec) + 1);
    }
    return KW_OK;
}

static kw_code open_member(llm_session *s, char *text, const provider_options *o, kw_error *err)
{
    if (s->n_members == MAX_MEMBERS)
        return kw_error_set(err, KW_BAD_INPUT, "--llm: more than %d providers", MAX_MEMBERS);
    member *m = &s->members[s->n_members];
    memset(m, 0, sizeof *m);
    kw_code code = take_weight(text, &m->weight, err);
    if (code != KW_OK)
        return code;
    size_t length = strcspn(text, ":");
    m->ops = find_provider(text, length);
    if (!m->ops)
        return unknown_provider(text, err);
    code = m->ops == &provider_command ? KW_OK : check_characters(text, err);
    if (code == KW_OK)
        code = m->ops->open(text[length] ? text + length + 1 : "", o, &m->state, err);
    if (code != KW_OK)
        return code;
    m->spec = mem_strdup(text);
    s->n_members++;
    if (strcmp(m->ops->name, "replay") == 0)
        s->replay = mem_strdup(text + length + 1);
    if (strcmp(m->ops->name, "folder") == 0) {
        if (!s->record)
            s->record = mem_strdup(text + length + 1);
        m->in_place = fs_same_file(s->record, text + length + 1);
    }
    return KW_OK;
}

static kw_code check_budget(const llm_session *s, kw_error *err)
{
    for (size_t i = 0; s->max_cost > 0 && s->max_tokens == 0 && i < s->n_members; i++) {
        const member *m = &s->members[i];
        if (!m->ops->has_price || !m->ops->has_price(m->state))
            return kw_error_set(err, KW_BAD_INPUT,
                                "--llm %s: its price is not known, so a limit in money cannot hold; give its price in "
                                "the configuration, or a limit in tokens",
                                m->spec);
    }
    return KW_OK;
}

kw_code llm_session_open(const llm_session_options *o, llm_session **out, kw_error *err)
{
    llm_session *s = mem_calloc(1, sizeof *s);
    kw_code code = o->spec && *o->spec ? KW_OK : kw_error_set(err, KW_BAD_INPUT, "--llm: name a provider");
    s->record = o->record ? mem_strdup(o->record) : NULL;
    s->max_tokens = o->max_tokens_total;
    s->max_cost = o->max_cost;
    for (const char *at = o->spec; code == KW_OK && *at;) {
        const char *end = end_of_member(at);
        char *text = mem_strndup(at, (size_t)(end - at));
        code = open_member(s, text, &o->provider, err);
        free(text);
        at = *end ? end + 1 : end;
    }
    if (code == KW_OK)
        code = check_budget(s, err);
    if (code != KW_OK) {
        llm_session_close(s);
        return code;
    }
    *out = s;
    return KW_OK;
}

void llm_session_close(llm_session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_members; i++) {
        s->members[i].ops->close(s->members[i].state);
        free(s->members[i].stopped);
        free(s->members[i].spec);
    }
    free(s->flights);
    free(s->record);
    free(s->replay);
    free(s);
}

int64_t llm_tokens_used(const llm_usage *u)
{
    int64_t sum = 0;
    const int64_t parts[] = {u->input, u->cache_read, u->cache_write, u->output};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += parts[i] > 0 ? parts[i] : 0;
    return sum;
}

double llm_bytes_per_token(const llm_session *s)
{
    double least = INFINITY;
    for (size_t i = 0; i < s->n_members; i++) {
        const member *m = &s->members[i];
        double each = m->ops->bytes_per_token ? m->ops->bytes_per_token(m->state) : TOKENS_BYTES_EACH;
        least = m->stopped ? least : fmin(least, each);
    }
    return isfinite(least) ? least : TOKENS_BYTES_EACH;
}

static int64_t prompt_tokens(const llm_session *s, const llm_request *q)
{
    size_t bytes = strlen(q->prompt) + (q->system ? strlen(q->system) : 0);
    return (int64_t)((double)bytes / llm_bytes_per_token(s));
}

static kw_code within_budget(const llm_session *s, const llm_request *q, kw_error *err)
{
    int64_t asked = prompt_tokens(s, q), reserved = asked + q->max_tokens;
    for (size_t i = 0; i < s->n_flights; i++) {
        asked += s->flights[i].prompt;
        reserved += s->flights[i].tokens;
    }
    if (s->max_tokens > 0 && llm_tokens_used(&s->totals.usage) + reserved > s->max_tokens)
        return kw_error_set(err, KW_FAILED, "the budget of %lld tokens is spent (%lld used, up to %lld would follow)",
                            (long long)s->max_tokens, (long long)llm_tokens_used(&s->totals.usage),
                            (long long)reserved);
    double dearest = s->max_cost > 0 ? llm_session_most_cost(s, asked, reserved - asked) : 0;
    if (s->max_cost > 0 && s->totals.cost + (isfinite(dearest) ? dearest : 0) > s->max_cost)
        return kw_error_set(err, KW_FAILED, "the budget of %g is spent (%g used, up to %g would follow)", s->max_cost,
                            s->totals.cost, isfinite(dearest) ? dearest : 0);
    return KW_OK;
}

/* Who answers is drawn by weight, from the key: the same question goes to the same model in every run. */
static member *choose_member(llm_session *s, const char *key)
{
    double sum = 0, u = counter_rng_unit(hash_u64(key, strlen(key), 0), 0, 0);
    member *last = NULL;
    for (size_t i = 0; i < s->n_members; i++)
        sum += s->members[i].stopped ? 0 : s->members[i].weight;
    for (size_t i = 0; i < s->n_members; i++) {
        member *m = &s->members[i];
        if (m->stopped)
            continue;
        last = m;
        u -= m->weight / sum;
        if (u < 0)
            break;
    }
    return last;
}

kw_code llm_submit(llm_session *s, const llm_request *q, kw_error *err)
{
    kw_code code = within_budget(s, q, err);
    if (code != KW_OK)
        return code;
    member *m = choose_member(s, q->key);
    if (!m)
        return kw_error_set(err, KW_FAILED, "no provider is left: %s: %s", s->members[s->n_members - 1].spec,
                            s->members[s->n_members - 1].stopped);
    if (s->record && !m->in_place)
        code = exchange_write_request(s->record, q, err);
    if (code == KW_OK)
        code = m->ops->submit(m->state, q, err);
    if (code != KW_OK)
        return code;
    if (s->replay) {
        bool same = exchange_same_prompt(s->replay, q);
        s->totals.same_prompts += same;
        s->totals.other_prompts += !same;
    }
    s->flights = mem_grow(s->flights, &s->capacity, s->n_flights + 1, sizeof *s->flights);
    flight *f = &s->flights[s->n_flights++];
    memcpy(f->key, q->key, sizeof f->key);
    f->prompt = prompt_tokens(s, q);
    f->tokens = f->prompt + q->max_tokens;
    s->totals.requests++;
    return KW_OK;
}

static void add_tokens(int64_t *sum, int64_t value)
{
    *sum += value > 0 ? value : 0;
}

static void account(llm_session *s, const llm_reply *r)
{
    llm_totals *t = &s->totals;
    t->replies++;
    t->failed += r->status >= LLM_FAILED;
    add_tokens(&t->usage.input, r->usage.input);
    add_tokens(&t->usage.cache_read, r->usage.cache_read);
    add_tokens(&t->usage.cache_write, r->usage.cache_write);
    add_tokens(&t->usage.output, r->usage.output);
    add_tokens(&t->usage.reasoning, r->usage.reasoning);
    t->usage.estimated |= r->usage.estimated;
    if (isfinite(r->cost))
        t->cost += r->cost;
    else
        t->unpriced++;
}

/* Who does not say what was used (a program, a folder) is counted by bytes: a budget must hold there too. */
static void estimate(const llm_session *s, const flight *f, llm_reply *r)
{
    if (r->usage.input >= 0 || r->usage.output >= 0 || r->status > LLM_NO_ANSWER)
        return;
    r->usage.input = f->prompt;
    r->usage.output = (int64_t)((double)(r->text ? strlen(r->text) : 0) / llm_bytes_per_token(s));
    r->usage.estimated = true;
}

static void landed(llm_session *s, llm_reply *r)
{
    for (size_t i = 0; i < s->n_flights; i++) {
        if (strcmp(s->flights[i].key, r->key) == 0) {
            estimate(s, &s->flights[i], r);
            memmove(s->flights + i, s->flights + i + 1, (--s->n_flights - i) * sizeof *s->flights);
            return;
        }
    }
}

void llm_session_spent(llm_session *s, const llm_reply *r)
{
    account(s, r);
}

static void take(llm_session *s, member *m, llm_reply *r)
{
    landed(s, r);
    account(s, r);
    if (r->status == LLM_STOPPED && !m->stopped) {
        m->stopped = mem_strdup(r->detail ? r->detail : "it stopped");
        log_warn("--llm %s: %s", m->spec, m->stopped);
    }
    if (s->record && s->trouble.code == KW_OK)
        (void)(m->in_place ? exchange_write_meta : exchange_write_reply)(s->record, r, &s->trouble);
}

bool llm_poll(llm_session *s, int64_t timeout_ms, llm_reply *out)
{
    /* All but one are only looked at; the first with something in flight may wait. Members take turns, so that a fast
     * one does not keep the others from being served. */
    for (size_t k = 0; k < s->n_members; k++) {
        member *m = &s->members[(s->turn + k) % s->n_members];
        if (m->ops->poll(m->state, 0, out)) {
            s->turn = (s->turn + k + 1) % s->n_members;
            take(s, m, out);
            return true;
        }
    }
    int64_t slice = s->n_members > 1 && timeout_ms > 100 ? 100 : timeout_ms;
    for (int64_t left = timeout_ms; left > 0 && s->n_flights > 0; left -= slice) {
        for (size_t k = 0; k < s->n_members; k++) {
            member *m = &s->members[k];
            if (m->ops->poll(m->state, slice / (int64_t)s->n_members, out)) {
                take(s, m, out);
                return true;
            }
        }
    }
    return false;
}

bool llm_nobody_left(const llm_session *s)
{
    for (size_t i = 0; i < s->n_members; i++) {
        if (!s->members[i].stopped)
            return false;
    }
    return true;
}

kw_code llm_session_trouble(const llm_session *s, kw_error *err)
{
    if (s->trouble.code != KW_OK && err)
        *err = s->trouble;
    return s->trouble.code;
}

size_t llm_in_flight(const llm_session *s)
{
    return s->n_flights;
}

bool llm_session_asks(const llm_session *s)
{
    for (size_t i = 0; i < s->n_members; i++) {
        if (s->members[i].ops != &provider_replay && s->members[i].ops != &provider_none)
            return true;
    }
    return false;
}

static bool price_of(const member *m, endpoint_price *p)
{
    return m->ops->price && m->ops->price(m->state, p);
}

static void set_price(json *j, const char *name, double price)
{
    if (isfinite(price))
        json_set_number(j, name, price);
}

json *llm_session_prices(const llm_session *s)
{
    json *all = json_new_object();
    for (size_t i = 0; i < s->n_members; i++) {
        endpoint_price p;
        if (!price_of(&s->members[i], &p))
            continue;
        json *j = json_new_object();
        set_price(j, "input", p.input);
        set_price(j, "cache_read", p.cache_read);
        set_price(j, "cache_write", p.cache_write);
        set_price(j, "output", p.output);
        json_set(all, s->members[i].spec, j);
    }
    if (json_count(all) > 0)
        return all;
    json_free(all);
    return NULL;
}

double llm_session_most_cost(const llm_session *s, int64_t input, int64_t output)
{
    double most = 0;
    for (size_t i = 0; i < s->n_members; i++) {
        endpoint_price p = {.input = 0, .output = 0};
        if (s->members[i].ops->has_price && s->members[i].ops->has_price(s->members[i].state))
            (void)price_of(&s->members[i], &p); /* a record costs nothing */
        else
            return NAN;
        most = fmax(most, (p.input * (double)input + p.output * (double)output) / 1e6);
    }
    return most;
}

llm_totals llm_session_totals(const llm_session *s)
{
    return s->totals;
}
