/* Lines of results text, read. */
#include "tuner/results_text.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- measurements ---- */

static kw_code refuse(const char *where, const char *name, const char *wanted, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" must be %s", where, name, wanted);
}

static kw_code read_text(const json *v, const char *where, const char *name, char **out, kw_error *err)
{
    const char *text = json_text(v);
    if (!text)
        return refuse(where, name, "a string", err);
    *out = mem_strdup(text);
    return KW_OK;
}

static kw_code read_object(const json *v, const char *where, const char *name, char **out, kw_error *err)
{
    if (json_kind_of(v) != JSON_OBJECT)
        return refuse(where, name, "an object", err);
    strb text = STRB_INIT;
    json_print(v, &text);
    *out = strb_take(&text);
    return KW_OK;
}

static bool is_time(const json *v)
{
    double x = json_number(v);
    return json_kind_of(v) == JSON_NUMBER && x > 0 && isfinite(x);
}

static kw_code read_samples(const json *v, const char *where, const char *name, measurement *m, kw_error *err)
{
    size_t n = json_count(v), i = 0;
    if (json_kind_of(v) != JSON_ARRAY || n == 0)
        return refuse(where, name, "an array of times, not empty", err);
    m->samples_ns = mem_alloc(n * sizeof *m->samples_ns);
    for (const json *item = json_first(v); item; item = json_next(item)) {
        if (!is_time(item))
            return refuse(where, name, "an array of numbers greater than 0", err);
        m->samples_ns[i++] = json_number(item);
    }
    m->n_samples = n;
    return KW_OK;
}

static kw_code read_member(const store_column *c, const json *v, const char *where, measurement *m, kw_error *err)
{
    void *field = (char *)m + c->offset;
    int64_t number = 0;
    switch (c->kind) {
    case STORE_TEXT:
        return read_text(v, where, c->name, field, err);
    case STORE_JSON:
        return read_object(v, where, c->name, field, err);
    case STORE_VERSION:
        if (!json_int(v, &number) || number < 1 || number > INT32_MAX)
            return refuse(where, c->name, "an integer, 1 or more", err);
        *(int *)field = (int)number;
        return KW_OK;
    case STORE_INT:
        return json_int(v, field) ? KW_OK : refuse(where, c->name, "an integer", err);
    case STORE_REAL:
        if (json_kind_of(v) != JSON_NUMBER && json_kind_of(v) != JSON_NULL)
            return refuse(where, c->name, "a number or null", err);
        *(double *)field = json_kind_of(v) == JSON_NULL ? INFINITY : json_number(v);
        return KW_OK;
    case STORE_COUNT:
        if (!json_int(v, &number) || number < 1)
            return refuse(where, c->name, "an integer, 1 or more", err);
        *(size_t *)field = (size_t)number;
        return KW_OK;
    case STORE_POSITIVE:
    case STORE_TIME:
        *(double *)field = json_number(v);
        return is_time(v) ? KW_OK : refuse(where, c->name, "a number greater than 0", err);
    case STORE_SAMPLES:
        return read_samples(v, where, c->name, m, err);
    case STORE_OUTCOME:
        return outcome_from_name(json_text(v), &m->outcome)
                   ? KW_OK
                   : refuse(where, c->name, "\"ok\", \"wrong\", ... (docs/results.md)", err);
    case STORE_STAGE:
        return stage_from_name(json_text(v), &m->stage)
                   ? KW_OK
                   : refuse(where, c->name, "\"done\", \"time\", ... (docs/results.md)", err);
    case STORE_VERIFIED:
        return verified_from_name(json_text(v), &m->verified)
                   ? KW_OK
                   : refuse(where, c->name, "\"no\", \"exact\" or \"general\"", err);
    }
    return KW_OK;
}

static bool is_hash(const char *text)
{
    return text && strlen(text) == HASH_HEX_SIZE - 1 && strspn(text, "0123456789abcdef") == HASH_HEX_SIZE - 1;
}

/* {"M":64,...}: whole numbers, none negative; what range a dim has is the task's affair. The text is compact. */
static bool is_shape(const char *text)
{
    for (const char *p = text + 1; *p && *p != '}';) {
        p = strchr(p, ':'); /* no dim has a colon in its name */
        size_t digits = p ? strspn(p + 1, "0123456789") : 0;
        if (digits == 0 || digits > 16 || (p[1 + digits] != ',' && p[1 + digits] != '}'))
            return false;
        p += 1 + digits;
    }
    return true;
}

kw_code results_row_check(const measurement *m, const bool *seen, const char *where, kw_error *err)
{
    for (int i = 0; i < STORE_COLUMNS; i++)
        if (store_columns[i].required && !seen[i])
            return kw_error_set(err, KW_BAD_INPUT, "%s: the measurement lacks \"%s\"", where, store_columns[i].name);
    if (!is_hash(m->task_hash) || !is_hash(m->source_hash))
        return refuse(where, is_hash(m->task_hash) ? "source_hash" : "task_hash", "32 digits 0-9, a-f", err);
    if (!is_shape(m->shape))
        return refuse(where, "shape", "an object of whole numbers, 0 or more", err);
    bool has_times = m->time.n > 0 && m->time.median > 0 && m->time.lo > 0 && m->time.hi > 0;
    bool has_none = m->time.n == 0 && !(m->time.median > 0) && !(m->time.lo > 0) && !(m->time.hi > 0);
    if (!has_times && !has_none)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"n\", \"median_ns\", \"lo_ns\" and \"hi_ns\" go together", where);
    if (has_times && (m->time.lo > m->time.median || m->time.median > m->time.hi))
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"median_ns\" must lie between \"lo_ns\" and \"hi_ns\"", where);
    if (has_times && m->n_samples > 0 && m->n_samples != m->time.n)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"n\" is %zu, but there are %zu samples", where, m->time.n,
                            m->n_samples);
    return KW_OK;
}

static void add_extra(json **extra, const json *member)
{
    if (!*extra)
        *extra = json_new_object();
    json_add(*extra, json_key(member), json_clone(member));
}

static int column_of(const char *name, int guess)
{
    /* Members mostly stand in the order of the table. */
    for (int i = 0; i < STORE_COLUMNS; i++) {
        int at = (guess + i) % STORE_COLUMNS;
        if (strcmp(store_columns[at].name, name) == 0)
            return at;
    }
    return -1;
}

kw_code results_row_read(const json *j, const char *where, measurement *m, kw_error *err)
{
    bool seen[STORE_COLUMNS] = {false};
    json *extra = NULL;
    kw_code code = KW_OK;
    int column = -1;
    memset(m, 0, sizeof *m);
    m->registers = m->spill_bytes = m->local_bytes = -1;
    for (const json *member = json_first(j); member && code == KW_OK; member = json_next(member)) {
        int found = column_of(json_key(member), column + 1);
        if (found < 0) {
            add_extra(&extra, member);
            continue;
        }
        column = found;
        seen[column] = true;
        code = read_member(&store_columns[column], member, where, m, err);
    }
    if (code == KW_OK)
        code = results_row_check(m, seen, where, err);
    if (code == KW_OK && extra) {
        strb text = STRB_INIT;
        json_print(extra, &text);
        m->extra = strb_take(&text);
    }
    json_free(extra);
    return code;
}

/* ---- variants ---- */

kw_code results_variant_read(const json *j, const char *where, strb *text, store_variant_row *row, kw_error *err)
{
    static const char *const apart[] = {"task", "task_hash", "source_hash"};
    const char *values[3];
    for (size_t i = 0; i < 3; i++) {
        kw_code code = json_get_string(j, apart[i], where, &values[i], err);
        if (code != KW_OK)
            return code;
        if (i > 0 && !is_hash(values[i]))
            return refuse(where, apart[i], "32 digits 0-9, a-f", err);
    }
    *row = (store_variant_row){.task = values[0], .task_hash = values[1], .source_hash = values[2]};
    kw_code code = json_get_string(j, "language", where, &row->language, err);
    if (code == KW_OK)
        code = json_opt_bool(j, "fallback", where, false, &row->is_fallback, err);
    if (code != KW_OK)
        return code;
    json *body = json_new_object();
    for (const json *member = json_first(j); member; member = json_next(member)) {
        const char *key = json_key(member);
        if (strcmp(key, apart[0]) != 0 && strcmp(key, apart[1]) != 0 && strcmp(key, apart[2]) != 0)
            json_add(body, key, json_clone(member));
    }
    strb_reset(text);
    json_print(body, text);
    json_free(body);
    row->json_text = strb_text(text);
    return KW_OK;
}
