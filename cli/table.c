#include "cli/table.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 24

typedef struct cell {
    char *text;
    bool right;
} cell;

struct table {
    cell *cells; /* row after row, titles first */
    size_t n, capacity, columns, column;
};

static void add(table *t, const char *text, bool right)
{
    t->cells = mem_grow(t->cells, &t->capacity, t->n + 1, sizeof *t->cells);
    t->cells[t->n++] = (cell){mem_strdup(text), right};
    t->column++;
}

table *table_new(const char *titles)
{
    table *t = mem_calloc(1, sizeof *t);
    char *copy = mem_strdup(titles), *save = NULL;
    for (char *title = strtok_r(copy, "|", &save); title; title = strtok_r(NULL, "|", &save)) {
        add(t, title, false);
        t->columns++;
    }
    free(copy);
    t->column = 0;
    return t;
}

void table_free(table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t);
}

void table_text(table *t, const char *text)
{
    add(t, text ? text : "-", false);
}

void table_number(table *t, double x, int digits)
{
    char text[48] = "-";
    if (isfinite(x)) {
        int whole = x == 0 ? 1 : (int)floor(log10(fabs(x))) + 1;
        int decimals = digits - whole;
        snprintf(text, sizeof text, "%.*f", decimals < 0 ? 0 : decimals > 9 ? 9 : decimals, x);
    }
    add(t, text, true);
}

void table_end_row(table *t)
{
    while (t->column < t->columns)
        add(t, "", false);
    t->column = 0;
}

void table_print(const table *t, FILE *to)
{
    if (t->n <= t->columns)
        return;
    size_t width[MAX_COLUMNS] = {0};
    bool right[MAX_COLUMNS] = {false};
    for (size_t i = 0; i < t->n; i++) {
        size_t c = i % t->columns, w = strlen(t->cells[i].text);
        if (c < MAX_COLUMNS && w > width[c])
            width[c] = w;
        if (c < MAX_COLUMNS && t->cells[i].right)
            right[c] = true;
    }
    for (size_t i = 0; i < t->n; i++) {
        size_t c = i % t->columns;
        bool last = c + 1 == t->columns;
        int pad = right[c] ? (int)width[c] : last ? 0 : -(int)width[c];
        fprintf(to, "%*s", pad, t->cells[i].text);
        fputs(last ? "\n" : "  ", to);
    }
}
