#include "tuner/evaluator.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/evaluator_policy.h"
#include "tuner/pool.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_COMPILE_MS 120000
#define DEFAULT_RUN_MS 60000
#define TICK_MS 100

#define DEVICE_TRACK 1000 /* in a trace, behind those of the workers */

/* Worker 0 verifies and times; the others compile. */
enum { TIMING_WORKER = 0 };

typedef enum candidate_state { WAITING, COMPILING, COMPILED, RUNNING, FINISHED } candidate_state;

typedef struct queue {
    candidate *first, *last;
    size_t n;
} queue;

struct evaluator {
    evaluator_options options;
    pool *pool;
    device_info device;
    queue waiting, compiled, finished;
    queue ready; /* nobody has to compile them first: re-timing, other shapes. They go before the compiled ones */
    candidate **by_worker; /* what each worker is at */
    size_t n_workers, in_compile;
    candidate *on_timing;
    queue again;      /* out of memory while compiling: once more, with nothing beside it */
    candidate *alone; /* the one of them at work */
    void (*tick)(void *cookie); /* NULL: none */
    void *tick_cookie;
    evaluator_rates rates;
    bool is_fresh; /* nothing was pending, and the timing worker has not got anything since */
    size_t pending;
    int64_t next_id;
    bool compile_phase;    /* CPU devices: compiling now, timing has to wait */
    size_t phase_compiled; /* candidates compiled in this phase */
    job_case *cases;       /* JOB_MAX_CASES, scratch */
};

static bool is_cpu(const evaluator *e)
{
    return e->device.limits.is_cpu != 0;
}

static void push(queue *q, candidate *c)
{
    c->next = NULL;
    if (q->last)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
    q->n++;
}

/* Behind those that were submitted before it: answers are wanted in this order. */
static void insert(queue *q, candidate *c)
{
    candidate **link = &q->first;
    if (!q->last || q->last->id < c->id) {
        push(q, c);
        return;
    }
    while ((*link)->id < c->id)
        link = &(*link)->next;
    c->next = *link;
    *link = c;
    q->n++;
}

static candidate *pop(queue *q)
{
    candidate *c = q->first;
    if (!c)
        return NULL;
    q->first = c->next;
    if (!q->first)
        q->last = NULL;
    q->n--;
    return c;
}

static void finish(evaluator *e, candidate *c)
{
    c->state = FINISHED;
    push(&e->finished, c);
}

/* ---- sending ---- */

static kw_code make_cases(evaluator *e, candidate *c, size_t *n, kw_error *err)
{
    *n = 0;
    kw_code code;
    switch (c->kind) {
    case CANDIDATE_PROBE:
        return KW_OK;
    case CANDIDATE_TASK:
        *n = cases_for_task(c->cases, e->cases);
        return *n > 0 ? KW_OK : kw_error_set(err, KW_FAILED, "the task has no small shape");
    case CANDIDATE_GENERAL:
        code = cases_general(c->cases, c->variant, e->cases, n, &c->general_complete, err);
        if (code == KW_OK)
            cases_add_exact_target(c->cases, c->variant, &c->target, e->cases, n);
        return code;
    case CANDIDATE_DEEP:
        return cases_deep(c->cases, c->variant, e->cases, n, err);
    case CANDIDATE_SHAPE:
    case CANDIDATE_RETIME:
        return cases_target_only(c->cases, c->variant, &c->target, e->cases, n, err);
    case CANDIDATE_TARGET:
        break;
    }
    return cases_for_target(c->cases, c->variant, &c->target, e->cases, n, err);
}

static job_mode mode_of(const candidate *c)
{
    switch (c->kind) {
    case CANDIDATE_GENERAL:
    case CANDIDATE_DEEP:
        return JOB_VERIFY;
    case CANDIDATE_RETIME:
        return JOB_TIME;
    case CANDIDATE_TASK:
        return JOB_CHECK;
    case CANDIDATE_PROBE:
        return JOB_PROBE;
    case CANDIDATE_TARGET:
    case CANDIDATE_SHAPE:
        break;
    }
    return JOB_EVALUATE;
}

static candidate *next_to_time(const evaluator *e)
{
    return e->ready.first ? e->ready.first : e->compiled.first;
}

/* What a job says of its candidate. */
static void describe(const evaluator *e, const candidate *c, bool compile_only, job *j)
{
    const variant *v = c->variant, *trusted = c->cases->trusted;
    j->lang = v->lang;
    j->source = v->source;
    j->options = v->options;
    j->task = v->task;
    j->types = v->types;
    j->timing.cold = e->options.cold;
    j->timing.min_samples = policy_samples(c->hopeless_ns, !is_cpu(e) && e->n_workers > 1 && !next_to_time(e));
    j->timing.max_ns = 2000000000;
    j->timing.hopeless_ns = c->hopeless_ns;
    j->timing.method = c->method;
    if (trusted && !compile_only) {
        j->trusted_source = trusted->source;
        j->trusted_options = trusted->options;
    }
}

static void job_for_task(job *j, const case_source *cases)
{
    j->source = j->options = "";
    j->task = cases->task;
    j->types = *cases->types;
}

/* false when the job cannot even be made: then the candidate is finished. */
static bool send(evaluator *e, candidate *c, size_t worker, bool compile_only)
{
    kw_error err;
    size_t n = 0;
    kw_error_clear(&err);
    if (make_cases(e, c, &n, &err) != KW_OK) {
        c->record.outcome = OUTCOME_REJECTED;
        c->record.stage = STAGE_EXPAND;
        c->record.detail = mem_strdup(err.message);
        finish(e, c);
        return false;
    }
    job j;
    memset(&j, 0, sizeof j);
    j.id = c->id;
    j.device = e->device.spec;
    j.mode = compile_only ? JOB_COMPILE : mode_of(c);
    j.cases = e->cases;
    j.n_cases = n;
    j.limits.compile_ms = e->options.compile_ms;
    j.limits.run_ms = e->options.run_ms;
    j.verify_ms = c->kind == CANDIDATE_DEEP ? e->options.deep_ms : 0;
    if (c->variant)
        describe(e, c, compile_only, &j);
    if (c->kind == CANDIDATE_TASK)
        job_for_task(&j, c->cases);
    strb line = STRB_INIT;
    job_print(&j, &line);
    c->sent_ns = clock_now_ns();
    c->worker = worker;
    e->by_worker[worker] = c;
    pool_submit(e->pool, worker, c->id, strb_text(&line), line.length, j.limits);
    strb_clear(&line);
    return true;
}

static size_t compile_batch(const evaluator *e)
{
    return policy_batch(&e->rates, e->n_workers - 1);
}

static bool may_compile(const evaluator *e)
{
    if (e->again.first || e->alone)
        return false;
    if (is_cpu(e))
        return e->phase_compiled + e->in_compile < compile_batch(e);
    return e->compiled.n + e->in_compile < policy_ahead(&e->rates, e->n_workers - 1);
}

static bool compile(evaluator *e, candidate *c, size_t worker)
{
    c->state = COMPILING;
    if (!send(e, c, worker, true))
        return false;
    e->in_compile++;
    return true;
}

static void start_compiles(evaluator *e)
{
    for (size_t w = 1; w < e->n_workers; w++) {
        if (!pool_is_idle(e->pool, w))
            continue;
        if (e->again.first && e->in_compile == 0) {
            candidate *c = pop(&e->again);
            e->alone = compile(e, c, w) ? c : NULL;
            return;
        }
        if (!e->waiting.first || !may_compile(e))
            return;
        compile(e, pop(&e->waiting), w);
    }
}

/* Other workers load their drivers while they start: a CPU device is not probed beside that. */
static bool must_wait(const evaluator *e, const candidate *c)
{
    bool starting = false;
    for (size_t w = 1; c && c->kind == CANDIDATE_PROBE && is_cpu(e) && w < e->n_workers; w++)
        starting = starting || pool_is_starting(e->pool, w);
    return starting;
}

static void start_timing(evaluator *e)
{
    while (!e->on_timing && pool_is_idle(e->pool, TIMING_WORKER) && !must_wait(e, next_to_time(e))) {
        candidate *c = pop(e->ready.first ? &e->ready : &e->compiled);
        if (!c)
            return;
        c->state = RUNNING;
        e->is_fresh = false;
        if (send(e, c, TIMING_WORKER, false))
            e->on_timing = c;
    }
}

static bool is_new(const candidate *c)
{
    return c->kind == CANDIDATE_TARGET || c->compile_first;
}

/* Re-timing, other shapes and mostly general verification use what is compiled already. */
static bool skips_compile(const evaluator *e, const candidate *c)
{
    return e->n_workers == 1 || !is_new(c);
}

static void schedule(evaluator *e)
{
    if (pool_interrupted(e->pool))
        return;
    if (!is_cpu(e)) {
        /* The first of all is compiled by the timing worker itself, which then draws inputs and asks the
           reference while the others are still compiling. */
        if (e->is_fresh && e->waiting.first && !next_to_time(e))
            push(&e->compiled, pop(&e->waiting));
        start_timing(e);
        start_compiles(e);
        return;
    }
    if (e->compile_phase) {
        if (!e->on_timing)
            start_compiles(e);
        bool full = e->phase_compiled >= compile_batch(e) || !e->waiting.first;
        if (e->in_compile == 0 && full && next_to_time(e))
            e->compile_phase = false;
        if (e->in_compile == 0 && full && !e->compiled.first && !e->on_timing) {
            e->phase_compiled = 0; /* none of them compiles: the next ones */
            start_compiles(e);
        }
    }
    if (!e->compile_phase) {
        start_timing(e);
        if (!e->on_timing && !next_to_time(e)) {
            e->compile_phase = true;
            e->phase_compiled = 0;
            start_compiles(e);
        }
    }
}

/* ---- receiving ---- */

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
        trace_add(e->options.trace, worker + 1, parts[i].what, name, from, from + (int64_t)(parts[i].ms * 1e6), 1);
    }
    /* Its length is right, its place is not: the device's parts of both stages in one piece. */
    if (r->device_ms > 0) {
        int64_t from = c->sent_ns + (int64_t)((r->verify_ms > 0 ? r->verify_start_ms : r->time_start_ms) * 1e6);
        trace_add(e->options.trace, DEVICE_TRACK + worker, "device", name, from, from + (int64_t)(r->device_ms * 1e6),
                  0);
    }
}

static void take_record(job_record *to, job_record *from)
{
    job_record_clear(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static void compile_done(evaluator *e, candidate *c, job_record *r)
{
    bool was_alone = e->alone == c;
    e->in_compile--;
    e->alone = was_alone ? NULL : e->alone;
    if (r->out_of_memory && !was_alone) {
        log_debug("%s: no memory to compile a candidate, it is tried again alone", c->variant->template_name);
        job_record_clear(r);
        push(&e->again, c);
        return;
    }
    e->phase_compiled++;
    policy_learn(&e->rates.compile_ms, c->sent_ns);
    bool ok = r->outcome == OUTCOME_OK;
    take_record(&c->record, r);
    if (!ok) {
        finish(e, c);
        return;
    }
    c->state = COMPILED;
    insert(&e->compiled, c);
}

/* The real compile time and the compiler's figures are those of the first build; the second came from a cache. */
static void timing_done(evaluator *e, candidate *c, job_record *r)
{
    e->on_timing = NULL;
    if (is_new(c) && c->record.compile_ms > 0)
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
    finish(e, c);
}

static void on_event(const pool_event *event, void *cookie)
{
    evaluator *e = cookie;
    if (event->kind != POOL_DONE || event->worker >= e->n_workers)
        return;
    candidate *c = e->by_worker[event->worker];
    if (!c || c->id != event->job) {
        job_record_clear(event->record);
        return;
    }
    e->by_worker[event->worker] = NULL;
    trace_record(e, c, event->record, event->worker);
    if (event->worker == TIMING_WORKER)
        timing_done(e, c, event->record);
    else
        compile_done(e, c, event->record);
}

/* ---- life ---- */

kw_code evaluator_open(const evaluator_options *options, evaluator **out, kw_error *err)
{
    *out = NULL;
    evaluator *e = mem_calloc(1, sizeof *e);
    e->options = *options;
    e->compile_phase = true;
    e->n_workers = 1;
    if (e->options.compile_ms <= 0)
        e->options.compile_ms = DEFAULT_COMPILE_MS;
    if (e->options.run_ms <= 0)
        e->options.run_ms = DEFAULT_RUN_MS;
    e->cases = mem_calloc(JOB_MAX_CASES, sizeof *e->cases);
    e->by_worker = mem_calloc(1, sizeof *e->by_worker);
    pool_options po = {.worker_command = options->worker_command, .n_workers = 1};
    kw_code code = pool_start(&po, on_event, e, &e->pool, err);
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
    e->n_workers = 1 + policy_compile_workers(&e->device, pool_hello(e->pool), options->compile_workers);
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
    e->is_fresh = e->is_fresh || (e->pending == 0 && is_new(c));
    e->pending++;
    push(skips_compile(e, c) ? &e->ready : &e->waiting, c);
    schedule(e);
}

size_t evaluator_pending(const evaluator *e)
{
    return e->pending;
}

size_t evaluator_depth(const evaluator *e)
{
    return policy_depth(is_cpu(e), e->n_workers - 1);
}

bool evaluator_is_starved(const evaluator *e)
{
    return !e->on_timing && !next_to_time(e) && !e->waiting.first && !e->finished.first;
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
    int64_t end_ns = clock_now_ns() + (timeout_ms > 0 ? timeout_ms * 1000000 : 0);
    while (e->pending > 0) {
        schedule(e);
        candidate *c = pop(&e->finished);
        if (c) { /* what came with the last events counts, also when the run is over */
            kw_error_clear(err);
            e->pending--;
            return c;
        }
        if (over != KW_OK)
            return NULL;
        int64_t left_ms = timeout_ms < 0 ? -1 : (end_ns - clock_now_ns() + 999999) / 1000000;
        if (timeout_ms >= 0 && left_ms <= 0)
            return NULL;
        over = wait_for_workers(e, left_ms, err);
    }
    return NULL;
}

void evaluator_forget(evaluator *e)
{
    static const queue empty;
    e->waiting = e->ready = e->compiled = e->finished = e->again = empty;
    e->alone = NULL;
    memset(e->by_worker, 0, e->n_workers * sizeof *e->by_worker);
    e->on_timing = NULL;
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
