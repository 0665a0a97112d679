/* Reading rows and facts. */
#include "tuner/store_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static char *column_copy(sqlite3_stmt *q, int i)
{
    const char *text = (const char *)sqlite3_column_text(q, i);
    return text ? mem_strdup(text) : NULL;
}

static void read_samples(measurement *m, const char *text)
{
    if (!text)
        return;
    json *array = json_parse(text, strlen(text), "samples", 1, 1, NULL);
    size_t n = json_count(array);
    m->samples_ns = n ? mem_alloc(n * sizeof *m->samples_ns) : NULL;
    for (size_t i = 0; i < n; i++)
        m->samples_ns[i] = json_number(json_at(array, i));
    m->n_samples = n;
    json_free(array);
}

static const char select_columns[] =
    "SELECT task, task_hash, types, shape, scalars, device_key, api, mode, source_hash, template, config, detail, method,"
    " device_name, driver, host, run, date, tool_version, extra, timing_version, outcome, stage, verified, samples, n,"
    " median, lo, hi, compile_ms, verify_ms, time_ms, registers, spill_bytes, local_bytes, worst_error FROM measurement"
    " WHERE (:task IS NULL OR task=:task) AND (:task_hash IS NULL OR task_hash=:task_hash)"
    " AND (:types IS NULL OR types=:types) AND (:shape IS NULL OR shape=:shape)"
    " AND (:scalars IS NULL OR scalars=:scalars) AND (:device_key IS NULL OR device_key=:device_key)"
    " AND (:api IS NULL OR api=:api) AND (:mode IS NULL OR mode=:mode) AND (:driver IS NULL OR driver=:driver)"
    " AND (:template IS NULL OR template=:template) AND (:source_hash IS NULL OR source_hash=:source_hash)"
    " AND (:timing_version=0 OR timing_version=:timing_version)"
    " AND (:only_ok=0 OR outcome='ok') AND (:only_failed=0 OR outcome<>'ok')"
    " ORDER BY task, types, scalars, device_key, api, mode, shape, source_hash, id";

static void read_row(sqlite3_stmt *q, measurement *m)
{
    memset(m, 0, sizeof *m);
    char **texts[] = {&m->task,        &m->task_hash, &m->types, &m->shape,         &m->scalars, &m->device_key, &m->api,
                      &m->mode,        &m->source_hash, &m->template_name, &m->config, &m->detail, &m->method,
                      &m->device_name, &m->driver,    &m->host,  &m->run,           &m->date,    &m->tool_version, &m->extra};
    int c = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = column_copy(q, c++);
    m->timing_version = sqlite3_column_int(q, c++);
    if (!outcome_from_name((const char *)sqlite3_column_text(q, c++), &m->outcome))
        m->outcome = OUTCOME_CRASH;
    if (!stage_from_name((const char *)sqlite3_column_text(q, c++), &m->stage))
        m->stage = STAGE_DONE;
    int level = sqlite3_column_int(q, c++);
    m->verified = level == VERIFIED_GENERAL ? VERIFIED_GENERAL : level == VERIFIED_EXACT ? VERIFIED_EXACT : VERIFIED_NOT;
    read_samples(m, (const char *)sqlite3_column_text(q, c++));
    int64_t n = sqlite3_column_int64(q, c);
    if (m->n_samples > 0)
        m->time = stats_of(m->samples_ns, m->n_samples);
    else if (n > 0)
        m->time = (stats_summary){.n = (size_t)n,
                                  .median = sqlite3_column_double(q, c + 1),
                                  .lo = sqlite3_column_double(q, c + 2),
                                  .hi = sqlite3_column_double(q, c + 3)};
    c += 4;
    m->compile_ms = sqlite3_column_double(q, c++);
    m->verify_ms = sqlite3_column_double(q, c++);
    m->time_ms = sqlite3_column_double(q, c++);
    m->registers = sqlite3_column_int64(q, c++);
    m->spill_bytes = sqlite3_column_int64(q, c++);
    m->local_bytes = sqlite3_column_int64(q, c++);
    m->worst_error = sqlite3_column_double(q, c++);
}

static void bind(sqlite3_stmt *s, const char *name, const char *text)
{
    if (text)
        sqlite3_bind_text(s, sqlite3_bind_parameter_index(s, name), text, -1, SQLITE_TRANSIENT);
}

kw_code store_each(store *s, const store_query *q, bool (*each)(const measurement *, void *), void *cookie, kw_error *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(s->db, select_columns, -1, &st, NULL) != SQLITE_OK)
        return store_error(s, "reading measurements", err);
    const struct {
        const char *name, *text;
    } texts[] = {{":task", q->task},     {":task_hash", q->task_hash},   {":types", q->types},
                 {":shape", q->shape},   {":scalars", q->scalars},       {":device_key", q->device_key},
                 {":api", q->api},       {":mode", q->mode},             {":driver", q->driver},
                 {":template", q->template_name}, {":source_hash", q->source_hash}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bind(st, texts[i].name, texts[i].text);
    sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":timing_version"), q->timing_version);
    sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":only_ok"), q->only_ok);
    sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":only_failed"), q->only_failed);
    int rc;
    bool more = true;
    while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        measurement m;
        read_row(st, &m);
        more = each(&m, cookie);
        measurement_clear(&m);
    }
    kw_code code = !more || rc == SQLITE_DONE ? KW_OK : store_error(s, "reading measurements", err);
    sqlite3_finalize(st);
    return code;
}

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
