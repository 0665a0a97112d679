/* Comparing two ranges of buffers: on a device that shares the host's memory by the host, else by a kernel of ours, so
 * that nothing large travels. */
#include "device/opencl.h"

#include <string.h>

#define WORDS_PER_LAUNCH ((size_t)1 << 30) /* counts and indices of one launch are 32-bit */
#define GROUP 128
#define MOST_GROUPS 4096

/* result[0] counts, result[1] is the smallest index. One work-item looks at many words and reports once. */
static const char source[] =
    "kernel void kernwright_compare(global const uint *a, ulong a_from, global const uint *b, ulong b_from,\n"
    "                               uint n, global uint *result)\n"
    "{\n"
    "    uint count = 0, first = 0xffffffffu;\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        if (a[a_from + i] != b[b_from + i]) {\n"
    "            if (count == 0)\n"
    "                first = (uint)i;\n"
    "            count++;\n"
    "        }\n"
    "    if (count > 0) {\n"
    "        atomic_add(result, count);\n"
    "        atomic_min(result + 1, first);\n"
    "    }\n"
    "}\n";

static kw_code make_kernel(device *d, kw_error *err)
{
    opencl *o = opencl_of(d);
    const char *text = source;
    cl_int code = CL_SUCCESS;
    if (o->compare_kernel)
        return KW_OK;
    if (!o->compare_program)
        o->compare_program = clCreateProgramWithSource(o->context, 1, &text, NULL, &code);
    if (code == CL_SUCCESS)
        code = clBuildProgram(o->compare_program, 1, &o->id, "", NULL, NULL);
    if (code == CL_SUCCESS && !o->compare_result)
        o->compare_result = clCreateBuffer(o->context, CL_MEM_READ_WRITE, 2 * sizeof(cl_uint), NULL, &code);
    if (code == CL_SUCCESS)
        o->compare_kernel = clCreateKernel(o->compare_program, "kernwright_compare", &code);
    return code == CL_SUCCESS
               ? KW_OK
               : opencl_fail(d, OPENCL_PREPARING, code, err, "the kernel that compares buffers does not build");
}

static cl_int set_args(opencl *o, cl_mem a, cl_ulong a_from, cl_mem b, cl_ulong b_from, cl_uint n)
{
    const struct {
        size_t size;
        const void *bytes;
    } args[] = {{sizeof(cl_mem), &a},     {sizeof a_from, &a_from}, {sizeof(cl_mem), &b},
                {sizeof b_from, &b_from}, {sizeof n, &n},           {sizeof(cl_mem), &o->compare_result}};
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < sizeof args / sizeof args[0] && code == CL_SUCCESS; i++)
        code = clSetKernelArg(o->compare_kernel, i, args[i].size, args[i].bytes);
    return code;
}

/* Compares up to 2^32 - 1 words; result[] as in the kernel. */
static kw_code compare_words(device *d, cl_mem a, cl_ulong a_from, cl_mem b, cl_ulong b_from, cl_uint n,
                             cl_uint result[2], kw_error *err)
{
    opencl *o = opencl_of(d);
    size_t group = d->info.limits.max_work_group_size >= GROUP ? GROUP : 1;
    size_t groups = (n + group - 1) / group, local = group, global;
    result[0] = 0;
    result[1] = ~(cl_uint)0;
    if (groups > MOST_GROUPS)
        groups = MOST_GROUPS;
    global = groups * local;
    cl_int code =
        clEnqueueWriteBuffer(o->plain, o->compare_result, CL_TRUE, 0, 2 * sizeof(cl_uint), result, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = set_args(o, a, a_from, b, b_from, n);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(o->plain, o->compare_kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(o->plain, o->compare_result, CL_TRUE, 0, 2 * sizeof(cl_uint), result, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "comparing buffers");
}

/* The last bytes, fewer than a word: a word read there could reach over the end of the buffer. */
static kw_code compare_tail(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                            size_t bytes, uint64_t at, uint64_t *n_different, uint64_t *first, kw_error *err)
{
    unsigned char left[4], right[4];
    kw_code code = opencl_read(d, a, a_offset, left, bytes, err);
    if (code == KW_OK)
        code = opencl_read(d, b, b_offset, right, bytes, err);
    if (code == KW_OK)
        device_compare_memory(left, right, bytes, at, n_different, first);
    return code;
}

kw_code opencl_compare_by_kernel(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                                 size_t bytes, size_t words_per_launch, uint64_t *n_different, uint64_t *first,
                                 kw_error *err)
{
    size_t words = bytes / 4, tail = bytes % 4;
    kw_code code = make_kernel(d, err);
    for (size_t done = 0; code == KW_OK && done < words; done += words_per_launch) {
        size_t n = words - done < words_per_launch ? words - done : words_per_launch;
        cl_uint result[2];
        code = compare_words(d, opencl_mem(a), a_offset / 4 + done, opencl_mem(b), b_offset / 4 + done, (cl_uint)n,
                             result, err);
        if (code == KW_OK && result[0] > 0) {
            if (*n_different == 0)
                *first = ((uint64_t)done + result[1]) * 4;
            *n_different += result[0];
        }
    }
    if (code == KW_OK && tail > 0)
        code =
            compare_tail(d, a, a_offset + words * 4, b, b_offset + words * 4, tail, words * 4, n_different, first, err);
    return code;
}

kw_code opencl_compare_mapped(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                              size_t bytes, uint64_t *n_different, uint64_t *first, kw_error *err)
{
    opencl *o = opencl_of(d);
    cl_int code, second = CL_SUCCESS;
    void *left =
        clEnqueueMapBuffer(o->plain, opencl_mem(a), CL_TRUE, CL_MAP_READ, a_offset, bytes, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(d, OPENCL_TRANSFER, code, err, "mapping a buffer");
    void *right =
        clEnqueueMapBuffer(o->plain, opencl_mem(b), CL_TRUE, CL_MAP_READ, b_offset, bytes, 0, NULL, NULL, &second);
    if (second == CL_SUCCESS) {
        device_compare_memory(left, right, bytes, 0, n_different, first);
        code = clEnqueueUnmapMemObject(o->plain, opencl_mem(b), right, 0, NULL, NULL);
    }
    cl_int third = clEnqueueUnmapMemObject(o->plain, opencl_mem(a), left, 0, NULL, NULL);
    cl_int last = clFinish(o->plain);
    if (second != CL_SUCCESS)
        code = second;
    else if (code == CL_SUCCESS)
        code = third != CL_SUCCESS ? third : last;
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "mapping a buffer");
}

kw_code opencl_compare(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset, size_t bytes,
                       uint64_t *n_different, uint64_t *first, kw_error *err)
{
    if (!opencl_of(d)->compares_on_device)
        return opencl_compare_mapped(d, a, a_offset, b, b_offset, bytes, n_different, first, err);
    return opencl_compare_by_kernel(d, a, a_offset, b, b_offset, bytes, WORDS_PER_LAUNCH, n_different, first, err);
}
