/* Plans on the wire. */
#include "codegen/variant.h"

#include <math.h>
#include <string.h>

/* ---- writing ---- */

/* JSON has no infinities and no NaN: they travel as strings. */
static json *real_to_json(double x)
{
    if (isfinite(x))
        return json_new_number(x);
    return json_new_string(isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

static json *arg_to_json(const plan_arg *a)
{
    json *j = json_new_object();
    switch (a->kind) {
    case ARG_TENSOR:
        json_set_int(j, "tensor", a->index);
        break;
    case ARG_TEMP:
        json_set_int(j, "temp", a->index);
        break;
    case ARG_LOCAL:
        json_set_int(j, "local", a->integer);
        break;
    case ARG_SCALAR:
        json_set_int(j, "scalar", a->index);
        json_set_string(j, "type", dtype_name(a->type));
        json_set(j, "value", real_to_json(a->real));
        break;
    case ARG_VALUE:
        json_set_string(j, "type", dtype_name(a->type));
        json_set(j, "value", dtype_is_float(a->type) ? real_to_json(a->real) : json_new_int(a->integer));
        break;
    }
    return j;
}

static json *sizes_to_json(const uint64_t *sizes, size_t rank)
{
    json *list = json_new_array();
    for (size_t i = 0; i < rank; i++)
        json_append(list, json_new_int((int64_t)sizes[i]));
    return list;
}

json *plan_to_json(const plan *p)
{
    json *j = json_new_object(), *launches = json_new_array(), *temps = json_new_array();
    for (size_t i = 0; i < p->n_launches; i++) {
        const plan_launch *l = &p->launches[i];
        json *item = json_new_object(), *args = json_new_array();
        for (size_t k = 0; k < l->n_args; k++)
            json_append(args, arg_to_json(&l->args[k]));
        json_set_string(item, "kernel", l->kernel);
        json_set(item, "local", sizes_to_json(l->local, l->rank));
        json_set(item, "groups", sizes_to_json(l->groups, l->rank));
        json_set(item, "args", args);
        json_append(launches, item);
    }
    for (size_t i = 0; i < p->n_temps; i++)
        json_append(temps, json_new_int((int64_t)p->temp_bytes[i]));
    json_set(j, "launches", launches);
    json_set(j, "temps", temps);
    return j;
}

/* ---- reading ---- */

static kw_code bad(kw_error *err, const char *what)
{
    return kw_error_set(err, KW_BAD_INPUT, "launch plan: %s", what);
}

static bool read_real(const json *j, double *out)
{
    const char *text = json_text(j);
    if (json_kind_of(j) == JSON_NUMBER)
        *out = json_number(j);
    else if (text != NULL && strcmp(text, "nan") == 0)
        *out = NAN;
    else if (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0))
        *out = *text == '-' ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

static bool read_index(const json *j, int limit, int *out)
{
    int64_t i;
    if (!json_int(j, &i) || i < 0 || i >= limit)
        return false;
    *out = (int)i;
    return true;
}

static kw_code read_typed(const json *j, plan_arg *x, kw_error *err)
{
    const char *name = json_text(json_get(j, "type"));
    x->type = name != NULL ? dtype_from_name(name) : DTYPE_NONE;
    if (x->type == DTYPE_NONE)
        return bad(err, "an argument has no known type");
    const json *number = json_get(j, "value");
    bool is_real = x->kind == ARG_SCALAR || dtype_is_float(x->type);
    if (is_real ? !read_real(number, &x->real) : !json_int(number, &x->integer))
        return bad(err, "the value of an argument is not a number of its type");
    return KW_OK;
}

static kw_code read_arg(const json *j, plan_arg *x, kw_error *err)
{
    memset(x, 0, sizeof *x);
    if (json_get(j, "tensor") != NULL) {
        x->kind = ARG_TENSOR;
        return read_index(json_get(j, "tensor"), TASK_MAX_TENSORS, &x->index) ? KW_OK : bad(err, "bad tensor index");
    }
    if (json_get(j, "temp") != NULL) {
        x->kind = ARG_TEMP;
        return read_index(json_get(j, "temp"), TEMPLATE_MAX_TEMPS, &x->index) ? KW_OK : bad(err, "bad temp index");
    }
    if (json_get(j, "local") != NULL) {
        x->kind = ARG_LOCAL;
        return json_int(json_get(j, "local"), &x->integer) && x->integer > 0 ? KW_OK : bad(err, "bad local memory");
    }
    x->kind = json_get(j, "scalar") != NULL ? ARG_SCALAR : ARG_VALUE;
    if (x->kind == ARG_SCALAR && !read_index(json_get(j, "scalar"), TASK_MAX_SCALARS, &x->index))
        return bad(err, "bad scalar index");
    return read_typed(j, x, err);
}

static bool read_sizes(const json *j, uint64_t *out, size_t *rank)
{
    *rank = json_count(j);
    if (json_kind_of(j) != JSON_ARRAY || *rank < 1 || *rank > 3)
        return false;
    for (size_t i = 0; i < 3; i++) {
        int64_t n = 1;
        if (i < *rank && (!json_int(json_at(j, i), &n) || n < 1))
            return false;
        out[i] = (uint64_t)n;
    }
    return true;
}

static kw_code read_launch(const json *j, arena *a, plan_launch *x, kw_error *err)
{
    const char *kernel = json_text(json_get(j, "kernel"));
    const json *args = json_get(j, "args");
    size_t rank = 0;
    if (kernel == NULL || *kernel == '\0')
        return bad(err, "a launch has no kernel name");
    if (!read_sizes(json_get(j, "local"), x->local, &x->rank) || !read_sizes(json_get(j, "groups"), x->groups, &rank) ||
        rank != x->rank)
        return bad(err, "local size and groups must be 1 to 3 integers from 1, as many of one as of the other");
    if (json_kind_of(args) != JSON_ARRAY || json_count(args) > TEMPLATE_MAX_ARGS)
        return bad(err, "a launch has no list of arguments, or too many");
    x->kernel = arena_strdup(a, kernel);
    x->n_args = json_count(args);
    for (size_t i = 0; i < x->n_args; i++) {
        kw_code code = read_arg(json_at(args, i), &x->args[i], err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

kw_code plan_from_json(const json *j, arena *a, plan *out, kw_error *err)
{
    const json *launches = json_get(j, "launches"), *temps = json_get(j, "temps");
    if (json_kind_of(launches) != JSON_ARRAY || json_count(launches) > TEMPLATE_MAX_LAUNCHES)
        return bad(err, "no list of launches, or too many");
    if (json_kind_of(temps) != JSON_ARRAY || json_count(temps) > TEMPLATE_MAX_TEMPS)
        return bad(err, "no list of temporaries, or too many");
    out->n_launches = json_count(launches);
    out->n_temps = json_count(temps);
    for (size_t i = 0; i < out->n_temps; i++) {
        int64_t bytes;
        if (!json_int(json_at(temps, i), &bytes) || bytes < 0)
            return bad(err, "the size of a temporary is not an integer from 0");
        out->temp_bytes[i] = (uint64_t)bytes;
    }
    for (size_t i = 0; i < out->n_launches; i++) {
        kw_code code = read_launch(json_at(launches, i), a, &out->launches[i], err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}
