/* Checking a task with a worker of its own. */
#include "tuner/task_check.h"

#include "base/mem.h"
#include "tuner/cases.h"
#include "tuner/pool.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MS 60000

typedef struct answer {
    bool there;
    job_record record;
} answer;

static void on_event(const pool_event *e, void *cookie)
{
    answer *a = cookie;
    if (e->kind != POOL_DONE)
        return;
    a->there = true;
    a->record = *e->record;
    memset(e->record, 0, sizeof *e->record);
}

kw_code task_check_result(const task *t, const job_record *r, kw_error *err)
{
    if (r->outcome == OUTCOME_OK)
        return KW_OK;
    return kw_error_set(err, KW_FAILED, "task %s cannot be checked: %s", t->name, r->detail ? r->detail : "no detail");
}

static kw_code run(pool *p, answer *a, const task *t, const task_types *types, kw_error *err)
{
    static const device_limits none;
    case_source source;
    kw_code code = case_source_init(&source, t, types, &none, NULL, 0, err);
    if (code != KW_OK)
        return code;
    job_case *cases = mem_calloc(JOB_MAX_CASES, sizeof *cases);
    job j = {.id = 1,
             .device = "",
             .mode = JOB_CHECK,
             .source = "",
             .options = "",
             .task = t,
             .types = *types,
             .cases = cases,
             .n_cases = cases_for_task(&source, cases),
             .limits = {.compile_ms = 2 * RUN_MS, .run_ms = RUN_MS}};
    if (j.n_cases > 0) { /* a task of large shapes only is taken as it is */
        strb line = STRB_INIT;
        job_print(&j, &line);
        pool_submit(p, 0, j.id, strb_text(&line), line.length, j.limits);
        strb_clear(&line);
        while (code == KW_OK && !a->there)
            code = pool_poll(p, -1, err);
        if (code == KW_OK)
            code = task_check_result(t, &a->record, err);
    }
    free(cases);
    case_source_clear(&source);
    return code;
}

kw_code task_check(const task *t, const task_types *types, kw_error *err)
{
    const pool_options o = {.n_workers = 1};
    answer a;
    pool *p;
    memset(&a, 0, sizeof a);
    if (!t->reference)
        return KW_OK;
    kw_code code = pool_start(&o, on_event, &a, &p, err);
    if (code != KW_OK)
        return code;
    code = run(p, &a, t, types, err);
    pool_stop(p);
    job_record_clear(&a.record);
    return code;
}
