/* A scripted device for tests: no driver, buffers in host memory, a "compiler" that obeys directives in the source.
 * docs/devices.md lists them. It is also the pattern for a new back end. */
#include "device/fake.h"

#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define VIEW_ALIGNMENT 128
#define FRESH_BYTE 0xa5 /* of memory that nobody has written yet */

static const device_info devices[] = {
    {.spec = "fake:0",
     .key = "fake/scripted/large/64",
     .name = "Fake large",
     .platform = "Fake",
     .driver = "1",
     .api = "fake",
     .timer_resolution_ns = 1,
     .limits = {.max_work_group_size = 1024,
                .max_work_item_size = {1024, 1024, 64},
                .local_mem_bytes = 48 * KIB,
                .max_alloc_bytes = 256 * MIB,
                .global_mem_bytes = 1024 * MIB,
                .compute_units = 64,
                .preferred_multiple = 32,
                .cache_bytes = 2 * MIB,
                .is_gpu = 1,
                .has_f64 = 1}},
    {.spec = "fake:1",
     .key = "fake/scripted/small/4",
     .name = "Fake small",
     .platform = "Fake",
     .driver = "1",
     .api = "fake",
     .timer_resolution_ns = 1,
     .limits = {.max_work_group_size = 64,
                .max_work_item_size = {64, 64, 64},
                .local_mem_bytes = 16 * KIB,
                .max_alloc_bytes = 16 * MIB,
                .global_mem_bytes = 64 * MIB,
                .compute_units = 4,
                .preferred_multiple = 16,
                .cache_bytes = 64 * KIB,
                .is_gpu = 1}},
};

#define N_DEVICES (sizeof devices / sizeof devices[0])

static fake_program *program_of(device_program *p)
{
    return p->handle;
}

/* ---- discovery and opening ---- */

static kw_code list_devices(device_info **list, size_t *n, strb *note, kw_error *err)
{
    const char *wanted = getenv("KERNWRIGHT_FAKE");
    (void)note;
    (void)err;
    if (!wanted || strcmp(wanted, "1") != 0)
        return KW_OK;
    *list = mem_realloc(*list, (*n + N_DEVICES) * sizeof **list);
    memcpy(*list + *n, devices, sizeof devices);
    *n += N_DEVICES;
    return KW_OK;
}

static kw_code open_device(const char *spec, device *d, kw_error *err)
{
    for (size_t i = 0; i < N_DEVICES; i++)
        if (strcmp(spec, devices[i].spec) == 0) {
            d->info = devices[i];
            return KW_OK;
        }
    return kw_error_set(err, KW_BAD_INPUT, "there is no device %s: fake:0 and fake:1 exist", spec);
}

static void close_device(device *d)
{
    (void)d;
}

/* ---- buffers ---- */

static kw_code alloc_buffer(device *d, device_buffer *b, kw_error *err)
{
    if (b->bytes > (size_t)d->info.limits.max_alloc_bytes)
        return device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT,
                           "%s: a buffer of %zu bytes is over the limit of %lld", d->info.spec, b->bytes,
                           (long long)d->info.limits.max_alloc_bytes);
    unsigned char *memory = mem_try_alloc(b->bytes + 2 * FAKE_PADDING);
    if (!memory)
        return device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT, "%s: no memory for a buffer of %zu bytes",
                           d->info.spec, b->bytes);
    memset(memory, FRESH_BYTE, b->bytes + 2 * FAKE_PADDING);
    b->handle = memory + FAKE_PADDING;
    return KW_OK;
}

static void free_buffer(device *d, device_buffer *b)
{
    (void)d;
    if (!b->parent)
        free(fake_memory(b) - FAKE_PADDING);
}

static size_t view_alignment(const device *d)
{
    (void)d;
    return VIEW_ALIGNMENT;
}

static kw_code make_view(device *d, device_buffer *b, kw_error *err)
{
    (void)d;
    (void)err;
    b->handle = fake_memory(b->parent) + b->offset;
    return KW_OK;
}

static kw_code write_buffer(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err)
{
    (void)d;
    (void)err;
    memcpy(fake_memory(b) + offset, data, bytes);
    return KW_OK;
}

static kw_code read_buffer(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err)
{
    (void)d;
    (void)err;
    memcpy(data, fake_memory(b) + offset, bytes);
    return KW_OK;
}

static kw_code copy_buffer(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                           size_t bytes, kw_error *err)
{
    (void)d;
    (void)err;
    memmove(fake_memory(to) + to_offset, fake_memory(from) + from_offset, bytes);
    return KW_OK;
}

static kw_code fill_buffer(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err)
{
    (void)d;
    (void)err;
    memset(fake_memory(b) + offset, byte, bytes);
    return KW_OK;
}

static kw_code compare_buffers(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                               size_t bytes, uint64_t *n_different, uint64_t *first, kw_error *err)
{
    (void)d;
    (void)err;
    device_compare_memory(fake_memory(a) + a_offset, fake_memory(b) + b_offset, bytes, 0, n_different, first);
    return KW_OK;
}

/* ---- programs ---- */

static void sleep_ns(int64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (ns > 0 && nanosleep(&t, &t) != 0)
        ;
}

static _Noreturn void hang(void)
{
    for (;;)
        pause();
}

/* Takes memory, 4 MiB every millisecond, up to 4 GiB; then it waits to be stopped. */
static _Noreturn void eat(void)
{
    const size_t piece = (size_t)4 << 20;
    for (size_t taken = 0; taken < (size_t)4 << 30; taken += piece, sleep_ns(1000000)) {
        volatile unsigned char *memory = mem_try_alloc(piece);
        for (size_t i = 0; memory && i < piece; i += 4096)
            memory[i] = 1;
    }
    hang();
}

static kw_code build_failure(device *d, device_build_info *info, const char *line, kw_error *err)
{
    strb_printf(&info->log, "%s\n", line);
    return device_fail(d, DEVICE_FAULT_BUILD, err, KW_FAILED, "%s", line);
}

/* Says which kernels there are, as the OpenCL back end does. */
static kw_code missing_kernel(device *d, const fake_program *p, const char *name, device_build_info *info,
                              kw_error *err)
{
    strb line = STRB_INIT;
    strb_printf(&line, "the source has no kernel \"%s\"; it has:", name);
    for (size_t i = 0; i < p->n_kernels; i++)
        strb_printf(&line, " %s", p->kernels[i].name);
    build_failure(d, info, strb_text(&line), err);
    strb_clear(&line);
    return kw_error_prefix(err, "fake.cl");
}

/* A comment that begins with PTX stands for the compiled program. */
static void count_artefact(const char *source, artefact *out)
{
    static const char mark[] = "/*ptx\n";
    const char *from = strstr(source, mark), *to = from ? strstr(from, "*/") : NULL;
    memset(out, 0, sizeof *out);
    if (!to)
        return;
    from += strlen(mark);
    if (artefact_is_ptx(from, (size_t)(to - from)))
        artefact_count_ptx(from, (size_t)(to - from), out);
}

static kw_code build_program(device *d, const char *source, const char *options, const char *const *kernels,
                             size_t n_kernels, device_program *out, device_build_info *info, kw_error *err)
{
    kw_error wrong = {0};
    fake_program *p = fake_program_parse(source, &wrong);
    (void)options;
    if (!p)
        return build_failure(d, info, wrong.message, err);
    sleep_ns(p->script.slow_ms * 1000000);
    if (p->script.build == FAKE_BUILD_HANG)
        hang();
    if (p->script.build == FAKE_BUILD_CRASH)
        abort();
    if (p->script.build == FAKE_BUILD_EAT)
        eat();
    kw_code code = KW_OK;
    for (int64_t i = 0; i < p->script.log_mb * MIB / 64; i++)
        strb_add(&info->log, "fake.cl:1:1: warning: this line of the log has a length of 64..\n");
    if (p->script.build == FAKE_BUILD_ERROR)
        code = build_failure(d, info, "fake.cl:1:1: error: the source asks for a build error", err);
    for (size_t i = 0; code == KW_OK && i < n_kernels; i++)
        if (!fake_program_find(p, kernels[i]))
            code = missing_kernel(d, p, kernels[i], info, err);
    info->registers = p->script.registers;
    info->spill_bytes = p->script.spill_bytes;
    info->local_bytes = p->script.local_bytes;
    info->max_group = p->script.max_group;
    count_artefact(source, &info->artefact);
    if (code != KW_OK)
        fake_program_free(p);
    else
        out->handle = p;
    return code;
}

static void free_program(device *d, device_program *p)
{
    (void)d;
    fake_program_free(program_of(p));
}

static kw_code check_args(device *d, device_program *p, const device_launch *l, kw_error *err)
{
    const fake_kernel *k = fake_program_find(program_of(p), l->kernel);
    if (!k)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "there is no kernel \"%s\"", l->kernel);
    return device_check_params(d, l, k->params, k->n_params, err);
}

/* ---- running ---- */

static kw_code check_fit(device *d, const fake_program *p, const device_launch *l, kw_error *err)
{
    const device_limits *limits = &d->info.limits;
    int64_t most = limits->max_work_group_size, local = p->script.local_bytes > 0 ? p->script.local_bytes : 0;
    size_t items = 1;
    if (p->script.max_group >= 0 && p->script.max_group < most)
        most = p->script.max_group;
    for (unsigned i = 0; i < l->rank; i++) {
        items *= l->local[i];
        if (l->local[i] == 0 || l->groups[i] == 0)
            return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED, "kernel \"%s\": no work-items in dimension %u",
                               l->kernel, i);
        if (l->local[i] > (size_t)limits->max_work_item_size[i] || items > (size_t)most)
            return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED,
                               "kernel \"%s\": a group of %zu work-items is over the limit", l->kernel, items);
    }
    for (size_t i = 0; i < l->n_args; i++)
        local += l->args[i].kind == DEVICE_ARG_LOCAL ? (int64_t)l->args[i].n : 0;
    if (local > limits->local_mem_bytes)
        return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED,
                           "kernel \"%s\": %lld bytes of local memory, the device has %lld", l->kernel,
                           (long long)local, (long long)limits->local_mem_bytes);
    return KW_OK;
}

/* What the script makes of a run before anything is computed. */
static kw_code obey(device *d, const fake_program *p, kw_error *err)
{
    if (p->n_runs < (uint64_t)p->script.after)
        return KW_OK;
    switch ((fake_run)p->script.run) {
    case FAKE_RUN_OK:
        return KW_OK;
    case FAKE_RUN_CRASH:
        abort();
    case FAKE_RUN_HANG:
        hang();
    case FAKE_RUN_LOST:
        return device_fail(d, DEVICE_FAULT_LOST, err, KW_ENVIRONMENT, "%s: the device is lost, as the source asks",
                           d->info.spec);
    case FAKE_RUN_LAUNCH_ERROR:
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED, "%s: launch refused, as the source asks",
                           d->info.spec);
    case FAKE_RUN_DOES_NOT_FIT:
        return device_fail(d, DEVICE_FAULT_DOES_NOT_FIT, err, KW_FAILED, "%s: does not fit, as the source asks",
                           d->info.spec);
    case FAKE_RUN_NO_MEMORY:
        return device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT, "%s: no memory, as the source asks",
                           d->info.spec);
    }
    return KW_OK;
}

static kw_code run_launches(device *d, device_program *program, const device_launch *launches, size_t n, kw_error *err)
{
    fake_program *p = program_of(program);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < n; i++) {
        code = check_args(d, program, &launches[i], err);
        if (code == KW_OK)
            code = check_fit(d, p, &launches[i], err);
    }
    if (code == KW_OK)
        code = obey(d, p, err);
    for (size_t i = 0; code == KW_OK && i < n; i++)
        code = fake_launch(d, p, &launches[i], err);
    sleep_ns(p->script.host_sleep_us * 1000);
    p->n_runs++;
    return code;
}

/* Work-items, each as often as the argument `steps` says, where the kernel has one. */
static double steps_of(const fake_program *p, const device_launch *l)
{
    const fake_kernel *k = fake_program_find(p, l->kernel);
    double items = 1;
    for (unsigned i = 0; i < l->rank; i++)
        items *= (double)(l->local[i] * l->groups[i]);
    for (size_t i = 0; k && i < k->n_params && i < l->n_args; i++) {
        int32_t steps;
        if (strcmp(k->params[i].name, "steps") != 0 || l->args[i].n != sizeof steps)
            continue;
        memcpy(&steps, l->args[i].bytes, sizeof steps);
        return items * steps;
    }
    return items;
}

/* The time of the run that comes next: the same source and run number give the same figure on every machine. */
static double next_time(const fake_program *p, const device_launch *launches, size_t n)
{
    double ns = p->script.time_ns, deviation = 2.0 * counter_rng_unit(p->hash, 0, p->n_runs) - 1.0;
    for (size_t i = 0; i < n && p->script.ns_per_step > 0; i++)
        ns += p->script.ns_per_step * steps_of(p, &launches[i]);
    return ns * (1.0 + p->script.noise / 100.0 * deviation);
}

static kw_code time_events(device *d, device_program *program, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err)
{
    fake_program *p = program_of(program);
    for (size_t i = 0; i < n_runs; i++) {
        const device_launch *launches = set(i, cookie);
        uint64_t start = 1000000000, length = (uint64_t)(next_time(p, launches, n_launches) + 0.5);
        ns[i] = device_event_ns(start, p->script.backwards_timer ? start - length : start + length);
        kw_code code = run_launches(d, program, launches, n_launches, err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

static kw_code time_batch(device *d, device_program *program, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    for (size_t i = 0; i < n_batches; i++) {
        ns[i] = next_time(program_of(program), set(i * per_batch, cookie), n_launches);
        for (size_t j = 0; j < per_batch; j++) {
            kw_code code = run_launches(d, program, set(i * per_batch + j, cookie), n_launches, err);
            if (code != KW_OK)
                return code;
        }
    }
    return KW_OK;
}

const device_ops device_fake = {
    .name = "fake",
    .list = list_devices,
    .open = open_device,
    .close = close_device,
    .alloc = alloc_buffer,
    .free_buffer = free_buffer,
    .write = write_buffer,
    .read = read_buffer,
    .copy = copy_buffer,
    .fill = fill_buffer,
    .compare = compare_buffers,
    .view_alignment = view_alignment,
    .view = make_view,
    .build = build_program,
    .free_program = free_program,
    .check_args = check_args,
    .run = run_launches,
    .time_events = time_events,
    .time_batch = time_batch,
};
