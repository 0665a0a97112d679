#include "codegen/expr_internal.h"

#include <stdlib.h>
#include <string.h>

const char *expr_text(const expr *e)
{
    return e->text;
}

bool expr_uses(const expr *e, int slot)
{
    if (e->kind == NODE_SLOT && e->slot == slot)
        return true;
    for (size_t i = 0; i < e->n; i++) {
        if (expr_uses(e->kids[i], slot))
            return true;
    }
    return false;
}

typedef struct slot_list {
    int *items;
    size_t n, capacity;
} slot_list;

static void collect(const expr *e, slot_list *out)
{
    if (e->kind == NODE_SLOT) {
        for (size_t i = 0; i < out->n; i++) {
            if (out->items[i] == e->slot)
                return;
        }
        out->items = mem_grow(out->items, &out->capacity, out->n + 1, sizeof *out->items);
        out->items[out->n++] = e->slot;
    }
    for (size_t i = 0; i < e->n; i++)
        collect(e->kids[i], out);
}

size_t expr_used_slots(const expr *e, bool *used)
{
    slot_list slots = {0};
    collect(e, &slots);
    for (size_t i = 0; i < slots.n; i++)
        used[slots.items[i]] = true;
    free(slots.items);
    return slots.n;
}

bool expr_is_constant(const expr *e, value *out)
{
    if (e->kind != NODE_CONST)
        return false;
    if (out)
        *out = e->constant;
    return true;
}

static bool all_assigned(const expr *e, const bool *assigned, bool *any)
{
    if (e->kind == NODE_SLOT) {
        *any = true;
        return assigned[e->slot];
    }
    for (size_t i = 0; i < e->n; i++) {
        if (!all_assigned(e->kids[i], assigned, any))
            return false;
    }
    return true;
}

/* What uses a variable of a comprehension around it has no value of its own. */
static void frontier(const expr *e, const bool *assigned, const expr **subs, size_t capacity, size_t *n)
{
    bool any = false;
    if (e->lowest_local == NO_LOCAL && all_assigned(e, assigned, &any)) {
        if (any && *n < capacity)
            subs[*n] = e;
        *n += any;
        return;
    }
    for (size_t i = 0; i < e->n; i++)
        frontier(e->kids[i], assigned, subs, capacity, n);
}

size_t expr_frontier(const expr *e, const bool *assigned, const expr **subs, size_t capacity)
{
    size_t n = 0;
    frontier(e, assigned, subs, capacity, &n);
    return n;
}

static void conjuncts(const expr *e, const expr **terms, size_t capacity, size_t *n)
{
    if (e->kind == NODE_AND) {
        for (size_t i = 0; i < e->n; i++)
            conjuncts(e->kids[i], terms, capacity, n);
        return;
    }
    if (*n < capacity)
        terms[*n] = e;
    ++*n;
}

size_t expr_conjuncts(const expr *e, const expr **terms, size_t capacity)
{
    size_t n = 0;
    conjuncts(e, terms, capacity, &n);
    return n;
}

static bool same_constant(value a, value b)
{
    if (a.kind != b.kind || !value_equal(a, b))
        return false;
    for (size_t i = 0; a.kind == VALUE_LIST && i < a.as.list.n; i++) {
        if (!same_constant(a.as.list.items[i], b.as.list.items[i]))
            return false;
    }
    return true;
}

static bool same_clauses(const expr *a, const expr *b)
{
    for (size_t i = 0; i + 1 < a->n; i++) {
        if (!a->clauses[i].name != !b->clauses[i].name || a->clauses[i].level != b->clauses[i].level)
            return false;
    }
    return true;
}

bool expr_same(const expr *a, const expr *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->op != b->op || a->slot != b->slot || a->n != b->n)
        return false;
    if (a->kind == NODE_CONST && !same_constant(a->constant, b->constant))
        return false;
    if (a->kind == NODE_COMPARE && memcmp(a->ops, b->ops, (a->n - 1) * sizeof *a->ops) != 0)
        return false;
    if (a->kind == NODE_COMPREHENSION && !same_clauses(a, b))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!expr_same(a->kids[i], b->kids[i]))
            return false;
    }
    return true;
}
