/* Files that are written piece by piece, and whole or not at all. */
#ifndef KERNWRIGHT_BASE_FS_WRITER_H
#define KERNWRIGHT_BASE_FS_WRITER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct fs_writer fs_writer;

/* Begins PATH.tmp.PID in the same folder; a device, a pipe or "-" (standard output) is written to directly. The file
 * may be one that is being read. Errors of all three are KW_ENVIRONMENT and name the path. */
kw_code fs_writer_open(const char *path, fs_writer **out, kw_error *err);
/* An error is kept, and told by fs_writer_close. */
void fs_writer_add(fs_writer *w, const char *data, size_t length);
/* keep: flushes, fsyncs and renames, so that no reader ever sees half a file. Else, and on failure, the old file stays.
 * Frees the writer; NULL is fine. */
kw_code fs_writer_close(fs_writer *w, bool keep, kw_error *err);

#endif
