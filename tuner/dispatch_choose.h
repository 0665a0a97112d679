/* Which variants a dispatch table names. For dispatch*.c and crossover*.c only. */
#ifndef KERNWRIGHT_TUNER_DISPATCH_CHOOSE_H
#define KERNWRIGHT_TUNER_DISPATCH_CHOOSE_H

#include "codegen/header.h"
#include "codegen/task.h"
#include "codegen/variant.h"
#include "tuner/dispatch.h"
#include "tuner/results_groups.h"
#include "tuner/store_internal.h"
#include "tuner/tree.h"

/* A variant that the store has, by source hash. */
typedef struct known_variant {
    char hash[HASH_HEX_SIZE];
    bool is_fallback, is_opencl;
    bool wanted;        /* its text is read */
    variant *v;         /* NULL until then */
    const char *config; /* as text; only of those in the model */
    int number;         /* in the model; -1: not in it */
} known_variant;

typedef struct known_variants {
    known_variant *items; /* sorted by hash */
    size_t n, capacity;
} known_variants;

/* The winner for a shape. */
typedef struct chosen_row {
    task_shape shape;
    const results_group *group;
    const group_source *source;
    verified level;
    known_variant *variant;
} chosen_row;

typedef struct chosen_device {
    const char *key;
    const results_group *groups; /* of one API and mode; they differ in shape only */
    size_t n_groups;
    chosen_row *rows; /* sorted by dims; no two with the same key dims */
    size_t n_rows;
    known_variant *fallback; /* best general one; NULL: none */
    known_variant **columns; /* general ones */
    size_t n_columns;
    header_tree tree; /* its variants are places in `columns` */
    bool has_tree;
    cost_table costs; /* what the tree rests on; empty without one */
    dispatch_report report;
} chosen_device;

typedef struct choice {
    const task *t;
    bool allow_unverified;
    size_t n_portfolio;       /* 0: no trees */
    const task_shape *shapes; /* weights of shapes; borrowed */
    size_t n_shapes;
    known_variants known;
    results_groups groups;
    chosen_device *devices; /* sorted by key; only those with rows */
    size_t n_devices, capacity;
    known_variant *fallback; /* of the header; NULL: the store has none */
    verified fallback_level;
    size_t n_without_text; /* shapes whose fastest variant the store does not hold */
} choice;

/* Fills `groups`: the rows of c->t with these types (as text), the timed scalars, and this program's timing version;
 * device_key NULL: all devices. */
kw_code choose_load(choice *c, store *s, const char *types, const char *device_key, kw_error *err);
/* Everything above `known`, and `groups`, is filled in by the caller; there is at least one group. */
kw_code choose_all(choice *c, store *s, kw_error *err);
void choice_clear(choice *c);

known_variant *find_known(const known_variants *k, const char *source_hash); /* NULL: not there */
bool serves_all_shapes(const variant *v);

/* Fills tree and report of each device (dispatch_tree.c). The texts of general variants have been read. */
void choose_trees(choice *c);
/* General on its device, with a text for any shape that has been read. */
bool may_be_in_tree(const choice *c, const ledger_entry *e);
bool tree_names(const chosen_device *d, const known_variant *x);

#endif
