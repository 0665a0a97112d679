/* The space of a template: its parameters and conditions as a definition. */
#include "tuner/space.h"

#include "base/mem.h"

#include <stdlib.h>

static void add_conditions(space_constraint *to, size_t *n, const template_condition *from, size_t n_from)
{
    for (size_t i = 0; i < n_from; i++)
        to[(*n)++] = (space_constraint){from[i].test, from[i].text, from[i].why};
}

kw_code space_of_template(const template *p, const task_types *types, const device_limits *limits,
                          const task_shape *shape, space **out, kw_error *err)
{
    return space_of_template_within(p, types, limits, shape, NULL, out, err);
}

kw_code space_of_template_within(const template *p, const task_types *types, const device_limits *limits,
                                 const task_shape *shape, const space_limits *build, space **out, kw_error *err)
{
    *out = NULL;
    if (!limits)
        return kw_error_set(err, KW_BAD_INPUT, "%s: the search space depends on the device; give its limits", p->name);
    size_t n_slots = (size_t)expr_scope_size(p->scope), n = 0;
    space_param *params = mem_calloc(p->n_params, sizeof *params);
    space_constraint *constraints = mem_calloc(p->n_constraints + p->n_requires, sizeof *constraints);
    value *env = mem_calloc(n_slots, sizeof *env);
    for (size_t i = 0; i < p->n_params; i++) {
        const template_param *q = &p->params[i];
        params[i] = (space_param){q->name, q->values, q->n_values, q->slot, q->when, q->default_index};
    }
    add_conditions(constraints, &n, p->constraints, p->n_constraints);
    if (shape)
        add_conditions(constraints, &n, p->requires_, p->n_requires);
    template_fill(p, types, limits, shape, NULL, env);
    space_def def = {params, p->n_params, constraints, n, env, n_slots};
    kw_code code = space_new(&def, build, out, err);
    free(params);
    free(constraints);
    free(env);
    return code;
}
