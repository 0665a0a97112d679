#include "tuner/arms.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every template gets this share of the budget before the leader takes over. */
#define FIRST_SHARE 20
/* Afterwards one question in so many goes to another template that is not hopeless. */
#define OTHERS_EVERY 8
#define HOPELESS 2.0

static kw_code init_arm(arm *m, const template *t, const task_types *types, const device_limits *limits,
                        const task_shape *shape, const strategy_ops *ops, uint64_t seed, uint64_t budget,
                        const space_limits *build, kw_error *err)
{
    memset(m, 0, sizeof *m);
    m->template = t;
    m->best_ns = INFINITY;
    if (t->lang != LANGUAGE_OPENCL)
        return kw_error_set(err, KW_FAILED, "written in %s, which no back end here runs; `check` and `expand` work",
                            language_name(t->lang));
    kw_code code = space_of_template_within(t, types, limits, shape, build, &m->space, err);
    if (code != KW_OK)
        return code;
    strategy_options o = {.seed = seed, .budget = budget};
    m->strategy = strategy_start(ops, m->space, &o);
    return KW_OK;
}

kw_code arms_init(arms *a, const template *const *templates, size_t n, const task_types *types,
                  const device_limits *limits, const task_shape *shape, const strategy_ops *ops, uint64_t seed,
                  uint64_t budget, kw_error *err)
{
    return arms_init_within(a, templates, n, types, limits, shape, ops, seed, budget, NULL, err);
}

kw_code arms_init_within(arms *a, const template *const *templates, size_t n, const task_types *types,
                         const device_limits *limits, const task_shape *shape, const strategy_ops *ops, uint64_t seed,
                         uint64_t budget, const space_limits *build, kw_error *err)
{
    memset(a, 0, sizeof *a);
    a->items = mem_calloc(n, sizeof *a->items);
    a->budget = budget;
    for (size_t i = 0; i < n; i++) {
        kw_error why;
        kw_error_clear(&why);
        kw_code code =
            init_arm(&a->items[a->n], templates[i], types, limits, shape, ops, seed + i, budget, build, &why);
        if (code == KW_OK) {
            a->n++;
        } else if (code == KW_FAILED) {
            strb_printf(&a->notes, "%s%s: %s", a->notes.length ? "; " : "", templates[i]->name, why.message);
        } else {
            arms_clear(a);
            return kw_error_set(err, code, "%s: %s", templates[i]->name, why.message);
        }
    }
    if (a->n > 0)
        return KW_OK;
    kw_code code = kw_error_set(err, KW_FAILED, "no template has a valid configuration: %s",
                                n ? strb_text(&a->notes) : "there is no template of this task");
    arms_clear(a);
    return code;
}

void arms_clear(arms *a)
{
    for (size_t i = 0; i < a->n; i++) {
        strategy_stop(a->items[i].strategy);
        space_free(a->items[i].space);
    }
    free(a->items);
    strb_clear(&a->notes);
    memset(a, 0, sizeof *a);
}

static bool ask(arm *m, uint32_t *config)
{
    if (m->exhausted)
        return false;
    if (!strategy_ask(m->strategy, config)) {
        m->exhausted = true;
        return false;
    }
    m->asked++;
    return true;
}

/* The default is a first guess that a person chose: it is measured first wherever it is valid. */
static bool ask_default(arm *m, uint32_t *config)
{
    if (m->default_asked)
        return false;
    m->default_asked = true;
    template_default(m->template, config);
    if (!space_contains(m->space, config) || !strategy_claim(m->strategy, config))
        return false;
    m->asked++;
    return true;
}

/* Does x lead y? By the best time. While neither has one (questions are asked ahead of the first answers) the fallback
 * comes last, and then the one that was asked less. */
static bool leads(const arm *x, const arm *y)
{
    if (isfinite(x->best_ns) || isfinite(y->best_ns))
        return x->best_ns < y->best_ns;
    if (x->template->is_fallback != y->template->is_fallback)
        return y->template->is_fallback;
    return x->asked < y->asked;
}

static arm *leader(arms *a)
{
    arm *best = NULL;
    for (size_t i = 0; i < a->n; i++)
        if (!a->items[i].exhausted && (!best || leads(&a->items[i], best)))
            best = &a->items[i];
    return best;
}

static arm *other(arms *a, const arm *best)
{
    arm *pick = NULL;
    for (size_t i = 0; i < a->n; i++) {
        arm *m = &a->items[i];
        if (m == best || m->exhausted || m->best_ns > HOPELESS * best->best_ns)
            continue;
        if (!pick || m->asked < pick->asked)
            pick = m;
    }
    return pick;
}

void arms_follow(arms *a, const arms_guide *guide)
{
    a->guide = guide;
    for (size_t i = 0; i < a->n; i++) {
        a->items[i].guide = guide;
        a->items[i].index = i;
    }
    guide->open(guide->cookie, a);
}

arm *arms_ask(arms *a, uint32_t *config)
{
    size_t index;
    if (!a->guide)
        return arms_ask_strategies(a, config);
    return a->guide->ask(a->guide->cookie, a, &index, config) ? &a->items[index] : NULL;
}

arm *arms_ask_strategies(arms *a, uint32_t *config)
{
    for (size_t i = 0; i < a->n; i++)
        if (ask_default(&a->items[i], config))
            return &a->items[i];
    uint64_t share = a->budget / FIRST_SHARE;
    if (share > 16)
        share = 16;
    for (size_t i = 0; i < a->n; i++)
        if (a->items[i].asked < share && ask(&a->items[i], config))
            return &a->items[i];
    for (;;) {
        arm *best = leader(a);
        if (!best)
            return NULL;
        arm *m = ++a->turn % OTHERS_EVERY == 0 ? other(a, best) : best;
        if (!m)
            m = best;
        if (ask(m, config))
            return m;
    }
}

void arms_tell(arm *m, const uint32_t *config, bool ok, double time_ns)
{
    if (ok && time_ns < m->best_ns)
        m->best_ns = time_ns;
    if (m->guide)
        m->guide->tell(m->guide->cookie, m->index, config, ok, time_ns);
    strategy_tell(m->strategy, config, ok, time_ns);
}

void arms_known(arm *m, const uint32_t *config, bool ok, double time_ns)
{
    if (ok && time_ns < m->best_ns)
        m->best_ns = time_ns;
    m->asked++;
    if (m->guide)
        m->guide->tell(m->guide->cookie, m->index, config, ok, time_ns);
    strategy_known(m->strategy, config, ok, time_ns);
}

arm *arms_find(arms *a, const char *template_name)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i].template->name, template_name) == 0)
            return &a->items[i];
    return NULL;
}

size_t arms_longest(const arms *a)
{
    size_t longest = 1;
    for (size_t i = 0; i < a->n; i++)
        if (a->items[i].template->n_params > longest)
            longest = a->items[i].template->n_params;
    return longest;
}
