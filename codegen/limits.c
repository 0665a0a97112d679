#include "codegen/limits.h"

#include <stddef.h>
#include <string.h>

typedef struct limit_row {
    const char *name;
    size_t offset; /* of an int64_t in device_limits */
} limit_row;

#define ROW(name, member) \
    { \
        name, offsetof(device_limits, member) \
    }

static const limit_row rows[] = {
    ROW("max_work_group_size", max_work_group_size),
    {"max_local_x", offsetof(device_limits, max_work_item_size)},
    {"max_local_y", offsetof(device_limits, max_work_item_size) + sizeof(int64_t)},
    {"max_local_z", offsetof(device_limits, max_work_item_size) + 2 * sizeof(int64_t)},
    ROW("local_mem_bytes", local_mem_bytes),
    ROW("max_alloc_bytes", max_alloc_bytes),
    ROW("global_mem_bytes", global_mem_bytes),
    ROW("compute_units", compute_units),
    ROW("preferred_multiple", preferred_multiple),
    ROW("cache_bytes", cache_bytes),
    ROW("is_cpu", is_cpu),
    ROW("is_gpu", is_gpu),
    ROW("has_f16", has_f16),
    ROW("has_f64", has_f64),
};

enum { N_LIMITS = sizeof rows / sizeof *rows };

size_t limits_count(void)
{
    return N_LIMITS;
}

const char *limits_name(size_t i)
{
    return rows[i].name;
}

int64_t limits_value(const device_limits *l, size_t i)
{
    int64_t v;
    memcpy(&v, (const char *)l + rows[i].offset, sizeof v);
    return v;
}

int limits_add_to_scope(expr_scope *scope)
{
    int first = expr_scope_size(scope);
    for (size_t i = 0; i < N_LIMITS; i++) {
        char name[64] = "device.";
        strncat(name, rows[i].name, sizeof name - strlen(name) - 1);
        expr_scope_add(scope, name, EXPR_DEVICE);
    }
    return first;
}

void limits_fill(const device_limits *l, value *env, int first)
{
    for (size_t i = 0; i < N_LIMITS; i++)
        env[(size_t)first + i] = l ? value_int(limits_value(l, i)) : value_none();
}

json *limits_to_json(const device_limits *l)
{
    json *j = json_new_object();
    for (size_t i = 0; i < N_LIMITS; i++)
        json_set_int(j, rows[i].name, limits_value(l, i));
    return j;
}

kw_code limits_from_json(const json *j, device_limits *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    if (json_kind_of(j) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "limits: an object is needed, not %s", json_kind_name(json_kind_of(j)));
    for (size_t i = 0; i < N_LIMITS; i++) {
        int64_t v;
        kw_code code = json_opt_int(j, rows[i].name, "limits", 0, &v, err);
        if (code != KW_OK)
            return code;
        memcpy((char *)out + rows[i].offset, &v, sizeof v);
    }
    return KW_OK;
}

const device_limits *limits_of_typical_gpu(void)
{
    static const device_limits gpu = {.max_work_group_size = 1024,
                                      .max_work_item_size = {1024, 1024, 64},
                                      .local_mem_bytes = 48 << 10,
                                      .max_alloc_bytes = (int64_t)4 << 30,
                                      .global_mem_bytes = (int64_t)16 << 30,
                                      .compute_units = 64,
                                      .preferred_multiple = 32,
                                      .cache_bytes = 4 << 20,
                                      .is_gpu = 1,
                                      .has_f16 = 1,
                                      .has_f64 = 1};
    return &gpu;
}
