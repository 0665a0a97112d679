/* The runner as a process. */
#include "device/remote_process.h"

#include "base/clock.h"
#include "device/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WATCH_MS 100
#define END_NS 500000000 /* that a runner may take to end by itself */

/* ---- starting ---- */

/* Descriptors 3 and 4 are the runner's; ours lie above. */
static int move_up(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1;
    if (fd >= 0)
        close(fd);
    return moved;
}

static kw_code no_window(kw_error *err)
{
    struct rlimit size;
    const bool limited = errno == EFBIG && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < WINDOW_BYTES;
    if (limited)
        return kw_error_set(err, KW_ENVIRONMENT,
                            "no shared memory for the process that runs kernels: it is a file of %llu KiB in memory, "
                            "and files may have %llu KiB (`ulimit -f`): raise that limit, or `ulimit -f unlimited`",
                            (unsigned long long)WINDOW_BYTES >> 10, (unsigned long long)size.rlim_cur >> 10);
    return kw_error_set(err, KW_ENVIRONMENT, "no shared memory for the process that runs kernels: %s", strerror(errno));
}

static kw_code make_window(runner *r, kw_error *err)
{
    r->window_fd = move_up(memfd_create("kernwright-window", MFD_CLOEXEC));
    if (r->window_fd < 0 || ftruncate(r->window_fd, WINDOW_BYTES) != 0)
        return no_window(err);
    void *window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->window_fd, 0);
    if (window == MAP_FAILED)
        return kw_error_set(err, KW_ENVIRONMENT, "the shared memory cannot be mapped: %s", strerror(errno));
    r->window = window;
    return KW_OK;
}

static int spawn(runner *r, char *const *argv, char *const *environment, int its_end)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_end, RUNNER_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, r->window_fd, RUNNER_WINDOW);
    int failure = posix_spawn(&r->pid, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

kw_code runner_start(runner *r, char *const *argv, char *const *environment, kw_error *err)
{
    int ends[2];
    if (!r->window && make_window(r, err) != KW_OK)
        return KW_ENVIRONMENT;
    memset(r->window, 0, sizeof(window_notes));
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a runner starts and leaves behind becomes ours to end */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return kw_error_set(err, KW_ENVIRONMENT, "no socket for the process that runs kernels: %s", strerror(errno));
    r->fd = move_up(ends[0]);
    int its_end = move_up(ends[1]);
    r->is_over_memory = false;
    int failure = spawn(r, argv, environment, its_end);
    close(its_end);
    if (failure == 0)
        return KW_OK;
    r->pid = 0;
    close(r->fd);
    return kw_error_set(err, KW_ENVIRONMENT, "%s cannot be started to run kernels: %s", argv[0], strerror(failure));
}

/* ---- what it does at once ---- */

/* Numbers in /proc/PID/task/TID/children; 0 where the kernel does not offer it. */
static size_t children_of(pid_t pid, const char *thread)
{
    char path[320];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, thread);
    FILE *f = fopen(path, "re");
    for (long child; f && fscanf(f, "%ld", &child) == 1;)
        n++;
    if (f)
        fclose(f);
    return n;
}

size_t runner_tasks(const runner *r)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)r->pid);
    DIR *tasks = r->pid > 0 ? opendir(path) : NULL;
    for (struct dirent *e; tasks && (e = readdir(tasks)) != NULL;)
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
            n += 1 + children_of(r->pid, e->d_name);
    if (tasks)
        closedir(tasks);
    return n;
}

/* ---- asking ---- */

static uint64_t resident_bytes(pid_t pid)
{
    char path[64];
    uint64_t pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Waits until there is something to read, with an eye on the runner's memory. Its end shows at its socket, unless a
 * program that it started has a copy. */
static bool watch(runner *r)
{
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, WATCH_MS)) == 0 || (n < 0 && errno == EINTR)) {
        if (has_ended(r->pid))
            return poll(&p, 1, 0) > 0;
        if (r->memory_bytes == 0 || r->is_over_memory || resident_bytes(r->pid) <= r->memory_bytes)
            continue;
        r->is_over_memory = true;
        kill(r->pid, SIGKILL);
    }
    return true;
}

bool runner_ask(runner *r, remote_op op, const strb *request, strb *answer)
{
    uint64_t word;
    if (r->pid == 0 || !wire_send(r->fd, (uint64_t)op, request->data, request->length))
        return false;
    if (!answer)
        return true;
    return watch(r) && wire_receive(r->fd, REMOTE_MAX_ANSWER, &word, answer);
}

/* ---- the end ---- */

/* Parent of a process; 0 when there is no telling. */
static pid_t parent_of(const char *pid)
{
    char path[300], text[512];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *after_name = strrchr(text, ')');
    if (!after_name || sscanf(after_name, ") %*c %ld", &parent) != 1)
        return 0;
    return (pid_t)parent;
}

/* One round over our children, who are all a dead runner's; true when there was one. */
static bool end_children(void)
{
    DIR *proc = opendir("/proc");
    bool found = false;
    if (!proc)
        return false;
    for (struct dirent *e; (e = readdir(proc)) != NULL;) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || parent_of(e->d_name) != getpid())
            continue;
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        kill(pid, SIGKILL);
        found = waitpid(pid, NULL, 0) == pid || found;
    }
    closedir(proc);
    return found;
}

static int wait_for_end(runner *r)
{
    const struct timespec pause = {0, 1000000};
    int status = 0;
    for (int64_t end = clock_now_ns() + END_NS; clock_now_ns() < end; nanosleep(&pause, NULL))
        if (waitpid(r->pid, &status, WNOHANG) == r->pid)
            return status;
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static void describe(const runner *r, int status, strb *how)
{
    window_notes notes;
    memcpy(&notes, r->window, sizeof notes);
    notes.name[sizeof notes.name - 1] = '\0';
    if (r->is_over_memory)
        strb_printf(how, "was stopped: it held more than %" PRIu64 " MiB of memory", r->memory_bytes >> 20);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && notes.is_refused)
        strb_printf(how, "was stopped by its sandbox: refused system call %d (%s)", (int)notes.system_call, notes.name);
    else if (WIFSIGNALED(status))
        strb_printf(how, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        strb_printf(how, "ended with status %d", WEXITSTATUS(status));
}

void runner_bury(runner *r, strb *how)
{
    if (r->pid == 0) {
        strb_add(how, "is not running");
        return;
    }
    close(r->fd);
    int status = wait_for_end(r);
    r->pid = 0;
    while (end_children())
        continue;
    describe(r, status, how);
}

void runner_stop(runner *r)
{
    strb how = STRB_INIT;
    runner_bury(r, &how);
    strb_clear(&how);
    if (r->window)
        munmap(r->window, WINDOW_BYTES);
    if (r->window_fd > 0)
        close(r->window_fd);
    r->window = NULL;
    r->window_fd = 0;
}
