/* The search over many shapes: which pair of shape and configuration is measured next. */
#include "tuner/tune_many_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START 3 /* evaluations of a shape before the model chooses, beside the defaults */
#define MAX_HINTS 64
#define OWN_EVERY 4 /* one proposal in so many is of the shape's own strategy */

void together_submit(together *g, flight *f, candidate_kind kind)
{
    const one_shape *s = &g->shapes[f->shape];
    f->c = (candidate){.kind = kind,
                       .variant = f->special ? f->special : g->known[f->known].v,
                       .cases = &g->cases,
                       .target = *s->shape,
                       .hopeless_ns = isfinite(s->best_ns) ? TOGETHER_HOPELESS * s->best_ns : 0,
                       .method = s->batch ? TIMING_BATCH : TIMING_AUTO,
                       .cookie = f};
    evaluator_submit(g->e, &f->c);
}

void together_asked(together *g, flight *f)
{
    f->asked_ns = clock_now_ns();
    if (g->last)
        g->last->next = f;
    else
        g->first = f;
    g->last = f;
    g->n_untold++;
}

static void submit_known(together *g, size_t shape, size_t index)
{
    flight *f = mem_calloc(1, sizeof *f);
    f->shape = shape;
    f->known = index;
    g->n++;
    together_asked(g, f);
    together_submit(g, f, CANDIDATE_TARGET);
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
        size_t index = space_contains(a->space, g->config) ? together_know(g, a->template, g->config) : SIZE_MAX;
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
        size_t index = space_contains(a->space, g->config) ? together_know(g, a->template, g->config) : SIZE_MAX;
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

bool together_propose(together *g)
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
