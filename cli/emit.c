#include "cli/cli.h"
#include "cli/options.h"

#include "base/fs_writer.h"
#include "base/log.h"
#include "tuner/binaries.h"
#include "tuner/dispatch.h"
#include "tuner/portfolio.h"
#include "tuner/problem_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct emit_cli {
    const char *out, *from, *store, *type, *prefix, *device, *language, *shapes, *variants, *trust;
    const char *binaries, *worker_command;
    bool unverified, split;
} emit_cli;

/* The source of rows: the store, or a results file read into a store in memory. */
static kw_code open_source(const emit_cli *c, const task *t, store **s, kw_error *err)
{
    return c->from ? results_open(c->from, t->name, s, err) : store_open(c->store, true, s, err);
}

/* A task, or the one that a problem file states. */
static kw_code load_task(const char *name, task **t, kw_error *err)
{
    template *p = NULL;
    task_shape shape;
    if (!problem_is_file(name))
        return task_load(name, t, err);
    kw_code code = problem_kernel_load(name, t, &p, &shape, err);
    template_free(p);
    return code;
}

/* What the tree of a device is worth, and what portfolios of other sizes would be. */
static void report_device(const dispatch_report *r, size_t wanted)
{
    if (r->n_leaves == 0) {
        log_info("%s: no tree: shapes %zu (at least %d), general variants %zu; its default serves what no row does",
                 r->device_key, r->n_shapes, DISPATCH_TREE_SHAPES, r->n_general);
        return;
    }
    strb line = STRB_INIT;
    if (r->n_cells > 0)
        strb_printf(&line, "grid of %zu cells, %zu rankings", r->n_cells, r->n_leaves);
    else
        strb_printf(&line, "tree of %zu leaves", r->n_leaves);
    log_info("%s: %s over %zu of %zu general variants, from %zu shapes; time over the best for shapes "
             "left out: mean %.3f, geometric mean %.3f, worst %.3f",
             r->device_key, strb_text(&line), r->n_portfolio, r->n_general, r->n_shapes, r->held_out.mean,
             r->held_out.geomean, r->held_out.worst);
    strb_clear(&line);
    for (size_t i = 0; i < r->n_curve; i++)
        strb_printf(&line, "%s%zu: %.3f", i > 0 ? ", " : "", i + 1, r->curve[i].mean);
    log_info("  mean regret if each shape ran the best of so many variants: %s", strb_text(&line));
    strb_clear(&line);
    for (size_t i = 0; i < r->sizes.n; i++)
        strb_printf(&line, "%s%zu: %.3f, %.3f, %.2f", i > 0 ? "; " : "", r->sizes.variants[i],
                    regret_mean(&r->sizes.held_out[i]), regret_geomean(&r->sizes.held_out[i]),
                    r->sizes.held_out[i].worst);
    if (r->sizes.n > 0)
        log_info("  of shapes left out, by portfolio (mean, geometric mean, worst): %s", strb_text(&line));
    const char *taken = r->recommended == wanted ? " (as it is)" : "";
    if (wanted == DISPATCH_AUTO)
        taken = r->recommended >= DISPATCH_VARIANTS ? " (as it is)" : " (auto takes as many as the default)";
    log_info("  recommended: --variants %zu%s", r->recommended, taken);
    strb_clear(&line);
}

/* Beside the header: kw_gemm.h -> kw_gemm.c. Caller frees. */
static char *sources_path_of(const char *header)
{
    const size_t n = strlen(header);
    strb path = STRB_INIT;
    strb_add_n(&path, header, n > 2 && strcmp(header + n - 2, ".h") == 0 ? n - 2 : n);
    strb_add(&path, ".c");
    return strb_take(&path);
}

/* A number, or auto; DISPATCH_VARIANTS without a wish. */
static bool read_variants(const char *text, size_t *n)
{
    char *end = NULL;
    *n = DISPATCH_VARIANTS;
    if (!text)
        return true;
    if (strcmp(text, "auto") == 0) {
        *n = DISPATCH_AUTO;
        return true;
    }
    const long number = strtol(text, &end, 10);
    *n = (size_t)number;
    return end != text && *end == '\0' && number >= 0 && number <= PORTFOLIO_MAX;
}

/* What an emit reads and makes. */
typedef struct emission {
    task *task;
    task_types types;
    task_shape *shapes; /* of --shapes; NULL */
    size_t n_shapes, n_variants;
    store *store;
    dispatch *dispatch;
    binaries *binaries; /* NULL without --binaries */
    header_model model; /* what it points at belongs to the two above */
    strb header, sources;
    char *sources_path; /* NULL without --split */
} emission;

static kw_code check_options(const emit_cli *c, size_t *n_variants, kw_error *err)
{
    if (!read_variants(c->variants, n_variants))
        return kw_error_set(err, KW_BAD_INPUT, "--variants %s: give 0 (no trees) to %d, or auto", c->variants,
                            PORTFOLIO_MAX);
    if (c->split && strcmp(c->out, "-") == 0)
        return kw_error_set(err, KW_BAD_INPUT, "--split writes two files: give -o FILE");
    if (c->worker_command && !c->binaries)
        return kw_error_set(err, KW_BAD_INPUT, "--worker-command is for --binaries, which was not given");
    if (c->language && strcmp(c->language, "opencl") != 0)
        return kw_error_set(err, KW_BAD_INPUT, "--language %s: headers are written for opencl only", c->language);
    return KW_OK;
}

static kw_code read_inputs(emission *e, const emit_cli *c, const char *task_name, kw_error *err)
{
    kw_code code = load_task(task_name, &e->task, err);
    if (code == KW_OK)
        code = task_types_parse(e->task, c->type, &e->types, err);
    if (code == KW_OK && c->shapes)
        code = task_shapes_load(e->task, c->shapes, &e->shapes, &e->n_shapes, err);
    if (code == KW_OK)
        code = open_source(c, e->task, &e->store, err);
    return code == KW_OK && c->trust ? store_use_trust(e->store, c->trust, err) : code;
}

static kw_code make_header(emission *e, const emit_cli *c, kw_error *err)
{
    const dispatch_options o = {.device_key = c->device,
                                .allow_unverified = c->unverified,
                                .prefix = c->prefix,
                                .n_variants = e->n_variants,
                                .shapes = e->shapes,
                                .n_shapes = e->n_shapes};
    kw_code code = dispatch_build(e->store, e->task, &e->types, &o, &e->dispatch, err);
    if (code != KW_OK)
        return code;
    e->model = *dispatch_model(e->dispatch);
    if (c->binaries) {
        code = binaries_compile(c->binaries, c->worker_command, &e->model, &e->binaries, err);
        if (code != KW_OK)
            return code;
        binaries_add(e->binaries, &e->model);
    }
    if (!c->split)
        return header_write(&e->model, &e->header, err);
    e->sources_path = sources_path_of(c->out);
    return header_write_split(&e->model, &e->header, &e->sources, err);
}

/* A file that cannot be written is noticed before the other one is replaced. */
static kw_code write_files(const emission *e, const char *path, kw_error *err)
{
    fs_writer *header = NULL, *sources = NULL;
    kw_code code = fs_writer_open(path, &header, err);
    if (code == KW_OK && e->sources_path)
        code = fs_writer_open(e->sources_path, &sources, err);
    if (code == KW_OK)
        fs_writer_add(header, strb_text(&e->header), e->header.length);
    if (sources) {
        fs_writer_add(sources, strb_text(&e->sources), e->sources.length);
        code = fs_writer_close(sources, true, err);
    }
    if (code == KW_OK)
        return fs_writer_close(header, true, err);
    fs_writer_close(header, false, NULL);
    return code;
}

static void report(const emission *e, const emit_cli *c)
{
    const header_model *m = &e->model;
    for (size_t i = 0; i < m->n_devices && e->n_variants > 0; i++)
        report_device(dispatch_device_report(e->dispatch, i), e->n_variants);
    log_info("%s: devices %zu, rows %zu, variants %zu, %.1f KiB, kernel text of %.1f KiB %s%s", c->out, m->n_devices,
             m->n_rows, m->n_variants, (double)e->header.length / 1024, (double)header_text_bytes(m) / 1024,
             c->split ? "in " : "included", c->split ? e->sources_path : "");
    if (c->binaries)
        log_info("binaries of %zu of %zu variants, %.1f KiB, for %s", m->n_binaries, m->n_variants,
                 (double)header_binary_bytes(m) / 1024, m->n_binaries > 0 ? m->binaries[0].identity : "no device");
}

static kw_code emit(const emit_cli *c, const char *task_name, kw_error *err)
{
    emission e = {.header = STRB_INIT, .sources = STRB_INIT};
    kw_code code = check_options(c, &e.n_variants, err);
    if (code == KW_OK)
        code = read_inputs(&e, c, task_name, err);
    if (code == KW_OK)
        code = make_header(&e, c, err);
    if (code == KW_OK)
        code = write_files(&e, c->out, err);
    if (code == KW_OK && strcmp(c->out, "-") != 0)
        report(&e, c);
    strb_clear(&e.header);
    strb_clear(&e.sources);
    free(e.sources_path);
    free(e.shapes);
    binaries_free(e.binaries);
    dispatch_free(e.dispatch);
    store_close(e.store);
    task_free(e.task);
    return code;
}

int cli_emit(int argc, char **argv)
{
    emit_cli c = {.prefix = "kw_"};
    const option_row rows[] = {
        {"-o", OPTION_TEXT, &c.out, "FILE", "the header to write; - for standard output"},
        {"--from", OPTION_TEXT, &c.from, "FILE", "take rows from exported results instead of the store"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types of the header"},
        {"--prefix", OPTION_TEXT, &c.prefix, "P", "prefix of all names; default kw_"},
        {"--device", OPTION_TEXT, &c.device, "KEY", "only this device key; default: all devices"},
        {"--variants", OPTION_TEXT, &c.variants, "K",
         "variants of a device for shapes without a row; default 8; auto: as recommended; 0: none"},
        {"--shapes", OPTION_TEXT, &c.shapes, "FILE", "how much each shape counts for the tree: a shapes file's counts"},
        {"--language", OPTION_TEXT, &c.language, "NAME", "opencl (default)"},
        {"--split", OPTION_FLAG, &c.split, NULL, "kernel text in a .c file of its own, beside the header"},
        {"--binaries", OPTION_TEXT, &c.binaries, "SPEC", "compiled programs of this device beside the kernel text"},
        {"--worker-command", OPTION_TEXT, &c.worker_command, "CMD", "--binaries: how to start the worker"},
        {"--trust", OPTION_TEXT, &c.trust, "FILE",
         "weights of contributors: lines {\"contributor\":\"NAME\",\"weight\":0.5}"},
        {"--unverified", OPTION_FLAG, &c.unverified, NULL, "also use rows that no reference checked"},
    };
    const option_set set = {"emit", "TASK -o FILE [options]", "Writes the header-only dispatch table kw_TASK.h.", rows,
                            sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("emit", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1 || !c.out) {
        kw_error_set(&err, KW_BAD_INPUT, "give one task and -o FILE");
        return cli_fail("emit", &err);
    }
    return emit(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("emit", &err);
}
