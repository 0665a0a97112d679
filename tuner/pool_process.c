/* Workers as processes: started, written to, stopped, ended at their deadlines. */
#include "tuner/pool_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a dead worker left in its pipes is read for this long: something that it started may hold them open. */
#define LAST_WORDS_MS 2000
/* A deadline that is seen so much too late does not count. */
#define LATE_NS 100000000

/* ---- leaving ---- */

static void on_closed(uv_handle_t *h)
{
    worker_proc *w = h->data;
    if (--w->open_handles == 0 && w->exited)
        pool_finish_worker(w);
}

void pool_close_handle(uv_handle_t *h)
{
    uv_close(h, on_closed);
}

void pool_close_worker(worker_proc *w)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&w->process, (uv_handle_t *)&w->in, (uv_handle_t *)&w->out,
                              (uv_handle_t *)&w->err, (uv_handle_t *)&w->deadline};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (!uv_is_closing(handles[i]))
            uv_close(handles[i], on_closed);
}

/* Workers lead their own process group, so that compilers they started die with them. */
void pool_kill_worker(worker_proc *w)
{
    if (w->exited || w->process.pid <= 0)
        return;
    w->state = WORKER_DYING; /* gets no further job */
    if (uv_kill(-w->process.pid, SIGKILL) != 0)
        uv_process_kill(&w->process, SIGKILL);
}

static void end_last_words(uv_timer_t *t)
{
    pool_close_worker(t->data);
}

static void on_exit_cb(uv_process_t *process, int64_t status, int term_signal)
{
    worker_proc *w = process->data;
    w->exited = true;
    w->exit_status = status;
    w->term_signal = term_signal;
    uv_timer_stop(&w->deadline);
    kill(-process->pid, SIGKILL); /* whatever it had started, which would hold the pipe open */
    /* Results may still be in the pipe; it is read to its end before the worker is buried. */
    if (!uv_is_closing((uv_handle_t *)&w->out) && uv_is_active((uv_handle_t *)&w->out))
        uv_timer_start(&w->deadline, end_last_words, LAST_WORDS_MS, 0);
    else
        pool_close_worker(w);
    w->state = WORKER_DYING;
}

static void on_deadline(uv_timer_t *t);

/* The loop's clock stands since it last looked, which may be long ago. */
static void start_deadline(worker_proc *w, int64_t ms)
{
    uv_update_time(&w->pool->loop);
    w->due_ns = clock_now_ns() + ms * 1000000;
    uv_timer_start(&w->deadline, on_deadline, (uint64_t)ms, 0);
}

/* A timer that comes late says that nobody looked here meanwhile: this process was stopped, perhaps the worker with it,
 * or busy. What the worker said since is read first, and it has the whole time once more, once. */
static void on_deadline(uv_timer_t *t)
{
    worker_proc *w = t->data;
    if (!w->has_more_time && clock_now_ns() > w->due_ns + LATE_NS) {
        w->has_more_time = true;
        start_deadline(w, w->limit_ms);
        return;
    }
    w->timed_out = true;
    log_debug("worker %zu: deadline in stage %s", w->index, stage_name(w->stage));
    pool_kill_worker(w);
}

void pool_set_deadline(worker_proc *w, int64_t ms)
{
    if (w->exited) /* the timer counts down for its last words */
        return;
    w->left_ms = w->limit_ms = ms;
    w->has_more_time = false;
    uv_timer_stop(&w->deadline);
    if (!w->paused && ms > 0)
        start_deadline(w, ms);
}

/* ---- writing ---- */

typedef struct pending_write {
    uv_write_t request;
    char data[];
} pending_write;

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* a worker that cannot be written to is dying: its exit reports the job */
    free(request);
}

void pool_write(worker_proc *w, const strb *text)
{
    pending_write *write = mem_alloc(sizeof *write + text->length);
    memcpy(write->data, text->data, text->length);
    uv_buf_t buf = uv_buf_init(write->data, (unsigned)text->length);
    if (uv_write(&write->request, (uv_stream_t *)&w->in, &buf, 1, on_written) != 0) {
        free(write);
        pool_kill_worker(w);
    }
}

void pool_send_job(worker_proc *w)
{
    w->state = WORKER_BUSY;
    w->sent = true;
    w->stage = STAGE_EXPAND;
    w->waits = false;
    w->task[0] = '\0';
    w->job_start_ns = clock_now_ns();
    w->tail_length = 0;
    pool_set_deadline(w, w->limits.compile_ms);
    pool_write(w, &w->job_line);
}

/* ---- pausing ---- */

static void pause_worker(worker_proc *w)
{
    if (w->paused || w->exited || w->process.pid <= 0)
        return;
    const bool has_deadline = uv_is_active((uv_handle_t *)&w->deadline);
    const int64_t left = has_deadline ? (w->due_ns - clock_now_ns()) / 1000000 : 0;
    uv_timer_stop(&w->deadline);
    w->left_ms = has_deadline && left <= 0 ? 1 : left;
    w->paused = true;
    uv_kill(-w->process.pid, SIGSTOP);
}

static void resume_worker(worker_proc *w)
{
    if (!w->paused)
        return;
    w->paused = false;
    if (w->exited)
        return;
    uv_kill(-w->process.pid, SIGCONT);
    if (w->left_ms > 0)
        start_deadline(w, w->left_ms);
}

bool pool_can_pause(const pool *p)
{
    return !p->command;
}

void pool_pause_others(pool *p, size_t worker)
{
    p->paused = true;
    p->not_paused = worker;
    for (size_t i = 0; i < p->n_workers; i++)
        if (i != worker)
            pause_worker(p->workers[i]);
}

/* With the job that is to be sent once more, if there is one. */
static void start_late(worker_proc *w)
{
    const int64_t id = w->job;
    pool_spawn(w);
    w->job = id;
}

void pool_resume(pool *p)
{
    p->paused = false;
    for (size_t i = 0; i < p->n_workers; i++) {
        worker_proc *w = p->workers[i];
        resume_worker(w);
        if (w->starts_later && !p->stopping)
            start_late(w);
    }
}

void pool_go(pool *p, size_t worker)
{
    worker_proc *w = p->workers[worker];
    if (w->exited || w->job < 0 || !w->waits)
        return;
    strb line = STRB_INIT;
    job_go_print(w->job, &line);
    w->waits = false;
    pool_set_deadline(w, w->limits.run_ms);
    pool_write(w, &line);
    strb_clear(&line);
}

static void give_buffer(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    (void)h;
    buf->base = mem_alloc(suggested);
    buf->len = suggested;
}

/* ---- starting ---- */

/* Whoever is stopped before it has asked to die with this process would stand still for ever after a kill -9. */
static bool must_start_later(const worker_proc *w)
{
    return w->pool->paused && w->index != w->pool->not_paused;
}

void pool_spawn(worker_proc *w)
{
    pool *p = w->pool;
    w->state = WORKER_STARTING;
    w->starts_later = must_start_later(w);
    w->exited = w->starts_later;
    w->timed_out = w->began = false;
    w->complaint[0] = '\0';
    w->term_signal = 0;
    w->exit_status = 0;
    w->tail_length = 0;
    w->job = -1;
    w->sent = w->waits = w->paused = false;
    w->stage = STAGE_EXPAND;
    if (w->starts_later)
        return;
    uv_pipe_init(&p->loop, &w->in, 0);
    uv_pipe_init(&p->loop, &w->out, 0);
    uv_pipe_init(&p->loop, &w->err, 0);
    uv_timer_init(&p->loop, &w->deadline);
    memset(&w->process, 0, sizeof w->process);
    w->process.data = w->in.data = w->out.data = w->err.data = w->deadline.data = w;

    char self_arg[] = "worker", stdio_arg[] = "--stdio", sh[] = "/bin/sh", dash_c[] = "-c";
    char *own[] = {p->self, self_arg, stdio_arg, NULL};
    char *shell[] = {sh, dash_c, p->command, NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&w->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&w->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&w->err},
    };
    uv_process_options_t o;
    memset(&o, 0, sizeof o);
    o.file = p->command ? sh : p->self;
    o.args = p->command ? shell : own;
    o.stdio = stdio;
    o.stdio_count = 3;
    o.exit_cb = on_exit_cb;
    o.flags = UV_PROCESS_DETACHED; /* its own session: a Ctrl-C at the terminal reaches the coordinator only */
    int rc = uv_spawn(&p->loop, &w->process, &o);
    w->open_handles = 5;
    if (rc != 0) {
        w->exited = true;
        w->failed_starts = POOL_FAILED_STARTS;
        w->exit_status = 127;
        w->tail_length = (size_t)snprintf(w->tail, sizeof w->tail, "%s", uv_strerror(rc));
        pool_close_worker(w);
        return;
    }
    uv_read_start((uv_stream_t *)&w->out, give_buffer, pool_read_output);
    uv_read_start((uv_stream_t *)&w->err, give_buffer, pool_read_errors);
    pool_set_deadline(w, p->options.hello_ms);
}
