/* Fences: on PoCL a kernel is native code and buffers are the process's own memory, so that what lies before and behind
 * a tensor can be made unreadable while a kernel runs. A read past an end, of which no result shows anything, ends the
 * process then, as a write far away would.
 *
 * Buffers lie so that their last byte is the last of a page, as far as the alignment of buffers allows it. Guard bands
 * are whole pages: with a view between two of them its end meets the first closed page, but for less than ALIGNMENT
 * bytes. At the front up to a page stays open. */
#include "device/opencl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((uintptr_t)4096)
#define ALIGNMENT ((uintptr_t)128) /* PoCL's, of the largest vector */

bool opencl_fences(const device *d)
{
    return d->info.limits.is_cpu && !d->info.simulated && strcmp(d->info.platform, "Portable Computing Language") == 0;
}

static uintptr_t page_up(uintptr_t x)
{
    return (x + PAGE - 1) / PAGE * PAGE;
}

static uintptr_t page_down(uintptr_t x)
{
    return x / PAGE * PAGE;
}

/* The whole mapping of a buffer. */
static size_t mapped_bytes(size_t bytes)
{
    return page_up(bytes + ALIGNMENT);
}

static unsigned char *mapping_of(unsigned char *host)
{
    return (unsigned char *)page_down((uintptr_t)host);
}

/* The driver is done with the memory: only now, whatever was still in the queue when the buffer was released. */
static void CL_CALLBACK unmap(cl_mem mem, void *cookie)
{
    size_t *bytes = cookie;
    unsigned char *host;
    (void)mem;
    memcpy(&host, bytes + 1, sizeof host);
    munmap(mapping_of(host), *bytes);
    free(cookie);
}

/* Remembers the mapping until then. */
static bool unmap_later(cl_mem mem, unsigned char *host, size_t bytes)
{
    size_t *cookie = malloc(sizeof *cookie + sizeof host);
    if (!cookie)
        return false;
    *cookie = bytes;
    memcpy(cookie + 1, &host, sizeof host);
    if (clSetMemObjectDestructorCallback(mem, unmap, cookie) == CL_SUCCESS)
        return true;
    free(cookie);
    return false;
}

static cl_mem in_own_memory(device *d, device_buffer *b, cl_int *code)
{
    const size_t all = mapped_bytes(b->bytes);
    unsigned char *base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    const uintptr_t spare = (all - b->bytes) % PAGE;
    unsigned char *host = base + spare / ALIGNMENT * ALIGNMENT;
    cl_mem mem = clCreateBuffer(opencl_of(d)->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, b->bytes, host, code);
    if (*code == CL_SUCCESS && unmap_later(mem, host, all)) {
        b->host = host;
        return mem;
    }
    if (*code == CL_SUCCESS)
        clReleaseMemObject(mem);
    munmap(base, all);
    return NULL;
}

cl_mem opencl_fenced_buffer(device *d, device_buffer *b, cl_int *code)
{
    cl_mem mem = opencl_fences(d) ? in_own_memory(d, b, code) : NULL;
    return mem ? mem : clCreateBuffer(opencl_of(d)->context, CL_MEM_READ_WRITE, b->bytes, NULL, code);
}

static void protect(uintptr_t from, uintptr_t to, bool closed)
{
    if (from < to)
        mprotect((void *)from, to - from, closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void opencl_fence(const device_launch *launches, size_t n, bool closed)
{
    for (size_t l = 0; l < n; l++) {
        for (size_t i = 0; i < launches[l].n_args; i++) {
            const device_arg *a = &launches[l].args[i];
            const device_buffer *view = a->kind == DEVICE_ARG_BUFFER ? a->buffer : NULL;
            if (!view || !view->parent || !view->parent->host || view->parent->n_views > 1)
                continue;
            const uintptr_t whole = (uintptr_t)view->parent->host, from = whole + view->offset;
            const uintptr_t mapped = page_down(whole), end = mapped + mapped_bytes(view->parent->bytes);
            protect(mapped, page_down(from), closed);
            protect(page_up(from + view->bytes), end, closed);
        }
    }
}
