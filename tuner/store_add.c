/* Adding rows and variants. */
#include "tuner/store_internal.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX (64 << 10)
#define EXTRA_PARAMETER (STORE_COLUMNS + 1)

/* ---- binding: parameter i + 1 is column i, then extra ---- */

static char *samples_text(const measurement *m)
{
    json *array = json_new_array();
    for (size_t i = 0; i < m->n_samples; i++)
        json_append(array, json_new_number(m->samples_ns[i]));
    strb text = STRB_INIT;
    json_print(array, &text);
    json_free(array);
    return strb_take(&text);
}

static void bind_text(sqlite3_stmt *q, int i, const char *text)
{
    if (text)
        sqlite3_bind_text(q, i, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(q, i);
}

/* Logs may be long, and cut in the middle of a character. */
static void bind_detail(sqlite3_stmt *q, int i, const char *text)
{
    if (!text) {
        sqlite3_bind_null(q, i);
        return;
    }
    size_t n = strnlen(text, DETAIL_MAX);
    if (n == DETAIL_MAX)
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    strb valid = STRB_INIT;
    utf8_add_valid(&valid, text, n);
    sqlite3_bind_text(q, i, strb_text(&valid), -1, SQLITE_TRANSIENT);
    strb_clear(&valid);
}

static void bind_samples(sqlite3_stmt *q, int i, const measurement *m)
{
    if (m->n_samples > 0)
        sqlite3_bind_text(q, i, samples_text(m), -1, free);
    else
        sqlite3_bind_null(q, i);
}

static void bind_time(sqlite3_stmt *q, int i, const measurement *m, double x)
{
    if (m->time.n > 0)
        sqlite3_bind_double(q, i, x);
    else
        sqlite3_bind_null(q, i);
}

static void bind_column(sqlite3_stmt *q, int i, const store_column *c, const measurement *m)
{
    const void *field = (const char *)m + c->offset;
    switch (c->kind) {
    case STORE_TEXT:
    case STORE_JSON:
        if (c->offset == offsetof(measurement, detail))
            bind_detail(q, i, m->detail);
        else
            bind_text(q, i, *(char *const *)field);
        break;
    case STORE_VERSION:
        sqlite3_bind_int(q, i, *(const int *)field);
        break;
    case STORE_INT:
        sqlite3_bind_int64(q, i, *(const int64_t *)field);
        break;
    case STORE_REAL:
        sqlite3_bind_double(q, i, isfinite(*(const double *)field) ? *(const double *)field : INFINITY);
        break;
    case STORE_POSITIVE:
        if (*(const double *)field > 0)
            sqlite3_bind_double(q, i, *(const double *)field);
        else
            sqlite3_bind_null(q, i);
        break;
    case STORE_COUNT:
        bind_time(q, i, m, (double)m->time.n);
        break;
    case STORE_TIME:
        bind_time(q, i, m, *(const double *)field);
        break;
    case STORE_SAMPLES:
        bind_samples(q, i, m);
        break;
    case STORE_OUTCOME:
        bind_text(q, i, outcome_name(m->outcome));
        break;
    case STORE_STAGE:
        bind_text(q, i, stage_name(m->stage));
        break;
    case STORE_VERIFIED:
        sqlite3_bind_int(q, i, (int)m->verified);
        break;
    }
}

static void bind_row(sqlite3_stmt *q, const measurement *m)
{
    measurement row = *m;
    if (row.time.n == 0 && row.n_samples > 0)
        row.time = stats_of(row.samples_ns, row.n_samples);
    for (int i = 0; i < STORE_COLUMNS; i++)
        bind_column(q, i + 1, &store_columns[i], &row);
    bind_text(q, EXTRA_PARAMETER, m->extra);
}

/* ---- statements ---- */

static int parameter_of(store_kind kind)
{
    for (int i = 0; i < STORE_COLUMNS; i++)
        if (store_columns[i].kind == kind)
            return i + 1;
    return 0;
}

/* Is it the same row? Samples may have been left out of a file, and the verified level may have been raised since. */
static void add_same_row(strb *sql)
{
    const char *separator = "";
    for (int i = 0; i < STORE_COLUMNS; i++) {
        const store_column *c = &store_columns[i];
        if (c->kind == STORE_SAMPLES || c->kind == STORE_VERIFIED)
            continue;
        strb_printf(sql, "%s%s%s?%d", separator, c->name, c->required ? "=" : " IS ", i + 1);
        separator = " AND ";
    }
    strb_printf(sql, " AND extra IS ?%d", EXTRA_PARAMETER);
}

static kw_code prepare(store *s, strb *sql, sqlite3_stmt **out, kw_error *err)
{
    bool ok = sqlite3_prepare_v3(s->db, strb_text(sql), -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK;
    strb_clear(sql);
    return ok ? KW_OK : store_error(s, "adding a measurement", err);
}

static kw_code prepare_insert(store *s, bool once, sqlite3_stmt **out, kw_error *err)
{
    strb sql = STRB_INIT;
    strb_add(&sql, "INSERT INTO measurement (");
    for (int i = 0; i < STORE_COLUMNS; i++)
        strb_printf(&sql, "%s, ", store_columns[i].name);
    strb_add(&sql, "extra) SELECT ");
    for (int i = 0; i < STORE_COLUMNS; i++)
        strb_printf(&sql, "?%d, ", i + 1);
    strb_printf(&sql, "?%d", EXTRA_PARAMETER);
    if (once) {
        strb_add(&sql, " WHERE NOT EXISTS (SELECT 1 FROM measurement WHERE ");
        add_same_row(&sql);
        strb_add(&sql, ")");
    }
    return prepare(s, &sql, out, err);
}

static kw_code prepare_complete(store *s, sqlite3_stmt **out, kw_error *err)
{
    int level = parameter_of(STORE_VERIFIED), samples = parameter_of(STORE_SAMPLES);
    strb sql = STRB_INIT;
    strb_printf(&sql, "UPDATE measurement SET verified=max(verified, ?%d), samples_ns=coalesce(samples_ns, ?%d) WHERE ",
                level, samples);
    add_same_row(&sql);
    strb_printf(&sql, " AND (verified<?%d OR (samples_ns IS NULL AND ?%d IS NOT NULL))", level, samples);
    return prepare(s, &sql, out, err);
}

static kw_code step(store *s, sqlite3_stmt *q, const measurement *m, kw_error *err)
{
    bind_row(q, m);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "adding a measurement", err);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return code;
}

kw_code store_insert(store *s, const measurement *m, bool once, bool *added, kw_error *err)
{
    sqlite3_stmt **insert = once ? &s->insert_once : &s->insert;
    kw_code code = KW_OK;
    if (!*insert)
        code = prepare_insert(s, once, insert, err);
    if (code == KW_OK && once && !s->complete)
        code = prepare_complete(s, &s->complete, err);
    if (code == KW_OK)
        code = step(s, *insert, m, err);
    bool made = code == KW_OK && sqlite3_changes(s->db) > 0;
    if (added)
        *added = made;
    return code == KW_OK && once && !made ? step(s, s->complete, m, err) : code;
}

kw_code store_add(store *s, const measurement *m, kw_error *err)
{
    return store_insert(s, m, false, NULL, err);
}

kw_code store_set_verified(store *s, const char *task_hash, const char *device_key, const char *source_hash, verified v,
                           kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db,
                           "UPDATE measurement SET verified=?4 WHERE task_hash=?1 AND device_key=?2 AND source_hash=?3"
                           " AND outcome='ok' AND verified<?4",
                           -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "raising a verified level", err);
    bind_text(q, 1, task_hash);
    bind_text(q, 2, device_key);
    bind_text(q, 3, source_hash);
    sqlite3_bind_int(q, 4, (int)v);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "raising a verified level", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_forget(store *s, outcome o, const char *device_key, const char *driver, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "DELETE FROM measurement WHERE outcome=?1 AND device_key=?2 AND driver=?3", -1, &q,
                           NULL) != SQLITE_OK)
        return store_error(s, "removing measurements", err);
    bind_text(q, 1, outcome_name(o));
    bind_text(q, 2, device_key);
    bind_text(q, 3, driver);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "removing measurements", err);
    sqlite3_finalize(q);
    return code;
}

/* ---- variants ---- */

static const char insert_variant[] =
    "INSERT OR IGNORE INTO variant (task, task_hash, source_hash, language, fallback, json)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
static const char replace_variant[] =
    "INSERT INTO variant (task, task_hash, source_hash, language, fallback, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    " ON CONFLICT (task_hash, source_hash) DO UPDATE SET fallback=excluded.fallback, json=excluded.json"
    " WHERE json<>excluded.json";

static kw_code run_for_variant(store *s, sqlite3_stmt **prepared, const char *sql, const store_variant_row *v,
                               bool *added, kw_error *err)
{
    if (!*prepared && sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, prepared, NULL) != SQLITE_OK)
        return store_error(s, "adding a variant", err);
    sqlite3_stmt *q = *prepared;
    bind_text(q, 1, v->task);
    bind_text(q, 2, v->task_hash);
    bind_text(q, 3, v->source_hash);
    bind_text(q, 4, v->language);
    sqlite3_bind_int(q, 5, v->is_fallback);
    bind_text(q, 6, v->json_text);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "adding a variant", err);
    if (added)
        *added = code == KW_OK && sqlite3_changes(s->db) > 0;
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return code;
}

kw_code store_insert_variant(store *s, const store_variant_row *v, bool *added, kw_error *err)
{
    return run_for_variant(s, &s->insert_variant, insert_variant, v, added, err);
}

kw_code store_add_variant(store *s, const variant *v, kw_error *err)
{
    json *j = variant_to_json(v);
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    store_variant_row row = {.task = v->task->name,
                             .task_hash = v->task->hash,
                             .source_hash = v->hash,
                             .language = language_name(v->lang),
                             .is_fallback = v->is_fallback,
                             .json_text = strb_text(&text)};
    kw_code code = run_for_variant(s, &s->replace_variant, replace_variant, &row, NULL, err);
    strb_clear(&text);
    return code;
}
