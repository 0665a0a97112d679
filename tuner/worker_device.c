/* The device of a worker: in this process, or behind a runner when kernels are native code. */
#include "tuner/worker_internal.h"

#include "base/fs.h"
#include "base/log.h"
#include "device/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_SHARE 8 /* of the machine's memory may hold inputs and expected outputs */

/* Near its GPU, on machines with several memory nodes. A worker that only compiles may use all cores. */
static void bind_near_device(worker *w, const job *j)
{
    const device_info *info = device_describe(w->device);
    if (w->is_bound || j->mode == JOB_COMPILE || info->limits.is_cpu || !info->pci[0])
        return;
    kw_error err;
    w->is_bound = true;
    if (topology_bind_to_node(topology_node_of_pci(info->pci), &err) != KW_OK)
        log_debug("worker: %s", err.message);
}

/* ---- in which process ---- */

static const char *runner_mode(void)
{
    const char *mode = getenv("KERNWRIGHT_RUNNER");
    return mode ? mode : "";
}

static const device_info *listed(const worker *w, const char *spec)
{
    for (size_t i = 0; i < w->n_devices; i++)
        if (strcmp(w->devices[i].spec, spec) == 0)
            return &w->devices[i];
    return NULL;
}

static bool is_cpu(const worker *w, const char *spec)
{
    const device_info *d = listed(w, spec);
    return d && d->limits.is_cpu != 0;
}

static bool is_simulated(const worker *w, const char *spec)
{
    const device_info *d = listed(w, spec);
    return d && d->simulated;
}

/* A simulator runs no native code, and this process reads its log. */
static bool wants_runner(const worker *w, const char *spec)
{
    return !is_simulated(w, spec) &&
           (strcmp(runner_mode(), "always") == 0 || (is_cpu(w, spec) && strcmp(runner_mode(), "never") != 0));
}

static kw_code open_behind_runner(worker *w, const char *spec, kw_error *err)
{
    char *self = fs_self_path(), memory[24];
    if (!self)
        return kw_error_set(err, KW_ENVIRONMENT, "cannot find the path of this program, so no kernel can be run");
    snprintf(memory, sizeof memory, "%" PRIu64, w->memory_limit);
    const char *const argv[] = {self, "worker", "--runner", is_cpu(w, spec) ? "native" : "driver", memory, NULL};
    kw_code code =
        device_open_remote(spec, argv, (const char *const *)w->environment, w->memory_limit, &w->device, err);
    free(self);
    return code;
}

/* The sandbox of this process comes in two parts around the opening of a driver, and once. */
static kw_code open_confined(worker *w, const char *spec, kw_error *err)
{
    const bool behind = wants_runner(w, spec);
    const sandbox_role role = behind ? SANDBOX_JUDGE : SANDBOX_DRIVER;
    if (is_simulated(w, spec))
        worker_prepare_simulator(w);
    if (!w->is_confined[role])
        sandbox_before_open(role, w->memory_limit);
    kw_code code = behind ? open_behind_runner(w, spec, err) : device_open(spec, &w->device, err);
    if (code == KW_OK && !w->is_confined[role])
        sandbox_after_open(role, NULL);
    w->is_confined[role] = w->is_confined[role] || code == KW_OK;
    return code;
}

/* ---- use ---- */

/* What one candidate leaves in a runner can meet the next one; who does not trust that has every job get a new one. */
static kw_code refresh(worker *w, kw_error *err)
{
    if (!w->is_used || !device_is_remote(w->device) || strcmp(runner_mode(), "fresh") != 0)
        return KW_OK;
    worker_forget_programs(w);
    worker_forget_own(w);
    return device_revive(w->device, err);
}

kw_code worker_use_device(worker *w, const job *j, kw_error *err)
{
    kw_code code = KW_OK;
    if (strlen(j->device) >= sizeof w->spec)
        return kw_error_set(err, KW_BAD_INPUT, "\"%.40s...\" names no device", j->device);
    if (w->device && strcmp(w->spec, j->device) == 0) {
        code = refresh(w, err);
    } else {
        worker_close_device(w);
        code = open_confined(w, j->device, err);
        if (code != KW_OK) {
            w->device = NULL;
            return code;
        }
        strcpy(w->spec, j->device);
        w->cases = case_cache_new(w->device, w->machine.memory_bytes / HOST_SHARE);
        w->spoils_nothing = false;
        /* This process may be here because another one lost the device. A runner is new in any case. */
        w->is_suspect = !device_is_remote(w->device);
    }
    w->is_used = true;
    if (code == KW_OK)
        bind_near_device(w, j);
    if (code == KW_OK && w->is_suspect && j->mode != JOB_COMPILE) {
        code = worker_check_health(w, err);
        w->is_suspect = code != KW_OK;
    }
    return code;
}

bool worker_recover(worker *w)
{
    kw_error err;
    if (!device_is_remote(w->device))
        return false;
    worker_forget_programs(w);
    worker_forget_own(w);
    if (device_revive(w->device, &err) == KW_OK) {
        w->is_suspect = !device_describe(w->device)->limits.is_cpu; /* a CPU is where its runner is, and that is new */
        return true;
    }
    log_debug("worker: %s", err.message);
    return false;
}

bool worker_leave_nothing(worker *w)
{
    size_t before = 0;
    kw_error err;
    if (!w->device || w->device->lost || !device_is_remote(w->device) || !device_describe(w->device)->limits.is_cpu)
        return true;
    const size_t now = device_runner_tasks(w->device, &before);
    if (before == 0 || now <= before || now <= w->usual_tasks)
        return true;
    log_debug("worker: %zu tasks run in the process of kernels, %zu when it was new: it is replaced", now, before);
    if (!worker_recover(w))
        return false;
    /* A driver may start threads when it first works. A kernel of ours shows how many, in a process that no candidate
     * has met. */
    if (w->usual_tasks == 0 && worker_check_health(w, &err) == KW_OK)
        w->usual_tasks = device_runner_tasks(w->device, &before);
    return !w->device->lost;
}

void worker_close_device(worker *w)
{
    case_cache_free(w->cases);
    w->cases = NULL;
    worker_forget_programs(w);
    worker_forget_own(w);
    free(w->scratch);
    w->scratch = NULL;
    w->scratch_bytes = 0;
    free(w->simulator_log);
    w->simulator_log = NULL;
    device_close(w->device);
    w->device = NULL;
    w->is_bound = w->is_used = false;
    w->usual_tasks = 0;
    w->spec[0] = '\0';
}
