/* A search space: every valid configuration of a template (or problem file), countable and indexable without listing
 * them.
 *
 * Parameters are ordered by the constraint graph and split into independent groups; each group is a decision diagram
 * whose states merge when the values of the fully assigned subexpressions that later constraints still need are the
 * same. Exact for any constraint. A configuration is one value index per parameter, in the order of the definition.
 */
#ifndef KERNWRIGHT_TUNER_SPACE_H
#define KERNWRIGHT_TUNER_SPACE_H

#include "base/error.h"
#include "base/strb.h"
#include "codegen/expr.h"
#include "codegen/template.h"
#include "codegen/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct space_param {
    const char *name;
    const value *values;
    size_t n_values;
    int slot; /* in the scope of the constraints */
    /* The parameter exists only where `when` (NULL: always) is true, and has the value `preset` elsewhere; a constraint
     * of the definition must say so. `when` uses parameters above this one only; those that do not exist count as what
     * they are preset to. */
    const expr *when;
    size_t preset;
} space_param;

typedef struct space_constraint {
    const expr *test;
    const char *text;
    const char *why; /* what its author says of it; NULL */
} space_constraint;

/* Everything is borrowed and must outlive the space. `env` (scope_size values) holds what is known beside the
 * parameters: device limits, types, and the dims if `requires` are among the constraints. */
typedef struct space_def {
    const space_param *params;
    size_t n_params;
    const space_constraint *constraints;
    size_t n_constraints;
    const value *env;
    size_t scope_size;
} space_def;

typedef struct space space;

/* What building a space may take. All zero: 1 GiB, 5 minutes, nobody stops it. */
typedef struct space_limits {
    size_t max_bytes;
    double max_seconds;
    bool (*stopped)(void *cookie); /* asked now and then; true ends the construction with KW_INTERRUPTED */
    void *cookie;
} space_limits;

/* KW_FAILED when no configuration is valid: the message names the constraint that emptied it (the one whose removal,
 * with those after it, leaves something; or the smallest such set found). KW_BAD_INPUT when a diagram would need more
 * memory or time than `limits` (NULL: the usual ones) give. An error while evaluating a constraint (division by zero,
 * ...) rejects the configuration; if it rejects all, the message is that error. */
kw_code space_new(const space_def *def, const space_limits *limits, space **out, kw_error *err);
void space_free(space *s);

/* The space of a template for one shape and device: constraints and requires together. limits NULL: unlimited device
 * is not allowed; pass limits. shape NULL: requires are left out. `build`: as `limits` of space_new. Keeps its own
 * copies; `p` must outlive it. */
kw_code space_of_template(const template *p, const task_types *types, const device_limits *limits,
                          const task_shape *shape, space **out, kw_error *err);
kw_code space_of_template_within(const template *p, const task_types *types, const device_limits *limits,
                                 const task_shape *shape, const space_limits *build, space **out, kw_error *err);

/* The space whose valid configurations are the n listed ones (rows of n_params value indices; one that comes twice
 * counts once): what was recorded, where the constraints are not known. Ranks are in lexicographic order of the rows.
 * The arrays are copied, names and values borrowed. space_explain has nothing to say of it. KW_FAILED if n is 0. */
kw_code space_of_list(const space_param *params, size_t n_params, const uint32_t *configs, size_t n, space **out,
                      kw_error *err);

size_t space_params(const space *s);
const space_param *space_param_at(const space *s, size_t i);
uint64_t space_count(const space *s);   /* valid configurations; UINT64_MAX if more */
double space_cartesian(const space *s); /* raw combinations */
size_t space_bytes(const space *s);     /* memory held */

/* Does parameter i exist in this configuration? */
bool space_param_exists(const space *s, size_t i, const uint32_t *config);

bool space_contains(const space *s, const uint32_t *config);
/* rank in 0..count-1, in a fixed order (lexicographic in the space's own parameter order). false if not valid. Where
 * the count is UINT64_MAX ranks reach only the first of them; later ones all have the rank UINT64_MAX. */
bool space_rank(const space *s, const uint32_t *config, uint64_t *rank);
void space_unrank(const space *s, uint64_t rank, uint32_t *config);
/* Uniform over the valid ones, whatever the count; `random64` is a source of 64 random bits. */
void space_sample(const space *s, uint64_t (*random64)(void *), void *cookie, uint32_t *config);

/* A parameter that does not exist in one of two configurations is no difference: a change of what it depends on gives
 * it its preset value, or leaves it there. */
typedef enum space_neighbourhood {
    SPACE_HAMMING,          /* exactly one parameter differs */
    SPACE_ADJACENT,         /* every parameter's index differs by at most 1 */
    SPACE_STRICTLY_ADJACENT /* one parameter differs, by 1 in the list of its values */
} space_neighbourhood;
/* Valid neighbours of a (valid) configuration, at most `capacity` configurations written one after another; returns
 * how many exist (may be more than capacity). Fixed order. */
size_t space_neighbours(const space *s, const uint32_t *config, space_neighbourhood kind, uint32_t *out,
                        size_t capacity);

/* One valid neighbour, uniformly chosen among the Hamming neighbours of a valid configuration; false if there is none
 * (or the configuration is not valid). */
bool space_random_neighbour(const space *s, const uint32_t *config, uint64_t (*random64)(void *), void *cookie,
                            uint32_t *out);

/* Why a configuration (indices in range) is not in the space: index of the first constraint that rejects it, -1 if it
 * is valid; the text, appended, says which values it saw. */
int space_explain(const space *s, const uint32_t *config, strb *text);

#endif
