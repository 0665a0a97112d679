#include "codegen/locate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- walking valid JSON text ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* p stands on the opening quote; returns the place after the closing one. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end)
{
    if (p < end && *p == '"')
        return skip_string(p, end);
    int depth = 0;
    while (p < end) {
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        if ((*p == '}' || *p == ']' || *p == ',') && depth == 0)
            return p;
        if ((*p == '}' || *p == ']') && --depth == 0)
            return p + 1;
        p++;
    }
    return end;
}

/* The member of the object at p whose key is name[0..n); NULL if there is none. */
static const char *find_member(const char *p, const char *end, const char *name, size_t n)
{
    if (p >= end || *p != '{')
        return NULL;
    p = skip_space(p + 1, end);
    while (p < end && *p == '"') {
        const char *key = p + 1;
        p = skip_string(p, end);
        bool same = (size_t)(p - 1 - key) == n && memcmp(key, name, n) == 0;
        p = skip_space(p, end);
        if (p < end && *p == ':')
            p = skip_space(p + 1, end);
        if (same)
            return p;
        p = skip_space(skip_value(p, end), end);
        if (p < end && *p == ',')
            p = skip_space(p + 1, end);
    }
    return NULL;
}

static const char *find_item(const char *p, const char *end, size_t index)
{
    if (p >= end || *p != '[')
        return NULL;
    p = skip_space(p + 1, end);
    for (size_t i = 0; p < end && *p != ']'; i++) {
        if (i == index)
            return p;
        p = skip_space(skip_value(p, end), end);
        if (p < end && *p == ',')
            p = skip_space(p + 1, end);
    }
    return NULL;
}

static const char *find_path(const locate *l, const char *path)
{
    const char *end = l->text + l->length;
    const char *at = skip_space(l->text, end);
    while (*path != '\0') {
        const char *next;
        if (*path == '[') {
            char *after;
            size_t index = strtoul(path + 1, &after, 10);
            next = find_item(at, end, index);
            path = *after == ']' ? after + 1 : after + strlen(after);
        } else {
            path += *path == '.';
            size_t n = strcspn(path, ".[");
            next = find_member(at, end, path, n);
            path += n;
        }
        if (next == NULL)
            return at;
        at = next;
    }
    return at;
}

static expr_where position_of(const locate *l, const char *at)
{
    expr_where w = {l->file, l->line, l->column};
    for (const char *p = l->text; p < at; p++) {
        w.column++;
        if (*p == '\n') {
            w.line++;
            w.column = 1;
        }
    }
    return w;
}

expr_where locate_value(const locate *l, const char *path)
{
    if (l->text == NULL)
        return (expr_where){l->file, 0, 0};
    return position_of(l, find_path(l, path));
}

expr_where locate_string_text(const locate *l, const char *path)
{
    if (l->text == NULL)
        return (expr_where){l->file, 0, 0};
    const char *at = find_path(l, path);
    return position_of(l, at < l->text + l->length && *at == '"' ? at + 1 : at);
}

/* ---- messages ---- */

kw_code locate_error(const locate *l, const char *path, kw_error *err, const char *format, ...)
{
    if (err == NULL)
        return KW_BAD_INPUT;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    expr_where w = locate_value(l, path);
    const char *colon = *path != '\0' ? ": " : "";
    if (w.line > 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s:%d:%d: %s%s%s", l->file, w.line, w.column, path, colon, text);
    return kw_error_set(err, KW_BAD_INPUT, "%s: %s%s%s", l->file, path, colon, text);
}

locate_path locate_join(const char *format, ...)
{
    locate_path p;
    va_list args;
    va_start(args, format);
    vsnprintf(p.text, sizeof p.text, format, args);
    va_end(args);
    return p;
}

static locate_path member_path(const char *path, const char *key)
{
    return locate_join("%s%s%s", path, *path != '\0' ? "." : "", key);
}

kw_code locate_check_keys(const locate *l, const char *path, const json *object, const char *const *known,
                          kw_error *err)
{
    size_t n_known = 0;
    while (known[n_known] != NULL)
        n_known++;
    for (size_t i = 0; i < json_count(object); i++) {
        const char *key = json_key(json_at(object, i));
        bool found = false;
        for (size_t k = 0; k < n_known && !found; k++)
            found = strcmp(key, known[k]) == 0;
        if (found)
            continue;
        locate_path full = member_path(path, key);
        const char *nearest = json_nearest(key, known, n_known);
        if (nearest != NULL)
            return locate_error(l, full.text, err, "unknown key; did you mean \"%s\"?", nearest);
        strb list = STRB_INIT;
        for (size_t k = 0; k < n_known; k++)
            strb_printf(&list, "%s%s", k > 0 ? ", " : "", known[k]);
        locate_error(l, full.text, err, "unknown key; known here: %s", strb_text(&list));
        strb_clear(&list);
        return KW_BAD_INPUT;
    }
    return KW_OK;
}

/* ---- reading members ---- */

static kw_code wrong_kind(const locate *l, const char *path, const char *key, const json *j, const char *want,
                          kw_error *err)
{
    locate_path full = member_path(path, key);
    return locate_error(l, full.text, err, "must be %s, not %s", want, json_kind_name(json_kind_of(j)));
}

kw_code locate_opt_string(const locate *l, const char *path, const json *object, const char *key, const char *fallback,
                          const char **out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    if (j == NULL)
        return KW_OK;
    if (json_kind_of(j) != JSON_STRING)
        return wrong_kind(l, path, key, j, "a string", err);
    *out = json_text(j);
    return KW_OK;
}

kw_code locate_opt_bool(const locate *l, const char *path, const json *object, const char *key, bool fallback,
                        bool *out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    if (j == NULL)
        return KW_OK;
    if (json_kind_of(j) != JSON_BOOL)
        return wrong_kind(l, path, key, j, "true or false", err);
    *out = json_truth(j);
    return KW_OK;
}

kw_code locate_opt_int(const locate *l, const char *path, const json *object, const char *key, int64_t fallback,
                       int64_t *out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    if (j == NULL || json_int(j, out))
        return KW_OK;
    return wrong_kind(l, path, key, j, "an integer", err);
}

kw_code locate_opt_real(const locate *l, const char *path, const json *object, const char *key, double fallback,
                        double *out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    if (j == NULL)
        return KW_OK;
    if (json_kind_of(j) != JSON_NUMBER)
        return wrong_kind(l, path, key, j, "a number", err);
    *out = json_number(j);
    return KW_OK;
}

kw_code locate_get_string(const locate *l, const char *path, const json *object, const char *key, const char **out,
                          kw_error *err)
{
    if (json_get(object, key) == NULL)
        return locate_error(l, path, err, "\"%s\" is missing", key);
    kw_code code = locate_opt_string(l, path, object, key, "", out, err);
    if (code == KW_OK && **out == '\0') {
        locate_path full = member_path(path, key);
        return locate_error(l, full.text, err, "must not be empty");
    }
    return code;
}

kw_code locate_opt_array(const locate *l, const char *path, const json *object, const char *key, const json **out,
                         kw_error *err)
{
    *out = json_get(object, key);
    if (*out != NULL && json_kind_of(*out) != JSON_ARRAY)
        return wrong_kind(l, path, key, *out, "a list [...]", err);
    return KW_OK;
}

kw_code locate_need_object(const locate *l, const char *path, const json *j, kw_error *err)
{
    if (json_kind_of(j) == JSON_OBJECT)
        return KW_OK;
    return locate_error(l, path, err, "must be an object {...}, not %s", json_kind_name(json_kind_of(j)));
}

kw_code locate_choice(const locate *l, const char *path, const json *j, const char *key, const char *const *choices,
                      size_t n, int *out, kw_error *err)
{
    const char *text;
    kw_code code = locate_opt_string(l, path, j, key, choices[0], &text, err);
    strb list = STRB_INIT;
    for (size_t i = 0; code == KW_OK && i < n; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *out = (int)i;
            strb_clear(&list);
            return KW_OK;
        }
        strb_printf(&list, "%s\"%s\"", i > 0 ? ", " : "", choices[i]);
    }
    if (code == KW_OK)
        code = locate_error(l, path, err, "\"%s\" must be one of %s", key, strb_text(&list));
    strb_clear(&list);
    return code;
}

static const char *role_text(expr_role role)
{
    switch (role) {
    case EXPR_PARAM:
        return "a parameter";
    case EXPR_TYPE:
        return "a type";
    case EXPR_DEVICE:
        return "a device fact";
    case EXPR_DIM:
        return "a dim";
    case EXPR_SCALAR:
        return "a scalar";
    case EXPR_LOCAL:
        break;
    }
    return "a local name";
}

static kw_code check_roles(const locate *l, const char *path, const expr *e, const expr_scope *scope, unsigned roles,
                           kw_error *err)
{
    for (int slot = 0; slot < expr_scope_size(scope); slot++) {
        expr_role role = expr_scope_role(scope, slot);
        if ((roles & 1u << role) == 0 && expr_uses(e, slot))
            return locate_error(l, path, err, "%s is %s, which cannot be used here", expr_scope_name(scope, slot),
                                role_text(role));
    }
    return KW_OK;
}

kw_code locate_expr(const locate *l, const char *path, const json *j, arena *a, const expr_scope *scope, unsigned roles,
                    const expr **out, kw_error *err)
{
    value v;
    if (json_kind_of(j) == JSON_STRING) {
        *out = expr_parse(a, json_text(j), scope, locate_string_text(l, path), err);
        return *out != NULL ? check_roles(l, path, *out, scope, roles, err) : KW_BAD_INPUT;
    }
    if ((json_kind_of(j) != JSON_NUMBER && json_kind_of(j) != JSON_BOOL) || !value_from_json(j, a, &v))
        return locate_error(l, path, err, "must be an expression in quotes or a number, not %s",
                            json_kind_name(json_kind_of(j)));
    *out = expr_constant(a, v);
    return KW_OK;
}

bool locate_is_c_name(const char *name)
{
    if (*name == '\0' || (*name >= '0' && *name <= '9'))
        return false;
    for (const char *p = name; *p != '\0'; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_'))
            return false;
    return true;
}

bool locate_is_name(const char *name)
{
    static const char *const words[] = {"and",  "or",    "not",      "if",       "else",    "in",   "for",
                                        "min",  "max",   "abs",      "range",    "list",    "True", "False",
                                        "true", "false", "ceil_div", "round_up", "is_pow2", "log2", "sizeof",
                                        "vec",  "lit",   "device",   "None",     "step"};
    if (!locate_is_c_name(name))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return false;
    return strlen(name) <= 63 && dtype_from_name(name) == DTYPE_NONE;
}
