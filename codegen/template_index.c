/* The rule that indices fit in 32 bits where dims are passed as such. */
#include "codegen/template_read.h"

#include <string.h>

static void print_factor(strb *out, const expr *e)
{
    const char *text = expr_text(e);
    strb_printf(out, locate_is_name(text) || strspn(text, "0123456789") == strlen(text) ? "%s" : "(%s)", text);
}

/* The largest index of the tensor, or its number of elements when it is dense. */
static void print_span(strb *out, const task_tensor *x)
{
    for (size_t i = 0; i < x->rank; i++) {
        if (x->stride[0] == NULL) {
            strb_add(out, i > 0 ? "*" : "");
            print_factor(out, x->shape[i]);
        } else {
            strb_add(out, i > 0 ? " + (" : "(");
            print_factor(out, x->shape[i]);
            strb_add(out, " - 1)*");
            print_factor(out, x->stride[i]);
        }
    }
    strb_add(out, " < 2147483648");
}

static bool is_constant_tensor(const task_tensor *x)
{
    value ignored;
    for (size_t i = 0; i < x->rank; i++)
        if (!expr_is_constant(x->shape[i], &ignored))
            return false;
    return true;
}

/* Temporaries first: a term that folds to true vanishes in front of others. */
static void print_index_rule(const template *p, strb *out)
{
    const task *t = p->task;
    for (size_t i = 0; i < p->n_temps; i++) {
        const template_temp *x = &p->temps[i];
        if (x->when != NULL)
            strb_printf(out, "(not (%s) or (%s) < 2147483648) and ", expr_text(x->when), expr_text(x->elements));
        else
            strb_printf(out, "(%s) < 2147483648 and ", expr_text(x->elements));
    }
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].max > INT32_MAX)
            strb_printf(out, "%s < 2147483648 and ", t->dims[i].name);
    for (size_t i = 0; i < t->n_tensors; i++) {
        if (is_constant_tensor(&t->tensors[i]))
            continue;
        print_span(out, &t->tensors[i]);
        strb_add(out, " and ");
    }
    if (out->length > 0)
        strb_truncate(out, out->length - strlen(" and "));
}

kw_code template_add_index_rule(template_reader *r)
{
    template *p = r->p;
    if (p->index_i64)
        return KW_OK;
    strb text = STRB_INIT;
    print_index_rule(p, &text);
    if (text.length == 0)
        return KW_OK;
    template_condition *x = &p->requires_[p->n_requires];
    const char *file = r->where.file;
    x->test =
        expr_parse(p->memory, arena_strdup(p->memory, strb_text(&text)), p->scope, (expr_where){file, 0, 0}, r->err);
    strb_clear(&text);
    if (x->test == NULL)
        return KW_BAD_INPUT;
    x->text = expr_text(x->test);
    x->why = "indices must fit in 32 bits; \"index\": \"i64\" passes dims as 64-bit integers";
    p->n_requires++;
    return KW_OK;
}
