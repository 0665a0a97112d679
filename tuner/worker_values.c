/* Drawing inputs, and asking references. */
#include "tuner/worker_values.h"

#include "base/mem.h"
#include "tuner/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096         /* elements asked of a reference at a time */
#define SAMPLE_STREAM 2000 /* apart from the streams of inputs */

void case_key(const case_request *q, char out[HASH_HEX_SIZE])
{
    const job *j = q->job;
    const job_case *c = q->c;
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s %d %016" PRIx64 " %d %d ", j->task->hash, j->task->name, (int)c->dist, q->seed,
                c->sampled, q->reference != NULL);
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

/* ---- inputs ---- */

static kw_code no_host_memory(const case_request *q, size_t tensor, uint64_t bytes, kw_error *err)
{
    return kw_error_set(err, KW_ENVIRONMENT, "no host memory for %" PRIu64 " MiB of tensor %s", bytes >> 20,
                        q->job->task->tensors[tensor].name);
}

uint64_t case_inputs_bytes(const case_request *q)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < q->job->task->n_tensors; i++) {
        tensor_layout l;
        if (layout_of(q->job->task, &q->job->types, &q->c->shape, i, &l, NULL) != KW_OK ||
            l.elements > UINT64_MAX / 32 / TASK_MAX_TENSORS)
            return UINT64_MAX;
        /* An inout is there once more while the reference is asked whether it reads it. */
        const uint64_t doubles = q->job->task->tensors[i].access == TASK_INOUT ? 2 : 1;
        if (q->job->task->tensors[i].access != TASK_OUT)
            sum += l.bytes + doubles * l.elements * sizeof(double);
    }
    return sum;
}

kw_code case_data_new(const case_request *q, case_data **out, kw_error *err)
{
    const task *t = q->job->task;
    case_data *data = mem_calloc(1, sizeof *data);
    kw_code code = KW_OK;
    data->n_tensors = t->n_tensors;
    case_key(q, data->key);
    for (size_t i = 0; i < t->n_tensors && code == KW_OK; i++) {
        code = layout_of(t, &q->job->types, &q->c->shape, i, &data->layout[i], err);
        data->overwritten[i] = t->tensors[i].access == TASK_OUT;
    }
    *out = data;
    return code;
}

void case_data_free(case_data *data)
{
    for (size_t t = 0; data && t < data->n_tensors; t++) {
        free(data->native[t]);
        free(data->values[t]);
        free(data->expected[t].logical);
        free(data->expected[t].value);
        free(data->expected[t].scale);
        free(data->expected[t].trusted);
    }
    free(data);
}

bool case_is_input(const case_request *q, const case_data *data, size_t tensor)
{
    return q->job->task->tensors[tensor].access != TASK_OUT && data->layout[tensor].elements > 0;
}

kw_code case_draw(const case_request *q, case_data *data, size_t tensor, kw_error *err)
{
    const tensor_layout *l = &data->layout[tensor];
    data->native[tensor] = mem_try_alloc(l->bytes);
    data->values[tensor] = mem_try_alloc(l->elements * sizeof(double));
    if (!data->native[tensor] || !data->values[tensor])
        return no_host_memory(q, tensor, l->bytes + l->elements * sizeof(double), err);
    return inputs_fill(q->job->task, &q->job->types, &q->c->shape, tensor, q->c->dist, q->seed, l, data->native[tensor],
                       data->values[tensor], err);
}

/* ---- expected values ---- */

/* n elements from `from` on, of those in `logical` or, where that is NULL, of all; to the start of wanted and scale. */
static void ask_reference(const case_request *q, const case_data *data, const double *const *tensors, size_t tensor,
                          size_t from, size_t n, const uint64_t *logical, double *wanted, double *scale)
{
    uint64_t elements[TASK_MAX_TENSORS], flat[CHUNK];
    for (size_t i = 0; i < data->n_tensors; i++)
        elements[i] = data->layout[i].elements;
    kw_ref ref = {.n_dims = q->job->task->n_dims,
                  .dims = q->c->shape.dims,
                  .n_scalars = q->job->task->n_scalars,
                  .scalars = q->c->scalars,
                  .n_tensors = data->n_tensors,
                  .tensors = tensors,
                  .elements = elements};
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < count; i++)
            flat[i] = layout_flat(&data->layout[tensor], logical ? logical[from + first + i] : from + first + i);
        q->reference(&ref, (int)tensor, count, flat, wanted + first, scale + first);
        q->progress(q->cookie);
    }
}

static kw_code make_expected(const case_request *q, case_data *data, size_t tensor, kw_error *err)
{
    const tensor_layout *l = &data->layout[tensor];
    expected *e = &data->expected[tensor];
    e->rule = verify_rule_of(q->job->task, &q->job->types, &q->c->shape, tensor);
    e->n = l->count;
    if (q->c->sampled && l->count > SAMPLED_ELEMENTS)
        e->n = layout_sample(l, SAMPLED_ELEMENTS, q->seed, SAMPLE_STREAM + tensor, &e->logical);
    e->value = mem_try_alloc(e->n * sizeof *e->value);
    e->scale = mem_try_alloc(e->n * sizeof *e->scale);
    if (!e->value || !e->scale)
        return no_host_memory(q, tensor, 2 * e->n * sizeof(double), err);
    data->host_bytes += 2 * e->n * sizeof(double);
    ask_reference(q, data, (const double *const *)data->values, tensor, 0, e->n, e->logical, e->value, e->scale);
    for (size_t i = 0; i < e->n; i++)
        e->max_scale = fmax(e->max_scale, fabs(e->scale[i]));
    const bool whole = q->c->dist == DIST_INTEGERS || q->c->dist == DIST_PEAKS;
    e->rule.exact = whole && verify_must_be_exact(&e->rule, e->value, e->scale, e->n);
    e->known = true;
    return KW_OK;
}

/* Does the reference give the expected values of tensor t for these inputs as well? Up to the first difference. */
static bool gives_the_same(const case_request *q, const case_data *data, const double *const *tensors, size_t t,
                           double *wanted, double *scale)
{
    const expected *e = &data->expected[t];
    bool same = true;
    for (size_t first = 0; first < e->n && same; first += CHUNK) {
        const size_t n = e->n - first < CHUNK ? e->n - first : CHUNK;
        ask_reference(q, data, tensors, t, first, n, e->logical, wanted, scale);
        for (size_t i = 0; i < n && same; i++)
            same = wanted[i] == e->value[first + i];
    }
    return same;
}

/* Does the result depend on what an inout held before? The reference is asked again with NaN there: if it gives the
 * same, the kernel must not read it either (beta = 0 in a product), and it is poisoned like a pure output. */
static void find_overwritten(const case_request *q, case_data *data, size_t tensor)
{
    const expected *e = &data->expected[tensor];
    const tensor_layout *l = &data->layout[tensor];
    if (!e->known || !data->values[tensor] || !dtype_is_float(l->type) || !l->dense)
        return;
    double *nan = mem_try_alloc(l->elements * sizeof *nan);
    double wanted[CHUNK], scale[CHUNK];
    const double *tensors[TASK_MAX_TENSORS];
    memcpy(tensors, data->values, sizeof tensors);
    if (nan) {
        for (uint64_t i = 0; i < l->elements; i++)
            nan[i] = (double)NAN;
        tensors[tensor] = nan;
        bool same = true;
        for (size_t t = 0; t < data->n_tensors && same; t++) {
            const expected *other = &data->expected[t];
            if (!other->known)
                continue;
            same = gives_the_same(q, data, tensors, t, wanted, scale);
        }
        data->overwritten[tensor] = same;
    }
    free(nan);
}

kw_code case_expect(const case_request *q, case_data *data, kw_error *err)
{
    const task *t = q->job->task;
    kw_code code = KW_OK;
    for (size_t i = 0; i < t->n_tensors && code == KW_OK && q->reference; i++)
        if (t->tensors[i].access != TASK_IN && data->layout[i].count > 0)
            code = make_expected(q, data, i, err);
    for (size_t i = 0; i < t->n_tensors && code == KW_OK; i++)
        if (t->tensors[i].access == TASK_INOUT)
            find_overwritten(q, data, i);
    for (size_t i = 0; i < t->n_tensors; i++) {
        free(data->values[i]);
        data->values[i] = NULL;
    }
    data->reference_asked = code == KW_OK;
    return code;
}
