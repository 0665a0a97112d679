/* folder:DIR: prompts leave as files, replies come back as files. For sites without a network, for agents that work on
 * files, for batch services. replay:DIR: the same folder, answered long ago.
 *
 * A reply may be written in place by an editor or a script: it is taken once it is not empty and has not changed for a
 * second, or at once when KEY.done lies beside it.
 */
#include "llm/provider_internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SETTLED_NS 1000000000LL
#define LOOK_MS 100

typedef struct folder {
    char *path;
    bool replay;
    char (*waiting)[EXCHANGE_KEY_SIZE]; /* asked, not answered; in order of asking */
    int64_t *asked_ns;
    size_t n, capacity, capacity_ns;
    char **warned; /* names of replies that nobody asked for, or that are no files */
    size_t n_warned, capacity_warned;
} folder;

static kw_code open_path(const char *rest, bool replay, void **state, kw_error *err)
{
    if (!rest || !*rest)
        return kw_error_set(err, KW_BAD_INPUT, "--llm %s: name a folder behind the colon",
                            replay ? "replay:" : "folder:");
    if (replay && !fs_is_folder(rest))
        return kw_error_set(err, KW_BAD_INPUT, "--llm replay:%s: there is no such folder", rest);
    if (!replay) {
        kw_code code = fs_make_folders(rest, err);
        if (code != KW_OK)
            return code;
    }
    folder *f = mem_calloc(1, sizeof *f);
    f->path = mem_strdup(rest);
    f->replay = replay;
    *state = f;
    return KW_OK;
}

static kw_code open_folder(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    (void)o;
    return open_path(rest, false, state, err);
}

static kw_code open_replay(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    (void)o;
    return open_path(rest, true, state, err);
}

static kw_code submit(void *state, const llm_request *q, kw_error *err)
{
    folder *f = state;
    /* A run that goes on finds its own question there, and perhaps the answer. */
    if (!f->replay && !exchange_same_prompt(f->path, q)) {
        kw_code code = exchange_write_request(f->path, q, err);
        if (code != KW_OK)
            return code;
    }
    f->waiting = mem_grow(f->waiting, &f->capacity, f->n + 1, sizeof *f->waiting);
    f->asked_ns = mem_grow(f->asked_ns, &f->capacity_ns, f->n + 1, sizeof *f->asked_ns);
    f->asked_ns[f->n] = clock_now_ns();
    memcpy(f->waiting[f->n++], q->key, EXCHANGE_KEY_SIZE);
    return KW_OK;
}

static char *file_of(const folder *f, const char *key, const char *suffix)
{
    strb name = STRB_INIT;
    strb_printf(&name, "%s.%s", key, suffix);
    char *path = fs_join(f->path, strb_text(&name));
    strb_clear(&name);
    return path;
}

static bool settled(const folder *f, const char *key)
{
    char *reply = file_of(f, key, "reply.md"), *done = file_of(f, key, "done");
    struct stat st;
    struct timespec now;
    bool ready = false;
    clock_gettime(CLOCK_REALTIME, &now);
    if (lstat(reply, &st) == 0 && S_ISREG(st.st_mode)) {
        int64_t age = (now.tv_sec - st.st_mtim.tv_sec) * 1000000000LL + now.tv_nsec - st.st_mtim.tv_nsec;
        /* A time in the future (another machine's clock on a shared disk) is not waited for. */
        ready = fs_is_file(done) || (st.st_size > 0 && (age >= SETTLED_NS || age < -SETTLED_NS));
    }
    free(reply);
    free(done);
    return ready;
}

static bool was_asked(const folder *f, const char *key)
{
    char *prompt = file_of(f, key, "prompt.md");
    bool asked = fs_is_file(prompt);
    free(prompt);
    return asked;
}

static bool has_warned(const folder *f, const char *key)
{
    for (size_t k = 0; k < f->n_warned; k++) {
        if (strcmp(f->warned[k], key) == 0)
            return true;
    }
    return false;
}

/* NAME is KEY.reply.md. A reply to a question that was never asked is most likely a misspelt name. A link would be read
 * with the rights of this program, not of whoever answers; a pipe would be waited for. */
static void look_at(folder *f, const char *name)
{
    kw_error why = {0};
    char *key = mem_strndup(name, strlen(name) - strlen(".reply.md")), *path = fs_join(f->path, name);
    if (fs_check_plain(path, &why) == KW_OK && !was_asked(f, key))
        kw_error_set(&why, KW_BAD_INPUT, "%s: no prompt of that name was asked; it is left alone", path);
    if (why.code != KW_OK && !has_warned(f, key)) {
        log_warn("%s", why.message);
        f->warned = mem_grow(f->warned, &f->capacity_warned, f->n_warned + 1, sizeof *f->warned);
        f->warned[f->n_warned++] = key;
        key = NULL;
    }
    free(key);
    free(path);
}

/* Says once each which replies are not taken, and why. */
static void warn_of_strangers(folder *f)
{
    char **names;
    size_t n;
    if (fs_list(f->path, ".reply.md", &names, &n, NULL) != KW_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        look_at(f, names[i]);
        free(names[i]);
    }
    free(names);
}

static void forget(folder *f, size_t i)
{
    f->n--;
    memmove(f->waiting + i, f->waiting + i + 1, (f->n - i) * sizeof *f->waiting);
    memmove(f->asked_ns + i, f->asked_ns + i + 1, (f->n - i) * sizeof *f->asked_ns);
}

static void take(folder *f, size_t i, llm_reply *out)
{
    kw_error err = {0};
    char key[EXCHANGE_KEY_SIZE];
    memcpy(key, f->waiting[i], sizeof key);
    if ((!f->replay && exchange_check_reply(f->path, key, &err) != KW_OK) ||
        exchange_read_reply(f->path, key, out, &err) != KW_OK)
        *out = reply_failed(key, LLM_FAILED, "%s", err.message);
    else if (out->status == LLM_OK && !*out->text)
        out->status = LLM_NO_ANSWER;
    if (!f->replay)
        out->ms = (clock_now_ns() - f->asked_ns[i]) / 1000000;
    forget(f, i);
}

static bool poll_folder(void *state, int64_t timeout_ms, llm_reply *out)
{
    folder *f = state;
    int64_t until = clock_now_ns() + timeout_ms * 1000000;
    while (f->n > 0) {
        for (size_t i = 0; i < f->n; i++) {
            if (f->replay || settled(f, f->waiting[i])) {
                take(f, i, out);
                return true;
            }
        }
        warn_of_strangers(f);
        int64_t left = (until - clock_now_ns()) / 1000000;
        if (left <= 0)
            break;
        struct timespec nap = {0, (left < LOOK_MS ? left : LOOK_MS) * 1000000};
        nanosleep(&nap, NULL);
    }
    return false;
}

static void close_folder(void *state)
{
    folder *f = state;
    if (!f->replay)
        warn_of_strangers(f);
    for (size_t i = 0; i < f->n_warned; i++)
        free(f->warned[i]);
    free(f->warned);
    free(f->waiting);
    free(f->asked_ns);
    free(f->path);
    free(f);
}

/* A recorded exchange is paid for. */
static bool is_paid_for(void *state)
{
    (void)state;
    return true;
}

const provider_ops provider_folder = {.name = "folder",
                                      .doc = "prompts leave as files, replies come back as files",
                                      .open = open_folder,
                                      .submit = submit,
                                      .poll = poll_folder,
                                      .close = close_folder};
const provider_ops provider_replay = {.name = "replay",
                                      .doc = "recorded exchanges",
                                      .open = open_replay,
                                      .submit = submit,
                                      .poll = poll_folder,
                                      .close = close_folder,
                                      .has_price = is_paid_for};
