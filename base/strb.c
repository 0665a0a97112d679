#include "base/strb.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes and the NUL. */
static void reserve(strb *s, size_t more)
{
    s->data = mem_grow(s->data, &s->capacity, s->length + more + 1, 1);
}

void strb_clear(strb *s)
{
    free(s->data);
    *s = (strb)STRB_INIT;
}

void strb_reset(strb *s)
{
    strb_truncate(s, 0);
}

void strb_add_n(strb *s, const char *text, size_t n)
{
    reserve(s, n);
    if (n)
        memcpy(s->data + s->length, text, n);
    s->length += n;
    s->data[s->length] = '\0';
}

void strb_add(strb *s, const char *text)
{
    strb_add_n(s, text, strlen(text));
}

/* Expanded text is made a character at a time: the common case is two stores. */
void strb_add_char(strb *s, char c)
{
    if (s->length + 1 >= s->capacity)
        reserve(s, 1);
    s->data[s->length++] = c;
    s->data[s->length] = '\0';
}

void strb_vprintf(strb *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    reserve(s, 64);
    size_t room = s->capacity - s->length;
    int n = vsnprintf(s->data + s->length, room, format, args);
    if (n >= 0 && (size_t)n >= room) {
        reserve(s, (size_t)n);
        vsnprintf(s->data + s->length, (size_t)n + 1, format, again);
    }
    va_end(again);
    if (n >= 0)
        s->length += (size_t)n;
    s->data[s->length] = '\0';
}

void strb_printf(strb *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strb_vprintf(s, format, args);
    va_end(args);
}

void strb_truncate(strb *s, size_t length)
{
    if (length > s->length)
        return;
    s->length = length;
    if (s->data)
        s->data[length] = '\0';
}

const char *strb_text(const strb *s)
{
    return s->data ? s->data : "";
}

char *strb_take(strb *s)
{
    char *text = s->data ? s->data : mem_strdup("");
    *s = (strb)STRB_INIT;
    return text;
}
