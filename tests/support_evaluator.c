#include "tests/support_evaluator.h"

#include "base/fs.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

const template_text setting_plain = {.name = "plain",
                                     .params =
                                         "\"TIME\": {\"values\": [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]}",
                                     .directives = "time_ns=${TIME}"};

void setting_open(setting *s, const evaluator_options *o)
{
    kw_error err = {0};
    if (evaluator_open(o, &s->e, &err) != KW_OK)
        fail_msg("%s", err.message);
}

setting *setting_begin(const template_text *text, const evaluator_options *o)
{
    setting *s = mem_calloc(1, sizeof *s);
    kw_error err = {0};
    s->t = saxpy_task();
    s->types = default_types(s->t);
    s->p = template_of_text(s->t, text);
    if (case_source_init(&s->source, s->t, &s->types, fake_limits(), NULL, 0, &err) != KW_OK)
        fail_msg("%s", err.message);
    setting_open(s, o);
    return s;
}

void setting_end(setting *s)
{
    evaluator_close(s->e);
    for (size_t i = 0; i < s->n; i++) {
        job_record_clear(&s->c[i].record);
        variant_free(s->v[i]);
    }
    if (s->folder)
        fs_remove_tree(s->folder);
    free(s->folder);
    case_source_clear(&s->source);
    template_free(s->p);
    task_free(s->t);
    free(s);
}

candidate *setting_add(setting *s, uint32_t index, candidate_kind kind, const char *dims)
{
    kw_error err = {0};
    uint32_t config[4] = {index};
    task_shape shape = shape_of(s->t, dims);
    candidate *c = &s->c[s->n];
    if (variant_expand(s->p, &s->types, config, &shape, &s->v[s->n], &err) != KW_OK)
        fail_msg("%s", err.message);
    c->kind = kind;
    c->variant = s->v[s->n++];
    c->cases = &s->source;
    c->target = shape;
    evaluator_submit(s->e, c);
    return c;
}

candidate *setting_next(setting *s)
{
    kw_error err = {0};
    candidate *c = evaluator_next(s->e, &err);
    if (!c)
        fail_msg("nothing came back: %s", err.message);
    return c;
}

void setting_all_ok(setting *s)
{
    kw_error err = {0};
    for (size_t i = 0; i < s->n; i++) {
        candidate *c = setting_next(s);
        if (c->record.outcome != OUTCOME_OK)
            fail_msg("%s: %s", outcome_name(c->record.outcome), c->record.detail);
    }
    assert_int_equal(evaluator_pending(s->e), 0);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_OK);
}
