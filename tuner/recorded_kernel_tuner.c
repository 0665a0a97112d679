/* Kernel Tuner's cache files. The tuner appends a line per configuration and closes the two outer braces at the end of
 * its run, so a file may end after any entry, with or without the comma. Read entry by entry for that reason. */
#include "tuner/recorded_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const recorded_source *s;
    size_t at, line_start;
    int line;
} cursor;

static void advance(cursor *c, size_t n)
{
    const char *text = c->s->text, *end = text + c->at + n;
    for (const char *from = text + c->at; (from = memchr(from, '\n', (size_t)(end - from))) != NULL; from++) {
        c->line++;
        c->line_start = (size_t)(from - text) + 1;
    }
    c->at += n;
}

/* The next character that is no white space, which is not passed; 0 at the end. */
static char peek(cursor *c)
{
    size_t n = 0;
    while (c->at + n < c->s->length && strchr(" \t\r\n", c->s->text[c->at + n]) && c->s->text[c->at + n])
        n++;
    advance(c, n);
    return c->at < c->s->length ? c->s->text[c->at] : '\0';
}

static kw_code fault(const cursor *c, const char *what, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "%s:%d:%zu: %s", c->s->file, c->line, c->at - c->line_start + 1, what);
}

static kw_code expect(cursor *c, char wanted, const char *what, kw_error *err)
{
    char found = peek(c);
    if (found != wanted)
        return fault(c, found ? what : "the file ends early: it was cut off", err);
    advance(c, 1);
    return KW_OK;
}

static json *parse_value(cursor *c, kw_error *err)
{
    size_t used;
    peek(c);
    json *j = json_parse_prefix(c->s->text + c->at, c->s->length - c->at, &used, c->s->file, c->line,
                                (int)(c->at - c->line_start + 1), err);
    if (j)
        advance(c, used);
    return j;
}

/* "name": with the name copied to *name, which the caller frees. */
static kw_code parse_name(cursor *c, char **name, kw_error *err)
{
    *name = NULL;
    if (peek(c) != '"')
        return fault(c, peek(c) ? "expected a name in quotes" : "the file ends early: it was cut off", err);
    json *j = parse_value(c, err);
    if (!j)
        return KW_BAD_INPUT;
    *name = mem_strdup(json_text(j));
    json_free(j);
    return expect(c, ':', "expected ':'", err);
}

/* ---- the header ---- */

static kw_code add_param(recorder *b, const json *header, const char *name, kw_error *err)
{
    const json *values = json_get(json_get(header, "tune_params"), name);
    if (json_kind_of(values) != JSON_ARRAY || json_count(values) == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"tune_params\" lists no values of '%s'", b->file, name);
    kw_code code = recorder_add_param(b, name, err);
    if (code != KW_OK)
        return code;
    for (const json *item = json_first(values); item; item = json_next(item)) {
        value v;
        if (!value_from_json(item, b->r->memory, &v))
            return kw_error_set(err, KW_BAD_INPUT, "%s: the values of '%s' must be numbers, text or true or false",
                                b->file, name);
        recorder_add_value(b, b->n_params - 1, v);
    }
    return KW_OK;
}

static kw_code take_header(recorder *b, const json *header, kw_error *err)
{
    const json *keys = json_get(header, "tune_params_keys");
    if (json_kind_of(keys) != JSON_ARRAY || json_count(keys) == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: a Kernel Tuner cache needs \"tune_params_keys\", a list of names",
                            b->file);
    for (const json *key = json_first(keys); key; key = json_next(key)) {
        if (!json_text(key))
            return kw_error_set(err, KW_BAD_INPUT, "%s: \"tune_params_keys\" must be a list of names", b->file);
        kw_code code = add_param(b, header, json_text(key), err);
        if (code != KW_OK)
            return code;
    }
    b->listed = true;
    const char *device = json_text(json_get(header, "device_name")),
               *kernel = json_text(json_get(header, "kernel_name"));
    b->r->device = arena_strdup(b->r->memory, device ? device : "");
    b->r->kernel = arena_strdup(b->r->memory, kernel ? kernel : "");
    return KW_OK;
}

/* ---- entries ---- */

typedef struct times_of {
    double unit_ns;
    const char *objective;
} times_of;

/* An error stands in "__error__", or in the place of the time or of the objective. */
static kw_code take_time(const json *entry, const times_of *t, const char *where, recorded_result *result,
                         double *time_ns, kw_error *err)
{
    const json *time = json_get(entry, "time"), *objective = json_get(entry, t->objective);
    const json *error = json_get(entry, "__error__");
    if (json_kind_of(error) == JSON_STRING)
        time = error;
    else if (json_kind_of(objective) == JSON_STRING)
        time = objective;
    if (!time)
        return kw_error_set(err, KW_BAD_INPUT, "%s: no \"time\"", where);
    *result = recorded_result_of(time, t->unit_ns, time_ns);
    return KW_OK;
}

static kw_code read_entry(recorder *b, const char *key, const json *entry, const times_of *t, int line, kw_error *err)
{
    char where[512];
    snprintf(where, sizeof where, "%s:%d: entry \"%.200s\"", b->file, line, key);
    if (json_kind_of(entry) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: must be an object", where);
    recorder_begin(b);
    for (size_t i = 0; i < b->n_params; i++) {
        const json *v = json_get(entry, b->params[i].name);
        kw_code code = v ? recorder_set(b, b->params[i].name, v, where, err) : KW_OK; /* recorder_end complains */
        if (code != KW_OK)
            return code;
    }
    recorded_result result = RESULT_FAILED;
    double time_ns = 0;
    kw_code code = take_time(entry, t, where, &result, &time_ns, err);
    return code == KW_OK ? recorder_end(b, result, time_ns, where, err) : code;
}

/* The object of all entries, from its brace on. *unfinished: the file ends after an entry. */
static kw_code read_entries(recorder *b, cursor *c, const times_of *t, bool *unfinished, kw_error *err)
{
    kw_code code = expect(c, '{', "\"cache\" must be an object", err);
    while (code == KW_OK) {
        char next = peek(c);
        *unfinished = next == '\0';
        if (next == '}')
            advance(c, 1);
        if (next == '\0' || next == '}')
            break;
        char *key;
        code = parse_name(c, &key, err);
        int line = c->line;
        json *entry = code == KW_OK ? parse_value(c, err) : NULL;
        if (code == KW_OK)
            code = entry ? read_entry(b, key, entry, t, line, err) : KW_BAD_INPUT;
        json_free(entry);
        free(key);
        if (code == KW_OK && peek(c) == ',')
            advance(c, 1);
        else if (code == KW_OK && peek(c) != '}' && peek(c) != '\0')
            code = fault(c, "expected ',' or '}' after an entry", err);
    }
    return code;
}

/* ---- the file ---- */

typedef struct layout {
    json *header; /* all members but "cache" */
    cursor cache; /* where its value begins */
    bool has_cache;
} layout;

/* Members of the outermost object. Where "cache" is the last it is not read here: it may have no end. */
static kw_code read_members(cursor *c, layout *l, kw_error *err)
{
    kw_code code = expect(c, '{', "expected an object", err);
    while (code == KW_OK && peek(c) != '}') {
        char *name;
        code = parse_name(c, &name, err);
        bool is_cache = code == KW_OK && strcmp(name, "cache") == 0;
        if (is_cache) {
            l->cache = *c;
            l->has_cache = true;
        }
        bool keys_known = json_get(l->header, "tune_params_keys") && json_get(l->header, "tune_params");
        if (is_cache && keys_known) {
            free(name);
            return KW_OK;
        }
        json *member = code == KW_OK ? parse_value(c, err) : NULL;
        if (code == KW_OK && !member)
            code = KW_BAD_INPUT;
        if (code == KW_OK && !is_cache && json_get(l->header, name))
            code = fault(c, "a member is there twice", err);
        if (code == KW_OK && !is_cache)
            json_add(l->header, name, member);
        else
            json_free(member);
        free(name);
        if (code == KW_OK && peek(c) != '}')
            code = expect(c, ',', "expected ',' or '}' after a member", err);
    }
    return code;
}

/* What follows the entries: further members, the closing brace, nothing else. */
static kw_code read_rest(cursor *c, bool *unfinished, kw_error *err)
{
    while (peek(c) == ',') {
        char *name;
        advance(c, 1);
        if (peek(c) == '\0')
            break;
        kw_code code = parse_name(c, &name, err);
        json *member = code == KW_OK ? parse_value(c, err) : NULL;
        free(name);
        json_free(member);
        if (code != KW_OK || !member)
            return KW_BAD_INPUT;
    }
    if (peek(c) == '\0') {
        *unfinished = true;
        return KW_OK;
    }
    kw_code code = expect(c, '}', "expected ',' or '}' after the entries", err);
    return code == KW_OK && peek(c) != '\0' ? fault(c, "nothing may follow the cache, but something does", err) : code;
}

static double unit_of(recorder *b, const json *header, const recorded_options *o)
{
    const char *text = json_text(json_get(header, "time_unit"));
    double stated = recorded_unit_of(text ? text : json_text(json_get(header, "timeunit")));
    if (o->unit_ns > 0)
        return o->unit_ns;
    if (stated > 0)
        return stated;
    recorder_note(b, "the unit of the times is not stated: taken as ms (--unit says otherwise)");
    return 1e6;
}

kw_code recorded_read_kernel_tuner(const recorded_source *s, recorded_list *list, kw_error *err)
{
    cursor c = {.s = s, .line = 1};
    layout l = {.header = json_new_object()};
    recorder b;
    bool unfinished = false;
    recorder_start(&b, s->file, "Kernel Tuner cache");
    kw_code code = read_members(&c, &l, err);
    if (code == KW_OK && !l.has_cache)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: a Kernel Tuner cache needs \"cache\"", s->file);
    if (code == KW_OK)
        code = take_header(&b, l.header, err);
    if (code == KW_OK) {
        const char *objective = json_text(json_get(l.header, "objective"));
        times_of t = {unit_of(&b, l.header, s->options), objective ? objective : "time"};
        c = l.cache;
        code = read_entries(&b, &c, &t, &unfinished, err);
    }
    if (code == KW_OK)
        code = read_rest(&c, &unfinished, err);
    json_free(l.header);
    if (code == KW_OK && unfinished)
        recorder_note(&b, "unfinished: the closing braces are missing");
    if (code == KW_OK)
        return recorder_finish(&b, list, err);
    recorder_clear(&b);
    return code;
}
