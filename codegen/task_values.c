/* Types chosen for a task, and what its expressions come to for a shape. */
#include "codegen/task.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static kw_code refuse_type(const task *t, size_t symbol, const char *name, kw_error *err)
{
    const task_type *type = &t->types[symbol];
    strb list = STRB_INIT;
    for (size_t i = 0; i < type->n_allowed; i++)
        strb_printf(&list, "%s%s", i > 0 ? ", " : "", dtype_name(type->allowed[i]));
    kw_error_set(err, KW_BAD_INPUT, "task %s: type %s cannot be %s; allowed: %s", t->name, type->symbol, name,
                 strb_text(&list));
    strb_clear(&list);
    return KW_BAD_INPUT;
}

static kw_code set_type(const task *t, size_t symbol, const char *name, task_types *out, kw_error *err)
{
    dtype d = dtype_from_name(name);
    for (size_t i = 0; d != DTYPE_NONE && i < t->types[symbol].n_allowed; i++) {
        if (t->types[symbol].allowed[i] == d) {
            out->of[symbol] = d;
            return KW_OK;
        }
    }
    return refuse_type(t, symbol, name, err);
}

/* "f16" or "ACC=f16". */
static kw_code set_one(const task *t, char *text, task_types *out, kw_error *err)
{
    char *equals = strchr(text, '=');
    if (t->n_types == 0)
        return kw_error_set(err, KW_BAD_INPUT, "task %s has no types to choose", t->name);
    if (equals == NULL)
        return set_type(t, 0, text, out, err);
    *equals = '\0';
    const char *symbols[TASK_MAX_TYPES];
    for (size_t i = 0; i < t->n_types; i++) {
        symbols[i] = t->types[i].symbol;
        if (strcmp(symbols[i], text) == 0)
            return set_type(t, i, equals + 1, out, err);
    }
    const char *nearest = json_nearest(text, symbols, t->n_types);
    return kw_error_set(err, KW_BAD_INPUT, "task %s has no type %s; did you mean %s?", t->name, text,
                        nearest != NULL ? nearest : symbols[0]);
}

kw_code task_types_parse(const task *t, const char *set, task_types *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < t->n_types; i++)
        out->of[i] = t->types[i].allowed[0];
    if (set == NULL || *set == '\0')
        return KW_OK;
    char *copy = mem_strdup(set);
    char *rest = copy;
    kw_code code = KW_OK;
    for (char *item; code == KW_OK && (item = strsep(&rest, ",")) != NULL;)
        code = set_one(t, item, out, err);
    free(copy);
    return code;
}

void task_types_print(const task *t, const task_types *types, strb *out)
{
    for (size_t i = 0; i < t->n_types; i++)
        strb_printf(out, "%s%s=%s", i > 0 ? "," : "", t->types[i].symbol, dtype_name(types->of[i]));
}

dtype task_tensor_type(const task *t, const task_types *types, size_t tensor)
{
    int symbol = t->tensors[tensor].type;
    return symbol >= 0 ? types->of[symbol] : t->tensors[tensor].fixed_type;
}

dtype task_scalar_type(const task *t, const task_types *types, size_t scalar)
{
    int symbol = t->scalars[scalar].type;
    return symbol >= 0 ? types->of[symbol] : t->scalars[scalar].fixed_type;
}

/* ---- environments ---- */

static value scalar_value(dtype type, double x)
{
    return dtype_is_float(type) || x != floor(x) || fabs(x) >= 0x1p63 ? value_real(x) : value_int((int64_t)x);
}

void task_fill(const task *t, const task_types *types, const task_shape *shape, const double *scalars, value *env)
{
    for (size_t i = 0; i < t->n_types; i++)
        env[t->first_type_slot + (int)i] = value_type(types->of[i]);
    for (size_t i = 0; i < t->n_dims; i++)
        env[t->first_dim_slot + (int)i] = shape != NULL ? value_int(shape->dims[i]) : value_none();
    for (size_t i = 0; i < t->n_scalars; i++) {
        double x = scalars != NULL ? scalars[i] : t->scalars[i].values[0];
        env[t->first_scalar_slot + (int)i] = scalar_value(task_scalar_type(t, types, i), x);
    }
}

/* An environment of the task's scope with everything but the device filled in; the caller frees. */
static value *new_env(const task *t, const task_types *types, const task_shape *shape)
{
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    task_fill(t, types, shape, NULL, env);
    return env;
}

/* ---- sizes and costs ---- */

static kw_code bad_size(const task *t, size_t tensor, const char *what, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "task %s: tensor %s: %s", t->name, t->tensors[tensor].name, what);
}

static kw_code count_elements(const task *t, const value *env, size_t tensor, uint64_t *out, kw_error *err)
{
    const task_tensor *x = &t->tensors[tensor];
    uint64_t dense = 1, last = 0;
    bool overflow = false, empty = false;
    for (size_t i = 0; i < x->rank; i++) {
        int64_t extent, stride = 0, reach;
        kw_code code = expr_eval_int(x->shape[i], env, &extent, err);
        if (code == KW_OK && x->stride[i] != NULL)
            code = expr_eval_int(x->stride[i], env, &stride, err);
        if (code != KW_OK)
            return kw_error_prefix(err, "task %s: tensor %s", t->name, x->name);
        if (extent < 0 || stride < 0)
            return bad_size(t, tensor, "a size or stride is negative", err);
        empty = empty || extent == 0;
        overflow = overflow || __builtin_mul_overflow(dense, (uint64_t)extent, &dense);
        overflow = overflow || __builtin_mul_overflow(extent > 0 ? extent - 1 : 0, stride, &reach) ||
                   __builtin_add_overflow(last, (uint64_t)reach, &last);
    }
    overflow = overflow || last >= INT64_MAX / 8;
    *out = empty ? 0 : x->stride[0] != NULL ? last + 1 : dense;
    if (!empty && (overflow || *out > INT64_MAX / 8))
        return bad_size(t, tensor, "is larger than any memory", err);
    return KW_OK;
}

kw_code task_tensor_elements(const task *t, const task_types *types, const task_shape *s, size_t tensor, uint64_t *out,
                             kw_error *err)
{
    value *env = new_env(t, types, s);
    kw_code code = count_elements(t, env, tensor, out, err);
    free(env);
    return code;
}

static double cost(const task *t, const task_types *types, const task_shape *s, const expr *e, double absent)
{
    if (e == NULL)
        return absent;
    double x = NAN;
    value *env = new_env(t, types, s);
    if (expr_eval_real(e, env, &x, NULL) != KW_OK)
        x = NAN;
    free(env);
    return x;
}

double task_flops(const task *t, const task_types *types, const task_shape *s)
{
    return cost(t, types, s, t->flops, NAN);
}

double task_bytes(const task *t, const task_types *types, const task_shape *s)
{
    return cost(t, types, s, t->bytes, NAN);
}

double task_reduction_length(const task *t, const task_types *types, const task_shape *s)
{
    return cost(t, types, s, t->reduction_length, 1);
}

double task_error_floor(const task *t, const task_types *types, size_t tensor)
{
    if (!isnan(t->error_floor))
        return t->error_floor;
    dtype type = task_tensor_type(t, types, tensor);
    if (!dtype_is_float(type))
        return 0;
    return type == DTYPE_F16 ? 0x1p-14 : type == DTYPE_F32 ? (double)FLT_MIN : DBL_MIN;
}
