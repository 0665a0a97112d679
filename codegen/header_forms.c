/* Conditions, temporaries and geometry of the variants as C functions.
 *
 * The variants of one template mostly differ in numbers only. Each number of the printed expressions is therefore
 * replaced by c[i], a row of constants per variant; what remains is the variant's form, and equal forms become one set
 * of functions. A header with a thousand variants then compiles as fast as one with a few. */
#include "base/hash.h"
#include "codegen/header_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---- */

typedef struct printing {
    const writer *w;
    char name[128]; /* of the slot last asked for */
} printing;

static const char *slot_name(int slot, void *cookie)
{
    printing *p = cookie;
    const task *t = p->w->m->task;
    const int dim = slot - t->first_dim_slot, scalar = slot - t->first_scalar_slot;
    const size_t limit = (size_t)(slot - t->first_device_slot);
    strb text = STRB_INIT;
    if (dim >= 0 && dim < (int)t->n_dims)
        strb_printf(&text, "s->%s", p->w->dim_names[dim]);
    else if (scalar >= 0 && scalar < (int)t->n_scalars)
        strb_printf(&text,
                    dtype_is_float(task_scalar_type(t, &p->w->m->types, (size_t)scalar)) ? "(double)x->%s"
                                                                                         : "(int64_t)x->%s",
                    p->w->scalar_names[scalar]);
    else if (limit < limits_count())
        strb_printf(&text, "d->limits.%s", limits_name(limit));
    strncpy(p->name, strb_text(&text), sizeof p->name - 1);
    p->name[sizeof p->name - 1] = '\0';
    strb_clear(&text);
    return p->name;
}

static bool slot_is_real(int slot, void *cookie)
{
    const printing *p = cookie;
    const task *t = p->w->m->task;
    const int scalar = slot - t->first_scalar_slot;
    return scalar >= 0 && scalar < (int)t->n_scalars &&
           dtype_is_float(task_scalar_type(t, &p->w->m->types, (size_t)scalar));
}

/* Refuses what this place cannot know. */
static kw_code check_roles(const writer *w, const expr *e, header_roles roles, const char *what, kw_error *err)
{
    const expr_scope *scope = w->m->task->scope;
    for (int slot = 0; slot < expr_scope_size(scope); slot++) {
        const expr_role role = expr_scope_role(scope, slot);
        if (!expr_uses(e, slot))
            continue;
        if ((role == EXPR_DEVICE && !roles.device) || (role == EXPR_SCALAR && !roles.scalars))
            return kw_error_set(err, KW_BAD_INPUT,
                                "%s: %s cannot be known here, in a dispatch header: write \"%s\" without it", what,
                                expr_scope_name(scope, slot), expr_text(e));
    }
    return KW_OK;
}

kw_code header_put_expr(const writer *w, strb *out, const expr *e, header_roles roles, expr_c_want want,
                        const char *what, kw_error *err)
{
    const task *t = w->m->task;
    printing p = {w, ""};
    expr_c_names names = {slot_name, slot_is_real, &p, "fault", "kw_", want};
    value *known = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *known);
    for (size_t i = 0; i < t->n_types; i++)
        known[(size_t)t->first_type_slot + i] = value_type(w->m->types.of[i]);
    kw_code code = check_roles(w, e, roles, what, err);
    if (code == KW_OK) {
        code = expr_print_c(e, known, &names, out, NULL, err);
        if (code != KW_OK)
            kw_error_prefix(err, "%s", what);
    }
    free(known);
    return code;
}

/* ---- a form in the making ---- */

typedef struct drawing {
    writer *w;
    const variant *v;
    const char *name; /* the variant's, for messages */
    strb text;
    size_t first; /* of its constants */
    kw_error *err;
    kw_code code; /* sticky */
} drawing;

/* Adds text with '@' for "kw_gemm"; '%d' style arguments as in printf. */
#define add(d, ...) header_put_f((d)->w, &(d)->text, __VA_ARGS__)

static void add_constant(drawing *d, int64_t number)
{
    writer *w = d->w;
    strb_printf(&d->text, "c[%zu]", w->n_constants - d->first);
    w->constants = mem_grow(w->constants, &w->constants_capacity, w->n_constants + 1, sizeof *w->constants);
    w->constants[w->n_constants++] = number;
}

/* Reads 64 or INT64_C(64) at p; NULL if there is something else, or a real. */
static const char *read_constant(const char *p, int64_t *number)
{
    static const char open[] = "INT64_C(";
    const bool wrapped = strncmp(p, open, sizeof open - 1) == 0;
    char *end;
    if (wrapped)
        p += sizeof open - 1;
    if (!isdigit((unsigned char)*p))
        return NULL;
    *number = strtoll(p, &end, 10);
    if (wrapped)
        return *end == ')' ? end + 1 : NULL;
    return *end == '.' || isalnum((unsigned char)*end) ? NULL : end;
}

/* A name, or a real number with its exponent: 1.5e-07 is one word. */
static size_t word_length(const char *c)
{
    const bool number = isdigit((unsigned char)*c);
    size_t n = 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_' || c[n] == '.' ||
           (number && n > 0 && (c[n] == '+' || c[n] == '-') && c[n - 1] == 'e'))
        n++;
    return n;
}

/* Adds printed C text, its integers replaced by c[i]; 0 stays, since it mostly belongs to the form ("!= 0"). */
static void add_skeleton(drawing *d, const char *c)
{
    while (*c) {
        int64_t number;
        const char *after = read_constant(c, &number);
        if (after && number != 0) {
            add_constant(d, number);
            c = after;
        } else if (word_length(c) > 0) {
            strb_add_n(&d->text, c, word_length(c));
            c += word_length(c);
        } else {
            strb_add_char(&d->text, *c++);
        }
    }
}

static void add_expr(drawing *d, const expr *e, header_roles roles, expr_c_want want, const char *what)
{
    strb c = STRB_INIT;
    if (d->code == KW_OK)
        d->code = header_put_expr(d->w, &c, e, roles, want, what, d->err);
    if (d->code == KW_OK)
        add_skeleton(d, strb_text(&c));
    strb_clear(&c);
}

static const header_roles just_dims = {false, false}, dims_and_device = {true, false}, everything = {true, true};

/* ---- conditions ---- */

static void add_condition(drawing *d, const template_condition *condition)
{
    add(d, "    if (!");
    add_expr(d, condition->test, dims_and_device, EXPR_C_TRUTH, condition->text);
    add(d, ")\n        return 0;\n");
}

/* Work-items per group of a launch whose local size does not depend on the shape; 0 otherwise. */
static int64_t group_size(const template_launch *l)
{
    int64_t product = 1;
    for (size_t i = 0; i < l->rank; i++) {
        value size;
        if (!expr_is_constant(l->local[i], &size) || size.kind != VALUE_INT || size.as.integer < 1 ||
            size.as.integer > INT32_MAX || product > INT32_MAX)
            return 0;
        product *= size.as.integer;
    }
    return product;
}

/* The device must take the largest group, whether the template says so or not. */
static void add_group_condition(drawing *d)
{
    int64_t most = 0;
    for (size_t i = 0; i < d->v->n_launches; i++) {
        int64_t size = group_size(&d->v->launches[i]);
        most = size > most ? size : most;
    }
    if (most <= 1)
        return;
    add(d, "    if (d->limits.max_work_group_size < ");
    add_constant(d, most);
    add(d, ")\n        return 0;\n");
}

/* What the device must offer. */
static void add_device_function(drawing *d)
{
    add(d, "static inline int @_device_%c(const int64_t *c, const kw_device *d)\n{\n    int fault = 0;\n", FORM_MARK);
    add(d, "    (void)c;\n    (void)d;\n");
    add_group_condition(d);
    for (size_t i = 0; i < d->v->n_constraints; i++)
        add_condition(d, &d->v->constraints[i]);
    add(d, "    return !fault;\n}\n\n");
}

/* What the shape must be like. */
static void add_shape_function(drawing *d)
{
    const task *t = d->w->m->task;
    add(d, "static inline int @_shape_%c(const int64_t *c, const kw_device *d, const @_shape *s)\n{\n", FORM_MARK);
    add(d, "    int fault = 0;\n    (void)c;\n    (void)d;\n    (void)s;\n");
    for (size_t i = 0; i < t->n_dims; i++) {
        if (d->v->fixed_dims[i] < 0)
            continue;
        add(d, "    if (s->%s != ", d->w->dim_names[i]);
        add_constant(d, d->v->fixed_dims[i]);
        add(d, ")\n        return 0;\n");
    }
    for (size_t i = 0; i < d->v->n_requires; i++)
        add_condition(d, &d->v->requires_[i]);
    add(d, "    return !fault;\n}\n\n");
}

/* ---- plan ---- */

static dtype temp_type(const drawing *d, const template_temp *temp)
{
    return temp->type_symbol >= 0 ? d->v->types.of[temp->type_symbol] : temp->type;
}

static bool is_false(const expr *e)
{
    value constant;
    bool holds = true;
    return expr_is_constant(e, &constant) && expr_eval_truth(e, NULL, &holds, NULL) == KW_OK && !holds;
}

static void add_temps_function(drawing *d)
{
    add(d, "static inline void @_temps_%c(const int64_t *c, const @_shape *s, kw_plan *p)\n{\n", FORM_MARK);
    add(d, "    int fault = 0;\n    (void)c;\n    (void)s;\n    (void)p;\n");
    for (size_t i = 0; i < d->v->n_temps; i++) {
        const template_temp *temp = &d->v->temps[i];
        if (temp->when && is_false(temp->when))
            continue;
        add(d, "    /* %s */\n    ", temp->name);
        if (temp->when) {
            add(d, "if (");
            add_expr(d, temp->when, just_dims, EXPR_C_TRUTH, temp->name);
            add(d, ")\n        ");
        }
        add(d, "kw_plan_temp(p, %zu, ", i);
        add_expr(d, temp->elements, just_dims, EXPR_C_INT, temp->name);
        add(d, ", %zu);\n", dtype_bytes(temp_type(d, temp)));
    }
    add(d, "    p->fault |= fault;\n}\n\n");
}

static void add_size(drawing *d, const char *function, size_t dimension, const expr *e, const char *what)
{
    add(d, "        %s(p, l, %zu, ", function, dimension);
    add_expr(d, e, everything, EXPR_C_INT, what);
    add(d, ");\n");
}

static const char *int_limits(dtype type)
{
    switch (type) {
    case DTYPE_I8:
        return "INT8_MIN, INT8_MAX, 1";
    case DTYPE_U8:
        return "0, UINT8_MAX, 1";
    case DTYPE_I16:
        return "INT16_MIN, INT16_MAX, 2";
    case DTYPE_U16:
        return "0, UINT16_MAX, 2";
    case DTYPE_I32:
        return "INT32_MIN, INT32_MAX, 4";
    case DTYPE_U32:
        return "0, UINT32_MAX, 4";
    case DTYPE_I64:
        return "INT64_MIN, INT64_MAX, 8";
    case DTYPE_U64:
        return "0, INT64_MAX, 8";
    case DTYPE_NONE:
    case DTYPE_F16:
    case DTYPE_F32:
    case DTYPE_F64:
        break;
    }
    return NULL;
}

static void add_value_arg(drawing *d, const template_arg *arg)
{
    const char *limits = int_limits(arg->type);
    if (limits) {
        add(d, "            kw_arg_int(p, l, ");
        add_expr(d, arg->value, everything, EXPR_C_INT, arg->text);
        add(d, ", %s);\n", limits);
    } else {
        add(d, "            kw_arg_%s(l, ", dtype_name(arg->type));
        add_expr(d, arg->value, everything, EXPR_C_REAL, arg->text);
        add(d, ");\n");
    }
}

static void add_arg(drawing *d, const template_arg *arg)
{
    const task *t = d->w->m->task;
    switch (arg->kind) {
    case ARG_TENSOR:
        add(d, "            kw_arg_handle(l, KW_ARG_TENSOR, %d); /* %s */\n", arg->index, t->tensors[arg->index].name);
        break;
    case ARG_TEMP:
        add(d, "            kw_arg_handle(l, KW_ARG_TEMP, %d); /* %s */\n", arg->index, d->v->temps[arg->index].name);
        break;
    case ARG_SCALAR: {
        const char *name = d->w->scalar_names[arg->index];
        if (task_scalar_type(t, &d->v->types, (size_t)arg->index) == DTYPE_F16)
            add(d, "            kw_arg_f16(l, (double)x->%s);\n", name);
        else
            add(d, "            kw_arg_bytes(l, &x->%s, sizeof x->%s);\n", name, name);
        break;
    }
    case ARG_VALUE:
        add_value_arg(d, arg);
        break;
    case ARG_LOCAL:
        add(d, "            kw_arg_local(p, l, ");
        add_expr(d, arg->value, everything, EXPR_C_INT, arg->text);
        add(d, ");\n");
        break;
    }
}

static void add_launch(drawing *d, size_t id)
{
    const template_launch *l = &d->v->launches[id];
    if (l->when) {
        add(d, "    if (");
        add_expr(d, l->when, everything, EXPR_C_TRUTH, l->kernel);
        add(d, ") {\n");
    } else {
        add(d, "    {\n");
    }
    add(d, "        kw_launch *l = kw_plan_launch(p, %zu, \"%s\", %zu);\n", id, l->kernel, l->rank);
    for (size_t i = 0; i < l->rank; i++) {
        add_size(d, "kw_plan_local", i, l->local[i], l->kernel);
        if (l->global[i])
            add_size(d, "kw_plan_global", i, l->global[i], l->kernel);
        else
            add_size(d, "kw_plan_groups", i, l->groups[i], l->kernel);
    }
    add(d, "        if (kw_plan_geometry(p, l, d)) {\n");
    for (size_t i = 0; i < l->n_args; i++)
        add_arg(d, &l->args[i]);
    add(d, "            kw_plan_end(p, l, d);\n        }\n    }\n");
}

static void add_launches_function(drawing *d)
{
    add(d,
        "static inline void @_launches_%c(const int64_t *c, const kw_device *d, const @_shape *s, const @_scalars "
        "*x,\n",
        FORM_MARK);
    add(d, "    kw_plan *p)\n{\n    int fault = 0;\n    (void)c;\n    (void)d;\n    (void)s;\n    (void)x;\n");
    for (size_t i = 0; i < d->v->n_launches; i++)
        add_launch(d, i);
    add(d, "    p->fault |= fault;\n}\n");
}

/* ---- forms ---- */

static size_t form_number(writer *w, drawing *d)
{
    const char *text = strb_text(&d->text);
    const uint64_t hash = hash_u64(text, d->text.length, 0);
    for (size_t i = w->n_forms; i-- > 0;)
        if (w->forms[i].hash == hash && strcmp(w->forms[i].text, text) == 0)
            return i;
    w->forms = mem_grow(w->forms, &w->forms_capacity, w->n_forms + 1, sizeof *w->forms);
    w->forms[w->n_forms].text = mem_strdup(text);
    w->forms[w->n_forms].hash = hash;
    w->forms[w->n_forms].example = d->v;
    return w->n_forms++;
}

static char *variant_name(const variant *v)
{
    strb s = STRB_INIT;
    strb_add(&s, v->template_name);
    for (const json *p = json_first(v->config); p; p = json_next(p)) {
        strb_printf(&s, " %s=", json_key(p));
        if (json_kind_of(p) == JSON_STRING)
            strb_add(&s, json_text(p));
        else
            json_print(p, &s);
    }
    for (size_t i = 0; i < v->task->n_dims; i++)
        if (v->fixed_dims[i] >= 0)
            strb_printf(&s, " %s:%" PRId64, v->task->dims[i].name, v->fixed_dims[i]);
    return strb_take(&s);
}

static kw_code draw(writer *w, size_t number, kw_error *err)
{
    header_variant *hv = &w->variants[number];
    drawing d = {w, w->m->variants[number], hv->name, STRB_INIT, w->n_constants, err, KW_OK};
    add_device_function(&d);
    add_shape_function(&d);
    add_temps_function(&d);
    add_launches_function(&d);
    if (d.code == KW_OK) {
        hv->form = form_number(w, &d);
        hv->first_constant = d.first;
        hv->n_constants = w->n_constants - d.first;
    } else {
        kw_error_prefix(err, "variant \"%s\"", hv->name);
    }
    strb_clear(&d.text);
    return d.code;
}

kw_code header_make_forms(writer *w, kw_error *err)
{
    w->variants = mem_calloc(w->m->n_variants, sizeof *w->variants);
    for (size_t i = 0; i < w->m->n_variants; i++) {
        header_variant *hv = &w->variants[i];
        hv->name = variant_name(w->m->variants[i]);
        hv->first_piece = w->n_piece_list;
        header_add_pieces(w, w->m->variants[i]->source);
        hv->n_pieces = w->n_piece_list - hv->first_piece;
        kw_code code = draw(w, i, err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}
