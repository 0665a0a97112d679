/* What the scripted device can compute, all in float, and how a script spoils it. A kernel is known by the start of its
 * name; one with another name is accepted and computes nothing. */
#include "device/fake.h"

#include <math.h>
#include <string.h>

/* The arguments of a launch, read as a function needs them; `ok` is false once something did not fit. */
typedef struct arguments {
    const device_launch *launch;
    size_t next;
    bool ok;
} arguments;

static int64_t next_int(arguments *a)
{
    const device_arg *arg = &a->launch->args[a->next++];
    int32_t narrow = 0;
    int64_t wide = 0;
    if (arg->kind != DEVICE_ARG_BYTES || (arg->n != 4 && arg->n != 8)) {
        a->ok = false;
        return 0;
    }
    memcpy(arg->n == 4 ? (void *)&narrow : (void *)&wide, arg->bytes, arg->n);
    int64_t number = arg->n == 4 ? narrow : wide;
    a->ok = a->ok && number >= 0;
    return number;
}

static float next_float(arguments *a)
{
    const device_arg *arg = &a->launch->args[a->next++];
    float number = 0;
    if (arg->kind != DEVICE_ARG_BYTES || arg->n != sizeof number)
        a->ok = false;
    else
        memcpy(&number, arg->bytes, sizeof number);
    return number;
}

/* A buffer of at least `n` floats; NULL is fine for none. */
static float *next_buffer(arguments *a, int64_t n)
{
    const device_arg *arg = &a->launch->args[a->next++];
    if (arg->kind != DEVICE_ARG_BUFFER ||
        (n > 0 && (!arg->buffer || (uint64_t)n > arg->buffer->bytes / sizeof(float)))) {
        a->ok = false;
        return NULL;
    }
    return arg->buffer ? (float *)(void *)fake_memory(arg->buffer) : NULL;
}

/* One output that a function has written. */
typedef struct output {
    size_t arg;   /* index of its argument */
    int64_t n;    /* elements written */
    size_t input; /* index of an argument that is only read */
} output;

/* (n, in, out) */
static output copy(arguments *a)
{
    int64_t n = next_int(a);
    const float *in = next_buffer(a, n);
    float *out = next_buffer(a, n);
    for (int64_t i = 0; a->ok && i < n; i++)
        out[i] = in[i];
    return (output){2, n, 1};
}

/* (n, a, x, y): y = a x + y */
static output saxpy(arguments *a)
{
    int64_t n = next_int(a);
    float alpha = next_float(a);
    const float *x = next_buffer(a, n);
    float *y = next_buffer(a, n);
    for (int64_t i = 0; a->ok && i < n; i++)
        y[i] = alpha * x[i] + y[i];
    return (output){3, n, 2};
}

/* (n, x, out): out[0] = sum of x */
static output sum(arguments *a)
{
    int64_t n = next_int(a);
    const float *x = next_buffer(a, n);
    float *out = next_buffer(a, 1);
    double total = 0;
    for (int64_t i = 0; a->ok && i < n; i++)
        total += (double)x[i];
    if (a->ok)
        out[0] = (float)total;
    return (output){2, 1, 1};
}

/* (M, N, K, alpha, A, B, beta, C): C = alpha A B + beta C, row-major; C is not read when beta is 0 */
static output gemm(arguments *a)
{
    int64_t m = next_int(a), n = next_int(a), k = next_int(a);
    float alpha = next_float(a);
    const float *A = next_buffer(a, m * k), *B = next_buffer(a, k * n);
    float beta = next_float(a);
    float *C = next_buffer(a, m * n);
    for (int64_t i = 0; a->ok && i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double total = 0;
            for (int64_t l = 0; l < k; l++)
                total += (double)A[i * k + l] * (double)B[l * n + j];
            float *c = &C[i * n + j];
            *c = (float)((double)alpha * total) + (beta == 0.0f ? 0.0f : beta * *c);
        }
    return (output){7, m * n, 4};
}

static const struct {
    const char *prefix;
    size_t n_args;
    output (*run)(arguments *a);
} functions[] = {{"fake_copy", 3, copy}, {"fake_saxpy", 4, saxpy}, {"fake_sum", 3, sum}, {"fake_gemm", 8, gemm}};

/* A value that no tolerance takes for `x`. */
static float far_from(float x)
{
    return x + fabsf(x) * 0.5f + 1.0f;
}

/* Does to the output what the script wants. */
static void spoil(const fake_program *p, const device_launch *l, output out)
{
    const fake_script *s = &p->script;
    float *data = (float *)(void *)fake_memory(l->args[out.arg].buffer);
    size_t bytes = l->args[out.arg].buffer->bytes;
    int64_t middle = out.n / 2;
    if (s->result == FAKE_RESULT_WRONG || (s->only_first && p->n_runs > 0))
        data[middle] = far_from(data[middle]);
    if (s->result == FAKE_RESULT_NAN)
        data[middle] = NAN;
    for (int64_t i = 0; s->result == FAKE_RESULT_CONSTANT && i < out.n; i++)
        data[i] = 1.0f;
    if (s->result == FAKE_RESULT_OOB)
        memcpy((unsigned char *)data + bytes, &(float){12345.0f}, sizeof(float));
    if (s->result == FAKE_RESULT_OOB_BEFORE)
        memcpy((unsigned char *)data - sizeof(float), &(float){12345.0f}, sizeof(float));
    if (s->nondeterministic)
        data[middle] += (fabsf(data[middle]) + 1.0f) * 0.01f * (float)(1 + p->n_runs % 97);
    if (s->modify_input && l->args[out.input].buffer) {
        float *input = (float *)(void *)fake_memory(l->args[out.input].buffer);
        input[0] = far_from(input[0]);
    }
}

kw_code fake_launch(device *d, const fake_program *p, const device_launch *l, kw_error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strncmp(l->kernel, functions[i].prefix, strlen(functions[i].prefix)) != 0)
            continue;
        arguments a = {l, 0, l->n_args == functions[i].n_args};
        output out = {0};
        if (a.ok)
            out = functions[i].run(&a);
        if (!a.ok)
            return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED,
                               "kernel \"%s\": %s takes other arguments, or buffers are too small", l->kernel,
                               functions[i].prefix);
        if (out.n > 0)
            spoil(p, l, out);
    }
    return KW_OK;
}
