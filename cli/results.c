#include "cli/cli.h"
#include "cli/importance.h"
#include "cli/kinds.h"
#include "cli/options.h"
#include "cli/results_merge.h"
#include "cli/results_rejected.h"
#include "cli/table.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/results_t4.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct results_cli {
    const char *store, *task, *out, *base, *from, *trust;
    bool json, failed, all, samples, importance, archive, behaviour, rejected;
    const char *format, *template_name, *shape, *device; /* of --format t4 */
} results_cli;

/* ---- show ---- */

/* A line of the table. Those of one task, shape and device stand together, the fastest first. */
typedef struct shown {
    char *task, *shape, *device, *mode, *method, *template_name, *config;
    outcome outcome;
    verified verified;
    double ms;    /* infinite: not timed */
    double share; /* of the device's limit, in percent; infinite: not known */
    char *limited_by;
    size_t order; /* as the store gave it */
} shown;

typedef struct show_state {
    const results_cli *c;
    size_t n;
    shown *rows;
    size_t n_rows, capacity;
    struct cause {
        char key[160];
        size_t n;
    } causes[256];
    size_t n_causes;
    size_t n_other; /* of causes that there was no room for */
} show_state;

static void show_json(const measurement *m)
{
    json *j = json_new_object();
    json_set_string(j, "task", m->task);
    json_set_string(j, "types", m->types);
    json_set(j, "shape", json_parse(m->shape, strlen(m->shape), NULL, 1, 1, NULL));
    json_set_string(j, "device", m->device_key);
    json_set_string(j, "mode", m->mode);
    json_set_string(j, "template", m->template_name);
    json_set(j, "config", m->config ? json_parse(m->config, strlen(m->config), NULL, 1, 1, NULL) : NULL);
    json_set_string(j, "outcome", outcome_name(m->outcome));
    json_set_string(j, "stage", stage_name(m->stage));
    json_set_string(j, "verified", verified_name(m->verified));
    if (m->time.n > 0) {
        json_set_string(j, "method", m->method);
        json_set_int(j, "n", (int64_t)m->time.n);
        json_set_number(j, "median_ns", m->time.median);
        json_set_number(j, "lo_ns", m->time.lo);
        json_set_number(j, "hi_ns", m->time.hi);
    }
    if (m->limit_ns > 0 && m->time.n > 0) {
        json_set_number(j, "limit_ns", m->limit_ns);
        json_set_string(j, "limited_by", m->limited_by);
        json_set_number(j, "percent_of_limit", 100 * m->limit_ns / m->time.median);
    }
    if (m->noise > 0)
        json_set_number(j, "noise", m->noise);
    json_set_string(j, "detail", m->detail);
    json_set_string(j, "source_hash", m->source_hash);
    json_set_string(j, "driver", m->driver);
    json_set_string(j, "date", m->date);
    cli_print_json(j);
    json_free(j);
}

/* Failures are grouped by outcome, stage and the first words of the detail, digits left out. */
static void count_cause(show_state *s, const measurement *m)
{
    char key[160];
    int n = snprintf(key, sizeof key, "%s|%s|", outcome_name(m->outcome), stage_name(m->stage));
    size_t k = (size_t)n;
    for (const char *p = m->detail ? m->detail : ""; *p && *p != '\n' && k < 110; p++)
        if ((*p < '0' || *p > '9') && *p != '|')
            key[k++] = *p;
    key[k] = '\0';
    for (size_t i = 0; i < s->n_causes; i++) {
        if (strcmp(s->causes[i].key, key) == 0) {
            s->causes[i].n++;
            return;
        }
    }
    if (s->n_causes < sizeof s->causes / sizeof *s->causes) {
        snprintf(s->causes[s->n_causes].key, sizeof s->causes[0].key, "%s", key);
        s->causes[s->n_causes++].n = 1;
    } else {
        s->n_other++;
    }
}

/* {"M":64,"N":8} -> M=64,N=8: as it is typed. */
static char *plain_text(const char *object, char separator)
{
    strb text = STRB_INIT;
    bool quoted = false;
    for (const char *p = object ? object : "-"; *p; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted || !strchr("{}:,", *p))
            strb_add_char(&text, *p);
        else if (*p == ':' || *p == ',')
            strb_add_char(&text, *p == ':' ? '=' : separator);
    }
    return strb_take(&text);
}

static void keep_row(show_state *s, const measurement *m)
{
    s->rows = mem_grow(s->rows, &s->capacity, s->n_rows + 1, sizeof *s->rows);
    s->rows[s->n_rows] = (shown){.task = mem_strdup(m->task),
                                 .shape = plain_text(m->shape, ','),
                                 .device = mem_strdup(m->device_key),
                                 .mode = mem_strdup(m->mode),
                                 .method = mem_strdup(m->method ? m->method : "-"),
                                 .template_name = mem_strdup(m->template_name ? m->template_name : "-"),
                                 .config = plain_text(m->config, ' '),
                                 .outcome = m->outcome,
                                 .verified = m->verified,
                                 .ms = m->time.n ? m->time.median / 1e6 : INFINITY,
                                 .share = m->time.n && m->limit_ns > 0 ? 100 * m->limit_ns / m->time.median : INFINITY,
                                 .limited_by = mem_strdup(m->limited_by ? m->limited_by : ""),
                                 .order = s->n_rows};
    s->n_rows++;
}

static int by_group_and_time(const void *a, const void *b)
{
    const shown *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    if (order == 0)
        order = strcmp(x->device, y->device);
    if (order == 0)
        order = strcmp(x->mode, y->mode);
    if (order == 0)
        order = strcmp(x->shape, y->shape);
    if (order == 0)
        order = (x->ms > y->ms) - (x->ms < y->ms);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static void print_rows(show_state *s)
{
    table *t = table_new("task|shape|device|mode|outcome|median ms|by|of limit|verified|template|configuration");
    if (s->n_rows > 0)
        qsort(s->rows, s->n_rows, sizeof *s->rows, by_group_and_time);
    for (size_t i = 0; i < s->n_rows; i++) {
        const shown *r = &s->rows[i];
        table_text(t, r->task);
        table_text(t, r->shape);
        table_text(t, r->device);
        table_text(t, r->mode);
        table_text(t, outcome_name(r->outcome));
        table_number(t, r->ms, 4);
        table_text(t, r->method);
        char share[64] = "-";
        if (isfinite(r->share))
            snprintf(share, sizeof share, "%.3g%% %s", r->share, r->limited_by);
        table_text(t, share);
        table_text(t, verified_name(r->verified));
        table_text(t, r->template_name);
        table_text(t, r->config);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
}

static void free_state(show_state *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        shown *r = &s->rows[i];
        char *texts[] = {r->task, r->shape, r->device, r->mode, r->method, r->template_name, r->config, r->limited_by};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            free(texts[k]);
    }
    free(s->rows);
    free(s);
}

static bool show_row(const measurement *m, void *cookie)
{
    show_state *s = cookie;
    s->n++;
    if (s->c->json)
        show_json(m);
    else if (s->c->failed)
        count_cause(s, m);
    else
        keep_row(s, m);
    return true;
}

static int by_count(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->key, y->key);
}

static void print_causes(show_state *s)
{
    qsort(s->causes, s->n_causes, sizeof s->causes[0], by_count);
    table *t = table_new("count|outcome|stage|cause");
    for (size_t i = 0; i < s->n_causes; i++) {
        char *save = NULL, *key = s->causes[i].key;
        table_number(t, (double)s->causes[i].n, 1);
        table_text(t, strtok_r(key, "|", &save));
        table_text(t, strtok_r(NULL, "|", &save));
        const char *cause = strtok_r(NULL, "", &save);
        table_text(t, cause ? cause : "");
        table_end_row(t);
    }
    if (s->n_other > 0) {
        table_number(t, (double)s->n_other, 1);
        table_text(t, "(others)");
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
}

static kw_code show(const results_cli *c, kw_error *err)
{
    store *s;
    kw_code code = store_open(c->store, true, &s, err);
    if (code != KW_OK)
        return code;
    show_state *state = mem_calloc(1, sizeof *state);
    state->c = c;
    store_query q;
    memset(&q, 0, sizeof q);
    q.task = c->task;
    q.only_failed = c->failed;
    code = store_each(s, &q, show_row, state, err);
    if (code == KW_OK && !c->json) {
        if (c->failed)
            print_causes(state);
        else
            print_rows(state);
        log_info("%zu measurement%s", state->n, state->n == 1 ? "" : "s");
    }
    free_state(state);
    store_close(s);
    return code;
}

/* ---- export, import, merge ---- */

static kw_code export_text(const results_cli *c, kw_error *err)
{
    if (c->format && strcmp(c->format, "t4") != 0)
        return kw_error_set(err, KW_BAD_INPUT, "unknown format '%s'; there is: t4", c->format);
    if (!c->format && (c->template_name || c->shape || c->device))
        return kw_error_set(err, KW_BAD_INPUT, "--template, --shape and --device choose what --format t4 exports");
    store *s;
    strb text = STRB_INIT;
    kw_code code = store_open(c->store, true, &s, err);
    if (code != KW_OK)
        return code;
    if (c->trust)
        code = store_use_trust(s, c->trust, err);
    const t4_choice choice = {c->task, c->template_name, c->shape, c->device};
    if (code == KW_OK)
        code = c->format ? results_export_t4(s, &choice, &text, err)
                         : results_export(s, c->task, c->all, c->samples, &text, err);
    if (code == KW_OK)
        code = fs_write(c->out ? c->out : "-", strb_text(&text), text.length, err);
    strb_clear(&text);
    store_close(s);
    return code;
}

static kw_code import_text(const results_cli *c, const option_list *files, kw_error *err)
{
    store *s;
    kw_code code = store_open(c->store, false, &s, err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; code == KW_OK && i < files->n; i++) {
        size_t n = 0;
        code = results_import(s, files->items[i], &n, err);
        if (code == KW_OK)
            log_info("%s: %zu new lines", files->items[i], n);
    }
    store_close(s);
    return code;
}

static kw_code show_some_way(const results_cli *c, kw_error *err)
{
    if (c->failed + c->importance + c->archive + c->behaviour + c->rejected > 1)
        return kw_error_set(err, KW_BAD_INPUT,
                            "give one of --failed, --importance, --archive, --behaviour and --rejected");
    if (c->rejected)
        return cli_show_rejected(c->store, c->from, c->task, c->trust, c->json, err);
    if (c->importance)
        return cli_show_importance(c->store, c->task, c->json, err);
    if (c->archive)
        return cli_show_archive(c->store, c->task, c->json, err);
    if (c->behaviour)
        return cli_show_behaviour(c->store, c->task, c->json, err);
    return show(c, err);
}

/* An option that the word does not know would be passed over, and whoever gave it misled. */
static kw_code check_options(const results_cli *c, const char *verb, kw_error *err)
{
    const struct {
        const char *option;
        bool given;
        const char *verbs;
    } uses[] = {
        {"--task", c->task, "show and export"},
        {"--store", c->store, "show, export and import"},
        {"--json", c->json, "show"},
        {"--failed", c->failed, "show"},
        {"--importance", c->importance, "show"},
        {"--archive", c->archive, "show"},
        {"--behaviour", c->behaviour, "show"},
        {"--rejected", c->rejected, "show"},
        {"--from", c->from, "show --rejected"},
        {"--trust", c->trust, "show --rejected and export"},
        {"--all", c->all, "export"},
        {"--samples", c->samples, "export"},
        {"--format", c->format, "export"},
        {"--template", c->template_name, "export"},
        {"--shape", c->shape, "export"},
        {"--device", c->device, "export"},
        {"--base", c->base, "merge"},
        {"-o", c->out, "export and merge"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && !strstr(uses[i].verbs, verb))
            return kw_error_set(err, KW_BAD_INPUT, "%s belongs to %s, not to %s", uses[i].option, uses[i].verbs, verb);
    if ((c->from || c->trust) && !c->rejected && strcmp(verb, "show") == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s belongs to show --rejected, not to show alone",
                            c->from ? "--from" : "--trust");
    return KW_OK;
}

static kw_code dispatch_verb(const results_cli *c, const option_list *args, kw_error *err)
{
    option_list files = *args;
    const char *verb = args->n ? args->items[0] : "";
    if (args->n) {
        files.n--;
        memmove(files.items, files.items + 1, files.n * sizeof *files.items);
    }
    bool takes_files = strcmp(verb, "import") == 0 || strcmp(verb, "merge") == 0;
    bool takes_no_file = strcmp(verb, "show") == 0 || strcmp(verb, "export") == 0;
    if (takes_files && files.n == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s needs at least one results file", verb);
    if (takes_no_file && files.n > 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s takes no argument (got '%s')", verb, files.items[0]);
    kw_code code = takes_files || takes_no_file ? check_options(c, verb, err) : KW_OK;
    if (code != KW_OK)
        return code;
    if (strcmp(verb, "show") == 0)
        return show_some_way(c, err);
    if (strcmp(verb, "export") == 0)
        return export_text(c, err);
    if (strcmp(verb, "import") == 0)
        return import_text(c, &files, err);
    if (strcmp(verb, "merge") == 0)
        return cli_results_merge(files.items, files.n, c->base, c->out, err);
    static const char *const verbs[] = {"show", "export", "import", "merge"};
    const char *near = json_nearest(verb, verbs, sizeof verbs / sizeof *verbs);
    return kw_error_set(err, KW_BAD_INPUT,
                        "%s%s%s%s%s%s%ssay what to do: show, export, import FILE... or merge FILE...",
                        *verb ? "unknown word '" : "", verb, *verb ? "'" : "", near ? ", did you mean '" : "",
                        near ? near : "", near ? "'" : "", *verb ? "; " : "");
}

int cli_results(int argc, char **argv)
{
    results_cli c;
    memset(&c, 0, sizeof c);
    const option_row rows[] = {
        {"--task", OPTION_TEXT, &c.task, "NAME", "only this task"},
        {"--store", OPTION_TEXT, &c.store, "FILE", "results store; default $KERNWRIGHT_STORE or ./kernwright.db"},
        {"--json", OPTION_FLAG, &c.json, NULL, "show: one JSON line per measurement"},
        {"--failed", OPTION_FLAG, &c.failed, NULL, "show: failures, grouped by cause"},
        {"--importance", OPTION_FLAG, &c.importance, NULL, "show: which parameters decide the time, for each template"},
        {"--archive", OPTION_FLAG, &c.archive, NULL, "show: the best of every kind of kernel"},
        {"--behaviour", OPTION_FLAG, &c.behaviour, NULL, "show: kinds by source and by the compiled program (NVIDIA)"},
        {"--rejected", OPTION_FLAG, &c.rejected, NULL, "show: measurements that are not believed, and why"},
        {"--from", OPTION_TEXT, &c.from, "FILE", "show --rejected: of a results file instead of the store"},
        {"--trust", OPTION_TEXT, &c.trust, "FILE", "export, show --rejected: weights of contributors"},
        {"--all", OPTION_FLAG, &c.all, NULL, "export: every measurement, not only winners"},
        {"--samples", OPTION_FLAG, &c.samples, NULL, "export: with every sample"},
        {"--format", OPTION_TEXT, &c.format, "t4", "export: one search as T4 results, for other tuners"},
        {"--template", OPTION_TEXT, &c.template_name, "NAME", "T4: only this template"},
        {"--shape", OPTION_TEXT, &c.shape, "M=1,..", "T4: only this shape"},
        {"--device", OPTION_TEXT, &c.device, "PART", "T4: only devices with this in their key or name"},
        {"--base", OPTION_TEXT, &c.base, "FILE", "merge: their common ancestor; what a file took out of it stays away"},
        {"-o", OPTION_TEXT, &c.out, "FILE", "export, merge: write to a file"},
    };
    const option_set set = {
        "results", "show | export | import FILE... | merge FILE... [options]",
        "What was measured. Exported text belongs in version control: its order is fixed, and merging is the\n"
        "union of lines. With KERNWRIGHT_CONTRIBUTOR set to a name, what is measured says who vouches for it.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("results", &err);
    if (helped)
        return KW_OK;
    return dispatch_verb(&c, &args, &err) == KW_OK ? KW_OK : cli_fail("results", &err);
}
