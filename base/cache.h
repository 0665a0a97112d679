/* The folder of what can be made again: compiled programs and references. Code is loaded from it, so it must be one's
 * own and nobody else's. */
#ifndef KERNWRIGHT_BASE_CACHE_H
#define KERNWRIGHT_BASE_CACHE_H

#include <stdbool.h>

/* Makes the folder (mode 0700) and those above it where they are missing. true if it is this user's, can be written,
 * and can be written by nobody else. A symbolic link is followed if it is this user's own. */
bool cache_make_private(const char *path);

/* $KERNWRIGHT_CACHE; else $XDG_CACHE_HOME/kernwright, ~/.cache/kernwright, kernwright-UID in $TMPDIR or /tmp: the first
 * that cache_make_private takes. NULL if there is none, also if $KERNWRIGHT_CACHE is set and no good. Caller frees. */
char *cache_folder(void);

#endif
