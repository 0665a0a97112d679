/* Who uses the device when: workers that write down when they verify and when they time. Run with "turns" as argument
 * this program is such a worker. */
#include "tests/support_evaluator.h"

#include "base/fs.h"
#include "base/mem.h"
#include "device/fake.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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
        if (i == TEST_PATIENCE_MS / 10)
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
    note("begin", "check", j->id);
    job_turn_print(j->id, STAGE_TIME, TURN_OVER, &line);
    put(&line);
    usleep(20000);
    note("end", "check", j->id);
}

/* Dies as the system's killer of memory hogs does it, the first $KILLS times that it is to compile candidate 3. */
static void maybe_die(int64_t id)
{
    char path[1024];
    for (int i = 0; id == 3 && getenv("KILLS") && i < atoi(getenv("KILLS")); i++) {
        snprintf(path, sizeof path, "%s.killed.%d", getenv("LOG"), i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            raise(SIGKILL);
    }
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
    note("begin", "job", j.id);
    maybe_die(j.id);
    job_record r = {.outcome = OUTCOME_OK, .stage = STAGE_DONE, .registers = -1, .spill_bytes = -1, .local_bytes = -1};
    if (j.mode == JOB_EVALUATE) {
        evaluate(&j);
        r.samples_ns = samples;
        r.n_samples = 3;
        r.method = timing_method_name(TIMING_EVENTS);
    }
    note("end", "job", j.id);
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

/* ---- the tests ---- */

/* Two workers that verify and time, and eight candidates. */
static setting *begin(int compile_workers)
{
    kw_error err = {0};
    char *folder = fs_temp_folder("kernwright-test-turns-", &err), *self = fs_self_path(),
         *path = fs_join(folder, "log");
    strb command = STRB_INIT;
    strb_printf(&command, "exec '%s' turns", self);
    setenv("LOG", path, 1);
    const evaluator_options o = {.worker_command = strb_text(&command),
                                 .compile_workers = compile_workers,
                                 .timing_workers = 2,
                                 .run_ms = 2 * TEST_PATIENCE_MS};
    setting *s = setting_begin(&setting_plain, &o);
    s->folder = folder;
    for (uint32_t i = 0; i < 8; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    strb_clear(&command);
    free(path);
    free(self);
    return s;
}

static FILE *open_log(void)
{
    FILE *f = fopen(getenv("LOG"), "r");
    assert_non_null(f);
    return f;
}

static void alone_while_timing(setting *s)
{
    char what[16], of[16];
    setting_all_ok(s);
    FILE *f = open_log();
    int verifying = 0, timing = 0, checking = 0, n_timed = 0, id;
    bool together = false;
    while (fscanf(f, "%15s %15s %d", what, of, &id) == 3) {
        const int step = strcmp(what, "begin") == 0 ? 1 : -1;
        if (strcmp(of, "job") == 0)
            continue;
        if (strcmp(of, "check") == 0)
            checking += step;
        else
            *(strcmp(of, "time") == 0 ? &timing : &verifying) += step;
        n_timed += step > 0 && strcmp(of, "time") == 0;
        together = together || verifying == 2;
        if (timing > 1 || (timing == 1 && verifying + checking > 0))
            fail_msg("candidate %d: %d time, %d verify, %d are looked at", id, timing, verifying, checking);
    }
    fclose(f);
    assert_true(together);
    assert_int_equal(n_timed, 8);
    assert_int_equal(evaluator_restarts(s->e), 0);
    setting_end(s);
}

static void beside_compilers(void **state)
{
    (void)state;
    alone_while_timing(begin(1));
}

static void without_compilers(void **state)
{
    (void)state;
    alone_while_timing(begin(0));
}

/* How many jobs begin while candidate 3 is tried for the last time. */
static int beside_the_last_of_3(void)
{
    char what[16], of[16];
    int id, busy = 0, beside = 0;
    bool of_3 = false;
    FILE *f = open_log();
    while (fscanf(f, "%15s %15s %d", what, of, &id) == 3) {
        const bool is_begin = strcmp(what, "begin") == 0;
        if (strcmp(of, "job") != 0)
            continue;
        if (id == 3 && is_begin)
            beside = busy;
        else if (of_3 && is_begin)
            beside++;
        if (id == 3)
            of_3 = is_begin;
        else
            busy += is_begin ? 1 : -1;
    }
    fclose(f);
    return beside;
}

/* Killed for want of memory: another try with nothing beside it, and no third one. */
static void memory_is_short(void **state)
{
    (void)state;
    for (int kills = 1; kills <= 2; kills++) {
        setenv("KILLS", kills == 1 ? "1" : "2", 1);
        setting *s = begin(0);
        for (size_t i = 0; i < 8; i++)
            setting_next(s);
        unsetenv("KILLS");
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(s->c[i].record.outcome, i == 2 && kills == 2 ? OUTCOME_CRASH : OUTCOME_OK);
        if (kills == 1)
            assert_int_equal(beside_the_last_of_3(), 0);
        assert_int_equal(evaluator_restarts(s->e), kills);
        setting_end(s);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "turns") == 0)
        return worker();
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {cmocka_unit_test(beside_compilers), cmocka_unit_test(without_compilers),
                                       cmocka_unit_test(memory_is_short)};
    return cmocka_run_group_tests_name("evaluator_turns", tests, NULL, NULL);
}
