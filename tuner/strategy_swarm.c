/* Particle swarm with constriction, on the indices of values: a position that is not valid becomes a valid one near it.
 * Asynchronous: a particle moves whenever it is asked, by what it knows then.
 * Source: Kennedy, Eberhart, ICNN 1995; constriction: Clerc, Kennedy, IEEE TEVC 6, 2002. */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM 6
#define PARTICLES 12
#define LEAST_PARTICLES 4
#define INERTIA 0.7298
#define PULL 1.49618
#define FASTEST 0.5 /* of a list's length per move */

typedef struct particle {
    double *position, *velocity;
    size_t best; /* index of an observation; SIZE_MAX: none yet */
} particle;

typedef struct swarm {
    observations seen;
    moves moves;
    particle particles[PARTICLES];
    size_t n, next;
    size_t *owner; /* of each observation; SIZE_MAX: none */
    size_t owner_capacity;
    double *memory;
} swarm;

static void *start(const space *s, const strategy_options *o)
{
    swarm *w = mem_calloc(1, sizeof *w);
    observations_init(&w->seen, s);
    moves_init(&w->moves, s, o->seed, STREAM);
    w->n = o->budget / 5 < PARTICLES ? o->budget / 5 : PARTICLES;
    if (w->n < LEAST_PARTICLES)
        w->n = LEAST_PARTICLES;
    size_t width = w->moves.n_params;
    w->memory = mem_calloc(2 * w->n * width, sizeof *w->memory);
    for (size_t i = 0; i < w->n; i++)
        w->particles[i] = (particle){w->memory + 2 * i * width, w->memory + (2 * i + 1) * width, SIZE_MAX};
    return w;
}

static double last_index(const swarm *w, size_t p)
{
    return (double)(space_param_at(w->seen.space, p)->n_values - 1);
}

static void put(swarm *w, particle *x, const uint32_t *config)
{
    for (size_t p = 0; p < w->seen.n_params; p++) {
        x->position[p] = config[p];
        x->velocity[p] = (gsl_rng_uniform(w->moves.random) - 0.5) * FASTEST * last_index(w, p);
    }
}

static void move(swarm *w, particle *x, uint32_t *config)
{
    const uint32_t *all = observations_config(&w->seen, w->seen.best);
    const uint32_t *own = x->best == SIZE_MAX ? all : observations_config(&w->seen, x->best);
    for (size_t p = 0; p < w->seen.n_params; p++) {
        double most = FASTEST * last_index(w, p), v = INERTIA * x->velocity[p];
        v += PULL * gsl_rng_uniform(w->moves.random) * (own[p] - x->position[p]);
        v += PULL * gsl_rng_uniform(w->moves.random) * (all[p] - x->position[p]);
        x->velocity[p] = fmin(fmax(v, -most), most);
        x->position[p] = fmin(fmax(x->position[p] + x->velocity[p], 0), last_index(w, p));
    }
    moves_nearest(&w->moves, x->position, own, config);
}

static bool ask(void *state, uint32_t *config)
{
    swarm *w = state;
    size_t i = w->next++ % w->n;
    bool moving = w->seen.n >= w->n && w->seen.best != SIZE_MAX;
    if (moving)
        move(w, &w->particles[i], config);
    if (!moving || observations_has(&w->seen, config)) { /* a particle that has come to rest starts again */
        moves_sample(&w->moves, config);
        put(w, &w->particles[i], config);
    }
    if (observations_has(&w->seen, config))
        return true; /* the caller asks again */
    size_t k = observations_propose(&w->seen, config);
    w->owner = mem_grow(w->owner, &w->owner_capacity, k + 1, sizeof *w->owner);
    w->owner[k] = i;
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    swarm *w = state;
    size_t before = w->seen.n, k = observations_tell(&w->seen, config, ok, time_ns);
    w->owner = mem_grow(w->owner, &w->owner_capacity, k + 1, sizeof *w->owner);
    if (w->seen.n > before)
        w->owner[k] = SIZE_MAX;
    if (w->owner[k] == SIZE_MAX || w->seen.items[k].state != OBSERVATION_OK)
        return;
    particle *x = &w->particles[w->owner[k]];
    if (x->best == SIZE_MAX || w->seen.items[k].log_time < w->seen.items[x->best].log_time)
        x->best = k;
}

static void stop(void *state)
{
    swarm *w = state;
    observations_clear(&w->seen);
    moves_clear(&w->moves);
    free(w->owner);
    free(w->memory);
    free(w);
}

const strategy_ops strategy_swarm = {.name = "swarm",
                                     .doc = "particle swarm on the indices of values",
                                     .start = start,
                                     .ask = ask,
                                     .tell = tell,
                                     .stop = stop};
