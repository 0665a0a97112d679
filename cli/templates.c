#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

#include "codegen/expr.h"

#include <stdio.h>
#include <stdlib.h>

static void add_row(table *tab, json *list, const template *p)
{
    double raw = 1;
    json *params = json_new_object(), *when = json_new_object();
    for (size_t i = 0; i < p->n_params; i++) {
        raw *= (double)p->params[i].n_values;
        json *values = json_new_array();
        for (size_t k = 0; k < p->params[i].n_values; k++)
            json_append(values, value_to_json(p->params[i].values[k]));
        json_set(params, p->params[i].name, values);
        if (p->params[i].when)
            json_set_string(when, p->params[i].name, expr_text(p->params[i].when));
    }
    table_text(tab, p->name);
    table_text(tab, p->task->name);
    table_text(tab, language_name(p->lang));
    table_number(tab, (double)p->n_params, 1);
    table_number(tab, raw, 1);
    table_text(tab, p->is_fallback ? "yes" : "");
    table_text(tab, p->path);
    table_end_row(tab);
    json *o = json_new_object();
    json_set_string(o, "name", p->name);
    json_set_string(o, "task", p->task->name);
    json_set_string(o, "language", language_name(p->lang));
    json_set_bool(o, "fallback", p->is_fallback);
    json_set_string(o, "path", p->path);
    json_set_number(o, "cartesian", raw);
    json_set(o, "params", params);
    json_set(o, "when", when); /* of those that do not always exist */
    json_append(list, o);
}

/* `among_all`: a task that has no template yet is passed over. */
static kw_code list_task(const char *name, bool among_all, table *tab, json *list, kw_error *err)
{
    task *t = NULL;
    template **all = NULL;
    size_t n = 0;
    kw_code code = task_load(name, &t, err);
    if (code == KW_OK && template_find(t, NULL, 0, &all, &n, err) != KW_OK && !among_all)
        code = err->code;
    for (size_t i = 0; i < n; i++) {
        add_row(tab, list, all[i]);
        template_free(all[i]);
    }
    free(all);
    task_free(t);
    return code;
}

int cli_templates(int argc, char **argv)
{
    bool as_json = false, helped;
    const option_row rows[] = {
        {"--json", OPTION_FLAG, &as_json, NULL, "as JSON, with every parameter's values and `when`"}};
    const option_set set = {
        "templates", "[TASK] [options]",
        "Lists the templates in ./templates and those that come with the program, of one task or of all.", rows, 1};
    option_list args;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("templates", &err);
    if (helped)
        return KW_OK;
    table *tab = table_new("template|task|language|parameters|raw combinations|fallback|file");
    json *list = json_new_array();
    kw_code code = KW_OK;
    if (args.n > 0) {
        for (size_t i = 0; code == KW_OK && i < args.n; i++)
            code = list_task(args.items[i], false, tab, list, &err);
    } else {
        char **names = NULL;
        size_t n = 0;
        code = task_names(&names, &n, &err);
        for (size_t i = 0; i < n; i++) {
            if (code == KW_OK)
                code = list_task(names[i], true, tab, list, &err);
            free(names[i]);
        }
        free(names);
    }
    if (as_json)
        cli_print_json_pretty(list);
    else
        table_print(tab, stdout);
    table_free(tab);
    json_free(list);
    return code == KW_OK ? KW_OK : cli_fail("templates", &err);
}
