/* Front matter as models write it, made strict. */
#include "llm/reply_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum slip {
    SLIP_COMMENT,
    SLIP_COMMA,
    SLIP_KEY,
    SLIP_QUOTES,
    SLIP_WORD,
    SLIP_NEWLINE,
    SLIP_MISSING,
    SLIP_COUNT
} slip;

static const char *const slip_texts[SLIP_COUNT] = {"comment",       "trailing comma", "key without quotes",
                                                   "single quotes", "word of Python", "line break in a text",
                                                   "missing comma"};

typedef struct mender {
    const char *text;
    size_t length, at;
    int line;
    strb *out, *repairs;
    bool said[SLIP_COUNT];
    int depth;
} mender;

/* Each kind is reported once, with the line of the first. */
static void say(mender *m, slip kind)
{
    if (!m->said[kind])
        strb_printf(m->repairs, "front matter, line %d: %s\n", m->line, slip_texts[kind]);
    m->said[kind] = true;
}

static char peek(const mender *m, size_t ahead)
{
    return m->at + ahead < m->length ? m->text[m->at + ahead] : 0;
}

static void skip(mender *m, size_t n)
{
    for (; n > 0 && m->at < m->length; n--, m->at++)
        m->line += m->text[m->at] == '\n';
}

/* White space and comments; copies the white space. */
static void blanks(mender *m)
{
    for (;;) {
        char c = peek(m, 0);
        if (c && isspace((unsigned char)c)) {
            strb_add_char(m->out, c);
            skip(m, 1);
        } else if ((c == '/' && peek(m, 1) == '/') || c == '#') {
            say(m, SLIP_COMMENT);
            while (peek(m, 0) && peek(m, 0) != '\n')
                skip(m, 1);
        } else if (c == '/' && peek(m, 1) == '*') {
            say(m, SLIP_COMMENT);
            skip(m, 2);
            while (peek(m, 0) && !(peek(m, 0) == '*' && peek(m, 1) == '/'))
                skip(m, 1);
            skip(m, 2);
        } else {
            return;
        }
    }
}

static bool string(mender *m)
{
    char quote = peek(m, 0);
    if (quote == '\'')
        say(m, SLIP_QUOTES);
    skip(m, 1);
    strb_add_char(m->out, '"');
    for (char c = peek(m, 0); c != quote; c = peek(m, 0)) {
        if (!c)
            return false;
        if (c == '\\' && peek(m, 1) == '\'') {
            strb_add_char(m->out, '\'');
            skip(m, 2);
        } else if (c == '\\') {
            strb_add_n(m->out, m->text + m->at, 2);
            skip(m, 2);
        } else if (c == '"') {
            strb_add(m->out, "\\\"");
            skip(m, 1);
        } else if (c == '\n') {
            say(m, SLIP_NEWLINE);
            strb_add_char(m->out, ' ');
            skip(m, 1);
        } else {
            strb_add_char(m->out, c);
            skip(m, 1);
        }
    }
    skip(m, 1);
    strb_add_char(m->out, '"');
    return true;
}

/* A bare word: a key, a word of JSON or Python, or a number. */
static void word(mender *m)
{
    static const struct {
        const char *python, *json;
    } words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    size_t n = 0;
    while (peek(m, n) && (isalnum((unsigned char)peek(m, n)) || strchr("_.+-", peek(m, n))))
        n++;
    const char *start = m->text + m->at;
    size_t after = n;
    while (peek(m, after) && isspace((unsigned char)peek(m, after)))
        after++;
    bool is_key = peek(m, after) == ':';
    bool is_number = isdigit((unsigned char)*start) || *start == '-';
    if (is_key) {
        say(m, SLIP_KEY);
        strb_printf(m->out, "\"%.*s\"", (int)n, start);
    } else {
        const char *text = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strlen(words[i].python) == n && strncmp(words[i].python, start, n) == 0)
                text = words[i].json;
        }
        if (text)
            say(m, SLIP_WORD);
        bool plain = text || is_number || (n == 4 && strncmp(start, "true", n) == 0) ||
                     (n == 5 && strncmp(start, "false", n) == 0) || (n == 4 && strncmp(start, "null", n) == 0);
        if (!plain)
            say(m, SLIP_QUOTES);
        if (text)
            strb_add(m->out, text);
        else
            strb_printf(m->out, plain ? "%.*s" : "\"%.*s\"", (int)n, start);
    }
    skip(m, n);
}

/* One value, with whatever stands between it and the next; false at the end of the text or at something foreign. */
static bool value(mender *m);

static bool container(mender *m, char close)
{
    bool first = true;
    if (++m->depth > 100)
        return false;
    strb_add_char(m->out, peek(m, 0));
    skip(m, 1);
    for (;;) {
        blanks(m);
        if (!peek(m, 0))
            return false;
        if (peek(m, 0) == close)
            break;
        if (!first) {
            if (peek(m, 0) == ',') {
                skip(m, 1);
                /* What stands between the comma and the next item is kept behind it. */
                strb gap = STRB_INIT, *out = m->out;
                m->out = &gap;
                blanks(m);
                m->out = out;
                bool ends = peek(m, 0) == close;
                if (ends)
                    say(m, SLIP_COMMA);
                else
                    strb_add_char(m->out, ',');
                strb_add(m->out, strb_text(&gap));
                strb_clear(&gap);
                if (ends)
                    break;
            } else {
                say(m, SLIP_MISSING);
                strb_add_char(m->out, ',');
            }
        }
        first = false;
        if (close == '}') {
            if (!value(m))
                return false;
            blanks(m);
            if (peek(m, 0) != ':')
                return false;
            strb_add_char(m->out, ':');
            skip(m, 1);
            blanks(m);
        }
        if (!value(m))
            return false;
    }
    strb_add_char(m->out, close);
    skip(m, 1);
    m->depth--;
    return true;
}

static bool value(mender *m)
{
    char c = peek(m, 0);
    if (c == '{')
        return container(m, '}');
    if (c == '[')
        return container(m, ']');
    if (c == '"' || c == '\'')
        return string(m);
    if (c && (isalnum((unsigned char)c) || c == '_' || c == '-')) {
        word(m);
        return true;
    }
    return false;
}

bool front_matter_mend(const char *text, size_t length, size_t *used, strb *out, strb *repairs)
{
    mender m = {.text = text, .length = length, .line = 1, .out = out, .repairs = repairs};
    bool whole = length > 0 && text[0] == '{' && value(&m);
    *used = m.at;
    return whole;
}
