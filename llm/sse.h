/* Server-sent events: the stream format of https://html.spec.whatwg.org/multipage/server-sent-events.html, section
 * 9.2.6. Bytes may arrive cut anywhere; lines end in CR, LF or CRLF, mixed as the server likes. */
#ifndef KERNWRIGHT_LLM_SSE_H
#define KERNWRIGHT_LLM_SSE_H

#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

/* An event with data: `name` is "" when the server gave none; `data` has its lines joined by LF. false: read no
 * further. */
typedef bool (*sse_event)(void *user, const char *name, const char *data, size_t length);

typedef struct sse {
    sse_event event;
    void *user;
    strb line, data, name;
    bool has_data, after_cr, past_start, stopped, overlong;
} sse;

void sse_init(sse *s, sse_event event, void *user);
void sse_clear(sse *s);
/* false: the receiver has had enough, or a line is longer than 16 MiB. */
bool sse_feed(sse *s, const char *bytes, size_t n);
/* At the end of the stream: what was not followed by an empty line is delivered too. The specification drops it, but
 * servers forget that line behind their last event; a receiver must expect half an event here. */
void sse_end(sse *s);

#endif
