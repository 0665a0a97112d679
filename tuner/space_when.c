/* Parameters that exist only where others have certain values. */
#include "tuner/space_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The definition's environment with the parameters before `n`. Caller frees. */
static value *environment(const space *s, const uint32_t *config, size_t n)
{
    value *env = mem_alloc((s->def.scope_size + 1) * sizeof *env);
    if (s->def.scope_size)
        memcpy(env, s->def.env, s->def.scope_size * sizeof *env);
    for (size_t i = 0; i < n; i++)
        env[s->def.params[i].slot] = s->def.params[i].values[config[i]];
    return env;
}

/* A condition without a value (division by zero) is not true. */
static bool holds(const expr *when, const value *env)
{
    bool truth = false;
    return expr_eval_truth(when, env, &truth, NULL) == KW_OK && truth;
}

bool space_param_exists(const space *s, size_t i, const uint32_t *config)
{
    const space_param *p = &s->def.params[i];
    if (!p->when)
        return true;
    value *env = environment(s, config, i);
    bool truth = holds(p->when, env);
    free(env);
    return truth;
}

void space_settle(const space *s, uint32_t *config)
{
    value *env = environment(s, config, 0);
    for (size_t i = 0; i < s->def.n_params; i++) {
        const space_param *p = &s->def.params[i];
        if (p->when && !holds(p->when, env))
            config[i] = (uint32_t)p->preset;
        env[p->slot] = p->values[config[i]];
    }
    free(env);
}
