#include "codegen/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

value value_none(void)
{
    return (value){.kind = VALUE_NONE};
}

value value_bool(bool b)
{
    return (value){.kind = VALUE_BOOL, .as.boolean = b};
}

value value_int(int64_t i)
{
    return (value){.kind = VALUE_INT, .as.integer = i};
}

value value_real(double r)
{
    return (value){.kind = VALUE_REAL, .as.real = r};
}

value value_string(const char *borrowed)
{
    return (value){.kind = VALUE_STRING, .as.string = borrowed};
}

value value_type(dtype t)
{
    return (value){.kind = VALUE_TYPE, .as.type = t};
}

const char *value_kind_name(value_kind kind)
{
    static const char *const names[] = {
        [VALUE_NONE] = "nothing", [VALUE_BOOL] = "truth value", [VALUE_INT] = "integer", [VALUE_REAL] = "real",
        [VALUE_STRING] = "text",  [VALUE_LIST] = "list",        [VALUE_TYPE] = "type"};
    return names[kind];
}

bool value_is_number(value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_REAL;
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Exact, unlike a comparison after conversion: integers over 2^53 have no double of their own. NaN comes last. */
static int compare_int_real(int64_t i, double r)
{
    if (isnan(r) || r >= 0x1p63)
        return -1;
    if (r < -0x1p63)
        return 1;
    int64_t whole = (int64_t)r; /* towards zero */
    if (i != whole)
        return i < whole ? -1 : 1;
    return order(0, r - (double)whole);
}

int value_compare_numbers(value a, value b)
{
    if (a.kind == VALUE_REAL && b.kind == VALUE_REAL) {
        if (isnan(a.as.real) || isnan(b.as.real))
            return isnan(a.as.real) - isnan(b.as.real);
        return order(a.as.real, b.as.real);
    }
    int64_t i = a.kind == VALUE_BOOL ? a.as.boolean : a.as.integer;
    int64_t j = b.kind == VALUE_BOOL ? b.as.boolean : b.as.integer;
    if (a.kind == VALUE_REAL)
        return -compare_int_real(j, a.as.real);
    if (b.kind == VALUE_REAL)
        return compare_int_real(i, b.as.real);
    return (i > j) - (i < j);
}

static int rank(value v)
{
    if (value_is_number(v))
        return 1;
    return v.kind == VALUE_NONE ? 0 : v.kind == VALUE_STRING ? 2 : v.kind == VALUE_LIST ? 3 : 4;
}

int value_compare(value a, value b)
{
    if (rank(a) != rank(b))
        return rank(a) < rank(b) ? -1 : 1;
    if (value_is_number(a))
        return value_compare_numbers(a, b);
    if (a.kind == VALUE_STRING) {
        int d = strcmp(a.as.string, b.as.string);
        return (d > 0) - (d < 0);
    }
    if (a.kind == VALUE_TYPE)
        return (a.as.type > b.as.type) - (a.as.type < b.as.type);
    if (a.kind == VALUE_NONE)
        return 0;
    size_t n = a.as.list.n < b.as.list.n ? a.as.list.n : b.as.list.n;
    for (size_t i = 0; i < n; i++) {
        int d = value_compare(a.as.list.items[i], b.as.list.items[i]);
        if (d)
            return d;
    }
    return (a.as.list.n > b.as.list.n) - (a.as.list.n < b.as.list.n);
}

bool value_equal(value a, value b)
{
    return value_compare(a, b) == 0;
}

value value_copy(value v, arena *a)
{
    if (v.kind == VALUE_STRING) {
        v.as.string = arena_strdup(a, v.as.string);
    } else if (v.kind == VALUE_LIST) {
        value *items = arena_alloc(a, v.as.list.n * sizeof *items);
        for (size_t i = 0; i < v.as.list.n; i++)
            items[i] = value_copy(v.as.list.items[i], a);
        v.as.list.items = items;
    }
    return v;
}

/* ---- text ---- */

/* The shortest text that reads back the same, always with a point or an exponent, so that its kind survives too. */
static void print_real(double r, strb *out)
{
    char text[40];
    for (int digits = fabs(r) < 0x1p-1022 ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, r);
        if (strtod(text, NULL) == r)
            break;
    }
    strb_add(out, text);
    if (!strpbrk(text, ".en")) /* n: inf and nan stay as they are */
        strb_add(out, ".0");
}

static void print_quoted(const char *text, strb *out)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    strb_add_char(out, quote);
    for (const char *p = text; *p; p++) {
        if (*p == '\n' || *p == '\t') {
            strb_add(out, *p == '\n' ? "\\n" : "\\t");
            continue;
        }
        if (*p == quote || *p == '\\')
            strb_add_char(out, '\\');
        strb_add_char(out, *p);
    }
    strb_add_char(out, quote);
}

static void print(value v, bool quoted, strb *out)
{
    switch (v.kind) {
    case VALUE_NONE:
        strb_add(out, "none");
        break;
    case VALUE_BOOL:
        strb_add(out, v.as.boolean ? "true" : "false");
        break;
    case VALUE_INT:
        strb_printf(out, "%" PRId64, v.as.integer);
        break;
    case VALUE_REAL:
        print_real(v.as.real, out);
        break;
    case VALUE_STRING:
        if (quoted)
            print_quoted(v.as.string, out);
        else
            strb_add(out, v.as.string);
        break;
    case VALUE_LIST:
        strb_add_char(out, '[');
        for (size_t i = 0; i < v.as.list.n; i++) {
            strb_add(out, i ? ", " : "");
            print(v.as.list.items[i], quoted, out);
        }
        strb_add_char(out, ']');
        break;
    case VALUE_TYPE:
        strb_add(out, dtype_name(v.as.type));
        break;
    }
}

void value_print(value v, strb *out)
{
    print(v, false, out);
}

void value_print_source(value v, strb *out)
{
    print(v, true, out);
}

/* Decimal notation only: strtod also takes hexadecimal, "inf" and "nan". */
static bool is_decimal_number(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    if (strspn(p, "0123456789.eE+-") != strlen(p) || !strpbrk(p, "0123456789") || *p == 'e' || *p == 'E')
        return false;
    char *end;
    return isfinite(strtod(text, &end)) && *end == '\0';
}

value value_from_text(const char *text, arena *a)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return value_bool(*text == 't');
    if (!is_decimal_number(text))
        return value_string(arena_strdup(a, text));
    char *end;
    errno = 0;
    long long i = strtoll(text, &end, 10);
    if (errno == 0 && *end == '\0')
        return value_int(i);
    return value_real(strtod(text, NULL));
}

/* ---- JSON ---- */

json *value_to_json(value v)
{
    switch (v.kind) {
    case VALUE_BOOL:
        return json_new_bool(v.as.boolean);
    case VALUE_INT:
        return json_new_int(v.as.integer);
    case VALUE_REAL:
        return json_new_number(v.as.real);
    case VALUE_STRING:
        return json_new_string(v.as.string);
    case VALUE_TYPE:
        return json_new_string(dtype_name(v.as.type));
    case VALUE_LIST: {
        json *array = json_new_array();
        for (size_t i = 0; i < v.as.list.n; i++)
            json_append(array, value_to_json(v.as.list.items[i]));
        return array;
    }
    case VALUE_NONE:
        break;
    }
    return json_new_null();
}

static bool list_from_json(const json *j, arena *a, value *out)
{
    size_t n = 0;
    value *items = arena_alloc(a, json_count(j) * sizeof *items);
    for (const json *item = json_first(j); item; item = json_next(item)) {
        if (!value_from_json(item, a, &items[n++]))
            return false;
    }
    *out = (value){.kind = VALUE_LIST, .as.list = {items, n}};
    return true;
}

bool value_from_json(const json *j, arena *a, value *out)
{
    int64_t integer;
    switch (json_kind_of(j)) {
    case JSON_BOOL:
        *out = value_bool(json_truth(j));
        return true;
    case JSON_NUMBER:
        *out = json_int(j, &integer) ? value_int(integer) : value_real(json_number(j));
        return true;
    case JSON_STRING:
        *out = json_int(j, &integer) ? value_int(integer) : value_string(arena_strdup(a, json_text(j)));
        return true;
    case JSON_ARRAY:
        return list_from_json(j, a, out);
    case JSON_NULL:
    case JSON_OBJECT:
        break;
    }
    return false;
}
