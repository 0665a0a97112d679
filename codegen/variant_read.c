/* Variants from JSON. */
#include "codegen/variant_json.h"

#include "codegen/expand.h"
#include "codegen/locate.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCH_ROLES = EXPR_BIT_TYPE | EXPR_BIT_DEVICE | EXPR_BIT_DIM | EXPR_BIT_SCALAR };

typedef struct reader {
    variant *v;
    locate where;
    kw_error *err;
} reader;

static kw_code read_expr(const reader *r, const char *path, const json *j, const expr **out)
{
    return locate_expr(&r->where, path, j, r->v->memory, r->v->task->scope, LAUNCH_ROLES, out, r->err);
}

static kw_code opt_expr(const reader *r, const char *path, const json *object, const char *key, const expr **out)
{
    *out = NULL;
    if (json_get(object, key) == NULL)
        return KW_OK;
    return read_expr(r, locate_join("%s.%s", path, key).text, json_get(object, key), out);
}

static kw_code read_dtype(const reader *r, const char *path, const json *object, dtype *out)
{
    const char *name;
    kw_code code = locate_get_string(&r->where, path, object, "type", &name, r->err);
    *out = code == KW_OK ? dtype_from_name(name) : DTYPE_NONE;
    if (code == KW_OK && *out == DTYPE_NONE)
        code = locate_error(&r->where, path, r->err, "\"%s\" is no element type", name);
    return code;
}

static kw_code read_conditions(const reader *r, const json *front, const char *key, template_condition **list,
                               size_t *n)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", front, key, &j, r->err);
    if (code == KW_OK && json_count(j) > TEMPLATE_MAX_CONDITIONS)
        code = locate_error(&r->where, key, r->err, "at most %d conditions", TEMPLATE_MAX_CONDITIONS);
    *list = arena_alloc(r->v->memory, (json_count(j) + 1) * sizeof **list);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        const json *item = json_at(j, i);
        locate_path path = locate_join("%s[%zu]", key, i);
        template_condition *x = &(*list)[i];
        const char *why = NULL;
        if (json_kind_of(item) == JSON_OBJECT)
            code = locate_opt_string(&r->where, path.text, item, "why", NULL, &why, r->err);
        if (code == KW_OK)
            code = read_expr(r, path.text, json_kind_of(item) == JSON_OBJECT ? json_get(item, "expr") : item, &x->test);
        x->text = code == KW_OK ? expr_text(x->test) : "";
        x->why = why != NULL ? arena_strdup(r->v->memory, why) : NULL;
        *n = i + 1;
    }
    return code;
}

static kw_code read_temps(const reader *r, const json *front)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", front, "temps", &j, r->err);
    if (code == KW_OK && json_count(j) > TEMPLATE_MAX_TEMPS)
        code = locate_error(&r->where, "temps", r->err, "at most %d", TEMPLATE_MAX_TEMPS);
    if (code != KW_OK)
        return code;
    r->v->temps = arena_alloc(r->v->memory, (json_count(j) + 1) * sizeof *r->v->temps);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        locate_path path = locate_join("temps[%zu]", i);
        template_temp *x = &r->v->temps[i];
        const char *name;
        code = locate_get_string(&r->where, path.text, json_at(j, i), "name", &name, r->err);
        if (code == KW_OK && !locate_is_name(name))
            code = locate_error(&r->where, path.text, r->err, "\"%s\" cannot be a name", name);
        if (code != KW_OK)
            return code;
        x->name = arena_strdup(r->v->memory, name);
        x->type_symbol = -1;
        code = read_dtype(r, path.text, json_at(j, i), &x->type);
        if (code == KW_OK)
            code = opt_expr(r, path.text, json_at(j, i), "elements", &x->elements);
        if (code == KW_OK && x->elements == NULL)
            code = locate_error(&r->where, path.text, r->err, "\"elements\" is missing");
        if (code == KW_OK)
            code = opt_expr(r, path.text, json_at(j, i), "when", &x->when);
        r->v->n_temps = i + 1;
    }
    return code;
}

/* Index of the named thing; -1. */
static int find_tensor(const variant *v, const char *name)
{
    for (size_t i = 0; i < v->task->n_tensors; i++)
        if (strcmp(v->task->tensors[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int find_temp(const variant *v, const char *name)
{
    for (size_t i = 0; i < v->n_temps; i++)
        if (strcmp(v->temps[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int find_scalar(const variant *v, const char *name)
{
    for (size_t i = 0; i < v->task->n_scalars; i++)
        if (strcmp(v->task->scalars[i].name, name) == 0)
            return (int)i;
    return -1;
}

static kw_code read_arg(const reader *r, const char *path, const json *j, template_arg *x)
{
    static const struct {
        const char *key;
        arg_kind kind;
        int (*find)(const variant *, const char *);
    } named[] = {
        {"tensor", ARG_TENSOR, find_tensor}, {"temp", ARG_TEMP, find_temp}, {"scalar", ARG_SCALAR, find_scalar}};
    x->type_symbol = -1;
    for (size_t i = 0; i < 3; i++) {
        const char *name;
        kw_code code = locate_opt_string(&r->where, path, j, named[i].key, NULL, &name, r->err);
        if (code != KW_OK)
            return code;
        if (name == NULL)
            continue;
        x->kind = named[i].kind;
        x->index = named[i].find(r->v, name);
        x->text = arena_strdup(r->v->memory, name);
        return x->index >= 0 ? KW_OK : locate_error(&r->where, path, r->err, "there is no %s %s", named[i].key, name);
    }
    bool is_local = json_get(j, "local") != NULL;
    x->kind = is_local ? ARG_LOCAL : ARG_VALUE;
    kw_code code = opt_expr(r, path, j, is_local ? "local" : "expr", &x->value);
    if (code == KW_OK && x->value == NULL)
        code = locate_error(&r->where, path, r->err, "needs tensor, temp, scalar, expr or local");
    if (code == KW_OK && !is_local)
        code = read_dtype(r, path, j, &x->type);
    if (code == KW_OK)
        x->text = expr_text(x->value);
    return code;
}

static kw_code read_sizes(const reader *r, const char *path, const json *launch, const char *key, const expr **out,
                          size_t *rank)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, path, launch, key, &j, r->err);
    if (code == KW_OK && (json_count(j) < 1 || json_count(j) > 3))
        code = locate_error(&r->where, path, r->err, "needs 1 to 3 sizes in \"%s\"", key);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++)
        code = read_expr(r, locate_join("%s.%s[%zu]", path, key, i).text, json_at(j, i), &out[i]);
    *rank = json_count(j);
    return code;
}

static kw_code read_launch(const reader *r, const char *path, const json *j, template_launch *x)
{
    const char *kernel;
    const json *args = NULL;
    bool has_global = json_get(j, "global") != NULL;
    size_t n_sizes = 0;
    kw_code code = locate_get_string(&r->where, path, j, "kernel", &kernel, r->err);
    if (code == KW_OK && !locate_is_c_name(kernel))
        code = locate_error(&r->where, path, r->err, "\"%s\" cannot be the name of a kernel", kernel);
    if (code == KW_OK)
        code = opt_expr(r, path, j, "when", &x->when);
    if (code == KW_OK)
        code = locate_opt_array(&r->where, path, j, "args", &args, r->err);
    if (code == KW_OK && json_count(args) > TEMPLATE_MAX_ARGS)
        code = locate_error(&r->where, path, r->err, "at most %d arguments", TEMPLATE_MAX_ARGS);
    for (size_t i = 0; code == KW_OK && i < json_count(args); i++) {
        code = read_arg(r, locate_join("%s.args[%zu]", path, i).text, json_at(args, i), &x->args[i]);
        x->n_args = i + 1;
    }
    if (code == KW_OK)
        code = read_sizes(r, path, j, "local", x->local, &x->rank);
    if (code == KW_OK)
        code = read_sizes(r, path, j, has_global ? "global" : "groups", has_global ? x->global : x->groups, &n_sizes);
    if (code != KW_OK)
        return code;
    if (n_sizes != x->rank)
        return locate_error(&r->where, path, r->err, "local size and number of groups differ in dimensions");
    x->kernel = arena_strdup(r->v->memory, kernel);
    const expr *one = expr_constant(r->v->memory, value_int(1));
    for (size_t i = 0; i < 3; i++) {
        x->local[i] = x->local[i] != NULL ? x->local[i] : one;
        x->groups[i] = x->groups[i] != NULL ? x->groups[i] : one;
        if (has_global && x->global[i] == NULL)
            x->global[i] = one;
    }
    return KW_OK;
}

static kw_code read_launches(const reader *r, const json *front)
{
    const json *j;
    kw_code code = locate_opt_array(&r->where, "", front, "launches", &j, r->err);
    if (code == KW_OK && (json_count(j) < 1 || json_count(j) > TEMPLATE_MAX_LAUNCHES))
        code = locate_error(&r->where, "launches", r->err, "needs 1 to %d launches", TEMPLATE_MAX_LAUNCHES);
    if (code != KW_OK)
        return code;
    r->v->launches = arena_alloc(r->v->memory, json_count(j) * sizeof *r->v->launches);
    for (size_t i = 0; code == KW_OK && i < json_count(j); i++) {
        code = read_launch(r, locate_join("launches[%zu]", i).text, json_at(j, i), &r->v->launches[i]);
        r->v->n_launches = i + 1;
    }
    return code;
}

static kw_code read_types(const reader *r, const json *front)
{
    const task *t = r->v->task;
    const json *types = json_get(front, "types");
    if (json_count(types) > TASK_MAX_TYPES)
        return locate_error(&r->where, "types", r->err, "at most %d types", TASK_MAX_TYPES);
    strb set = STRB_INIT;
    for (size_t i = 0; i < json_count(types); i++) {
        const char *name = json_text(json_at(types, i));
        strb_printf(&set, "%s%s=%s", i > 0 ? "," : "", json_key(json_at(types, i)), name != NULL ? name : "?");
    }
    kw_error why = {0};
    kw_code code = task_types_parse(t, strb_text(&set), &r->v->types, &why);
    strb_clear(&set);
    return code == KW_OK ? code : locate_error(&r->where, "types", r->err, "%s", why.message);
}

static kw_code read_fixed(const reader *r, const json *front)
{
    const task *t = r->v->task;
    const json *fixed = json_get(front, "fixed");
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        r->v->fixed_dims[i] = -1;
    for (size_t i = 0; i < t->n_dims; i++) {
        const json *j = json_get(fixed, t->dims[i].name);
        if (j != NULL && (!json_int(j, &r->v->fixed_dims[i]) || r->v->fixed_dims[i] < 0))
            return locate_error(&r->where, "fixed", r->err, "%s must be an integer from 0", t->dims[i].name);
    }
    return KW_OK;
}

static kw_code read_head(const reader *r, const json *j)
{
    variant *v = r->v;
    const char *name = "", *lang = "", *options = "", *source = "";
    kw_code code = locate_need_object(&r->where, "", j, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, "", j, "template", &name, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, "", j, "language", &lang, r->err);
    if (code == KW_OK)
        code = locate_get_string(&r->where, "", j, "source", &source, r->err);
    if (code == KW_OK)
        code = locate_opt_string(&r->where, "", j, "options", "", &options, r->err);
    if (code == KW_OK)
        code = locate_opt_bool(&r->where, "", j, "fallback", false, &v->is_fallback, r->err);
    if (code == KW_OK && !language_from_name(lang, &v->lang))
        code = locate_error(&r->where, "language", r->err, "\"%s\" is no kernel language", lang);
    if (code != KW_OK)
        return code;
    v->template_name = arena_strdup(v->memory, name);
    v->options = arena_strdup(v->memory, options);
    v->source = arena_strdup(v->memory, source);
    v->config = json_get(j, "config") != NULL ? json_clone(json_get(j, "config")) : json_new_object();
    return KW_OK;
}

static kw_code check_hash(const reader *r, const json *j)
{
    const char *hash;
    kw_code code = locate_opt_string(&r->where, "", j, "hash", r->v->hash, &hash, r->err);
    if (code == KW_OK && strcmp(hash, r->v->hash) != 0)
        code = locate_error(&r->where, "hash", r->err, "is %s, but the variant's content hashes to %s: it was changed",
                            hash, r->v->hash);
    return code;
}

static kw_code read_all(const reader *r, const json *j)
{
    variant *v = r->v;
    kw_code code = read_head(r, j);
    if (code == KW_OK)
        code = read_types(r, j);
    if (code == KW_OK)
        code = read_fixed(r, j);
    if (code == KW_OK)
        code = read_conditions(r, j, "constraints", &v->constraints, &v->n_constraints);
    if (code == KW_OK)
        code = read_conditions(r, j, "requires", &v->requires_, &v->n_requires);
    if (code == KW_OK)
        code = read_temps(r, j);
    if (code == KW_OK)
        code = read_launches(r, j);
    if (code != KW_OK)
        return code;
    strb stripped = STRB_INIT;
    source_strip(v->source, &stripped);
    variant_set_hash(v, strb_text(&stripped));
    strb_clear(&stripped);
    return check_hash(r, j);
}

kw_code variant_from_json(const task *t, const json *j, const char *where, variant **out, kw_error *err)
{
    variant *v = mem_calloc(1, sizeof *v);
    v->memory = arena_new();
    v->task = t;
    reader r = {v, {where, NULL, 0, 0, 0}, err};
    kw_code code = read_all(&r, j);
    if (code != KW_OK) {
        variant_free(v);
        return code;
    }
    *out = v;
    return KW_OK;
}
