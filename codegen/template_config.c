/* Configurations of a template: one value index per parameter. */
#include "codegen/template.h"

#include <stdlib.h>
#include <string.h>

int template_param_index(const template *p, const char *name)
{
    for (size_t i = 0; i < p->n_params; i++)
        if (strcmp(p->params[i].name, name) == 0)
            return (int)i;
    return -1;
}

void template_default(const template *p, uint32_t *config)
{
    for (size_t i = 0; i < p->n_params; i++)
        config[i] = (uint32_t)p->params[i].default_index;
}

/* A condition without a value (division by zero) is not true. */
bool template_param_exists(const template *p, size_t i, const uint32_t *config)
{
    const template_param *x = &p->params[i];
    if (!x->when)
        return true;
    bool truth = false;
    value *env = mem_calloc((size_t)expr_scope_size(p->scope), sizeof *env);
    for (size_t k = 0; k < i; k++)
        env[p->params[k].slot] = p->params[k].values[config[k]];
    truth = expr_eval_truth(x->when, env, &truth, NULL) == KW_OK && truth;
    free(env);
    return truth;
}

static kw_code unknown_param(const template *p, const char *name, kw_error *err)
{
    const char **names = mem_calloc(p->n_params + 1, sizeof *names);
    strb list = STRB_INIT;
    for (size_t i = 0; i < p->n_params; i++) {
        names[i] = p->params[i].name;
        strb_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = json_nearest(name, names, p->n_params);
    if (p->n_params == 0)
        kw_error_set(err, KW_BAD_INPUT, "template %s has no parameters", p->name);
    else
        kw_error_set(err, KW_BAD_INPUT, "template %s has no parameter %s%s%s; it has %s", p->name, name,
                     nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "", strb_text(&list));
    strb_clear(&list);
    free(names);
    return KW_BAD_INPUT;
}

static kw_code refuse_value(const template *p, const template_param *x, const char *text, kw_error *err)
{
    strb list = STRB_INIT;
    size_t shown = x->n_values < 20 ? x->n_values : 20;
    for (size_t i = 0; i < shown; i++) {
        strb_add(&list, i > 0 ? ", " : "");
        value_print(x->values[i], &list);
    }
    if (shown < x->n_values)
        strb_printf(&list, ", ... (%zu values)", x->n_values);
    kw_error_set(err, KW_BAD_INPUT, "template %s: %s=%s is not among its values: %s", p->name, x->name, text,
                 strb_text(&list));
    strb_clear(&list);
    return KW_BAD_INPUT;
}

static bool find_value(const template_param *x, value v, uint32_t *index)
{
    bool wants_bool = x->values[0].kind == VALUE_BOOL;
    for (size_t i = 0; i < x->n_values; i++) {
        if ((v.kind == VALUE_BOOL || v.kind == VALUE_INT || !wants_bool) && value_equal(x->values[i], v)) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

kw_code template_set(const template *p, const char *assignment, uint32_t *config, kw_error *err)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return kw_error_set(err, KW_BAD_INPUT, "expected NAME=VALUE, found \"%s\"", assignment);
    char *name = mem_strndup(assignment, (size_t)(equals - assignment));
    arena *a = arena_new();
    int i = template_param_index(p, name);
    kw_code code = KW_OK;
    if (i < 0) {
        code = unknown_param(p, name, err);
    } else {
        const template_param *x = &p->params[i];
        value v = x->values[0].kind == VALUE_STRING ? value_string(equals + 1) : value_from_text(equals + 1, a);
        if (!find_value(x, v, &config[i]))
            code = refuse_value(p, x, equals + 1, err);
    }
    arena_free(a);
    free(name);
    return code;
}

json *template_config_to_json(const template *p, const uint32_t *config)
{
    json *j = json_new_object();
    for (size_t i = 0; i < p->n_params; i++)
        if (template_param_exists(p, i, config))
            json_set(j, p->params[i].name, value_to_json(p->params[i].values[config[i]]));
    return j;
}

char *template_config_text(const template *p, const uint32_t *config)
{
    json *j = template_config_to_json(p, config);
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    return strb_take(&text);
}

void template_specialize(const template *p, bool on, uint32_t *config)
{
    for (size_t d = 0; d < p->task->n_dims; d++) {
        const int param = p->specialize[d];
        for (uint32_t i = 0; param >= 0 && i < p->params[param].n_values; i++)
            if (p->params[param].values[i].kind == VALUE_BOOL && p->params[param].values[i].as.boolean == on)
                config[param] = i;
    }
}

kw_code template_config_from_json(const template *p, const json *j, uint32_t *config, kw_error *err)
{
    if (json_kind_of(j) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "template %s: a configuration is an object of parameters", p->name);
    for (size_t i = 0; i < json_count(j); i++)
        if (template_param_index(p, json_key(json_at(j, i))) < 0)
            return unknown_param(p, json_key(json_at(j, i)), err);
    arena *a = arena_new();
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < p->n_params; i++) {
        const template_param *x = &p->params[i];
        const json *item = json_get(j, x->name);
        value v = value_none();
        if (item == NULL && !template_param_exists(p, i, config)) {
            config[i] = (uint32_t)x->default_index;
        } else if (item == NULL) {
            code = kw_error_set(err, KW_BAD_INPUT, "template %s: the configuration does not give %s", p->name, x->name);
        } else if (!value_from_json(item, a, &v) || !find_value(x, v, &config[i])) {
            strb text = STRB_INIT;
            json_print(item, &text);
            code = refuse_value(p, x, strb_text(&text), err);
            strb_clear(&text);
        }
    }
    arena_free(a);
    return code;
}

bool template_config_recall(const template *p, const json *j, uint32_t *config)
{
    if (json_kind_of(j) != JSON_OBJECT)
        return false;
    template_default(p, config);
    arena *a = arena_new();
    bool good = true;
    for (size_t i = 0; good && i < json_count(j); i++) {
        int k = template_param_index(p, json_key(json_at(j, i)));
        value v = value_none();
        good = k < 0 || (value_from_json(json_at(j, i), a, &v) && find_value(&p->params[k], v, &config[k]));
    }
    arena_free(a);
    return good;
}

void template_config_print(const template *p, const uint32_t *config, strb *out)
{
    const char *between = "";
    for (size_t i = 0; i < p->n_params; i++) {
        if (!template_param_exists(p, i, config))
            continue;
        strb_printf(out, "%s%s=", between, p->params[i].name);
        value_print(p->params[i].values[config[i]], out);
        between = " ";
    }
}

/* ---- conditions ---- */

void template_fill(const template *p, const task_types *types, const device_limits *limits, const task_shape *shape,
                   const uint32_t *config, value *env)
{
    for (int slot = 0; slot < expr_scope_size(p->scope); slot++)
        env[slot] = value_none();
    task_fill(p->task, types, shape, NULL, env);
    for (size_t i = 0; shape == NULL && i < p->task->n_scalars; i++)
        env[p->task->first_scalar_slot + (int)i] = value_none();
    limits_fill(limits, env, p->task->first_device_slot);
    for (size_t i = 0; config != NULL && i < p->n_params; i++)
        env[p->params[i].slot] = p->params[i].values[config[i]];
}

static const template_condition *first_rejecting(const template_condition *list, size_t n, const value *env,
                                                 kw_error *why)
{
    for (size_t i = 0; i < n; i++) {
        const template_condition *c = &list[i];
        bool holds = false;
        kw_error inner = {0};
        kw_code code = expr_eval_truth(c->test, env, &holds, &inner);
        if (code == KW_OK && holds)
            continue;
        if (code != KW_OK)
            kw_error_set(why, KW_FAILED, "rejected by %s, which has no value: %s", c->text, inner.message);
        else
            kw_error_set(why, KW_FAILED, "rejected by %s%s%s", c->text, c->why != NULL ? ": " : "",
                         c->why != NULL ? c->why : "");
        return c;
    }
    return NULL;
}

const template_condition *template_rejects(const template *p, const value *env, bool with_requires, kw_error *why)
{
    const template_condition *c = first_rejecting(p->constraints, p->n_constraints, env, why);
    return c != NULL || !with_requires ? c : first_rejecting(p->requires_, p->n_requires, env, why);
}
