/* What every dispatch header shares for the layer of decision trees and grids: integer features of a shape, and how a
 * tree is asked. The tool makes them with these same functions, so that a shape at a threshold is on the same side. */
#ifndef KW_SHARED_TREE
#define KW_SHARED_TREE 1

#include <stdint.h>
#include <string.h>

#define KW_TREE_RANKED 4    /* variants that a leaf names, best first */
#define KW_TREE_NONE 0xffff /* instead of a variant: no more */
#define KW_TREE_LEAVES 32   /* of one tree, at most */

/* All nodes of a tree are asked, in any order, and each that says no strikes the leaves below its yes; the first leaf
 * that is left is the answer. No step waits for the one before. (C. Lucchese et al., QuickScorer, SIGIR 2015.) */
typedef struct kw_tree_node {
    int32_t at_most;  /* yes: the feature is at most this */
    uint32_t feature; /* which one */
    uint32_t keep[2]; /* a bit for each leaf, the first one lowest: what a yes leaves (all), and what a no */
} kw_tree_node;

typedef struct kw_tree_leaf {
    uint16_t runs[KW_TREE_RANKED];
    uint16_t regret[KW_TREE_RANKED]; /* expected time over the best known, in thousandths */
} kw_tree_leaf;

/* The exponent of a double, and `bits` of its fraction. */
static inline int32_t kw_double_bits(double x, int bits)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return (int32_t)(u >> (52 - bits)) - (1023 << bits);
}

/* 256 log2(d), between powers of two linear (J. N. Mitchell, Computer multiplication and division using binary
 * logarithms, 1962): never decreasing, and different for all d up to 512. d is at least 0; far below the rest for 0. */
static inline int32_t kw_log2_256(int64_t d)
{
    return kw_double_bits((double)d, 8);
}

/* How often 2 divides d, at most 7 times; 7 for 0. */
static inline int32_t kw_twos(int64_t d)
{
    const uint32_t x = (uint32_t)((uint64_t)d & 127) | 128;
    return kw_double_bits((double)(int32_t)(x & (~x + 1)), 0);
}

/* The leaf where a shape with these features ends, from 0. */
static inline int32_t kw_tree_ask(const kw_tree_node *nodes, int32_t n, const int32_t *features)
{
    uint32_t alive = 0xffffffff;
    int32_t i;
    for (i = 0; i < n; i++)
        /* Indexed by the sign: a branch would be a coin toss. */
        alive &= nodes[i].keep[(uint32_t)(nodes[i].at_most - features[nodes[i].feature]) >> 31];
    return kw_double_bits((double)(alive & (~alive + 1)), 0);
}

/* Where a logarithm (kw_log2_256) lies on an axis of n cells, 2^shift wide, the first of which has the number `first`.
 * A power of two is the last of its cell: it needs as many tiles as what is a little less. Beyond the axis its end. */
static inline int32_t kw_grid_cell(int32_t log2_256, int32_t shift, int32_t first, int32_t n)
{
    /* No logarithm is below -2^18, so that nothing negative is shifted. */
    const int32_t cell = (int32_t)((uint32_t)(log2_256 + 0xfffff) >> shift) - first;
    return cell < 0 ? 0 : cell < n ? cell : n - 1;
}

#endif /* KW_SHARED_TREE */
