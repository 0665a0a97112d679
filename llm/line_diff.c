#include "llm/line_diff.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 2000 };

typedef struct lines {
    const char **at;
    size_t *length;
    size_t n;
} lines;

static lines split(const char *text)
{
    lines l = {.n = 0};
    size_t capacity = 0;
    for (const char *line = text; *line; l.n++) {
        size_t length = strcspn(line, "\n");
        if (l.n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            l.at = mem_realloc(l.at, capacity * sizeof *l.at);
            l.length = mem_realloc(l.length, capacity * sizeof *l.length);
        }
        l.at[l.n] = line;
        l.length[l.n] = length;
        line += length + (line[length] == '\n');
    }
    return l;
}

static bool same(const lines *a, size_t i, const lines *b, size_t k)
{
    return a->length[i] == b->length[k] && memcmp(a->at[i], b->at[k], a->length[i]) == 0;
}

/* table[i * (m + 1) + k]: how many lines a[i..] and b[k..] have in common, in order. */
static uint16_t *common_lines(const lines *a, const lines *b)
{
    size_t w = b->n + 1;
    uint16_t *table = mem_calloc((a->n + 1) * w, sizeof *table);
    for (size_t i = a->n; i-- > 0;) {
        for (size_t k = b->n; k-- > 0;) {
            uint16_t down = table[(i + 1) * w + k], right = table[i * w + k + 1];
            table[i * w + k] = same(a, i, b, k) ? (uint16_t)(table[(i + 1) * w + k + 1] + 1)
                               : down >= right  ? down
                                                : right;
        }
    }
    return table;
}

typedef struct writer {
    strb *out;
    size_t room, start, left_out;
} writer;

static void write_line(writer *w, char mark, const char *line, size_t length)
{
    if (w->left_out > 0 || w->out->length - w->start + length + 2 > w->room) {
        w->left_out++;
        return;
    }
    strb_add_char(w->out, mark);
    strb_add_n(w->out, line, length);
    strb_add_char(w->out, '\n');
}

static void write_changes(const lines *a, const lines *b, const uint16_t *table, writer *w)
{
    size_t i = 0, k = 0, width = b->n + 1;
    bool within = false;
    while (i < a->n || k < b->n) {
        if (i < a->n && k < b->n && same(a, i, b, k)) {
            within = false;
            i++;
            k++;
            continue;
        }
        if (!within && w->left_out == 0)
            strb_printf(w->out, "@@ %zu\n", i + 1);
        within = true;
        if (k == b->n || (i < a->n && table[(i + 1) * width + k] >= table[i * width + k + 1])) {
            write_line(w, '-', a->at[i], a->length[i]);
            i++;
        } else {
            write_line(w, '+', b->at[k], b->length[k]);
            k++;
        }
    }
}

void line_diff(const char *from, const char *to, size_t room, strb *out)
{
    lines a = split(from), b = split(to);
    if (a.n > MOST_LINES || b.n > MOST_LINES) {
        strb_printf(out, "[%zu lines became %zu]\n", a.n, b.n);
    } else {
        uint16_t *table = common_lines(&a, &b);
        writer w = {.out = out, .room = room, .start = out->length};
        write_changes(&a, &b, table, &w);
        if (w.left_out > 0)
            strb_printf(out, "[... %zu changed lines left out ...]\n", w.left_out);
        free(table);
    }
    free(a.at);
    free(a.length);
    free(b.at);
    free(b.length);
}
