#include "tuner/problem.h"

#include "codegen/locate.h"
#include "tuner/recorded_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 1000
#define MAX_CONDITIONS 10000

typedef struct reader {
    locate where;
    problem *p;
    kw_error *err;
} reader;

/* ---- parameters ---- */

static int by_value(const void *a, const void *b)
{
    return value_compare(*(const value *)a, *(const value *)b);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* At least one, no lists, none twice: a value listed twice would count each configuration twice. */
static kw_code check_values(const reader *r, const char *path, const space_param *q)
{
    if (q->n_values == 0)
        return locate_error(&r->where, path, r->err, "the parameter '%s' has no values; list at least one", q->name);
    value *sorted = mem_alloc(q->n_values * sizeof *sorted);
    memcpy(sorted, q->values, q->n_values * sizeof *sorted);
    qsort(sorted, q->n_values, sizeof *sorted, by_value);
    kw_code code = KW_OK;
    for (size_t i = 0; i < q->n_values && code == KW_OK; i++) {
        if (sorted[i].kind == VALUE_LIST)
            code = locate_error(&r->where, path, r->err,
                                "the values of '%s' must be numbers, truth values or text, "
                                "not lists",
                                q->name);
        else if (i > 0 && value_equal(sorted[i - 1], sorted[i])) {
            strb text = STRB_INIT;
            value_print(sorted[i], &text);
            code = locate_error(&r->where, path, r->err, "the parameter '%s' lists the value %s twice", q->name,
                                strb_text(&text));
            strb_clear(&text);
        }
    }
    free(sorted);
    return code;
}

/* Text at `path` as an expression. Its place is looked up only where there is something to say. */
static const expr *parse(const reader *r, const char *path, const char *text, const expr_scope *scope)
{
    const expr *e = expr_parse(r->p->memory, text, scope, (expr_where){0}, NULL);
    return e ? e : expr_parse(r->p->memory, text, scope, locate_string_text(&r->where, path), r->err);
}

static kw_code read_values(const reader *r, const char *path, const json *j, space_param *q)
{
    value v = value_none();
    if (json_kind_of(j) == JSON_STRING) {
        expr_scope *nothing = expr_scope_new();
        const expr *e = parse(r, path, json_text(j), nothing);
        expr_scope_free(nothing);
        if (!e)
            return KW_BAD_INPUT;
        kw_error why;
        if (expr_eval(e, NULL, r->p->memory, &v, &why) != KW_OK)
            return locate_error(&r->where, path, r->err, "%s", why.message);
    } else if (json_kind_of(j) == JSON_ARRAY && !value_from_json(j, r->p->memory, &v)) {
        v = value_none();
    }
    if (v.kind != VALUE_LIST)
        return locate_error(&r->where, path, r->err,
                            "the values of '%s' must be a list, or text with an expression "
                            "that gives one, such as \"[1, 2, 4]\"",
                            q->name);
    q->values = v.as.list.items;
    q->n_values = v.as.list.n;
    return check_values(r, path, q);
}

static kw_code read_param(const reader *r, size_t i, const json *j)
{
    locate_path path = locate_join("ConfigurationSpace.TuningParameters[%zu]", i);
    locate_path values = locate_join("%s.Values", path.text);
    space_param *q = &r->p->params[i];
    kw_code code = locate_need_object(&r->where, path.text, j, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, path.text, j, "Name", &q->name, r->err);
    if (code != KW_OK)
        return code;
    q->name = arena_strdup(r->p->memory, q->name);
    if (!json_get(j, "Values"))
        return locate_error(&r->where, path.text, r->err, "the parameter '%s' has no \"Values\"", q->name);
    q->slot = expr_scope_add(r->p->scope, q->name, EXPR_PARAM);
    return read_values(r, values.text, json_get(j, "Values"), q);
}

static kw_code check_names(const reader *r)
{
    size_t n = r->p->def.n_params;
    const char **names = mem_calloc(n, sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = r->p->params[i].name;
    qsort(names, n, sizeof *names, by_name);
    kw_code code = KW_OK;
    for (size_t i = 1; i < n && code == KW_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            code = locate_error(&r->where, "ConfigurationSpace.TuningParameters", r->err,
                                "there are two parameters of the name '%s'", names[i]);
    free(names);
    return code;
}

static kw_code read_params(const reader *r, const json *list)
{
    size_t i = 0;
    kw_code code = KW_OK;
    if (json_kind_of(list) != JSON_ARRAY || json_count(list) == 0)
        return locate_error(&r->where, "ConfigurationSpace", r->err,
                            "\"TuningParameters\" must list at least one "
                            "parameter");
    if (json_count(list) > MAX_PARAMS)
        return locate_error(&r->where, "ConfigurationSpace.TuningParameters", r->err, "at most %d parameters",
                            MAX_PARAMS);
    r->p->def.n_params = json_count(list);
    r->p->def.params = r->p->params = arena_alloc(r->p->memory, json_count(list) * sizeof *r->p->params);
    for (const json *j = json_first(list); j && code == KW_OK; j = json_next(j))
        code = read_param(r, i++, j);
    return code == KW_OK ? check_names(r) : code;
}

/* ---- conditions ---- */

/* A parse error that comes from a name which no expression can hold says so. */
static kw_code explain_name(const reader *r, const char *text)
{
    static const char *const words[] = {"and", "or", "not", "if", "else", "for", "in"};
    for (size_t i = 0; i < r->p->def.n_params; i++) {
        const char *name = r->p->params[i].name;
        bool usable = locate_is_c_name(name);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            usable = usable && strcmp(name, words[k]) != 0;
        if (usable || !strstr(text, name) || strlen(r->err->message) + strlen(name) > 1800)
            continue;
        kw_error why = *r->err;
        return kw_error_set(r->err, KW_BAD_INPUT,
                            "%s; the parameter's name '%s' cannot stand in a condition: rename it", why.message, name);
    }
    return KW_BAD_INPUT;
}

static kw_code read_condition(const reader *r, size_t i, const json *j)
{
    locate_path path = locate_join("ConfigurationSpace.Conditions[%zu]", i);
    locate_path place = locate_join("%s.Expression", path.text);
    space_constraint *c = &r->p->constraints[i];
    kw_code code = locate_need_object(&r->where, path.text, j, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, path.text, j, "Expression", &c->text, r->err);
    if (code != KW_OK)
        return code;
    c->text = arena_strdup(r->p->memory, c->text);
    c->test = parse(r, place.text, c->text, r->p->scope);
    return c->test ? KW_OK : explain_name(r, c->text);
}

static kw_code read_conditions(const reader *r, const json *list)
{
    size_t i = 0;
    kw_code code = KW_OK;
    if (list && json_kind_of(list) != JSON_ARRAY)
        return locate_error(&r->where, "ConfigurationSpace.Conditions", r->err, "must be a list");
    if (json_count(list) > MAX_CONDITIONS)
        return locate_error(&r->where, "ConfigurationSpace.Conditions", r->err, "at most %d conditions",
                            MAX_CONDITIONS);
    r->p->def.n_constraints = json_count(list);
    r->p->constraints = arena_alloc(r->p->memory, (json_count(list) + 1) * sizeof *r->p->constraints);
    r->p->def.constraints = r->p->constraints;
    for (const json *j = json_first(list); j && code == KW_OK; j = json_next(j))
        code = read_condition(r, i++, j);
    return code;
}

/* ---- the whole ---- */

/* ProblemSize becomes a name where it is a list of numbers, and no parameter has that name. */
static int add_problem_size(const reader *r, const json *root, value *out)
{
    const json *j = json_get(json_get(root, "KernelSpecification"), "ProblemSize");
    if (json_kind_of(j) != JSON_ARRAY || !value_from_json(j, r->p->memory, out))
        return -1;
    return expr_scope_add(r->p->scope, "ProblemSize", EXPR_DIM);
}

static void take_name(const reader *r, const json *root)
{
    const char *name = json_text(json_get(json_get(root, "General"), "BenchmarkName"));
    if (!name)
        name = json_text(json_get(json_get(root, "KernelSpecification"), "KernelName"));
    r->p->name = arena_strdup(r->p->memory, name ? name : "");
}

static kw_code read_all(const reader *r, const json *root)
{
    problem *p = r->p;
    value size;
    if (!problem_is_one(root))
        return locate_error(&r->where, "", r->err,
                            "this is no problem file: \"ConfigurationSpace\" with "
                            "\"TuningParameters\" is missing");
    const json *part = json_get(root, "ConfigurationSpace");
    take_name(r, root);
    int size_slot = add_problem_size(r, root, &size); /* first, so that a parameter hides it */
    kw_code code = read_params(r, json_get(part, "TuningParameters"));
    if (code == KW_OK)
        code = read_conditions(r, json_get(part, "Conditions"));
    p->def.scope_size = (size_t)expr_scope_size(p->scope);
    value *env = arena_alloc(p->memory, (p->def.scope_size + 1) * sizeof *env);
    for (size_t i = 0; i < p->def.scope_size; i++)
        env[i] = (int)i == size_slot ? size : value_none();
    p->def.env = env;
    return code;
}

bool problem_is_one(const json *root)
{
    return json_kind_of(json_get(json_get(root, "ConfigurationSpace"), "TuningParameters")) == JSON_ARRAY;
}

kw_code problem_parse(const char *text, size_t length, const char *file, problem *out, kw_error *err)
{
    kw_error own;
    memset(out, 0, sizeof *out);
    json *root = json_parse(text, length, file, 1, 1, err);
    if (!root)
        return KW_BAD_INPUT;
    out->memory = arena_new();
    out->scope = expr_scope_new();
    reader r = {{file, text, length, 1, 1}, out, err ? err : &own};
    kw_code code = read_all(&r, root);
    json_free(root);
    if (code != KW_OK)
        problem_clear(out);
    return code;
}

kw_code problem_load(const char *path, problem *out, kw_error *err)
{
    strb text = STRB_INIT;
    memset(out, 0, sizeof *out);
    kw_code code = recorded_load(path, &text, err);
    if (code == KW_OK)
        code = problem_parse(strb_text(&text), text.length, path, out, err);
    strb_clear(&text);
    return code;
}

void problem_clear(problem *p)
{
    if (!p->memory)
        return;
    expr_scope_free(p->scope);
    arena_free(p->memory);
    memset(p, 0, sizeof *p);
}
