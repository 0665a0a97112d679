/* What every dispatch header shares for launching through OpenCL 1.2: programs, buffers, order of launches. */
#ifndef KW_SHARED_LAUNCH
#define KW_SHARED_LAUNCH 1

#include <stdlib.h>

#if CL_TARGET_OPENCL_VERSION < 120
#error "dispatch headers need OpenCL 1.2: define CL_TARGET_OPENCL_VERSION as 120 or more"
#endif

#ifndef KW_LOCK_TYPE
#if defined(KW_NO_THREADS)
#define KW_LOCK_TYPE int
#define KW_LOCK_INIT(lock) (*(lock) = 0)
#define KW_LOCK(lock) ((void)(lock))
#define KW_UNLOCK(lock) ((void)(lock))
#define KW_LOCK_DESTROY(lock) ((void)(lock))
#elif defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define KW_LOCK_TYPE pthread_mutex_t
#define KW_LOCK_INIT(lock) pthread_mutex_init((lock), NULL)
#define KW_LOCK(lock) ((void)pthread_mutex_lock(lock))
#define KW_UNLOCK(lock) ((void)pthread_mutex_unlock(lock))
#define KW_LOCK_DESTROY(lock) ((void)pthread_mutex_destroy(lock))
#else
#error "define KW_LOCK_TYPE, KW_LOCK_INIT, KW_LOCK, KW_UNLOCK, KW_LOCK_DESTROY, or KW_NO_THREADS"
#endif
#endif

/* Asks the driver for the key and the limits. */
static inline kw_status kw_device_init(kw_device *device, cl_device_id id)
{
    kw_key_limits found;
    char key[KW_KEY_SIZE];
    cl_device_type type;
    if (!device || clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS)
        return KW_ERROR_ARGUMENT;
    kw_key_query(id, key, sizeof key, &found);
    if (kw_device_from_key(device, key, NULL) != KW_SUCCESS)
        return KW_ERROR_OPENCL;
    device->limits.max_work_group_size = found.max_work_group_size;
    device->limits.max_local_x = found.max_local_x;
    device->limits.max_local_y = found.max_local_y;
    device->limits.max_local_z = found.max_local_z;
    device->limits.local_mem_bytes = found.local_mem_bytes;
    device->limits.max_alloc_bytes = found.max_alloc_bytes;
    device->limits.global_mem_bytes = found.global_mem_bytes;
    device->limits.compute_units = found.compute_units;
    device->limits.preferred_multiple = found.preferred_multiple;
    device->limits.cache_bytes = found.cache_bytes;
    device->limits.is_cpu = found.is_cpu;
    device->limits.is_gpu = found.is_gpu;
    device->limits.has_f16 = found.has_f16;
    device->limits.has_f64 = found.has_f64;
    return KW_SUCCESS;
}

/* ---- the engine behind a handle ---- */

typedef struct kw_program {
    int state;                           /* 0: not tried, 1: ready, 2: the driver refused it */
    cl_program program;
    size_t max_group[KW_MAX_LAUNCHES];   /* by launch: most work-items per group of its compiled kernel */
    char *log;                           /* why it cannot be used; lives as long as the engine */
} kw_program;

typedef struct kw_engine {
    cl_context context;
    cl_device_id id;
    kw_device device;
    size_t alignment;      /* of sub-buffers, in bytes */
    KW_LOCK_TYPE lock;     /* over what follows */
    const char *last_log;
    cl_int last_error;
    kw_program *programs;  /* one per variant */
    int n_programs;
} kw_engine;

/* What a program is made of. */
typedef struct kw_program_text {
    const char *name, *options;
    const char *const *pieces;
    const uint32_t *list;        /* which of the pieces, in order */
    size_t n_pieces;
    const char *const *kernels;  /* by launch; NULL ends */
} kw_program_text;

static inline void kw_engine_free(kw_engine *e)
{
    int i;
    if (!e)
        return;
    for (i = 0; i < e->n_programs; i++) {
        if (e->programs[i].program)
            (void)clReleaseProgram(e->programs[i].program);
        free(e->programs[i].log);
    }
    KW_LOCK_DESTROY(&e->lock);
    (void)clReleaseContext(e->context);
    free(e->programs);
    free(e);
}

static inline kw_status kw_engine_new(cl_context context, cl_device_id id, int n_programs, kw_engine **out)
{
    kw_engine *e = (kw_engine *)calloc(1, sizeof *e);
    cl_uint bits = 0;
    kw_status status;
    *out = NULL;
    if (!e)
        return KW_ERROR_MEMORY;
    e->programs = (kw_program *)calloc((size_t)n_programs, sizeof *e->programs);
    status = e->programs ? kw_device_init(&e->device, id) : KW_ERROR_MEMORY;
    if (status == KW_SUCCESS && (!context || clRetainContext(context) != CL_SUCCESS))
        status = KW_ERROR_ARGUMENT;
    if (status == KW_SUCCESS && KW_LOCK_INIT(&e->lock) != 0) {
        (void)clReleaseContext(context);
        status = KW_ERROR_MEMORY;
    }
    if (status != KW_SUCCESS) {
        free(e->programs);
        free(e);
        return status;
    }
    if (clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) != CL_SUCCESS || bits < 8)
        bits = 8 * KW_WORKSPACE_ALIGN;
    e->context = context;
    e->id = id;
    e->alignment = bits / 8;
    e->n_programs = n_programs;
    *out = e;
    return KW_SUCCESS;
}

/* Keeps the code of a failed OpenCL call and says what kind of failure it is. */
static inline kw_status kw_engine_fail(kw_engine *e, cl_int error)
{
    KW_LOCK(&e->lock);
    e->last_error = error;
    KW_UNLOCK(&e->lock);
    return error == CL_OUT_OF_HOST_MEMORY || error == CL_MEM_OBJECT_ALLOCATION_FAILURE ? KW_ERROR_MEMORY
                                                                                      : KW_ERROR_OPENCL;
}

static inline const char *kw_engine_log(kw_engine *e)
{
    const char *log;
    KW_LOCK(&e->lock);
    log = e->last_log;
    KW_UNLOCK(&e->lock);
    return log ? log : "";
}

static inline cl_int kw_engine_error(kw_engine *e)
{
    cl_int error;
    KW_LOCK(&e->lock);
    error = e->last_error;
    KW_UNLOCK(&e->lock);
    return error;
}

/* ---- programs; all under the engine's lock ---- */

/* The driver's log; NULL if it has none that a person could see. Caller frees. */
static inline char *kw_driver_log(cl_program program, cl_device_id id)
{
    size_t size = 0, i;
    char *log;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return NULL;
    log = (char *)malloc(size + 1);
    if (!log)
        return NULL;
    log[size] = '\0';
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_SUCCESS)
        for (i = 0; log[i]; i++)
            if ((unsigned char)log[i] > ' ')
                return log;
    free(log);
    return NULL;
}

/* Writes why a program cannot be used, once. */
static inline void kw_program_blame(kw_engine *e, kw_program *p, const char *name, const char *options, const char *what,
                                    long long number, const char *log)
{
    const size_t size = strlen(name) + strlen(options) + strlen(what) + strlen(log) + 64;
    if (!p->log) {
        p->log = (char *)malloc(size);
        if (p->log)
            (void)snprintf(p->log, size, "%s\noptions: %s\n%s %lld\n%s", name, options, what, number, log);
    }
    e->last_log = p->log ? p->log : "no memory for the build log";
}

static inline cl_program kw_program_create(kw_engine *e, const kw_program_text *text, cl_int *error)
{
    const char **pieces = (const char **)malloc((text->n_pieces + 1) * sizeof *pieces);
    cl_program program;
    size_t i;
    *error = CL_OUT_OF_HOST_MEMORY;
    if (!pieces)
        return NULL;
    for (i = 0; i < text->n_pieces; i++)
        pieces[i] = text->pieces[text->list[i]];
    program = clCreateProgramWithSource(e->context, (cl_uint)text->n_pieces, pieces, NULL, error);
    free(pieces);
    return *error == CL_SUCCESS ? program : NULL;
}

/* Asks each kernel of a built program how large its groups may be; a kernel that is not there is a refusal. */
static inline cl_int kw_program_kernels(kw_engine *e, kw_program *p, const kw_program_text *text, const char **missing)
{
    int i;
    for (i = 0; i < KW_MAX_LAUNCHES && text->kernels[i]; i++) {
        cl_int error;
        cl_kernel kernel = clCreateKernel(p->program, text->kernels[i], &error);
        *missing = text->kernels[i];
        if (error != CL_SUCCESS)
            return error;
        if (clGetKernelWorkGroupInfo(kernel, e->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof p->max_group[i], &p->max_group[i],
                                     NULL) != CL_SUCCESS)
            p->max_group[i] = SIZE_MAX;
        (void)clReleaseKernel(kernel);
    }
    return CL_SUCCESS;
}

/* Builds at the first need. KW_ERROR_BUILD, now and later, if the driver refuses. */
static inline kw_status kw_program_need(kw_engine *e, kw_program *p, const kw_program_text *text)
{
    cl_int error;
    const char *missing = "";
    char *log;
    if (p->state == 1)
        return KW_SUCCESS;
    if (p->state == 2) {
        e->last_log = p->log ? p->log : e->last_log;
        return KW_ERROR_BUILD;
    }
    p->program = kw_program_create(e, text, &error);
    if (!p->program) {
        e->last_error = error;
        return error == CL_OUT_OF_HOST_MEMORY ? KW_ERROR_MEMORY : KW_ERROR_OPENCL;
    }
    error = clBuildProgram(p->program, 1, &e->id, text->options, NULL, NULL);
    if (error != CL_SUCCESS) {
        log = kw_driver_log(p->program, e->id);
        kw_program_blame(e, p, text->name, text->options, "clBuildProgram failed:", error,
                         log ? log : "(the driver gave no log)");
        free(log);
    } else {
        error = kw_program_kernels(e, p, text, &missing);
        if (error != CL_SUCCESS)
            kw_program_blame(e, p, text->name, text->options, "clCreateKernel failed:", error, missing);
    }
    p->state = error == CL_SUCCESS ? 1 : 2;
    return error == CL_SUCCESS ? KW_SUCCESS : KW_ERROR_BUILD;
}

static inline kw_status kw_engine_build(kw_engine *e, int variant, const kw_program_text *text)
{
    kw_status status;
    KW_LOCK(&e->lock);
    status = kw_program_need(e, &e->programs[variant], text);
    KW_UNLOCK(&e->lock);
    return status;
}

/* Notes that a compiled kernel does not take groups as large as the variant needs. */
static inline kw_status kw_engine_unfit(kw_engine *e, int variant, const kw_program_text *text, const kw_launch *l)
{
    KW_LOCK(&e->lock);
    kw_program_blame(e, &e->programs[variant], text->name, text->options, "work-items per group that the kernel can take:",
                     (long long)e->programs[variant].max_group[l->id], l->kernel);
    KW_UNLOCK(&e->lock);
    return KW_ERROR_BUILD;
}

/* Builds, and looks whether each launch fits its compiled kernel. */
static inline kw_status kw_engine_ready(kw_engine *e, int variant, const kw_program_text *text, const kw_plan *plan)
{
    const kw_status status = kw_engine_build(e, variant, text);
    int i;
    if (status != KW_SUCCESS)
        return status;
    for (i = 0; i < plan->n_launches; i++) {
        const kw_launch *l = &plan->launches[i];
        if (l->local[0] * l->local[1] * l->local[2] > e->programs[variant].max_group[l->id])
            return kw_engine_unfit(e, variant, text, l);
    }
    return KW_SUCCESS;
}

/* ---- buffers ---- */

/* A tensor as the caller gives it, and the buffer that kernels get. */
typedef struct kw_view {
    cl_mem buffer;
    size_t offset; /* bytes */
    int64_t bytes; /* that the shape says; -1: overflow */
    cl_mem view;   /* the buffer itself, or a sub-buffer of this call */
} kw_view;

static inline kw_view kw_view_of(cl_mem buffer, size_t offset, int64_t bytes)
{
    kw_view v;
    v.buffer = buffer;
    v.offset = offset;
    v.bytes = bytes;
    v.view = buffer;
    return v;
}

/* Is the buffer there and large enough, and the offset aligned? */
static inline kw_status kw_view_check(const kw_engine *e, const kw_view *v)
{
    size_t size = 0;
    if (v->bytes < 0 || (uint64_t)v->bytes > SIZE_MAX)
        return KW_ERROR_SHAPE;
    if (v->bytes == 0)
        return KW_SUCCESS;
    if (!v->buffer || v->offset % e->alignment != 0 ||
        clGetMemObjectInfo(v->buffer, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
        return KW_ERROR_ARGUMENT;
    return v->offset <= size && (size_t)v->bytes <= size - v->offset ? KW_SUCCESS : KW_ERROR_ARGUMENT;
}

static inline kw_status kw_views_check(const kw_engine *e, const kw_view *views, int n)
{
    kw_status status = KW_SUCCESS;
    int i;
    for (i = 0; i < n && status == KW_SUCCESS; i++)
        status = kw_view_check(e, &views[i]);
    return status;
}

/* Makes the sub-buffer if there is an offset, or if the whole buffer must not be used. A sub-buffer of a sub-buffer is
 * made of the parent. */
static inline cl_int kw_view_open(kw_view *v, int always)
{
    cl_mem parent = NULL;
    size_t base = 0;
    cl_buffer_region region;
    cl_int error;
    if (v->bytes == 0 || (v->offset == 0 && !always))
        return CL_SUCCESS;
    if (clGetMemObjectInfo(v->buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) != CL_SUCCESS)
        parent = NULL;
    if (parent && clGetMemObjectInfo(v->buffer, CL_MEM_OFFSET, sizeof base, &base, NULL) != CL_SUCCESS)
        return CL_INVALID_MEM_OBJECT;
    region.origin = base + v->offset;
    region.size = (size_t)v->bytes;
    v->view = clCreateSubBuffer(parent ? parent : v->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    if (error != CL_SUCCESS)
        v->view = v->buffer;
    return error;
}

static inline void kw_view_close(kw_view *v)
{
    if (v->view && v->view != v->buffer)
        (void)clReleaseMemObject(v->view);
    v->view = v->buffer;
}

/* Is the workspace there and large enough for the plan? */
static inline kw_status kw_workspace_check(const kw_plan *plan, cl_mem workspace)
{
    const uint64_t needed = kw_plan_offset(plan, KW_MAX_TEMPS);
    size_t size = 0;
    if (needed == 0)
        return KW_SUCCESS;
    if (!workspace || clGetMemObjectInfo(workspace, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
        return KW_ERROR_WORKSPACE;
    return size >= needed ? KW_SUCCESS : KW_ERROR_WORKSPACE;
}

/* One view per temporary. A single one is the workspace itself; several must not overlap, so each is a sub-buffer. */
static inline void kw_workspace_views(const kw_plan *plan, cl_mem workspace, kw_view *temps, int *several)
{
    int i, n = 0;
    for (i = 0; i < KW_MAX_TEMPS; i++) {
        const uint64_t bytes = plan->temp_bytes[i];
        temps[i] = kw_view_of(bytes ? workspace : NULL, bytes ? (size_t)kw_plan_offset(plan, i) : 0, (int64_t)bytes);
        n += bytes != 0;
    }
    *several = n > 1;
}

/* ---- launches ---- */

static inline cl_int kw_set_args(cl_kernel kernel, const kw_launch *l, const kw_view *tensors, const kw_view *temps)
{
    cl_int error = CL_SUCCESS;
    int i;
    for (i = 0; i < l->n_args && error == CL_SUCCESS; i++) {
        const kw_arg *a = &l->args[i];
        const cl_uint n = (cl_uint)i;
        switch (a->kind) {
        case KW_ARG_TENSOR: error = clSetKernelArg(kernel, n, sizeof(cl_mem), &tensors[a->index].view); break;
        case KW_ARG_TEMP: error = clSetKernelArg(kernel, n, sizeof(cl_mem), &temps[a->index].view); break;
        case KW_ARG_BYTES: error = clSetKernelArg(kernel, n, a->size, a->bytes); break;
        case KW_ARG_LOCAL: error = clSetKernelArg(kernel, n, a->size, NULL); break;
        }
    }
    return error;
}

/* One launch with a kernel object of its own: arguments live in the object, so that a shared one would mix up threads. */
static inline cl_int kw_launch_one(cl_program program, cl_command_queue queue, const kw_launch *l, const kw_view *tensors,
                                   const kw_view *temps, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, l->kernel, &error);
    size_t global[3];
    int i;
    if (error != CL_SUCCESS)
        return error;
    for (i = 0; i < 3; i++)
        global[i] = l->local[i] * l->groups[i];
    error = kw_set_args(kernel, l, tensors, temps);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(queue, kernel, l->rank, NULL, global, l->local, n_wait, n_wait ? wait : NULL, event);
    (void)clReleaseKernel(kernel);
    return error;
}

/* All launches, one after the other. *started says how many were enqueued. */
static inline cl_int kw_launch_all(kw_engine *e, int variant, cl_command_queue queue, const kw_plan *plan,
                                   const kw_view *tensors, const kw_view *temps, cl_uint n_wait, const cl_event *wait,
                                   cl_event *event, int *started)
{
    cl_command_queue_properties properties = 0;
    cl_event previous = NULL;
    cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    const int tied = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    int i;
    for (i = 0; i < plan->n_launches && error == CL_SUCCESS; i++) {
        const int last = i == plan->n_launches - 1;
        cl_event done = NULL;
        cl_event *const out = last ? event : tied ? &done : NULL;
        if (i == 0)
            error = kw_launch_one(e->programs[variant].program, queue, &plan->launches[i], tensors, temps, n_wait, wait,
                                  out);
        else
            error = kw_launch_one(e->programs[variant].program, queue, &plan->launches[i], tensors, temps,
                                  previous ? 1 : 0, &previous, out);
        if (previous)
            (void)clReleaseEvent(previous);
        previous = done;
        *started += error == CL_SUCCESS;
    }
    if (previous)
        (void)clReleaseEvent(previous);
    return error;
}

/* Nothing to launch: the event, if one is wanted, completes behind `wait`. */
static inline kw_status kw_launch_none(kw_engine *e, cl_command_queue queue, cl_uint n_wait, const cl_event *wait,
                                       cl_event *event)
{
    cl_int error = CL_SUCCESS;
    if (event)
        error = clEnqueueMarkerWithWaitList(queue, n_wait, n_wait ? wait : NULL, event);
    return error == CL_SUCCESS ? KW_SUCCESS : kw_engine_fail(e, error);
}

/* Opens the views, launches, closes them. KW_ERROR_BUILD if the first launch did not fit the device after all. */
static inline kw_status kw_engine_run(kw_engine *e, int variant, const kw_program_text *text, cl_command_queue queue,
                                      const kw_plan *plan, kw_view *tensors, int n_tensors, cl_mem workspace,
                                      cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    kw_view temps[KW_MAX_TEMPS];
    cl_int error = CL_SUCCESS;
    int i, several, started = 0;
    if (plan->n_launches == 0)
        return kw_launch_none(e, queue, n_wait, wait, event);
    kw_workspace_views(plan, workspace, temps, &several);
    for (i = 0; i < n_tensors && error == CL_SUCCESS; i++)
        error = kw_view_open(&tensors[i], 0);
    for (i = 0; i < KW_MAX_TEMPS && error == CL_SUCCESS; i++)
        error = kw_view_open(&temps[i], several);
    if (error == CL_SUCCESS)
        error = kw_launch_all(e, variant, queue, plan, tensors, temps, n_wait, wait, event, &started);
    for (i = 0; i < n_tensors; i++)
        kw_view_close(&tensors[i]);
    for (i = 0; i < KW_MAX_TEMPS; i++)
        kw_view_close(&temps[i]);
    if (error == CL_SUCCESS)
        return KW_SUCCESS;
    if (started == 0 && (error == CL_INVALID_WORK_GROUP_SIZE || error == CL_INVALID_WORK_ITEM_SIZE))
        return kw_engine_unfit(e, variant, text, &plan->launches[0]);
    return kw_engine_fail(e, error);
}

/* Does the queue belong to the handle's device? */
static inline int kw_queue_fits(const kw_engine *e, cl_command_queue queue)
{
    cl_device_id id = NULL;
    return queue && clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL) == CL_SUCCESS && id == e->id;
}

#endif /* KW_SHARED_LAUNCH */
