/* The worker's main loop: lines in, lines out. */
#include "tuner/worker_internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define READ_BYTES 65536
#define MAX_LINE ((size_t)256 << 20)

/* ---- lines ---- */

/* When nobody reads any more there is nothing left to do. */
void worker_send(worker *w, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(w->out_fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(KW_OK);
        text += n;
        length -= (size_t)n;
    }
}

struct line_reader {
    int fd;
    strb buffer;
    size_t used;    /* bytes of `buffer` that earlier lines took */
    size_t scanned; /* bytes that are known to hold no newline */
};

/* 1: a line, without its newline, valid until the next call; 0: end of input (a last line without newline is dropped:
 * its sender died in it); -1: an error or an endless line. */
static int read_line(line_reader *in, const char **line, size_t *length)
{
    if (in->used > 0) {
        memmove(in->buffer.data, in->buffer.data + in->used, in->buffer.length - in->used);
        strb_truncate(&in->buffer, in->buffer.length - in->used);
        in->used = in->scanned = 0;
    }
    for (;;) {
        size_t left = in->buffer.length - in->scanned;
        const char *end = left > 0 ? memchr(in->buffer.data + in->scanned, '\n', left) : NULL;
        if (end) {
            *line = in->buffer.data;
            *length = (size_t)(end - in->buffer.data);
            in->used = *length + 1;
            return 1;
        }
        in->scanned = in->buffer.length;
        char chunk[READ_BYTES];
        ssize_t n = read(in->fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || in->buffer.length > MAX_LINE)
            return n == 0 ? 0 : -1;
        strb_add_n(&in->buffer, chunk, (size_t)n);
    }
}

/* ---- turns ---- */

/* Nothing else is under way while a job is: what does not answer ends the process, since nobody would wait for it. */
void worker_wait_go(worker *w, int64_t id)
{
    const char *line;
    size_t length;
    int got = read_line(w->in, &line, &length);
    if (got == 0)
        _exit(KW_OK);
    const bool good = got > 0 && job_is_go(line, length, id);
    if (good)
        return;
    log_error("worker: job %lld waits for its turn and got something else", (long long)id);
    _exit(KW_BAD_INPUT);
}

/* ---- hello ---- */

static void send_hello(worker *w)
{
    message hello;
    memset(&hello, 0, sizeof hello);
    kw_error err;
    strb note = STRB_INIT, line = STRB_INIT, sandbox = STRB_INIT;
    snprintf(hello.version, sizeof hello.version, "%s", KERNWRIGHT_VERSION);
    if (gethostname(hello.host, sizeof hello.host - 1) != 0)
        hello.host[0] = '\0';
    hello.pid = getpid();
    if (topology_read(&w->machine, &err) != KW_OK) {
        memset(&w->machine, 0, sizeof w->machine);
        strb_printf(&note, "%s; ", err.message);
    }
    snprintf(hello.cpu_model, sizeof hello.cpu_model, "%s", w->machine.cpu_model);
    hello.physical_cores = (int64_t)w->machine.physical_cores;
    hello.available_bytes = topology_available_bytes();
    if (device_list(&hello.devices, &hello.n_devices, &note, &err) != KW_OK)
        strb_add(&note, err.message);
    sandbox_describe(&sandbox);
    snprintf(hello.sandbox, sizeof hello.sandbox, "%s", strb_text(&sandbox));
    snprintf(hello.note, sizeof hello.note, "%s", strb_text(&note));
    job_hello_print(&hello, &line);
    worker_send(w, line.data, line.length);
    w->devices = hello.devices;
    w->n_devices = hello.n_devices;
    hello.devices = NULL;
    message_clear(&hello);
    strb_clear(&line);
    strb_clear(&note);
    strb_clear(&sandbox);
}

/* ---- jobs ---- */

static void send_result(worker *w, int64_t id, const job_record *record)
{
    strb line = STRB_INIT;
    job_record_print(id, record, &line);
    worker_send(w, line.data, line.length);
    strb_clear(&line);
}

static int send_error(worker *w, const kw_error *err)
{
    strb line = STRB_INIT;
    job_error_print(err->code, err->message, &line);
    worker_send(w, line.data, line.length);
    strb_clear(&line);
    log_error("worker: %s", err->message);
    return err->code == KW_BAD_INPUT ? KW_BAD_INPUT : KW_ENVIRONMENT;
}

/* KW_OK to go on, else the exit code. */
static int one_job(worker *w, const char *line, size_t length)
{
    arena *memory = arena_new();
    job j;
    task *t;
    job_record record;
    kw_error err;
    kw_error_clear(&err);
    if (job_parse(line, length, memory, &j, &t, &err) != KW_OK) {
        arena_free(memory);
        err.code = KW_BAD_INPUT;
        return send_error(w, &err);
    }
    job_end end = worker_do(w, &j, &record, &err);
    int status = KW_OK;
    if (end == JOB_FATAL)
        status = send_error(w, &err);
    else
        send_result(w, j.id, &record);
    /* A lost device: a further call, even one that releases, may hang, and so may the driver's exit handlers. */
    if (end == JOB_LOST)
        _exit(WORKER_EXIT_LOST);
    job_record_clear(&record);
    task_free(t);
    arena_free(memory);
    return status;
}

/* ---- the process ---- */

/* Moves a descriptor out of reach of drivers and kernels, which print to 1 and may read 0. */
static int private_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    return copy >= 0 ? copy : fd;
}

static void redirect(int fd, const char *path, int flags)
{
    int other = open(path, flags | O_CLOEXEC);
    if (other >= 0) {
        dup2(other, fd);
        close(other);
    }
}

static void set_up_process(int *in_fd, int *out_fd)
{
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int in = private_copy(*in_fd), out = private_copy(*out_fd);
    if (*in_fd != STDIN_FILENO && in != *in_fd)
        close(*in_fd);
    if (*out_fd != STDOUT_FILENO && out != *out_fd)
        close(*out_fd);
    fflush(stdout);
    if (in != STDIN_FILENO)
        redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
    if (out != STDOUT_FILENO)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    *in_fd = in;
    *out_fd = out;
}

static char **copy_environment(void)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **copy = mem_calloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(environ[i]);
    return copy;
}

int worker_main(int in_fd, int out_fd)
{
    set_up_process(&in_fd, &out_fd);
    worker w = {.out_fd = out_fd, .references = reference_cache_new()};
    line_reader in = {.fd = in_fd, .buffer = STRB_INIT};
    w.in = &in;
    const char *line;
    size_t length;
    int status = KW_OK, got;
    sandbox_sweep();
    sandbox_folder_make(&w.folder);
    w.environment = copy_environment();
    send_hello(&w);
    w.memory_limit = sandbox_memory_limit(w.machine.memory_bytes);
    sandbox_watch_memory(w.memory_limit);
    while (status == KW_OK && (got = read_line(&in, &line, &length)) != 0) {
        kw_error err;
        if (got < 0) {
            kw_error_set(&err, KW_BAD_INPUT, "a line of over %zu MiB, or an unreadable input", MAX_LINE >> 20);
            status = send_error(&w, &err);
        } else {
            status = one_job(&w, line, length);
        }
    }
    worker_close_device(&w);
    sandbox_folder_remove(&w.folder);
    free(w.devices);
    for (size_t i = 0; w.environment[i]; i++)
        free(w.environment[i]);
    free(w.environment);
    reference_cache_free(w.references);
    strb_clear(&in.buffer);
    close(in_fd);
    close(out_fd);
    return status;
}
