/* Front matter but for parameters (template_params.c) and launches (template_launch.c). */
#include "codegen/template_read.h"

#include "codegen/expand.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE_ROLES = EXPR_BIT_PARAM | EXPR_BIT_TYPE | EXPR_BIT_DIM };

/* ---- conditions ---- */

/* "e" or {"expr": "e", "why": "..."}. */
static kw_code read_condition(template_reader *r, const char *path, const json *j, template_condition *x)
{
    static const char *const keys[] = {"expr", "why", NULL};
    locate_path inner = locate_join("%s.expr", path);
    bool is_object = json_kind_of(j) == JSON_OBJECT;
    kw_code code = KW_OK;
    if (is_object) {
        code = locate_check_keys(&r->where, path, j, keys, r->err);
        if (code == KW_OK && json_get(j, "expr") == NULL)
            code = locate_error(&r->where, path, r->err, "\"expr\" is missing");
        if (code == KW_OK)
            code = locate_opt_string(&r->where, path, j, "why", NULL, &x->why, r->err);
    }
    if (code == KW_OK)
        code = locate_expr(&r->where, is_object ? inner.text : path, is_object ? json_get(j, "expr") : j, r->p->memory,
                           r->p->scope, ~0u, &x->test, r->err);
    x->text = code == KW_OK ? expr_text(x->test) : "";
    return code;
}

/* Scalars are known in no condition: a header chooses a variant before it knows them. */
static kw_code check_names(const template_reader *r, const char *path, const expr *e, bool may_use_shape)
{
    for (int slot = 0; slot < expr_scope_size(r->p->scope); slot++) {
        expr_role role = expr_scope_role(r->p->scope, slot);
        if (role == EXPR_SCALAR && expr_uses(e, slot))
            return locate_error(&r->where, path, r->err,
                                "%s is a scalar of the task, and a variant serves all values of its scalars: use it in "
                                "\"when\" of a launch, or in the kernel",
                                expr_scope_name(r->p->scope, slot));
        if (role == EXPR_DIM && !may_use_shape && expr_uses(e, slot))
            return locate_error(&r->where, path, r->err,
                                "%s is a dim of the task: what depends on the shape belongs in \"requires\"",
                                expr_scope_name(r->p->scope, slot));
    }
    return KW_OK;
}

static kw_code read_conditions(template_reader *r, const char *key, bool may_use_shape, template_condition **list,
                               size_t *n)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", r->front, key, &j, r->err);
    if (code == KW_OK && json_count(j) > TEMPLATE_MAX_CONDITIONS)
        code = locate_error(&r->where, key, r->err, "at most %d conditions", TEMPLATE_MAX_CONDITIONS);
    *list = arena_alloc(r->p->memory, (json_count(j) + 1) * sizeof **list); /* one more for the index rule */
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        locate_path path = locate_join("%s[%zu]", key, i);
        code = read_condition(r, path.text, json_at(j, i), &(*list)[i]);
        if (code == KW_OK)
            code = check_names(r, path.text, (*list)[i].test, may_use_shape);
        *n = i + 1;
    }
    return code;
}

/* ---- specialised dims ---- */

static kw_code find_dim(const template_reader *r, const char *path, const char *name, size_t *dim)
{
    const char *names[TASK_MAX_DIMS];
    const task *t = r->p->task;
    for (size_t i = 0; i < t->n_dims; i++) {
        names[i] = t->dims[i].name;
        if (strcmp(names[i], name) == 0) {
            *dim = i;
            return KW_OK;
        }
    }
    const char *nearest = json_nearest(name, names, t->n_dims);
    return locate_error(&r->where, path, r->err, "task %s has no dim %s%s%s", t->name, name,
                        nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "");
}

static kw_code read_specialize(template_reader *r)
{
    const json *j = json_get(r->front, "specialize");
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        r->p->specialize[i] = -1;
    if (j == NULL)
        return KW_OK;
    kw_code code = locate_need_object(&r->where, "specialize", j, r->err);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        const json *item = json_at(j, i);
        locate_path path = locate_join("specialize.%s", json_key(item));
        size_t dim = 0;
        code = find_dim(r, path.text, json_key(item), &dim);
        if (code != KW_OK)
            return code;
        int param = json_kind_of(item) == JSON_STRING ? template_param_index(r->p, json_text(item)) : -1;
        if (param < 0 || r->p->params[param].values[0].kind != VALUE_BOOL)
            return locate_error(&r->where, path.text, r->err,
                                "must name a parameter with the values [false, true]; where it is true, the dim is a "
                                "constant in the text");
        r->p->specialize[dim] = param;
    }
    return code;
}

/* ---- temporaries ---- */

kw_code template_read_type(const template_reader *r, const char *path, const json *object, int *symbol, dtype *type)
{
    const task *t = r->p->task;
    const char *name;
    kw_code code = locate_get_string(&r->where, path, object, "type", &name, r->err);
    if (code != KW_OK)
        return code;
    *symbol = -1;
    for (size_t i = 0; i < t->n_types; i++)
        if (strcmp(t->types[i].symbol, name) == 0)
            *symbol = (int)i;
    *type = dtype_from_name(name);
    if (*symbol < 0 && *type == DTYPE_NONE)
        return locate_error(&r->where, path, r->err,
                            "type \"%s\" is neither a type of task %s nor an element type such as \"i32\"", name,
                            t->name);
    return KW_OK;
}

static kw_code read_temp(template_reader *r, const char *path, const json *j, template_temp *x)
{
    static const char *const keys[] = {"name", "type", "elements", "when", "doc", NULL};
    locate_path elements = locate_join("%s.elements", path), when = locate_join("%s.when", path);
    kw_code code = locate_need_object(&r->where, path, j, r->err);
    if (code == KW_OK)
        code = locate_check_keys(&r->where, path, j, keys, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, path, j, "name", &x->name, r->err);
    if (code == KW_OK)
        code = template_new_name(r, path, x->name);
    if (code == KW_OK)
        code = template_read_type(r, path, j, &x->type_symbol, &x->type);
    if (code == KW_OK && json_get(j, "elements") == NULL)
        code = locate_error(&r->where, path, r->err, "\"elements\" is missing");
    if (code == KW_OK)
        code = locate_expr(&r->where, elements.text, json_get(j, "elements"), r->p->memory, r->p->scope, SHAPE_ROLES,
                           &x->elements, r->err);
    if (code == KW_OK && json_get(j, "when") != NULL)
        code = locate_expr(&r->where, when.text, json_get(j, "when"), r->p->memory, r->p->scope, SHAPE_ROLES, &x->when,
                           r->err);
    return code;
}

static kw_code read_temps(template_reader *r)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", r->front, "temps", &j, r->err);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        locate_path path = locate_join("temps[%zu]", i);
        if (i == TEMPLATE_MAX_TEMPS)
            return locate_error(&r->where, path.text, r->err, "at most %d temporaries", TEMPLATE_MAX_TEMPS);
        code = read_temp(r, path.text, json_at(j, i), &r->p->temps[i]);
        r->p->n_temps = i + (code == KW_OK);
    }
    return code;
}

/* ---- options and defines ---- */

static kw_code read_inline(template_reader *r, const char *path, const char *text, const struct body **out)
{
    *out = body_parse_inline(r->p->memory, text, locate_string_text(&r->where, path), r->p->scope,
                             (body_names){r->known, r->n_known}, r->err);
    return *out != NULL ? KW_OK : KW_BAD_INPUT;
}

static kw_code read_options(template_reader *r)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", r->front, "options", &j, r->err);
    if (code == KW_OK && json_count(j) > TEMPLATE_MAX_TEXTS)
        code = locate_error(&r->where, "options", r->err, "at most %d options", TEMPLATE_MAX_TEXTS);
    r->p->options = arena_alloc(r->p->memory, (json_count(j) + 1) * sizeof(struct body *));
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        locate_path path = locate_join("options[%zu]", i);
        if (json_kind_of(json_at(j, i)) != JSON_STRING)
            return locate_error(&r->where, path.text, r->err, "must be a string such as \"-cl-mad-enable\"");
        code = read_inline(r, path.text, json_text(json_at(j, i)), &r->p->options[r->p->n_options++]);
    }
    return code;
}

/* Strings are text with ${}; numbers and booleans stand as they print in ${}. */
static kw_code read_defines(template_reader *r)
{
    const json *j = json_get(r->front, "defines");
    if (j == NULL)
        return KW_OK;
    kw_code code = locate_need_object(&r->where, "defines", j, r->err);
    if (code == KW_OK && json_count(j) > TEMPLATE_MAX_TEXTS)
        code = locate_error(&r->where, "defines", r->err, "at most %d defines", TEMPLATE_MAX_TEXTS);
    r->p->defines = arena_alloc(r->p->memory, (json_count(j) + 1) * sizeof *r->p->defines);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        const json *item = json_at(j, i);
        locate_path path = locate_join("defines.%s", json_key(item));
        template_define *x = &r->p->defines[r->p->n_defines++];
        json_kind kind = json_kind_of(item);
        strb text = STRB_INIT;
        x->name = json_key(item);
        if (kind == JSON_STRING)
            strb_add(&text, json_text(item));
        else if (kind == JSON_BOOL)
            strb_add(&text, json_truth(item) ? "1" : "0");
        else if (kind == JSON_NUMBER)
            json_print(item, &text);
        else
            code = locate_error(&r->where, path.text, r->err, "must be a string, a number or a boolean");
        if (code == KW_OK)
            code = read_inline(r, path.text, arena_strdup(r->p->memory, strb_text(&text)), &x->value);
        strb_clear(&text);
    }
    return code;
}

/* ---- the whole ---- */

/* Keys that mean something only beside a kernel that stays untouched. */
static kw_code refuse_sidecar_keys(const template_reader *r)
{
    static const char *const keys[] = {"sources", "macros", "directives"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!r->p->is_sidecar && json_get(r->front, keys[i]) != NULL)
            return locate_error(&r->where, keys[i], r->err, "is for sidecars (KERNEL.kw.json) only");
    return KW_OK;
}

static bool is_cuda_path(const char *path)
{
    size_t n = strlen(path);
    const char *const ends[] = {".cu", ".cu.kw.json"};
    for (size_t i = 0; i < 2; i++)
        if (n > strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static kw_code read_language(template_reader *r)
{
    static const char *const languages[] = {"opencl", "cuda"};
    int lang = 0;
    kw_code code = locate_choice(&r->where, "", r->front, "language", languages, 2, &lang, r->err);
    if (json_get(r->front, "language") == NULL && is_cuda_path(r->p->path))
        lang = 1;
    r->p->lang = lang == 1 ? LANGUAGE_CUDA : LANGUAGE_OPENCL;
    expr_scope_set_language(r->p->scope, r->p->lang);
    return code;
}

static kw_code read_head(template_reader *r)
{
    static const char *const keys[] = {"task",       "language", "doc",      "params",     "constraints", "requires",
                                       "specialize", "temps",    "launches", "fallback",   "index",       "options",
                                       "defines",    "sources",  "macros",   "directives", NULL};
    static const char *const widths[] = {"i32", "i64"};
    template *p = r->p;
    const char *name = "";
    int width = 0;
    kw_code code = locate_need_object(&r->where, "", r->front, r->err);
    if (code == KW_OK)
        code = locate_check_keys(&r->where, "", r->front, keys, r->err);
    if (code == KW_OK)
        code = refuse_sidecar_keys(r);
    if (code == KW_OK)
        code = locate_get_string(&r->where, "", r->front, "task", &name, r->err);
    if (code == KW_OK && strcmp(name, p->task->name) != 0)
        code = locate_error(&r->where, "task", r->err, "is \"%s\", but the task at hand is %s", name, p->task->name);
    if (code == KW_OK)
        code = read_language(r);
    if (code == KW_OK)
        code = locate_opt_string(&r->where, "", r->front, "doc", "", &p->doc, r->err);
    if (code == KW_OK)
        code = locate_opt_bool(&r->where, "", r->front, "fallback", false, &p->is_fallback, r->err);
    if (code == KW_OK)
        code = locate_opt_bool(&r->where, "", r->front, "macros", false, &p->macros, r->err);
    if (code == KW_OK)
        code = locate_choice(&r->where, "", r->front, "index", widths, 2, &width, r->err);
    p->index_i64 = json_get(r->front, "index") != NULL ? width == 1 : p->task->index_i64;
    return code;
}

static void set_known(template_reader *r)
{
    const template *p = r->p;
    int n = expr_scope_size(p->scope);
    r->known = arena_alloc(p->memory, (size_t)n * sizeof *r->known);
    r->n_known = n;
    for (int slot = 0; slot < n; slot++) {
        expr_role role = expr_scope_role(p->scope, slot);
        r->known[slot] = role == EXPR_PARAM || role == EXPR_TYPE;
    }
    for (size_t i = 0; i < p->task->n_dims; i++)
        if (p->specialize[i] >= 0)
            r->known[p->task->first_dim_slot + (int)i] = true;
}

kw_code template_read_front(template_reader *r)
{
    kw_code code = read_head(r);
    if (code == KW_OK)
        code = template_read_params(r);
    if (code == KW_OK)
        code = read_conditions(r, "constraints", false, &r->p->constraints, &r->p->n_constraints);
    if (code == KW_OK)
        code = template_add_when_constraints(r);
    if (code == KW_OK)
        code = read_conditions(r, "requires", true, &r->p->requires_, &r->p->n_requires);
    if (code == KW_OK)
        code = read_specialize(r);
    if (code == KW_OK)
        code = read_temps(r);
    if (code != KW_OK)
        return code;
    set_known(r);
    code = read_options(r);
    return code == KW_OK ? read_defines(r) : code;
}
