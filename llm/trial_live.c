#include "llm/trial_live.h"

#include "base/json.h"
#include "base/mem.h"
#include "codegen/expand.h"
#include "codegen/variant.h"
#include "llm/trial_point.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 3 };
const uint64_t trial_usual_rungs[TRIAL_RUNGS] = {4, 12, 32};
/* A candidate goes on to the next rung if its fitness is above this share of the way from 1 to the best of the run. */
static const double PROMISE[TRIAL_RUNGS - 1] = {0.5, 0.85};

/* A right candidate, kept for timing it again. */
typedef struct known {
    char hash[HASH_HEX_SIZE];
    char *text;
    trial_shape *shapes;
} known;

typedef struct live {
    trial_live_options o;
    double best; /* fitness of the best candidate so far */
    known *known;
    size_t n_known, capacity;
} live;

typedef struct collection {
    live *l;
    const template *p;
    size_t shape;
    trial_point *points;
    size_t n, capacity;
    /* The first failure, and the one that went furthest: what is shown when nothing is right. */
    outcome worst;
    stage at;
    char *detail;
    size_t n_failed, n_ok;
    double *base_ns, *limit_ns; /* per shape */
    void (*pump)(void *);
    void *cookie;
} collection;

void *trial_live_new(const trial_live_options *o)
{
    live *l = mem_calloc(1, sizeof *l);
    l->o = *o;
    for (size_t i = 0; i < TRIAL_RUNGS; i++)
        l->o.rungs[i] = o->rungs[i] ? o->rungs[i] : trial_usual_rungs[i];
    l->best = 1;
    return l;
}

static trial_point *point_of(collection *c, const measurement *m)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->points[i].source_hash, m->source_hash) == 0)
            return &c->points[i];
    }
    c->points = mem_grow(c->points, &c->capacity, c->n + 1, sizeof *c->points);
    trial_point *p = &c->points[c->n++];
    memset(p, 0, sizeof *p);
    snprintf(p->source_hash, sizeof p->source_hash, "%s", m->source_hash);
    p->config = mem_strdup(m->config ? m->config : "{}");
    p->ns = mem_alloc(c->l->o.n_shapes * sizeof *p->ns);
    p->noise = mem_alloc(c->l->o.n_shapes * sizeof *p->noise);
    for (size_t i = 0; i < c->l->o.n_shapes; i++)
        p->ns[i] = p->noise[i] = NAN;
    return p;
}

static void note_failure(collection *c, const measurement *m)
{
    c->n_failed++;
    /* "Does not fit" says nothing against the kernel: anything else is worth more. */
    bool better = !c->detail || (c->worst == OUTCOME_DOES_NOT_FIT && m->outcome != OUTCOME_DOES_NOT_FIT) ||
                  (m->stage > c->at && m->outcome != OUTCOME_DOES_NOT_FIT);
    if (!better)
        return;
    strb text = STRB_INIT;
    strb_printf(&text, "%s, configuration %s:\n%s", outcome_name(m->outcome), m->config ? m->config : "{}",
                m->detail ? m->detail : "");
    free(c->detail);
    c->detail = strb_take(&text);
    c->worst = m->outcome;
    c->at = m->stage;
}

static void on_progress(const tune_progress *p, void *cookie)
{
    collection *c = cookie;
    const measurement *m = p->m;
    if (c->pump)
        c->pump(c->cookie);
    if (!m->template_name || strcmp(m->template_name, c->p->name) != 0)
        return;
    if (m->limit_ns > 0)
        c->limit_ns[c->shape] = m->limit_ns;
    if (m->outcome != OUTCOME_OK) {
        if (m->outcome != OUTCOME_REJECTED)
            note_failure(c, m);
        return;
    }
    if (m->time.n == 0)
        return;
    c->n_ok++;
    trial_point *at = point_of(c, m);
    /* Later rows are timed again or come from a later rung: the last one is the one to go by. */
    trial_point_note(at, m);
    at->ns[c->shape] = m->time.median;
    at->noise[c->shape] = fmax(m->noise, (m->time.hi - m->time.lo) / m->time.median);
}

/* One rung: every shape up to this many configurations. KW_OK unless the run is over. */
static kw_code run_rung(collection *c, uint64_t configurations, trial_result *out, kw_error *err)
{
    live *l = c->l;
    const template *list[] = {c->p};
    tune_options o = {.types = l->o.types,
                      .templates = list,
                      .n_templates = 1,
                      .fallback = l->o.fallback,
                      .strategy = strategy_find("auto", NULL),
                      .budget = {.configurations = configurations},
                      .seed = l->o.seed,
                      .cold = l->o.cold,
                      .probe = l->o.probe,
                      .on_progress = on_progress,
                      .cookie = c};
    if (!o.strategy)
        o.strategy = strategy_find("local", NULL);
    for (c->shape = 0; c->shape < l->o.n_shapes; c->shape++) {
        tune_result r;
        kw_error why = {0};
        kw_code code = tune_shape(l->o.e, l->o.s, l->o.t, &o, &l->o.shapes[c->shape], &r, &why);
        trial_shape *s = &out->shapes[c->shape];
        if (code == KW_OK && r.found) {
            free(s->config);
            *s = (trial_shape){.best_ns = r.tuned_ns,
                               .lo_ns = r.tuned_lo,
                               .hi_ns = r.tuned_hi,
                               .base_ns = r.naive_ns,
                               .limit_ns = r.limit_ns,
                               .config = r.config};
            r.config = NULL;
        } else if (code == KW_FAILED || code == KW_BAD_INPUT) {
            s->best_ns = s->lo_ns = s->hi_ns = NAN;
            if (!out->detail && !c->detail)
                out->detail = mem_strdup(why.message);
            code = KW_OK;
        }
        if (isfinite(r.naive_ns))
            s->base_ns = r.naive_ns;
        out->measured += r.measured;
        tune_result_clear(&r);
        if (code != KW_OK) {
            if (err)
                *err = why;
            return code;
        }
        /* What is wrong on the first shape is not tried on the others. */
        if (!isfinite(s->best_ns) && c->n_ok == 0)
            return KW_OK;
    }
    return KW_OK;
}

static double failed_fitness(outcome o)
{
    switch (o) {
    case OUTCOME_EXPAND_ERROR:
    case OUTCOME_REJECTED:
        return 0.1;
    case OUTCOME_COMPILE_ERROR:
        return 0.2;
    case OUTCOME_CRASH:
    case OUTCOME_TIMEOUT:
    case OUTCOME_DOES_NOT_FIT:
    case OUTCOME_LAUNCH_ERROR:
        return 0.3;
    case OUTCOME_WRONG:
    case OUTCOME_OUT_OF_BOUNDS:
    case OUTCOME_NONDETERMINISTIC:
    case OUTCOME_INPUT_MODIFIED:
    case OUTCOME_IMPLAUSIBLE:
        return 0.4;
    case OUTCOME_OK:
    case OUTCOME_COUNT:
        break;
    }
    return 0.3;
}

/* The kind of a configuration: of what the compiler made of it, or of its expanded text for the first shape. */
static bool behaviour_of_point(const collection *c, const trial_point *x, behaviour *out)
{
    uint32_t *config = mem_calloc(c->p->n_params + 1, sizeof *config);
    json *j = json_parse(x->config, strlen(x->config), NULL, 1, 1, NULL);
    variant *v = NULL;
    bool good = j && template_config_from_json(c->p, j, config, NULL) == KW_OK &&
                variant_expand(c->p, &c->l->o.types, config, &c->l->o.shapes[0], &v, NULL) == KW_OK;
    if (good)
        *out = x->made.known ? behaviour_of_artefact(&x->made, v->n_launches, NULL)
                             : behaviour_of_source(v->source, v->n_launches, NULL);
    variant_free(v);
    json_free(j);
    free(config);
    return good;
}

/* A configuration stands for itself where it was measured, and for the candidate's best elsewhere. */
static void make_offers(const collection *c, trial_result *out)
{
    size_t n_shapes = c->l->o.n_shapes;
    trial_shape *mixed = mem_calloc(n_shapes, sizeof *mixed);
    out->offers = mem_calloc(c->n + 1, sizeof *out->offers);
    for (size_t i = 0; i < c->n; i++) {
        const trial_point *x = &c->points[i];
        double noise = 0;
        offer o = {.config = NULL};
        for (size_t k = 0; k < n_shapes; k++) {
            mixed[k] = out->shapes[k];
            mixed[k].best_ns = isfinite(x->ns[k]) ? x->ns[k] : out->shapes[k].best_ns;
            noise = fmax(noise, isfinite(x->noise[k]) ? x->noise[k] : 0);
        }
        if (!behaviour_of_point(c, x, &o.where))
            continue;
        double measured = trial_fitness(mixed, n_shapes);
        /* The candidate's best was timed again: what seems better than that was lucky. */
        o.fitness = fmin(measured, out->fitness);
        /* A relative difference in time, as a difference in fitness. */
        for (size_t k = 0; k < n_shapes; k++)
            mixed[k].best_ns *= 1 + noise;
        o.rel_noise = fmax(0, measured - trial_fitness(mixed, n_shapes));
        memcpy(o.template_hash, out->template_hash, sizeof o.template_hash);
        memcpy(o.source_hash, x->source_hash, sizeof o.source_hash);
        o.config = mem_strdup(x->config);
        out->offers[out->n_offers++] = o;
    }
    free(mixed);
}

static void judge(live *l, collection *c, trial_result *out)
{
    bool all = true;
    for (size_t i = 0; i < l->o.n_shapes; i++) {
        all &= isfinite(out->shapes[i].best_ns);
        out->shapes[i].limit_ns = isfinite(c->limit_ns[i]) ? c->limit_ns[i] : out->shapes[i].limit_ns;
    }
    if (c->n_ok > 0 && all) {
        out->outcome = OUTCOME_OK;
        out->stage = STAGE_DONE;
        out->fitness = trial_fitness(out->shapes, l->o.n_shapes);
        l->best = fmax(l->best, out->fitness);
        make_offers(c, out);
        out->importance = trial_what_mattered(c->p, c->points, c->n, out);
        out->artefact = trial_what_was_made(c->points, c->n);
        free(out->detail);
        out->detail = c->detail;
        c->detail = NULL;
        return;
    }
    if (c->detail) {
        free(out->detail);
        out->detail = c->detail;
        c->detail = NULL;
        out->outcome = c->worst;
        out->stage = c->at;
    } else {
        out->outcome = c->n_ok > 0 ? OUTCOME_REJECTED : OUTCOME_EXPAND_ERROR;
        out->stage = STAGE_EXPAND;
    }
    out->fitness = failed_fitness(out->outcome);
}

static void collection_clear(collection *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->points[i].config);
        free(c->points[i].ns);
        free(c->points[i].noise);
    }
    free(c->points);
    free(c->detail);
    free(c->base_ns);
    free(c->limit_ns);
}

static const known *find_known(const live *l, const char *hash)
{
    for (size_t i = 0; i < l->n_known; i++) {
        if (strcmp(l->known[i].hash, hash) == 0)
            return &l->known[i];
    }
    return NULL;
}

static void remember(live *l, const char *text, const trial_result *r)
{
    if (find_known(l, r->template_hash))
        return;
    l->known = mem_grow(l->known, &l->capacity, l->n_known + 1, sizeof *l->known);
    known *k = &l->known[l->n_known++];
    memcpy(k->hash, r->template_hash, sizeof k->hash);
    k->text = mem_strdup(text);
    k->shapes = mem_calloc(r->n_shapes, sizeof *k->shapes);
    for (size_t i = 0; i < r->n_shapes; i++) {
        k->shapes[i] = r->shapes[i];
        k->shapes[i].config = NULL; /* not ours */
    }
}

static kw_code run(void *state, const char *text, const char *key, void (*pump)(void *), void *cookie,
                   trial_result *out, kw_error *err)
{
    live *l = state;
    template *p = NULL;
    kw_error why = {0};
    strb path = STRB_INIT;
    memset(out, 0, sizeof *out);
    hash_hex(text, strlen(text), out->template_hash);
    out->n_shapes = l->o.n_shapes;
    out->shapes = mem_calloc(l->o.n_shapes, sizeof *out->shapes);
    for (size_t i = 0; i < l->o.n_shapes; i++)
        out->shapes[i] = (trial_shape){.best_ns = NAN, .lo_ns = NAN, .hi_ns = NAN, .base_ns = NAN, .limit_ns = NAN};
    /* The name is the hash: the same text asked for twice finds its own measurements. */
    strb_printf(&path, "%s-%.12s.cl", l->o.t->name, out->template_hash);
    (void)key;
    kw_code code = template_parse(text, strlen(text), strb_text(&path), l->o.t, &p, &why);
    if (code != KW_OK) {
        out->fitness = 0.1;
        out->outcome = OUTCOME_EXPAND_ERROR;
        out->stage = STAGE_EXPAND;
        out->detail = mem_strdup(why.message);
        strb_clear(&path);
        return KW_OK;
    }
    out->read = true;
    collection c = {.l = l, .p = p, .pump = pump, .cookie = cookie};
    c.limit_ns = mem_alloc(l->o.n_shapes * sizeof *c.limit_ns);
    for (size_t i = 0; i < l->o.n_shapes; i++)
        c.limit_ns[i] = NAN;
    evaluator_set_tick(l->o.e, pump, cookie); /* a long compilation must not keep replies waiting */
    for (size_t rung = 0; rung < TRIAL_RUNGS && code == KW_OK; rung++) {
        if (rung > 0) {
            double now = trial_fitness(out->shapes, l->o.n_shapes);
            if (c.n_ok == 0 || now < 1 + PROMISE[rung - 1] * (l->best - 1))
                break;
        }
        code = run_rung(&c, l->o.rungs[rung], out, err);
    }
    evaluator_set_tick(l->o.e, NULL, NULL);
    if (code == KW_OK)
        judge(l, &c, out);
    else
        trial_result_clear(out);
    if (code == KW_OK && out->outcome == OUTCOME_OK)
        remember(l, text, out);
    collection_clear(&c);
    template_free(p);
    strb_clear(&path);
    return code;
}

/* One of two that are timed in turn. */
typedef struct rival {
    const known *k;
    template *p;
    uint32_t *config;
    double ns[TURNS];
} rival;

static kw_code prepare_rival(const live *l, const offer *o, rival *r, kw_error *err)
{
    r->k = find_known(l, o->template_hash);
    if (!r->k)
        return kw_error_set(err, KW_FAILED, "the template %.12s is not among those tried", o->template_hash);
    strb path = STRB_INIT;
    strb_printf(&path, "%s-%.12s.cl", l->o.t->name, o->template_hash);
    kw_code code = template_parse(r->k->text, strlen(r->k->text), strb_text(&path), l->o.t, &r->p, err);
    strb_clear(&path);
    if (code != KW_OK)
        return code;
    r->config = mem_calloc(r->p->n_params + 1, sizeof *r->config);
    json *j = json_parse(o->config, strlen(o->config), NULL, 1, 1, err);
    code = j ? template_config_from_json(r->p, j, r->config, err) : KW_BAD_INPUT;
    json_free(j);
    return code;
}

static kw_code time_rival(const live *l, rival *r, const task_shape *shape, size_t turn, kw_error *err)
{
    tune_options o = {
        .types = l->o.types, .fallback = l->o.fallback, .seed = l->o.seed, .cold = l->o.cold, .probe = l->o.probe};
    job_record record;
    memset(&record, 0, sizeof record);
    kw_code code = tune_one(l->o.e, NULL, l->o.t, &o, r->p, r->config, shape, &record, err);
    stats_summary time = {.median = NAN};
    if (code == KW_OK && record.outcome == OUTCOME_OK && record.n_samples > 0)
        time = stats_of(record.samples_ns, record.n_samples);
    r->ns[turn] = time.median;
    job_record_clear(&record);
    return code;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A configuration is timed where it is the candidate's best or not: on every shape, since that is what an elite is
 * compared by. A, B, A, B, A, B; the median of each. */
static kw_code time_both(const live *l, rival *r, double *fitness, kw_error *err)
{
    trial_shape *shapes[2];
    kw_code code = KW_OK;
    for (size_t i = 0; i < 2; i++)
        shapes[i] = mem_calloc(l->o.n_shapes, sizeof **shapes);
    for (size_t k = 0; k < l->o.n_shapes && code == KW_OK; k++) {
        for (size_t turn = 0; turn < 2 * TURNS && code == KW_OK; turn++)
            code = time_rival(l, &r[turn % 2], &l->o.shapes[k], turn / 2, err);
        for (size_t i = 0; i < 2 && code == KW_OK; i++) {
            qsort(r[i].ns, TURNS, sizeof *r[i].ns, by_value);
            shapes[i][k] = r[0].k->shapes[k];
            shapes[i][k].best_ns = isfinite(r[i].ns[TURNS / 2]) ? r[i].ns[TURNS / 2] : r[i].k->shapes[k].best_ns;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        fitness[i] = trial_fitness(shapes[i], l->o.n_shapes);
        free(shapes[i]);
    }
    return code;
}

static kw_code retime(void *state, const offer *x, const offer *y, double *a, double *b, kw_error *err)
{
    const live *l = state;
    rival r[2] = {{.p = NULL}, {.p = NULL}};
    double fitness[2] = {NAN, NAN};
    kw_code code = prepare_rival(l, x, &r[0], err);
    if (code == KW_OK)
        code = prepare_rival(l, y, &r[1], err);
    if (code == KW_OK)
        code = time_both(l, r, fitness, err);
    for (size_t i = 0; i < 2; i++) {
        template_free(r[i].p);
        free(r[i].config);
    }
    *a = fitness[0];
    *b = fitness[1];
    return code;
}

static void close_live(void *state)
{
    live *l = state;
    for (size_t i = 0; i < l->n_known; i++) {
        free(l->known[i].text);
        free(l->known[i].shapes);
    }
    free(l->known);
    free(l);
}

static void note(void *state, const char *text, const trial_result *r)
{
    live *l = state;
    if (l && r->outcome == OUTCOME_OK) {
        remember(l, text, r);
        l->best = fmax(l->best, r->fitness);
    }
}

const trial_ops trial_live_ops = {.run = run, .retime = retime, .note = note, .close = close_live};
