/* Greedy iterated local search: the neighbours of the present configuration (one parameter changed) in random order;
 * the first that is faster becomes the present one. At a local optimum some parameters of the best are changed at
 * random, and the descent goes on from there.
 * Source: Lourenco, Martin, Stuetzle, Iterated local search, Handbook of Metaheuristics, 2003. */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define STREAM 7
#define FIRST_SAMPLES 5
#define KICK 3 /* parameters changed at a local optimum, at most */

typedef struct ils {
    observations seen;
    moves moves;
    size_t current; /* index of an observation; SIZE_MAX: to be set by the next that is told */
} ils;

static void *start(const space *s, const strategy_options *o)
{
    ils *x = mem_calloc(1, sizeof *x);
    observations_init(&x->seen, s);
    moves_init(&x->moves, s, o->seed, STREAM);
    x->current = SIZE_MAX;
    return x;
}

/* A random one of the neighbours that were not proposed yet. */
static bool new_neighbour(ils *x, uint32_t *config)
{
    size_t n = moves_neighbours(&x->moves, observations_config(&x->seen, x->current), SPACE_HAMMING), met = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *to = x->moves.neighbours + i * x->seen.n_params;
        if (!observations_has(&x->seen, to) && gsl_rng_uniform_int(x->moves.random, ++met) == 0)
            memcpy(config, to, x->seen.n_params * sizeof *config);
    }
    return met > 0;
}

/* A few steps to random neighbours, starting at the best. */
static bool kick(ils *x, uint32_t *config)
{
    memcpy(config, observations_config(&x->seen, x->seen.best), x->seen.n_params * sizeof *config);
    unsigned long steps = 1 + gsl_rng_uniform_int(x->moves.random, KICK);
    for (unsigned long k = 0; k <= steps; k++) {
        size_t n = moves_neighbours(&x->moves, config, SPACE_HAMMING);
        if (n == 0)
            return false;
        size_t at = gsl_rng_uniform_int(x->moves.random, (unsigned long)n);
        memcpy(config, x->moves.neighbours + at * x->seen.n_params, x->seen.n_params * sizeof *config);
    }
    return !observations_has(&x->seen, config);
}

static bool ask(void *state, uint32_t *config)
{
    ils *x = state;
    bool found = false;
    if (x->seen.n >= FIRST_SAMPLES && x->seen.best != SIZE_MAX) {
        if (x->current == SIZE_MAX)
            x->current = x->seen.best;
        found = new_neighbour(x, config);
        if (!found) {
            x->current = SIZE_MAX;
            found = kick(x, config);
        }
    }
    if (!found)
        moves_sample(&x->moves, config);
    if (!observations_has(&x->seen, config))
        observations_propose(&x->seen, config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    ils *x = state;
    size_t i = observations_tell(&x->seen, config, ok, time_ns);
    if (x->seen.items[i].state != OBSERVATION_OK) {
        if (x->current == i)
            x->current = SIZE_MAX;
        return;
    }
    if (x->current == SIZE_MAX || x->seen.items[i].log_time < x->seen.items[x->current].log_time)
        x->current = i;
}

static void stop(void *state)
{
    ils *x = state;
    observations_clear(&x->seen);
    moves_clear(&x->moves);
    free(x);
}

const strategy_ops strategy_ils = {.name = "ils",
                                   .doc = "greedy iterated local search: first faster neighbour, then a kick",
                                   .start = start,
                                   .ask = ask,
                                   .tell = tell,
                                   .stop = stop};
