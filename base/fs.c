#include "base/fs.h"

#include "base/fs_writer.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef KERNWRIGHT_PREFIX
#define KERNWRIGHT_PREFIX "/usr/local"
#endif

#define DEFAULT_MAX_BYTES ((size_t)64 << 20)
#define PARENTS_SEARCHED 4 /* build/tests/gpu/NAME is three folders below the checkout */

static kw_code read_all(int fd, const char *path, size_t max_bytes, strb *out, kw_error *err)
{
    char chunk[65536];
    size_t before = out->length;
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kw_error_set(err, KW_BAD_INPUT, "%s: cannot read: %s", path, strerror(errno));
        if (n == 0)
            return KW_OK;
        if ((size_t)n > max_bytes - (out->length - before))
            return kw_error_set(err, KW_BAD_INPUT, "%s: larger than %zu bytes, refused", path, max_bytes);
        strb_add_n(out, chunk, (size_t)n);
    }
}

kw_code fs_read(const char *path, size_t max_bytes, strb *out, kw_error *err)
{
    if (!max_bytes)
        max_bytes = DEFAULT_MAX_BYTES;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    size_t before = out->length;
    kw_code code = read_all(fd, path, max_bytes, out, err);
    close(fd);
    if (code != KW_OK)
        strb_truncate(out, before);
    return code;
}

kw_code fs_write(const char *path, const char *data, size_t length, kw_error *err)
{
    fs_writer *w;
    kw_code code = fs_writer_open(path, &w, err);
    if (code != KW_OK)
        return code;
    fs_writer_add(w, data, length);
    return fs_writer_close(w, true, err);
}

bool fs_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool fs_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool fs_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

kw_code fs_check_plain(const char *path, kw_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
        return KW_OK;
    return kw_error_set(err, KW_ENVIRONMENT, "%s: %s lies where a file is expected; take it away", path,
                        S_ISLNK(st.st_mode)   ? "a link"
                        : S_ISDIR(st.st_mode) ? "a folder"
                                              : "a pipe or a device");
}

kw_code fs_make_folders(const char *path, kw_error *err)
{
    char *partial = mem_strdup(path);
    kw_code code = KW_OK;
    for (char *p = partial; code == KW_OK && *p; p++) {
        if (p[1] != '/' && p[1] != '\0')
            continue;
        char next = p[1];
        p[1] = '\0';
        if (mkdir(partial, 0777) != 0) {
            int reason = errno == EEXIST ? ENOTDIR : errno;
            if (!fs_is_folder(partial))
                code = kw_error_set(err, KW_ENVIRONMENT, "%s: cannot make folder: %s", partial, strerror(reason));
        }
        p[1] = next;
    }
    free(partial);
    return code;
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

kw_code fs_list(const char *folder, const char *suffix, char ***names, size_t *n, kw_error *err)
{
    *names = NULL;
    *n = 0;
    DIR *d = opendir(folder);
    if (!d)
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot list: %s", folder, strerror(errno));
    size_t capacity = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (suffix && !ends_in(e->d_name, suffix))
            continue;
        *names = mem_grow(*names, &capacity, *n + 1, sizeof **names);
        (*names)[(*n)++] = mem_strdup(e->d_name);
    }
    closedir(d);
    if (*n)
        qsort(*names, *n, sizeof **names, compare_names);
    return KW_OK;
}

char *fs_join(const char *folder, const char *name)
{
    if (name[0] == '/' || folder[0] == '\0')
        return mem_strdup(name);
    strb s = STRB_INIT;
    strb_add(&s, folder);
    if (folder[strlen(folder) - 1] != '/')
        strb_add_char(&s, '/');
    strb_add(&s, name);
    return strb_take(&s);
}

char *fs_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

const char *fs_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *fs_self_path(void)
{
    return realpath("/proc/self/exe", NULL);
}

/* FOLDER/WHAT or FOLDER/share/kernwright/WHAT, whichever is a folder; NULL if neither is. */
static char *data_beside(const char *folder, const char *what)
{
    static const char *const middles[] = {"", "share/kernwright/"};
    for (size_t i = 0; i < 2; i++) {
        strb s = STRB_INIT;
        strb_printf(&s, "%s/%s%s", strcmp(folder, "/") == 0 ? "" : folder, middles[i], what);
        if (fs_is_folder(strb_text(&s)))
            return strb_take(&s);
        strb_clear(&s);
    }
    return NULL;
}

/* Beside the folder that `path` is in, or beside one of that folder's parents. */
static char *data_above(const char *path, const char *what)
{
    char *folder = fs_folder_of(path);
    char *found = data_beside(folder, what);
    for (int i = 1; !found && i < PARENTS_SEARCHED && strcmp(folder, "/") != 0; i++) {
        char *parent = fs_folder_of(folder);
        free(folder);
        folder = parent;
        found = data_beside(folder, what);
    }
    free(folder);
    return found;
}

char *fs_data_folder(const char *what)
{
    const char *root = getenv("KERNWRIGHT_DATA");
    if (root && root[0]) {
        char *path = fs_join(root, what);
        if (fs_is_folder(path))
            return path;
        free(path);
    }
    char *self = fs_self_path();
    char *found = self ? data_above(self, what) : NULL;
    free(self);
    if (found)
        return found;
    char *path = fs_join(KERNWRIGHT_PREFIX "/share/kernwright", what);
    if (fs_is_folder(path))
        return path;
    free(path);
    return NULL;
}

const char *fs_temp_root(void)
{
    const char *root = getenv("TMPDIR");
    return root && root[0] == '/' && fs_is_folder(root) ? root : "/tmp";
}

char *fs_temp_folder(const char *prefix, kw_error *err)
{
    const char *root = fs_temp_root();
    strb name = STRB_INIT;
    strb_printf(&name, "%s.XXXXXX", prefix);
    char *path = fs_join(root, strb_text(&name));
    strb_clear(&name);
    if (mkdtemp(path))
        return path;
    kw_error_set(err, KW_ENVIRONMENT, "%s: cannot make a temporary folder: %s", root, strerror(errno));
    free(path);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    remove(path); /* what cannot be removed stays; the folder is temporary anyway */
    return 0;
}

void fs_remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
