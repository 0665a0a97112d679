/* Looking at results where they are: whether guard bands hold their byte, inputs are as they were, an output is close
 * to a trusted one; and fetching single elements. Kernels of ours do it, a list of checks at a time, so that a
 * candidate of a large shape costs neither a transfer nor a host loop.
 *
 * A kernel here only says "all is well" or "look closer": it never has to be exact about what is wrong. */
#include "device/opencl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GROUP 128
#define MOST_GROUPS 2048
#define MOST_CHECKS 256 /* of one list */
/* In the arithmetic of the kernel an element has to stay this far below its bound. */
#define MARGIN_DOUBLE 1e-12
#define MARGIN_FLOAT 1e-5

enum { IS_F32, IS_F16, IS_F64, IS_BITS }; /* as the kernel counts them */

enum { FILLED, SAME, CLOSE, GATHER, HIDE, N_KERNELS };

static const char *const kernel_names[N_KERNELS] = {"kernwright_filled", "kernwright_same", "kernwright_close",
                                                    "kernwright_gather", "kernwright_hide"};

/* Two words of `results` belong to a check: not zero if anything is in doubt; the bits of a float that is not negative,
 * the largest ratio of error and bound. */
static const char source[] =
    "#ifdef KW_DOUBLE\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "typedef double real;\n"
    "#else\n"
    "typedef float real;\n"
    "#endif\n"
    "\n"
    "/* What word i of a hidden buffer is changed by. */\n"
    "uint secret(ulong i, uint2 key)\n"
    "{\n"
    "    uint x = ((uint)i ^ key.x) * 0x7feb352du + (uint)(i >> 32);\n"
    "    x = ((x ^ (x >> 15)) + key.y) * 0x846ca68bu;\n"
    "    x = (x ^ (x >> 13)) * 0x9e3779b1u;\n"
    "    return x ^ (x >> 16);\n"
    "}\n"
    "\n"
    "real half_value(uint h)\n"
    "{\n"
    "    uint sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;\n"
    "    if (exponent == 0)\n"
    "        return (real)(sign ? -1.0f : 1.0f) * (real)fraction * (real)0x1p-24f;\n"
    "    uint bits = exponent == 31 ? 0x7f800000u | (fraction << 13) : ((exponent + 112) << 23) | (fraction << 13);\n"
    "    return (real)as_float(sign | bits);\n"
    "}\n"
    "\n"
    "uint word_of(global const uint *p, ulong i, int hidden, uint2 key)\n"
    "{\n"
    "    return hidden ? p[i] ^ secret(i, key) : p[i];\n"
    "}\n"
    "\n"
    "real value_of(global const uint *p, ulong from, ulong i, int type, int hidden, uint2 key)\n"
    "{\n"
    "    if (type == 0)\n"
    "        return (real)as_float(word_of(p, from + i, hidden, key));\n"
    "    if (type == 1)\n"
    "        return half_value((word_of(p, from + (i >> 1), hidden, key) >> (16 * (uint)(i & 1))) & 0xffffu);\n"
    "#ifdef KW_DOUBLE\n"
    "    uint low = word_of(p, from + 2 * i, hidden, key), high = word_of(p, from + 2 * i + 1, hidden, key);\n"
    "    return as_double(((ulong)high << 32) | low);\n"
    "#else\n"
    "    return (real)NAN;\n"
    "#endif\n"
    "}\n"
    "\n"
    "kernel void kernwright_filled(global const uchar *a, ulong from, ulong n, uint byte,\n"
    "                              global uint *results, uint slot)\n"
    "{\n"
    "    uint bad = 0;\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        bad |= a[from + i] ^ byte;\n"
    "    if (bad != 0)\n"
    "        atomic_or(results + 2 * slot, 1u);\n"
    "}\n"
    "\n"
    "kernel void kernwright_same(global const uint *a, ulong a_from, global const uint *b, ulong b_from, ulong bytes,\n"
    "                            global uint *results, uint slot)\n"
    "{\n"
    "    ulong n = bytes / 4;\n"
    "    uint bad = 0;\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        bad |= a[a_from + i] ^ b[b_from + i];\n"
    "    if (get_global_id(0) == 0)\n"
    "        for (ulong i = 4 * n; i < bytes; i++)\n"
    "            bad |= ((global const uchar *)(a + a_from))[i] ^ ((global const uchar *)(b + b_from))[i];\n"
    "    if (bad != 0)\n"
    "        atomic_or(results + 2 * slot, 1u);\n"
    "}\n"
    "\n"
    "/* b is hidden. type 3: equal bits, n counts words, the last one under last_mask. */\n"
    "kernel void kernwright_close(global const uint *a, ulong a_from, global const uint *b, ulong b_from, ulong n,\n"
    "                             int type, uint last_mask, real relative, real absolute, real margin, uint2 key,\n"
    "                             global uint *results, uint slot)\n"
    "{\n"
    "    uint bad = 0;\n"
    "    real worst = 0;\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {\n"
    "        if (type == 3) {\n"
    "            uint differ = a[a_from + i] ^ word_of(b, b_from + i, 1, key);\n"
    "            bad |= i == n - 1 ? differ & last_mask : differ;\n"
    "            continue;\n"
    "        }\n"
    "        real x = value_of(a, a_from, i, type, 0, key), v = value_of(b, b_from, i, type, 1, key);\n"
    "        real off = fabs(x - v), bound = relative * fabs(v) + absolute;\n"
    "        if (!(off <= bound * margin))\n"
    "            bad = 1; /* also when x or v is no number */\n"
    "        else if (off > worst * bound)\n"
    "            worst = off / bound;\n"
    "    }\n"
    "    if (bad != 0)\n"
    "        atomic_or(results + 2 * slot, 1u);\n"
    "    uint bits = as_uint((float)worst);\n"
    "    if (bits > ((volatile global uint *)results)[2 * slot + 1])\n"
    "        atomic_max(results + 2 * slot + 1, bits);\n"
    "}\n"
    "\n"
    "kernel void kernwright_gather(global const uchar *a, ulong from, uint size, global const ulong *index, uint n,\n"
    "                              global uchar *out)\n"
    "{\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < n)\n"
    "        for (uint k = 0; k < size; k++)\n"
    "            out[(ulong)i * size + k] = a[from + index[i] * size + k];\n"
    "}\n"
    "\n"
    "kernel void kernwright_hide(global uint *a, ulong n, uint2 key)\n"
    "{\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        a[i] ^= secret(i, key);\n"
    "}\n";

struct opencl_checker {
    bool works, has_double;
    cl_program program;
    cl_kernel kernels[N_KERNELS];
    cl_uint key[2];         /* of hidden buffers: new for every process, known to no candidate */
    cl_mem results;         /* two words a check */
    cl_mem index, gathered; /* grown when needed */
    size_t index_bytes, gathered_bytes;
};

/* ---- making it ---- */

void opencl_checker_free(opencl_checker *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < N_KERNELS; i++)
        if (c->kernels[i])
            clReleaseKernel(c->kernels[i]);
    const cl_mem buffers[] = {c->results, c->index, c->gathered};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    if (c->program)
        clReleaseProgram(c->program);
    free(c);
}

static void make_key(cl_uint key[2])
{
    if (getrandom(key, 2 * sizeof *key, 0) == (ssize_t)(2 * sizeof *key))
        return;
    uint64_t now = (uint64_t)clock_now_ns();
    memcpy(key, &now, sizeof now);
}

static cl_int create(opencl *o, opencl_checker *c)
{
    const char *text = source;
    cl_int code;
    c->program = clCreateProgramWithSource(o->context, 1, &text, NULL, &code);
    if (code == CL_SUCCESS)
        code = clBuildProgram(c->program, 1, &o->id, c->has_double ? "-DKW_DOUBLE" : "", NULL, NULL);
    for (size_t i = 0; i < N_KERNELS && code == CL_SUCCESS; i++)
        c->kernels[i] = clCreateKernel(c->program, kernel_names[i], &code);
    if (code == CL_SUCCESS)
        c->results = clCreateBuffer(o->context, CL_MEM_READ_WRITE, MOST_CHECKS * 2 * sizeof(cl_uint), NULL, &code);
    return code;
}

bool opencl_can_check(device *d)
{
    opencl *o = opencl_of(d);
    if (!o->compares_on_device)
        return false;
    if (!o->checker) {
        opencl_checker *c = mem_calloc(1, sizeof *c);
        c->has_double = d->info.limits.has_f64;
        make_key(c->key);
        cl_int code = create(o, c);
        c->works = code == CL_SUCCESS;
        o->checker = c;
        if (!c->works)
            log_debug("%s: the kernels that check results do not build (%s, %d): the host compares", d->info.spec,
                      opencl_error_name(code), code);
    }
    return o->checker->works;
}

/* ---- launching ---- */

typedef struct kernel_arg {
    size_t size;
    const void *bytes;
} kernel_arg;

/* Enqueues one of ours over `items` work-items' work. */
static cl_int launch(device *d, int kernel, const kernel_arg *args, cl_uint n_args, uint64_t items)
{
    opencl *o = opencl_of(d);
    size_t local = d->info.limits.max_work_group_size >= GROUP ? GROUP : 1;
    uint64_t groups = (items + local - 1) / local;
    cl_int code = CL_SUCCESS;
    if (kernel != GATHER && groups > MOST_GROUPS)
        groups = MOST_GROUPS;
    size_t global = (size_t)(groups > 0 ? groups : 1) * local;
    for (cl_uint i = 0; i < n_args && code == CL_SUCCESS; i++)
        code = clSetKernelArg(o->checker->kernels[kernel], i, args[i].size, args[i].bytes);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(o->plain, o->checker->kernels[kernel], 1, NULL, &global, &local, 0, NULL, NULL);
    return code;
}

#define ARG(x) \
    { \
        sizeof(x), &(x) \
    }

static cl_int check_filled(device *d, const device_check *k, cl_uint slot)
{
    const opencl_checker *c = opencl_of(d)->checker;
    cl_mem a = opencl_mem(k->a);
    cl_ulong from = k->a_offset, n = k->bytes;
    cl_uint byte = k->byte;
    const kernel_arg args[] = {ARG(a), ARG(from), ARG(n), ARG(byte), ARG(c->results), ARG(slot)};
    return launch(d, FILLED, args, sizeof args / sizeof *args, n);
}

static cl_int check_same(device *d, const device_check *k, cl_uint slot)
{
    const opencl_checker *c = opencl_of(d)->checker;
    cl_mem a = opencl_mem(k->a), b = opencl_mem(k->b);
    cl_ulong a_from = k->a_offset / 4, b_from = k->b_offset / 4, bytes = k->bytes;
    const kernel_arg args[] = {ARG(a), ARG(a_from), ARG(b), ARG(b_from), ARG(bytes), ARG(c->results), ARG(slot)};
    return launch(d, SAME, args, sizeof args / sizeof *args, bytes / 4);
}

/* How the kernel has to read the elements; -1: it cannot judge them. In single precision the bound must be far above
 * what the device may flush to zero. */
static cl_int kernel_type(const opencl_checker *c, const device_check *k)
{
    if ((k->relative == 0 && k->absolute == 0) || !dtype_is_float(k->type))
        return IS_BITS;
    if (!c->has_double && (k->type == DTYPE_F64 || !(k->absolute >= 8 * (double)FLT_MIN)))
        return -1;
    return k->type == DTYPE_F32 ? IS_F32 : k->type == DTYPE_F16 ? IS_F16 : k->type == DTYPE_F64 ? IS_F64 : -1;
}

static cl_int check_close(device *d, const device_check *k, cl_int type, cl_uint slot)
{
    const opencl_checker *c = opencl_of(d)->checker;
    cl_mem a = opencl_mem(k->a), b = opencl_mem(k->b);
    cl_ulong a_from = k->a_offset / 4, b_from = k->b_offset / 4;
    cl_ulong n = type == IS_BITS ? (k->bytes + 3) / 4 : k->bytes / dtype_bytes(k->type);
    cl_uint last_mask = k->bytes % 4 ? (1u << (8 * (k->bytes % 4))) - 1 : ~(cl_uint)0;
    cl_double doubles[3] = {k->relative, k->absolute, 1 - MARGIN_DOUBLE};
    cl_float floats[3] = {(cl_float)k->relative, (cl_float)k->absolute, (cl_float)(1 - MARGIN_FLOAT)};
    kernel_arg real[3];
    for (size_t i = 0; i < 3; i++)
        real[i] = c->has_double ? (kernel_arg)ARG(doubles[i]) : (kernel_arg)ARG(floats[i]);
    const kernel_arg args[] = {ARG(a),  ARG(a_from), ARG(b),  ARG(b_from), ARG(n),          ARG(type), ARG(last_mask),
                               real[0], real[1],     real[2], ARG(c->key), ARG(c->results), ARG(slot)};
    return launch(d, CLOSE, args, sizeof args / sizeof *args, n);
}

static cl_int enqueue_check(device *d, device_check *k, cl_uint slot)
{
    cl_int type;
    k->doubt = false;
    k->worst = 0;
    switch (k->kind) {
    case DEVICE_CHECK_FILLED:
        return check_filled(d, k, slot);
    case DEVICE_CHECK_SAME:
        return check_same(d, k, slot);
    case DEVICE_CHECK_CLOSE:
        type = kernel_type(opencl_of(d)->checker, k);
        k->doubt = type < 0;
        return k->doubt ? CL_SUCCESS : check_close(d, k, type, slot);
    }
    return CL_INVALID_VALUE;
}

/* One list that fits: zeros in, kernels, results out, one wait. */
static cl_int check_some(device *d, device_check *checks, size_t n)
{
    opencl *o = opencl_of(d);
    cl_uint results[2 * MOST_CHECKS];
    const cl_uint zero = 0;
    cl_int code =
        clEnqueueFillBuffer(o->plain, o->checker->results, &zero, sizeof zero, 0, 2 * n * sizeof zero, 0, NULL, NULL);
    for (size_t i = 0; i < n && code == CL_SUCCESS; i++)
        code = enqueue_check(d, &checks[i], (cl_uint)i);
    if (code == CL_SUCCESS)
        code =
            clEnqueueReadBuffer(o->plain, o->checker->results, CL_TRUE, 0, 2 * n * sizeof zero, results, 0, NULL, NULL);
    for (size_t i = 0; i < n && code == CL_SUCCESS; i++) {
        cl_float worst;
        memcpy(&worst, &results[2 * i + 1], sizeof worst);
        checks[i].doubt = checks[i].doubt || results[2 * i] != 0;
        checks[i].worst = (double)worst;
    }
    return code;
}

kw_code opencl_check_all(device *d, device_check *checks, size_t n, kw_error *err)
{
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < n && code == CL_SUCCESS; i += MOST_CHECKS)
        code = check_some(d, checks + i, n - i < MOST_CHECKS ? n - i : MOST_CHECKS);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "checking results");
}

/* ---- single elements ---- */

static cl_int grow(opencl *o, cl_mem *b, size_t *bytes, size_t wanted)
{
    cl_int code = CL_SUCCESS;
    if (*bytes >= wanted)
        return code;
    if (*b)
        clReleaseMemObject(*b);
    *b = clCreateBuffer(o->context, CL_MEM_READ_WRITE, wanted, NULL, &code);
    *bytes = code == CL_SUCCESS ? wanted : 0;
    if (code != CL_SUCCESS)
        *b = NULL;
    return code;
}

kw_code opencl_gather(device *d, device_buffer *b, size_t offset, size_t size, const uint64_t *index, size_t n,
                      void *out, kw_error *err)
{
    opencl *o = opencl_of(d);
    opencl_checker *c = o->checker;
    cl_int code = grow(o, &c->index, &c->index_bytes, n * sizeof *index);
    if (code == CL_SUCCESS)
        code = grow(o, &c->gathered, &c->gathered_bytes, n * size);
    if (code != CL_SUCCESS)
        return opencl_fail(d, OPENCL_PREPARING, code, err, "no memory to fetch single elements");
    cl_mem from = opencl_mem(b);
    cl_ulong at = offset;
    cl_uint bytes = (cl_uint)size, count = (cl_uint)n;
    const kernel_arg args[] = {ARG(from), ARG(at), ARG(bytes), ARG(c->index), ARG(count), ARG(c->gathered)};
    code = clEnqueueWriteBuffer(o->plain, c->index, CL_TRUE, 0, n * sizeof *index, index, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = launch(d, GATHER, args, sizeof args / sizeof *args, n);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(o->plain, c->gathered, CL_TRUE, 0, n * size, out, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "fetching single elements");
}

/* ---- hiding ---- */

kw_code opencl_hide(device *d, device_buffer *b, kw_error *err)
{
    const opencl_checker *c = opencl_of(d)->checker;
    cl_mem a = opencl_mem(b);
    cl_ulong n = b->bytes / 4;
    const kernel_arg args[] = {ARG(a), ARG(n), ARG(c->key)};
    cl_int code = launch(d, HIDE, args, sizeof args / sizeof *args, n);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "hiding a buffer");
}
