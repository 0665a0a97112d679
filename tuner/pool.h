/* A pool of worker processes on libuv: spawned by exec, spoken to in JSON lines, killed at their deadlines, replaced
 * one by one when they die. The coordinator never touches a driver.
 *
 * All calls come from one thread; events are delivered by pool_poll.
 */
#ifndef KERNWRIGHT_TUNER_POOL_H
#define KERNWRIGHT_TUNER_POOL_H

#include "base/error.h"
#include "tuner/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pool pool;

typedef struct pool_options {
    const char *worker_command; /* run through /bin/sh; NULL: this executable, `worker --stdio` */
    size_t n_workers;
    int64_t hello_ms; /* deadline of a worker's start; 0: 60 s */
} pool_options;

typedef enum pool_event_kind {
    POOL_STAGE, /* worker entered `stage` of `job` */
    POOL_DONE,  /* `record` is the result; the receiver clears it. Also for a worker that died or was killed: then the
                    record says crash or timeout, with the last stage it announced */
    POOL_FAILED /* a worker cannot be started any more: `error` says why; the pool is of no use */
} pool_event_kind;

typedef struct pool_event {
    pool_event_kind kind;
    size_t worker;
    int64_t job;
    stage stage;
    turn_state turn; /* POOL_STAGE */
    job_record *record;
    const kw_error *error;
} pool_event;

typedef void (*pool_on_event)(const pool_event *event, void *cookie);

/* Starts the workers and waits for the first hello. KW_ENVIRONMENT if none comes; the message holds the last lines of
 * the worker's standard error. */
kw_code pool_start(const pool_options *options, pool_on_event on_event, void *cookie, pool **out, kw_error *err);
/* Starts more workers, up to `n_workers` in all; does not wait for them. */
void pool_grow(pool *p, size_t n_workers);
/* Kills every worker that is still busy, lets the others end by themselves for a second. NULL is fine. */
void pool_stop(pool *p);

const message *pool_hello(const pool *p); /* of the first worker; valid until pool_stop */
size_t pool_size(const pool *p);
bool pool_is_idle(const pool *p, size_t worker); /* started, said hello, has no job */
bool pool_is_starting(const pool *p, size_t worker);
int64_t pool_restarts(const pool *p);

/* Sends a job to an idle worker. `line` is job_print's; limits are its deadlines (compile_ms for the compile stage,
 * run_ms for each later one; 0: none). */
void pool_submit(pool *p, size_t worker, int64_t job, const char *line, size_t length, job_limits limits);

/* Lets a worker go on that waits for its turn. Until then it has no deadline. */
void pool_go(pool *p, size_t worker);

/* Stops the processes of all workers but one where they are (SIGSTOP), with their deadlines, until pool_resume; what
 * would start meanwhile starts then. Only where pool_can_pause: on this machine. Not while a worker is starting: one
 * that has not come to its first lines yet would outlive this process if that is killed. */
bool pool_can_pause(const pool *p);
void pool_pause_others(pool *p, size_t worker);
void pool_resume(pool *p);

/* Delivers what happened; waits up to `timeout_ms` for something (-1: for ever, 0: not at all). KW_INTERRUPTED after
 * SIGINT or SIGTERM. */
kw_code pool_poll(pool *p, int64_t timeout_ms, kw_error *err);
/* SIGINT or SIGTERM arrived since the start. A second one ends the process at once. */
bool pool_interrupted(const pool *p);

#endif
