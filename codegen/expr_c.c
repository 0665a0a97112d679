/* Tree -> C. Each subexpression is printed by its kind (expr_c_kind.c), with a conversion where another is needed. */
#include "codegen/expr_internal.h"

#include <inttypes.h>
#include <string.h>

#define MAX_C_TEXT 65536 /* the middle of a chain and `or` print an operand twice */

typedef struct printer {
    const expr_c_names *names;
    const expr_source *source;
    strb *out;
    size_t limit;
    kw_error *err;
    bool failed;
    int joined; /* inside && or ||: how deep */
} printer;

static void print_int(printer *p, const expr *e);
static void print_real(printer *p, const expr *e);
static void print_number(printer *p, const expr *e);
static void print_truth(printer *p, const expr *e);

static void refuse(printer *p, const expr *e, const char *why)
{
    if (!p->failed)
        expr_source_error(p->source, e->at, p->err, "%s cannot be printed as C", why);
    p->failed = true;
}

static c_kind kind_of(printer *p, const expr *e)
{
    c_refusal refusal = {NULL, NULL};
    c_kind kind = expr_c_kind(e, p->names, &refusal);
    if (kind == KIND_NONE)
        refuse(p, refusal.node, refusal.why);
    return kind;
}

/* ---- pieces ---- */

static void add(printer *p, const char *text)
{
    strb_add(p->out, text);
}

typedef void print_function(printer *p, const expr *e);

static print_function *function_for(c_kind kind)
{
    return kind == KIND_INT ? print_int : kind == KIND_REAL ? print_real : print_number;
}

static const char *family(c_kind kind)
{
    return kind == KIND_INT ? "" : kind == KIND_REAL ? "real_" : "num_";
}

/* PREFIX family_name(a, b, &fault) with operands from `first` on; b is left out when n is 1. */
static void print_helper(printer *p, c_kind kind, const char *name, const expr *a, const expr *b, bool faults)
{
    print_function *print = function_for(kind);
    strb_printf(p->out, "%s%s%s(", p->names->prefix, family(kind), name);
    print(p, a);
    if (b) {
        add(p, ", ");
        print(p, b);
    }
    if (faults)
        strb_printf(p->out, ", &%s", p->names->fault_name);
    add(p, ")");
}

/* Large ones behind a call, because a comparison with a value that the compiler knows to be smaller is a warning. */
static void print_int_constant(printer *p, int64_t i)
{
    const char *prefix = p->names->prefix;
    if (i == INT64_MIN)
        strb_printf(p->out, "%sint(-INT64_C(9223372036854775807) - 1)", prefix);
    else if (i > INT32_MAX || i < -INT32_MAX)
        strb_printf(p->out, "%sint(%sINT64_C(%" PRId64 "))", prefix, i < 0 ? "-" : "", i < 0 ? -i : i);
    else
        strb_printf(p->out, i < 0 ? "(%" PRId64 ")" : "%" PRId64, i);
}

static void print_constant(printer *p, value v)
{
    if (v.kind != VALUE_REAL) {
        print_int_constant(p, v.kind == VALUE_BOOL ? v.as.boolean : v.as.integer);
        return;
    }
    add(p, "(");
    value_print(v, p->out);
    add(p, ")");
}

static const char *arithmetic_name(expr_op op)
{
    return op == OP_ADD   ? "add"
           : op == OP_SUB ? "sub"
           : op == OP_MUL ? "mul"
           : op == OP_DIV ? "div"
           : op == OP_MOD ? "mod"
                          : "floor_div";
}

/* max(a, b, c) is max(max(a, b), c) */
static void print_extreme(printer *p, const expr *e, c_kind kind)
{
    for (size_t i = 1; i < e->n; i++)
        strb_printf(p->out, "%s%s%s(", p->names->prefix, family(kind), expr_op_symbol(e->op));
    function_for(kind)(p, e->kids[0]);
    for (size_t i = 1; i < e->n; i++) {
        add(p, ", ");
        function_for(kind)(p, e->kids[i]);
        add(p, ")");
    }
}

static void print_call(printer *p, const expr *e, c_kind kind)
{
    switch ((int)e->op) {
    case OP_MIN:
    case OP_MAX:
        print_extreme(p, e, kind);
        break;
    case OP_ABS:
        print_helper(p, kind, "abs", e->kids[0], NULL, kind != KIND_REAL);
        break;
    case OP_LOG2:
        print_helper(p, KIND_NUMBER, "log2", e->kids[0], NULL, true);
        break;
    case OP_IS_POW2:
        strb_printf(p->out, "%sis_pow2(", p->names->prefix);
        print_int(p, e->kids[0]);
        add(p, ")");
        break;
    default:
        print_helper(p, KIND_INT, expr_op_symbol(e->op), e->kids[0], e->kids[1], true);
        break;
    }
}

static void print_sign(printer *p, const expr *e, c_kind kind)
{
    if (e->op == OP_POS) {
        function_for(kind)(p, e->kids[0]);
    } else if (kind == KIND_REAL) {
        add(p, "(-");
        print_real(p, e->kids[0]);
        add(p, ")");
    } else {
        print_helper(p, kind, "neg", e->kids[0], NULL, true);
    }
}

/* The value of the operand that decides. A false one of a known kind is the zero of that kind. */
static void print_logic_value(printer *p, const expr *e, size_t i, c_kind kind)
{
    const expr *term = e->kids[i];
    if (i + 1 == e->n) {
        function_for(kind)(p, term);
        return;
    }
    add(p, "(");
    print_truth(p, term);
    add(p, " ? ");
    if (e->kind == NODE_OR) {
        function_for(kind)(p, term);
        add(p, " : ");
        print_logic_value(p, e, i + 1, kind);
    } else {
        print_logic_value(p, e, i + 1, kind);
        add(p, " : ");
        if (kind == KIND_NUMBER)
            print_number(p, term);
        else
            add(p, kind == KIND_INT ? "0" : "0.0");
    }
    add(p, ")");
}

/* The value as it comes, of the kind that kind_of says. */
static void print_natural(printer *p, const expr *e, c_kind kind)
{
    if (expr_c_is_condition(e) && e->kind != NODE_CONST) {
        strb_printf(p->out, "%sint(", p->names->prefix);
        print_truth(p, e);
        add(p, ")");
        return;
    }
    switch (e->kind) {
    case NODE_CONST:
        print_constant(p, e->constant);
        break;
    case NODE_SLOT:
        add(p, p->names->name(e->slot, p->names->cookie));
        break;
    case NODE_UNARY:
        print_sign(p, e, kind);
        break;
    case NODE_BINARY:
        print_helper(p, kind, arithmetic_name(e->op), e->kids[0], e->kids[1], true);
        break;
    case NODE_AND:
    case NODE_OR:
        print_logic_value(p, e, 0, kind);
        break;
    case NODE_IF:
        add(p, "(");
        print_truth(p, e->kids[0]);
        add(p, " ? ");
        function_for(kind)(p, e->kids[1]);
        add(p, " : ");
        function_for(kind)(p, e->kids[2]);
        add(p, ")");
        break;
    case NODE_CALL:
        print_call(p, e, kind);
        break;
    case NODE_COMPARE: /* a condition */
    case NODE_LOCAL:   /* refused by kind_of */
    case NODE_LIST:
    case NODE_INDEX:
    case NODE_COMPREHENSION:
        break;
    }
}

/* The node as `wanted`, through a conversion when it is of another kind. */
static void print_as(printer *p, const expr *e, c_kind wanted)
{
    if (p->out->length > p->limit)
        refuse(p, e, "so long an expression");
    c_kind kind = p->failed ? KIND_NONE : kind_of(p, e);
    if (kind == KIND_NONE)
        return;
    if (kind == wanted) {
        print_natural(p, e, kind);
    } else if (wanted == KIND_NUMBER) {
        strb_printf(p->out, "%snum_of_%s(", p->names->prefix, kind == KIND_INT ? "int" : "real");
        print_natural(p, e, kind);
        add(p, ")");
    } else if (wanted == KIND_REAL) {
        if (kind == KIND_INT)
            add(p, "(double)");
        else
            strb_printf(p->out, "%snum_real(", p->names->prefix);
        print_natural(p, e, kind);
        add(p, kind == KIND_INT ? "" : ")");
    } else if (kind == KIND_REAL) {
        if (!p->failed)
            expr_source_error(p->source, e->at, p->err, "a real stands where an integer is needed; use // or ceil_div");
        p->failed = true;
    } else {
        strb_printf(p->out, "%snum_int(", p->names->prefix);
        print_natural(p, e, kind);
        strb_printf(p->out, ", &%s)", p->names->fault_name);
    }
}

static void print_int(printer *p, const expr *e)
{
    print_as(p, e, KIND_INT);
}

static void print_real(printer *p, const expr *e)
{
    print_as(p, e, KIND_REAL);
}

static void print_number(printer *p, const expr *e)
{
    print_as(p, e, KIND_NUMBER);
}

/* ---- conditions ---- */

/* clang warns when two comparisons of one variable with constants cannot both hold, which may well be so in what
 * folding leaves: a call around the variable hides that. */
static void print_operand(printer *p, const expr *e, c_kind kind, const expr *other)
{
    bool hide = p->joined && kind == KIND_INT && e->kind == NODE_SLOT && other->kind == NODE_CONST;
    if (hide)
        strb_printf(p->out, "%sint(", p->names->prefix);
    print_as(p, e, kind);
    add(p, hide ? ")" : "");
}

static void print_pair(printer *p, expr_op op, const expr *a, const expr *b)
{
    c_kind ka = kind_of(p, a), kb = kind_of(p, b);
    size_t start = p->out->length;
    if (ka == kb && ka != KIND_NUMBER) {
        add(p, "(");
        size_t at_a = p->out->length;
        print_operand(p, a, ka, b);
        strb_printf(p->out, " %s ", expr_op_symbol(op));
        size_t at_b = p->out->length;
        print_operand(p, b, ka, a);
        add(p, ")");
        size_t gap = strlen(expr_op_symbol(op)) + 2;
        size_t length = at_b - gap - at_a;
        /* Compilers warn about M == M; a generated condition may well be that. */
        if (p->out->length - 1 - at_b != length || memcmp(p->out->data + at_a, p->out->data + at_b, length) != 0)
            return;
        strb_truncate(p->out, start);
    }
    add(p, "(");
    print_helper(p, KIND_NUMBER, "compare", a, b, false);
    strb_printf(p->out, " %s 0)", expr_op_symbol(op));
}

/* x in [1, 2]: only constants, so that nothing but x can fault. */
static void print_membership(printer *p, expr_op op, const expr *x, const expr *list)
{
    if (list->kind != NODE_CONST || list->constant.kind != VALUE_LIST) {
        refuse(p, list, "`in` a list that is not constant");
        return;
    }
    bool any = false;
    p->joined++;
    add(p, op == OP_IN ? "(" : "(!(");
    for (size_t i = 0; i < list->constant.as.list.n; i++) {
        value v = list->constant.as.list.items[i];
        if (!value_is_number(v))
            continue; /* equals no number */
        expr item = {.kind = NODE_CONST, .constant = v, .at = list->at};
        add(p, any ? " || " : "");
        print_pair(p, OP_EQ, x, &item);
        any = true;
    }
    add(p, op == OP_IN ? ")" : "))");
    p->joined--;
    if (!any)
        refuse(p, list, "`in` a list without numbers");
}

static void print_compare(printer *p, const expr *e)
{
    p->joined += e->n > 2;
    add(p, e->n > 2 ? "(" : "");
    for (size_t i = 1; i < e->n; i++) {
        expr_op op = e->ops[i - 1];
        add(p, i > 1 ? " && " : "");
        if (op == OP_IN || op == OP_NOT_IN)
            print_membership(p, op, e->kids[i - 1], e->kids[i]);
        else
            print_pair(p, op, e->kids[i - 1], e->kids[i]);
    }
    add(p, e->n > 2 ? ")" : "");
    p->joined -= e->n > 2;
}

static void print_conditions(printer *p, const expr *e)
{
    add(p, "(");
    p->joined++;
    for (size_t i = 0; i < e->n; i++) {
        add(p, i == 0 ? "" : e->kind == NODE_AND ? " && " : " || ");
        print_truth(p, e->kids[i]);
    }
    p->joined--;
    add(p, ")");
}

/* As a condition: whatever is not 0 holds. */
static void print_truth(printer *p, const expr *e)
{
    if (p->out->length > p->limit)
        refuse(p, e, "so long an expression");
    if (p->failed)
        return;
    if (e->kind == NODE_COMPARE) {
        print_compare(p, e);
    } else if (e->kind == NODE_AND || e->kind == NODE_OR) {
        print_conditions(p, e);
    } else if (e->kind == NODE_UNARY && e->op == OP_NOT) {
        add(p, "(!");
        print_truth(p, e->kids[0]);
        add(p, ")");
    } else if (e->kind == NODE_IF) {
        add(p, "(");
        print_truth(p, e->kids[0]);
        add(p, " ? ");
        print_truth(p, e->kids[1]);
        add(p, " : ");
        print_truth(p, e->kids[2]);
        add(p, ")");
    } else if (e->kind == NODE_CALL && e->op == OP_IS_POW2) {
        print_call(p, e, KIND_INT);
    } else {
        c_kind kind = kind_of(p, e);
        if (kind == KIND_NUMBER) {
            print_helper(p, KIND_NUMBER, "truth", e, NULL, false);
        } else if (kind != KIND_NONE) {
            add(p, "(");
            print_as(p, e, kind);
            add(p, kind == KIND_INT ? " != 0)" : " != 0.0)");
        }
    }
}

/* ---- entry ---- */

static void print_wanted(printer *p, const expr *e, bool *result_is_real)
{
    expr_c_want want = p->names->want;
    *result_is_real = want == EXPR_C_REAL;
    if (want == EXPR_C_TRUTH) {
        print_truth(p, e);
        return;
    }
    if (want == EXPR_C_ANY)
        *result_is_real = kind_of(p, e) != KIND_INT;
    print_as(p, e, *result_is_real ? KIND_REAL : KIND_INT);
}

static int highest_slot(const expr *e)
{
    int highest = e->kind == NODE_SLOT ? e->slot : -1;
    for (size_t i = 0; i < e->n; i++) {
        int kid = highest_slot(e->kids[i]);
        highest = kid > highest ? kid : highest;
    }
    return highest;
}

kw_code expr_print_c(const expr *e, const value *known, const expr_c_names *names, strb *out, bool *result_is_real,
                     kw_error *err)
{
    arena *a = arena_new();
    if (!known)
        known = arena_alloc(a, ((size_t)highest_slot(e) + 1) * sizeof *known); /* zero is VALUE_NONE */
    const expr *folded = expr_fold(a, e, known, err);
    size_t start = out->length;
    bool is_real = false, done = false;
    if (folded) {
        printer p = {
            .names = names, .source = folded->code->source, .out = out, .limit = start + MAX_C_TEXT, .err = err};
        print_wanted(&p, folded, &is_real);
        done = !p.failed;
    }
    if (!done)
        strb_truncate(out, start);
    if (result_is_real)
        *result_is_real = is_real;
    arena_free(a);
    return done ? KW_OK : KW_BAD_INPUT;
}
