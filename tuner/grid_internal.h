/* For grid*.c only. */
#ifndef KERNWRIGHT_TUNER_GRID_INTERNAL_H
#define KERNWRIGHT_TUNER_GRID_INTERNAL_H

#include "tuner/costmodel_internal.h"
#include "tuner/grid.h"

#define GRID_VALUES 3 /* of a cell in one dim, at most */

/* One key dim. */
typedef struct grid_axis {
    size_t dim; /* among the task's */
    int32_t first, n;
    int64_t *values;   /* [n * GRID_VALUES] */
    uint8_t *n_values; /* [n]: different ones */
} grid_axis;

/* What a variant's plan says on the grid: products of one factor for each axis, as those of most are. */
typedef struct grid_factors {
    bool known, is_product;
    costmodel_facts base;
    costmodel_facts *of[GRID_MAX_KEYS]; /* along each axis, [n * GRID_VALUES], the others at their first value */
} grid_factors;

struct shape_grid {
    costmodel *c;
    int shift;
    size_t n_axes;
    grid_axis axes[GRID_MAX_KEYS];
    task_shape base;        /* each axis at its first value */
    bool has_others;        /* dims that are not on an axis have defaults, which depend on the others */
    grid_factors *factors;  /* of each column of the table */
    bool *used, *is_fitted; /* shapes of the last fit; columns that were fitted to them */
    double *all_fits;       /* [column * COSTMODEL_TERMS] */

    portfolio p;
    size_t by_mean[PORTFOLIO_MAX]; /* members, the best on the mean first */
    double fits[PORTFOLIO_MAX][COSTMODEL_TERMS];
};

/* A sample: the place of its value on each axis, cell * GRID_VALUES + number. */
typedef struct grid_sample {
    size_t at[GRID_MAX_KEYS];
} grid_sample;

/* False: the task refuses the shape. */
bool grid_shape(const shape_grid *g, const grid_sample *x, task_shape *out);
/* Are groups, bytes and work of this column products of one factor for each axis? */
bool grid_is_product(shape_grid *g, size_t v);
/* What the variant takes there, ns; infinite without a plan. `s`: the same sample as a shape. */
double grid_ns(shape_grid *g, size_t member, const grid_sample *x, const task_shape *s, double bytes);

#endif
