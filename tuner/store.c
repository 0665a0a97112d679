/* Opening and closing the store. */
#include "tuner/results_trust.h"
#include "tuner/store_internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x4b57 /* "KW": tells our files from other SQLite files */
#define BUSY_MS 10000
#define QUICK_CHECK_BYTES (64 << 20)
#define TEMPORARY_KIB "262144" /* of a temporary store that stay in memory */

static const char create_tables[] =
    "CREATE TABLE IF NOT EXISTS measurement ("
    " id INTEGER PRIMARY KEY, task TEXT NOT NULL, task_hash TEXT NOT NULL, types TEXT NOT NULL, shape TEXT NOT NULL,"
    " scalars TEXT NOT NULL, device_key TEXT NOT NULL, api TEXT NOT NULL, mode TEXT NOT NULL,"
    " timing_version INTEGER NOT NULL, source_hash TEXT NOT NULL, template TEXT, config TEXT, outcome TEXT NOT NULL,"
    " stage TEXT NOT NULL, detail TEXT, verified INTEGER NOT NULL, method TEXT, n INTEGER, median_ns REAL, lo_ns REAL,"
    " hi_ns REAL, samples_ns TEXT, compile_ms REAL, verify_ms REAL, time_ms REAL, registers INTEGER, spill_bytes "
    "INTEGER,"
    " local_bytes INTEGER, worst_error REAL, device_name TEXT, driver TEXT, host TEXT, run TEXT, date TEXT,"
    " tool_version TEXT, extra TEXT, limit_ns REAL, limited_by TEXT, noise REAL, contributor TEXT);"
    "CREATE INDEX IF NOT EXISTS measurement_identity ON measurement (task_hash, device_key, shape, source_hash);"
    "CREATE TABLE IF NOT EXISTS variant (task TEXT NOT NULL, task_hash TEXT NOT NULL, source_hash TEXT NOT NULL,"
    " language TEXT NOT NULL, fallback INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (task_hash, source_hash));"
    "CREATE TABLE IF NOT EXISTS fact (key TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;";

/* What stores of older schemas lack: those of schema 1 all of it. */
static const char *const added_columns[STORE_SCHEMA + 1] = {
    [2] = "ALTER TABLE measurement ADD COLUMN limit_ns REAL;"
          "ALTER TABLE measurement ADD COLUMN limited_by TEXT;"
          "ALTER TABLE measurement ADD COLUMN noise REAL;",
    [3] = "ALTER TABLE measurement ADD COLUMN contributor TEXT;",
};

static const char damaged[] =
    "store %s is damaged or cut off (%s); it was left as it is: restore a copy, or save what is "
    "readable with `sqlite3 %s .recover`";

kw_code store_error(store *s, const char *doing, kw_error *err)
{
    int rc = sqlite3_errcode(s->db) & 0xff;
    const char *text = sqlite3_errmsg(s->db);
    switch (rc) {
    case SQLITE_NOTADB:
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s is not a kernwright store (not a database); it was left as it is: "
                            "name another file with --store",
                            s->path);
    case SQLITE_CORRUPT:
        return kw_error_set(err, KW_BAD_INPUT, damaged, s->path, text, s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s is locked by another program: try again when it is done",
                            s->path);
    case SQLITE_FULL:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s: the disk is full while %s", s->path, doing);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return kw_error_set(err, KW_ENVIRONMENT,
                            "store %s cannot be written while %s (%s): choose another place with --store", s->path,
                            doing, text);
    case SQLITE_IOERR: {
        struct rlimit size;
        if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
            return kw_error_set(
                err, KW_ENVIRONMENT,
                "store %s: %s while %s; files may have %llu KiB here, which can be raised by `ulimit -f`", s->path,
                text, doing, (unsigned long long)size.rlim_cur / 1024);
        return kw_error_set(err, KW_ENVIRONMENT, "store %s: %s while %s", s->path, text, doing);
    }
    default:
        return kw_error_set(err, KW_ENVIRONMENT, "store %s: %s while %s", s->path, text, doing);
    }
}

kw_code store_run(store *s, const char *sql, const char *doing, kw_error *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? KW_OK : store_error(s, doing, err);
}

static bool runs(store *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- what kind of file it is ---- */

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

/* SQLite reads what a file lacks of its last page as zeros. (While a log is there the last page may be in it.) */
static bool lacks_bytes(store *s, int64_t page_bytes)
{
    struct stat file, log;
    const char *name = sqlite3_db_filename(s->db, "main");
    if (!name || !*name || page_bytes <= 0 || stat(name, &file) != 0 || file.st_size % page_bytes == 0)
        return false;
    return stat(sqlite3_filename_wal(name), &log) != 0 || log.st_size == 0;
}

static kw_code check_pages(store *s, kw_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    kw_code code = KW_OK;
    if (rc != SQLITE_ROW)
        code = store_error(s, "checking it", err);
    else if (sqlite3_column_bytes(q, 0) != 2 || memcmp(sqlite3_column_text(q, 0), "ok", 2) != 0)
        code = kw_error_set(err, KW_BAD_INPUT, damaged, s->path, (const char *)sqlite3_column_text(q, 0), s->path);
    sqlite3_finalize(q);
    return code;
}

static kw_code check_content(store *s, int64_t *version, kw_error *err)
{
    int64_t application, tables, pages, page_bytes;
    kw_code code = read_int(s, "PRAGMA user_version", version, err);
    if (code == KW_OK)
        code = read_int(s, "PRAGMA application_id", &application, err);
    if (code == KW_OK)
        code = read_int(s, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (code == KW_OK)
        code = read_int(s, "PRAGMA page_count", &pages, err);
    if (code == KW_OK)
        code = read_int(s, "PRAGMA page_size", &page_bytes, err);
    if (code != KW_OK)
        return code;
    if ((tables > 0 || *version != 0) && application != APPLICATION_ID)
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s is a database of another program, not a kernwright store: name another file "
                            "with --store",
                            s->path);
    if (*version > STORE_SCHEMA)
        return kw_error_set(err, KW_BAD_INPUT,
                            "store %s has schema %lld, this program knows up to %d: use a newer kernwright, "
                            "or another --store",
                            s->path, (long long)*version, STORE_SCHEMA);
    if (lacks_bytes(s, page_bytes))
        return kw_error_set(err, KW_BAD_INPUT, damaged, s->path, "the last page is not whole", s->path);
    return tables == 0 || pages > QUICK_CHECK_BYTES / page_bytes ? KW_OK : check_pages(s, err);
}

/* ---- the journal ----
 * WAL lets a reader look on while a tuner writes, but needs memory that is shared through a file; some file systems
 * have none. */

/* Runs a PRAGMA journal_mode and copies the mode it answers. */
static int journal_mode(store *s, const char *sql, char mode[16])
{
    sqlite3_stmt *q = NULL;
    mode[0] = '\0';
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        snprintf(mode, 16, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return rc & 0xff;
}

/* A store in WAL mode that lies where WAL cannot work (it was copied there): with the file to itself SQLite keeps the
 * index of the log in its own memory, long enough to leave WAL mode. */
static bool leave_wal(store *s)
{
    char mode[16];
    return runs(s, "PRAGMA locking_mode=EXCLUSIVE") &&
           journal_mode(s, "PRAGMA journal_mode=DELETE", mode) == SQLITE_ROW && strcmp(mode, "delete") == 0 &&
           runs(s, "PRAGMA locking_mode=NORMAL; SELECT count(*) FROM sqlite_master");
}

static kw_code choose_journal(store *s, kw_error *err)
{
    char mode[16];
    int rc;
    /* While another process opens the same new store, the switch is refused without the usual waiting. */
    int64_t deadline = clock_now_ns() + (int64_t)BUSY_MS * 1000000;
    while ((rc = journal_mode(s, "PRAGMA journal_mode=WAL", mode)) == SQLITE_BUSY && clock_now_ns() < deadline)
        usleep(5000);
    if (rc == SQLITE_ROW && strcmp(mode, "wal") == 0) {
        if (runs(s, "BEGIN IMMEDIATE; COMMIT"))
            return store_run(s, "PRAGMA synchronous=NORMAL", "opening it", err);
        if ((sqlite3_errcode(s->db) & 0xff) == SQLITE_BUSY)
            return store_error(s, "opening it", err);
        leave_wal(s);
    } else if (rc != SQLITE_ROW) {
        return store_error(s, "opening it", err);
    }
    log_debug("store %s: no WAL here, a rollback journal is used", s->path);
    return store_run(s, "PRAGMA synchronous=FULL", "opening it", err);
}

/* ---- opening ---- */

/* Makes the tables, or those of an older schema complete. Another process may have been quicker: the version is read
 * again inside of the transaction. */
static kw_code create_content(store *s, kw_error *err)
{
    char sql[128];
    int64_t version = 0;
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", APPLICATION_ID, STORE_SCHEMA);
    kw_code code = store_run(s, "BEGIN IMMEDIATE", "creating it", err);
    if (code == KW_OK)
        code = read_int(s, "PRAGMA user_version", &version, err);
    if (code == KW_OK && version == 0)
        code = store_run(s, create_tables, "creating it", err);
    for (int64_t v = version + 1; code == KW_OK && version > 0 && v <= STORE_SCHEMA; v++)
        code = store_run(s, added_columns[v], "creating it", err);
    return code == KW_OK ? store_run(s, sql, "creating it", err) : code;
}

static kw_code prepare_content(store *s, bool read_only, kw_error *err)
{
    int64_t version;
    kw_code code = check_content(s, &version, err);
    if (code != KW_OK)
        return code;
    s->schema = read_only ? (int)version : STORE_SCHEMA;
    if (read_only)
        return version > 0 ? KW_OK
                           : kw_error_set(err, KW_BAD_INPUT,
                                          "store %s is empty: run `kernwright tune` first, or name another "
                                          "one with --store",
                                          s->path);
    code = choose_journal(s, err);
    return code == KW_OK && version < STORE_SCHEMA ? create_content(s, err) : code;
}

static kw_code open_failed(store *s, kw_error *err)
{
    bool is_uri = strncmp(s->path, "file:", 5) == 0;
    char *folder = fs_folder_of(s->path);
    kw_code code;
    if (!is_uri && !fs_is_folder(folder))
        code = kw_error_set(err, KW_ENVIRONMENT, "store %s: the folder %s does not exist", s->path, folder);
    else
        code = kw_error_set(err, KW_ENVIRONMENT, "store %s cannot be opened (%s): choose another place with --store",
                            s->path, sqlite3_errmsg(s->db));
    free(folder);
    return code;
}

static kw_code open_file(store *s, const char *name, bool read_only, kw_error *err)
{
    int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_URI;
    if (sqlite3_open_v2(name, &s->db, flags, NULL) != SQLITE_OK)
        return open_failed(s, err);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    return KW_OK;
}

/* "file:PATH?immutable=1": no lock, no log, nothing written beside it. */
static char *immutable_name(const char *path)
{
    strb name = STRB_INIT;
    strb_add(&name, "file:");
    for (const char *p = path; *p; p++) {
        if (strchr("%?#", *p))
            strb_printf(&name, "%%%02X", (unsigned)*p);
        else
            strb_add_char(&name, *p);
    }
    strb_add(&name, "?immutable=1");
    return strb_take(&name);
}

/* Some WAL stores cannot be read in the usual way: for writing they are brought back to a rollback journal; for
 * reading, from a medium that cannot be written, the file is taken as it stands. */
static kw_code make_readable(store *s, bool read_only, kw_error *err)
{
    if (runs(s, "SELECT count(*) FROM sqlite_master"))
        return KW_OK;
    int rc = sqlite3_errcode(s->db) & 0xff;
    if (rc != SQLITE_CANTOPEN && rc != SQLITE_IOERR && rc != SQLITE_READONLY)
        return KW_OK; /* the checks that follow say it better */
    if (!read_only) {
        if (!sqlite3_db_readonly(s->db, "main") && leave_wal(s))
            log_debug("store %s: WAL does not work here, it was turned off", s->path);
        return KW_OK;
    }
    if (strncmp(s->path, "file:", 5) == 0)
        return KW_OK;
    struct stat log;
    char *log_name = mem_alloc(strlen(s->path) + 5), *name = immutable_name(s->path);
    sprintf(log_name, "%s-wal", s->path);
    if (stat(log_name, &log) == 0 && log.st_size > 0)
        log_warn("store %s cannot be written here: the latest changes, in %s, are not read", s->path, log_name);
    sqlite3_close_v2(s->db);
    s->db = NULL;
    kw_code code = open_file(s, name, true, err);
    free(log_name);
    free(name);
    return code;
}

const char *store_name(const char *path)
{
    if (!path)
        path = getenv("KERNWRIGHT_STORE");
    return path && *path ? path : "kernwright.db";
}

bool store_is_there(const char *path)
{
    path = store_name(path);
    return strncmp(path, "file:", 5) == 0 || access(path, F_OK) == 0;
}

kw_code store_open(const char *path, bool read_only, store **out, kw_error *err)
{
    *out = NULL;
    path = store_name(path);
    if (fs_is_folder(path))
        return kw_error_set(err, KW_BAD_INPUT, "store %s is a folder: name a file", path);
    if (read_only && !store_is_there(path))
        return kw_error_set(err, KW_BAD_INPUT, "no store at %s: run `kernwright tune` first, or name one with --store",
                            path);
    store *s = mem_calloc(1, sizeof *s);
    s->path = mem_strdup(path);
    kw_code code = open_file(s, path, read_only, err);
    if (code == KW_OK)
        code = make_readable(s, read_only, err);
    if (code == KW_OK)
        code = prepare_content(s, read_only, err);
    if (code != KW_OK) {
        store_close(s);
        return code;
    }
    *out = s;
    return KW_OK;
}

kw_code store_open_temporary(store **out, kw_error *err)
{
    *out = NULL;
    store *s = mem_calloc(1, sizeof *s);
    s->path = mem_strdup("a temporary store");
    s->schema = STORE_SCHEMA;
    kw_code code = open_file(s, "", false, err);
    if (code == KW_OK)
        code = store_run(s, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-" TEMPORARY_KIB,
                         "opening it", err);
    if (code == KW_OK)
        code = create_content(s, err);
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
    sqlite3_finalize(s->insert);
    sqlite3_finalize(s->insert_once);
    sqlite3_finalize(s->complete);
    sqlite3_finalize(s->insert_variant);
    sqlite3_finalize(s->replace_variant);
    sqlite3_close_v2(s->db);
    trust_free(s->trust);
    free(s->path);
    free(s);
}

kw_code store_use_trust(store *s, const char *path, kw_error *err)
{
    trust *t;
    kw_code code = trust_load(path, &t, err);
    if (code != KW_OK)
        return code;
    trust_free(s->trust);
    s->trust = t;
    return KW_OK;
}

const char *store_path(const store *s)
{
    return s->path;
}
