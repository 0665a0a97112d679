/* Variants to JSON, and their hash. */
#include "codegen/variant_json.h"

static void set_expr(json *j, const char *key, const expr *e)
{
    if (e != NULL)
        json_set_string(j, key, expr_text(e));
}

static json *arg_to_json(const variant *v, const template_arg *a)
{
    json *j = json_new_object();
    switch (a->kind) {
    case ARG_TENSOR:
        json_set_string(j, "tensor", v->task->tensors[a->index].name);
        break;
    case ARG_TEMP:
        json_set_string(j, "temp", v->temps[a->index].name);
        break;
    case ARG_SCALAR:
        json_set_string(j, "scalar", v->task->scalars[a->index].name);
        break;
    case ARG_VALUE:
        set_expr(j, "expr", a->value);
        json_set_string(j, "type", dtype_name(a->type));
        break;
    case ARG_LOCAL:
        set_expr(j, "local", a->value);
        break;
    }
    return j;
}

static json *sizes_to_json(const expr *const *sizes, size_t rank)
{
    json *list = json_new_array();
    for (size_t i = 0; i < rank; i++)
        json_append(list, json_new_string(expr_text(sizes[i])));
    return list;
}

json *variant_launches_to_json(const variant *v)
{
    json *list = json_new_array();
    for (size_t i = 0; i < v->n_launches; i++) {
        const template_launch *l = &v->launches[i];
        json *j = json_new_object(), *args = json_new_array();
        for (size_t k = 0; k < l->n_args; k++)
            json_append(args, arg_to_json(v, &l->args[k]));
        json_set_string(j, "kernel", l->kernel);
        set_expr(j, "when", l->when);
        json_set(j, "args", args);
        json_set(j, "local", sizes_to_json(l->local, l->rank));
        if (l->global[0] != NULL)
            json_set(j, "global", sizes_to_json(l->global, l->rank));
        else
            json_set(j, "groups", sizes_to_json(l->groups, l->rank));
        json_append(list, j);
    }
    return list;
}

json *variant_temps_to_json(const variant *v)
{
    json *list = json_new_array();
    for (size_t i = 0; i < v->n_temps; i++) {
        json *j = json_new_object();
        json_set_string(j, "name", v->temps[i].name);
        json_set_string(j, "type", dtype_name(v->temps[i].type));
        set_expr(j, "elements", v->temps[i].elements);
        set_expr(j, "when", v->temps[i].when);
        json_append(list, j);
    }
    return list;
}

void variant_set_hash(variant *v, const char *stripped)
{
    json *launches = variant_launches_to_json(v), *temps = variant_temps_to_json(v);
    strb text = STRB_INIT;
    strb_add(&text, stripped);
    strb_printf(&text, "\n%s\n", language_name(v->lang));
    json_print(launches, &text);
    strb_add_char(&text, '\n');
    json_print(temps, &text);
    strb_printf(&text, "\n%s", v->options);
    hash_hex(strb_text(&text), text.length, v->hash);
    strb_clear(&text);
    json_free(launches);
    json_free(temps);
}

static json *conditions_to_json(const template_condition *list, size_t n)
{
    json *out = json_new_array();
    for (size_t i = 0; i < n; i++) {
        if (list[i].why == NULL) {
            json_append(out, json_new_string(list[i].text));
            continue;
        }
        json *j = json_new_object();
        json_set_string(j, "expr", list[i].text);
        json_set_string(j, "why", list[i].why);
        json_append(out, j);
    }
    return out;
}

json *variant_to_json(const variant *v)
{
    json *j = json_new_object(), *types = json_new_object(), *fixed = json_new_object();
    for (size_t i = 0; i < v->task->n_types; i++)
        json_set_string(types, v->task->types[i].symbol, dtype_name(v->types.of[i]));
    for (size_t i = 0; i < v->task->n_dims; i++)
        if (v->fixed_dims[i] >= 0)
            json_set_int(fixed, v->task->dims[i].name, v->fixed_dims[i]);
    json_set_string(j, "template", v->template_name);
    json_set_string(j, "hash", v->hash);
    json_set_bool(j, "fallback", v->is_fallback);
    json_set_string(j, "language", language_name(v->lang));
    json_set(j, "config", json_clone(v->config));
    json_set(j, "types", types);
    json_set(j, "fixed", fixed);
    json_set_string(j, "options", v->options);
    json_set(j, "constraints", conditions_to_json(v->constraints, v->n_constraints));
    json_set(j, "requires", conditions_to_json(v->requires_, v->n_requires));
    json_set(j, "temps", variant_temps_to_json(v));
    json_set(j, "launches", variant_launches_to_json(v));
    json_set_string(j, "source", v->source);
    return j;
}
