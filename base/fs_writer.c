#include "base/fs_writer.h"

#include "base/mem.h"
#include "base/strb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)256 << 10)

struct fs_writer {
    int fd;
    int failure; /* errno of the first one */
    char *path;
    char *target, *temporary; /* NULL where there is nothing to rename */
    char *buffer;
    size_t used;
};

/* Returns 0 or an errno value. */
static int write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

static kw_code failed(const char *path, int reason, kw_error *err)
{
    return kw_error_set(err, KW_ENVIRONMENT, "%s: cannot write: %s", strcmp(path, "-") == 0 ? "standard output" : path,
                        strerror(reason));
}

static void free_writer(fs_writer *w)
{
    free(w->path);
    free(w->target);
    free(w->temporary);
    free(w->buffer);
    free(w);
}

/* A file of its own until it is complete; through a symbolic link: the link stays, its target is replaced. */
static int open_temporary(fs_writer *w)
{
    w->target = realpath(w->path, NULL);
    if (!w->target)
        w->target = mem_strdup(w->path);
    strb temporary = STRB_INIT;
    strb_printf(&temporary, "%s.tmp.%ld", w->target, (long)getpid());
    w->temporary = strb_take(&temporary);
    return open(w->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
}

kw_code fs_writer_open(const char *path, fs_writer **out, kw_error *err)
{
    struct stat st;
    *out = NULL;
    fs_writer *w = mem_calloc(1, sizeof *w);
    w->path = mem_strdup(path);
    if (strcmp(path, "-") == 0)
        w->fd = fflush(stdout) == EOF ? -1 : STDOUT_FILENO;
    else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        w->fd =
            open(path, O_WRONLY | O_CLOEXEC); /* devices and pipes cannot be replaced by a rename; no folder opens */
    else
        w->fd = open_temporary(w);
    if (w->fd < 0) {
        kw_code code = failed(path, errno, err);
        free_writer(w);
        return code;
    }
    w->buffer = mem_alloc(BUFFER);
    *out = w;
    return KW_OK;
}

static void flush_buffer(fs_writer *w)
{
    if (!w->failure)
        w->failure = write_all(w->fd, w->buffer, w->used);
    w->used = 0;
}

void fs_writer_add(fs_writer *w, const char *data, size_t length)
{
    if (length == 0)
        return;
    if (length > BUFFER - w->used)
        flush_buffer(w);
    if (length > BUFFER) {
        if (!w->failure)
            w->failure = write_all(w->fd, data, length);
        return;
    }
    memcpy(w->buffer + w->used, data, length);
    w->used += length;
}

/* The new file gets the permissions of the one that was there. */
static void finish_temporary(fs_writer *w)
{
    struct stat old;
    if (!w->failure && stat(w->target, &old) == 0 && fchmod(w->fd, old.st_mode & 07777) != 0 && errno != EPERM)
        w->failure = errno;
    /* EINVAL: a file system without fsync */
    if (!w->failure && fsync(w->fd) != 0 && errno != EINVAL)
        w->failure = errno;
}

kw_code fs_writer_close(fs_writer *w, bool keep, kw_error *err)
{
    kw_code code = KW_OK;
    if (!w)
        return code;
    if (keep)
        flush_buffer(w);
    if (keep && w->temporary)
        finish_temporary(w);
    if (w->fd != STDOUT_FILENO && close(w->fd) != 0 && !w->failure)
        w->failure = errno;
    if (w->temporary && keep && !w->failure && rename(w->temporary, w->target) != 0)
        w->failure = errno;
    if (w->temporary && (!keep || w->failure))
        unlink(w->temporary);
    if (keep && w->failure)
        code = failed(w->path, w->failure, err);
    free_writer(w);
    return code;
}
