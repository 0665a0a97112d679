#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/log.h"
#include "tuner/probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct probe_cli {
    const char *device, *store, *worker_command;
    bool json, again;
} probe_cli;

/* ---- for programs ---- */

static void print_json(const device_info *d, const probe_fact *p)
{
    json *o = json_new_object();
    json_set_string(o, "device", d->key);
    json_set_string(o, "name", d->name);
    json_set_string(o, "driver", d->driver);
    json_set_string(o, "host", p->host);
    json_set_string(o, "date", p->date);
    json_set_bool(o, "fresh", p->fresh);
    json_set(o, "figures", probe_figures_to_json(&p->figures));
    if (p->notes[0])
        json_set_string(o, "notes", p->notes);
    cli_print_json(o);
    json_free(o);
}

/* ---- for people ---- */

static void add_row(table *t, const char *what, double figure, double unit, const char *unit_name)
{
    table_text(t, what);
    table_number(t, figure > 0 ? figure / unit : NAN, 4);
    table_text(t, figure > 0 ? unit_name : "not known");
    table_end_row(t);
}

static void add_noise(table *t, const probe_figures *f)
{
    static const char *const kernels[PROBE_RULERS] = {"multiply-adds", "copying"};
    for (int k = 0; k < PROBE_RULERS; k++) {
        for (int i = 0; i < PROBE_LENGTHS; i++) {
            const probe_noise *n = &f->noise[k][i];
            char what[64], how[96];
            snprintf(what, sizeof what, "A/A noise, %s", kernels[k]);
            snprintf(how, sizeof how, "%% at %.0f us (%s; order alone %+.2f%%)", n->median_ns / 1e3,
                     n->batch ? "batches" : "events", 100 * n->bias);
            table_text(t, what);
            table_number(t, n->median_ns > 0 ? 100 * n->noise : NAN, 2);
            table_text(t, n->median_ns > 0 ? how : "not known");
            table_end_row(t);
        }
    }
}

static void print_text(const device_info *d, const probe_fact *p)
{
    const probe_figures *f = &p->figures;
    printf("%s (%s), driver %s, measured %s on %s in %.1f s%s\n", d->name, d->key, d->driver, p->date,
           p->host[0] ? p->host : "an unknown host", f->seconds,
           p->fresh ? "" : "; from the store, --again measures anew");
    table *t = table_new("figure|value|unit");
    add_row(t, "copy, read + written", f->copy, 1e9, "GB/s");
    add_row(t, "read", f->read, 1e9, "GB/s");
    add_row(t, "write", f->write, 1e9, "GB/s");
    add_row(t, "copy within the cache", f->cache_copy, 1e9, "GB/s");
    add_row(t, "read within the cache", f->cache_read, 1e9, "GB/s");
    add_row(t, "local memory, read", f->local_read, 1e9, "GB/s");
    add_row(t, "f32 multiply-add", f->fma_f32, 1e9, "GFLOP/s");
    add_row(t, "f64 multiply-add", f->fma_f64, 1e9, "GFLOP/s");
    add_row(t, "f16 multiply-add", f->fma_f16, 1e9, "GFLOP/s");
    add_row(t, "empty kernel, by its event", f->launch_event_ns, 1e3, "us");
    add_row(t, "launch among many", f->launch_batch_ns, 1e3, "us");
    add_row(t, "launch and wait", f->launch_single_ns, 1e3, "us");
    add_row(t, "step of the device's timer", f->event_step_ns, 1, "ns");
    add_noise(t, f);
    table_print(t, stdout);
    table_free(t);
    if (p->notes[0])
        printf("not measured:\n%s\n", p->notes);
}

/* ---- */

static kw_code run(const probe_cli *c, kw_error *err)
{
    evaluator_options eo = {.device = c->device, .worker_command = c->worker_command, .compile_workers = 0};
    evaluator *e = NULL;
    store *s = NULL;
    probe_fact fact;
    kw_code code = evaluator_open(&eo, &e, err); /* first: without a device no store is made */
    if (code == KW_OK)
        code = store_open(c->store, false, &s, err);
    if (code == KW_OK)
        code = probe_obtain(e, s, c->again, &fact, err);
    if (code == KW_OK && c->json)
        print_json(evaluator_device(e), &fact);
    else if (code == KW_OK)
        print_text(evaluator_device(e), &fact);
    if (code == KW_OK && probe_was_busy(&fact.figures))
        log_warn(
            "the same kernel's times differ by more than 10%%: the machine is busy, and no time is called implausible "
            "by these figures; measure again with --again when it is idle");
    evaluator_close(e);
    store_close(s);
    return code;
}

int cli_probe(int argc, char **argv)
{
    probe_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--device", OPTION_TEXT, &c.device, "SPEC", "device; default $KERNWRIGHT_DEVICE, first GPU, CPU"},
        {"--again", OPTION_FLAG, &c.again, NULL, "measure although the store has figures of this device and driver"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD", "how to start the worker"},
    };
    const option_set set = {
        "probe", "[options]",
        "Measures what the device reaches at best: bandwidths, multiply-add rates, the cost of a launch, and how\n"
        "far apart two timings of the same kernel are. Results are compared with it; `kernwright tune` measures it\n"
        "by itself where the store has none. Takes some seconds, and the device to itself.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("probe", &err);
    if (helped)
        return KW_OK;
    if (args.n > 0) {
        kw_error_set(&err, KW_BAD_INPUT, "takes no argument (got '%s')", args.items[0]);
        return cli_fail("probe", &err);
    }
    return run(&c, &err) == KW_OK ? KW_OK : cli_fail("probe", &err);
}
