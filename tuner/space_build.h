/* Building the diagram of one group: from the top by merging states, then from the bottom by merging equal nodes. */
#ifndef KERNWRIGHT_TUNER_SPACE_BUILD_H
#define KERNWRIGHT_TUNER_SPACE_BUILD_H

#include "tuner/space_group.h"
#include "tuner/space_internal.h"

/* What the top-down pass leaves: dead ends and equal nodes are still in it. */
typedef struct space_raw_edge {
    uint32_t value, child;
} space_raw_edge;

typedef struct space_raw_level {
    size_t param;
    size_t n_nodes;
    uint32_t *first; /* n_nodes + 1 */
    space_raw_edge *edges;
    size_t n_edges, capacity;
} space_raw_level;

/* KW_FAILED (without a message) if no configuration is left; KW_BAD_INPUT if more than max_bytes would be needed. */
kw_code space_build_part(const space_problem *p, size_t group, size_t max_bytes, space_part *out, kw_error *err);

/* Frees the raw levels on the way; *out is empty if nothing is left. KW_BAD_INPUT if max_bytes are not enough, or what
 * the watch (may be NULL) says. */
kw_code space_reduce(space_raw_level *raw, size_t n_levels, size_t max_bytes, const space_watch *watch, space_part *out,
                     kw_error *err);

#endif
