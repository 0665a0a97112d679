/* What an answer means: a reply, or the same question again, now or later, in the same form or in another. */
#include "llm/asker_internal.h"

#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/provider_internal.h"
#include "llm/reply_internal.h"
#include "llm/retry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_MENDS 5
#define MAX_AWAYS 20
#define MAX_LATE_TRIES 2 /* what was late once is likely to be late again, and cost its time */
#define LONGEST_RATE_WAIT_NS (30 * 60 * 1000000000LL)
#define LONGEST_LOADING_NS (10 * 60 * 1000000000LL)
#define H2_FAULTS 2              /* then HTTP/1.1 */
#define CUT_BYTES_PER_TOKEN 12.0 /* no tokeniser packs text like that: the server dropped a part */
#define CUT_MIN_BYTES 4000

/* ---- messages ---- */

/* Secrets of at least so many characters: within a reply, what local servers take for a key ("none", "EMPTY") is a word
 * like others. */
enum { SHORT_SECRET = 4, SHORT_HEADER = 8, SECRET_OF_A_REPLY = 12 };

/* Puts stars over every occurrence of a secret. */
static void hide(char *text, const char *secret)
{
    size_t n = strlen(secret);
    for (char *at = text; n >= SHORT_SECRET && (at = strstr(at, secret)); at += n)
        memset(at, '*', n);
}

static void hide_secrets(const endpoint *e, size_t least, char *text)
{
    if (!text)
        return;
    if (e->key && strlen(e->key) >= least)
        hide(text, e->key);
    for (size_t i = 0; e->headers && e->headers[i]; i++) {
        const char *value = strchr(e->headers[i], ':') + 2;
        if (strlen(value) >= SHORT_HEADER && strlen(value) >= least)
            hide(text, value);
    }
}

static int64_t plus(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}

static void add_usage(llm_usage *sum, const llm_usage *u)
{
    sum->input = plus(sum->input, u->input);
    sum->cache_read = plus(sum->cache_read, u->cache_read);
    sum->cache_write = plus(sum->cache_write, u->cache_write);
    sum->output = plus(sum->output, u->output);
    sum->reasoning = plus(sum->reasoning, u->reasoning);
    sum->estimated |= u->estimated;
}

/* `detail` (taken) may be NULL for LLM_OK. */
static bool done(asker *a, question *q, llm_status status, char *detail, llm_reply *out)
{
    *out = (llm_reply){.status = status, .usage = q->spent, .cost = NAN};
    memcpy(out->key, q->key, sizeof out->key);
    hide_secrets(&a->e, SHORT_SECRET, detail);
    out->detail = detail;
    out->model = mem_strdup(q->reply.model ? q->reply.model : a->e.model);
    out->finish = q->reply.finish ? mem_strdup(q->reply.finish) : NULL;
    hide_secrets(&a->e, SECRET_OF_A_REPLY, out->model);
    hide_secrets(&a->e, SECRET_OF_A_REPLY, out->finish);
    out->cost = endpoint_cost(&a->e.price, &out->usage);
    /* What was refused or never arrived is not charged; nothing is known of the price of the rest. */
    if (out->usage.input < 0 && out->usage.output < 0)
        out->cost = isfinite(a->e.price.input) ? 0 : NAN;
    out->ms = (clock_now_ns() - q->first_ns) / 1000000;
    out->tries = q->sent;
    if (status == LLM_STOPPED && !a->stopped)
        a->stopped = mem_strdup(detail);
    return true;
}

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
    strb text = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    return strb_take(&text);
}

/* ---- usage ---- */

static size_t prompt_bytes(const question *q)
{
    return strlen(q->system) + strlen(q->prompt);
}

static int64_t reported_input(const llm_usage *u)
{
    return u->input < 0 ? -1 : plus(plus(u->input, u->cache_read), u->cache_write);
}

/* As reported, else estimated from bytes. */
static llm_usage usage_of(const asker *a, const question *q)
{
    llm_usage u = q->reply.usage;
    if (u.input < 0) {
        u.input = tokens_estimate(&a->ratio, prompt_bytes(q));
        u.estimated = true;
    }
    if (u.output < 0) {
        u.output = tokens_estimate(&a->ratio, q->reply.text.length + q->reply.thinking.length);
        u.output = u.output < q->max_tokens ? u.output : q->max_tokens;
        u.estimated = true;
    }
    return u;
}

/* Servers with a short context drop the start of a prompt, which holds the instructions, and say nothing. */
static void look_for_cut_prompt(asker *a, const question *q)
{
    int64_t tokens = reported_input(&q->reply.usage), out = q->reply.usage.output;
    size_t bytes = prompt_bytes(q);
    bool few = tokens > 0 && bytes >= CUT_MIN_BYTES && (double)bytes > CUT_BYTES_PER_TOKEN * (double)tokens;
    bool full = tokens > 0 && out > 0 && out < q->max_tokens && (tokens + out) % 1024 == 0 &&
                wire_finish_of(q->reply.finish) == WIRE_LENGTH;
    if ((few || full) && !a->said_cut) {
        log_warn(
            "--llm %s:%s: the server reports %lld tokens for a prompt of %zu bytes%s: its context is too short and it "
            "may have dropped a part; set a longer one in the server",
            a->e.dialect->name, a->e.model, (long long)tokens, bytes,
            full ? ", and the reply ended at a round number" : "");
        a->said_cut = true;
    }
    if (!few)
        tokens_learn(&a->ratio, bytes, tokens);
}

/* A try that brought something before it failed has cost it. */
static void charge(asker *a, question *q)
{
    bool reported = q->reply.usage.input >= 0 || q->reply.usage.output >= 0;
    if (!reported && q->reply.text.length == 0 && q->reply.thinking.length == 0)
        return;
    llm_usage u = usage_of(a, q);
    add_usage(&q->spent, &u);
}

/* ---- again ---- */

static bool again(question *q, int64_t wait_ms)
{
    q->not_before_ns = clock_now_ns() + wait_ms * 1000000;
    asker_forget_answer(q);
    return false;
}

static int64_t jitter(asker *a, int n)
{
    return retry_backoff(n, a->backoff_ms, counter_rng_unit(a->seed, 0x68747470, a->drawn++));
}

/* Fewer at once: half of what was in flight, once for a burst of refusals. */
static void lower_cap(asker *a, const question *q)
{
    if (q->first_ns < a->cap_cut_ns && clock_now_ns() - a->cap_cut_ns < a->backoff_ms * 1000000)
        return;
    double running = (double)http_in_flight(a->http) + 1;
    a->cap = fmax(1, floor((running < a->cap ? running : a->cap) / 2));
    a->cap_cut_ns = clock_now_ns();
}

/* Waits that are bounded by time, not by count: a rate limit, a model that is being loaded. */
static bool wait_long(asker *a, question *q, const wire_error *e, int64_t asked_ms, int64_t longest_ns, llm_reply *out)
{
    int64_t now = clock_now_ns();
    int waits = q->waits++; /* widens the jitter */
    q->waits_since_ns = q->waits_since_ns ? q->waits_since_ns : now;
    int64_t wait = (asked_ms > 0 ? asked_ms : 0) + jitter(a, asked_ms >= 0 ? 0 : waits);
    if (now - q->waits_since_ns + wait * 1000000 > longest_ns)
        return done(a, q, LLM_FAILED,
                    text_of("HTTP %d from %s: no better after %lld s: %s", e->status, a->e.url,
                            (long long)((now - q->waits_since_ns) / 1000000000), e->message),
                    out);
    return again(q, wait);
}

static bool try_later(asker *a, question *q, int64_t asked_ms, int most, char *why, bool reached, llm_reply *out)
{
    q->waits_since_ns = 0;
    if (++q->failures >= most) {
        /* Whoever never answered is no use to the next question either. */
        llm_status status = !a->answered && !reached ? LLM_STOPPED : LLM_FAILED;
        return done(a, q, status, why, out);
    }
    log_debug("%s: %s; once more", q->key, why);
    free(why);
    return again(q, (asked_ms > 0 ? asked_ms : 0) + jitter(a, q->failures - 1));
}

/* ---- in another form ---- */

/* Changes the form that the server refuses, for all questions; whether this one was sent in it decides, since another
 * may have found out in the meantime. */
static bool mend(asker *a, question *q, const wire_error *e)
{
    asker_traits *now = &a->traits, *sent = &q->traits;
    bool is_auto = !a->e.max_tokens_field && strcmp(a->e.dialect->name, "openai") == 0;
    if (q->mends >= MAX_MENDS)
        return false;
    if (is_auto && wire_refuses_field(e, sent->max_tokens_field)) {
        bool old = strcmp(sent->max_tokens_field, "max_tokens") == 0;
        if (now->max_tokens_field == sent->max_tokens_field)
            now->max_tokens_field = old ? "max_completion_tokens" : "max_tokens";
    } else if (isfinite(a->temperature) && !sent->no_temperature && wire_refuses_field(e, "temperature")) {
        if (!now->no_temperature)
            log_warn("--llm %s:%s: the model refuses the temperature %g; this run is sampled at its own",
                     a->e.dialect->name, a->e.model, a->temperature);
        now->no_temperature = true;
    } else if (!sent->no_usage && wire_refuses_field(e, "stream_options")) {
        now->no_usage = true;
    } else if (!sent->fold_system && *q->system && wire_refuses_system(e)) {
        now->fold_system = true;
    } else {
        return false;
    }
    q->mends++;
    return true;
}

/* ---- failures ---- */

static bool server_error(asker *a, question *q, const http_result *r, const wire_error *e, llm_reply *out)
{
    int64_t wait = retry_after(r->retry_after_ms, *r->retry_after ? r->retry_after : NULL, *r->date ? r->date : NULL,
                               (int64_t)time(NULL));
    const char *url = a->e.url;
    if (mend(a, q, e))
        return again(q, 0);
    charge(a, q);
    switch (wire_judge(e, wait)) {
    case WIRE_STOP:
        if (r->status >= 300 && r->status < 400)
            return done(a, q, LLM_STOPPED,
                        text_of("HTTP %d: %s leads to \"%s\": give that address", r->status, url, r->location), out);
        return done(a, q, LLM_STOPPED,
                    wait > 0 ? text_of("HTTP %d from %s: %s (it asks to wait %lld s)", e->status, url, e->message,
                                       (long long)(wait / 1000))
                             : text_of("HTTP %d from %s: %s", e->status, url, e->message),
                    out);
    case WIRE_OVERFLOW:
        return done(a, q, LLM_FAILED, text_of("context overflow: HTTP %d: %s", e->status, e->message), out);
    case WIRE_BAD_REQUEST:
        return done(a, q, LLM_FAILED, text_of("HTTP %d from %s: %s", e->status, url, e->message), out);
    case WIRE_RATE:
        lower_cap(a, q);
        return wait_long(a, q, e, wait, LONGEST_RATE_WAIT_NS, out);
    case WIRE_LOADING:
        if (!a->said_loading)
            log_info("--llm %s:%s: waiting for the server to load the model", a->e.dialect->name, a->e.model);
        a->said_loading = true;
        return wait_long(a, q, e, wait, LONGEST_LOADING_NS, out);
    case WIRE_RETRY:
        break;
    }
    return try_later(a, q, wait, a->max_tries,
                     e->status ? text_of("HTTP %d from %s: %s", e->status, url, e->message)
                               : text_of("%s: %s", url, e->message),
                     true, out);
}

static bool connection_failed(asker *a, question *q, const http_result *r, llm_reply *out)
{
    const char *from, *ca = http_ca_file(a->e.ca_file, &from);
    charge(a, q);
    switch (r->end) {
    case HTTP_UNTRUSTED:
        return done(
            a, q, LLM_STOPPED,
            text_of("%s: %s (trusted certificates: %s%s%s)", a->e.url, r->error, from, ca ? " " : "", ca ? ca : ""),
            out);
    case HTTP_UNUSABLE:
        return done(a, q, LLM_STOPPED, text_of("%s: %s", a->e.url, r->error), out);
    case HTTP_H2_RESET:
        q->fresh = true;
        if (++a->h2_faults >= H2_FAULTS && a->e.version != HTTP_1_1) {
            log_info("--llm %s:%s: HTTP/2 fails there; HTTP/1.1 from now on", a->e.dialect->name, a->e.model);
            a->e.version = HTTP_1_1;
        }
        break;
    case HTTP_AWAY:
        if (q->aways++ < MAX_AWAYS)
            return again(q, 0);
        break;
    case HTTP_LATE:
        return try_later(a, q, 0, a->max_tries < MAX_LATE_TRIES ? a->max_tries : MAX_LATE_TRIES,
                         text_of("%s: %s", a->e.url, r->error), r->status > 0, out);
    case HTTP_COMPLETE:
    case HTTP_BROKEN:
    case HTTP_REFUSED:
    case HTTP_NO_NAME:
        break;
    }
    return try_later(a, q, 0, a->max_tries, text_of("%s: %s", a->e.url, r->error), r->status > 0, out);
}

/* ---- answers ---- */

/* Thinking between tags within the text is none of the answer. Returns the answer, adds the rest to `thinking`. */
static char *split_thinking(wire_reply *r)
{
    strb answer = STRB_INIT;
    reply_without_thinking(strb_text(&r->text), r->text.length, &answer);
    if (answer.length < r->text.length) {
        size_t head = r->text.length - answer.length;
        bool tail = answer.length == 0 || memcmp(r->text.data + head, answer.data, answer.length) == 0;
        strb_add_n(&r->thinking, r->text.data, tail ? head : r->text.length);
    }
    const char *s = strb_text(&answer);
    if (!s[strspn(s, " \t\r\n")])
        strb_reset(&answer);
    return strb_take(&answer);
}

/* What is said of a reply without text; `broken`: why it did not end in order, NULL if it did. */
static bool no_answer(asker *a, question *q, const char *broken, llm_reply *out)
{
    const wire_reply *r = &q->reply;
    if (broken)
        return done(a, q, LLM_NO_ANSWER, text_of("no answer: %s", broken), out);
    bool thought = r->thinking.length > 0 || r->usage.reasoning > 0;
    switch (wire_finish_of(r->finish)) {
    case WIRE_LENGTH:
        if (!thought && r->usage.output < q->max_tokens / 2)
            return done(a, q, LLM_FAILED, text_of("context overflow: an empty reply that the limit of tokens ended"),
                        out);
        return done(a, q, LLM_NO_ANSWER,
                    text_of("thinking used all of the %lld tokens: allow more", (long long)q->max_tokens), out);
    case WIRE_REFUSED:
        return done(a, q, LLM_NO_ANSWER, text_of("the model refused (%s)", r->finish), out);
    case WIRE_DONE:
    case WIRE_BROKEN:
        break;
    }
    return done(a, q, LLM_NO_ANSWER,
                text_of(r->refused ? "the model refused"
                        : thought  ? "thinking without an answer"
                                   : "an empty reply"),
                out);
}

static bool answered(asker *a, question *q, const char *broken, llm_reply *out)
{
    wire_reply *r = &q->reply;
    wire_finish finish = wire_finish_of(r->finish);
    look_for_cut_prompt(a, q);
    llm_usage usage = usage_of(a, q);
    add_usage(&q->spent, &usage);
    a->answered = true;
    a->cap = fmin(a->e.max_in_flight, a->cap + 1 / a->cap);
    char *text = split_thinking(r);
    if (!text || !*text)
        no_answer(a, q, broken, out);
    else if (broken)
        done(a, q, LLM_CUT, text_of("%s", broken), out);
    else if (finish == WIRE_REFUSED || r->refused)
        done(a, q, LLM_NO_ANSWER, text_of("the model refused (%s)", r->finish ? r->finish : "refusal"), out);
    else if (finish == WIRE_LENGTH)
        done(a, q, LLM_CUT, text_of("the limit of %lld tokens ended it", (long long)q->max_tokens), out);
    else
        done(a, q, LLM_OK, NULL, out);
    out->text = text ? text : mem_strdup("");
    out->thinking = r->thinking.length ? strb_take(&r->thinking) : NULL;
    hide_secrets(&a->e, SECRET_OF_A_REPLY, out->text);
    hide_secrets(&a->e, SECRET_OF_A_REPLY, out->thinking);
    return true;
}

/* A body of a 2xx that is no reply. */
static bool not_a_reply(asker *a, question *q, const http_result *r, llm_reply *out)
{
    wire_error e;
    /* Some servers say 200 before they look at the request, and then can only hang up. Asked for a whole reply they say
     * what is wrong. */
    q->whole = true;
    if (q->kind == BODY_STREAM || q->kind == BODY_UNKNOWN)
        return try_later(a, q, 0, a->max_tries, text_of("%s: the reply ended before it began", a->e.url), true, out);
    wire_error_of_body(strb_text(&q->body), q->body.length, r->content_type, 0, &e);
    return try_later(a, q, 0, a->max_tries,
                     text_of("HTTP %d from %s, but no reply: %s", r->status, a->e.url, e.message), true, out);
}

bool asker_ended(asker *a, question *q, const http_result *r, llm_reply *out)
{
    wire_error e;
    bool fine = r->status >= 200 && r->status < 300;
    asker_read_end(q);
    if (r->status > 0 && !fine && (r->end == HTTP_COMPLETE || q->body.length > 0)) {
        wire_error_of_body(strb_text(&q->body), q->body.length, r->content_type, r->status, &e);
        return server_error(a, q, r, &e, out);
    }
    if (!fine)
        return connection_failed(a, q, r, out);
    if (q->reply.error.is_set) {
        e = q->reply.error;
        return server_error(a, q, r, &e, out);
    }
    if (wire_finish_of(q->reply.finish) == WIRE_BROKEN) {
        wire_error_of_body("the reply ended with an error", 29, "it says no more", 500, &e);
        return server_error(a, q, r, &e, out);
    }
    if (q->reply.complete && !q->reply.too_long)
        return answered(a, q, NULL, out);
    if (q->reply.too_long)
        return answered(a, q, "longer than 16 MiB", out);
    if (q->reply.text.length > 0)
        return answered(a, q, r->end == HTTP_COMPLETE ? "the stream ended before the reply was done" : r->error, out);
    if (r->end == HTTP_COMPLETE || (r->end == HTTP_BROKEN && q->reply.thinking.length == 0))
        return not_a_reply(a, q, r, out);
    return connection_failed(a, q, r, out);
}
