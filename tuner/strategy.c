/* The table of strategies, and what all of them share: nothing is proposed twice, and nothing is left out. */
#include "tuner/strategy_internal.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Proposals in a row that were known already, beyond all that are known, after which a strategy has no more ideas. */
#define PATIENCE 1000

const strategy_ops *const strategy_table[] = {&strategy_auto,    &strategy_exhaustive,
                                              &strategy_random,  &strategy_sobol,
                                              &strategy_local,   &strategy_annealing,
                                              &strategy_genetic, &strategy_evolution,
                                              &strategy_swarm,   &strategy_ils,
                                              &strategy_tabu,    &strategy_bayes,
                                              &strategy_bandit,  NULL};

enum { N_STRATEGIES = sizeof strategy_table / sizeof *strategy_table - 1 };

struct strategy {
    const strategy_ops *ops;
    const space *space;
    void *state;
    key_set seen; /* proposed, claimed or known */
    void *rest;   /* a random strategy that takes over when the other has no more ideas; NULL so far */
    strategy_options options;
};

const strategy_ops *strategy_find(const char *name, kw_error *err)
{
    const char *names[N_STRATEGIES];
    size_t n = 0;
    strb list = STRB_INIT;
    for (; strategy_table[n]; n++) {
        names[n] = strategy_table[n]->name;
        if (strcmp(names[n], name) == 0) {
            strb_clear(&list);
            return strategy_table[n];
        }
        strb_printf(&list, "%s%s", n ? ", " : "", names[n]);
    }
    const char *near = json_nearest(name, names, n);
    kw_error_set(err, KW_BAD_INPUT, "unknown strategy '%s'%s%s%s; there are: %s", name, near ? ", did you mean '" : "",
                 near ? near : "", near ? "'?" : "", strb_text(&list));
    strb_clear(&list);
    return NULL;
}

void strategy_describe(strb *out)
{
    strb_printf(out, "\nstrategies:\n");
    for (size_t i = 0; strategy_table[i]; i++)
        strb_printf(out, "  %-12s %s\n", strategy_table[i]->name, strategy_table[i]->doc);
}

strategy *strategy_start(const strategy_ops *ops, const space *s, const strategy_options *o)
{
    strategy *st = mem_calloc(1, sizeof *st);
    st->ops = ops;
    st->space = s;
    st->options = *o;
    st->state = ops->start(s, o);
    return st;
}

bool strategy_claim(strategy *st, const uint32_t *config)
{
    return space_contains(st->space, config) && key_set_add(&st->seen, strategy_key(st->space, config));
}

void strategy_known(strategy *st, const uint32_t *config, bool ok, double time_ns)
{
    if (!space_contains(st->space, config)) /* measured for another device or an older template */
        return;
    key_set_add(&st->seen, strategy_key(st->space, config));
    st->ops->tell(st->state, config, ok, time_ns);
}

void strategy_prior(strategy *st, const uint32_t *config, double relative, double weight)
{
    bool says = isfinite(relative) && relative > 0 && isfinite(weight) && weight > 0;
    if (says && st->ops->prior && space_contains(st->space, config))
        st->ops->prior(st->state, config, relative, weight);
}

/* Asks until something new comes; a strategy that repeats nothing of its own can come across what is known. */
static bool ask_new(strategy *st, const strategy_ops *ops, void *state, uint32_t *config)
{
    for (size_t tries = st->seen.n + PATIENCE; tries > 0; tries--) {
        if (!ops->ask(state, config))
            return false;
        if (key_set_add(&st->seen, strategy_key(st->space, config)))
            return true;
    }
    return false;
}

bool strategy_ask(strategy *st, uint32_t *config)
{
    if (st->seen.n >= space_count(st->space))
        return false;
    if (!st->rest && ask_new(st, st->ops, st->state, config))
        return true;
    if (!st->rest)
        st->rest = strategy_random.start(st->space, &st->options);
    return ask_new(st, &strategy_random, st->rest, config);
}

void strategy_tell(strategy *st, const uint32_t *config, bool ok, double time_ns)
{
    st->ops->tell(st->state, config, ok, time_ns);
}

void strategy_stop(strategy *st)
{
    if (!st)
        return;
    st->ops->stop(st->state);
    if (st->rest)
        strategy_random.stop(st->rest);
    key_set_clear(&st->seen);
    free(st);
}
