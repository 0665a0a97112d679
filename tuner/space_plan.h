/* What has to be computed when one more variable of a group gets its value. */
#ifndef KERNWRIGHT_TUNER_SPACE_PLAN_H
#define KERNWRIGHT_TUNER_SPACE_PLAN_H

#include "tuner/space_group.h"
#include "tuner/space_states.h"

/* Results of tests and guards. */
enum { SPACE_FALSE, SPACE_TRUE, SPACE_UNDECIDED };

/* One expression, as a function of some numbers of the state's tuple and of the new value. Results are kept in a table
 * where one of reasonable size is possible; otherwise each is evaluated when asked for. */
typedef struct space_step {
    enum { SPACE_STEP_TEST, SPACE_STEP_GUARD, SPACE_STEP_NUMBER } kind;
    const expr *e;
    size_t constraint; /* of a test or guard */
    size_t sub;        /* SPACE_STEP_NUMBER: whose values are numbered */
    size_t n_inputs;
    size_t *inputs;  /* positions in the tuple */
    size_t *strides; /* in the table */
    uint32_t *table; /* NULL: none */
    size_t base;     /* of the state at hand */
    bool *row;       /* tests without a table: the results for all values of the new variable; NULL: one by one */
    bool has_row;    /* for the state at hand */
} space_step;

/* One number of the next tuple. */
typedef struct space_carry {
    size_t sub;
    size_t copy; /* position in the old tuple, or SIZE_MAX: computed */
    space_step step;
    bool always; /* otherwise needed only while one of these guards is undecided */
    size_t *guards;
    size_t n_guards;
} space_carry;

typedef struct space_plan {
    size_t level;
    size_t n_values;   /* of the new variable */
    int64_t *integers; /* its values, if they are few and all integers; else NULL */
    space_step *tests; /* terms whose last variable this is */
    size_t n_tests;
    space_step *guards; /* terms that may be decided before their last variable */
    size_t n_guards;
    space_carry *carries;
    size_t n_carries;
    size_t table_bytes;
} space_plan;

/* The plan for order[level], given the subexpressions that the tuples of the current states are made of. Tables
 * together take at most `max_bytes`. Lies in the group's memory but for the tables. */
space_plan *space_plan_new(space_group *g, const size_t *order, size_t level, const size_t *subs, size_t n_subs,
                           size_t n_states, size_t max_bytes);
void space_plan_free_tables(space_plan *p);

#endif
