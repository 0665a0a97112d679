/* Inside of a recorded matrix; shared by the files matrix*.c. */
#ifndef KERNWRIGHT_TUNER_MATRIX_INTERNAL_H
#define KERNWRIGHT_TUNER_MATRIX_INTERNAL_H

#include "tuner/matrix.h"
#include "tuner/rows.h"

typedef enum cell_state { CELL_OPEN, CELL_UNFIT, CELL_PENDING, CELL_OK, CELL_FAILED } cell_state;

typedef struct cell {
    cell_state state;
    bool batch; /* the method of its time */
    double ns;
} cell;

/* One configuration. */
typedef struct column {
    char *config_json;
    variant *v;     /* NULL: it cannot be expanded */
    cell *cells;    /* one per shape */
    bool general;   /* passed on edge and random shapes, now or in an earlier run */
    bool is_kept;   /* its text is in the store */
    bool any_ok;    /* some cell was timed */
    bool failed;    /* for all shapes */
    bool is_active; /* something of it is in the evaluator */
    size_t n_pending;
    uint32_t config[];
} column;

/* One shape. */
typedef struct matrix_shape {
    const task_shape *shape;
    rows rows;
    double best_ns; /* INFINITY before the first */
    bool batch;     /* a fast candidate was seen: all are timed in batches, as in any search */
    space *space;   /* NULL: nothing fits, or not made yet */
    strategy *strategy;
} matrix_shape;

typedef struct matrix {
    evaluator *e;
    store *s;
    const task *t;
    const matrix_options *o;
    const template *p;
    case_source cases;
    variant *trusted;
    matrix_shape *shapes;
    column **columns;
    size_t n_columns, capacity;
    size_t n_drawn, n_proposed;
    bool has_strategies, exhausted;
    matrix_result *out;
} matrix;

/* ---- matrix_configs.c ---- */

kw_code matrix_open_spaces(matrix *m, kw_error *err);
/* What the store has of these shapes and this template. */
kw_code matrix_reuse(matrix *m, kw_error *err);
/* The next configuration that is wanted; NULL when there are enough, or no more. */
column *matrix_new_column(matrix *m);
void matrix_clear_columns(matrix *m);
/* A cell has its result: for the strategies of shapes. */
void matrix_tell(matrix *m, const column *c, size_t shape);

/* Is there something to be measured in this cell, as things are known now? */
bool matrix_is_open(const matrix *m, const column *c, size_t shape);
/* A row, measured now or earlier. */
void matrix_note(matrix *m, column *c, size_t shape, const measurement *row);

#endif
