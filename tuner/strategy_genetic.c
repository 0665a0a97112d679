/* A genetic algorithm, steady state: the population is the best of what was told; each proposal is a child of two
 * parents chosen by rank. So nothing waits for a generation to be complete.
 * Source: Whitley, The GENITOR algorithm and selection pressure, ICGA 1989; uniform crossover: Syswerda, ICGA 1989. */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define STREAM 4
#define POPULATION 20
#define TRIES 60 /* children that are not valid or not new, before a random configuration */

typedef struct genetic {
    observations seen;
    moves moves;
    size_t population;
} genetic;

static void *start(const space *s, const strategy_options *o)
{
    genetic *g = mem_calloc(1, sizeof *g);
    observations_init(&g->seen, s);
    moves_init(&g->moves, s, o->seed, STREAM);
    g->population = o->budget / 4 < POPULATION ? o->budget / 4 : POPULATION;
    if (g->population < 4)
        g->population = 4;
    return g;
}

/* Of two drawn at random, the better: elites are sorted. */
static const uint32_t *parent(genetic *g, const size_t *elites, size_t n)
{
    size_t a = gsl_rng_uniform_int(g->moves.random, (unsigned long)n);
    size_t b = gsl_rng_uniform_int(g->moves.random, (unsigned long)n);
    return observations_config(&g->seen, elites[a < b ? a : b]);
}

static void cross(genetic *g, const uint32_t *mother, const uint32_t *father, uint32_t *child)
{
    for (size_t i = 0; i < g->seen.n_params; i++)
        child[i] = gsl_rng_get(g->moves.random) >> 16 & 1 ? mother[i] : father[i];
}

/* Each parameter with the probability 1 / n: half of the time by a step, else any value. */
static void mutate(genetic *g, uint32_t *child)
{
    for (size_t i = 0; i < g->seen.n_params; i++) {
        unsigned long n = space_param_at(g->seen.space, i)->n_values;
        if (gsl_rng_uniform_int(g->moves.random, g->seen.n_params) != 0 || n < 2)
            continue;
        bool up = gsl_rng_get(g->moves.random) >> 16 & 1;
        if (gsl_rng_get(g->moves.random) >> 16 & 1)
            child[i] = (uint32_t)gsl_rng_uniform_int(g->moves.random, n);
        else if (up ? child[i] + 1 < n : child[i] > 0)
            child[i] += up ? 1 : UINT32_MAX;
    }
}

static bool breed(genetic *g, uint32_t *child)
{
    size_t elites[POPULATION];
    size_t n = observations_elites(&g->seen, elites, g->population);
    for (int k = 0; k < TRIES; k++) {
        cross(g, parent(g, elites, n), parent(g, elites, n), child);
        mutate(g, child);
        if (space_contains(g->seen.space, child) && !observations_has(&g->seen, child))
            return true;
    }
    size_t k = moves_neighbours(&g->moves, parent(g, elites, n), SPACE_HAMMING);
    if (k == 0)
        return false;
    const uint32_t *other =
        g->moves.neighbours + gsl_rng_uniform_int(g->moves.random, (unsigned long)k) * g->seen.n_params;
    memcpy(child, other, g->seen.n_params * sizeof *child);
    return !observations_has(&g->seen, child);
}

static bool ask(void *state, uint32_t *config)
{
    genetic *g = state;
    if (g->seen.n < g->population || g->seen.n_ok < 2 || !breed(g, config))
        moves_sample(&g->moves, config);
    if (!observations_has(&g->seen, config))
        observations_propose(&g->seen, config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    genetic *g = state;
    observations_tell(&g->seen, config, ok, time_ns);
}

static void stop(void *state)
{
    genetic *g = state;
    observations_clear(&g->seen);
    moves_clear(&g->moves);
    free(g);
}

const strategy_ops strategy_genetic = {.name = "genetic",
                                       .doc = "a genetic algorithm: children of the best so far",
                                       .start = start,
                                       .ask = ask,
                                       .tell = tell,
                                       .stop = stop};
