/* The evaluator: what is sent when, what comes back. Real workers on the scripted device, and a worker of this test
 * that keeps a log of what it was asked for, so that order can be seen. */
#include "tests/support_tune.h"
#include "tuner/evaluator.h"

#include "base/clock.h"
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
 * waits in vain for 20 s dies. */
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
        if (i == 2000)
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

/* ---- candidates ---- */

#define MAX_CANDIDATES 16

typedef struct setting {
    char *folder;
    task *t;
    task_types types;
    template *p;
    case_source source;
    variant *v[MAX_CANDIDATES];
    candidate c[MAX_CANDIDATES];
    size_t n;
    evaluator *e;
} setting;

static const template_text plain = {.name = "plain",
                                    .params =
                                        "\"TIME\": {\"values\": [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]}",
                                    .directives = "time_ns=${TIME}"};

static void open_evaluator(setting *s, const evaluator_options *o)
{
    kw_error err = {0};
    if (evaluator_open(o, &s->e, &err) != KW_OK)
        fail_msg("%s", err.message);
}

static setting *begin(const template_text *text, const evaluator_options *o)
{
    setting *s = mem_calloc(1, sizeof *s);
    kw_error err = {0};
    s->t = saxpy_task();
    s->types = default_types(s->t);
    s->p = template_of_text(s->t, text);
    if (case_source_init(&s->source, s->t, &s->types, fake_limits(), NULL, 0, &err) != KW_OK)
        fail_msg("%s", err.message);
    open_evaluator(s, o);
    return s;
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
    setting *s = begin(&plain, &o);
    s->folder = folder;
    strb_clear(&command);
    free(path);
    free(self);
    return s;
}

static void end(setting *s)
{
    evaluator_close(s->e);
    for (size_t i = 0; i < s->n; i++) {
        job_record_clear(&s->c[i].record);
        variant_free(s->v[i]);
    }
    if (s->folder)
        fs_remove_tree(s->folder);
    free(s->folder);
    case_source_clear(&s->source);
    template_free(s->p);
    task_free(s->t);
    free(s);
}

/* The candidate with value number `index` of the first parameter. */
static candidate *add(setting *s, uint32_t index, candidate_kind kind, const char *dims)
{
    kw_error err = {0};
    uint32_t config[4] = {index};
    task_shape shape = shape_of(s->t, dims);
    candidate *c = &s->c[s->n];
    if (variant_expand(s->p, &s->types, config, &shape, &s->v[s->n], &err) != KW_OK)
        fail_msg("%s", err.message);
    c->kind = kind;
    c->variant = s->v[s->n++];
    c->cases = &s->source;
    c->target = shape;
    evaluator_submit(s->e, c);
    return c;
}

static candidate *next(setting *s)
{
    kw_error err = {0};
    candidate *c = evaluator_next(s->e, &err);
    if (!c)
        fail_msg("nothing came back: %s", err.message);
    return c;
}

static void all_ok(setting *s)
{
    kw_error err = {0};
    for (size_t i = 0; i < s->n; i++) {
        candidate *c = next(s);
        if (c->record.outcome != OUTCOME_OK)
            fail_msg("%s: %s", outcome_name(c->record.outcome), c->record.detail);
    }
    assert_int_equal(evaluator_pending(s->e), 0);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_OK);
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
    bool compiled[MAX_CANDIDATES + 1] = {false};
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
        add(s, i, CANDIDATE_TARGET, "N=100");
    all_ok(s);
    order o = read_log(s);
    assert_true(o.together);
    assert_false(o.out_of_order);
    assert_int_equal(o.n_compile, 4);
    assert_int_equal(o.n_evaluate, 5);
    assert_int_equal(o.n_direct, 1);
    assert_int_equal(o.evaluating, 1);
    end(s);
}

/* The first after a pause, too: another shape begins with other inputs. */
static void gpu_begins_at_once(void **state)
{
    (void)state;
    setting *s = begin_logging("gpu-log", 1, "");
    for (uint32_t i = 0; i < 2; i++) {
        candidate *c = add(s, i, CANDIDATE_TARGET, "N=100");
        assert_ptr_equal(next(s), c);
        assert_int_equal(c->record.outcome, OUTCOME_OK);
    }
    order o = read_log(s);
    assert_int_equal(o.n_compile, 0);
    assert_int_equal(o.n_evaluate, 2);
    end(s);
}

/* Compilers work side by side, but never while something is timed. */
static void cpu_alternates(void **state)
{
    (void)state;
    setting *s = begin_logging("cpu-log", 2, "compile 1=compile 2;compile 2=compile 1;");
    for (uint32_t i = 0; i < 8; i++)
        add(s, i, CANDIDATE_TARGET, "N=100");
    all_ok(s);
    order o = read_log(s);
    assert_false(o.together);
    assert_int_equal(o.n_direct, 0);
    assert_int_equal(o.compiling, 2);
    assert_int_equal(o.evaluating, 1);
    assert_int_equal(o.n_compile, 8);
    assert_int_equal(o.n_evaluate, 8);
    assert_int_equal(o.phases, 2); /* four are compiled ahead, then timed, twice */
    end(s);
}

/* A whole turn of candidates that do not compile: there is nothing to time, and the next ones get theirs. */
static void cpu_turns_without_success(void **state)
{
    (void)state;
    setenv("BAD", "6", 1);
    setting *s = begin_logging("cpu-log", 2, "");
    for (uint32_t i = 0; i < 8; i++)
        add(s, i, CANDIDATE_TARGET, "N=100");
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(next(s)->record.outcome, i < 6 ? OUTCOME_COMPILE_ERROR : OUTCOME_OK);
    end(s);
    unsetenv("BAD");
}

/* Retiming and general verification use what is compiled already. */
static void no_second_compile(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < 2; cpu++) {
        setting *s = begin_logging(cpu ? "cpu-log" : "gpu-log", 2, "");
        add(s, 0, CANDIDATE_RETIME, "N=100");
        add(s, 0, CANDIDATE_GENERAL, "N=100");
        all_ok(s);
        order o = read_log(s);
        assert_int_equal(o.n_compile, 0);
        assert_int_equal(o.n_evaluate, 2);
        end(s);
    }
}

static void one_worker_does_all(void **state)
{
    (void)state;
    setting *s = begin_logging("cpu-log", 0, "");
    assert_int_equal(evaluator_depth(s->e), 1);
    for (uint32_t i = 0; i < 3; i++)
        add(s, i, CANDIDATE_TARGET, "N=100");
    all_ok(s);
    assert_int_equal(read_log(s).n_compile, 0);
    end(s);
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
            add(s, i, CANDIDATE_TARGET, "N=100");
        for (size_t i = 0; i < 7; i++)
            next(s);
        unsetenv("KILLS");
        for (size_t i = 0; i < 7; i++)
            assert_int_equal(s->c[i].record.outcome, i == 2 && kills == 2 ? OUTCOME_CRASH : OUTCOME_OK);
        if (kills == 2)
            assert_non_null(strstr(s->c[2].record.detail, "signal 9"));
        order o = read_log(s);
        assert_int_equal(o.n_compile, 7); /* 2 to 7, and 3 once more */
        assert_int_equal(beside_the_last_of_3(s), 0);
        end(s);
    }
}

/* The cost of compiling and the compiler's figures are those of the real build, not of the one from the cache. */
static void figures_of_the_first_build(void **state)
{
    (void)state;
    setting *s = begin_logging("gpu-log", 1, "");
    candidate *first = add(s, 0, CANDIDATE_TARGET, "N=100"), *c = add(s, 1, CANDIDATE_TARGET, "N=100");
    assert_ptr_equal(next(s), first); /* compiled by the timing worker */
    assert_true(first->record.compile_ms < 1.1);
    assert_ptr_equal(next(s), c);
    assert_true(c->record.compile_ms > 6.9);
    assert_int_equal(c->record.registers, 33);
    assert_int_equal(c->record.n_samples, 3);
    assert_string_equal(c->record.method, "events");
    end(s);
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
    open_evaluator(s, &o);
    add(s, 0, CANDIDATE_TARGET, "N=100");
    add(s, 1, CANDIDATE_TARGET, "N=100");
    all_ok(s);
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
    end(s);
    trace_free(t);
}

/* ---- real workers ---- */

static const evaluator_options two_workers = {.device = "fake:0", .compile_workers = 1};

static void measures(void **state)
{
    (void)state;
    setting *s = begin(&plain, &two_workers);
    assert_string_equal(evaluator_device(s->e)->spec, "fake:0");
    assert_int_equal(evaluator_hello(s->e)->n_devices, 2);
    candidate *a = add(s, 3, CANDIDATE_TARGET, "N=1000");
    assert_ptr_equal(next(s), a);
    assert_int_equal(a->record.outcome, OUTCOME_OK);
    assert_int_equal(a->record.stage, STAGE_DONE);
    assert_int_equal(a->record.cases_passed, 7);
    assert_true(a->record.n_samples >= 3);
    assert_true(a->record.samples_ns[0] == 4000.0);
    candidate *g = add(s, 3, CANDIDATE_GENERAL, "N=1000");
    assert_ptr_equal(next(s), g);
    assert_int_equal(g->record.outcome, OUTCOME_OK);
    assert_true(g->general_complete);
    assert_int_equal(g->record.n_samples, 0);
    candidate *r = add(s, 3, CANDIDATE_RETIME, "N=1000");
    r->method = TIMING_EVENTS;
    assert_ptr_equal(next(s), r);
    assert_int_equal(r->record.outcome, OUTCOME_OK);
    assert_true(r->record.n_samples >= 3);
    assert_int_equal(evaluator_restarts(s->e), 0);
    end(s);
}

/* Two samples are enough for what is hopeless. */
static void hopeless(void **state)
{
    (void)state;
    setting *s = begin(&plain, &two_workers);
    candidate *slow = &s->c[0], *fast = &s->c[1];
    slow->hopeless_ns = fast->hopeless_ns = 4500;
    add(s, 7, CANDIDATE_TARGET, "N=100");
    add(s, 1, CANDIDATE_TARGET, "N=100");
    all_ok(s);
    assert_true(slow->record.stopped_early);
    assert_int_equal(slow->record.n_samples, 2);
    assert_false(fast->record.stopped_early);
    assert_true(fast->record.n_samples > 2);
    end(s);
}

/* What the variant does not take reaches no worker. */
static void rejected(void **state)
{
    (void)state;
    template_text text = plain;
    text.requires_ = "\"N % 10 == 0\"";
    setting *s = begin(&text, &two_workers);
    candidate *c = add(s, 0, CANDIDATE_TARGET, "N=101");
    assert_ptr_equal(next(s), c);
    assert_int_equal(c->record.outcome, OUTCOME_REJECTED);
    assert_int_equal(c->record.stage, STAGE_EXPAND);
    assert_non_null(strstr(c->record.detail, "N % 10 == 0"));
    end(s);
}

/* Failures of every kind in one search: each is its own, those that can be measured are. */
static void failures(void **state)
{
    (void)state;
    const template_text text = {
        .name = "bad",
        .params =
            "\"D\": {\"values\": [\"time_ns=1000\", \"build=error\", \"build=crash\", \"build=hang\", \"run=crash\","
            " \"run=hang\", \"result=wrong\", \"result=oob\", \"modify=input\", \"nondeterministic=1\","
            " \"run=launch_error\", \"run=does_not_fit\", \"time_ns=2000\"]}",
        .directives = "${D}"};
    static const struct {
        outcome outcome;
        stage stage;
    } wanted[] = {
        {OUTCOME_OK, STAGE_DONE},         {OUTCOME_COMPILE_ERROR, STAGE_COMPILE}, {OUTCOME_CRASH, STAGE_COMPILE},
        {OUTCOME_TIMEOUT, STAGE_COMPILE}, {OUTCOME_CRASH, STAGE_SMOKE},           {OUTCOME_TIMEOUT, STAGE_SMOKE},
        {OUTCOME_WRONG, STAGE_SMOKE},     {OUTCOME_OUT_OF_BOUNDS, STAGE_SMOKE},   {OUTCOME_INPUT_MODIFIED, STAGE_SMOKE},
        {OUTCOME_WRONG, STAGE_SMOKE},     {OUTCOME_LAUNCH_ERROR, STAGE_SMOKE},    {OUTCOME_DOES_NOT_FIT, STAGE_SMOKE},
        {OUTCOME_OK, STAGE_DONE}};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 1, .compile_ms = 3000, .run_ms = 3000};
    const size_t n = sizeof wanted / sizeof *wanted;
    setting *s = begin(&text, &o);
    for (uint32_t i = 0; i < n; i++)
        add(s, i, CANDIDATE_TARGET, "N=100");
    for (size_t i = 0; i < n; i++)
        next(s);
    for (size_t i = 0; i < n; i++) {
        const job_record *r = &s->c[i].record;
        if (r->outcome != wanted[i].outcome || r->stage != wanted[i].stage)
            fail_msg("candidate %zu: %s in stage %s: %s", i, outcome_name(r->outcome), stage_name(r->stage), r->detail);
        if (r->outcome != OUTCOME_OK)
            assert_true(r->detail && *r->detail);
    }
    assert_true(evaluator_restarts(s->e) >= 4);
    end(s);
}

static void no_such_device(void **state)
{
    (void)state;
    kw_error err = {0};
    evaluator *e = NULL;
    evaluator_options o = {.device = "fake:7"};
    assert_int_equal(evaluator_open(&o, &e, &err), KW_BAD_INPUT);
    assert_null(e);
    assert_non_null(strstr(err.message, "fake:1"));
    unsetenv("KERNWRIGHT_FAKE");
    assert_int_equal(evaluator_open(&o, &e, &err), KW_ENVIRONMENT);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    assert_non_null(strstr(err.message, "no compute device"));
    evaluator_close(NULL);
}

/* After a signal nothing new is sent, what is finished comes back, the rest is the caller's again. */
static void interrupt(void **state)
{
    (void)state;
    kw_error err = {0};
    const template_text text = {
        .name = "hang", .params = "\"D\": {\"values\": [\"time_ns=1000\", \"run=hang\"]}", .directives = "${D}"};
    const evaluator_options o = {.device = "fake:0", .compile_workers = 0};
    setting *s = begin(&text, &o);
    candidate *good = add(s, 0, CANDIDATE_TARGET, "N=100");
    add(s, 1, CANDIDATE_TARGET, "N=100");
    assert_ptr_equal(next(s), good);
    assert_false(evaluator_interrupted(s->e));
    kill(getpid(), SIGINT);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_INTERRUPTED);
    assert_true(evaluator_interrupted(s->e));
    add(s, 0, CANDIDATE_TARGET, "N=100");
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(evaluator_pending(s->e), 2);
    evaluator_forget(s->e);
    assert_int_equal(evaluator_pending(s->e), 0);
    assert_null(evaluator_next(s->e, &err));
    assert_int_equal(err.code, KW_OK);
    end(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    if (argc > 1 && strstr(argv[1], "-log"))
        return logging_worker(strcmp(argv[1], "cpu-log") == 0);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    alarm(300); /* whoever waits for ever has failed */
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
        cmocka_unit_test(measures),
        cmocka_unit_test(hopeless),
        cmocka_unit_test(rejected),
        cmocka_unit_test(failures),
        cmocka_unit_test(no_such_device),
        cmocka_unit_test(interrupt),
    };
    return cmocka_run_group_tests_name("evaluator", tests, NULL, NULL);
}
