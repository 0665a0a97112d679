/* The evaluator: what is sent when. A worker of this test keeps a log of what it was asked for, so that order can be
 * seen. */
#include "tests/support_evaluator.h"

#include "base/fs.h"
#include "base/mem.h"

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

/* ---- the worker with a log ---- */

/* Lines in the order in which they were written, whoever wrote them: $LOG, opened for appending. */
static void log_event(const char *what, const char *mode, int64_t id)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %s %d\n", what, mode, (int)id);
    int fd = open(getenv("LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        _exit(9);
    close(fd);
}

static bool log_has(const char *line)
{
    strb text = STRB_INIT;
    bool found = fs_read(getenv("LOG"), 0, &text, NULL) == KW_OK && strstr(strb_text(&text), line);
    strb_clear(&text);
    return found;
}

/* $MEET is a list such as "compile 2=evaluate 1;": the left one does not end before the right one has begun. Whoever
 * waits in vain dies. */
static void meet(const char *mode, int64_t id)
{
    char key[64], other[64];
    snprintf(key, sizeof key, "%s %d=", mode, (int)id);
    const char *entry = getenv("MEET") ? strstr(getenv("MEET"), key) : NULL;
    if (!entry)
        return;
    entry += strlen(key);
    snprintf(other, sizeof other, "begin %.*s\n", (int)strcspn(entry, ";"), entry);
    for (int i = 0; !log_has(other); i++) {
        if (i == TEST_PATIENCE_MS / 10)
            _exit(8);
        usleep(10000);
    }
}

static void put(const strb *line)
{
    if (write(STDOUT_FILENO, line->data, line->length) != (ssize_t)line->length)
        _exit(7);
}

static const char *name_of_mode(job_mode mode)
{
    switch (mode) {
    case JOB_COMPILE:
        return "compile";
    case JOB_VERIFY:
        return "verify";
    case JOB_EVALUATE:
        return "evaluate";
    case JOB_CHECK:
        return "check";
    case JOB_PROBE:
        return "probe";
    case JOB_BINARY:
        return "binary";
    case JOB_TIME:
        break;
    }
    return "time";
}

/* Dies as the system's killer of memory hogs does it, the first $KILLS times that candidate 3 is compiled. */
static void maybe_die(job_mode mode, int64_t id)
{
    const char *kills = getenv("KILLS"), *log = getenv("LOG");
    char path[1024];
    if (!kills || mode != JOB_COMPILE || id != 3)
        return;
    for (int i = 0; i < atoi(kills); i++) {
        snprintf(path, sizeof path, "%s.killed.%d", log, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
            continue;
        log_event("end", "compile", id);
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
    log_event("begin", name_of_mode(j.mode), j.id);
    job_stage_print(j.id, STAGE_COMPILE, &out);
    put(&out);
    maybe_die(j.mode, j.id);
    meet(name_of_mode(j.mode), j.id);
    log_event("end", name_of_mode(j.mode), j.id);
    job_record r = {.outcome = OUTCOME_OK, .stage = STAGE_DONE, .registers = -1, .spill_bytes = -1, .local_bytes = -1};
    if (getenv("BAD") && j.mode == JOB_COMPILE && j.id <= atoi(getenv("BAD"))) /* the first do not compile */
        r.outcome = OUTCOME_COMPILE_ERROR;
    r.compile_ms = j.mode == JOB_COMPILE ? 7 : 1;
    r.registers = j.mode == JOB_COMPILE ? 33 : -1;
    if (j.mode == JOB_EVALUATE || j.mode == JOB_TIME) {
        r.samples_ns = samples;
        r.n_samples = 3;
        r.method = timing_method_name(TIMING_EVENTS);
        r.verify_ms = 2;
        r.time_ms = 3;
    }
    strb_reset(&out);
    job_record_print(j.id, &r, &out);
    put(&out);
    strb_clear(&out);
    task_free(t);
    arena_free(memory);
}

static int logging_worker(bool is_cpu)
{
    device_info d;
    memset(&d, 0, sizeof d);
    d.limits = *fake_limits();
    d.limits.is_cpu = is_cpu;
    d.limits.is_gpu = !is_cpu;
    snprintf(d.spec, sizeof d.spec, "fake:0");
    snprintf(d.key, sizeof d.key, "fake/test/log/1");
    snprintf(d.name, sizeof d.name, "Log");
    message hello;
    memset(&hello, 0, sizeof hello);
    hello.type = MESSAGE_HELLO;
    hello.physical_cores = 2;
    hello.devices = &d;
    hello.n_devices = 1;
    strb out = STRB_INIT;
    job_hello_print(&hello, &out);
    put(&out);
    strb_clear(&out);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0)
        answer(line, (size_t)n - 1);
    free(line);
    return 0;
}

/* A logging evaluator; ends with end_logging. */
static setting *begin_logging(const char *kind, int compile_workers, const char *meetings)
{
    kw_error err = {0};
    char *folder = fs_temp_folder("kernwright-test-evaluator-", &err), *self = fs_self_path();
    char *path = fs_join(folder, "log");
    strb command = STRB_INIT;
    strb_printf(&command, "exec '%s' %s", self, kind);
    setenv("LOG", path, 1);
    setenv("MEET", meetings, 1);
    const evaluator_options o = {.worker_command = strb_text(&command), .compile_workers = compile_workers};
    setting *s = setting_begin(&setting_plain, &o);
    s->folder = folder;
    strb_clear(&command);
    free(path);
    free(self);
    return s;
}

/* ---- order ---- */

/* The most jobs of each mode that were under way at once, and whether compiling and evaluating ever were together. */
typedef struct order {
    int compiling, evaluating, n_compile, n_evaluate;
    bool together, out_of_order;
    int n_direct; /* evaluated without having been compiled before */
    int phases;   /* changes from evaluating to compiling */
} order;

static order read_log(const setting *s)
{
    order o = {0};
    int c = 0, v = 0;
    char *path = fs_join(s->folder, "log"), what[16], mode[16], last[16] = "";
    bool compiled[SETTING_CANDIDATES + 1] = {false};
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int id;
    while (fscanf(f, "%15s %15s %d", what, mode, &id) == 3) {
        bool is_begin = strcmp(what, "begin") == 0, is_compile = strcmp(mode, "compile") == 0;
        *(is_compile ? &c : &v) += is_begin ? 1 : -1;
        if (is_begin && is_compile && strcmp(last, "compile") != 0)
            o.phases++;
        if (is_begin)
            memcpy(last, mode, sizeof last);
        if (is_begin)
            ++*(is_compile ? &o.n_compile : &o.n_evaluate);
        if (is_compile && !is_begin)
            compiled[id] = true;
        if (!is_compile && is_begin && !compiled[id]) {
            o.out_of_order = o.out_of_order || id > 1;
            o.n_direct++;
        }
        o.compiling = c > o.compiling ? c : o.compiling;
        o.evaluating = v > o.evaluating ? v : o.evaluating;
        o.together = o.together || (c > 0 && v > 0);
    }
    fclose(f);
    free(path);
    return o;
}

/* The timing worker and the compilers work at the same time: each of the two waits for the other. The very first
 * candidate waits for nobody. */
static void gpu_overlaps(void **state)
{
    (void)state;
    setting *s = begin_logging("gpu-log", 1,
                               "compile 2=evaluate 1;evaluate 1=compile 2;compile 4=evaluate 3;evaluate 3=compile 4;");
    for (uint32_t i = 0; i < 5; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    order o = read_log(s);
    assert_true(o.together);
    assert_false(o.out_of_order);
    assert_int_equal(o.n_compile, 4);
    assert_int_equal(o.n_evaluate, 5);
    assert_int_equal(o.n_direct, 1);
    assert_int_equal(o.evaluating, 1);
    setting_end(s);
}

/* The first after a pause, too: another shape begins with other inputs. */
static void gpu_begins_at_once(void **state)
{
    (void)state;
    setting *s = begin_logging("gpu-log", 1, "");
    for (uint32_t i = 0; i < 2; i++) {
        candidate *c = setting_add(s, i, CANDIDATE_TARGET, "N=100");
        assert_ptr_equal(setting_next(s), c);
        assert_int_equal(c->record.outcome, OUTCOME_OK);
    }
    order o = read_log(s);
    assert_int_equal(o.n_compile, 0);
    assert_int_equal(o.n_evaluate, 2);
    setting_end(s);
}

/* Compilers work side by side, but never while something is timed. */
static void cpu_alternates(void **state)
{
    (void)state;
    setting *s = begin_logging("cpu-log", 2, "compile 1=compile 2;compile 2=compile 1;");
    for (uint32_t i = 0; i < 8; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    order o = read_log(s);
    assert_false(o.together);
    assert_int_equal(o.n_direct, 0);
    assert_int_equal(o.compiling, 2);
    assert_int_equal(o.evaluating, 1);
    assert_int_equal(o.n_compile, 8);
    assert_int_equal(o.n_evaluate, 8);
    assert_int_equal(o.phases, 2); /* four are compiled ahead, then timed, twice */
    setting_end(s);
}

/* A whole turn of candidates that do not compile: there is nothing to time, and the next ones get theirs. */
static void cpu_turns_without_success(void **state)
{
    (void)state;
    setenv("BAD", "6", 1);
    setting *s = begin_logging("cpu-log", 2, "");
    for (uint32_t i = 0; i < 8; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(setting_next(s)->record.outcome, i < 6 ? OUTCOME_COMPILE_ERROR : OUTCOME_OK);
    setting_end(s);
    unsetenv("BAD");
}

/* Retiming and general verification use what is compiled already. */
static void no_second_compile(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < 2; cpu++) {
        setting *s = begin_logging(cpu ? "cpu-log" : "gpu-log", 2, "");
        setting_add(s, 0, CANDIDATE_RETIME, "N=100");
        setting_add(s, 0, CANDIDATE_GENERAL, "N=100");
        setting_all_ok(s);
        order o = read_log(s);
        assert_int_equal(o.n_compile, 0);
        assert_int_equal(o.n_evaluate, 2);
        setting_end(s);
    }
}

static void one_worker_does_all(void **state)
{
    (void)state;
    setting *s = begin_logging("cpu-log", 0, "");
    assert_int_equal(evaluator_depth(s->e), 1);
    for (uint32_t i = 0; i < 3; i++)
        setting_add(s, i, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    assert_int_equal(read_log(s).n_compile, 0);
    setting_end(s);
}

/* Candidates whose compilation was under way together with the last one of candidate 3. */
static int beside_the_last_of_3(const setting *s)
{
    char *path = fs_join(s->folder, "log"), what[16], mode[16];
    FILE *f = fopen(path, "r");
    int id, open_now = 0, beside = 0;
    bool at_it = false;
    assert_non_null(f);
    while (fscanf(f, "%15s %15s %d", what, mode, &id) == 3) {
        bool begins = strcmp(what, "begin") == 0;
        if (strcmp(mode, "compile") != 0)
            continue;
        if (id == 3 && begins)
            beside = open_now;
        else if (at_it && begins)
            beside++;
        if (id == 3)
            at_it = begins;
        open_now += begins ? 1 : -1;
    }
    fclose(f);
    free(path);
    return beside;
}

/* A compiler that was killed for want of memory has another try with nothing beside it, and no third one. */
static void memory_is_short(void **state)
{
    (void)state;
    for (int kills = 1; kills <= 2; kills++) {
        char text[8];
        snprintf(text, sizeof text, "%d", kills);
        setenv("KILLS", text, 1);
        setting *s = begin_logging("gpu-log", 2, "");
        for (uint32_t i = 0; i < 7; i++)
            setting_add(s, i, CANDIDATE_TARGET, "N=100");
        for (size_t i = 0; i < 7; i++)
            setting_next(s);
        unsetenv("KILLS");
        for (size_t i = 0; i < 7; i++)
            assert_int_equal(s->c[i].record.outcome, i == 2 && kills == 2 ? OUTCOME_CRASH : OUTCOME_OK);
        if (kills == 2)
            assert_non_null(strstr(s->c[2].record.detail, "signal 9"));
        order o = read_log(s);
        assert_int_equal(o.n_compile, 7); /* 2 to 7, and 3 once more */
        assert_int_equal(beside_the_last_of_3(s), 0);
        setting_end(s);
    }
}

/* The cost of compiling and the compiler's figures are those of the real build, not of the one from the cache. */
static void figures_of_the_first_build(void **state)
{
    (void)state;
    setting *s = begin_logging("gpu-log", 1, "");
    candidate *first = setting_add(s, 0, CANDIDATE_TARGET, "N=100"), *c = setting_add(s, 1, CANDIDATE_TARGET, "N=100");
    assert_ptr_equal(setting_next(s), first); /* compiled by the timing worker */
    assert_true(first->record.compile_ms < 1.1);
    assert_ptr_equal(setting_next(s), c);
    assert_true(c->record.compile_ms > 6.9);
    assert_int_equal(c->record.registers, 33);
    assert_int_equal(c->record.n_samples, 3);
    assert_string_equal(c->record.method, "events");
    setting_end(s);
}

static void traced(void **state)
{
    (void)state;
    trace *t = trace_new();
    setting *s = begin_logging("gpu-log", 1, "");
    evaluator_close(s->e);
    char *self = fs_self_path();
    strb command = STRB_INIT;
    strb_printf(&command, "exec '%s' gpu-log", self);
    const evaluator_options o = {.worker_command = strb_text(&command), .compile_workers = 1, .trace = t};
    setting_open(s, &o);
    setting_add(s, 0, CANDIDATE_TARGET, "N=100");
    setting_add(s, 1, CANDIDATE_TARGET, "N=100");
    setting_all_ok(s);
    char *path = fs_join(s->folder, "trace.json");
    kw_error err = {0};
    assert_int_equal(trace_write(t, path, &err), KW_OK);
    json *j = json_parse_file(path, &err);
    assert_non_null(j);
    const json *events = json_get(j, "traceEvents");
    size_t n[3] = {0}; /* compile on track 2; verify and time on track 1 */
    for (const json *e = json_first(events); e; e = json_next(e)) {
        const char *name = json_text(json_get(e, "name"));
        int64_t track;
        assert_true(json_int(json_get(e, "tid"), &track));
        n[0] += strcmp(name, "compile") == 0 && track == 2;
        n[1] += strcmp(name, "verify") == 0 && track == 1;
        n[2] += strcmp(name, "time") == 0 && track == 1;
    }
    assert_int_equal(n[0], 1);
    assert_int_equal(n[1], 2);
    assert_int_equal(n[2], 2);
    double wall, idle = trace_idle_share(t, &wall);
    assert_true(idle > 0 && idle < 1 && wall > 0);
    json_free(j);
    free(path);
    strb_clear(&command);
    free(self);
    setting_end(s);
    trace_free(t);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strstr(argv[1], "-log"))
        return logging_worker(strcmp(argv[1], "cpu-log") == 0);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(TEST_PROGRAM_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_overlaps),
        cmocka_unit_test(gpu_begins_at_once),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(cpu_alternates),
        cmocka_unit_test(cpu_turns_without_success),
        cmocka_unit_test(no_second_compile),
        cmocka_unit_test(one_worker_does_all),
        cmocka_unit_test(figures_of_the_first_build),
        cmocka_unit_test(traced),
    };
    return cmocka_run_group_tests_name("evaluator_order", tests, NULL, NULL);
}
