/* The runner: opens a driver and does what its parent asks for, one request after the other. */
#include "device/remote.h"
#include "device/remote_wire.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_LOST 70

typedef struct server {
    device *device;
    unsigned char *window;
    device_buffer **buffers; /* by slot; NULL where there is none */
    size_t n_buffers, buffers_capacity;
    device_program **programs;
    size_t n_programs, programs_capacity;
    kw_code (*opened)(void *cookie, kw_error *err);
    void *cookie;
    wire_reader in;
    strb out;      /* what follows the status in an answer */
    kw_error late; /* of the first failed request without an answer since the last answer */
    device_fault late_fault;
} server;

void device_serve_note_refused(int system_call, const char *name)
{
    window_notes notes;
    memset(&notes, 0, sizeof notes);
    notes.is_refused = 1;
    notes.system_call = system_call;
    for (size_t i = 0; name[i] && i + 1 < sizeof notes.name; i++)
        notes.name[i] = name[i];
    if (pwrite(RUNNER_WINDOW, &notes, sizeof notes, 0) < 0)
        return; /* the signal alone has to tell, then */
}

/* ---- slots ---- */

static kw_code no_such(kw_error *err, const char *what)
{
    return kw_error_set(err, KW_BAD_INPUT, "the runner knows no such %s", what);
}

static kw_code put_buffer(server *s, uint64_t slot, device_buffer *b, kw_error *err)
{
    if (!b)
        return err->code;
    while (s->n_buffers <= slot) {
        s->buffers = mem_grow(s->buffers, &s->buffers_capacity, s->n_buffers + 1, sizeof *s->buffers);
        s->buffers[s->n_buffers++] = NULL;
    }
    s->buffers[slot] = b;
    return KW_OK;
}

static device_buffer *get_buffer(server *s)
{
    uint64_t slot = wire_get_u64(&s->in);
    return !s->in.bad && slot < s->n_buffers ? s->buffers[slot] : NULL;
}

static device_program *get_program(server *s)
{
    uint64_t slot = wire_get_u64(&s->in);
    return !s->in.bad && slot < s->n_programs ? s->programs[slot] : NULL;
}

/* ---- launches ---- */

static void get_arg(server *s, device_arg *a)
{
    size_t n;
    memset(a, 0, sizeof *a);
    uint64_t kind = wire_get_u64(&s->in), slot = wire_get_u64(&s->in);
    const char *bytes = wire_get_bytes(&s->in, &n);
    a->kind = kind == DEVICE_ARG_BUFFER  ? DEVICE_ARG_BUFFER
              : kind == DEVICE_ARG_LOCAL ? DEVICE_ARG_LOCAL
                                         : DEVICE_ARG_BYTES;
    memcpy(a->bytes, bytes, n < sizeof a->bytes ? n : sizeof a->bytes);
    a->n = (size_t)wire_get_u64(&s->in);
    a->type = (dtype)wire_get_u64(&s->in);
    if (a->kind == DEVICE_ARG_BUFFER && slot > 0 && slot - 1 < s->n_buffers)
        a->buffer = s->buffers[slot - 1];
}

/* In an arena: launches of a timed row are many and die together. */
static void get_launch(server *s, arena *memory, device_launch *l)
{
    size_t n;
    const char *name = wire_get_bytes(&s->in, &n);
    l->kernel = arena_strndup(memory, name, n);
    l->rank = (unsigned)wire_get_u64(&s->in);
    l->fenced = wire_get_u64(&s->in) != 0;
    for (size_t i = 0; i < 3; i++) {
        l->local[i] = (size_t)wire_get_u64(&s->in);
        l->groups[i] = (size_t)wire_get_u64(&s->in);
    }
    uint64_t n_args = wire_get_u64(&s->in);
    if (s->in.bad || n_args > s->in.left) {
        s->in.bad = true;
        return;
    }
    device_arg *args = arena_alloc(memory, (size_t)(n_args + 1) * sizeof *args);
    for (uint64_t i = 0; i < n_args; i++)
        get_arg(s, &args[i]);
    l->args = args;
    l->n_args = (size_t)n_args;
}

static device_launch *get_launches(server *s, arena *memory, uint64_t n)
{
    if (s->in.bad || n > s->in.left) {
        s->in.bad = true;
        return NULL;
    }
    device_launch *list = arena_alloc(memory, (size_t)(n + 1) * sizeof *list);
    for (uint64_t i = 0; i < n && !s->in.bad; i++)
        get_launch(s, memory, &list[i]);
    return list;
}

/* ---- requests ---- */

static kw_code do_open(server *s, kw_error *err)
{
    char *spec = wire_get_text(&s->in);
    kw_code code = s->device ? kw_error_set(err, KW_BAD_INPUT, "the runner has a device already")
                             : device_open(spec, &s->device, err);
    free(spec);
    if (code == KW_OK)
        code = s->opened(s->cookie, err);
    if (code == KW_OK) {
        wire_bytes(&s->out, device_describe(s->device), sizeof(device_info));
        wire_u64(&s->out, device_view_alignment(s->device));
    }
    return code;
}

static kw_code do_view(server *s, kw_error *err)
{
    uint64_t slot = wire_get_u64(&s->in);
    device_buffer *parent = get_buffer(s);
    uint64_t offset = wire_get_u64(&s->in), bytes = wire_get_u64(&s->in);
    return put_buffer(s, slot, device_view(s->device, parent, (size_t)offset, (size_t)bytes, err), err);
}

static kw_code do_transfer(server *s, bool write, kw_error *err)
{
    device_buffer *b = get_buffer(s);
    size_t offset = (size_t)wire_get_u64(&s->in), bytes = (size_t)wire_get_u64(&s->in);
    if (!b || bytes > WINDOW_ROOM)
        return no_such(err, "buffer");
    unsigned char *data = s->window + WINDOW_START;
    return write ? device_write(s->device, b, offset, data, bytes, err)
                 : device_read(s->device, b, offset, data, bytes, err);
}

static kw_code do_copy(server *s, kw_error *err)
{
    device_buffer *from = get_buffer(s);
    size_t from_offset = (size_t)wire_get_u64(&s->in);
    device_buffer *to = get_buffer(s);
    size_t to_offset = (size_t)wire_get_u64(&s->in), bytes = (size_t)wire_get_u64(&s->in);
    return device_copy(s->device, from, from_offset, to, to_offset, bytes, err);
}

static kw_code do_fill(server *s, kw_error *err)
{
    device_buffer *b = get_buffer(s);
    size_t offset = (size_t)wire_get_u64(&s->in), bytes = (size_t)wire_get_u64(&s->in);
    return device_fill(s->device, b, offset, bytes, (unsigned char)wire_get_u64(&s->in), err);
}

static void put_build_info(server *s, device_build_info *info)
{
    size_t n = info->log.length < REMOTE_MAX_LOG ? info->log.length : REMOTE_MAX_LOG;
    wire_bytes(&s->out, strb_text(&info->log), n);
    wire_u64(&s->out, (uint64_t)info->registers);
    wire_u64(&s->out, (uint64_t)info->spill_bytes);
    wire_u64(&s->out, (uint64_t)info->local_bytes);
    wire_u64(&s->out, (uint64_t)info->max_group);
    device_build_info_clear(info);
}

static kw_code do_build(server *s, kw_error *err)
{
    uint64_t slot = wire_get_u64(&s->in);
    char *source = wire_get_text(&s->in), *options = wire_get_text(&s->in);
    uint64_t n = wire_get_u64(&s->in);
    n = n > s->in.left ? 0 : n;
    char **names = mem_calloc((size_t)n + 1, sizeof *names);
    for (uint64_t i = 0; i < n; i++)
        names[i] = wire_get_text(&s->in);
    device_build_info info;
    device_program *program;
    kw_code code =
        device_build(s->device, source, options, (const char *const *)names, (size_t)n, &program, &info, err);
    if (code == KW_OK) {
        while (s->n_programs <= slot) {
            s->programs = mem_grow(s->programs, &s->programs_capacity, s->n_programs + 1, sizeof *s->programs);
            s->programs[s->n_programs++] = NULL;
        }
        s->programs[slot] = program;
    }
    put_build_info(s, &info);
    for (uint64_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(source);
    free(options);
    return code;
}

static kw_code do_binary(server *s, kw_error *err)
{
    device_program *p = get_program(s);
    strb binary = STRB_INIT, identity = STRB_INIT;
    kw_code code = p ? device_program_binary(s->device, p, &binary, &identity, err) : no_such(err, "program");
    if (code == KW_OK && binary.length > REMOTE_MAX_ANSWER - 65536)
        code = kw_error_set(err, KW_FAILED, "a binary of %zu bytes is too large", binary.length);
    if (code == KW_OK) {
        wire_bytes(&s->out, binary.data, binary.length);
        wire_text(&s->out, strb_text(&identity));
    }
    strb_clear(&binary);
    strb_clear(&identity);
    return code;
}

static kw_code do_run(server *s, bool only_check, kw_error *err)
{
    device_program *p = get_program(s);
    uint64_t n = only_check ? 1 : wire_get_u64(&s->in);
    arena *memory = arena_new();
    const device_launch *launches = get_launches(s, memory, n);
    kw_code code = !p || s->in.bad ? no_such(err, "program")
                   : only_check    ? device_check_args(s->device, p, &launches[0], err)
                                   : device_run(s->device, p, launches, (size_t)n, err);
    arena_free(memory);
    return code;
}

/* Which launches the runs of a timed row take: a list of distinct sets, and for every run the number of one. */
typedef struct timed_row {
    device_launch *const *sets;
    size_t n_sets;
    const char *numbers; /* 16 bits each */
    size_t n_numbers;
} timed_row;

static const device_launch *pick(size_t run, void *cookie)
{
    const timed_row *row = cookie;
    uint16_t number;
    memcpy(&number, row->numbers + 2 * run, sizeof number);
    return row->sets[number];
}

static bool get_row(server *s, arena *memory, uint64_t n_launches, uint64_t n_runs, timed_row *row)
{
    row->n_sets = (size_t)wire_get_u64(&s->in);
    if (s->in.bad || row->n_sets > REMOTE_MAX_SETS)
        return false;
    device_launch **sets = arena_alloc(memory, (row->n_sets + 1) * sizeof *sets);
    for (size_t i = 0; i < row->n_sets; i++)
        sets[i] = get_launches(s, memory, n_launches);
    row->sets = sets;
    row->numbers = wire_get_bytes(&s->in, &row->n_numbers);
    bool good = !s->in.bad && row->n_numbers / 2 == n_runs;
    for (uint64_t i = 0; good && i < n_runs; i++) {
        uint16_t number;
        memcpy(&number, row->numbers + 2 * i, sizeof number);
        good = number < row->n_sets;
    }
    return good;
}

static kw_code do_time(server *s, bool batch, kw_error *err)
{
    device_program *p = get_program(s);
    uint64_t n_launches = wire_get_u64(&s->in), per_batch = batch ? wire_get_u64(&s->in) : 1;
    uint64_t n = wire_get_u64(&s->in);
    arena *memory = arena_new();
    timed_row row;
    kw_code code;
    if (!p || n > REMOTE_MAX_ANSWER / 16 || !get_row(s, memory, n_launches, n * per_batch, &row)) {
        arena_free(memory);
        return no_such(err, "program");
    }
    double *ns = mem_calloc((size_t)n + 1, sizeof *ns);
    if (batch)
        code = device_time_batch(s->device, p, pick, &row, (size_t)n_launches, (size_t)per_batch, (size_t)n, ns, err);
    else
        code = device_time_events(s->device, p, pick, &row, (size_t)n_launches, (size_t)n, ns, err);
    wire_bytes(&s->out, ns, (size_t)n * sizeof *ns);
    free(ns);
    arena_free(memory);
    return code;
}

static void do_free(server *s, bool program)
{
    uint64_t slot = wire_get_u64(&s->in);
    if (s->in.bad)
        return;
    if (program && slot < s->n_programs) {
        device_program_free(s->device, s->programs[slot]);
        s->programs[slot] = NULL;
    } else if (!program && slot < s->n_buffers) {
        device_free(s->device, s->buffers[slot]);
        s->buffers[slot] = NULL;
    }
}

static kw_code do_request(server *s, remote_op op, kw_error *err)
{
    if (!s->device && op != REMOTE_OPEN)
        return no_such(err, "device");
    switch (op) {
    case REMOTE_OPEN:
        return do_open(s, err);
    case REMOTE_ALLOC: {
        uint64_t slot = wire_get_u64(&s->in), bytes = wire_get_u64(&s->in);
        return put_buffer(s, slot, device_alloc(s->device, (size_t)bytes, err), err);
    }
    case REMOTE_VIEW:
        return do_view(s, err);
    case REMOTE_FREE:
    case REMOTE_FREE_PROGRAM:
        do_free(s, op == REMOTE_FREE_PROGRAM);
        return KW_OK;
    case REMOTE_WRITE:
        return do_transfer(s, true, err);
    case REMOTE_READ:
        return do_transfer(s, false, err);
    case REMOTE_COPY:
        return do_copy(s, err);
    case REMOTE_FILL:
        return do_fill(s, err);
    case REMOTE_BUILD:
        return do_build(s, err);
    case REMOTE_BINARY:
        return do_binary(s, err);
    case REMOTE_CHECK_ARGS:
        return do_run(s, true, err);
    case REMOTE_RUN:
        return do_run(s, false, err);
    case REMOTE_TIME_EVENTS:
        return do_time(s, false, err);
    case REMOTE_TIME_BATCH:
        return do_time(s, true, err);
    }
    return no_such(err, "request");
}

static bool answer(server *s, kw_code code, const kw_error *err)
{
    strb text = STRB_INIT;
    device_fault fault = s->device ? device_last_fault(s->device) : DEVICE_FAULT_NONE;
    if (s->late.code != KW_OK) {
        code = s->late.code;
        err = &s->late;
        fault = s->late_fault;
    }
    wire_u64(&text, (uint64_t)code);
    wire_u64(&text, (uint64_t)fault);
    wire_u64(&text, s->device && s->device->lost);
    wire_text(&text, code == KW_OK ? "" : err->message);
    kw_error_clear(&s->late);
    if (s->out.length > 0)
        strb_add_n(&text, s->out.data, s->out.length);
    bool good = wire_send(RUNNER_SOCKET, 0, text.data, text.length);
    strb_clear(&text);
    return good;
}

int device_serve(kw_code (*opened)(void *cookie, kw_error *err), void *cookie)
{
    server s = {.opened = opened, .cookie = cookie};
    strb message = STRB_INIT;
    uint64_t op;
    s.window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, RUNNER_WINDOW, 0);
    if (s.window == MAP_FAILED)
        return KW_ENVIRONMENT;
    while (wire_receive(RUNNER_SOCKET, REMOTE_MAX_REQUEST, &op, &message)) {
        kw_error err;
        kw_error_clear(&err);
        strb_reset(&s.out);
        s.in = (wire_reader){.at = message.data, .left = message.length};
        kw_code code = do_request(&s, (remote_op)op, &err);
        if (!remote_has_answer((remote_op)op)) {
            if (code != KW_OK && s.late.code == KW_OK) {
                s.late = err;
                s.late_fault = s.device ? device_last_fault(s.device) : DEVICE_FAULT_NONE;
            }
            continue;
        }
        if (!answer(&s, code, &err))
            break;
        if (s.device && s.device->lost)
            _exit(EXIT_LOST); /* a further call to the driver may hang, and so may its exit handlers */
    }
    return KW_OK;
}
