/* Inside of the evaluator; shared by the files evaluator*.c. */
#ifndef KERNWRIGHT_TUNER_EVALUATOR_INTERNAL_H
#define KERNWRIGHT_TUNER_EVALUATOR_INTERNAL_H

#include "tuner/evaluator.h"
#include "tuner/evaluator_policy.h"
#include "tuner/pool.h"

/* ---- evaluator_queue.c ---- */

typedef struct queue {
    candidate *first, *last;
    size_t n;
} queue;

void queue_push(queue *q, candidate *c);
/* Behind those that were submitted before it: answers are wanted in this order. */
void queue_insert(queue *q, candidate *c);
candidate *queue_pop(queue *q); /* NULL if there is none */

/* ---- the evaluator ---- */

typedef enum candidate_state { WAITING, COMPILING, COMPILED, RUNNING, FINISHED } candidate_state;

/* What a timing worker's job does with the device. */
typedef enum turn_of_worker { OUTSIDE, WAITS_TO_VERIFY, VERIFIES, WAITS_TO_TIME, TIMES } turn_of_worker;

/* Workers 0 to n_timing - 1 verify and time, the others compile. */
struct evaluator {
    evaluator_options options;
    pool *pool;
    device_info device;
    queue waiting, compiled, finished;
    queue ready; /* nobody has to compile them first: re-timing, other shapes. They go before the compiled ones */
    candidate **by_worker; /* what each worker is at */
    size_t n_workers, n_timing, in_compile;
    turn_of_worker turns[MOST_TIMING_WORKERS];
    bool pauses; /* a CPU device whose compilers stand still while something is timed; else they take turns with it */
    queue again; /* out of memory while compiling: once more, with nothing beside it */
    candidate *alone;           /* the one of them at work */
    void (*tick)(void *cookie); /* NULL: none */
    void *tick_cookie;
    evaluator_rates rates;
    bool has_prepared; /* a compiler was asked for the worker's own kernels */
    bool is_fresh;     /* nothing was pending, and the timing worker has not got anything since */
    size_t pending;
    int64_t next_id;
    bool compile_phase;    /* CPU devices that take turns: compiling now, timing has to wait */
    size_t phase_compiled; /* candidates compiled in this phase */
    job_case *cases;       /* JOB_MAX_CASES, scratch */
};

static inline bool evaluator_is_cpu(const evaluator *e)
{
    return e->device.limits.is_cpu != 0;
}

/* A candidate that has never been compiled? */
static inline bool candidate_is_new(const candidate *c)
{
    return c->kind == CANDIDATE_TARGET || c->compile_first;
}

/* Is a timing worker at something? */
bool evaluator_times(const evaluator *e);
/* What a timing worker gets next; NULL: nothing. */
candidate *evaluator_next_to_time(const evaluator *e);
void evaluator_finish(evaluator *e, candidate *c);

/* ---- evaluator_send.c ---- */

/* Gives a worker the job of a candidate. false when the job cannot even be made: then the candidate is finished. */
bool evaluator_send(evaluator *e, candidate *c, size_t worker, bool compile_only);

/* ---- evaluator_turns.c ---- */

/* A timing worker has said that it waits, or that it is done; or its job is over. */
void turns_of_device_event(evaluator *e, size_t worker, stage s, turn_state turn);
void turns_of_device_end(evaluator *e, size_t worker);
/* Lets go whoever may: after each of these, and when a worker has started. */
void turns_of_device_grant(evaluator *e);

/* ---- evaluator_schedule.c ---- */

/* Behind those that wait for the same. */
void evaluator_enqueue(evaluator *e, candidate *c);
/* Gives work to every worker that may have some now. */
void evaluator_schedule(evaluator *e);
/* Of the pool. */
void evaluator_on_event(const pool_event *event, void *cookie);

#endif
