/* A pool under test: what came back from it, and waiting for it. Failures end the test. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_POOL_H
#define KERNWRIGHT_TESTS_SUPPORT_POOL_H

#include "tests/support_worker.h"
#include "tuner/pool.h"

#define MAX_EVENTS 128

/* What came back, in order. */
typedef struct events {
    struct {
        pool_event_kind kind;
        size_t worker;
        int64_t job;
        stage stage;
        outcome outcome;
        turn_state turn;
        char text[512];
    } list[MAX_EVENTS];
    size_t n, n_done;
} events;

/* A worker's lines, for scripts in its place. */
#define HELLO \
    "echo '{\"type\":\"hello\",\"protocol\":1,\"version\":\"0\",\"pid\":1,\"host\":\"h\",\"cpu_model\":\"c\"," \
    "\"physical_cores\":1,\"devices\":[],\"note\":\"\"}'; "
#define STAGE "echo '{\"type\":\"stage\",\"id\":7,\"name\":\"compile\"}'; "
#define RESULT "echo '{\"type\":\"result\",\"id\":7,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\"}}'; read line"

/* Of the pool; `cookie` is an events. */
void events_note(const pool_event *event, void *cookie);
/* `n` workers of a command; NULL: of this program. */
pool *pool_of(const char *command, size_t n, events *e);
/* Until `n` jobs are done, or the pool failed. */
kw_code pool_run_until(pool *p, const events *e, size_t n, kw_error *err);
void pool_until_idle(pool *p, size_t worker);
void pool_until_restarted(pool *p, int64_t n);
void pool_poll_for(pool *p, int64_t ms);
/* A saxpy on two shapes. */
void pool_submit_with(pool *p, size_t worker, int64_t id, const char *directives, job_limits limits);
void pool_submit_saxpy(pool *p, size_t worker, int64_t id, const char *directives);
/* Event `i` is the end of job `id`, and its detail has `part`. */
void events_expect(const events *e, size_t i, int64_t id, outcome o, const char *part);
bool events_have_stage(const events *e, int64_t id, stage s);

#endif
