/* Tree -> the text of a Python expression, for files that other tuners evaluate. Every operator stands in parentheses:
 * the text is for machines, and Python's rules of precedence need not be repeated here. */
#include "codegen/expr_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct printer {
    strb *out;
    const char *const *names;
    const char *what; /* that Python has no word for; NULL so far */
} printer;

static void print(printer *p, const expr *e);

void value_print_python(value v, strb *out)
{
    switch (v.kind) {
    case VALUE_BOOL:
        strb_add(out, v.as.boolean ? "True" : "False");
        return;
    case VALUE_STRING:
        strb_add_char(out, '\'');
        for (const char *c = v.as.string; *c; c++) {
            if (*c == '\n')
                strb_add(out, "\\n");
            else if (*c == '\'' || *c == '\\')
                strb_printf(out, "\\%c", *c);
            else
                strb_add_char(out, *c);
        }
        strb_add_char(out, '\'');
        return;
    case VALUE_LIST:
        strb_add_char(out, '[');
        for (size_t i = 0; i < v.as.list.n; i++) {
            strb_add(out, i ? ", " : "");
            value_print_python(v.as.list.items[i], out);
        }
        strb_add_char(out, ']');
        return;
    case VALUE_TYPE: /* its name is the best that can be said of it elsewhere */
        strb_printf(out, "'%s'", dtype_name(v.as.type));
        return;
    case VALUE_INT:
    case VALUE_REAL:
    case VALUE_NONE:
        break;
    }
    value_print_source(v, out);
}

static void print_between(printer *p, const expr *e, const char *open, const char *between, const char *close)
{
    strb_add(p->out, open);
    for (size_t i = 0; i < e->n; i++) {
        strb_add(p->out, i ? between : "");
        print(p, e->kids[i]);
    }
    strb_add(p->out, close);
}

static void print_compare(printer *p, const expr *e)
{
    strb_add_char(p->out, '(');
    for (size_t i = 0; i < e->n; i++) {
        if (i > 0)
            strb_printf(p->out, " %s ", expr_op_symbol(e->ops[i - 1]));
        print(p, e->kids[i]);
    }
    strb_add_char(p->out, ')');
}

/* -(-a // b) */
static void print_ceil_div(printer *p, const expr *e)
{
    strb_add(p->out, "(-(-");
    print(p, e->kids[0]);
    strb_add(p->out, " // ");
    print(p, e->kids[1]);
    strb_add(p->out, "))");
}

static void print_call(printer *p, const expr *e)
{
    switch ((int)e->op) {
    case OP_CEIL_DIV:
        print_ceil_div(p, e);
        return;
    case OP_ROUND_UP:
        strb_add_char(p->out, '(');
        print_ceil_div(p, e);
        strb_add(p->out, " * ");
        print(p, e->kids[1]);
        strb_add_char(p->out, ')');
        return;
    case OP_IS_POW2:
        strb_add(p->out, "(bin(");
        print(p, e->kids[0]);
        strb_add(p->out, ").count('1') == 1 and ");
        print(p, e->kids[0]);
        strb_add(p->out, " > 0)");
        return;
    case OP_LOG2:
    case OP_SIZEOF:
    case OP_VEC:
    case OP_LIT:
        p->what = expr_op_symbol(e->op);
        break;
    default:
        break;
    }
    strb_add(p->out, expr_op_symbol(e->op));
    print_between(p, e, "(", ", ", ")");
}

static void print_comprehension(printer *p, const expr *e)
{
    strb_add_char(p->out, '[');
    print(p, e->kids[0]);
    for (size_t i = 0; i + 1 < e->n; i++) {
        if (e->clauses[i].name)
            strb_printf(p->out, " for %s in ", e->clauses[i].name);
        else
            strb_add(p->out, " if ");
        print(p, e->kids[i + 1]);
    }
    strb_add_char(p->out, ']');
}

/* A minus sign binds less tightly than **. */
static void print_constant(printer *p, value v)
{
    bool wrap = value_is_number(v) && v.kind != VALUE_BOOL && value_compare_numbers(v, value_int(0)) < 0;
    strb_add(p->out, wrap ? "(" : "");
    value_print_python(v, p->out);
    strb_add(p->out, wrap ? ")" : "");
}

static void print_slot(printer *p, const expr *e)
{
    const char *name = p->names && p->names[e->slot] ? p->names[e->slot] : e->name;
    if (strchr(name, '.'))
        p->what = name; /* device.x that is not known */
    strb_add(p->out, name);
}

static void print(printer *p, const expr *e)
{
    switch (e->kind) {
    case NODE_CONST:
        print_constant(p, e->constant);
        break;
    case NODE_SLOT:
        print_slot(p, e);
        break;
    case NODE_LOCAL:
        strb_add(p->out, e->name);
        break;
    case NODE_UNARY:
        print_between(p, e, e->op == OP_NOT ? "(not " : e->op == OP_NEG ? "(-" : "(+", "", ")");
        break;
    case NODE_BINARY: {
        char between[16];
        snprintf(between, sizeof between, " %s ", expr_op_symbol(e->op));
        print_between(p, e, "(", between, ")");
        break;
    }
    case NODE_COMPARE:
        print_compare(p, e);
        break;
    case NODE_AND:
        print_between(p, e, "(", " and ", ")");
        break;
    case NODE_OR:
        print_between(p, e, "(", " or ", ")");
        break;
    case NODE_IF:
        strb_add_char(p->out, '(');
        print(p, e->kids[1]);
        strb_add(p->out, " if ");
        print(p, e->kids[0]);
        strb_add(p->out, " else ");
        print(p, e->kids[2]);
        strb_add_char(p->out, ')');
        break;
    case NODE_CALL:
        print_call(p, e);
        break;
    case NODE_LIST:
        print_between(p, e, "[", ", ", "]");
        break;
    case NODE_INDEX:
        print(p, e->kids[0]);
        strb_add_char(p->out, '[');
        print(p, e->kids[1]);
        strb_add_char(p->out, ']');
        break;
    case NODE_COMPREHENSION:
        print_comprehension(p, e);
        break;
    }
}

kw_code expr_print_python(const expr *e, const char *const *names, strb *out, kw_error *err)
{
    printer p = {out, names, NULL};
    size_t before = out->length;
    print(&p, e);
    if (!p.what)
        return KW_OK;
    strb_truncate(out, before);
    return kw_error_set(err, KW_BAD_INPUT, "'%s' cannot be written in Python: nothing there stands for '%s'",
                        expr_text(e), p.what);
}
