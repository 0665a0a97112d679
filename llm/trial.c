/* Fitness. */
#include "llm/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the limit is not known the base is taken as this many times slower than it. */
static const double UNKNOWN_HEADROOM = 10;
static const double LEAST_HEADROOM = 1.25;
/* A right template is worth more than a wrong one, however slow. */
static const double LEAST_FITNESS = 0.5;

double trial_fitness(const trial_shape *shapes, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const trial_shape *s = &shapes[i];
        if (!(s->best_ns > 0) || !(s->base_ns > 0))
            return LEAST_FITNESS;
        double headroom = s->limit_ns > 0 ? s->base_ns / s->limit_ns : UNKNOWN_HEADROOM;
        sum += log(s->base_ns / s->best_ns) / log(fmax(headroom, LEAST_HEADROOM));
    }
    return n ? fmax(LEAST_FITNESS, 1 + sum / (double)n) : LEAST_FITNESS;
}

void trial_result_clear(trial_result *r)
{
    free(r->detail);
    free(r->importance);
    free(r->artefact);
    for (size_t i = 0; i < r->n_shapes && r->shapes; i++)
        free(r->shapes[i].config);
    free(r->shapes);
    for (size_t i = 0; i < r->n_offers; i++)
        free(r->offers[i].config);
    free(r->offers);
    memset(r, 0, sizeof *r);
}
