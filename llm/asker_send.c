#include "llm/asker_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WHOLE ((size_t)64 << 20)
#define MAX_OTHER ((size_t)256 << 10)
#define MAX_HEADERS 64

void asker_forget_answer(question *q)
{
    q->kind = BODY_UNKNOWN;
    q->at_end = false;
    strb_clear(&q->body);
    sse_clear(&q->events);
    wire_reply_clear(&q->reply);
}

static void content_came(question *q)
{
    if (q->reply.content_came && q->transfer)
        http_content_came(q->transfer);
    q->reply.content_came = false;
}

static bool on_event(void *user, const char *name, const char *data, size_t length)
{
    question *q = user;
    (void)name; /* said again within the data */
    if (length == 0)
        return true;
    if (length >= 6 && strncmp(data, "[DONE]", 6) == 0) {
        q->reply.terminal = true;
        return false;
    }
    json *j = wire_parse(data, length);
    if (j) {
        q->asker->e.dialect->event(&q->reply, j);
    } else if (!q->at_end) {
        wire_error_of_body(data, length, "an event that is no JSON", 0, &q->reply.error);
        q->reply.terminal = true;
    }
    json_free(j);
    content_came(q);
    return !q->reply.terminal;
}

/* By the type, else by the first byte that is no space: servers name all kinds of types. */
static body_kind kind_of(const char *content_type, const char *bytes, size_t n)
{
    if (strcasestr(content_type, "event-stream"))
        return BODY_STREAM;
    for (size_t i = 0; i < n; i++) {
        if (strchr(" \t\r\n", bytes[i]) && bytes[i])
            continue;
        if (bytes[i] == '{' || bytes[i] == '[')
            return BODY_WHOLE;
        return bytes[i] && strchr("de:ir\xef", bytes[i]) && !strcasestr(content_type, "html") ? BODY_STREAM
                                                                                              : BODY_OTHER;
    }
    return BODY_UNKNOWN;
}

static bool collect(question *q, const char *bytes, size_t n, size_t most)
{
    if (q->body.length + n > most)
        return false;
    strb_add_n(&q->body, bytes, n);
    return true;
}

static bool on_body(void *user, int status, const char *content_type, const char *bytes, size_t n)
{
    question *q = user;
    if (status < 200 || status > 299)
        return collect(q, bytes, n, MAX_OTHER);
    if (q->kind == BODY_UNKNOWN)
        q->kind = kind_of(content_type, bytes, n);
    if (q->kind == BODY_STREAM)
        return sse_feed(&q->events, bytes, n);
    if (q->kind == BODY_WHOLE) {
        size_t spaces = 0;
        while (spaces < n && strchr(" \t\r\n", bytes[spaces]))
            spaces++;
        if (spaces < n)
            http_content_came(q->transfer);
        return collect(q, bytes, n, MAX_WHOLE);
    }
    return q->kind == BODY_UNKNOWN || collect(q, bytes, n, MAX_OTHER);
}

void asker_read_end(question *q)
{
    q->at_end = true;
    q->transfer = NULL;
    if (q->kind == BODY_STREAM && !q->reply.terminal)
        sse_end(&q->events);
    if (q->kind == BODY_STREAM && q->events.overlong)
        q->reply.too_long = true;
    if (q->kind != BODY_WHOLE)
        return;
    json *j = wire_parse(strb_text(&q->body), q->body.length);
    if (j)
        q->asker->e.dialect->whole(&q->reply, j);
    json_free(j);
}

static void body_of(asker *a, question *q, strb *out)
{
    const asker_traits *t = &a->traits;
    dialect_request d = {.model = a->e.model,
                         .system = q->system,
                         .prompt = q->prompt,
                         .max_tokens = q->max_tokens,
                         .max_tokens_field = t->max_tokens_field,
                         .temperature = t->no_temperature ? NAN : a->temperature,
                         .stream = a->e.stream && !q->whole,
                         .ask_usage = !t->no_usage,
                         .fold_system = t->fold_system,
                         .extra = a->e.extra};
    json *body = a->e.dialect->body(&d);
    json_print(body, out);
    json_free(body);
}

static void credential(const endpoint *e, strb *out)
{
    if (!e->key)
        return;
    if (e->auth == AUTH_BEARER)
        strb_printf(out, "Authorization: Bearer %s", e->key);
    else if (e->auth == AUTH_X_API_KEY)
        strb_printf(out, "x-api-key: %s", e->key);
}

void asker_send(asker *a, question *q)
{
    strb body = STRB_INIT, secret = STRB_INIT;
    const char *headers[MAX_HEADERS] = {NULL};
    size_t n = 0;
    asker_forget_answer(q);
    sse_init(&q->events, on_event, q);
    body_of(a, q, &body);
    credential(&a->e, &secret);
    if (secret.length)
        headers[n++] = strb_text(&secret);
    if (a->e.dialect->header)
        headers[n++] = a->e.dialect->header;
    for (size_t i = 0; a->e.headers && a->e.headers[i] && n + 1 < MAX_HEADERS; i++)
        headers[n++] = a->e.headers[i];
    const http_request r = {.url = a->e.url,
                            .headers = headers,
                            .body = strb_text(&body),
                            .length = body.length,
                            .ca_file = a->e.ca_file,
                            .version = a->e.version,
                            .fresh = q->fresh,
                            .limits = a->e.limits,
                            .body_part = on_body,
                            .user = q};
    q->traits = a->traits;
    q->transfer = http_start(a->http, &r);
    q->first_ns = q->first_ns ? q->first_ns : clock_now_ns();
    q->sent++;
    if (secret.data)
        explicit_bzero(secret.data, secret.length);
    strb_clear(&secret);
    strb_clear(&body);
}
