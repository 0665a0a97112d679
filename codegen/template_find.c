/* The templates of a task. */
#include "codegen/template.h"

#include "base/fs.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct found {
    template **items;
    size_t n, capacity;
} found;

static const char *const template_ends[] = {".cl", ".cu", ".kw.json"};
enum { N_ENDS = sizeof template_ends / sizeof *template_ends };

static bool has_end(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_template_file(const char *name)
{
    for (size_t i = 0; i < N_ENDS; i++)
        if (has_end(name, template_ends[i]))
            return true;
    return false;
}

/* Does the file say somewhere near its beginning that it is a template? Others are no business of ours. */
static bool has_front_matter(const char *path)
{
    strb text = STRB_INIT;
    bool has = fs_read(path, 0, &text, NULL) == KW_OK && strstr(strb_text(&text), "/*kernwright") != NULL;
    strb_clear(&text);
    return has;
}

static bool is_known(const found *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i]->name, name) == 0)
            return true;
    return false;
}

/* Takes the template over; one of a name that is there already gives way. */
static void add(found *f, template *p)
{
    if (is_known(f, p->name)) {
        template_free(p);
        return;
    }
    f->items = mem_grow(f->items, &f->capacity, f->n + 1, sizeof(template *));
    f->items[f->n++] = p;
}

static void try_file(found *f, const task *t, const char *path)
{
    kw_error err = {0};
    char *task_name = NULL;
    template *p = NULL;
    if (!has_end(path, ".kw.json") && !has_front_matter(path))
        return; /* a kernel with a sidecar, or a file of something else */
    kw_code code = template_task_name(path, &task_name, &err);
    if (code == KW_OK && strcmp(task_name, t->name) == 0)
        code = template_load(path, t, &p, &err);
    if (code != KW_OK)
        log_warn("template left out: %s", err.message);
    else if (p != NULL)
        add(f, p);
    free(task_name);
}

static void scan_folder(found *f, const task *t, const char *folder)
{
    char **names;
    size_t n;
    if (folder == NULL || !fs_is_folder(folder) || fs_list(folder, NULL, &names, &n, NULL) != KW_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(folder, names[i]);
        if (is_template_file(names[i]) && fs_is_file(path))
            try_file(f, t, path);
        free(path);
        free(names[i]);
    }
    free(names);
}

static bool same_folder(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL), *real_b = b != NULL ? realpath(b, NULL) : NULL;
    bool same = real_a != NULL && real_b != NULL && strcmp(real_a, real_b) == 0;
    free(real_a);
    free(real_b);
    return same;
}

/* ---- by name ---- */

/* FOLDER/NAME with one of the extensions; the caller frees. */
static char *file_in(const char *folder, const char *name)
{
    static const char *const ends[] = {".cl", ".cu", ".kw.json", ".cl.kw.json", ".cu.kw.json"};
    if (folder == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        strb path = STRB_INIT;
        strb_printf(&path, "%s/%s%s", folder, name, ends[i]);
        if (fs_is_file(strb_text(&path)))
            return strb_take(&path);
        strb_clear(&path);
    }
    return NULL;
}

static void collect_names(const char *folder, strb *list, char ***names, size_t *n, size_t *capacity)
{
    char **entries;
    size_t n_entries;
    if (folder == NULL || !fs_is_folder(folder) || fs_list(folder, NULL, &entries, &n_entries, NULL) != KW_OK)
        return;
    for (size_t i = 0; i < n_entries; i++) {
        bool is_template = is_template_file(entries[i]);
        if (is_template) {
            *strchr(entries[i], '.') = '\0';
        }
        bool listed = !is_template;
        for (size_t k = 0; k < *n && !listed; k++)
            listed = strcmp((*names)[k], entries[i]) == 0;
        if (!listed) {
            *names = mem_grow(*names, capacity, *n + 1, sizeof **names);
            (*names)[(*n)++] = mem_strdup(entries[i]);
            strb_printf(list, "%s%s", list->length > 0 ? ", " : "", entries[i]);
        }
        free(entries[i]);
    }
    free(entries);
}

static kw_code unknown_template(const char *name, const char *data, kw_error *err)
{
    char **names = NULL;
    size_t n = 0, capacity = 0;
    strb list = STRB_INIT;
    collect_names("templates", &list, &names, &n, &capacity);
    collect_names(data, &list, &names, &n, &capacity);
    const char *nearest = json_nearest(name, (const char *const *)names, n);
    kw_error_set(err, KW_BAD_INPUT,
                 "no template %s: not a file, and not in ./templates or among the installed ones%s%s%s%s", name,
                 nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                 n > 0 && nearest == NULL ? "; known: " : "", nearest == NULL ? strb_text(&list) : "");
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    strb_clear(&list);
    return KW_BAD_INPUT;
}

static char *path_of(const char *name, const char *data)
{
    if (fs_is_file(name))
        return mem_strdup(name);
    if (strchr(name, '/') != NULL)
        return NULL;
    char *path = file_in("templates", name);
    return path != NULL ? path : file_in(data, name);
}

char *template_path_of(const char *name)
{
    char *data = fs_data_folder("templates");
    char *path = path_of(name, data);
    free(data);
    return path;
}

static kw_code load_named(const task *t, const char *name, const char *data, template **out, kw_error *err)
{
    char *path = path_of(name, data);
    if (path == NULL)
        return unknown_template(name, data, err);
    kw_code code = template_load(path, t, out, err);
    free(path);
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(template *const *)a)->name, (*(template *const *)b)->name);
}

kw_code template_find(const task *t, const char *const *names, size_t n_names, template ***out, size_t *n,
                      kw_error *err)
{
    found f = {0};
    char *data = fs_data_folder("templates");
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < n_names; i++) {
        template *p = NULL;
        code = load_named(t, names[i], data, &p, err);
        if (code == KW_OK)
            add(&f, p);
    }
    if (n_names == 0) {
        scan_folder(&f, t, "templates");
        if (!same_folder("templates", data))
            scan_folder(&f, t, data);
    }
    if (f.n > 1)
        qsort(f.items, f.n, sizeof(template *), by_name);
    if (code == KW_OK && f.n == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "no template for task %s in ./templates or among the installed ones",
                            t->name);
    free(data);
    if (code != KW_OK) {
        for (size_t i = 0; i < f.n; i++)
            template_free(f.items[i]);
        free(f.items);
        f = (found){0};
    }
    *out = f.items;
    *n = f.n;
    return code;
}
