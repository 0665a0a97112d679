/* One group of tied parameters while its diagram is built: which subexpressions carry what the later constraints still
 * need (the frontier), and the values these take.
 *
 * A variable is a parameter of the group, numbered from 0 in the order of the definition.
 */
#ifndef KERNWRIGHT_TUNER_SPACE_GROUP_H
#define KERNWRIGHT_TUNER_SPACE_GROUP_H

#include "tuner/space_problem.h"

#define SPACE_ANY 0 /* identity of a value that no longer matters */

/* A subexpression. Its values get small numbers from 1 up, so that states are tuples of numbers. Two values are the
 * same only if kind and content are: 1 and 1.0 behave differently on overflow. A failed evaluation is a value too. */
typedef struct space_sub {
    const expr *e;
    size_t *vars; /* that it uses, ascending */
    size_t n_vars;
    double estimate; /* number of different values; 0 until space_sub_estimate */
    struct space_sub_value {
        value content;
        bool failed;
    } * values; /* values[i] has number i + 1 */
    size_t n_values, values_capacity;
    uint32_t *slots; /* hash table of numbers, 0 free */
    size_t n_slots;
} space_sub;

typedef struct space_frontier {
    const size_t *subs; /* indices into group->subs */
    size_t n;
} space_frontier;

typedef struct space_group_term {
    const space_term *term;
    size_t *vars;
    size_t n_vars;
    bool short_circuits; /* some evaluations need fewer variables than it has; found on the way */
    double pass_rate;    /* estimated */
    /* Frontiers already asked for, by the set of its variables that are assigned (terms of at most 64 variables). */
    struct space_known_frontier {
        uint64_t set;
        space_frontier frontier;
    } * known;
    size_t n_known; /* size of the hash table, a power of 2 */
    size_t used;
} space_group_term;

typedef struct space_group {
    const space_problem *problem;
    arena *memory, *scratch;
    size_t *params; /* variable -> parameter */
    size_t n_vars;
    space_group_term *terms;
    size_t n_terms;
    space_sub *subs;
    size_t n_subs, subs_capacity;
    value *env;           /* variables are VALUE_NONE between evaluations of an estimate */
    bool *assigned_slots; /* working memory, one per slot */
    size_t evaluations;   /* since `scratch` was emptied */
} space_group;

space_group *space_group_new(const space_problem *p, size_t number);
void space_group_free(space_group *g);

/* The subexpressions of the term that are known once `assigned` (one flag per variable) is, and their parents not. */
space_frontier space_group_frontier(space_group *g, size_t term, const bool *assigned);
/* The same within an expression; the result lies in the group's memory. */
space_frontier space_group_inner_frontier(space_group *g, const expr *e, const bool *assigned);

/* Is the term decided for some values of the assigned variables, whatever the others are? Found by sampling; once true
 * for a term, true for good. */
bool space_group_may_decide(space_group *g, size_t term, const bool *assigned);

/* Evaluates and numbers; never SPACE_ANY. */
uint32_t space_group_number(space_group *g, size_t sub, const value *env);
/* Estimates by sampling, the same each time. */
double space_group_estimate(space_group *g, size_t sub);

/* Domain of a variable: its n values left, as indices; and one of them. */
size_t space_group_domain(const space_group *g, size_t var);
value space_group_value(const space_group *g, size_t var, size_t i);
int space_group_slot(const space_group *g, size_t var);

#endif
