#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include "base/log.h"
#include "tuner/matrix.h"

#include <stdio.h>
#include <string.h>

typedef struct matrix_cli {
    const char *shapes, *type, *device, *strategy, *store, *worker_command, *budget;
    option_list templates;
    int64_t configs, seed, compile_workers, timing_workers, compile_s, run_s;
    bool json, warm, no_probe;
} matrix_cli;

typedef struct progress {
    const task *task;
    double seconds;
} progress;

static void on_progress(const tune_progress *p, void *cookie)
{
    const progress *x = cookie;
    strb shape = STRB_INIT;
    task_shape_print(x->task, p->shape, &shape);
    char time[32] = "";
    if (p->m->time.n > 0)
        snprintf(time, sizeof time, "  %.4g ms", p->m->time.median / 1e6);
    log_live("%llu measured in %.0f s  %s  %s%s", (unsigned long long)p->done, p->seconds, strb_text(&shape),
             outcome_name(p->m->outcome), time);
    strb_clear(&shape);
}

static void print_json(const matrix_result *r)
{
    json *j = json_new_object();
    json_set_int(j, "configs", (int64_t)r->configs);
    json_set_int(j, "failed_configs", (int64_t)r->failed_configs);
    json_set_int(j, "ok", (int64_t)r->ok);
    json_set_int(j, "failed", (int64_t)r->failed);
    json_set_int(j, "unfit", (int64_t)r->unfit);
    json_set_int(j, "open", (int64_t)r->open);
    json_set_int(j, "measured", (int64_t)r->measured);
    json_set_int(j, "stopped_early", (int64_t)r->stopped_early);
    json_set_number(j, "seconds", r->seconds);
    json_set_bool(j, "complete", r->complete);
    cli_print_json(j);
    json_free(j);
}

static void print_text(const matrix_result *r, size_t wanted)
{
    printf("%zu of %zu configurations, %zu of them failed on all shapes; pairs of shape and configuration: %llu timed, "
           "%llu failed, %llu do not fit, %llu to be done\n",
           r->configs, wanted, r->failed_configs, (unsigned long long)r->ok, (unsigned long long)r->failed,
           (unsigned long long)r->unfit, (unsigned long long)r->open);
    printf("%llu measured now (%llu of them stopped early) in %.1f s, %.3g ms each\n", (unsigned long long)r->measured,
           (unsigned long long)r->stopped_early, r->seconds,
           r->measured ? 1e3 * r->seconds / (double)r->measured : 0.0);
    if (!r->complete)
        printf("not complete: the same command goes on\n");
}

static kw_code probe_device(const matrix_cli *c, evaluator *e, store *s, probe_fact *fact, tune_options *o,
                            kw_error *err)
{
    kw_error why;
    if (c->no_probe || evaluator_device(e)->simulated)
        return KW_OK;
    kw_code code = probe_obtain(e, s, false, fact, &why);
    if (code == KW_OK)
        o->probe = &fact->figures;
    else if (code == KW_FAILED)
        log_warn("no limits are known of the device: %s", why.message);
    else
        return kw_error_set(err, code, "%s", why.message);
    return KW_OK;
}

static kw_code record(const matrix_cli *c, const job_setup *setup, matrix_options *o, kw_error *err)
{
    evaluator_options eo = {.device = c->device,
                            .worker_command = c->worker_command,
                            .compile_workers = (int)c->compile_workers,
                            .timing_workers = (int)c->timing_workers,
                            .cold = !c->warm,
                            .compile_ms = 1000 * c->compile_s,
                            .run_ms = 1000 * c->run_s};
    evaluator *e = NULL;
    store *s = NULL;
    probe_fact fact;
    matrix_result r;
    kw_code code = evaluator_open(&eo, &e, err);
    if (code == KW_OK)
        code = store_open(c->store, false, &s, err);
    if (code == KW_OK) {
        const device_info *d = evaluator_device(e);
        log_info("device %s: %s (%s), store %s", d->spec, d->name, d->key, store_path(s));
        code = probe_device(c, e, s, &fact, &o->tune, err);
    }
    if (code == KW_OK) {
        code = matrix_record(e, s, setup->task, o, &r, err);
        log_live_end();
        if (c->json)
            print_json(&r);
        else
            print_text(&r, o->n_configs);
    }
    evaluator_close(e);
    store_close(s);
    return code;
}

static kw_code run(const matrix_cli *c, const char *task_name, kw_error *err)
{
    job_setup setup;
    tune_budget budget = {0, 0};
    const strategy_ops *ops = strategy_find(c->strategy, err);
    if (!ops)
        return KW_BAD_INPUT;
    if (c->templates.n != 1)
        return kw_error_set(err, KW_BAD_INPUT, "say which template: one --template NAME");
    kw_code code = c->budget ? tune_budget_parse(c->budget, &budget, err) : KW_OK;
    if (code == KW_OK && budget.configurations)
        return kw_error_set(err, KW_BAD_INPUT,
                            "--time takes a time (540s, 9m); --configs says how many configurations");
    if (code == KW_OK)
        code = job_setup_init(&setup, task_name, c->type, &c->templates, NULL, c->shapes, err);
    if (code != KW_OK)
        return code;
    const template *one = setup.templates[0];
    progress p = {.task = setup.task};
    matrix_options o = {.tune = {.types = setup.types,
                                 .templates = &one,
                                 .n_templates = 1,
                                 .fallback = setup.fallback,
                                 .strategy = ops,
                                 .seed = (uint64_t)c->seed,
                                 .cold = !c->warm,
                                 .on_progress = on_progress,
                                 .cookie = &p},
                        .shapes = setup.shapes,
                        .n_shapes = setup.n_shapes,
                        .n_configs = (size_t)c->configs,
                        .seconds = budget.seconds};
    code = record(c, &setup, &o, err);
    job_setup_clear(&setup);
    return code;
}

int cli_matrix(int argc, char **argv)
{
    matrix_cli c = {.strategy = "auto", .configs = 100, .compile_workers = -1};
    const option_row rows[] = {
        {"--template", OPTION_LIST, &c.templates, "NAME", "the template (name or path)"},
        {"--shapes", OPTION_TEXT, &c.shapes, "FILE", "shapes as JSON lines; default: the task's own"},
        {"--configs", OPTION_LIMIT, &c.configs, "N", "configurations, those in the store included; default 100"},
        {"--time", OPTION_TEXT, &c.budget, "TIME",
         "stop after 540s, 9m, 1h of this run; default: when all is measured"},
        {"--strategy", OPTION_TEXT, &c.strategy, "NAME",
         "what proposes the second half; `kernwright tune --help` lists them; default auto"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types: f32, or T=f32,ACC=f32"},
        {"--device", OPTION_TEXT, &c.device, "SPEC",
         "opencl:P:D or part of a name; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of configurations and inputs; default 0"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold, buffers rotate)"},
        {"--no-probe", OPTION_FLAG, &c.no_probe, NULL, "do without what the device can do, also if the store has it"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--json", OPTION_FLAG, &c.json, NULL, "the counts as one JSON line"},
        {"--compile-workers", OPTION_COUNT, &c.compile_workers, "N", "processes that compile; default: physical cores"},
        {"--timing-workers", OPTION_COUNT, &c.timing_workers, "N",
         "processes that verify and time, one at a time, up to 4; default: as the device asks for"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of one compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of one verification or timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD",
         "how to start workers, e.g. ssh HOST kernwright worker --stdio"},
    };
    const option_set set = {
        "matrix", "TASK --template NAME [options]",
        "Measures one list of configurations on every shape, each verified: half drawn at random, half proposed by a\n"
        "strategy. What the store has is not measured again, so the same command goes on after an interruption.\n"
        "`results export --all` writes the matrix.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("matrix", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task: a name that `kernwright tasks` lists, or a path");
        return cli_fail("matrix", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("matrix", &err);
}
