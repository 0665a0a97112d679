/* Our own results text (docs/results.md): one recorded space for each task, types, shape, scalars, device, mode,
 * timing version and template. The medians of several rows of one configuration are averaged. */
#include "tuner/recorded_internal.h"

#include "base/log.h"
#include "tuner/results_lines.h"
#include "tuner/results_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct group {
    char *key;
    recorder b;
} group;

typedef struct groups {
    group *items;
    size_t n, capacity;
} groups;

static group *find_group(groups *g, const measurement *m, const char *file)
{
    strb key = STRB_INIT;
    const char *parts[] = {m->task,      m->shape,   m->template_name, m->device_key, m->types,
                           m->task_hash, m->scalars, m->api,           m->mode};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        strb_printf(&key, "%s\n", parts[i] ? parts[i] : "");
    strb_printf(&key, "%d", m->timing_version);
    for (size_t i = 0; i < g->n; i++) {
        if (strcmp(g->items[i].key, strb_text(&key)) == 0) {
            strb_clear(&key);
            return &g->items[i];
        }
    }
    g->items = mem_grow(g->items, &g->capacity, g->n + 1, sizeof *g->items);
    group *new = &g->items[g->n++];
    new->key = strb_take(&key);
    recorder_start(&new->b, file, "results");
    new->b.pool = true;
    recorded *r = new->b.r;
    r->device = arena_strdup(r->memory, m->device_name ? m->device_name : m->device_key);
    r->kernel = arena_strdup(r->memory, m->template_name ? m->template_name : m->task);
    return new;
}

/* "M=64,N=64,K=64" of {"M":64,...}. */
static void print_shape(const char *shape, strb *out)
{
    json *j = json_parse(shape, strlen(shape), NULL, 1, 1, NULL);
    for (const json *m = json_first(j); m; m = json_next(m)) {
        strb_printf(out, "%s%s=", m == json_first(j) ? "" : ",", json_key(m));
        json_print(m, out);
    }
    json_free(j);
}

static kw_code add_row(group *g, const measurement *m, const char *where, kw_error *err)
{
    json *config = m->config ? json_parse(m->config, strlen(m->config), where, 1, 1, err) : NULL;
    if (!config)
        return m->config ? KW_BAD_INPUT : kw_error_set(err, KW_BAD_INPUT, "%s: no \"config\"", where);
    kw_code code = KW_OK;
    recorder_begin(&g->b);
    for (const json *v = json_first(config); v && code == KW_OK; v = json_next(v))
        code = recorder_set(&g->b, json_key(v), v, where, err);
    json_free(config);
    recorded_result result = m->outcome == OUTCOME_OK         ? RESULT_TIME
                             : m->outcome == OUTCOME_REJECTED ? RESULT_INVALID
                                                              : RESULT_FAILED;
    return code == KW_OK ? recorder_end(&g->b, result, m->time.median, where, err) : code;
}

static kw_code read_line(groups *g, const char *line, size_t length, const char *file, int number, kw_error *err)
{
    json *j = json_parse(line, length, file, number, 1, err);
    if (!j)
        return KW_BAD_INPUT;
    const json *row = json_get(j, "measurement");
    int64_t schema = RESULTS_SCHEMA;
    json_int(json_get(j, "schema"), &schema);
    kw_code code = KW_OK;
    if (json_get(j, "kernwright") && schema != RESULTS_SCHEMA) {
        code = kw_error_set(err, KW_BAD_INPUT,
                            "%s:%d: results of schema %lld, this program knows schema %d: use %s kernwright", file,
                            number, (long long)schema, RESULTS_SCHEMA, schema > RESULTS_SCHEMA ? "a newer" : "another");
    } else if (row) {
        char where[512];
        measurement m;
        memset(&m, 0, sizeof m);
        snprintf(where, sizeof where, "%.400s:%d", file, number);
        code = results_row_read(row, where, &m, err);
        if (code == KW_OK)
            code = add_row(find_group(g, &m, file), &m, where, err);
        measurement_clear(&m);
    } else if (!json_get(j, "variant") && !json_get(j, "kernwright")) {
        code = kw_error_set(err, KW_BAD_INPUT, "%s:%d: neither a measurement nor a variant", file, number);
    }
    json_free(j);
    return code;
}

static void name_space(recorded *r, const char *key)
{
    const char *shape = strchr(key, '\n') + 1;
    const char *template_name = strchr(shape, '\n') + 1;
    const char *device = strchr(template_name, '\n') + 1;
    char *text = mem_strndup(shape, (size_t)(template_name - shape - 1));
    strb name = STRB_INIT;
    print_shape(text, &name);
    strb_printf(&name, ":%.*s:%.*s", (int)(device - template_name - 1), template_name, (int)strcspn(device, "\n"),
                device);
    r->name = arena_strdup(r->memory, strb_text(&name));
    strb_clear(&name);
    free(text);
}

/* A group in which everything failed is left out; it is an error if no other is left. */
static void finish_group(group *g, bool one_of_many, recorded_list *list, kw_error *err)
{
    size_t before = list->n;
    kw_code code = recorder_finish(&g->b, list, err);
    if (code == KW_OK && one_of_many)
        name_space(list->items[before], g->key);
    else if (code != KW_OK && one_of_many)
        log_warn("left out: %s", err ? err->message : "a space without a time");
}

kw_code recorded_read_results(const recorded_source *s, recorded_list *list, kw_error *err)
{
    groups g = {0};
    kw_code code = KW_OK;
    int number = 0;
    for (const char *at = s->text, *end = s->text + s->length; at < end && code == KW_OK;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
        number++;
        if (length > 0)
            code = read_line(&g, at, length, s->file, number, err);
        at += length + (stop ? 1 : 0);
    }
    if (code == KW_OK && g.n == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: these results hold no measurement", s->file);
    size_t before = list->n;
    for (size_t i = 0; i < g.n; i++) {
        if (code == KW_OK)
            finish_group(&g.items[i], g.n > 1, list, err);
        else
            recorder_clear(&g.items[i].b);
        free(g.items[i].key);
    }
    free(g.items);
    return code == KW_OK && list->n == before ? KW_BAD_INPUT : code;
}
