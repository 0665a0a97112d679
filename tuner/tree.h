/* A decision tree over shapes, fitted to measured times: what a header asks for shapes that no row answers. */
#ifndef KERNWRIGHT_TUNER_TREE_H
#define KERNWRIGHT_TUNER_TREE_H

#include "codegen/features.h"
#include "codegen/header.h"
#include "tuner/costmodel.h"
#include "tuner/costs.h"
#include "tuner/grid.h"
#include "tuner/portfolio.h"

/* How much a tree may say of its data. Both numbers are chosen by cross-validation. */
typedef struct tree_settings {
    double leaf_price; /* a split must lower the summed ratios by this share of the mean weight, per leaf */
    double prior;      /* so many mean shapes' worth does the parent's opinion of a variant count in a leaf */
    bool by_model;     /* a grid of what a model of times says (tuner/grid.h); for tasks with too many dims for one a
                          tree that is fitted to shapes that the model draws, too */
} tree_settings;

typedef struct tree tree;

/* Fits to the shapes of `used` (NULL: all) with the variants of `p`. Splits greedily, each time where the summed ratio
 * of time to best of the two halves, each run by its best variant, is least: not labels but costs decide. Then leaves
 * that are not worth their price go, bottom up (cost-complexity pruning: L. Breiman, J. Friedman, R. Olshen, C. Stone,
 * Classification and Regression Trees, 1984). A leaf ranks the variants by their mean ratio over its shapes, shrunk
 * towards its parent's. */
tree *tree_fit(const cost_table *m, const shape_features *f, const portfolio *p, const bool *used,
               tree_settings settings);
/* The two halves of it: all splits, then what `settings` leave of them. It may be settled again at a higher price. */
tree *tree_grow(const cost_table *m, const shape_features *f, const portfolio *p, const bool *used);
void tree_settle(tree *t, tree_settings settings);
void tree_free(tree *t); /* NULL is fine */

/* The same with a grid, whose leaves it takes: those of a model of this table, with the variants of `p`. */
tree *tree_of_grid(const cost_table *m, const shape_features *f, const portfolio *p, grid_leaves *leaves);

size_t tree_leaf(const tree *t, const int64_t *dims); /* 0 to tree_leaves - 1 */
size_t tree_leaves(const tree *t);
size_t tree_cells(const tree *t); /* of its grid; 0: it has nodes */
/* Which variant (column of the matrix) the tree puts at this place for a shape, from 0; SIZE_MAX: no more, or the shape
 * is out of reach. */
size_t tree_variant(const tree *t, const int64_t *dims, size_t place);
/* The ratio that the tree's choice would have on a shape of the matrix: the first of the leaf that runs it. */
double tree_ratio(const tree *t, size_t shape);

/* The tree as a header wants it, its bounds too (TREE_REACH); `leaf_regret` (tree_leaves numbers) are the expected
 * regrets of the leaves. Variants are columns of the matrix. Free nodes, leaves and grid (its leaf, too) of `out` with
 * free(). */
void tree_export(const tree *t, const double *leaf_regret, header_tree *out);

/* Beyond the measured dims by more than this factor, down or up, the tree is not asked; a grid by twice that. */
#define TREE_REACH 2

/* ---- what is to be expected of it ---- */

typedef struct tree_estimate {
    tree_settings settings; /* the best */
    regret_sum held_out;    /* of shapes that took no part in choosing portfolio and tree */
    double *ratios;         /* of each shape, when it was held out; free() */
    size_t folds;
} tree_estimate;

/* Number `i` of n shuffled shapes, always the same: neighbours in a sorted list shall not share a fold. n numbers. */
size_t *tree_shuffled(size_t n);

/* Shapes up to this many are left out one by one; more of them in 16 folds, of more than 256 in 8. */
#define TREE_LEAVE_ONE_OUT 64

/* For each shape: portfolio (at most k variants) and tree made from the others, asked for it. The settings are those
 * with the least mean; of near equals the simpler ones. With a model of the same table (NULL: none) a grid of what it
 * says is tried, and taken unless the tree is clearly better, or as good on every shape. The mean shares of all
 * variants, which stand beside each one's times, know the shape that is left out. */
void tree_cross_validate(const cost_table *m, const shape_features *f, size_t k, costmodel *c, tree_estimate *out);
/* The same for portfolios of several sizes from PORTFOLIO_DEFAULT on, with grids; in at most 16 folds. n is 0 where
 * there is no grid. Recommended is the least size whose mean regret is within TREE_SIZE_GAIN of the least, and whose
 * worst is at most TREE_SIZE_WORST times the least; if none is, the largest. */
#define TREE_SIZES 5
#define TREE_SIZE_GAIN 0.005
#define TREE_SIZE_WORST 1.1
typedef struct tree_sizes {
    size_t n, variants[TREE_SIZES], recommended;
    regret_sum held_out[TREE_SIZES];
} tree_sizes;
void tree_try_sizes(const cost_table *m, costmodel *c, tree_sizes *out);

/* Cross-validation, and portfolio and tree made from all shapes. The tree borrows the table and the model. */
tree *tree_choose(const cost_table *m, const shape_features *f, size_t k, costmodel *c, portfolio *p,
                  tree_estimate *out);

#endif
