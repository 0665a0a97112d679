/* Operations on lists, and those that make text. */
#include "codegen/expr_internal.h"

#include <string.h>

static arena *scratch_of(op_context *c)
{
    if (!c->scratch && c->may_own)
        c->scratch = c->owned = arena_new();
    if (!c->scratch)
        expr_because(c, "no list or text can be made here");
    return c->scratch;
}

/* Of the items that may be made or looked at. */
static bool take_elements(op_context *c, size_t n)
{
    if (c->elements < 0 || n > (size_t)c->elements)
        return expr_too_much(c);
    c->elements -= (int64_t)n;
    return true;
}

bool expr_list_join(op_context *c, value a, value b, value *out)
{
    size_t n = a.as.list.n + b.as.list.n;
    if (!take_elements(c, n) || !scratch_of(c))
        return false;
    value *items = arena_alloc(c->scratch, n * sizeof *items);
    if (a.as.list.n)
        memcpy(items, a.as.list.items, a.as.list.n * sizeof *items);
    if (b.as.list.n)
        memcpy(items + a.as.list.n, b.as.list.items, b.as.list.n * sizeof *items);
    *out = (value){.kind = VALUE_LIST, .as.list = {items, n}};
    return true;
}

/* A list of n items has room for the next power of two from 8 on, so that its capacity need not be kept. */
bool expr_op_list_push(op_context *c, value *list, value item)
{
    size_t n = list->as.list.n;
    if (!take_elements(c, 1) || !scratch_of(c))
        return false;
    value *items;
    if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
        items = arena_alloc(c->scratch, (n ? 2 * n : 8) * sizeof *items);
        if (n)
            memcpy(items, list->as.list.items, n * sizeof *items);
        list->as.list.items = items;
    } else {
        /* Only here a list is written to; everybody else borrows it as constant. */
        memcpy(&items, &list->as.list.items, sizeof(value *));
    }
    items[n] = item;
    list->as.list.n++;
    return true;
}

bool expr_op_range(op_context *c, value from, value to, value step, value *out)
{
    value all[] = {from, to, step};
    for (int i = 0; i < 3; i++) {
        if (!expr_is_whole(all[i]))
            return expr_wrong_kind(c, OP_RANGE, "integers", all[i]);
    }
    int64_t low = expr_whole(from), high = expr_whole(to), by = expr_whole(step);
    if (by == 0)
        return expr_because(c, "the step of a range is 0");
    uint64_t distance = by > 0 ? (uint64_t)high - (uint64_t)low : (uint64_t)low - (uint64_t)high;
    uint64_t stride = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;
    uint64_t n = (by > 0 ? low < high : low > high) ? (distance - 1) / stride + 1 : 0;
    if (!take_elements(c, n > EXPR_MAX_ELEMENTS ? EXPR_MAX_ELEMENTS + 1u : (size_t)n) || !scratch_of(c))
        return false;
    value *items = arena_alloc(c->scratch, (size_t)n * sizeof *items);
    for (uint64_t i = 0; i < n; i++)
        items[i] = value_int((int64_t)((uint64_t)low + i * (uint64_t)by));
    *out = (value){.kind = VALUE_LIST, .as.list = {items, (size_t)n}};
    return true;
}

bool expr_text_join(op_context *c, value a, value b, value *out)
{
    size_t length = strlen(a.as.string) + strlen(b.as.string);
    if (!take_elements(c, length / EXPR_TEXT_PER_ELEMENT) || !scratch_of(c))
        return false;
    *out = value_string(arena_printf(c->scratch, "%s%s", a.as.string, b.as.string));
    return true;
}

bool expr_list_item(op_context *c, value list, value index, value *out)
{
    if (list.kind != VALUE_LIST)
        return expr_wrong_kind(c, OP_INDEX, "a list", list);
    if (!expr_is_whole(index))
        return expr_because(c, "a position in a list is an integer, not %s", value_kind_name(index.kind));
    int64_t n = (int64_t)list.as.list.n, i = expr_whole(index);
    if (i < -n || i >= n)
        return expr_because(c, "position %lld of a list of %lld", (long long)i, (long long)n);
    *out = list.as.list.items[i < 0 ? i + n : i];
    return true;
}

bool expr_typed_text(op_context *c, expr_op op, value type, value x, value *out)
{
    if (type.kind != VALUE_TYPE)
        return expr_wrong_kind(c, op, "a type", type);
    if (op == OP_VEC && !expr_is_whole(x))
        return expr_wrong_kind(c, op, "an integer", x);
    if (!scratch_of(c))
        return false;
    kw_error err;
    strb text = STRB_INIT;
    kw_code code = op == OP_VEC ? language_vector(c->lang, type.as.type, expr_whole(x), &text, &err)
                                : language_literal(c->lang, type.as.type, x, &text, &err);
    if (code == KW_OK)
        *out = value_string(arena_strdup(c->scratch, strb_text(&text)));
    else
        expr_because(c, "%.200s", err.message);
    strb_clear(&text);
    return code == KW_OK;
}

bool expr_list_contains(op_context *c, expr_op op, value a, value b, value *out)
{
    if (b.kind != VALUE_LIST || a.kind == VALUE_NONE)
        return expr_because(c, "'%s' needs a list on its right, not %s", expr_op_symbol(op), value_kind_name(b.kind));
    if (!take_elements(c, b.as.list.n))
        return false;
    bool found = false;
    for (size_t i = 0; i < b.as.list.n && !found; i++)
        found = value_equal(a, b.as.list.items[i]);
    *out = value_bool(found == (op == OP_IN));
    return true;
}

bool expr_list_extreme(op_context *c, expr_op op, value list, value *out)
{
    if (list.kind != VALUE_LIST)
        return expr_because(c, "'%s' of one value needs a list, not %s", expr_op_symbol(op),
                            value_kind_name(list.kind));
    if (list.as.list.n == 0)
        return expr_because(c, "'%s' of an empty list", expr_op_symbol(op));
    if (!take_elements(c, list.as.list.n))
        return false;
    value best = list.as.list.items[0];
    for (size_t i = 0; i < list.as.list.n; i++) {
        if (!expr_op_apply2(c, op == OP_MIN_LIST ? OP_MIN : OP_MAX, best, list.as.list.items[i], &best))
            return false;
    }
    *out = best;
    return true;
}
