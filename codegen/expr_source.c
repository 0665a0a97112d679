#include "codegen/expr_internal.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_BEFORE 100 /* bytes of the text that a message shows on either side of the place */
#define SHOWN_AFTER 100

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static void add_flat(strb *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strb_add_char(out, text[i] == '\n' || text[i] == '\r' || text[i] == '\t' ? ' ' : text[i]);
}

static void show(const expr_source *s, size_t offset, strb *out)
{
    size_t from = offset > SHOWN_BEFORE ? offset - SHOWN_BEFORE : 0;
    size_t to = s->length - offset > SHOWN_AFTER ? offset + SHOWN_AFTER : s->length;
    while (from < offset && continues_character(s->text[from]))
        from++;
    while (to > offset && to < s->length && continues_character(s->text[to]))
        to--;
    strb_add(out, from ? "..." : "");
    add_flat(out, s->text + from, offset - from);
    strb_add(out, ">>>");
    add_flat(out, s->text + offset, to - offset);
    strb_add(out, to < s->length ? "..." : "");
}

static void show_position(const expr_source *s, size_t offset, strb *out)
{
    if (!s->where.file)
        return;
    strb_add(out, s->where.file);
    if (s->where.line > 0) {
        int line = s->where.line, column = s->where.column > 0 ? s->where.column : 1;
        for (size_t i = 0; i < offset && !s->rewritten; i++) {
            column = s->text[i] == '\n' ? 1 : column + 1;
            line += s->text[i] == '\n';
        }
        strb_printf(out, ":%d:%d", line, column);
    }
    strb_add(out, ": ");
}

kw_code expr_source_error(const expr_source *s, size_t offset, kw_error *err, const char *format, ...)
{
    if (!err)
        return KW_BAD_INPUT;
    if (offset > s->length)
        offset = s->length;
    strb text = STRB_INIT;
    show_position(s, offset, &text);
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    strb_add(&text, " | ");
    show(s, offset, &text);
    kw_code code = kw_error_set(err, KW_BAD_INPUT, "%s", strb_text(&text));
    strb_clear(&text);
    return code;
}
