#include "tuner/results_lines.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tuner/results_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (256 << 10)

struct line_reader {
    results_bytes *file;
    char *name;
    int number;
    char chunk[CHUNK];
    size_t at, end; /* what is left of the chunk */
    strb line;
};

/* ---- raw lines ---- */

/* Fills the chunk again; what is left empty is the end. */
static kw_code read_chunk(line_reader *r, kw_error *err)
{
    const char *fault = results_bytes_read(r->file, r->chunk, CHUNK, &r->end);
    r->at = 0;
    if (!fault)
        return KW_OK;
    r->end = 0;
    if (r->number == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot read: %s", r->name, fault);
    return kw_error_set(err, KW_BAD_INPUT, "%s: cannot read after line %d: %s", r->name, r->number, fault);
}

/* Reads up to the line break; *got is false at the end of the file. */
static kw_code read_line(line_reader *r, bool *got, kw_error *err)
{
    strb_reset(&r->line);
    *got = false;
    for (;;) {
        kw_code code = r->at == r->end ? read_chunk(r, err) : KW_OK;
        if (code != KW_OK)
            return code;
        if (r->end == 0) {
            r->number += *got;
            return KW_OK;
        }
        *got = true;
        const char *from = r->chunk + r->at, *stop = memchr(from, '\n', r->end - r->at);
        size_t n = stop ? (size_t)(stop - from) : r->end - r->at;
        if (n > RESULTS_MAX_LINE - r->line.length)
            return kw_error_set(err, KW_BAD_INPUT, "%s:%d: the line is longer than %zu MiB: this is no results file",
                                r->name, r->number + 1, RESULTS_MAX_LINE >> 20);
        strb_add_n(&r->line, from, n);
        r->at += n + (stop != NULL);
        if (stop) {
            r->number++;
            return KW_OK;
        }
    }
}

/* Most lines have none but ASCII characters: eight are looked at at once. */
static bool is_ascii(const char *p, size_t n)
{
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t found = 0; /* a byte of 128 or more, or one that is zero */
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        found |= (x | (x - ones)) & highs;
    }
    for (; n > 0; p++, n--)
        found |= (unsigned char)*p >= 128 || *p == '\0';
    return found == 0;
}

static kw_code check_text(const line_reader *r, kw_error *err)
{
    if (is_ascii(strb_text(&r->line), r->line.length))
        return KW_OK;
    const char *p = strb_text(&r->line), *end = p + r->line.length;
    for (int column = 1; p < end; column++) {
        size_t n = utf8_length(p, (size_t)(end - p));
        if (n == 0 || *p == '\0')
            return kw_error_set(err, KW_BAD_INPUT, "%s:%d:%d: byte 0x%02x is not UTF-8 text", r->name, r->number,
                                column, (unsigned)(unsigned char)*p);
        p += n;
    }
    return KW_OK;
}

static bool is_conflict_marker(const char *line)
{
    static const char *const markers[] = {"<<<<<<<", "|||||||", "=======", ">>>>>>>"};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (strncmp(line, markers[i], 7) == 0)
            return true;
    return false;
}

/* The next line that is not empty, checked; *got is false at the end. A carriage return before the break is dropped. */
static kw_code read_text(line_reader *r, bool *got, kw_error *err)
{
    do {
        kw_code code = read_line(r, got, err);
        if (code != KW_OK || !*got)
            return code;
        if (r->line.length > 0 && r->line.data[r->line.length - 1] == '\r')
            strb_truncate(&r->line, r->line.length - 1);
    } while (r->line.length == 0);
    if (is_conflict_marker(strb_text(&r->line)))
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s:%d: a conflict marker: merge the two versions with `kernwright results merge`", r->name,
                            r->number);
    return check_text(r, err);
}

/* ---- the header line ---- */

const char results_header_line[] = "{\"kernwright\":\"results\",\"schema\":1}";

static kw_code check_header(const line_reader *r, bool got, kw_error *err)
{
    json *j = got ? json_parse(strb_text(&r->line), r->line.length, r->name, r->number, 1, NULL) : NULL;
    const char *what = json_text(json_get(j, "kernwright"));
    int64_t schema = 0;
    bool is_results = what && strcmp(what, "results") == 0 && json_int(json_get(j, "schema"), &schema);
    json_free(j);
    if (!is_results)
        return kw_error_set(err, KW_BAD_INPUT, "%s:%d: not a kernwright results file: its first line must be %s",
                            r->name, got ? r->number : 1, results_header_line);
    if (schema != RESULTS_SCHEMA)
        return kw_error_set(
            err, KW_BAD_INPUT, "%s:%d: results of schema %lld, this program knows schema %d: use %s kernwright",
            r->name, r->number, (long long)schema, RESULTS_SCHEMA, schema > RESULTS_SCHEMA ? "a newer" : "another");
    return KW_OK;
}

/* One in the middle: files were joined by cat. */
static bool is_header(const strb *line)
{
    static const char begin[] = "{\"kernwright\":";
    return line->length >= sizeof begin - 1 && memcmp(line->data, begin, sizeof begin - 1) == 0;
}

/* ---- entry points ---- */

kw_code line_reader_open(const char *path, line_reader **out, kw_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    *out = NULL;
    int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    return line_reader_open_fd(fd, standard ? "standard input" : path, out, err);
}

kw_code line_reader_open_fd(int fd, const char *name, line_reader **out, kw_error *err)
{
    *out = NULL;
    line_reader *r = mem_calloc(1, sizeof *r);
    r->file = results_bytes_open(fd);
    r->name = mem_strdup(name);
    bool got;
    kw_code code = read_text(r, &got, err);
    if (code == KW_OK)
        code = check_header(r, got, err);
    if (code != KW_OK) {
        line_reader_close(r);
        return code;
    }
    *out = r;
    return KW_OK;
}

kw_code line_reader_next(line_reader *r, char **line, size_t *length, kw_error *err)
{
    bool got;
    *line = NULL;
    kw_code code = read_text(r, &got, err);
    while (code == KW_OK && got && is_header(&r->line)) {
        code = check_header(r, true, err);
        if (code == KW_OK)
            code = read_text(r, &got, err);
    }
    if (code == KW_OK && got) {
        *line = r->line.data;
        *length = r->line.length;
    }
    return code;
}

int line_reader_number(const line_reader *r)
{
    return r->number;
}

const char *line_reader_name(const line_reader *r)
{
    return r->name;
}

void line_reader_close(line_reader *r)
{
    if (!r)
        return;
    results_bytes_close(r->file);
    strb_clear(&r->line);
    free(r->name);
    free(r);
}

/* ---- a set of lines ---- */

void line_set_add(line_set *s, char *line)
{
    s->lines = mem_grow(s->lines, &s->capacity, s->n + 1, sizeof *s->lines);
    s->lines[s->n++] = line;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* strcmp compares as unsigned bytes */
}

void line_set_print(line_set *s, strb *out)
{
    if (s->n > 0)
        qsort(s->lines, s->n, sizeof *s->lines, by_bytes);
    strb_printf(out, "%s\n", results_header_line);
    for (size_t i = 0; i < s->n; i++) {
        if (i > 0 && strcmp(s->lines[i], s->lines[i - 1]) == 0)
            continue;
        strb_add(out, s->lines[i]);
        strb_add_char(out, '\n');
    }
}

void line_set_clear(line_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->lines[i]);
    free(s->lines);
    memset(s, 0, sizeof *s);
}
