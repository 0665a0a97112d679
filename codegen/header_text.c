#include "base/hash.h"
#include "codegen/header_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX 4000 /* characters of one literal: C99 promises 4,095 */

void header_put(const writer *w, strb *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "@^");
        strb_add_n(out, text, n);
        text += n;
        if (*text)
            strb_add(out, *text++ == '@' ? w->low : w->up);
    }
}

void header_put_f(const writer *w, strb *out, const char *format, ...)
{
    strb replaced = STRB_INIT;
    va_list args;
    header_put(w, &replaced, format);
    va_start(args, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    strb_vprintf(out, strb_text(&replaced), args);
#pragma GCC diagnostic pop
    va_end(args);
    strb_clear(&replaced);
}

/* Three octal digits always, so that a digit that follows is not taken as part of the number. */
static void put_escaped(strb *out, unsigned char c)
{
    switch (c) {
    case '\\':
        strb_add(out, "\\\\");
        break;
    case '"':
        strb_add(out, "\\\"");
        break;
    case '?':
        strb_add(out, "\\?");
        break;
    case '\t':
        strb_add(out, "\\t");
        break;
    case '\n':
        strb_add(out, "\\n");
        break;
    default:
        if (c < 32 || c > 126)
            strb_printf(out, "\\%03o", c);
        else
            strb_add_char(out, (char)c);
    }
}

void header_put_literal(strb *out, const char *text, size_t length, const char *indent)
{
    strb_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        put_escaped(out, (unsigned char)text[i]);
        if (text[i] == '\n' && i + 1 < length)
            strb_printf(out, "\"\n%s\"", indent);
    }
    strb_add_char(out, '"');
}

void header_put_comment(strb *out, const char *text)
{
    char before = ' ';
    for (; *text; text++) {
        char c = *text;
        if (c < 32 || c > 126)
            c = (c == '\n' || c == '\t' || c == '\r') ? ' ' : '?';
        if ((before == '*' && c == '/') || (before == '/' && c == '*') || (before == '?' && c == '?'))
            strb_add_char(out, ' ');
        strb_add_char(out, c);
        before = c;
    }
    if (before == '\\' || before == '*' || before == '/')
        strb_add_char(out, ' ');
}

/* ---- names ---- */

/* Words of C99 to C23 and C++11 to C++23, and what the emitted functions call their own. */
static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "atomic_cancel", "auto", "bitand", "bitor", "bool", "break", "case",
    "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl",
    "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
    "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
    "friend", "goto", "if", "inline", "int", "linux", "long", "mutable", "namespace", "new", "noexcept", "not",
    "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof",
    "typeof_unqual", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor",
    "xor_eq",
    /* macros of the headers that are included */
    "NULL", "EOF", "errno", "stdin", "stdout", "stderr", "assert",
    /* parameters and variables of the emitted functions */
    "handle", "queue", "shape", "workspace", "n_wait", "wait", "event", "device", "variant", "plan", "scalars",
    "choice", "status", "step", "tensors", "text", "full", "values", "none"};

char *header_c_name(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(reserved[i], name) == 0) {
            strb s = STRB_INIT;
            strb_printf(&s, "%s_", name);
            return strb_take(&s);
        }
    }
    return mem_strdup(name);
}

bool header_is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

/* ---- kernel text ---- */

static void grow_index(writer *w)
{
    size_t size = w->piece_index_size ? w->piece_index_size * 2 : 256;
    free(w->piece_index);
    w->piece_index = mem_calloc(size, sizeof *w->piece_index);
    w->piece_index_size = size;
    for (size_t i = 0; i < w->n_pieces; i++) {
        size_t at = hash_u64(w->pieces[i], w->piece_lengths[i], 0) & (size - 1);
        while (w->piece_index[at])
            at = (at + 1) & (size - 1);
        w->piece_index[at] = (uint32_t)i + 1;
    }
}

/* The number of this piece, new or known. */
static uint32_t piece_number(writer *w, const char *text, size_t length)
{
    if (2 * (w->n_pieces + 1) > w->piece_index_size)
        grow_index(w);
    size_t at = hash_u64(text, length, 0) & (w->piece_index_size - 1);
    for (; w->piece_index[at]; at = (at + 1) & (w->piece_index_size - 1)) {
        uint32_t known = w->piece_index[at] - 1;
        if (w->piece_lengths[known] == length && memcmp(w->pieces[known], text, length) == 0)
            return known;
    }
    w->pieces = mem_grow(w->pieces, &w->pieces_capacity, w->n_pieces + 1, sizeof *w->pieces);
    w->piece_lengths = mem_grow(w->piece_lengths, &w->lengths_capacity, w->n_pieces + 1, sizeof *w->piece_lengths);
    w->pieces[w->n_pieces] = text;
    w->piece_lengths[w->n_pieces] = length;
    w->piece_index[at] = (uint32_t)++w->n_pieces;
    return (uint32_t)w->n_pieces - 1;
}

static size_t line_length(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end - text) + 1 : strlen(text);
}

static bool is_blank_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

/* A directive, or a comment of one line: what an expanded source begins with before its body. */
static bool is_prologue_line(const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return length > 0 && (*text == '#' || (length >= 4 && text[0] == '/' && text[1] == '*' && text[length - 2] == '*' &&
                                           text[length - 1] == '/'));
}

/* Length of the piece that starts here: a paragraph with the blank lines behind it, or as many whole lines of it as
 * fit. Where pieces start thus depends on the text around alone, so that equal functions in different sources become
 * equal pieces. The title and the sizes as constants at the very start are a paragraph of their own. */
static size_t piece_length(const char *text, bool at_start)
{
    size_t length = 0;
    bool blank_before = false, prologue = at_start;
    while (text[length]) {
        const char *line = text + length;
        size_t n = line_length(line);
        bool blank = is_blank_line(line, n), was_prologue = prologue;
        prologue = prologue && is_prologue_line(line, n);
        if (length > 0 && ((blank_before && !blank) || (was_prologue && !prologue)))
            break;
        if (length + n > PIECE_MAX)
            return length > 0 ? length : PIECE_MAX;
        length += n;
        blank_before = blank;
    }
    return length;
}

void header_add_pieces(writer *w, const char *source)
{
    const char *p = source;
    do {
        size_t length = piece_length(p, p == source);
        uint32_t number = piece_number(w, p, length);
        w->piece_list = mem_grow(w->piece_list, &w->piece_list_capacity, w->n_piece_list + 1, sizeof *w->piece_list);
        w->piece_list[w->n_piece_list++] = number;
        p += length;
    } while (*p);
}
