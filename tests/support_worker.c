/* Helpers of the tests of the worker. */
#include "tests/support_worker.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tuner/worker.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- jobs ---- */

static const struct {
    const char *task, *kernel, *params;
} kernels[] = {
    {"saxpy", "fake_saxpy", "int n, float a, __global const float *x, __global float *y"},
    {"reduce_sum", "fake_sum", "int n, __global const float *x, __global float *y"},
    {"gemm", "fake_gemm",
     "int m, int n, int k, float alpha, __global const float *a, __global const float *b, float beta, __global float "
     "*c"},
};

static size_t kernel_of(const char *task_name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].task, task_name) == 0)
            return i;
    fail_msg("no kernel for task %s", task_name);
    return 0;
}

void test_job_make(test_job *tj, const char *task_name, const char *directives)
{
    kw_error err;
    memset(tj, 0, sizeof *tj);
    if (task_load(task_name, &tj->t, &err) != KW_OK)
        fail_msg("%s", err.message);
    const size_t k = kernel_of(task_name);
    snprintf(tj->source, sizeof tj->source, "//fake: %s\n__kernel void %s(%s)\n{\n}\n", directives, kernels[k].kernel,
             kernels[k].params);
    tj->j = (job){.id = 1,
                  .device = "fake:0",
                  .mode = JOB_EVALUATE,
                  .lang = LANGUAGE_OPENCL,
                  .source = tj->source,
                  .options = "",
                  .task = tj->t,
                  .cases = tj->cases,
                  .timing = {.cold = true, .min_samples = 7}};
    assert_int_equal(task_types_parse(tj->t, NULL, &tj->j.types, &err), KW_OK);
}

void test_job_clear(test_job *tj)
{
    task_free(tj->t);
}

static void add_arg(plan_launch *l, plan_arg a)
{
    l->args[l->n_args++] = a;
}

job_case *test_job_add(test_job *tj, const char *shape, distribution d, uint64_t seed)
{
    kw_error err;
    const task *t = tj->t;
    job_case *c = &tj->cases[tj->j.n_cases++];
    memset(c, 0, sizeof *c);
    if (task_shape_parse(t, shape, &c->shape, &err) != KW_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < t->n_scalars; i++)
        c->scalars[i] = t->scalars[i].values[0];
    c->dist = d;
    c->seed = seed;
    plan_launch *l = &c->plan.launches[0];
    c->plan.n_launches = 1;
    *l = (plan_launch){
        .kernel = kernels[kernel_of(t->name)].kernel, .rank = 1, .local = {64, 1, 1}, .groups = {4, 1, 1}};
    for (size_t i = 0; i < t->n_dims; i++)
        add_arg(l, (plan_arg){.kind = ARG_VALUE, .type = DTYPE_I32, .integer = c->shape.dims[i]});
    if (t->n_scalars > 0)
        add_arg(l, (plan_arg){.kind = ARG_SCALAR, .type = DTYPE_F32, .index = 0, .real = c->scalars[0]});
    for (int i = 0; i < (int)t->n_tensors; i++) {
        if (i == 2 && t->n_scalars == 2)
            add_arg(l, (plan_arg){.kind = ARG_SCALAR, .type = DTYPE_F32, .index = 1, .real = c->scalars[1]});
        add_arg(l, (plan_arg){.kind = ARG_TENSOR, .index = i});
    }
    return c;
}

/* ---- a worker ---- */

int test_worker_main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[2], "--runner") == 0)
        worker_runner_main(argv[3], argv[4]);
    return worker_main(STDIN_FILENO, STDOUT_FILENO);
}

/* Is the process alive and in this session? */
static bool is_in_session(const char *pid, pid_t leader)
{
    char path[300], text[512], state = 'Z';
    long session = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *after_name = strrchr(text, ')');
    return after_name && sscanf(after_name, ") %c %*d %*d %ld", &state, &session) == 2 && session == leader &&
           state != 'Z' && state != 'X';
}

size_t test_session_size(pid_t leader)
{
    DIR *proc = opendir("/proc");
    size_t n = 0;
    assert_non_null(proc);
    for (struct dirent *e; (e = readdir(proc)) != NULL;)
        n += e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_in_session(e->d_name, leader);
    closedir(proc);
    return n;
}

void test_worker_start(test_worker *w)
{
    int in[2], out[2];
    memset(w, 0, sizeof *w);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    char *self = fs_self_path(), worker[] = "worker";
    assert_non_null(self);
    signal(SIGPIPE, SIG_IGN);
    w->pid = fork();
    assert_true(w->pid >= 0);
    if (w->pid == 0) {
        char *argv[] = {self, worker, NULL};
        setsid();
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        setenv("KERNWRIGHT_FAKE", "1", 1);
        execv(self, argv);
        _exit(127);
    }
    free(self);
    close(in[0]);
    close(out[1]);
    w->to = in[1];
    w->from = out[0];
}

char *test_worker_line(test_worker *w)
{
    for (;;) {
        char *end = w->line.length > 0 ? memchr(w->line.data, '\n', w->line.length) : NULL;
        if (end) {
            char *line = mem_strndup(w->line.data, (size_t)(end - w->line.data));
            size_t rest = w->line.length - strlen(line) - 1;
            memmove(w->line.data, end + 1, rest);
            strb_truncate(&w->line, rest);
            return line;
        }
        struct pollfd p = {.fd = w->from, .events = POLLIN};
        if (poll(&p, 1, TEST_PATIENCE_MS) <= 0)
            fail_msg("the worker says nothing");
        char chunk[4096];
        ssize_t n = read(w->from, chunk, sizeof chunk);
        if (n <= 0)
            return NULL;
        strb_add_n(&w->line, chunk, (size_t)n);
    }
}

void test_worker_read(test_worker *w, message *out)
{
    kw_error err;
    char *line = test_worker_line(w);
    assert_non_null(line);
    if (message_parse(line, strlen(line), out, &err) != KW_OK)
        fail_msg("%s: %s", err.message, line);
    free(line);
}

void test_worker_send(test_worker *w, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(w->to, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        length -= (size_t)n;
    }
}

bool test_worker_do(test_worker *w, const job *j, job_record *out)
{
    strb line = STRB_INIT;
    job_print(j, &line);
    test_worker_send(w, line.data, line.length);
    strb_clear(&line);
    w->n_stages = 0;
    memset(out, 0, sizeof *out);
    for (char *answer; (answer = test_worker_line(w)) != NULL;) {
        message m;
        kw_error err;
        if (message_parse(answer, strlen(answer), &m, &err) != KW_OK)
            fail_msg("%s: %s", err.message, answer);
        free(answer);
        if (m.type == MESSAGE_STAGE && w->n_stages < sizeof w->stages / sizeof w->stages[0])
            w->stages[w->n_stages++] = m.stage;
        if (m.type != MESSAGE_ERROR)
            assert_int_equal(m.id, j->id);
        bool done = m.type == MESSAGE_RESULT;
        if (done) {
            *out = m.record;
            memset(&m.record, 0, sizeof m.record);
        }
        message_clear(&m);
        if (done)
            return true;
    }
    return false;
}

int test_worker_end(test_worker *w)
{
    int status = 0;
    close(w->to);
    for (char *line; (line = test_worker_line(w)) != NULL;)
        free(line);
    close(w->from);
    strb_clear(&w->line);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    return status;
}

void test_worker_refuses(test_worker *w, const job *j, kw_code code, const char *part)
{
    strb line = STRB_INIT;
    message m;
    job_print(j, &line);
    test_worker_send(w, line.data, line.length);
    strb_clear(&line);
    for (;;) {
        test_worker_read(w, &m);
        if (m.type != MESSAGE_STAGE)
            break;
        message_clear(&m);
    }
    assert_int_equal(m.type, MESSAGE_ERROR);
    assert_int_equal(m.error.code, code);
    if (!strstr(m.error.message, part))
        fail_msg("\"%s\" is not in: %s", part, m.error.message);
    message_clear(&m);
    int status = test_worker_end(w);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}
