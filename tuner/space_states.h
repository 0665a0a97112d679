/* The states of one level of a diagram while it is built from the top: tuples of numbered values, each once, with one
 * assignment that leads there. */
#ifndef KERNWRIGHT_TUNER_SPACE_STATES_H
#define KERNWRIGHT_TUNER_SPACE_STATES_H

#include <stddef.h>
#include <stdint.h>

typedef struct space_states {
    size_t width; /* numbers per tuple */
    size_t depth; /* variables assigned so far */
    size_t n, capacity;
    uint32_t *tuples;      /* n * width */
    uint32_t *assignments; /* n * depth: index in the domain of the variable of each level */
    uint32_t *hashes;      /* n */
    uint32_t *slots;       /* hash table of state + 1 */
    size_t n_slots;
} space_states;

void space_states_start(space_states *s, size_t width, size_t depth);
void space_states_free(space_states *s);
size_t space_states_bytes(const space_states *s);
/* The number of the state with this tuple; a new one is reached by `assignment` (depth - 1 indices) and `last`. */
uint32_t space_states_add(space_states *s, const uint32_t *tuple, const uint32_t *assignment, uint32_t last);

#endif
