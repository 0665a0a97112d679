/* From a candidate to a job. */
#include "tuner/evaluator_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static kw_code make_cases(evaluator *e, candidate *c, size_t *n, kw_error *err)
{
    *n = 0;
    kw_code code;
    switch (c->kind) {
    case CANDIDATE_PROBE:
    case CANDIDATE_BINARY:
        return KW_OK;
    case CANDIDATE_TASK:
        *n = cases_for_task(c->cases, e->cases);
        return *n > 0 ? KW_OK : kw_error_set(err, KW_FAILED, "the task has no small shape");
    case CANDIDATE_GENERAL:
        code = cases_general(c->cases, c->variant, e->cases, n, &c->general_complete, err);
        if (code == KW_OK)
            cases_add_targets(c->cases, c->variant, &c->target, e->cases, n);
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
    case CANDIDATE_BINARY:
        return JOB_BINARY;
    case CANDIDATE_TARGET:
    case CANDIDATE_SHAPE:
        break;
    }
    return JOB_EVALUATE;
}

/* Would a GPU only wait for compilers if it timed for less long? */
static bool is_idle_beside(const evaluator *e)
{
    return !evaluator_is_cpu(e) && e->n_workers > 1 && !evaluator_next_to_time(e) && !evaluator_times(e);
}

/* What a job says of its candidate. */
static void describe(const evaluator *e, const candidate *c, bool compile_only, job *j)
{
    const variant *v = c->variant, *trusted = c->cases ? c->cases->trusted : NULL;
    j->lang = v->lang;
    j->source = v->source;
    j->options = v->options;
    j->task = v->task;
    j->types = v->types;
    j->timing.cold = e->options.cold;
    j->timing.min_samples = policy_samples(c->hopeless_ns, is_idle_beside(e));
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

/* Nobody has to be asked where one worker has the device for itself. */
static job_turns turns_for(const evaluator *e)
{
    return e->pauses ? TURNS_TIME : e->n_timing > 1 ? TURNS_ALL : TURNS_NONE;
}

bool evaluator_send(evaluator *e, candidate *c, size_t worker, bool compile_only)
{
    kw_error err;
    size_t n = 0;
    kw_error_clear(&err);
    if (make_cases(e, c, &n, &err) != KW_OK) {
        c->record.outcome = OUTCOME_REJECTED;
        c->record.stage = STAGE_EXPAND;
        c->record.detail = mem_strdup(err.message);
        evaluator_finish(e, c);
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
    j.prepare = compile_only && !e->has_prepared;
    e->has_prepared = e->has_prepared || compile_only;
    j.turns = compile_only ? TURNS_NONE : turns_for(e);
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
