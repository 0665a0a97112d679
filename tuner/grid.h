/* A grid over shapes: boxes in the space of the dims' logarithms, each with a ranking of variants. What a model of
 * times (costmodel.h) says, written down so that a header can look it up.
 *
 * Each cell stands for a few sample shapes, in each dim its largest value (a power of two, or one and a half of it), a
 * multiple of a power of two in its middle, and an odd number there. A ranking is what serves these samples best when
 * each of them runs the first variant whose `requires` allow it.
 */
#ifndef KERNWRIGHT_TUNER_GRID_H
#define KERNWRIGHT_TUNER_GRID_H

#include "codegen/header.h"
#include "tuner/costmodel.h"

/* The finest cells of which this many suffice, between an eighth of an octave and one. */
#define GRID_CELLS 20000
/* The same where plans have to be made for each sample. */
#define GRID_CELLS_SLOW 1000
#define GRID_FINEST 5 /* shift: 32 of 256ths */
#define GRID_COARSEST 8
#define GRID_MAX_KEYS 4

typedef struct shape_grid shape_grid;

/* From the least to the largest of each key dim of the model's table. NULL if cells of an octave would be too many. The
 * model is borrowed. */
shape_grid *grid_new(costmodel *c);
void grid_free(shape_grid *g); /* NULL is fine */

/* From now on for the members of `p`, by their times on the shapes of `used` (NULL: all). */
void grid_fit(shape_grid *g, const portfolio *p, const bool *used);

size_t grid_cells(const shape_grid *g);
size_t grid_cell(const shape_grid *g, const int64_t *dims); /* of a shape; beyond the grid its nearest */
/* Ranks the members for a cell, best first, columns of the table; SIZE_MAX behind the last. ratio[k]: what place k is
 * expected to take over the first one that a sample can run. */
void grid_rank(shape_grid *g, size_t cell, size_t ranked[HEADER_TREE_RANKED], double ratio[HEADER_TREE_RANKED]);

/* The column that a shape of a table would run; SIZE_MAX if none of the ranked runs it. */
size_t grid_choice(shape_grid *g, const cost_table *m, size_t shape);

/* grid_fit, and the ratios that the shapes that are not `used` would have: COSTS_MAX_RATIO where nobody runs. */
void grid_hold_out(shape_grid *g, const cost_table *m, const portfolio *p, const bool *used, double *ratios);

/* All cells ranked; cells with the same ranking are one leaf. */
typedef struct grid_leaf {
    size_t ranked[HEADER_TREE_RANKED]; /* columns; SIZE_MAX behind the last */
    double ratio[HEADER_TREE_RANKED];  /* mean of its cells */
    size_t n_cells;
} grid_leaf;

typedef struct grid_leaves {
    grid_leaf *items;
    size_t n;
    header_grid *grid; /* with the leaf of each cell */
} grid_leaves;

/* At most UINT16_MAX leaves: of more rankings the last cells get that of the cell before them. */
void grid_settle(shape_grid *g, grid_leaves *out);
void grid_leaves_clear(grid_leaves *l);
/* The leaf of a shape of this task. */
size_t grid_leaf_of(const grid_leaves *l, const task *t, const int64_t *dims);

#endif
