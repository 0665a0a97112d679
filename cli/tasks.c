#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

static void add_row(table *tab, json *list, const task *t)
{
    strb dims = STRB_INIT, types = STRB_INIT;
    for (size_t i = 0; i < t->n_dims; i++)
        strb_printf(&dims, "%s%s", i ? "," : "", t->dims[i].name);
    for (size_t i = 0; i < t->n_types; i++) {
        strb_printf(&types, "%s%s=", i ? " " : "", t->types[i].symbol);
        for (size_t k = 0; k < t->types[i].n_allowed; k++)
            strb_printf(&types, "%s%s", k ? "|" : "", dtype_name(t->types[i].allowed[k]));
    }
    table_text(tab, t->name);
    table_text(tab, strb_text(&dims));
    table_text(tab, strb_text(&types));
    table_text(tab, t->folder);
    table_text(tab, t->doc);
    table_end_row(tab);
    json *o = json_new_object();
    json_set_string(o, "name", t->name);
    json_set_string(o, "doc", t->doc);
    json_set_string(o, "dims", strb_text(&dims));
    json_set_string(o, "types", strb_text(&types));
    json_set_string(o, "folder", t->folder);
    json_set_string(o, "hash", t->hash);
    json_append(list, o);
    strb_clear(&dims);
    strb_clear(&types);
}

int cli_tasks(int argc, char **argv)
{
    bool as_json = false, helped;
    const option_row rows[] = {{"--json", OPTION_FLAG, &as_json, NULL, "as JSON"}};
    const option_set set = {"tasks", "[options]", "Lists the tasks in ./tasks and those that come with the program.",
                            rows, 1};
    option_list args;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("tasks", &err);
    if (helped)
        return KW_OK;
    if (args.n > 0) {
        kw_error_set(&err, KW_BAD_INPUT, "takes no argument (got '%s')", args.items[0]);
        return cli_fail("tasks", &err);
    }
    char **names;
    size_t n;
    if (task_names(&names, &n, &err) != KW_OK)
        return cli_fail("tasks", &err);
    table *tab = table_new("task|dims|types|folder|what");
    json *list = json_new_array();
    kw_code code = KW_OK;
    for (size_t i = 0; i < n; i++) {
        task *t;
        if (task_load(names[i], &t, &err) == KW_OK) {
            add_row(tab, list, t);
            task_free(t);
        } else {
            code = err.code;
            cli_fail("tasks", &err);
        }
        free(names[i]);
    }
    free(names);
    if (as_json)
        cli_print_json_pretty(list);
    else
        table_print(tab, stdout);
    table_free(tab);
    json_free(list);
    return code;
}
