/* Shapes of a task: text, JSON and files of shapes. */
#include "codegen/task.h"

#include "base/fs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Defaults for the dims that were not given, then the ranges. `where` may be NULL. */
static kw_code complete(const task *t, const bool *given, const char *where, task_shape *s, kw_error *err)
{
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    const char *place = where != NULL ? where : t->name;
    kw_code code = KW_OK;
    task_types types;
    task_types_parse(t, NULL, &types, NULL);
    task_fill(t, &types, NULL, NULL, env);
    for (size_t i = 0; i < t->n_dims; i++)
        if (given[i])
            env[t->first_dim_slot + (int)i] = value_int(s->dims[i]);
    for (size_t i = 0; code == KW_OK && i < t->n_dims; i++) {
        const task_dim *d = &t->dims[i];
        if (!given[i] && d->fallback == NULL)
            code = kw_error_set(err, KW_BAD_INPUT, "%s: dim %s is not given", place, d->name);
        else if (!given[i] && (code = expr_eval_int(d->fallback, env, &s->dims[i], err)) != KW_OK)
            kw_error_prefix(err, "%s: default of dim %s", place, d->name);
        if (code == KW_OK && (s->dims[i] < d->min || s->dims[i] > d->max))
            code = kw_error_set(err, KW_BAD_INPUT, "%s: %s=%lld is outside the task's range %lld to %lld", place,
                                d->name, (long long)s->dims[i], (long long)d->min, (long long)d->max);
        env[t->first_dim_slot + (int)i] = value_int(s->dims[i]);
    }
    free(env);
    return code;
}

static kw_code unknown_dim(const task *t, const char *name, kw_error *err)
{
    const char *names[TASK_MAX_DIMS];
    strb list = STRB_INIT;
    for (size_t i = 0; i < t->n_dims; i++) {
        names[i] = t->dims[i].name;
        strb_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = json_nearest(name, names, t->n_dims);
    kw_error_set(err, KW_BAD_INPUT, "task %s has no dim %s%s%s; its dims are %s", t->name, name,
                 nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "", strb_text(&list));
    strb_clear(&list);
    return KW_BAD_INPUT;
}

static kw_code set_dim(const task *t, char *text, task_shape *s, bool *given, kw_error *err)
{
    char *equals = strchr(text, '=');
    if (equals == NULL)
        return kw_error_set(err, KW_BAD_INPUT, "dims: expected NAME=NUMBER, found \"%s\"", text);
    *equals = '\0';
    for (size_t i = 0; i < t->n_dims; i++) {
        if (strcmp(t->dims[i].name, text) != 0)
            continue;
        char *end;
        errno = 0;
        s->dims[i] = strtoll(equals + 1, &end, 10);
        if (errno != 0 || end == equals + 1 || *end != '\0')
            return kw_error_set(err, KW_BAD_INPUT, "dims: %s=%s is not an integer", text, equals + 1);
        if (given[i])
            return kw_error_set(err, KW_BAD_INPUT, "dims: %s is given twice", text);
        given[i] = true;
        return KW_OK;
    }
    return unknown_dim(t, text, err);
}

kw_code task_shape_parse(const task *t, const char *text, task_shape *out, kw_error *err)
{
    bool given[TASK_MAX_DIMS] = {false};
    memset(out, 0, sizeof *out);
    out->weight = 1;
    char *copy = mem_strdup(text);
    char *rest = copy;
    kw_code code = KW_OK;
    for (char *item; code == KW_OK && *text != '\0' && (item = strsep(&rest, ",")) != NULL;)
        code = set_dim(t, item + strspn(item, " "), out, given, err);
    free(copy);
    return code == KW_OK ? complete(t, given, "dims", out, err) : code;
}

kw_code task_shape_from_json(const task *t, const json *object, const char *where, task_shape *out, kw_error *err)
{
    bool given[TASK_MAX_DIMS] = {false};
    memset(out, 0, sizeof *out);
    out->weight = 1;
    if (json_kind_of(object) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: a shape is an object such as {\"%s\": 64}", where, t->dims[0].name);
    for (size_t i = 0; i < t->n_dims; i++) {
        const json *j = json_get(object, t->dims[i].name);
        given[i] = j != NULL;
        if (given[i] && !json_int(j, &out->dims[i]))
            return kw_error_set(err, KW_BAD_INPUT, "%s: dim %s is not an integer", where, t->dims[i].name);
    }
    const json *count = json_get(object, "count");
    if (count != NULL && (json_kind_of(count) != JSON_NUMBER || !(json_number(count) > 0)))
        return kw_error_set(err, KW_BAD_INPUT, "%s: count must be a number above 0", where);
    if (count != NULL)
        out->weight = json_number(count);
    return complete(t, given, where, out, err);
}

/* What has to be written to get dim i back: key dims, and others that differ from their default. */
static void needed_dims(const task *t, const task_shape *s, bool *needed)
{
    bool given[TASK_MAX_DIMS];
    task_shape filled = *s;
    for (size_t i = 0; i < t->n_dims; i++)
        given[i] = t->dims[i].is_key || t->dims[i].fallback == NULL;
    bool known = complete(t, given, NULL, &filled, NULL) == KW_OK;
    for (size_t i = 0; i < t->n_dims; i++)
        needed[i] = given[i] || !known || filled.dims[i] != s->dims[i];
}

json *task_shape_to_json(const task *t, const task_shape *s)
{
    bool needed[TASK_MAX_DIMS];
    needed_dims(t, s, needed);
    json *j = json_new_object();
    for (size_t i = 0; i < t->n_dims; i++)
        if (needed[i])
            json_set_int(j, t->dims[i].name, s->dims[i]);
    return j;
}

void task_shape_print(const task *t, const task_shape *s, strb *out)
{
    bool needed[TASK_MAX_DIMS];
    needed_dims(t, s, needed);
    const char *comma = "";
    for (size_t i = 0; i < t->n_dims; i++) {
        if (needed[i]) {
            strb_printf(out, "%s%s=%lld", comma, t->dims[i].name, (long long)s->dims[i]);
            comma = ",";
        }
    }
}

/* ---- files of shapes ---- */

typedef struct shape_list {
    task_shape *items;
    size_t n, capacity;
    size_t *table; /* open addressing: index + 1, 0 is free */
    size_t table_size;
} shape_list;

static size_t *find_place(const shape_list *list, const task *t, const task_shape *s)
{
    size_t bytes = t->n_dims * sizeof *s->dims;
    size_t at = (size_t)hash_u64(s->dims, bytes, 0) & (list->table_size - 1);
    while (list->table[at] != 0 && memcmp(list->items[list->table[at] - 1].dims, s->dims, bytes) != 0)
        at = (at + 1) & (list->table_size - 1);
    return &list->table[at];
}

static void add_shape(shape_list *list, const task *t, const task_shape *s)
{
    if (list->n * 2 >= list->table_size) {
        free(list->table);
        list->table_size = list->table_size > 0 ? list->table_size * 2 : 64;
        list->table = mem_calloc(list->table_size, sizeof *list->table);
        for (size_t i = 0; i < list->n; i++)
            *find_place(list, t, &list->items[i]) = i + 1;
    }
    size_t *place = find_place(list, t, s);
    if (*place != 0) {
        list->items[*place - 1].weight += s->weight;
        return;
    }
    list->items = mem_grow(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    list->items[list->n++] = *s;
    *place = list->n;
}

/* A shape, or a list of them. */
static kw_code add_json(shape_list *list, const task *t, const json *j, const char *path, int line, kw_error *err)
{
    strb where = STRB_INIT;
    kw_code code = KW_OK;
    strb_printf(&where, "%s:%d", path, line);
    bool is_list = json_kind_of(j) == JSON_ARRAY;
    for (const json *item = is_list ? json_first(j) : j; code == KW_OK && item;
         item = is_list ? json_next(item) : NULL) {
        task_shape s;
        code = task_shape_from_json(t, item, strb_text(&where), &s, err);
        if (code == KW_OK)
            add_shape(list, t, &s);
    }
    strb_clear(&where);
    return code;
}

static kw_code read_all(shape_list *list, const task *t, const char *text, size_t length, const char *path,
                        kw_error *err)
{
    int line = 1, column = 1;
    for (size_t at = 0; at < length;) {
        if (text[at] == '\n' || text[at] == ' ' || text[at] == '\t' || text[at] == '\r') {
            column = text[at] == '\n' ? 1 : column + 1;
            line += text[at++] == '\n';
            continue;
        }
        size_t used;
        json *j = json_parse_prefix(text + at, length - at, &used, path, line, column, err);
        if (j == NULL)
            return KW_BAD_INPUT;
        kw_code code = add_json(list, t, j, path, line, err);
        json_free(j);
        if (code != KW_OK)
            return code;
        for (size_t end = at + used; at < end; at++) {
            column = text[at] == '\n' ? 1 : column + 1;
            line += text[at] == '\n';
        }
    }
    return KW_OK;
}

kw_code task_shapes_load(const task *t, const char *path, task_shape **shapes, size_t *n, kw_error *err)
{
    shape_list list = {0};
    strb text = STRB_INIT;
    kw_code code = fs_read(path, 0, &text, err);
    if (code == KW_OK)
        code = read_all(&list, t, strb_text(&text), text.length, path, err);
    if (code == KW_OK && list.n == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: no shapes in it", path);
    strb_clear(&text);
    free(list.table);
    if (code != KW_OK) {
        free(list.items);
        list.items = NULL;
        list.n = 0;
    }
    *shapes = list.items;
    *n = list.n;
    return code;
}
