/* openai: and anthropic:, over HTTP. A question waits for its turn, is sent, perhaps sent again, and becomes a reply.
 * */
#include "llm/asker_internal.h"
#include "llm/provider_internal.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TRIES 6
#define DEFAULT_BACKOFF_MS 1000
#define LOOK_MS 100
#define LARGE_WITHOUT_STREAM 16000

static kw_code open_asker(const dialect *d, const char *rest, const provider_options *o, void **state, kw_error *err)
{
    endpoint e;
    kw_code code = endpoint_open(d, rest ? rest : "", o, &e, err);
    if (code != KW_OK)
        return code;
    asker *a = mem_calloc(1, sizeof *a);
    code = http_open(&a->http, err);
    if (code != KW_OK) {
        endpoint_clear(&e);
        free(a);
        return code;
    }
    a->e = e;
    a->cap = e.max_in_flight;
    a->temperature = o->temperature;
    a->max_tries = o->max_tries > 0 ? o->max_tries : DEFAULT_TRIES;
    a->backoff_ms = o->backoff_ms > 0 ? o->backoff_ms : DEFAULT_BACKOFF_MS;
    a->seed = o->seed;
    /* OpenAI's own newer models refuse the old name; most other servers know only that. */
    bool vendor = strcmp(d->name, "openai") == 0 && strncmp(e.url, d->base, strlen(d->base)) == 0;
    a->traits.max_tokens_field = e.max_tokens_field ? e.max_tokens_field
                                 : vendor           ? "max_completion_tokens"
                                                    : "max_tokens";
    a->traits.fold_system = e.fold_system;
    *state = a;
    return KW_OK;
}

static kw_code open_openai(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    return open_asker(&dialect_openai, rest, o, state, err);
}

static kw_code open_anthropic(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    return open_asker(&dialect_anthropic, rest, o, state, err);
}

static kw_code submit(void *state, const llm_request *r, kw_error *err)
{
    asker *a = state;
    (void)err;
    question *q = mem_calloc(1, sizeof *q);
    q->asker = a;
    memcpy(q->key, r->key, sizeof q->key);
    q->system = mem_strdup(r->system ? r->system : "");
    q->prompt = mem_strdup(r->prompt);
    q->max_tokens = r->max_tokens > 0 ? r->max_tokens : 1;
    q->spent = llm_usage_unknown();
    wire_reply_init(&q->reply);
    if (!a->e.stream && r->max_tokens > LARGE_WITHOUT_STREAM)
        log_warn("%s: %lld tokens without a stream may outlast the connection", q->key, (long long)r->max_tokens);
    a->all = mem_grow(a->all, &a->capacity, a->n + 1, sizeof(question *));
    a->all[a->n++] = q;
    return KW_OK;
}

static void forget(asker *a, question *q)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->all[i] == q) {
            memmove(a->all + i, a->all + i + 1, (--a->n - i) * sizeof *a->all);
            break;
        }
    }
    asker_forget_answer(q);
    free(q->system);
    free(q->prompt);
    free(q);
}

/* Sends whose time has come, as many as may be in flight. Returns ms until the next one's time, at most `most`. */
static int64_t send_ready(asker *a, int64_t most)
{
    int64_t now = clock_now_ns();
    for (size_t i = 0; i < a->n; i++) {
        question *q = a->all[i];
        if (q->transfer)
            continue;
        int64_t left = (q->not_before_ns - now + 999999) / 1000000;
        if (left > 0)
            most = left < most ? left : most;
        else if ((double)http_in_flight(a->http) + 1 <= a->cap)
            asker_send(a, q);
    }
    return most;
}

/* Once nothing more is asked, what waits is told why. */
static bool give_up_waiting(asker *a, llm_reply *out)
{
    for (size_t i = 0; a->stopped && i < a->n; i++) {
        question *q = a->all[i];
        if (q->transfer)
            continue;
        *out = reply_failed(q->key, LLM_STOPPED, "%s", a->stopped);
        out->usage = q->spent;
        out->cost = q->spent.input < 0 && q->spent.output < 0 ? 0 : endpoint_cost(&a->e.price, &q->spent);
        out->tries = q->sent;
        forget(a, q);
        return true;
    }
    return false;
}

static bool poll_asker(void *state, int64_t timeout_ms, llm_reply *out)
{
    asker *a = state;
    int64_t until = clock_now_ns() + timeout_ms * 1000000;
    while (a->n > 0) {
        http_result r;
        if (give_up_waiting(a, out))
            return true;
        int64_t left = (until - clock_now_ns() + 999999) / 1000000;
        left = send_ready(a, left < 0 ? 0 : left < LOOK_MS ? left : LOOK_MS);
        if (http_poll(a->http, left, &r)) {
            question *q = r.user;
            if (asker_ended(a, q, &r, out)) {
                forget(a, q);
                return true;
            }
        } else if (clock_now_ns() >= until || interrupt_arrived()) {
            break;
        }
    }
    return false;
}

static void close_asker(void *state)
{
    asker *a = state;
    http_close(a->http);
    while (a->n > 0)
        forget(a, a->all[a->n - 1]);
    endpoint_clear(&a->e);
    free(a->stopped);
    free(a->all);
    free(a);
}

static bool has_price(void *state)
{
    const asker *a = state;
    return isfinite(a->e.price.input) && isfinite(a->e.price.output);
}

static bool price(void *state, endpoint_price *out)
{
    *out = ((const asker *)state)->e.price;
    return has_price(state);
}

static double bytes_per_token(void *state)
{
    const asker *a = state;
    return tokens_bytes_each(&a->ratio);
}

const provider_ops provider_openai = {.name = "openai",
                                      .doc = "MODEL[@URL or endpoint]: OpenAI-compatible chat completions",
                                      .open = open_openai,
                                      .submit = submit,
                                      .poll = poll_asker,
                                      .close = close_asker,
                                      .has_price = has_price,
                                      .price = price,
                                      .bytes_per_token = bytes_per_token};

const provider_ops provider_anthropic = {.name = "anthropic",
                                         .doc = "MODEL[@URL or endpoint]: Anthropic messages",
                                         .open = open_anthropic,
                                         .submit = submit,
                                         .poll = poll_asker,
                                         .close = close_asker,
                                         .has_price = has_price,
                                         .price = price,
                                         .bytes_per_token = bytes_per_token};
