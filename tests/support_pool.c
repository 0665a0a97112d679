#include "tests/support_pool.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void events_note(const pool_event *event, void *cookie)
{
    events *e = cookie;
    assert_true(e->n < MAX_EVENTS);
    e->list[e->n].kind = event->kind;
    e->list[e->n].worker = event->worker;
    e->list[e->n].job = event->job;
    e->list[e->n].stage = event->stage;
    e->list[e->n].turn = event->turn;
    if (event->kind == POOL_DONE) {
        e->list[e->n].outcome = event->record->outcome;
        snprintf(e->list[e->n].text, sizeof e->list[0].text, "%.500s",
                 event->record->detail ? event->record->detail : "");
        job_record_clear(event->record);
        e->n_done++;
    }
    if (event->kind == POOL_FAILED)
        snprintf(e->list[e->n].text, sizeof e->list[0].text, "%.500s", event->error->message);
    e->n++;
}

pool *pool_of(const char *command, size_t n, events *e)
{
    kw_error err = {0};
    pool_options o = {.worker_command = command, .n_workers = n, .hello_ms = TEST_PATIENCE_MS};
    pool *p = NULL;
    memset(e, 0, sizeof *e);
    if (pool_start(&o, events_note, e, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    return p;
}

kw_code pool_run_until(pool *p, const events *e, size_t n, kw_error *err)
{
    int64_t end = clock_now_ns() + (int64_t)TEST_PATIENCE_MS * 1000000;
    while (e->n_done < n) {
        kw_code code = pool_poll(p, 1000, err);
        if (code != KW_OK)
            return code;
        if (clock_now_ns() > end)
            fail_msg("only %zu of %zu jobs came back", e->n_done, n);
    }
    return KW_OK;
}

void pool_until_idle(pool *p, size_t worker)
{
    int64_t end = clock_now_ns() + (int64_t)TEST_PATIENCE_MS * 1000000;
    while (!pool_is_idle(p, worker)) {
        kw_error err = {0};
        if (pool_poll(p, 1000, &err) != KW_OK)
            fail_msg("%s", err.message);
        if (clock_now_ns() > end)
            fail_msg("worker %zu is never idle", worker);
    }
}

void pool_until_restarted(pool *p, int64_t n)
{
    int64_t end = clock_now_ns() + (int64_t)TEST_PATIENCE_MS * 1000000;
    while (pool_restarts(p) < n) {
        kw_error err = {0};
        if (pool_poll(p, 100, &err) != KW_OK)
            fail_msg("%s", err.message);
        if (clock_now_ns() > end)
            fail_msg("restarted only %d times", (int)pool_restarts(p));
    }
}

void pool_submit_with(pool *p, size_t worker, int64_t id, const char *directives, job_limits limits)
{
    test_job tj;
    strb line = STRB_INIT;
    test_job_make(&tj, "saxpy", directives);
    test_job_add(&tj, "N=100", DIST_NORMAL, 1);
    test_job_add(&tj, "N=500", DIST_INTEGERS, 2);
    tj.j.id = id;
    tj.j.limits = limits;
    job_print(&tj.j, &line);
    pool_submit(p, worker, id, strb_text(&line), line.length, limits);
    strb_clear(&line);
    test_job_clear(&tj);
}

void pool_submit_saxpy(pool *p, size_t worker, int64_t id, const char *directives)
{
    pool_submit_with(p, worker, id, directives, (job_limits){60000, 60000});
}

void events_expect(const events *e, size_t i, int64_t id, outcome o, const char *part)
{
    if (e->list[i].kind != POOL_DONE || e->list[i].job != id || e->list[i].outcome != o ||
        !strstr(e->list[i].text, part))
        fail_msg("event %zu: kind %d, job %d, %s: %s", i, (int)e->list[i].kind, (int)e->list[i].job,
                 outcome_name(e->list[i].outcome), e->list[i].text);
}

bool events_have_stage(const events *e, int64_t id, stage s)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->list[i].kind == POOL_STAGE && e->list[i].job == id && e->list[i].stage == s)
            return true;
    return false;
}

void pool_poll_for(pool *p, int64_t ms)
{
    kw_error err = {0};
    for (int64_t end = clock_now_ns() + ms * 1000000; clock_now_ns() < end;)
        if (pool_poll(p, 20, &err) != KW_OK)
            fail_msg("%s", err.message);
}
