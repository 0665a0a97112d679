/* Where native kernels may write: Landlock, by its three system calls, since the C library has no functions for them
 * and headers are often older than the kernel. Reading is not restricted: drivers read in too many places, and there is
 * no network to carry it away. */
#include "tuner/sandbox.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers of the newer calls are the same on all machines. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define ASK_VERSION 1u
#define RULE_PATH_BENEATH 1
#define LEAST_VERSION 2 /* version 1 forbids to rename from one folder into another, which compilers' caches do */

#define WRITE_FILE (1u << 1)
#define REMOVE_AND_MAKE (0x1ffu << 4) /* remove folder, file; make device, folder, file, socket, fifo, block, link */
#define REFER (1u << 13)
#define TRUNCATE (1u << 14) /* from version 3 */
#define SCOPE_ALL 3u        /* abstract sockets and signals, from version 6 */

typedef struct ruleset {
    uint64_t files, network, scope;
} ruleset;

typedef struct __attribute__((packed)) beneath {
    uint64_t allowed;
    int32_t folder;
} beneath;

int sandbox_files_version(void)
{
    long version = syscall(CREATE_RULESET, NULL, (size_t)0, ASK_VERSION);
    return version >= LEAST_VERSION ? (int)version : 0;
}

static void allow(int set, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0) {
        const beneath rule = {S_ISDIR(st.st_mode) ? rights : rights & (WRITE_FILE | TRUNCATE), fd};
        if (syscall(ADD_RULE, set, RULE_PATH_BENEATH, &rule, 0) != 0)
            log_debug("sandbox: %s will not be writable: %s", path, strerror(errno));
    }
    close(fd);
}

bool sandbox_files_restrict(const char *const *writable)
{
    const int version = sandbox_files_version();
    const uint64_t rights = WRITE_FILE | REMOVE_AND_MAKE | REFER | (version >= 3 ? TRUNCATE : 0);
    const ruleset wanted = {.files = rights, .scope = version >= 6 ? SCOPE_ALL : 0};
    const size_t size = version >= 6 ? sizeof wanted : sizeof wanted.files;
    if (version == 0) {
        log_debug("sandbox: this system cannot restrict where files are written");
        return false;
    }
    int set = (int)syscall(CREATE_RULESET, &wanted, size, 0u);
    if (set < 0) {
        log_debug("sandbox: files are not restricted: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; writable[i]; i++)
        allow(set, writable[i], rights);
    bool done = syscall(RESTRICT_SELF, set, 0u) == 0;
    if (!done)
        log_debug("sandbox: files are not restricted: %s", strerror(errno));
    close(set);
    return done;
}
