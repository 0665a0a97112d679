#include "base/subprocess.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define DEFAULT_MAX_OUTPUT ((size_t)1 << 20)
#define CHUNK 65536
#define GRACE_MS 200 /* after the end of the child: for output that its own children still write */

/* One captured stream of the child. */
typedef struct capture {
    uv_pipe_t pipe;
    strb *text;
    size_t limit;
    bool *cut;
    char chunk[CHUNK];
} capture;

/* One run; lives on the heap because libuv keeps pointers into it. */
typedef struct run {
    uv_loop_t loop;
    uv_process_t process;
    uv_pipe_t input;
    uv_write_t write;
    uv_timer_t timer;
    capture out, errors;
    bool alive;
    subprocess_result *result;
} run;

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void give_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    capture *c = handle->data;
    *buf = uv_buf_init(c->chunk, CHUNK);
}

static void take_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    capture *c = stream->data;
    if (n < 0) {
        close_handle((uv_handle_t *)stream);
        return;
    }
    size_t room = c->limit - c->text->length;
    if ((size_t)n > room)
        *c->cut = true;
    strb_add_n(c->text, buf->base, (size_t)n < room ? (size_t)n : room);
}

static void end_of_input(uv_write_t *write, int status)
{
    (void)status; /* a child may well not read all it is offered */
    close_handle((uv_handle_t *)write->handle);
}

static void close_everything(run *r)
{
    close_handle((uv_handle_t *)&r->input);
    close_handle((uv_handle_t *)&r->out.pipe);
    close_handle((uv_handle_t *)&r->errors.pipe);
    close_handle((uv_handle_t *)&r->timer);
}

/* The deadline of the child, or the end of the grace time behind its end. */
static void on_timer(uv_timer_t *timer)
{
    run *r = timer->data;
    if (r->alive) {
        r->result->timed_out = true;
        kill(-r->process.pid, SIGKILL);
    }
    if (!r->alive)
        close_everything(r);
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int signal)
{
    run *r = process->data;
    r->alive = false;
    r->result->status = signal ? -1 : (int)status;
    r->result->signal = signal;
    close_handle((uv_handle_t *)process);
    close_handle((uv_handle_t *)&r->input);
    uv_timer_start(&r->timer, on_timer, GRACE_MS, 0);
    uv_unref((uv_handle_t *)&r->timer); /* nothing waits for it once both streams have ended */
}

static void prepare_capture(run *r, capture *c, strb *text, size_t limit)
{
    uv_pipe_init(&r->loop, &c->pipe, 0);
    c->pipe.data = c;
    c->text = text;
    c->limit = limit ? limit : DEFAULT_MAX_OUTPUT;
    c->cut = &r->result->output_cut;
}

static bool names_same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Our environment with `extra` on top; the array is the caller's, the strings are borrowed. */
static char **merged_environment(const char *const *extra)
{
    size_t capacity = 0, n = 0;
    char **env = NULL;
    for (char **e = environ; *e; e++) {
        bool replaced = false;
        for (size_t i = 0; extra && extra[i]; i++)
            replaced = replaced || names_same_variable(extra[i], *e);
        if (replaced)
            continue;
        env = mem_grow(env, &capacity, n + 1, sizeof *env);
        env[n++] = *e;
    }
    for (size_t i = 0; extra && extra[i]; i++) {
        env = mem_grow(env, &capacity, n + 1, sizeof *env);
        memcpy(&env[n++], &extra[i], sizeof *env); /* libuv takes char ** but does not write */
    }
    env = mem_grow(env, &capacity, n + 1, sizeof *env);
    env[n] = NULL;
    return env;
}

static int spawn(run *r, const subprocess_spec *spec)
{
    uv_stdio_container_t stdio[3];
    stdio[0].flags = UV_IGNORE;
    if (spec->input) {
        stdio[0].flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
        stdio[0].data.stream = (uv_stream_t *)&r->input;
    }
    stdio[1].flags = stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[1].data.stream = (uv_stream_t *)&r->out.pipe;
    stdio[2].data.stream = (uv_stream_t *)&r->errors.pipe;

    char **env = merged_environment(spec->extra_env);
    uv_process_options_t options;
    memset(&options, 0, sizeof options);
    options.exit_cb = on_exit_of_child;
    options.file = spec->argv[0];
    memcpy(&options.args, &spec->argv, sizeof options.args);
    options.env = env;
    options.cwd = spec->folder;
    options.flags = UV_PROCESS_DETACHED; /* setsid: its own process group */
    options.stdio = stdio;
    options.stdio_count = 3;
    r->process.data = r;
    int failure = uv_spawn(&r->loop, &r->process, &options);
    free(env);
    return failure;
}

static void start_streams(run *r, const subprocess_spec *spec)
{
    uv_read_start((uv_stream_t *)&r->out.pipe, give_chunk, take_output);
    uv_read_start((uv_stream_t *)&r->errors.pipe, give_chunk, take_output);
    if (spec->timeout_ms > 0)
        uv_timer_start(&r->timer, on_timer, (uint64_t)spec->timeout_ms, 0);
    if (!spec->input)
        return;
    uv_buf_t buf = {.len = spec->input_length};
    memcpy(&buf.base, &spec->input, sizeof buf.base);
    if (uv_write(&r->write, (uv_stream_t *)&r->input, &buf, 1, end_of_input) != 0)
        close_handle((uv_handle_t *)&r->input);
}

/* A child that does not read its input must not end us by SIGPIPE: the signal is held back while the child runs.
 * (libuv gives the child an empty mask.) */
static bool hold_sigpipe(sigset_t *old)
{
    sigset_t pipe_only, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, old);
    return sigismember(&pending, SIGPIPE) == 1;
}

static void release_sigpipe(const sigset_t *old, bool was_pending)
{
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    const struct timespec at_once = {0, 0};
    if (!was_pending)
        sigtimedwait(&pipe_only, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

kw_code subprocess_run(const subprocess_spec *spec, subprocess_result *result, kw_error *err)
{
    memset(result, 0, sizeof *result);
    run *r = mem_calloc(1, sizeof *r);
    int failure = uv_loop_init(&r->loop);
    if (failure) {
        free(r);
        return kw_error_set(err, KW_ENVIRONMENT, "cannot run %s: %s", spec->argv[0], uv_strerror(failure));
    }
    r->result = result;
    uv_pipe_init(&r->loop, &r->input, 0);
    uv_timer_init(&r->loop, &r->timer);
    r->timer.data = r;
    prepare_capture(r, &r->out, &result->output, spec->max_output_bytes);
    prepare_capture(r, &r->errors, &result->errors, spec->max_output_bytes);

    sigset_t old_mask;
    bool sigpipe_pending = hold_sigpipe(&old_mask);
    int64_t start = clock_now_ns();
    failure = spawn(r, spec);
    if (failure) {
        close_handle((uv_handle_t *)&r->process);
        close_everything(r);
    } else {
        r->alive = true;
        start_streams(r, spec);
    }
    uv_run(&r->loop, UV_RUN_DEFAULT);
    close_everything(r);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    free(r);
    release_sigpipe(&old_mask, sigpipe_pending);
    result->wall_ns = clock_now_ns() - start;
    if (failure)
        return kw_error_set(err, KW_ENVIRONMENT, "cannot run %s: %s", spec->argv[0], uv_strerror(failure));
    return KW_OK;
}

char *subprocess_describe(const subprocess_spec *spec, const subprocess_result *result)
{
    strb s = STRB_INIT;
    if (result->timed_out)
        strb_printf(&s, "did not end within %lld ms", (long long)spec->timeout_ms);
    else if (result->signal)
        strb_printf(&s, "killed by signal %d (%s)", result->signal, strsignal(result->signal));
    else
        strb_printf(&s, "exit status %d", result->status);
    return strb_take(&s);
}

void subprocess_result_clear(subprocess_result *result)
{
    strb_clear(&result->output);
    strb_clear(&result->errors);
}
