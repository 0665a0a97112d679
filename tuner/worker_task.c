/* A job of mode "check": the task itself, before anything is measured with it. No device is opened.
 *
 * The reference must agree with itself (the same call twice, element by element in another order), give numbers where
 * the inputs are ordinary ones, and use every input. What it says of a kernel is worth nothing otherwise. */
#include "tuner/worker_internal.h"

#include "base/mem.h"
#include "tuner/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ELEMENTS 512 /* of an output that are asked for */
#define SAMPLE_STREAM 3000
#define OTHER_SEED 0x07e4u

typedef struct checker {
    run *r;
    const job_case *c;
    kw_reference_fn *reference;
    tensor_layout layout[TASK_MAX_TENSORS];
    double *values[TASK_MAX_TENSORS]; /* NULL: a pure output, or empty */
    uint64_t elements[TASK_MAX_TENSORS];
    bool varies[TASK_MAX_TENSORS], matters[TASK_MAX_TENSORS]; /* in any case so far */
} checker;

/* Elements of one output, and what the reference said of them. */
typedef struct answer {
    size_t n;
    uint64_t *logical, *flat;
    double *value, *scale;
} answer;

static bool broken(checker *k, size_t tensor, const answer *a, size_t i, const char *what)
{
    kw_error err;
    strb name = STRB_INIT, shape = STRB_INIT;
    const task *t = k->r->job->task;
    verify_name_element(t->tensors[tensor].name, &k->layout[tensor], a->logical[i], &name);
    task_shape_print(t, &k->c->shape, &shape);
    kw_error_set(&err, KW_BAD_INPUT, "the reference of task %s %s: %s at %s; nothing can be measured with it: mend it",
                 t->name, what, strb_text(&name), strb_text(&shape));
    strb_clear(&name);
    strb_clear(&shape);
    return run_fatal(k->r, &err);
}

static void ask(const checker *k, size_t tensor, size_t n, const uint64_t *flat, double *wanted, double *scale)
{
    const task *t = k->r->job->task;
    const kw_ref ref = {.n_dims = t->n_dims,
                        .dims = k->c->shape.dims,
                        .n_scalars = t->n_scalars,
                        .scalars = k->c->scalars,
                        .n_tensors = t->n_tensors,
                        .tensors = (const double *const *)k->values,
                        .elements = k->elements};
    k->reference(&ref, (int)tensor, n, flat, wanted, scale);
    run_keep_alive(k->r);
}

static bool same_bits(const double *a, const double *b, size_t n, size_t *first)
{
    for (*first = 0; *first < n; ++*first)
        if (memcmp(&a[*first], &b[*first], sizeof *a) != 0)
            return false;
    return true;
}

/* Twice the same, then one by one from the last to the first. */
static bool agrees_with_itself(checker *k, size_t tensor, const answer *a)
{
    double *got = mem_calloc(2 * a->n, sizeof *got), *scale = got + a->n;
    size_t i;
    ask(k, tensor, a->n, a->flat, got, scale);
    bool good = (same_bits(a->value, got, a->n, &i) && same_bits(a->scale, scale, a->n, &i)) ||
                broken(k, tensor, a, i, "gives another value when it is asked again");
    for (size_t e = a->n; good && e-- > 0;)
        ask(k, tensor, 1, &a->flat[e], &got[e], &scale[e]);
    good = good && ((same_bits(a->value, got, a->n, &i) && same_bits(a->scale, scale, a->n, &i)) ||
                    broken(k, tensor, a, i, "gives another value when it is asked for one element at a time"));
    free(got);
    return good;
}

static bool gives_numbers(checker *k, size_t tensor, const answer *a)
{
    for (size_t i = 0; i < a->n; i++) {
        if (!isfinite(a->value[i]))
            return broken(k, tensor, a, i, "gives no number for ordinary inputs");
        if (!isfinite(a->scale[i]) || a->scale[i] < 0)
            return broken(k, tensor, a, i, "gives a scale that is negative or no number");
    }
    return true;
}

static bool draw(checker *k, size_t tensor, uint64_t seed, double *out)
{
    const job *j = k->r->job;
    kw_error err;
    return inputs_fill(j->task, &j->types, &k->c->shape, tensor, k->c->dist, seed, &k->layout[tensor], NULL, out,
                       &err) == KW_OK ||
           run_fatal(k->r, &err);
}

/* Every input in turn is drawn anew: does that show in this output? */
static bool look_for_effects(checker *k, size_t output, const answer *a)
{
    const task *t = k->r->job->task;
    double *got = mem_calloc(2 * a->n, sizeof *got), *scale = got + a->n;
    bool good = true;
    for (size_t i = 0; good && i < t->n_tensors; i++) {
        double *before = k->values[i];
        size_t first;
        if (!before || k->matters[i])
            continue;
        double *other = mem_calloc(k->elements[i], sizeof *other);
        good = draw(k, i, k->c->seed ^ OTHER_SEED, other);
        if (good && !same_bits(before, other, k->elements[i], &first)) {
            k->varies[i] = true;
            k->values[i] = other;
            ask(k, output, a->n, a->flat, got, scale);
            k->values[i] = before;
            k->matters[i] = !same_bits(a->value, got, a->n, &first);
        }
        free(other);
    }
    free(got);
    return good;
}

static bool check_output(checker *k, size_t tensor)
{
    const tensor_layout *l = &k->layout[tensor];
    answer a = {.n = 0};
    a.n = layout_sample(l, MOST_ELEMENTS, k->c->seed, SAMPLE_STREAM + tensor, &a.logical);
    a.flat = mem_calloc(a.n, sizeof *a.flat);
    a.value = mem_calloc(a.n, sizeof *a.value);
    a.scale = mem_calloc(a.n, sizeof *a.scale);
    for (size_t i = 0; i < a.n; i++)
        a.flat[i] = layout_flat(l, a.logical[i]);
    ask(k, tensor, a.n, a.flat, a.value, a.scale);
    bool good = agrees_with_itself(k, tensor, &a) && gives_numbers(k, tensor, &a) && look_for_effects(k, tensor, &a);
    free(a.logical);
    free(a.flat);
    free(a.value);
    free(a.scale);
    return good;
}

static bool check_case(checker *k)
{
    const job *j = k->r->job;
    bool good = true;
    kw_error err;
    for (size_t i = 0; good && i < j->task->n_tensors; i++) {
        tensor_layout *l = &k->layout[i];
        good = layout_of(j->task, &j->types, &k->c->shape, i, l, &err) == KW_OK || run_fatal(k->r, &err);
        k->elements[i] = good ? l->elements : 0;
        if (!good || j->task->tensors[i].access == TASK_OUT || l->elements == 0)
            continue;
        k->values[i] = mem_calloc(l->elements, sizeof *k->values[i]);
        good = draw(k, i, k->c->seed, k->values[i]);
    }
    for (size_t i = 0; good && i < j->task->n_tensors; i++)
        if (j->task->tensors[i].access != TASK_IN && k->layout[i].count > 0)
            good = check_output(k, i);
    for (size_t i = 0; i < j->task->n_tensors; i++) {
        free(k->values[i]);
        k->values[i] = NULL;
    }
    return good;
}

/* An inout that is only written, for every value of the scalars, is an output. */
static bool all_matter(checker *k)
{
    const task *t = k->r->job->task;
    kw_error err;
    for (size_t i = 0; i < t->n_tensors; i++) {
        if (!k->varies[i] || k->matters[i])
            continue;
        kw_error_set(
            &err, KW_BAD_INPUT,
            "the reference of task %s does not use its input %s: other values there change no output; mend the "
            "reference, or %s",
            t->name, t->tensors[i].name,
            t->tensors[i].access == TASK_INOUT ? "make it \"out\"" : "leave the tensor out of the task");
        return run_fatal(k->r, &err);
    }
    return true;
}

bool run_check_task(run *r)
{
    checker k;
    kw_error err;
    memset(&k, 0, sizeof k);
    k.r = r;
    if (reference_get(r->worker->references, r->job->task, &k.reference, &err) != KW_OK)
        return run_fatal(r, &err);
    r->in_reference = k.reference != NULL;
    run_announce(r, STAGE_VERIFY);
    bool good = true;
    for (size_t i = 0; good && k.reference && i < r->job->n_cases; i++) {
        k.c = &r->job->cases[i];
        good = check_case(&k);
        r->record->cases_passed += good;
    }
    good = good && all_matter(&k);
    r->in_reference = false;
    return good;
}
