/* The device facts that expressions may use as device.NAME, and the device key. Plain data: it is filled by a
 * device back end, travels in the worker's hello, and is checked in the emitted header. */
#ifndef KERNWRIGHT_CODEGEN_LIMITS_H
#define KERNWRIGHT_CODEGEN_LIMITS_H

#include "base/error.h"
#include "base/json.h"
#include "codegen/expr.h"

#include <stdint.h>

typedef struct device_limits {
    int64_t max_work_group_size;
    int64_t max_work_item_size[3]; /* device.max_local_x, _y, _z */
    int64_t local_mem_bytes;
    int64_t max_alloc_bytes;
    int64_t global_mem_bytes;
    int64_t compute_units;
    int64_t preferred_multiple; /* of the work-group size: warp or SIMD width; 1 if unknown */
    int64_t cache_bytes;        /* last-level cache the device reports; 0 if unknown */
    int64_t is_cpu, is_gpu;     /* 0 or 1 */
    int64_t has_f16, has_f64;   /* 0 or 1 */
} device_limits;

/* Names in a fixed order: "max_work_group_size", ... ; used in messages, JSON and scopes. */
size_t limits_count(void);
const char *limits_name(size_t i); /* without "device." */
int64_t limits_value(const device_limits *l, size_t i);

/* Adds all device.* names; returns the first slot. limits_fill puts the values at env[first..]; NULL limits leave
 * them VALUE_NONE. */
int limits_add_to_scope(expr_scope *scope);
void limits_fill(const device_limits *l, value *env, int first);

/* What a template is looked at with where there is no device: the limits that most GPUs have. */
const device_limits *limits_of_typical_gpu(void);

json *limits_to_json(const device_limits *l);
kw_code limits_from_json(const json *j, device_limits *out, kw_error *err); /* absent members are 0 */

#endif
