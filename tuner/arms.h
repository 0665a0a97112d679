/* The arms of a search: one template each, with its space and its strategy, and the choice which one is asked next. */
#ifndef KERNWRIGHT_TUNER_ARMS_H
#define KERNWRIGHT_TUNER_ARMS_H

#include "base/error.h"
#include "codegen/template.h"
#include "tuner/space.h"
#include "tuner/strategy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arms arms;

/* Who chooses instead of the strategies, and hears what they hear. */
typedef struct arms_guide {
    void (*open)(void *cookie, arms *a); /* the spaces are known */
    /* Index of the arm and its configuration, which no strategy has proposed; false: the search is over. */
    bool (*ask)(void *cookie, arms *a, size_t *index, uint32_t *config);
    void (*tell)(void *cookie, size_t index, const uint32_t *config, bool ok, double time_ns);
    void *cookie;
} arms_guide;

typedef struct arm {
    const template *template;
    space *space;
    strategy *strategy;
    bool default_asked;
    bool exhausted;
    uint64_t asked;
    double best_ns;          /* INFINITY before the first success */
    const arms_guide *guide; /* NULL: none */
    size_t index;            /* among the arms */
} arm;

struct arms {
    arm *items;
    size_t n;
    uint64_t budget, turn;
    strb notes; /* one line per template that has no valid configuration here, and why */
    const arms_guide *guide;
};

/* Templates without a valid configuration for this shape and device are left out and noted; KW_FAILED with the notes
 * when none remains. */
kw_code arms_init(arms *a, const template *const *templates, size_t n, const task_types *types,
                  const device_limits *limits, const task_shape *shape, const strategy_ops *ops, uint64_t seed,
                  uint64_t budget, kw_error *err);
/* `build`: what building each space may take, and who may stop it. */
kw_code arms_init_within(arms *a, const template *const *templates, size_t n, const task_types *types,
                         const device_limits *limits, const task_shape *shape, const strategy_ops *ops, uint64_t seed,
                         uint64_t budget, const space_limits *build, kw_error *err);
void arms_clear(arms *a);
/* Before the first question. Borrowed. */
void arms_follow(arms *a, const arms_guide *guide);

/* The next configuration: first each template's default, then a share for every template, then mostly the leader's.
 * `config` must hold the longest template's parameters. NULL when every space is exhausted. */
arm *arms_ask(arms *a, uint32_t *config);
/* The same whatever the guide says: for the guide itself. */
arm *arms_ask_strategies(arms *a, uint32_t *config);
void arms_tell(arm *a, const uint32_t *config, bool ok, double time_ns);
/* Measured before: told to the strategy, never proposed again. */
void arms_known(arm *a, const uint32_t *config, bool ok, double time_ns);
arm *arms_find(arms *a, const char *template_name);
size_t arms_longest(const arms *a);

#endif
