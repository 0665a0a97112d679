/* What a search has proposed and been told: shared by the strategies. */
#ifndef KERNWRIGHT_TUNER_OBSERVATIONS_H
#define KERNWRIGHT_TUNER_OBSERVATIONS_H

#include "tuner/space.h"
#include "tuner/strategy_internal.h"

typedef enum observation_state { OBSERVATION_PENDING, OBSERVATION_OK, OBSERVATION_FAILED } observation_state;

typedef struct observation {
    observation_state state;
    double log_time; /* natural logarithm, of a success */
    double belief;   /* of a model, while it is pending; NAN: none. In the model's units */
    double offset;   /* what knowledge from elsewhere predicts, in log time; 0 without it */
} observation;

typedef struct observations {
    const space *space;
    size_t n_params;
    observation *items; /* in the order in which they came */
    uint32_t *configs;  /* n_params each */
    size_t n, n_ok, n_failed, items_capacity, configs_capacity;
    size_t best; /* index of the least time; SIZE_MAX before the first success */
    key_set keys;
} observations;

void observations_init(observations *o, const space *s);
void observations_clear(observations *o);

static inline const uint32_t *observations_config(const observations *o, size_t i)
{
    return o->configs + i * o->n_params;
}

bool observations_has(const observations *o, const uint32_t *config);
/* Index, SIZE_MAX if there is none. */
size_t observations_find(const observations *o, const uint32_t *config);
/* The configuration is proposed: index of the new, pending, observation. It must not be there. */
size_t observations_propose(observations *o, const uint32_t *config);
/* Told, whether proposed or not; told again replaces. A time that is not a positive number is a failure. */
size_t observations_tell(observations *o, const uint32_t *config, bool ok, double time_ns);
/* Indices of the `k` least times (fewer if there are fewer), best first; returns how many. */
size_t observations_elites(const observations *o, size_t *out, size_t k);

#endif
