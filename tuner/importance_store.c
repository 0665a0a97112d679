/* What a store has of a template, as the table that importance_of takes. */
#include "tuner/importance.h"

#include "base/mem.h"
#include "tuner/results_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct param {
    char *name;
    char **values; /* different ones, sorted */
    size_t n, capacity;
} param;

typedef struct gathered {
    param *params;
    size_t n_params, params_capacity;
    json **configs; /* different ones */
    char **texts;
    size_t n_configs, configs_capacity, texts_capacity;
    uint32_t *config; /* of each row */
    double *response;
    size_t n_rows, rows_capacity, response_capacity;
    size_t n_shapes;
} gathered;

static void clear(gathered *g)
{
    for (size_t i = 0; i < g->n_params; i++) {
        for (size_t v = 0; v < g->params[i].n; v++)
            free(g->params[i].values[v]);
        free(g->params[i].values);
        free(g->params[i].name);
    }
    for (size_t i = 0; i < g->n_configs; i++) {
        json_free(g->configs[i]);
        free(g->texts[i]);
    }
    free(g->params);
    free(g->configs);
    free(g->texts);
    free(g->config);
    free(g->response);
}

/* ---- gathering ---- */

static char *text_of(const json *j)
{
    if (!j)
        return mem_strdup("-"); /* a template that has got one more parameter */
    const char *plain = json_text(j);
    if (plain)
        return mem_strdup(plain);
    strb text = STRB_INIT;
    json_print(j, &text);
    return strb_take(&text);
}

/* Numbers in their order, before texts. */
static int by_value(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    char *x_end, *y_end;
    double p = strtod(x, &x_end), q = strtod(y, &y_end);
    bool x_number = *x && !*x_end && isfinite(p), y_number = *y && !*y_end && isfinite(q);
    if (x_number != y_number)
        return x_number ? -1 : 1;
    if (x_number && p != q)
        return p < q ? -1 : 1;
    return strcmp(x, y);
}

static param *find_param(gathered *g, const char *name)
{
    for (size_t i = 0; i < g->n_params; i++)
        if (strcmp(g->params[i].name, name) == 0)
            return &g->params[i];
    g->params = mem_grow(g->params, &g->params_capacity, g->n_params + 1, sizeof *g->params);
    g->params[g->n_params] = (param){.name = mem_strdup(name)};
    return &g->params[g->n_params++];
}

static void add_value(param *p, char *text)
{
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->values[i], text) == 0) {
            free(text);
            return;
        }
    }
    p->values = mem_grow(p->values, &p->capacity, p->n + 1, sizeof *p->values);
    p->values[p->n++] = text;
}

/* SIZE_MAX when it cannot be read. */
static size_t find_config(gathered *g, const char *text)
{
    for (size_t i = 0; i < g->n_configs; i++)
        if (strcmp(g->texts[i], text) == 0)
            return i;
    json *j = json_parse(text, strlen(text), "store", 1, 1, NULL);
    if (!j || json_kind_of(j) != JSON_OBJECT) {
        json_free(j);
        return SIZE_MAX;
    }
    for (const json *v = json_first(j); v; v = json_next(v))
        find_param(g, json_key(v));
    g->configs = mem_grow(g->configs, &g->configs_capacity, g->n_configs + 1, sizeof *g->configs);
    g->texts = mem_grow(g->texts, &g->texts_capacity, g->n_configs + 1, sizeof *g->texts);
    g->configs[g->n_configs] = j;
    g->texts[g->n_configs] = mem_strdup(text);
    return g->n_configs++;
}

static void add_row(gathered *g, size_t config, double response)
{
    g->config = mem_grow(g->config, &g->rows_capacity, g->n_rows + 1, sizeof *g->config);
    g->response = mem_grow(g->response, &g->response_capacity, g->n_rows + 1, sizeof *g->response);
    g->config[g->n_rows] = (uint32_t)config;
    g->response[g->n_rows++] = response;
}

static bool is_of(const ledger_entry *e, const char *template_name)
{
    return e->ok && e->time.n > 0 && e->time.median > 0 && strcmp(e->template_name, template_name) == 0;
}

/* Times by one method only: batches where there are any, since the ledger prefers them too. */
static void gather_shape(gathered *g, const results_group *group, const char *template_name)
{
    double best = INFINITY;
    bool batch = false;
    for (size_t i = 0; i < group->ledger.n; i++) {
        const ledger_entry *e = &group->ledger.entries[i];
        batch = batch || (is_of(e, template_name) && e->method && strcmp(e->method, "batch") == 0);
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < group->ledger.n; i++) {
            const ledger_entry *e = &group->ledger.entries[i];
            if (!is_of(e, template_name) || (batch && e->method && strcmp(e->method, "batch") != 0))
                continue;
            size_t config = pass == 0 ? 0 : find_config(g, e->config);
            if (pass == 0)
                best = fmin(best, e->time.median);
            else if (config != SIZE_MAX)
                add_row(g, config, log(e->time.median / best));
        }
    g->n_shapes += isfinite(best);
}

/* ---- the table ---- */

/* Index of a value; where there are too many, neighbours share one. */
static uint32_t index_of(const param *p, const json *j)
{
    char *text = text_of(j);
    uint32_t at = 0;
    while (at + 1 < p->n && strcmp(p->values[at], text) != 0)
        at++;
    free(text);
    return p->n <= IMPORTANCE_MAX_VALUES ? at : (uint32_t)((uint64_t)at * IMPORTANCE_MAX_VALUES / p->n);
}

const char *importance_best(const importance_report *r, const importance_share *s)
{
    const size_t n = r->n_texts[s->a], most = IMPORTANCE_MAX_VALUES;
    return r->values[s->a][n <= most ? s->best : (s->best * n + most - 1) / most];
}

static void report_on(gathered *g, importance_report *r, uint64_t seed, void (*each)(const importance_report *, void *),
                      void *cookie)
{
    const size_t n = g->n_params;
    for (size_t p = 0; p < n; p++) {
        for (size_t c = 0; c < g->n_configs; c++)
            add_value(&g->params[p], text_of(json_get(g->configs[c], g->params[p].name)));
        qsort(g->params[p].values, g->params[p].n, sizeof *g->params[p].values, by_value);
    }
    uint32_t *of_config = mem_calloc(g->n_configs * n + 1, sizeof *of_config);
    uint32_t *values = mem_calloc(g->n_rows * n + 1, sizeof *values);
    size_t *n_values = mem_calloc(n + 1, sizeof *n_values);
    r->names = mem_calloc(n + 1, sizeof *r->names);
    r->values = mem_calloc(n + 1, sizeof *r->values);
    size_t *n_texts = mem_calloc(n + 1, sizeof *n_texts);
    r->n_texts = n_texts;
    for (size_t p = 0; p < n; p++) {
        n_values[p] = g->params[p].n < IMPORTANCE_MAX_VALUES ? g->params[p].n : IMPORTANCE_MAX_VALUES;
        r->names[p] = g->params[p].name;
        r->values[p] = g->params[p].values;
        n_texts[p] = g->params[p].n;
        for (size_t c = 0; c < g->n_configs; c++)
            of_config[c * n + p] = index_of(&g->params[p], json_get(g->configs[c], g->params[p].name));
    }
    for (size_t i = 0; i < g->n_rows; i++)
        memcpy(values + i * n, of_config + g->config[i] * n, n * sizeof *values);
    const importance_data d = {.n_params = n,
                               .n_rows = g->n_rows,
                               .n_values = n_values,
                               .values = values,
                               .response = g->response,
                               .config = g->config,
                               .n_configs = g->n_configs};
    kw_error why;
    kw_error_clear(&why);
    r->n_rows = g->n_rows;
    r->n_configs = g->n_configs;
    r->n_shapes = g->n_shapes;
    r->failed = importance_of(&d, seed, &r->result, &why) == KW_OK ? NULL : &why;
    each(r, cookie);
    importance_clear(&r->result);
    free(r->names);
    free(r->values);
    free(n_texts);
    free(of_config);
    free(values);
    free(n_values);
}

/* Was this template seen in an earlier entry of these groups? */
static bool is_first(const results_group *groups, size_t group, size_t entry)
{
    const char *name = groups[group].ledger.entries[entry].template_name;
    for (size_t i = 0; i <= group; i++)
        for (size_t k = 0; k < (i == group ? entry : groups[i].ledger.n); k++)
            if (is_of(&groups[i].ledger.entries[k], name))
                return false;
    return true;
}

/* Groups that differ in their shapes only. */
static void report_context(const results_group *groups, size_t n, const char *only, uint64_t seed,
                           void (*each)(const importance_report *, void *), void *cookie)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < groups[i].ledger.n; k++) {
            const ledger_entry *e = &groups[i].ledger.entries[k];
            if (!is_of(e, e->template_name) || !is_first(groups, i, k) || (only && strcmp(only, e->template_name) != 0))
                continue;
            gathered g;
            memset(&g, 0, sizeof g);
            for (size_t s = 0; s < n; s++)
                gather_shape(&g, &groups[s], e->template_name);
            importance_report r = {.task = groups->task,
                                   .types = groups->types,
                                   .device_key = groups->device_key,
                                   .mode = groups->mode,
                                   .template_name = e->template_name};
            report_on(&g, &r, seed, each, cookie);
            clear(&g);
        }
}

kw_code importance_each(store *s, const store_query *q, uint64_t seed,
                        void (*each)(const importance_report *r, void *cookie), void *cookie, kw_error *err)
{
    results_groups groups;
    store_query all = *q;
    all.template_name = NULL; /* whether a variant is right may show in other rows */
    kw_code code = results_groups_load(s, &all, false, &groups, err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0, n; i < groups.n; i += n) {
        for (n = 1; i + n < groups.n && results_same_context(&groups.items[i], &groups.items[i + n]); n++)
            continue;
        report_context(&groups.items[i], n, q->template_name, seed, each, cookie);
    }
    results_groups_clear(&groups);
    return KW_OK;
}
