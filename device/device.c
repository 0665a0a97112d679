/* The table of back ends, and the functions that every caller goes through: they check what is common to all devices
 * (ranges, alignment, a lost device) and see to it that a failure always has a fault. */
#include "device/device.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const device_ops *const back_ends[] = {&device_opencl, &device_fake};

#define N_BACK_ENDS (sizeof back_ends / sizeof back_ends[0])

#define MOST_KEPT 512                       /* freed buffers */
#define MOST_KEPT_BYTES ((uint64_t)4 << 30) /* of them all; less on a device with little memory */

/* ---- discovery ---- */

kw_code device_list(device_info **list, size_t *n, strb *note, kw_error *err)
{
    *list = NULL;
    *n = 0;
    (void)err;
    for (size_t i = 0; i < N_BACK_ENDS; i++) {
        kw_error one = {0};
        size_t before = *n;
        if (back_ends[i]->list(list, n, note, &one) == KW_OK)
            continue;
        *n = before;
        if (note)
            strb_printf(note, "%s%s: %s", note->length > 0 ? "\n" : "", back_ends[i]->name, one.message);
    }
    return KW_OK;
}

/* ---- faults ---- */

const char *device_fault_name(device_fault f)
{
    static const char *const names[] = {"none", "build", "does_not_fit", "memory", "launch", "lost"};
    return (size_t)f < sizeof names / sizeof names[0] ? names[f] : "unknown";
}

/* Begins a call: false, with a message, when the device is lost. `before` gets the fault of the last failure. */
static bool begin(device *d, device_fault *before, kw_error *err)
{
    if (d->lost) {
        kw_error_set(err, KW_ENVIRONMENT, "%s: the device was lost earlier in this process; start another one",
                     d->info.spec);
        return false;
    }
    *before = d->fault;
    d->fault = DEVICE_FAULT_NONE;
    return true;
}

/* Ends a call: success leaves the fault of the last failure, and no failure is without one. */
static kw_code end(device *d, device_fault before, kw_code code)
{
    if (code == KW_OK)
        d->fault = before;
    else if (d->fault == DEVICE_FAULT_NONE)
        d->fault = DEVICE_FAULT_LAUNCH;
    return code;
}

static kw_code check_range(device *d, const device_buffer *b, size_t offset, size_t bytes, const char *what,
                           kw_error *err)
{
    if (!b)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "%s: no buffer", what);
    if (offset > b->bytes || bytes > b->bytes - offset)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "%s: bytes %zu..%zu of a buffer of %zu", what,
                           offset, offset + bytes, b->bytes);
    return KW_OK;
}

static bool may_release(const device *d)
{
    return !d->lost || d->ops->outlives_loss;
}

/* ---- freed buffers ---- */

/* Gives those that were freed first back to the driver, until so much is left. */
static void drop_kept(device *d, size_t most, uint64_t most_bytes)
{
    device_buffer **at = &d->kept;
    size_t n = 0;
    uint64_t bytes = 0;
    for (; *at && n < most && bytes + (*at)->bytes <= most_bytes; at = &(*at)->next) {
        n++;
        bytes += (*at)->bytes;
    }
    device_buffer *b = *at;
    *at = NULL;
    while (b) {
        device_buffer *next = b->next;
        if (may_release(d))
            d->ops->free_buffer(d, b);
        free(b);
        b = next;
    }
    d->n_kept = n;
    d->kept_bytes = bytes;
}

static void keep(device *d, device_buffer *b)
{
    uint64_t most = (uint64_t)d->info.limits.global_mem_bytes / 8;
    b->next = d->kept;
    d->kept = b;
    d->n_kept++;
    d->kept_bytes += b->bytes;
    drop_kept(d, MOST_KEPT, most < MOST_KEPT_BYTES ? most : MOST_KEPT_BYTES);
}

static device_buffer *take_kept(device *d, size_t bytes)
{
    for (device_buffer **at = &d->kept; *at; at = &(*at)->next) {
        device_buffer *b = *at;
        if (b->bytes != bytes)
            continue;
        *at = b->next;
        b->next = NULL;
        d->n_kept--;
        d->kept_bytes -= bytes;
        return b;
    }
    return NULL;
}

/* ---- opening ---- */

kw_code device_open(const char *spec, device **out, kw_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < N_BACK_ENDS; i++) {
        size_t length = strlen(back_ends[i]->name);
        if (strncmp(spec, back_ends[i]->name, length) != 0 || spec[length] != ':')
            continue;
        device *d = mem_calloc(1, sizeof *d);
        d->ops = back_ends[i];
        kw_code code = d->ops->open(spec, d, err);
        if (code != KW_OK) {
            free(d);
            return code;
        }
        *out = d;
        return KW_OK;
    }
    return kw_error_set(err, KW_BAD_INPUT,
                        "\"%s\" names no device: give opencl:PLATFORM:DEVICE, as `devices` lists them", spec);
}

void device_close(device *d)
{
    if (!d)
        return;
    drop_kept(d, 0, 0);
    if (may_release(d))
        d->ops->close(d);
    free(d);
}

const device_info *device_describe(const device *d)
{
    return &d->info;
}

device_fault device_last_fault(const device *d)
{
    return d->fault;
}

/* ---- buffers ---- */

device_buffer *device_alloc(device *d, size_t bytes, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return NULL;
    device_buffer *b = take_kept(d, bytes);
    if (b) {
        end(d, before, KW_OK);
        return b;
    }
    b = mem_calloc(1, sizeof *b);
    b->bytes = bytes;
    kw_code code = bytes > 0
                       ? d->ops->alloc(d, b, err)
                       : device_fail(d, DEVICE_FAULT_MEMORY, err, KW_BAD_INPUT, "a buffer of 0 bytes was asked for");
    if (code != KW_OK && d->fault == DEVICE_FAULT_MEMORY && d->n_kept > 0) {
        drop_kept(d, 0, 0);
        d->fault = DEVICE_FAULT_NONE;
        kw_error_clear(err);
        code = d->ops->alloc(d, b, err);
    }
    if (end(d, before, code) != KW_OK) {
        free(b);
        return NULL;
    }
    return b;
}

void device_free(device *d, device_buffer *b)
{
    if (!b || b->n_views > 0)
        return;
    /* Buffers of a runner go with it: none of them may come back after its successor took over. */
    if (!b->parent && !d->lost && !d->ops->outlives_loss) {
        keep(d, b);
        return;
    }
    if (may_release(d))
        d->ops->free_buffer(d, b);
    if (b->parent)
        b->parent->n_views--;
    free(b);
}

size_t device_view_alignment(const device *d)
{
    return d->ops->view_alignment(d);
}

device_buffer *device_view(device *d, device_buffer *parent, size_t offset, size_t bytes, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return NULL;
    kw_code code = check_range(d, parent, offset, bytes, "view", err);
    device_buffer *b = NULL;
    if (code == KW_OK && (bytes == 0 || offset % d->ops->view_alignment(d) != 0))
        code = device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "view: offset %zu is not a multiple of %zu, or no bytes (%zu)", offset,
                           d->ops->view_alignment(d), bytes);
    if (code == KW_OK) {
        b = mem_calloc(1, sizeof *b);
        b->parent = parent->parent ? parent->parent : parent;
        b->offset = parent->offset + offset;
        b->bytes = bytes;
        code = d->ops->view(d, b, err);
    }
    if (end(d, before, code) != KW_OK) {
        free(b);
        return NULL;
    }
    b->parent->n_views++;
    return b;
}

kw_code device_write(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, b, offset, bytes, "write", err);
    if (code == KW_OK && bytes > 0)
        code = d->ops->write(d, b, offset, data, bytes, err);
    return end(d, before, code);
}

kw_code device_read(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, b, offset, bytes, "read", err);
    if (code == KW_OK && bytes > 0)
        code = d->ops->read(d, b, offset, data, bytes, err);
    return end(d, before, code);
}

kw_code device_copy(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                    size_t bytes, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, from, from_offset, bytes, "copy from", err);
    if (code == KW_OK)
        code = check_range(d, to, to_offset, bytes, "copy to", err);
    if (code == KW_OK && bytes > 0)
        code = d->ops->copy(d, from, from_offset, to, to_offset, bytes, err);
    return end(d, before, code);
}

kw_code device_fill(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, b, offset, bytes, "fill", err);
    if (code == KW_OK && bytes > 0)
        code = d->ops->fill(d, b, offset, bytes, byte, err);
    return end(d, before, code);
}

kw_code device_compare(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset, size_t bytes,
                       uint64_t *n_different, uint64_t *first, kw_error *err)
{
    device_fault before;
    *n_different = *first = 0;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, a, a_offset, bytes, "compare", err);
    if (code == KW_OK)
        code = check_range(d, b, b_offset, bytes, "compare with", err);
    if (code == KW_OK && (a_offset % 4 || b_offset % 4))
        code = device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "compare: offsets %zu and %zu are not multiples of 4", a_offset, b_offset);
    if (code == KW_OK && bytes > 0)
        code = d->ops->compare(d, a, a_offset, b, b_offset, bytes, n_different, first, err);
    return end(d, before, code);
}

/* ---- looking at results where they are ---- */

bool device_can_check(device *d)
{
    return !d->lost && d->ops->can_check && d->ops->can_check(d);
}

static kw_code check_one(device *d, const device_check *k, kw_error *err)
{
    /* Elements are read as words of 4 bytes, and so the last one may reach over the end. */
    size_t bytes = k->kind == DEVICE_CHECK_CLOSE ? k->bytes + (4 - k->bytes % 4) % 4 : k->bytes;
    kw_code code = check_range(d, k->a, k->a_offset, bytes, "check", err);
    if (code == KW_OK && k->kind != DEVICE_CHECK_FILLED)
        code = check_range(d, k->b, k->b_offset, bytes, "check against", err);
    if (code == KW_OK && k->kind != DEVICE_CHECK_FILLED && (k->a_offset % 4 || k->b_offset % 4))
        code = device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "check: offsets %zu and %zu are not multiples of 4", k->a_offset, k->b_offset);
    return code;
}

kw_code device_check_all(device *d, device_check *checks, size_t n, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = KW_OK;
    for (size_t i = 0; i < n && code == KW_OK; i++)
        code = check_one(d, &checks[i], err);
    if (code == KW_OK && n > 0)
        code = d->ops->check_all(d, checks, n, err);
    return end(d, before, code);
}

kw_code device_gather(device *d, device_buffer *b, size_t offset, size_t size, const uint64_t *index, size_t n,
                      void *out, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = check_range(d, b, offset, 0, "gather", err);
    for (size_t i = 0; i < n && code == KW_OK; i++)
        if (index[i] >= (b->bytes - offset) / size)
            code = device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                               "gather: element %llu is outside a buffer of %zu bytes", (unsigned long long)index[i],
                               b->bytes);
    if (code == KW_OK && n > 0)
        code = d->ops->gather(d, b, offset, size, index, n, out, err);
    return end(d, before, code);
}

kw_code device_hide(device *d, device_buffer *b, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    return end(d, before, d->ops->hide(d, b, err));
}

/* ---- programs ---- */

void device_build_info_clear(device_build_info *b)
{
    strb_clear(&b->log);
    b->artefact.known = false;
    b->registers = b->spill_bytes = b->local_bytes = b->max_group = -1;
    b->from_cache = false;
}

kw_code device_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program **out, device_build_info *info, kw_error *err)
{
    device_fault before;
    *out = NULL;
    memset(info, 0, sizeof *info);
    device_build_info_clear(info);
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    device_program *p = mem_calloc(1, sizeof *p);
    kw_code code = end(d, before, d->ops->build(d, source, options ? options : "", kernels, n_kernels, p, info, err));
    if (code != KW_OK)
        free(p);
    else
        *out = p;
    return code;
}

void device_program_free(device *d, device_program *p)
{
    if (!p)
        return;
    if (may_release(d))
        d->ops->free_program(d, p);
    free(p);
}

kw_code device_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    if (!d->ops->program_binary)
        return end(d, before, kw_error_set(err, KW_FAILED, "%s: there are no binaries of programs", d->info.spec));
    return end(d, before, d->ops->program_binary(d, p, binary, identity, err));
}

kw_code device_check_args(device *d, device_program *p, const device_launch *l, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    return end(d, before, d->ops->check_args(d, p, l, err));
}

kw_code device_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    return end(d, before, d->ops->run(d, p, launches, n, err));
}

kw_code device_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    return end(d, before, d->ops->time_events(d, p, set, cookie, n_launches, n_runs, ns, err));
}

kw_code device_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    device_fault before;
    if (!begin(d, &before, err))
        return KW_ENVIRONMENT;
    kw_code code = per_batch > 0
                       ? d->ops->time_batch(d, p, set, cookie, n_launches, per_batch, n_batches, ns, err)
                       : device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "a batch of 0 runs was asked for");
    return end(d, before, code);
}
