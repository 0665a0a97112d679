#include "tuner/tune_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An answer that takes longer while the device has nothing to do is a compiler that hangs, most likely. Waiting for
 * the end of its time would cost more than a search that is not exactly repeatable. */
#define LATE_MS 5000

void turns_start(turns *ts, size_t depth)
{
    memset(ts, 0, sizeof *ts);
    ts->depth = depth;
    ts->best_ns = INFINITY;
}

static void free_all(turn *t)
{
    while (t) {
        turn *next = t->next;
        free(t);
        t = next;
    }
}

void turns_clear(turns *ts)
{
    free_all(ts->first);
    free_all(ts->late);
    ts->first = ts->last = ts->late = NULL;
}

turn *turns_ask(turns *ts, arm *a, const uint32_t *config, bool in_flight)
{
    size_t n = a->template->n_params;
    turn *t = mem_calloc(1, sizeof *t + n * sizeof *t->config);
    memcpy(t->config, config, n * sizeof *config);
    t->arm = a;
    t->in_flight = in_flight;
    t->asked_ns = clock_now_ns();
    if (ts->last)
        ts->last->next = t;
    else
        ts->first = t;
    ts->last = t;
    ts->n_in_flight += in_flight;
    return t;
}

static void tell(turns *ts, turn *t)
{
    arms_tell(t->arm, t->config, t->ok, t->time_ns);
    if (t->ok && t->time_ns < ts->best_ns)
        ts->best_ns = t->time_ns;
    free(t);
}

static turn *take_first(turns *ts)
{
    turn *t = ts->first;
    ts->first = t->next;
    if (!ts->first)
        ts->last = NULL;
    t->next = NULL;
    ts->n_in_flight -= t->in_flight;
    return t;
}

void turns_answer(turns *ts, turn *t, bool ok, double time_ns)
{
    t->done = true;
    t->ok = ok;
    t->time_ns = time_ns;
    for (turn **link = &ts->late; *link; link = &(*link)->next) {
        if (*link != t)
            continue;
        *link = t->next;
        tell(ts, t);
        return;
    }
}

bool turns_open(turns *ts)
{
    while (ts->n_in_flight >= ts->depth && ts->first->done)
        tell(ts, take_first(ts));
    return ts->n_in_flight < ts->depth;
}

int64_t turns_patience_ms(const turns *ts)
{
    int64_t waited_ms = (clock_now_ns() - ts->first->asked_ns) / 1000000;
    return waited_ms < LATE_MS ? LATE_MS - waited_ms : 0;
}

void turns_pass(turns *ts)
{
    turn *t = take_first(ts);
    t->next = ts->late;
    ts->late = t;
    log_debug("%s: a candidate is late, the search goes on without it", t->arm->template->name);
}
