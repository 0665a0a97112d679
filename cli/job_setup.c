#include "cli/job_setup.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tuner/problem_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kw_code take_shapes(job_setup *j, const char *dims, const char *shapes_file, kw_error *err)
{
    if (dims) {
        j->shapes = mem_calloc(1, sizeof *j->shapes);
        j->n_shapes = 1;
        return task_shape_parse(j->task, dims, j->shapes, err);
    }
    const char *file = shapes_file ? shapes_file : j->task->shapes_file;
    if (!file)
        return kw_error_set(err, KW_BAD_INPUT, "task %s names no shapes: give --dims or --shapes", j->task->name);
    kw_code code = task_shapes_load(j->task, file, &j->shapes, &j->n_shapes, err);
    if (code == KW_OK && j->n_shapes == 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s holds no shape", file);
    return code;
}

/* A problem file brings its task, its kernel and its only shape. */
static kw_code take_problem(job_setup *j, const char *path, const char *type, const char *dims, kw_error *err)
{
    if (dims || type)
        return kw_error_set(err, KW_BAD_INPUT, "%s: a problem file has its own size and types", path);
    j->templates = mem_calloc(1, sizeof *j->templates);
    j->shapes = mem_calloc(1, sizeof *j->shapes);
    kw_code code = problem_kernel_load(path, &j->task, &j->templates[0], j->shapes, err);
    j->n_templates = j->n_shapes = code == KW_OK ? 1 : 0;
    return code == KW_OK ? task_types_parse(j->task, NULL, &j->types, err) : code;
}

/* A verified run needs the fallback of the task as its trusted variant, also when it is not to be tuned. A task that
 * has no template but the named one, a user's own, goes without. */
static void find_fallback(job_setup *j)
{
    for (size_t i = 0; i < j->n_templates; i++)
        if (j->templates[i]->is_fallback)
            return;
    template **all = NULL;
    size_t n = 0;
    if (template_find(j->task, NULL, 0, &all, &n, NULL) != KW_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!j->fallback && all[i]->is_fallback)
            j->fallback = all[i];
        else
            template_free(all[i]);
    }
    free(all);
}

kw_code job_setup_init(job_setup *j, const char *task_name, const char *type, const option_list *names,
                       const char *dims, const char *shapes_file, kw_error *err)
{
    memset(j, 0, sizeof *j);
    if (dims && shapes_file)
        return kw_error_set(err, KW_BAD_INPUT, "give either --dims or --shapes, not both");
    if (problem_is_file(task_name)) {
        kw_code code = names && names->n > 0
                           ? kw_error_set(err, KW_BAD_INPUT, "%s: a problem file has its own kernel", task_name)
                           : take_problem(j, task_name, type, dims ? dims : shapes_file, err);
        if (code != KW_OK)
            job_setup_clear(j);
        return code;
    }
    kw_code code = task_load(task_name, &j->task, err);
    if (code == KW_OK)
        code = task_types_parse(j->task, type, &j->types, err);
    if (code == KW_OK)
        code = template_find(j->task, names ? names->items : NULL, names ? names->n : 0, &j->templates, &j->n_templates,
                             err);
    if (code == KW_OK && j->n_templates == 0)
        code = kw_error_set(err, KW_BAD_INPUT,
                            "no template of task %s found: put one in ./templates or name it with --template",
                            j->task->name);
    if (code == KW_OK)
        find_fallback(j);
    if (code == KW_OK)
        code = take_shapes(j, dims, shapes_file, err);
    if (code != KW_OK)
        job_setup_clear(j);
    return code;
}

void job_setup_clear(job_setup *j)
{
    for (size_t i = 0; i < j->n_templates; i++)
        template_free(j->templates[i]);
    free(j->templates);
    template_free(j->fallback);
    free(j->shapes);
    task_free(j->task);
    memset(j, 0, sizeof *j);
}

static char *in_folder(const char *folder, const char *name)
{
    static const char *const endings[] = {".cl", ".cu", ".kw.json", ".cl.kw.json"};
    for (size_t i = 0; folder && i < sizeof endings / sizeof *endings; i++) {
        strb path = STRB_INIT;
        strb_printf(&path, "%s/%s%s", folder, name, endings[i]);
        if (fs_is_file(strb_text(&path)))
            return strb_take(&path);
        strb_clear(&path);
    }
    return NULL;
}

char *job_setup_find_template(const char *name)
{
    if (fs_is_file(name))
        return mem_strdup(name);
    if (strchr(name, '/'))
        return NULL;
    char *found = in_folder("templates", name);
    if (!found) {
        char *data = fs_data_folder("templates");
        found = in_folder(data, name);
        free(data);
    }
    return found;
}

kw_code job_setup_template(job_setup *j, const char *name, const char *type, const char *dims, kw_error *err)
{
    memset(j, 0, sizeof *j);
    char *path = job_setup_find_template(name), *task_name = NULL;
    if (!path && (strchr(name, '/') || strchr(name, '.'))) /* templates that go by name have neither */
        return kw_error_set(err, KW_BAD_INPUT, "there is no file %s", name);
    if (!path)
        return kw_error_set(err, KW_BAD_INPUT,
                            "no template '%s': give a path, or one of the names that `kernwright templates` "
                            "lists",
                            name);
    if (problem_is_file(path)) {
        kw_code code = take_problem(j, path, type, dims, err);
        free(path);
        if (code != KW_OK)
            job_setup_clear(j);
        return code;
    }
    kw_code code = template_task_name(path, &task_name, err);
    if (code == KW_OK)
        code = task_load(task_name, &j->task, err);
    if (code == KW_OK)
        code = task_types_parse(j->task, type, &j->types, err);
    if (code == KW_OK) {
        j->templates = mem_calloc(1, sizeof *j->templates);
        code = template_load(path, j->task, &j->templates[0], err);
        j->n_templates = code == KW_OK ? 1 : 0;
    }
    if (code == KW_OK && dims)
        code = take_shapes(j, dims, NULL, err);
    if (code == KW_OK)
        find_fallback(j);
    free(path);
    free(task_name);
    if (code != KW_OK)
        job_setup_clear(j);
    return code;
}

kw_code job_setup_config(const template *p, const option_list *set, uint32_t **config, kw_error *err)
{
    *config = mem_calloc(p->n_params + 1, sizeof **config);
    template_default(p, *config);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && set && i < set->n; i++)
        code = template_set(p, set->items[i], *config, err);
    if (code != KW_OK) {
        free(*config);
        *config = NULL;
    }
    return code;
}
