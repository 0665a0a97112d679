#include "base/subprocess.h"
#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static subprocess_result r;

static int clear(void **state)
{
    (void)state;
    subprocess_result_clear(&r);
    return 0;
}

/* Runs a shell script; the deadline only keeps a broken test from hanging. */
static void shell(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    subprocess_spec spec = {.argv = argv, .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
}

static void both_streams_and_status(void **state)
{
    (void)state;
    shell("echo out; echo err >&2; exit 7");
    assert_string_equal(strb_text(&r.output), "out\n");
    assert_string_equal(strb_text(&r.errors), "err\n");
    assert_int_equal(r.status, 7);
    assert_int_equal(r.signal, 0);
    assert_false(r.timed_out);
    assert_false(r.output_cut);
    assert_true(r.wall_ns > 0);
}

static void arguments_arrive_as_they_are(void **state)
{
    (void)state;
    const char *const argv[] = {"printf", "%s|", "a b", "", "$HOME", "'\"*", NULL};
    subprocess_spec spec = {.argv = argv, .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_string_equal(strb_text(&r.output), "a b||$HOME|'\"*|");
}

static void input_output_larger_than_a_pipe(void **state)
{
    (void)state;
    enum { N = 300000 };
    char *text = mem_alloc(N);
    memset(text, 'x', N);
    const char *const argv[] = {"cat", NULL};
    subprocess_spec spec = {.argv = argv, .input = text, .input_length = N, .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_int_equal(r.output.length, N);
    assert_memory_equal(r.output.data, text, N);
    assert_int_equal(r.status, 0);
    free(text);
}

static void unread_input_is_no_failure(void **state)
{
    (void)state;
    enum { N = 1000000 };
    char *text = mem_calloc(N, 1);
    const char *const argv[] = {"sh", "-c", "exec 0<&-; sleep 0.1; echo done", NULL};
    subprocess_spec spec = {.argv = argv, .input = text, .input_length = N, .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_string_equal(strb_text(&r.output), "done\n");
    free(text);
}

static void without_input_there_is_nothing_to_read(void **state)
{
    (void)state;
    shell("cat; echo end");
    assert_string_equal(strb_text(&r.output), "end\n");
}

static void output_is_cut_and_the_child_still_ends(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "head -c 500000 /dev/zero | tr '\\0' y; echo e >&2", NULL};
    subprocess_spec spec = {.argv = argv, .max_output_bytes = 1000, .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_true(r.output_cut);
    assert_int_equal(r.output.length, 1000);
    assert_string_equal(strb_text(&r.errors), "e\n");
    assert_int_equal(r.status, 0);
}

static void signals_are_told(void **state)
{
    (void)state;
    shell("kill -SEGV $$");
    assert_int_equal(r.signal, SIGSEGV);
    assert_int_equal(r.status, -1);
    const subprocess_spec spec = {0};
    char *text = subprocess_describe(&spec, &r);
    assert_string_equal(text, "killed by signal 11 (Segmentation fault)");
    free(text);
}

/* The grandchild holds our pipe and would write the marker file; the whole group must go. */
static void deadline_ends_the_whole_group(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "sh -c 'echo $$; sleep 600' & wait", NULL};
    subprocess_spec spec = {.argv = argv, .timeout_ms = 400};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGKILL);
    char *text = subprocess_describe(&spec, &r);
    assert_string_equal(text, "did not end within 400 ms");
    free(text);
    if (r.output.length == 0) /* a very busy machine: the grandchild had not even started */
        return;
    /* killed, but perhaps still a zombie that nobody has reaped, or not yet gone */
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", atoi(strb_text(&r.output)));
    for (int tries = 0; tries < 200; tries++) {
        char line[256] = "";
        FILE *f = fopen(path, "r");
        if (f && !fgets(line, sizeof line, f))
            line[0] = '\0';
        if (f)
            fclose(f);
        if (!f || strstr(line, ") Z ") || strstr(line, ") X "))
            return;
        usleep(50000);
    }
    fail_msg("the grandchild %s lives on", path);
}

/* A background process that keeps the pipe must not keep us. */
static void leftover_process_does_not_hold_us(void **state)
{
    (void)state;
    shell("sleep 600 & echo $!");
    assert_string_not_equal(strb_text(&r.output), "");
    assert_int_equal(r.status, 0);
    assert_true(r.wall_ns < INT64_C(300000000000));
    kill(atoi(strb_text(&r.output)), SIGKILL);
}

static void environment_and_folder(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo $KW_A-$KW_B; pwd", NULL};
    const char *const extra[] = {"KW_A=new", "KW_B=", NULL};
    setenv("KW_A", "old", 1);
    setenv("KW_B", "old", 1);
    subprocess_spec spec = {.argv = argv, .extra_env = extra, .folder = "/", .timeout_ms = 60000};
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_string_equal(strb_text(&r.output), "new-\n/\n");
    assert_string_equal(getenv("KW_A"), "old");
}

static void what_cannot_start_is_an_error(void **state)
{
    (void)state;
    const char *const argv[] = {"no-such-program-here", NULL};
    subprocess_spec spec = {.argv = argv, .input = "x", .input_length = 1, .timeout_ms = 1000};
    kw_error err = {0};
    assert_int_equal(subprocess_run(&spec, &r, &err), KW_ENVIRONMENT);
    assert_string_equal(err.message, "cannot run no-such-program-here: no such file or directory");
}

static void signals_of_the_caller_are_as_before(void **state)
{
    (void)state;
    /* the child gets no blocked signals from us, and we get our mask back */
    shell("grep SigBlk /proc/self/status");
    assert_string_equal(strb_text(&r.output), "SigBlk:\t0000000000000000\n");
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGPIPE), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, clear)
    const struct CMUnitTest tests[] = {
        TEST(both_streams_and_status),
        TEST(arguments_arrive_as_they_are),
        TEST(input_output_larger_than_a_pipe),
        TEST(unread_input_is_no_failure),
        TEST(without_input_there_is_nothing_to_read),
        TEST(output_is_cut_and_the_child_still_ends),
        TEST(signals_are_told),
        TEST(deadline_ends_the_whole_group),
        TEST(leftover_process_does_not_hold_us),
        TEST(environment_and_folder),
        TEST(what_cannot_start_is_an_error),
        TEST(signals_of_the_caller_are_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
