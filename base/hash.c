#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

void hash_hex(const void *data, size_t length, char out[HASH_HEX_SIZE])
{
    XXH128_hash_t h = XXH3_128bits(data, length);
    snprintf(out, HASH_HEX_SIZE, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

uint64_t hash_u64(const void *data, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, length, seed);
}
