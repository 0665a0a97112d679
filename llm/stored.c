#include "llm/stored.h"

#include "base/json.h"
#include "base/mem.h"
#include "codegen/task.h"
#include "codegen/variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct collection {
    stored_kernel *list;
    double *sums; /* of logarithms of shares */
    size_t n, capacity, sums_capacity;
    size_t group_start; /* first kernel of the group that is read */
    /* Rows of one shape follow each other: what has been seen of it. */
    char *shape;
    size_t *members;
    double *times;
    size_t n_members, members_capacity, times_capacity;
} collection;

void stored_kernels_free(stored_kernel *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *texts[] = {list[i].task,          list[i].types,  list[i].device,     list[i].mode,
                         list[i].template_name, list[i].config, list[i].why_source, list[i].why_program};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            free(texts[k]);
    }
    free(list);
}

bool stored_same_group(const stored_kernel *a, const stored_kernel *b)
{
    return strcmp(a->task, b->task) == 0 && strcmp(a->types, b->types) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->mode, b->mode) == 0;
}

static bool of_group(const stored_kernel *k, const measurement *m)
{
    return strcmp(k->task, m->task) == 0 && strcmp(k->types, m->types) == 0 && strcmp(k->device, m->device_key) == 0 &&
           strcmp(k->mode, m->mode) == 0;
}

/* The shape has been read: every kernel's share of its best time. */
static void end_shape(collection *c)
{
    double best = INFINITY;
    for (size_t i = 0; i < c->n_members; i++)
        best = fmin(best, c->times[i]);
    for (size_t i = 0; i < c->n_members; i++) {
        c->sums[c->members[i]] += log(best / c->times[i]);
        c->list[c->members[i]].n_shapes++;
    }
    c->n_members = 0;
    free(c->shape);
    c->shape = NULL;
}

static void read_program(stored_kernel *k, const char *extra)
{
    json *j = extra ? json_parse(extra, strlen(extra), NULL, 1, 1, NULL) : NULL;
    if (j && !k->has_program)
        k->has_program = artefact_from_json(json_get(j, "artefact"), &k->made);
    json_free(j);
}

static size_t kernel_of(collection *c, const measurement *m)
{
    for (size_t i = c->n; i-- > c->group_start;) {
        if (strcmp(c->list[i].source_hash, m->source_hash) == 0)
            return i;
    }
    c->list = mem_grow(c->list, &c->capacity, c->n + 1, sizeof *c->list);
    c->sums = mem_grow(c->sums, &c->sums_capacity, c->n + 1, sizeof *c->sums);
    c->sums[c->n] = 0;
    stored_kernel *k = &c->list[c->n];
    *k = (stored_kernel){.task = mem_strdup(m->task),
                         .types = mem_strdup(m->types),
                         .device = mem_strdup(m->device_key),
                         .mode = mem_strdup(m->mode),
                         .template_name = mem_strdup(m->template_name ? m->template_name : "-"),
                         .config = mem_strdup(m->config ? m->config : "{}")};
    (void)snprintf(k->source_hash, sizeof k->source_hash, "%s", m->source_hash);
    return c->n++;
}

static bool take_row(const measurement *m, void *cookie)
{
    collection *c = cookie;
    if (m->time.n == 0)
        return true;
    bool other_group = c->n == 0 || !of_group(&c->list[c->n - 1], m);
    if (c->shape && (other_group || strcmp(c->shape, m->shape) != 0))
        end_shape(c);
    if (other_group)
        c->group_start = c->n;
    if (!c->shape)
        c->shape = mem_strdup(m->shape);
    size_t at = kernel_of(c, m), i = 0;
    read_program(&c->list[at], m->extra);
    while (i < c->n_members && c->members[i] != at)
        i++;
    if (i == c->n_members) {
        c->members = mem_grow(c->members, &c->members_capacity, i + 1, sizeof *c->members);
        c->times = mem_grow(c->times, &c->times_capacity, i + 1, sizeof *c->times);
        c->members[i] = at;
        c->times[i] = m->time.median;
        c->n_members++;
    }
    c->times[i] = fmin(c->times[i], m->time.median);
    return true;
}

static kw_code find_kind(store *s, const task *t, stored_kernel *k, kw_error *err)
{
    variant *v = NULL;
    strb why = STRB_INIT;
    kw_code code = t ? store_variant(s, t, k->source_hash, &v, err) : KW_OK;
    if (v) {
        k->has_source = true;
        k->source = behaviour_of_source(v->source, v->n_launches, &why);
        k->why_source = strb_take(&why);
    }
    if (k->has_program) {
        strb other = STRB_INIT;
        k->program = behaviour_of_artefact(&k->made, v ? v->n_launches : 1, &other);
        k->why_program = strb_take(&other);
    }
    variant_free(v);
    return code;
}

static kw_code find_kinds(store *s, stored_kernel *list, size_t n, kw_error *err)
{
    task *t = NULL;
    kw_code code = KW_OK;
    for (size_t i = 0; i < n && code == KW_OK; i++) {
        if (i == 0 || strcmp(list[i].task, list[i - 1].task) != 0) {
            task_free(t);
            if (task_load(list[i].task, &t, NULL) != KW_OK)
                t = NULL; /* somebody else's task: then by the program alone */
        }
        code = find_kind(s, t, &list[i], err);
    }
    task_free(t);
    return code;
}

kw_code stored_kernels(store *s, const char *task_name, stored_kernel **out, size_t *n, kw_error *err)
{
    collection c = {.list = NULL};
    store_query q = {.task = task_name, .only_ok = true};
    kw_code code = store_each(s, &q, take_row, &c, err);
    if (code == KW_OK) {
        end_shape(&c);
        for (size_t i = 0; i < c.n; i++)
            c.list[i].share = c.list[i].n_shapes ? exp(c.sums[i] / (double)c.list[i].n_shapes) : NAN;
        code = find_kinds(s, c.list, c.n, err);
    }
    free(c.shape);
    free(c.sums);
    free(c.members);
    free(c.times);
    if (code != KW_OK) {
        stored_kernels_free(c.list, c.n);
        return code;
    }
    *out = c.list;
    *n = c.n;
    return KW_OK;
}

archive *stored_archive(const stored_kernel *list, size_t n)
{
    archive *a = archive_new();
    for (size_t i = 0; i < n; i++) {
        const stored_kernel *k = &list[i];
        if (!k->has_program && !k->has_source)
            continue;
        offer o = {.where = k->has_program ? k->program : k->source, .fitness = k->share, .config = k->config};
        memcpy(o.source_hash, k->source_hash, sizeof o.source_hash);
        archive_offer(a, &o, i, true);
    }
    return a;
}
