/* Puts a folder of wrong kernels before the evaluator, and right ones beside them:
 *     run_mutants [--jobs N] [--configs N] [--no-deep] [--device SPEC] [--only TEXT] [FOLDER]
 * Prints what became of each and, as its last line, "mutants: detected=D/N fast=D/N false_alarms=F/M". Exit status 0:
 * every mutant was detected and no right kernel refused; 1: not so; 2, 3: as kernwright.
 *
 * The work is shared out to processes, each with an evaluator of its own. What they find lies in memory that they have
 * in common. */
#include "tests/mutants/mutants.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct options {
    const char *folder, *device, *only;
    long jobs, configs;
    bool with_deep;
} options;

/* Mutants first, then every configuration of every template. */
typedef struct work {
    options o;
    mutant_list mutants;
    char **templates;
    size_t n_templates, n;
    atomic_size_t *next;
    verdict *verdicts;
} work;

static const char *const pass_names[] = {
    [IN_NOTHING] = "-", [IN_TARGET] = "target", [IN_GENERAL] = "general", [IN_LARGE] = "large", [IN_DEEP] = "oclgrind"};

/* ---- working ---- */

static kw_code judge_one(const work *w, judge *j, size_t i, kw_error *err)
{
    verdict *v = &w->verdicts[i];
    if (i < w->mutants.n)
        return judge_mutant(j, &w->mutants.items[i], v, err);
    size_t k = i - w->mutants.n;
    return judge_template(j, w->templates[k / (size_t)w->o.configs], (uint32_t)(k % (size_t)w->o.configs), v, err);
}

/* A child's whole life; exits with a kw_code. */
static int work_off(const work *w)
{
    kw_error err;
    judge *j = NULL;
    kw_error_clear(&err);
    kw_code code = judge_open(w->o.device, w->o.with_deep, &j, &err), worst = code;
    for (size_t i; code == KW_OK && (i = atomic_fetch_add(w->next, 1)) < w->n;) {
        kw_code one = judge_one(w, j, i, &err);
        if (one != KW_OK) {
            log_error("%s", err.message);
            worst = one;
            code = one == KW_ENVIRONMENT || one == KW_INTERRUPTED ? one : KW_OK;
            kw_error_clear(&err);
            continue;
        }
        w->verdicts[i].done = true;
    }
    if (!j)
        log_error("%s", err.message);
    judge_close(j);
    return worst;
}

static void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        log_error("no memory for %zu results", bytes / sizeof(verdict));
        exit(KW_ENVIRONMENT);
    }
    return p;
}

/* The worst of what the children end with. */
static int share_out(work *w)
{
    int worst = KW_OK, started = 0;
    fflush(NULL);
    for (long i = 0; i < w->o.jobs; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(work_off(w));
        started += child > 0;
    }
    for (int status; started > 0 && wait(&status) > 0; started--) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : KW_FAILED;
        worst = code > worst ? code : worst;
    }
    return worst;
}

/* ---- what comes out ---- */

typedef struct counts {
    unsigned mutants, detected, fast, right, alarms, not_judged;
} counts;

static bool is_caught(const mutant *m, const verdict *v)
{
    return v->done && v->in != IN_NOTHING && (m->expect >> v->outcome & 1);
}

static void print_mutant(const mutant *m, const verdict *v, bool with_deep, counts *c)
{
    if (m->is_control) {
        bool alarm = !v->done || v->outcome != OUTCOME_OK;
        c->right++;
        c->alarms += alarm;
        printf("%-46s %-11s %-27s %-16s %-8s %s\n", m->name, m->task, "(a right kernel)",
               v->done ? outcome_name(v->outcome) : "not judged", v->in == IN_NOTHING ? "-" : stage_name(v->stage),
               alarm ? "FALSE ALARM" : "passes");
        if (alarm && v->done)
            printf("    %s\n", v->detail);
        return;
    }
    bool caught = is_caught(m, v), fast = caught && v->in != IN_DEEP;
    c->mutants++;
    c->detected += caught;
    c->fast += fast;
    c->not_judged += !v->done;
    printf("%-46s %-11s %-27s %-16s %-8s %-8s %-4s %-4s %5.1f\n", m->name, m->task, m->family[0] ? m->family : "-",
           v->done ? outcome_name(v->outcome) : "not judged", v->in == IN_NOTHING ? "-" : stage_name(v->stage),
           pass_names[v->in], fast ? "yes" : "NO",
           caught      ? "yes"
           : with_deep ? "NO"
                       : "-",
           v->seconds);
    if (v->done && v->detail[0] && (!fast || getenv("MUTANTS_DETAIL")))
        printf("    %s\n", v->detail);
}

static void print_mutants(const work *w, counts *c)
{
    printf("%-46s %-11s %-27s %-16s %-8s %-8s %-4s %-4s %5s\n", "mutant", "task", "family", "outcome", "stage", "pass",
           "fast", "all", "s");
    for (size_t i = 0; i < w->mutants.n; i++)
        print_mutant(&w->mutants.items[i], &w->verdicts[i], w->o.with_deep, c);
}

static void print_template(const work *w, size_t t, counts *c)
{
    unsigned configs = 0, checks = 0, alarms = 0;
    double seconds = 0;
    for (long k = 0; k < w->o.configs; k++) {
        const verdict *v = &w->verdicts[w->mutants.n + t * (size_t)w->o.configs + (size_t)k];
        seconds += v->seconds;
        c->not_judged += !v->done;
        if (!v->done || v->checks == 0)
            continue;
        configs++;
        checks += v->checks;
        if (v->outcome == OUTCOME_OK)
            continue;
        alarms++;
        printf("    %s: %s, %s: %s\n", fs_base_name(w->templates[t]), outcome_name(v->outcome), stage_name(v->stage),
               v->detail);
    }
    printf("%-46s %14u %18u %13u %6.1f\n", fs_base_name(w->templates[t]), configs, checks, alarms, seconds);
    c->right += checks;
    c->alarms += alarms;
}

static void print_templates(const work *w, counts *c)
{
    if (w->n_templates == 0)
        return;
    printf("\n%-46s %14s %18s %13s %6s\n", "right kernels", "configurations", "with an edge shape", "false alarms",
           "s");
    for (size_t t = 0; t < w->n_templates; t++)
        print_template(w, t, c);
}

/* ---- options ---- */

static int usage(void)
{
    fputs("usage: run_mutants [--jobs N] [--configs N] [--no-deep] [--device SPEC] [--only TEXT] [FOLDER]\n", stderr);
    return KW_BAD_INPUT;
}

static bool read_number(const char *text, long low, long *out)
{
    char *end;
    *out = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && *out >= low && *out <= 1000;
}

static bool read_options(int argc, char **argv, options *o)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){.folder = "tests/mutants", .jobs = cores < 1 ? 1 : cores > 4 ? 4 : cores, .configs = 20};
    o->with_deep = true;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-deep") == 0) {
            o->with_deep = false;
            continue;
        }
        if (argv[i][0] != '-') {
            o->folder = argv[i];
            continue;
        }
        if (!next)
            return false;
        i++;
        if (strcmp(argv[i - 1], "--jobs") == 0 && read_number(next, 1, &o->jobs))
            continue;
        if (strcmp(argv[i - 1], "--configs") == 0 && read_number(next, 0, &o->configs))
            continue;
        if (strcmp(argv[i - 1], "--device") == 0)
            o->device = next;
        else if (strcmp(argv[i - 1], "--only") == 0)
            o->only = next;
        else
            return false;
    }
    return true;
}

/* Leaves those whose name contains `only`. */
static void filter(mutant_list *list, const char *only)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        mutant m = list->items[i];
        bool keep = strstr(m.name, only) != NULL;
        list->items[i] = list->items[kept];
        list->items[kept] = m;
        kept += keep;
    }
    mutant_list rest = {.items = list->items + kept, .n = list->n - kept};
    for (size_t i = 0; i < rest.n; i++) {
        free(rest.items[i].path);
        free(rest.items[i].name);
        free(rest.items[i].task);
    }
    list->n = kept;
}

static kw_code find_work(work *w, kw_error *err)
{
    kw_code code = mutants_find(w->o.folder, &w->mutants, err);
    if (code == KW_OK && w->o.only)
        filter(&w->mutants, w->o.only);
    if (code == KW_OK && w->o.configs > 0)
        code = fs_list("templates", ".cl", &w->templates, &w->n_templates, err);
    for (size_t i = 0; i < w->n_templates; i++) {
        char *path = fs_join("templates", w->templates[i]);
        free(w->templates[i]);
        w->templates[i] = path;
    }
    w->n = w->mutants.n + w->n_templates * (size_t)w->o.configs;
    return code;
}

static void clear_work(work *w)
{
    for (size_t i = 0; i < w->n_templates; i++)
        free(w->templates[i]);
    free(w->templates);
    mutants_clear(&w->mutants);
}

int main(int argc, char **argv)
{
    work w = {0};
    kw_error err;
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return cli_worker(argc - 1, argv + 1); /* what the evaluator starts this program as */
    if (!read_options(argc, argv, &w.o))
        return usage();
    kw_error_clear(&err);
    if (find_work(&w, &err) != KW_OK) {
        log_error("%s", err.message);
        return err.code;
    }
    w.next = shared_memory(sizeof *w.next);
    w.verdicts = shared_memory((w.n + 1) * sizeof *w.verdicts);
    int code = share_out(&w);
    counts c = {0};
    print_mutants(&w, &c);
    print_templates(&w, &c);
    printf("mutants: detected=%u/%u fast=%u/%u false_alarms=%u/%u\n", c.detected, c.mutants, c.fast, c.mutants,
           c.alarms, c.right);
    clear_work(&w);
    if (code == KW_ENVIRONMENT || code == KW_INTERRUPTED)
        return code;
    const unsigned caught = w.o.with_deep ? c.detected : c.fast;
    return caught == c.mutants && c.alarms == 0 && c.not_judged == 0 ? KW_OK : KW_FAILED;
}
