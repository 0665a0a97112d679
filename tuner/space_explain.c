#include "tuner/space_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* "A=1, B=2" for the parameters that the constraint uses. */
static void print_values(const space *s, const expr *test, const value *env, strb *text)
{
    const char *between = "";
    for (size_t i = 0; i < s->def.n_params; i++) {
        const space_param *p = &s->def.params[i];
        if (!expr_uses(test, p->slot))
            continue;
        strb_printf(text, "%s%s=", between, p->name);
        value_print(env[p->slot], text);
        between = ", ";
    }
}

int space_explain(const space *s, const uint32_t *config, strb *text)
{
    const space_def *def = &s->def;
    arena *scratch = arena_new();
    value *env = arena_alloc(scratch, (def->scope_size + 1) * sizeof *env);
    if (def->scope_size)
        memcpy(env, def->env, def->scope_size * sizeof *env);
    for (size_t i = 0; i < def->n_params; i++)
        env[def->params[i].slot] = def->params[i].values[config[i]];
    int found = -1;
    for (size_t i = 0; i < def->n_constraints && found < 0; i++) {
        const space_constraint *c = &def->constraints[i];
        kw_error err;
        kw_error_clear(&err);
        bool truth = false;
        if (expr_eval_truth(c->test, env, &truth, &err) == KW_OK && truth)
            continue;
        found = (int)i;
        strb_printf(text, "'%s' %s for ", c->text, err.code == KW_OK ? "is false" : "fails");
        print_values(s, c->test, env, text);
        if (err.code != KW_OK)
            strb_printf(text, ": %s", err.message);
    }
    arena_free(scratch);
    return found;
}
