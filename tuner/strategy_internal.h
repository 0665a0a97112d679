/* What the files of the strategies share. */
#ifndef KERNWRIGHT_TUNER_STRATEGY_INTERNAL_H
#define KERNWRIGHT_TUNER_STRATEGY_INTERNAL_H

#include "tuner/strategy.h"

extern const strategy_ops strategy_annealing, strategy_auto, strategy_bandit, strategy_bayes, strategy_evolution,
    strategy_exhaustive, strategy_genetic, strategy_ils, strategy_local, strategy_random, strategy_sobol,
    strategy_swarm, strategy_tabu;

/* A number that names a configuration of the space: its rank, or a hash where ranks do not fit into 64 bits. */
uint64_t strategy_key(const space *s, const uint32_t *config);

/* A set of such numbers. */
typedef struct key_set {
    uint64_t *slots; /* key + 1, 0 free; no key is UINT64_MAX */
    size_t n, n_slots;
} key_set;

bool key_set_add(key_set *k, uint64_t key); /* false if it was there */
bool key_set_has(const key_set *k, uint64_t key);
void key_set_clear(key_set *k);

#endif
