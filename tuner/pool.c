#include "tuner/pool_internal.h"

#include "base/interrupt.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/sandbox.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What the loop and one worker need, with room for the driver. Where there are fewer, libuv may wait for ever. */
#define LEAST_FILES 16

static void on_signal(uv_signal_t *s, int signum)
{
    pool *p = s->data;
    if (p->interrupted)
        _exit(KW_INTERRUPTED);
    p->interrupted = true;
    p->events++;
    log_debug("signal %d: stopping", signum);
}

static kw_code open_loop(pool *p, kw_error *err)
{
    struct rlimit files;
    if (!p->self && !p->command)
        return kw_error_set(err, KW_ENVIRONMENT, "cannot find the path of this program, so no worker can be started");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < LEAST_FILES)
        return kw_error_set(
            err, KW_ENVIRONMENT,
            "only %llu files may be open here, too few for worker processes: raise it by `ulimit -n 256`",
            (unsigned long long)files.rlim_cur);
    int fault = uv_loop_init(&p->loop);
    return fault ? kw_error_set(err, KW_ENVIRONMENT, "no worker can be started: %s", uv_strerror(fault)) : KW_OK;
}

static void free_start(pool *p)
{
    free(p->self);
    free(p->command);
    free(p);
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
    kw_code begun = open_loop(p, err);
    if (begun != KW_OK) {
        free_start(p);
        return begun;
    }
    signal(SIGPIPE, SIG_IGN); /* a worker that died while being written to is seen by its exit */
    uv_timer_init(&p->loop, &p->wait);
    uv_signal_init(&p->loop, &p->on_int);
    uv_signal_init(&p->loop, &p->on_term);
    uv_signal_init(&p->loop, &p->on_hup);
    p->on_int.data = p->on_term.data = p->on_hup.data = p;
    uv_signal_start(&p->on_int, on_signal, SIGINT);
    uv_signal_start(&p->on_term, on_signal, SIGTERM);
    /* A terminal that is gone is an interruption, unless somebody said otherwise (nohup). */
    if (!interrupt_is_ignored(SIGHUP))
        uv_signal_start(&p->on_hup, on_signal, SIGHUP);
    uv_unref((uv_handle_t *)&p->on_int);
    uv_unref((uv_handle_t *)&p->on_term);
    uv_unref((uv_handle_t *)&p->on_hup);
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
        pool_spawn(w);
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
                pool_close_worker(p->workers[i]);
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
                pool_close_handle((uv_handle_t *)&w->in); /* end of input: it ends by itself */
        } else {
            pool_kill_worker(w);
        }
    }
    drain(p);
    for (size_t i = 0; i < p->n_workers; i++)
        pool_kill_worker(p->workers[i]);
    drain(p);
    for (size_t i = 0; i < p->n_workers; i++) {
        worker_proc *w = p->workers[i];
        pool_close_worker(w);
        strb_clear(&w->line);
        strb_clear(&w->job_line);
        if (w->has_hello)
            message_clear(&w->hello);
    }
    sandbox_sweep(); /* private folders of workers that were killed */
    uv_close((uv_handle_t *)&p->wait, NULL);
    uv_close((uv_handle_t *)&p->on_int, NULL);
    uv_close((uv_handle_t *)&p->on_term, NULL);
    uv_close((uv_handle_t *)&p->on_hup, NULL);
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
    pool_send_job(w);
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
