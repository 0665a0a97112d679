/* Parts and their budget. */
#include "llm/prompt.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A part that is cut keeps at least this much; less would only confuse. */
#define LEAST_KEPT 400

void prompt_add(prompt *p, const char *title, char *text, int importance, bool shorten)
{
    if (!text || !*text || p->n == PROMPT_MAX_PARTS) {
        free(text);
        return;
    }
    p->parts[p->n++] = (prompt_part){title, text, importance, shorten};
}

void prompt_clear(prompt *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->parts[i].text);
    p->n = 0;
}

static size_t size_of(const prompt_part *part)
{
    return strlen(part->text) + (part->title ? strlen(part->title) + 6 : 0) + 2;
}

void prompt_add_cut(const char *text, size_t room, strb *out)
{
    size_t n = strlen(text);
    if (n <= room) {
        strb_add(out, text);
        return;
    }
    size_t head = room * 2 / 3, tail = room - head;
    while (head > 0 && text[head - 1] != '\n')
        head--;
    const char *rest = text + n - tail;
    const char *line = strchr(rest, '\n');
    rest = line ? line + 1 : rest;
    while ((*rest & 0xc0) == 0x80) /* within a character */
        rest++;
    strb_add_n(out, text, head);
    strb_printf(out, "[... %zu bytes left out ...]\n", (size_t)(rest - text) - head);
    strb_add(out, rest);
}

void prompt_print(const prompt *p, size_t room, strb *out, strb *left_out)
{
    size_t total = 0, kept[PROMPT_MAX_PARTS] = {0};
    for (size_t i = 0; i < p->n; i++) {
        kept[i] = size_of(&p->parts[i]);
        total += kept[i];
    }
    while (total > room) {
        size_t victim = p->n;
        for (size_t i = 0; i < p->n; i++) {
            if (kept[i] > 0 && p->parts[i].importance > 0 &&
                (victim == p->n || p->parts[i].importance > p->parts[victim].importance))
                victim = i;
        }
        if (victim == p->n)
            break; /* what is left must be there */
        size_t over = total - room, before = kept[victim];
        bool cut = p->parts[victim].shorten && before > over + LEAST_KEPT && before == size_of(&p->parts[victim]);
        kept[victim] = cut ? before - over : 0;
        total -= before - kept[victim];
        if (left_out)
            strb_printf(left_out, "%s: %s\n", p->parts[victim].title ? p->parts[victim].title : "text",
                        cut ? "cut" : "left out");
    }
    for (size_t i = 0; i < p->n; i++) {
        const prompt_part *part = &p->parts[i];
        if (kept[i] == 0)
            continue;
        if (part->title)
            strb_printf(out, "## %s\n\n", part->title);
        size_t overhead = size_of(part) - strlen(part->text);
        prompt_add_cut(part->text, kept[i] > overhead ? kept[i] - overhead : 0, out);
        if (out->length > 0 && strb_text(out)[out->length - 1] != '\n')
            strb_add_char(out, '\n');
        strb_add_char(out, '\n');
    }
}
