/* Buffers of the OpenCL back end. All commands go to one in-order queue; reads and writes wait, copies and fills
 * do not: a wait costs some 15 us on a GPU, and preparing one run takes a dozen of them. */
#include "device/opencl.h"

#include <stdio.h>
#include <string.h>

/* Drivers allocate at first use; using the last byte now makes a failure show where it belongs. */
static kw_code touch(device *d, device_buffer *b, kw_error *err)
{
    opencl *o = opencl_of(d);
    const unsigned char zero = 0;
    cl_int code = clEnqueueWriteBuffer(o->plain, opencl_mem(b), CL_TRUE, b->bytes - 1, 1, &zero, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "a new buffer cannot be used");
}

kw_code opencl_alloc(device *d, device_buffer *b, kw_error *err)
{
    cl_int code;
    char what[96];
    int64_t limit = d->info.limits.max_alloc_bytes;
    if (limit > 0 && b->bytes > (uint64_t)limit)
        return device_fail(
            d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT,
            "%s: a buffer of %zu bytes is over what the device allows at once (%lld): take a smaller shape",
            d->info.spec, b->bytes, (long long)limit);
    b->handle = opencl_fenced_buffer(d, b, &code);
    if (code == CL_SUCCESS) {
        /* Oclgrind 21.10 takes all of a buffer for unwritten for ever when the host writes a part of it first. */
        if (d->info.simulated || touch(d, b, err) == KW_OK)
            return KW_OK;
        if (!d->lost)
            clReleaseMemObject(opencl_mem(b));
        return KW_ENVIRONMENT;
    }
    snprintf(what, sizeof what, "no buffer of %zu bytes", b->bytes);
    return opencl_fail(d, OPENCL_PREPARING, code, err, what);
}

void opencl_free_buffer(device *d, device_buffer *b)
{
    (void)d;
    clReleaseMemObject(opencl_mem(b));
}

kw_code opencl_view(device *d, device_buffer *b, kw_error *err)
{
    cl_int code;
    const cl_buffer_region region = {b->offset, b->bytes};
    b->handle =
        clCreateSubBuffer(opencl_mem(b->parent), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_PREPARING, code, err, "no view of a buffer");
}

kw_code opencl_write(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err)
{
    cl_int code = clEnqueueWriteBuffer(opencl_of(d)->plain, opencl_mem(b), CL_TRUE, offset, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "writing a buffer");
}

kw_code opencl_read(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err)
{
    cl_int code = clEnqueueReadBuffer(opencl_of(d)->plain, opencl_mem(b), CL_TRUE, offset, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "reading a buffer");
}

kw_code opencl_copy(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                    size_t bytes, kw_error *err)
{
    cl_int code = clEnqueueCopyBuffer(opencl_of(d)->plain, opencl_mem(from), opencl_mem(to), from_offset, to_offset,
                                      bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "copying a buffer");
}

/* Patterns of one byte are slow on some drivers: most of the range is filled by words where it is aligned. GPUs
 * fill words of 4 bytes by themselves, larger patterns need not be. */
kw_code opencl_fill(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err)
{
    opencl *o = opencl_of(d);
    unsigned char word[16];
    const size_t size = d->info.limits.is_cpu ? sizeof word : 4;
    size_t whole = offset % size == 0 ? bytes - bytes % size : 0;
    cl_int code = CL_SUCCESS;
    memset(word, byte, sizeof word);
    if (whole > 0)
        code = clEnqueueFillBuffer(o->plain, opencl_mem(b), word, size, offset, whole, 0, NULL, NULL);
    if (code == CL_SUCCESS && bytes > whole)
        code = clEnqueueFillBuffer(o->plain, opencl_mem(b), word, 1, offset + whole, bytes - whole, 0, NULL, NULL);
    return code == CL_SUCCESS ? KW_OK : opencl_fail(d, OPENCL_TRANSFER, code, err, "filling a buffer");
}
