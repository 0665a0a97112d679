#include "tuner/space_states.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void space_states_start(space_states *s, size_t width, size_t depth)
{
    *s = (space_states){.width = width, .depth = depth};
    s->n_slots = 64;
    s->slots = mem_calloc(s->n_slots, sizeof *s->slots);
}

void space_states_free(space_states *s)
{
    free(s->tuples);
    free(s->assignments);
    free(s->hashes);
    free(s->slots);
    *s = (space_states){0};
}

size_t space_states_bytes(const space_states *s)
{
    return s->capacity * (s->width + s->depth + 1) * sizeof(uint32_t) + s->n_slots * sizeof *s->slots;
}

static uint32_t hash_tuple(const uint32_t *tuple, size_t width)
{
    uint64_t h = 0;
    for (size_t i = 0; i < width; i++) {
        h = (h ^ tuple[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

static void grow_slots(space_states *s)
{
    s->n_slots *= 2;
    free(s->slots);
    s->slots = mem_calloc(s->n_slots, sizeof *s->slots);
    for (size_t i = 0; i < s->n; i++) {
        size_t at = s->hashes[i] & (s->n_slots - 1);
        while (s->slots[at])
            at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = (uint32_t)(i + 1);
    }
}

static void grow_states(space_states *s)
{
    s->capacity = s->capacity ? 2 * s->capacity : 64;
    s->tuples = mem_realloc(s->tuples, s->capacity * s->width * sizeof *s->tuples);
    s->assignments = mem_realloc(s->assignments, s->capacity * s->depth * sizeof *s->assignments);
    s->hashes = mem_realloc(s->hashes, s->capacity * sizeof *s->hashes);
}

uint32_t space_states_add(space_states *s, const uint32_t *tuple, const uint32_t *assignment, uint32_t last)
{
    size_t tuple_bytes = s->width * sizeof *tuple;
    uint32_t hash = hash_tuple(tuple, s->width);
    size_t at = hash & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        uint32_t i = s->slots[at] - 1;
        if (s->hashes[i] == hash && memcmp(s->tuples + i * s->width, tuple, tuple_bytes) == 0)
            return i;
    }
    if (s->n == s->capacity)
        grow_states(s);
    memcpy(s->tuples + s->n * s->width, tuple, tuple_bytes);
    memcpy(s->hashes + s->n, &hash, sizeof hash);
    uint32_t *path = s->assignments + s->n * s->depth;
    if (s->depth > 0) {
        memcpy(path, assignment, (s->depth - 1) * sizeof *path);
        path[s->depth - 1] = last;
    }
    s->slots[at] = (uint32_t)++s->n;
    if (2 * s->n > s->n_slots)
        grow_slots(s);
    return (uint32_t)(s->n - 1);
}
