#include "llm/wire.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits that a double surely keeps. */
#define EXACT_DIGITS 15

void wire_reply_init(wire_reply *r)
{
    memset(r, 0, sizeof *r);
    r->usage = llm_usage_unknown();
}

void wire_reply_clear(wire_reply *r)
{
    strb_clear(&r->text);
    strb_clear(&r->thinking);
    free(r->finish);
    free(r->model);
    wire_reply_init(r);
}

static void add(wire_reply *r, strb *to, const json *text)
{
    const char *s = json_text(text);
    if (!s || !*s)
        return;
    r->content_came = true;
    if (r->text.length + r->thinking.length + strlen(s) > WIRE_MAX_TEXT)
        r->too_long = r->terminal = true;
    else
        strb_add(to, s);
}

void wire_add_text(wire_reply *r, const json *text)
{
    add(r, &r->text, text);
}

void wire_add_thinking(wire_reply *r, const json *text)
{
    add(r, &r->thinking, text);
}

void wire_set(char **place, const json *text)
{
    const char *s = json_text(text);
    if (!s || !*s)
        return;
    free(*place);
    *place = mem_strdup(s);
}

void wire_count(int64_t *place, const json *number)
{
    int64_t v;
    if (json_kind_of(number) == JSON_NUMBER && json_int(number, &v) && v >= 0 && v <= LLM_MOST_TOKENS)
        *place = v;
}

wire_finish wire_finish_of(const char *word)
{
    static const struct {
        const char *word;
        wire_finish kind;
    } words[] = {{"stop", WIRE_DONE},          {"eos", WIRE_DONE},
                 {"eos_token", WIRE_DONE},     {"end_turn", WIRE_DONE},
                 {"stop_sequence", WIRE_DONE}, {"length", WIRE_LENGTH},
                 {"max_tokens", WIRE_LENGTH},  {"model_length", WIRE_LENGTH},
                 {"pause_turn", WIRE_LENGTH},  {"model_context_window_exceeded", WIRE_LENGTH},
                 {"refusal", WIRE_REFUSED},    {"content_filter", WIRE_REFUSED},
                 {"safety", WIRE_REFUSED},     {"error", WIRE_BROKEN}};
    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) == 0)
            return words[i].kind;
    }
    return WIRE_DONE;
}

static int hex4(const char *at, const char *end)
{
    int v = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *d = at[i] ? strchr(digits, at[i] | 0x20) : NULL;
        if (!d || (at[i] < 'A' && (at[i] < '0' || at[i] > '9')))
            return -1;
        v = v * 16 + (int)(d - digits);
    }
    return v;
}

/* At a backslash within a string: copies the escape, or U+FFFD for what no text can hold. Returns what follows. */
static const char *copy_escape(const char *at, const char *end, strb *out)
{
    int c = end - at > 1 && at[1] == 'u' ? hex4(at + 2, end) : -1;
    bool high = c >= 0xd800 && c < 0xdc00;
    int low = high && end - at > 7 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8, end) : -1;
    size_t n = c < 0 ? 2 : 6;
    if (high && low >= 0xdc00 && low < 0xe000) {
        n = 12;
    } else if (c == 0 || (c >= 0xd800 && c < 0xe000)) {
        strb_add(out, "\\ufffd");
        return at + n;
    }
    n = (size_t)(end - at) < n ? (size_t)(end - at) : n;
    strb_add_n(out, at, n);
    return at + n;
}

static const char *copy_number(const char *at, const char *end, strb *out)
{
    const char *stop = at + 1, *p;
    bool integer = true;
    for (; stop < end && *stop && strchr("0123456789+-.eE", *stop); stop++)
        integer = integer && *stop >= '0' && *stop <= '9';
    strb_add_n(out, at, (size_t)(stop - at));
    for (p = at; p < stop && *p == '-';)
        p++;
    if (integer && stop - p > EXACT_DIGITS)
        strb_add(out, "e0");
    return stop;
}

static void make_harmless(const char *text, size_t length, strb *out)
{
    bool quoted = false;
    for (const char *at = text, *end = text + length; at < end;) {
        if (quoted && *at == '\\') {
            at = copy_escape(at, end, out);
        } else if (!quoted && (*at == '-' || (*at >= '0' && *at <= '9'))) {
            at = copy_number(at, end, out);
        } else {
            quoted ^= *at == '"';
            strb_add_char(out, *at ? *at : ' ');
            at++;
        }
    }
}

json *wire_parse(const char *text, size_t length)
{
    json *j = json_parse(text, length, NULL, 1, 1, NULL);
    if (j)
        return j;
    strb valid = STRB_INIT, harmless = STRB_INIT;
    utf8_add_valid(&valid, text, length);
    make_harmless(strb_text(&valid), valid.length, &harmless);
    j = json_parse(strb_text(&harmless), harmless.length, NULL, 1, 1, NULL);
    strb_clear(&valid);
    strb_clear(&harmless);
    return j;
}
