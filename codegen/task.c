/* Finding and loading tasks, and their identity. */
#include "codegen/task.h"

#include "base/fs.h"
#include "codegen/locate.h"
#include "codegen/references.h"
#include "codegen/task_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- identity ---- */

static json *canonical_dims(const task *t)
{
    json *list = json_new_array();
    for (size_t i = 0; i < t->n_dims; i++) {
        const task_dim *d = &t->dims[i];
        json *j = json_new_object();
        json_set_string(j, "name", d->name);
        json_set_int(j, "min", d->min);
        json_set_int(j, "max", d->max);
        json_set_string(j, "default", d->fallback != NULL ? expr_text(d->fallback) : NULL);
        if (!d->is_key)
            json_set_bool(j, "key", false);
        json_append(list, j);
    }
    return list;
}

/* Without what they may be: each measurement names its element types, so that one more to choose from voids none. */
static json *canonical_types(const task *t)
{
    json *list = json_new_array();
    for (size_t i = 0; i < t->n_types; i++)
        json_append(list, json_new_string(t->types[i].symbol));
    return list;
}

static json *expr_list(const expr *const *e, size_t n)
{
    json *list = json_new_array();
    for (size_t i = 0; i < n; i++)
        json_append(list, json_new_string(expr_text(e[i])));
    return list;
}

static const char *type_text(const task *t, int symbol, dtype fixed)
{
    return symbol >= 0 ? t->types[symbol].symbol : dtype_name(fixed);
}

static json *canonical_tensors(const task *t)
{
    json *list = json_new_array();
    for (size_t i = 0; i < t->n_tensors; i++) {
        const task_tensor *x = &t->tensors[i];
        json *j = json_new_object();
        json_set_string(j, "name", x->name);
        json_set_string(j, "type", type_text(t, x->type, x->fixed_type));
        json_set(j, "shape", expr_list(x->shape, x->rank));
        if (x->stride[0] != NULL)
            json_set(j, "strides", expr_list(x->stride, x->rank));
        json_set_int(j, "access", x->access);
        json_set_int(j, "compare", x->compare);
        if (isfinite(x->domain_min))
            json_set_number(j, "domain_min", x->domain_min);
        if (isfinite(x->domain_max))
            json_set_number(j, "domain_max", x->domain_max);
        if (*x->init != '\0')
            json_set_string(j, "init", x->init);
        if (x->init_limit != NULL)
            json_set_string(j, "init_limit", expr_text(x->init_limit));
        json_append(list, j);
    }
    return list;
}

static json *canonical_scalars(const task *t)
{
    json *list = json_new_array();
    for (size_t i = 0; i < t->n_scalars; i++) {
        const task_scalar *x = &t->scalars[i];
        json *j = json_new_object();
        json *values = json_new_array();
        for (size_t k = 0; k < x->n_values; k++)
            json_append(values, json_new_number(x->values[k]));
        json_set_string(j, "name", x->name);
        json_set_string(j, "type", type_text(t, x->type, x->fixed_type));
        json_set(j, "values", values);
        json_append(list, j);
    }
    return list;
}

json *task_canonical(const task *t)
{
    json *j = json_new_object();
    json_set_string(j, "task", t->name);
    json_set(j, "dims", canonical_dims(t));
    json_set(j, "types", canonical_types(t));
    json_set(j, "tensors", canonical_tensors(t));
    json_set(j, "scalars", canonical_scalars(t));
    json_set_string(j, "reference", t->reference);
    if (t->reduction_length != NULL)
        json_set_string(j, "reduction_length", expr_text(t->reduction_length));
    if (!isnan(t->error_floor))
        json_set_number(j, "error_floor", t->error_floor);
    if (t->index_i64)
        json_set_bool(j, "index_i64", true);
    return j;
}

static void set_hash(task *t)
{
    json *j = task_canonical(t);
    strb text = STRB_INIT;
    json_print(j, &text);
    if (t->reference_source != NULL) {
        strb_add_char(&text, '\n');
        strb_add(&text, t->reference_source);
    }
    hash_hex(strb_text(&text), text.length, t->hash);
    strb_clear(&text);
    json_free(j);
}

/* ---- reading ---- */

static task *new_task(const json *source, const char *folder)
{
    task *t = mem_calloc(1, sizeof *t);
    t->memory = arena_new();
    t->folder = arena_strdup(t->memory, folder);
    t->source = json_clone(source);
    return t;
}

void task_free(task *t)
{
    if (t == NULL)
        return;
    json_free(t->source);
    expr_scope_free(t->scope);
    arena_free(t->memory);
    free(t);
}

/* The reference is built in, or its source lies beside task.json. */
static kw_code find_reference(task *t, const locate *l, kw_error *err)
{
    if (t->reference == NULL)
        return KW_OK;
    char *path = fs_join(t->folder, "reference.c");
    strb text = STRB_INIT;
    kw_code code = KW_OK;
    if (fs_is_file(path))
        code = fs_read(path, 0, &text, err);
    else if (reference_builtin(t->reference) == NULL)
        code = locate_error(l, "reference", err, "%s is not a built-in reference and there is no %s that defines it",
                            t->reference, path);
    if (code == KW_OK && text.length > 0 && !reference_is_builtin(t->reference, text.data, text.length))
        t->reference_source = arena_strdup(t->memory, text.data);
    strb_clear(&text);
    free(path);
    return code;
}

static kw_code shapes_path(task *t, const locate *l, const char *key, const char **out, kw_error *err)
{
    const char *name;
    kw_code code = locate_opt_string(l, "", t->source, key, NULL, &name, err);
    if (code != KW_OK || name == NULL)
        return code;
    char *path = fs_join(t->folder, name);
    *out = arena_strdup(t->memory, path);
    free(path);
    return KW_OK;
}

static kw_code load_parsed(const json *j, const locate *l, const char *folder, task **out, kw_error *err)
{
    task *t = new_task(j, folder);
    kw_code code = task_read(t, l, err);
    if (code == KW_OK && t->reference_source != NULL)
        code = locate_error(l, "reference_source", err,
                            "is for tasks sent to workers; name the function in "
                            "\"reference\" and put its source in reference.c");
    if (code == KW_OK)
        code = find_reference(t, l, err);
    if (code == KW_OK)
        code = shapes_path(t, l, "shapes", &t->shapes_file, err);
    if (code == KW_OK)
        code = shapes_path(t, l, "edge_shapes", &t->edge_shapes_file, err);
    if (code == KW_OK)
        code = shapes_path(t, l, "cpu_shapes", &t->cpu_shapes_file, err);
    if (code != KW_OK) {
        task_free(t);
        return code;
    }
    set_hash(t);
    *out = t;
    return KW_OK;
}

static kw_code load_file(const char *path, task **out, kw_error *err)
{
    strb text = STRB_INIT;
    kw_code code = fs_read(path, 0, &text, err);
    if (code != KW_OK)
        return code;
    json *j = json_parse(strb_text(&text), text.length, path, 1, 1, err);
    if (j == NULL) {
        strb_clear(&text);
        return KW_BAD_INPUT;
    }
    locate l = {path, text.data, text.length, 1, 1};
    char *folder = fs_folder_of(path);
    code = load_parsed(j, &l, folder, out, err);
    free(folder);
    json_free(j);
    strb_clear(&text);
    return code;
}

kw_code task_from_json(const json *j, const char *where, task **out, kw_error *err)
{
    locate l = {where, NULL, 0, 0, 0};
    task *t = new_task(j, "");
    kw_code code = task_read(t, &l, err);
    if (code == KW_OK && t->reference != NULL && t->reference_source == NULL && reference_builtin(t->reference) == NULL)
        code = locate_error(&l, "reference", err, "%s is not built in here and its source was not sent", t->reference);
    if (code != KW_OK) {
        task_free(t);
        return code;
    }
    set_hash(t);
    *out = t;
    return KW_OK;
}

json *task_description(const task *t)
{
    static const char *const files[] = {"shapes", "edge_shapes", "cpu_shapes"};
    json *j = json_new_object();
    for (const json *m = json_first(t->source); m; m = json_next(m)) {
        bool is_file = false;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            is_file |= strcmp(json_key(m), files[i]) == 0;
        if (!is_file)
            json_add(j, json_key(m), json_clone(m));
    }
    return j;
}

json *task_to_json(const task *t)
{
    json *j = task_description(t);
    json_set_string(j, "reference_source", t->reference_source);
    return j;
}

/* ---- finding ---- */

static void add_names(const char *folder, char ***names, size_t *n, size_t *capacity)
{
    char **entries;
    size_t n_entries;
    if (folder == NULL || !fs_is_folder(folder) || fs_list(folder, NULL, &entries, &n_entries, NULL) != KW_OK)
        return;
    for (size_t i = 0; i < n_entries; i++) {
        char *sub = fs_join(folder, entries[i]);
        char *file = fs_join(sub, "task.json");
        bool is_new = fs_is_file(file);
        for (size_t k = 0; is_new && k < *n; k++)
            is_new = strcmp((*names)[k], entries[i]) != 0;
        if (is_new) {
            *names = mem_grow(*names, capacity, *n + 1, sizeof **names);
            (*names)[(*n)++] = mem_strdup(entries[i]);
        }
        free(file);
        free(sub);
        free(entries[i]);
    }
    free(entries);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

kw_code task_names(char ***names, size_t *n, kw_error *err)
{
    size_t capacity = 0;
    *names = NULL;
    *n = 0;
    char *data = fs_data_folder("tasks");
    add_names("tasks", names, n, &capacity);
    add_names(data, names, n, &capacity);
    if (*n > 0)
        qsort(*names, *n, sizeof **names, by_text);
    bool none = *n == 0 && data == NULL;
    free(data);
    if (none)
        return kw_error_set(err, KW_ENVIRONMENT,
                            "no tasks: there is no folder ./tasks and no installed one; set KERNWRIGHT_DATA");
    return KW_OK;
}

static kw_code unknown_task(const char *name, kw_error *err)
{
    char **names;
    size_t n;
    kw_code code = task_names(&names, &n, err);
    if (code != KW_OK)
        return code;
    const char *nearest = json_nearest(name, (const char *const *)names, n);
    if (nearest != NULL) {
        kw_error_set(err, KW_BAD_INPUT, "no task \"%s\"; did you mean \"%s\"?", name, nearest);
    } else {
        strb list = STRB_INIT;
        for (size_t i = 0; i < n; i++)
            strb_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
        kw_error_set(err, KW_BAD_INPUT, "no task \"%s\" in ./tasks or among the installed ones%s%s", name,
                     n > 0 ? "; known: " : "", strb_text(&list));
        strb_clear(&list);
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return KW_BAD_INPUT;
}

/* FOLDER/NAME/task.json if it is there; the caller frees. */
static char *task_file(const char *folder, const char *name)
{
    if (folder == NULL)
        return NULL;
    char *sub = fs_join(folder, name);
    char *file = fs_join(sub, "task.json");
    free(sub);
    if (fs_is_file(file))
        return file;
    free(file);
    return NULL;
}

static kw_code load_named(const char *path, const char *name, task **out, kw_error *err)
{
    kw_code code = load_file(path, out, err);
    if (code == KW_OK && strcmp((*out)->name, name) != 0) {
        kw_error_set(err, KW_BAD_INPUT, "%s: \"task\" says \"%s\", but the folder is called %s", path, (*out)->name,
                     name);
        task_free(*out);
        *out = NULL;
        return KW_BAD_INPUT;
    }
    return code;
}

kw_code task_load(const char *name, task **out, kw_error *err)
{
    char *path = NULL;
    if (strchr(name, '/') == NULL) {
        char *data = fs_data_folder("tasks");
        path = task_file("tasks", name);
        if (path == NULL)
            path = task_file(data, name);
        free(data);
        if (path != NULL) {
            kw_code code = load_named(path, name, out, err);
            free(path);
            return code;
        }
    }
    if (fs_is_file(name))
        return load_file(name, out, err);
    path = task_file(".", name);
    if (path == NULL)
        return strchr(name, '/') == NULL ? unknown_task(name, err)
                                         : kw_error_set(err, KW_BAD_INPUT, "%s: no task.json there", name);
    kw_code code = load_file(path, out, err);
    free(path);
    return code;
}
