/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"
#include "codegen/runtime/tree.h"

#include "codegen/features.h"

#include <inttypes.h>
#include <string.h>

static shape_feature *add(shape_features *f)
{
    shape_feature *x = &f->items[f->n++];
    memset(x, 0, sizeof *x);
    x->align = -1;
    return x;
}

static void add_logs(shape_features *f, const size_t *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++)
        add(f)->sign[keys[i]] = 1;
    if (n_keys < 2)
        return;
    shape_feature *volume = add(f);
    for (size_t i = 0; i < n_keys; i++)
        volume->sign[keys[i]] = 1;
}

static void add_pairs(shape_features *f, const size_t *keys, size_t n_keys, int8_t sign)
{
    for (size_t i = 0; i < n_keys; i++)
        for (size_t k = i + 1; k < n_keys; k++) {
            shape_feature *x = add(f);
            x->sign[keys[i]] = 1;
            x->sign[keys[k]] = sign;
        }
}

/* One dim against all others: M*N/K. */
static void add_against(shape_features *f, const size_t *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        shape_feature *x = add(f);
        for (size_t k = 0; k < n_keys; k++)
            x->sign[keys[k]] = (int8_t)(k == i ? -1 : 1);
    }
}

void features_of_task(const task *t, shape_features *out)
{
    size_t keys[TASK_MAX_DIMS] = {0}, n = 0;
    out->task = t;
    out->n = 0;
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key)
            keys[n++] = i;
    add_logs(out, keys, n);
    for (size_t i = 0; i < n; i++)
        add(out)->align = (int)keys[i];
    if (n == 3 || n == 4)
        add_pairs(out, keys, n, 1);
    if (n >= 2 && n <= 4)
        add_pairs(out, keys, n, -1);
    if (n == 3 || n == 4)
        add_against(out, keys, n);
}

void features_compute(const shape_features *f, const int64_t *dims, int32_t *out)
{
    int32_t logs[TASK_MAX_DIMS] = {0};
    for (size_t i = 0; i < f->task->n_dims; i++)
        logs[i] = kw_log2_256(dims[i]);
    for (size_t k = 0; k < f->n; k++) {
        const shape_feature *x = &f->items[k];
        out[k] = 0;
        if (x->align >= 0)
            out[k] = kw_twos(dims[x->align]);
        for (size_t i = 0; x->align < 0 && i < f->task->n_dims; i++)
            out[k] += x->sign[i] * logs[i];
    }
}

static void print_product(const shape_features *f, const shape_feature *x, int sign, strb *out)
{
    const char *times = sign > 0 ? "" : "/";
    for (size_t i = 0; i < f->task->n_dims; i++) {
        if (x->sign[i] != sign)
            continue;
        strb_printf(out, "%s%s", times, f->task->dims[i].name);
        times = sign > 0 ? "*" : "/";
    }
}

/* The largest dim whose logarithm is at most this; -1: too large to say. */
static int64_t largest(int32_t at_most)
{
    int64_t low = 0, high = INT64_C(1) << 62;
    if (at_most >= 62 * 256)
        return -1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (kw_log2_256(middle) <= at_most)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void features_print(const shape_features *f, size_t i, int32_t at_most, strb *out)
{
    const shape_feature *x = &f->items[i];
    int n = 0;
    if (x->align >= 0) {
        strb_printf(out, "%s %% %d != 0", f->task->dims[x->align].name, 2 << at_most);
        return;
    }
    print_product(f, x, 1, out);
    print_product(f, x, -1, out);
    for (size_t k = 0; k < f->task->n_dims; k++)
        n += x->sign[k] != 0;
    if (n == 1 && largest(at_most) >= 0)
        strb_printf(out, " <= %" PRId64, largest(at_most));
    else
        strb_printf(out, " <= 2^%.2f", at_most / 256.0);
}
