/* A variant: a template with a configuration and types chosen, expanded. Self-contained: from its JSON a header can be
 * emitted on a machine that has neither the template nor a device.
 * variant + shape + scalars -> plan: integers only, what a worker launches. */
#ifndef KERNWRIGHT_CODEGEN_VARIANT_H
#define KERNWRIGHT_CODEGEN_VARIANT_H

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "codegen/limits.h"
#include "codegen/task.h"
#include "codegen/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct variant {
    arena *memory;
    const task *task; /* borrowed */
    task_types types;
    const char *template_name;
    bool is_fallback;
    language lang;
    json *config;       /* {"TM":64,..}; owned by the variant, not to be changed */
    const char *source; /* expanded text */
    const char *options;
    /* Expressions below have the parameters and types folded in; free names are dims, scalars, device.* of the
     * task's scope. */
    template_condition *constraints;
    size_t n_constraints; /* only those that still depend on device.* */
    template_condition *requires_;
    size_t n_requires;
    int64_t fixed_dims[TASK_MAX_DIMS]; /* specialised: the constant; -1: free */
    template_temp *temps;
    size_t n_temps;
    template_launch *launches;
    size_t n_launches;        /* those whose `when` can be true */
    char hash[HASH_HEX_SIZE]; /* source hash: text without comments and blank runs + launches and temps + options */
} variant;

/* Expands. `shape` is needed when the configuration specialises a dim (its value becomes the constant), else it may
 * be NULL. Does not check constraints. Limits: 16 MiB of text, 10^6 loop iterations, with a message. */
kw_code variant_expand(const template *p, const task_types *types, const uint32_t *config, const task_shape *shape,
                       variant **out, kw_error *err);
void variant_free(variant *v);
json *variant_to_json(const variant *v); /* everything but the task */
kw_code variant_from_json(const task *t, const json *j, const char *where, variant **out, kw_error *err);

/* May it run this shape on this device? With NULL limits, conditions that name device.* are skipped. If not, `why`
 * says which condition. */
bool variant_fits(const variant *v, const task_shape *s, const device_limits *limits, kw_error *why);

/* ---- plan ---- */

typedef struct plan_arg {
    arg_kind kind;
    int index;       /* tensor, temp */
    dtype type;      /* ARG_VALUE, ARG_SCALAR */
    int64_t integer; /* ARG_VALUE of integer type; bytes for ARG_LOCAL */
    double real;     /* ARG_VALUE of real type, ARG_SCALAR */
} plan_arg;

typedef struct plan_launch {
    const char *kernel; /* borrowed from the variant (or from the plan's own memory when read from JSON) */
    size_t rank;
    uint64_t local[3], groups[3]; /* work-items per group, groups; a launch with 0 groups is left out of the plan */
    plan_arg args[TEMPLATE_MAX_ARGS];
    size_t n_args;
} plan_launch;

typedef struct plan {
    plan_launch launches[TEMPLATE_MAX_LAUNCHES];
    size_t n_launches;
    uint64_t temp_bytes[TEMPLATE_MAX_TEMPS]; /* 0: not needed */
    size_t n_temps;
} plan;

/* scalars NULL: the timed ones. Errors: overflow, a size that is not an integer or negative, group over the limit. */
kw_code plan_make(const variant *v, const task_shape *s, const double *scalars, const device_limits *limits, plan *out,
                  kw_error *err);
json *plan_to_json(const plan *p);
/* Kernel names are kept in `a`. */
kw_code plan_from_json(const json *j, arena *a, plan *out, kw_error *err);

#endif
