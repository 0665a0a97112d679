#include "tests/support_tuning.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void on_progress(const tune_progress *p, void *cookie)
{
    tuning *s = cookie;
    if (p->reused)
        s->reused++;
    else if (strcmp(p->purpose, "search") == 0)
        s->searched++;
    else if (strcmp(p->purpose, "retime") == 0)
        s->retimed++;
    else if (strcmp(p->purpose, "general") == 0)
        s->general++;
    if (s->signal_after && s->searched == s->signal_after)
        kill(getpid(), SIGINT);
}

void tuning_open_evaluator(tuning *s)
{
    const evaluator_options o = {.device = "fake:0", .compile_workers = 1, .compile_ms = 60000, .run_ms = 60000};
    if (evaluator_open(&o, &s->e, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
}

void tuning_templates(tuning *s, const template_text *texts, size_t n)
{
    for (size_t i = 0; i < s->o.n_templates; i++)
        template_free(s->p[i]);
    for (size_t i = 0; i < n; i++)
        s->borrowed[i] = s->p[i] = template_of_text(s->t, &texts[i]);
    s->o.n_templates = n;
}

int tuning_begin(void **state)
{
    tuning *s = mem_calloc(1, sizeof *s);
    s->t = saxpy_task();
    s->shape = shape_of(s->t, "N=1000");
    s->o.types = default_types(s->t);
    s->o.templates = s->borrowed;
    s->o.strategy = strategy_find("exhaustive", NULL);
    s->o.budget.configurations = 1000;
    s->o.on_progress = on_progress;
    s->o.cookie = s;
    tuning_open_evaluator(s);
    if (store_open(":memory:", false, &s->s, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    *state = s;
    return 0;
}

int tuning_end(void **state)
{
    tuning *s = *state;
    evaluator_close(s->e);
    store_close(s->s);
    tuning_templates(s, NULL, 0);
    tune_result_clear(&s->r);
    task_free(s->t);
    free(s);
    return 0;
}

kw_code tuning_run(tuning *s)
{
    s->searched = s->retimed = s->general = s->reused = 0;
    tune_result_clear(&s->r);
    kw_error_clear(&s->err);
    return tune_shape(s->e, s->s, s->t, &s->o, &s->shape, &s->r, &s->err);
}

void tuning_run_ok(tuning *s)
{
    if (tuning_run(s) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_true(s->r.found);
}

void tuning_run_again(tuning *s)
{
    char hash[HASH_HEX_SIZE];
    uint64_t known = s->r.measured + s->r.reused;
    memcpy(hash, s->r.source_hash, sizeof hash);
    tuning_run_ok(s);
    assert_string_equal(s->r.source_hash, hash);
    assert_int_equal(s->r.measured, 0);
    assert_int_equal(s->r.reused, known);
    assert_int_equal(s->searched + s->retimed + s->general, 0);
}

static bool count_row(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return true;
}

size_t tuning_rows(tuning *s, const store_query *q)
{
    size_t n = 0;
    if (store_each(s->s, q, count_row, &n, &s->err) != KW_OK)
        fail_msg("%s", s->err.message);
    return n;
}
