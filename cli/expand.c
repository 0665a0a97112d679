#include "cli/cli.h"
#include "cli/job_setup.h"
#include "cli/options.h"

#include "base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expand_cli {
    option_list set;
    const char *dims, *type, *out;
    bool json;
} expand_cli;

static kw_code check_constraints(const template *p, const job_setup *setup, const uint32_t *config, kw_error *err)
{
    value env[512];
    if ((size_t)expr_scope_size(p->scope) > sizeof env / sizeof *env)
        return KW_OK;
    memset(env, 0, sizeof env);
    template_fill(p, &setup->types, NULL, setup->n_shapes ? setup->shapes : NULL, config, env);
    for (size_t i = 0; i < p->n_constraints; i++) {
        bool holds;
        kw_error ignored;
        if (expr_eval_truth(p->constraints[i].test, env, &holds, &ignored) == KW_OK && !holds)
            return kw_error_set(err, KW_FAILED, "the configuration violates the constraint %s%s%s",
                                p->constraints[i].text, p->constraints[i].why ? ": " : "",
                                p->constraints[i].why ? p->constraints[i].why : "");
    }
    return KW_OK;
}

static kw_code expand(const expand_cli *c, const char *name, kw_error *err)
{
    job_setup setup;
    uint32_t *config = NULL;
    variant *v = NULL;
    kw_code code = job_setup_template(&setup, name, c->type, c->dims, err);
    if (code != KW_OK)
        return code;
    const template *p = setup.templates[0];
    code = job_setup_config(p, &c->set, &config, err);
    if (code == KW_OK)
        code = check_constraints(p, &setup, config, err);
    if (code == KW_OK)
        code = variant_expand(p, &setup.types, config, setup.n_shapes ? setup.shapes : NULL, &v, err);
    if (code == KW_OK) {
        strb text = STRB_INIT;
        if (c->json) {
            json *j = variant_to_json(v);
            json_print_pretty(j, &text);
            strb_add_char(&text, '\n');
            json_free(j);
        } else {
            strb_add(&text, v->source);
        }
        code = fs_write(c->out ? c->out : "-", strb_text(&text), text.length, err);
        strb_clear(&text);
    }
    variant_free(v);
    free(config);
    job_setup_clear(&setup);
    return code;
}

int cli_expand(int argc, char **argv)
{
    expand_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--set", OPTION_LIST, &c.set, "NAME=VALUE", "a parameter; others keep their default"},
        {"--dims", OPTION_TEXT, &c.dims, "M=1,..", "the shape, for sizes that become constants"},
        {"--type", OPTION_TEXT, &c.type, "f32", "element types"},
        {"--json", OPTION_FLAG, &c.json, NULL, "the whole variant with its launches, not the source alone"},
        {"-o", OPTION_TEXT, &c.out, "FILE", "write to a file instead of standard output"},
    };
    const option_set set = {"expand", "TEMPLATE [options]", "Prints the concrete kernel source of one configuration.",
                            rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("expand", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one template: a path, or a name that `kernwright templates` lists");
        return cli_fail("expand", &err);
    }
    return expand(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("expand", &err);
}
