#include "tuner/strategy_moves.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void moves_init(moves *m, const space *s, uint64_t seed, uint64_t stream)
{
    *m = (moves){.space = s, .n_params = space_params(s)};
    m->random = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(m->random, (unsigned long)counter_rng_u64(seed, stream, 0));
    m->working = mem_alloc(m->n_params * sizeof *m->working);
}

void moves_clear(moves *m)
{
    gsl_rng_free(m->random);
    free(m->neighbours);
    free(m->working);
}

static uint64_t random64(void *cookie)
{
    gsl_rng *random = cookie;
    uint64_t high = gsl_rng_get(random);
    return high << 32 | gsl_rng_get(random);
}

void moves_sample(moves *m, uint32_t *config)
{
    space_sample(m->space, random64, m->random, config);
}

size_t moves_neighbours(moves *m, const uint32_t *of, space_neighbourhood kind)
{
    size_t n = space_neighbours(m->space, of, kind, m->neighbours, m->capacity);
    if (n > m->capacity) {
        m->neighbours = mem_realloc(m->neighbours, n * m->n_params * sizeof *m->neighbours);
        m->capacity = n;
        space_neighbours(m->space, of, kind, m->neighbours, n);
    }
    return n;
}

double moves_distance(const moves *m, const uint32_t *a, const uint32_t *b)
{
    double d = 0;
    for (size_t i = 0; i < m->n_params; i++) {
        if (a[i] == b[i] || !space_param_exists(m->space, i, a) || !space_param_exists(m->space, i, b))
            continue;
        double steps = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        d += 0.5 + 0.5 * steps / (double)(space_param_at(m->space, i)->n_values - 1);
    }
    return d;
}

/* Squared, each parameter's list scaled to length 1. */
static double from_wanted(const moves *m, const double *wanted, const uint32_t *config)
{
    double d = 0;
    for (size_t i = 0; i < m->n_params; i++) {
        size_t n = space_param_at(m->space, i)->n_values;
        double steps = n > 1 ? (wanted[i] - config[i]) / (double)(n - 1) : 0;
        d += steps * steps;
    }
    return d;
}

void moves_nearest(moves *m, const double *wanted, const uint32_t *from, uint32_t *out)
{
    for (size_t i = 0; i < m->n_params; i++) {
        double last = (double)(space_param_at(m->space, i)->n_values - 1);
        out[i] = (uint32_t)lround(!(wanted[i] > 0) ? 0 : wanted[i] > last ? last : wanted[i]);
    }
    if (space_contains(m->space, out))
        return;
    memcpy(out, from, m->n_params * sizeof *out);
    double least = from_wanted(m, wanted, out);
    for (;;) {
        size_t n = moves_neighbours(m, out, SPACE_HAMMING), best = SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            double d = from_wanted(m, wanted, m->neighbours + i * m->n_params);
            if (d < least) {
                least = d;
                best = i;
            }
        }
        if (best == SIZE_MAX)
            return;
        memcpy(out, m->neighbours + best * m->n_params, m->n_params * sizeof *out);
    }
}
