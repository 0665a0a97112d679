#include "cli/cli.h"
#include "cli/evolve_report.h"
#include "cli/evolve_result.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/evolve_live.h"
#include "llm/evolve_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct evolve_cli {
    const char *llm, *record, *measurements, *without, *dims, *shapes, *type, *device, *store, *out, *worker_command,
        *config, *temperature, *operators, *max_cost, *stop;
    option_list templates;
    int64_t budget, in_flight, repairs, seed, max_tokens, max_prompt, max_reply, compile_workers, compile_s, run_s;
    const char *rungs;
    bool json, warm, no_probe, leave, independent, report;
} evolve_cli;

/* The line; on a terminal also the archive's map, whenever it changed. */
static void on_progress(const evolve_progress *p, void *cookie)
{
    strb text = STRB_INIT;
    if (evolve_live_map_changed(cookie, p) && isatty(STDERR_FILENO)) {
        archive_print(p->archive, &text);
        log_info("%s", strb_text(&text));
        strb_clear(&text);
    }
    evolve_live_line(cookie, p, clock_now_ns(), &text);
    log_live("%s", strb_text(&text));
    strb_clear(&text);
}

static kw_code read_number(const char *option, const char *text, double least, double *out, kw_error *err)
{
    char *end;
    if (!text)
        return KW_OK;
    *out = strtod(text, &end);
    if (*end || end == text || !(*out >= least) || !isfinite(*out))
        return kw_error_set(err, KW_BAD_INPUT, "%s %s: not a number from %g on", option, text, least);
    return KW_OK;
}

/* --without archive,gradient,targets,meta */
static kw_code read_without(const char *list, evolve_task_options *o, kw_error *err)
{
    const struct {
        const char *name;
        bool *on;
    } parts[] = {{"archive", &o->archive}, {"gradient", &o->gradient}, {"targets", &o->targets}, {"meta", &o->meta}};
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ","), i = 0, count = sizeof parts / sizeof *parts;
        while (i < count && !(strlen(parts[i].name) == n && strncmp(parts[i].name, at, n) == 0))
            i++;
        if (i == count)
            return kw_error_set(err, KW_BAD_INPUT, "--without %.*s: there are archive, gradient, targets and meta",
                                (int)n, at);
        *parts[i].on = false;
        at += n + (at[n] == ',');
    }
    return KW_OK;
}

/* --rungs 4,12,32 */
static kw_code read_rungs(const char *text, uint64_t rungs[3], kw_error *err)
{
    const char *at = text;
    for (int i = 0; text && i < 3; i++) {
        char *end;
        unsigned long long n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (n == 0 || n > 100000 || *end != (i < 2 ? ',' : 0) || (i > 0 && n < rungs[i - 1]))
            return kw_error_set(err, KW_BAD_INPUT,
                                "--rungs %s: three numbers from 1 on that do not fall, as in 4,12,32", text);
        rungs[i] = n;
        at = end + 1;
    }
    return KW_OK;
}

static kw_code options_of(const evolve_cli *c, evolve_task_options *o, kw_error *err)
{
    *o = (evolve_task_options){.llm = c->llm,
                               .record = c->record,
                               .provider = {.config_path = c->config, .temperature = NAN, .seed = (uint64_t)c->seed},
                               .max_tokens_total = c->max_tokens,
                               .max_prompt_tokens = c->max_prompt,
                               .max_reply_tokens = c->max_reply,
                               .budget = (uint64_t)c->budget,
                               .in_flight = (size_t)c->in_flight,
                               .leave_when_waiting = c->leave,
                               .repairs = c->repairs,
                               .independent = c->independent,
                               .archive = true,
                               .gradient = true,
                               .targets = true,
                               .meta = true,
                               .seed = (uint64_t)c->seed,
                               .cold = !c->warm,
                               .probe = !c->no_probe,
                               .evaluator = {.device = c->device,
                                             .worker_command = c->worker_command,
                                             .compile_workers = (int)c->compile_workers,
                                             .cold = !c->warm,
                                             .compile_ms = 1000 * c->compile_s,
                                             .run_ms = 1000 * c->run_s},
                               .store = c->store,
                               .on_progress = on_progress};
    if (!c->llm)
        return kw_error_set(err, KW_BAD_INPUT, "say with --llm who writes templates; none: operators without a model");
    if (c->measurements && strcmp(c->measurements, "recorded") != 0 && strcmp(c->measurements, "live") != 0)
        return kw_error_set(err, KW_BAD_INPUT, "--measurements %s: live or recorded", c->measurements);
    o->recorded = c->measurements && strcmp(c->measurements, "recorded") == 0;
    kw_code code = read_without(c->without, o, err);
    if (code == KW_OK)
        code = read_number("--temperature", c->temperature, 0, &o->provider.temperature, err);
    if (code == KW_OK)
        code = read_number("--operators", c->operators, 0, &o->operators, err);
    if (code == KW_OK)
        code = read_number("--max-cost", c->max_cost, 0, &o->max_cost, err);
    if (code == KW_OK)
        code = read_number("--stop", c->stop, 0, &o->stop_fitness, err);
    if (code == KW_OK)
        code = read_rungs(c->rungs, o->rungs, err);
    if (code == KW_OK && o->operators > 1)
        code = kw_error_set(err, KW_BAD_INPUT, "--operators %s: a share, 0 to 1", c->operators);
    return code;
}

/* Before hours of work, not behind them. */
static kw_code check_out(const char *path, kw_error *err)
{
    char *folder = fs_folder_of(path);
    kw_code code = KW_OK;
    if (fs_is_folder(path))
        code = kw_error_set(err, KW_BAD_INPUT, "-o %s: it is a folder; name a file", path);
    else if (!fs_is_folder(folder))
        code = kw_error_set(err, KW_BAD_INPUT, "-o %s: there is no folder %s", path, folder);
    free(folder);
    return code;
}

static kw_code write_best(const evolve_cli *c, const evolve_result *r, kw_error *err)
{
    if (!c->out)
        return KW_OK;
    if (!r->best_text)
        return kw_error_set(err, KW_FAILED, "no template is right: nothing is written to %s", c->out);
    return fs_write(c->out, r->best_text, strlen(r->best_text), err);
}

static kw_code run(const evolve_cli *c, const char *task_name, kw_error *err)
{
    evolve_task_options o;
    evolve_live live = {0};
    evolve_result r;
    job_setup setup;
    kw_code code = options_of(c, &o, err);
    if (code == KW_OK && c->out)
        code = check_out(c->out, err);
    if (code == KW_OK)
        code = job_setup_init(&setup, task_name, c->type, &c->templates, c->dims, c->shapes, err);
    if (code != KW_OK)
        return code;
    o.cookie = &live;
    o.task = setup.task;
    o.types = setup.types;
    o.shapes = setup.shapes;
    o.n_shapes = setup.n_shapes;
    o.usual_shapes = !c->dims && !c->shapes;
    o.fallback = setup.fallback;
    const template **seeds = mem_alloc((setup.n_templates + 1) * sizeof *seeds);
    for (size_t i = 0; i < setup.n_templates; i++) {
        seeds[o.n_seeds] = setup.templates[i];
        if (setup.templates[i]->is_fallback)
            o.fallback = setup.templates[i];
        else if (c->templates.n > 0)
            o.n_seeds++;
    }
    o.seeds = seeds;
    if (!o.fallback) {
        code = kw_error_set(err, KW_BAD_INPUT, "task %s has no fallback template: evolution needs one to begin with",
                            setup.task->name);
    } else {
        code = evolve_task(&o, &r, err);
        log_live_end();
        if (r.archive && (code == KW_OK || code == KW_INTERRUPTED))
            print_evolve_result(&r, c->json);
        if (code == KW_OK)
            code = write_best(c, &r, err);
        if (code == KW_OK && !o.recorded && r.no_answer > 0 && r.no_answer + r.not_asked == r.attempts && !r.abandoned)
            code = kw_error_set(err, KW_FAILED, "none of %llu questions was answered: %s",
                                (unsigned long long)r.no_answer, r.no_answer_why);
        if (code == KW_OK && r.abandoned)
            code = kw_error_set(err, KW_FAILED, "ended before its budget was used: %s", r.why);
        evolve_result_clear(&r);
    }
    free(seeds);
    job_setup_clear(&setup);
    return code;
}

int cli_evolve(int argc, char **argv)
{
    evolve_cli c = {.compile_workers = -1, .repairs = -1};
    const option_row rows[] = {
        {"--llm", OPTION_TEXT, &c.llm, "SPEC", "who writes templates; see below"},
        {"--budget", OPTION_LIMIT, &c.budget, "N", "candidates to ask for; default 24, replay: all that were recorded"},
        {"--in-flight", OPTION_LIMIT, &c.in_flight, "N", "requests at a time; default 4"},
        {"--leave-when-waiting", OPTION_FLAG, &c.leave, NULL,
         "with folder: write a batch of prompts and end (status 0); the same command goes on with the replies"},
        {"--rungs", OPTION_TEXT, &c.rungs, "A,B,C",
         "configurations of a shape for any, a promising and an excellent candidate; default 4,12,32"},
        {"--repairs", OPTION_COUNT, &c.repairs, "N", "how often an error is sent back for one candidate; default 1"},
        {"--record", OPTION_TEXT, &c.record, "DIR",
         "keep exchanges, candidates and journal; a run that was stopped goes on"},
        {"--measurements", OPTION_TEXT, &c.measurements, "live|recorded",
         "recorded: with --llm replay:DIR, repeat a run from its journal and compare"},
        {"--without", OPTION_TEXT, &c.without, "LIST", "switch off: archive, gradient, targets, meta"},
        {"--independent", OPTION_FLAG, &c.independent, NULL,
         "nothing is learnt: every prompt shows the plain kernel alone; what asking N times brings, to compare with"},
        {"--operators", OPTION_TEXT, &c.operators, "SHARE",
         "share of candidates made without a model, 0 to 1; default 0"},
        {"--stop", OPTION_TEXT, &c.stop, "FITNESS", "end when the best reaches it"},
        {"--template", OPTION_LIST, &c.templates, "NAME", "begin with this template as well (name or path)"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "one shape"},
        {"--shapes", OPTION_TEXT, &c.shapes, "FILE", "shapes as JSON lines; default: the task's own"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types: f32, or T=f32,ACC=f32"},
        {"--device", OPTION_TEXT, &c.device, "SPEC",
         "opencl:P:D or part of a name; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--config", OPTION_TEXT, &c.config, "FILE", "endpoints and prices; default $KERNWRIGHT_LLM_CONFIG"},
        {"--temperature", OPTION_TEXT, &c.temperature, "T", "of the model; default: not sent"},
        {"--max-tokens", OPTION_TOTAL, &c.max_tokens, "N", "tokens of the whole run"},
        {"--max-cost", OPTION_TEXT, &c.max_cost, "X", "cost of the whole run, in the unit of the prices"},
        {"--max-prompt", OPTION_LIMIT, &c.max_prompt, "N", "tokens of one prompt; default 24000"},
        {"--max-reply", OPTION_LIMIT, &c.max_reply, "N", "tokens of one reply; default 8000"},
        {"--seed", OPTION_INT, &c.seed, "N", "seed of choices and inputs; default 0"},
        {"--warm", OPTION_FLAG, &c.warm, NULL, "time with warm caches (default: cold, buffers rotate)"},
        {"--no-probe", OPTION_FLAG, &c.no_probe, NULL, "do without what the device can do, also if the store has it"},
        {"-o", OPTION_TEXT, &c.out, "FILE", "write the best template there"},
        {"--json", OPTION_FLAG, &c.json, NULL, "the result as one JSON line"},
        {"--report", OPTION_FLAG, &c.report, NULL,
         "runs nothing: arguments are folders of recorded runs; shares that compile, are right, beat their parent"},
        {"--compile-workers", OPTION_COUNT, &c.compile_workers, "N", "processes that compile; default: physical cores"},
        {"--compile-limit", OPTION_LIMIT, &c.compile_s, "SECONDS", "deadline of one compilation; default 120"},
        {"--run-limit", OPTION_LIMIT, &c.run_s, "SECONDS", "deadline of one verification or timing; default 60"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD",
         "how to start workers, e.g. ssh HOST kernwright worker --stdio"},
    };
    const option_set set = {"evolve", "TASK --llm SPEC [options]   or   --report DIR..",
                            "Asks a language model for templates, tunes and verifies each, keeps the best of every "
                            "kind and asks for better ones.",
                            rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("evolve", &err);
    if (helped) {
        printf("\nproviders, several joined by commas, each with *WEIGHT behind it if they are not alike:\n");
        for (size_t i = 0; provider_table[i]; i++)
            printf("  %-12s %s\n", provider_table[i]->name, provider_table[i]->doc);
        return KW_OK;
    }
    if (c.report)
        return print_evolve_report(&args, c.json, &err) == KW_OK ? KW_OK : cli_fail("evolve", &err);
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task; `kernwright tasks` lists them");
        return cli_fail("evolve", &err);
    }
    return run(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("evolve", &err);
}
