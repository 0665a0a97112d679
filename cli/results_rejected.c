#include "cli/results_rejected.h"

#include "base/json.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "tuner/results_groups.h"
#include "tuner/results_trust.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_json(const rejection *r)
{
    const measurement *m = &r->m;
    json *j = json_new_object();
    json_set_string(j, "reason", rejection_name(r->reason));
    json_set_string(j, "contributor", trust_who(m));
    json_set_string(j, "task", m->task);
    json_set_string(j, "types", m->types);
    json_set(j, "shape", json_parse(m->shape, strlen(m->shape), NULL, 1, 1, NULL));
    json_set_string(j, "device", m->device_key);
    json_set_string(j, "driver", m->driver);
    json_set_string(j, "source_hash", m->source_hash);
    json_set_string(j, "template", m->template_name);
    if (m->time.n > 0) {
        json_set_int(j, "n", (int64_t)m->time.n);
        json_set_number(j, "median_ns", m->time.median);
    }
    if (r->ns > 0)
        json_set_number(j, "others_ns", r->ns);
    json_set_string(j, "date", m->date);
    cli_print_json(j);
    json_free(j);
}

static void print_table(const results_groups *g)
{
    table *t = table_new("reason|contributor|task|shape|device|template|median ms|others ms|ratio");
    for (size_t i = 0; i < g->n_rejections; i++) {
        const rejection *r = &g->rejections[i];
        const measurement *m = &r->m;
        const double ns = m->time.n > 0 ? m->time.median : INFINITY, others = r->ns > 0 ? r->ns : INFINITY;
        table_text(t, rejection_name(r->reason));
        table_text(t, trust_who(m));
        table_text(t, m->task);
        table_text(t, m->shape);
        table_text(t, m->device_key);
        table_text(t, m->template_name ? m->template_name : "-");
        table_number(t, ns / 1e6, 4);
        table_number(t, others / 1e6, 4);
        table_number(t, isfinite(ns) && isfinite(others) ? ns / others : INFINITY, 3);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
}

kw_code cli_show_rejected(const char *store_path, const char *from, const char *task_name, const char *trust_path,
                          bool as_json, kw_error *err)
{
    store *s = NULL;
    results_groups groups = {0};
    const store_query q = {.task = task_name};
    kw_code code = from ? results_open(from, task_name, &s, err) : store_open(store_path, true, &s, err);
    if (code == KW_OK && trust_path)
        code = store_use_trust(s, trust_path, err);
    if (code == KW_OK)
        code = results_groups_load(s, &q, false, &groups, err);
    for (size_t i = 0; code == KW_OK && as_json && i < groups.n_rejections; i++)
        print_json(&groups.rejections[i]);
    if (code == KW_OK && !as_json) {
        print_table(&groups);
        log_info("%zu measurement%s not believed", groups.n_rejections, groups.n_rejections == 1 ? "" : "s");
    }
    results_groups_clear(&groups);
    store_close(s);
    return code;
}
