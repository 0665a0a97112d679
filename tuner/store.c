#include "tuner/store_internal.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 0x4b57 /* "KW": tells our files from other SQLite files */
#define BUSY_MS 10000
#define QUICK_CHECK_BYTES (64 << 20)
#define DETAIL_MAX (64 << 10)

static const char create_tables[] =
    "CREATE TABLE IF NOT EXISTS measurement ("
    " id INTEGER PRIMARY KEY, task TEXT NOT NULL, task_hash TEXT NOT NULL, types TEXT NOT NULL, shape TEXT NOT NULL,"
    " scalars TEXT NOT NULL, device_key TEXT NOT NULL, api TEXT NOT NULL, mode TEXT NOT NULL,"
    " timing_version INTEGER NOT NULL, source_hash TEXT NOT NULL, template TEXT, config TEXT, outcome TEXT NOT NULL,"
    " stage TEXT NOT NULL, detail TEXT, verified INTEGER NOT NULL, method TEXT, samples TEXT, n INTEGER, median REAL,"
    " lo REAL, hi REAL, compile_ms REAL, verify_ms REAL, time_ms REAL, registers INTEGER, spill_bytes INTEGER,"
    " local_bytes INTEGER, worst_error REAL, device_name TEXT, driver TEXT, host TEXT, run TEXT, date TEXT,"
    " tool_version TEXT, extra TEXT);"
    "CREATE INDEX IF NOT EXISTS measurement_identity ON measurement (task_hash, device_key, shape, source_hash);"
    "CREATE TABLE IF NOT EXISTS variant (task_hash TEXT NOT NULL, source_hash TEXT NOT NULL, json TEXT NOT NULL,"
    " PRIMARY KEY (task_hash, source_hash)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS fact (key TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;";

kw_code store_error(store *s, const char *doing, kw_error *err)
{
    int rc = sqlite3_errcode(s->db) & 0xff;
    const char *text = sqlite3_errmsg(s->db);
    switch (rc) {
    case SQLITE_NOTADB:
        return kw_error_set(err, KW_BAD_INPUT, "%s is not a kernwright store (not a database); it was left as it is: "
                            "name another file with --store", s->path);
    case SQLITE_CORRUPT:
        return kw_error_set(err, KW_BAD_INPUT, "store %s is damaged (%s); it was left as it is: restore a copy, or save what "
                            "is readable with `sqlite3 %s .recover`", s->path, text, s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s is locked by another program: try again when it is done", s->path);
    case SQLITE_FULL:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s: the disk is full while %s", s->path, doing);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s cannot be written while %s (%s): choose another place with --store",
                            s->path, doing, text);
    default:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s: %s while %s", s->path, text, doing);
    }
}

kw_code store_run(store *s, const char *sql, const char *doing, kw_error *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? KW_OK : store_error(s, doing, err);
}

/* ---- opening ---- */

static kw_code read_int(store *s, const char *sql, int64_t *out, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    *out = 0;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    kw_code code = rc == SQLITE_ROW || rc == SQLITE_DONE ? KW_OK : store_error(s, "opening it", err);
    sqlite3_finalize(q);
    return code;
}

static kw_code check_content(store *s, int64_t *version, kw_error *err)
{
    int64_t application, tables, bytes;
    kw_code code = read_int(s, "PRAGMA user_version", version, err);
    if (code == KW_OK)
        code = read_int(s, "PRAGMA application_id", &application, err);
    if (code == KW_OK)
        code = read_int(s, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (code == KW_OK)
        code = read_int(s, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", &bytes, err);
    if (code != KW_OK)
        return code;
    if (tables > 0 && application != APPLICATION_ID)
        return kw_error_set(err, KW_BAD_INPUT, "%s is a database of another program, not a kernwright store: name another file "
                            "with --store", s->path);
    if (*version > STORE_SCHEMA)
        return kw_error_set(err, KW_BAD_INPUT, "store %s has schema %lld, this program knows up to %d: use a newer kernwright, "
                            "or another --store", s->path, (long long)*version, STORE_SCHEMA);
    if (bytes > QUICK_CHECK_BYTES || tables == 0)
        return KW_OK;
    sqlite3_stmt *q = NULL;
    bool sound = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &q, NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(q, 0), "ok") == 0;
    sqlite3_finalize(q);
    if (!sound)
        return kw_error_set(err, KW_BAD_INPUT, "store %s is damaged or cut off; it was left as it is: restore a copy, or save "
                            "what is readable with `sqlite3 %s .recover`", s->path, s->path);
    return KW_OK;
}

/* WAL lets a reader look on while a tuner writes; some file systems cannot share the memory it needs. */
static kw_code choose_journal(store *s, kw_error *err)
{
    char *mode = NULL;
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "PRAGMA journal_mode=WAL", -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        mode = mem_strdup((const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    bool wal = mode && strcmp(mode, "wal") == 0 &&
               sqlite3_exec(s->db, "BEGIN IMMEDIATE; COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    free(mode);
    if (wal)
        return store_run(s, "PRAGMA synchronous=NORMAL", "opening it", err);
    log_debug("store %s: no WAL here, a rollback journal is used", s->path);
    return store_run(s, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL", "opening it", err);
}

static kw_code prepare_content(store *s, bool read_only, kw_error *err)
{
    int64_t version;
    kw_code code = check_content(s, &version, err);
    if (code != KW_OK || read_only)
        return code;
    code = choose_journal(s, err);
    if (code == KW_OK && version < STORE_SCHEMA) {
        char sql[128];
        code = store_run(s, "BEGIN IMMEDIATE", "creating it", err);
        if (code == KW_OK)
            code = store_run(s, create_tables, "creating it", err);
        snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", APPLICATION_ID, STORE_SCHEMA);
        if (code == KW_OK)
            code = store_run(s, sql, "creating it", err);
    }
    return code;
}

kw_code store_open(const char *path, bool read_only, store **out, kw_error *err)
{
    *out = NULL;
    if (!path)
        path = getenv("KERNWRIGHT_STORE");
    if (!path || !*path)
        path = "kernwright.db";
    bool is_uri = strncmp(path, "file:", 5) == 0;
    if (fs_is_folder(path))
        return kw_error_set(err, KW_BAD_INPUT, "store %s is a folder: name a file", path);
    if (read_only && !is_uri && access(path, F_OK) != 0)
        return kw_error_set(err, KW_BAD_INPUT, "no store at %s: run `kernwright tune` first, or name one with --store", path);
    store *s = mem_calloc(1, sizeof *s);
    s->path = mem_strdup(path);
    int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_URI;
    kw_code code = KW_OK;
    if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK) {
        char *folder = fs_folder_of(path);
        if (!is_uri && !fs_is_folder(folder))
            code = kw_error_set(err, KW_ENVIRONMENT, "store %s: the folder %s does not exist", path, folder);
        else
            code = kw_error_set(err, KW_ENVIRONMENT, "store %s cannot be opened: %s", path, sqlite3_errmsg(s->db));
        free(folder);
    }
    if (code == KW_OK) {
        sqlite3_busy_timeout(s->db, BUSY_MS);
        code = prepare_content(s, read_only, err);
    }
    if (code != KW_OK) {
        store_close(s);
        return code;
    }
    *out = s;
    return KW_OK;
}

void store_close(store *s)
{
    if (!s)
        return;
    sqlite3_close_v2(s->db);
    free(s->path);
    free(s);
}

const char *store_path(const store *s)
{
    return s->path;
}

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

void measurement_clear(measurement *m)
{
    char **texts[] = {&m->task,          &m->task_hash, &m->types,  &m->shape,  &m->scalars, &m->device_key, &m->api,
                      &m->mode,          &m->source_hash, &m->template_name, &m->config, &m->detail, &m->method,
                      &m->device_name,   &m->driver,    &m->host,   &m->run,    &m->date,    &m->tool_version, &m->extra};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(*texts[i]);
    free(m->samples_ns);
    memset(m, 0, sizeof *m);
}

/* ---- adding ---- */

static char *samples_text(const measurement *m)
{
    if (m->n_samples == 0)
        return NULL;
    json *array = json_new_array();
    for (size_t i = 0; i < m->n_samples; i++)
        json_append(array, json_new_number(m->samples_ns[i]));
    strb text = STRB_INIT;
    json_print(array, &text);
    json_free(array);
    return strb_take(&text);
}

static void bind_text(sqlite3_stmt *q, const char *name, const char *text)
{
    int i = sqlite3_bind_parameter_index(q, name);
    if (i > 0 && text)
        sqlite3_bind_text(q, i, text, (int)strnlen(text, DETAIL_MAX), SQLITE_TRANSIENT);
}

static void bind_int(sqlite3_stmt *q, const char *name, int64_t x)
{
    sqlite3_bind_int64(q, sqlite3_bind_parameter_index(q, name), x);
}

static void bind_real(sqlite3_stmt *q, const char *name, double x)
{
    sqlite3_bind_double(q, sqlite3_bind_parameter_index(q, name), x);
}

static const char insert_columns[] =
    "INSERT INTO measurement (task, task_hash, types, shape, scalars, device_key, api, mode, timing_version, source_hash,"
    " template, config, outcome, stage, detail, verified, method, samples, n, median, lo, hi, compile_ms, verify_ms,"
    " time_ms, registers, spill_bytes, local_bytes, worst_error, device_name, driver, host, run, date, tool_version, extra)"
    " SELECT :task, :task_hash, :types, :shape, :scalars, :device_key, :api, :mode, :timing_version, :source_hash,"
    " :template, :config, :outcome, :stage, :detail, :verified, :method, :samples, :n, :median, :lo, :hi, :compile_ms,"
    " :verify_ms, :time_ms, :registers, :spill_bytes, :local_bytes, :worst_error, :device_name, :driver, :host, :run,"
    " :date, :tool_version, :extra";
static const char insert_once[] =
    " WHERE NOT EXISTS (SELECT 1 FROM measurement WHERE task_hash=:task_hash AND device_key=:device_key AND shape=:shape"
    " AND source_hash=:source_hash AND types=:types AND scalars=:scalars AND api=:api AND mode=:mode AND"
    " timing_version=:timing_version AND outcome=:outcome AND driver IS :driver AND host IS :host AND run IS :run AND"
    " date IS :date AND median IS :median AND n IS :n)";

kw_code store_insert(store *s, const measurement *m, bool once, bool *added, kw_error *err)
{
    char sql[sizeof insert_columns + sizeof insert_once];
    snprintf(sql, sizeof sql, "%s%s", insert_columns, once ? insert_once : "");
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "adding a measurement", err);
    char *samples = samples_text(m);
    const struct {
        const char *name, *text;
    } texts[] = {{":task", m->task},           {":task_hash", m->task_hash}, {":types", m->types},
                 {":shape", m->shape},         {":scalars", m->scalars},     {":device_key", m->device_key},
                 {":api", m->api},             {":mode", m->mode},           {":source_hash", m->source_hash},
                 {":template", m->template_name}, {":config", m->config},    {":outcome", outcome_name(m->outcome)},
                 {":stage", stage_name(m->stage)}, {":detail", m->detail},   {":method", m->method},
                 {":device_name", m->device_name}, {":driver", m->driver},   {":host", m->host},
                 {":run", m->run},             {":date", m->date},           {":tool_version", m->tool_version},
                 {":extra", m->extra},         {":samples", samples}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bind_text(q, texts[i].name, texts[i].text);
    bind_int(q, ":timing_version", m->timing_version);
    bind_int(q, ":verified", m->verified);
    if (m->time.n > 0) {
        bind_int(q, ":n", (int64_t)m->time.n);
        bind_real(q, ":median", m->time.median);
        bind_real(q, ":lo", m->time.lo);
        bind_real(q, ":hi", m->time.hi);
    }
    bind_real(q, ":compile_ms", m->compile_ms);
    bind_real(q, ":verify_ms", m->verify_ms);
    bind_real(q, ":time_ms", m->time_ms);
    bind_int(q, ":registers", m->registers);
    bind_int(q, ":spill_bytes", m->spill_bytes);
    bind_int(q, ":local_bytes", m->local_bytes);
    bind_real(q, ":worst_error", m->worst_error);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "adding a measurement", err);
    if (added)
        *added = code == KW_OK && sqlite3_changes(s->db) > 0;
    sqlite3_finalize(q);
    free(samples);
    return code;
}

kw_code store_add(store *s, const measurement *m, kw_error *err)
{
    return store_insert(s, m, false, NULL, err);
}

kw_code store_insert_variant(store *s, const char *task_hash, const char *source_hash, const char *json_text, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO variant (task_hash, source_hash, json) VALUES (?1, ?2, ?3)", -1, &q,
                           NULL) != SQLITE_OK)
        return store_error(s, "adding a variant", err);
    sqlite3_bind_text(q, 1, task_hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, source_hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, json_text, -1, SQLITE_STATIC);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "adding a variant", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_add_variant(store *s, const variant *v, kw_error *err)
{
    json *j = variant_to_json(v);
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    kw_code code = store_insert_variant(s, v->task->hash, v->hash, strb_text(&text), err);
    strb_clear(&text);
    return code;
}

kw_code store_variant(store *s, const task *t, const char *source_hash, variant **out, kw_error *err)
{
    *out = NULL;
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT json FROM variant WHERE task_hash=?1 AND source_hash=?2", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading a variant", err);
    sqlite3_bind_text(q, 1, t->hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, source_hash, -1, SQLITE_STATIC);
    kw_code code = KW_OK;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        json *j = json_parse(text, strlen(text), s->path, 1, 1, err);
        code = j ? variant_from_json(t, j, s->path, out, err) : KW_BAD_INPUT;
        json_free(j);
    } else if (rc != SQLITE_DONE) {
        code = store_error(s, "reading a variant", err);
    }
    sqlite3_finalize(q);
    return code;
}

kw_code store_each_variant(store *s, const char *task_hash,
                           bool (*each)(const char *, const char *, const char *, void *), void *cookie, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT task_hash, source_hash, json FROM variant WHERE ?1 IS NULL OR task_hash=?1"
                           " ORDER BY task_hash, source_hash", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "reading variants", err);
    if (task_hash)
        sqlite3_bind_text(q, 1, task_hash, -1, SQLITE_STATIC);
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        if (!each((const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1),
                  (const char *)sqlite3_column_text(q, 2), cookie))
            break;
    kw_code code = rc == SQLITE_ROW || rc == SQLITE_DONE ? KW_OK : store_error(s, "reading variants", err);
    sqlite3_finalize(q);
    return code;
}

kw_code store_set_verified(store *s, const char *task_hash, const char *device_key, const char *source_hash, verified v,
                           kw_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "UPDATE measurement SET verified=?4 WHERE task_hash=?1 AND device_key=?2 AND source_hash=?3"
                           " AND outcome='ok' AND verified<?4", -1, &q, NULL) != SQLITE_OK)
        return store_error(s, "raising a verified level", err);
    sqlite3_bind_text(q, 1, task_hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, device_key, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, source_hash, -1, SQLITE_STATIC);
    sqlite3_bind_int(q, 4, v);
    kw_code code = sqlite3_step(q) == SQLITE_DONE ? KW_OK : store_error(s, "raising a verified level", err);
    sqlite3_finalize(q);
    return code;
}
