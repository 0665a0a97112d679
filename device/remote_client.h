/* Inside of the worker's side of a remote device; shared by remote.c and remote_launch.c. */
#ifndef KERNWRIGHT_DEVICE_REMOTE_CLIENT_H
#define KERNWRIGHT_DEVICE_REMOTE_CLIENT_H

#include "device/remote.h"
#include "device/remote_process.h"
#include "device/remote_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers by which the runner knows objects; the lowest ones are used again. */
typedef struct slot_list {
    uint64_t next;
    uint64_t *free;
    size_t n_free, capacity;
} slot_list;

typedef struct remote { /* device.state */
    runner runner;
    char *spec;
    char **argv, **environment;
    size_t alignment;
    uint64_t generation; /* of the runner: objects of an earlier one are gone */
    uint64_t total_bytes;
    slot_list buffer_slots, program_slots;
    strb request, answer;
} remote;

typedef struct remote_buffer { /* device_buffer.handle */
    unsigned char *host;       /* while it lies here; NULL: never used */
    bool is_there;             /* in the runner: slot and generation hold */
    uint64_t slot, generation;
} remote_buffer;

typedef struct remote_program { /* device_program.handle */
    uint64_t slot, generation;
} remote_program;

static inline remote *remote_of(const device *d)
{
    return d->state;
}

static inline remote_buffer *remote_buffer_of(const device_buffer *b)
{
    return b->handle;
}

uint64_t remote_take_slot(slot_list *l);
void remote_give_slot(slot_list *l, uint64_t slot);
uint64_t remote_slot_of(const device_buffer *b);

strb *remote_request(device *d); /* emptied, to be filled */
/* Sends the request and reads the answer up to what belongs to the operation. A runner that died is a lost device. */
kw_code remote_ask(device *d, remote_op op, wire_reader *out, kw_error *err);
/* The same for an operation without an answer. */
kw_code remote_tell(device *d, remote_op op, kw_error *err);
/* The runner is dead, or answers nonsense. */
kw_code remote_lost(device *d, kw_error *err);
kw_code remote_move(device *d, device_buffer *b, kw_error *err); /* into the runner, with its contents */

/* remote_launch.c */
kw_code remote_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program *p, device_build_info *info, kw_error *err);
void remote_free_program(device *d, device_program *p);
kw_code remote_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err);
kw_code remote_check_args(device *d, device_program *p, const device_launch *l, kw_error *err);
kw_code remote_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err);
kw_code remote_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err);
kw_code remote_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err);

#endif
