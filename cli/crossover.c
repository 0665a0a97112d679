#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/log.h"
#include "tuner/crossover.h"
#include "tuner/problem_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct crossover_cli {
    option_list devices;
    const char *type, *store, *from, *worker_command;
    int64_t seed, compile_s, run_s, between;
    bool json, warm;
} crossover_cli;

typedef struct progress {
    const task *task;
    const char *device;
} progress;

static void on_progress(const task_shape *shape, const measurement *m, void *cookie)
{
    const progress *p = cookie;
    strb text = STRB_INIT;
    task_shape_print(p->task, shape, &text);
    log_info("%s  %s  %s  %s  %.4g us", p->device, strb_text(&text), m->template_name, outcome_name(m->outcome),
             m->time.n ? m->time.median / 1e3 : (double)NAN);
    strb_clear(&text);
}

/* ---- output ---- */

static void print_json(const crossover *x)
{
    for (size_t i = 0; i < x->n * x->n; i++) {
        const crossover_cell *cell = &x->cells[i];
        json *j = json_new_object();
        json_set_string(j, "best_of", x->devices[i / x->n]);
        json_set_string(j, "on", x->devices[i % x->n]);
        json_set_int(j, "shapes", (int64_t)cell->n_shapes);
        json_set_int(j, "timed", (int64_t)cell->n_timed);
        json_set_int(j, "failed", (int64_t)cell->n_failed);
        json_set_int(j, "missing", (int64_t)cell->n_missing);
        if (cell->n_timed > 0) {
            json_set_number(j, "slowdown_geomean", regret_geomean(&cell->slowdown));
            json_set_number(j, "slowdown_worst", cell->slowdown.worst);
        }
        cli_print_json(j);
        json_free(j);
    }
}

static void put_count(table *t, size_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", n);
    table_text(t, text);
}

static void print_text(const crossover *x)
{
    table *t = table_new("best of|on|slow-down|worst|shapes|timed|failed there|not measured");
    for (size_t i = 0; i < x->n * x->n; i++) {
        const crossover_cell *cell = &x->cells[i];
        if (i / x->n == i % x->n)
            continue;
        table_text(t, x->devices[i / x->n]);
        table_text(t, x->devices[i % x->n]);
        table_number(t, cell->n_timed > 0 ? regret_geomean(&cell->slowdown) : (double)NAN, 4);
        table_number(t, cell->n_timed > 0 ? cell->slowdown.worst : (double)NAN, 4);
        put_count(t, cell->n_shapes);
        put_count(t, cell->n_timed);
        put_count(t, cell->n_failed);
        put_count(t, cell->n_missing);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
    for (size_t i = 0; i < x->n; i++)
        printf("%s: its own best is %.3f times as fast as those of the others\n", x->devices[i], x->gain[i]);
    printf("hardware speed-up: %.3f\n", x->hardware_speedup);
}

/* ---- work ---- */

static kw_code measure_on(const crossover_cli *c, const job_setup *setup, store *s, const char *device_spec,
                          kw_error *err)
{
    evaluator *e = NULL;
    crossover_counts counts = {0};
    probe_fact fact;
    const evaluator_options eo = {.device = device_spec,
                                  .worker_command = c->worker_command,
                                  .compile_workers = 0,
                                  .cold = !c->warm,
                                  .compile_ms = 1000 * c->compile_s,
                                  .run_ms = 1000 * c->run_s};
    kw_code code = evaluator_open(&eo, &e, err);
    if (code != KW_OK)
        return code;
    progress p = {setup->task, evaluator_device(e)->key};
    crossover_options o = {.fallback = setup->fallback,
                           .seed = (uint64_t)c->seed,
                           .cold = !c->warm,
                           .n_between = (size_t)c->between,
                           .on_progress = on_progress,
                           .cookie = &p};
    bool known = false;
    code = probe_find(s, evaluator_device(e), &fact, &known, err);
    if (code == KW_OK && known)
        o.probe = &fact.figures;
    for (size_t i = 0; !o.fallback && i < setup->n_templates; i++)
        if (setup->templates[i]->is_fallback)
            o.fallback = setup->templates[i];
    if (code == KW_OK)
        code = crossover_measure(e, s, setup->task, &setup->types, &o, &counts, err);
    log_info("%s: measured %zu, of them failed %zu%s", p.device, counts.measured, counts.failed,
             counts.no_text > 0 ? "; some bests have no source text in the store" : "");
    evaluator_close(e);
    return code;
}

/* One device alone may still have measured between its shapes. */
static kw_code print_comparison(const crossover_cli *c, const job_setup *setup, store *s, kw_error *err)
{
    crossover x;
    kw_code code = crossover_compare(s, setup->task, &setup->types, &x, err);
    if (code != KW_OK)
        return code == KW_FAILED && c->between > 0 && c->devices.n > 0 ? KW_OK : code;
    if (c->json)
        print_json(&x);
    else
        print_text(&x);
    crossover_clear(&x);
    return KW_OK;
}

static kw_code open_results(const crossover_cli *c, store **s, kw_error *err)
{
    return c->from ? results_open(c->from, NULL, s, err) : store_open(c->store, c->devices.n == 0, s, err);
}

static kw_code run(const crossover_cli *c, const char *task_name, kw_error *err)
{
    job_setup setup;
    store *s = NULL;
    memset(&setup, 0, sizeof setup);
    if (c->between > 0 && c->devices.n == 0)
        return kw_error_set(err, KW_BAD_INPUT, "--between-shapes measures: say where with --device SPEC");
    if (problem_is_file(task_name))
        return kw_error_set(err, KW_BAD_INPUT, "%s is a problem file: crossover compares devices by tasks only",
                            task_name);
    if (c->from && c->devices.n > 0)
        return kw_error_set(err, KW_BAD_INPUT, "--device measures, which needs a store: import %s into one", c->from);
    kw_code code = KW_OK;
    if (c->devices.n > 0) {
        code = job_setup_init(&setup, task_name, c->type, NULL, NULL, NULL, err);
    } else {
        code = task_load(task_name, &setup.task, err);
        if (code == KW_OK)
            code = task_types_parse(setup.task, c->type, &setup.types, err);
    }
    if (code == KW_OK)
        code = open_results(c, &s, err);
    for (size_t i = 0; code == KW_OK && i < c->devices.n; i++)
        code = measure_on(c, &setup, s, c->devices.items[i], err);
    if (code == KW_OK)
        code = print_comparison(c, &setup, s, err);
    store_close(s);
    job_setup_clear(&setup);
    return code;
}

int cli_crossover(int argc, char **argv)
{
    crossover_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--device", OPTION_LIST, &c.devices, "SPEC", "measure on this device what the others' bests lack there"},
        {"--between-shapes", OPTION_COUNT, &c.between, "N", "also N of its own general ones on all its shapes: trees"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--from", OPTION_TEXT, &c.from, "FILE", "compare by exported results instead of the store"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of the inputs"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold)"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per pair of devices"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of the compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of verification and of timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD", "how to start the worker"},
    };
    const option_set set = {
        "crossover", "TASK [options]",
        "Compares devices: the best of each on every other, over the shapes that both were tuned for.", rows,
        sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("crossover", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task");
        return cli_fail("crossover", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("crossover", &err);
}
