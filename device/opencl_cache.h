/* Compiled programs on disk, shared by all processes of a user, and where the drivers keep theirs. Pure file work:
 * no OpenCL in here.
 *
 * One file an entry, written under another name and then renamed; its first line has the lengths and a checksum.
 * An entry that is cut off, damaged or of another version is as good as none. Nothing here fails in a way that a
 * caller has to mind: without a cache everything is compiled again. */
#ifndef KERNWRIGHT_DEVICE_OPENCL_CACHE_H
#define KERNWRIGHT_DEVICE_OPENCL_CACHE_H

#include "base/hash.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Points the caches of the drivers (POCL_CACHE_DIR, CUDA_CACHE_PATH) to folders in there, unless the user has; to be
 * called before a driver is loaded. */
void opencl_cache_set_drivers(void);

typedef struct opencl_cache opencl_cache;

/* `folder` is made if need be; NULL if that fails. The entries are kept below `max_bytes` together. */
opencl_cache *opencl_cache_open(const char *folder, uint64_t max_bytes);
void opencl_cache_close(opencl_cache *c); /* NULL is fine */

/* An entry: what is known of the program, its build log, and the binary. */
typedef struct opencl_cache_entry {
    strb facts, log, binary;
} opencl_cache_entry;
void opencl_cache_entry_clear(opencl_cache_entry *e);

/* Finds the entry of a key (hex digits); its age starts anew. `e` starts cleared and stays so on a miss. */
bool opencl_cache_find(opencl_cache *c, const char *key, opencl_cache_entry *e);
/* Replaces the entry of the key. A full disk costs one debug line. */
void opencl_cache_store(opencl_cache *c, const char *key, const opencl_cache_entry *e);
void opencl_cache_remove(opencl_cache *c, const char *key);
/* Removes the entries that were used last longest ago until nine tenths of the limit hold the rest, and what crashed
 * writers left. Not while another process does so. */
void opencl_cache_trim(opencl_cache *c);

#endif
