/* What of a reply is code. */
#include "llm/reply_internal.h"

#include "base/mem.h"

#include <cmark.h>
#include <stdlib.h>
#include <string.h>

static const char open_tag[] = "<think>", close_tag[] = "</think>";

static const char *find(const char *from, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; (size_t)(end - from) >= n; from++) {
        if (memcmp(from, what, n) == 0)
            return from;
    }
    return NULL;
}

void reply_without_thinking(const char *text, size_t length, strb *out)
{
    const char *at = text, *end = text + length;
    const char *opens = find(at, end, open_tag), *closes = find(at, end, close_tag);
    if (closes && (!opens || closes < opens))
        at = closes + strlen(close_tag);
    while ((opens = find(at, end, open_tag))) {
        strb_add_n(out, at, (size_t)(opens - at));
        closes = find(opens, end, close_tag);
        if (!closes)
            return;
        at = closes + strlen(close_tag);
    }
    strb_add_n(out, at, (size_t)(end - at));
}

/* A line of a text. Blocks come in order: from one to the next is only a step, also in a million of them. */
typedef struct place {
    const char *line; /* NULL: behind the end */
    int number;       /* from 1 on */
} place;

static const char *line_at(place *p, const char *text, int number)
{
    if (number < p->number)
        *p = (place){text, 1};
    for (; p->number < number && p->line; p->number++) {
        p->line = strchr(p->line, '\n');
        p->line = p->line ? p->line + 1 : NULL;
    }
    return p->line;
}

/* cmark closes a fence at the end of its container without a word. It was closed if its last line is a fence. */
static bool is_closed(place *p, const char *text, cmark_node *node)
{
    int first = cmark_node_get_start_line(node), last = cmark_node_get_end_line(node);
    const char *line = line_at(p, text, last);
    if (!line || last <= first)
        return false;
    line += strspn(line, " \t>");
    size_t n = strspn(line, "`");
    if (n < 3)
        n = strspn(line, "~");
    return n >= 3 && (line[n + strspn(line + n, " \t\r")] == '\n' || !line[n + strspn(line + n, " \t\r")]);
}

void code_blocks_find(const char *text, size_t length, code_blocks *out)
{
    cmark_node *document = cmark_parse_document(text, length, CMARK_OPT_DEFAULT);
    if (!document)
        return;
    place at = {text, 1};
    cmark_iter *walk = cmark_iter_new(document);
    for (cmark_event_type e = cmark_iter_next(walk); e != CMARK_EVENT_DONE; e = cmark_iter_next(walk)) {
        cmark_node *node = cmark_iter_get_node(walk);
        if (e != CMARK_EVENT_ENTER || cmark_node_get_type(node) != CMARK_NODE_CODE_BLOCK)
            continue;
        const char *info = cmark_node_get_fence_info(node), *literal = cmark_node_get_literal(node);
        out->items = mem_grow(out->items, &out->capacity, out->n + 1, sizeof *out->items);
        out->items[out->n++] = (code_block){.info = mem_strdup(info ? info : ""),
                                            .text = mem_strdup(literal ? literal : ""),
                                            .closed = is_closed(&at, text, node)};
    }
    cmark_iter_free(walk);
    cmark_node_free(document);
}

void code_blocks_clear(code_blocks *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->items[i].info);
        free(b->items[i].text);
    }
    free(b->items);
    memset(b, 0, sizeof *b);
}
