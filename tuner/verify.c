/* The comparison of outputs. */
#include "tuner/verify.h"

#include "base/mem.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512 /* elements converted to doubles at a time */

/* The type that sums are kept in: the symbol ACC if the task has one, else the output's own. */
static dtype accumulator(const task *t, const task_types *types, dtype output)
{
    for (size_t i = 0; i < t->n_types; i++)
        if (strcmp(t->types[i].symbol, "ACC") == 0)
            return types->of[i];
    return output;
}

verify_rule verify_rule_of(const task *t, const task_types *types, const task_shape *shape, size_t tensor)
{
    dtype type = task_tensor_type(t, types, tensor), acc = accumulator(t, types, type);
    double length = fmax(task_reduction_length(t, types, shape), 1);
    return (verify_rule){.type = type,
                         .compare = t->tensors[tensor].compare,
                         .relative = 4 * dtype_epsilon(type),
                         .per_scale = 8 * dtype_epsilon(acc) * sqrt(length),
                         .floor = task_error_floor(t, types, tensor),
                         .exact_limit = fmin(dtype_max_exact_int(type), dtype_max_exact_int(acc))};
}

bool verify_must_be_exact(const verify_rule *r, const double *wanted, const double *scale, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double v = 4 * fabs(wanted[i]), s = 4 * fabs(scale[i]);
        if (!(v < r->exact_limit && s < r->exact_limit && v == floor(v) && s == floor(s)))
            return false;
        largest = fmax(largest, s / 4);
    }
    return largest >= 2;
}

static double largest_finite(dtype t)
{
    return t == DTYPE_F16 ? 65504 : t == DTYPE_F32 ? (double)FLT_MAX : DBL_MAX;
}

static double bound_of(const verify_rule *r, double want, double scale)
{
    if (r->exact || r->compare == TASK_COMPARE_EXACT)
        return 0;
    return r->relative * fabs(want) + r->per_scale * fabs(scale) + r->floor;
}

/* |x - v| / bound: at most 1 passes. */
static double error_ratio(const verify_rule *r, double x, double want, double bound)
{
    if (isnan(want) || isnan(x))
        return isnan(want) && isnan(x) ? 0 : (double)INFINITY;
    if (x == want)
        return 0;
    if (isinf(want))
        return (double)INFINITY;
    if (isinf(x)) {
        bool overflows = signbit(x) == signbit(want) && fabs(want) + bound >= largest_finite(r->type);
        return overflows ? 0 : (double)INFINITY;
    }
    double off = fabs(x - want);
    return off <= bound ? off / bound : bound > 0 ? fmax(off / bound, 1 + DBL_EPSILON) : (double)INFINITY;
}

static void add_wrong(const tensor_layout *l, uint64_t logical, double x, double want, double bound, verify_verdict *v)
{
    int64_t index[TASK_MAX_RANK] = {0};
    layout_index(l, logical, index);
    for (size_t d = 0; d < l->rank; d++) {
        v->low[d] = v->wrong == 0 || index[d] < v->low[d] ? index[d] : v->low[d];
        v->high[d] = v->wrong == 0 || index[d] > v->high[d] ? index[d] : v->high[d];
    }
    if (v->wrong++ == 0) {
        v->first = logical;
        v->got = x;
        v->expected = want;
        v->bound = bound;
    }
}

static bool is_poison(const tensor_layout *l, const void *got, uint64_t flat, int poison)
{
    const size_t size = dtype_bytes(l->type);
    const unsigned char *p = (const unsigned char *)got + flat * size;
    bool same = poison >= 0;
    for (size_t i = 0; i < size && same; i++)
        same = p[i] == poison;
    return same;
}

static void load_block(const tensor_layout *l, const void *base, uint64_t first, size_t n, double *out)
{
    if (l->type == DTYPE_F32) {
        const unsigned char *p = (const unsigned char *)base + first * sizeof(float);
        for (size_t i = 0; i < n; i++) {
            float f;
            memcpy(&f, p + i * sizeof f, sizeof f);
            out[i] = (double)f;
        }
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = dtype_load(l->type, base, first + i);
}

/* ---- the multiset of values ---- */

typedef struct pair {
    double value, scale;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    pair x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (isnan(x.value) || isnan(y.value))
        return isnan(x.value) - isnan(y.value);
    return x.value < y.value ? -1 : x.value > y.value;
}

static pair *sorted_pairs(const tensor_layout *l, const void *memory, const double *wanted, const double *scale,
                          double one_scale)
{
    pair *list = mem_calloc(l->count + 1, sizeof *list);
    for (uint64_t i = 0; i < l->count; i++) {
        list[i].value = wanted ? wanted[i] : dtype_load(l->type, memory, layout_flat(l, i));
        list[i].scale = scale ? scale[i] : one_scale;
    }
    qsort(list, l->count, sizeof *list, compare_pairs);
    return list;
}

static void verify_sets(const verify_rule *r, const tensor_layout *l, pair *got, pair *expected, double factor,
                        verify_verdict *v)
{
    for (uint64_t i = 0; i < l->count; i++) {
        double bound = factor * bound_of(r, expected[i].value, expected[i].scale);
        double ratio = error_ratio(r, got[i].value, expected[i].value, bound);
        v->worst = fmax(v->worst, ratio);
        if (ratio > 1)
            add_wrong(l, i, got[i].value, expected[i].value, bound, v);
    }
    v->compared += l->count;
    free(got);
    free(expected);
}

/* ---- elements in their places ---- */

/* `at`: where in `got` the element lies. */
static void verify_one(const verify_rule *r, const tensor_layout *l, const void *got, uint64_t at, int poison,
                       uint64_t element, double wanted, double scale, verify_verdict *v)
{
    double x = dtype_load(l->type, got, at), bound = bound_of(r, wanted, scale);
    double ratio = error_ratio(r, x, wanted, bound);
    v->worst = fmax(v->worst, ratio);
    if (ratio > 1) {
        v->unwritten += is_poison(l, got, at, poison);
        add_wrong(l, element, x, wanted, bound, v);
    }
}

void verify_values(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const uint64_t *logical,
                   size_t n, const double *wanted, const double *scale, verify_verdict *v)
{
    if (r->compare == TASK_COMPARE_SET) {
        /* A sample of a set says nothing about which values there must be; the trusted output decides then. */
        if (!logical)
            verify_sets(r, l, sorted_pairs(l, got, NULL, NULL, 0), sorted_pairs(l, NULL, wanted, scale, 0), 1, v);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t element = logical ? logical[i] : i;
        verify_one(r, l, got, layout_flat(l, element), poison, element, wanted[i], scale[i], v);
    }
    v->compared += n;
}

void verify_sample(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const uint64_t *logical,
                   size_t n, const double *wanted, const double *scale, verify_verdict *v)
{
    for (size_t i = 0; i < n; i++)
        verify_one(r, l, got, i, poison, logical[i], wanted[i], scale[i], v);
    v->compared += n;
}

bool verify_trusted_bound(const verify_rule *r, double max_scale, double *relative, double *absolute)
{
    const bool exact = bound_of(r, 1, max_scale) == 0;
    *relative = exact ? 0 : 2 * r->relative;
    *absolute = exact ? 0 : 2 * bound_of(r, 0, max_scale);
    return r->compare != TASK_COMPARE_SET;
}

static void verify_block(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const void *trusted,
                         double max_scale, uint64_t first, size_t n, verify_verdict *v)
{
    double x[BLOCK], wanted[BLOCK], relative, rest;
    verify_trusted_bound(r, max_scale, &relative, &rest);
    double share = fmin(v->worst, 1);
    load_block(l, got, first, n, x);
    load_block(l, trusted, first, n, wanted);
    for (size_t i = 0; i < n; i++) {
        /* Nearly all elements end here: they are no worse than the worst so far. NaN is not. */
        double bound = relative * fabs(wanted[i]) + rest;
        if (fabs(x[i] - wanted[i]) <= bound * share)
            continue;
        uint64_t logical = first + i;
        if (!l->dense && !layout_logical(l, first + i, &logical))
            continue;
        double ratio = error_ratio(r, x[i], wanted[i], bound);
        v->worst = fmax(v->worst, ratio);
        share = fmin(v->worst, 1);
        if (ratio > 1) {
            v->unwritten += is_poison(l, got, first + i, poison);
            add_wrong(l, logical, x[i], wanted[i], bound, v);
        }
    }
}

void verify_trusted(const verify_rule *r, const tensor_layout *l, const void *got, int poison, const void *trusted,
                    double max_scale, verify_verdict *v)
{
    if (r->compare == TASK_COMPARE_SET) {
        verify_sets(r, l, sorted_pairs(l, got, NULL, NULL, 0), sorted_pairs(l, trusted, NULL, NULL, max_scale), 2, v);
        return;
    }
    for (uint64_t first = 0; first < l->elements; first += BLOCK) {
        uint64_t left = l->elements - first;
        verify_block(r, l, got, poison, trusted, max_scale, first, left < BLOCK ? (size_t)left : BLOCK, v);
    }
    v->compared += l->count;
}

uint64_t verify_gaps(const tensor_layout *l, const void *got, const void *before, int poison, uint64_t *first)
{
    const size_t size = dtype_bytes(l->type);
    uint64_t changed = 0, logical;
    for (uint64_t i = 0; !l->dense && i < l->elements; i++) {
        bool same =
            before ? memcmp((const unsigned char *)got + i * size, (const unsigned char *)before + i * size, size) == 0
                   : is_poison(l, got, i, poison);
        if (!same && !layout_logical(l, i, &logical) && changed++ == 0)
            *first = i;
    }
    return changed;
}

/* ---- text ---- */

void verify_name_element(const char *tensor, const tensor_layout *l, uint64_t logical, strb *out)
{
    int64_t index[TASK_MAX_RANK] = {0};
    layout_index(l, logical, index);
    strb_add(out, tensor);
    for (size_t d = 0; d < l->rank; d++)
        strb_printf(out, "[%" PRId64 "]", index[d]);
}

/* "all in the last column": the pattern of a missing bounds check. */
static void describe_box(const tensor_layout *l, const verify_verdict *v, strb *out)
{
    for (size_t d = 0; d < l->rank; d++) {
        bool part = v->low[d] > 0 || v->high[d] < l->shape[d] - 1;
        if (!part || v->wrong < 2)
            continue;
        if (v->low[d] == l->shape[d] - 1)
            strb_printf(out, ", all at the last index of dimension %zu", d + 1);
        else if (v->low[d] == v->high[d])
            strb_printf(out, ", all at index %" PRId64 " of dimension %zu", v->low[d], d + 1);
        else
            strb_printf(out, ", all within %" PRId64 "..%" PRId64 " of 0..%" PRId64 " in dimension %zu", v->low[d],
                        v->high[d], l->shape[d] - 1, d + 1);
    }
}

/* NaN has a sign that says nothing, and every C library prints it in its own way. */
static void print_value(double x, strb *out)
{
    if (isnan(x))
        strb_add(out, "nan");
    else
        strb_printf(out, "%.9g", x);
}

void verify_describe(const char *tensor, const tensor_layout *l, const verify_verdict *v, strb *out)
{
    verify_name_element(tensor, l, v->first, out);
    strb_add(out, " is ");
    print_value(v->got, out);
    strb_add(out, ", expected ");
    print_value(v->expected, out);
    if (v->bound > 0 && isfinite(v->got) && isfinite(v->expected))
        strb_printf(out, " (off by %.3g, allowed %.3g)", fabs(v->got - v->expected), v->bound);
    else if (v->bound == 0)
        strb_add(out, " exactly");
    strb_printf(out, "; %" PRIu64 " of %" PRIu64 " compared elements wrong", v->wrong, v->compared);
    if (v->unwritten > 0)
        strb_printf(out, ", %" PRIu64 " of them never written", v->unwritten);
    describe_box(l, v, out);
}
