#include "tuner/results_runs.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/strb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one run ---- */

struct run_writer {
    FILE *file;
    int failure; /* errno of the first one */
};

static kw_code failed(const char *what, int reason, kw_error *err)
{
    return kw_error_set(err, KW_ENVIRONMENT, "cannot %s a temporary file in %s: %s: name a larger place with $TMPDIR",
                        what, fs_temp_root(), strerror(reason));
}

kw_code run_writer_open(run_writer **out, kw_error *err)
{
    strb path = STRB_INIT;
    *out = NULL;
    strb_printf(&path, "%s/kernwright-sort-XXXXXX", fs_temp_root());
    int fd = mkostemp(path.data, O_CLOEXEC);
    int reason = errno;
    if (fd >= 0)
        unlink(path.data); /* it is there as long as it is open */
    strb_clear(&path);
    if (fd < 0)
        return failed("make", reason, err);
    run_writer *w = mem_calloc(1, sizeof *w);
    w->file = fdopen(fd, "w+");
    if (!w->file) {
        close(fd);
        free(w);
        return failed("make", ENOMEM, err);
    }
    setvbuf(w->file, NULL, _IOFBF, 256 << 10);
    run_writer_add(w, results_header_line, strlen(results_header_line));
    *out = w;
    return KW_OK;
}

void run_writer_add(run_writer *w, const char *line, size_t length)
{
    if (!w->failure && (fwrite(line, 1, length, w->file) != length || fputc('\n', w->file) == EOF))
        w->failure = errno;
}

kw_code run_writer_close(run_writer *w, bool keep, int *fd, kw_error *err)
{
    *fd = -1;
    if (keep && !w->failure && fflush(w->file) == EOF)
        w->failure = errno;
    if (keep && !w->failure) {
        *fd = fcntl(fileno(w->file), F_DUPFD_CLOEXEC, 0);
        if (*fd < 0 || lseek(*fd, 0, SEEK_SET) != 0)
            w->failure = errno;
    }
    int failure = w->failure;
    fclose(w->file);
    free(w);
    if (!keep || !failure)
        return KW_OK;
    run_close(*fd);
    *fd = -1;
    return failed("write", failure, err);
}

kw_code run_open(int fd, line_reader **out, kw_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    *out = NULL;
    if (copy < 0 || lseek(copy, 0, SEEK_SET) != 0) {
        const int reason = errno;
        run_close(copy);
        return failed("read", reason, err);
    }
    return line_reader_open_fd(copy, "a sorted part", out, err);
}

void run_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- lines in any order ---- */

typedef struct kept_line {
    const char *text;
    size_t length;
} kept_line;

struct run_maker {
    size_t run_bytes;
    char *text; /* the lines, one after the other */
    size_t used, text_capacity;
    size_t *ends; /* of each in `text` */
    size_t n, capacity;
    int *runs;
    size_t n_runs, runs_capacity, taken;
};

run_maker *run_maker_new(size_t run_bytes)
{
    run_maker *r = mem_calloc(1, sizeof *r);
    r->run_bytes = run_bytes;
    return r;
}

static int by_bytes(const void *a, const void *b)
{
    const kept_line *x = a, *y = b;
    int c = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return c != 0 ? c : (x->length > y->length) - (x->length < y->length);
}

/* What is there goes to a run. */
static kw_code finish_run(run_maker *r, kw_error *err)
{
    run_writer *w;
    if (r->n == 0)
        return KW_OK;
    kw_code code = run_writer_open(&w, err);
    if (code != KW_OK)
        return code;
    kept_line *lines = mem_alloc(r->n * sizeof *lines);
    for (size_t i = 0; i < r->n; i++) {
        const size_t from = i > 0 ? r->ends[i - 1] : 0;
        lines[i] = (kept_line){r->text + from, r->ends[i] - from};
    }
    qsort(lines, r->n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < r->n; i++)
        if (i == 0 || by_bytes(&lines[i - 1], &lines[i]) != 0)
            run_writer_add(w, lines[i].text, lines[i].length);
    free(lines);
    int fd;
    code = run_writer_close(w, true, &fd, err);
    r->n = r->used = 0;
    if (code == KW_OK) {
        r->runs = mem_grow(r->runs, &r->runs_capacity, r->n_runs + 1, sizeof *r->runs);
        r->runs[r->n_runs++] = fd;
    }
    return code;
}

kw_code run_maker_add(run_maker *r, const char *line, size_t length, kw_error *err)
{
    kw_code code = r->n > 0 && length > r->run_bytes - (r->used < r->run_bytes ? r->used : r->run_bytes)
                       ? finish_run(r, err)
                       : KW_OK;
    if (code != KW_OK)
        return code;
    r->text = mem_grow(r->text, &r->text_capacity, r->used + length, 1);
    memcpy(r->text + r->used, line, length);
    r->used += length;
    r->ends = mem_grow(r->ends, &r->capacity, r->n + 1, sizeof *r->ends);
    r->ends[r->n++] = r->used;
    return KW_OK;
}

kw_code run_maker_take(run_maker *r, int *fd, kw_error *err)
{
    kw_code code = finish_run(r, err);
    *fd = code == KW_OK && r->taken < r->n_runs ? r->runs[r->taken++] : -1;
    return code;
}

void run_maker_free(run_maker *r)
{
    if (!r)
        return;
    while (r->taken < r->n_runs)
        run_close(r->runs[r->taken++]);
    free(r->runs);
    free(r->text);
    free(r->ends);
    free(r);
}
