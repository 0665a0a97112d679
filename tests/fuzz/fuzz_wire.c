/* What a server sends, of any kind: streams in pieces of any size, whole bodies, errors, in both dialects. Whatever
 * comes, the text stays valid and the message a line. */
#include "base/utf8.h"
#include "llm/dialect.h"
#include "llm/sse.h"
#include "llm/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct reading {
    const dialect *d;
    wire_reply reply;
    size_t events;
} reading;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool on_event(void *user, const char *name, const char *data, size_t length)
{
    reading *r = user;
    json *j = wire_parse(data, length);
    require(name && data[length] == 0);
    r->events++;
    if (j)
        r->d->event(&r->reply, j);
    json_free(j);
    return !r->reply.terminal;
}

static void check_text(const strb *text)
{
    strb valid = STRB_INIT;
    utf8_add_valid(&valid, strb_text(text), text->length);
    require(valid.length == text->length && strlen(strb_text(text)) == text->length);
    strb_clear(&valid);
}

static size_t read_stream(const dialect *d, const char *bytes, size_t size, size_t piece, strb *text)
{
    reading r = {.d = d};
    sse s;
    wire_reply_init(&r.reply);
    sse_init(&s, on_event, &r);
    for (size_t at = 0; at < size; at += piece) {
        if (!sse_feed(&s, bytes + at, size - at < piece ? size - at : piece))
            break;
    }
    sse_end(&s);
    check_text(&r.reply.text);
    check_text(&r.reply.thinking);
    strb_add_n(text, strb_text(&r.reply.text), r.reply.text.length);
    sse_clear(&s);
    wire_reply_clear(&r.reply);
    return r.events;
}

static void read_whole(const dialect *d, const json *j)
{
    wire_reply r;
    wire_reply_init(&r);
    d->whole(&r, j);
    check_text(&r.text);
    wire_reply_clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const dialects[] = {&dialect_openai, &dialect_anthropic};
    const char *bytes = (const char *)data;
    wire_error e;
    json *j = wire_parse(bytes, size);
    for (size_t i = 0; i < 2; i++) {
        strb once = STRB_INIT, again = STRB_INIT;
        size_t n = read_stream(dialects[i], bytes, size, size ? size : 1, &once);
        require(read_stream(dialects[i], bytes, size, 1, &again) == n);
        require(once.length == again.length && memcmp(strb_text(&once), strb_text(&again), once.length) == 0);
        strb_clear(&once);
        strb_clear(&again);
        if (j)
            read_whole(dialects[i], j);
    }
    json_free(j);
    wire_error_of_body(bytes, size, "text/plain", 400, &e);
    require(e.is_set && strlen(e.message) < sizeof e.message && !strpbrk(e.message, "\r\n\t\x1b"));
    wire_judge(&e, -1);
    return 0;
}
