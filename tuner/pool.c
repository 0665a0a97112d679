#include "tuner/pool.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strb.h"
#include "tuner/sandbox.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* A worker that dies this often in a row without having begun with a job is not restarted. */
#define MAX_FAILED_STARTS 3
/* What a dead worker left in its pipes is read for this long: something that it started may hold them open. */
#define LAST_WORDS_MS 2000
/* No message of ours is nearly that long. */
#define MAX_MESSAGE (64u << 20)
#define STDERR_TAIL 2048
#define LAST_WORDS 400

typedef enum worker_state { WORKER_STARTING, WORKER_IDLE, WORKER_BUSY, WORKER_DYING } worker_state;

typedef struct worker_proc {
    pool *pool;
    size_t index;
    worker_state state;
    uv_process_t process;
    uv_pipe_t in, out, err;
    uv_timer_t deadline;
    int open_handles; /* of the five above */
    bool exited;
    int64_t exit_status;
    int term_signal;
    bool timed_out;
    char task[64]; /* whose own code is at work; "" when it is the candidate's */
    bool began;    /* announced a stage since its start */
    int failed_starts;
    char complaint[256];    /* what was wrong with a line that it sent; "" if nothing */
    strb line;              /* what arrived of the next line */
    char tail[STDERR_TAIL]; /* end of its standard error */
    size_t tail_length;
    int64_t job; /* -1: none */
    stage stage;
    job_limits limits;
    int64_t job_start_ns;
    strb job_line;
    bool sent, resent; /* the job was written to this process; to a second one */
    bool waits;        /* for its turn */
    bool paused;
    int64_t left_ms; /* of its deadline, while it is paused; 0: there is none */
    message hello;
    bool has_hello;
} worker_proc;

struct pool {
    uv_loop_t loop;
    uv_timer_t wait;
    uv_signal_t on_int, on_term;
    int open_signals;
    pool_options options;
    char *command;
    char *self;
    worker_proc **workers;
    size_t n_workers;
    pool_on_event on_event;
    void *cookie;
    bool interrupted, stopping, failed;
    int64_t restarts, events;
    bool paused;
    size_t not_paused; /* the one that goes on */
    kw_error error;
};

static void spawn(worker_proc *w);

/* ---- leaving and restarting ---- */

static void tell(pool *p, const pool_event *e)
{
    p->events++;
    if (p->on_event && !p->stopping)
        p->on_event(e, p->cookie);
}

/* How it ended, and the end of its standard error. */
static void describe_end(const worker_proc *w, strb *out)
{
    if (w->complaint[0])
        strb_printf(out, "what it sent is refused (%s)", w->complaint);
    else if (w->timed_out)
        strb_printf(out, "no answer within %lld s", (long long)(w->pool->options.hello_ms / 1000));
    else if (w->term_signal)
        strb_printf(out, "it died of signal %d (%s)", w->term_signal, strsignal(w->term_signal));
    else
        strb_printf(out, "it ended with status %lld", (long long)w->exit_status);
    size_t n = w->tail_length;
    while (n > 0 && (w->tail[n - 1] == '\n' || w->tail[n - 1] == '\r'))
        n--;
    size_t from = n > LAST_WORDS ? n - LAST_WORDS : 0;
    if (n > from) {
        strb_add(out, "; its last words: ");
        strb_add_n(out, w->tail + from, n - from);
    }
}

static void fail_pool(pool *p, const worker_proc *w)
{
    if (p->failed)
        return;
    p->failed = true;
    strb why = STRB_INIT;
    describe_end(w, &why);
    kw_error_set(&p->error, KW_ENVIRONMENT, "no worker process: `%s`: %s",
                 p->options.worker_command ? p->options.worker_command : "kernwright worker --stdio", strb_text(&why));
    strb_clear(&why);
    pool_event e = {.kind = POOL_FAILED, .worker = w->index, .job = -1, .error = &p->error};
    tell(p, &e);
}

/* The job a dead worker held gets its outcome here: nobody else knows of it. */
static void report_lost_job(worker_proc *w)
{
    job_record r;
    memset(&r, 0, sizeof r);
    r.stage = w->stage;
    r.registers = r.spill_bytes = r.local_bytes = -1;
    r.outcome = w->timed_out ? OUTCOME_TIMEOUT : OUTCOME_CRASH;
    /* Nobody here killed it: the system does, where memory is short. */
    r.out_of_memory = !w->timed_out && !w->complaint[0] && w->term_signal == SIGKILL && w->stage <= STAGE_COMPILE;
    strb why = STRB_INIT;
    if (w->timed_out) {
        int64_t limit = w->stage <= STAGE_COMPILE ? w->limits.compile_ms : w->limits.run_ms;
        strb_printf(&why, "no end of stage %s within %lld ms", stage_name(w->stage), (long long)limit);
    } else if (w->complaint[0]) {
        strb_printf(&why, "what the worker sent in stage %s is refused (%s)", stage_name(w->stage), w->complaint);
    } else if (w->term_signal) {
        strb_printf(&why, "worker died of signal %d (%s) in stage %s", w->term_signal, strsignal(w->term_signal),
                    stage_name(w->stage));
    } else {
        strb_printf(&why, "worker ended with status %lld in stage %s", (long long)w->exit_status, stage_name(w->stage));
    }
    if (w->tail_length > 0) {
        strb_add(&why, "\n");
        strb_add_n(&why, w->tail, w->tail_length);
    }
    r.detail = strb_take(&why);
    double ms = (double)(clock_now_ns() - w->job_start_ns) / 1e6;
    *(w->stage <= STAGE_COMPILE ? &r.compile_ms : w->stage == STAGE_TIME ? &r.time_ms : &r.verify_ms) = ms;
    int64_t id = w->job;
    w->job = -1;
    pool_event e = {.kind = POOL_DONE, .worker = w->index, .job = id, .stage = w->stage, .record = &r};
    if (w->pool->stopping)
        job_record_clear(&r);
    else
        tell(w->pool, &e);
}

/* Died in the task's own code? Killed from outside, or for its memory, does not count. */
static bool died_in_reference(const worker_proc *w)
{
    bool killed = !w->timed_out && (w->term_signal == SIGKILL || w->term_signal == SIGTERM);
    bool memory = !w->timed_out && w->exit_status == SANDBOX_EXIT_MEMORY;
    return w->job >= 0 && w->task[0] && !w->complaint[0] && !killed && !memory;
}

/* Every candidate would meet the same: the run ends. */
static void fail_task(pool *p, const worker_proc *w)
{
    strb how = STRB_INIT;
    if (w->timed_out)
        strb_printf(&how, "did not end within %lld ms", (long long)w->limits.run_ms);
    else if (w->term_signal)
        strb_printf(&how, "died of signal %d (%s)", w->term_signal, strsignal(w->term_signal));
    else
        strb_printf(&how, "ended the process with status %lld", (long long)w->exit_status);
    p->failed = true;
    kw_error_set(&p->error, KW_BAD_INPUT,
                 "the reference of task %s %s; that is no candidate's fault, and none is booked: mend reference.c",
                 w->task, strb_text(&how));
    strb_clear(&how);
    pool_event e = {.kind = POOL_FAILED, .worker = w->index, .job = -1, .error = &p->error};
    tell(p, &e);
}

/* Runs when the process is gone and all its handles are closed. */
static void finish_worker(worker_proc *w)
{
    pool *p = w->pool;
    strb_reset(&w->line);
    if (p->stopping || p->failed) /* the job of a worker that ended the run is not its candidate's fault */
        return;
    if (died_in_reference(w)) {
        fail_task(p, w);
        return;
    }
    w->failed_starts = w->began ? 0 : w->failed_starts + 1;
    /* A worker that died before it announced a stage of the job never looked at it (it ended because of the job
       before, say): the job is sent once more, to its successor, and nobody is blamed. */
    bool never_seen = w->stage == STAGE_EXPAND && !w->timed_out && !w->resent;
    bool again = w->job >= 0 && (!w->sent || never_seen);
    if (w->job >= 0 && !again)
        report_lost_job(w);
    if (w->failed_starts >= MAX_FAILED_STARTS) {
        fail_pool(p, w);
        return;
    }
    p->restarts++;
    log_debug("worker %zu is replaced (status %lld, signal %d)", w->index, (long long)w->exit_status, w->term_signal);
    int64_t id = w->job;
    bool second = w->sent || w->resent;
    spawn(w);
    if (again) {
        w->job = id;
        w->resent = second;
    }
}

static void on_closed(uv_handle_t *h)
{
    worker_proc *w = h->data;
    if (--w->open_handles == 0 && w->exited)
        finish_worker(w);
}

static void close_worker(worker_proc *w)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&w->process, (uv_handle_t *)&w->in, (uv_handle_t *)&w->out,
                              (uv_handle_t *)&w->err, (uv_handle_t *)&w->deadline};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (!uv_is_closing(handles[i]))
            uv_close(handles[i], on_closed);
}

/* Workers lead their own process group, so that compilers they started die with them. */
static void kill_worker(worker_proc *w)
{
    if (w->exited || w->process.pid <= 0)
        return;
    w->state = WORKER_DYING; /* gets no further job */
    if (uv_kill(-w->process.pid, SIGKILL) != 0)
        uv_process_kill(&w->process, SIGKILL);
}

static void end_last_words(uv_timer_t *t)
{
    close_worker(t->data);
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
        close_worker(w);
    w->state = WORKER_DYING;
}

static void on_deadline(uv_timer_t *t)
{
    worker_proc *w = t->data;
    w->timed_out = true;
    log_debug("worker %zu: deadline in stage %s", w->index, stage_name(w->stage));
    kill_worker(w);
}

static void set_deadline(worker_proc *w, int64_t ms)
{
    if (w->exited) /* the timer counts down for its last words */
        return;
    w->left_ms = ms;
    uv_timer_stop(&w->deadline);
    if (w->paused)
        return;
    if (ms > 0)
        uv_timer_start(&w->deadline, on_deadline, (uint64_t)ms, 0);
}

/* ---- messages ---- */

typedef struct pending_write {
    uv_write_t request;
    char data[];
} pending_write;

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* a worker that cannot be written to is dying: its exit reports the job */
    free(request);
}

static void write_to(worker_proc *w, const strb *text)
{
    pending_write *write = mem_alloc(sizeof *write + text->length);
    memcpy(write->data, text->data, text->length);
    uv_buf_t buf = uv_buf_init(write->data, (unsigned)text->length);
    if (uv_write(&write->request, (uv_stream_t *)&w->in, &buf, 1, on_written) != 0) {
        free(write);
        kill_worker(w);
    }
}

static void send_job(worker_proc *w)
{
    w->state = WORKER_BUSY;
    w->sent = true;
    w->stage = STAGE_EXPAND;
    w->waits = false;
    w->task[0] = '\0';
    w->job_start_ns = clock_now_ns();
    w->tail_length = 0;
    set_deadline(w, w->limits.compile_ms);
    write_to(w, &w->job_line);
}

static void handle_line(worker_proc *w, const char *line, size_t length)
{
    pool *p = w->pool;
    kw_error err;
    kw_error_clear(&err);
    message m;
    memset(&m, 0, sizeof m);
    if (message_parse(line, length, &m, &err) != KW_OK) {
        snprintf(w->complaint, sizeof w->complaint, "%.200s", err.message);
        log_debug("worker %zu: %s; it is replaced", w->index, err.message);
        kill_worker(w);
        return;
    }
    if (m.type == MESSAGE_HELLO) {
        if (w->has_hello)
            message_clear(&w->hello);
        w->hello = m;
        w->has_hello = true;
        p->events++;
        if (w->state != WORKER_STARTING)
            return;
        w->state = WORKER_IDLE;
        set_deadline(w, 0);
        if (w->job >= 0)
            send_job(w);
        return;
    }
    if (m.type == MESSAGE_ERROR) {
        /* The task or the machine is at fault, no candidate: the run cannot go on. */
        if (!p->failed) {
            p->failed = true;
            p->error = m.error;
            pool_event e = {.kind = POOL_FAILED, .worker = w->index, .job = -1, .error = &p->error};
            tell(p, &e);
        }
        message_clear(&m);
        return;
    }
    if (w->job < 0 || m.id != w->job) {
        message_clear(&m);
        return;
    }
    if (m.type == MESSAGE_STAGE) {
        w->stage = m.stage;
        memcpy(w->task, m.task, sizeof w->task);
        w->began = true;
        w->waits = m.turn == TURN_WAIT;
        set_deadline(w, w->waits ? 0 : m.stage <= STAGE_COMPILE ? w->limits.compile_ms : w->limits.run_ms);
        log_debug("worker %zu: job %lld in stage %s", w->index, (long long)w->job, stage_name(w->stage));
        pool_event e = {
            .kind = POOL_STAGE, .worker = w->index, .job = w->job, .stage = m.stage, .turn = m.turn};
        tell(p, &e);
    } else {
        int64_t id = w->job;
        w->job = -1;
        w->began = true;
        set_deadline(w, 0);
        if (w->state == WORKER_BUSY)
            w->state = WORKER_IDLE;
        job_record r = m.record;
        memset(&m.record, 0, sizeof m.record);
        pool_event e = {.kind = POOL_DONE, .worker = w->index, .job = id, .stage = r.stage, .record = &r};
        if (p->stopping)
            job_record_clear(&r);
        else
            tell(p, &e);
    }
    message_clear(&m);
}

static void give_buffer(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    (void)h;
    buf->base = mem_alloc(suggested);
    buf->len = suggested;
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    worker_proc *w = stream->data;
    const char *data = buf->base;
    while (n > 0) {
        const char *end = memchr(data, '\n', (size_t)n);
        size_t part = end ? (size_t)(end - data) : (size_t)n;
        if (w->line.length + part > MAX_MESSAGE) {
            log_warn("worker %zu sends a line without an end; it is replaced", w->index);
            strb_reset(&w->line);
            kill_worker(w);
            break;
        }
        strb_add_n(&w->line, data, part);
        if (!end)
            break;
        handle_line(w, strb_text(&w->line), w->line.length);
        strb_reset(&w->line);
        data += part + 1;
        n -= (ssize_t)part + 1;
    }
    free(buf->base);
    if (n < 0) {
        uv_read_stop(stream);
        if (w->exited)
            close_worker(w);
        else
            uv_close((uv_handle_t *)stream, on_closed);
    }
}

static void on_stderr(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    worker_proc *w = stream->data;
    if (n > 0) {
        size_t add = (size_t)n;
        const char *data = buf->base;
        if (add > STDERR_TAIL) {
            data += add - STDERR_TAIL;
            add = STDERR_TAIL;
        }
        size_t keep = w->tail_length + add > STDERR_TAIL ? STDERR_TAIL - add : w->tail_length;
        memmove(w->tail, w->tail + (w->tail_length - keep), keep);
        memcpy(w->tail + keep, data, add);
        w->tail_length = keep + add;
    }
    free(buf->base);
    if (n < 0)
        uv_read_stop(stream);
}

/* ---- pausing ---- */

static void pause_worker(worker_proc *w)
{
    if (w->paused || w->exited || w->process.pid <= 0)
        return;
    const bool has_deadline = uv_is_active((uv_handle_t *)&w->deadline);
    const int64_t left = has_deadline ? (int64_t)uv_timer_get_due_in(&w->deadline) : 0;
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
    set_deadline(w, w->left_ms);
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

void pool_resume(pool *p)
{
    p->paused = false;
    for (size_t i = 0; i < p->n_workers; i++)
        resume_worker(p->workers[i]);
}

void pool_go(pool *p, size_t worker)
{
    worker_proc *w = p->workers[worker];
    if (w->exited || w->job < 0 || !w->waits)
        return;
    strb line = STRB_INIT;
    job_go_print(w->job, &line);
    w->waits = false;
    set_deadline(w, w->limits.run_ms);
    write_to(w, &line);
    strb_clear(&line);
}

/* ---- starting ---- */

static void spawn(worker_proc *w)
{
    pool *p = w->pool;
    w->state = WORKER_STARTING;
    w->exited = w->timed_out = w->began = false;
    w->complaint[0] = '\0';
    w->term_signal = 0;
    w->exit_status = 0;
    w->tail_length = 0;
    w->job = -1;
    w->sent = w->waits = w->paused = false;
    w->stage = STAGE_EXPAND;
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
        w->failed_starts = MAX_FAILED_STARTS;
        w->exit_status = 127;
        w->tail_length = (size_t)snprintf(w->tail, sizeof w->tail, "%s", uv_strerror(rc));
        close_worker(w);
        return;
    }
    uv_read_start((uv_stream_t *)&w->out, give_buffer, on_output);
    uv_read_start((uv_stream_t *)&w->err, give_buffer, on_stderr);
    set_deadline(w, p->options.hello_ms);
    if (p->paused && w->index != p->not_paused)
        pause_worker(w);
}

static void on_signal(uv_signal_t *s, int signum)
{
    pool *p = s->data;
    if (p->interrupted)
        _exit(KW_INTERRUPTED);
    p->interrupted = true;
    p->events++;
    log_debug("signal %d: stopping", signum);
}

kw_code pool_start(const pool_options *options, pool_on_event on_event, void *cookie, pool **out, kw_error *err)
{
    pool *p = mem_calloc(1, sizeof *p);
    *out = NULL;
    p->options = *options;
    if (p->options.hello_ms <= 0)
        p->options.hello_ms = 60000;
    p->on_event = on_event;
    p->cookie = cookie;
    p->self = fs_self_path();
    p->command = options->worker_command ? mem_strdup(options->worker_command) : NULL;
    if (!p->self && !p->command) {
        free(p);
        return kw_error_set(err, KW_ENVIRONMENT, "cannot find the path of this program, so no worker can be started");
    }
    signal(SIGPIPE, SIG_IGN); /* a worker that died while being written to is seen by its exit */
    uv_loop_init(&p->loop);
    uv_timer_init(&p->loop, &p->wait);
    uv_signal_init(&p->loop, &p->on_int);
    uv_signal_init(&p->loop, &p->on_term);
    p->on_int.data = p->on_term.data = p;
    uv_signal_start(&p->on_int, on_signal, SIGINT);
    uv_signal_start(&p->on_term, on_signal, SIGTERM);
    uv_unref((uv_handle_t *)&p->on_int);
    uv_unref((uv_handle_t *)&p->on_term);
    pool_grow(p, options->n_workers);
    while (!p->workers[0]->has_hello && !p->failed && !p->interrupted)
        uv_run(&p->loop, UV_RUN_ONCE);
    if (p->failed || p->interrupted) {
        kw_code code = p->failed ? kw_error_set(err, p->error.code, "%s", p->error.message)
                                 : kw_error_set(err, KW_INTERRUPTED, "interrupted while the worker started");
        pool_stop(p);
        return code;
    }
    *out = p;
    return KW_OK;
}

void pool_grow(pool *p, size_t n_workers)
{
    if (n_workers <= p->n_workers)
        return;
    p->workers = mem_realloc(p->workers, n_workers * sizeof *p->workers);
    while (p->n_workers < n_workers) {
        worker_proc *w = mem_calloc(1, sizeof *w);
        w->pool = p;
        w->index = p->n_workers;
        p->workers[p->n_workers++] = w;
        spawn(w);
    }
}

static void end_wait(uv_timer_t *t)
{
    (void)t;
}

/* Ends when every handle of every worker is closed or a second has passed. */
static void drain(pool *p)
{
    int64_t end = clock_now_ns() + 1000000000;
    for (;;) {
        bool alive = false;
        for (size_t i = 0; i < p->n_workers; i++)
            alive = alive || !p->workers[i]->exited || p->workers[i]->open_handles > 0;
        if (!alive || clock_now_ns() > end)
            return;
        uv_timer_start(&p->wait, end_wait, 50, 0);
        uv_run(&p->loop, UV_RUN_ONCE);
        for (size_t i = 0; i < p->n_workers; i++)
            if (p->workers[i]->exited)
                close_worker(p->workers[i]);
    }
}

void pool_stop(pool *p)
{
    if (!p)
        return;
    p->stopping = true;
    pool_resume(p); /* what stands still does not end by itself */
    for (size_t i = 0; i < p->n_workers; i++) {
        worker_proc *w = p->workers[i];
        if (w->exited)
            continue;
        if (w->state == WORKER_IDLE) {
            if (!uv_is_closing((uv_handle_t *)&w->in))
                uv_close((uv_handle_t *)&w->in, on_closed); /* end of input: it ends by itself */
        } else {
            kill_worker(w);
        }
    }
    drain(p);
    for (size_t i = 0; i < p->n_workers; i++)
        kill_worker(p->workers[i]);
    drain(p);
    for (size_t i = 0; i < p->n_workers; i++) {
        worker_proc *w = p->workers[i];
        close_worker(w);
        strb_clear(&w->line);
        strb_clear(&w->job_line);
        if (w->has_hello)
            message_clear(&w->hello);
    }
    sandbox_sweep(); /* private folders of workers that were killed */
    uv_close((uv_handle_t *)&p->wait, NULL);
    uv_close((uv_handle_t *)&p->on_int, NULL);
    uv_close((uv_handle_t *)&p->on_term, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
    for (size_t i = 0; i < p->n_workers; i++)
        free(p->workers[i]);
    free(p->workers);
    free(p->command);
    free(p->self);
    free(p);
}

const message *pool_hello(const pool *p)
{
    return &p->workers[0]->hello;
}

size_t pool_size(const pool *p)
{
    return p->n_workers;
}

bool pool_is_idle(const pool *p, size_t worker)
{
    return p->workers[worker]->state == WORKER_IDLE && !p->workers[worker]->exited;
}

bool pool_is_starting(const pool *p, size_t worker)
{
    return p->workers[worker]->state == WORKER_STARTING;
}

int64_t pool_restarts(const pool *p)
{
    return p->restarts;
}

/* ---- jobs ---- */

void pool_submit(pool *p, size_t worker, int64_t job_id, const char *line, size_t length, job_limits limits)
{
    worker_proc *w = p->workers[worker];
    w->job = job_id;
    w->limits = limits;
    w->resent = false;
    strb_reset(&w->job_line);
    strb_add_n(&w->job_line, line, length);
    send_job(w);
}

kw_code pool_poll(pool *p, int64_t timeout_ms, kw_error *err)
{
    int64_t before = p->events;
    if (timeout_ms > 0)
        uv_timer_start(&p->wait, end_wait, (uint64_t)timeout_ms, 0);
    while (p->events == before && !p->failed && !p->interrupted) {
        uv_run(&p->loop, timeout_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        if (timeout_ms == 0 || (timeout_ms > 0 && !uv_is_active((uv_handle_t *)&p->wait)))
            break;
    }
    uv_timer_stop(&p->wait);
    if (p->failed)
        return kw_error_set(err, p->error.code, "%s", p->error.message);
    if (p->interrupted)
        return kw_error_set(err, KW_INTERRUPTED, "interrupted; everything measured so far is kept");
    return KW_OK;
}

bool pool_interrupted(const pool *p)
{
    return p->interrupted;
}
