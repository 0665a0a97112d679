/* The sandbox: what a confined process may not do, and what hostile kernels get from it on a CPU device. */
#include "tests/support_worker.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tuner/sandbox.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a confined process ---- */

static void note_in_status(int system_call, const char *name)
{
    (void)system_call;
    (void)name;
}

/* Runs `body` confined in a child; the status as waitpid gives it. */
static int confined(sandbox_role role, int (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sandbox_before_open(role, 0);
        sandbox_after_open(role, note_in_status);
        _exit(body());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void expect_refused(int (*body)(void))
{
    int status = confined(SANDBOX_NATIVE, body);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void expect_end(sandbox_role role, int (*body)(void), int wanted)
{
    int status = confined(role, body);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
}

static int error_of(long result)
{
    return result < 0 ? errno : 0;
}

static int internet(void)
{
    return error_of(socket(AF_INET, SOCK_STREAM, 0));
}

static int internet_in_disguise(void)
{
    return error_of(syscall(SYS_socket, 0x7700000000L + AF_INET6, SOCK_DGRAM, 0));
}

static int local_socket(void)
{
    return error_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

#ifndef __SANITIZE_ADDRESS__ /* whose leak checker needs it */
static int trace(void)
{
    return error_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}
#endif

static int read_parent(void)
{
    char c;
    struct iovec here = {&c, 1}, there = {&c, 1};
    return error_of(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int kill_parent(void)
{
    return error_of(kill(getppid(), SIGTERM));
}

static int kill_group(void)
{
    return error_of(kill(0, SIGTERM));
}

static int change_user(void)
{
    return error_of(setuid(12345));
}

static int signal_itself(void)
{
    signal(SIGUSR1, SIG_IGN);
    return error_of(raise(SIGUSR1));
}

static int leave_group(void)
{
    int code = error_of(setpgid(0, 0));
    return code ? code : error_of(setsid());
}

static int outlive_parent(void)
{
    return error_of(prctl(PR_SET_PDEATHSIG, 0));
}

static int copy_itself(void)
{
    return error_of(fork());
}

static int use_ring(void)
{
    return error_of(syscall(SYS_io_uring_setup, 1, NULL));
}

static int run_program(void)
{
    int status = system("exit 7");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int dump_core(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max == 0;
}

static void need_filter(void)
{
    if (!sandbox_filter_exists()) {
        print_message("skipped: the system filters no calls\n");
        skip();
    }
}

static void test_attacks_end_the_process(void **state)
{
    (void)state;
    need_filter();
    expect_refused(internet);
    expect_refused(internet_in_disguise);
    expect_refused(read_parent);
    expect_refused(kill_parent);
    expect_refused(kill_group);
    expect_refused(change_user);
#ifndef __SANITIZE_ADDRESS__
    expect_refused(trace);
#endif
}

static void test_probes_fail(void **state)
{
    (void)state;
    need_filter();
    expect_end(SANDBOX_NATIVE, local_socket, EPERM);
    expect_end(SANDBOX_NATIVE, leave_group, EPERM);
    expect_end(SANDBOX_NATIVE, outlive_parent, EPERM);
    expect_end(SANDBOX_NATIVE, copy_itself, EPERM);
    expect_end(SANDBOX_NATIVE, use_ring, EPERM);
}

static void test_the_ordinary_works(void **state)
{
    (void)state;
    expect_end(SANDBOX_NATIVE, signal_itself, 0);
    expect_end(SANDBOX_NATIVE, run_program, 7);
    expect_end(SANDBOX_NATIVE, dump_core, 1);
    expect_end(SANDBOX_DRIVER, local_socket, 0);
    expect_end(SANDBOX_DRIVER, run_program, 7);
    expect_end(SANDBOX_JUDGE, run_program, 7);
}

static void test_others_have_no_network_either(void **state)
{
    (void)state;
    need_filter();
    expect_end(SANDBOX_DRIVER, internet, EPERM);
    expect_end(SANDBOX_JUDGE, internet, EPERM);
    expect_end(SANDBOX_JUDGE, read_parent, EPERM);
}

static int write_into(const char *folder)
{
    char *path = fs_join(folder, "written");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), code = error_of(fd);
    free(path);
    return code;
}

static int write_home(void)
{
    return write_into(getenv("VICTIM"));
}

static int write_temporary(void)
{
    return write_into(getenv("TMPDIR"));
}

static int rename_temporary(void)
{
    char *from = fs_join(getenv("TMPDIR"), "written"), *folder = fs_join(getenv("TMPDIR"), "sub"),
         *to = fs_join(folder, "moved");
    int code = write_temporary();
    if (code == 0)
        code = error_of(mkdir(folder, 0700));
    return code == 0 ? error_of(rename(from, to)) : code;
}

static void test_files(void **state)
{
    (void)state;
    kw_error err;
    if (sandbox_files_version() == 0) {
        print_message("skipped: the system has no Landlock\n");
        skip();
    }
    char *victim = fs_temp_folder("kernwright-victim", &err), *own = fs_temp_folder("kernwright-own", &err);
    char *before = mem_strdup(getenv("TMPDIR") ? getenv("TMPDIR") : "");
    setenv("VICTIM", victim, 1);
    setenv("TMPDIR", own, 1);
    expect_end(SANDBOX_NATIVE, write_home, EACCES);
    expect_end(SANDBOX_NATIVE, rename_temporary, 0);
    expect_end(SANDBOX_JUDGE, write_home, 0);
    if (*before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    fs_remove_tree(victim);
    fs_remove_tree(own);
    free(victim);
    free(own);
    free(before);
}

static void test_off(void **state)
{
    (void)state;
    strb text = STRB_INIT;
    setenv("KERNWRIGHT_SANDBOX", "off", 1);
    expect_end(SANDBOX_NATIVE, internet, 0);
    assert_int_equal(sandbox_memory_limit((int64_t)8 << 30), 0);
    sandbox_describe(&text);
    assert_non_null(strstr(strb_text(&text), "off"));
    unsetenv("KERNWRIGHT_SANDBOX");
    strb_clear(&text);
    assert_int_equal(sandbox_memory_limit((int64_t)2 << 30), (int64_t)3 << 29); /* a control group's */
    assert_int_equal(sandbox_memory_limit(1000), (int64_t)1 << 30);
    assert_true(sandbox_memory_limit((int64_t)1 << 50) >= (uint64_t)3 << 48);
    setenv("KERNWRIGHT_MEMORY_MB", "300", 1);
    assert_int_equal(sandbox_memory_limit((int64_t)8 << 30), (int64_t)300 << 20);
    unsetenv("KERNWRIGHT_MEMORY_MB");
    assert_string_equal(sandbox_call_name(SYS_ptrace), "ptrace");
    assert_string_equal(sandbox_call_name(SYS_kill), "kill");
    assert_string_equal(sandbox_call_name(SYS_read), "?");
}

/* ---- private folders ---- */

static void test_folders(void **state)
{
    (void)state;
    kw_error err;
    char *root = fs_temp_folder("kernwright-root", &err),
         *before = mem_strdup(getenv("TMPDIR") ? getenv("TMPDIR") : "");
    setenv("TMPDIR", root, 1);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sandbox_folder f;
        sandbox_folder_make(&f);
        if (!f.path || write(ready[1], f.path, strlen(f.path) + 1) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    char path[4096];
    assert_true(read(ready[0], path, sizeof path) > 0);
    sandbox_sweep();
    assert_true(fs_is_folder(path)); /* its owner lives */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sandbox_sweep();
    assert_false(fs_is_folder(path));
    sandbox_folder own;
    sandbox_folder_make(&own);
    assert_string_equal(getenv("TMPDIR"), own.path);
    char *kept = mem_strdup(own.path);
    sandbox_folder_remove(&own);
    assert_false(fs_is_folder(kept));
    free(kept);
    close(ready[0]);
    close(ready[1]);
    if (*before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    fs_remove_tree(root);
    free(root);
    free(before);
}

/* ---- hostile kernels on a CPU device ---- */

typedef struct fixture {
    test_worker w;
    char spec[32];
} fixture;

static int start(void **state)
{
    fixture *f = mem_calloc(1, sizeof *f);
    message hello;
    test_worker_start(&f->w);
    test_worker_read(&f->w, &hello);
    for (size_t i = 0; i < hello.n_devices && !f->spec[0]; i++)
        if (strncmp(hello.devices[i].spec, "opencl:", 7) == 0 && hello.devices[i].limits.is_cpu &&
            !hello.devices[i].simulated)
            memcpy(f->spec, hello.devices[i].spec, sizeof f->spec);
    assert_true(strlen(hello.sandbox) > 0);
    message_clear(&hello);
    *state = f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    pid_t pid = f->w.pid;
    int status = test_worker_end(&f->w);
    size_t left = test_session_size(pid);
    free(f);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && left == 0 ? 0 : -1;
}

#ifdef __SANITIZE_ADDRESS__ /* reports it, and leaves in its own way */
#define SEGMENTATION_FAULT "ended with status 1"
#else
#define SEGMENTATION_FAULT "was killed by signal 11"
#endif

/* saxpy whose first work-item makes a system call before it does its work. */
static const char hostile[] =
    "long call(long number, long a, long b, long c)\n"
    "{\n"
    "    long result;\n"
    "    __asm__ volatile(\"syscall\" : \"=a\"(result) : \"a\"(number), \"D\"(a), \"S\"(b), \"d\"(c)\n"
    "                     : \"rcx\", \"r11\", \"memory\");\n"
    "    return result;\n"
    "}\n"
    "__kernel void fake_saxpy(int n, float a, __global const float *x, __global float *y)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i >= n)\n"
    "        return;\n"
    "    float old = y[i];\n"
    "    y[i] = a * x[i] + old;\n"
    "    if (i == 0) {\n"
    "        %s\n"
    "    }\n"
    "}\n";

static job_record attack(fixture *f, const char *deed)
{
    char source[4096];
    test_job tj;
    job_record r;
    snprintf(source, sizeof source, hostile, deed);
    test_job_make(&tj, "saxpy", "");
    test_job_add(&tj, "N=200", DIST_NORMAL, 5);
    tj.j.device = f->spec;
    tj.j.source = source;
    assert_true(test_worker_do(&f->w, &tj.j, &r));
    test_job_clear(&tj);
    return r;
}

static void expect(fixture *f, const char *deed, outcome o, const char *part)
{
    job_record r = attack(f, deed);
    if (r.outcome != o || (part && (!r.detail || !strstr(r.detail, part))))
        fail_msg("%s, not %s with \"%s\": %s", outcome_name(r.outcome), outcome_name(o), part ? part : "",
                 r.detail ? r.detail : "(no detail)");
    job_record_clear(&r);
}

/* The kernels above speak one machine's language, and not every compiler of a driver bears with that (PoCL 5 does not):
 * a harmless call has to arrive. 39 is getpid. */
static void need_native_kernels(fixture *f)
{
    bool good = false;
#ifdef __x86_64__
    if (f->spec[0] && sandbox_filter_exists()) {
        job_record r = attack(f, "char text[] = \"/dev/null\"; long pid = call(39, (long)text, 0, 0); "
                                 "if (pid > 0) y[0] = 123456;");
        good = r.outcome == OUTCOME_WRONG && strstr(r.detail, "y[0] is 123456");
        job_record_clear(&r);
    }
#endif
    if (!good) {
        print_message("skipped: no CPU device that runs native kernels\n");
        skip();
    }
}

static void test_hostile_kernels(void **state)
{
    fixture *f = *state;
    need_native_kernels(f);
    expect(f, "", OUTCOME_OK, NULL);
    expect(f, "call(41, 2, 1, 0);", OUTCOME_CRASH, "refused system call 41 (socket)");
    expect(f, "call(62, call(110, 0, 0, 0), 15, 0);", OUTCOME_CRASH, "refused system call 62 (kill)");
    expect(f, "call(105, 1000, 0, 0);", OUTCOME_CRASH, "refused system call 105 (setuid)");
    /* What fails without a signal is seen in the result: -1 is EPERM. */
    expect(f, "y[0] = (float)call(57, 0, 0, 0);", OUTCOME_WRONG, "y[0] is -1, expected");  /* fork */
    expect(f, "y[0] = (float)call(112, 0, 0, 0);", OUTCOME_WRONG, "y[0] is -1, expected"); /* setsid */
    expect(f, "y[0] = (float)call(41, 1, 1, 0);", OUTCOME_WRONG, "y[0] is -1, expected");  /* a local socket */
    expect(f, "y[0] = (float)call(157, 1, 0, 0);", OUTCOME_WRONG, "y[0] is -1, expected"); /* outlive the worker */
    expect(f, "", OUTCOME_OK, NULL);
}

/* The worker's memory, with the expected values in it, is closed: -13 is EACCES. */
static void test_no_look_at_expected_values(void **state)
{
    fixture *f = *state;
    char deed[512];
    need_native_kernels(f);
    snprintf(deed, sizeof deed, "char path[] = \"/proc/%ld/mem\"; y[0] = (float)call(2, (long)path, 0, 0);",
             (long)f->w.pid);
    expect(f, deed, OUTCOME_WRONG, "y[0] is -13, expected");
    snprintf(deed, sizeof deed, "char path[] = \"/proc/%ld/fd/10\"; y[0] = (float)call(2, (long)path, 1, 0);",
             (long)f->w.pid);
    expect(f, deed, OUTCOME_WRONG, "y[0] is -13, expected"); /* nor does it get at the protocol */
}

/* The one child that runs kernels, and how many threads it has. */
static pid_t runner_of(pid_t worker, size_t *threads)
{
    char path[80];
    long runner = 0, more = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)worker, (long)worker);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%ld", &runner) != 1 || fscanf(f, "%ld", &more) == 1)
        runner = 0;
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "/proc/%ld/task", runner);
    DIR *tasks = opendir(path);
    *threads = 0;
    for (struct dirent *e; tasks && (e = readdir(tasks)) != NULL;)
        *threads += e->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return (pid_t)runner;
}

/* A thread of the runner that waits for ever: it would be there while the next candidate is timed. */
static const char leaves_thread[] =
    "long result;\n"
    "__asm__ volatile(\"xorl %%r10d, %%r10d\\n\\tsyscall\\n\\ttestq %%rax, %%rax\\n\\tjnz 2f\\n\"\n"
    "                 \"1:\\tmovl $34, %%eax\\n\\tsyscall\\n\\tjmp 1b\\n2:\"\n"
    "                 : \"=a\"(result) : \"a\"(56), \"D\"(0x50f00), \"S\"(0), \"d\"(0)\n"
    "                 : \"rcx\", \"r8\", \"r10\", \"r11\", \"memory\");\n"
    "if (result < 0) y[0] = (float)result;";

static void test_no_thread_is_left(void **state)
{
    fixture *f = *state;
    size_t usual, now;
    need_native_kernels(f);
    expect(f, "", OUTCOME_OK, NULL);
    const pid_t first = runner_of(f->w.pid, &usual);
    if (first <= 0) {
        print_message("skipped: the system does not list children\n");
        skip();
    }
    /* An ordinary candidate leaves the runner as it was. */
    expect(f, "y[i] += 0.0f;", OUTCOME_OK, NULL);
    assert_int_equal(runner_of(f->w.pid, &now), first);
    assert_int_equal(now, usual);
    /* The kernel is right, and its result counts; its process ends. */
    expect(f, leaves_thread, OUTCOME_OK, NULL);
    const pid_t second = runner_of(f->w.pid, &now);
    assert_true(second > 0 && second != first);
    assert_int_equal(now, usual);
    expect(f, "", OUTCOME_OK, NULL);
    assert_int_equal(runner_of(f->w.pid, &now), second);
    /* Again: the first time taught nothing wrong. */
    expect(f, leaves_thread, OUTCOME_OK, NULL);
    assert_true(runner_of(f->w.pid, &now) != second);
    assert_int_equal(now, usual);
}

static void test_no_writing_elsewhere(void **state)
{
    fixture *f = *state;
    char deed[4096];
    kw_error err;
    need_native_kernels(f);
    if (sandbox_files_version() == 0) {
        print_message("skipped: the system has no Landlock\n");
        skip();
    }
    char *folder = fs_temp_folder("kernwright-victim", &err);
    snprintf(deed, sizeof deed, "char path[] = \"%s/file\"; y[0] = (float)call(2, (long)path, 0x41, 0600);", folder);
    expect(f, deed, OUTCOME_WRONG, "y[0] is -13, expected");
    char *path = fs_join(folder, "file");
    assert_false(fs_is_file(path));
    free(path);
    fs_remove_tree(folder);
    free(folder);
}

/* A program that a kernel starts (vfork, then execve) is ended with the runner, also when the runner dies of itself. */
static void test_no_process_is_left(void **state)
{
    fixture *f = *state;
    need_native_kernels(f);
    const char *leave = "char path[] = \"/bin/sleep\", time[] = \"1000\"; "
                        "char *args[3]; args[0] = path; args[1] = time; args[2] = 0; "
                        "if (call(58, 0, 0, 0) == 0) { call(59, (long)path, (long)args, 0); call(60, 1, 0, 0); } "
                        "*(volatile __global int *)8 = 1;";
    expect(f, leave, OUTCOME_CRASH, SEGMENTATION_FAULT);
    expect(f, "", OUTCOME_OK, NULL);
    assert_int_equal(test_session_size(f->w.pid), 2); /* the worker and its runner */
}

static void test_eats_memory(void **state)
{
    (void)state;
    fixture *f;
    setenv("KERNWRIGHT_MEMORY_MB", "1500", 1);
    start((void **)&f);
    unsetenv("KERNWRIGHT_MEMORY_MB");
    if (!f->spec[0]) {
        end((void **)&f);
        print_message("skipped: no CPU device\n");
        skip();
    }
    need_native_kernels(f);
    /* mmap of shared memory, 64 MiB at a time: no limit of the process counts it, the watch does. */
    expect(f,
           "for (int k = 0; k < 1000; k++) {\n"
           "    long p;\n"
           "    __asm__ volatile(\"movl $33, %%r10d; movq $-1, %%r8; xorl %%r9d, %%r9d; syscall\" : \"=a\"(p) : "
           "\"a\"(9L), "
           "\"D\"(0L), \"S\"(1L << 26), \"d\"(3L) : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");\n"
           "    for (long at = 0; at < 1 << 26; at += 4096) ((volatile char *)p)[at] = 1;\n"
           "}",
           OUTCOME_CRASH, "it held more than 1500 MiB of memory");
    expect(f, "", OUTCOME_OK, NULL);
    assert_int_equal(end((void **)&f), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, start, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks_end_the_process),
        cmocka_unit_test(test_probes_fail),
        cmocka_unit_test(test_the_ordinary_works),
        cmocka_unit_test(test_others_have_no_network_either),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_folders),
        WITH_WORKER(test_hostile_kernels),
        WITH_WORKER(test_no_thread_is_left),
        WITH_WORKER(test_no_look_at_expected_values),
        WITH_WORKER(test_no_writing_elsewhere),
        WITH_WORKER(test_no_process_is_left),
        cmocka_unit_test(test_eats_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
