/* Guarded buffers and the launches that use them. */
#include "tuner/worker_buffers.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_GUARD 4096
#define LARGE_GUARD 65536 /* for tensors of at least this size, whose rows are long */

void bytes_print(uint64_t bytes, strb *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    size_t unit = 0;
    for (; x >= 1024 && unit < 4; unit++)
        x /= 1024;
    strb_printf(out, unit == 0 ? "%.0f %s" : "%.1f %s", x, units[unit]);
}

buffer_need buffers_need(const task *t, const tensor_layout *layouts, const plan *p)
{
    buffer_need need = {.largest_name = ""};
    for (size_t i = 0; i < t->n_tensors; i++) {
        need.tensors += layouts[i].bytes;
        if (layouts[i].bytes > need.largest) {
            need.largest = layouts[i].bytes;
            need.largest_name = t->tensors[i].name;
        }
    }
    for (size_t i = 0; i < p->n_temps; i++) {
        need.temps += p->temp_bytes[i];
        if (p->temp_bytes[i] > need.largest) {
            need.largest = p->temp_bytes[i];
            need.largest_name = "a temporary";
        }
    }
    return need;
}

/* ---- allocation ---- */

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static kw_code alloc_guarded(device *d, guarded *g, const char *name, uint64_t bytes, kw_error *err)
{
    g->name = name;
    if (bytes == 0)
        return KW_OK;
    size_t alignment = device_view_alignment(d);
    const bool bare = device_describe(d)->simulated; /* it sees every access itself: the buffer ends where it ends */
    g->bytes = (size_t)bytes;
    g->guard = bare ? 0 : round_up(bytes >= LARGE_GUARD ? LARGE_GUARD : SMALL_GUARD, alignment > 4 ? alignment : 4);
    g->total = bare ? g->bytes : g->guard + round_up(g->bytes, 4) + g->guard;
    g->whole = device_alloc(d, g->total, err);
    if (!g->whole)
        return err->code;
    g->inner = device_view(d, g->whole, g->guard, g->bytes, err);
    return g->inner ? KW_OK : err->code;
}

static void free_guarded(device *d, guarded *g)
{
    if (g->inner)
        device_free(d, g->inner);
    if (g->whole)
        device_free(d, g->whole);
}

void buffers_free(buffer_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->task->n_tensors; i++)
        free_guarded(s->device, &s->tensors[i]);
    for (size_t i = 0; i < s->n_temps && s->owns_temps; i++)
        free_guarded(s->device, &s->temps[i]);
    free(s->args);
    free(s);
}

/* ---- launches ---- */

static void set_bytes(device_arg *out, dtype type, const plan_arg *a, bool integer)
{
    out->kind = DEVICE_ARG_BYTES;
    out->type = type;
    out->n = dtype_bytes(type);
    if (!integer) {
        dtype_store(type, out->bytes, 0, a->real);
        return;
    }
    /* Through the unsigned type of the width, so that every bit of a 64-bit integer arrives. */
    uint64_t wide = (uint64_t)a->integer;
    uint32_t word = (uint32_t)wide;
    uint16_t half = (uint16_t)wide;
    uint8_t byte = (uint8_t)wide;
    const void *from = out->n == 8   ? (const void *)&wide
                       : out->n == 4 ? (const void *)&word
                       : out->n == 2 ? (const void *)&half
                                     : (const void *)&byte;
    memcpy(out->bytes, from, out->n);
}

/* A scalar of the task arrives as the number that the case says, whatever its type. */
static void set_arg(const buffer_set *s, const plan_arg *a, device_arg *out)
{
    switch (a->kind) {
    case ARG_TENSOR:
        out->kind = DEVICE_ARG_BUFFER;
        out->buffer = s->tensors[a->index].inner;
        break;
    case ARG_TEMP:
        out->kind = DEVICE_ARG_BUFFER;
        out->buffer = s->temps[a->index].inner;
        break;
    case ARG_SCALAR:
        set_bytes(out, a->type, a, false);
        break;
    case ARG_VALUE:
        set_bytes(out, a->type, a, !dtype_is_float(a->type));
        break;
    case ARG_LOCAL:
        out->kind = DEVICE_ARG_LOCAL;
        out->n = (size_t)a->integer;
        break;
    }
}

static void make_launches(buffer_set *s, const plan *p)
{
    size_t n_args = 0, next = 0;
    for (size_t i = 0; i < p->n_launches; i++)
        n_args += p->launches[i].n_args;
    s->args = mem_calloc(n_args + 1, sizeof *s->args);
    s->n_launches = p->n_launches;
    for (size_t i = 0; i < p->n_launches; i++) {
        const plan_launch *from = &p->launches[i];
        device_launch *to = &s->launches[i];
        to->kernel = from->kernel;
        to->rank = (unsigned)from->rank;
        for (size_t d = 0; d < 3; d++) {
            to->local[d] = d < from->rank ? (size_t)from->local[d] : 1;
            to->groups[d] = d < from->rank ? (size_t)from->groups[d] : 1;
        }
        to->args = s->args + next;
        to->n_args = from->n_args;
        for (size_t a = 0; a < from->n_args; a++)
            set_arg(s, &from->args[a], &s->args[next++]);
    }
}

kw_code buffers_check_plan(const task *t, const plan *p, kw_error *err)
{
    for (size_t i = 0; i < p->n_launches; i++) {
        for (size_t a = 0; a < p->launches[i].n_args; a++) {
            const plan_arg *arg = &p->launches[i].args[a];
            size_t limit = arg->kind == ARG_TENSOR ? t->n_tensors : arg->kind == ARG_TEMP ? p->n_temps : SIZE_MAX;
            bool typed = arg->kind == ARG_SCALAR || arg->kind == ARG_VALUE;
            if (arg->index < 0 || (size_t)arg->index >= limit || (typed && dtype_bytes(arg->type) == 0))
                return kw_error_set(err, KW_BAD_INPUT, "kernel %s: argument %zu names nothing of the task",
                                    p->launches[i].kernel, a + 1);
        }
    }
    return KW_OK;
}

static kw_code alloc_all(buffer_set *s, const tensor_layout *layouts, const plan *p, const buffer_set *share_temps,
                         kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; i < s->task->n_tensors && code == KW_OK; i++)
        code = alloc_guarded(s->device, &s->tensors[i], s->task->tensors[i].name, layouts[i].bytes, err);
    s->n_temps = p->n_temps;
    s->owns_temps = share_temps == NULL;
    if (share_temps) {
        memcpy(s->temps, share_temps->temps, sizeof s->temps);
        return code;
    }
    for (size_t i = 0; i < p->n_temps && code == KW_OK; i++)
        code = alloc_guarded(s->device, &s->temps[i], "a temporary", p->temp_bytes[i], err);
    return code;
}

buffer_set *buffers_new(device *d, const task *t, const tensor_layout *layouts, const plan *p,
                        const buffer_set *share_temps, kw_error *err)
{
    buffer_set *s = mem_calloc(1, sizeof *s);
    s->device = d;
    s->task = t;
    if (alloc_all(s, layouts, p, share_temps, err) != KW_OK) {
        buffers_free(s);
        return NULL;
    }
    make_launches(s, p);
    return s;
}

/* ---- contents ---- */

static kw_code fill_guards(device *d, const guarded *g, unsigned char byte, kw_error *err)
{
    size_t end = g->guard + g->bytes;
    kw_code code = device_fill(d, g->whole, 0, g->guard, byte, err);
    return code == KW_OK ? device_fill(d, g->whole, end, g->total - end, byte, err) : code;
}

static kw_code fill_inside(device *d, const guarded *g, int poison, kw_error *err)
{
    return poison == BUFFERS_UNWRITTEN ? KW_OK
                                       : device_fill(d, g->whole, g->guard, g->bytes, (unsigned char)poison, err);
}

/* Guards and the part between them at once. */
static kw_code fill_all(device *d, const guarded *g, unsigned char guard, int inside, kw_error *err)
{
    kw_code code = fill_guards(d, g, guard, err);
    return code == KW_OK ? fill_inside(d, g, inside, err) : code;
}

/* One tensor; `guards` false: they hold their byte already. */
static kw_code restore_tensor(const buffer_set *s, const case_data *data, size_t i, int poison, bool guards,
                              kw_error *err)
{
    const guarded *g = &s->tensors[i];
    kw_code code = g->whole && guards ? fill_guards(s->device, g, s->guard_byte, err) : KW_OK;
    if (!g->whole || code != KW_OK)
        return code;
    if (data->overwritten[i])
        return fill_inside(s->device, g, poison, err);
    return device_copy(s->device, data->pristine[i], 0, g->whole, g->guard, g->bytes, err);
}

static kw_code restore_all(buffer_set *s, const case_data *data, int poison, int temp_poison, unsigned char guard,
                           kw_error *err)
{
    kw_code code = KW_OK;
    s->guard_byte = guard;
    for (size_t i = 0; i < s->task->n_tensors && code == KW_OK; i++)
        code = restore_tensor(s, data, i, poison, true, err);
    for (size_t i = 0; i < s->n_temps && s->owns_temps && code == KW_OK; i++)
        if (s->temps[i].whole)
            code = fill_all(s->device, &s->temps[i], guard, temp_poison, err);
    return code;
}

kw_code buffers_restore(buffer_set *s, const case_data *data, int poison, unsigned char guard, kw_error *err)
{
    return restore_all(s, data, poison, poison, guard, err);
}

kw_code buffers_restore_tensors(buffer_set *s, const case_data *data, int poison, unsigned char guard, kw_error *err)
{
    return restore_all(s, data, poison, BUFFERS_UNWRITTEN, guard, err);
}

kw_code buffers_restore_outputs(buffer_set *s, const case_data *data, unsigned char poison, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; i < s->task->n_tensors && code == KW_OK; i++)
        if (s->task->tensors[i].access != TASK_IN)
            code = restore_tensor(s, data, i, poison, false, err);
    return code;
}

kw_code buffers_clear(buffer_set *s, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; i < s->task->n_tensors && code == KW_OK; i++)
        if (s->tensors[i].whole)
            code = device_fill(s->device, s->tensors[i].whole, 0, s->tensors[i].total, 0, err);
    for (size_t i = 0; i < s->n_temps && s->owns_temps && code == KW_OK; i++)
        if (s->temps[i].whole)
            code = device_fill(s->device, s->temps[i].whole, 0, s->temps[i].total, 0, err);
    return code;
}

/* ---- guards ---- */

/* Counts bytes that are not `byte`; *nearest is the one that lies nearest to the tensor, as a distance from it. */
static size_t count_changed(const unsigned char *band, size_t n, unsigned char byte, bool in_front, size_t *nearest)
{
    size_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        if (band[i] == byte)
            continue;
        size_t distance = in_front ? n - 1 - i : i;
        *nearest = changed == 0 || distance < *nearest ? distance : *nearest;
        changed++;
    }
    return changed;
}

static kw_code check_band(const buffer_set *s, const guarded *g, bool in_front, unsigned char *band, guard_report *out,
                          kw_error *err)
{
    size_t offset = in_front ? 0 : g->guard + g->bytes, n = in_front ? g->guard : g->total - offset, nearest = 0;
    kw_code code = device_read(s->device, g->whole, offset, band, n, err);
    if (code != KW_OK)
        return code;
    size_t changed = count_changed(band, n, s->guard_byte, in_front, &nearest);
    if (changed > 0 && !out->where)
        *out = (guard_report){.where = g, .before = in_front, .distance = nearest, .n = changed};
    return KW_OK;
}

static kw_code check_guarded(const buffer_set *s, const guarded *g, guard_report *out, kw_error *err)
{
    if (!g->whole || out->where)
        return KW_OK;
    unsigned char *band = mem_alloc(g->guard + 4);
    kw_code code = check_band(s, g, false, band, out, err);
    if (code == KW_OK)
        code = check_band(s, g, true, band, out, err);
    free(band);
    return code;
}

kw_code buffers_check_guards(const buffer_set *s, guard_report *out, kw_error *err)
{
    kw_code code = KW_OK;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < s->task->n_tensors && code == KW_OK; i++)
        code = check_guarded(s, &s->tensors[i], out, err);
    for (size_t i = 0; i < s->n_temps && code == KW_OK; i++)
        code = check_guarded(s, &s->temps[i], out, err);
    return code;
}
