/* What a worker may do once a device is open. docs/measurement.md, "What remains trusted", says what this is worth.
 *
 * Everything here degrades: what the system does not offer is left out, with a line at debug level, and
 * `kernwright doctor` says what is active. KERNWRIGHT_SANDBOX=off turns off all but the private folder, for debugging
 * (a debugger cannot attach otherwise). Linux only in what it calls.
 */
#ifndef KERNWRIGHT_TUNER_SANDBOX_H
#define KERNWRIGHT_TUNER_SANDBOX_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sandbox_role {
    SANDBOX_NATIVE, /* a runner on a CPU device: kernels are native code in it */
    SANDBOX_DRIVER, /* a process that drives a GPU, worker or runner: kernels are elsewhere, their compiler is here */
    SANDBOX_JUDGE   /* a worker whose kernels run in a runner: no candidate's code is in it, and it starts compilers */
} sandbox_role;

/* An exit status: the process held more memory than it may. */
#define SANDBOX_EXIT_MEMORY 71

bool sandbox_is_wanted(void);

/* Bytes that a process may hold: $KERNWRIGHT_MEMORY_MB, else three quarters of the machine's memory, at least 1 GiB; 0,
 * no limit, when there is no telling or the sandbox is off. `memory_bytes` is what topology_read gives: where it is no
 * limit of a control group, what a virtual machine has lent to its host for the moment counts as well. */
uint64_t sandbox_memory_limit(int64_t memory_bytes);

/* Before the driver is opened, while there is one thread: limits of resources, and for SANDBOX_NATIVE no capabilities,
 * no network, and no writing outside of the private folder and the compiler's cache. */
void sandbox_before_open(sandbox_role role, uint64_t memory_bytes);
/* Afterwards, for all threads: the filter of system calls. A call that no driver has a reason for ends the process by
 * SIGSYS; `note`, which must be async-signal-safe, is told which one it was. Others fail with EPERM. */
void sandbox_after_open(sandbox_role role, void (*note)(int system_call, const char *name));

/* Watches this process from a thread of its own; over the limit it says so on standard error and leaves with
 * SANDBOX_EXIT_MEMORY. */
void sandbox_watch_memory(uint64_t limit);

/* A private folder for temporary files, in $TMPDIR or /tmp, which $TMPDIR names from then on. It is locked as long as
 * the process lives: whoever calls sandbox_sweep removes the folders of processes that are gone. */
typedef struct sandbox_folder {
    char *path; /* NULL: there is none */
    int lock_fd;
} sandbox_folder;
void sandbox_folder_make(sandbox_folder *f);
void sandbox_folder_remove(sandbox_folder *f);
void sandbox_sweep(void);

/* One line: which of these measures work here. */
void sandbox_describe(strb *out);

/* sandbox_filter.c and sandbox_files.c; false, with the reason at debug level, where the system has no such thing. */
bool sandbox_filter_load(sandbox_role role);
bool sandbox_filter_exists(void);
const char *sandbox_call_name(int system_call); /* of a call that the filter ends a process for; "?" for others */
bool sandbox_files_restrict(const char *const *writable);
int sandbox_files_version(void); /* of Landlock; 0: none, or too old to be of use */

#endif
