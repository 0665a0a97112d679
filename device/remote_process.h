/* The runner as a process: started, waited for, watched, buried. */
#ifndef KERNWRIGHT_DEVICE_REMOTE_PROCESS_H
#define KERNWRIGHT_DEVICE_REMOTE_PROCESS_H

#include "base/error.h"
#include "base/strb.h"
#include "device/remote_wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct runner {
    pid_t pid; /* 0: none */
    int fd;    /* our end of the socket */
    unsigned char *window;
    int window_fd;
    uint64_t memory_bytes; /* it is killed when it holds more; 0: no limit */
    bool is_over_memory;
    size_t first_tasks; /* runner_tasks when it had opened its device */
} runner;

/* Makes the window on the first call, and a new process on every one. */
kw_code runner_start(runner *r, char *const *argv, char *const *environment, kw_error *err);
/* Sends a request and, unless `answer` is NULL, waits for the answer. false: the runner is dead or does not speak. */
bool runner_ask(runner *r, remote_op op, const strb *request, strb *answer);
/* Its threads, and the programs that they started and that still run; 0 when there is no telling. */
size_t runner_tasks(const runner *r);
/* After a failed runner_ask: waits for its end, kills what does not end and what it left behind, and says how it
 * ended: "was killed by signal 11 (Segmentation fault)". */
void runner_bury(runner *r, strb *how);
/* Ends it in order, or not, and frees everything. */
void runner_stop(runner *r);

#endif
