/* Reading rows, variants and facts. */
#include "tuner/store_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static const char *const verified_names[] = {"no", "exact", "general"};

const char *verified_name(verified v)
{
    return verified_names[v];
}

bool verified_from_name(const char *name, verified *out)
{
    for (size_t i = 0; name && i < sizeof verified_names / sizeof *verified_names; i++) {
        if (strcmp(name, verified_names[i]) == 0) {
            *out = (verified)i;
            return true;
        }
    }
    return false;
}

static bool is_text(const store_column *c)
{
    return c->kind == STORE_TEXT || c->kind == STORE_JSON;
}

void measurement_clear(measurement *m)
{
    for (int i = 0; i < STORE_COLUMNS; i++)
        if (is_text(&store_columns[i]))
            free(*(char **)((char *)m + store_columns[i].offset));
    free(m->extra);
    free(m->samples_ns);
    memset(m, 0, sizeof *m);
}

void measurement_drop_weight(measurement *m)
{
    free(m->samples_ns);
    m->samples_ns = NULL;
    m->n_samples = 0;
    free(m->detail);
    m->detail = NULL;
}

/* ---- rows ---- */

static const char *column_text(sqlite3_stmt *q, int i)
{
    return (const char *)sqlite3_column_text(q, i);
}

static char *column_copy(sqlite3_stmt *q, int i)
{
    const char *text = column_text(q, i);
    return text ? mem_strdup(text) : NULL;
}

/* "[1,2.5,3]", as samples_text of store_add.c writes it. */
static void read_samples(measurement *m, const char *text)
{
    size_t capacity = 0;
    for (const char *p = text; p && (*p == '[' || *p == ',');) {
        char *end;
        double x = strtod(p + 1, &end);
        if (end == p + 1)
            break;
        m->samples_ns = mem_grow(m->samples_ns, &capacity, m->n_samples + 1, sizeof *m->samples_ns);
        m->samples_ns[m->n_samples++] = x;
        p = end;
    }
}

/* Names that this version does not know (a newer one of the same schema wrote them) count as a failure. */
static void read_column(sqlite3_stmt *q, int i, const store_column *c, measurement *m)
{
    void *field = (char *)m + c->offset;
    int level;
    switch (c->kind) {
    case STORE_TEXT:
    case STORE_JSON:
        *(char **)field = column_copy(q, i);
        break;
    case STORE_VERSION:
        *(int *)field = sqlite3_column_int(q, i);
        break;
    case STORE_INT:
        *(int64_t *)field = sqlite3_column_int64(q, i);
        break;
    case STORE_REAL:
    case STORE_POSITIVE:
    case STORE_TIME:
        *(double *)field = sqlite3_column_double(q, i);
        break;
    case STORE_COUNT:
        *(size_t *)field = (size_t)sqlite3_column_int64(q, i);
        break;
    case STORE_SAMPLES:
        read_samples(m, column_text(q, i));
        break;
    case STORE_OUTCOME:
        if (!outcome_from_name(column_text(q, i), &m->outcome))
            m->outcome = OUTCOME_CRASH;
        break;
    case STORE_STAGE:
        if (!stage_from_name(column_text(q, i), &m->stage))
            m->stage = STAGE_DONE;
        break;
    case STORE_VERIFIED:
        level = sqlite3_column_int(q, i);
        m->verified = level == VERIFIED_GENERAL ? VERIFIED_GENERAL
                      : level == VERIFIED_EXACT ? VERIFIED_EXACT
                                                : VERIFIED_NOT;
        break;
    }
}

static void read_row(sqlite3_stmt *q, measurement *m)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < STORE_COLUMNS; i++)
        read_column(q, i, &store_columns[i], m);
    m->extra = column_copy(q, STORE_COLUMNS);
    if (m->n_samples > 0) {
        stats_summary all = stats_of(m->samples_ns, m->n_samples);
        m->time.min = all.min;
        m->time.max = all.max;
        m->time.mean = all.mean;
    }
}

/* Only the conditions that are asked for: so that the index is of use. */
static void add_conditions(strb *sql, const store_query *q, const char *texts[11])
{
    static const char *const names[11] = {"task", "task_hash", "types",  "shape",    "scalars",    "device_key",
                                          "api",  "mode",      "driver", "template", "source_hash"};
    const char *const values[11] = {q->task, q->task_hash, q->types,  q->shape,         q->scalars,    q->device_key,
                                    q->api,  q->mode,      q->driver, q->template_name, q->source_hash};
    for (size_t i = 0; i < 11; i++) {
        texts[i] = values[i];
        if (values[i])
            strb_printf(sql, " AND %s=?%zu", names[i], i + 1);
    }
    if (q->timing_version)
        strb_printf(sql, " AND timing_version=%d", q->timing_version);
    if (q->latest_timing)
        strb_printf(sql, " AND timing_version<=%d", q->latest_timing);
    if (q->only_ok)
        strb_add(sql, " AND outcome='ok'");
    if (q->only_failed)
        strb_add(sql, " AND outcome<>'ok'");
}

static kw_code prepare_select(store *s, const store_query *q, sqlite3_stmt **out, kw_error *err)
{
    strb sql = STRB_INIT;
    const char *texts[11];
    strb_add(&sql, "SELECT ");
    for (int i = 0; i < STORE_COLUMNS; i++)
        strb_printf(&sql, "%s, ", store_columns[i].schema > s->schema ? "NULL" : store_columns[i].name);
    strb_add(&sql, "extra, rowid FROM measurement WHERE 1");
    add_conditions(&sql, q, texts);
    strb_add(
        &sql,
        " ORDER BY task, task_hash, types, scalars, device_key, api, mode, shape, timing_version, source_hash, rowid");
    bool ok = sqlite3_prepare_v2(s->db, strb_text(&sql), -1, out, NULL) == SQLITE_OK;
    strb_clear(&sql);
    for (int i = 0; ok && i < 11; i++)
        if (texts[i])
            sqlite3_bind_text(*out, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    return ok ? KW_OK : store_error(s, "reading measurements", err);
}

kw_code store_each_row(store *s, const store_query *q, bool (*each)(measurement *, void *), void *cookie, kw_error *err)
{
    sqlite3_stmt *st = NULL;
    kw_code code = prepare_select(s, q, &st, err);
    if (code != KW_OK)
        return code;
    int rc = SQLITE_DONE;
    bool more = true;
    while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        measurement m;
        code = store_check_row(s, st, err);
        if (code != KW_OK)
            break;
        read_row(st, &m);
        more = each(&m, cookie);
        measurement_clear(&m);
    }
    if (code == KW_OK && more && rc != SQLITE_DONE)
        code = store_error(s, "reading measurements", err);
    sqlite3_finalize(st);
    return code;
}

typedef struct borrower {
    bool (*each)(const measurement *m, void *cookie);
    void *cookie;
} borrower;

static bool lend_row(measurement *m, void *cookie)
{
    borrower *b = cookie;
    return b->each(m, b->cookie);
}

kw_code store_each(store *s, const store_query *q, bool (*each)(const measurement *, void *), void *cookie,
                   kw_error *err)
{
    borrower b = {each, cookie};
    return store_each_row(s, q, lend_row, &b, err);
}

kw_code store_has_contributors(store *s, int at_least, bool *yes, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    const char *sql = s->schema >= 3 ? "SELECT DISTINCT coalesce(contributor, host) FROM measurement LIMIT ?1"
                                     : "SELECT DISTINCT host FROM measurement LIMIT ?1";
    *yes = false;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading measurements", err);
    sqlite3_bind_int(q, 1, at_least);
    int rc, n = 0;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        n++;
    *yes = n >= at_least;
    kw_code code = rc == SQLITE_DONE ? KW_OK : store_error(s, "reading measurements", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_task_names(store *s, strb *out, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT DISTINCT task FROM measurement ORDER BY task", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading measurements", err);
    int rc;
    for (const char *separator = ""; (rc = sqlite3_step(q)) == SQLITE_ROW; separator = ", ")
        strb_printf(out, "%s%s", separator, column_text(q, 0) ? column_text(q, 0) : "(none)");
    kw_code code = rc == SQLITE_DONE ? KW_OK : store_error(s, "reading measurements", err);
    sqlite3_finalize(q);
    return code;
}

/* ---- variants ---- */

static store_variant_row variant_row(sqlite3_stmt *q)
{
    return (store_variant_row){.task = column_text(q, 0),
                               .task_hash = column_text(q, 1),
                               .source_hash = column_text(q, 2),
                               .language = column_text(q, 3),
                               .is_fallback = sqlite3_column_int(q, 4) != 0,
                               .json_text = column_text(q, 5)};
}

kw_code store_each_variant(store *s, const char *task_name, const char *task_hash, bool with_text,
                           bool (*each)(const store_variant_row *, void *), void *cookie, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    strb sql = STRB_INIT;
    strb_printf(&sql,
                "SELECT task, task_hash, source_hash, language, fallback, %s, rowid FROM variant WHERE 1%s%s"
                " ORDER BY task_hash, source_hash",
                with_text ? "json" : "NULL", task_name ? " AND task=?1" : "", task_hash ? " AND task_hash=?2" : "");
    int rc = sqlite3_prepare_v2(s->db, strb_text(&sql), -1, &q, NULL);
    strb_clear(&sql);
    if (rc != SQLITE_OK)
        return store_error(s, "reading variants", err);
    if (task_name)
        sqlite3_bind_text(q, 1, task_name, -1, SQLITE_STATIC);
    if (task_hash)
        sqlite3_bind_text(q, 2, task_hash, -1, SQLITE_STATIC);
    bool more = true;
    kw_code code = KW_OK;
    while (more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        code = store_check_variant(s, q, with_text, err);
        if (code != KW_OK)
            break;
        store_variant_row row = variant_row(q);
        more = each(&row, cookie);
    }
    if (code == KW_OK && more && rc != SQLITE_DONE)
        code = store_error(s, "reading variants", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_variant_texts(store *s, const char *task_hash, const char *const *source_hashes, size_t n,
                            bool (*each)(size_t, const store_variant_row *, void *), void *cookie, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db,
                           "SELECT task, task_hash, source_hash, language, fallback, json, rowid FROM variant"
                           " WHERE task_hash=?1 AND source_hash=?2",
                           -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading variants", err);
    sqlite3_bind_text(q, 1, task_hash, -1, SQLITE_STATIC);
    kw_code code = KW_OK;
    bool more = true;
    for (size_t i = 0; more && i < n; i++) {
        sqlite3_bind_text(q, 2, source_hashes[i], -1, SQLITE_STATIC);
        int rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            code = store_check_variant(s, q, true, err);
            store_variant_row row = variant_row(q);
            more = code == KW_OK && each(i, &row, cookie);
        } else if (rc != SQLITE_DONE) {
            code = store_error(s, "reading variants", err);
            more = false;
        }
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return code;
}

kw_code store_read_variant(const store *s, const task *t, const store_variant_row *row, variant **out, kw_error *err)
{
    strb where = STRB_INIT;
    strb_printf(&where, "%.400s: variant %s", s->path, row->source_hash);
    *out = NULL;
    json *j = json_parse(row->json_text, strlen(row->json_text), strb_text(&where), 1, 1, err);
    kw_code code = j ? variant_from_json(t, j, strb_text(&where), out, err) : KW_BAD_INPUT;
    json_free(j);
    if (code == KW_OK && strcmp((*out)->hash, row->source_hash) != 0) {
        code = kw_error_set(err, KW_BAD_INPUT, "%s: its content hashes to %s: it is not what was measured",
                            strb_text(&where), (*out)->hash);
        variant_free(*out);
        *out = NULL;
    }
    strb_clear(&where);
    return code;
}

typedef struct one_variant {
    store *s;
    const task *t;
    variant *v;
    kw_code code;
    kw_error *err;
} one_variant;

static bool parse_variant(size_t i, const store_variant_row *row, void *cookie)
{
    (void)i;
    one_variant *one = cookie;
    one->code = store_read_variant(one->s, one->t, row, &one->v, one->err);
    return true;
}

kw_code store_variant(store *s, const task *t, const char *source_hash, variant **out, kw_error *err)
{
    one_variant one = {.s = s, .t = t, .err = err};
    kw_code code = store_variant_texts(s, t->hash, &source_hash, 1, parse_variant, &one, err);
    *out = one.v;
    return code == KW_OK ? one.code : code;
}

/* ---- facts ---- */

kw_code store_set_fact(store *s, const char *key, const char *json_text, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO fact (key, json) VALUES (?1, ?2)", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "keeping a fact", err);
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, json_text, -1, SQLITE_STATIC);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "keeping a fact", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_fact(store *s, const char *key, char **json_text, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    *json_text = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT json FROM fact WHERE key=?1", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading a fact", err);
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *json_text = column_copy(q, 0);
    kw_code code = rc == SQLITE_ROW || rc == SQLITE_DONE ? KW_OK : store_error(s, "reading a fact", err);
    sqlite3_finalize(q);
    return code;
}
