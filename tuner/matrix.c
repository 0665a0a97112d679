/* Recording a matrix: configurations one after the other, each on all its shapes while its program is loaded. */
#include "tuner/matrix_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is so much slower than the best at its shape is not timed to the end: two samples do. */
#define HOPELESS 5.0

/* A candidate on its way. shape: of the cell; of the first stage (compiling, and verification unless that was done
 * earlier) the shape that a failure is booked under. */
typedef struct flight {
    candidate c;
    column *column;
    size_t shape;
    struct flight *next;
} flight;

typedef struct loop {
    matrix m;
    flight *flying;
    size_t n_first; /* configurations in their first stage */
    int64_t start_ns;
} loop;

static double seconds(const loop *l)
{
    return (double)(clock_now_ns() - l->start_ns) / 1e9;
}

static bool time_is_up(const loop *l)
{
    return l->m.o->seconds > 0 && seconds(l) >= l->m.o->seconds;
}

static void submit(loop *l, column *c, size_t shape, candidate_kind kind, bool first)
{
    const matrix_shape *s = &l->m.shapes[shape];
    flight *f = mem_calloc(1, sizeof *f);
    f->column = c;
    f->shape = shape;
    f->c = (candidate){.kind = kind,
                       .variant = c->v,
                       .cases = &l->m.cases,
                       .target = l->m.o->shapes[shape],
                       .compile_first = first,
                       .hopeless_ns = isfinite(s->best_ns) ? HOPELESS * s->best_ns : 0,
                       .method = s->batch ? TIMING_BATCH : TIMING_AUTO,
                       .cookie = f};
    f->next = l->flying;
    l->flying = f;
    l->n_first += first;
    c->is_active = true;
    c->n_pending++;
    if (kind != CANDIDATE_GENERAL)
        c->cells[shape].state = CELL_PENDING;
    evaluator_submit(l->m.e, &f->c);
}

/* ---- a configuration ---- */

/* The first shape with work to do; n_shapes: there is none. */
static size_t first_open(const loop *l, const column *c)
{
    size_t i = 0;
    while (i < l->m.o->n_shapes && !matrix_is_open(&l->m, c, i))
        i++;
    return i;
}

/* What did not pass enough other shapes meets its hidden shapes with each target. */
static candidate_kind kind_for_shapes(const column *c)
{
    return c->general ? CANDIDATE_SHAPE : CANDIDATE_TARGET;
}

static void submit_shapes(loop *l, column *c)
{
    for (size_t i = 0; i < l->m.o->n_shapes; i++)
        if (matrix_is_open(&l->m, c, i))
            submit(l, c, i, kind_for_shapes(c), false);
}

/* Those that are known come first, and those of which a shape has changed its method; then new ones. */
static bool start_next(loop *l)
{
    matrix *m = &l->m;
    column *c = NULL;
    size_t shape = 0;
    for (size_t i = 0; i < m->n_columns && !c; i++) {
        shape = m->columns[i]->is_active ? m->o->n_shapes : first_open(l, m->columns[i]);
        c = shape < m->o->n_shapes ? m->columns[i] : NULL;
    }
    if (!c) {
        c = matrix_new_column(m);
        shape = c ? first_open(l, c) : 0;
    }
    if (!c)
        return false;
    bool verify = !c->general && m->t->reference;
    submit(l, c, shape, verify ? CANDIDATE_GENERAL : kind_for_shapes(c), true);
    return true;
}

/* ---- results ---- */

static kw_code keep(loop *l, column *c, size_t shape, const job_record *record, kw_error *err)
{
    matrix *m = &l->m;
    const matrix_shape *s = &m->shapes[shape];
    char date[21];
    verified level = c->general ? VERIFIED_GENERAL : m->t->reference ? VERIFIED_EXACT : VERIFIED_NOT;
    measurement row = rows_make(&s->rows, c->v, c->config_json, record, level, date);
    kw_code code = KW_OK;
    if (row.outcome == OUTCOME_OK && !c->is_kept)
        code = store_add_variant(m->s, c->v, err);
    c->is_kept = c->is_kept || row.outcome == OUTCOME_OK;
    if (code == KW_OK)
        code = store_add(m->s, &row, err);
    matrix_note(m, c, shape, &row);
    m->out->measured++;
    m->out->stopped_early += record->stopped_early;
    if (m->o->tune.on_progress) {
        tune_progress p = {.shape = s->shape,
                           .m = &row,
                           .done = m->out->measured,
                           .seconds = seconds(l),
                           .seconds_budget = m->o->seconds,
                           .best_ns = s->best_ns,
                           .purpose = "matrix"};
        m->o->tune.on_progress(&p, m->o->tune.cookie);
    }
    return code;
}

static void tell_all(loop *l, const column *c)
{
    for (size_t i = 0; i < l->m.o->n_shapes; i++)
        matrix_tell(&l->m, c, i);
}

/* Verified on edge and random shapes, or not. */
static kw_code take_general(loop *l, flight *f, kw_error *err)
{
    column *c = f->column;
    const job_record *r = &f->c.record;
    bool none_fits = r->outcome == OUTCOME_REJECTED && r->stage == STAGE_EXPAND; /* no small shape is taken */
    if (r->outcome == OUTCOME_OK || none_fits) {
        c->general = !none_fits && f->c.general_complete;
        submit_shapes(l, c);
        return KW_OK;
    }
    kw_code code = keep(l, c, f->shape, &f->c.record, err);
    c->failed = true; /* whatever it was: it comes before all shapes */
    tell_all(l, c);
    return code;
}

static kw_code take_shape(loop *l, flight *f, bool first, kw_error *err)
{
    column *c = f->column;
    c->cells[f->shape].state = CELL_OPEN;
    rows_judge(&l->m.shapes[f->shape].rows, c->v, &f->c.record);
    kw_code code = keep(l, c, f->shape, &f->c.record, err);
    if (c->failed)
        tell_all(l, c);
    else
        matrix_tell(&l->m, c, f->shape);
    if (first && !c->failed)
        submit_shapes(l, c);
    return code;
}

static kw_code take(loop *l, flight *f, kw_error *err)
{
    flight **link = &l->flying;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    column *c = f->column;
    bool first = f->c.compile_first;
    c->n_pending--;
    l->n_first -= first;
    kw_code code = f->c.kind == CANDIDATE_GENERAL ? take_general(l, f, err) : take_shape(l, f, first, err);
    c->is_active = c->n_pending > 0;
    job_record_clear(&f->c.record);
    free(f);
    return code;
}

static kw_code run(loop *l, kw_error *err)
{
    bool more = true;
    while (!time_is_up(l)) {
        while (l->n_first < evaluator_depth(l->m.e) && (more = start_next(l)))
            continue;
        candidate *c = evaluator_next(l->m.e, err);
        if (!c && err->code != KW_OK)
            return err->code;
        if (!c && !more)
            return KW_OK;
        kw_code code = c ? take(l, c->cookie, err) : KW_OK;
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

/* ---- the whole ---- */

static kw_code open_shapes(matrix *m, kw_error *err)
{
    const tune_options *o = &m->o->tune;
    const template *f = o->fallback ? o->fallback : m->p->is_fallback ? m->p : NULL;
    if (f) {
        uint32_t *config = mem_calloc(f->n_params + 1, sizeof *config);
        template_default(f, config);
        kw_code code = variant_expand(f, &o->types, config, m->o->shapes, &m->trusted, err);
        free(config);
        if (code != KW_OK)
            return code;
    }
    m->shapes = mem_calloc(m->o->n_shapes, sizeof *m->shapes);
    for (size_t i = 0; i < m->o->n_shapes; i++) {
        matrix_shape *s = &m->shapes[i];
        s->shape = &m->o->shapes[i];
        s->best_ns = INFINITY;
        rows_init(&s->rows, m->e, m->t, &o->types, s->shape, o->cold);
        rows_use_probe(&s->rows, o->probe);
    }
    return case_source_init(&m->cases, m->t, &o->types, &evaluator_device(m->e)->limits, m->trusted, o->seed, err);
}

static void count(const matrix *m, matrix_result *out)
{
    out->configs = m->n_columns;
    out->complete = m->n_columns >= m->o->n_configs || m->exhausted;
    for (size_t i = 0; i < m->n_columns; i++) {
        const column *c = m->columns[i];
        out->failed_configs += c->failed;
        for (size_t k = 0; k < m->o->n_shapes; k++) {
            const cell *x = &c->cells[k];
            bool pending = x->state == CELL_PENDING; /* it was dropped */
            bool open = pending || matrix_is_open(m, c, k);
            out->open += open;
            out->unfit += x->state == CELL_UNFIT;
            out->ok += !open && x->state == CELL_OK;
            out->failed += !open && x->state != CELL_OK && x->state != CELL_UNFIT;
        }
    }
    out->complete = out->complete && out->open == 0;
}

static void end(loop *l)
{
    matrix *m = &l->m;
    evaluator_forget(m->e);
    while (l->flying) {
        flight *f = l->flying;
        l->flying = f->next;
        job_record_clear(&f->c.record);
        free(f);
    }
    matrix_clear_columns(m);
    for (size_t i = 0; m->shapes && i < m->o->n_shapes; i++)
        rows_clear(&m->shapes[i].rows);
    free(m->shapes);
    case_source_clear(&m->cases);
    variant_free(m->trusted);
}

kw_code matrix_record(evaluator *e, store *s, const task *t, const matrix_options *o, matrix_result *out, kw_error *err)
{
    loop l = {.m = {.e = e, .s = s, .t = t, .o = o, .p = o->tune.templates[0], .out = out}, .start_ns = clock_now_ns()};
    memset(out, 0, sizeof *out);
    kw_code code = open_shapes(&l.m, err);
    if (code == KW_OK)
        code = matrix_open_spaces(&l.m, err);
    if (code == KW_OK)
        code = matrix_reuse(&l.m, err);
    if (code == KW_OK)
        code = run(&l, err);
    if (l.m.shapes)
        count(&l.m, out);
    out->seconds = seconds(&l);
    if (code == KW_OK && out->complete && out->ok == 0)
        code = kw_error_set(err, KW_FAILED, "none of %zu configurations could be timed for any shape", out->configs);
    end(&l);
    return code;
}
