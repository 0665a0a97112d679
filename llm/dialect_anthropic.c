/* Anthropic's messages. */
#include "llm/dialect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json *body(const dialect_request *q)
{
    json *b = json_new_object(), *messages = json_new_array(), *m = json_new_object();
    json_set_string(b, "model", q->model);
    json_set_int(b, q->max_tokens_field, q->max_tokens); /* compulsory here */
    if (*q->system && !q->fold_system)
        json_set_string(b, "system", q->system);
    char *folded = dialect_fold(q);
    json_set_string(m, "role", "user");
    json_set_string(m, "content", q->fold_system ? folded : q->prompt);
    free(folded);
    json_append(messages, m);
    json_set(b, "messages", messages);
    if (isfinite(q->temperature))
        json_set_number(b, "temperature", q->temperature);
    if (q->stream)
        json_set_bool(b, "stream", true);
    dialect_add_extra(b, q->extra);
    return b;
}

/* input_tokens leaves out what came from a cache and what went there. Counts are of the whole reply so far: the last
 * wins. */
static void take_usage(wire_reply *r, const json *u)
{
    wire_count(&r->usage.input, json_get(u, "input_tokens"));
    wire_count(&r->usage.cache_read, json_get(u, "cache_read_input_tokens"));
    wire_count(&r->usage.cache_write, json_get(u, "cache_creation_input_tokens"));
    wire_count(&r->usage.output, json_get(u, "output_tokens"));
}

/* A block, or a part of one. */
static void take_block(wire_reply *r, const json *block)
{
    wire_add_text(r, json_get(block, "text"));
    wire_add_thinking(r, json_get(block, "thinking"));
}

static bool take_error(wire_reply *r, const json *j)
{
    if (!wire_error_of_json(j, false, &r->error))
        return false;
    r->terminal = true;
    return true;
}

static void take_stop(wire_reply *r, const json *j)
{
    wire_set(&r->finish, json_get(j, "stop_reason"));
    r->refused = r->refused || wire_finish_of(r->finish) == WIRE_REFUSED;
}

/* The type is in the data as well as in the event's name; names that are not known, and "ping", are passed over. */
static void event(wire_reply *r, const json *j)
{
    const char *type = json_text(json_get(j, "type"));
    if (take_error(r, j) || !type)
        return;
    if (strcmp(type, "message_start") == 0) {
        wire_set(&r->model, json_get(json_get(j, "message"), "model"));
        take_usage(r, json_get(json_get(j, "message"), "usage"));
    } else if (strcmp(type, "content_block_start") == 0) {
        take_block(r, json_get(j, "content_block"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        take_block(r, json_get(j, "delta"));
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(r, json_get(j, "delta"));
        take_usage(r, json_get(j, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        r->complete = r->terminal = true;
    }
}

static void whole(wire_reply *r, const json *j)
{
    r->terminal = true;
    if (take_error(r, j))
        return;
    wire_set(&r->model, json_get(j, "model"));
    take_stop(r, j);
    take_usage(r, json_get(j, "usage"));
    const json *content = json_get(j, "content");
    for (const json *block = json_first(content); block; block = json_next(block))
        take_block(r, block);
    r->complete = json_kind_of(content) == JSON_ARRAY;
}

const dialect dialect_anthropic = {.name = "anthropic",
                                   .path = "/messages",
                                   .base = "https://api.anthropic.com/v1",
                                   .key_env = "ANTHROPIC_API_KEY",
                                   .auth = AUTH_X_API_KEY,
                                   .header = "anthropic-version: 2023-06-01",
                                   .body = body,
                                   .event = event,
                                   .whole = whole};
