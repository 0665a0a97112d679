#include "tuner/results_t4.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strb.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1e6

/* All measurements of one configuration. */
typedef struct tried {
    char *config, *date;
    outcome outcome;                       /* of the latest that failed, else ok */
    double compile_ms, verify_ms, time_ms; /* sums */
    double *runs_ms;
    size_t n_runs, capacity;
} tried;

typedef struct collector {
    const t4_choice *choice;
    json *shape;  /* of the choice; NULL: any */
    char *search; /* what the rows have in common, one per line */
    char *other;  /* of a row that differs; NULL: none does */
    int timing_version;
    tried *items;
    size_t n, capacity;
} collector;

static void forget(collector *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->items[i].config);
        free(c->items[i].date);
        free(c->items[i].runs_ms);
    }
    c->n = 0;
}

/* ---- choosing rows ---- */

/* {"M":64,...} of "M=64,..."; NULL if it is no such text. */
static json *parse_shape(const char *text)
{
    json *j = json_new_object();
    while (j && *text) {
        char *end;
        size_t n = strcspn(text, "=");
        char *name = mem_strndup(text, n);
        long long dim = text[n] ? strtoll(text + n + 1, &end, 10) : 0;
        bool good = n > 0 && text[n] && end > text + n + 1 && (*end == ',' || *end == '\0') && !json_get(j, name);
        if (good)
            json_set_int(j, name, dim);
        free(name);
        if (!good) {
            json_free(j);
            return NULL;
        }
        text = *end ? end + 1 : end;
    }
    return j;
}

static bool shape_agrees(const collector *c, const char *text)
{
    if (!c->shape)
        return true;
    json *j = text ? json_parse(text, strlen(text), NULL, 1, 1, NULL) : NULL;
    bool same = json_count(j) == json_count(c->shape);
    for (const json *m = json_first(c->shape); m && same; m = json_next(m))
        same = json_equal(m, json_get(j, json_key(m)));
    json_free(j);
    return same;
}

static bool is_chosen(const collector *c, const measurement *m)
{
    const char *device = c->choice->device;
    if (device && !strstr(m->device_key, device) && !(m->device_name && strstr(m->device_name, device)))
        return false;
    return m->config && shape_agrees(c, m->shape);
}

static char *search_of(const measurement *m)
{
    strb text = STRB_INIT;
    strb_printf(&text, "task %s (%.8s), types %s, shape %s, scalars %s, device %s, %s, %s, template %s", m->task,
                m->task_hash, m->types, m->shape, m->scalars, m->device_key, m->api, m->mode,
                m->template_name ? m->template_name : "none");
    return strb_take(&text);
}

/* ---- collecting ---- */

static tried *find_tried(collector *c, const measurement *m)
{
    for (size_t i = c->n; i-- > 0;)
        if (strcmp(c->items[i].config, m->config) == 0)
            return &c->items[i];
    c->items = mem_grow(c->items, &c->capacity, c->n + 1, sizeof *c->items);
    c->items[c->n] = (tried){.config = mem_strdup(m->config), .date = mem_strdup(m->date ? m->date : "")};
    return &c->items[c->n++];
}

static void add_run(tried *t, double ns)
{
    t->runs_ms = mem_grow(t->runs_ms, &t->capacity, t->n_runs + 1, sizeof *t->runs_ms);
    t->runs_ms[t->n_runs++] = ns / NS_PER_MS;
}

static void add_row(collector *c, const measurement *m)
{
    tried *t = find_tried(c, m);
    t->compile_ms += m->compile_ms;
    t->verify_ms += m->verify_ms;
    t->time_ms += m->time_ms;
    if (m->outcome != OUTCOME_OK)
        t->outcome = m->outcome;
    for (size_t i = 0; i < m->n_samples; i++)
        add_run(t, m->samples_ns[i]);
    if (m->n_samples == 0 && m->time.n > 0) /* imported without its samples */
        add_run(t, m->time.median);
}

static bool collect(const measurement *m, void *cookie)
{
    collector *c = cookie;
    if (!is_chosen(c, m) || m->timing_version < c->timing_version)
        return true;
    char *search = search_of(m);
    if (c->search && strcmp(c->search, search) != 0) {
        c->other = search;
        return false;
    }
    free(c->search);
    c->search = search;
    if (m->timing_version > c->timing_version)
        forget(c);
    c->timing_version = m->timing_version;
    add_row(c, m);
    return true;
}

/* ---- writing ---- */

/* The schema's word, and what Kernel Tuner writes in the place of the time. */
static const char *invalidity_of(outcome o, const char **instead)
{
    *instead = "RuntimeFailedConfig";
    switch (o) {
    case OUTCOME_OK:
        return "correct";
    case OUTCOME_REJECTED:
        *instead = "InvalidConfig";
        return "constraints";
    case OUTCOME_EXPAND_ERROR:
    case OUTCOME_COMPILE_ERROR:
        *instead = "CompilationFailedConfig";
        return "compile";
    case OUTCOME_TIMEOUT:
        return "timeout";
    case OUTCOME_WRONG:
    case OUTCOME_OUT_OF_BOUNDS:
    case OUTCOME_NONDETERMINISTIC:
    case OUTCOME_INPUT_MODIFIED:
    case OUTCOME_IMPLAUSIBLE:
        return "correctness";
    case OUTCOME_DOES_NOT_FIT:
    case OUTCOME_LAUNCH_ERROR:
    case OUTCOME_CRASH:
    case OUTCOME_COUNT:
        break;
    }
    return "runtime";
}

/* The schema has "compilation_time", writers have "compilation". */
static json *times_of(const tried *t, bool ok)
{
    json *j = json_new_object(), *runs = json_new_array();
    json_set_number(j, "compilation_time", t->compile_ms);
    json_set_number(j, "compilation", t->compile_ms);
    json_set_number(j, "benchmark", t->time_ms);
    json_set_number(j, "framework", 0);
    json_set_number(j, "search_algorithm", 0);
    json_set_number(j, "validation", t->verify_ms);
    for (size_t i = 0; ok && i < t->n_runs; i++)
        json_append(runs, json_new_number(t->runs_ms[i]));
    json_set(j, "runtimes", runs);
    return j;
}

static json *item_of(const tried *t)
{
    const char *instead;
    const char *invalidity = invalidity_of(t->outcome, &instead);
    bool ok = t->outcome == OUTCOME_OK && t->n_runs > 0;
    json *j = json_new_object(), *measured = json_new_array(), *time = json_new_object(), *names = json_new_array();
    json_set_string(j, "timestamp", t->date);
    json_set(j, "configuration", json_parse(t->config, strlen(t->config), NULL, 1, 1, NULL));
    json_set(j, "times", times_of(t, ok));
    json_set_string(j, "invalidity", t->outcome == OUTCOME_OK && !ok ? "runtime" : invalidity);
    json_set_number(j, "correctness", ok ? 1 : 0);
    json_set_string(time, "name", "time");
    json_set(time, "value", ok ? json_new_number(stats_of(t->runs_ms, t->n_runs).median) : json_new_string(instead));
    json_set_string(time, "unit", "ms");
    json_append(measured, time);
    json_set(j, "measurements", measured);
    json_append(names, json_new_string("time"));
    json_set(j, "objectives", names);
    return j;
}

/* One configuration per line: lists of results differ well. */
static void print_all(const collector *c, strb *out)
{
    strb_add(out, "{\"schema_version\":\"1.0.0\",\"metadata\":{\"timeunit\":\"milliseconds\"},\"results\":[");
    for (size_t i = 0; i < c->n; i++) {
        json *j = item_of(&c->items[i]);
        strb_add(out, i ? ",\n" : "\n");
        json_print(j, out);
        json_free(j);
    }
    strb_add(out, "\n]}\n");
}

kw_code results_export_t4(store *s, const t4_choice *choice, strb *out, kw_error *err)
{
    collector c = {.choice = choice};
    store_query q;
    memset(&q, 0, sizeof q);
    q.task = choice->task;
    q.template_name = choice->template_name;
    if (choice->shape && !(c.shape = parse_shape(choice->shape)))
        return kw_error_set(err, KW_BAD_INPUT, "'%s' is no shape; write M=64,N=64", choice->shape);
    kw_code code = store_each(s, &q, collect, &c, err);
    if (code == KW_OK && c.other)
        code = kw_error_set(err, KW_BAD_INPUT,
                            "T4 holds one search, and these differ: %s; and %s; choose with --task, --template, "
                            "--shape and --device",
                            c.search, c.other);
    else if (code == KW_OK && c.n == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "nothing that was measured is chosen");
    if (code == KW_OK)
        print_all(&c, out);
    forget(&c);
    free(c.items);
    free(c.search);
    free(c.other);
    json_free(c.shape);
    return code;
}
