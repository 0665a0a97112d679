/* Which variants a dispatch table names. For dispatch*.c only. */
#ifndef KERNWRIGHT_TUNER_DISPATCH_CHOOSE_H
#define KERNWRIGHT_TUNER_DISPATCH_CHOOSE_H

#include "codegen/task.h"
#include "codegen/variant.h"
#include "tuner/results_groups.h"
#include "tuner/store_internal.h"

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
} chosen_device;

typedef struct choice {
    const task *t;
    bool allow_unverified;
    known_variants known;
    results_groups groups;
    chosen_device *devices; /* sorted by key; only those with rows */
    size_t n_devices, capacity;
    known_variant *fallback; /* of the header; NULL: the store has none */
    verified fallback_level;
    size_t n_without_text; /* shapes whose fastest variant the store does not hold */
} choice;

/* c->t, c->allow_unverified and c->groups are filled in by the caller. */
kw_code choose_all(choice *c, store *s, kw_error *err);
void choice_clear(choice *c);

#endif
