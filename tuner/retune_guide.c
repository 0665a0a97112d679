/* One shape's search: what is measured next, and whether anything is worth it. */
#include "tuner/retune_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the hooks ---- */

static void open_guide(void *cookie, arms *a)
{
    guide *g = cookie;
    retune *r = g->r;
    const context *here = retune_here(r, &g->shape->shape);
    double dims[TASK_MAX_DIMS];
    g->arms = a;
    g->family_of = mem_calloc(a->n + 1, sizeof *g->family_of);
    g->asked = mem_calloc(a->n + 1, sizeof *g->asked);
    for (size_t f = 0; f < r->o->tune.n_templates; f++) {
        g->arm_of[f] = SIZE_MAX;
        g->spaces[f] = NULL;
    }
    for (size_t i = 0; i < a->n; i++) {
        g->family_of[i] = retune_template(r, a->items[i].template->name);
        g->arm_of[g->family_of[i]] = i;
        g->spaces[g->family_of[i]] = a->items[i].space;
    }
    g->x = informed_new(g->spaces, r->o->tune.n_templates, r->o->tune.seed);
    retune_dims(r->t, &g->shape->shape, dims);
    g->shape->n_lessons = lessons_teach(r->book, r->device->key, dims, here ? here->lesson : NULL, g->x);
}

/* A template that neither this shape nor any lesson knows gets its default measured first. */
static bool ask_default(guide *g, size_t *index, uint32_t *config)
{
    for (size_t i = 0; i < g->arms->n; i++) {
        arm *a = &g->arms->items[i];
        if (g->asked[i] || informed_knows(g->x, g->family_of[i]))
            continue;
        g->asked[i] = true;
        template_default(a->template, config);
        if (!informed_claim(g->x, g->family_of[i], config) || !strategy_claim(a->strategy, config))
            continue;
        a->default_asked = true;
        *index = i;
        return true;
    }
    return false;
}

static bool ask_strategies(guide *g, arms *a, size_t *index, uint32_t *config)
{
    for (;;) {
        arm *m = arms_ask_strategies(a, config);
        if (!m)
            return false;
        *index = m->index;
        if (informed_claim(g->x, g->family_of[m->index], config))
            return true;
    }
}

static bool ask_informed(guide *g, size_t *index, uint32_t *config)
{
    size_t family;
    while (informed_ask(g->x, &family, config)) {
        *index = g->arm_of[family];
        if (strategy_claim(g->arms->items[*index].strategy, config))
            return true;
    }
    return false;
}

static bool ask(void *cookie, arms *a, size_t *index, uint32_t *config)
{
    guide *g = cookie;
    if (ask_default(g, index, config))
        return true;
    if (informed_is_done(g->x, g->r->o->threshold))
        return false;
    if (informed_defers(g->x))
        return ask_strategies(g, a, index, config) || ask_informed(g, index, config);
    return ask_informed(g, index, config) || ask_strategies(g, a, index, config);
}

static void tell(void *cookie, size_t index, const uint32_t *config, bool ok, double time_ns)
{
    guide *g = cookie;
    informed_tell(g->x, g->family_of[index], config, ok, time_ns);
    g->asked[index] = true;
}

/* ---- */

void guide_init(guide *g, retune *r, retune_shape *shape)
{
    memset(g, 0, sizeof *g);
    g->r = r;
    g->shape = shape;
    g->arm_of = mem_calloc(r->o->tune.n_templates + 1, sizeof *g->arm_of);
    g->spaces = mem_calloc(r->o->tune.n_templates + 1, sizeof *g->spaces);
    g->hooks = (arms_guide){.open = open_guide, .ask = ask, .tell = tell, .cookie = g};
}

void guide_clear(guide *g)
{
    informed_free(g->x);
    free(g->family_of);
    free(g->arm_of);
    free(g->spaces);
    free(g->asked);
    memset(g, 0, sizeof *g);
}

size_t guide_tell_known(guide *g, const context *here, size_t *n_changed)
{
    const retune *r = g->r;
    uint32_t *config = mem_calloc(retune_longest(r), sizeof *config);
    size_t n = 0;
    *n_changed = 0;
    for (size_t i = 0; here && i < here->ledger.n; i++) {
        const ledger_entry *e = &here->ledger.entries[i];
        size_t family;
        variant *v = NULL;
        bool current = retune_config(r, e, &family, config);
        if (current && variant_expand(r->o->tune.templates[family], &r->o->tune.types, config, &g->shape->shape, &v,
                                      NULL) == KW_OK)
            current = strcmp(v->hash, e->source_hash) == 0;
        else if (current)
            current = e->outcome == OUTCOME_EXPAND_ERROR || e->outcome == OUTCOME_REJECTED;
        variant_free(v);
        *n_changed += !current;
        if (!current || g->arm_of[family] == SIZE_MAX)
            continue;
        tell(g, g->arm_of[family], config, e->ok && e->time.n > 0, e->time.median);
        n++;
    }
    free(config);
    return n;
}
