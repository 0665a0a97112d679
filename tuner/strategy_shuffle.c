#include "tuner/strategy_shuffle.h"

#include "base/counter_rng.h"

#define ROUNDS 8
#define MIN_HALF 6 /* very small blocks would leave too few different orders */

shuffle shuffle_of(uint64_t count, uint64_t seed)
{
    shuffle s = {count, counter_mix(seed + 0x9e3779b97f4a7c15u), MIN_HALF};
    while (s.half < 32 && count > (uint64_t)1 << 2 * s.half)
        s.half++;
    return s;
}

/* A balanced Feistel network: a permutation whatever the round function is. */
static uint64_t permute(const shuffle *s, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << s->half) - 1;
    uint64_t left = x >> s->half, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t next = left ^ (counter_rng_u64(s->key, round, right) & mask);
        left = right;
        right = next;
    }
    return left << s->half | right;
}

/* Numbers that the permutation of the larger block takes out of 0..count-1 are sent on until they come back. */
uint64_t shuffle_at(const shuffle *s, uint64_t i)
{
    do
        i = permute(s, i);
    while (i >= s->count);
    return i;
}
