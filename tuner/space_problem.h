/* The constraints of a space made ready: folded with what is known, split into conjuncts, those of one parameter
 * already applied to the parameter's values, and the parameters grouped by the conjuncts that tie them. */
#ifndef KERNWRIGHT_TUNER_SPACE_PROBLEM_H
#define KERNWRIGHT_TUNER_SPACE_PROBLEM_H

#include "base/mem.h"
#include "tuner/space_internal.h"

#define SPACE_NO_GROUP SIZE_MAX

typedef struct space_term {
    const expr *test;
    size_t constraint; /* of the definition, for messages */
    size_t *params;    /* that it uses, ascending */
    size_t n_params;
} space_term;

/* What became of the evaluations of one constraint. */
typedef struct space_tally {
    uint64_t passed, failed, errors;
    char *first_error; /* NULL if none */
} space_tally;

typedef struct space_problem {
    const space_def *def;
    const space_watch *watch;
    arena *memory;
    value *env;        /* the definition's, and the parameters that have one value left */
    size_t *param_of;  /* slot -> parameter, SIZE_MAX */
    uint32_t **domain; /* per parameter: indices of the values left, ascending */
    size_t *n_domain;
    space_term *terms; /* two parameters or more each */
    size_t n_terms, terms_capacity;
    size_t *group;      /* per parameter; SPACE_NO_GROUP: one value left */
    size_t n_groups;    /* numbered by their first parameter */
    space_tally *tally; /* per constraint */
} space_problem;

/* `use` says which constraints count (NULL: all). KW_FAILED (without a message) if they leave a parameter without
 * values or one of them rejects everything; then `tally` (n_constraints, zeroed by the caller, whose first_error it
 * frees) says who. Otherwise what the watch says. */
kw_code space_problem_new(const space_def *def, const bool *use, const space_watch *watch, space_tally *tally,
                          space_problem **out, kw_error *err);
void space_problem_free(space_problem *p);

/* Evaluates a conjunct of a constraint; an error counts as false. */
bool space_problem_test(const space_problem *p, const expr *test, size_t constraint, const value *env);

#endif
