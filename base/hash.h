/* 128-bit content hashes (XXH3), as 32 lower-case hex digits. Not cryptographic: they name things. */
#ifndef KERNWRIGHT_BASE_HASH_H
#define KERNWRIGHT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_HEX_SIZE 33 /* with the NUL */

void hash_hex(const void *data, size_t length, char out[HASH_HEX_SIZE]);
uint64_t hash_u64(const void *data, size_t length, uint64_t seed);

#endif
