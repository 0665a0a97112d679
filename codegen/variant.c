/* Template + configuration + types -> text and folded expressions. */
#include "codegen/variant.h"

#include "codegen/expand.h"
#include "codegen/template_read.h"
#include "codegen/variant_json.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
    const template *p;
    variant *v;
    const uint32_t *config;
    value *env; /* scope of the template with parameters and types; dims of specialised ones while text is made */
    kw_error *err;
} maker;

/* ---- text ---- */

/* One comment that says what this is; it does not count for the hash. */
static void add_title(const maker *m, strb *out)
{
    const task *t = m->p->task;
    size_t start = out->length + 2;
    strb_printf(out, "/* %s", m->p->name);
    if (m->p->n_params > 0)
        strb_add_char(out, ' ');
    template_config_print(m->p, m->config, out);
    if (t->n_types > 0)
        strb_add(out, "; ");
    task_types_print(t, &m->v->types, out);
    const char *separator = "; ";
    for (size_t i = 0; i < t->n_dims; i++) {
        if (m->v->fixed_dims[i] >= 0) {
            strb_printf(out, "%s%s=%lld", separator, t->dims[i].name, (long long)m->v->fixed_dims[i]);
            separator = ",";
        }
    }
    for (char *at = out->data + start; (at = strstr(at, "*/")) != NULL;)
        *at = ' '; /* of a string parameter */
    strb_add(out, " */\n");
}

/* Dims listed under "specialize": a constant, or the argument. */
static void add_dims(const maker *m, strb *out)
{
    const task *t = m->p->task;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (m->v->fixed_dims[i] >= 0)
            strb_printf(out, "#define %s %lld\n", t->dims[i].name, (long long)m->v->fixed_dims[i]);
        else if (m->p->specialize[i] >= 0)
            strb_printf(out, "#define %s %s_arg\n", t->dims[i].name, t->dims[i].name);
    }
}

static kw_code add_defines(const maker *m, strb *out)
{
    const template *p = m->p;
    for (size_t i = 0; p->macros && i < p->n_params; i++) {
        value v = p->params[i].values[m->config[i]];
        strb_printf(out, "#define %s ", p->params[i].name);
        if (v.kind == VALUE_BOOL)
            strb_add_char(out, v.as.boolean ? '1' : '0');
        else
            value_print(v, out);
        strb_add_char(out, '\n');
    }
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < p->n_defines; i++) {
        strb_printf(out, "#define %s ", p->defines[i].name);
        code = body_expand(p->defines[i].value, p->lang, m->env, out, m->err);
        strb_add_char(out, '\n');
    }
    return code;
}

static kw_code make_text(const maker *m, strb *out)
{
    const template *p = m->p;
    add_title(m, out);
    add_dims(m, out);
    kw_code code = add_defines(m, out);
    for (size_t i = 0; code == KW_OK && i < p->n_bodies; i++) {
        code = body_expand(p->bodies[i], p->lang, m->env, out, m->err);
        if (code == KW_OK && out->data[out->length - 1] != '\n')
            strb_add_char(out, '\n');
    }
    return code;
}

static kw_code make_options(const maker *m)
{
    strb out = STRB_INIT;
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < m->p->n_options; i++) {
        size_t before = out.length;
        code = body_expand(m->p->options[i], m->p->lang, m->env, &out, m->err);
        if (out.length > before && i + 1 < m->p->n_options)
            strb_add_char(&out, ' ');
    }
    while (out.length > 0 && out.data[out.length - 1] == ' ')
        strb_truncate(&out, out.length - 1);
    m->v->options = arena_strdup(m->v->memory, strb_text(&out));
    strb_clear(&out);
    return code;
}

/* ---- expressions ---- */

static kw_code fold(const maker *m, const expr *e, const char *what, const char *name, const expr **out)
{
    *out = expr_fold(m->v->memory, e, m->env, m->err);
    return *out != NULL ? KW_OK : kw_error_prefix(m->err, "%s: %s of %s", m->p->name, what, name);
}

/* A folded condition: true, false, or open. */
typedef enum certainty { NEVER, ALWAYS, OPEN } certainty;

static certainty certainty_of(const expr *e)
{
    value constant;
    bool holds;
    if (!expr_is_constant(e, &constant))
        return OPEN;
    return expr_eval_truth(e, NULL, &holds, NULL) == KW_OK && holds ? ALWAYS : NEVER;
}

/* Keeps the conditions that are still open (and, if asked, those that can never hold). */
static kw_code fold_conditions(const maker *m, const template_condition *list, size_t n, bool keep_never,
                               template_condition **out, size_t *n_out)
{
    *out = arena_alloc(m->v->memory, (n + 1) * sizeof **out);
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        const expr *e;
        kw_error ignored;
        if (keep_never) {
            kw_code code = fold(m, list[i].test, "requires", list[i].text, &e);
            if (code != KW_OK)
                return code;
        } else {
            e = expr_fold(m->v->memory, list[i].test, m->env, &ignored);
        }
        certainty c = e != NULL ? certainty_of(e) : NEVER;
        if (c != OPEN && !(c == NEVER && keep_never))
            continue;
        template_condition *x = &(*out)[(*n_out)++];
        x->test = e;
        x->text = expr_text(e);
        x->why = list[i].why != NULL ? arena_strdup(m->v->memory, list[i].why) : NULL;
    }
    return KW_OK;
}

static kw_code fold_temps(const maker *m)
{
    const template *p = m->p;
    m->v->n_temps = p->n_temps;
    m->v->temps = arena_alloc(m->v->memory, (p->n_temps + 1) * sizeof *m->v->temps);
    for (size_t i = 0; i < p->n_temps; i++) {
        const template_temp *from = &p->temps[i];
        template_temp *to = &m->v->temps[i];
        kw_code code = KW_OK;
        to->name = arena_strdup(m->v->memory, from->name);
        to->type_symbol = -1;
        to->type = from->type_symbol >= 0 ? m->v->types.of[from->type_symbol] : from->type;
        if (from->when != NULL)
            code = fold(m, from->when, "when", from->name, &to->when);
        if (code == KW_OK && to->when != NULL && certainty_of(to->when) == ALWAYS)
            to->when = NULL;
        if (code == KW_OK && to->when != NULL && certainty_of(to->when) == NEVER)
            to->elements = expr_constant(m->v->memory, value_int(0));
        else if (code == KW_OK)
            code = fold(m, from->elements, "elements", from->name, &to->elements);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static kw_code fold_args(const maker *m, const template_launch *from, template_launch *to)
{
    for (size_t i = 0; i < from->n_args; i++) {
        const template_arg *a = &from->args[i];
        template_arg *b = &to->args[i];
        *b = *a;
        b->type_symbol = -1;
        if (a->type_symbol >= 0)
            b->type = m->v->types.of[a->type_symbol];
        b->text = arena_strdup(m->v->memory, a->text);
        kw_code code = a->value != NULL ? fold(m, a->value, "argument", from->kernel, &b->value) : KW_OK;
        if (code != KW_OK)
            return code;
    }
    to->n_args = from->n_args;
    return KW_OK;
}

static kw_code fold_geometry(const maker *m, const template_launch *from, template_launch *to)
{
    to->rank = from->rank;
    for (size_t i = 0; i < 3; i++) {
        kw_code code = fold(m, from->local[i], "local size", from->kernel, &to->local[i]);
        if (code == KW_OK)
            code = fold(m, from->groups[i], "number of groups", from->kernel, &to->groups[i]);
        if (code == KW_OK && from->global[i] != NULL)
            code = fold(m, from->global[i], "global size", from->kernel, &to->global[i]);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static kw_code fold_launches(const maker *m)
{
    const template *p = m->p;
    variant *v = m->v;
    v->launches = arena_alloc(v->memory, (p->n_launches + 1) * sizeof *v->launches);
    for (size_t i = 0; i < p->n_launches; i++) {
        const template_launch *from = &p->launches[i];
        template_launch *to = &v->launches[v->n_launches];
        kw_code code = KW_OK;
        memset(to, 0, sizeof *to);
        if (from->when != NULL)
            code = fold(m, from->when, "when", from->kernel, &to->when);
        if (code == KW_OK && to->when != NULL && certainty_of(to->when) == NEVER)
            continue;
        if (code == KW_OK && to->when != NULL && certainty_of(to->when) == ALWAYS)
            to->when = NULL;
        to->kernel = arena_strdup(v->memory, from->kernel);
        if (code == KW_OK)
            code = fold_args(m, from, to);
        if (code == KW_OK)
            code = fold_geometry(m, from, to);
        if (code != KW_OK)
            return code;
        v->n_launches++;
    }
    if (v->n_launches == 0)
        return kw_error_set(m->err, KW_BAD_INPUT, "%s: no launch remains for this configuration", p->name);
    return KW_OK;
}

/* ---- the whole ---- */

static kw_code fix_dims(const maker *m, const task_shape *shape)
{
    const task *t = m->p->task;
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        m->v->fixed_dims[i] = -1;
    for (size_t i = 0; i < t->n_dims; i++) {
        int param = m->p->specialize[i];
        if (param < 0 || !m->p->params[param].values[m->config[param]].as.boolean)
            continue;
        if (shape == NULL)
            return kw_error_set(m->err, KW_BAD_INPUT,
                                "%s: %s is a constant where %s is true, so the dims must be given", m->p->name,
                                t->dims[i].name, m->p->params[param].name);
        m->v->fixed_dims[i] = shape->dims[i];
    }
    return KW_OK;
}

static kw_code make_source(const maker *m)
{
    const task *t = m->p->task;
    strb text = STRB_INIT;
    for (size_t i = 0; i < t->n_dims; i++)
        if (m->v->fixed_dims[i] >= 0)
            m->env[t->first_dim_slot + (int)i] = value_int(m->v->fixed_dims[i]);
    kw_code code = make_text(m, &text);
    if (code == KW_OK)
        code = make_options(m);
    for (size_t i = 0; i < t->n_dims; i++)
        m->env[t->first_dim_slot + (int)i] = value_none();
    if (code == KW_OK)
        m->v->source = arena_strndup(m->v->memory, text.data, text.length);
    strb_clear(&text);
    return code;
}

/* The checks and the hash that look at the text without comments. */
static kw_code finish(const maker *m)
{
    variant *v = m->v;
    strb stripped = STRB_INIT;
    source_strip(v->source, &stripped);
    kw_code code = template_check_kernels(strb_text(&stripped), false, v->lang, v->task, &v->types, v->launches,
                                          v->n_launches, v->options, NULL, m->err);
    if (code == KW_OK)
        variant_set_hash(v, strb_text(&stripped));
    strb_clear(&stripped);
    return code == KW_OK ? code : kw_error_prefix(m->err, "%s", m->p->path);
}

static kw_code make(const maker *m, const task_shape *shape)
{
    const template *p = m->p;
    variant *v = m->v;
    kw_code code = fix_dims(m, shape);
    if (code == KW_OK)
        code = make_source(m);
    if (code == KW_OK)
        code = fold_conditions(m, p->constraints, p->n_constraints, false, &v->constraints, &v->n_constraints);
    if (code == KW_OK)
        code = fold_conditions(m, p->requires_, p->n_requires, true, &v->requires_, &v->n_requires);
    if (code == KW_OK)
        code = fold_temps(m);
    if (code == KW_OK)
        code = fold_launches(m);
    if (code != KW_OK)
        return code;
    return finish(m);
}

kw_code variant_expand(const template *p, const task_types *types, const uint32_t *config, const task_shape *shape,
                       variant **out, kw_error *err)
{
    variant *v = mem_calloc(1, sizeof *v);
    v->memory = arena_new();
    v->task = p->task;
    v->types = *types;
    v->template_name = arena_strdup(v->memory, p->name);
    v->is_fallback = p->is_fallback;
    v->lang = p->lang;
    v->config = template_config_to_json(p, config);
    maker m = {p, v, config, mem_calloc((size_t)expr_scope_size(p->scope), sizeof *m.env), err};
    template_fill(p, types, NULL, NULL, config, m.env);
    kw_code code = make(&m, shape);
    free(m.env);
    if (code != KW_OK) {
        variant_free(v);
        return code;
    }
    *out = v;
    return KW_OK;
}

void variant_free(variant *v)
{
    if (v == NULL)
        return;
    json_free(v->config);
    arena_free(v->memory);
    free(v);
}

/* ---- fitness for a shape ---- */

static bool names_device(const task *t, const expr *e)
{
    for (int i = 0; i < (int)limits_count(); i++)
        if (expr_uses(e, t->first_device_slot + i))
            return true;
    return false;
}

/* Conditions that name the device count as true while it is unknown. */
static bool all_hold(const task *t, const template_condition *list, size_t n, bool device_known, const value *env,
                     kw_error *why)
{
    for (size_t i = 0; i < n; i++) {
        bool holds = false;
        kw_error inner = {0};
        if (!device_known && names_device(t, list[i].test))
            continue;
        if (expr_eval_truth(list[i].test, env, &holds, &inner) == KW_OK && holds)
            continue;
        const char *reason = list[i].why != NULL ? list[i].why : inner.message;
        kw_error_set(why, KW_FAILED, "does not hold: %s%s%s", list[i].text, *reason != '\0' ? ": " : "", reason);
        return false;
    }
    return true;
}

bool variant_fits(const variant *v, const task_shape *s, const device_limits *limits, kw_error *why)
{
    const task *t = v->task;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (v->fixed_dims[i] >= 0 && v->fixed_dims[i] != s->dims[i]) {
            kw_error_set(why, KW_FAILED, "%s is the constant %lld in this variant, not %lld", t->dims[i].name,
                         (long long)v->fixed_dims[i], (long long)s->dims[i]);
            return false;
        }
    }
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    task_fill(t, &v->types, s, NULL, env);
    limits_fill(limits, env, t->first_device_slot);
    bool known = limits != NULL;
    bool fits = all_hold(t, v->requires_, v->n_requires, known, env, why) &&
                all_hold(t, v->constraints, v->n_constraints, known, env, why);
    free(env);
    return fits;
}
