#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/interrupt.h"
#include "tuner/problem.h"
#include "tuner/recorded.h"
#include "tuner/space_show.h"
#include "tuner/space_t1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct space_cli {
    const char *dims, *type, *explain, *format;
    int64_t sample, seed, max_mib, max_seconds;
    bool count, list, json;
} space_cli;

/* A space, and what it borrows from. */
typedef struct source {
    job_setup setup;
    problem problem;
    recorded_list recorded;
    space *s; /* one of recorded's, or its own */
    double construct_ms;
} source;

static bool stopped(void *cookie)
{
    (void)cookie;
    return interrupt_arrived();
}

static space_limits limits_of(const space_cli *c)
{
    return (space_limits){(size_t)c->max_mib << 20, (double)c->max_seconds, stopped, NULL};
}

static kw_code build_template(const space_cli *c, const char *name, source *out, kw_error *err)
{
    const space_limits limits = limits_of(c);
    kw_code code = job_setup_template(&out->setup, name, c->type, c->dims, err);
    if (code != KW_OK)
        return code;
    int64_t from = clock_now_ns();
    code = space_of_template_within(out->setup.templates[0], &out->setup.types, limits_of_typical_gpu(),
                                    out->setup.n_shapes ? out->setup.shapes : NULL, &limits, &out->s, err);
    out->construct_ms = (double)(clock_now_ns() - from) / 1e6;
    return code;
}

static kw_code build_problem(const space_cli *c, const char *path, source *out, kw_error *err)
{
    const space_limits limits = limits_of(c);
    if (c->dims || c->type)
        return kw_error_set(err, KW_BAD_INPUT, "--dims and --type are for templates; %s is a problem file", path);
    kw_code code = problem_load(path, &out->problem, err);
    if (code != KW_OK)
        return code;
    int64_t from = clock_now_ns();
    code = space_new(&out->problem.def, &limits, &out->s, err);
    out->construct_ms = (double)(clock_now_ns() - from) / 1e6;
    return code == KW_OK ? code : kw_error_prefix(err, "%s", path);
}

static kw_code build_recorded(const space_cli *c, const char *path, source *out, kw_error *err)
{
    const recorded_options o = {.unit_ns = 1}; /* times do not matter here */
    if (c->dims || c->type)
        return kw_error_set(err, KW_BAD_INPUT, "--dims and --type are for templates; %s holds measurements", path);
    int64_t from = clock_now_ns();
    kw_code code = recorded_read(path, &o, &out->recorded, err);
    if (code != KW_OK)
        return code;
    if (out->recorded.n != 1)
        return kw_error_set(err, KW_BAD_INPUT, "%s holds %zu recorded spaces; give a file with one", path,
                            out->recorded.n);
    out->s = out->recorded.items[0]->space;
    out->construct_ms = (double)(clock_now_ns() - from) / 1e6;
    return KW_OK;
}

static kw_code build(const space_cli *c, const char *name, source *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    space_file kind = SPACE_FILE_TEMPLATE;
    char *path = job_setup_find_template(name);
    kw_code code = path ? space_file_kind(path, &kind, err) : KW_OK; /* NULL: build_template says so */
    free(path);
    if (code != KW_OK)
        return code;
    interrupt_watch();
    if (kind == SPACE_FILE_TEMPLATE)
        code = build_template(c, name, out, err);
    else if (kind == SPACE_FILE_PROBLEM)
        code = build_problem(c, name, out, err);
    else
        code = build_recorded(c, name, out, err);
    interrupt_ignore();
    return code;
}

static void clear(source *x)
{
    if (x->recorded.n == 0)
        space_free(x->s);
    recorded_list_clear(&x->recorded);
    problem_clear(&x->problem);
    job_setup_clear(&x->setup);
}

/* ---- what is printed ---- */

static void print_line(json *j)
{
    cli_print_json(j);
    json_free(j);
}

static void set_count(json *j, uint64_t count)
{
    if (count <= INT64_MAX)
        json_set_int(j, "count", (int64_t)count);
    else
        json_set_string(j, "count", "18446744073709551615"); /* where counting stops */
}

static void print_count(const space_cli *c, const source *x)
{
    uint64_t count = space_count(x->s);
    if (c->json) {
        json *j = json_new_object();
        set_count(j, count);
        json_set_number(j, "cartesian", space_cartesian(x->s));
        json_set_number(j, "construct_ms", x->construct_ms);
        json_set_int(j, "bytes", (int64_t)space_bytes(x->s));
        print_line(j);
        return;
    }
    printf("valid configurations: %llu%s\ncombinations:         %.12g\nparameters:           %zu\n"
           "construction:         %.3f ms, %zu bytes\n",
           (unsigned long long)count, count == UINT64_MAX ? " or more" : "", space_cartesian(x->s), space_params(x->s),
           x->construct_ms, space_bytes(x->s));
}

static void print_config(const space_cli *c, const space *s, const uint32_t *config)
{
    if (c->json) {
        print_line(space_config_to_json(s, config));
        return;
    }
    strb text = STRB_INIT;
    space_config_print(s, config, &text);
    puts(strb_text(&text));
    strb_clear(&text);
}

typedef struct draws {
    uint64_t seed, n;
} draws;

static uint64_t next_random(void *cookie)
{
    draws *d = cookie;
    return counter_rng_u64(d->seed, 0, d->n++);
}

static void print_sample(const space_cli *c, const space *s)
{
    draws d = {(uint64_t)c->seed, 0};
    uint32_t *config = mem_calloc(space_params(s) + 1, sizeof *config);
    for (int64_t i = 0; i < c->sample && !ferror(stdout); i++) {
        space_sample(s, next_random, &d, config);
        print_config(c, s, config);
    }
    free(config);
}

static void print_all(const space_cli *c, const space *s)
{
    uint32_t *config = mem_calloc(space_params(s) + 1, sizeof *config);
    for (uint64_t rank = 0; rank < space_count(s) && !ferror(stdout); rank++) {
        space_unrank(s, rank, config);
        print_config(c, s, config);
    }
    free(config);
}

/* Exit status 1 where nothing agrees, like the tests of a shell. */
static kw_code explain(const space_cli *c, const space *s, kw_error *err)
{
    const space_limits limits = limits_of(c);
    uint64_t count = 0;
    strb text = STRB_INIT;
    uint32_t *config = mem_calloc(space_params(s) + 1, sizeof *config);
    kw_code code = space_config_read(s, c->explain, config, err);
    interrupt_watch();
    if (code == KW_OK)
        code = space_explain_some(s, config, &limits, &count, &text, err);
    interrupt_ignore();
    if (code == KW_OK && c->json) {
        json *j = json_new_object();
        json_set_bool(j, "valid", count > 0);
        set_count(j, count);
        json_set_string(j, "text", strb_text(&text));
        print_line(j);
    } else if (code == KW_OK && count > 0) {
        printf("valid: %llu configuration%s\n", (unsigned long long)count, count == 1 ? "" : "s");
    } else if (code == KW_OK) {
        printf("rejected: %s\n", strb_text(&text));
    }
    strb_clear(&text);
    free(config);
    return code != KW_OK ? code : count > 0 ? KW_OK : KW_FAILED;
}

static kw_code print_problem(const source *x, kw_error *err)
{
    strb text = STRB_INIT;
    kw_code code = space_print_t1(x->s, x->setup.n_templates > 0 ? x->setup.templates[0] : NULL, &text, err);
    if (code == KW_OK)
        puts(strb_text(&text));
    strb_clear(&text);
    return code;
}

static kw_code check_options(const space_cli *c, const option_list *args, kw_error *err)
{
    if (args->n != 1)
        return kw_error_set(err, KW_BAD_INPUT,
                            "give one template (a path, or a name that `kernwright templates` "
                            "lists), one problem file or one file of measurements");
    if (c->count + c->list + (c->sample > 0) + (c->explain != NULL) + (c->format != NULL) > 1)
        return kw_error_set(err, KW_BAD_INPUT, "give one of --count, --sample, --list, --explain and --format");
    if (c->format && strcmp(c->format, "t1") != 0)
        return kw_error_set(err, KW_BAD_INPUT, "unknown format '%s'; there is: t1", c->format);
    return KW_OK;
}

int cli_space(int argc, char **argv)
{
    space_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--count", OPTION_FLAG, &c.count, NULL, "how many are valid, and what building took (what it does anyway)"},
        {"--sample", OPTION_LIMIT, &c.sample, "N", "N valid configurations, each drawn uniformly from all"},
        {"--list", OPTION_FLAG, &c.list, NULL, "all valid configurations, in the order of their ranks"},
        {"--explain", OPTION_TEXT, &c.explain, "A=1,B=2",
         "how many agree with these values, or which constraint rejects"},
        {"--format", OPTION_TEXT, &c.format, "t1", "the space as a T1 problem file, for other tuners"},
        {"--seed", OPTION_INT, &c.seed, "N", "of --sample; 0 by default"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "template: the shape, so that what it requires of shapes counts"},
        {"--type", OPTION_TEXT, &c.type, "f32", "template: element types"},
        {"--max-mib", OPTION_LIMIT, &c.max_mib, "N", "memory that building may take; 1024 by default"},
        {"--max-seconds", OPTION_LIMIT, &c.max_seconds, "N", "time that building may take; 300 by default"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per answer or configuration"},
    };
    const option_set set = {
        "space", "FILE [options]",
        "Counts, samples, lists or explains the valid configurations of a template (within the limits of a typical\n"
        "GPU), of a T1 problem file, or of recorded measurements (a cache file and others, plain or gzipped; there "
        "what\n"
        "was recorded is valid, and construction includes reading). What FILE is, its content tells.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    source x;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("space", &err);
    if (helped)
        return KW_OK;
    if (check_options(&c, &args, &err) != KW_OK)
        return cli_fail("space", &err);
    kw_code code = build(&c, args.items[0], &x, &err);
    if (code != KW_OK) {
        clear(&x);
        return cli_fail("space", &err);
    }
    if (c.format)
        code = print_problem(&x, &err);
    else if (c.explain)
        code = explain(&c, x.s, &err);
    else if (c.sample > 0)
        print_sample(&c, x.s);
    else if (c.list)
        print_all(&c, x.s);
    else
        print_count(&c, &x);
    clear(&x);
    return err.code == KW_OK ? (int)code : cli_fail("space", &err);
}
