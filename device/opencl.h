/* The OpenCL back end, internal: what its files share. Vendor headers come with opencl_api.h and from nowhere else.
 * Calls of OpenCL 1.2 only, so that every driver serves. */
#ifndef KERNWRIGHT_DEVICE_OPENCL_H
#define KERNWRIGHT_DEVICE_OPENCL_H

#include "base/hash.h"
#include "device/device.h"
#include "device/opencl_api.h"

typedef struct opencl_checker opencl_checker;
typedef struct opencl_plug opencl_plug;   /* opencl_queue.c */
typedef struct opencl_cache opencl_cache; /* opencl_cache.h */

/* An open device: device.state. */
typedef struct opencl {
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    cl_command_queue plain, profiling; /* in order; the second one records event times */
    size_t alignment;                  /* of sub-buffers, in bytes */
    bool verbose_builds;               /* NVIDIA: the compiler reports registers and spills in the log */
    bool local_is_static;              /* NVIDIA: static local memory may be larger than what the device reports */
    bool events_in_ns;                 /* false: event times are ticks of something else (Apple) and are not used */
    cl_mem dummy;                      /* passed for an empty tensor */
    cl_program compare_program;        /* made when first needed */
    cl_kernel compare_kernel;
    cl_mem compare_result;
    bool compares_on_device; /* by kernels of ours; else the host does, over mapped memory */
    opencl_checker *checker; /* made when first needed */
    opencl_plug *plug;       /* made when first needed */
    opencl_cache *cache;     /* of compiled programs; NULL: none */
} opencl;

typedef struct opencl_kernel {
    char *name;
    cl_kernel kernel;
    size_t max_group;      /* opencl_group_limit */
    size_t fixed_group[3]; /* reqd_work_group_size; zeros if there is none */
    int64_t local_bytes;   /* static local memory */
    device_param *params;
    size_t n_params;
} opencl_kernel;

/* A built program: device_program.handle. */
typedef struct opencl_program {
    cl_program program;
    opencl_kernel *kernels;
    size_t n_kernels;
    /* What goes into the cache when the program is freed, launched and all (PoCL compiles then); key "": nothing. */
    char key[HASH_HEX_SIZE];
    strb log;
    int64_t registers, spill_bytes;
} opencl_program;

static inline opencl *opencl_of(const device *d)
{
    return d->state;
}

static inline cl_mem opencl_mem(const device_buffer *b)
{
    return b->handle;
}

/* ---- opencl_error.c: codes and what they mean ---- */

/* When a call failed: the same code means different things. */
typedef enum opencl_moment {
    OPENCL_PREPARING, /* creating objects, setting arguments */
    OPENCL_ENQUEUE,   /* a launch was refused */
    OPENCL_TRANSFER,  /* a blocking read, write, fill, copy or map */
    OPENCL_FINISH     /* work that was accepted has failed */
} opencl_moment;

const char *opencl_error_name(cl_int code); /* "CL_OUT_OF_RESOURCES"; "an unknown error" */
/* Fault and message for `what` that failed. Where CL_OUT_OF_RESOURCES refuses a launch, waits for the queue to tell a
 * launch that does not fit from a lost device. */
kw_code opencl_fail(device *d, opencl_moment moment, cl_int code, kw_error *err, const char *what);

/* ---- opencl_list.c ---- */

kw_code opencl_list(device_info **list, size_t *n, strb *note, kw_error *err);
/* Finds a device by spec and describes it. */
kw_code opencl_find(const char *spec, cl_platform_id *platform, cl_device_id *id, device_info *info, kw_error *err);
bool opencl_has_extension(cl_device_id id, const char *name);
/* Says why PoCL's kernel cache cannot be written (`why` may be NULL); false if it can, or if there is no telling. */
bool opencl_cache_is_unwritable(strb *why);

/* ---- opencl_buffer.c, opencl_compare.c ---- */

kw_code opencl_alloc(device *d, device_buffer *b, kw_error *err);
void opencl_free_buffer(device *d, device_buffer *b);
kw_code opencl_view(device *d, device_buffer *b, kw_error *err);
kw_code opencl_write(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err);
kw_code opencl_read(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err);
kw_code opencl_copy(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                    size_t bytes, kw_error *err);
kw_code opencl_fill(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err);
kw_code opencl_compare(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset, size_t bytes,
                       uint64_t *n_different, uint64_t *first, kw_error *err);
/* Its two ways; words_per_launch bounds one launch of the kernel. */
kw_code opencl_compare_mapped(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                              size_t bytes, uint64_t *n_different, uint64_t *first, kw_error *err);
kw_code opencl_compare_by_kernel(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                                 size_t bytes, size_t words_per_launch, uint64_t *n_different, uint64_t *first,
                                 kw_error *err);

/* ---- opencl_fence.c: on PoCL, pages that a verified run must not touch ---- */

bool opencl_fences(const device *d); /* are they possible? */
/* Like clCreateBuffer; in memory of ours where fences are possible. */
cl_mem opencl_fenced_buffer(device *d, device_buffer *b, cl_int *code);
/* Closes (opens) what lies before and behind the views that the launches get, as far as whole pages go: whoever reads
 * or writes there ends the process by SIGSEGV. Nothing else may use the buffers in between; the queue is empty. */
void opencl_fence(const device_launch *launches, size_t n, bool closed);

/* ---- opencl_check.c: the optional operations of device_ops, where the device compares ---- */

bool opencl_can_check(device *d); /* builds the kernels at the first call */
void opencl_checker_free(opencl_checker *c);
kw_code opencl_check_all(device *d, device_check *checks, size_t n, kw_error *err);
kw_code opencl_gather(device *d, device_buffer *b, size_t offset, size_t size, const uint64_t *index, size_t n,
                      void *out, kw_error *err);
kw_code opencl_hide(device *d, device_buffer *b, kw_error *err);

/* ---- opencl_program.c, opencl_log.c ---- */

kw_code opencl_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program *p, device_build_info *info, kw_error *err);
void opencl_free_program(device *d, device_program *p);
void opencl_release_program(opencl_program *p);
/* Most work-items per group of a compiled kernel, from what the driver promises for any group
 * (CL_KERNEL_WORK_GROUP_SIZE; 0: unknown) and the group that reqd_work_group_size names (zeros: none). The kernel was
 * compiled for the latter, also where it is larger: NVIDIA's driver promises 256 whatever the kernel says. If it does
 * not fit all the same, the launch is refused. */
size_t opencl_group_limit(size_t promised, const size_t fixed[3]);
kw_code opencl_make_kernels(device *d, opencl_program *p, const char *const *kernels, size_t n, device_build_info *info,
                            kw_error *err);
/* Registers and spilled bytes (the largest of all kernels) from a log of NVIDIA's compiler; -1 where it has none. */
void opencl_parse_nvidia_log(const char *log, int64_t *registers, int64_t *spill_bytes);
/* Names of temporary files, as PoCL writes them into its messages, become "kernel.cl": same error, same log. */
void opencl_hide_temporaries(char *log);
/* The line of a log that tells most: the first with "error" in it, else the first that is not blank; with the next one
 * if it ends in a colon. */
void opencl_first_line(const char *log, char *out, size_t size);

/* ---- opencl_binary.c: programs from the cache and into it ---- */

/* NULL if there is none for this device: $KERNWRIGHT_BINARY_CACHE (on, off), by default not for PoCL. */
opencl_cache *opencl_cache_of_device(const device_info *info);
void opencl_binary_key(const device *d, const char *source, const char *options, char out[HASH_HEX_SIZE]);
/* NULL when it is not there, or when the driver does not take it any more. */
opencl_program *opencl_binary_find(device *d, const char *key, const char *options, const char *const *kernels,
                                   size_t n_kernels, device_build_info *info);
void opencl_binary_keep(device *d, const opencl_program *p);
/* Counts of the program's binary, where that is text that can be read; else `known` is false. */
void opencl_count_binary(const opencl_program *p, artefact *out);
kw_code opencl_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err);

/* ---- opencl_launch.c, opencl_time.c ---- */

kw_code opencl_check_args(device *d, device_program *p, const device_launch *l, kw_error *err);
/* Checks that the launch can fit, sets the arguments and enqueues. `event` may be NULL. */
kw_code opencl_enqueue(device *d, device_program *p, const device_launch *l, cl_command_queue queue, cl_event *event,
                       kw_error *err);
/* Waits for the queue and checks the status of the events. */
kw_code opencl_finish(device *d, cl_command_queue queue, const cl_event *events, size_t n, kw_error *err);
void opencl_release_events(cl_event *events, size_t n);
kw_code opencl_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err);
kw_code opencl_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err);
kw_code opencl_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err);

/* ---- opencl_queue.c: batches that the device takes from its queue without waiting for the host ---- */

/* A GPU whose events tell nanoseconds; $KERNWRIGHT_BATCH (queue, host) overrules. Makes the plug at the first call. */
bool opencl_can_queue(device *d);
/* Can batches of so many runs be timed that way? Not a single run, nor what would take the host too long. */
bool opencl_fits_queue(device *d, size_t n_launches, size_t per_batch);
/* As device_time_batch; only where it fits. A batch that the host was too slow to enqueue is an upper bound; the next
 * one gets more time. */
kw_code opencl_time_queued(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t per_batch, size_t n_batches, double *ns, kw_error *err);
void opencl_plug_free(opencl_plug *g);

#endif
