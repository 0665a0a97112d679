/* A random order of 0..count-1 that is never stored: a keyed permutation. Shared by strategies. */
#ifndef KERNWRIGHT_TUNER_STRATEGY_SHUFFLE_H
#define KERNWRIGHT_TUNER_STRATEGY_SHUFFLE_H

#include <stdint.h>

typedef struct shuffle {
    uint64_t count;
    uint64_t key;
    unsigned half; /* bits of half a block: the permutation is one of 2^(2 half) >= count numbers */
} shuffle;

shuffle shuffle_of(uint64_t count, uint64_t seed);
/* The i-th of the order; i < count. */
uint64_t shuffle_at(const shuffle *s, uint64_t i);

#endif
