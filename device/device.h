/* A compute device behind one function table. A back end is one file and one row in device.c.
 *
 * Only worker processes call these functions: a driver may crash, hang or poison its process, and a process that has
 * touched one must not fork. The coordinator learns of devices from a worker's hello.
 */
#ifndef KERNWRIGHT_DEVICE_DEVICE_H
#define KERNWRIGHT_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/json.h"
#include "base/strb.h"
#include "codegen/limits.h" /* brings dtype along */
#include "device/artefact.h"
#include "device/device_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- discovery ---- */

typedef struct device_info {
    char spec[32];         /* "opencl:0:0", "fake:0": what --device takes */
    char key[KW_KEY_SIZE]; /* vendor/arch/name/units: see device_key.h */
    char name[128];        /* as the driver gives it */
    char platform[128];    /* "NVIDIA CUDA", "Portable Computing Language" */
    char driver[128];      /* driver version */
    char api[64];          /* "OpenCL 3.0 CUDA", "fake" */
    char extensions[512];  /* of the language, those that a kernel may make use of; blanks between; "" if none */
    char pci[16];          /* "0000:3b:00.0"; "" if the driver does not say: the same hardware may be listed twice */
    int64_t timer_resolution_ns; /* of events, as the driver claims */
    bool builds_at_launch; /* the compiler runs again at the first launch of each local size (PoCL): book that launch as
                             compile time */
    bool simulated;        /* a simulator: times mean nothing */
    device_limits limits;
} device_info;

json *device_info_to_json(const device_info *d);
kw_code device_info_from_json(const json *j, device_info *out, kw_error *err);

/* All devices of all back ends, in a fixed order. No platform at all is not an error here: *n is 0 and `note` (may be
 * NULL) says what was tried and what to install. A back end that fails leaves a line in `note` and the others go on.
 * Caller frees *list with free(). */
kw_code device_list(device_info **list, size_t *n, strb *note, kw_error *err);

/* Chooses by spec, by index into the list ("1"), or by name, platform or key or a part of one (case-insensitive; a
 * whole name wins over a part). NULL or "": $KERNWRIGHT_DEVICE, else the first GPU, else the first CPU device,
 * simulators last. Ambiguous or unknown: KW_BAD_INPUT listing what there is; an empty list: KW_ENVIRONMENT. Returns
 * the index. */
kw_code device_choose(const device_info *list, size_t n, const char *wanted, size_t *index, kw_error *err);

/* Points the drivers' own caches at the folder where compiled programs are kept, unless the environment names
 * others, and gives that folder; NULL if there is none. Caller frees. Opening and listing do the same: this is
 * for who must know the places before a driver is loaded. */
char *device_cache_folder(void);

/* ---- an opened device ---- */

typedef struct device device;
typedef struct device_buffer device_buffer;
typedef struct device_program device_program;

/* Why an operation on a device failed, beside the text in kw_error. */
typedef enum device_fault {
    DEVICE_FAULT_NONE,
    DEVICE_FAULT_BUILD,        /* the source does not compile */
    DEVICE_FAULT_DOES_NOT_FIT, /* group, registers or local memory over what the device can launch */
    DEVICE_FAULT_MEMORY,       /* a buffer could not be had */
    DEVICE_FAULT_LAUNCH,       /* bad arguments and the like: the candidate's fault, device usable */
    DEVICE_FAULT_LOST          /* sticky: a further call may hang, even one that only releases. From here on every
                                  function refuses at once and frees nothing of the driver's; report and _exit */
} device_fault;

typedef struct device_arg {
    enum { DEVICE_ARG_BUFFER, DEVICE_ARG_BYTES, DEVICE_ARG_LOCAL } kind;
    device_buffer *buffer;  /* DEVICE_ARG_BUFFER: may be NULL for an empty tensor (a 1-element dummy is passed) */
    unsigned char bytes[8]; /* DEVICE_ARG_BYTES: the value in the type the kernel declares */
    size_t n;               /* bytes used; size for DEVICE_ARG_LOCAL */
    dtype type;             /* DEVICE_ARG_BYTES: checked by device_check_args; DTYPE_NONE: only the size is */
} device_arg;

typedef struct device_launch {
    const char *kernel;
    unsigned rank;
    size_t local[3], groups[3];
    const device_arg *args;
    size_t n_args;
    bool fenced; /* device_run, views of buffers as arguments, PoCL: whoever touches what lies around them ends the
                    process. Elsewhere nothing is different */
} device_launch;

typedef struct device_build_info {
    strb log;            /* the driver's build log; "" when it has no visible text, except after a failure: then
                               code name, options and the head of the source stand in for it */
    int64_t registers;   /* per work-item; -1 unknown */
    int64_t spill_bytes; /* -1 unknown */
    int64_t local_bytes; /* static local memory of the largest kernel; -1 unknown */
    int64_t max_group;   /* smallest CL_KERNEL_WORK_GROUP_SIZE of the kernels asked for; -1 unknown */
    artefact artefact;   /* what the program consists of, where its binary can be read: NVIDIA's is PTX */
    bool from_cache;     /* nothing was compiled: log and figures are those of the build that made the entry */
} device_build_info;
void device_build_info_clear(device_build_info *b);

/* Opens by spec; caller closes. */
kw_code device_open(const char *spec, device **out, kw_error *err);
void device_close(device *d); /* NULL is fine */
const device_info *device_describe(const device *d);
device_fault device_last_fault(const device *d); /* of the last call that failed */
const char *device_fault_name(device_fault f);   /* "none", "build", "does_not_fit", "memory", "launch", "lost" */

/* Buffers live on the device. Sizes in bytes, any size > 0. All calls block until done, but for copy and fill:
 * these may be under way when they return, and whatever comes after them sees their result. A range that is not
 * inside its buffer is KW_BAD_INPUT and never reaches the driver. Freed buffers are kept for the next request of
 * their size, within an eighth of the device's memory: a driver takes milliseconds for a large one. Contents are
 * arbitrary, like those of any new buffer. */
device_buffer *device_alloc(device *d, size_t bytes, kw_error *err); /* NULL on failure */
void device_free(device *d, device_buffer *b);
kw_code device_write(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err);
kw_code device_read(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err);
kw_code device_copy(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                    size_t bytes, kw_error *err);
kw_code device_fill(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err);
/* Number of differing 4-byte words (a tail shorter than a word counts as one) of two ranges and the byte offset of the
 * first; on a CPU device compared by the host, on a GPU by a kernel of ours. Offsets are multiples of 4. */
kw_code device_compare(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset, size_t bytes,
                       uint64_t *n_different, uint64_t *first, kw_error *err);

/* ---- looking at results where they are ---- */

/* One range to look at. A check is a screen: without doubt all is well; with doubt the caller looks closer by
 * itself. */
typedef struct device_check {
    enum {
        DEVICE_CHECK_FILLED, /* every byte of a is `byte` */
        DEVICE_CHECK_SAME,   /* a and b hold the same bytes; offsets are multiples of 4 */
        DEVICE_CHECK_CLOSE   /* |a - b| <= relative |b| + absolute for every element of `type`, both 0 or integers: the
                                same bits. b is hidden; offsets are multiples of 4, and up to 3 bytes behind both
                                ranges belong to their buffers too */
    } kind;
    device_buffer *a, *b;
    size_t a_offset, b_offset, bytes;
    unsigned char byte;
    dtype type;
    double relative, absolute;
    /* results */
    bool doubt;
    double worst; /* CLOSE, without doubt: the largest |a - b| over its bound */
} device_check;

/* Can this device do so? Where it cannot (host memory, fake devices) the following three are not to be called. */
bool device_can_check(device *d);
kw_code device_check_all(device *d, device_check *checks, size_t n, kw_error *err);
/* Fetches element index[i] of `size` bytes (1, 2, 4 or 8) each, counted from `offset`, into out[], packed. */
kw_code device_gather(device *d, device_buffer *b, size_t offset, size_t size, const uint64_t *index, size_t n,
                      void *out, kw_error *err);
/* Changes the contents (whole words of 4 bytes) so that a kernel which finds them cannot make use of them:
 * device_check_all undoes it while it compares. Once more restores them. */
kw_code device_hide(device *d, device_buffer *b, kw_error *err);

/* A view: a tensor with guard bands is one allocation; kernels get the inner part as a buffer of its own
 * (clCreateSubBuffer). `offset` is a multiple of device_view_alignment. A view of a view is a view of the whole. Free
 * it before its parent: a parent that still has views is not freed. */
size_t device_view_alignment(const device *d);
device_buffer *device_view(device *d, device_buffer *parent, size_t offset, size_t bytes, kw_error *err);

/* Compiles. `kernels` (n_kernels) must exist in the program. On a build failure *info has the log, the fault is
 * DEVICE_FAULT_BUILD and err holds its first useful line. */
kw_code device_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program **out, device_build_info *info, kw_error *err);
void device_program_free(device *d, device_program *p);
/* Appends the compiled program as the driver gives it, and what it belongs to (kw_key_query_identity of
 * device_key_query.h). KW_FAILED where the back end has no such thing. */
kw_code device_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err);

/* Checks the argument list against the kernel where the driver can say (count always; kind and type with
 * CL_KERNEL_ARG_* info). KW_BAD_INPUT / DEVICE_FAULT_LAUNCH with a message naming kernel and argument. */
kw_code device_check_args(device *d, device_program *p, const device_launch *l, kw_error *err);

/* Runs the launches in order and waits. A launch that cannot fit (group against what the compiled kernel allows, local
 * memory against the device) is refused before anything is launched. */
kw_code device_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err);

/* Timed runs. `set(i, cookie)` gives the launches (all `n` of them) of the i-th run, so that buffers can rotate.
 * Events: each run on a profiling queue, ns[i] = sum over its launches of END - START of their own events, in a row
 * without waiting in between. A reading that is not positive makes ns[i] = 0, to be dropped and counted by the caller.
 * Batch: `per_batch` runs enqueued then waited for. On a GPU behind a kernel that keeps it busy meanwhile: ns[i] = from
 * the end of the first run of batch i to the end of its last one, over per_batch - 1 (device/opencl_queue.c).
 * Elsewhere, and for batches of one run: on a queue without profiling, ns[i] = host time / per_batch of batch i.
 * Neither discards or warms up anything, neither flushes between launches: docs/devices.md has the policy. */
typedef const device_launch *(*device_launch_set)(size_t run, void *cookie);
kw_code device_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err);
kw_code device_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err);

/* ---- for back ends ---- */

/* device.c makes and frees these structs; a back end fills `handle` and, for alloc and view, nothing else. */
struct device_buffer {
    device_buffer *parent; /* of a view: never itself a view */
    size_t offset;         /* of a view, in its parent */
    size_t bytes;
    size_t n_views; /* alive, of this buffer */
    void *handle;
    unsigned char *host; /* where a driver was told to keep it, on a CPU device; NULL: it chose itself */
    device_buffer *next; /* in the list of freed ones */
};

struct device_program {
    void *handle;
};

/* Sets fault, code and message; returns the code, so that a failing line is one line. */
kw_code device_fail(device *d, device_fault fault, kw_error *err, kw_code code, const char *format, ...)
    KW_PRINTF(5, 6);

/* How a compiled kernel declares a parameter. */
typedef struct device_param {
    int kind;      /* DEVICE_ARG_*; -1: the driver does not say */
    char type[48]; /* "int", "float*"; "" if not known */
    char name[48]; /* "" if not known */
} device_param;

/* The element type that an OpenCL C type name stands for; DTYPE_NONE for pointers, vectors, typedefs and the like. */
dtype device_type_of_name(const char *name);
/* device_check_args over what is known of the parameters. */
kw_code device_check_params(device *d, const device_launch *l, const device_param *params, size_t n_params,
                            kw_error *err);

/* device_compare for memory that the host sees; adds to *n_different, and sets *first if that was 0. `base` is added to
 * the offset reported. */
void device_compare_memory(const void *a, const void *b, size_t bytes, uint64_t base, uint64_t *n_different,
                           uint64_t *first);

/* END - START in ns as a signed difference; 0, which is no measurement, unless it is positive. */
double device_event_ns(uint64_t start, uint64_t end);

/* ---- the table ---- */

/* device.c has checked: the device is not lost, ranges lie inside buffers, views are aligned, `b` is not NULL. */
typedef struct device_ops {
    const char *name;   /* first part of the spec */
    bool outlives_loss; /* close and the two frees are called on a lost device as well: they touch no driver. Freed
                           buffers are not kept */
    /* Appends to a list that realloc() grows. */
    kw_code (*list)(device_info **list, size_t *n, strb *note, kw_error *err);
    /* Fills base->state and base->info; the spec starts with `name` and a colon. */
    kw_code (*open)(const char *spec, device *base, kw_error *err);
    void (*close)(device *d);
    kw_code (*alloc)(device *d, device_buffer *b, kw_error *err); /* b->bytes is set */
    void (*free_buffer)(device *d, device_buffer *b);             /* and views */
    kw_code (*write)(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err);
    kw_code (*read)(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err);
    kw_code (*copy)(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                    size_t bytes, kw_error *err);
    kw_code (*fill)(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err);
    kw_code (*compare)(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset, size_t bytes,
                       uint64_t *n_different, uint64_t *first, kw_error *err);
    /* Optional, all four or none. */
    bool (*can_check)(device *d);
    kw_code (*check_all)(device *d, device_check *checks, size_t n, kw_error *err);
    kw_code (*gather)(device *d, device_buffer *b, size_t offset, size_t size, const uint64_t *index, size_t n,
                      void *out, kw_error *err);
    kw_code (*hide)(device *d, device_buffer *b, kw_error *err);
    size_t (*view_alignment)(const device *d);
    kw_code (*view)(device *d, device_buffer *b, kw_error *err); /* b->parent, offset, bytes are set */
    kw_code (*build)(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program *p, device_build_info *info, kw_error *err); /* on failure p->handle is NULL */
    void (*free_program)(device *d, device_program *p);
    /* Optional. */
    kw_code (*program_binary)(device *d, device_program *p, strb *binary, strb *identity, kw_error *err);
    kw_code (*check_args)(device *d, device_program *p, const device_launch *l, kw_error *err);
    kw_code (*run)(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err);
    kw_code (*time_events)(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err);
    kw_code (*time_batch)(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err);
} device_ops;

struct device {
    const device_ops *ops;
    device_info info;
    device_fault fault;
    bool lost;   /* a fault DEVICE_FAULT_LOST has happened */
    void *state; /* the back end's */
    /* Freed buffers that are kept, the one freed last first. */
    device_buffer *kept;
    size_t n_kept;
    uint64_t kept_bytes;
};

extern const device_ops device_opencl, device_fake;

#endif
