#include "codegen/task_read.h"

#include "codegen/limits.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers shared with task_read_tensors.c ---- */

kw_code task_read_expr(task *t, const locate *l, const char *path, const json *object, const char *key, unsigned roles,
                       const expr **out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = NULL;
    if (j == NULL)
        return KW_OK;
    locate_path full = locate_join("%s%s%s", path, *path != '\0' ? "." : "", key);
    return locate_expr(l, full.text, j, t->memory, t->scope, roles, out, err);
}

static bool name_taken(const task *t, const char *name)
{
    for (size_t i = 0; i < t->n_dims; i++)
        if (strcmp(t->dims[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < t->n_types; i++)
        if (strcmp(t->types[i].symbol, name) == 0)
            return true;
    for (size_t i = 0; i < t->n_tensors; i++)
        if (strcmp(t->tensors[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < t->n_scalars; i++)
        if (strcmp(t->scalars[i].name, name) == 0)
            return true;
    return false;
}

kw_code task_read_name(const task *t, const locate *l, const char *path, const char *name, kw_error *err)
{
    if (!locate_is_name(name))
        return locate_error(l, path, err,
                            "\"%s\" cannot be a name: use letters, digits and _, and no word of the expression "
                            "language",
                            name);
    if (name_taken(t, name))
        return locate_error(l, path, err, "the name %s is used twice in this task", name);
    return KW_OK;
}

kw_code task_read_type(const task *t, const locate *l, const char *path, const json *object, int *symbol, dtype *fixed,
                       kw_error *err)
{
    const char *name;
    kw_code code = locate_get_string(l, path, object, "type", &name, err);
    if (code != KW_OK)
        return code;
    *symbol = -1;
    for (size_t i = 0; i < t->n_types; i++)
        if (strcmp(t->types[i].symbol, name) == 0)
            *symbol = (int)i;
    *fixed = dtype_from_name(name);
    if (*symbol < 0 && *fixed == DTYPE_NONE)
        return locate_error(l, path, err,
                            "type \"%s\" is neither one of the task's types nor an element type such as "
                            "\"f32\"",
                            name);
    return KW_OK;
}

/* ---- types ---- */

static kw_code add_allowed(task_type *type, const locate *l, const char *path, const json *j, kw_error *err)
{
    const char *name = json_kind_of(j) == JSON_STRING ? json_text(j) : "";
    dtype d = dtype_from_name(name);
    if (d == DTYPE_NONE)
        return locate_error(l, path, err, "must be an element type such as \"f32\", \"f16\" or \"i32\"");
    for (size_t i = 0; i < type->n_allowed; i++)
        if (type->allowed[i] == d)
            return locate_error(l, path, err, "%s is listed twice", name);
    if (type->n_allowed == sizeof type->allowed / sizeof *type->allowed)
        return locate_error(l, path, err, "too many types");
    type->allowed[type->n_allowed++] = d;
    return KW_OK;
}

static kw_code read_types(task *t, const locate *l, kw_error *err)
{
    const json *types = json_get(t->source, "types");
    if (types == NULL)
        return KW_OK;
    kw_code code = locate_need_object(l, "types", types, err);
    for (size_t i = 0; code == KW_OK && i < json_count(types); i++) {
        const json *j = json_at(types, i);
        locate_path path = locate_join("types.%s", json_key(j));
        if (i == TASK_MAX_TYPES)
            return locate_error(l, path.text, err, "at most %d types", TASK_MAX_TYPES);
        code = task_read_name(t, l, path.text, json_key(j), err);
        task_type *type = &t->types[t->n_types];
        type->symbol = json_key(j);
        if (code == KW_OK && json_kind_of(j) != JSON_ARRAY)
            code = add_allowed(type, l, path.text, j, err);
        for (size_t k = 0; code == KW_OK && json_kind_of(j) == JSON_ARRAY && k < json_count(j); k++)
            code = add_allowed(type, l, path.text, json_at(j, k), err);
        if (code == KW_OK && type->n_allowed == 0)
            return locate_error(l, path.text, err, "must list at least one type");
        t->n_types++;
    }
    return code;
}

/* ---- dims ---- */

static kw_code read_dim(task *t, const locate *l, const char *path, const json *j, kw_error *err)
{
    static const char *const keys[] = {"min", "max", "default", "key", "doc", NULL};
    kw_code code = locate_need_object(l, path, j, err);
    if (code == KW_OK)
        code = task_read_name(t, l, path, json_key(j), err);
    if (code == KW_OK)
        code = locate_check_keys(l, path, j, keys, err);
    task_dim *d = &t->dims[t->n_dims];
    d->name = json_key(j);
    if (code == KW_OK)
        code = locate_opt_int(l, path, j, "min", json_get(j, "default") != NULL ? 0 : 1, &d->min, err);
    if (code == KW_OK)
        code = locate_opt_int(l, path, j, "max", t->index_i64 ? INT64_MAX : INT32_MAX, &d->max, err);
    if (code == KW_OK)
        code = locate_opt_bool(l, path, j, "key", true, &d->is_key, err);
    if (code != KW_OK)
        return code;
    if (d->min < 0 || d->max < d->min)
        return locate_error(l, path, err, "needs 0 <= min <= max");
    t->n_dims++;
    return KW_OK;
}

static kw_code read_dims(task *t, const locate *l, kw_error *err)
{
    const json *dims = json_get(t->source, "dims");
    if (json_count(dims) == 0)
        return locate_error(l, "dims", err, "the task must have at least one dim: \"dims\": {\"N\": {\"min\": 1}}");
    kw_code code = locate_need_object(l, "dims", dims, err);
    for (size_t i = 0; code == KW_OK && i < json_count(dims); i++) {
        locate_path path = locate_join("dims.%s", json_key(json_at(dims, i)));
        if (i == TASK_MAX_DIMS)
            return locate_error(l, path.text, err, "at most %d dims", TASK_MAX_DIMS);
        code = read_dim(t, l, path.text, json_at(dims, i), err);
    }
    return code;
}

/* Defaults of dims: after the scope is built. One may use dims without a default and dims before its own. */
static kw_code read_dim_defaults(task *t, const locate *l, kw_error *err)
{
    const json *dims = json_get(t->source, "dims");
    for (size_t i = 0; i < t->n_dims; i++) {
        locate_path path = locate_join("dims.%s", t->dims[i].name);
        kw_code code =
            task_read_expr(t, l, path.text, json_at(dims, i), "default", EXPR_BIT_DIM, &t->dims[i].fallback, err);
        if (code != KW_OK)
            return code;
        for (size_t k = i; t->dims[i].fallback != NULL && k < t->n_dims; k++) {
            bool needs_default = k == i || json_get(json_at(dims, k), "default") != NULL;
            if (needs_default && expr_uses(t->dims[i].fallback, t->first_dim_slot + (int)k))
                return locate_error(l, path.text, err,
                                    "its default may only use dims without a default or dims above it");
        }
    }
    return KW_OK;
}

/* ---- scalars ---- */

static kw_code read_scalar(task *t, const locate *l, const char *path, const json *j, kw_error *err)
{
    static const char *const keys[] = {"name", "type", "values", "doc", NULL};
    task_scalar *x = &t->scalars[t->n_scalars];
    const json *values = NULL;
    kw_code code = locate_need_object(l, path, j, err);
    if (code == KW_OK)
        code = locate_check_keys(l, path, j, keys, err);
    if (code == KW_OK)
        code = locate_get_string(l, path, j, "name", &x->name, err);
    if (code == KW_OK)
        code = task_read_name(t, l, path, x->name, err);
    if (code == KW_OK)
        code = task_read_type(t, l, path, j, &x->type, &x->fixed_type, err);
    if (code == KW_OK)
        code = locate_opt_array(l, path, j, "values", &values, err);
    if (code != KW_OK)
        return code;
    size_t room = sizeof x->values / sizeof *x->values;
    if (values == NULL || json_count(values) == 0 || json_count(values) > room)
        return locate_error(l, path, err, "needs \"values\": a list of 1 to %zu numbers, the first is the timed one",
                            room);
    for (size_t i = 0; i < json_count(values); i++) {
        if (json_kind_of(json_at(values, i)) != JSON_NUMBER)
            return locate_error(l, path, err, "its values must be numbers");
        x->values[x->n_values++] = json_number(json_at(values, i));
    }
    t->n_scalars++;
    return KW_OK;
}

static kw_code read_scalars(task *t, const locate *l, kw_error *err)
{
    const json *list;
    kw_code code = locate_opt_array(l, "", t->source, "scalars", &list, err);
    for (size_t i = 0; code == KW_OK && i < json_count(list); i++) {
        locate_path path = locate_join("scalars[%zu]", i);
        if (i == TASK_MAX_SCALARS)
            return locate_error(l, path.text, err, "at most %d scalars", TASK_MAX_SCALARS);
        code = read_scalar(t, l, path.text, json_at(list, i), err);
    }
    return code;
}

/* ---- the whole ---- */

static void build_scope(task *t)
{
    t->scope = expr_scope_new();
    t->first_type_slot = 0;
    for (size_t i = 0; i < t->n_types; i++)
        expr_scope_add(t->scope, t->types[i].symbol, EXPR_TYPE);
    t->first_device_slot = limits_add_to_scope(t->scope);
    t->first_dim_slot = expr_scope_size(t->scope);
    for (size_t i = 0; i < t->n_dims; i++)
        expr_scope_add(t->scope, t->dims[i].name, EXPR_DIM);
    t->first_scalar_slot = expr_scope_size(t->scope);
    for (size_t i = 0; i < t->n_scalars; i++)
        expr_scope_add(t->scope, t->scalars[i].name, EXPR_SCALAR);
}

static kw_code read_error_rule(task *t, const locate *l, kw_error *err)
{
    static const char *const keys[] = {"reduction_length", "floor", NULL};
    t->error_floor = NAN;
    const json *rule = json_get(t->source, "error");
    if (rule == NULL)
        return KW_OK;
    kw_code code = locate_need_object(l, "error", rule, err);
    if (code == KW_OK)
        code = locate_check_keys(l, "error", rule, keys, err);
    if (code == KW_OK)
        code = task_read_expr(t, l, "error", rule, "reduction_length", EXPR_BIT_DIM | EXPR_BIT_TYPE | EXPR_BIT_SCALAR,
                              &t->reduction_length, err);
    if (code == KW_OK)
        code = locate_opt_real(l, "error", rule, "floor", NAN, &t->error_floor, err);
    if (code == KW_OK && t->error_floor < 0)
        code = locate_error(l, "error.floor", err, "must not be negative");
    return code;
}

static kw_code read_head(task *t, const locate *l, kw_error *err)
{
    static const char *const keys[] = {
        "task",  "doc",   "dims",   "types",       "tensors",    "scalars", "reference",        "error",
        "flops", "bytes", "shapes", "edge_shapes", "cpu_shapes", "index",   "reference_source", NULL};
    static const char *const widths[] = {"i32", "i64"};
    int width = 0;
    kw_code code = locate_need_object(l, "", t->source, err);
    if (code == KW_OK)
        code = locate_check_keys(l, "", t->source, keys, err);
    if (code == KW_OK)
        code = locate_get_string(l, "", t->source, "task", &t->name, err);
    if (code == KW_OK && !locate_is_name(t->name))
        code = locate_error(l, "task", err, "\"%s\" cannot be a name: use letters, digits and _", t->name);
    if (code == KW_OK)
        code = locate_opt_string(l, "", t->source, "doc", "", &t->doc, err);
    if (code == KW_OK)
        code = locate_opt_string(l, "", t->source, "reference", NULL, &t->reference, err);
    if (code == KW_OK && t->reference != NULL && !locate_is_name(t->reference))
        code = locate_error(l, "reference", err, "must be the name of a C function");
    if (code == KW_OK)
        code = locate_opt_string(l, "", t->source, "reference_source", NULL, &t->reference_source, err);
    if (code == KW_OK)
        code = locate_choice(l, "", t->source, "index", widths, 2, &width, err);
    t->index_i64 = width == 1;
    return code;
}

kw_code task_read(task *t, const locate *l, kw_error *err)
{
    const unsigned all = EXPR_BIT_DIM | EXPR_BIT_TYPE | EXPR_BIT_SCALAR;
    kw_code code = read_head(t, l, err);
    if (code == KW_OK)
        code = read_dims(t, l, err);
    if (code == KW_OK)
        code = read_types(t, l, err);
    if (code == KW_OK)
        code = read_scalars(t, l, err);
    if (code != KW_OK)
        return code;
    build_scope(t);
    code = read_dim_defaults(t, l, err);
    if (code == KW_OK)
        code = task_read_tensors(t, l, err);
    if (code == KW_OK)
        code = read_error_rule(t, l, err);
    if (code == KW_OK)
        code = task_read_expr(t, l, "", t->source, "flops", all, &t->flops, err);
    if (code == KW_OK)
        code = task_read_expr(t, l, "", t->source, "bytes", all, &t->bytes, err);
    return code;
}
