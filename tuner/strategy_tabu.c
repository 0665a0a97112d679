/* Tabu search: some neighbours of the present configuration are measured, and the fastest of them becomes the present
 * one even if it is slower, unless it undoes a recent change; what beats all so far may. Tabu is a value of a
 * parameter, for some moves after it was left.
 * Source: Glover, ORSA J. Computing 1, 1989. */
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define STREAM 8
#define FIRST_SAMPLES 8
#define BATCH 8  /* neighbours measured before a move */
#define TENURE 5 /* moves that a value stays tabu */

typedef struct tabu {
    observations seen;
    moves moves;
    size_t current, candidate; /* indices of observations; SIZE_MAX: none */
    size_t asked, told;        /* of the present neighbourhood */
    size_t n_moves;
    size_t *until, *offset; /* per parameter and value: the move until which it is tabu */
} tabu;

static void *start(const space *s, const strategy_options *o)
{
    tabu *t = mem_calloc(1, sizeof *t);
    observations_init(&t->seen, s);
    moves_init(&t->moves, s, o->seed, STREAM);
    t->current = t->candidate = SIZE_MAX;
    t->offset = mem_calloc(t->seen.n_params, sizeof *t->offset);
    size_t n = 0;
    for (size_t p = 0; p < t->seen.n_params; p++) {
        t->offset[p] = n;
        n += space_param_at(s, p)->n_values;
    }
    t->until = mem_calloc(n, sizeof *t->until);
    return t;
}

static bool is_tabu(const tabu *t, const uint32_t *to)
{
    const uint32_t *from = observations_config(&t->seen, t->current);
    for (size_t p = 0; p < t->seen.n_params; p++)
        if (to[p] != from[p] && t->until[t->offset[p] + to[p]] > t->n_moves)
            return true;
    return false;
}

static void go(tabu *t, size_t to)
{
    const uint32_t *a = observations_config(&t->seen, t->current), *b = observations_config(&t->seen, to);
    t->n_moves++;
    for (size_t p = 0; p < t->seen.n_params; p++)
        if (a[p] != b[p])
            t->until[t->offset[p] + a[p]] = t->n_moves + TENURE;
    t->current = to;
    t->candidate = SIZE_MAX;
    t->asked = t->told = 0;
}

/* A random one of the neighbours that are new and not tabu. */
static bool new_neighbour(tabu *t, uint32_t *config)
{
    size_t n = moves_neighbours(&t->moves, observations_config(&t->seen, t->current), SPACE_HAMMING), met = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *to = t->moves.neighbours + i * t->seen.n_params;
        if (!observations_has(&t->seen, to) && !is_tabu(t, to) && gsl_rng_uniform_int(t->moves.random, ++met) == 0)
            memcpy(config, to, t->seen.n_params * sizeof *config);
    }
    return met > 0;
}

static bool ask(void *state, uint32_t *config)
{
    tabu *t = state;
    bool found = false;
    if (t->seen.n >= FIRST_SAMPLES && t->seen.best != SIZE_MAX) {
        if (t->current == SIZE_MAX)
            t->current = t->seen.best;
        found = new_neighbour(t, config);
        if (!found && t->candidate != SIZE_MAX) {
            go(t, t->candidate);
            found = new_neighbour(t, config);
        }
    }
    if (!found) {
        moves_sample(&t->moves, config);
        t->current = t->candidate = SIZE_MAX;
    }
    if (!observations_has(&t->seen, config))
        observations_propose(&t->seen, config);
    t->asked++;
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    tabu *t = state;
    size_t best = t->seen.best, i = observations_tell(&t->seen, config, ok, time_ns);
    t->told++;
    if (t->current == SIZE_MAX || i == t->current)
        return;
    if (t->seen.items[i].state == OBSERVATION_OK) {
        if (t->seen.best == i && best != i) { /* better than all: at once */
            go(t, i);
            return;
        }
        if (t->candidate == SIZE_MAX || t->seen.items[i].log_time < t->seen.items[t->candidate].log_time)
            t->candidate = i;
    }
    if (t->told >= BATCH && t->candidate != SIZE_MAX)
        go(t, t->candidate);
}

static void stop(void *state)
{
    tabu *t = state;
    observations_clear(&t->seen);
    moves_clear(&t->moves);
    free(t->until);
    free(t->offset);
    free(t);
}

const strategy_ops strategy_tabu = {.name = "tabu",
                                    .doc = "tabu search: the best of some neighbours, without undoing recent changes",
                                    .start = start,
                                    .ask = ask,
                                    .tell = tell,
                                    .stop = stop};
