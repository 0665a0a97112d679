/* The other half of json.h: JSON trees as text, through the public reading functions only. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_ARRAY 90 /* characters; an array of plain values up to here stays on one line in pretty text */
#define INDENT 2

static void print_string(const char *text, strb *out)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    strb_add_char(out, '"');
    for (const char *p = text; *p; p++) {
        const char *special = strchr(named, *p);
        if (special) {
            strb_add_char(out, '\\');
            strb_add_char(out, letters[special - named]);
        } else if ((unsigned char)*p < 0x20) {
            strb_printf(out, "\\u%04x", (unsigned)*p);
        } else {
            strb_add_char(out, *p);
        }
    }
    strb_add_char(out, '"');
}

/* The shortest of %.1g ... %.17g that reads back the same. What looks like an integer over 2^53 would be refused
 * when read again, so such a value is written with an exponent. */
static void print_number(double v, strb *out)
{
    char text[40];
    if (v == floor(v) && fabs(v) <= 0x1p53) {
        strb_printf(out, "%.0f", v);
        return;
    }
    /* 15 digits always survive and %g drops their zeros; numbers near zero hold fewer. */
    int digits = fabs(v) < 0x1p-1022 ? 1 : 15;
    do
        snprintf(text, sizeof text, "%.*g", digits, v);
    while (strtod(text, NULL) != v && digits++ < 17);
    if (!strpbrk(text, ".e"))
        snprintf(text, sizeof text, "%.*e", (int)strlen(text) - 1 - (text[0] == '-'), v);
    strb_add(out, text);
}

static void print_plain(const json *j, strb *out)
{
    switch (json_kind_of(j)) {
    case JSON_NULL:
        strb_add(out, "null");
        break;
    case JSON_BOOL:
        strb_add(out, json_truth(j) ? "true" : "false");
        break;
    case JSON_NUMBER:
        print_number(json_number(j), out);
        break;
    case JSON_STRING:
        print_string(json_text(j), out);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
}

static bool is_container(const json *j)
{
    json_kind kind = json_kind_of(j);
    return kind == JSON_ARRAY || kind == JSON_OBJECT;
}

void json_print(const json *j, strb *out)
{
    if (!is_container(j)) {
        print_plain(j, out);
        return;
    }
    bool object = json_kind_of(j) == JSON_OBJECT;
    strb_add_char(out, object ? '{' : '[');
    for (const json *item = json_first(j); item; item = json_next(item)) {
        if (object) {
            print_string(json_key(item), out);
            strb_add_char(out, ':');
        }
        json_print(item, out);
        if (json_next(item))
            strb_add_char(out, ',');
    }
    strb_add_char(out, object ? '}' : ']');
}

static void new_line(int depth, strb *out)
{
    strb_printf(out, "\n%*s", depth * INDENT, "");
}

/* An array of plain values on one line, if it is short enough; otherwise adds nothing. */
static bool print_short_array(const json *j, strb *out)
{
    size_t start = out->length;
    if (json_kind_of(j) != JSON_ARRAY)
        return false;
    strb_add_char(out, '[');
    for (const json *item = json_first(j); item; item = json_next(item)) {
        if (!is_container(item))
            print_plain(item, out);
        if (is_container(item) || out->length - start > SHORT_ARRAY) {
            strb_truncate(out, start);
            return false;
        }
        if (json_next(item))
            strb_add(out, ", ");
    }
    strb_add_char(out, ']');
    return true;
}

static void print_pretty(const json *j, int depth, strb *out)
{
    if (!is_container(j)) {
        print_plain(j, out);
        return;
    }
    if (!json_first(j) || print_short_array(j, out)) {
        if (!json_first(j))
            strb_add(out, json_kind_of(j) == JSON_OBJECT ? "{}" : "[]");
        return;
    }
    bool object = json_kind_of(j) == JSON_OBJECT;
    strb_add_char(out, object ? '{' : '[');
    for (const json *item = json_first(j); item; item = json_next(item)) {
        new_line(depth + 1, out);
        if (object) {
            print_string(json_key(item), out);
            strb_add(out, ": ");
        }
        print_pretty(item, depth + 1, out);
        if (json_next(item))
            strb_add_char(out, ',');
    }
    new_line(depth, out);
    strb_add_char(out, object ? '}' : ']');
}

void json_print_pretty(const json *j, strb *out)
{
    print_pretty(j, 0, out);
    strb_add_char(out, '\n');
}
