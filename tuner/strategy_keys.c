#include "tuner/strategy_internal.h"

#include "base/counter_rng.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

uint64_t strategy_key(const space *s, const uint32_t *config)
{
    uint64_t key = 0;
    if (space_count(s) < UINT64_MAX)
        space_rank(s, config, &key);
    else
        key = hash_u64(config, space_params(s) * sizeof *config, 0);
    return key < UINT64_MAX ? key : 0;
}

static size_t slot_of(const key_set *k, uint64_t key)
{
    size_t at = counter_mix(key) & (k->n_slots - 1);
    while (k->slots[at] && k->slots[at] != key + 1)
        at = (at + 1) & (k->n_slots - 1);
    return at;
}

static void grow(key_set *k)
{
    key_set larger = {NULL, k->n, k->n_slots ? 2 * k->n_slots : 256};
    larger.slots = mem_calloc(larger.n_slots, sizeof *larger.slots);
    for (size_t i = 0; i < k->n_slots; i++)
        if (k->slots[i])
            larger.slots[slot_of(&larger, k->slots[i] - 1)] = k->slots[i];
    free(k->slots);
    *k = larger;
}

bool key_set_add(key_set *k, uint64_t key)
{
    if (2 * (k->n + 1) > k->n_slots)
        grow(k);
    size_t at = slot_of(k, key);
    if (k->slots[at])
        return false;
    k->slots[at] = key + 1;
    k->n++;
    return true;
}

bool key_set_has(const key_set *k, uint64_t key)
{
    return k->n > 0 && k->slots[slot_of(k, key)] != 0;
}

void key_set_clear(key_set *k)
{
    free(k->slots);
    *k = (key_set){0};
}
