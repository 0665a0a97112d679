/* Logical and flat element numbers of tensors. */
#include "tuner/layout.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static kw_code read_extents(const task_tensor *x, const value *env, tensor_layout *out, kw_error *err)
{
    out->rank = x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        kw_code code = expr_eval_int(x->shape[i], env, &out->shape[i], err);
        if (code == KW_OK && x->stride[0])
            code = expr_eval_int(x->stride[i], env, &out->stride[i], err);
        if (code != KW_OK)
            return kw_error_prefix(err, "tensor %s", x->name);
    }
    return KW_OK;
}

/* Row-major strides; also decides whether the given ones are just that. Extents of 1 may have any stride. */
static void settle_strides(tensor_layout *l, bool given)
{
    int64_t dense = 1;
    l->dense = true;
    l->count = 1;
    for (size_t i = l->rank; i-- > 0;) {
        if (!given)
            l->stride[i] = dense;
        else if (l->shape[i] > 1 && l->stride[i] != dense)
            l->dense = false;
        l->count *= (uint64_t)l->shape[i];
        dense *= l->shape[i];
    }
    if (l->count == 0)
        l->dense = true;
}

kw_code layout_of(const task *t, const task_types *types, const task_shape *s, size_t tensor, tensor_layout *out,
                  kw_error *err)
{
    const task_tensor *x = &t->tensors[tensor];
    memset(out, 0, sizeof *out);
    out->type = task_tensor_type(t, types, tensor);
    /* Checks signs and overflow, so that what follows need not. */
    kw_code code = task_tensor_elements(t, types, s, tensor, &out->elements, err);
    if (code != KW_OK)
        return code;
    value *env = mem_calloc((size_t)expr_scope_size(t->scope) + 1, sizeof *env);
    task_fill(t, types, s, NULL, env);
    code = read_extents(x, env, out, err);
    free(env);
    if (code != KW_OK)
        return code;
    settle_strides(out, x->stride[0] != NULL);
    if (out->elements > SIZE_MAX / dtype_bytes(out->type))
        return kw_error_set(err, KW_BAD_INPUT, "tensor %s is larger than any memory", x->name);
    out->bytes = out->elements * dtype_bytes(out->type);
    return KW_OK;
}

void layout_index(const tensor_layout *l, uint64_t logical, int64_t index[TASK_MAX_RANK])
{
    for (size_t i = l->rank; i-- > 0;) {
        index[i] = (int64_t)(logical % (uint64_t)l->shape[i]);
        logical /= (uint64_t)l->shape[i];
    }
}

uint64_t layout_flat(const tensor_layout *l, uint64_t logical)
{
    if (l->dense)
        return logical;
    uint64_t flat = 0;
    for (size_t i = l->rank; i-- > 0;) {
        flat += logical % (uint64_t)l->shape[i] * (uint64_t)l->stride[i];
        logical /= (uint64_t)l->shape[i];
    }
    return flat;
}

/* Peels off the dimension of the largest stride first: right for every layout whose elements do not overlap. */
bool layout_logical(const tensor_layout *l, uint64_t flat, uint64_t *logical)
{
    if (l->dense) {
        *logical = flat;
        return flat < l->count;
    }
    uint64_t index[TASK_MAX_RANK] = {0}, rest = flat;
    bool done[TASK_MAX_RANK] = {false};
    for (size_t round = 0; round < l->rank; round++) {
        size_t largest = l->rank;
        for (size_t i = 0; i < l->rank; i++)
            if (!done[i] && (largest == l->rank || l->stride[i] > l->stride[largest]))
                largest = i;
        done[largest] = true;
        if (l->shape[largest] > 1 && l->stride[largest] > 0)
            index[largest] = rest / (uint64_t)l->stride[largest];
        if (index[largest] >= (uint64_t)l->shape[largest])
            return false;
        rest -= index[largest] * (uint64_t)l->stride[largest];
    }
    *logical = 0;
    for (size_t i = 0; i < l->rank; i++)
        *logical = *logical * (uint64_t)l->shape[i] + index[i];
    return rest == 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* First or last index in every dimension: 2^rank elements. */
static uint64_t corner(const tensor_layout *l, unsigned which)
{
    uint64_t logical = 0;
    for (size_t i = 0; i < l->rank; i++) {
        bool last = which >> i & 1u;
        logical = logical * (uint64_t)l->shape[i] + (last ? (uint64_t)l->shape[i] - 1 : 0);
    }
    return logical;
}

size_t layout_sample(const tensor_layout *l, size_t wanted, uint64_t seed, uint64_t stream, uint64_t **out)
{
    const bool all = l->count <= wanted;
    size_t corners = all ? 0 : (size_t)1 << l->rank, n = 0;
    uint64_t *list = mem_calloc(wanted + corners + 1, sizeof *list);
    for (size_t i = 0; i < wanted && (!all || i < l->count); i++)
        list[n++] = all ? i : counter_rng_u64(seed, stream, i) % l->count;
    for (size_t i = 0; i < corners; i++)
        list[n++] = corner(l, (unsigned)i);
    qsort(list, n, sizeof *list, compare_numbers);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    *out = list;
    return kept;
}
