#include "base/cache.h"

#include "base/error.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* In a folder such as /tmp anyone can make the name first: a folder of theirs, or a link to one of ours. */
static bool is_own_folder(const char *path, mode_t not_allowed)
{
    struct stat entry, folder;
    return lstat(path, &entry) == 0 && entry.st_uid == geteuid() && stat(path, &folder) == 0 &&
           S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() && (folder.st_mode & not_allowed) == 0 &&
           access(path, W_OK | X_OK) == 0;
}

static bool make_folder(const char *path)
{
    kw_error ignored;
    kw_error_clear(&ignored);
    char *above = fs_folder_of(path);
    bool good = fs_make_folders(above, &ignored) == KW_OK && (mkdir(path, 0700) == 0 || errno == EEXIST);
    free(above);
    return good;
}

bool cache_make_private(const char *path)
{
    return make_folder(path) && is_own_folder(path, OTHERS_WRITE);
}

static char *join_if_set(const char *variable, const char *name)
{
    const char *folder = getenv(variable);
    return folder && *folder ? fs_join(folder, name) : NULL;
}

char *cache_folder(void)
{
    char in_temp[64];
    const char *own = getenv("KERNWRIGHT_CACHE");
    if (own && *own) {
        /* One that the user names may be the group's; what lies in it is private again. */
        if (make_folder(own) && is_own_folder(own, S_IWOTH))
            return mem_strdup(own);
        log_debug("KERNWRIGHT_CACHE=%s is no folder that can be written and is one's own: nothing is cached", own);
        return NULL;
    }
    snprintf(in_temp, sizeof in_temp, "kernwright-%lu", (unsigned long)geteuid());
    char *candidates[] = {join_if_set("XDG_CACHE_HOME", "kernwright"), join_if_set("HOME", ".cache/kernwright"),
                          fs_join(fs_temp_root(), in_temp), fs_join("/tmp", in_temp)};
    char *found = NULL;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (!found && candidates[i] && cache_make_private(candidates[i]))
            found = mem_strdup(candidates[i]);
        free(candidates[i]);
    }
    return found;
}
