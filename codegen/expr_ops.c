/* What the operators and functions mean. The code in expr_eval.c takes short cuts for two integers; this is the full
 * meaning, used for everything else, for folding, and as what the short cuts must agree with. */
#include "codegen/expr_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool expr_because(op_context *c, const char *format, ...)
{
    if (c->explain) {
        va_list args;
        va_start(args, format);
        vsnprintf(c->reason, sizeof c->reason, format, args);
        va_end(args);
    }
    return false;
}

bool expr_too_much(op_context *c)
{
    return expr_because(c, "more than %d list items, or %d in one text", EXPR_MAX_ELEMENTS, EXPR_MAX_TOTAL_ELEMENTS);
}

static bool overflow(op_context *c)
{
    return expr_because(c, "overflow");
}

static bool zero_division(op_context *c)
{
    return expr_because(c, "division by zero");
}

const char *expr_op_symbol(expr_op op)
{
    static const char *const symbols[] = {[OP_NEG] = "-",
                                          [OP_POS] = "+",
                                          [OP_NOT] = "not",
                                          [OP_ABS] = "abs",
                                          [OP_IS_POW2] = "is_pow2",
                                          [OP_LOG2] = "log2",
                                          [OP_SIZEOF] = "sizeof",
                                          [OP_MIN_LIST] = "min",
                                          [OP_MAX_LIST] = "max",
                                          [OP_LIST] = "list",
                                          [OP_ADD] = "+",
                                          [OP_SUB] = "-",
                                          [OP_MUL] = "*",
                                          [OP_DIV] = "/",
                                          [OP_FLOOR_DIV] = "//",
                                          [OP_MOD] = "%",
                                          [OP_POW] = "**",
                                          [OP_LT] = "<",
                                          [OP_LE] = "<=",
                                          [OP_GT] = ">",
                                          [OP_GE] = ">=",
                                          [OP_EQ] = "==",
                                          [OP_NE] = "!=",
                                          [OP_IN] = "in",
                                          [OP_NOT_IN] = "not in",
                                          [OP_MIN] = "min",
                                          [OP_MAX] = "max",
                                          [OP_CEIL_DIV] = "ceil_div",
                                          [OP_ROUND_UP] = "round_up",
                                          [OP_VEC] = "vec",
                                          [OP_LIT] = "lit",
                                          [OP_INDEX] = "[]",
                                          [OP_RANGE] = "range"};
    return symbols[op];
}

bool expr_op_truth(value v)
{
    switch (v.kind) {
    case VALUE_BOOL:
        return v.as.boolean;
    case VALUE_INT:
        return v.as.integer != 0;
    case VALUE_REAL:
        return v.as.real != 0;
    case VALUE_STRING:
        return v.as.string[0] != '\0';
    case VALUE_LIST:
        return v.as.list.n > 0;
    case VALUE_TYPE:
        return true;
    case VALUE_NONE:
        break;
    }
    return false;
}

/* ---- numbers ---- */

static double real(value v)
{
    return v.kind == VALUE_REAL ? v.as.real : (double)expr_whole(v);
}

static bool wrong_kinds(op_context *c, expr_op op, value a, value b)
{
    return expr_because(c, "'%s' does not apply to %s and %s", expr_op_symbol(op), value_kind_name(a.kind),
                        value_kind_name(b.kind));
}

bool expr_wrong_kind(op_context *c, expr_op op, const char *needed, value a)
{
    return expr_because(c, "'%s' needs %s, not %s", expr_op_symbol(op), needed, value_kind_name(a.kind));
}

static bool set_int(value *out, int64_t i)
{
    *out = value_int(i);
    return true;
}

/* There are no infinities and no NaN: what would give one is an error. */
static bool set_real(op_context *c, value *out, double r)
{
    *out = value_real(r);
    return isfinite(r) || overflow(c);
}

/* Towards minus infinity; b is not 0 and the quotient fits. */
static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool power_int(op_context *c, int64_t base, int64_t exponent, value *out)
{
    int64_t result = 1;
    for (;;) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return overflow(c);
        exponent >>= 1;
        if (!exponent)
            return set_int(out, result);
        if (__builtin_mul_overflow(base, base, &base))
            return overflow(c);
    }
}

static bool power_real(op_context *c, double base, double exponent, value *out)
{
    if (base == 0 && exponent < 0)
        return zero_division(c);
    if (base < 0 && exponent != floor(exponent))
        return expr_because(c, "a negative number has no real power of %g", exponent);
    return set_real(c, out, pow(base, exponent));
}

static bool whole_arithmetic(op_context *c, expr_op op, int64_t a, int64_t b, value *out)
{
    int64_t r = 0;
    bool divides = op == OP_DIV || op == OP_FLOOR_DIV || op == OP_MOD;
    if (divides && b == 0)
        return zero_division(c);
    if (divides && b == -1) /* INT64_MIN / -1 does not fit, and INT64_MIN % -1 traps */
        return op == OP_MOD ? set_int(out, 0) : whole_arithmetic(c, OP_SUB, 0, a, out);
    switch ((int)op) {
    case OP_ADD:
        return __builtin_add_overflow(a, b, &r) ? overflow(c) : set_int(out, r);
    case OP_SUB:
        return __builtin_sub_overflow(a, b, &r) ? overflow(c) : set_int(out, r);
    case OP_MUL:
        return __builtin_mul_overflow(a, b, &r) ? overflow(c) : set_int(out, r);
    case OP_DIV:
        return a % b == 0 ? set_int(out, a / b) : set_real(c, out, (double)a / (double)b);
    case OP_FLOOR_DIV:
        return set_int(out, floor_quotient(a, b));
    case OP_MOD:
        return set_int(out, a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
    default:
        return b < 0 ? power_real(c, (double)a, (double)b, out) : power_int(c, a, b, out);
    }
}

/* Floor division and remainder that belong together, as Python rounds them. */
static bool real_division(op_context *c, expr_op op, double a, double b, value *out)
{
    if (b == 0)
        return zero_division(c);
    double remainder = fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        remainder += b;
        quotient -= 1;
    }
    if (op == OP_MOD)
        return set_real(c, out, remainder);
    double down = floor(quotient);
    return set_real(c, out, quotient - down > 0.5 ? down + 1 : down);
}

static bool real_arithmetic(op_context *c, expr_op op, double a, double b, value *out)
{
    switch ((int)op) {
    case OP_ADD:
        return set_real(c, out, a + b);
    case OP_SUB:
        return set_real(c, out, a - b);
    case OP_MUL:
        return set_real(c, out, a * b);
    case OP_DIV:
        return b == 0 ? zero_division(c) : set_real(c, out, a / b);
    case OP_POW:
        return power_real(c, a, b, out);
    default:
        return real_division(c, op, a, b, out);
    }
}

/* ---- either, or text and lists ---- */

static bool arithmetic(op_context *c, expr_op op, value a, value b, value *out)
{
    if (expr_is_whole(a) && expr_is_whole(b))
        return whole_arithmetic(c, op, expr_whole(a), expr_whole(b), out);
    if (value_is_number(a) && value_is_number(b))
        return real_arithmetic(c, op, real(a), real(b), out);
    if (op == OP_ADD && a.kind == VALUE_LIST && b.kind == VALUE_LIST)
        return expr_list_join(c, a, b, out);
    if (op == OP_ADD && a.kind == VALUE_STRING && b.kind == VALUE_STRING)
        return expr_text_join(c, a, b, out);
    return wrong_kinds(c, op, a, b);
}

/* ---- comparisons ---- */

static bool order(op_context *c, expr_op op, value a, value b, int *out)
{
    if (!(value_is_number(a) && value_is_number(b)) && !(a.kind == VALUE_STRING && b.kind == VALUE_STRING))
        return wrong_kinds(c, op, a, b);
    *out = value_compare(a, b);
    return true;
}

/* Text against a type is never equal; whoever writes T == "f32" means T == f32. */
static bool equality(op_context *c, expr_op op, value a, value b, value *out)
{
    if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
        return wrong_kinds(c, op, a, b);
    if ((a.kind == VALUE_TYPE && b.kind == VALUE_STRING) || (a.kind == VALUE_STRING && b.kind == VALUE_TYPE))
        return expr_because(c, "a type is compared with text: write the name of the type without quotes");
    *out = value_bool(value_equal(a, b) == (op == OP_EQ));
    return true;
}

static bool compare(op_context *c, expr_op op, value a, value b, value *out)
{
    int d = 0;
    if (!order(c, op, a, b, &d))
        return false;
    switch ((int)op) {
    case OP_LT:
        *out = value_bool(d < 0);
        break;
    case OP_LE:
        *out = value_bool(d <= 0);
        break;
    case OP_GT:
        *out = value_bool(d > 0);
        break;
    case OP_GE:
        *out = value_bool(d >= 0);
        break;
    case OP_MIN:
        *out = d > 0 ? b : a;
        break; /* the first of equals */
    default:
        *out = d < 0 ? b : a;
        break;
    }
    return true;
}

/* ---- functions ---- */

static bool whole_function(op_context *c, expr_op op, value a, value b, value *out)
{
    if (!expr_is_whole(a) || !expr_is_whole(b))
        return expr_wrong_kind(c, op, "integers", expr_is_whole(a) ? b : a);
    int64_t x = expr_whole(a), y = expr_whole(b), r;
    if (y == 0)
        return zero_division(c);
    if (x == INT64_MIN && y == -1)
        return overflow(c);
    int64_t up = x / y + (x % y != 0 && (x < 0) == (y < 0));
    if (op == OP_CEIL_DIV)
        return set_int(out, up);
    return __builtin_mul_overflow(up, y, &r) ? overflow(c) : set_int(out, r);
}

/* log2 m = 2 atanh((m-1)/(m+1)) / ln 2 for m in [sqrt(1/2), sqrt(2)): within 2 units in the last place. */
double expr_op_log2(double x)
{
    int exponent;
    double m = frexp(x, &exponent) * 2;
    exponent--;
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * z + 1.0 / k;
    return exponent + s * sum * 2.8853900817779268;
}

static bool log2_of(op_context *c, value a, value *out)
{
    if (!value_is_number(a))
        return expr_wrong_kind(c, OP_LOG2, "a number", a);
    double x = real(a);
    if (x <= 0)
        return expr_because(c, "log2 of a number that is not positive");
    int64_t i = expr_is_whole(a) ? expr_whole(a) : 0;
    if (i > 0 && (i & (i - 1)) == 0)
        return set_int(out, __builtin_ctzll((unsigned long long)i));
    int exponent;
    if (a.kind == VALUE_REAL && frexp(x, &exponent) == 0.5)
        return set_int(out, exponent - 1);
    return set_real(c, out, expr_op_log2(x));
}

static bool sign_or_magnitude(op_context *c, expr_op op, value a, value *out)
{
    if (!value_is_number(a))
        return expr_wrong_kind(c, op, "a number", a);
    if (op == OP_POS) {
        *out = a.kind == VALUE_BOOL ? value_int(expr_whole(a)) : a;
        return true;
    }
    if (a.kind == VALUE_REAL)
        return set_real(c, out, op == OP_NEG ? -a.as.real : fabs(a.as.real));
    int64_t i = expr_whole(a);
    if (op == OP_ABS && i >= 0)
        return set_int(out, i);
    return i == INT64_MIN ? overflow(c) : set_int(out, -i);
}

bool expr_op_apply1(op_context *c, expr_op op, value a, value *out)
{
    switch ((int)op) {
    case OP_NEG:
    case OP_POS:
    case OP_ABS:
        return sign_or_magnitude(c, op, a, out);
    case OP_NOT:
        *out = value_bool(!expr_op_truth(a));
        return a.kind != VALUE_NONE || expr_wrong_kind(c, op, "a value", a);
    case OP_IS_POW2:
        if (!expr_is_whole(a))
            return expr_wrong_kind(c, op, "an integer", a);
        *out = value_bool(expr_whole(a) > 0 && (expr_whole(a) & (expr_whole(a) - 1)) == 0);
        return true;
    case OP_LOG2:
        return log2_of(c, a, out);
    case OP_SIZEOF:
        *out = value_int((int64_t)(a.kind == VALUE_TYPE ? dtype_bytes(a.as.type) : 0));
        return a.kind == VALUE_TYPE || expr_wrong_kind(c, op, "a type", a);
    case OP_LIST:
        *out = a;
        return a.kind == VALUE_LIST || expr_wrong_kind(c, op, "a list", a);
    default:
        return expr_list_extreme(c, op, a, out);
    }
}

bool expr_op_apply2(op_context *c, expr_op op, value a, value b, value *out)
{
    switch ((int)op) {
    case OP_EQ:
    case OP_NE:
        return equality(c, op, a, b, out);
    case OP_IN:
    case OP_NOT_IN:
        return expr_list_contains(c, op, a, b, out);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_MIN:
    case OP_MAX:
        return compare(c, op, a, b, out);
    case OP_CEIL_DIV:
    case OP_ROUND_UP:
        return whole_function(c, op, a, b, out);
    case OP_VEC:
    case OP_LIT:
        return expr_typed_text(c, op, a, b, out);
    case OP_INDEX:
        return expr_list_item(c, a, b, out);
    default:
        return arithmetic(c, op, a, b, out);
    }
}
