#include "codegen/expr_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer ones first. */
static const char *const symbols[] = {"**", "//", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*",
                                      "/",  "%",  "<",  ">",  "!",  "(",  ")",  "[",  "]", ",", ":"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static void bad(token *t, size_t length, const char *complaint)
{
    t->kind = TOKEN_BAD;
    t->length = length;
    t->symbol = complaint;
}

/* Digits from `p` on in the given base; the number of bytes read. */
static size_t read_digits(token *t, const char *p, size_t n, int base)
{
    uint64_t magnitude = 0;
    bool fits = true;
    size_t i = 0;
    for (; i < n && digit_value(p[i]) < base; i++) {
        fits = fits && !__builtin_mul_overflow(magnitude, (uint64_t)base, &magnitude) &&
               !__builtin_add_overflow(magnitude, (uint64_t)digit_value(p[i]), &magnitude);
    }
    t->kind = TOKEN_INT;
    t->is_min_magnitude = fits && magnitude == (uint64_t)INT64_MAX + 1;
    t->integer = fits && magnitude <= INT64_MAX ? (int64_t)magnitude : INT64_MIN;
    if (!fits || magnitude > (uint64_t)INT64_MAX + 1)
        bad(t, 0, "the integer does not fit in 64 bits");
    return i;
}

/* A point or an exponent makes it a real. */
static size_t real_length(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && is_digit(p[i]))
        i++;
    bool is_real = i < n && p[i] == '.';
    if (is_real)
        i++;
    while (i < n && is_digit(p[i]))
        i++;
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        size_t e = i + 1;
        if (e < n && (p[e] == '+' || p[e] == '-'))
            e++;
        if (e < n && is_digit(p[e])) {
            is_real = true;
            for (i = e; i < n && is_digit(p[i]);)
                i++;
        }
    }
    return is_real ? i : 0;
}

static void read_real(token *t, const char *p, size_t length)
{
    char text[64];
    if (length >= sizeof text) {
        bad(t, length, "the number has too many digits");
        return;
    }
    memcpy(text, p, length);
    text[length] = '\0';
    t->kind = TOKEN_REAL;
    t->length = length;
    t->real = strtod(text, NULL);
    if (!isfinite(t->real))
        bad(t, length, "the number is too large");
}

static void read_number(token *t, const char *p, size_t n)
{
    static const struct {
        char letter;
        int base;
    } prefixes[] = {{'x', 16}, {'b', 2}, {'o', 8}};
    t->length = real_length(p, n);
    if (t->length) {
        read_real(t, p, t->length);
    } else {
        size_t skip = 0;
        int base = 10;
        for (size_t i = 0; i < 3 && n > 2 && p[0] == '0'; i++) {
            if ((p[1] | 0x20) == prefixes[i].letter && digit_value(p[2]) < prefixes[i].base) {
                base = prefixes[i].base;
                skip = 2;
            }
        }
        size_t digits = read_digits(t, p + skip, n - skip, base);
        t->length = skip + digits;
    }
    if (t->kind != TOKEN_BAD && t->length < n && (is_letter(p[t->length]) || is_digit(p[t->length])))
        bad(t, t->length, "a number must not run into a name");
}

static void read_name(token *t, const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && (is_letter(p[i]) || is_digit(p[i]) || (p[i] == '.' && i + 1 < n && is_letter(p[i + 1]))))
        i++;
    t->kind = TOKEN_NAME;
    t->length = i;
}

static void read_string(token *t, const char *p, size_t n)
{
    for (size_t i = 1; i < n && p[i] != '\n'; i++) {
        if (p[i] == '\\') {
            i++;
        } else if (p[i] == p[0]) {
            t->kind = TOKEN_STRING;
            t->length = i + 1;
            return;
        }
    }
    bad(t, n, "the text has no closing quote");
}

static const char *complaint_about(const char *p, size_t n)
{
    if (n > 1 && p[0] == '.' && p[1] == '.')
        return "`..` stands between loop bounds only";
    if (*p == '=')
        return "`=` is not an operator; equality is `==`";
    if (*p == '&' || *p == '|')
        return "bits cannot be combined here; logic is `and`, `or`, `&&`, `||`";
    if (*p == '?')
        return "there is no `?:` here; write `a if condition else b`";
    if (*p == '#')
        return "there are no comments in expressions";
    return "this character has no meaning here";
}

token expr_lex(const char *text, size_t length, size_t offset)
{
    while (offset < length && strchr(" \t\r\n", text[offset]) && text[offset])
        offset++;
    token t = {.kind = TOKEN_END, .at = offset};
    const char *p = text + offset;
    size_t n = length - offset;
    if (n == 0)
        return t;
    if (is_digit(*p) || (*p == '.' && n > 1 && is_digit(p[1]))) {
        read_number(&t, p, n);
    } else if (is_letter(*p)) {
        read_name(&t, p, n);
    } else if (*p == '\'' || *p == '"') {
        read_string(&t, p, n);
    } else {
        bad(&t, 1, complaint_about(p, n));
        for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
            size_t k = strlen(symbols[i]);
            if (k <= n && memcmp(p, symbols[i], k) == 0) {
                t = (token){.kind = TOKEN_SYMBOL, .at = offset, .length = k, .symbol = symbols[i]};
                break;
            }
        }
    }
    return t;
}

bool expr_token_is(const token *t, const char *text, const char *word)
{
    if (t->kind == TOKEN_SYMBOL)
        return strcmp(t->symbol, word) == 0;
    return t->kind == TOKEN_NAME && strlen(word) == t->length && memcmp(text + t->at, word, t->length) == 0;
}
