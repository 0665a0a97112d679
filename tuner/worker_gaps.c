/* What outputs hold before the second run of a case. */
#include "tuner/worker_internal.h"

#include "base/counter_rng.h"

#include <math.h>

#define GAPS 8
#define GAP_STREAM 4000

/* An infinity, where the type has one: it is not lost when it is multiplied by zero, and no test for NaN finds it. */
static kw_code leave_infinity(run *r, const guarded *g, dtype type, size_t at, kw_error *err)
{
    unsigned char cell[8];
    if (!dtype_is_float(type))
        return device_fill(r->device, g->whole, at, dtype_bytes(type), SECOND_POISON, err);
    dtype_store(type, cell, 0, (double)INFINITY);
    return device_write(r->device, g->whole, at, cell, dtype_bytes(type), err);
}

bool run_leave_gaps(run *r, const case_data *data, const buffer_set *set, uint64_t seed)
{
    kw_error err;
    kw_code code = KW_OK;
    for (size_t i = 0; i < set->task->n_tensors && code == KW_OK; i++) {
        const guarded *g = &set->tensors[i];
        const tensor_layout *l = &data->layout[i];
        const size_t size = dtype_bytes(l->type);
        if (!r->verified[i] || !data->overwritten[i] || !l->dense)
            continue;
        code = device_copy(r->device, r->verified[i], 0, g->whole, g->guard, g->bytes, &err);
        for (uint64_t k = 0; k < GAPS && k < l->elements && code == KW_OK; k++) {
            const size_t at = g->guard + counter_rng_u64(seed, GAP_STREAM + i, k) % l->elements * size;
            const size_t other = counter_rng_u64(seed, GAP_STREAM + i, GAPS + k) % l->elements * size;
            if (k % 4 == 0)
                code = device_fill(r->device, g->whole, at, size, SECOND_POISON, &err);
            else if (k % 4 == 2)
                code = leave_infinity(r, g, l->type, at, &err);
            else
                code = device_copy(r->device, r->verified[i], other, g->whole, at, size, &err);
        }
    }
    return code == KW_OK || run_device_failed(r, &err, "preparing the outputs");
}
