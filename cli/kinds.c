/* results show --archive: the best of every kind. results show --behaviour: kinds by source and by program. */
#include "cli/kinds.h"

#include "cli/cli.h"
#include "cli/table.h"

#include "base/json.h"
#include "llm/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void level_text(const behaviour *b, char out[8])
{
    (void)snprintf(out, 8, "%d %d %d", b->level[0], b->level[1], b->level[2]);
}

static void print_group_text(const stored_kernel *k, const archive *a)
{
    strb map = STRB_INIT;
    printf("%s, %s, %s, %s: the best of every kind; its share of the best times of all\n\n", k[0].task, k[0].types,
           k[0].device, k[0].mode);
    archive_print(a, &map);
    puts(strb_text(&map));
    strb_clear(&map);
    table *t = table_new("memory|compute|parallelism|share|by|shapes|template|configuration");
    for (int cell = 0; cell < BEHAVIOUR_CELLS; cell++) {
        const elite *e = archive_cell(a, cell);
        if (!e->occupied)
            continue;
        const stored_kernel *one = &k[e->since];
        char shapes[24];
        (void)snprintf(shapes, sizeof shapes, "%zu", one->n_shapes);
        for (int d = 0; d < BEHAVIOUR_DIMS; d++)
            table_number(t, e->best.where.level[d], 1);
        table_number(t, one->share, 3);
        table_text(t, e->best.where.from_artefact ? "program" : "source");
        table_text(t, shapes);
        table_text(t, one->template_name);
        table_text(t, one->config);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
    putchar('\n');
}

static void print_group_json(const stored_kernel *k, const archive *a)
{
    json *j = json_new_object();
    json_set_string(j, "task", k[0].task);
    json_set_string(j, "types", k[0].types);
    json_set_string(j, "device", k[0].device);
    json_set_string(j, "mode", k[0].mode);
    json_set(j, "archive", archive_to_json(a));
    cli_print_json(j);
    json_free(j);
}

typedef void print_list(const stored_kernel *list, size_t n, bool as_json);

static void print_archives(const stored_kernel *list, size_t n, bool as_json)
{
    for (size_t from = 0, to; from < n; from = to) {
        to = from + 1;
        while (to < n && stored_same_group(&list[from], &list[to]))
            to++;
        archive *a = stored_archive(list + from, to - from);
        (as_json ? print_group_json : print_group_text)(list + from, a);
        archive_free(a);
    }
}

/* "memory 2: tiles\ncompute ..." of both, for the dimensions that differ. */
static void explain(const stored_kernel *k, strb *out)
{
    const char *x = k->why_source, *y = k->why_program;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        size_t nx = strcspn(x, "\n"), ny = strcspn(y, "\n");
        if (k->source.level[d] != k->program.level[d])
            strb_printf(out, "%ssource: %.*s; program: %.*s", out->length ? "; " : "", (int)nx, x, (int)ny, y);
        x += nx + (x[nx] == '\n');
        y += ny + (y[ny] == '\n');
    }
}

static void print_kernel_json(const stored_kernel *k, bool agree, const char *why)
{
    json *j = json_new_object(), *source = json_new_array(), *program = json_new_array();
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        json_append(source, json_new_int(k->source.level[d]));
        json_append(program, json_new_int(k->program.level[d]));
    }
    json_set_string(j, "task", k->task);
    json_set_string(j, "device", k->device);
    json_set_string(j, "template", k->template_name);
    json_set(j, "config", json_parse(k->config, strlen(k->config), NULL, 1, 1, NULL));
    json_set(j, "source", source);
    json_set(j, "program", program);
    json_set_bool(j, "agree", agree);
    if (*why)
        json_set_string(j, "why", why);
    json_set(j, "artefact", artefact_to_json(&k->made));
    cli_print_json(j);
    json_free(j);
}

static void print_behaviours(const stored_kernel *list, size_t n, bool as_json)
{
    size_t agreeing = 0, compared = 0;
    table *t = table_new("template|source|program|difference|configuration");
    for (size_t i = 0; i < n; i++) {
        const stored_kernel *k = &list[i];
        char source[8], program[8];
        strb why = STRB_INIT;
        if (!k->has_source || !k->has_program)
            continue;
        explain(k, &why);
        compared++;
        agreeing += why.length == 0;
        if (as_json)
            print_kernel_json(k, why.length == 0, strb_text(&why));
        level_text(&k->source, source);
        level_text(&k->program, program);
        table_text(t, k->template_name);
        table_text(t, source);
        table_text(t, program);
        table_text(t, why.length ? strb_text(&why) : "-");
        table_text(t, k->config);
        table_end_row(t);
        strb_clear(&why);
    }
    if (!as_json)
        table_print(t, stdout);
    table_free(t);
    if (!as_json)
        printf("behaviour: compared=%zu agree=%zu kernels=%zu\n", compared, agreeing, n);
}

static kw_code show(const char *path, const char *task_name, bool as_json, print_list *print, kw_error *err)
{
    store *s;
    stored_kernel *list = NULL;
    size_t n = 0;
    kw_code code = store_open(path, true, &s, err);
    if (code != KW_OK)
        return code;
    code = stored_kernels(s, task_name, &list, &n, err);
    if (code == KW_OK && n == 0)
        code = kw_error_set(err, KW_FAILED, "%s has no right kernel%s%s", store_path(s), task_name ? " of task " : "",
                            task_name ? task_name : "");
    if (code == KW_OK)
        print(list, n, as_json);
    stored_kernels_free(list, n);
    store_close(s);
    return code;
}

kw_code cli_show_archive(const char *path, const char *task_name, bool as_json, kw_error *err)
{
    return show(path, task_name, as_json, print_archives, err);
}

kw_code cli_show_behaviour(const char *path, const char *task_name, bool as_json, kw_error *err)
{
    return show(path, task_name, as_json, print_behaviours, err);
}
