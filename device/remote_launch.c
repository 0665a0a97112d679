/* The worker's side of a device that a runner drives: programs, launches, timing. */
#include "device/remote_client.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static remote_program *program_of(const device_program *p)
{
    return p->handle;
}

/* ---- programs ---- */

static int64_t get_i64(wire_reader *in)
{
    return (int64_t)wire_get_u64(in);
}

static void get_build_info(wire_reader *in, device_build_info *info)
{
    size_t n;
    const char *log = wire_get_bytes(in, &n);
    if (n > 0)
        strb_add_n(&info->log, log, n);
    info->registers = get_i64(in);
    info->spill_bytes = get_i64(in);
    info->local_bytes = get_i64(in);
    info->max_group = get_i64(in);
}

kw_code remote_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program *p, device_build_info *info, kw_error *err)
{
    remote *r = remote_of(d);
    uint64_t slot = remote_take_slot(&r->program_slots);
    wire_reader in;
    strb *q = remote_request(d);
    wire_u64(q, slot);
    wire_text(q, source);
    wire_text(q, options);
    wire_u64(q, n_kernels);
    for (size_t i = 0; i < n_kernels; i++)
        wire_text(q, kernels[i]);
    kw_code code = remote_ask(d, REMOTE_BUILD, &in, err);
    if (!d->lost)
        get_build_info(&in, info);
    if (code != KW_OK) {
        remote_give_slot(&r->program_slots, slot);
        return code;
    }
    remote_program *rp = mem_calloc(1, sizeof *rp);
    *rp = (remote_program){.slot = slot, .generation = r->generation};
    p->handle = rp;
    return KW_OK;
}

void remote_free_program(device *d, device_program *p)
{
    remote *r = remote_of(d);
    remote_program *rp = program_of(p);
    if (!d->lost && rp->generation == r->generation) {
        wire_u64(remote_request(d), rp->slot);
        runner_ask(&r->runner, REMOTE_FREE_PROGRAM, &r->request, NULL);
    }
    remote_give_slot(&r->program_slots, rp->slot);
    free(rp);
}

static kw_code check_program(device *d, const device_program *p, kw_error *err)
{
    if (program_of(p)->generation == remote_of(d)->generation)
        return KW_OK;
    return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED,
                       "the program went with a process that ran kernels and is no more");
}

kw_code remote_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err)
{
    wire_reader in;
    size_t n;
    if (check_program(d, p, err) != KW_OK)
        return KW_FAILED;
    wire_u64(remote_request(d), program_of(p)->slot);
    kw_code code = remote_ask(d, REMOTE_BINARY, &in, err);
    if (code != KW_OK)
        return code;
    const char *bytes = wire_get_bytes(&in, &n);
    char *text = wire_get_text(&in);
    if (in.bad || n == 0 || !text[0]) {
        code = kw_error_set(err, KW_FAILED, "the process that holds the program gave no binary");
    } else {
        strb_add_n(binary, bytes, n);
        strb_add(identity, text);
    }
    free(text);
    return code;
}

/* ---- launches ---- */

/* Buffers that a launch names have to lie in the runner. Moving one is a request of its own, so it comes before the
 * request is written. */
static kw_code move_buffers(device *d, const device_launch *launches, size_t n, kw_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < launches[i].n_args; a++) {
            const device_arg *arg = &launches[i].args[a];
            if (arg->kind != DEVICE_ARG_BUFFER || !arg->buffer)
                continue;
            kw_code code = remote_move(d, arg->buffer, err);
            if (code != KW_OK)
                return code;
        }
    return KW_OK;
}

kw_code remote_check_args(device *d, device_program *p, const device_launch *l, kw_error *err)
{
    wire_reader in;
    kw_code code = check_program(d, p, err);
    if (code == KW_OK)
        code = move_buffers(d, l, 1, err);
    if (code != KW_OK)
        return code;
    strb *q = remote_request(d);
    wire_u64(q, program_of(p)->slot);
    wire_launch(q, l, remote_slot_of);
    return remote_ask(d, REMOTE_CHECK_ARGS, &in, err);
}

kw_code remote_run(device *d, device_program *p, const device_launch *launches, size_t n, kw_error *err)
{
    wire_reader in;
    kw_code code = check_program(d, p, err);
    if (code == KW_OK)
        code = move_buffers(d, launches, n, err);
    if (code != KW_OK)
        return code;
    strb *q = remote_request(d);
    wire_u64(q, program_of(p)->slot);
    wire_u64(q, n);
    for (size_t i = 0; i < n; i++)
        wire_launch(q, &launches[i], remote_slot_of);
    return remote_ask(d, REMOTE_RUN, &in, err);
}

/* ---- timing ---- */

/* The runs of a row take few different sets of launches; each travels once, and every run has the number of its set. */
typedef struct row_sets {
    const device_launch *set[REMOTE_MAX_SETS];
    size_t n;
    uint16_t *numbers;
} row_sets;

static bool number_runs(row_sets *row, device_launch_set set, void *cookie, size_t n_runs)
{
    row->numbers = mem_calloc(n_runs + 1, sizeof *row->numbers);
    for (size_t i = 0, at = 0; i < n_runs; i++) {
        const device_launch *l = set(i, cookie);
        /* Sets come round in turn: the one after the last one is looked at first. */
        at = row->n > 0 && row->set[(at + 1) % row->n] == l ? (at + 1) % row->n : 0;
        while (at < row->n && row->set[at] != l)
            at++;
        if (at == REMOTE_MAX_SETS)
            return false;
        if (at == row->n)
            row->set[row->n++] = l;
        row->numbers[i] = (uint16_t)at;
    }
    return true;
}

static void put_row(strb *q, const row_sets *row, size_t n_launches, size_t n_runs)
{
    wire_u64(q, row->n);
    for (size_t i = 0; i < row->n; i++)
        for (size_t l = 0; l < n_launches; l++)
            wire_launch(q, &row->set[i][l], remote_slot_of);
    wire_bytes(q, row->numbers, n_runs * sizeof *row->numbers);
}

/* The runner reads the clocks, and the kernel is native code in it. What it may claim is bounded from below by our own
 * clock: a row that kept us waiting much longer than all its readings together was not read right. */
static void distrust(double *ns, size_t n, size_t runs_per_reading, double waited_ns)
{
    const double slack_ns = 250e6;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ns[i] > 0 ? ns[i] * (double)runs_per_reading : 0;
    if (sum >= (waited_ns - slack_ns) / 2)
        return;
    for (size_t i = 0; i < n; i++)
        ns[i] = 0;
}

/* Copies and fills may still be under way, and are not the row's: a read of one byte waits for them. */
static kw_code settle(device *d, const device_launch *l, kw_error *err)
{
    wire_reader in;
    size_t i = 0;
    while (i < l->n_args && (l->args[i].kind != DEVICE_ARG_BUFFER || !l->args[i].buffer))
        i++;
    if (i == l->n_args)
        return KW_OK;
    strb *q = remote_request(d);
    wire_u64(q, remote_slot_of(l->args[i].buffer));
    wire_u64(q, 0);
    wire_u64(q, 1);
    return remote_ask(d, REMOTE_READ, &in, err);
}

/* Sends the row and reads the readings. */
static kw_code ask_row(device *d, remote_op op, size_t runs_per_reading, size_t n, double *ns, kw_error *err)
{
    wire_reader in;
    size_t bytes;
    int64_t begin = clock_now_ns();
    kw_code code = remote_ask(d, op, &in, err);
    double waited_ns = (double)(clock_now_ns() - begin);
    if (code != KW_OK)
        return code;
    const char *readings = wire_get_bytes(&in, &bytes);
    if (bytes != n * sizeof *ns)
        return remote_lost(d, err);
    memcpy(ns, readings, bytes);
    distrust(ns, n, runs_per_reading, waited_ns);
    return KW_OK;
}

static kw_code time_row(device *d, device_program *p, remote_op op, device_launch_set set, void *cookie,
                        size_t n_launches, size_t per_batch, size_t n, double *ns, kw_error *err)
{
    row_sets *row = mem_calloc(1, sizeof *row);
    kw_code code = check_program(d, p, err);
    if (code == KW_OK && !number_runs(row, set, cookie, n * per_batch))
        code = device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT, "more than %d sets of launches in a timed row",
                           REMOTE_MAX_SETS);
    for (size_t i = 0; i < row->n && code == KW_OK; i++)
        code = move_buffers(d, row->set[i], n_launches, err);
    if (code == KW_OK && row->n > 0 && n_launches > 0)
        code = settle(d, &row->set[0][0], err);
    if (code == KW_OK) {
        strb *q = remote_request(d);
        wire_u64(q, program_of(p)->slot);
        wire_u64(q, n_launches);
        if (op == REMOTE_TIME_BATCH)
            wire_u64(q, per_batch);
        wire_u64(q, n);
        put_row(q, row, n_launches, n * per_batch);
        code = ask_row(d, op, per_batch, n, ns, err);
    }
    free(row->numbers);
    free(row);
    return code;
}

kw_code remote_time_events(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                           size_t n_runs, double *ns, kw_error *err)
{
    return time_row(d, p, REMOTE_TIME_EVENTS, set, cookie, n_launches, 1, n_runs, ns, err);
}

kw_code remote_time_batch(device *d, device_program *p, device_launch_set set, void *cookie, size_t n_launches,
                          size_t per_batch, size_t n_batches, double *ns, kw_error *err)
{
    return time_row(d, p, REMOTE_TIME_BATCH, set, cookie, n_launches, per_batch, n_batches, ns, err);
}
