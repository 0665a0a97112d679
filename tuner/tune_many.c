#include "tuner/tune_many.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/arms.h"
#include "tuner/many.h"
#include "tuner/rows.h"
#include "tuner/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOPELESS 2.0 /* as in the search of one shape */
#define START 3      /* evaluations of a shape before the model chooses, beside the defaults */
#define MAX_HINTS 64
#define OWN_EVERY 4 /* one proposal in so many is of the shape's own strategy */

/* One text, sizes as arguments. */
typedef struct known {
    const template *p;
    uint32_t *config;
    char *config_json;
    variant *v;
    bool is_kept;
} known;

typedef struct one_shape {
    const task_shape *shape;
    rows rows;
    arms arms; /* none when nothing is valid here */
    bool has_arms;
    double best_ns;
    bool batch;
} one_shape;

/* A pair in the evaluator. known: SIZE_MAX for a text of its own, with sizes as constants. */
typedef struct flight {
    candidate c;
    size_t shape, known;
    variant *special; /* owned; NULL: the known text */
    char *special_json;
    bool again;
    struct flight *next;
} flight;

typedef struct together {
    evaluator *e;
    store *s;
    const task *t;
    const tune_options *o;
    size_t n_shapes;
    one_shape *shapes;
    many *model;
    known *known;
    size_t n_known, capacity;
    case_source cases;
    variant *trusted;
    flight *flying;
    uint64_t n, limit; /* evaluations, those of the store included */
    uint64_t asked;
    int64_t start_ns;
    double seconds;
    uint32_t *config; /* scratch */
    tune_many_result *out;
} together;

/* ---- texts ---- */

static void add_to_model(together *g, const known *k)
{
    double *features = mem_calloc(k->p->n_params + 1, sizeof *features);
    int family = 0;
    while (g->o->templates[family] != k->p)
        family++;
    for (size_t i = 0; i < k->p->n_params; i++)
        features[i] = k->p->params[i].n_values > 1 ? (double)k->config[i] / (double)(k->p->params[i].n_values - 1) : 0;
    size_t index = many_add_config(g->model, family, k->p->n_params, features);
    for (size_t i = 0; i < g->n_shapes; i++)
        if (g->shapes[i].has_arms && variant_fits(k->v, g->shapes[i].shape, &evaluator_device(g->e)->limits, NULL))
            many_allow(g->model, i, index);
    free(features);
}

/* The number of this text; SIZE_MAX when it cannot be expanded. */
static size_t know(together *g, const template *p, const uint32_t *config)
{
    variant *v;
    if (variant_expand(p, &g->o->types, config, g->shapes[0].shape, &v, NULL) != KW_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < g->n_known; i++) {
        if (strcmp(g->known[i].v->hash, v->hash) == 0) {
            variant_free(v);
            return i;
        }
    }
    g->known = mem_grow(g->known, &g->capacity, g->n_known + 1, sizeof *g->known);
    known *k = &g->known[g->n_known];
    *k = (known){.p = p,
                 .v = v,
                 .config = mem_alloc((p->n_params + 1) * sizeof *config),
                 .config_json = template_config_text(p, config)};
    memcpy(k->config, config, p->n_params * sizeof *config);
    g->n_known++;
    add_to_model(g, k);
    return g->n_known - 1;
}

/* ---- what is known of a pair ---- */

static bool is_batch(const measurement *m)
{
    return m->method && strcmp(m->method, timing_method_name(TIMING_BATCH)) == 0;
}

/* Model, strategy of the shape, and the shape's best hear of a row. */
static void note(together *g, size_t shape, size_t index, const measurement *m)
{
    one_shape *s = &g->shapes[shape];
    const bool ok = m->outcome == OUTCOME_OK && m->time.n > 0;
    s->batch = s->batch || (ok && m->time.median < TIMING_BATCH_BELOW_NS);
    if (ok && m->time.median < s->best_ns && (is_batch(m) || !s->batch))
        s->best_ns = m->time.median;
    if (index == SIZE_MAX)
        return;
    const known *k = &g->known[index];
    many_tell(g->model, shape, index, ok, m->time.median);
    if (outcome_is_final(m->outcome))
        many_forget(g->model, index);
    arm *a = s->has_arms ? arms_find(&s->arms, k->p->name) : NULL;
    if (a)
        arms_known(a, k->config, ok, m->time.median);
}

typedef struct reuse {
    together *g;
    size_t shape;
} reuse;

static bool reuse_row(const measurement *m, void *cookie)
{
    const reuse *r = cookie;
    together *g = r->g;
    kw_error ignored;
    const one_shape *s = &g->shapes[r->shape];
    arm *a =
        m->template_name && m->config && s->has_arms ? arms_find(&g->shapes[r->shape].arms, m->template_name) : NULL;
    json *j = a ? json_parse(m->config, strlen(m->config), "store", 1, 1, &ignored) : NULL;
    if (j && template_config_from_json(a->template, j, g->config, &ignored) == KW_OK) {
        template_specialize(a->template, false, g->config);
        size_t index = know(g, a->template, g->config);
        if (index != SIZE_MAX && strcmp(g->known[index].v->hash, m->source_hash) == 0) {
            bool first = many_is_free(g->model, r->shape, index);
            note(g, r->shape, index, m);
            g->n += first;
            g->out->reused += first;
        }
    }
    json_free(j);
    return true;
}

static kw_code reuse_all(together *g, kw_error *err)
{
    kw_code code = KW_OK;
    reuse r = {.g = g};
    for (r.shape = 0; code == KW_OK && r.shape < g->n_shapes; r.shape++) {
        store_query q = rows_query(&g->shapes[r.shape].rows);
        code = store_each(g->s, &q, reuse_row, &r, err);
    }
    return code;
}

/* ---- proposing ---- */

static flight *submit(together *g, flight *f, candidate_kind kind)
{
    const one_shape *s = &g->shapes[f->shape];
    f->c = (candidate){.kind = kind,
                       .variant = f->special ? f->special : g->known[f->known].v,
                       .cases = &g->cases,
                       .target = *s->shape,
                       .hopeless_ns = isfinite(s->best_ns) ? HOPELESS * s->best_ns : 0,
                       .method = s->batch ? TIMING_BATCH : TIMING_AUTO,
                       .cookie = f};
    f->next = g->flying;
    g->flying = f;
    evaluator_submit(g->e, &f->c);
    return f;
}

static void submit_known(together *g, size_t shape, size_t index)
{
    flight *f = mem_calloc(1, sizeof *f);
    f->shape = shape;
    f->known = index;
    g->n++;
    submit(g, f, CANDIDATE_TARGET);
}

/* A configuration of the shape's own strategy. false: it has none that is new here. */
static bool propose_own(together *g, size_t shape)
{
    one_shape *s = &g->shapes[shape];
    for (int tries = 0; s->has_arms && tries < 20; tries++) {
        arm *a = arms_ask(&s->arms, g->config);
        if (!a)
            return false;
        template_specialize(a->template, false, g->config);
        size_t index = space_contains(a->space, g->config) ? know(g, a->template, g->config) : SIZE_MAX;
        if (index == SIZE_MAX || !many_is_free(g->model, shape, index))
            continue;
        many_claim(g->model, shape, index);
        submit_known(g, shape, index);
        return true;
    }
    return false;
}

typedef struct hint {
    size_t index;
    double relative, weight;
} hint;

static int by_weight(const void *a, const void *b)
{
    const hint *x = a, *y = b;
    double p = x->weight / x->relative, q = y->weight / y->relative;
    return p != q ? (p < q) - (p > q) : (x->index > y->index) - (x->index < y->index);
}

/* What the most similar of the other shapes, where it was measured, says of each configuration of a template; the best
 * MAX_HINTS of them. The strategy is fresh, since it takes hints before its first question only. */
static void give_hints(together *g, size_t shape, const template *p, strategy *st)
{
    hint *hints = mem_calloc(g->n_known + 1, sizeof *hints);
    size_t n = 0;
    for (size_t k = 0; k < g->n_known; k++) {
        hint h = {.index = k};
        for (size_t i = 0; i < g->n_shapes && g->known[k].p == p; i++) {
            double relative = i == shape ? (double)NAN : many_relative(g->model, i, k);
            if (!isnan(relative) && many_alike(g->model, shape, i) > h.weight)
                h = (hint){k, relative, many_alike(g->model, shape, i)};
        }
        if (h.weight > 0)
            hints[n++] = h;
    }
    qsort(hints, n, sizeof *hints, by_weight);
    for (size_t i = 0; i < n && i < MAX_HINTS; i++)
        strategy_prior(st, g->known[hints[i].index].config, hints[i].relative, hints[i].weight);
    free(hints);
    for (size_t k = 0; k < g->n_known; k++) {
        double relative = many_relative(g->model, shape, k);
        if (g->known[k].p == p && !isnan(relative))
            strategy_known(st, g->known[k].config, true, relative * g->shapes[shape].best_ns);
    }
}

/* A configuration of a strategy that has heard what is known here and, as hints, elsewhere: of the template that is
 * ahead on this shape. */
static bool propose_informed(together *g, size_t shape)
{
    const size_t best = many_best(g->model, shape);
    one_shape *s = &g->shapes[shape];
    arm *a = best != SIZE_MAX && s->has_arms ? arms_find(&s->arms, g->known[best].p->name) : NULL;
    if (!a)
        return false;
    const strategy_options options = {.seed = g->o->seed + g->asked, .budget = many_count(g->model, shape) + 1};
    strategy *st = strategy_start(g->o->strategy, a->space, &options);
    bool found = false;
    give_hints(g, shape, a->template, st);
    for (int tries = 0; !found && tries < 20 && strategy_ask(st, g->config); tries++) {
        template_specialize(a->template, false, g->config);
        size_t index = space_contains(a->space, g->config) ? know(g, a->template, g->config) : SIZE_MAX;
        found = index != SIZE_MAX && many_is_free(g->model, shape, index);
        if (found) {
            many_claim(g->model, shape, index);
            submit_known(g, shape, index);
        }
    }
    strategy_stop(st);
    return found;
}

/* The defaults come first: the strategies' arms see to it. */
static size_t start_of(const together *g)
{
    return g->o->n_templates + START;
}

static bool propose(together *g)
{
    size_t shape = many_next_shape(g->model, start_of(g)), index;
    bool starts = many_count(g->model, shape) < start_of(g);
    if (starts && propose_own(g, shape))
        return true;
    if (!starts && g->asked++ % OWN_EVERY == 0 && propose_informed(g, shape))
        return true;
    if (many_ask(g->model, 0, &shape, &index)) {
        submit_known(g, shape, index);
        return true;
    }
    for (shape = 0; shape < g->n_shapes; shape++)
        if (propose_own(g, shape))
            return true;
    return false;
}

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

/* One that was the first to be fast enough for batches is timed again, in batches, as in the search of one shape. */
static kw_code take(together *g, flight *f, kw_error *err)
{
    one_shape *s = &g->shapes[f->shape];
    flight **link = &g->flying;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    const variant *v = f->c.variant;
    char date[21];
    rows_judge(&s->rows, v, &f->c.record);
    char *config_json = f->special ? f->special_json : g->known[f->known].config_json;
    measurement m =
        rows_make(&s->rows, v, config_json, &f->c.record, g->t->reference ? VERIFIED_EXACT : VERIFIED_NOT, date);
    bool store_text = f->special || !g->known[f->known].is_kept;
    note(g, f->shape, f->special ? SIZE_MAX : f->known, &m);
    g->out->measured += !f->again;
    g->out->failed += m.outcome != OUTCOME_OK;
    kw_code code = keep(g, f, v, &store_text, &m, err);
    if (!f->special)
        g->known[f->known].is_kept = !store_text;
    bool again = code == KW_OK && !f->again && m.outcome == OUTCOME_OK && s->batch && !is_batch(&m) &&
                 m.time.median < HOPELESS * s->best_ns;
    if (!again) {
        drop(f);
        return code;
    }
    job_record_clear(&f->c.record);
    f->again = true;
    submit(g, f, CANDIDATE_RETIME);
    return code;
}

/* Waits for one, if there is one. */
static kw_code take_next(together *g, bool *got, kw_error *err)
{
    candidate *c = evaluator_next(g->e, err);
    *got = c != NULL;
    return c ? take(g, c->cookie, err) : err->code;
}

static kw_code search(together *g, kw_error *err)
{
    bool more = true, got;
    for (;;) {
        int64_t from = clock_now_ns();
        while (more && may_propose(g) && evaluator_pending(g->e) < evaluator_depth(g->e))
            more = propose(g);
        g->out->model_seconds += (double)(clock_now_ns() - from) / 1e9;
        kw_code code = take_next(g, &got, err);
        if (code != KW_OK)
            return code;
        if (!got && (!more || !may_propose(g)))
            return KW_OK;
    }
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
    bool got = true;
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
        submit(g, f, CANDIDATE_TARGET);
    }
    kw_code code = KW_OK;
    while (code == KW_OK && got)
        code = take_next(g, &got, err);
    return code;
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
    while (g->flying) {
        flight *f = g->flying;
        g->flying = f->next;
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
        code = reuse_all(&g, err);
    }
    if (code == KW_OK)
        code = search(&g, err);
    if (code == KW_OK)
        code = try_constants(&g, err);
    out->configs = g.n_known;
    end(&g);
    return code;
}
