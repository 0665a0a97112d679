#include "llm/journal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A process that was just ended may hold its files for a moment longer. */
#define LOCK_TRIES 20
#define LOCK_NAP_NS (50 * 1000000L)

struct journal {
    char *path;
    FILE *file;   /* open for appending; NULL: nothing is written */
    json **lines; /* to follow */
    size_t n, at, capacity;
};

static kw_code read_lines(journal *j, const char *text, size_t length, size_t *used, kw_error *err)
{
    const char *at = text, *end = text + length;
    for (int number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            break; /* not finished when the run was killed */
        json *one = json_parse(at, (size_t)(stop - at), j->path, number, 1, err);
        if (!one)
            return err ? err->code : KW_BAD_INPUT;
        j->lines = mem_grow(j->lines, &j->capacity, j->n + 1, sizeof *j->lines);
        j->lines[j->n++] = one;
        if (!json_text(json_get(one, "event")))
            return kw_error_set(err, KW_BAD_INPUT, "%s:%d: no \"event\": this is no journal of a run", j->path, number);
        at = stop + 1;
        *used = (size_t)(at - text);
    }
    return KW_OK;
}

static bool is_locked(int fd)
{
    const struct timespec nap = {0, LOCK_NAP_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

/* Locked for as long as it is open: two runs that write one journal would each follow half of it. A lock of the kernel
 * goes with its process, however that ends. Where the disk has no locks, there is none. */
static kw_code open_to_write(journal *j, kw_error *err)
{
    struct stat st;
    /* Its last line may be dropped: not of a file elsewhere that a link leads to. */
    if (stat(j->path, &st) != 0 || !S_ISCHR(st.st_mode)) {
        kw_code code = fs_check_plain(j->path, err);
        if (code != KW_OK)
            return code;
    }
    j->file = fopen(j->path, "ae");
    if (!j->file)
        return kw_error_set(err, KW_ENVIRONMENT, "%s cannot be written: %s", j->path, strerror(errno));
    if (is_locked(fileno(j->file)))
        return kw_error_set(err, KW_FAILED, "%s: another run is writing it; give this one a folder of its own",
                            j->path);
    return KW_OK;
}

kw_code journal_open(const char *path, bool read_only, journal **out, kw_error *err)
{
    journal *j = mem_calloc(1, sizeof *j);
    strb text = STRB_INIT;
    size_t used = 0;
    kw_code code = KW_OK;
    j->path = path ? mem_strdup(path) : NULL;
    if (path && !read_only)
        code = open_to_write(j, err);
    if (code == KW_OK && path && (read_only || fs_is_file(path)))
        code = fs_read(path, (size_t)1 << 30, &text, err);
    if (code == KW_OK)
        code = read_lines(j, strb_text(&text), text.length, &used, err);
    if (code == KW_OK && j->file && used < text.length && truncate(path, (off_t)used) != 0)
        code = kw_error_set(err, KW_ENVIRONMENT, "%s: its incomplete last line cannot be dropped: %s", path,
                            strerror(errno));
    strb_clear(&text);
    if (code != KW_OK) {
        journal_close(j);
        return code;
    }
    *out = j;
    return KW_OK;
}

void journal_close(journal *j)
{
    if (!j)
        return;
    if (j->file)
        fclose(j->file);
    for (size_t i = 0; i < j->n; i++)
        json_free(j->lines[i]);
    free(j->lines);
    free(j->path);
    free(j);
}

const json *journal_next(const journal *j)
{
    return j->at < j->n ? j->lines[j->at] : NULL;
}

bool journal_following(const journal *j)
{
    return j->at < j->n;
}

size_t journal_line(const journal *j)
{
    return j->at + 1;
}

kw_code journal_misfit(const journal *j, kw_code code, kw_error *err, const char *format, ...)
{
    strb what = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&what, format, args);
    va_end(args);
    kw_error_set(err, code,
                 "%s:%zu: %s; the record was edited or lacks a part: put it back, or begin in another folder "
                 "(--llm replay: takes its replies along)",
                 j->path ? j->path : "journal", journal_line(j), strb_text(&what));
    strb_clear(&what);
    return code;
}

static void print_or_say(const json *value, strb *out)
{
    if (value)
        json_print(value, out);
    else
        strb_add(out, "not there");
}

static kw_code differs(const journal *j, const json *now, kw_error *err)
{
    const json *then = j->lines[j->at];
    const char *member = "event";
    for (const json *m = json_first(then); m; m = json_next(m)) {
        if (!json_equal(m, json_get(now, json_key(m)))) {
            member = json_key(m);
            break;
        }
    }
    strb a = STRB_INIT, b = STRB_INIT;
    print_or_say(json_get(then, member), &a);
    print_or_say(json_get(now, member), &b);
    kw_error_set(err, KW_FAILED, "%s:%zu: \"%s\" of the event \"%s\" differs: recorded %.300s, now %.300s", j->path,
                 j->at + 1, member, json_text(json_get(then, "event")), strb_text(&a), strb_text(&b));
    strb_clear(&a);
    strb_clear(&b);
    return KW_FAILED;
}

/* As it would be read back: numbers in their printed form. */
static json *as_read(json *event)
{
    strb text = STRB_INIT;
    json_print(event, &text);
    json *again = json_parse(strb_text(&text), text.length, NULL, 1, 1, NULL);
    strb_clear(&text);
    json_free(event);
    return again;
}

kw_code journal_event(journal *j, json *event, kw_error *err)
{
    kw_code code = KW_OK;
    if (journal_following(j)) {
        json *now = as_read(event);
        if (json_equal(j->lines[j->at], now))
            j->at++;
        else
            code = differs(j, now, err);
        json_free(now);
        return code;
    }
    if (j->file) {
        strb text = STRB_INIT;
        json_print(event, &text);
        strb_add_char(&text, '\n');
        if (fwrite(strb_text(&text), 1, text.length, j->file) != text.length || fflush(j->file) != 0)
            code = kw_error_set(err, KW_ENVIRONMENT, "%s cannot be written: %s", j->path, strerror(errno));
        strb_clear(&text);
    }
    json_free(event);
    return code;
}

kw_code journal_pass(journal *j, kw_error *err)
{
    if (!journal_following(j))
        return kw_error_set(err, KW_FAILED, "%s: it ends before the run does", j->path ? j->path : "journal");
    j->at++;
    return KW_OK;
}
