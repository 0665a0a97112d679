#include "llm/operators.h"

#include "base/counter_rng.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A template taken apart: its front matter and the text behind the object ("*" "/" and the body). */
typedef struct parts {
    json *front;
    char *rest;
} parts;

typedef struct change {
    parts *p;
    const parts *other; /* NULL: none */
    uint64_t seed, ordinal, drawn;
    strb *what;
} change;

static bool take_apart(const char *text, parts *out)
{
    const char *brace = text ? strchr(text, '{') : NULL;
    size_t used;
    out->front = brace ? json_parse_prefix(brace, strlen(brace), &used, NULL, 1, 1, NULL) : NULL;
    out->rest = out->front ? mem_strdup(brace + used) : NULL;
    return out->front != NULL;
}

static void parts_clear(parts *p)
{
    json_free(p->front);
    free(p->rest);
}

static void put_together(const parts *p, strb *out)
{
    strb_add(out, "/*kernwright ");
    json_print_pretty(p->front, out);
    while (out->length > 0 && out->data[out->length - 1] == '\n')
        strb_truncate(out, out->length - 1);
    const char *rest = p->rest + strspn(p->rest, " \t\r\n");
    strb_printf(out, " %s", rest);
}

static size_t below(change *c, size_t n)
{
    return (size_t)(counter_rng_u64(c->seed + 2, c->ordinal, c->drawn++) % n);
}

/* A copy of an object with one member replaced or added at the end. */
static json *with_member(const json *object, const char *key, json *member)
{
    json *copy = object ? json_clone(object) : json_new_object();
    json_set(copy, key, member);
    return copy;
}

static const json *params_of(const parts *p)
{
    return json_get(p->front, "params");
}

/* All values are integers above 0, at least two of them. */
static bool is_scale(const json *values, int64_t *least, int64_t *greatest)
{
    if (json_kind_of(values) != JSON_ARRAY || json_count(values) < 2)
        return false;
    *least = INT64_MAX;
    *greatest = 0;
    for (const json *v = json_first(values); v; v = json_next(v)) {
        int64_t n;
        if (json_kind_of(v) != JSON_NUMBER || !json_int(v, &n) || n <= 0)
            return false;
        *least = n < *least ? n : *least;
        *greatest = n > *greatest ? n : *greatest;
    }
    return true;
}

/* ---- the operators ---- */

/* One more value at an end of a parameter's scale: twice the greatest or half of the least. */
static bool widen(change *c)
{
    const json *params = params_of(c->p);
    size_t n = json_count(params), start = n ? below(c, n) : 0;
    for (size_t i = 0; i < n; i++) {
        const json *param = json_at(params, (start + i) % n), *values = json_get(param, "values");
        int64_t least, greatest, value;
        if (!is_scale(values, &least, &greatest) || greatest > INT64_MAX / 2)
            continue;
        bool up = least % 2 != 0 || below(c, 2) == 0;
        value = up ? greatest * 2 : least / 2;
        json *more = json_new_array();
        if (!up)
            json_append(more, json_new_int(value));
        for (const json *v = json_first(values); v; v = json_next(v))
            json_append(more, json_clone(v));
        if (up)
            json_append(more, json_new_int(value));
        strb_printf(c->what, "%s: %lld added", json_key(param), (long long)value);
        json *changed = with_member(param, "values", more);
        json *all = with_member(params, json_key(param), changed);
        json_set(c->p->front, "params", all);
        return true;
    }
    return false;
}

/* A loop that has no hint yet gets one, with the factor as a parameter. */
static bool unroll(change *c)
{
    enum { MOST = 64 };
    const char *loops[MOST];
    size_t n = 0;
    for (const char *line = c->p->rest; line && n < MOST; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *word = line + strspn(line, " \t"), *before = line - 1;
        while (before > c->p->rest && before[-1] != '\n')
            before--;
        bool hinted = before > c->p->rest && strstr(before, "unroll") && strstr(before, "unroll") < line;
        /* Not within a macro: a directive cannot stand there. */
        const char *end = strchr(line, '\n');
        bool in_macro = end && end > line && end[-1] == '\\';
        if (strncmp(word, "for (", 5) == 0 && !hinted && !in_macro)
            loops[n++] = line;
    }
    if (n == 0)
        return false;
    char name[16];
    const json *params = params_of(c->p);
    for (int i = 1; i < 100; i++) {
        (void)snprintf(name, sizeof name, "UNROLL%d", i);
        if (!json_get(params, name))
            break;
    }
    const char *at = loops[below(c, n)];
    size_t indent = strspn(at, " \t");
    strb text = STRB_INIT;
    strb_add_n(&text, c->p->rest, (size_t)(at - c->p->rest));
    strb_printf(&text, "%.*s#pragma unroll ${%s}\n%s", (int)indent, at, name, at);
    int line = 1;
    for (const char *p = c->p->rest; p < at; p++)
        line += *p == '\n';
    strb_printf(c->what, "the loop in line %d of the body gets an unroll factor, %s", line, name);
    free(c->p->rest);
    c->p->rest = strb_take(&text);
    json *param = json_new_object(), *values = json_new_array();
    for (int64_t v = 1; v <= 8; v *= 2)
        json_append(values, json_new_int(v));
    json_set(param, "values", values);
    json_set_int(param, "default", 1);
    json_set_string(param, "doc", "rounds of a loop that are written out");
    json_set(c->p->front, "params", with_member(params, name, param));
    return true;
}

/* A compiler option as a parameter that switches it. */
static bool option(change *c)
{
    static const struct {
        const char *param, *option, *doc;
    } all[] = {{"MAD_ENABLE", "-cl-mad-enable", "products and sums may be contracted"},
               {"NO_SIGNED_ZEROS", "-cl-no-signed-zeros", "the sign of zero may be lost"},
               {"RELAXED_MATH", "-cl-fast-relaxed-math", "faster, less exact functions"}};
    const size_t n = sizeof all / sizeof *all;
    const json *params = params_of(c->p), *options = json_get(c->p->front, "options");
    size_t start = below(c, n);
    for (size_t i = 0; i < n; i++) {
        size_t k = (start + i) % n;
        if (json_get(params, all[k].param))
            continue;
        json *param = json_new_object(), *values = json_new_array(),
             *list = options ? json_clone(options) : json_new_array();
        json_append(values, json_new_bool(false));
        json_append(values, json_new_bool(true));
        json_set(param, "values", values);
        json_set_bool(param, "default", false);
        json_set_string(param, "doc", all[k].doc);
        strb text = STRB_INIT;
        strb_printf(&text, "${\"%s\" if %s else \"\"}", all[k].option, all[k].param);
        json_append(list, json_new_string(strb_text(&text)));
        strb_clear(&text);
        json_set(c->p->front, "params", with_member(params, all[k].param, param));
        json_set(c->p->front, "options", list);
        strb_printf(c->what, "%s as a parameter", all[k].option);
        return true;
    }
    return false;
}

/* Values that another template has for a parameter of the same name. */
static bool cross(change *c)
{
    const json *params = params_of(c->p), *others = c->other ? params_of(c->other) : NULL;
    size_t n = json_count(others), start = n ? below(c, n) : 0;
    for (size_t i = 0; i < n; i++) {
        const json *theirs = json_at(others, (start + i) % n), *mine = json_get(params, json_key(theirs));
        const json *values = json_get(mine, "values"), *new_values = json_get(theirs, "values");
        if (json_kind_of(values) != JSON_ARRAY || json_kind_of(new_values) != JSON_ARRAY)
            continue;
        json *more = json_clone(values);
        size_t added = 0;
        for (const json *v = json_first(new_values); v; v = json_next(v)) {
            bool there = false;
            for (const json *w = json_first(values); w && !there; w = json_next(w))
                there = json_equal(v, w);
            if (!there && json_kind_of(v) == json_kind_of(json_first(values))) {
                json_append(more, json_clone(v));
                added++;
            }
        }
        if (added == 0) {
            json_free(more);
            continue;
        }
        strb_printf(c->what, "%s: %zu values of another template", json_key(theirs), added);
        json *changed = with_member(mine, "values", more);
        json *all = with_member(params, json_key(theirs), changed);
        json_set(c->p->front, "params", all);
        return true;
    }
    return false;
}

bool operators_apply(const operator_context *c, strb *out, strb *what)
{
    static bool (*const all[])(change *) = {widen, unroll, option, cross};
    const size_t n = sizeof all / sizeof *all;
    parts mine, theirs = {NULL, NULL};
    if (!take_apart(c->parent, &mine))
        return false;
    bool other = c->other && take_apart(c->other, &theirs);
    change state = {.p = &mine, .other = other ? &theirs : NULL, .seed = c->seed, .ordinal = c->ordinal, .what = what};
    size_t start = below(&state, n);
    bool done = false;
    for (size_t i = 0; i < n && !done; i++)
        done = all[(start + i) % n](&state);
    if (done)
        put_together(&mine, out);
    parts_clear(&mine);
    parts_clear(&theirs);
    return done;
}
