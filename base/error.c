#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Keeps messages on one line and terminals safe; bytes over 127 are UTF-8 and stay. */
static void sanitize(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            *text = '?';
    }
}

/* A cut must not leave half a UTF-8 character at the end of a full buffer. */
static void drop_partial_character(char *text)
{
    size_t n = strlen(text);
    size_t lead = n;
    while (lead > 0 && n - lead < 4 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
        lead--;
    if (lead == 0)
        return;
    unsigned char c = (unsigned char)text[lead - 1];
    size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    if (c >= 0xc0 && n - lead + 1 < want)
        text[lead - 1] = '\0';
}

kw_code kw_error_set(kw_error *err, kw_code code, const char *format, ...)
{
    if (!err)
        return code;
    /* Through a copy: an argument may be err->message itself. */
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0)
        snprintf(text, sizeof text, "message could not be formatted");
    if (n >= (int)sizeof text)
        drop_partial_character(text);
    sanitize(text);
    err->code = code;
    memcpy(err->message, text, sizeof text);
    return code;
}

kw_code kw_error_prefix(kw_error *err, const char *format, ...)
{
    if (!err)
        return KW_FAILED;
    char prefix[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    if (n < 0)
        return err->code;
    return kw_error_set(err, err->code, "%s: %s", prefix, err->message);
}

void kw_error_clear(kw_error *err)
{
    if (!err)
        return;
    err->code = KW_OK;
    err->message[0] = '\0';
}
