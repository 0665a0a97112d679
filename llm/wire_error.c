/* Errors of servers: found in every shape that is about, and judged. */
#include "llm/wire.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "llm/retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wait that is asked for and longer than this means another time, not a little later. */
#define LONGEST_WAIT_MS (15 * 60 * 1000LL)

/* Appends `text` as one line to the message: white space folded, nothing unprintable, whole characters. */
static void add_message(wire_error *e, const char *text, size_t length)
{
    strb valid = STRB_INIT;
    size_t n = strlen(e->message);
    bool space = n > 0;
    utf8_add_valid(&valid, text, length);
    const char *s = strb_text(&valid);
    for (size_t i = 0, step; i < valid.length; i += step) {
        step = utf8_length(s + i, valid.length - i);
        step = step ? step : 1;
        if ((unsigned char)s[i] <= ' ' || s[i] == 0x7f) {
            space = n > 0;
            continue;
        }
        if (n + step + 2 > sizeof e->message)
            break;
        if (space)
            e->message[n++] = ' ';
        space = false;
        memcpy(e->message + n, s + i, step);
        n += step;
    }
    e->message[n] = 0;
    strb_clear(&valid);
}

static void add_text(wire_error *e, const char *text)
{
    if (text)
        add_message(e, text, strlen(text));
}

/* A member that may be a text or a number. */
static void copy_word(char *out, size_t size, const json *j)
{
    int64_t v;
    if (json_text(j))
        snprintf(out, size, "%s", json_text(j));
    else if (json_int(j, &v))
        snprintf(out, size, "%lld", (long long)v);
}

/* {"loc":["body","max_tokens"],"msg":"..."}: how FastAPI tells what is wrong with a body. */
static void add_detail(wire_error *e, const json *detail)
{
    if (json_text(detail)) {
        add_text(e, json_text(detail));
        return;
    }
    for (const json *d = json_first(detail); d; d = json_next(d)) {
        for (const json *part = json_first(json_get(d, "loc")); part; part = json_next(part))
            add_text(e, json_text(part));
        add_text(e, json_text(json_get(d, "msg")));
    }
    if (json_kind_of(detail) == JSON_OBJECT)
        add_text(e, json_text(json_get(detail, "message")));
}

static int status_of_word(const char *word)
{
    static const struct {
        const char *word;
        int status;
    } words[] = {{"overloaded_error", 529},   {"rate_limit_error", 429},       {"rate_limit_exceeded", 429},
                 {"api_error", 500},          {"server_error", 500},           {"authentication_error", 401},
                 {"permission_error", 403},   {"not_found_error", 404},        {"invalid_request_error", 400},
                 {"request_too_large", 413},  {"billing_error", 402},          {"timeout_error", 504},
                 {"insufficient_quota", 402}, {"invalid_api_key", 401},        {"model_not_found", 404},
                 {"BadRequestError", 400},    {"context_length_exceeded", 400}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) == 0)
            return words[i].status;
    }
    return 0;
}

/* A number that can be a status, from a code in the body. */
static int status_in(const json *j)
{
    int64_t v = 0;
    if (json_text(j))
        v = strtoll(json_text(j), NULL, 10);
    else if (!json_int(j, &v))
        v = 0;
    return v >= 400 && v < 600 ? (int)v : 0;
}

static void take_object(wire_error *e, const json *error)
{
    copy_word(e->type, sizeof e->type, json_get(error, "type"));
    copy_word(e->code, sizeof e->code, json_get(error, "code"));
    copy_word(e->param, sizeof e->param, json_get(error, "param"));
    if (!*e->type)
        copy_word(e->type, sizeof e->type, json_get(error, "status"));
    add_text(e, json_text(json_get(error, "message")));
    add_detail(e, json_get(error, "detail"));
    /* OpenRouter's own message says only that the server behind it failed; this is what that server said. */
    const json *raw = json_get(json_get(error, "metadata"), "raw");
    if (json_text(raw))
        add_text(e, json_text(raw));
}

static int status_within(const wire_error *e, const json *error)
{
    int status = status_in(json_get(error, "code"));
    if (!status)
        status = status_in(json_get(error, "status_code"));
    if (!status)
        status = status_of_word(e->code);
    return status ? status : status_of_word(e->type);
}

bool wire_error_of_json(const json *j, bool failed, wire_error *out)
{
    const json *error = NULL;
    wire_error e = {.status = out->status};
    if (json_kind_of(j) == JSON_ARRAY && json_count(j) > 0)
        j = json_first(j);
    error = json_get(j, "error");
    const char *object = json_text(json_get(j, "object"));
    if (json_kind_of(error) == JSON_OBJECT) {
        take_object(&e, error);
    } else if (json_text(error)) {
        add_text(&e, json_text(error));
        add_text(&e, json_text(json_get(j, "message")));
    } else if (failed || (object && strcmp(object, "error") == 0)) {
        error = j;
        take_object(&e, j);
    } else {
        return false;
    }
    if (!e.status)
        e.status = status_within(&e, error);
    e.is_set = true;
    if (!*e.message)
        add_text(&e, *e.code ? e.code : e.type);
    *out = e;
    return true;
}

/* A page's title, or its text without the tags. */
static void add_page(wire_error *e, const char *body, size_t length)
{
    strb text = STRB_INIT;
    char *copy = mem_strndup(body, length);
    char *title = strcasestr(copy, "<title>"), *end = title ? strcasestr(title, "</title>") : NULL;
    if (title && end) {
        strb_add_n(&text, title + 7, (size_t)(end - title - 7));
    } else {
        bool tag = false;
        for (const char *p = copy; *p; p++) {
            if (*p == '<')
                tag = true;
            else if (!tag)
                strb_add_char(&text, *p);
            if (*p == '>') {
                tag = false;
                strb_add_char(&text, ' ');
            }
        }
    }
    add_text(e, strb_text(&text));
    strb_clear(&text);
    free(copy);
}

void wire_error_of_body(const char *body, size_t length, const char *content_type, int status, wire_error *out)
{
    memset(out, 0, sizeof *out);
    out->status = status;
    json *j = wire_parse(body, length);
    bool found = j && wire_error_of_json(j, true, out);
    json_free(j);
    out->is_set = true;
    if (found && *out->message)
        return;
    size_t start = 0;
    while (start < length && strchr(" \t\r\n", body[start]))
        start++;
    if (start < length && body[start] == '<') {
        add_page(out, body + start, length - start);
    } else {
        size_t line = start;
        while (line < length && body[line] != '\n')
            line++;
        add_message(out, body + start, line - start > 300 ? 300 : line - start);
    }
    char size[200];
    snprintf(size, sizeof size, "(%zu bytes of %s)", length, *content_type ? content_type : "no type");
    add_text(out, size);
}

static bool says(const wire_error *e, const char *const *phrases)
{
    for (size_t i = 0; phrases[i]; i++) {
        if (strcasestr(e->message, phrases[i]) || strcasestr(e->code, phrases[i]) || strcasestr(e->type, phrases[i]))
            return true;
    }
    return false;
}

/* Of this request, not of the server's state; without a code it may be one. */
static bool is_refusal(const wire_error *e)
{
    return e->status == 400 || e->status == 422 || e->status == 0;
}

static bool is_overflow(const wire_error *e)
{
    static const char *const always[] = {"context_length_exceeded", "exceed_context_size", "request too large",
                                         "request_too_large", NULL};
    static const char *const phrases[] = {"context length",
                                          "context window",
                                          "context size",
                                          "prompt is too long",
                                          "prompt too long",
                                          "input is too long",
                                          "request entity too large",
                                          "exceeds the available context",
                                          "reduce the length",
                                          "too many input tokens",
                                          "maximum number of tokens",
                                          "input length",
                                          "string too long",
                                          NULL};
    if (e->status == 413 || says(e, always))
        return true;
    return (is_refusal(e) || e->status == 500) && says(e, phrases);
}

static bool is_spent(const wire_error *e, int64_t wait_ms)
{
    static const char *const sure[] = {
        "insufficient_quota", "credit balance", "insufficient credit", "insufficient balance",
        "insufficient funds", "billing_error",  "billing_hard_limit",  NULL};
    static const char *const perhaps[] = {"billing", "exceeded your current quota", NULL};
    if (e->status == 402 || says(e, sure))
        return true;
    /* Some say this of a limit per minute too; then they say when to come back. */
    return e->status == 429 && wait_ms < 0 && says(e, perhaps);
}

static bool is_unknown_model(const wire_error *e)
{
    static const char *const sure[] = {"model_not_found", "unknown model", "not a valid model", "invalid model", NULL};
    static const char *const perhaps[] = {"does not exist", "not found", "no such", NULL};
    return says(e, sure) || (strcasestr(e->message, "model") && says(e, perhaps));
}

wire_verdict wire_judge(const wire_error *e, int64_t wait_ms)
{
    static const char *const bad_key[] = {"invalid_api_key", "api key not valid", "invalid api key",
                                          "incorrect api key", NULL};
    static const char *const this_prompt[] = {"moderation", "flagged", "safety", NULL};
    static const char *const loading[] = {"loading", NULL};
    if (is_spent(e, wait_ms))
        return WIRE_STOP;
    if (is_overflow(e))
        return WIRE_OVERFLOW;
    if (e->status == 401 || e->status == 404 || e->status == 405 || (e->status >= 300 && e->status < 400))
        return WIRE_STOP;
    if (e->status == 403)
        return says(e, this_prompt) ? WIRE_BAD_REQUEST : WIRE_STOP;
    if (is_refusal(e) && (says(e, bad_key) || is_unknown_model(e)))
        return WIRE_STOP;
    if (e->status != 0 && !retry_status(e->status))
        return WIRE_BAD_REQUEST;
    if (wait_ms > LONGEST_WAIT_MS)
        return WIRE_STOP;
    if (e->status == 503 && says(e, loading))
        return WIRE_LOADING;
    return e->status == 429 ? WIRE_RATE : WIRE_RETRY;
}

bool wire_refuses_field(const wire_error *e, const char *field)
{
    static const char *const as_such[] = {"unsupported",
                                          "not supported",
                                          "does not support",
                                          "unknown",
                                          "unrecognized",
                                          "unexpected",
                                          "extra input",
                                          "extra field",
                                          "extra_forbidden",
                                          "not permitted",
                                          "not allowed",
                                          "deprecated",
                                          "only the default",
                                          "additional propert",
                                          "instead",
                                          "cannot both",
                                          NULL};
    if (!is_refusal(e))
        return false;
    return (strcmp(e->param, field) == 0 || strstr(e->message, field)) && says(e, as_such);
}

bool wire_refuses_system(const wire_error *e)
{
    static const char *const phrases[] = {"system role not supported",
                                          "system role is not supported",
                                          "system message is not supported",
                                          "system messages are not supported",
                                          "roles must alternate",
                                          "only user and assistant roles",
                                          NULL};
    return (is_refusal(e) || e->status == 500) && says(e, phrases);
}
