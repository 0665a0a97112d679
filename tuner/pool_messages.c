/* What workers say. */
#include "tuner/pool_internal.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No message of ours is nearly that long. */
#define MAX_MESSAGE (64u << 20)

static void take_hello(worker_proc *w, message *m)
{
    if (w->has_hello)
        message_clear(&w->hello);
    w->hello = *m;
    memset(m, 0, sizeof *m);
    w->has_hello = true;
    w->pool->events++;
    if (w->state != WORKER_STARTING)
        return;
    w->state = WORKER_IDLE;
    pool_set_deadline(w, 0);
    if (w->job >= 0)
        pool_send_job(w);
}

/* The task or the machine is at fault, no candidate: the run cannot go on. */
static void take_error(worker_proc *w, const message *m)
{
    pool *p = w->pool;
    if (p->failed)
        return;
    p->failed = true;
    p->error = m->error;
    const pool_event e = {.kind = POOL_FAILED, .worker = w->index, .job = -1, .error = &p->error};
    pool_tell(p, &e);
}

static void take_stage(worker_proc *w, const message *m)
{
    w->stage = m->stage;
    memcpy(w->task, m->task, sizeof w->task);
    w->began = true;
    w->waits = m->turn == TURN_WAIT;
    pool_set_deadline(w, w->waits ? 0 : m->stage <= STAGE_COMPILE ? w->limits.compile_ms : w->limits.run_ms);
    log_debug("worker %zu: job %lld in stage %s", w->index, (long long)w->job, stage_name(w->stage));
    const pool_event e = {.kind = POOL_STAGE, .worker = w->index, .job = w->job, .stage = m->stage, .turn = m->turn};
    pool_tell(w->pool, &e);
}

static void take_result(worker_proc *w, message *m)
{
    const int64_t id = w->job;
    w->job = -1;
    w->began = true;
    pool_set_deadline(w, 0);
    if (w->state == WORKER_BUSY)
        w->state = WORKER_IDLE;
    job_record r = m->record;
    memset(&m->record, 0, sizeof m->record);
    const pool_event e = {.kind = POOL_DONE, .worker = w->index, .job = id, .stage = r.stage, .record = &r};
    if (w->pool->stopping)
        job_record_clear(&r);
    else
        pool_tell(w->pool, &e);
}

static void handle_line(worker_proc *w, const char *line, size_t length)
{
    kw_error err;
    kw_error_clear(&err);
    message m;
    memset(&m, 0, sizeof m);
    if (message_parse(line, length, &m, &err) != KW_OK) {
        snprintf(w->complaint, sizeof w->complaint, "%.200s", err.message);
        log_debug("worker %zu: %s; it is replaced", w->index, err.message);
        pool_kill_worker(w);
        return;
    }
    const bool of_its_job = w->job >= 0 && m.id == w->job;
    if (m.type == MESSAGE_HELLO)
        take_hello(w, &m);
    else if (m.type == MESSAGE_ERROR)
        take_error(w, &m);
    else if (m.type == MESSAGE_STAGE && of_its_job)
        take_stage(w, &m);
    else if (m.type == MESSAGE_RESULT && of_its_job)
        take_result(w, &m);
    message_clear(&m);
}

void pool_read_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    worker_proc *w = stream->data;
    const char *data = buf->base;
    while (n > 0) {
        const char *end = memchr(data, '\n', (size_t)n);
        size_t part = end ? (size_t)(end - data) : (size_t)n;
        if (w->line.length + part > MAX_MESSAGE) {
            log_warn("worker %zu sends a line without an end; it is replaced", w->index);
            strb_reset(&w->line);
            pool_kill_worker(w);
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
            pool_close_worker(w);
        else
            pool_close_handle((uv_handle_t *)stream);
    }
}

void pool_read_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
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
