/* The dispatch model: from the store to what the header writer needs. */
#ifndef KERNWRIGHT_TUNER_DISPATCH_H
#define KERNWRIGHT_TUNER_DISPATCH_H

#include "base/error.h"
#include "codegen/header.h"
#include "tuner/store.h"
#include "tuner/tree.h"

typedef struct dispatch dispatch; /* owns variants, rows, strings of the model */

#define DISPATCH_VARIANTS 8    /* of a device's portfolio, by default */
#define DISPATCH_AUTO SIZE_MAX /* as many as are recommended, at least the default */
#define DISPATCH_TREE_SHAPES 4 /* fewer measured shapes make no tree */
#define DISPATCH_CURVE 16      /* sizes of portfolios that are reported */

typedef struct dispatch_options {
    const char *device_key; /* NULL: all devices */
    bool allow_unverified;
    const char *prefix;
    size_t n_variants;        /* of a device's portfolio, at most PORTFOLIO_MAX; DISPATCH_AUTO; 0: no trees */
    const task_shape *shapes; /* how much each counts, by its weight; one that is not among them counts 1 */
    size_t n_shapes;
} dispatch_options;

typedef struct dispatch_regret {
    double mean, geomean, worst; /* of time over the best that was measured */
} dispatch_regret;

/* What a device's tree is worth. n_leaves 0: it has none. */
typedef struct dispatch_report {
    const char *device_key;
    size_t n_shapes, n_general; /* measured; general variants */
    size_t n_portfolio, n_leaves, folds;
    dispatch_regret held_out;              /* of shapes that took no part in the choice: cross-validation */
    dispatch_regret curve[DISPATCH_CURVE]; /* portfolios of 1, 2, ... variants, each shape with the best of them */
    size_t n_curve, n_cells;               /* cells: of the grid; 0: a tree of nodes */
    tree_sizes sizes;                      /* held-out regret of several sizes; none without a grid */
    size_t recommended;                    /* the least size that is nearly as good as the best, by that if possible */
} dispatch_report;

/* Exact layer: per device and shape the winner (ledger.h) among the variants that are verified, of rows of this
 * program's timing version that are not stale (results_groups.h); cold rows, or warm ones where a device has no others.
 * Default of a device: the general variant with the best mean speed over all shapes of the device. A shape that it was
 * not measured on counts as if it were as slow there as the slowest general variant.
 * Default of the header: the fallback that is general on the most devices; if none is, one that was verified for its
 * shapes; else one verified with an older driver, or on a device that is not in the table.
 *
 * Tree of a device: portfolio.h, tree.h; over the shapes of its rows and the general variants that were timed there.
 *
 * types: only this combination. KW_FAILED when there is nothing to emit: says what is
 * missing. The same rows give the same model in whatever order they came; so do exported winners of the store. */
kw_code dispatch_build(store *s, const task *t, const task_types *types, const dispatch_options *o, dispatch **out,
                       kw_error *err);
/* Of the model's devices, in their order. */
const dispatch_report *dispatch_device_report(const dispatch *d, size_t number);
const header_model *dispatch_model(const dispatch *d);
void dispatch_free(dispatch *d); /* NULL is fine */

#endif
