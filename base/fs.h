/* Files: whole reads, atomic writes, folders. Messages name the path and the reason. */
#ifndef KERNWRIGHT_BASE_FS_H
#define KERNWRIGHT_BASE_FS_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the file's bytes to `out`. KW_BAD_INPUT if it cannot be read (a folder included) or is larger than
 * `max_bytes` (0: 64 MiB). */
kw_code fs_read(const char *path, size_t max_bytes, strb *out, kw_error *err);

/* Writes to PATH.tmp.PID in the same folder, fsyncs and renames, so that no reader ever sees half a file and a
 * failure leaves the old one. "-" writes to standard output. KW_ENVIRONMENT on failure. */
kw_code fs_write(const char *path, const char *data, size_t length, kw_error *err);

bool fs_is_file(const char *path);
bool fs_is_folder(const char *path);
bool fs_same_file(const char *a, const char *b); /* both are there, and are one file or folder by two names */
/* KW_ENVIRONMENT when something other than a file lies at `path` (a link, a folder, a pipe): where others may write
 * too, such a thing is not followed, waited for, or written through. Nothing there is fine. */
kw_code fs_check_plain(const char *path, kw_error *err);
kw_code fs_make_folders(const char *path, kw_error *err);

/* Names of the entries of a folder that end in `suffix` (NULL: all), sorted by bytes, without "." and "..".
 * The caller frees each name and the array. */
kw_code fs_list(const char *folder, const char *suffix, char ***names, size_t *n, kw_error *err);

/* Path arithmetic; results are allocated, the caller frees. */
char *fs_join(const char *folder, const char *name); /* an absolute `name` is returned as it is */
char *fs_folder_of(const char *path);                /* "." when there is no slash */
const char *fs_base_name(const char *path);          /* borrowed from `path` */
char *fs_self_path(void);                            /* this executable; NULL if unknown */

/* Where the installed or checked-out data lies. `what` is "templates" or "tasks". Looks, in this order, at
 * $KERNWRIGHT_DATA/WHAT, WHAT beside the executable's parent folders (build tree, bundle), and
 * PREFIX/share/kernwright/WHAT. NULL if none exists. Caller frees. */
char *fs_data_folder(const char *what);

/* Where temporary files go: $TMPDIR if it is the absolute path of a folder, else /tmp. Borrowed, until the environment
 * changes. */
const char *fs_temp_root(void);

/* A fresh private folder in fs_temp_root; NULL and KW_ENVIRONMENT if it cannot be made. Caller frees the name and
 * removes the folder with fs_remove_tree. */
char *fs_temp_folder(const char *prefix, kw_error *err);
void fs_remove_tree(const char *path);

#endif
