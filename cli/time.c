#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct time_cli {
    option_list set;
    const char *dims, *type, *device, *store, *worker_command;
    int64_t seed, compile_s, run_s;
    bool json, warm, keep, deep_check;
} time_cli;

static void print_text(const job_setup *setup, const task_shape *shape, const job_record *r, const stats_summary *s)
{
    strb text = STRB_INIT;
    task_shape_print(setup->task, shape, &text);
    printf("%s  %s  ", setup->templates[0]->name, strb_text(&text));
    strb_clear(&text);
    if (r->outcome != OUTCOME_OK) {
        printf("%s in stage %s\n", outcome_name(r->outcome), stage_name(r->stage));
        if (r->detail)
            printf("%s\n", r->detail);
        return;
    }
    printf("ok, %zu cases, worst error %.3g of its bound\n", r->cases_passed, r->worst_error);
    printf("median %.6g us (%.6g .. %.6g), %zu samples by %s", s->median / 1e3, s->lo / 1e3, s->hi / 1e3, s->n,
           r->method ? r->method : "-");
    double flops = task_flops(setup->task, &setup->types, shape) / s->median;
    double bytes = task_bytes(setup->task, &setup->types, shape) / s->median;
    if (isfinite(flops))
        printf(", %.4g GFLOP/s", flops);
    if (isfinite(bytes))
        printf(", %.4g GB/s", bytes);
    if (r->detail)
        printf("\n%s", r->detail);
    printf("\ncompile %.0f ms, verify %.0f ms, time %.0f ms", r->compile_ms, r->verify_ms, r->time_ms);
    if (r->registers >= 0)
        printf(", %lld registers, %lld bytes spilled", (long long)r->registers, (long long)r->spill_bytes);
    printf("\n");
}

static void print_json(const job_setup *setup, const uint32_t *config, const task_shape *shape, const job_record *r,
                       const stats_summary *s)
{
    json *j = json_new_object(), *samples = json_new_array();
    json_set_string(j, "template", setup->templates[0]->name);
    json_set(j, "config", template_config_to_json(setup->templates[0], config));
    json_set(j, "shape", task_shape_to_json(setup->task, shape));
    json_set_string(j, "outcome", outcome_name(r->outcome));
    json_set_string(j, "stage", stage_name(r->stage));
    json_set_string(j, "detail", r->detail);
    if (s->n > 0) {
        json_set_string(j, "method", r->method);
        json_set_number(j, "median_ns", s->median);
        json_set_number(j, "lo_ns", s->lo);
        json_set_number(j, "hi_ns", s->hi);
        json_set_number(j, "gflops", task_flops(setup->task, &setup->types, shape) / s->median);
        json_set_number(j, "gbytes_per_s", task_bytes(setup->task, &setup->types, shape) / s->median);
    }
    for (size_t i = 0; i < r->n_samples; i++)
        json_append(samples, json_new_number(r->samples_ns[i]));
    json_set(j, "samples_ns", samples);
    json_set_number(j, "compile_ms", r->compile_ms);
    json_set_number(j, "verify_ms", r->verify_ms);
    json_set_number(j, "time_ms", r->time_ms);
    json_set_int(j, "registers", r->registers);
    json_set_int(j, "spill_bytes", r->spill_bytes);
    json_set_number(j, "worst_error", r->worst_error);
    cli_print_json(j);
    json_free(j);
}

static kw_code time_shape(const time_cli *c, const job_setup *setup, evaluator *e, store *s, const tune_options *o,
                          const uint32_t *config, const task_shape *shape, kw_error *err)
{
    job_record r;
    kw_code code = tune_one(e, s, setup->task, o, setup->templates[0], config, shape, &r, err);
    if (code != KW_OK)
        return code;
    stats_summary summary = stats_of(r.samples_ns, r.n_samples);
    if (c->json)
        print_json(setup, config, shape, &r, &summary);
    else
        print_text(setup, shape, &r, &summary);
    if (r.outcome != OUTCOME_OK)
        code = kw_error_set(err, KW_FAILED, "%s in stage %s: %.*s", outcome_name(r.outcome), stage_name(r.stage),
                            (int)strcspn(r.detail ? r.detail : "", "\n"), r.detail ? r.detail : "");
    job_record_clear(&r);
    return code;
}

static kw_code run(const time_cli *c, const char *name, kw_error *err)
{
    job_setup setup;
    uint32_t *config = NULL;
    evaluator *e = NULL;
    store *s = NULL;
    kw_code code = job_setup_template(&setup, name, c->type, c->dims, err);
    if (code != KW_OK)
        return code;
    if (setup.n_shapes == 0 && setup.task->shapes_file)
        code = task_shapes_load(setup.task, setup.task->shapes_file, &setup.shapes, &setup.n_shapes, err);
    if (code == KW_OK && setup.n_shapes == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "task %s names no shapes: give --dims", setup.task->name);
    if (code == KW_OK)
        code = job_setup_config(setup.templates[0], &c->set, &config, err);
    evaluator_options eo = {.device = c->device,
                            .worker_command = c->worker_command,
                            .compile_workers = 0,
                            .cold = !c->warm,
                            .compile_ms = 1000 * c->compile_s,
                            .run_ms = 1000 * c->run_s};
    if (code == KW_OK)
        code = evaluator_open(&eo, &e, err);
    if (code == KW_OK && c->keep)
        code = store_open(c->store, false, &s, err);
    const template *one = setup.templates[0];
    tune_options o = {.types = setup.types,
                      .templates = &one,
                      .n_templates = 1,
                      .fallback = setup.fallback,
                      .strategy = strategy_find("random", NULL),
                      .seed = (uint64_t)c->seed,
                      .cold = !c->warm,
                      .oclgrind = c->deep_check ? oclgrind_new(0) : NULL,
                      .deep = c->deep_check ? DEEP_ALL : DEEP_NONE};
    if (code == KW_OK && c->deep_check && !o.oclgrind)
        code = oclgrind_missing(err);
    kw_code worst = code;
    for (size_t i = 0; code == KW_OK && i < setup.n_shapes; i++) {
        kw_code shape_code = time_shape(c, &setup, e, s, &o, config, &setup.shapes[i], err);
        if (shape_code != KW_OK)
            worst = shape_code;
        if (shape_code != KW_OK && shape_code != KW_FAILED)
            break;
    }
    evaluator_close(e);
    oclgrind_free(o.oclgrind);
    store_close(s);
    free(config);
    job_setup_clear(&setup);
    return worst;
}

int cli_time(int argc, char **argv)
{
    time_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--set", OPTION_LIST, &c.set, "NAME=VALUE", "a parameter; others keep their default"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "the shape; default: each of the task's shapes"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types"},
        {"--device", OPTION_TEXT, &c.device, "SPEC", "device; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of the inputs"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold)"},
        {"--deep-check", OPTION_FLAG, &c.deep_check, NULL, "run it on small shapes under Oclgrind, too"},
        {"--keep", OPTION_FLAG, &c.keep, NULL, "keep the measurement in the store"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "the store for --keep"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per shape, with all samples"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of the compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of verification and of timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD", "how to start the worker"},
    };
    const option_set set = {"time", "TEMPLATE [options]", "Verifies and times one configuration of a template.", rows,
                            sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("time", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one template: a path, or a name that `kernwright templates` lists");
        return cli_fail("time", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("time", &err);
}
