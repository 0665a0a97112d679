/* A device that is Oclgrind: what it says of the run of a kernel goes to a log, and this is where it is read. */
#include "tuner/worker_internal.h"

#include "base/fs.h"
#include "tuner/oclgrind_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOG ((size_t)64 << 20)

void worker_prepare_simulator(worker *w)
{
    free(w->simulator_log);
    w->simulator_log = w->folder.path ? fs_join(w->folder.path, "oclgrind.log") : NULL;
    w->log_read = 0;
    if (w->simulator_log)
        setenv("OCLGRIND_LOG", w->simulator_log, 1);
}

/* Oclgrind stops reporting after some number of messages, whatever they were about: after the first ones this process
 * has done its work, and the next candidate meets a new one. */
static bool found(run *r, const oclgrind_findings *f)
{
    outcome o;
    strb text = STRB_INIT;
    bool guilty = oclgrind_judge(f, &o, &text);
    r->end = JOB_LOST;
    if (guilty)
        run_fail(r, o, "%s", strb_text(&text));
    strb_clear(&text);
    return !guilty;
}

bool run_check_log(run *r)
{
    worker *w = r->worker;
    kw_error err;
    if (!w->simulator_log || !device_describe(r->device)->simulated)
        return true;
    strb text = STRB_INIT;
    oclgrind_findings f;
    memset(&f, 0, sizeof f);
    bool good = true;
    if (fs_read(w->simulator_log, MAX_LOG, &text, &err) != KW_OK) {
        good = run_fail(r, OUTCOME_LAUNCH_ERROR, "Oclgrind left no log: %s", err.message);
    } else if (text.length > w->log_read) {
        oclgrind_log_read(text.data + w->log_read, text.length - w->log_read, &f);
        w->log_read = text.length;
        oclgrind_excuse(r->job->source, &f);
        good = found(r, &f);
    }
    strb_clear(&text);
    return good;
}
