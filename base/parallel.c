#include "base/parallel.h"

#include "base/interrupt.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 50000000 /* between looks at the children */

typedef struct counters {
    atomic_size_t next, done;
} counters;

void *parallel_alloc(size_t bytes)
{
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void parallel_free(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes ? bytes : 1);
}

static void work_off(const parallel_work *w, counters *c)
{
    for (;;) {
        size_t i = atomic_fetch_add(&c->next, 1);
        if (i >= w->n)
            return;
        w->item(i, w->cookie);
        atomic_fetch_add(&c->done, 1);
    }
}

static kw_code run_here(const parallel_work *w, kw_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        if (interrupt_arrived())
            return kw_error_set(err, KW_INTERRUPTED, "interrupted");
        w->item(i, w->cookie);
        if (w->progress)
            w->progress(i + 1, w->cookie);
    }
    return KW_OK;
}

static pid_t start_child(const parallel_work *w, counters *c)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(KW_FAILED);
    work_off(w, c);
    _exit(KW_OK);
}

static void end_all(const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
}

/* One signalled or failed child ends the others; so does a signal to this process. */
static kw_code wait_for(const parallel_work *w, counters *c, pid_t *pids, size_t n, kw_error *err)
{
    kw_code code = KW_OK;
    size_t left = n;
    while (left > 0) {
        for (size_t i = 0; i < n; i++) {
            int status = 0;
            if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) == 0)
                continue;
            pids[i] = 0;
            left--;
            if ((WIFEXITED(status) && WEXITSTATUS(status) == KW_OK) || code != KW_OK)
                continue;
            code = kw_error_set(err, KW_FAILED, "a process of this computation ended with %s %d",
                                WIFSIGNALED(status) ? "signal" : "status",
                                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            end_all(pids, n);
        }
        if (code == KW_OK && interrupt_arrived()) {
            code = kw_error_set(err, KW_INTERRUPTED, "interrupted");
            end_all(pids, n);
        }
        if (w->progress)
            w->progress(atomic_load(&c->done), w->cookie);
        if (left > 0)
            nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return code;
}

kw_code parallel_run(const parallel_work *w, kw_error *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = w->jobs ? w->jobs : cores > 0 ? (size_t)cores : 1;
    if (jobs > w->n)
        jobs = w->n;
    if (jobs <= 1)
        return run_here(w, err);
    counters *c = parallel_alloc(sizeof *c);
    if (!c)
        return kw_error_set(err, KW_ENVIRONMENT, "no memory to share between processes: %s", strerror(errno));
    pid_t *pids = mem_calloc(jobs, sizeof *pids);
    size_t n = 0;
    while (n < jobs && (pids[n] = start_child(w, c)) > 0)
        n++;
    kw_code code = n > 0 ? wait_for(w, c, pids, n, err)
                         : kw_error_set(err, KW_ENVIRONMENT, "no process can be started: %s", strerror(errno));
    free(pids);
    parallel_free(c, sizeof *c);
    return code;
}
