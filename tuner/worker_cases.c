/* The cache of inputs and expected outputs. */
#include "tuner/worker_cases.h"

#include "base/mem.h"
#include "tuner/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_HOST_CAP ((uint64_t)2 << 30)
#define CHUNK 4096         /* elements asked of a reference at a time */
#define SAMPLE_STREAM 2000 /* apart from the streams of inputs */

struct case_cache {
    device *device;
    case_data *first;
    uint64_t clock, device_bytes, host_bytes, host_cap;
};

/* What is at hand while a case is made. */
typedef struct maker {
    case_cache *cache;
    const job *job;
    const job_case *c;
    uint64_t seed;
    kw_reference_fn *reference;
    case_progress progress;
    void *cookie;
    double *values[TASK_MAX_TENSORS]; /* inputs as doubles; NULL for pure outputs */
} maker;

case_cache *case_cache_new(device *d, uint64_t host_bytes)
{
    case_cache *c = mem_calloc(1, sizeof *c);
    c->device = d;
    c->host_cap = host_bytes > LEAST_HOST_CAP ? host_bytes : LEAST_HOST_CAP;
    return c;
}

static void free_data(case_cache *cache, case_data *data)
{
    for (size_t t = 0; t < data->n_tensors; t++) {
        if (data->pristine[t])
            device_free(cache->device, data->pristine[t]);
        free(data->expected[t].logical);
        free(data->expected[t].value);
        free(data->expected[t].scale);
        free(data->expected[t].trusted);
        if (data->expected[t].hidden)
            device_free(cache->device, data->expected[t].hidden);
    }
    cache->device_bytes -= data->device_bytes;
    cache->host_bytes -= data->host_bytes;
    free(data);
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

/* ---- inputs ---- */

static kw_code no_host_memory(const maker *m, size_t tensor, uint64_t bytes, kw_error *err)
{
    return kw_error_set(err, KW_ENVIRONMENT, "no host memory for %" PRIu64 " MiB of tensor %s", bytes >> 20,
                        m->job->task->tensors[tensor].name);
}

static kw_code alloc_pristine(case_cache *cache, size_t bytes, device_buffer **out, kw_error *err)
{
    do
        *out = device_alloc(cache->device, bytes, err);
    while (!*out && device_last_fault(cache->device) == DEVICE_FAULT_MEMORY && evict_one(cache));
    return *out ? KW_OK : err->code;
}

static kw_code make_input(maker *m, case_data *data, size_t tensor, kw_error *err)
{
    const tensor_layout *l = &data->layout[tensor];
    void *native = mem_try_alloc(l->bytes);
    m->values[tensor] = mem_try_alloc(l->elements * sizeof(double));
    kw_code code = KW_OK;
    if (!native || !m->values[tensor])
        code = no_host_memory(m, tensor, l->bytes + l->elements * sizeof(double), err);
    if (code == KW_OK)
        code = inputs_fill(m->job->task, &m->job->types, &m->c->shape, tensor, m->c->dist, m->seed, l, native,
                           m->values[tensor], err);
    if (code == KW_OK)
        code = alloc_pristine(m->cache, l->bytes, &data->pristine[tensor], err);
    if (code == KW_OK) {
        data->device_bytes += l->bytes;
        m->cache->device_bytes += l->bytes;
        code = device_write(m->cache->device, data->pristine[tensor], 0, native, l->bytes, err);
    }
    free(native);
    m->progress(m->cookie);
    return code;
}

static kw_code make_inputs(maker *m, case_data *data, kw_error *err)
{
    const task *t = m->job->task;
    kw_code code = KW_OK;
    for (size_t i = 0; i < t->n_tensors && code == KW_OK; i++) {
        code = layout_of(t, &m->job->types, &m->c->shape, i, &data->layout[i], err);
        data->overwritten[i] = t->tensors[i].access == TASK_OUT;
        if (code == KW_OK && t->tensors[i].access != TASK_OUT && data->layout[i].elements > 0)
            code = make_input(m, data, i, err);
    }
    return code;
}

/* ---- expected values ---- */

/* n elements from `from` on, of those in `logical` or, where that is NULL, of all; to the start of wanted and scale. */
static void ask_reference(maker *m, const case_data *data, const double *const *tensors, size_t tensor, size_t from,
                          size_t n, const uint64_t *logical, double *wanted, double *scale)
{
    uint64_t elements[TASK_MAX_TENSORS], flat[CHUNK];
    for (size_t i = 0; i < data->n_tensors; i++)
        elements[i] = data->layout[i].elements;
    kw_ref ref = {.n_dims = m->job->task->n_dims,
                  .dims = m->c->shape.dims,
                  .n_scalars = m->job->task->n_scalars,
                  .scalars = m->c->scalars,
                  .n_tensors = data->n_tensors,
                  .tensors = tensors,
                  .elements = elements};
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < count; i++)
            flat[i] = layout_flat(&data->layout[tensor], logical ? logical[from + first + i] : from + first + i);
        m->reference(&ref, (int)tensor, count, flat, wanted + first, scale + first);
        m->progress(m->cookie);
    }
}

static kw_code make_expected(maker *m, case_data *data, size_t tensor, kw_error *err)
{
    const tensor_layout *l = &data->layout[tensor];
    expected *e = &data->expected[tensor];
    e->rule = verify_rule_of(m->job->task, &m->job->types, &m->c->shape, tensor);
    e->n = l->count;
    if (m->c->sampled && l->count > SAMPLED_ELEMENTS)
        e->n = layout_sample(l, SAMPLED_ELEMENTS, m->seed, SAMPLE_STREAM + tensor, &e->logical);
    e->value = mem_try_alloc(e->n * sizeof *e->value);
    e->scale = mem_try_alloc(e->n * sizeof *e->scale);
    if (!e->value || !e->scale)
        return no_host_memory(m, tensor, 2 * e->n * sizeof(double), err);
    case_cache_grown(m->cache, data, 2 * e->n * sizeof(double), 0);
    ask_reference(m, data, (const double *const *)m->values, tensor, 0, e->n, e->logical, e->value, e->scale);
    for (size_t i = 0; i < e->n; i++)
        e->max_scale = fmax(e->max_scale, fabs(e->scale[i]));
    e->rule.exact = m->c->dist == DIST_INTEGERS && verify_must_be_exact(&e->rule, e->value, e->scale, e->n);
    e->known = true;
    return KW_OK;
}

/* Does the reference give the expected values of tensor t for these inputs as well? Up to the first difference. */
static bool gives_the_same(maker *m, const case_data *data, const double *const *tensors, size_t t, double *wanted,
                           double *scale)
{
    const expected *e = &data->expected[t];
    bool same = true;
    for (size_t first = 0; first < e->n && same; first += CHUNK) {
        const size_t n = e->n - first < CHUNK ? e->n - first : CHUNK;
        ask_reference(m, data, tensors, t, first, n, e->logical, wanted, scale);
        for (size_t i = 0; i < n && same; i++)
            same = wanted[i] == e->value[first + i];
    }
    return same;
}

/* Does the result depend on what an inout held before? The reference is asked again with NaN there: if it gives the
 * same, the kernel must not read it either (beta = 0 in a product), and it is poisoned like a pure output. */
static void find_overwritten(maker *m, case_data *data, size_t tensor)
{
    const expected *e = &data->expected[tensor];
    const tensor_layout *l = &data->layout[tensor];
    if (!e->known || !m->values[tensor] || !dtype_is_float(l->type) || !l->dense)
        return;
    double *nan = mem_try_alloc(l->elements * sizeof *nan);
    double wanted[CHUNK], scale[CHUNK];
    const double *tensors[TASK_MAX_TENSORS];
    memcpy(tensors, m->values, sizeof tensors);
    if (nan) {
        for (uint64_t i = 0; i < l->elements; i++)
            nan[i] = (double)NAN;
        tensors[tensor] = nan;
        bool same = true;
        for (size_t t = 0; t < data->n_tensors && same; t++) {
            const expected *other = &data->expected[t];
            if (!other->known)
                continue;
            same = gives_the_same(m, data, tensors, t, wanted, scale);
        }
        data->overwritten[tensor] = same;
    }
    free(nan);
}

static kw_code make_all(maker *m, case_data *data, kw_error *err)
{
    const task *t = m->job->task;
    data->n_tensors = t->n_tensors;
    m->progress(m->cookie);
    kw_code code = make_inputs(m, data, err);
    for (size_t i = 0; i < t->n_tensors && code == KW_OK && m->reference; i++)
        if (t->tensors[i].access != TASK_IN && data->layout[i].count > 0)
            code = make_expected(m, data, i, err);
    for (size_t i = 0; i < t->n_tensors && code == KW_OK; i++)
        if (t->tensors[i].access == TASK_INOUT)
            find_overwritten(m, data, i);
    for (size_t i = 0; i < t->n_tensors; i++)
        free(m->values[i]);
    return code;
}

/* ---- looking up ---- */

static void make_key(const job *j, const job_case *c, uint64_t seed, bool reference, char out[HASH_HEX_SIZE])
{
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s %d %016" PRIx64 " %d %d ", j->task->hash, j->task->name, (int)c->dist, seed, c->sampled,
                reference);
    task_types_print(j->task, &j->types, &text);
    for (size_t i = 0; i < j->task->n_dims; i++)
        strb_printf(&text, " %" PRId64, c->shape.dims[i]);
    for (size_t i = 0; i < j->task->n_scalars; i++)
        strb_printf(&text, " %a", c->scalars[i]);
    if (c->trusted_plan.n_launches > 0 && j->trusted_source)
        strb_printf(&text, " %s %s", j->trusted_options, j->trusted_source);
    hash_hex(strb_text(&text), text.length, out);
    strb_clear(&text);
}

kw_code case_cache_get(case_cache *cache, const job *j, const job_case *c, uint64_t seed, kw_reference_fn *reference,
                       case_progress progress, void *cookie, case_data **out, kw_error *err)
{
    char key[HASH_HEX_SIZE];
    make_key(j, c, seed, reference != NULL, key);
    cache->clock++;
    for (*out = cache->first; *out; *out = (*out)->next) {
        if (strcmp((*out)->key, key) == 0) {
            (*out)->last_used = cache->clock;
            return KW_OK;
        }
    }
    maker m = {
        .cache = cache, .job = j, .c = c, .seed = seed, .reference = reference, .progress = progress, .cookie = cookie};
    case_data *data = mem_calloc(1, sizeof *data);
    memcpy(data->key, key, sizeof key);
    data->last_used = cache->clock;
    kw_error local;
    kw_error_clear(&local);
    kw_code code = make_all(&m, data, err ? err : &local);
    if (code != KW_OK) {
        free_data(cache, data);
        return code;
    }
    data->next = cache->first;
    cache->first = data;
    *out = data;
    keep_below_caps(cache);
    return KW_OK;
}
