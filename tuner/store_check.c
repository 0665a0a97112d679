/* What another program may have written into a store: told apart before anything is read from it. */
#include "tuner/store_internal.h"

#include "base/utf8.h"

#include <string.h>

#define MOST_SAMPLES 1000000000

static bool is_utf8(const char *text, size_t length)
{
    for (size_t n; length > 0; text += n, length -= n) {
        n = utf8_length(text, length);
        if (n == 0)
            return false;
    }
    return true;
}

/* NULL if the text is one: no blob, no NUL within, UTF-8. */
static const char *fault_of_text(sqlite3_stmt *q, int i)
{
    if (sqlite3_column_type(q, i) == SQLITE_BLOB)
        return "is no text";
    const char *text = (const char *)sqlite3_column_text(q, i);
    size_t length = (size_t)sqlite3_column_bytes(q, i);
    if (!text || strlen(text) != length)
        return "holds a NUL byte";
    return is_utf8(text, length) ? NULL : "is no UTF-8";
}

static const char *fault_of_column(sqlite3_stmt *q, int i, store_kind kind, bool required)
{
    int type = sqlite3_column_type(q, i);
    if (type == SQLITE_NULL)
        return required ? "is missing" : NULL;
    switch (kind) {
    case STORE_TEXT:
    case STORE_JSON:
    case STORE_SAMPLES:
    case STORE_OUTCOME:
    case STORE_STAGE:
        return fault_of_text(q, i);
    case STORE_COUNT:
        if (type != SQLITE_INTEGER || sqlite3_column_int64(q, i) < 0 || sqlite3_column_int64(q, i) > MOST_SAMPLES)
            return "is no count";
        return NULL;
    case STORE_VERSION:
    case STORE_INT:
    case STORE_VERIFIED:
        return type == SQLITE_INTEGER ? NULL : "is no integer";
    case STORE_REAL:
    case STORE_POSITIVE:
    case STORE_TIME:
        return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? NULL : "is no number";
    }
    return NULL;
}

static kw_code changed_by_others(const store *s, const char *table, sqlite3_int64 row, const char *column,
                                 const char *fault, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT,
                        "store %s: %s of row %lld of the table %s %s: another program changed it; delete that row, or "
                        "restore a copy",
                        s->path, column, (long long)row, table, fault);
}

/* Only SQLite's own checks stand between a file and what is read from it, and they can be turned off. */
kw_code store_check_row(const store *s, sqlite3_stmt *q, kw_error *err)
{
    sqlite3_int64 row = sqlite3_column_int64(q, STORE_COLUMNS + 1);
    for (int i = 0; i < STORE_COLUMNS; i++) {
        const char *fault = fault_of_column(q, i, store_columns[i].kind, store_columns[i].required);
        if (fault)
            return changed_by_others(s, "measurement", row, store_columns[i].name, fault, err);
    }
    const char *fault = fault_of_column(q, STORE_COLUMNS, STORE_JSON, false);
    return fault ? changed_by_others(s, "measurement", row, "extra", fault, err) : KW_OK;
}

kw_code store_check_variant(const store *s, sqlite3_stmt *q, bool with_text, kw_error *err)
{
    static const char *const names[] = {"task", "task_hash", "source_hash", "language", "fallback", "json"};
    for (int i = 0; i < 6; i++) {
        const char *fault = fault_of_column(q, i, i == 4 ? STORE_INT : STORE_TEXT, i < 5 || with_text);
        if (fault)
            return changed_by_others(s, "variant", sqlite3_column_int64(q, 6), names[i], fault, err);
    }
    return KW_OK;
}
