#include "tuner/results_bytes.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK (256 << 10)
#define GZIP_WINDOW (15 + 16) /* the largest, with a gzip header */

struct results_bytes {
    int fd;
    bool begun, packed, between; /* between: a member has ended, and nothing of another one was seen */
    z_stream z;
    unsigned char raw[CHUNK];
    size_t at, end; /* what is left of it */
};

results_bytes *results_bytes_open(int fd)
{
    results_bytes *b = mem_calloc(1, sizeof *b);
    b->fd = fd;
    return b;
}

void results_bytes_close(results_bytes *b)
{
    if (!b)
        return;
    if (b->packed)
        inflateEnd(&b->z);
    close(b->fd);
    free(b);
}

/* -1: an error of the system. */
static ssize_t read_some(int fd, void *out, size_t size)
{
    ssize_t n;
    do
        n = read(fd, out, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Adds to the raw bytes, if there is room; *more is false at the end of the file. */
static const char *fill(results_bytes *b, bool *more)
{
    if (b->at == b->end)
        b->at = b->end = 0;
    ssize_t n = read_some(b->fd, b->raw + b->end, CHUNK - b->end);
    if (n < 0)
        return strerror(errno);
    b->end += (size_t)n;
    *more = n > 0;
    return NULL;
}

/* The first two bytes say what it is. */
static const char *begin(results_bytes *b)
{
    bool more = true;
    while (more && b->end < 2) {
        const char *fault = fill(b, &more);
        if (fault)
            return fault;
    }
    b->begun = true;
    if (b->end < 2 || b->raw[0] != 0x1f || b->raw[1] != 0x8b)
        return NULL;
    if (inflateInit2(&b->z, GZIP_WINDOW) != Z_OK)
        return "zlib does not start";
    b->packed = true;
    return NULL;
}

/* What stands behind a member: nothing, zeros that fill a block, or another member. */
static const char *next_member(results_bytes *b, bool *is_end)
{
    for (bool more = true; more;) {
        while (b->at < b->end && b->raw[b->at] == 0)
            b->at++;
        if (b->at < b->end) {
            if (b->raw[b->at] != 0x1f || inflateReset(&b->z) != Z_OK)
                return "something that is not compressed follows what is: compress the file as a whole";
            b->between = false;
            return NULL;
        }
        const char *fault = fill(b, &more);
        if (fault)
            return fault;
    }
    *is_end = true;
    return NULL;
}

static const char *read_packed(results_bytes *b, char *out, size_t size, size_t *got)
{
    while (*got == 0) {
        bool more = true, is_end = false;
        const char *fault = b->between ? next_member(b, &is_end) : NULL;
        if (!fault && !is_end && b->at == b->end)
            fault = fill(b, &more);
        if (fault || is_end)
            return fault;
        if (!more)
            return "the compressed file was cut off";
        b->z.next_in = b->raw + b->at;
        b->z.avail_in = (unsigned)(b->end - b->at);
        b->z.next_out = (unsigned char *)out;
        b->z.avail_out = (unsigned)size;
        int state = inflate(&b->z, Z_NO_FLUSH);
        b->at = b->end - b->z.avail_in;
        *got = size - b->z.avail_out;
        b->between = state == Z_STREAM_END;
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return "damaged compressed data";
    }
    return NULL;
}

const char *results_bytes_read(results_bytes *b, char *out, size_t size, size_t *got)
{
    *got = 0;
    const char *fault = b->begun ? NULL : begin(b);
    if (fault)
        return fault;
    if (b->packed)
        return read_packed(b, out, size, got);
    if (b->at < b->end) {
        *got = b->end - b->at < size ? b->end - b->at : size;
        memcpy(out, b->raw + b->at, *got);
        b->at += *got;
        return NULL;
    }
    ssize_t n = read_some(b->fd, out, size);
    if (n < 0)
        return strerror(errno);
    *got = (size_t)n;
    return NULL;
}
