/* Runs a parsed body, within limits. */
#include "codegen/expand_body.h"

#include <inttypes.h>
#include <math.h>

typedef struct run {
    language lang;
    value *env;
    strb *out;
    arena *scratch;
    int64_t iterations, elements; /* loop rounds so far; list items still allowed */
    size_t start;                 /* length of `out` before */
    kw_error *err;
} run;

static kw_code run_block(run *r, const block *b);

static kw_code fail_at(run *r, const piece *p, kw_code code)
{
    return kw_error_set(r->err, code, "%s:%d:%d: %s", p->where.file, p->where.line, p->where.column, p->text);
}

/* Most of what is put into text is small integers: no printf for them. */
static void add_integer(strb *out, int64_t i)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (i < 0)
        *--at = '-';
    strb_add_n(out, at, (size_t)(digits + sizeof digits - at));
}

static kw_code add_value(run *r, const piece *p, value v)
{
    switch (v.kind) {
    case VALUE_BOOL:
        strb_add_char(r->out, v.as.boolean ? '1' : '0');
        return KW_OK;
    case VALUE_INT:
        add_integer(r->out, v.as.integer);
        return KW_OK;
    case VALUE_STRING:
        strb_add(r->out, v.as.string);
        return KW_OK;
    case VALUE_TYPE:
        strb_add(r->out, language_type(r->lang, v.as.type));
        return KW_OK;
    case VALUE_REAL:
        if (v.as.real == floor(v.as.real) && fabs(v.as.real) <= 0x1p53) {
            strb_printf(r->out, "%.0f", v.as.real == 0 ? 0.0 : v.as.real);
            return KW_OK;
        }
        return kw_error_set(r->err, KW_BAD_INPUT,
                            "%s:%d:%d: ${%s} is %g, not an integer: write // or ceil_div for an integer, or "
                            "lit(TYPE, x) for a number of the kernel's language",
                            p->where.file, p->where.line, p->where.column, expr_text(p->value), v.as.real);
    case VALUE_LIST:
    case VALUE_NONE:
        break;
    }
    return kw_error_set(r->err, KW_BAD_INPUT, "%s:%d:%d: ${%s} is a %s, which cannot be put into text", p->where.file,
                        p->where.line, p->where.column, expr_text(p->value), value_kind_name(v.kind));
}

static kw_code evaluate(run *r, const expr *e, expr_want want, value *out)
{
    return expr_eval_within(e, r->env, r->scratch, &r->elements, want, out, r->err);
}

static kw_code evaluate_int(run *r, const expr *e, int64_t *out)
{
    value v;
    kw_code code = evaluate(r, e, EXPR_INT, &v);
    *out = code == KW_OK ? v.as.integer : 0;
    return code;
}

static kw_code evaluate_truth(run *r, const expr *e, bool *out)
{
    value v;
    kw_code code = evaluate(r, e, EXPR_TRUTH, &v);
    *out = code == KW_OK && v.as.boolean;
    return code;
}

static kw_code run_value(run *r, const piece *p)
{
    value v;
    kw_code code = evaluate(r, p->value, EXPR_ANY, &v);
    return code == KW_OK ? add_value(r, p, v) : code;
}

static kw_code count_steps(run *r, const piece *p, int64_t lo, int64_t hi, int64_t step, int64_t *n)
{
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    if (stride == 0)
        return kw_error_set(r->err, KW_BAD_INPUT, "%s:%d:%d: the step of the loop is 0", p->where.file, p->where.line,
                            p->where.column);
    uint64_t distance = 0;
    if (step > 0 && hi > lo)
        distance = (uint64_t)hi - (uint64_t)lo;
    if (step < 0 && lo > hi)
        distance = (uint64_t)lo - (uint64_t)hi;
    uint64_t count = distance / stride + (distance % stride != 0);
    if (count > (uint64_t)(EXPAND_MAX_ITERATIONS - r->iterations))
        return kw_error_set(r->err, KW_BAD_INPUT,
                            "%s:%d:%d: this loop would run %" PRIu64
                            " times; the limit of one expansion is %d steps of "
                            "all loops together",
                            p->where.file, p->where.line, p->where.column, count, EXPAND_MAX_ITERATIONS);
    *n = (int64_t)count;
    return KW_OK;
}

static kw_code run_for(run *r, const piece *p)
{
    int64_t lo = 0, hi = 0, step = 1, n = 0;
    kw_code code = evaluate_int(r, p->lo, &lo);
    if (code == KW_OK)
        code = evaluate_int(r, p->hi, &hi);
    if (code == KW_OK && p->step != NULL)
        code = evaluate_int(r, p->step, &step);
    if (code == KW_OK)
        code = count_steps(r, p, lo, hi, step, &n);
    if (code != KW_OK)
        return code;
    r->iterations += n;
    for (int64_t i = 0; code == KW_OK && i < n; i++) {
        r->env[p->slot] = value_int((int64_t)((uint64_t)lo + (uint64_t)i * (uint64_t)step));
        code = run_block(r, &p->body);
    }
    return code;
}

static kw_code run_if(run *r, const piece *p)
{
    for (size_t i = 0; i < p->n_branches; i++) {
        bool holds = true;
        if (p->branches[i].test != NULL) {
            kw_code code = evaluate_truth(r, p->branches[i].test, &holds);
            if (code != KW_OK)
                return code;
        }
        if (holds)
            return run_block(r, &p->branches[i].body);
    }
    return KW_OK;
}

static kw_code run_require(run *r, const piece *p)
{
    bool holds;
    kw_code code = evaluate_truth(r, p->value, &holds);
    return code != KW_OK || holds ? code : fail_at(r, p, KW_FAILED);
}

static kw_code run_piece(run *r, const piece *p)
{
    switch (p->kind) {
    case PIECE_TEXT:
        strb_add_n(r->out, p->text, p->length);
        return KW_OK;
    case PIECE_VALUE:
        return run_value(r, p);
    case PIECE_FOR:
        return run_for(r, p);
    case PIECE_IF:
        return run_if(r, p);
    case PIECE_LET:
        return evaluate(r, p->value, EXPR_ANY, &r->env[p->slot]);
    case PIECE_REQUIRE:
        break;
    }
    return run_require(r, p);
}

static kw_code run_block(run *r, const block *b)
{
    for (size_t i = 0; i < b->n; i++) {
        kw_code code = run_piece(r, &b->items[i]);
        if (code != KW_OK)
            return code;
        if (r->out->length - r->start > EXPAND_MAX_BYTES) {
            const piece *p = &b->items[i];
            return kw_error_set(r->err, KW_BAD_INPUT, "%s:%d:%d: the expanded text is over the limit of %u MiB",
                                p->where.file, p->where.line, p->where.column, EXPAND_MAX_BYTES >> 20);
        }
    }
    return KW_OK;
}

kw_code body_expand(const body *b, language lang, value *env, strb *out, kw_error *err)
{
    run r = {lang, env, out, arena_new(), 0, EXPR_MAX_TOTAL_ELEMENTS, out->length, err};
    kw_code code = run_block(&r, &b->top);
    arena_free(r.scratch);
    return code;
}
