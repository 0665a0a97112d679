/* OpenAI-compatible chat completions, as the servers do them that call themselves so. */
#include "llm/dialect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_message(json *messages, const char *role, const char *text)
{
    json *m = json_new_object();
    json_set_string(m, "role", role);
    json_set_string(m, "content", text);
    json_append(messages, m);
}

/* The smallest body that does it: servers refuse what they do not know. */
static json *body(const dialect_request *q)
{
    json *b = json_new_object(), *messages = json_new_array();
    json_set_string(b, "model", q->model);
    if (*q->system && !q->fold_system)
        add_message(messages, "system", q->system);
    char *folded = dialect_fold(q);
    add_message(messages, "user", q->fold_system ? folded : q->prompt);
    free(folded);
    json_set(b, "messages", messages);
    json_set_int(b, q->max_tokens_field, q->max_tokens);
    if (isfinite(q->temperature))
        json_set_number(b, "temperature", q->temperature);
    if (q->stream)
        json_set_bool(b, "stream", true);
    if (q->stream && q->ask_usage) {
        json *options = json_new_object();
        json_set_bool(options, "include_usage", true);
        json_set(b, "stream_options", options);
    }
    dialect_add_extra(b, q->extra);
    return b;
}

/* prompt_tokens includes what came from a cache; completion_tokens should include the reasoning, and where the total
 * shows that it does not, it is added. */
static void take_usage(wire_reply *r, const json *u)
{
    llm_usage n = llm_usage_unknown();
    int64_t prompt = -1, total = -1;
    const json *in = json_get(u, "prompt_tokens_details"), *out = json_get(u, "completion_tokens_details");
    if (json_kind_of(u) != JSON_OBJECT)
        return;
    wire_count(&prompt, json_get(u, "prompt_tokens"));
    wire_count(&total, json_get(u, "total_tokens"));
    wire_count(&n.output, json_get(u, "completion_tokens"));
    wire_count(&n.cache_read, json_get(u, "prompt_cache_hit_tokens"));
    wire_count(&n.cache_read, json_get(in, "cached_tokens"));
    wire_count(&n.cache_write, json_get(in, "cache_write_tokens"));
    wire_count(&n.reasoning, json_get(u, "reasoning_tokens"));
    wire_count(&n.reasoning, json_get(out, "reasoning_tokens"));
    if (prompt < 0 && n.output < 0)
        return;
    if (prompt >= 0) {
        n.input = prompt - (n.cache_read > 0 ? n.cache_read : 0) - (n.cache_write > 0 ? n.cache_write : 0);
        n.input = n.input > 0 ? n.input : 0;
    }
    if (n.reasoning > 0 && n.output >= 0 && total == prompt + n.output + n.reasoning)
        n.output += n.reasoning;
    r->usage = n;
}

/* A text, or parts of text and of thinking. */
static void take_content(wire_reply *r, const json *content)
{
    if (json_kind_of(content) != JSON_ARRAY) {
        wire_add_text(r, content);
        return;
    }
    for (const json *part = json_first(content); part; part = json_next(part)) {
        wire_add_text(r, json_get(part, "text"));
        const json *thinking = json_get(part, "thinking");
        wire_add_thinking(r, thinking);
        for (const json *t = json_kind_of(thinking) == JSON_ARRAY ? json_first(thinking) : NULL; t; t = json_next(t))
            wire_add_thinking(r, json_get(t, "text"));
    }
}

/* A choice's "message" or "delta". Two names for the reasoning are about; who sends both sends it twice. */
static void take_message(wire_reply *r, const json *m)
{
    const json *reasoning = json_get(m, "reasoning_content");
    wire_add_thinking(r, json_text(reasoning) ? reasoning : json_get(m, "reasoning"));
    take_content(r, json_get(m, "content"));
    const char *refusal = json_text(json_get(m, "refusal"));
    if (refusal && *refusal) {
        r->refused = true;
        r->content_came = true;
    }
}

/* The first sample; its place in the array says nothing, its index does. */
static const json *first_choice(const json *j)
{
    for (const json *c = json_first(json_get(j, "choices")); c; c = json_next(c)) {
        int64_t index = 0;
        if (!json_int(json_get(c, "index"), &index) || index == 0)
            return c;
    }
    return NULL;
}

static void take(wire_reply *r, const json *j, const char *member)
{
    if (wire_error_of_json(j, false, &r->error)) {
        r->terminal = true;
        return;
    }
    wire_set(&r->model, json_get(j, "model"));
    take_usage(r, json_get(j, "usage"));
    const json *choice = first_choice(j);
    if (!choice)
        return;
    if (wire_error_of_json(choice, false, &r->error)) {
        r->terminal = true;
        return;
    }
    take_message(r, json_get(choice, member));
    wire_set(&r->finish, json_get(choice, "finish_reason"));
    r->complete = r->complete || r->finish;
}

static void event(wire_reply *r, const json *j)
{
    take(r, j, "delta");
}

static void whole(wire_reply *r, const json *j)
{
    const json *choice = first_choice(j);
    take(r, j, "message");
    /* Not all give a reason; a whole body with a message is whole. */
    r->complete = r->complete || json_kind_of(json_get(choice, "message")) == JSON_OBJECT;
    r->terminal = true;
}

const dialect dialect_openai = {.name = "openai",
                                .path = "/chat/completions",
                                .base = "https://api.openai.com/v1",
                                .key_env = "OPENAI_API_KEY",
                                .auth = AUTH_BEARER,
                                .body = body,
                                .event = event,
                                .whole = whole};
