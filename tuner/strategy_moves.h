/* Random numbers and moves in a space, shared by the strategies. */
#ifndef KERNWRIGHT_TUNER_STRATEGY_MOVES_H
#define KERNWRIGHT_TUNER_STRATEGY_MOVES_H

#include "tuner/space.h"

#include <gsl/gsl_rng.h>

typedef struct moves {
    const space *space;
    size_t n_params;
    gsl_rng *random;
    uint32_t *neighbours; /* of the last call of moves_neighbours */
    size_t capacity;
    uint32_t *working; /* one configuration */
} moves;

/* `stream` tells strategies apart that run beside each other from one seed. */
void moves_init(moves *m, const space *s, uint64_t seed, uint64_t stream);
void moves_clear(moves *m);

void moves_sample(moves *m, uint32_t *config); /* uniform */
/* All valid neighbours, into m->neighbours; returns how many. */
size_t moves_neighbours(moves *m, const uint32_t *of, space_neighbourhood kind);
/* One changed parameter counts 0.5 for the next value of its list up to 1 for the other end; parameters with equal
 * values count nothing, nor do those that do not exist in one of the two. Ordered and unordered parameters are both
 * served tolerably. */
double moves_distance(const moves *m, const uint32_t *a, const uint32_t *b);
/* The valid configuration near `wanted` (one real index per parameter, clipped to its list): itself if it is valid when
 * rounded, else where steps to valid neighbours from `from` (valid) that come nearer end. */
void moves_nearest(moves *m, const double *wanted, const uint32_t *from, uint32_t *out);

#endif
