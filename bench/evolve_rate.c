/* How busy the loop keeps models and device: candidates per second against min(in flight / reply time, 1 / evaluation
 * time).
 *
 *   evolve_rate --worker COMMAND [--reply SECONDS] [--in-flight N] [--n CANDIDATES] [--sleep-us PER_RUN]
 *               [--build-ms PER_CONFIGURATION] [--configs N]
 *
 * The model is a command that sleeps (a quarter more or less) and prints a template of its own; the device is the
 * scripted one, whose runs really sleep. Both are what users have otherwise: llm/evolve_task.h with workers and store.
 * The same replies are then replayed with no wait: what a candidate costs without a model is the evaluation time. The
 * rate is that of candidates ended between two reply times after the start and the last question. Last line:
 * "evolve_rate: key=value ...". */
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "llm/evolve_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *worker; /* "build/kernwright worker --stdio" */
    double reply_s;
    long in_flight, n, sleep_us, build_ms, configs;
} settings;

/* When candidates were asked for and ended. */
typedef struct watch {
    double begin_s, last_ask_s, ended_s[10000];
    uint64_t asked, ended;
} watch;

static void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "evolve_rate: %s\n", err->message);
    exit(1);
}

static double now_s(void)
{
    return (double)clock_now_ns() * 1e-9;
}

static void on_progress(const evolve_progress *p, void *cookie)
{
    watch *w = cookie;
    double now = now_s();
    uint64_t ended = p->asked - p->in_flight - p->waiting;
    if (w->begin_s < 0)
        w->begin_s = now;
    if (p->asked > w->asked)
        w->last_ask_s = now;
    w->asked = p->asked;
    while (w->ended < ended && w->ended < sizeof w->ended_s / sizeof *w->ended_s)
        w->ended_s[w->ended++] = now;
}

/* A template of the scripted device; `line`: more of its text, `ns` its time. */
static void write_template(strb *out, const settings *s, const char *ns, const char *line)
{
    strb_printf(out,
                "/*kernwright {\"task\": \"saxpy\", \"fallback\": true, \"params\": {\"A\": {\"values\": "
                "\"range(%ld)\"}},\n  \"launches\": [{\"kernel\": \"fake_saxpy\", \"args\": [\"N\", \"a\", \"x\", "
                "\"y\"], \"local\": [64], \"groups\": [\"ceil_div(N, 64)\"]}]} */\n#pragma fake time_ns=${%s + A} "
                "host_sleep_us=%ld slow_ms=%ld\n%s\nkernel void fake_saxpy(int n, float a, global const float *x, "
                "global float *y)\n"
                "{\n}\n",
                s->configs, ns, s->sleep_us, s->build_ms, line);
}

/* sh: $$ is another number for every question. */
static char *command_of(const settings *s)
{
    strb text = STRB_INIT, body = STRB_INIT;
    write_template(&body, s, "1000000 + $$", "// $$");
    strb_printf(
        &text,
        "command:cat >/dev/null; sleep $(awk -v s=$$ 'BEGIN { srand(s); printf \"%%.3f\", %g * (0.75 + rand() / "
        "2) }'); echo '```'; cat <<END\n",
        s->reply_s);
    /* The shell replaces $$ within the text and must leave ${...}, which is the template's. */
    for (const char *at = strb_text(&body); *at; at++) {
        if (at[0] == '$' && at[1] == '{')
            strb_add(&text, "\\");
        strb_add_n(&text, at, 1);
    }
    strb_add(&text, "END\necho '```'");
    strb_clear(&body);
    return strb_take(&text);
}

static void run_loop(const settings *s, const char *llm, const char *folder, const char *record, const char *database,
                     watch *w)
{
    kw_error err = {0};
    task *t = NULL;
    template *fallback = NULL;
    strb text = STRB_INIT;
    char *path = fs_join(folder, "base.cl");
    write_template(&text, s, "2000000", "");
    need(fs_write(path, strb_text(&text), text.length, &err), &err);
    need(task_load("saxpy", &t, &err), &err);
    need(template_load(path, t, &fallback, &err), &err);
    task_shape shape;
    need(task_shape_parse(t, "N=100", &shape, &err), &err);
    evolve_task_options o = {
        .task = t,
        .shapes = &shape,
        .n_shapes = 1,
        .fallback = fallback,
        .llm = llm,
        .record = record,
        .provider = {.temperature = NAN},
        .budget = (uint64_t)s->n,
        .in_flight = (size_t)s->in_flight,
        .repairs = 0,
        .archive = true,
        .gradient = true,
        .targets = true,
        .evaluator = {.device = "fake:0", .worker_command = s->worker, .compile_workers = 2, .run_ms = 60000},
        .store = database,
        .on_progress = on_progress,
        .cookie = w};
    evolve_result r;
    need(task_types_parse(t, "", &o.types, &err), &err);
    *w = (watch){.begin_s = -1};
    need(evolve_task(&o, &r, &err), &err);
    if (r.right + r.duplicate < (uint64_t)s->n)
        fprintf(stderr, "evolve_rate: only %llu of %ld candidates are right\n", (unsigned long long)r.right, s->n);
    evolve_result_clear(&r);
    template_free(fallback);
    task_free(t);
    strb_clear(&text);
    free(path);
}

/* Mean of what the exchanges say, in seconds. */
static double mean_reply_s(const char *folder)
{
    char **names;
    size_t n;
    double sum = 0;
    kw_error err = {0};
    need(fs_list(folder, ".meta.json", &names, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(folder, names[i]);
        json *j = json_parse_file(path, &err);
        sum += json_number(json_get(j, "ms")) / 1000;
        json_free(j);
        free(path);
        free(names[i]);
    }
    free(names);
    return n ? sum / (double)n : NAN;
}

/* Candidates per second between `from` and `to`. */
static double rate_between(const watch *w, double from, double to)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < w->ended; i++)
        n += w->ended_s[i] >= from && w->ended_s[i] < to;
    return to > from ? (double)n / (to - from) : NAN;
}

static void read_options(int argc, char **argv, settings *s)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--worker") == 0)
            s->worker = argv[i + 1];
        else if (strcmp(argv[i], "--reply") == 0)
            s->reply_s = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--in-flight") == 0)
            s->in_flight = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--n") == 0)
            s->n = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--sleep-us") == 0)
            s->sleep_us = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--build-ms") == 0)
            s->build_ms = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--configs") == 0)
            s->configs = atol(argv[i + 1]);
        else
            s->n = 0; /* no such option */
    }
    if (argc % 2 == 0 || !(s->reply_s > 0) || s->in_flight < 1 || s->n < 3 * s->in_flight || s->n > 5000 ||
        s->configs < 1) {
        fprintf(stderr, "evolve_rate: --reply SECONDS --in-flight N --n CANDIDATES (three per flight or more) "
                        "--sleep-us N --build-ms N --configs N\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    settings s = {.reply_s = 2, .in_flight = 4, .n = 60, .sleep_us = 2000, .configs = 4};
    static watch asking, replaying;
    kw_error err = {0};
    read_options(argc, argv, &s);
    char *folder = fs_temp_folder("kernwright-rate-", &err);
    need(folder ? KW_OK : err.code, &err);
    char *record = fs_join(folder, "record"), *first = fs_join(folder, "first.db"),
         *second = fs_join(folder, "second.db"), *llm = command_of(&s);
    run_loop(&s, llm, folder, record, first, &asking);
    double reply = mean_reply_s(record);
    strb replay = STRB_INIT;
    strb_printf(&replay, "replay:%s", record);
    run_loop(&s, strb_text(&replay), folder, NULL, second, &replaying);
    double evaluation = (replaying.ended_s[replaying.ended - 1] - replaying.begin_s) / (double)(replaying.ended - 1);
    double from = asking.begin_s + 2 * reply, rate = rate_between(&asking, from, asking.last_ask_s);
    double bound = fmin((double)s.in_flight / reply, 1 / evaluation);
    printf("replies %.2f s (mean), %ld in flight; evaluation %.3f s; %llu candidates in %.1f s\n", reply, s.in_flight,
           evaluation, (unsigned long long)asking.ended, asking.ended_s[asking.ended - 1] - asking.begin_s);
    printf("at most %.3f candidates a second (%s); %.3f were ended\n", bound,
           (double)s.in_flight / reply < 1 / evaluation ? "models" : "device", rate);
    printf(
        "evolve_rate: reply_s=%.2f in_flight=%ld evaluation_s=%.3f candidates=%llu bound=%.4f rate=%.4f share=%.3f\n",
        reply, s.in_flight, evaluation, (unsigned long long)asking.ended, bound, rate, rate / bound);
    strb_clear(&replay);
    fs_remove_tree(folder);
    free(llm);
    free(second);
    free(first);
    free(record);
    free(folder);
    return 0;
}
