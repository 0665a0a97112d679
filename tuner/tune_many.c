#include "tuner/tune_many.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tuner/timing.h"
#include "tuner/tune_many_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double seconds(const together *g)
{
    return (double)(clock_now_ns() - g->start_ns) / 1e9;
}

/* One evaluation of each shape is kept for sizes as constants. */
static uint64_t kept_back(const together *g)
{
    for (size_t i = 0; i < g->o->n_templates; i++)
        for (size_t d = 0; d < g->t->n_dims; d++)
            if (g->o->templates[i]->specialize[d] >= 0)
                return g->n_shapes;
    return 0;
}

static bool may_propose(const together *g)
{
    return (g->limit == 0 || g->n + kept_back(g) < g->limit) && (g->seconds <= 0 || seconds(g) < g->seconds);
}

/* ---- results ---- */

static kw_code keep(together *g, flight *f, const variant *v, bool *store_text, const measurement *m, kw_error *err)
{
    kw_code code = KW_OK;
    if (m->outcome == OUTCOME_OK && *store_text) {
        code = store_add_variant(g->s, v, err);
        *store_text = false;
    }
    if (code == KW_OK)
        code = store_add(g->s, m, err);
    if (g->o->on_progress) {
        const one_shape *s = &g->shapes[f->shape];
        tune_progress p = {.shape = s->shape,
                           .m = m,
                           .done = g->out->measured + g->out->reused,
                           .budget = g->limit,
                           .seconds = seconds(g),
                           .seconds_budget = g->seconds,
                           .best_ns = s->best_ns,
                           .purpose = f->again ? "retime" : "search"};
        g->o->on_progress(&p, g->o->cookie);
    }
    return code;
}

static void drop(flight *f)
{
    job_record_clear(&f->c.record);
    variant_free(f->special);
    free(f->special_json);
    free(f);
}

/* The outcome is kept at once; who chooses hears of it in its turn. */
static kw_code take(together *g, flight *f, kw_error *err)
{
    one_shape *s = &g->shapes[f->shape];
    const variant *v = f->c.variant;
    char date[21];
    rows_judge(&s->rows, v, &f->c.record);
    char *config_json = f->special ? f->special_json : g->known[f->known].config_json;
    measurement m =
        rows_make(&s->rows, v, config_json, &f->c.record, g->t->reference ? VERIFIED_EXACT : VERIFIED_NOT, date);
    bool store_text = f->special || !g->known[f->known].is_kept;
    f->answer = together_answer(&m);
    f->done = true;
    g->out->measured += !f->again;
    g->out->failed += m.outcome != OUTCOME_OK;
    kw_code code = keep(g, f, v, &store_text, &m, err);
    if (!f->special)
        g->known[f->known].is_kept = !store_text;
    job_record_clear(&f->c.record);
    return code;
}

/* ---- turns: as in the search of one shape (tune_turns.c) ---- */

#define LATE_MS 5000

static void take_first(together *g)
{
    flight *f = g->first;
    g->first = f->next;
    if (!g->first)
        g->last = NULL;
    f->next = NULL;
    g->n_untold--;
}

static void tell(together *g, flight *f)
{
    together_note(g, f->shape, f->special ? SIZE_MAX : f->known, &f->answer);
    drop(f);
}

/* Tells the first, which is done; or, where its shape's times are those of batches and its own is not, has it timed
 * again, as in the search of one shape. */
static void tell_first(together *g)
{
    flight *f = g->first;
    const one_shape *s = &g->shapes[f->shape];
    const answer *x = &f->answer;
    if (!f->again && x->ok && !x->batch && (s->batch || x->ns < TIMING_BATCH_BELOW_NS) &&
        !(x->ns >= TOGETHER_HOPELESS * s->best_ns)) {
        f->again = true;
        f->done = false;
        f->asked_ns = clock_now_ns();
        together_submit(g, f, CANDIDATE_RETIME);
        return;
    }
    take_first(g);
    tell(g, f);
}

/* One that keeps all others waiting is told when it comes. */
static void pass(together *g)
{
    flight *f = g->first;
    take_first(g);
    f->late = true;
    f->next = g->late;
    g->late = f;
}

static void tell_late(together *g, flight *f)
{
    flight **link = &g->late;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    tell(g, f);
}

/* Waits for one, if there is one, for so long at most (-1: for ever). */
static kw_code take_next(together *g, int64_t timeout_ms, bool *got, kw_error *err)
{
    candidate *c = evaluator_next_within(g->e, timeout_ms, err);
    *got = c != NULL;
    if (!c)
        return err->code;
    flight *f = c->cookie;
    kw_code code = take(g, f, err);
    if (f->late)
        tell_late(g, f);
    return code;
}

/* Asks as often as it may. *timeout_ms: how long to wait then before trying again. */
static void fill(together *g, bool *more, int64_t *timeout_ms)
{
    size_t depth = evaluator_depth(g->e);
    *timeout_ms = -1;
    while (*more && may_propose(g)) {
        while (g->n_untold >= depth && g->first->done)
            tell_first(g);
        if (g->n_untold < depth) {
            *more = together_propose(g);
            continue;
        }
        int64_t waited_ms = (clock_now_ns() - g->first->asked_ns) / 1000000;
        *timeout_ms = waited_ms < LATE_MS ? LATE_MS - waited_ms : 0;
        if (*timeout_ms > 0 || !evaluator_is_starved(g->e))
            break;
        pass(g);
    }
    if (*timeout_ms == 0) /* late, but the device is busy: until something ends */
        *timeout_ms = -1;
}

/* Takes and tells all that were asked for. */
static kw_code finish(together *g, kw_error *err)
{
    kw_code code = KW_OK;
    bool got = true;
    while (code == KW_OK && (g->first || (g->late && got))) {
        if (g->first && g->first->done)
            tell_first(g);
        else
            code = take_next(g, -1, &got, err);
    }
    return code;
}

static kw_code search(together *g, kw_error *err)
{
    bool more = true, got;
    int64_t timeout_ms;
    while (more && may_propose(g)) {
        int64_t from = clock_now_ns();
        fill(g, &more, &timeout_ms);
        g->out->model_seconds += (double)(clock_now_ns() - from) / 1e9;
        kw_code code = more && may_propose(g) ? take_next(g, timeout_ms, &got, err) : KW_OK;
        if (code != KW_OK)
            return code;
    }
    return finish(g, err);
}

static bool count_row(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return false;
}

static bool is_stored(together *g, size_t shape, const char *hash)
{
    store_query q = rows_query(&g->shapes[shape].rows);
    size_t n = 0;
    kw_error ignored;
    q.source_hash = hash;
    return store_each(g->s, &q, count_row, &n, &ignored) == KW_OK && n > 0;
}

/* Each shape's best with sizes as constants, where its template can; what is there already is not measured again. */
static kw_code try_constants(together *g, kw_error *err)
{
    for (size_t i = 0; i < g->n_shapes; i++) {
        size_t best = many_best(g->model, i);
        const known *k = best == SIZE_MAX ? NULL : &g->known[best];
        arm *a = k ? arms_find(&g->shapes[i].arms, k->p->name) : NULL;
        if (!a)
            continue;
        memcpy(g->config, k->config, k->p->n_params * sizeof *g->config);
        template_specialize(k->p, true, g->config);
        flight *f = mem_calloc(1, sizeof *f);
        f->shape = i;
        f->known = SIZE_MAX;
        if (memcmp(g->config, k->config, k->p->n_params * sizeof *g->config) == 0 ||
            !space_contains(a->space, g->config) ||
            variant_expand(k->p, &g->o->types, g->config, g->shapes[i].shape, &f->special, NULL) != KW_OK ||
            is_stored(g, i, f->special->hash)) {
            drop(f);
            continue;
        }
        f->special_json = template_config_text(k->p, g->config);
        together_asked(g, f);
        together_submit(g, f, CANDIDATE_TARGET);
    }
    return finish(g, err);
}

/* ---- the whole ---- */

static kw_code open_shapes(together *g, const task_shape *shapes, uint64_t budget, kw_error *err)
{
    const tune_options *o = g->o;
    kw_error why;
    kw_error_clear(&why);
    size_t longest = 1, n_valid = 0;
    for (size_t i = 0; i < g->n_shapes; i++) {
        one_shape *s = &g->shapes[i];
        s->shape = &shapes[i];
        s->best_ns = INFINITY;
        rows_init(&s->rows, g->e, g->t, &o->types, s->shape, o->cold);
        rows_use_probe(&s->rows, o->probe);
        kw_code code = arms_init(&s->arms, o->templates, o->n_templates, &o->types, &evaluator_device(g->e)->limits,
                                 s->shape, o->strategy, o->seed + i, budget, &why);
        if (code != KW_OK && code != KW_FAILED)
            return kw_error_set(err, code, "%s", why.message);
        s->has_arms = code == KW_OK;
        n_valid += s->has_arms;
        if (s->has_arms && arms_longest(&s->arms) > longest)
            longest = arms_longest(&s->arms);
    }
    g->config = mem_calloc(longest, sizeof *g->config);
    return n_valid > 0 ? KW_OK : kw_error_set(err, KW_FAILED, "no shape has a valid configuration: %s", why.message);
}

/* Weights only where they differ: a shape is worth its count times its time. */
static void open_model(together *g)
{
    const task *t = g->t;
    double *dims = mem_calloc(g->n_shapes * t->n_dims + 1, sizeof *dims),
           *weights = mem_calloc(g->n_shapes, sizeof *weights);
    size_t n = 0;
    bool differ = false;
    for (size_t d = 0; d < t->n_dims; d++)
        n += t->dims[d].is_key;
    for (size_t i = 0; i < g->n_shapes; i++) {
        size_t at = 0;
        for (size_t d = 0; d < t->n_dims; d++)
            if (t->dims[d].is_key)
                dims[i * n + at++] = log2(1 + (double)g->shapes[i].shape->dims[d]);
        weights[i] = g->shapes[i].shape->weight;
        differ = differ || weights[i] != weights[0];
    }
    g->model = many_new(g->n_shapes, n, dims, differ ? weights : NULL, g->o->seed);
    free(dims);
    free(weights);
}

static kw_code open_cases(together *g, kw_error *err)
{
    const tune_options *o = g->o;
    const template *f = o->fallback;
    for (size_t i = 0; i < o->n_templates && !f; i++)
        f = o->templates[i]->is_fallback ? o->templates[i] : NULL;
    kw_code code = KW_OK;
    if (f) {
        uint32_t *config = mem_calloc(f->n_params + 1, sizeof *config);
        template_default(f, config);
        template_specialize(f, false, config);
        code = variant_expand(f, &o->types, config, g->shapes[0].shape, &g->trusted, err);
        free(config);
    }
    return code == KW_OK
               ? case_source_init(&g->cases, g->t, &o->types, &evaluator_device(g->e)->limits, g->trusted, o->seed, err)
               : code;
}

static void end(together *g)
{
    evaluator_forget(g->e);
    while (g->first) {
        flight *f = g->first;
        take_first(g);
        drop(f);
    }
    while (g->late) {
        flight *f = g->late;
        g->late = f->next;
        drop(f);
    }
    for (size_t i = 0; i < g->n_known; i++) {
        free(g->known[i].config);
        free(g->known[i].config_json);
        variant_free(g->known[i].v);
    }
    for (size_t i = 0; i < g->n_shapes; i++) {
        if (g->shapes[i].has_arms)
            arms_clear(&g->shapes[i].arms);
        rows_clear(&g->shapes[i].rows);
    }
    free(g->known);
    free(g->shapes);
    free(g->config);
    many_free(g->model);
    case_source_clear(&g->cases);
    variant_free(g->trusted);
}

kw_code tune_many(evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shapes,
                  size_t n_shapes, const tune_budget *total, tune_many_result *out, kw_error *err)
{
    together g = {.e = e,
                  .s = s,
                  .t = t,
                  .o = o,
                  .n_shapes = n_shapes,
                  .shapes = mem_calloc(n_shapes, sizeof *g.shapes),
                  .limit = total->configurations,
                  .seconds = total->seconds,
                  .start_ns = clock_now_ns(),
                  .out = out};
    memset(out, 0, sizeof *out);
    kw_code code =
        open_shapes(&g, shapes, total->configurations ? total->configurations / n_shapes + 1 : UINT64_MAX, err);
    if (code == KW_OK)
        code = open_cases(&g, err);
    if (code == KW_OK) {
        open_model(&g);
        code = together_reuse(&g, err);
    }
    if (code == KW_OK)
        code = search(&g, err);
    if (code == KW_OK)
        code = try_constants(&g, err);
    out->configs = g.n_known;
    end(&g);
    return code;
}
