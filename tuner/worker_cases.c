/* The cache of inputs and expected outputs. */
#include "tuner/worker_cases.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_HOST_CAP ((uint64_t)2 << 30)

struct case_cache {
    device *device;
    case_data *first;
    uint64_t clock, device_bytes, host_bytes, host_cap;
};

case_cache *case_cache_new(device *d, uint64_t host_bytes)
{
    case_cache *c = mem_calloc(1, sizeof *c);
    c->device = d;
    c->host_cap = host_bytes > LEAST_HOST_CAP ? host_bytes : LEAST_HOST_CAP;
    return c;
}

uint64_t case_cache_host_cap(const case_cache *c)
{
    return c->host_cap;
}

static void free_data(case_cache *cache, case_data *data)
{
    for (size_t t = 0; t < data->n_tensors; t++) {
        if (data->pristine[t])
            device_free(cache->device, data->pristine[t]);
        if (data->expected[t].hidden)
            device_free(cache->device, data->expected[t].hidden);
    }
    cache->device_bytes -= data->device_bytes;
    cache->host_bytes -= data->host_bytes;
    case_data_free(data);
}

void case_cache_free(case_cache *c)
{
    while (c && c->first) {
        case_data *data = c->first;
        c->first = data->next;
        free_data(c, data);
    }
    free(c);
}

/* ---- eviction ---- */

/* Removes the least recently used entry; never one of the last two calls. */
static bool evict_one(case_cache *cache)
{
    case_data **oldest = NULL;
    for (case_data **at = &cache->first; *at; at = &(*at)->next)
        if ((*at)->last_used + 1 < cache->clock && (!oldest || (*at)->last_used < (*oldest)->last_used))
            oldest = at;
    if (!oldest)
        return false;
    case_data *data = *oldest;
    *oldest = data->next;
    free_data(cache, data);
    return true;
}

static void keep_below_caps(case_cache *cache)
{
    const uint64_t memory = (uint64_t)device_describe(cache->device)->limits.global_mem_bytes;
    while ((cache->host_bytes > cache->host_cap || (memory > 0 && cache->device_bytes > memory / 4)) &&
           evict_one(cache))
        continue;
}

void case_cache_grown(case_cache *cache, case_data *data, uint64_t host_bytes, uint64_t device_bytes)
{
    data->host_bytes += host_bytes;
    cache->host_bytes += host_bytes;
    data->device_bytes += device_bytes;
    cache->device_bytes += device_bytes;
}

/* ---- making ---- */

static kw_code alloc_pristine(case_cache *cache, size_t bytes, device_buffer **out, kw_error *err)
{
    do
        *out = device_alloc(cache->device, bytes, err);
    while (!*out && device_last_fault(cache->device) == DEVICE_FAULT_MEMORY && evict_one(cache));
    return *out ? KW_OK : err->code;
}

/* From native[tensor] to the device. */
static kw_code upload(case_cache *cache, case_data *data, size_t tensor, kw_error *err)
{
    const size_t bytes = data->layout[tensor].bytes;
    kw_code code = alloc_pristine(cache, bytes, &data->pristine[tensor], err);
    if (code != KW_OK)
        return code;
    case_cache_grown(cache, data, 0, bytes);
    code = device_write(cache->device, data->pristine[tensor], 0, data->native[tensor], bytes, err);
    free(data->native[tensor]);
    data->native[tensor] = NULL;
    return code;
}

/* What a thread has not made. Inputs go to the device one by one: only their doubles are there all at once. */
static kw_code finish(case_cache *cache, const case_request *q, case_data *data, kw_error *err)
{
    kw_code code = KW_OK;
    q->progress(q->cookie);
    for (size_t i = 0; i < data->n_tensors && code == KW_OK; i++) {
        if (!case_is_input(q, data, i))
            continue;
        if (!data->native[i])
            code = case_draw(q, data, i, err);
        if (code == KW_OK)
            code = upload(cache, data, i, err);
        q->progress(q->cookie);
    }
    const uint64_t before = data->host_bytes;
    if (code == KW_OK && !data->reference_asked)
        code = case_expect(q, data, err);
    cache->host_bytes += data->host_bytes - before;
    return code;
}

static case_data *find(case_cache *cache, const char *key)
{
    case_data *data = cache->first;
    while (data && strcmp(data->key, key) != 0)
        data = data->next;
    return data;
}

bool case_cache_has(case_cache *cache, const case_request *q)
{
    char key[HASH_HEX_SIZE];
    case_key(q, key);
    return find(cache, key) != NULL;
}

kw_code case_cache_get(case_cache *cache, const case_request *q, case_ahead *ahead, case_data **out, kw_error *err)
{
    char key[HASH_HEX_SIZE];
    kw_error local;
    kw_code code = KW_OK;
    kw_error_clear(&local);
    err = err ? err : &local;
    case_key(q, key);
    cache->clock++;
    *out = find(cache, key);
    if (*out) {
        (*out)->last_used = cache->clock;
        return KW_OK;
    }
    case_data *data = ahead ? case_ahead_take(ahead, key, q->progress, q->cookie) : NULL;
    if (data)
        cache->host_bytes += data->host_bytes;
    else
        code = case_data_new(q, &data, err);
    if (code == KW_OK)
        code = finish(cache, q, data, err);
    if (code != KW_OK) {
        free_data(cache, data);
        return code;
    }
    data->last_used = cache->clock;
    data->next = cache->first;
    cache->first = data;
    *out = data;
    keep_below_caps(cache);
    return KW_OK;
}
