#include "device/opencl_cache.h"

#include "device/device.h"

#include "base/cache.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "kernwright-program 1"
#define SUFFIX ".kwp"
#define TEMPORARY "new."
#define LOCK ".lock"
#define HEADER_BYTES 160
#define MAX_ENTRY ((size_t)256 << 20)
#define MAX_SHARE 8       /* an entry may take this part of the limit */
#define TRIM_SHARE 256    /* after writing this part of it a process looks at the whole */
#define STALE_SECONDS 600 /* a temporary file of this age has no writer any more */

struct opencl_cache {
    char *folder;
    uint64_t max_bytes, written; /* since the last trim */
    bool has_trimmed, has_complained;
    unsigned n_temporary;
};

/* ---- folders ---- */

static void set_folder(const char *variable, const char *folder, const char *name)
{
    const char *own = getenv(variable);
    if (own && *own)
        return;
    char *path = fs_join(folder, name);
    if (cache_make_private(path))
        setenv(variable, path, 1);
    free(path);
}

void opencl_cache_set_drivers(void)
{
    char *folder = cache_folder();
    if (!folder)
        return;
    set_folder("POCL_CACHE_DIR", folder, "pocl");
    set_folder("CUDA_CACHE_PATH", folder, "cuda");
    /* What a search compiles must not push out its own beginning. */
    setenv("CUDA_CACHE_MAXSIZE", "4294967296", 0);
    free(folder);
}

char *device_cache_folder(void)
{
    opencl_cache_set_drivers();
    return cache_folder();
}

opencl_cache *opencl_cache_open(const char *folder, uint64_t max_bytes)
{
    if (!cache_make_private(folder))
        return NULL;
    opencl_cache *c = mem_calloc(1, sizeof *c);
    c->folder = mem_strdup(folder);
    c->max_bytes = max_bytes;
    return c;
}

void opencl_cache_close(opencl_cache *c)
{
    if (!c)
        return;
    free(c->folder);
    free(c);
}

/* ---- entries ---- */

void opencl_cache_entry_clear(opencl_cache_entry *e)
{
    strb_clear(&e->facts);
    strb_clear(&e->log);
    strb_clear(&e->binary);
}

static char *path_of(const opencl_cache *c, const char *key)
{
    char name[HASH_HEX_SIZE + sizeof SUFFIX];
    snprintf(name, sizeof name, "%.*s" SUFFIX, HASH_HEX_SIZE - 1, key);
    return fs_join(c->folder, name);
}

/* Over the key too: a file that was renamed belongs to no key. */
static void checksum(const char *key, const char *payload, size_t length, char out[HASH_HEX_SIZE])
{
    char parts[2 * HASH_HEX_SIZE];
    hash_hex(payload, length, out);
    snprintf(parts, sizeof parts, "%.*s %s", HASH_HEX_SIZE - 1, key, out);
    hash_hex(parts, strlen(parts), out);
}

static bool parse(const char *key, const strb *file, opencl_cache_entry *e)
{
    size_t n[3], used = 0;
    char sum[HASH_HEX_SIZE], header[HEADER_BYTES];
    const char *end = file->length > 0 ? memchr(file->data, '\n', file->length) : NULL;
    if (!end || end - file->data >= HEADER_BYTES)
        return false;
    size_t length = (size_t)(end - file->data);
    memcpy(header, file->data, length);
    header[length] = '\0';
    char stored[HASH_HEX_SIZE];
    int scanned = 0;
    if (sscanf(header, MAGIC " %zu %zu %zu %32[0-9a-f]%n", &n[0], &n[1], &n[2], stored, &scanned) != 4 ||
        (size_t)scanned != length || n[0] > MAX_ENTRY || n[1] > MAX_ENTRY || n[2] > MAX_ENTRY ||
        n[0] + n[1] + n[2] != file->length - length - 1)
        return false;
    const char *payload = end + 1;
    checksum(key, payload, n[0] + n[1] + n[2], sum);
    if (strcmp(sum, stored) != 0)
        return false;
    strb *const parts[] = {&e->facts, &e->log, &e->binary};
    for (size_t i = 0; i < 3; i++) {
        strb_add_n(parts[i], payload + used, n[i]);
        used += n[i];
    }
    return true;
}

bool opencl_cache_find(opencl_cache *c, const char *key, opencl_cache_entry *e)
{
    char *path = path_of(c, key);
    strb file = STRB_INIT;
    kw_error ignored;
    kw_error_clear(&ignored);
    bool found = access(path, R_OK) == 0 && fs_read(path, MAX_ENTRY, &file, &ignored) == KW_OK;
    if (found && !parse(key, &file, e)) {
        log_debug("%s is damaged or of another version: it is removed", path);
        unlink(path);
        found = false;
    }
    if (found)
        utimensat(AT_FDCWD, path, NULL, 0);
    strb_clear(&file);
    free(path);
    return found;
}

void opencl_cache_remove(opencl_cache *c, const char *key)
{
    char *path = path_of(c, key);
    unlink(path);
    free(path);
}

/* ---- writing ---- */

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        length -= (size_t)n;
    }
    return true;
}

/* Not synced to the disk: what a power failure leaves half-written does not match its checksum. */
static bool write_file(opencl_cache *c, const char *path, const char *header, const strb *payload)
{
    char name[64];
    snprintf(name, sizeof name, TEMPORARY "%ld.%u", (long)getpid(), c->n_temporary++);
    char *temporary = fs_join(c->folder, name);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_all(fd, header, strlen(header)) && write_all(fd, payload->data, payload->length);
    if (fd >= 0 && close(fd) != 0)
        good = false;
    good = good && rename(temporary, path) == 0;
    if (!good) {
        int why = errno;
        if (fd >= 0)
            unlink(temporary);
        if (!c->has_complained)
            log_debug("%s cannot be written, programs are compiled again next time: %s", path, strerror(why));
        c->has_complained = true;
    }
    free(temporary);
    return good;
}

void opencl_cache_store(opencl_cache *c, const char *key, const opencl_cache_entry *e)
{
    char header[HEADER_BYTES], sum[HASH_HEX_SIZE];
    strb payload = STRB_INIT;
    const strb *const parts[] = {&e->facts, &e->log, &e->binary};
    for (size_t i = 0; i < 3; i++)
        if (parts[i]->length > 0)
            strb_add_n(&payload, parts[i]->data, parts[i]->length);
    if (payload.length > 0 && payload.length < MAX_ENTRY - HEADER_BYTES && payload.length <= c->max_bytes / MAX_SHARE) {
        char *path = path_of(c, key);
        checksum(key, payload.data, payload.length, sum);
        snprintf(header, sizeof header, MAGIC " %zu %zu %zu %s\n", e->facts.length, e->log.length, e->binary.length,
                 sum);
        if (write_file(c, path, header, &payload))
            c->written += payload.length;
        free(path);
    }
    strb_clear(&payload);
    if (!c->has_trimmed || c->written > c->max_bytes / TRIM_SHARE)
        opencl_cache_trim(c);
}

/* ---- trimming ---- */

typedef struct old_file {
    char *name;
    int64_t used_ns;
    uint64_t bytes;
} old_file;

typedef struct old_files {
    old_file *list;
    size_t n, capacity;
    uint64_t bytes;
} old_files;

static int by_age(const void *a, const void *b)
{
    const old_file *x = a, *y = b;
    return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Entries into `out`; temporary files that nobody writes any more are removed at once. */
static void look_at(int folder, const char *name, old_files *out)
{
    struct stat s;
    bool temporary = strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
    if ((!temporary && !ends_with(name, SUFFIX)) || fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(s.st_mode))
        return;
    if (temporary) {
        if (time(NULL) - s.st_mtime > STALE_SECONDS)
            unlinkat(folder, name, 0);
        return;
    }
    out->list = mem_grow(out->list, &out->capacity, out->n + 1, sizeof *out->list);
    out->list[out->n++] =
        (old_file){mem_strdup(name), (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec, (uint64_t)s.st_size};
    out->bytes += (uint64_t)s.st_size;
}

static void trim_locked(const opencl_cache *c)
{
    old_files files = {.list = NULL};
    DIR *d = opendir(c->folder);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        look_at(dirfd(d), e->d_name, &files);
    if (files.bytes > c->max_bytes) {
        qsort(files.list, files.n, sizeof *files.list, by_age);
        for (size_t i = 0; i < files.n && files.bytes > c->max_bytes / 10 * 9; i++) {
            unlinkat(dirfd(d), files.list[i].name, 0); /* a reader that has it open reads on */
            files.bytes -= files.list[i].bytes;
        }
    }
    closedir(d);
    for (size_t i = 0; i < files.n; i++)
        free(files.list[i].name);
    free(files.list);
}

void opencl_cache_trim(opencl_cache *c)
{
    char *path = fs_join(c->folder, LOCK);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    c->has_trimmed = true;
    c->written = 0;
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        trim_locked(c);
    close(fd);
}
