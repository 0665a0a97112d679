/* The buffers of one run of a kernel: every tensor and every temporary is an allocation of its own with guard bands on
 * both sides; kernels get the part in between. On a simulator, which checks every access itself, there are no bands. */
#ifndef KERNWRIGHT_TUNER_WORKER_BUFFERS_H
#define KERNWRIGHT_TUNER_WORKER_BUFFERS_H

#include "codegen/task.h"
#include "codegen/variant.h"
#include "device/device.h"
#include "tuner/worker_cases.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct guarded {
    const char *name;     /* for messages; borrowed */
    device_buffer *whole; /* NULL when it is empty */
    device_buffer *inner; /* a view of `whole` */
    size_t guard;         /* bytes in front; as many (and a few more) behind */
    size_t bytes, total;
} guarded;

typedef struct buffer_set {
    device *device;
    const task *task;
    guarded tensors[TASK_MAX_TENSORS];
    guarded temps[TEMPLATE_MAX_TEMPS];
    size_t n_temps;
    bool owns_temps;
    unsigned char guard_byte;
    /* The plan with these buffers as arguments. */
    device_launch launches[TEMPLATE_MAX_LAUNCHES];
    device_arg *args;
    size_t n_launches;
} buffer_set;

/* Bytes that the tensors of a case and the temporaries of a plan need, and the largest single one with its name. */
typedef struct buffer_need {
    uint64_t tensors, temps, largest;
    const char *largest_name;
} buffer_need;
buffer_need buffers_need(const task *t, const tensor_layout *layouts, const plan *p);

/* A plan that came over the wire must not index past what the task has. KW_BAD_INPUT. */
kw_code buffers_check_plan(const task *t, const plan *p, kw_error *err);

/* NULL when memory cannot be had (the fault of the device says so). `share_temps`: a set whose temporaries are used;
 * NULL: own ones. */
buffer_set *buffers_new(device *d, const task *t, const tensor_layout *layouts, const plan *p,
                        const buffer_set *share_temps, kw_error *err);
void buffers_free(buffer_set *s); /* NULL is fine */

/* Contents before a run: guards hold `guard`; outputs, and inouts whose old contents do not matter, hold `poison`, as
 * do temporaries; the others their inputs. With BUFFERS_UNWRITTEN for poison these are left as they were allocated. */
#define BUFFERS_UNWRITTEN (-1)
kw_code buffers_restore(buffer_set *s, const case_data *data, int poison, unsigned char guard, kw_error *err);
/* The same, but what the last run left in temporaries stays. */
kw_code buffers_restore_tensors(buffer_set *s, const case_data *data, int poison, unsigned char guard, kw_error *err);
/* Only what a run writes, after buffers_restore: inputs and guards are left as that run left them. */
kw_code buffers_restore_outputs(buffer_set *s, const case_data *data, unsigned char poison, kw_error *err);
/* All bytes zero: for a launch that only serves to make the driver compile. */
kw_code buffers_clear(buffer_set *s, kw_error *err);

/* Looks at all guard bands. *where is the first buffer that was written past its ends: then `before` says on which
 * side, `distance` how many bytes off the nearest one is (0: the very next byte), `n` how many bytes differ. NULL: none
 * was. */
typedef struct guard_report {
    const guarded *where;
    bool before;
    size_t distance, n;
} guard_report;
kw_code buffers_check_guards(const buffer_set *s, guard_report *out, kw_error *err);

/* "512 bytes", "2.0 GiB" */
void bytes_print(uint64_t bytes, strb *out);

#endif
