#include "base/json.h"

#include "base/fs.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT_INTEGER ((int64_t)1 << 53)
#define TWO_TO_63 9223372036854775808.0

/* cJSON answers NULL when memory is refused; like all small allocations here that ends the program. */
static json *checked(json *j)
{
    if (!j) {
        fputs("kernwright: out of memory\n", stderr);
        exit(KW_ENVIRONMENT);
    }
    return j;
}

json *json_parse_prefix(const char *text, size_t length, size_t *used, const char *file, int first_line,
                        int first_column, kw_error *err)
{
    *used = 0;
    size_t end;
    if (json_scan(text, length, &end, file, first_line, first_column, err) != KW_OK)
        return NULL;
    *used = end;
    json *j = cJSON_ParseWithLength(text, end);
    if (!j)
        kw_error_set(err, KW_ENVIRONMENT, "%s: no memory for the JSON text", file ? file : "JSON");
    return j;
}

json *json_parse(const char *text, size_t length, const char *file, int first_line, int first_column, kw_error *err)
{
    size_t used;
    json *j = json_parse_prefix(text, length, &used, file, first_line, first_column, err);
    if (j && used < length) {
        json_scan_fault(text, used, file, first_line, first_column, err,
                        "nothing may follow the value, but something does");
        json_free(j);
        return NULL;
    }
    return j;
}

json *json_parse_file(const char *path, kw_error *err)
{
    strb text = STRB_INIT;
    json *j = NULL;
    if (fs_read(path, 0, &text, err) == KW_OK)
        j = json_parse(strb_text(&text), text.length, path, 1, 1, err);
    strb_clear(&text);
    return j;
}

void json_free(json *j)
{
    cJSON_Delete(j);
}

json *json_clone(const json *j)
{
    return j ? checked(cJSON_Duplicate(j, true)) : NULL;
}

static bool members_equal(const json *a, const json *b)
{
    const json *y = b->child;
    size_t n = 0;
    for (const json *x = a->child; x; x = x->next, n++) {
        /* Mostly both are in the same order; otherwise look the key up. */
        const json *other = y && strcmp(x->string, y->string) == 0 ? y : json_get(b, x->string);
        if (!other || !json_equal(x, other))
            return false;
        y = other->next;
    }
    return n == json_count(b);
}

bool json_equal(const json *a, const json *b)
{
    json_kind kind = json_kind_of(a);
    if (kind != json_kind_of(b))
        return false;
    switch (kind) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return json_truth(a) == json_truth(b);
    case JSON_NUMBER:
        return a->valuedouble == b->valuedouble;
    case JSON_STRING:
        return strcmp(a->valuestring, b->valuestring) == 0;
    case JSON_OBJECT:
        return members_equal(a, b);
    case JSON_ARRAY:
        break;
    }
    const json *x = a->child, *y = b->child;
    while (x && y && json_equal(x, y)) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

json_kind json_kind_of(const json *j)
{
    if (cJSON_IsBool(j))
        return JSON_BOOL;
    if (cJSON_IsNumber(j))
        return JSON_NUMBER;
    if (cJSON_IsString(j))
        return JSON_STRING;
    if (cJSON_IsArray(j))
        return JSON_ARRAY;
    if (cJSON_IsObject(j))
        return JSON_OBJECT;
    return JSON_NULL;
}

const char *json_kind_name(json_kind kind)
{
    static const char *const names[] = {"null", "true or false", "a number", "a string", "an array", "an object"};
    return names[kind];
}

const json *json_get(const json *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const json *json_first(const json *array_or_object)
{
    return cJSON_IsArray(array_or_object) || cJSON_IsObject(array_or_object) ? array_or_object->child : NULL;
}

const json *json_next(const json *item)
{
    return item ? item->next : NULL;
}

size_t json_count(const json *array_or_object)
{
    size_t n = 0;
    for (const json *item = json_first(array_or_object); item; item = item->next)
        n++;
    return n;
}

const json *json_at(const json *array_or_object, size_t i)
{
    const json *item = json_first(array_or_object);
    while (item && i--)
        item = item->next;
    return item;
}

const char *json_key(const json *member)
{
    return member ? member->string : NULL;
}

const char *json_text(const json *j)
{
    return cJSON_IsString(j) ? j->valuestring : NULL;
}

double json_number(const json *j)
{
    return cJSON_IsNumber(j) ? j->valuedouble : 0;
}

bool json_truth(const json *j)
{
    return cJSON_IsTrue(j);
}

/* Digits as json_new_int writes them: no sign but '-', no leading zero, over 2^53. */
static bool big_integer(const char *text, int64_t *out)
{
    const char *digits = text + (text[0] == '-');
    if (digits[0] < '1' || digits[0] > '9' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    long long v = strtoll(text, NULL, 10);
    if (errno || (v >= -MAX_EXACT_INTEGER && v <= MAX_EXACT_INTEGER))
        return false;
    *out = v;
    return true;
}

bool json_int(const json *j, int64_t *out)
{
    if (cJSON_IsString(j))
        return big_integer(j->valuestring, out);
    if (!cJSON_IsNumber(j))
        return false;
    double v = j->valuedouble;
    if (v != floor(v) || v < -TWO_TO_63 || v >= TWO_TO_63)
        return false;
    *out = (int64_t)v;
    return true;
}

/* The member, or an error that says that it is missing. */
static const json *required(const json *object, const char *key, const char *where, kw_error *err)
{
    const json *j = json_get(object, key);
    if (!j)
        kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" is missing", where, key);
    return j;
}

static kw_code wrong_kind(const json *j, const char *key, const char *where, const char *wanted, kw_error *err)
{
    if (json_kind_of(j) == JSON_NUMBER)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" must be %s, found %g", where, key, wanted, j->valuedouble);
    return kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" must be %s, found %s", where, key, wanted,
                        json_kind_name(json_kind_of(j)));
}

static kw_code read_int(const json *j, const char *key, const char *where, int64_t *out, kw_error *err)
{
    return json_int(j, out) ? KW_OK : wrong_kind(j, key, where, "an integer", err);
}

static kw_code read_string(const json *j, const char *key, const char *where, const char **out, kw_error *err)
{
    if (!cJSON_IsString(j))
        return wrong_kind(j, key, where, "a string", err);
    *out = j->valuestring;
    return KW_OK;
}

kw_code json_get_int(const json *object, const char *key, const char *where, int64_t *out, kw_error *err)
{
    const json *j = required(object, key, where, err);
    return j ? read_int(j, key, where, out, err) : KW_BAD_INPUT;
}

kw_code json_get_string(const json *object, const char *key, const char *where, const char **out, kw_error *err)
{
    const json *j = required(object, key, where, err);
    return j ? read_string(j, key, where, out, err) : KW_BAD_INPUT;
}

kw_code json_opt_int(const json *object, const char *key, const char *where, int64_t fallback, int64_t *out,
                     kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    return j ? read_int(j, key, where, out, err) : KW_OK;
}

kw_code json_opt_bool(const json *object, const char *key, const char *where, bool fallback, bool *out, kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    if (!j)
        return KW_OK;
    if (!cJSON_IsBool(j))
        return wrong_kind(j, key, where, "true or false", err);
    *out = cJSON_IsTrue(j);
    return KW_OK;
}

kw_code json_opt_string(const json *object, const char *key, const char *where, const char *fallback, const char **out,
                        kw_error *err)
{
    const json *j = json_get(object, key);
    *out = fallback;
    return j ? read_string(j, key, where, out, err) : KW_OK;
}

kw_code json_check_keys(const json *object, const char *const *known, const char *where, kw_error *err)
{
    if (!cJSON_IsObject(object))
        return kw_error_set(err, KW_BAD_INPUT, "%s: expected an object, found %s", where,
                            json_kind_name(json_kind_of(object)));
    size_t n = 0;
    while (known[n])
        n++;
    for (const json *member = object->child; member; member = member->next) {
        size_t i = 0;
        while (i < n && strcmp(known[i], member->string) != 0)
            i++;
        if (i < n)
            continue;
        const char *near = json_nearest(member->string, known, n);
        if (near)
            return kw_error_set(err, KW_BAD_INPUT, "%s: unknown key \"%s\"; did you mean \"%s\"?", where,
                                member->string, near);
        strb list = STRB_INIT;
        for (i = 0; i < n; i++)
            strb_printf(&list, "%s%s", i ? ", " : "", known[i]);
        kw_code code = kw_error_set(err, KW_BAD_INPUT, "%s: unknown key \"%s\"; known keys: %s", where, member->string,
                                    n ? strb_text(&list) : "none");
        strb_clear(&list);
        return code;
    }
    return KW_OK;
}

json *json_new_object(void)
{
    return checked(cJSON_CreateObject());
}

json *json_new_array(void)
{
    return checked(cJSON_CreateArray());
}

json *json_new_string(const char *text)
{
    strb valid = STRB_INIT;
    utf8_add_valid(&valid, text, strlen(text));
    json *j = checked(cJSON_CreateString(strb_text(&valid)));
    strb_clear(&valid);
    return j;
}

json *json_new_int(int64_t value)
{
    if (value >= -MAX_EXACT_INTEGER && value <= MAX_EXACT_INTEGER)
        return checked(cJSON_CreateNumber((double)value));
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    return checked(cJSON_CreateString(digits));
}

json *json_new_number(double value)
{
    return isfinite(value) ? checked(cJSON_CreateNumber(value)) : json_new_null();
}

json *json_new_bool(bool value)
{
    return checked(cJSON_CreateBool(value));
}

json *json_new_null(void)
{
    return checked(cJSON_CreateNull());
}

static void set(json *object, const char *key, json *value, bool may_exist)
{
    if (!value)
        return;
    if (!cJSON_IsObject(object)) {
        json_free(value);
        return;
    }
    strb valid = STRB_INIT;
    utf8_add_valid(&valid, key, strlen(key));
    const char *name = strb_text(&valid);
    bool done = may_exist && cJSON_GetObjectItemCaseSensitive(object, name)
                    ? cJSON_ReplaceItemInObjectCaseSensitive(object, name, value)
                    : cJSON_AddItemToObject(object, name, value);
    checked(done ? value : NULL);
    strb_clear(&valid);
}

void json_set(json *object, const char *key, json *value)
{
    set(object, key, value, true);
}

void json_add(json *object, const char *key, json *value)
{
    set(object, key, value, false);
}

void json_set_string(json *object, const char *key, const char *text)
{
    json_set(object, key, text ? json_new_string(text) : NULL);
}

void json_set_int(json *object, const char *key, int64_t value)
{
    json_set(object, key, json_new_int(value));
}

void json_set_number(json *object, const char *key, double value)
{
    json_set(object, key, json_new_number(value));
}

void json_set_bool(json *object, const char *key, bool value)
{
    json_set(object, key, json_new_bool(value));
}

void json_append(json *array, json *value)
{
    if (!value)
        return;
    if (cJSON_IsArray(array))
        checked(cJSON_AddItemToArray(array, value) ? value : NULL);
    else
        json_free(value);
}
