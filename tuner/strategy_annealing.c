/* Simulated annealing: a walk over valid neighbours (one parameter changed) that accepts what is slower with the
 * probability exp(-(difference of log times) / temperature). The temperature falls geometrically over the budget.
 * What is known already is walked over without a new evaluation.
 * Source: Kirkpatrick, Gelatt, Vecchi, Science 220, 1983. */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM 3
#define FIRST_SAMPLES 5
#define HOTTEST 0.3 /* a difference of 30% is accepted one time in e */
#define COLDEST 0.005
#define ROUND 200 /* evaluations of one cooling where there is no budget */
#define WALK 200  /* steps over what is known before a random configuration */

typedef struct annealing {
    observations seen;
    moves moves;
    uint64_t round;
    size_t current; /* index of an observation; SIZE_MAX before the first success */
} annealing;

static void *start(const space *s, const strategy_options *o)
{
    annealing *a = mem_calloc(1, sizeof *a);
    observations_init(&a->seen, s);
    moves_init(&a->moves, s, o->seed, STREAM);
    a->round = o->budget < UINT64_MAX && o->budget > 0 ? o->budget : ROUND;
    a->current = SIZE_MAX;
    return a;
}

static double temperature(const annealing *a)
{
    double done = (double)(a->seen.n % a->round) / (double)a->round;
    return HOTTEST * pow(COLDEST / HOTTEST, done);
}

static void consider(annealing *a, size_t i)
{
    if (a->seen.items[i].state != OBSERVATION_OK)
        return;
    if (a->current == SIZE_MAX) {
        a->current = i;
        return;
    }
    double slower = a->seen.items[i].log_time - a->seen.items[a->current].log_time;
    if (slower <= 0 || (a->seen.n > FIRST_SAMPLES && gsl_rng_uniform(a->moves.random) < exp(-slower / temperature(a))))
        a->current = i;
}

static bool walk(annealing *a, uint32_t *config)
{
    for (int step = 0; step < WALK; step++) {
        size_t n = moves_neighbours(&a->moves, observations_config(&a->seen, a->current), SPACE_HAMMING);
        if (n == 0)
            return false;
        const uint32_t *to =
            a->moves.neighbours + gsl_rng_uniform_int(a->moves.random, (unsigned long)n) * a->seen.n_params;
        size_t known = observations_find(&a->seen, to);
        if (known == SIZE_MAX) {
            memcpy(config, to, a->seen.n_params * sizeof *config);
            return true;
        }
        consider(a, known);
    }
    return false;
}

static bool ask(void *state, uint32_t *config)
{
    annealing *a = state;
    if (a->seen.n < FIRST_SAMPLES || a->current == SIZE_MAX || !walk(a, config))
        moves_sample(&a->moves, config);
    if (!observations_has(&a->seen, config))
        observations_propose(&a->seen, config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    annealing *a = state;
    size_t i = observations_tell(&a->seen, config, ok, time_ns);
    if (i == a->current && a->seen.items[i].state != OBSERVATION_OK)
        a->current = a->seen.best;
    consider(a, i);
}

static void stop(void *state)
{
    annealing *a = state;
    observations_clear(&a->seen);
    moves_clear(&a->moves);
    free(a);
}

const strategy_ops strategy_annealing = {.name = "annealing",
                                         .doc = "simulated annealing over neighbours",
                                         .start = start,
                                         .ask = ask,
                                         .tell = tell,
                                         .stop = stop};
