/* Built programs that are kept between jobs: the same text comes again when a configuration is measured on many shapes,
 * and when it is timed again. */
#include "tuner/worker_internal.h"

#include <stdlib.h>
#include <string.h>

void worker_forget_programs(worker *w)
{
    worker_forget_trusted(w);
    for (size_t i = 0; i < WORKER_PROGRAMS; i++)
        if (w->programs[i].program)
            device_program_free(w->device, w->programs[i].program);
    memset(w->programs, 0, sizeof w->programs);
}

static void make_key(const job *j, const char *const *kernels, size_t n, char out[HASH_HEX_SIZE])
{
    strb text = STRB_INIT;
    strb_printf(&text, "%s\n%s", j->options, j->source);
    for (size_t i = 0; i < n; i++)
        strb_printf(&text, "\n%s", kernels[i]);
    hash_hex(strb_text(&text), text.length, out);
    strb_clear(&text);
}

static kept_program *find(worker *w, const char *key)
{
    for (size_t i = 0; i < WORKER_PROGRAMS; i++)
        if (w->programs[i].program && strcmp(w->programs[i].key, key) == 0)
            return &w->programs[i];
    return NULL;
}

/* The slot of the one that was not used for the longest time; empty now. */
static kept_program *make_room(worker *w)
{
    kept_program *oldest = &w->programs[0];
    for (size_t i = 1; i < WORKER_PROGRAMS; i++)
        if (w->programs[i].last_used < oldest->last_used)
            oldest = &w->programs[i];
    if (oldest->program)
        device_program_free(w->device, oldest->program);
    memset(oldest, 0, sizeof *oldest);
    return oldest;
}

kw_code run_program(run *r, const char *const *kernels, size_t n, device_build_info *info, kw_error *err)
{
    worker *w = r->worker;
    char key[HASH_HEX_SIZE];
    make_key(r->job, kernels, n, key);
    kept_program *kept = find(w, key);
    if (!kept) {
        device_program *built;
        kw_code code = device_build(r->device, r->job->source, r->job->options, kernels, n, &built, info, err);
        if (code != KW_OK)
            return code;
        r->program = built;
        if (r->job->mode == JOB_COMPILE) /* another process will run it */
            return KW_OK;
        kept = make_room(w);
        *kept = (kept_program){.program = built,
                               .registers = info->registers,
                               .spill_bytes = info->spill_bytes,
                               .local_bytes = info->local_bytes,
                               .artefact = info->artefact};
        memcpy(kept->key, key, sizeof key);
    } else {
        r->program = kept->program;
        info->registers = kept->registers;
        info->spill_bytes = kept->spill_bytes;
        info->local_bytes = kept->local_bytes;
        info->artefact = kept->artefact;
        info->from_cache = true;
    }
    r->program_is_kept = true;
    kept->last_used = ++w->clock;
    return KW_OK;
}
