/* results show --importance: which parameters decide the time. */
#include "cli/importance.h"

#include "cli/cli.h"
#include "cli/table.h"

#include "base/json.h"
#include "tuner/importance.h"

#include <stdio.h>
#include <string.h>

#define PAIRS_SHOWN 8
#define LEAST_SHOWN 0.005 /* pairs below this are left out of the table */

typedef struct printer {
    bool as_json;
    size_t n, n_failed;
    kw_error why; /* of the last that failed */
} printer;

static void add_share(json *j, const importance_share *s)
{
    json_set_number(j, "percent", 100 * s->share);
    json_set_number(j, "lo", 100 * s->lo);
    json_set_number(j, "hi", 100 * s->hi);
}

static void print_json(const importance_report *r)
{
    json *j = json_new_object(), *params = json_new_array(), *pairs = json_new_array();
    json_set_string(j, "task", r->task);
    json_set_string(j, "types", r->types);
    json_set_string(j, "device", r->device_key);
    json_set_string(j, "mode", r->mode);
    json_set_string(j, "template", r->template_name);
    json_set_int(j, "rows", (int64_t)r->n_rows);
    json_set_int(j, "configurations", (int64_t)r->n_configs);
    json_set_int(j, "shapes", (int64_t)r->n_shapes);
    if (r->failed) {
        json_set_string(j, "error", r->failed->message);
    } else {
        json_set_number(j, "explained", r->result.explained);
        for (size_t i = 0; i < r->result.n_mains; i++) {
            const importance_share *s = &r->result.mains[i];
            json *one = json_new_object();
            json_set_string(one, "name", r->names[s->a]);
            json_set_string(one, "best", importance_best(r, s));
            add_share(one, s);
            json_append(params, one);
        }
        for (size_t i = 0; i < r->result.n_pairs; i++) {
            const importance_share *s = &r->result.pairs[i];
            json *one = json_new_object(), *names = json_new_array();
            json_append(names, json_new_string(r->names[s->a]));
            json_append(names, json_new_string(r->names[s->b]));
            json_set(one, "names", names);
            add_share(one, s);
            json_append(pairs, one);
        }
    }
    json_set(j, "parameters", params);
    json_set(j, "pairs", pairs);
    cli_print_json(j);
    json_free(j);
}

static void add_row(table *t, const char *name, const importance_share *s, const char *best)
{
    char cell[64];
    table_text(t, name);
    snprintf(cell, sizeof cell, "%.1f", 100 * s->share);
    table_text(t, cell);
    snprintf(cell, sizeof cell, "%.1f..%.1f", 100 * s->lo, 100 * s->hi);
    table_text(t, cell);
    table_text(t, best);
    table_end_row(t);
}

static void print_text(const importance_report *r)
{
    printf("%s, %s, %s, %s, %s: %zu times of %zu configurations on %zu shape%s\n", r->task, r->template_name, r->types,
           r->device_key, r->mode, r->n_rows, r->n_configs, r->n_shapes, r->n_shapes == 1 ? "" : "s");
    if (r->failed) {
        printf("%s\n\n", r->failed->message);
        return;
    }
    table *t = table_new("parameter|% of variance|90% interval|best value");
    double rest = 1;
    for (size_t i = 0; i < r->result.n_mains; i++) {
        const importance_share *s = &r->result.mains[i];
        add_row(t, r->names[s->a], s, importance_best(r, s));
        rest -= s->share;
    }
    for (size_t i = 0; i < r->result.n_pairs; i++) {
        const importance_share *s = &r->result.pairs[i];
        rest -= s->share;
        if (i >= PAIRS_SHOWN || s->share < LEAST_SHOWN)
            continue;
        strb name = STRB_INIT;
        strb_printf(&name, "%s x %s", r->names[s->a], r->names[s->b]);
        add_row(t, strb_text(&name), s, "");
        strb_clear(&name);
    }
    table_print(t, stdout);
    table_free(t);
    printf("three and more together: %.1f%%; the model explains %.0f%% of what it has not seen%s\n\n", 100 * rest,
           100 * r->result.explained, r->result.explained < 0.5 ? ": the shares are rough" : "");
}

static void on_report(const importance_report *r, void *cookie)
{
    printer *p = cookie;
    p->n++;
    p->n_failed += r->failed != NULL;
    if (r->failed)
        p->why = *r->failed;
    if (p->as_json)
        print_json(r);
    else
        print_text(r);
}

kw_code cli_show_importance(const char *path, const char *task_name, bool as_json, kw_error *err)
{
    store *s;
    kw_code code = store_open(path, true, &s, err);
    if (code != KW_OK)
        return code;
    printer p = {.as_json = as_json};
    const store_query q = {.task = task_name};
    code = importance_each(s, &q, 0, on_report, &p, err);
    store_close(s);
    if (code != KW_OK)
        return code;
    if (p.n == 0)
        return kw_error_set(err, KW_FAILED, "nothing was timed%s%s: run `kernwright tune` first",
                            task_name ? " of " : "", task_name ? task_name : "");
    return p.n_failed < p.n ? KW_OK : kw_error_set(err, KW_FAILED, "%s", p.why.message);
}
