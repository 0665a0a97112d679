#include "tuner/results_merge.h"

#include "base/fs_writer.h"
#include "base/mem.h"
#include "tuner/results_lines.h"
#include "tuner/results_runs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Lines in order: a file that is, or a part of one that was sorted. */
typedef struct source {
    const char *path; /* NULL: a run */
    int fd;           /* of the run; -1 */
    bool checked;     /* the file was seen to be in order */
    size_t input;     /* the file that it belongs to; the base is number n */
    line_reader *reader;
    const char *line; /* where it stands */
    size_t length;
} source;

typedef struct merger {
    const results_merge_options *o;
    results_merge_report *report;
    source *sources;
    size_t n, capacity;
    size_t *heap; /* of places in `sources`, the least line on top */
    size_t n_heap;
    strb current;
    uint64_t serial; /* of the current line */
    uint64_t *seen;  /* per input: the last line that it had */
    size_t disorder; /* the source that turned out to be in none; NO_SOURCE */
} merger;

#define NO_SOURCE SIZE_MAX

static bool in_order(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int c = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return c < 0 || (c == 0 && n_a <= n_b);
}

static kw_code next_line(line_reader *r, const char **line, size_t *length, kw_error *err)
{
    char *text;
    kw_code code = line_reader_next(r, &text, length, err);
    *line = text;
    if (code == KW_OK && *line && ((*line)[0] != '{' || (*line)[*length - 1] != '}'))
        code = kw_error_set(err, KW_BAD_INPUT,
                            "%s:%d: not a line of results: it must begin with { and end with }; if the file was cut "
                            "off, take a whole copy",
                            line_reader_name(r), line_reader_number(r));
    return code;
}

static kw_code interrupted(const merger *m, kw_error *err)
{
    if (m->o->stop && m->o->stop())
        return kw_error_set(err, KW_INTERRUPTED, "interrupted; nothing was written");
    return KW_OK;
}

static bool now_and_then(uint64_t n)
{
    return n % 4096 == 0;
}

/* ---- the inputs ---- */

static void add_source(merger *m, source s)
{
    m->sources = mem_grow(m->sources, &m->capacity, m->n + 1, sizeof *m->sources);
    m->sources[m->n++] = s;
}

static size_t count_runs(const merger *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->sources[i].path == NULL;
    return n;
}

/* Reads the whole file: are its lines in order, and lines at all? */
static kw_code check_order(merger *m, const char *path, bool *sorted, kw_error *err)
{
    line_reader *r;
    strb previous = STRB_INIT;
    const char *line = "";
    size_t length;
    *sorted = true;
    kw_code code = line_reader_open(path, &r, err);
    for (uint64_t i = 1; code == KW_OK && line && *sorted; i++) {
        code = next_line(r, &line, &length, err);
        if (code != KW_OK || !line)
            break;
        *sorted = in_order(strb_text(&previous), previous.length, line, length);
        strb_reset(&previous);
        strb_add_n(&previous, line, length);
        if (now_and_then(i))
            code = interrupted(m, err);
    }
    line_reader_close(r);
    strb_clear(&previous);
    return code;
}

static kw_code sort_file(merger *m, const char *path, size_t input, kw_error *err)
{
    line_reader *r;
    run_maker *runs = run_maker_new(m->o->run_bytes ? m->o->run_bytes : RESULTS_MERGE_MEMORY);
    kw_code code = line_reader_open(path, &r, err);
    for (uint64_t i = 1; code == KW_OK; i++) {
        const char *line;
        size_t length;
        code = next_line(r, &line, &length, err);
        if (code != KW_OK || !line)
            break;
        code = run_maker_add(runs, line, length, err);
        if (code == KW_OK && now_and_then(i))
            code = interrupted(m, err);
    }
    line_reader_close(r);
    int fd = -1;
    while (code == KW_OK && (code = run_maker_take(runs, &fd, err)) == KW_OK && fd >= 0)
        add_source(m, (source){.fd = fd, .input = input});
    run_maker_free(runs);
    return code;
}

/* Can what was written be taken back? Then a file is taken to be in order until it is seen not to be. */
static bool can_begin_again(const merger *m)
{
    struct stat st;
    return strcmp(m->o->out, "-") != 0 && (stat(m->o->out, &st) != 0 || S_ISREG(st.st_mode));
}

/* A file that can be read again is at most looked at; anything else is kept. */
static kw_code add_input(merger *m, const char *path, size_t input, kw_error *err)
{
    struct stat st;
    bool again = strcmp(path, "-") != 0 && stat(path, &st) == 0 && !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) &&
                 !S_ISCHR(st.st_mode);
    bool sorted = false;
    if (input == m->o->n && again && st.st_size == 0)
        return KW_OK;
    const bool look = again && !can_begin_again(m);
    kw_code code = look ? check_order(m, path, &sorted, err) : KW_OK;
    if (code == KW_OK && (sorted || (again && !look)))
        add_source(m, (source){.path = path, .fd = -1, .input = input, .checked = sorted});
    else if (code == KW_OK) {
        m->report->sorted += again;
        code = sort_file(m, path, input, err);
    }
    return code;
}

/* ---- the heap ---- */

static bool stands_before(const merger *m, size_t a, size_t b)
{
    const source *x = &m->sources[a], *y = &m->sources[b];
    return in_order(x->line, x->length, y->line, y->length);
}

static void sift_down(merger *m, size_t at)
{
    const size_t moved = m->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= m->n_heap)
            break;
        if (child + 1 < m->n_heap && stands_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (stands_before(m, moved, m->heap[child]))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = moved;
}

static kw_code open_sources(merger *m, size_t from, size_t n, kw_error *err)
{
    kw_code code = KW_OK;
    m->n_heap = 0;
    for (size_t i = from; code == KW_OK && i < from + n; i++) {
        source *s = &m->sources[i];
        code = s->path ? line_reader_open(s->path, &s->reader, err) : run_open(s->fd, &s->reader, err);
        if (code == KW_OK)
            code = next_line(s->reader, &s->line, &s->length, err);
        if (code == KW_OK && s->line)
            m->heap[m->n_heap++] = i;
    }
    for (size_t i = m->n_heap / 2; i-- > 0;)
        sift_down(m, i);
    return code;
}

static void close_sources(merger *m, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        line_reader_close(m->sources[i].reader);
        m->sources[i].reader = NULL;
    }
}

/* The source on top goes on to its next line. */
static kw_code advance_top(merger *m, kw_error *err)
{
    source *s = &m->sources[m->heap[0]];
    kw_code code = next_line(s->reader, &s->line, &s->length, err);
    if (code != KW_OK)
        return code;
    if (!s->line)
        m->heap[0] = m->heap[--m->n_heap];
    else if (!in_order(strb_text(&m->current), m->current.length, s->line, s->length)) {
        m->disorder = s->checked || !s->path ? NO_SOURCE : m->heap[0];
        return kw_error_set(err, KW_BAD_INPUT, "%s:%d: the file was changed while it was read: merge it again",
                            line_reader_name(s->reader), line_reader_number(s->reader));
    }
    if (m->n_heap > 1)
        sift_down(m, 0);
    return KW_OK;
}

static bool top_is_current(const merger *m)
{
    const source *s = &m->sources[m->heap[0]];
    return s->length == m->current.length && memcmp(s->line, m->current.data, s->length) == 0;
}

/* ---- merging ---- */

/* Steps over the least line, wherever it stands; *holders: how many files have it. */
static kw_code take_least(merger *m, size_t *holders, bool *in_base, kw_error *err)
{
    const source *top = &m->sources[m->heap[0]];
    kw_code code = KW_OK;
    strb_reset(&m->current);
    strb_add_n(&m->current, top->line, top->length);
    m->serial++;
    *holders = 0;
    *in_base = false;
    do {
        const size_t input = m->sources[m->heap[0]].input;
        if (input == m->o->n)
            *in_base = true;
        else
            *holders += m->seen[input] != m->serial;
        m->seen[input] = m->serial;
        code = advance_top(m, err);
    } while (code == KW_OK && m->n_heap > 0 && top_is_current(m));
    return code;
}

static kw_code fill_run(merger *m, size_t n, run_writer *w, kw_error *err)
{
    size_t holders;
    bool in_base;
    kw_code code = open_sources(m, 0, n, err);
    while (code == KW_OK && m->n_heap > 0) {
        code = take_least(m, &holders, &in_base, err);
        run_writer_add(w, strb_text(&m->current), m->current.length);
        if (code == KW_OK && now_and_then(m->serial))
            code = interrupted(m, err);
    }
    close_sources(m, 0, n);
    return code;
}

/* The first sources become a single run: there are too many to open at a time. */
static kw_code merge_first(merger *m, size_t n, kw_error *err)
{
    run_writer *w;
    int fd;
    kw_code code = run_writer_open(&w, err);
    if (code != KW_OK)
        return code;
    code = fill_run(m, n, w, err);
    kw_code kept = run_writer_close(w, code == KW_OK, &fd, err);
    if (code != KW_OK || kept != KW_OK)
        return code != KW_OK ? code : kept;
    const source merged = {.fd = fd, .input = m->sources[0].input};
    for (size_t i = 0; i < n; i++)
        run_close(m->sources[i].fd);
    m->n -= n;
    memmove(m->sources, m->sources + n, m->n * sizeof *m->sources);
    add_source(m, merged);
    return KW_OK;
}

/* Until at most RESULTS_MERGE_FILES are left, runs first: they are open already. */
static kw_code reduce_sources(merger *m, size_t n_open, kw_error *err)
{
    kw_code code = KW_OK;
    while (code == KW_OK && n_open > RESULTS_MERGE_FILES) {
        if (m->o->base)
            return kw_error_set(
                err, KW_BAD_INPUT,
                "with a base at most %d files, or parts of %zu MiB that had to be sorted, can be merged",
                RESULTS_MERGE_FILES, RESULTS_MERGE_MEMORY >> 20);
        size_t at = 0;
        for (size_t i = 0; i < m->n; i++) {
            const source s = m->sources[i];
            if (s.path)
                continue;
            memmove(m->sources + at + 1, m->sources + at, (i - at) * sizeof s);
            m->sources[at++] = s;
        }
        code = merge_first(m, RESULTS_MERGE_FILES, err);
        n_open -= RESULTS_MERGE_FILES - 1;
    }
    return code;
}

static kw_code write_union(merger *m, fs_writer *w, kw_error *err)
{
    kw_code code = open_sources(m, 0, m->n, err);
    fs_writer_add(w, results_header_line, strlen(results_header_line));
    fs_writer_add(w, "\n", 1);
    while (code == KW_OK && m->n_heap > 0) {
        size_t holders;
        bool in_base;
        code = take_least(m, &holders, &in_base, err);
        if (code == KW_OK && now_and_then(m->serial))
            code = interrupted(m, err);
        if (in_base && holders < m->o->n) {
            m->report->removed++;
            continue;
        }
        strb_add_char(&m->current, '\n');
        fs_writer_add(w, m->current.data, m->current.length);
        m->report->lines++;
        m->report->common += holders > 1;
    }
    close_sources(m, 0, m->n);
    return code;
}

static kw_code write_all(merger *m, kw_error *err)
{
    fs_writer *w;
    kw_code code = reduce_sources(m, m->n, err);
    if (code == KW_OK)
        code = fs_writer_open(m->o->out, &w, err);
    if (code != KW_OK)
        return code;
    m->report->lines = m->report->common = m->report->removed = 0;
    code = write_union(m, w, err);
    kw_code written = fs_writer_close(w, code == KW_OK, err);
    return code == KW_OK ? written : code;
}

/* The source that is in disorder gives way to its runs. */
static kw_code sort_source(merger *m, kw_error *err)
{
    const source s = m->sources[m->disorder];
    m->sources[m->disorder] = m->sources[--m->n];
    m->report->sorted++;
    kw_code code = sort_file(m, s.path, s.input, err);
    return code == KW_OK ? reduce_sources(m, count_runs(m), err) : code;
}

static kw_code merge_all(merger *m, kw_error *err)
{
    kw_code code = KW_OK;
    m->heap = mem_alloc(RESULTS_MERGE_FILES * sizeof *m->heap);
    m->seen = mem_calloc(m->o->n + 1, sizeof *m->seen);
    m->disorder = NO_SOURCE;
    for (size_t i = 0; code == KW_OK && i < m->o->n + (m->o->base != NULL); i++) {
        code = add_input(m, i < m->o->n ? m->o->paths[i] : m->o->base, i, err);
        if (code == KW_OK)
            code = reduce_sources(m, count_runs(m), err);
    }
    if (code == KW_OK)
        code = write_all(m, err);
    while (m->disorder != NO_SOURCE) {
        kw_error_clear(err);
        code = sort_source(m, err);
        m->disorder = NO_SOURCE;
        if (code == KW_OK)
            code = write_all(m, err);
    }
    return code;
}

kw_code results_merge(const results_merge_options *o, results_merge_report *report, kw_error *err)
{
    merger m = {.o = o, .report = report};
    memset(report, 0, sizeof *report);
    kw_code code = merge_all(&m, err);
    close_sources(&m, 0, m.n);
    for (size_t i = 0; i < m.n; i++)
        run_close(m.sources[i].fd);
    free(m.sources);
    free(m.heap);
    free(m.seen);
    strb_clear(&m.current);
    return code;
}
