/* One expression for many values of one slot: the row of a table. Each instruction is decoded once and run over all
 * values, and once altogether where its operands do not depend on the slot. Only for integers in straight code; all
 * else is left to the evaluation of one value. */
#include "codegen/expr_internal.h"

#include <string.h>

#define MAX_TEMPS 24 /* results held at once */
#define LANES EXPR_MANY

/* An operand or result: one number for all lanes, or one for each. */
typedef struct row {
    bool is_bool, uniform;
    int64_t one;
    int64_t each[LANES];
} row;

typedef struct rows {
    const value *env, *constants;
    int slot;
    row varying; /* the slot's values */
    row scratch[2];
    row temps[MAX_TEMPS];
} rows;

/* NULL if it is no integer (or truth value of a comparison). */
static const row *fetch(rows *m, uint32_t operand, int which)
{
    uint32_t i = operand >> 2;
    if ((operand & 3) == SPACE_TEMP)
        return i < MAX_TEMPS ? &m->temps[i] : NULL;
    if ((operand & 3) == SPACE_ENV && (int)i == m->slot)
        return &m->varying;
    const value *v = (operand & 3) == SPACE_ENV ? &m->env[i] : &m->constants[i];
    if (v->kind != VALUE_INT)
        return NULL;
    m->scratch[which].is_bool = false;
    m->scratch[which].uniform = true;
    m->scratch[which].one = v->as.integer;
    return &m->scratch[which];
}

/* Over all lanes, or the first alone where both operands are one number. */
#define EACH(statement) \
    for (size_t i = 0; i < n; i++) { \
        int64_t x = px[i * sx], y = py[i * sy]; \
        statement; \
    } \
    break
/* Where the quotient or remainder needs no care. */
#define DIVIDE(result) EACH(bad |= x < 0 || y <= 0; y = y > 0 ? y : 1; to[i] = (result))

static bool apply(uint16_t op, const row *a, const row *b, row *out, size_t n)
{
    const int64_t *px = a->uniform ? &a->one : a->each, *py = b->uniform ? &b->one : b->each;
    size_t sx = !a->uniform, sy = !b->uniform;
    bool uniform = a->uniform && b->uniform, bad = false;
    int64_t *to = uniform ? &out->one : out->each;
    n = uniform ? 1 : n;
    switch ((int)op) {
    case OP_ADD:
        EACH(bad |= __builtin_add_overflow(x, y, &to[i]));
    case OP_SUB:
        EACH(bad |= __builtin_sub_overflow(x, y, &to[i]));
    case OP_MUL:
        EACH(bad |= __builtin_mul_overflow(x, y, &to[i]));
    case OP_FLOOR_DIV:
        DIVIDE(x / y);
    case OP_MOD:
        DIVIDE(x % y);
    case OP_LT:
        EACH(to[i] = x < y);
    case OP_LE:
        EACH(to[i] = x <= y);
    case OP_GT:
        EACH(to[i] = x > y);
    case OP_GE:
        EACH(to[i] = x >= y);
    case OP_EQ:
        EACH(to[i] = x == y);
    case OP_NE:
        EACH(to[i] = x != y);
    default:
        return false;
    }
    out->uniform = uniform;
    out->is_bool = op >= OP_LT && op <= OP_NE;
    return !bad;
}

bool expr_eval_truth_many(const expr *e, const value *env, int slot, const int64_t *values, size_t n, bool *out)
{
    rows m;
    m.env = env;
    m.constants = e->code->constants;
    m.slot = slot;
    m.varying.is_bool = m.varying.uniform = false;
    if (n > LANES)
        return false;
    memcpy(m.varying.each, values, n * sizeof *values);
    for (uint32_t pc = e->from; pc < e->to; pc++) {
        const instr *in = &e->code->instrs[pc];
        if (in->op < OP_ADD || in->op > OP_NE || in->op == OP_POW || in->op == OP_DIV || in->dst >= MAX_TEMPS)
            return false;
        const row *a = fetch(&m, in->a, 0), *b = fetch(&m, in->b, 1);
        if (!a || !b || a->is_bool || b->is_bool || !apply(in->op, a, b, &m.temps[in->dst], n))
            return false;
    }
    const row *result = fetch(&m, e->result, 0);
    for (size_t i = 0; result && i < n; i++)
        out[i] = (result->uniform ? result->one : result->each[i]) != 0;
    return result != NULL;
}
