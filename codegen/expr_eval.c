/* Runs the code of an expression. Two integers take the short cuts below, which neither allocate nor call; everything
 * else, errors included, goes through expr_ops.c. */
#include "codegen/expr_internal.h"

#include <stdio.h>
#include <string.h>

#define INSTRUCTIONS_PER_ELEMENT 16 /* that count as one list item where a row of evaluations is bounded */

typedef struct machine {
    const value *space[3]; /* by SPACE_ */
    value *temps;
    op_context ops;
    uint32_t failed; /* instruction that failed */
    bool unknown;    /* it failed because a slot has no value */
} machine;

/* Integers below 2^32 divide about twice as fast in 32 bits, and need no care for signs. */
static bool are_small(int64_t a, int64_t b)
{
    return (((uint64_t)a | (uint64_t)b) >> 32) == 0;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* true if done; false: take the long way. */
static bool divide(expr_op op, int64_t a, int64_t b, value *out)
{
    int64_t r;
    if (b == 0 || b == -1)
        return false;
    if (are_small(a, b)) {
        uint32_t x = (uint32_t)a, y = (uint32_t)b;
        if (op == OP_DIV && x % y != 0)
            return false;
        r = op == OP_MOD ? x % y : x / y;
    } else if (op == OP_FLOOR_DIV) {
        r = floor_quotient(a, b);
    } else {
        int64_t rest = a % b;
        if (op == OP_DIV && rest != 0)
            return false;
        r = op == OP_DIV ? a / b : rest + (rest != 0 && (a < 0) != (b < 0) ? b : 0);
    }
    out->kind = VALUE_INT;
    out->as.integer = r;
    return true;
}

static bool truth(const value *v)
{
    return v->kind == VALUE_BOOL ? v->as.boolean : v->kind == VALUE_INT ? v->as.integer != 0 : expr_op_truth(*v);
}

/* One step of a `for` of a comprehension; sets *done after the last item. */
static bool next_item(machine *m, value *t, bool *done)
{
    if (t[0].kind != VALUE_LIST) {
        if (m->ops.explain)
            snprintf(m->ops.reason, sizeof m->ops.reason, "'for' goes through a list, not %s",
                     value_kind_name(t[0].kind));
        return false;
    }
    int64_t i = t[1].as.integer++;
    *done = (size_t)i >= t[0].as.list.n;
    if (*done)
        return true;
    /* Counted like made items, so that nested loops over long lists end too. */
    if (m->ops.elements-- <= 0)
        return expr_too_much(&m->ops);
    t[2] = t[0].as.list.items[i];
    return true;
}

static const value *fetch(const machine *m, uint32_t operand)
{
    return m->space[operand & 3] + (operand >> 2);
}

/* The short cuts end with `continue`; `break` leads to the long way. */
#define BOTH_INT (b = fetch(m, in->b), a->kind == VALUE_INT && b->kind == VALUE_INT)
#define COMPARE(op) \
    if (BOTH_INT) { \
        dst->as.boolean = a->as.integer op b->as.integer; \
        dst->kind = VALUE_BOOL; \
        continue; \
    } \
    break
#define ARITHMETIC(builtin) \
    if (BOTH_INT && !builtin(a->as.integer, b->as.integer, &r)) { \
        dst->as.integer = r; \
        dst->kind = VALUE_INT; \
        continue; \
    } \
    break

/* The rest of the operations; false on failure. */
static bool slow(machine *m, const instr *in, uint32_t *pc)
{
    value *dst = m->temps + in->dst;
    const value *a = fetch(m, in->a);
    bool done = false;
    switch ((int)in->op) {
    case OP_RANGE:
        return expr_op_range(&m->ops, a[0], a[1], a[2], dst);
    case OP_LIST_NEW:
        *dst = (value){.kind = VALUE_LIST};
        return true;
    case OP_LIST_PUSH:
        return a->kind != VALUE_NONE && expr_op_list_push(&m->ops, dst, *a);
    case OP_NEXT:
        if (!next_item(m, dst, &done))
            return false;
        if (done)
            *pc = in->b;
        return true;
    case OP_MOVE: /* of nothing */
    case OP_JUMP_IF_FALSE:
    case OP_JUMP_IF_TRUE:
        return false;
    default:
        break;
    }
    if (in->op <= OP_LIST)
        return expr_op_apply1(&m->ops, (expr_op)in->op, *a, dst);
    return expr_op_apply2(&m->ops, (expr_op)in->op, *a, *fetch(m, in->b), dst);
}

static bool run(machine *m, const instr *code, uint32_t from, uint32_t to)
{
    uint32_t pc = from;
    while (pc < to) {
        const instr *in = &code[pc++];
        value *dst = m->temps + in->dst;
        const value *a = fetch(m, in->a);
        const value *b;
        int64_t r;
        switch ((int)in->op) {
        case OP_ADD:
            ARITHMETIC(__builtin_add_overflow);
        case OP_SUB:
            ARITHMETIC(__builtin_sub_overflow);
        case OP_MUL:
            ARITHMETIC(__builtin_mul_overflow);
        case OP_DIV:
        case OP_FLOOR_DIV:
        case OP_MOD:
            if (BOTH_INT && divide((expr_op)in->op, a->as.integer, b->as.integer, dst))
                continue;
            break;
        case OP_LT:
            COMPARE(<);
        case OP_LE:
            COMPARE(<=);
        case OP_GT:
            COMPARE(>);
        case OP_GE:
            COMPARE(>=);
        case OP_EQ:
            COMPARE(==);
        case OP_NE:
            COMPARE(!=);
        case OP_MOVE:
            *dst = *a;
            if (a->kind != VALUE_NONE)
                continue;
            break;
        case OP_JUMP:
            pc = in->b;
            continue;
        case OP_JUMP_IF_FALSE:
        case OP_JUMP_IF_TRUE:
            if (a->kind == VALUE_NONE)
                break;
            if (truth(a) == (in->op == OP_JUMP_IF_TRUE))
                pc = in->b;
            continue;
        default:
            break;
        }
        if (!slow(m, in, &pc)) {
            m->failed = (uint32_t)(in - code);
            return false;
        }
    }
    return true;
}

/* ---- failures ---- */

static bool is_unknown_slot(const expr *e, const value *env)
{
    return e->kind == NODE_SLOT && env[e->slot].kind == VALUE_NONE;
}

/* A slot without a value is what went wrong, whatever the operation made of it. */
static const expr *unknown_slot(const expr *e, const value *env)
{
    if (is_unknown_slot(e, env))
        return e;
    for (size_t i = 0; i < e->n; i++) {
        if (is_unknown_slot(e->kids[i], env))
            return e->kids[i];
    }
    return NULL;
}

static kw_code unknown_error(const expr *e, kw_error *err)
{
    return expr_source_error(e->code->source, e->at, err, "%s is not known here", e->name);
}

static kw_code report(const machine *m, const expr *root, const value *env, kw_error *err)
{
    if (!err)
        return KW_BAD_INPUT;
    const expr *e = root->code->nodes[m->failed];
    const expr *slot = unknown_slot(e, env);
    if (slot)
        return unknown_error(slot, err);
    int shown = strlen(e->text) > 80 ? 77 : (int)strlen(e->text);
    return expr_source_error(root->code->source, e->at, err, "%s in %.*s%s", m->ops.reason, shown, e->text,
                             e->text[shown] ? "..." : "");
}

/* Evaluates; *own receives an arena that the caller frees when the value has been read (may_own only). `elements`
 * may be NULL: see expr_eval_within. */
static kw_code evaluate(const expr *e, const value *env, arena *scratch, arena **own, int64_t *elements, value *out,
                        kw_error *err)
{
    value temps[EXPR_MAX_TEMPS];
    machine m;
    m.space[SPACE_ENV] = env;
    m.space[SPACE_CONST] = e->code->constants;
    m.space[SPACE_TEMP] = m.temps = temps;
    m.ops.scratch = scratch;
    m.ops.owned = NULL;
    m.ops.may_own = own != NULL;
    m.ops.lang = e->code->lang;
    m.ops.elements = elements && *elements < EXPR_MAX_ELEMENTS ? *elements : EXPR_MAX_ELEMENTS;
    int64_t allowed = m.ops.elements;
    if (elements)
        m.ops.elements -= 1 + (e->to - e->from) / INSTRUCTIONS_PER_ELEMENT;
    m.ops.explain = err != NULL;
    m.ops.reason[0] = '\0';
    bool done = run(&m, e->code->instrs, e->from, e->to);
    if (own)
        *own = m.ops.owned;
    if (elements)
        *elements -= allowed - m.ops.elements;
    if (!done)
        return report(&m, e, env, err);
    *out = *fetch(&m, e->result);
    return out->kind == VALUE_NONE ? unknown_error(e, err) : KW_OK;
}

kw_code expr_eval(const expr *e, const value *env, arena *scratch, value *out, kw_error *err)
{
    return evaluate(e, env, scratch, NULL, NULL, out, err);
}

static kw_code not_an_integer(const expr *e, value v, kw_error *err)
{
    strb text = STRB_INIT;
    value_print(v, &text);
    const char *advice = v.kind == VALUE_REAL ? "; use // or ceil_div, which give integers" : "";
    kw_code code = expr_source_error(e->code->source, e->at, err, "%.60s is %s, not an integer%s", strb_text(&text),
                                     v.kind == VALUE_REAL ? "real" : value_kind_name(v.kind), advice);
    strb_clear(&text);
    return code;
}

kw_code expr_eval_within(const expr *e, const value *env, arena *scratch, int64_t *elements, expr_want want, value *out,
                         kw_error *err)
{
    if (*elements <= 0)
        return expr_source_error(e->code->source, e->at, err, "this text takes more than %d evaluations and list items",
                                 EXPR_MAX_TOTAL_ELEMENTS);
    kw_code code = evaluate(e, env, scratch, NULL, elements, out, err);
    if (code != KW_OK || want == EXPR_ANY)
        return code;
    if (want == EXPR_TRUTH)
        *out = value_bool(truth(out));
    else if (!expr_is_whole(*out))
        return not_an_integer(e, *out, err);
    else
        *out = value_int(expr_whole(*out));
    return KW_OK;
}

kw_code expr_eval_int(const expr *e, const value *env, int64_t *out, kw_error *err)
{
    arena *own = NULL;
    value v;
    kw_code code = evaluate(e, env, NULL, &own, NULL, &v, err);
    if (code == KW_OK && v.kind == VALUE_INT)
        *out = v.as.integer;
    else if (code == KW_OK && v.kind == VALUE_BOOL)
        *out = v.as.boolean;
    else if (code == KW_OK)
        code = not_an_integer(e, v, err);
    arena_free(own);
    return code;
}

kw_code expr_eval_truth(const expr *e, const value *env, bool *out, kw_error *err)
{
    arena *own = NULL;
    value v;
    kw_code code = evaluate(e, env, NULL, &own, NULL, &v, err);
    if (code == KW_OK)
        *out = truth(&v);
    arena_free(own);
    return code;
}

kw_code expr_eval_real(const expr *e, const value *env, double *out, kw_error *err)
{
    arena *own = NULL;
    value v;
    kw_code code = evaluate(e, env, NULL, &own, NULL, &v, err);
    if (code == KW_OK && v.kind == VALUE_REAL)
        *out = v.as.real;
    else if (code == KW_OK && v.kind == VALUE_INT)
        *out = (double)v.as.integer;
    else if (code == KW_OK && v.kind == VALUE_BOOL)
        *out = v.as.boolean;
    else if (code == KW_OK)
        code = expr_source_error(e->code->source, e->at, err, "a number is needed, not %s", value_kind_name(v.kind));
    arena_free(own);
    return code;
}
