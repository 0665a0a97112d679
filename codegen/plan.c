/* Variant + shape + scalars -> what a worker launches, in integers. */
#include "codegen/variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct planner {
    const variant *v;
    const device_limits *limits; /* may be NULL */
    const double *scalars;
    const value *env;
    kw_error *err;
} planner;

static kw_code fail(const planner *p, const char *name, const char *format, ...) KW_PRINTF(3, 4);
static kw_code fail(const planner *p, const char *name, const char *format, ...)
{
    strb text = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    kw_error_set(p->err, KW_BAD_INPUT, "%s: %s: %s", p->v->template_name, name, strb_text(&text));
    strb_clear(&text);
    return KW_BAD_INPUT;
}

/* A size: an integer that is not negative. */
static kw_code eval_size(const planner *p, const char *name, const char *what, const expr *e, uint64_t *out)
{
    int64_t n;
    if (expr_eval_int(e, p->env, &n, p->err) != KW_OK)
        return kw_error_prefix(p->err, "%s: %s of %s", p->v->template_name, what, name);
    if (n < 0)
        return fail(p, name, "%s %s is %lld, below 0", what, expr_text(e), (long long)n);
    *out = (uint64_t)n;
    return KW_OK;
}

static kw_code eval_when(const planner *p, const char *name, const expr *when, bool *holds)
{
    *holds = true;
    if (when == NULL || expr_eval_truth(when, p->env, holds, p->err) == KW_OK)
        return KW_OK;
    return kw_error_prefix(p->err, "%s: when of %s", p->v->template_name, name);
}

/* ---- temporaries ---- */

static kw_code plan_temps(const planner *p, plan *out)
{
    out->n_temps = p->v->n_temps;
    for (size_t i = 0; i < p->v->n_temps; i++) {
        const template_temp *x = &p->v->temps[i];
        bool needed;
        uint64_t elements = 0;
        kw_code code = eval_when(p, x->name, x->when, &needed);
        if (code == KW_OK && needed)
            code = eval_size(p, x->name, "elements", x->elements, &elements);
        if (code != KW_OK)
            return code;
        if (elements > (uint64_t)INT64_MAX / dtype_bytes(x->type))
            return fail(p, x->name, "%llu elements are more than any memory holds", (unsigned long long)elements);
        if (needed && elements == 0)
            elements = 1; /* of a dim that is 0: there is a buffer all the same */
        out->temp_bytes[i] = elements * dtype_bytes(x->type);
    }
    return KW_OK;
}

/* ---- geometry ---- */

static kw_code check_local(const planner *p, const char *kernel, const plan_launch *l)
{
    uint64_t product = l->local[0] * l->local[1] * l->local[2];
    const device_limits *d = p->limits;
    strb size = STRB_INIT;
    kw_code code = KW_OK;
    for (size_t i = 0; i < l->rank; i++)
        strb_printf(&size, "%s%llu", i > 0 ? "x" : "", (unsigned long long)l->local[i]);
    if (product == 0)
        code = fail(p, kernel, "local size %s has no work-items", strb_text(&size));
    else if (d != NULL && d->max_work_group_size > 0 && product > (uint64_t)d->max_work_group_size)
        code = fail(p, kernel,
                    "local size %s = %llu over the device's limit %lld: take a smaller one, or constrain it "
                    "by device.max_work_group_size",
                    strb_text(&size), (unsigned long long)product, (long long)d->max_work_group_size);
    for (size_t i = 0; code == KW_OK && d != NULL && i < 3; i++)
        if (d->max_work_item_size[i] > 0 && l->local[i] > (uint64_t)d->max_work_item_size[i])
            code = fail(p, kernel, "local size %s: dimension %zu is over the device's limit %lld", strb_text(&size), i,
                        (long long)d->max_work_item_size[i]);
    strb_clear(&size);
    return code;
}

static kw_code plan_geometry(const planner *p, const template_launch *from, plan_launch *to)
{
    to->rank = from->rank;
    for (size_t i = 0; i < 3; i++) {
        kw_code code = eval_size(p, from->kernel, "local size", from->local[i], &to->local[i]);
        if (code == KW_OK && to->local[i] > 1u << 20)
            code =
                fail(p, from->kernel, "local size %llu is over any device's limit", (unsigned long long)to->local[i]);
        if (code == KW_OK)
            code = eval_size(p, from->kernel, from->global[i] != NULL ? "global size" : "number of groups",
                             from->global[i] != NULL ? from->global[i] : from->groups[i], &to->groups[i]);
        if (code != KW_OK)
            return code;
    }
    kw_code code = check_local(p, from->kernel, to);
    for (size_t i = 0; code == KW_OK && i < 3; i++) {
        uint64_t size = to->groups[i];
        if (from->global[i] != NULL && size % to->local[i] != 0)
            code = fail(p, from->kernel,
                        "global size %llu is not a multiple of local size %llu: use round_up, and let "
                        "the kernel skip what is too much",
                        (unsigned long long)size, (unsigned long long)to->local[i]);
        to->groups[i] = from->global[i] != NULL ? size / to->local[i] : size;
        if (code == KW_OK && to->groups[i] > (uint64_t)INT64_MAX / to->local[i])
            code = fail(p, from->kernel, "%llu groups are too many", (unsigned long long)size);
    }
    return code;
}

/* ---- arguments ---- */

static bool fits_type(dtype type, int64_t x)
{
    switch (type) {
    case DTYPE_I8:
        return x >= INT8_MIN && x <= INT8_MAX;
    case DTYPE_U8:
        return x >= 0 && x <= UINT8_MAX;
    case DTYPE_I16:
        return x >= INT16_MIN && x <= INT16_MAX;
    case DTYPE_U16:
        return x >= 0 && x <= UINT16_MAX;
    case DTYPE_I32:
        return x >= INT32_MIN && x <= INT32_MAX;
    case DTYPE_U32:
        return x >= 0 && x <= UINT32_MAX;
    case DTYPE_U64:
        return x >= 0;
    case DTYPE_I64:
    case DTYPE_NONE:
    case DTYPE_F16:
    case DTYPE_F32:
    case DTYPE_F64:
        break;
    }
    return true;
}

static kw_code plan_value(const planner *p, const char *kernel, const template_arg *from, plan_arg *to)
{
    kw_code code;
    to->type = from->type;
    if (dtype_is_float(from->type))
        code = expr_eval_real(from->value, p->env, &to->real, p->err);
    else
        code = expr_eval_int(from->value, p->env, &to->integer, p->err);
    if (code != KW_OK)
        return kw_error_prefix(p->err, "%s: argument %s of %s", p->v->template_name, from->text, kernel);
    if (!dtype_is_float(from->type) && !fits_type(from->type, to->integer))
        return fail(p, kernel, "argument %s is %lld, which %s cannot hold", from->text, (long long)to->integer,
                    dtype_name(from->type));
    return KW_OK;
}

static kw_code plan_local(const planner *p, const char *kernel, const template_arg *from, plan_arg *to)
{
    uint64_t bytes;
    kw_code code = eval_size(p, kernel, "local memory", from->value, &bytes);
    if (code == KW_OK && (bytes == 0 || bytes > INT32_MAX))
        code = fail(p, kernel, "local memory %s is %llu bytes", from->text, (unsigned long long)bytes);
    to->integer = code == KW_OK ? (int64_t)bytes : 0;
    return code;
}

static kw_code plan_args(const planner *p, const template_launch *from, plan_launch *to, const plan *whole)
{
    int64_t local_bytes = 0;
    to->n_args = from->n_args;
    for (size_t i = 0; i < from->n_args; i++) {
        const template_arg *a = &from->args[i];
        plan_arg *x = &to->args[i];
        kw_code code = KW_OK;
        x->kind = a->kind;
        x->index = a->index;
        switch (a->kind) {
        case ARG_TENSOR:
            break;
        case ARG_TEMP:
            if (whole->temp_bytes[a->index] == 0)
                code = fail(p, from->kernel,
                            "is launched with the temporary %s, which is not there: its \"when\" must "
                            "hold wherever the launch's does",
                            a->text);
            break;
        case ARG_SCALAR:
            x->type = task_scalar_type(p->v->task, &p->v->types, (size_t)a->index);
            x->real = p->scalars[a->index];
            break;
        case ARG_VALUE:
            code = plan_value(p, from->kernel, a, x);
            break;
        case ARG_LOCAL:
            code = plan_local(p, from->kernel, a, x);
            local_bytes += x->integer;
            break;
        }
        if (code != KW_OK)
            return code;
    }
    if (p->limits != NULL && p->limits->local_mem_bytes > 0 && local_bytes > p->limits->local_mem_bytes)
        return fail(p, from->kernel, "%lld bytes of local memory over the device's limit %lld", (long long)local_bytes,
                    (long long)p->limits->local_mem_bytes);
    return KW_OK;
}

/* ---- the whole ---- */

static kw_code plan_launches(const planner *p, plan *out)
{
    for (size_t i = 0; i < p->v->n_launches; i++) {
        const template_launch *from = &p->v->launches[i];
        plan_launch *to = &out->launches[out->n_launches];
        bool needed;
        memset(to, 0, sizeof *to);
        to->kernel = from->kernel;
        kw_code code = eval_when(p, from->kernel, from->when, &needed);
        if (code == KW_OK && !needed)
            continue;
        if (code == KW_OK)
            code = plan_geometry(p, from, to);
        if (code == KW_OK && (to->groups[0] == 0 || to->groups[1] == 0 || to->groups[2] == 0))
            continue;
        if (code == KW_OK)
            code = plan_args(p, from, to, out);
        if (code != KW_OK)
            return code;
        out->n_launches++;
    }
    return KW_OK;
}

kw_code plan_make(const variant *v, const task_shape *s, const double *scalars, const device_limits *limits, plan *out,
                  kw_error *err)
{
    const task *t = v->task;
    double timed[TASK_MAX_SCALARS];
    for (size_t i = 0; i < t->n_scalars; i++)
        timed[i] = scalars != NULL ? scalars[i] : t->scalars[i].values[0];
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    task_fill(t, &v->types, s, timed, env);
    limits_fill(limits, env, t->first_device_slot);
    planner p = {v, limits, timed, env, err};
    out->n_launches = 0;
    kw_code code = plan_temps(&p, out);
    if (code == KW_OK)
        code = plan_launches(&p, out);
    free(env);
    return code;
}
