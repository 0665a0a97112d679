#include "tuner/results_groups.h"

#include "base/intern.h"
#include "base/mem.h"
#include "tuner/results_company.h"
#include "tuner/store_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts "task_hash device_key source_hash", owned. */
typedef struct key_set {
    char **items;
    size_t n, capacity;
} key_set;

typedef struct loader {
    results_groups *groups;
    bool with_lines;
    measurement *rows; /* of the group being read; owned */
    size_t n, capacity;
    key_set wrong, general; /* variants that computed wrong results; that are verified on every edge shape */
    company *company;
    bool judging; /* the first time through: nothing is pooled */
} loader;

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* ---- which rows count ---- */

static int compare_hosts(const measurement *a, const measurement *b)
{
    int c = compare_texts(a->contributor, b->contributor); /* there is more than one "localhost" */
    return c ? c : compare_texts(a->host, b->host);
}

/* By date; what follows only makes the order of equal dates independent of the order of insertion. */
static int compare_age(const measurement *a, const measurement *b)
{
    int c = compare_texts(a->date, b->date);
    if (c == 0)
        c = compare_texts(a->driver, b->driver);
    if (c == 0)
        c = compare_texts(a->run, b->run);
    if (c == 0)
        c = compare_texts(a->host, b->host);
    const double x[] = {a->time.median, a->compile_ms, a->verify_ms, a->time_ms};
    const double y[] = {b->time.median, b->compile_ms, b->verify_ms, b->time_ms};
    for (size_t i = 0; c == 0 && i < sizeof x / sizeof *x; i++)
        c = (x[i] > y[i]) - (x[i] < y[i]);
    return c == 0 ? compare_texts(a->config, b->config) : c;
}

static int by_host_and_age(const void *a, const void *b)
{
    const measurement *x = *(const measurement *const *)a, *y = *(const measurement *const *)b;
    int c = compare_hosts(x, y);
    return c ? c : compare_age(x, y);
}

/* Sets counts[i] of the rows that count: of the latest timing version, and with the driver that their host used last.
 * */
static void mark_counting(const loader *l, bool *counts)
{
    int version = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i].timing_version > version)
            version = l->rows[i].timing_version;
    const measurement **sorted = mem_alloc(l->n * sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i].timing_version == version)
            sorted[n++] = &l->rows[i];
    qsort(sorted, n, sizeof *sorted, by_host_and_age);
    const char *driver = NULL;
    for (size_t i = n; i-- > 0;) {
        if (i + 1 == n || compare_hosts(sorted[i], sorted[i + 1]) != 0)
            driver = sorted[i]->driver;
        counts[sorted[i] - l->rows] = compare_texts(sorted[i]->driver, driver) == 0;
    }
    free(sorted);
}

/* ---- what holds for a variant on all shapes of a device ---- */

static void add_key(key_set *s, const char *task_hash, const char *device_key, const char *source_hash)
{
    strb key = STRB_INIT;
    strb_printf(&key, "%s %s %s", task_hash, device_key, source_hash);
    s->items = mem_grow(s->items, &s->capacity, s->n + 1, sizeof *s->items);
    s->items[s->n++] = strb_take(&key);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_keys(key_set *s)
{
    if (s->n > 0)
        qsort(s->items, s->n, sizeof *s->items, by_text);
}

static bool has_key(const key_set *s, char *key)
{
    return s->n > 0 && bsearch(&key, s->items, s->n, sizeof key, by_text) != NULL;
}

static void clear_keys(key_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i]);
    free(s->items);
}

static void spread(loader *l)
{
    sort_keys(&l->wrong);
    sort_keys(&l->general);
    for (size_t i = 0; i < l->groups->n; i++) {
        results_group *g = &l->groups->items[i];
        for (size_t k = 0; k < g->ledger.n; k++) {
            ledger_entry *e = &g->ledger.entries[k];
            strb key = STRB_INIT;
            strb_printf(&key, "%s %s %s", g->task_hash, g->device_key, e->source_hash);
            if (e->ok && has_key(&l->wrong, key.data)) {
                e->ok = false;
                e->outcome = OUTCOME_WRONG;
            }
            if (has_key(&l->general, key.data))
                e->verified = g->sources[k].newest.verified = VERIFIED_GENERAL;
            strb_clear(&key);
        }
    }
}

/* ---- pooling ---- */

/* What an imported pooled line says of itself: see results_pooled_print. */
static size_t rows_behind(const measurement *m, char first_date[32])
{
    int64_t rows = 1;
    snprintf(first_date, 32, "%s", m->date ? m->date : "");
    json *extra = m->extra ? json_parse(m->extra, strlen(m->extra), "extra", 1, 1, NULL) : NULL;
    const char *date = json_text(json_get(extra, "first_date"));
    if (!json_int(json_get(extra, "rows"), &rows) || rows < 1)
        rows = 1;
    if (date)
        snprintf(first_date, 32, "%s", date);
    json_free(extra);
    return (size_t)rows;
}

/* Did the row bring samples (or the summary) that the entry's time is made of? */
static bool is_behind(const measurement *m, const ledger_entry *e)
{
    if (m->outcome != OUTCOME_OK || m->time.n == 0 || !m->method || !e->method || strcmp(m->method, e->method) != 0)
        return false;
    if (e->n_samples > 0)
        return m->n_samples > 0;
    return m->time.n == e->time.n && m->time.median == e->time.median && m->time.lo == e->time.lo &&
           m->time.hi == e->time.hi;
}

static void keep_line(group_source *s, const measurement *m)
{
    strb line = STRB_INIT;
    results_row_print(m, true, &line);
    s->lines = mem_grow(s->lines, &s->lines_capacity, s->n_lines + 1, sizeof *s->lines);
    s->lines[s->n_lines++] = strb_take(&line);
}

/* Takes the row if it is the newest so far. */
static void add_source(group_source *s, measurement *m)
{
    char date[32];
    s->n_rows += rows_behind(m, date);
    if (date[0] && (!s->first_date[0] || strcmp(date, s->first_date) < 0))
        memcpy(s->first_date, date, sizeof date);
    if (s->newest.task && compare_age(m, &s->newest) <= 0)
        return;
    measurement_clear(&s->newest);
    s->newest = *m;
    memset(m, 0, sizeof *m);
    measurement_drop_weight(&s->newest);
}

static void pool_rows(loader *l, results_group *g, const bool *counts)
{
    for (size_t i = 0; i < l->n; i++) {
        const measurement *m = &l->rows[i];
        if (!counts[i])
            continue;
        ledger_add(&g->ledger, m);
        if (outcome_is_wrong(m->outcome))
            add_key(&l->wrong, m->task_hash, m->device_key, m->source_hash);
        if (m->verified == VERIFIED_GENERAL)
            add_key(&l->general, m->task_hash, m->device_key, m->source_hash);
    }
    g->sources = mem_calloc(g->ledger.n, sizeof *g->sources);
    for (size_t i = 0; i < l->n; i++) {
        const ledger_entry *e = counts[i] ? ledger_find(&g->ledger, l->rows[i].source_hash) : NULL;
        if (!e || !is_behind(&l->rows[i], e))
            continue;
        group_source *s = &g->sources[e - g->ledger.entries];
        if (l->with_lines)
            keep_line(s, &l->rows[i]);
        add_source(s, &l->rows[i]);
    }
    for (size_t i = 0; i < g->ledger.n; i++) {
        ledger_entry *e = &g->ledger.entries[i];
        g->sources[i].newest.time = e->time;
        g->sources[i].newest.verified = e->verified;
        g->sources[i].newest.noise = e->noise;
        free(e->samples);
        e->samples = NULL;
        e->capacity = 0;
    }
}

static void clear_rows(loader *l)
{
    for (size_t i = 0; i < l->n; i++)
        measurement_clear(&l->rows[i]);
    l->n = 0;
}

static bool any_counts(const bool *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i])
            return true;
    return false;
}

static bool is_text(const store_column *c)
{
    return c->kind == STORE_TEXT || c->kind == STORE_JSON;
}

static void keep_text(char **text, intern_pool *texts)
{
    char *own = *text;
    *text = own ? intern_text(texts, own) : NULL;
    free(own);
}

/* Of a million rows most texts are the same as in others. */
static void keep_texts(results_group *g, intern_pool *texts)
{
    ledger_trim(&g->ledger);
    for (size_t i = 0; i < g->ledger.n; i++) {
        ledger_entry *e = &g->ledger.entries[i];
        keep_text(&e->template_name, texts);
        keep_text(&e->config, texts);
        keep_text(&e->method, texts);
        for (int c = 0; c < STORE_COLUMNS; c++)
            if (is_text(&store_columns[c]))
                keep_text((char **)((char *)&g->sources[i].newest + store_columns[c].offset), texts);
    }
}

static void make_group(loader *l, const bool *counts)
{
    results_groups *all = l->groups;
    all->items = mem_grow(all->items, &all->capacity, all->n + 1, sizeof *all->items);
    results_group *g = &all->items[all->n++];
    memset(g, 0, sizeof *g);
    size_t at = 0;
    while (!counts[at])
        at++;
    const measurement *first = &l->rows[at];
    g->timing_version = first->timing_version;
    g->task = intern_text(all->texts, first->task);
    g->task_hash = intern_text(all->texts, first->task_hash);
    g->types = intern_text(all->texts, first->types);
    g->shape = intern_text(all->texts, first->shape);
    g->scalars = intern_text(all->texts, first->scalars);
    g->device_key = intern_text(all->texts, first->device_key);
    g->api = intern_text(all->texts, first->api);
    g->mode = intern_text(all->texts, first->mode);
    pool_rows(l, g, counts);
    keep_texts(g, all->texts);
}

static void finish_group(loader *l)
{
    if (l->n == 0)
        return;
    bool *counts = mem_calloc(l->n, sizeof *counts);
    mark_counting(l, counts);
    if (l->judging)
        company_judge(l->company, l->rows, l->n, counts);
    else if (l->company)
        company_reject(l->company, l->rows, l->n, counts, l->groups);
    if (!l->judging && any_counts(counts, l->n))
        make_group(l, counts);
    free(counts);
    clear_rows(l);
}

/* ---- loading ---- */

static bool same_group(const measurement *a, const measurement *b)
{
    return strcmp(a->task, b->task) == 0 && strcmp(a->task_hash, b->task_hash) == 0 &&
           strcmp(a->types, b->types) == 0 && strcmp(a->scalars, b->scalars) == 0 &&
           strcmp(a->device_key, b->device_key) == 0 && strcmp(a->api, b->api) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->shape, b->shape) == 0;
}

static bool take_row(measurement *m, void *cookie)
{
    loader *l = cookie;
    if (l->n > 0 && !same_group(&l->rows[0], m))
        finish_group(l);
    l->rows = mem_grow(l->rows, &l->capacity, l->n + 1, sizeof *l->rows);
    measurement *row = &l->rows[l->n++];
    *row = *m;
    memset(m, 0, sizeof *m);
    if (row->outcome != OUTCOME_OK)
        measurement_drop_weight(row);
    return true;
}

/* The first time through: contributors most of whose times are outliers. */
static kw_code judge_company(store *s, const store_query *q, loader *l, kw_error *err)
{
    bool several = false;
    kw_code code = store_has_contributors(s, TRUST_CONTRIBUTORS, &several, err);
    if (code == KW_OK && (several || s->trust))
        l->company = company_new(s->trust);
    if (code != KW_OK || !several)
        return code;
    l->judging = true;
    code = store_each_row(s, q, take_row, l, err);
    finish_group(l);
    l->judging = false;
    company_judged(l->company);
    return code;
}

kw_code results_groups_load(store *s, const store_query *q, bool with_lines, results_groups *out, kw_error *err)
{
    *out = (results_groups){.texts = intern_new()};
    loader l = {.groups = out, .with_lines = with_lines};
    kw_code code = judge_company(s, q, &l, err);
    if (code == KW_OK)
        code = store_each_row(s, q, take_row, &l, err);
    finish_group(&l);
    if (code == KW_OK)
        spread(&l);
    else
        results_groups_clear(out);
    clear_keys(&l.wrong);
    clear_keys(&l.general);
    company_free(l.company);
    free(l.rows);
    return code;
}

/* What does not lie in the pool. */
static void clear_group(results_group *g)
{
    for (size_t i = 0; i < g->ledger.n; i++) {
        group_source *s = &g->sources[i];
        free(s->newest.extra);
        for (size_t k = 0; k < s->n_lines; k++)
            free(s->lines[k]);
        free(s->lines);
        ledger_entry *e = &g->ledger.entries[i];
        e->template_name = e->config = e->method = NULL;
    }
    free(g->sources);
    ledger_clear(&g->ledger);
}

void results_groups_clear(results_groups *g)
{
    for (size_t i = 0; i < g->n; i++)
        clear_group(&g->items[i]);
    free(g->items);
    for (size_t i = 0; i < g->n_rejections; i++)
        measurement_clear(&g->rejections[i].m);
    free(g->rejections);
    intern_free(g->texts);
    memset(g, 0, sizeof *g);
}

bool results_same_context(const results_group *a, const results_group *b)
{
    return strcmp(a->task, b->task) == 0 && strcmp(a->task_hash, b->task_hash) == 0 &&
           strcmp(a->types, b->types) == 0 && strcmp(a->scalars, b->scalars) == 0 &&
           strcmp(a->device_key, b->device_key) == 0 && strcmp(a->api, b->api) == 0 && strcmp(a->mode, b->mode) == 0;
}
