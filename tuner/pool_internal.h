/* Inside of the pool; shared by the files pool*.c. */
#ifndef KERNWRIGHT_TUNER_POOL_INTERNAL_H
#define KERNWRIGHT_TUNER_POOL_INTERNAL_H

#include "base/strb.h"
#include "tuner/pool.h"

#include <uv.h>

/* A worker that dies this often in a row without having begun with a job is not restarted. */
#define POOL_FAILED_STARTS 3
#define STDERR_TAIL 2048

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
    bool starts_later; /* with pool_resume; until then there is no process */
    int64_t left_ms;   /* of its deadline, while it is paused; 0: there is none */
    int64_t limit_ms;  /* all of it */
    int64_t due_ns;    /* when it ends, unless it is paused */
    bool has_more_time;
    message hello;
    bool has_hello;
} worker_proc;

struct pool {
    uv_loop_t loop;
    uv_timer_t wait;
    uv_signal_t on_int, on_term, on_hup;
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

/* pool_end.c: what a worker left unsaid. */
void pool_tell(pool *p, const pool_event *e);
/* All its handles are closed: its job gets an outcome, and it a successor. */
void pool_finish_worker(worker_proc *w);

/* pool_process.c: a worker as a process. */
void pool_spawn(worker_proc *w);
void pool_kill_worker(worker_proc *w);
/* Closes what is still open of it; when all is closed and it has ended, pool_finish_worker. */
void pool_close_worker(worker_proc *w);
void pool_close_handle(uv_handle_t *h);
void pool_set_deadline(worker_proc *w, int64_t ms); /* 0: none */
void pool_write(worker_proc *w, const strb *text);
void pool_send_job(worker_proc *w); /* w->job_line */

/* pool_messages.c: what it says. */
void pool_read_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
void pool_read_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

#endif
