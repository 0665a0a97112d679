/* In which order a diagram assigns the variables of a group: that decides its size. */
#ifndef KERNWRIGHT_TUNER_SPACE_ORDER_H
#define KERNWRIGHT_TUNER_SPACE_ORDER_H

#include "tuner/space_group.h"

/* All variables of the group; the caller frees. Deterministic; no claim to be the best order. */
size_t *space_order_find(space_group *g);

#endif
