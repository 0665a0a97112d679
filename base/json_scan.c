#include "base/json_scan.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/strb.h"
#include "base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT_INTEGER 9007199254740992.0 /* 2^53 */

/* A key that was seen: two keys of one object with the same hash are taken for the same key. */
typedef struct seen_key {
    uint64_t hash;
    size_t offset;
} seen_key;

typedef struct scanner {
    const char *text;
    size_t length;
    size_t at;
    int depth;
    seen_key *keys; /* of all objects that are open, innermost last */
    size_t n_keys, keys_capacity;
    strb decoded; /* of the last string */
    size_t fault_at;
    char fault[200]; /* "" while all is well */
} scanner;

static bool value(scanner *s);

static bool fault(scanner *s, size_t at, const char *what)
{
    s->fault_at = at;
    snprintf(s->fault, sizeof s->fault, "%s", what);
    return false;
}

/* "expected X, found Y" for the byte at the current place. */
static bool unexpected(scanner *s, const char *expected)
{
    char what[sizeof s->fault];
    if (s->at >= s->length) {
        snprintf(what, sizeof what, "expected %s, found the end of the text", expected);
    } else {
        size_t n = utf8_length(s->text + s->at, s->length - s->at);
        unsigned char c = (unsigned char)s->text[s->at];
        if (n == 0 || c < 0x20 || c == 0x7f)
            snprintf(what, sizeof what, "expected %s, found byte 0x%02x", expected, c);
        else
            snprintf(what, sizeof what, "expected %s, found '%.*s'", expected, (int)n, s->text + s->at);
    }
    return fault(s, s->at, what);
}

static char peek(const scanner *s)
{
    return s->at < s->length ? s->text[s->at] : '\0';
}

static void skip_space(scanner *s)
{
    while (s->at < s->length && strchr(" \t\r\n", s->text[s->at]) && s->text[s->at])
        s->at++;
}

static bool literal(scanner *s, const char *word)
{
    size_t n = strlen(word);
    if (s->length - s->at < n || memcmp(s->text + s->at, word, n) != 0)
        return unexpected(s, "a value");
    s->at += n;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool digits(scanner *s)
{
    if (!is_digit(peek(s)))
        return unexpected(s, "a digit");
    while (is_digit(peek(s)))
        s->at++;
    return true;
}

static bool number(scanner *s)
{
    size_t start = s->at;
    bool integer = true;
    if (peek(s) == '-')
        s->at++;
    if (peek(s) == '0') {
        s->at++;
        if (is_digit(peek(s)))
            return fault(s, start, "a number must not begin with 0");
    } else if (!digits(s)) {
        return false;
    }
    if (peek(s) == '.') {
        integer = false;
        s->at++;
        if (!digits(s))
            return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        integer = false;
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        if (!digits(s))
            return false;
    }
    char copy[JSON_MAX_NUMBER + 1];
    size_t n = s->at - start;
    if (n > JSON_MAX_NUMBER)
        return fault(s, start, "a number of more than 60 characters");
    memcpy(copy, s->text + start, n);
    copy[n] = '\0';
    double v = strtod(copy, NULL);
    if (isinf(v))
        return fault(s, start, "the number is out of range");
    if (integer && fabs(v) >= MAX_EXACT_INTEGER && strcmp(copy + (copy[0] == '-'), "9007199254740992") != 0)
        return fault(s, start, "an integer over 2^53 loses digits: write it as a string");
    return true;
}

/* Four hex digits at s->at; -1 if they are not there. */
static long hex4(scanner *s)
{
    long v = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        char c = peek(s);
        int d = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (d < 0) {
            unexpected(s, "a hex digit");
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

/* Behind "\u". */
static bool unicode_escape(scanner *s, size_t start)
{
    long c = hex4(s);
    if (c < 0)
        return false;
    if (c == 0)
        return fault(s, start, "\\u0000 is not allowed in a string");
    if (c >= 0xdc00 && c <= 0xdfff)
        return fault(s, start, "half a surrogate pair");
    if (c >= 0xd800 && c <= 0xdbff) {
        if (s->length - s->at < 2 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
            return fault(s, start, "half a surrogate pair");
        s->at += 2;
        long low = hex4(s);
        if (low < 0)
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fault(s, start, "half a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    utf8_add(&s->decoded, (unsigned long)c);
    return true;
}

/* At a backslash. */
static bool escape(scanner *s)
{
    static const char plain[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    size_t start = s->at++;
    char c = peek(s);
    if (c == 'u') {
        s->at++;
        return unicode_escape(s, start);
    }
    const char *p = c ? strchr(plain, c) : NULL;
    if (!p)
        return s->at >= s->length ? unexpected(s, "an escape") : fault(s, start, "unknown escape in a string");
    strb_add_char(&s->decoded, meant[p - plain]);
    s->at++;
    return true;
}

static bool string(scanner *s)
{
    size_t start = s->at++;
    strb_reset(&s->decoded);
    while (s->at < s->length) {
        unsigned char c = (unsigned char)s->text[s->at];
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c < 0x20)
            return fault(s, s->at,
                         c == '\n' ? "a string must end on its line (write a line break as \\n)"
                                   : "control character in a string: write it as an escape");
        if (c == '\\') {
            if (!escape(s))
                return false;
            continue;
        }
        size_t n = utf8_length(s->text + s->at, s->length - s->at);
        if (n == 0)
            return fault(s, s->at, "the text is not valid UTF-8");
        strb_add_n(&s->decoded, s->text + s->at, n);
        s->at += n;
    }
    return fault(s, start, "the string does not end");
}

static void remember_key(scanner *s, size_t offset)
{
    s->keys = mem_grow(s->keys, &s->keys_capacity, s->n_keys + 1, sizeof *s->keys);
    s->keys[s->n_keys++] = (seen_key){hash_u64(strb_text(&s->decoded), s->decoded.length, 0), offset};
}

static int compare_keys(const void *a, const void *b)
{
    const seen_key *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Refuses duplicates among the keys from `first` on and forgets them. */
static bool close_keys(scanner *s, size_t first)
{
    seen_key *keys = s->keys + first;
    size_t n = s->n_keys - first;
    s->n_keys = first;
    if (n < 2)
        return true;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 1; i < n; i++)
        if (keys[i].hash == keys[i - 1].hash)
            return fault(s, keys[i].offset, "the object has this key already");
    return true;
}

static bool object(scanner *s)
{
    size_t first = s->n_keys;
    s->at++;
    skip_space(s);
    if (peek(s) == '}') {
        s->at++;
        return true;
    }
    for (;;) {
        skip_space(s);
        size_t key_at = s->at;
        if (peek(s) != '"')
            return unexpected(s, "a key in quotation marks");
        if (!string(s))
            return false;
        remember_key(s, key_at);
        skip_space(s);
        if (peek(s) != ':')
            return unexpected(s, "':'");
        s->at++;
        if (!value(s))
            return false;
        skip_space(s);
        if (peek(s) == '}') {
            s->at++;
            return close_keys(s, first);
        }
        if (peek(s) != ',')
            return unexpected(s, "',' or '}'");
        s->at++;
    }
}

static bool array(scanner *s)
{
    s->at++;
    skip_space(s);
    if (peek(s) == ']') {
        s->at++;
        return true;
    }
    for (;;) {
        if (!value(s))
            return false;
        skip_space(s);
        if (peek(s) == ']') {
            s->at++;
            return true;
        }
        if (peek(s) != ',')
            return unexpected(s, "',' or ']'");
        s->at++;
    }
}

static bool container(scanner *s)
{
    if (s->depth >= JSON_MAX_DEPTH)
        return fault(s, s->at, "nested more than 100 deep");
    s->depth++;
    bool ok = peek(s) == '{' ? object(s) : array(s);
    s->depth--;
    return ok;
}

static bool value(scanner *s)
{
    skip_space(s);
    switch (peek(s)) {
    case '{':
    case '[':
        return container(s);
    case '"':
        return string(s);
    case 't':
        return literal(s, "true");
    case 'f':
        return literal(s, "false");
    case 'n':
        return literal(s, "null");
    default:
        if (peek(s) == '-' || is_digit(peek(s)))
            return number(s);
        return unexpected(s, "a value");
    }
}

kw_code json_scan_fault(const char *text, size_t offset, const char *file, int first_line, int first_column,
                        kw_error *err, const char *what)
{
    int line = first_line, column = first_column;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return kw_error_set(err, KW_BAD_INPUT, "%s:%d:%d: %s", file ? file : "JSON", line, column, what);
}

kw_code json_scan(const char *text, size_t length, size_t *used, const char *file, int first_line, int first_column,
                  kw_error *err)
{
    scanner s = {.text = text, .length = length};
    bool ok;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        ok = fault(&s, 0, "the text begins with a byte order mark: save it without one");
    else
        ok = value(&s);
    if (ok)
        skip_space(&s);
    *used = s.at;
    free(s.keys);
    strb_clear(&s.decoded);
    return ok ? KW_OK : json_scan_fault(text, s.fault_at, file, first_line, first_column, err, s.fault);
}
