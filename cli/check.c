#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include "base/fs.h"
#include "tuner/reference.h"
#include "tuner/space.h"
#include "tuner/task_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_cli {
    option_list set;
    const char *dims, *type;
    bool json;
} check_cli;

static void report(const check_cli *c, const char *file, const char *state, const char *text, uint64_t count,
                   double raw)
{
    if (!c->json) {
        printf("%s: %s\n", file, text);
        return;
    }
    json *j = json_new_object();
    json_set_string(j, "file", file);
    json_set_string(j, "state", state);
    json_set_string(j, "text", text);
    if (raw > 0) {
        if (count <= INT64_MAX)
            json_set_int(j, "count", (int64_t)count);
        else
            json_set_string(j, "count", "18446744073709551615"); /* where counting stops */
        json_set_number(j, "cartesian", raw);
    }
    cli_print_json(j);
    json_free(j);
}

static bool is_task_file(const char *path)
{
    return fs_is_folder(path) || strcmp(fs_base_name(path), "task.json") == 0;
}

static kw_code check_task(const check_cli *c, const char *path, kw_error *err)
{
    task *t;
    kw_code code = task_load(path, &t, err);
    if (code != KW_OK)
        return code;
    task_shape *shapes = NULL;
    size_t n = 0, n_edges = 0;
    if (t->shapes_file)
        code = task_shapes_load(t, t->shapes_file, &shapes, &n, err);
    free(shapes);
    shapes = NULL;
    if (code == KW_OK && t->edge_shapes_file)
        code = task_shapes_load(t, t->edge_shapes_file, &shapes, &n_edges, err);
    free(shapes);
    if (code == KW_OK)
        code = reference_compile(t, err);
    task_types types;
    if (code == KW_OK)
        code = task_types_parse(t, c->type, &types, err);
    if (code == KW_OK)
        code = task_check(t, &types, err);
    if (code == KW_OK) {
        char text[256];
        snprintf(text, sizeof text, "task %s is sound: dims %zu, tensors %zu, shapes %zu, edge shapes %zu, %s", t->name,
                 t->n_dims, t->n_tensors, n, n_edges,
                 !t->reference         ? "no reference"
                 : t->reference_source ? "its reference compiles"
                                       : "a built-in reference");
        report(c, path, "ok", text, 0, 0);
    }
    task_free(t);
    return code;
}

/* Expands one configuration of the space, so that the text is seen to expand at all. */
static kw_code check_config(const check_cli *c, const job_setup *setup, const space *s, kw_error *err)
{
    const template *p = setup->templates[0];
    uint32_t *config;
    kw_code code = job_setup_config(p, &c->set, &config, err);
    if (code != KW_OK)
        return code;
    strb why = STRB_INIT;
    if (space_explain(s, config, &why) >= 0) {
        if (c->set.n > 0)
            code = kw_error_set(err, KW_FAILED, "the configuration is rejected: %s", strb_text(&why));
        else
            space_unrank(s, 0, config); /* the default is for other devices or shapes */
    }
    variant *v = NULL;
    if (code == KW_OK)
        code = variant_expand(p, &setup->types, config, setup->n_shapes ? setup->shapes : NULL, &v, err);
    variant_free(v);
    free(config);
    strb_clear(&why);
    return code;
}

static bool needs_shape(const template *p)
{
    for (size_t d = 0; d < p->task->n_dims; d++)
        if (p->specialize[d] >= 0)
            return true;
    return false;
}

static kw_code check_template(const check_cli *c, const char *name, kw_error *err)
{
    job_setup setup;
    space *s = NULL;
    kw_code code = job_setup_template(&setup, name, c->type, c->dims, err);
    if (code != KW_OK)
        return code;
    const template *p = setup.templates[0];
    if (setup.n_shapes == 0 && needs_shape(p) && setup.task->shapes_file)
        code = task_shapes_load(setup.task, setup.task->shapes_file, &setup.shapes, &setup.n_shapes, err);
    if (code == KW_OK)
        code =
            space_of_template(p, &setup.types, limits_of_typical_gpu(), setup.n_shapes ? setup.shapes : NULL, &s, err);
    if (code == KW_OK)
        code = check_config(c, &setup, s, err);
    if (code == KW_OK) {
        char text[256];
        snprintf(text, sizeof text, "template %s of task %s is sound: parameters %zu, combinations %.6g, valid %llu",
                 p->name, setup.task->name, p->n_params, space_cartesian(s), (unsigned long long)space_count(s));
        report(c, name, "ok", text, space_count(s), space_cartesian(s));
    }
    space_free(s);
    job_setup_clear(&setup);
    return code;
}

int cli_check(int argc, char **argv)
{
    check_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--set", OPTION_LIST, &c.set, "NAME=VALUE", "check this configuration and say what rejects it"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "a shape: what the template requires of shapes counts too"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types"},
        {"--json", OPTION_FLAG, &c.json, NULL, "one JSON line per file"},
    };
    const option_set set = {
        "check", "FILE... [options]",
        "Checks templates (files or names) and tasks (folders or task.json) without a device: whether they can be\n"
        "read and expanded, how large the space is within the limits of a typical GPU, and whether a task's reference\n"
        "agrees with itself and uses every input.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("check", &err);
    if (helped)
        return KW_OK;
    if (args.n == 0) {
        kw_error_set(&err, KW_BAD_INPUT, "give at least one template or task");
        return cli_fail("check", &err);
    }
    int status = KW_OK;
    for (size_t i = 0; i < args.n; i++) {
        kw_code code =
            is_task_file(args.items[i]) ? check_task(&c, args.items[i], &err) : check_template(&c, args.items[i], &err);
        if (code == KW_OK)
            continue;
        if (c.json)
            report(&c, args.items[i], "error", err.message, 0, 0);
        cli_fail("check", &err);
        if ((int)code > status)
            status = code;
    }
    return status;
}
