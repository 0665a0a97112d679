/* A device that another process drives. On a CPU device a kernel is native code in the process that launches it; so the
 * worker, which holds expected values, pristine inputs and what the guard bands should contain, does not launch it. A
 * runner does: it opens the driver, builds, launches and reads the timers. The worker is its parent and asks for these
 * things over a socket.
 *
 * Buffers that kernels get lie in the runner. Buffers that no kernel ever gets (pristine inputs, kept outputs) never
 * leave the worker: a buffer moves to the runner when the first view of it is made, or when a launch names it. What
 * travels goes through a window of shared memory.
 */
#ifndef KERNWRIGHT_DEVICE_REMOTE_H
#define KERNWRIGHT_DEVICE_REMOTE_H

#include "device/device.h"

#include <sys/types.h>

/* The runner finds these descriptors open. */
#define RUNNER_SOCKET 3
#define RUNNER_WINDOW 4

/* Starts `argv` (NULL-terminated, argv[0] is a path) as runner, in `environment` (NULL: ours), and lets it open `spec`.
 * Both are copied. A process that has loaded drivers gives what its environment was before: some loaders cut variables
 * into words where they lie. The runner is killed when its
 * resident memory passes `memory_bytes` (0: no limit), which makes the device lost. Caller closes with device_close. */
kw_code device_open_remote(const char *spec, const char *const *argv, const char *const *environment,
                           uint64_t memory_bytes, device **out, kw_error *err);
bool device_is_remote(const device *d);
pid_t device_runner_pid(const device *d); /* for messages and tests */

/* Threads of the runner and programs started by it that run now, and how many there were when its driver had been
 * opened. 0: not known. */
size_t device_runner_tasks(const device *d, size_t *at_first);

/* After DEVICE_FAULT_LOST: a new runner behind the same device. Buffers that lie in the worker keep their contents;
 * those of the old runner, and its programs, are good for nothing but being freed. */
kw_code device_revive(device *d, kw_error *err);

/* The runner's side: answers requests on RUNNER_SOCKET until it closes. `opened` is called once, when the driver
 * has been opened and before anything is compiled. Returns the exit status, and leaves everything to the end of
 * the process: a driver whose kernels wrote where they should not may hang when it tidies up, so leave by _exit.
 * A lost device ends it at once. */
int device_serve(kw_code (*opened)(void *cookie, kw_error *err), void *cookie);
/* For a signal handler of the runner: notes the system call that it is about to die of. Async-signal-safe. */
void device_serve_note_refused(int system_call, const char *name);

extern const device_ops device_remote;

#endif
