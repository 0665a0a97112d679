#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/retune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCES 64

typedef struct retune_cli {
    const char *dims, *shapes, *type, *device, *strategy, *budget, *gain, *store, *worker_command;
    option_list templates, from;
    int64_t seed, sample, compile_workers, compile_s, run_s;
    bool json, warm, no_probe, no_deep_check, plan;
    const task *task;
    table *tab;
    size_t n_done;
    uint64_t measured;
} retune_cli;

/* ---- output ---- */

static void print_line(json *j)
{
    strb line = STRB_INIT;
    json_print(j, &line);
    json_free(j);
    puts(strb_text(&line));
    fflush(stdout);
    strb_clear(&line);
}

static void set_percent(json *j, const char *key, double x)
{
    if (isfinite(x))
        json_set_number(j, key, x);
}

static json *shape_to_json(const retune_cli *c, const retune_shape *s)
{
    json *j = json_new_object();
    json_set(j, "shape", task_shape_to_json(c->task, &s->shape));
    json_set_string(j, "state", retune_state_name(s->state));
    json_set_int(j, "here", (int64_t)s->n_here);
    json_set_int(j, "before", (int64_t)s->n_before);
    json_set_int(j, "changed", (int64_t)(s->n_changed + s->n_changed_before));
    json_set_int(j, "lessons", (int64_t)s->n_lessons);
    set_percent(j, "expected_gain", s->gain);
    set_percent(j, "agreement", s->agreement);
    if (s->lacks[0])
        json_set_string(j, "lacks", s->lacks);
    return j;
}

static void put_count(table *t, uint64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    table_text(t, text);
}

static void put_share(table *t, double x, const char *unknown)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f%%", 100 * x);
    table_text(t, isfinite(x) ? text : unknown);
}

static void put_shape(const retune_cli *c, table *t, const retune_shape *s)
{
    strb shape = STRB_INIT;
    task_shape_print(c->task, &s->shape, &shape);
    table_text(t, strb_text(&shape));
    table_text(t, retune_state_name(s->state));
    strb_clear(&shape);
}

static void print_plan(const retune_cli *c, const retune *r)
{
    table *t = c->json ? NULL : table_new("shape|state|measured|before|changed|lessons|expected gain|never measured");
    for (size_t i = 0; i < retune_count(r); i++) {
        const retune_shape *s = retune_at(r, i);
        if (c->json) {
            print_line(shape_to_json(c, s));
            continue;
        }
        put_shape(c, t, s);
        put_count(t, s->n_here);
        put_count(t, s->n_before);
        put_count(t, s->n_changed + s->n_changed_before);
        put_count(t, s->n_lessons);
        put_share(t, s->gain, "-");
        table_text(t, s->lacks);
        table_end_row(t);
    }
    if (t) {
        table_print(t, stdout);
        table_free(t);
    }
}

static void print_result(const retune_cli *c, const retune_shape *s, const tune_result *x, const kw_error *why)
{
    json *j = shape_to_json(c, s);
    if (x) {
        json_set_string(j, "template", x->template_name);
        json_set(j, "config", json_parse(x->config, strlen(x->config), NULL, 1, 1, NULL));
        json_set_number(j, "tuned_ns", x->tuned_ns);
        json_set_number(j, "lo_ns", x->tuned_lo);
        json_set_number(j, "hi_ns", x->tuned_hi);
        json_set_string(j, "verified", verified_name(x->verified));
        json_set_string(j, "source_hash", x->source_hash);
        json_set_int(j, "measured", (int64_t)x->measured);
        json_set_int(j, "reused", (int64_t)x->reused);
    } else {
        json_set_int(j, "code", why->code);
        json_set_string(j, "text", why->message);
    }
    print_line(j);
}

static void on_shape(const retune_shape *s, const tune_result *x, const kw_error *why, void *cookie)
{
    retune_cli *c = cookie;
    log_live_end();
    c->n_done += x != NULL;
    c->measured += x ? x->measured : 0;
    if (c->json) {
        print_result(c, s, x, why);
        return;
    }
    if (!x) {
        strb shape = STRB_INIT;
        task_shape_print(c->task, &s->shape, &shape);
        log_error("%s: %s", strb_text(&shape), why->message);
        strb_clear(&shape);
        return;
    }
    char counts[64];
    snprintf(counts, sizeof counts, "%llu+%llu", (unsigned long long)x->measured, (unsigned long long)x->reused);
    put_shape(c, c->tab, s);
    put_count(c->tab, s->n_lessons);
    table_number(c->tab, s->agreement, 2);
    table_text(c->tab, counts);
    put_share(c->tab, s->gain, "-");
    table_number(c->tab, x->tuned_ns / 1e6, 4);
    table_text(c->tab, verified_name(x->verified));
    table_text(c->tab, x->template_name);
    table_end_row(c->tab);
}

static void on_progress(const tune_progress *p, void *cookie)
{
    const retune_cli *c = cookie;
    strb shape = STRB_INIT;
    task_shape_print(c->task, p->shape, &shape);
    log_live("%s  %llu  %s  %s %s", strb_text(&shape), (unsigned long long)p->done, p->reused ? "stored" : p->purpose,
             p->m->template_name, outcome_name(p->m->outcome));
    strb_clear(&shape);
}

static void print_notes(const retune *r)
{
    for (const char *line = retune_notes(r); *line;) {
        const size_t n = strcspn(line, "\n");
        log_warn("%.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

/* One line on what the change of driver did, where there was one. */
static void print_drivers(const retune *r)
{
    const retune_drivers *d = retune_judged(r);
    if (d->n_timed > 0 && !d->known)
        log_info("%zu old rows timed again: %zu moved; new times are %.3g of the old in the median", d->n_timed,
                 d->n_moved, d->shift);
    if (!d->before[0]) {
        if (d->n_moved * 4 >= d->n_timed && d->n_timed > 0)
            log_warn("the driver is the same, yet times have moved: other clocks, or other work on the machine?");
        return;
    }
    if (!d->judged)
        log_info("driver '%s' instead of '%s': a sample will tell whether its times hold", d->now, d->before);
    else if (d->stale)
        log_warn("driver '%s' instead of '%s': its rows are stale%s; they still say where to look first", d->now,
                 d->before, d->n_timed > 0 ? ", since times have moved" : "");
    else
        log_info("driver '%s' instead of '%s': its times still hold", d->now, d->before);
}

static void print_summary(const retune_cli *c, const retune *r, size_t lacking)
{
    if (!c->json && !c->plan)
        table_print(c->tab, stdout);
    json *j = json_new_object(), *o = json_new_object();
    const retune_drivers *d = retune_judged(r);
    if (c->json) {
        json_set_int(o, "shapes", (int64_t)retune_count(r));
        json_set_int(o, "lacking", (int64_t)lacking);
        json_set_int(o, "done", (int64_t)c->n_done);
        json_set_int(o, "measured", (int64_t)c->measured);
        json_set_int(o, "lessons", (int64_t)retune_lessons(r));
        json_set_string(o, "driver", d->now);
        if (d->before[0]) {
            json_set_string(o, "driver_before", d->before);
            json_set_string(o, "earlier_rows", !d->judged ? "not judged" : d->stale ? "stale" : "hold");
        }
        if (d->n_timed > 0) {
            json_set_int(o, "timed_again", (int64_t)d->n_timed);
            json_set_int(o, "moved", (int64_t)d->n_moved);
            set_percent(o, "new_over_old", d->shift);
        }
        json_set(j, "summary", o);
        print_line(j);
        return;
    }
    json_free(o);
    json_free(j);
    if (c->plan)
        printf("%zu of %zu shapes lack something; %zu lessons from devices and shapes\n", lacking, retune_count(r),
               retune_lessons(r));
    else
        printf("%zu of %zu shapes lacked something, %zu retuned with %llu measurements; %zu lessons\n", lacking,
               retune_count(r), c->n_done, (unsigned long long)c->measured, retune_lessons(r));
}

/* ---- work ---- */

static kw_code work(retune_cli *c, evaluator *e, store *s, const job_setup *setup, const retune_options *o,
                    kw_error *err)
{
    retune *r = NULL;
    kw_code code = retune_open(e, s, setup->task, o, setup->shapes, setup->n_shapes, &r, err);
    if (code != KW_OK)
        return code;
    print_notes(r);
    if (c->plan) {
        print_drivers(r);
        print_plan(c, r);
        print_summary(c, r, retune_lacking(r));
        retune_close(r);
        return KW_OK;
    }
    code = retune_validate(r, err);
    log_live_end();
    if (code == KW_OK) {
        print_drivers(r);
        const size_t lacking = retune_lacking(r);
        if (lacking > 0 && retune_lessons(r) == 0)
            log_warn("nothing is known from elsewhere: this is a tune from the beginning");
        code = retune_run(r, err);
        log_live_end();
        print_summary(c, r, lacking);
    }
    retune_close(r);
    return code;
}

static kw_code find_probe(const retune_cli *c, evaluator *e, store *s, probe_fact *fact, tune_options *o, kw_error *err)
{
    bool found = false;
    kw_error why;
    if (c->no_probe || evaluator_device(e)->simulated)
        return KW_OK;
    kw_code code = probe_find(s, evaluator_device(e), fact, &found, err);
    if (code == KW_OK && !found && !c->plan) {
        code = probe_obtain(e, s, false, fact, &why);
        found = code == KW_OK;
        if (code == KW_FAILED) {
            log_warn("no limits are known of the device: %s", why.message);
            code = KW_OK;
        } else if (code != KW_OK) {
            return kw_error_set(err, code, "%s", why.message);
        }
    }
    o->probe = found ? &fact->figures : NULL;
    return code;
}

static kw_code open_sources(const retune_cli *c, store **sources, retune_options *o, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < c->from.n; i++) {
        code = results_open(c->from.items[i], NULL, &sources[i], err);
        o->n_sources += code == KW_OK;
    }
    o->sources = sources;
    o->source_names = c->from.items;
    return code;
}

static kw_code parse_gain(const char *text, double *out, kw_error *err)
{
    char *end;
    *out = strtod(text, &end);
    const bool percent = *end == '%';
    if (end != text && (!*end || (percent && !end[1])) && *out >= 0 && *out <= (percent ? 100 : 1)) {
        *out /= percent ? 100 : 1;
        return KW_OK;
    }
    return kw_error_set(err, KW_BAD_INPUT, "--gain %s: give a share of the time, such as 1%% or 0.01", text);
}

static kw_code options_of(const retune_cli *c, retune_options *o, kw_error *err)
{
    tune_options *t = &o->tune;
    kw_code code = tune_budget_parse(c->budget, &t->budget, err);
    if (code == KW_OK)
        code = parse_gain(c->gain, &o->threshold, err);
    if (code != KW_OK)
        return code;
    t->strategy = strategy_find(c->strategy, err);
    if (!t->strategy)
        return KW_BAD_INPUT;
    if (c->from.n > MAX_SOURCES)
        return kw_error_set(err, KW_BAD_INPUT, "at most %d files with --from: merge them", MAX_SOURCES);
    t->seed = (uint64_t)c->seed;
    t->cold = !c->warm;
    t->deep = c->no_deep_check ? DEEP_NONE : DEEP_WINNERS;
    o->sample = c->sample >= 0 ? (size_t)c->sample : 8;
    o->sample_always = c->sample > 0;
    return KW_OK;
}

/* `templates` has room for those of the setup, and outlives the options. */
static void use_setup(retune_options *o, retune_cli *c, const job_setup *setup, const template **templates)
{
    c->task = setup->task;
    for (size_t i = 0; i < setup->n_templates; i++)
        templates[i] = setup->templates[i];
    o->tune.types = setup->types;
    o->tune.templates = templates;
    o->tune.n_templates = setup->n_templates;
    o->tune.fallback = setup->fallback;
    o->tune.on_progress = on_progress;
    o->tune.cookie = c;
    o->tune.oclgrind = o->tune.deep == DEEP_NONE ? NULL : oclgrind_new(0);
}

/* A plan writes nothing: not even an empty store. */
static kw_code open_store(const retune_cli *c, store **s, kw_error *err)
{
    if (!c->plan || store_is_there(c->store))
        return store_open(c->store, c->plan, s, err);
    log_warn("no store at %s yet: nothing was measured", store_name(c->store));
    return store_open(":memory:", false, s, err);
}

static kw_code run(retune_cli *c, const char *task_name, kw_error *err)
{
    job_setup setup;
    retune_options o = {.on_shape = on_shape, .cookie = c};
    probe_fact fact;
    evaluator *e = NULL;
    store *s = NULL, *sources[MAX_SOURCES] = {NULL};
    kw_code code = options_of(c, &o, err);
    if (code == KW_OK)
        code = job_setup_init(&setup, task_name, c->type, &c->templates, c->dims, c->shapes, err);
    if (code != KW_OK)
        return code;
    const template **templates = mem_alloc(setup.n_templates * sizeof *templates);
    use_setup(&o, c, &setup, templates);
    const evaluator_options eo = {.device = c->device,
                                  .worker_command = c->worker_command,
                                  .compile_workers = (int)c->compile_workers,
                                  .cold = o.tune.cold,
                                  .compile_ms = 1000 * c->compile_s,
                                  .run_ms = 1000 * c->run_s};
    code = open_sources(c, sources, &o, err); /* first: nothing is started for a file that cannot be read */
    if (code == KW_OK)
        code = evaluator_open(&eo, &e, err);
    if (code == KW_OK)
        code = open_store(c, &s, err);
    if (code == KW_OK) {
        const device_info *d = evaluator_device(e);
        log_info("device %s: %s (%s), driver %s, store %s", d->spec, d->name, d->key, d->driver, store_path(s));
        code = find_probe(c, e, s, &fact, &o.tune, err);
        c->tab = table_new("shape|was|lessons|agreement|new+stored|gain left|tuned ms|verified|template");
    }
    if (code == KW_OK)
        code = work(c, e, s, &setup, &o, err);
    if (c->tab)
        table_free(c->tab);
    evaluator_close(e);
    oclgrind_free(o.tune.oclgrind);
    store_close(s);
    for (size_t i = 0; i < o.n_sources; i++)
        store_close(sources[i]);
    free(templates);
    job_setup_clear(&setup);
    return code;
}

int cli_retune(int argc, char **argv)
{
    retune_cli c = {.strategy = "auto", .budget = "100", .gain = "1%", .compile_workers = -1, .sample = -1};
    const option_row rows[] = {
        {"--device", OPTION_TEXT, &c.device, "SPEC",
         "opencl:P:D or part of a name; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--from", OPTION_LIST, &c.from, "FILE", "learn from this results file too; the store as ever"},
        {"--plan", OPTION_FLAG, &c.plan, NULL, "print what is lacking, and measure nothing"},
        {"--dry-run", OPTION_FLAG, &c.plan, NULL, "the same"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "one shape"},
        {"--shapes", OPTION_TEXT, &c.shapes, "FILE", "shapes as JSON lines; default: the task's own"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types: f32, or T=f32,ACC=f32"},
        {"--template", OPTION_LIST, &c.templates, "NAME", "only this template (name or path)"},
        {"--gain", OPTION_TEXT, &c.gain, "SHARE", "stop where less is expected of going on; default 1%"},
        {"--budget", OPTION_TEXT, &c.budget, "N|TIME", "of each shape, at most; default 100"},
        {"--sample", OPTION_COUNT, &c.sample, "N",
         "time N old rows again; default: 8 where the driver changed, else none"},
        {"--strategy", OPTION_TEXT, &c.strategy, "NAME", "for what lessons do not choose; see below; default auto"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of search and inputs; default 0"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold, buffers rotate)"},
        {"--no-probe", OPTION_FLAG, &c.no_probe, NULL, "do without what the device can do, also if the store has it"},
        {"--no-deep-check", OPTION_FLAG, &c.no_deep_check, NULL, "run no winner under Oclgrind"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per shape, and a summary"},
        {"--compile-workers", OPTION_COUNT, &c.compile_workers, "N", "processes that compile; default: physical cores"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of one compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of one verification or timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD",
         "how to start workers, e.g. ssh HOST kernwright worker --stdio"},
    };
    const option_set set = {
        "retune", "TASK --device SPEC [options]",
        "Measures what this device still lacks: shapes, templates, a new driver. Starts from what other devices and\n"
        "shapes taught, and stops where going on is not worth it. The same command goes on after an interruption.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("retune", &err);
    if (helped) {
        cli_print_strategies();
        return KW_OK;
    }
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task; `kernwright tasks` lists them");
        return cli_fail("retune", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("retune", &err);
}
