/* Which worker gets what, and what comes back. */
#include "tuner/evaluator_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

#define TIMING_TRACK 900  /* in a trace: of the second timing worker and those after it */
#define DEVICE_TRACK 1000 /* behind those of the workers */
#define SHARED_MEMORY 16 /* the part of the device's memory that the tensors of a shared device's candidates may take */

/* ---- what there is ---- */

bool evaluator_times(const evaluator *e)
{
    bool busy = false;
    for (size_t w = 0; w < e->n_timing; w++)
        busy = busy || e->by_worker[w] != NULL;
    return busy;
}

candidate *evaluator_next_to_time(const evaluator *e)
{
    return e->ready.first ? e->ready.first : e->compiled.first;
}

void evaluator_finish(evaluator *e, candidate *c)
{
    c->state = FINISHED;
    queue_push(&e->finished, c);
}

/* ---- giving work ---- */

static bool has_phases(const evaluator *e)
{
    return evaluator_is_cpu(e) && !e->pauses;
}

static size_t compilers(const evaluator *e)
{
    return e->n_workers - e->n_timing;
}

static size_t compile_batch(const evaluator *e)
{
    return policy_batch(&e->rates, compilers(e));
}

static bool may_compile(const evaluator *e)
{
    if (e->again.first || e->alone)
        return false;
    if (has_phases(e))
        return e->phase_compiled + e->in_compile < compile_batch(e);
    const evaluator_rates per_worker = {.compile_ms = e->rates.compile_ms,
                                        .timing_ms = e->rates.timing_ms / (double)e->n_timing};
    return e->compiled.n + e->in_compile < policy_ahead(&per_worker, compilers(e));
}

static bool compile(evaluator *e, candidate *c, size_t worker)
{
    c->state = COMPILING;
    if (!evaluator_send(e, c, worker, true))
        return false;
    e->in_compile++;
    return true;
}

static void start_compiles(evaluator *e)
{
    for (size_t w = e->n_timing; w < e->n_workers; w++) {
        if (!pool_is_idle(e->pool, w))
            continue;
        if (e->again.first && e->in_compile == 0) {
            candidate *c = queue_pop(&e->again);
            e->alone = compile(e, c, w) ? c : NULL;
            return;
        }
        if (!e->waiting.first || !may_compile(e))
            return;
        compile(e, queue_pop(&e->waiting), w);
    }
}

/* Other workers load their drivers while they start: a CPU device is not probed beside that, nor beside a compilation,
 * and no device beside another timing worker. */
static bool must_wait(const evaluator *e, const candidate *c)
{
    bool busy = e->in_compile > 0;
    if (!c || c->kind != CANDIDATE_PROBE)
        return false;
    for (size_t w = 1; w < e->n_workers; w++)
        busy = busy || pool_is_starting(e->pool, w);
    return evaluator_times(e) || (evaluator_is_cpu(e) && busy);
}

static bool is_probing(const evaluator *e)
{
    return e->by_worker[0] && e->by_worker[0]->kind == CANDIDATE_PROBE;
}

/* What may go to another timing worker than the first one: searching. Re-timing compares, and wants the same process
 * for all. Two workers need twice the memory. */
static bool may_share(const evaluator *e, const candidate *c)
{
    uint64_t bytes = 0;
    if (c->kind != CANDIDATE_TARGET && c->kind != CANDIDATE_SHAPE)
        return false;
    for (size_t i = 0; i < c->cases->task->n_tensors; i++) {
        uint64_t n = 0;
        if (task_tensor_elements(c->cases->task, c->cases->types, &c->target, i, &n, NULL) != KW_OK)
            return false;
        bytes += n * dtype_bytes(task_tensor_type(c->cases->task, c->cases->types, i));
    }
    const int64_t memory = e->device.limits.global_mem_bytes;
    return memory <= 0 || bytes < (uint64_t)memory / (SHARED_MEMORY * e->n_timing);
}

/* Where workers compile their own: a candidate for which memory was short goes once more, with nobody beside it. */
static bool start_alone(evaluator *e, size_t worker)
{
    if (evaluator_times(e) || !pool_is_idle(e->pool, worker))
        return false;
    candidate *c = queue_pop(&e->again);
    c->state = RUNNING;
    e->alone = evaluator_send(e, c, worker, false) ? c : NULL;
    return true;
}

static bool start_timing_on(evaluator *e, size_t worker)
{
    if (compilers(e) == 0 && e->alone)
        return false;
    if (compilers(e) == 0 && e->again.first)
        return start_alone(e, worker);
    candidate *c = evaluator_next_to_time(e);
    if (!c || e->by_worker[worker] || !pool_is_idle(e->pool, worker) || must_wait(e, c) || is_probing(e) ||
        (worker > 0 && !may_share(e, c)))
        return false;
    queue_pop(e->ready.first ? &e->ready : &e->compiled);
    c->state = RUNNING;
    evaluator_send(e, c, worker, false);
    e->is_fresh = false;
    return true;
}

static void start_timing(evaluator *e)
{
    for (size_t w = 0; w < e->n_timing; w++)
        while (start_timing_on(e, w) && !e->by_worker[w])
            continue;
}

/* Re-timing, other shapes and mostly general verification use what is compiled already. */
static bool skips_compile(const evaluator *e, const candidate *c)
{
    return e->n_workers == e->n_timing || !candidate_is_new(c);
}

void evaluator_enqueue(evaluator *e, candidate *c)
{
    e->is_fresh = e->is_fresh || (e->pending == 0 && candidate_is_new(c));
    e->pending++;
    queue_push(skips_compile(e, c) ? &e->ready : &e->waiting, c);
}

/* A CPU device whose compilers cannot be stopped: they and the timing worker have the machine in turns. */
static void schedule_phases(evaluator *e)
{
    if (e->compile_phase) {
        if (!evaluator_times(e))
            start_compiles(e);
        bool full = e->phase_compiled >= compile_batch(e) || !e->waiting.first;
        if (e->in_compile == 0 && full && evaluator_next_to_time(e))
            e->compile_phase = false;
        if (e->in_compile == 0 && full && !e->compiled.first && !evaluator_times(e)) {
            e->phase_compiled = 0; /* none of them compiles: the next ones */
            start_compiles(e);
        }
    }
    if (!e->compile_phase) {
        start_timing(e);
        if (!evaluator_times(e) && !evaluator_next_to_time(e)) {
            e->compile_phase = true;
            e->phase_compiled = 0;
            start_compiles(e);
        }
    }
}

void evaluator_schedule(evaluator *e)
{
    if (pool_interrupted(e->pool))
        return;
    turns_of_device_grant(e);
    if (has_phases(e)) {
        schedule_phases(e);
        return;
    }
    /* The first of all is compiled by the timing worker itself, which then draws inputs and asks the reference while
       the others are still compiling. On a CPU they need the cores. */
    if (!evaluator_is_cpu(e) && e->is_fresh && e->waiting.first && !evaluator_next_to_time(e))
        queue_push(&e->compiled, queue_pop(&e->waiting));
    start_timing(e);
    if (!is_probing(e))
        start_compiles(e);
}

/* ---- receiving ---- */

/* 1 is the first timing worker, compilers follow; further timing workers have numbers of their own. */
static size_t track_of(const evaluator *e, size_t worker)
{
    return worker == 0 ? 1 : worker < e->n_timing ? TIMING_TRACK + worker : worker - e->n_timing + 2;
}

static void trace_record(evaluator *e, const candidate *c, const job_record *r, size_t worker)
{
    const char *name = c->variant ? c->variant->template_name : "probe";
    struct {
        const char *what;
        double start_ms, ms;
    } parts[] = {{"compile", r->compile_start_ms, r->compile_ms},
                 {"verify", r->verify_start_ms, r->verify_ms},
                 {"time", r->time_start_ms, r->time_ms}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!(parts[i].ms > 0))
            continue;
        int64_t from = c->sent_ns + (int64_t)(parts[i].start_ms * 1e6);
        trace_add(e->options.trace, track_of(e, worker), parts[i].what, name, from, from + (int64_t)(parts[i].ms * 1e6),
                  1);
    }
    /* Its length is right, its place is not: the device's parts of both stages in one piece. */
    if (r->device_ms > 0) {
        int64_t from = c->sent_ns + (int64_t)((r->verify_ms > 0 ? r->verify_start_ms : r->time_start_ms) * 1e6);
        trace_add(e->options.trace, DEVICE_TRACK + track_of(e, worker) - 1, "device", name, from,
                  from + (int64_t)(r->device_ms * 1e6), 0);
    }
}

static void take_record(job_record *to, job_record *from)
{
    job_record_clear(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static void try_again(evaluator *e, candidate *c, job_record *r)
{
    log_debug("%s: no memory to compile a candidate, it is tried again alone", c->variant->template_name);
    job_record_clear(r);
    queue_push(&e->again, c);
}

static void compile_done(evaluator *e, candidate *c, job_record *r)
{
    bool was_alone = e->alone == c;
    e->in_compile--;
    e->alone = was_alone ? NULL : e->alone;
    if (r->out_of_memory && !was_alone) {
        try_again(e, c, r);
        return;
    }
    e->phase_compiled++;
    policy_learn(&e->rates.compile_ms, c->sent_ns);
    bool ok = r->outcome == OUTCOME_OK;
    take_record(&c->record, r);
    if (!ok) {
        evaluator_finish(e, c);
        return;
    }
    c->state = COMPILED;
    queue_insert(&e->compiled, c);
}

/* The real compile time and the compiler's figures are those of the first build; the second came from a cache. */
static void timing_done(evaluator *e, candidate *c, job_record *r)
{
    const bool was_alone = e->alone == c;
    e->alone = was_alone ? NULL : e->alone;
    if (r->out_of_memory && compilers(e) == 0 && !was_alone) {
        try_again(e, c, r);
        return;
    }
    if (candidate_is_new(c) && c->record.compile_ms > 0)
        policy_learn(&e->rates.timing_ms, c->sent_ns);
    if (c->record.compile_ms > 0) {
        r->compile_ms = c->record.compile_ms;
        r->registers = c->record.registers >= 0 ? c->record.registers : r->registers;
        r->spill_bytes = c->record.spill_bytes >= 0 ? c->record.spill_bytes : r->spill_bytes;
        r->local_bytes = c->record.local_bytes >= 0 ? c->record.local_bytes : r->local_bytes;
        if (!r->extra) {
            r->extra = c->record.extra;
            c->record.extra = NULL;
        }
    }
    take_record(&c->record, r);
    evaluator_finish(e, c);
}

void evaluator_on_event(const pool_event *event, void *cookie)
{
    evaluator *e = cookie;
    if (event->worker >= e->n_workers)
        return;
    if (event->kind == POOL_STAGE && event->worker < e->n_timing)
        turns_of_device_event(e, event->worker, event->stage, event->turn);
    if (event->kind != POOL_DONE)
        return;
    if (event->worker < e->n_timing)
        turns_of_device_end(e, event->worker);
    candidate *c = e->by_worker[event->worker];
    if (!c || c->id != event->job) {
        job_record_clear(event->record);
        return;
    }
    e->by_worker[event->worker] = NULL;
    trace_record(e, c, event->record, event->worker);
    if (event->worker < e->n_timing)
        timing_done(e, c, event->record);
    else
        compile_done(e, c, event->record);
}
