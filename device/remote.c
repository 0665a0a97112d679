/* The worker's side of a device that a runner drives: opening, buffers, revival. */
#include "device/remote_client.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- asking ---- */

kw_code remote_lost(device *d, kw_error *err)
{
    remote *r = remote_of(d);
    strb how = STRB_INIT;
    runner_bury(&r->runner, &how);
    device_fail(d, DEVICE_FAULT_LOST, err, KW_ENVIRONMENT, "the process that runs kernels %s", strb_text(&how));
    strb_clear(&how);
    return KW_ENVIRONMENT;
}

kw_code remote_ask(device *d, remote_op op, wire_reader *out, kw_error *err)
{
    remote *r = remote_of(d);
    if (!runner_ask(&r->runner, op, &r->request, &r->answer))
        return remote_lost(d, err);
    *out = (wire_reader){.at = r->answer.data, .left = r->answer.length};
    uint64_t code = wire_get_u64(out), fault = wire_get_u64(out), lost = wire_get_u64(out);
    char *text = wire_get_text(out);
    kw_code result = KW_OK;
    if (out->bad) {
        result = remote_lost(d, err);
    } else if (code != KW_OK) {
        device_fault f = lost || fault > DEVICE_FAULT_LOST ? DEVICE_FAULT_LOST : (device_fault)fault;
        result = code == KW_FAILED || code == KW_BAD_INPUT ? (kw_code)code : KW_ENVIRONMENT;
        result = device_fail(d, f, err, result, "%s", text);
    }
    free(text);
    return result;
}

kw_code remote_tell(device *d, remote_op op, kw_error *err)
{
    remote *r = remote_of(d);
    return runner_ask(&r->runner, op, &r->request, NULL) ? KW_OK : remote_lost(d, err);
}

strb *remote_request(device *d)
{
    remote *r = remote_of(d);
    strb_reset(&r->request);
    return &r->request;
}

/* ---- slots ---- */

uint64_t remote_take_slot(slot_list *l)
{
    return l->n_free > 0 ? l->free[--l->n_free] : l->next++;
}

void remote_give_slot(slot_list *l, uint64_t slot)
{
    l->free = mem_grow(l->free, &l->capacity, l->n_free + 1, sizeof *l->free);
    l->free[l->n_free++] = slot;
}

/* ---- buffers ---- */

uint64_t remote_slot_of(const device_buffer *b)
{
    return remote_buffer_of(b)->slot;
}

static bool is_of_earlier_runner(const device *d, const device_buffer *b)
{
    const remote_buffer *rb = remote_buffer_of(b);
    return rb->is_there && rb->generation != remote_of(d)->generation;
}

static kw_code earlier(device *d, kw_error *err)
{
    return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED,
                       "the buffer went with a process that ran kernels and is no more");
}

static kw_code alloc_buffer(device *d, device_buffer *b, kw_error *err)
{
    remote *r = remote_of(d);
    int64_t limit = d->info.limits.max_alloc_bytes;
    uint64_t most = r->runner.memory_bytes / 4 * 3;
    if (limit > 0 && b->bytes > (uint64_t)limit)
        return device_fail(
            d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT,
            "%s: a buffer of %zu bytes is over what the device allows at once (%lld): take a smaller shape",
            d->info.spec, b->bytes, (long long)limit);
    if (most > 0 && (b->bytes > most || r->total_bytes > most - b->bytes))
        return device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT,
                           "%s: buffers of %llu MiB in all are over three quarters of the memory limit (%llu MiB)",
                           d->info.spec, (unsigned long long)(r->total_bytes + b->bytes) >> 20,
                           (unsigned long long)r->runner.memory_bytes >> 20);
    remote_buffer *rb = mem_calloc(1, sizeof *rb);
    r->total_bytes += b->bytes;
    b->handle = rb;
    return KW_OK;
}

static void free_buffer(device *d, device_buffer *b)
{
    remote *r = remote_of(d);
    remote_buffer *rb = remote_buffer_of(b);
    if (rb->is_there) {
        if (!d->lost && rb->generation == r->generation) {
            wire_u64(remote_request(d), rb->slot);
            runner_ask(&r->runner, REMOTE_FREE, &r->request, NULL); /* if it is dead, the next request will say so */
        }
        remote_give_slot(&r->buffer_slots, rb->slot);
    }
    if (!b->parent)
        r->total_bytes -= b->bytes;
    free(rb->host);
    free(rb);
}

/* Memory of a buffer that lies here; it is made at first use. */
static kw_code use_host(device *d, device_buffer *b, kw_error *err)
{
    remote_buffer *rb = remote_buffer_of(b);
    if (!rb->host)
        rb->host = mem_try_alloc(b->bytes);
    return rb->host ? KW_OK
                    : device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT,
                                  "%s: no memory for a buffer of %zu bytes", d->info.spec, b->bytes);
}

/* One piece, through the window. */
static kw_code transfer(device *d, remote_op op, device_buffer *b, size_t offset, size_t bytes, kw_error *err)
{
    wire_reader in;
    strb *q = remote_request(d);
    wire_u64(q, remote_slot_of(b));
    wire_u64(q, offset);
    wire_u64(q, bytes);
    return remote_ask(d, op, &in, err);
}

static size_t piece(size_t done, size_t bytes)
{
    return bytes - done < WINDOW_ROOM ? bytes - done : WINDOW_ROOM;
}

static kw_code write_there(device *d, device_buffer *b, size_t offset, const unsigned char *data, size_t bytes,
                           kw_error *err)
{
    unsigned char *window = remote_of(d)->runner.window + WINDOW_START;
    kw_code code = KW_OK;
    for (size_t done = 0, n; code == KW_OK && done < bytes; done += n) {
        n = piece(done, bytes);
        memcpy(window, data + done, n);
        code = transfer(d, REMOTE_WRITE, b, offset + done, n, err);
    }
    return code;
}

kw_code remote_move(device *d, device_buffer *b, kw_error *err)
{
    remote *r = remote_of(d);
    remote_buffer *rb = remote_buffer_of(b);
    wire_reader in;
    if (rb->is_there)
        return is_of_earlier_runner(d, b) ? earlier(d, err) : KW_OK;
    uint64_t slot = remote_take_slot(&r->buffer_slots);
    strb *q = remote_request(d);
    wire_u64(q, slot);
    wire_u64(q, b->bytes);
    kw_code code = remote_ask(d, REMOTE_ALLOC, &in, err);
    if (code != KW_OK) {
        remote_give_slot(&r->buffer_slots, slot);
        return code;
    }
    *rb = (remote_buffer){.host = rb->host, .is_there = true, .slot = slot, .generation = r->generation};
    if (rb->host)
        code = write_there(d, b, 0, rb->host, b->bytes, err);
    free(rb->host);
    rb->host = NULL;
    return code;
}

static size_t view_alignment(const device *d)
{
    return remote_of(d)->alignment;
}

static kw_code make_view(device *d, device_buffer *b, kw_error *err)
{
    remote *r = remote_of(d);
    kw_code code = remote_move(d, b->parent, err);
    if (code != KW_OK)
        return code;
    uint64_t slot = remote_take_slot(&r->buffer_slots);
    strb *q = remote_request(d);
    wire_u64(q, slot);
    wire_u64(q, remote_slot_of(b->parent));
    wire_u64(q, b->offset);
    wire_u64(q, b->bytes);
    code = remote_tell(d, REMOTE_VIEW, err);
    if (code != KW_OK) {
        remote_give_slot(&r->buffer_slots, slot);
        return code;
    }
    remote_buffer *rb = mem_calloc(1, sizeof *rb);
    *rb = (remote_buffer){.is_there = true, .slot = slot, .generation = r->generation};
    b->handle = rb;
    return KW_OK;
}

/* ---- contents ---- */

/* Where the bytes of a range can be read: here, or in the window, which holds them until the next request. At most
 * WINDOW_ROOM. */
static kw_code look(device *d, device_buffer *b, size_t offset, size_t bytes, const unsigned char **out, kw_error *err)
{
    remote_buffer *rb = remote_buffer_of(b);
    if (rb->is_there) {
        *out = remote_of(d)->runner.window + WINDOW_START;
        return is_of_earlier_runner(d, b) ? earlier(d, err) : transfer(d, REMOTE_READ, b, offset, bytes, err);
    }
    kw_code code = use_host(d, b, err);
    *out = rb->host ? rb->host + offset : NULL;
    return code;
}

static kw_code write_buffer(device *d, device_buffer *b, size_t offset, const void *data, size_t bytes, kw_error *err)
{
    remote_buffer *rb = remote_buffer_of(b);
    if (rb->is_there)
        return is_of_earlier_runner(d, b) ? earlier(d, err) : write_there(d, b, offset, data, bytes, err);
    kw_code code = use_host(d, b, err);
    if (code == KW_OK)
        memcpy(rb->host + offset, data, bytes);
    return code;
}

static kw_code read_buffer(device *d, device_buffer *b, size_t offset, void *data, size_t bytes, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t done = 0, n; code == KW_OK && done < bytes; done += n) {
        const unsigned char *from;
        n = piece(done, bytes);
        code = look(d, b, offset + done, n, &from, err);
        if (code == KW_OK)
            memcpy((unsigned char *)data + done, from, n);
    }
    return code;
}

static kw_code copy_there(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                          size_t bytes, kw_error *err)
{
    if (is_of_earlier_runner(d, from) || is_of_earlier_runner(d, to))
        return earlier(d, err);
    strb *q = remote_request(d);
    wire_u64(q, remote_slot_of(from));
    wire_u64(q, from_offset);
    wire_u64(q, remote_slot_of(to));
    wire_u64(q, to_offset);
    wire_u64(q, bytes);
    return remote_tell(d, REMOTE_COPY, err);
}

static kw_code copy_buffer(device *d, device_buffer *from, size_t from_offset, device_buffer *to, size_t to_offset,
                           size_t bytes, kw_error *err)
{
    remote_buffer *rf = remote_buffer_of(from), *rt = remote_buffer_of(to);
    if (rf->is_there && rt->is_there)
        return copy_there(d, from, from_offset, to, to_offset, bytes, err);
    if (rf->is_there) {
        kw_code code = use_host(d, to, err);
        return code == KW_OK ? read_buffer(d, from, from_offset, rt->host + to_offset, bytes, err) : code;
    }
    kw_code code = use_host(d, from, err);
    if (code == KW_OK && rt->is_there)
        return write_buffer(d, to, to_offset, rf->host + from_offset, bytes, err);
    if (code == KW_OK)
        code = use_host(d, to, err);
    if (code == KW_OK)
        memmove(rt->host + to_offset, rf->host + from_offset, bytes);
    return code;
}

static kw_code fill_buffer(device *d, device_buffer *b, size_t offset, size_t bytes, unsigned char byte, kw_error *err)
{
    remote_buffer *rb = remote_buffer_of(b);
    if (!rb->is_there) {
        kw_code code = use_host(d, b, err);
        if (code == KW_OK)
            memset(rb->host + offset, byte, bytes);
        return code;
    }
    if (is_of_earlier_runner(d, b))
        return earlier(d, err);
    strb *q = remote_request(d);
    wire_u64(q, rb->slot);
    wire_u64(q, offset);
    wire_u64(q, bytes);
    wire_u64(q, byte);
    return remote_tell(d, REMOTE_FILL, err);
}

/* Here, never in the runner. */
static kw_code compare_buffers(device *d, device_buffer *a, size_t a_offset, device_buffer *b, size_t b_offset,
                               size_t bytes, uint64_t *n_different, uint64_t *first, kw_error *err)
{
    kw_code code = KW_OK;
    const bool both_there = remote_buffer_of(a)->is_there && remote_buffer_of(b)->is_there;
    unsigned char *kept = both_there ? mem_alloc(WINDOW_ROOM) : NULL;
    for (size_t done = 0, n; code == KW_OK && done < bytes; done += n) {
        const unsigned char *pa = NULL, *pb = NULL;
        n = piece(done, bytes);
        code = look(d, a, a_offset + done, n, &pa, err);
        if (code == KW_OK && kept)
            pa = memcpy(kept, pa, n);
        if (code == KW_OK)
            code = look(d, b, b_offset + done, n, &pb, err);
        if (code == KW_OK)
            device_compare_memory(pa, pb, n, done, n_different, first);
    }
    free(kept);
    return code;
}

/* ---- opening ---- */

static kw_code open_in_runner(device *d, kw_error *err)
{
    remote *r = remote_of(d);
    wire_reader in;
    size_t n;
    wire_text(remote_request(d), r->spec);
    kw_code code = remote_ask(d, REMOTE_OPEN, &in, err);
    if (code != KW_OK)
        return code;
    const char *info = wire_get_bytes(&in, &n);
    r->alignment = (size_t)wire_get_u64(&in);
    if (in.bad || n != sizeof d->info || r->alignment == 0)
        return kw_error_set(err, KW_ENVIRONMENT, "the process that runs kernels speaks another language");
    memcpy(&d->info, info, n);
    return KW_OK;
}

static kw_code start(device *d, kw_error *err)
{
    remote *r = remote_of(d);
    kw_code code = runner_start(&r->runner, r->argv, r->environment, err);
    if (code == KW_OK)
        code = open_in_runner(d, err);
    r->runner.first_tasks = runner_tasks(&r->runner);
    return code;
}

static void free_list(char **list)
{
    for (size_t i = 0; list[i]; i++)
        free(list[i]);
    free(list);
}

static void close_device(device *d)
{
    remote *r = remote_of(d);
    runner_stop(&r->runner);
    free_list(r->argv);
    free_list(r->environment);
    free(r->spec);
    free(r->buffer_slots.free);
    free(r->program_slots.free);
    strb_clear(&r->request);
    strb_clear(&r->answer);
    free(r);
}

static char **copy_list(const char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    char **copy = mem_calloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(list[i]);
    return copy;
}

kw_code device_open_remote(const char *spec, const char *const *argv, const char *const *environment,
                           uint64_t memory_bytes, device **out, kw_error *err)
{
    device *d = mem_calloc(1, sizeof *d);
    remote *r = mem_calloc(1, sizeof *r);
    r->argv = copy_list(argv);
    r->environment = copy_list(environment ? environment : (const char *const *)environ);
    r->spec = mem_strdup(spec);
    r->runner.memory_bytes = memory_bytes;
    d->ops = &device_remote;
    d->state = r;
    *out = d;
    kw_code code = start(d, err);
    if (code != KW_OK) {
        device_close(d);
        *out = NULL;
    }
    return code;
}

bool device_is_remote(const device *d)
{
    return d->ops == &device_remote;
}

pid_t device_runner_pid(const device *d)
{
    return remote_of(d)->runner.pid;
}

size_t device_runner_tasks(const device *d, size_t *at_first)
{
    const runner *r = &remote_of(d)->runner;
    *at_first = r->first_tasks;
    return runner_tasks(r);
}

kw_code device_revive(device *d, kw_error *err)
{
    remote *r = remote_of(d);
    strb how = STRB_INIT;
    runner_bury(&r->runner, &how);
    strb_clear(&how);
    r->generation++;
    d->lost = false;
    d->fault = DEVICE_FAULT_NONE;
    kw_code code = start(d, err);
    d->lost = code != KW_OK;
    return code;
}

const device_ops device_remote = {
    .name = "remote",
    .outlives_loss = true,
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
    .build = remote_build,
    .free_program = remote_free_program,
    .program_binary = remote_program_binary,
    .check_args = remote_check_args,
    .run = remote_run,
    .time_events = remote_time_events,
    .time_batch = remote_time_batch,
};
