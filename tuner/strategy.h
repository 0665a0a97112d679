/* Search strategies: ask for configurations, tell what they cost. One file and one row in strategy.c each.
 *
 * Deterministic by seed. A strategy may be asked several times before it is told anything (configurations are compiled
 * in parallel); tells may come in any order. It proposes each configuration at most once and uses its whole budget:
 * ask returns false only when every valid configuration was proposed.
 */
#ifndef KERNWRIGHT_TUNER_STRATEGY_H
#define KERNWRIGHT_TUNER_STRATEGY_H

#include "base/error.h"
#include "base/strb.h"
#include "tuner/space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct strategy strategy;

typedef struct strategy_options {
    uint64_t seed;
    uint64_t budget; /* evaluations to come; UINT64_MAX when limited by time only */
} strategy_options;

typedef struct strategy_ops {
    const char *name;
    const char *doc; /* one line, for --help */
    void *(*start)(const space *s, const strategy_options *o);
    bool (*ask)(void *state, uint32_t *config);
    void (*tell)(void *state, const uint32_t *config, bool ok, double time_ns); /* ok false: failed, time ignored */
    void (*stop)(void *state);
    void (*prior)(void *state, const uint32_t *config, double relative, double weight); /* NULL: makes no use of it */
} strategy_ops;

extern const strategy_ops *const strategy_table[];                  /* NULL-terminated; the first is the default */
const strategy_ops *strategy_find(const char *name, kw_error *err); /* unknown: suggests, lists */
void strategy_describe(strb *out); /* appends a heading and a line for each, for --help */

/* `s` must outlive the strategy. Wraps the ops: never proposes a configuration twice, nor one given to
 * strategy_known (measured before: resumed runs, starting points). */
strategy *strategy_start(const strategy_ops *ops, const space *s, const strategy_options *o);
void strategy_known(strategy *st, const uint32_t *config, bool ok, double time_ns); /* tell without ask */
/* Knowledge from other shapes or devices, given before the first ask: `relative` is the time over the best time there
 * (at least 1), `weight` > 0 how much it says about this search (1: one measurement of a close relative). Not an
 * evaluation: it uses up no budget and leaves the configuration to be proposed. Not valid here: ignored. */
void strategy_prior(strategy *st, const uint32_t *config, double relative, double weight);
bool strategy_ask(strategy *st, uint32_t *config);
/* The caller itself proposes this valid configuration (a default) and will tell about it. False if it was proposed or
 * is known already. */
bool strategy_claim(strategy *st, const uint32_t *config);
void strategy_tell(strategy *st, const uint32_t *config, bool ok, double time_ns);
void strategy_stop(strategy *st);

#endif
