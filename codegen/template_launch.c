/* Front matter: launches, their geometry and arguments. */
#include "codegen/template_read.h"

#include <string.h>

enum { LAUNCH_ROLES = EXPR_BIT_PARAM | EXPR_BIT_TYPE | EXPR_BIT_DEVICE | EXPR_BIT_DIM | EXPR_BIT_SCALAR };

/* ---- arguments ---- */

static kw_code unknown_argument(const template_reader *r, const char *path, const char *name)
{
    const template *p = r->p;
    const task *t = p->task;
    const char *names[TASK_MAX_TENSORS + TEMPLATE_MAX_TEMPS + TASK_MAX_DIMS + TASK_MAX_SCALARS];
    size_t n = 0;
    for (size_t i = 0; i < t->n_tensors; i++)
        names[n++] = t->tensors[i].name;
    for (size_t i = 0; i < p->n_temps; i++)
        names[n++] = p->temps[i].name;
    for (size_t i = 0; i < t->n_dims; i++)
        names[n++] = t->dims[i].name;
    for (size_t i = 0; i < t->n_scalars; i++)
        names[n++] = t->scalars[i].name;
    if (template_param_index(p, name) >= 0)
        return locate_error(
            &r->where, path, r->err,
            "%s is a parameter: pass it as {\"expr\": \"%s\", \"type\": \"i32\"}, or write ${%s} in the "
            "kernel text",
            name, name, name);
    strb list = STRB_INIT;
    for (size_t i = 0; i < n; i++)
        strb_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    const char *nearest = json_nearest(name, names, n);
    locate_error(&r->where, path, r->err, "no tensor, temporary, dim or scalar is called %s%s%s; there are %s", name,
                 nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "", strb_text(&list));
    strb_clear(&list);
    return KW_BAD_INPUT;
}

static kw_code read_named(template_reader *r, const char *path, const char *name, template_arg *x)
{
    const task *t = r->p->task;
    x->text = name;
    x->type_symbol = -1;
    for (size_t i = 0; i < t->n_tensors; i++) {
        if (strcmp(t->tensors[i].name, name) == 0) {
            x->kind = ARG_TENSOR;
            x->index = (int)i;
            return KW_OK;
        }
    }
    for (size_t i = 0; i < r->p->n_temps; i++) {
        if (strcmp(r->p->temps[i].name, name) == 0) {
            x->kind = ARG_TEMP;
            x->index = (int)i;
            return KW_OK;
        }
    }
    for (size_t i = 0; i < t->n_scalars; i++) {
        if (strcmp(t->scalars[i].name, name) == 0) {
            x->kind = ARG_SCALAR;
            x->index = (int)i;
            return KW_OK;
        }
    }
    for (size_t i = 0; i < t->n_dims; i++) {
        if (strcmp(t->dims[i].name, name) == 0) {
            x->kind = ARG_VALUE;
            x->type = r->p->index_i64 ? DTYPE_I64 : DTYPE_I32;
            x->value = expr_parse(r->p->memory, name, r->p->scope, locate_string_text(&r->where, path), r->err);
            return x->value != NULL ? KW_OK : KW_BAD_INPUT;
        }
    }
    return unknown_argument(r, path, name);
}

/* {"expr": e, "type": t}, {"value": v, "type": t} or {"local": bytes}. */
static kw_code read_object(template_reader *r, const char *path, const json *j, template_arg *x)
{
    static const char *const keys[] = {"expr", "value", "type", "local", "doc", NULL};
    static const char *const forms[] = {"expr", "value", "local"};
    const char *form = NULL;
    int n_forms = 0;
    kw_code code = locate_check_keys(&r->where, path, j, keys, r->err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; i < 3; i++) {
        if (json_get(j, forms[i]) != NULL) {
            form = forms[i];
            n_forms++;
        }
    }
    if (n_forms != 1)
        return locate_error(&r->where, path, r->err,
                            "needs exactly one of \"expr\", \"value\" (both with \"type\") and \"local\" (bytes)");
    locate_path inner = locate_join("%s.%s", path, form);
    bool is_local = strcmp(form, "local") == 0;
    x->kind = is_local ? ARG_LOCAL : ARG_VALUE;
    x->type_symbol = -1;
    if (!is_local)
        code = template_read_type(r, path, j, &x->type_symbol, &x->type);
    else if (json_get(j, "type") != NULL)
        code = locate_error(&r->where, path, r->err, "\"local\" gives a number of bytes and has no \"type\"");
    if (code == KW_OK)
        code = locate_expr(&r->where, inner.text, json_get(j, form), r->p->memory, r->p->scope, LAUNCH_ROLES, &x->value,
                           r->err);
    if (code == KW_OK)
        x->text = expr_text(x->value);
    return code;
}

static kw_code read_args(template_reader *r, const char *path, const json *launch, template_launch *x)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, path, launch, "args", &j, r->err);
    if (code == KW_OK && j == NULL)
        code = locate_error(&r->where, path, r->err, "\"args\" is missing");
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        const json *item = json_at(j, i);
        locate_path at = locate_join("%s.args[%zu]", path, i);
        if (i == TEMPLATE_MAX_ARGS)
            return locate_error(&r->where, at.text, r->err, "at most %d arguments", TEMPLATE_MAX_ARGS);
        if (json_kind_of(item) == JSON_STRING)
            code = read_named(r, at.text, json_text(item), &x->args[i]);
        else if (json_kind_of(item) == JSON_OBJECT)
            code = read_object(r, at.text, item, &x->args[i]);
        else
            code = locate_error(&r->where, at.text, r->err,
                                "must be a name or an object such as {\"value\": 0, \"type\": \"i32\"}");
        x->n_args = i + 1;
    }
    return code;
}

/* ---- geometry ---- */

static kw_code read_sizes(template_reader *r, const char *path, const json *launch, const char *key, const expr **out,
                          size_t *n)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, path, launch, key, &j, r->err);
    *n = json_count(j);
    if (code == KW_OK && (*n == 0 || *n > 3))
        code = locate_error(&r->where, path, r->err, "needs \"%s\": a list of 1 to 3 sizes", key);
    for (size_t i = 0; code == KW_OK && i < *n; i++) {
        locate_path at = locate_join("%s.%s[%zu]", path, key, i);
        code = locate_expr(&r->where, at.text, json_at(j, i), r->p->memory, r->p->scope, LAUNCH_ROLES, &out[i], r->err);
    }
    return code;
}

static kw_code read_geometry(template_reader *r, const char *path, const json *j, template_launch *x)
{
    bool has_groups = json_get(j, "groups") != NULL, has_global = json_get(j, "global") != NULL;
    if (has_groups == has_global)
        return locate_error(&r->where, path, r->err,
                            r->p->is_sidecar ? "needs either \"groups\" or \"global\" (work-items)"
                                             : "needs \"groups\": the number of work-groups per dimension");
    if (has_global && !r->p->is_sidecar)
        return locate_error(&r->where, path, r->err,
                            "\"global\" is for sidecars: a template gives the number of "
                            "work-groups in \"groups\"");
    size_t n_local, n_size;
    kw_code code = read_sizes(r, path, j, "local", x->local, &n_local);
    if (code == KW_OK)
        code = read_sizes(r, path, j, has_global ? "global" : "groups", has_global ? x->global : x->groups, &n_size);
    if (code != KW_OK)
        return code;
    x->rank = n_local > n_size ? n_local : n_size;
    const expr *one = expr_constant(r->p->memory, value_int(1));
    for (size_t i = 0; i < 3; i++) {
        x->local[i] = x->local[i] != NULL ? x->local[i] : one;
        x->groups[i] = x->groups[i] != NULL ? x->groups[i] : one;
        if (has_global && x->global[i] == NULL)
            x->global[i] = one;
    }
    return KW_OK;
}

/* ---- launches ---- */

static kw_code read_launch(template_reader *r, const char *path, const json *j, template_launch *x)
{
    static const char *const keys[] = {"kernel", "args", "when", "local", "groups", "global", "doc", NULL};
    locate_path when = locate_join("%s.when", path), kernel = locate_join("%s.kernel", path);
    kw_code code = locate_need_object(&r->where, path, j, r->err);
    if (code == KW_OK)
        code = locate_check_keys(&r->where, path, j, keys, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, path, j, "kernel", &x->kernel, r->err);
    if (code == KW_OK && !locate_is_c_name(x->kernel))
        code = locate_error(&r->where, kernel.text, r->err, "\"%s\" cannot be the name of a kernel", x->kernel);
    if (code == KW_OK && json_get(j, "when") != NULL)
        code = locate_expr(&r->where, when.text, json_get(j, "when"), r->p->memory, r->p->scope, LAUNCH_ROLES, &x->when,
                           r->err);
    if (code == KW_OK)
        code = read_args(r, path, j, x);
    return code == KW_OK ? read_geometry(r, path, j, x) : code;
}

kw_code template_read_launches(template_reader *r)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", r->front, "launches", &j, r->err);
    if (code == KW_OK && json_count(j) == 0)
        code = locate_error(&r->where, "launches", r->err, "the template must have at least one launch");
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        locate_path path = locate_join("launches[%zu]", i);
        if (i == TEMPLATE_MAX_LAUNCHES)
            return locate_error(&r->where, path.text, r->err, "at most %d launches", TEMPLATE_MAX_LAUNCHES);
        code = read_launch(r, path.text, json_at(j, i), &r->p->launches[i]);
        r->p->n_launches = i + 1;
    }
    return code;
}
