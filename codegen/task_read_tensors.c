#include "codegen/task_read.h"

#include <math.h>
#include <string.h>

static kw_code read_extent(task *t, const locate *l, const char *path, const json *list, const char *key,
                           const expr **out, kw_error *err)
{
    for (size_t i = 0; i < json_count(list); i++) {
        locate_path item = locate_join("%s.%s[%zu]", path, key, i);
        kw_code code = locate_expr(l, item.text, json_at(list, i), t->memory, t->scope, EXPR_BIT_DIM | EXPR_BIT_TYPE,
                                   &out[i], err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static kw_code read_shape_of_tensor(task *t, const locate *l, const char *path, const json *j, task_tensor *x,
                                    kw_error *err)
{
    const json *shape, *strides;
    kw_code code = locate_opt_array(l, path, j, "shape", &shape, err);
    if (code == KW_OK)
        code = locate_opt_array(l, path, j, "strides", &strides, err);
    if (code != KW_OK)
        return code;
    if (shape == NULL || json_count(shape) == 0 || json_count(shape) > TASK_MAX_RANK)
        return locate_error(l, path, err, "needs \"shape\": a list of 1 to %d sizes", TASK_MAX_RANK);
    x->rank = json_count(shape);
    if (strides != NULL && json_count(strides) != x->rank)
        return locate_error(l, path, err, "has %zu sizes but %zu strides", x->rank, json_count(strides));
    code = read_extent(t, l, path, shape, "shape", x->shape, err);
    if (code == KW_OK && strides != NULL)
        code = read_extent(t, l, path, strides, "strides", x->stride, err);
    return code;
}

static kw_code read_domain(const locate *l, const char *path, const json *j, task_tensor *x, kw_error *err)
{
    static const char *const keys[] = {"min", "max", NULL};
    x->domain_min = -INFINITY;
    x->domain_max = INFINITY;
    const json *domain = json_get(j, "domain");
    if (domain == NULL)
        return KW_OK;
    locate_path full = locate_join("%s.domain", path);
    kw_code code = locate_need_object(l, full.text, domain, err);
    if (code == KW_OK)
        code = locate_check_keys(l, full.text, domain, keys, err);
    if (code == KW_OK)
        code = locate_opt_real(l, full.text, domain, "min", -INFINITY, &x->domain_min, err);
    if (code == KW_OK)
        code = locate_opt_real(l, full.text, domain, "max", INFINITY, &x->domain_max, err);
    if (code == KW_OK && !(x->domain_min <= x->domain_max))
        code = locate_error(l, full.text, err, "min is above max");
    return code;
}

static kw_code read_init(task *t, const locate *l, const char *path, const json *j, task_tensor *x, kw_error *err)
{
    static const char *const keys[] = {"generator", "limit", NULL};
    static const char *const generators[] = {"normal", "index"};
    x->init = "";
    const json *init = json_get(j, "init");
    if (init == NULL)
        return KW_OK;
    locate_path full = locate_join("%s.init", path);
    int which = 0;
    kw_code code = locate_need_object(l, full.text, init, err);
    if (code == KW_OK)
        code = locate_check_keys(l, full.text, init, keys, err);
    if (code == KW_OK)
        code = locate_choice(l, full.text, init, "generator", generators, 2, &which, err);
    if (code == KW_OK)
        code = task_read_expr(t, l, full.text, init, "limit", EXPR_BIT_DIM | EXPR_BIT_TYPE, &x->init_limit, err);
    if (code != KW_OK)
        return code;
    if (which == 1 && x->init_limit == NULL)
        return locate_error(l, full.text, err, "the index generator needs \"limit\": values are 0 to limit - 1");
    x->init = which == 1 ? "index" : "";
    return KW_OK;
}

static kw_code read_tensor(task *t, const locate *l, const char *path, const json *j, kw_error *err)
{
    static const char *const keys[] = {"name",   "type", "shape",   "strides", "access",
                                       "domain", "init", "compare", "doc",     NULL};
    static const char *const accesses[] = {"in", "out", "inout"};
    static const char *const compares[] = {"error", "exact", "set"};
    task_tensor *x = &t->tensors[t->n_tensors];
    int access = 0, compare = 0;
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
        code = read_shape_of_tensor(t, l, path, j, x, err);
    if (code == KW_OK)
        code = locate_choice(l, path, j, "access", accesses, 3, &access, err);
    if (code == KW_OK)
        code = locate_choice(l, path, j, "compare", compares, 3, &compare, err);
    if (code == KW_OK)
        code = read_domain(l, path, j, x, err);
    if (code == KW_OK)
        code = read_init(t, l, path, j, x, err);
    x->access = (task_access)access;
    x->compare = (task_compare)compare;
    t->n_tensors++;
    return code;
}

kw_code task_read_tensors(task *t, const locate *l, kw_error *err)
{
    const json *list;
    kw_code code = locate_opt_array(l, "", t->source, "tensors", &list, err);
    bool has_output = false;
    for (size_t i = 0; code == KW_OK && i < json_count(list); i++) {
        locate_path path = locate_join("tensors[%zu]", i);
        if (i == TASK_MAX_TENSORS)
            return locate_error(l, path.text, err, "at most %d tensors", TASK_MAX_TENSORS);
        code = read_tensor(t, l, path.text, json_at(list, i), err);
        has_output = has_output || t->tensors[i].access != TASK_IN;
    }
    if (code == KW_OK && !has_output)
        code = locate_error(l, list != NULL ? "tensors" : "", err,
                            "the task must have a tensor with \"access\": \"out\" or \"inout\"");
    return code;
}
