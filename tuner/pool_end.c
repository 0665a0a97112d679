/* The end of a worker: who is to blame, and what becomes of its job. */
#include "tuner/pool_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "tuner/sandbox.h"

#include <signal.h>
#include <string.h>

#define LAST_WORDS 400

void pool_tell(pool *p, const pool_event *e)
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
    pool_tell(p, &e);
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
        pool_tell(w->pool, &e);
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
    pool_tell(p, &e);
}

/* Runs when the process is gone and all its handles are closed. */
void pool_finish_worker(worker_proc *w)
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
    if (w->failed_starts >= POOL_FAILED_STARTS) {
        fail_pool(p, w);
        return;
    }
    p->restarts++;
    log_debug("worker %zu is replaced (status %lld, signal %d)", w->index, (long long)w->exit_status, w->term_signal);
    int64_t id = w->job;
    bool second = w->sent || w->resent;
    pool_spawn(w);
    if (again) {
        w->job = id;
        w->resent = second;
    }
}
