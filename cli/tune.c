#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/tune_many.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From so many shapes on they are tuned together where no budget is given, with so many evaluations each. */
#define MANY_SHAPES 16
#define MANY_EVALUATIONS 25

typedef struct tune_cli {
    const char *dims, *shapes, *type, *device, *strategy, *budget, *total_budget, *store, *worker_command, *trace;
    option_list templates;
    int64_t seed, compile_workers, timing_workers, compile_s, run_s;
    bool json, warm, no_probe, deep_check, no_deep_check;
    const task *task;
} tune_cli;

/* Frees j. Flushed, since whoever reads the stream acts on it; when nobody does any more the search ends. */
static void print_json_line(json *j)
{
    strb line = STRB_INIT;
    json_print(j, &line);
    json_free(j);
    if (puts(strb_text(&line)) < 0 || fflush(stdout) != 0) {
        log_live_end();
        log_error("kernwright tune: standard output cannot be written; everything measured so far is kept");
        exit(KW_ENVIRONMENT); /* the workers end with this process */
    }
    strb_clear(&line);
}

static void print_json_progress(const tune_progress *p, const task *t)
{
    json *j = json_new_object();
    json_set(j, "shape", task_shape_to_json(t, p->shape));
    json_set_string(j, "template", p->m->template_name);
    json_set(j, "config", json_parse(p->m->config, strlen(p->m->config), NULL, 1, 1, NULL));
    json_set_string(j, "outcome", outcome_name(p->m->outcome));
    json_set_string(j, "stage", stage_name(p->m->stage));
    json_set_string(j, "purpose", p->purpose);
    json_set_bool(j, "reused", p->reused);
    if (p->m->time.n > 0) {
        json_set_number(j, "median_ns", p->m->time.median);
        json_set_number(j, "lo_ns", p->m->time.lo);
        json_set_number(j, "hi_ns", p->m->time.hi);
        json_set_int(j, "n", (int64_t)p->m->time.n);
    }
    if (p->m->limit_ns > 0) {
        json_set_number(j, "limit_ns", p->m->limit_ns);
        json_set_string(j, "limited_by", p->m->limited_by);
        json_set_number(j, "percent_of_limit", 100 * p->m->limit_ns / p->m->time.median);
    }
    json_set_string(j, "detail", p->m->detail);
    print_json_line(j);
}

static void on_progress(const tune_progress *p, void *cookie)
{
    const tune_cli *c = cookie;
    if (c->json)
        print_json_progress(p, c->task);
    strb shape = STRB_INIT;
    task_shape_print(c->task, p->shape, &shape);
    char best[32] = "none yet", share[48];
    if (isfinite(p->best_ns))
        snprintf(best, sizeof best, "%.4g ms", p->best_ns / 1e6);
    if (p->budget)
        snprintf(share, sizeof share, "%llu/%llu", (unsigned long long)p->done, (unsigned long long)p->budget);
    else
        snprintf(share, sizeof share, "%llu in %.0f/%.0f s", (unsigned long long)p->done, p->seconds,
                 p->seconds_budget);
    log_live("%s  %s  %s  %s %s  best %s", strb_text(&shape), share, p->reused ? "stored" : p->purpose,
             p->m->template_name, outcome_name(p->m->outcome), best);
    strb_clear(&shape);
}

static void print_json_result(const task *t, const task_shape *s, const tune_result *r)
{
    json *j = json_new_object(), *o = json_new_object();
    json_set(o, "shape", task_shape_to_json(t, s));
    json_set_string(o, "template", r->template_name);
    json_set(o, "config", json_parse(r->config, strlen(r->config), NULL, 1, 1, NULL));
    json_set_number(o, "naive_ns", r->naive_ns);
    json_set_number(o, "first_ns", r->first_ns);
    json_set_number(o, "tuned_ns", r->tuned_ns);
    json_set_number(o, "lo_ns", r->tuned_lo);
    json_set_number(o, "hi_ns", r->tuned_hi);
    json_set_int(o, "n", (int64_t)r->n_samples);
    json_set_number(o, "gflops", r->gflops);
    json_set_number(o, "gbytes_per_s", r->gbytes);
    if (r->limited_by) {
        json_set_number(o, "limit_ns", r->limit_ns);
        json_set_string(o, "limited_by", r->limited_by);
        json_set_number(o, "percent_of_limit", 100 * r->limit_ns / r->tuned_ns);
    }
    if (isfinite(r->noise))
        json_set_number(o, "noise", r->noise);
    json_set_string(o, "verified", verified_name(r->verified));
    if (r->deep_check[0])
        json_set_string(o, "deep_check", r->deep_check);
    json_set_string(o, "source_hash", r->source_hash);
    json_set_int(o, "measured", (int64_t)r->measured);
    json_set_int(o, "reused", (int64_t)r->reused);
    json_set_int(o, "failed", (int64_t)r->failed);
    json_set_int(o, "stopped_early", (int64_t)r->stopped_early);
    json_set_number(o, "saved_ms", r->saved_ms);
    json_set_int(o, "space", r->space_size < INT64_MAX ? (int64_t)r->space_size : INT64_MAX);
    json_set(j, "result", o);
    print_json_line(j);
}

static void print_json_failure(const task *t, const task_shape *s, const kw_error *why)
{
    json *j = json_new_object(), *o = json_new_object();
    json_set(o, "shape", task_shape_to_json(t, s));
    json_set_int(o, "code", why->code);
    json_set_string(o, "text", why->message);
    json_set(j, "error", o);
    print_json_line(j);
}

/* What is printed at the end. */
typedef struct summary {
    table *tab;
    bool with_limit;
    uint64_t stopped_early;
    double saved_ms;
} summary;

/* Rates only for tasks that say what work a shape is. */
static table *new_table(const task *t, bool with_limit)
{
    strb titles = STRB_INIT;
    strb_printf(&titles, "shape|naive ms|first-guess ms|tuned ms|speed-up%s%s%s|new+stored|layer|verified|template",
                t->flops ? "|GFLOP/s" : "", t->bytes ? "|GB/s" : "", with_limit ? "|of limit|A/A noise" : "");
    table *tab = table_new(strb_text(&titles));
    strb_clear(&titles);
    return tab;
}

static void add_limit(table *tab, const tune_result *r)
{
    char cell[64] = "-";
    if (r->limited_by)
        snprintf(cell, sizeof cell, "%.3g%% %s", 100 * r->limit_ns / r->tuned_ns, r->limited_by);
    table_text(tab, cell);
    snprintf(cell, sizeof cell, "%.*f%%", r->noise < 0.1 ? 1 : 0, 100 * r->noise);
    table_text(tab, isfinite(r->noise) ? cell : "-");
}

static void add_row(summary *sum, const task *t, const task_shape *s, const tune_result *r)
{
    table *tab = sum->tab;
    strb shape = STRB_INIT;
    task_shape_print(t, s, &shape);
    table_text(tab, strb_text(&shape));
    table_number(tab, r->naive_ns / 1e6, 4);
    table_number(tab, r->first_ns / 1e6, 4);
    table_number(tab, r->tuned_ns / 1e6, 4);
    table_number(tab, r->naive_ns / r->tuned_ns, 3);
    if (t->flops)
        table_number(tab, r->gflops, 4);
    if (t->bytes)
        table_number(tab, r->gbytes, 4);
    if (sum->with_limit)
        add_limit(tab, r);
    char counts[64];
    snprintf(counts, sizeof counts, "%llu+%llu", (unsigned long long)r->measured, (unsigned long long)r->reused);
    table_text(tab, counts);
    table_text(tab, r->verified == VERIFIED_NOT ? "-" : "exact"); /* unverified: in no header unless asked for */
    table_text(tab, verified_name(r->verified));
    table_text(tab, r->template_name);
    table_end_row(tab);
    strb_clear(&shape);
}

static void print_summary(const summary *sum)
{
    table_print(sum->tab, stdout);
    if (sum->stopped_early > 0)
        printf("%llu hopeless candidates were stopped after two samples, which saved about %.3g ms of device time\n",
               (unsigned long long)sum->stopped_early, sum->saved_ms);
}

/* All shapes share one budget; their winners are named afterwards, from the store. */
static kw_code tune_together(const job_setup *setup, evaluator *e, store *s, const tune_budget *total, tune_options *o,
                             kw_error *err)
{
    tune_many_result r;
    kw_code code = tune_many(e, s, setup->task, o, setup->shapes, setup->n_shapes, total, &r, err);
    log_live_end();
    log_info("%zu shape%s together: %llu measured, %llu stored, %llu failed, %llu different texts; %.1f s in choosing",
             setup->n_shapes, setup->n_shapes == 1 ? "" : "s", (unsigned long long)r.measured,
             (unsigned long long)r.reused, (unsigned long long)r.failed, (unsigned long long)r.configs,
             r.model_seconds);
    o->budget = (tune_budget){1, 0};
    return code;
}

static kw_code tune_all(const tune_cli *c, const job_setup *setup, evaluator *e, store *s, const tune_options *o,
                        summary *sum, kw_error *err)
{
    size_t failures = 0;
    for (size_t i = 0; i < setup->n_shapes; i++) {
        tune_result r;
        kw_error why;
        kw_error_clear(&why);
        kw_code code = tune_shape(e, s, setup->task, o, &setup->shapes[i], &r, &why);
        log_live_end();
        if (code == KW_OK) {
            if (c->json)
                print_json_result(setup->task, &setup->shapes[i], &r);
            else
                add_row(sum, setup->task, &setup->shapes[i], &r);
        }
        sum->stopped_early += r.stopped_early;
        sum->saved_ms += r.saved_ms;
        tune_result_clear(&r);
        if (code == KW_OK)
            continue;
        strb shape = STRB_INIT;
        task_shape_print(setup->task, &setup->shapes[i], &shape);
        kw_error_prefix(&why, "%s", strb_text(&shape));
        strb_clear(&shape);
        *err = why;
        if (c->json)
            print_json_failure(setup->task, &setup->shapes[i], &why);
        if (code != KW_FAILED || setup->n_shapes == 1)
            return code;
        failures++;
        log_error("%s", why.message);
    }
    return failures == 0 ? KW_OK : kw_error_set(err, KW_FAILED, "%zu of %zu shapes failed", failures, setup->n_shapes);
}

/* Replaces what was written at the start; says how much of the time nothing was done. */
static kw_code finish_trace(const tune_cli *c, trace *t, kw_error *err)
{
    double wall_ms, idle = trace_idle_share(t, &wall_ms);
    kw_code code = trace_write(t, c->trace, err);
    if (code == KW_OK)
        log_info("trace %s: wall %.0f ms, idle %.2f%%", c->trace, wall_ms, 100 * idle);
    return code;
}

static kw_code open_evaluator(const tune_cli *c, const tune_options *o, evaluator **e, kw_error *err)
{
    evaluator_options eo = {.device = c->device,
                            .worker_command = c->worker_command,
                            .compile_workers = (int)c->compile_workers,
                            .timing_workers = (int)c->timing_workers,
                            .cold = o->cold,
                            .compile_ms = 1000 * c->compile_s,
                            .run_ms = 1000 * c->run_s,
                            .trace = o->trace};
    return evaluator_open(&eo, e, err);
}

/* What the device can do, from the store or measured now. Without it tuning goes on, and nothing is implausible. */
static kw_code probe_device(const tune_cli *c, evaluator *e, store *s, probe_fact *fact, tune_options *o, kw_error *err)
{
    kw_error why;
    bool found = false;
    if (c->no_probe || evaluator_device(e)->simulated)
        return KW_OK;
    kw_code code = probe_find(s, evaluator_device(e), fact, &found, err);
    if (code != KW_OK)
        return code;
    if (!found)
        log_live("measuring what the device can do; once for this device and driver");
    code = found ? KW_OK : probe_obtain(e, s, false, fact, &why);
    log_live_end();
    if (code == KW_FAILED) {
        log_warn("no limits are known of the device: %s", why.message);
        return KW_OK;
    }
    if (code != KW_OK)
        return kw_error_set(err, code, "%s", why.message);
    o->probe = &fact->figures;
    const probe_figures *f = o->probe;
    log_info("probe: copy %.4g GB/s, f32 %.4g GFLOP/s, A/A noise %.2g%% at 300 us%s", f->copy / 1e9, f->fma_f32 / 1e9,
             100 * probe_noise_of(f, 3e5),
             probe_was_busy(f)
                 ? "; made on a busy machine: nothing is implausible by it, `kernwright probe --again` mends that"
                 : "");
    return KW_OK;
}

/* Winners are simulated where the simulator is installed. */
static kw_code find_oclgrind(const tune_cli *c, tune_options *o, kw_error *err)
{
    if (c->deep_check && c->no_deep_check)
        return kw_error_set(err, KW_BAD_INPUT, "give either --deep-check or --no-deep-check, not both");
    o->deep = c->deep_check ? DEEP_ALL : c->no_deep_check ? DEEP_NONE : DEEP_WINNERS;
    o->oclgrind = c->no_deep_check ? NULL : oclgrind_new(0);
    if (!o->oclgrind && c->deep_check)
        return oclgrind_missing(err);
    if (!o->oclgrind && !c->no_deep_check)
        log_info("Oclgrind is not installed, so that winners are not simulated (apt-get install oclgrind)");
    return KW_OK;
}

static kw_code budgets_of(const tune_cli *c, tune_budget *one, tune_budget *total, kw_error *err)
{
    *total = (tune_budget){0, 0};
    if (c->budget && c->total_budget)
        return kw_error_set(err, KW_BAD_INPUT,
                            "give either --budget, for each shape, or --total-budget, for all together");
    kw_code code = tune_budget_parse(c->budget ? c->budget : "100", one, err);
    return code == KW_OK && c->total_budget ? tune_budget_parse(c->total_budget, total, err) : code;
}

/* What of the options does not fail; `templates` has room for those of the setup. */
static void take_setup(tune_cli *c, const job_setup *setup, const template **templates, tune_options *o)
{
    for (size_t i = 0; i < setup->n_templates; i++)
        templates[i] = setup->templates[i];
    o->types = setup->types;
    o->templates = templates;
    o->n_templates = setup->n_templates;
    o->fallback = setup->fallback;
    o->seed = (uint64_t)c->seed;
    o->cold = !c->warm;
    o->on_progress = on_progress;
    o->cookie = c;
}

static kw_code run(const tune_cli *c, const char *task_name, kw_error *err)
{
    job_setup setup;
    tune_options o;
    probe_fact fact;
    memset(&o, 0, sizeof o);
    tune_budget total;
    kw_code code = budgets_of(c, &o.budget, &total, err);
    if (code != KW_OK)
        return code;
    o.strategy = strategy_find(c->strategy, err);
    if (!o.strategy)
        return KW_BAD_INPUT;
    code = find_oclgrind(c, &o, err);
    if (code == KW_OK)
        code = job_setup_init(&setup, task_name, c->type, &c->templates, c->dims, c->shapes, err);
    if (code != KW_OK) {
        oclgrind_free(o.oclgrind);
        return code;
    }
    tune_cli with_task = *c;
    with_task.task = setup.task;
    const template **templates = mem_alloc(setup.n_templates * sizeof *templates);
    take_setup(&with_task, &setup, templates, &o);
    o.trace = c->trace ? trace_new() : NULL;
    if (o.trace)
        code = trace_write(o.trace, c->trace, err); /* a path that cannot be written is seen before hours of work */
    store *s = NULL;
    evaluator *e = NULL;
    summary sum;
    memset(&sum, 0, sizeof sum);
    if (code == KW_OK)
        code = open_evaluator(c, &o, &e, err); /* first: without a device no store is made */
    if (code == KW_OK)
        code = store_open(c->store, false, &s, err);
    if (code == KW_OK) {
        const device_info *d = evaluator_device(e);
        log_info("device %s: %s (%s), store %s", d->spec, d->name, d->key, store_path(s));
        code = probe_device(c, e, s, &fact, &o, err);
    }
    if (code == KW_OK) {
        sum.with_limit = o.probe != NULL;
        sum.tab = new_table(setup.task, sum.with_limit);
        if (!c->budget && !c->total_budget && setup.n_shapes >= MANY_SHAPES)
            total.configurations = MANY_EVALUATIONS * setup.n_shapes;
        if (total.configurations || total.seconds > 0)
            code = tune_together(&setup, e, s, &total, &o, err);
        if (code == KW_OK)
            code = tune_all(&with_task, &setup, e, s, &o, &sum, err);
        if (!c->json)
            print_summary(&sum);
    }
    kw_error why;
    if (o.trace && e && finish_trace(c, o.trace, &why) != KW_OK && code == KW_OK)
        code = kw_error_set(err, why.code, "%s", why.message);
    trace_free(o.trace);
    evaluator_close(e);
    oclgrind_free(o.oclgrind);
    store_close(s);
    if (sum.tab)
        table_free(sum.tab);
    free(templates);
    job_setup_clear(&setup);
    return code;
}

int cli_tune(int argc, char **argv)
{
    tune_cli c = {.strategy = "auto", .compile_workers = -1};
    const option_row rows[] = {
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "one shape"},
        {"--shapes", OPTION_TEXT, &c.shapes, "FILE", "shapes as JSON lines; default: the task's own"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types: f32, or T=f32,ACC=f32"},
        {"--device", OPTION_TEXT, &c.device, "SPEC",
         "opencl:P:D or part of a name; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--template", OPTION_LIST, &c.templates, "NAME", "only this template (name or path)"},
        {"--strategy", OPTION_TEXT, &c.strategy, "NAME", "how configurations are chosen; see below; default auto"},
        {"--budget", OPTION_TEXT, &c.budget, "N|TIME", "per shape: 200, 60s, 5m, or both (200,60s); default 100"},
        {"--total-budget", OPTION_TEXT, &c.total_budget, "N|TIME",
         "for all shapes together, which learn from each other; default from 16 shapes on: 25 for each"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of search and inputs; default 0"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold, buffers rotate)"},
        {"--no-probe", OPTION_FLAG, &c.no_probe, NULL, "do without what the device can do, also if the store has it"},
        {"--deep-check", OPTION_FLAG, &c.deep_check, NULL,
         "run every right candidate under Oclgrind; default: winners, where it is installed"},
        {"--no-deep-check", OPTION_FLAG, &c.no_deep_check, NULL, "run none under Oclgrind"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per candidate and per result"},
        {"--trace", OPTION_TEXT, &c.trace, "FILE", "write what ran when, in Chrome's trace format"},
        {"--compile-workers", OPTION_COUNT, &c.compile_workers, "N", "processes that compile; default: physical cores"},
        {"--timing-workers", OPTION_COUNT, &c.timing_workers, "N",
         "processes that verify and time, one at a time, up to 4; default: as the device asks for"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of one compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of one verification or timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD",
         "how to start workers, e.g. ssh HOST kernwright worker --stdio"},
    };
    const option_set set = {
        "tune", "TASK [options]",
        "Searches the best configuration of the task's templates for each shape. Every candidate is verified before\n"
        "it is timed. Everything measured is kept in the store; the same command again reuses it.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("tune", &err);
    if (helped) {
        cli_print_strategies();
        return KW_OK;
    }
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task; `kernwright tasks` lists them");
        return cli_fail("tune", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("tune", &err);
}
