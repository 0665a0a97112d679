/* Who uses the device when: workers that write down when they verify and when they time. Run with "turns" as argument
 * this program is such a worker. */
#include "tests/support_evaluator.h"

#include "base/fs.h"
#include "base/mem.h"
#include "device/fake.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the worker ---- */

/* Lines in the order in which they were written, whoever wrote them: $LOG, opened for appending. */
static void note(const char *what, const char *stage_text, int64_t id)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %s %d\n", what, stage_text, (int)id);
    int fd = open(getenv("LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        _exit(9);
    close(fd);
}

static bool is_noted(const char *line)
{
    strb text = STRB_INIT;
    bool found = fs_read(getenv("LOG"), 0, &text, NULL) == KW_OK && strstr(strb_text(&text), line);
    strb_clear(&text);
    return found;
}

static void wait_for(const char *line)
{
    for (int i = 0; !is_noted(line); i++) {
        if (i == 2000)
            _exit(8);
        usleep(10000);
    }
}

static void put(strb *line)
{
    if (write(STDOUT_FILENO, line->data, line->length) != (ssize_t)line->length)
        _exit(7);
    strb_clear(line);
}

/* Nothing is to be said to who waits but "go". */
static void wait_for_turn(int64_t id, stage s)
{
    strb line = STRB_INIT;
    char *text = NULL;
    size_t capacity = 0;
    job_turn_print(id, s, TURN_WAIT, &line);
    put(&line);
    ssize_t n = getline(&text, &capacity, stdin);
    if (n <= 0 || !job_is_go(text, (size_t)n - 1, id))
        _exit(5);
    free(text);
}

/* The first two candidates verify beside each other, or wait in vain. */
static void evaluate(const job *j)
{
    strb line = STRB_INIT;
    if (j->turns != TURNS_ALL)
        _exit(4);
    wait_for_turn(j->id, STAGE_SMOKE);
    note("begin", "verify", j->id);
    if (j->id <= 2)
        wait_for(j->id == 1 ? "begin verify 2\n" : "begin verify 1\n");
    note("end", "verify", j->id);
    wait_for_turn(j->id, STAGE_TIME);
    note("begin", "time", j->id);
    usleep(2000);
    note("end", "time", j->id);
    if (j->id % 2)
        return; /* with the result */
    job_turn_print(j->id, STAGE_TIME, TURN_OVER, &line);
    put(&line);
    usleep(2000);
}

static void answer(const char *text, size_t length)
{
    arena *memory = arena_new();
    job j;
    task *t;
    kw_error err = {0};
    strb out = STRB_INIT;
    double samples[] = {100, 100, 100};
    if (job_parse(text, length, memory, &j, &t, &err) != KW_OK)
        _exit(6);
    job_stage_print(j.id, STAGE_COMPILE, &out);
    put(&out);
    job_record r = {.outcome = OUTCOME_OK, .stage = STAGE_DONE, .registers = -1, .spill_bytes = -1, .local_bytes = -1};
    if (j.mode == JOB_EVALUATE) {
        evaluate(&j);
        r.samples_ns = samples;
        r.n_samples = 3;
        r.method = timing_method_name(TIMING_EVENTS);
    }
    job_record_print(j.id, &r, &out);
    put(&out);
    task_free(t);
    arena_free(memory);
}

static int worker(void)
{
    device_info d;
    memset(&d, 0, sizeof d);
    d.limits = *fake_limits();
    d.limits.is_gpu = true;
    snprintf(d.spec, sizeof d.spec, "fake:0");
    snprintf(d.key, sizeof d.key, "fake/test/turns/1");
    message hello = {.type = MESSAGE_HELLO, .physical_cores = 2, .devices = &d, .n_devices = 1};
    strb out = STRB_INIT;
    job_hello_print(&hello, &out);
    put(&out);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0)
        answer(line, (size_t)n - 1);
    free(line);
    return 0;
}

/* ---- the test ---- */

static void alone_while_timing(void **state)
{
    (void)state;
    kw_error err = {0};
    char *folder = fs_temp_folder("kernwright-test-turns-", &err), *self = fs_self_path();
    char *path = fs_join(folder, "log"), what[16], of[16];
    strb command = STRB_INIT;
    strb_printf(&command, "exec '%s' turns", self);
    setenv("LOG", path, 1);
    const evaluator_options o = {
        .worker_command = strb_text(&command), .compile_workers = 1, .timing_workers = 2, .run_ms = 60000};
    setting *s = setting_begin(&setting_plain, &o);
    s->folder = folder;
    for (uint32_t i = 0; i < 8; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int verifying = 0, timing = 0, n_timed = 0, id;
    bool together = false;
    while (fscanf(f, "%15s %15s %d", what, of, &id) == 3) {
        const int step = strcmp(what, "begin") == 0 ? 1 : -1;
        *(strcmp(of, "time") == 0 ? &timing : &verifying) += step;
        n_timed += step > 0 && strcmp(of, "time") == 0;
        together = together || verifying == 2;
        if (timing > 1 || (timing == 1 && verifying > 0))
            fail_msg("candidate %d: %d time, %d verify", id, timing, verifying);
    }
    fclose(f);
    assert_true(together);
    assert_int_equal(n_timed, 8);
    assert_int_equal(evaluator_restarts(s->e), 0);
    strb_clear(&command);
    free(path);
    free(self);
    setting_end(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "turns") == 0)
        return worker();
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(300); /* whoever waits for ever has failed */
    const struct CMUnitTest tests[] = {cmocka_unit_test(alone_while_timing)};
    return cmocka_run_group_tests_name("evaluator_turns", tests, NULL, NULL);
}
