/* Front matter: parameters and their values. */
#include "codegen/template_read.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 1000000

/* ---- names ---- */

static bool name_taken(const template *p, const char *name)
{
    if (expr_scope_find(p->scope, name) >= 0)
        return true;
    for (size_t i = 0; i < p->task->n_tensors; i++)
        if (strcmp(p->task->tensors[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < p->n_temps; i++)
        if (strcmp(p->temps[i].name, name) == 0)
            return true;
    return false;
}

kw_code template_new_name(const template_reader *r, const char *path, const char *name)
{
    if (!locate_is_name(name))
        return locate_error(
            &r->where, path, r->err,
            "\"%s\" cannot be a name: use letters, digits and _, and no word of the expression language", name);
    if (name_taken(r->p, name))
        return locate_error(&r->where, path, r->err, "the name %s is already used by task %s or above", name,
                            r->p->task->name);
    return KW_OK;
}

/* ---- parameters ---- */

static const char *kind_family(value_kind kind)
{
    return kind == VALUE_INT || kind == VALUE_REAL ? "number" : value_kind_name(kind);
}

static int by_value(const void *a, const void *b)
{
    return value_compare(*(const value *)a, *(const value *)b);
}

/* All of one kind, none twice. */
static kw_code check_values(const template_reader *r, const char *path, const value *values, size_t n)
{
    if (n == 0 || n > MAX_VALUES)
        return locate_error(&r->where, path, r->err, "must have 1 to %d values", MAX_VALUES);
    for (size_t i = 0; i < n; i++) {
        if (values[i].kind == VALUE_LIST || values[i].kind == VALUE_TYPE)
            return locate_error(&r->where, path, r->err, "values must be integers, reals, booleans or strings");
        if (values[i].kind == VALUE_STRING && strpbrk(values[i].as.string, "\r\n") != NULL)
            return locate_error(&r->where, path, r->err, "strings must be one line of text");
        if (strcmp(kind_family(values[i].kind), kind_family(values[0].kind)) != 0)
            return locate_error(&r->where, path, r->err, "values must be of one kind, not %s and %s",
                                value_kind_name(values[0].kind), value_kind_name(values[i].kind));
    }
    value *sorted = mem_alloc(n * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    kw_code code = KW_OK;
    for (size_t i = 1; code == KW_OK && i < n; i++) {
        if (!value_equal(sorted[i - 1], sorted[i]))
            continue;
        strb text = STRB_INIT;
        value_print(sorted[i], &text);
        code = locate_error(&r->where, path, r->err, "the value %s is listed twice", strb_text(&text));
        strb_clear(&text);
    }
    free(sorted);
    return code;
}

/* "values": a list, or an expression that gives one ("range(1, 33)"). */
static kw_code read_values(const template_reader *r, const char *path, const json *j, template_param *x)
{
    value v;
    if (json_kind_of(j) == JSON_STRING) {
        expr_scope *empty = expr_scope_new();
        const expr *e = expr_parse(r->p->memory, json_text(j), empty, locate_string_text(&r->where, path), r->err);
        expr_scope_free(empty);
        if (e == NULL)
            return KW_BAD_INPUT;
        kw_code code = expr_eval(e, NULL, r->p->memory, &v, r->err);
        if (code != KW_OK)
            return code;
    } else if (json_kind_of(j) != JSON_ARRAY || !value_from_json(j, r->p->memory, &v)) {
        v = value_none();
    }
    if (v.kind != VALUE_LIST)
        return locate_error(
            &r->where, path, r->err,
            "must be a list such as [16, 32] or an expression that gives one, such as \"range(1, 33)\"");
    x->values = v.as.list.items;
    x->n_values = v.as.list.n;
    return check_values(r, path, x->values, x->n_values);
}

static kw_code read_default(const template_reader *r, const char *path, const json *j, template_param *x)
{
    value v;
    if (j == NULL)
        return KW_OK;
    if (!value_from_json(j, r->p->memory, &v))
        v = value_none();
    for (size_t i = 0; i < x->n_values; i++) {
        if (strcmp(kind_family(v.kind), kind_family(x->values[i].kind)) == 0 && value_equal(v, x->values[i])) {
            x->default_index = i;
            return KW_OK;
        }
    }
    return locate_error(&r->where, path, r->err, "is not one of the values");
}

/* "when" may use the parameters above: then whether a parameter exists follows from the configuration alone, and one
 * pass from the first to the last decides it for all. */
static kw_code read_when(const template_reader *r, const char *path, const json *j, template_param *x)
{
    if (j == NULL)
        return KW_OK;
    kw_code code = locate_expr(&r->where, path, j, r->p->memory, r->p->scope, EXPR_BIT_PARAM, &x->when, r->err);
    if (code != KW_OK && strstr(r->err->message, "unknown name") && strlen(r->err->message) < 1500) {
        kw_error why = *r->err;
        return kw_error_set(r->err, code, "%s (\"when\" uses parameters that stand above this one)", why.message);
    }
    return code;
}

static kw_code read_param(template_reader *r, const json *j, template_param *x)
{
    static const char *const keys[] = {"values", "default", "when", "doc", NULL};
    locate_path path = locate_join("params.%s", json_key(j));
    locate_path values = locate_join("%s.values", path.text);
    locate_path preset = locate_join("%s.default", path.text), when = locate_join("%s.when", path.text);
    x->name = json_key(j);
    kw_code code = template_new_name(r, path.text, x->name);
    if (code == KW_OK)
        code = locate_need_object(&r->where, path.text, j, r->err);
    if (code == KW_OK)
        code = locate_check_keys(&r->where, path.text, j, keys, r->err);
    if (code == KW_OK && json_get(j, "values") == NULL)
        code = locate_error(&r->where, path.text, r->err, "\"values\" is missing");
    if (code == KW_OK)
        code = read_values(r, values.text, json_get(j, "values"), x);
    if (code == KW_OK)
        code = read_default(r, preset.text, json_get(j, "default"), x);
    if (code == KW_OK)
        code = locate_opt_string(&r->where, path.text, j, "doc", "", &x->doc, r->err);
    if (code == KW_OK)
        code = read_when(r, when.text, json_get(j, "when"), x);
    x->slot = expr_scope_add(r->p->scope, x->name, EXPR_PARAM);
    return code;
}

kw_code template_read_params(template_reader *r)
{
    const json *params = json_get(r->front, "params");
    if (params == NULL)
        return KW_OK;
    kw_code code = locate_need_object(&r->where, "params", params, r->err);
    if (code == KW_OK && json_count(params) > TEMPLATE_MAX_PARAMS)
        code = locate_error(&r->where, "params", r->err, "at most %d parameters", TEMPLATE_MAX_PARAMS);
    if (code != KW_OK)
        return code;
    r->p->params = arena_alloc(r->p->memory, (json_count(params) + 1) * sizeof *r->p->params);
    for (size_t i = 0; code == KW_OK && i < json_count(params); i++)
        code = read_param(r, json_at(params, i), &r->p->params[r->p->n_params++]);
    return code;
}

/* ---- parameters that do not always exist ---- */

/* "(WHEN) or NAME == DEFAULT": where it does not exist, a parameter has one value. */
static kw_code add_when_constraint(template_reader *r, const template_param *x)
{
    template *p = r->p;
    strb text = STRB_INIT;
    strb_printf(&text, "(%s) or %s == ", expr_text(x->when), x->name);
    value_print_source(x->values[x->default_index], &text);
    template_condition *c = &p->constraints[p->n_constraints++];
    c->text = arena_strdup(p->memory, strb_text(&text));
    strb_reset(&text);
    strb_printf(&text, "%s exists only where %s; leave it at its default elsewhere", x->name, expr_text(x->when));
    c->why = arena_strdup(p->memory, strb_text(&text));
    strb_clear(&text);
    c->test = expr_parse(p->memory, c->text, p->scope, (expr_where){0}, r->err);
    return c->test != NULL ? KW_OK : KW_BAD_INPUT;
}

kw_code template_add_when_constraints(template_reader *r)
{
    template *p = r->p;
    size_t n = 0;
    for (size_t i = 0; i < p->n_params; i++)
        n += p->params[i].when != NULL;
    if (n == 0)
        return KW_OK;
    template_condition *all = arena_alloc(p->memory, (p->n_constraints + n) * sizeof *all);
    if (p->n_constraints)
        memcpy(all, p->constraints, p->n_constraints * sizeof *all);
    p->constraints = all;
    kw_code code = KW_OK;
    for (size_t i = 0; i < p->n_params && code == KW_OK; i++)
        if (p->params[i].when != NULL)
            code = add_when_constraint(r, &p->params[i]);
    return code;
}
