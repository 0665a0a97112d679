/* What a space is made of; shared by tuner/space*.c only.
 *
 * A part is one group of parameters tied by constraints: a decision diagram with one level per parameter. Node 0 of
 * level 0 is the root. An edge is one value of the level's parameter; what lies under different edges of a node are
 * different configurations, so the number of configurations is the number of paths. Parameters without constraints are
 * parts of one level; those with a single value left are in no part.
 */
#ifndef KERNWRIGHT_TUNER_SPACE_INTERNAL_H
#define KERNWRIGHT_TUNER_SPACE_INTERNAL_H

#include "tuner/space.h"

#define SPACE_VARIES UINT32_MAX
#define SPACE_NOWHERE UINT32_MAX

typedef struct space_edge {
    uint32_t value;  /* index in the parameter's values; ascending within a node */
    uint32_t child;  /* node of the next level; 0 in the last level */
    uint64_t before; /* configurations under the node's earlier edges, at most UINT64_MAX */
} space_edge;

typedef struct space_level {
    size_t param; /* index in the definition */
    size_t n_nodes;
    uint32_t *first; /* n_nodes + 1; the edges of node i are edges[first[i]] .. edges[first[i + 1] - 1] */
    space_edge *edges;
    double *weight; /* configurations under a node, rounded; only in parts whose count does not fit, else NULL */
    /* Where the edges lead once more, for queries that walk often: of value v and node i at child[v * n_nodes + i], or
     * SPACE_NOWHERE. NULL where it would take more memory than the edges, and on a part's first level. */
    uint32_t *child;
    size_t n_values; /* of the parameter */
} space_level;

typedef struct space_part {
    space_level *levels;
    size_t n_levels;
    uint64_t count; /* UINT64_MAX if more */
} space_part;

/* How far a construction may go. */
typedef struct space_watch {
    space_limits limits; /* nothing is 0 */
    double started;      /* seconds */
} space_watch;

/* KW_OK while time is left and nobody asked to stop. Costs a look at the clock. */
kw_code space_watch_check(const space_watch *w, kw_error *err);

struct space {
    space_def def; /* its arrays are the three below */
    space_param *params;
    space_constraint *constraints;
    value *env;
    space_part *parts; /* in rank order: the first varies slowest */
    size_t n_parts;
    uint32_t *fixed; /* per parameter: its only value left, or SPACE_VARIES */
    bool *is_switch; /* per parameter: whether others exist depends on it. NULL: on none */
    uint64_t count;
    size_t bytes;
    bool is_list; /* from a list: the definition has no constraints that would say what is valid */
};

/* The edge of `node` with this value; NULL if there is none. */
const space_edge *space_find_edge(const space_level *level, uint32_t node, uint32_t wanted);
/* Fills `child` of a finished part's levels, as far as the part then takes no more than max_bytes. */
void space_part_index(space_part *part, const space_def *def, size_t max_bytes);
void space_part_free(space_part *part);
/* Gives each parameter that does not exist in a configuration its default. */
void space_settle(const space *s, uint32_t *config);
size_t space_adjacent(const space *s, const uint32_t *config, uint32_t *out, size_t capacity);
uint64_t space_random_below(uint64_t n, uint64_t (*random64)(void *), void *cookie); /* uniform in 0..n-1 */
size_t space_part_bytes(const space_part *part);

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
