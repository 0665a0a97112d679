/* command:PROG: a program that reads the prompt on standard input and writes the reply to standard output; through
 * `sh -c`, so that pipes and options work. Its standard input and output are files in a private folder: nothing has
 * to be pumped while the tuner works, and a program that writes gigabytes meets a limit.
 */
#include "llm/provider_internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TOTAL_MS (30 * 60 * 1000LL)
#define MAX_REPLY_BYTES ((size_t)16 << 20)
#define MAX_WRITTEN_BYTES ((size_t)64 << 20) /* of output and of errors: then the program is ended */
#define MAX_ERROR_BYTES 2000
#define LOOK_MS 20
#define GRACE_MS 1000 /* between asking a program to end and ending it */

typedef struct running {
    char key[EXCHANGE_KEY_SIZE];
    pid_t pid; /* leads its own group */
    int64_t started_ns;
} running;

typedef struct commands {
    char *command, *folder;
    int64_t total_ms;
    running *all;
    size_t n, capacity;
} commands;

static kw_code open_command(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    if (!rest || !*rest)
        return kw_error_set(err, KW_BAD_INPUT, "--llm command: name a program behind the colon");
    char *folder = fs_temp_folder("kernwright-llm-", err);
    if (!folder)
        return err ? err->code : KW_ENVIRONMENT;
    commands *c = mem_calloc(1, sizeof *c);
    c->command = mem_strdup(rest);
    c->folder = folder;
    c->total_ms = o->total_ms > 0 ? o->total_ms : DEFAULT_TOTAL_MS;
    *state = c;
    return KW_OK;
}

/* FOLDER/KEY.SUFFIX; caller frees. */
static char *file_of(const commands *c, const char *key, const char *suffix)
{
    strb name = STRB_INIT;
    strb_printf(&name, "%s.%s", key, suffix);
    char *path = fs_join(c->folder, strb_text(&name));
    strb_clear(&name);
    return path;
}

static int start(const commands *c, const char *in, const char *out, const char *errors, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char *argv[] = {mem_strdup("sh"), mem_strdup("-c"), mem_strdup(c->command), NULL};
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, in, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failure = posix_spawn(pid, "/bin/sh", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    return failure;
}

static kw_code submit(void *state, const llm_request *q, kw_error *err)
{
    commands *c = state;
    strb text = STRB_INIT;
    char *in = file_of(c, q->key, "in"), *out = file_of(c, q->key, "out"), *errors = file_of(c, q->key, "err");
    pid_t pid = -1;
    if (q->system && *q->system)
        strb_printf(&text, "%s\n\n", q->system);
    strb_add(&text, q->prompt);
    kw_code code = fs_write(in, strb_text(&text), text.length, err);
    if (code == KW_OK) {
        int failure = start(c, in, out, errors, &pid);
        if (failure)
            code = kw_error_set(err, KW_ENVIRONMENT, "--llm command: sh cannot be started: %s", strerror(failure));
    }
    if (code == KW_OK) {
        c->all = mem_grow(c->all, &c->capacity, c->n + 1, sizeof *c->all);
        running *r = &c->all[c->n++];
        memcpy(r->key, q->key, sizeof r->key);
        r->pid = pid;
        r->started_ns = clock_now_ns();
    }
    strb_clear(&text);
    free(in);
    free(out);
    free(errors);
    return code;
}

/* What the program wrote, as text: bytes that are none are replaced, so is NUL. At most `limit` bytes, also of the
 * text: it is read again from a file. */
static char *text_of(const char *path, size_t limit, bool *cut)
{
    strb raw = STRB_INIT, text = STRB_INIT;
    FILE *f = fopen(path, "rb");
    char chunk[65536];
    size_t n;
    *cut = false;
    while (f && (n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        if (raw.length + n > limit) {
            *cut = true;
            break;
        }
        strb_add_n(&raw, chunk, n);
    }
    if (f)
        fclose(f);
    for (size_t i = 0; i < raw.length; i++)
        raw.data[i] = raw.data[i] ? raw.data[i] : '\x01';
    utf8_add_valid(&text, strb_text(&raw), raw.length);
    strb_clear(&raw);
    if (text.length > limit) {
        *cut = true;
        text.length = limit;
        while (text.length > 0 && (text.data[text.length] & 0xc0) == 0x80) /* within a character */
            text.length--;
        text.data[text.length] = 0;
    }
    return strb_take(&text);
}

/* The last line that is not empty, for a message. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr("\r\n \t", text[n - 1]))
        text[--n] = 0;
    char *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

/* How a program is ended before it ends by itself. */
typedef enum cut_short { CUT_NOT, CUT_LATE, CUT_LARGE } cut_short;

static void finish(commands *c, size_t i, int status, cut_short why, llm_reply *out)
{
    running r = c->all[i];
    bool cut, ignored;
    char *in = file_of(c, r.key, "in"), *reply = file_of(c, r.key, "out"), *log = file_of(c, r.key, "err");
    char *text = text_of(reply, MAX_REPLY_BYTES, &cut), *errors = text_of(log, MAX_ERROR_BYTES * 50, &ignored);
    const char *said = last_line(errors);
    if (why == CUT_LATE)
        *out = reply_failed(r.key, LLM_FAILED, "\"%s\" did not answer within %lld s", c->command,
                            (long long)(c->total_ms / 1000));
    else if (why == CUT_LARGE)
        *out = reply_failed(r.key, LLM_FAILED, "\"%s\" wrote more than %d MiB and was ended", c->command,
                            (int)(MAX_WRITTEN_BYTES >> 20));
    else if (WIFSIGNALED(status))
        *out = reply_failed(r.key, LLM_FAILED, "\"%s\" was ended by signal %d", c->command, WTERMSIG(status));
    else if (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)
        *out = reply_failed(r.key, LLM_STOPPED, "\"%s\" cannot be run: %.300s", c->command, said);
    else if (WEXITSTATUS(status) != 0)
        *out = reply_failed(r.key, LLM_FAILED, "\"%s\" ended with status %d%s%.300s", c->command, WEXITSTATUS(status),
                            *said ? ": " : " and said nothing", said);
    else if (!*text)
        *out = reply_failed(r.key, LLM_NO_ANSWER, "\"%s\" wrote nothing", c->command);
    else
        *out = reply_failed(r.key, cut ? LLM_CUT : LLM_OK, "%s", cut ? "longer than 16 MiB" : "");
    if (out->status <= LLM_CUT) {
        out->text = text;
        text = NULL;
        if (out->status == LLM_OK) {
            free(out->detail);
            out->detail = NULL;
        }
    }
    out->model = mem_strdup(c->command);
    out->ms = (clock_now_ns() - r.started_ns) / 1000000;
    memmove(c->all + i, c->all + i + 1, (--c->n - i) * sizeof *c->all);
    unlink(in);
    unlink(reply);
    unlink(log);
    free(text);
    free(errors);
    free(in);
    free(reply);
    free(log);
}

static size_t size_of(const commands *c, const char *key, const char *suffix)
{
    struct stat st;
    char *path = file_of(c, key, suffix);
    size_t size = stat(path, &st) == 0 ? (size_t)st.st_size : 0;
    free(path);
    return size;
}

static cut_short must_end(const commands *c, const running *r)
{
    if (clock_now_ns() - r->started_ns > c->total_ms * 1000000)
        return CUT_LATE;
    return size_of(c, r->key, "out") > MAX_WRITTEN_BYTES || size_of(c, r->key, "err") > MAX_WRITTEN_BYTES ? CUT_LARGE
                                                                                                          : CUT_NOT;
}

static bool poll_command(void *state, int64_t timeout_ms, llm_reply *out)
{
    commands *c = state;
    int64_t until = clock_now_ns() + timeout_ms * 1000000;
    while (c->n > 0) {
        for (size_t i = 0; i < c->n; i++) {
            int status = 0;
            cut_short why = must_end(c, &c->all[i]);
            if (why != CUT_NOT)
                kill(-c->all[i].pid, SIGKILL);
            if (waitpid(c->all[i].pid, &status, why != CUT_NOT ? 0 : WNOHANG) > 0) {
                kill(-c->all[i].pid, SIGKILL); /* whatever it left behind */
                finish(c, i, status, why, out);
                return true;
            }
        }
        int64_t left = (until - clock_now_ns()) / 1000000;
        if (left <= 0)
            break;
        struct timespec nap = {0, (left < LOOK_MS ? left : LOOK_MS) * 1000000};
        nanosleep(&nap, NULL);
    }
    return false;
}

static void close_command(void *state)
{
    commands *c = state;
    for (size_t i = 0; i < c->n; i++)
        kill(-c->all[i].pid, SIGTERM);
    int64_t until = clock_now_ns() + GRACE_MS * 1000000LL;
    for (size_t i = 0; i < c->n; i++) {
        while (waitpid(c->all[i].pid, NULL, WNOHANG) == 0) {
            if (clock_now_ns() > until)
                kill(-c->all[i].pid, SIGKILL);
            const struct timespec nap = {0, 5000000};
            nanosleep(&nap, NULL);
        }
        kill(-c->all[i].pid, SIGKILL);
    }
    fs_remove_tree(c->folder);
    free(c->folder);
    free(c->command);
    free(c->all);
    free(c);
}

const provider_ops provider_command = {.name = "command",
                                       .doc = "a program: prompt on standard input, reply on standard output",
                                       .open = open_command,
                                       .submit = submit,
                                       .poll = poll_command,
                                       .close = close_command};
