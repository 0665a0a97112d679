#include "tests/support_header.h"

#include "base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

void support_begin(support_model *s, const char *task_text, const char *types, const char *prefix)
{
    kw_error err = {0};
    memset(s, 0, sizeof *s);
    if (*task_text == '{') {
        json *j = json_parse(task_text, strlen(task_text), "task.json", 1, 1, &err);
        need(j ? KW_OK : KW_BAD_INPUT, &err);
        need(task_from_json(j, "task.json", &s->task, &err), &err);
        json_free(j);
    } else {
        need(task_load(task_text, &s->task, &err), &err);
    }
    need(task_types_parse(s->task, types ? types : "", &s->types, &err), &err);
    s->model.task = s->task;
    s->model.types = s->types;
    s->model.prefix = prefix;
    s->model.tool_version = "0.0.0-test";
}

void support_end(support_model *s)
{
    for (size_t i = 0; i < s->model.n_variants; i++)
        variant_free(s->variants[i]);
    for (size_t i = 0; i < s->n_templates; i++)
        template_free(s->templates[i]);
    task_free(s->task);
    free(s->rows);
    memset(s, 0, sizeof *s);
}

size_t support_template(support_model *s, const char *file)
{
    kw_error err = {0};
    template **out = &s->templates[s->n_templates];
    if (*file == '/' && file[1] == '*')
        need(template_parse(file, strlen(file), "test.cl", s->task, out, &err), &err);
    else
        need(template_load(file, s->task, out, &err), &err);
    return s->n_templates++;
}

int support_variant(support_model *s, size_t template_number, const char *settings, const char *shape, const char *note)
{
    const template *p = s->templates[template_number];
    kw_error err = {0};
    task_shape dims;
    uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
    char *text = mem_strdup(settings), *rest = text;
    size_t i = s->model.n_variants++;
    template_default(p, config);
    for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
        need(template_set(p, one, config, &err), &err);
    if (shape)
        need(task_shape_parse(s->task, shape, &dims, &err), &err);
    need(variant_expand(p, &s->types, config, shape ? &dims : NULL, &s->variants[i], &err), &err);
    s->notes[i] = note;
    free(text);
    free(config);
    return (int)i;
}

int support_device(support_model *s, const char *key, const char *provenance, int default_variant)
{
    const header_device d = {key, provenance, default_variant, NULL};
    s->devices[s->model.n_devices] = d;
    return (int)s->model.n_devices++;
}

void support_row_dims(support_model *s, int device, const int64_t *dims, int runs, float regret)
{
    header_row row = {.device = device, .variant = runs, .expected_regret = regret};
    memcpy(row.dims, dims, s->task->n_dims * sizeof *dims);
    s->rows = mem_grow(s->rows, &s->rows_capacity, s->model.n_rows + 1, sizeof *s->rows);
    s->rows[s->model.n_rows++] = row;
}

void support_row(support_model *s, int device, const char *shape, int runs, float regret)
{
    kw_error err = {0};
    task_shape dims;
    need(task_shape_parse(s->task, shape, &dims, &err), &err);
    support_row_dims(s, device, dims.dims, runs, regret);
}

/* `out` gets an array of pointers to const, as the model wants it. */
static void connect(support_model *s)
{
    s->model.variants = (const variant *const *)s->variants;
    s->model.variant_notes = s->notes;
    s->model.devices = s->devices;
    s->model.rows = s->rows;
}

strb support_text(support_model *s)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    connect(s);
    need(header_write(&s->model, &out, &err), &err);
    return out;
}

void support_write(support_model *s, const char *folder, const char *name)
{
    kw_error err = {0};
    strb text = support_text(s);
    char *path = fs_join(folder, name);
    need(fs_write(path, text.data, text.length, &err), &err);
    free(path);
    strb_clear(&text);
}
