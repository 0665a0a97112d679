/* Differential evolution, current-to-best/1/bin, on the indices of values: a trial that is not valid becomes a valid
 * one near it. Asynchronous: each member is replaced as soon as a trial of its own is told to be faster.
 * Source: Storn, Price, J. Global Optimization 11, 1997; Das, Suganthan, IEEE TEVC 15, 2011 (variants). */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define STREAM 5
#define POPULATION 16
#define LEAST_POPULATION 5
#define FACTOR 0.6
#define CROSSOVER 0.7

typedef struct evolution {
    observations seen;
    moves moves;
    size_t population;
    size_t members[POPULATION]; /* indices of observations */
    size_t n_members, next;
    size_t *target; /* of each observation, the member that it is a trial for; SIZE_MAX: none */
    size_t target_capacity;
    double *wanted;
} evolution;

static void *start(const space *s, const strategy_options *o)
{
    evolution *e = mem_calloc(1, sizeof *e);
    observations_init(&e->seen, s);
    moves_init(&e->moves, s, o->seed, STREAM);
    e->population = o->budget / 5 < POPULATION ? o->budget / 5 : POPULATION;
    if (e->population < LEAST_POPULATION)
        e->population = LEAST_POPULATION;
    e->wanted = mem_alloc(e->moves.n_params * sizeof *e->wanted);
    return e;
}

static const uint32_t *member(evolution *e, size_t i)
{
    return observations_config(&e->seen, e->members[i]);
}

static void make_trial(evolution *e, size_t of, uint32_t *trial)
{
    const uint32_t *x = member(e, of), *best = observations_config(&e->seen, e->seen.best);
    const uint32_t *a = member(e, gsl_rng_uniform_int(e->moves.random, e->n_members));
    const uint32_t *b = member(e, gsl_rng_uniform_int(e->moves.random, e->n_members));
    size_t certain = gsl_rng_uniform_int(e->moves.random, e->seen.n_params);
    for (size_t i = 0; i < e->seen.n_params; i++) {
        e->wanted[i] = x[i];
        if (i == certain || gsl_rng_uniform(e->moves.random) < CROSSOVER)
            e->wanted[i] += FACTOR * ((double)best[i] - x[i]) + FACTOR * ((double)a[i] - b[i]) +
                            gsl_rng_uniform(e->moves.random) - 0.5; /* rounding up or down */
    }
    moves_nearest(&e->moves, e->wanted, x, trial);
}

/* A neighbour that is new, for a population that has drawn together. */
static bool step_aside(evolution *e, size_t of, uint32_t *config)
{
    size_t n = moves_neighbours(&e->moves, member(e, of), SPACE_HAMMING);
    if (n == 0)
        return false;
    size_t at = gsl_rng_uniform_int(e->moves.random, (unsigned long)n);
    memcpy(config, e->moves.neighbours + at * e->seen.n_params, e->seen.n_params * sizeof *config);
    return !observations_has(&e->seen, config);
}

static bool ask(void *state, uint32_t *config)
{
    evolution *e = state;
    size_t of = SIZE_MAX;
    if (e->seen.n >= e->population && e->n_members >= 3 && e->seen.best != SIZE_MAX) {
        of = e->next++ % e->n_members;
        make_trial(e, of, config);
        if (observations_has(&e->seen, config) && !step_aside(e, of, config))
            of = SIZE_MAX;
    }
    if (of == SIZE_MAX)
        moves_sample(&e->moves, config);
    if (observations_has(&e->seen, config))
        return true; /* the caller asks again */
    size_t i = observations_propose(&e->seen, config);
    e->target = mem_grow(e->target, &e->target_capacity, i + 1, sizeof *e->target);
    e->target[i] = of;
    return true;
}

static size_t slowest(const evolution *e)
{
    size_t worst = 0;
    for (size_t i = 1; i < e->n_members; i++)
        if (e->seen.items[e->members[i]].log_time > e->seen.items[e->members[worst]].log_time)
            worst = i;
    return worst;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    evolution *e = state;
    size_t before = e->seen.n, i = observations_tell(&e->seen, config, ok, time_ns);
    e->target = mem_grow(e->target, &e->target_capacity, i + 1, sizeof *e->target);
    if (e->seen.n > before)
        e->target[i] = SIZE_MAX;
    for (size_t k = 0; k < e->n_members; k++)
        if (e->members[k] == i)
            return;
    if (e->seen.items[i].state != OBSERVATION_OK)
        return;
    if (e->n_members < e->population) {
        e->members[e->n_members++] = i;
        return;
    }
    size_t rival = e->target[i] < e->n_members ? e->target[i] : slowest(e);
    if (e->seen.items[i].log_time <= e->seen.items[e->members[rival]].log_time)
        e->members[rival] = i;
}

static void stop(void *state)
{
    evolution *e = state;
    observations_clear(&e->seen);
    moves_clear(&e->moves);
    free(e->target);
    free(e->wanted);
    free(e);
}

const strategy_ops strategy_evolution = {.name = "evolution",
                                         .doc = "differential evolution on the indices of values",
                                         .start = start,
                                         .ask = ask,
                                         .tell = tell,
                                         .stop = stop};
