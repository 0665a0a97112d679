/* Counter-based random numbers: the i-th value of a stream depends only on (seed, stream, i), so that tensors can
 * be generated in any order, in any process, and never travel. Mixing: SplitMix64 finaliser (Steele, Lea, Flood 2014)
 * over the keyed counter. */
#ifndef KERNWRIGHT_BASE_COUNTER_RNG_H
#define KERNWRIGHT_BASE_COUNTER_RNG_H

#include <stdint.h>

static inline uint64_t counter_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t counter_rng_u64(uint64_t seed, uint64_t stream, uint64_t i)
{
    return counter_mix(counter_mix(seed + 0x9e3779b97f4a7c15u * (stream + 1)) + 0x9e3779b97f4a7c15u * (i + 1));
}

/* Uniform in [0, 1) with 53 bits. */
static inline double counter_rng_unit(uint64_t seed, uint64_t stream, uint64_t i)
{
    return (double)(counter_rng_u64(seed, stream, i) >> 11) * 0x1p-53;
}

#endif
