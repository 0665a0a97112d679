#include "tuner/trace.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strb.h"

#include <stdlib.h>

typedef struct interval {
    size_t track;
    const char *name, *detail;
    int64_t start_ns, end_ns;
    int busy;
} interval;

struct trace {
    arena *memory;
    int64_t start_ns;
    interval *items;
    size_t n, capacity;
};

trace *trace_new(void)
{
    trace *t = mem_calloc(1, sizeof *t);
    t->memory = arena_new();
    t->start_ns = clock_now_ns();
    return t;
}

void trace_free(trace *t)
{
    if (!t)
        return;
    arena_free(t->memory);
    free(t->items);
    free(t);
}

void trace_add(trace *t, size_t track, const char *name, const char *detail, int64_t start_ns, int64_t end_ns, int busy)
{
    if (!t)
        return;
    t->items = mem_grow(t->items, &t->capacity, t->n + 1, sizeof *t->items);
    t->items[t->n++] = (interval){
        track, arena_strdup(t->memory, name), detail ? arena_strdup(t->memory, detail) : NULL, start_ns, end_ns, busy};
}

static int by_start(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

double trace_idle_share(const trace *t, double *wall_ms)
{
    int64_t wall = clock_now_ns() - t->start_ns, covered = 0, end = t->start_ns;
    interval *sorted = mem_alloc(t->n * sizeof *sorted);
    for (size_t i = 0; i < t->n; i++)
        sorted[i] = t->items[i];
    qsort(sorted, t->n, sizeof *sorted, by_start);
    for (size_t i = 0; i < t->n; i++) {
        if (!sorted[i].busy)
            continue;
        int64_t from = sorted[i].start_ns > end ? sorted[i].start_ns : end;
        if (sorted[i].end_ns > from)
            covered += sorted[i].end_ns - from;
        if (sorted[i].end_ns > end)
            end = sorted[i].end_ns;
    }
    free(sorted);
    if (wall_ms)
        *wall_ms = (double)wall / 1e6;
    return wall > 0 ? 1.0 - (double)covered / (double)wall : 0;
}

kw_code trace_write(const trace *t, const char *path, kw_error *err)
{
    json *events = json_new_array();
    for (size_t i = 0; i < t->n; i++) {
        const interval *v = &t->items[i];
        json *e = json_new_object();
        json_set_string(e, "name", v->name);
        json_set_string(e, "ph", "X");
        json_set_number(e, "ts", (double)(v->start_ns - t->start_ns) / 1e3);
        json_set_number(e, "dur", (double)(v->end_ns - v->start_ns) / 1e3);
        json_set_int(e, "pid", 1);
        json_set_int(e, "tid", (int64_t)v->track);
        json *args = json_new_object();
        json_set_string(args, "detail", v->detail);
        json_set(e, "args", args);
        json_append(events, e);
    }
    json *top = json_new_object();
    json_set(top, "traceEvents", events);
    json_set_string(top, "displayTimeUnit", "ms");
    strb text = STRB_INIT;
    json_print(top, &text);
    strb_add_char(&text, '\n');
    kw_code code = fs_write(path, strb_text(&text), text.length, err);
    strb_clear(&text);
    json_free(top);
    return code;
}
