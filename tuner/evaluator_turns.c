/* Who uses the device when. Several timing workers verify beside each other, which fills the gaps that each leaves
 * while its host works; whoever times is alone. On a CPU device whatever works is in the way: it stands still
 * meanwhile. */
#include "tuner/evaluator_internal.h"

static size_t count(const evaluator *e, turn_of_worker t)
{
    size_t n = 0;
    for (size_t w = 0; w < e->n_timing; w++)
        n += e->turns[w] == t;
    return n;
}

/* 0: its candidate was forgotten, but it is still at it. */
static int64_t id_of(const evaluator *e, size_t worker)
{
    return e->by_worker[worker] ? e->by_worker[worker]->id : 0;
}

/* Of those that wait, the one whose candidate was submitted first; n_timing if nobody waits. */
static size_t first_waiting(const evaluator *e, turn_of_worker t)
{
    size_t best = e->n_timing;
    for (size_t w = 0; w < e->n_timing; w++)
        if (e->turns[w] == t && (best == e->n_timing || id_of(e, w) < id_of(e, best)))
            best = w;
    return best;
}

static void let_go(evaluator *e, size_t worker, turn_of_worker t)
{
    e->turns[worker] = t;
    if (t == TIMES && e->pauses)
        pool_pause_others(e->pool, worker);
    pool_go(e->pool, worker);
}

/* Who is starting must not be stopped, and loads drivers beside what is timed. */
static bool is_starting(const evaluator *e)
{
    bool starting = false;
    for (size_t w = 0; w < e->n_workers; w++)
        starting = starting || pool_is_starting(e->pool, w);
    return starting;
}

/* Who wants to time goes first: everybody who verifies comes to that point, so that several time one after the other
 * and then verify side by side. */
void turns_of_device_grant(evaluator *e)
{
    const size_t timer = first_waiting(e, WAITS_TO_TIME);
    if (count(e, TIMES) > 0)
        return;
    if (timer < e->n_timing) {
        if (count(e, VERIFIES) == 0 && !(e->pauses && is_starting(e)))
            let_go(e, timer, TIMES);
        return;
    }
    for (size_t w = 0; w < e->n_timing; w++)
        if (e->turns[w] == WAITS_TO_VERIFY)
            let_go(e, w, VERIFIES);
}

static void leave(evaluator *e, size_t worker, turn_of_worker t)
{
    if (e->turns[worker] == TIMES && e->pauses)
        pool_resume(e->pool);
    e->turns[worker] = t;
}

void turns_of_device_event(evaluator *e, size_t worker, stage s, turn_state turn)
{
    if (turn == TURN_NONE)
        return;
    turn_of_worker next = s == STAGE_TIME ? WAITS_TO_TIME : WAITS_TO_VERIFY;
    if (turn == TURN_OVER) /* what was timed is looked at on the device, until the job ends */
        next = e->pauses ? OUTSIDE : VERIFIES;
    leave(e, worker, next);
    turns_of_device_grant(e);
}

void turns_of_device_end(evaluator *e, size_t worker)
{
    leave(e, worker, OUTSIDE);
    turns_of_device_grant(e);
}
