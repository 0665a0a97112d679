#include "tuner/evaluator_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_COMPILE_MS 120000
#define DEFAULT_RUN_MS 60000
#define TICK_MS 100

/* ---- life ---- */

/* How many processes do what; returns how many there are. */
static size_t share_out(evaluator *e)
{
    const evaluator_options *o = &e->options;
    const evaluator_shares s =
        policy_shares(&e->device, pool_hello(e->pool), o->compile_workers, o->timing_workers, pool_can_pause(e->pool));
    if (o->timing_workers > 0 && (size_t)o->timing_workers > s.n_timing)
        log_warn("%zu processes verify and time, not %d: at most %d do, and one on a CPU device whose other processes "
                 "cannot be stopped meanwhile",
                 s.n_timing, o->timing_workers, MOST_TIMING_WORKERS);
    e->n_timing = s.n_timing;
    e->pauses = s.pauses;
    return s.n_timing + s.n_compilers;
}

kw_code evaluator_open(const evaluator_options *options, evaluator **out, kw_error *err)
{
    *out = NULL;
    evaluator *e = mem_calloc(1, sizeof *e);
    e->options = *options;
    e->compile_phase = true;
    e->n_workers = e->n_timing = 1;
    if (e->options.compile_ms <= 0)
        e->options.compile_ms = DEFAULT_COMPILE_MS;
    if (e->options.run_ms <= 0)
        e->options.run_ms = DEFAULT_RUN_MS;
    e->cases = mem_calloc(JOB_MAX_CASES, sizeof *e->cases);
    e->by_worker = mem_calloc(1, sizeof *e->by_worker);
    pool_options po = {.worker_command = options->worker_command, .n_workers = 1};
    kw_code code = pool_start(&po, evaluator_on_event, e, &e->pool, err);
    if (code == KW_OK) {
        const message *hello = pool_hello(e->pool);
        size_t index = 0;
        if (hello->n_devices == 0)
            code = kw_error_set(err, KW_ENVIRONMENT, "no compute device: %s",
                                hello->note[0] ? hello->note : "the worker lists none");
        else
            code = device_choose(hello->devices, hello->n_devices, options->device, &index, err);
        if (code == KW_OK)
            e->device = hello->devices[index];
    }
    if (code != KW_OK) {
        evaluator_close(e);
        return code;
    }
    e->n_workers = share_out(e);
    e->by_worker = mem_realloc(e->by_worker, e->n_workers * sizeof *e->by_worker);
    memset(e->by_worker, 0, e->n_workers * sizeof *e->by_worker);
    pool_grow(e->pool, e->n_workers);
    *out = e;
    return KW_OK;
}

void evaluator_close(evaluator *e)
{
    if (!e)
        return;
    pool_stop(e->pool);
    free(e->cases);
    free(e->by_worker);
    free(e);
}

const device_info *evaluator_device(const evaluator *e)
{
    return &e->device;
}

const message *evaluator_hello(const evaluator *e)
{
    return pool_hello(e->pool);
}

void evaluator_submit(evaluator *e, candidate *c)
{
    memset(&c->record, 0, sizeof c->record);
    c->record.registers = c->record.spill_bytes = c->record.local_bytes = -1;
    c->general_complete = false;
    c->id = ++e->next_id;
    c->state = WAITING;
    evaluator_enqueue(e, c);
    evaluator_schedule(e);
}

size_t evaluator_pending(const evaluator *e)
{
    return e->pending;
}

size_t evaluator_depth(const evaluator *e)
{
    return policy_depth(evaluator_is_cpu(e), e->n_workers - e->n_timing, e->n_timing);
}

bool evaluator_is_starved(const evaluator *e)
{
    return !evaluator_times(e) && !evaluator_next_to_time(e) && !e->waiting.first && !e->finished.first;
}

candidate *evaluator_next(evaluator *e, kw_error *err)
{
    return evaluator_next_within(e, -1, err);
}

void evaluator_set_tick(evaluator *e, void (*tick)(void *cookie), void *cookie)
{
    e->tick = tick;
    e->tick_cookie = cookie;
}

/* As pool_poll; for a short while only if there is something else to do. */
static kw_code wait_for_workers(evaluator *e, int64_t left_ms, kw_error *err)
{
    if (!e->tick)
        return pool_poll(e->pool, left_ms, err);
    kw_code over = pool_poll(e->pool, left_ms < 0 || left_ms > TICK_MS ? TICK_MS : left_ms, err);
    e->tick(e->tick_cookie);
    return over;
}

candidate *evaluator_next_within(evaluator *e, int64_t timeout_ms, kw_error *err)
{
    kw_error_clear(err);
    kw_code over = KW_OK;
    bool has_looked = false; /* once, also within no time */
    int64_t end_ns = clock_now_ns() + (timeout_ms > 0 ? timeout_ms * 1000000 : 0);
    while (e->pending > 0) {
        evaluator_schedule(e);
        candidate *c = queue_pop(&e->finished);
        if (c) { /* what came with the last events counts, also when the run is over */
            kw_error_clear(err);
            e->pending--;
            return c;
        }
        if (over != KW_OK)
            return NULL;
        int64_t left_ms = timeout_ms < 0 ? -1 : (end_ns - clock_now_ns() + 999999) / 1000000;
        if (timeout_ms >= 0 && left_ms <= 0) {
            if (has_looked)
                return NULL;
            left_ms = 0;
        }
        over = wait_for_workers(e, left_ms, err);
        has_looked = true;
    }
    return NULL;
}

void evaluator_forget(evaluator *e)
{
    static const queue empty;
    e->waiting = e->ready = e->compiled = e->finished = e->again = empty;
    e->alone = NULL;
    memset(e->by_worker, 0, e->n_workers * sizeof *e->by_worker);
    e->pending = e->in_compile = 0;
}

bool evaluator_interrupted(const evaluator *e)
{
    return pool_interrupted(e->pool);
}

bool evaluator_asked_to_stop(evaluator *e)
{
    pool_poll(e->pool, 0, NULL);
    return pool_interrupted(e->pool);
}

int64_t evaluator_restarts(const evaluator *e)
{
    return pool_restarts(e->pool);
}
