/* Results as text: export and import. docs/results.md is the format's reference. */
#include "tuner/results_groups.h"
#include "tuner/results_lines.h"
#include "tuner/results_scan.h"
#include "tuner/results_text.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- export: every row ---- */

typedef struct full_export {
    line_set lines;
    bool samples;
} full_export;

static bool add_row_line(const measurement *m, void *cookie)
{
    full_export *x = cookie;
    strb line = STRB_INIT;
    results_row_print(m, x->samples, &line);
    line_set_add(&x->lines, strb_take(&line));
    return true;
}

static bool add_variant_line(const store_variant_row *v, void *cookie)
{
    line_set *lines = cookie;
    strb line = STRB_INIT;
    results_variant_print(v, &line);
    line_set_add(lines, strb_take(&line));
    return true;
}

static kw_code export_all(store *s, const char *task_name, bool samples, strb *out, kw_error *err)
{
    full_export x = {.samples = samples};
    store_query q = {.task = task_name};
    kw_code code = store_each(s, &q, add_row_line, &x, err);
    if (code == KW_OK)
        code = store_each_variant(s, task_name, NULL, true, add_variant_line, &x.lines, err);
    if (code == KW_OK)
        line_set_print(&x.lines, out);
    line_set_clear(&x.lines);
    return code;
}

/* ---- export: winners ---- */

/* A set of source hashes, sorted; the texts are borrowed. */
typedef struct hash_set {
    const char **items;
    size_t n, capacity;
} hash_set;

static void add_hash(hash_set *s, const char *source_hash)
{
    s->items = mem_grow(s->items, &s->capacity, s->n + 1, sizeof *s->items);
    s->items[s->n++] = source_hash;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_hashes(hash_set *s)
{
    if (s->n == 0)
        return;
    qsort(s->items, s->n, sizeof *s->items, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < s->n; i++)
        if (strcmp(s->items[i], s->items[kept - 1]) != 0)
            s->items[kept++] = s->items[i];
    s->n = kept;
}

static bool has_hash(const hash_set *s, const char *source_hash)
{
    return s->n > 0 && bsearch(&source_hash, s->items, s->n, sizeof *s->items, by_text) != NULL;
}

static bool is_verified(const ledger_entry *e, void *cookie)
{
    (void)cookie;
    return e->verified != VERIFIED_NOT;
}

/* The winner, and the fastest where that is another one: with both in the file the same one wins again. */
static void add_winners(const ledger *l, bool (*usable)(const ledger_entry *, void *), hash_set *out)
{
    const ledger_entry *winner = ledger_winner(l, usable, NULL), *fastest = ledger_fastest(l, usable, NULL);
    if (winner)
        add_hash(out, winner->source_hash);
    if (fastest)
        add_hash(out, fastest->source_hash);
}

static bool has_general(const results_group *groups, size_t n, const hash_set *among)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < groups[i].ledger.n; k++) {
            const ledger_entry *e = &groups[i].ledger.entries[k];
            if (e->ok && e->verified == VERIFIED_GENERAL && has_hash(among, e->source_hash))
                return true;
        }
    return false;
}

static bool is_member(const ledger_entry *e, void *cookie)
{
    return has_hash(cookie, e->source_hash);
}

/* Everything that a table made from these groups may name: winners, with and without verification; variants that may
 * serve shapes that nobody measured; and where no fallback is among those, the fastest fallback of each shape. */
static void choose_portfolio(const results_group *groups, size_t n, hash_set *fallbacks, hash_set *out)
{
    bool need_fallback = !has_general(groups, n, fallbacks);
    for (size_t i = 0; i < n; i++) {
        const ledger *l = &groups[i].ledger;
        add_winners(l, NULL, out);
        add_winners(l, is_verified, out);
        for (size_t k = 0; k < l->n; k++)
            if (l->entries[k].verified == VERIFIED_GENERAL)
                add_hash(out, l->entries[k].source_hash);
        const ledger_entry *e = need_fallback ? ledger_fastest(l, is_member, fallbacks) : NULL;
        if (e)
            add_hash(out, e->source_hash);
    }
    sort_hashes(out);
}

typedef struct winner_export {
    store *s;
    bool samples;
    results_groups groups;
    hash_set fallbacks; /* owns its texts */
    line_set lines;
} winner_export;

static void add_entry_lines(winner_export *x, group_source *source)
{
    if (x->samples) {
        for (size_t i = 0; i < source->n_lines; i++) {
            line_set_add(&x->lines, source->lines[i]);
            source->lines[i] = NULL;
        }
        return;
    }
    strb line = STRB_INIT;
    results_pooled_print(source, &line);
    line_set_add(&x->lines, strb_take(&line));
}

static bool add_portfolio_line(size_t i, const store_variant_row *v, void *cookie)
{
    (void)i;
    return add_variant_line(v, cookie);
}

/* Groups that differ in their shapes only. `used` gets the hashes of the lines. */
static void export_context(winner_export *x, results_group *groups, size_t n, hash_set *used)
{
    hash_set portfolio = {0};
    choose_portfolio(groups, n, &x->fallbacks, &portfolio);
    for (size_t i = 0; i < n; i++) {
        const ledger *l = &groups[i].ledger;
        for (size_t k = 0; k < l->n; k++) {
            const ledger_entry *e = &l->entries[k];
            if (!e->ok || e->time.n == 0 || !has_hash(&portfolio, e->source_hash))
                continue;
            add_entry_lines(x, &groups[i].sources[k]);
            add_hash(used, e->source_hash);
        }
    }
    free(portfolio.items);
}

/* All groups of one task hash, from the first on; returns how many. */
static size_t export_task(winner_export *x, results_group *first, size_t left, kw_code *code, kw_error *err)
{
    hash_set used = {0};
    size_t done = 0;
    while (done < left && strcmp(first[done].task, first->task) == 0 &&
           strcmp(first[done].task_hash, first->task_hash) == 0) {
        size_t n = 1;
        while (done + n < left && results_same_context(&first[done], &first[done + n]))
            n++;
        export_context(x, first + done, n, &used);
        done += n;
    }
    sort_hashes(&used);
    *code = store_variant_texts(x->s, first->task_hash, used.items, used.n, add_portfolio_line, &x->lines, err);
    free(used.items);
    return done;
}

static bool note_fallback(const store_variant_row *v, void *cookie)
{
    if (v->is_fallback)
        add_hash(cookie, mem_strdup(v->source_hash));
    return true;
}

static void clear_fallbacks(hash_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        union {
            const char *in;
            char *out;
        } owned = {s->items[i]};
        free(owned.out);
    }
    free(s->items);
}

static kw_code export_winners(store *s, const char *task_name, bool samples, strb *out, kw_error *err)
{
    winner_export x = {.s = s, .samples = samples};
    store_query q = {.task = task_name};
    kw_code code = store_each_variant(s, task_name, NULL, false, note_fallback, &x.fallbacks, err);
    if (x.fallbacks.n > 0)
        qsort(x.fallbacks.items, x.fallbacks.n, sizeof *x.fallbacks.items, by_text);
    if (code == KW_OK)
        code = results_groups_load(s, &q, samples, &x.groups, err);
    for (size_t i = 0; code == KW_OK && i < x.groups.n;)
        i += export_task(&x, &x.groups.items[i], x.groups.n - i, &code, err);
    if (code == KW_OK)
        line_set_print(&x.lines, out);
    line_set_clear(&x.lines);
    results_groups_clear(&x.groups);
    clear_fallbacks(&x.fallbacks);
    return code;
}

static bool stop_at_first(const measurement *m, void *cookie)
{
    (void)m;
    *(bool *)cookie = true;
    return false;
}

static kw_code check_task(store *s, const char *task_name, kw_error *err)
{
    bool found = false;
    store_query q = {.task = task_name};
    kw_code code = store_each(s, &q, stop_at_first, &found, err);
    if (code != KW_OK || found)
        return code;
    strb names = STRB_INIT;
    code = store_task_names(s, &names, err);
    if (code == KW_OK && names.length == 0)
        code = kw_error_set(err, KW_FAILED, "store %s holds no measurements: run `kernwright tune %s` first",
                            store_path(s), task_name);
    else if (code == KW_OK)
        code = kw_error_set(err, KW_FAILED, "store %s holds no measurements of '%s', only of %s", store_path(s),
                            task_name, strb_text(&names));
    strb_clear(&names);
    return code;
}

kw_code results_export(store *s, const char *task_name, bool all, bool samples, strb *out, kw_error *err)
{
    kw_code code = task_name ? check_task(s, task_name, err) : KW_OK;
    if (code != KW_OK)
        return code;
    return (all ? export_all : export_winners)(s, task_name, samples, out, err);
}

/* ---- import ---- */

static kw_code import_row(store *s, const json *j, const char *where, bool *added, kw_error *err)
{
    measurement m;
    kw_code code = results_row_read(j, where, &m, err);
    if (code == KW_OK)
        code = store_insert(s, &m, true, added, err);
    measurement_clear(&m);
    return code;
}

static kw_code import_variant(store *s, const json *j, const char *where, strb *scratch, bool *added, kw_error *err)
{
    store_variant_row row;
    kw_code code = results_variant_read(j, where, scratch, &row, err);
    return code == KW_OK ? store_insert_variant(s, &row, added, err) : code;
}

/* The long way, which also says what is wrong with a line. */
static kw_code import_any(store *s, const line_reader *r, const char *line, size_t length, strb *scratch, bool *added,
                          kw_error *err)
{
    char where[512];
    snprintf(where, sizeof where, "%.480s:%d", line_reader_name(r), line_reader_number(r));
    json *j = json_parse(line, length, line_reader_name(r), line_reader_number(r), 1, err);
    if (!j)
        return KW_BAD_INPUT;
    const json *only = json_count(j) == 1 && json_kind_of(j) == JSON_OBJECT ? json_first(j) : NULL;
    const char *kind = only && json_kind_of(only) == JSON_OBJECT ? json_key(only) : "";
    kw_code code;
    if (strcmp(kind, "measurement") == 0)
        code = import_row(s, only, where, added, err);
    else if (strcmp(kind, "variant") == 0)
        code = import_variant(s, only, where, scratch, added, err);
    else
        code = kw_error_set(err, KW_BAD_INPUT, "%s: neither {\"measurement\":{..}} nor {\"variant\":{..}}", where);
    json_free(j);
    return code;
}

/* Only lines of this task, unless it is NULL. */
static kw_code import_lines(store *s, line_reader *r, const char *task_name, size_t *n_added, kw_error *err)
{
    strb scratch = STRB_INIT;
    scan_room room = {0};
    measurement m;
    kw_code code = KW_OK;
    while (code == KW_OK) {
        char *line;
        size_t length;
        bool added = false;
        code = line_reader_next(r, &line, &length, err);
        if (code != KW_OK || !line)
            break;
        if (task_name && results_of_other_task(line, length, task_name))
            continue;
        code = results_row_scan(line, length, &room, &m) ? store_insert(s, &m, true, &added, err)
                                                         : import_any(s, r, line, length, &scratch, &added, err);
        *n_added += added;
    }
    strb_clear(&scratch);
    scan_room_clear(&room);
    return code;
}

static kw_code import_file(store *s, const char *path, const char *task_name, size_t *n_added, kw_error *err)
{
    line_reader *r;
    *n_added = 0;
    kw_code code = line_reader_open(path, &r, err);
    if (code != KW_OK)
        return code;
    code = store_run(s, "BEGIN IMMEDIATE", "importing", err);
    if (code == KW_OK) {
        code = import_lines(s, r, task_name, n_added, err);
        if (code == KW_OK)
            code = store_run(s, "COMMIT", "importing", err);
        if (code != KW_OK) {
            store_run(s, "ROLLBACK", "importing", NULL);
            *n_added = 0;
        }
    }
    line_reader_close(r);
    return code;
}

kw_code results_import(store *s, const char *path, size_t *n_added, kw_error *err)
{
    return import_file(s, path, NULL, n_added, err);
}

kw_code results_open(const char *path, const char *task_name, store **out, kw_error *err)
{
    size_t n;
    kw_code code = store_open_temporary(out, err);
    if (code == KW_OK)
        code = import_file(*out, path, task_name, &n, err);
    if (code == KW_OK) {
        free((*out)->path);
        (*out)->path = mem_strdup(path);
    }
    return code;
}
