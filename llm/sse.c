#include "llm/sse.h"

#include <string.h>

#define MAX_LINE ((size_t)16 << 20)

void sse_init(sse *s, sse_event event, void *user)
{
    memset(s, 0, sizeof *s);
    s->event = event;
    s->user = user;
}

void sse_clear(sse *s)
{
    strb_clear(&s->line);
    strb_clear(&s->data);
    strb_clear(&s->name);
}

static void dispatch(sse *s)
{
    if (s->has_data && !s->stopped)
        s->stopped = !s->event(s->user, strb_text(&s->name), strb_text(&s->data), s->data.length);
    strb_reset(&s->data);
    strb_reset(&s->name);
    s->has_data = false;
}

static void end_line(sse *s)
{
    const char *line = strb_text(&s->line);
    size_t length = s->line.length;
    if (length == 0) {
        dispatch(s);
        return;
    }
    const char *colon = memchr(line, ':', length);
    size_t n = colon ? (size_t)(colon - line) : length;
    const char *value = colon ? colon + 1 : line + length;
    if (colon && *value == ' ')
        value++;
    size_t left = (size_t)(line + length - value);
    /* An empty name is a comment; id, retry and what is unknown say nothing to us. */
    if (n == 4 && memcmp(line, "data", 4) == 0) {
        if (s->has_data)
            strb_add_char(&s->data, '\n');
        strb_add_n(&s->data, value, left);
        s->has_data = true;
    } else if (n == 5 && memcmp(line, "event", 5) == 0) {
        strb_reset(&s->name);
        strb_add_n(&s->name, value, left);
    }
    strb_reset(&s->line);
}

/* The byte order mark, which may stand before the first line. */
static void skip_mark(sse *s)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (s->past_start)
        return;
    s->past_start = true;
    if (s->line.length >= 3 && memcmp(s->line.data, mark, 3) == 0) {
        memmove(s->line.data, s->line.data + 3, s->line.length - 3);
        strb_truncate(&s->line, s->line.length - 3);
    }
}

bool sse_feed(sse *s, const char *bytes, size_t n)
{
    const char *end = bytes + n;
    for (const char *at = bytes; at < end && !s->stopped;) {
        if (s->after_cr && *at == '\n') {
            s->after_cr = false;
            at++;
            continue;
        }
        s->after_cr = false;
        const char *stop = at;
        while (stop < end && *stop != '\r' && *stop != '\n')
            stop++;
        strb_add_n(&s->line, at, (size_t)(stop - at));
        if (s->line.length > MAX_LINE || s->data.length > MAX_LINE)
            s->stopped = s->overlong = true;
        at = stop;
        if (stop < end) {
            skip_mark(s);
            end_line(s);
            s->after_cr = *stop == '\r';
            at++;
        }
    }
    return !s->stopped;
}

void sse_end(sse *s)
{
    if (s->line.length > 0) {
        skip_mark(s);
        end_line(s);
    }
    dispatch(s);
}
