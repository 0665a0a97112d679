/* Kernels of ours that a worker runs beside candidates: one that leaves garbage in all local memory, and one that says
 * whether the device still computes. */
#include "tuner/worker_internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEMS 64
#define GROUPS_PER_UNIT 8 /* so that every unit meets it, however many groups it holds at once */
#define HEALTH_WORDS 4096u
#define HEALTH_TRIES 3

static const char source[] = "/* The last read keeps the stores: they cannot be seen to be useless. */\n"
                             "kernel void kernwright_garbage(local uint *t, uint n, uint word, global uint *out)\n"
                             "{\n"
                             "    for (uint i = get_local_id(0); i < n; i += get_local_size(0))\n"
                             "        t[i] = word;\n"
                             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                             "    if (t[(get_local_id(0) * 7 + 1) % n] != word)\n"
                             "        out[0] = 1;\n"
                             "}\n"
                             "\n"
                             "kernel void kernwright_health(global uint *out, uint n, uint key)\n"
                             "{\n"
                             "    uint i = (uint)get_global_id(0);\n"
                             "    if (i < n)\n"
                             "        out[i] = (i ^ key) * 0x9e3779b1u;\n"
                             "}\n";

static device_arg word_arg(uint32_t word)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .type = DTYPE_U32, .n = sizeof word};
    memcpy(a.bytes, &word, sizeof word);
    return a;
}

static bool make(worker *w, kw_error *err)
{
    static const char *const kernels[] = {"kernwright_garbage", "kernwright_health"};
    device_build_info info = {.log = STRB_INIT};
    if (w->own)
        return true;
    kw_code code = device_build(w->device, source, "", kernels, 2, &w->own, &info, err);
    device_build_info_clear(&info);
    if (code == KW_OK && !(w->own_words = device_alloc(w->device, HEALTH_WORDS * sizeof(uint32_t), err)))
        code = err->code;
    if (code != KW_OK)
        worker_forget_own(w);
    return code == KW_OK;
}

void worker_forget_own(worker *w)
{
    if (w->own_words)
        device_free(w->device, w->own_words);
    if (w->own)
        device_program_free(w->device, w->own);
    w->own_words = NULL;
    w->own = NULL;
}

/* ---- local memory ---- */

/* What the launches of a case use at most; all there is where the driver does not say. */
static size_t local_bytes(const run *r, const buffer_set *set)
{
    size_t dynamic = 0;
    const int64_t all = device_describe(r->device)->limits.local_mem_bytes;
    for (size_t i = 0; i < set->n_launches; i++) {
        size_t n = 0;
        for (size_t a = 0; a < set->launches[i].n_args; a++)
            if (set->launches[i].args[a].kind == DEVICE_ARG_LOCAL)
                n += set->launches[i].args[a].n;
        dynamic = n > dynamic ? n : dynamic;
    }
    if (r->record->local_bytes == 0 && dynamic == 0)
        return 0;
    const size_t used = (size_t)(r->record->local_bytes > 0 ? r->record->local_bytes : 0) + dynamic;
    const bool whole =
        !device_describe(r->device)->limits.is_cpu; /* on a CPU it is megabytes, and begins at one place */
    return whole || used > (size_t)all ? (size_t)all : used;
}

static bool is_real(const device *d)
{
    const device_info *info = device_describe(d);
    return strncmp(info->spec, "opencl:", 7) == 0 && !info->simulated;
}

static kw_code fill_local(run *r, size_t bytes, unsigned char byte, size_t groups, kw_error *err)
{
    worker *w = r->worker;
    device_arg args[4] = {{.kind = DEVICE_ARG_LOCAL, .n = bytes},
                          word_arg((uint32_t)(bytes / 4)),
                          word_arg(byte * 0x01010101u),
                          {.kind = DEVICE_ARG_BUFFER, .buffer = w->own_words}};
    const device_launch l = {.kernel = "kernwright_garbage",
                             .rank = 1,
                             .local = {ITEMS, 1, 1},
                             .groups = {groups, 1, 1},
                             .args = args,
                             .n_args = 4};
    return device_run(r->device, w->own, &l, 1, err);
}

void run_prepare_own(run *r)
{
    kw_error err;
    if (!is_real(r->device) || !device_describe(r->device)->builds_at_launch)
        return;
    if (!make(r->worker, &err) || fill_local(r, sizeof(uint32_t), 0, 1, &err) != KW_OK)
        log_debug("worker: kernels of ours are not compiled ahead: %s", err.message);
}

bool run_spoil_local(run *r, const buffer_set *set, unsigned char byte)
{
    worker *w = r->worker;
    kw_error err;
    const size_t bytes = w->spoils_nothing || !is_real(r->device) ? 0 : local_bytes(r, set) / 4 * 4;
    if (bytes == 0)
        return true;
    const int64_t units = device_describe(r->device)->limits.compute_units;
    if (make(w, &err) && fill_local(r, bytes, byte, GROUPS_PER_UNIT * (size_t)(units > 0 ? units : 1), &err) == KW_OK)
        return true;
    if (r->device->lost)
        return run_device_failed(r, &err, "filling local memory");
    log_debug("worker: local memory is not filled before runs: %s", err.message);
    w->spoils_nothing = true;
    return true;
}

/* ---- health ---- */

static kw_code compute(worker *w, uint32_t key, bool *right, kw_error *err)
{
    uint32_t *got = mem_calloc(HEALTH_WORDS, sizeof *got);
    device_arg args[3] = {{.kind = DEVICE_ARG_BUFFER, .buffer = w->own_words}, word_arg(HEALTH_WORDS), word_arg(key)};
    const device_launch l = {.kernel = "kernwright_health",
                             .rank = 1,
                             .local = {ITEMS, 1, 1},
                             .groups = {HEALTH_WORDS / ITEMS, 1, 1},
                             .args = args,
                             .n_args = 3};
    kw_code code = device_run(w->device, w->own, &l, 1, err);
    if (code == KW_OK)
        code = device_read(w->device, w->own_words, 0, got, HEALTH_WORDS * sizeof *got, err);
    *right = code == KW_OK;
    for (uint32_t i = 0; *right && i < HEALTH_WORDS; i++)
        *right = got[i] == (i ^ key) * 0x9e3779b1u;
    free(got);
    return code;
}

kw_code worker_check_health(worker *w, kw_error *err)
{
    const struct timespec pause = {1, 0};
    kw_error why;
    bool right = false;
    kw_error_set(&why, KW_ENVIRONMENT, "its results are wrong");
    if (!is_real(w->device))
        return KW_OK;
    for (uint32_t i = 0; i < HEALTH_TRIES && !right && !w->device->lost; i++) {
        if (i > 0)
            nanosleep(&pause, NULL); /* a reset takes a moment */
        if (make(w, &why) && compute(w, 0x5eedu + i, &right, &why) == KW_OK && !right)
            kw_error_set(&why, KW_ENVIRONMENT, "its results are wrong");
    }
    if (right) {
        log_debug("worker: %s is sound", w->spec);
        return KW_OK;
    }
    return kw_error_set(
        err, KW_ENVIRONMENT,
        "%s does not do what a kernel of our own asks of it, perhaps since a fault before: %s; reset it, or "
        "choose another device",
        w->spec, why.message);
}
