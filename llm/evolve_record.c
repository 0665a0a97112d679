#include "llm/evolve_record.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t MOST_RECORDED = 999999; /* six digits in a key */
static const uint64_t WIDEST_HOLE = 1000;     /* of replies that are missing within one record */

static kw_code wrong(const char *folder, const char *member, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "%s/journal.jsonl:1: \"%s\" of its run cannot be read", folder, member);
}

/* evolve_settings.c writes them. */
static const char *unknown_member(const json *info)
{
    static const char *const known[] = {"task",     "types",   "shapes",      "device",    "seed",    "archive",
                                        "gradient", "targets", "meta",        "operators", "repairs", "rungs",
                                        "cold",     "probe",   "independent", "steering"};
    for (const json *m = json_first(info); m; m = json_next(m)) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], json_key(m)) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return json_key(m);
    }
    return NULL;
}

static kw_code read_shapes(const json *list, const char *folder, const task *t, task_shape **shapes, size_t *n,
                           kw_error *err)
{
    if (json_kind_of(list) != JSON_ARRAY || json_count(list) == 0)
        return wrong(folder, "shapes", err);
    *shapes = mem_calloc(json_count(list), sizeof **shapes);
    kw_code code = KW_OK;
    for (const json *s = json_first(list); s && code == KW_OK; s = json_next(s))
        code = task_shape_from_json(t, s, folder, &(*shapes)[(*n)++], err);
    return code;
}

static kw_code read_switches(const json *info, const char *folder, evolve_task_options *o, kw_error *err)
{
    const struct {
        const char *name;
        bool *on, needed;
    } all[] = {{"archive", &o->archive, true},
               {"gradient", &o->gradient, true},
               {"targets", &o->targets, true},
               {"meta", &o->meta, true},
               {"independent", &o->independent, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const json *j = json_get(info, all[i].name);
        if (json_kind_of(j) != JSON_BOOL && (j || all[i].needed))
            return wrong(folder, all[i].name, err);
        *all[i].on = json_truth(j);
    }
    return KW_OK;
}

static kw_code read_numbers(const json *info, const char *folder, evolve_task_options *o, kw_error *err)
{
    const json *operators = json_get(info, "operators");
    int64_t seed = 0, repairs = 0;
    if (!json_int(json_get(info, "seed"), &seed))
        return wrong(folder, "seed", err);
    if (!json_int(json_get(info, "repairs"), &repairs) || repairs < 0 || repairs > (int64_t)MOST_RECORDED)
        return wrong(folder, "repairs", err);
    if (json_kind_of(operators) != JSON_NUMBER || !(json_number(operators) >= 0 && json_number(operators) <= 1))
        return wrong(folder, "operators", err);
    o->seed = (uint64_t)seed;
    o->repairs = repairs;
    o->operators = json_number(operators);
    return KW_OK;
}

kw_code evolve_record_options(const json *first, const char *folder, evolve_task_options *o, task_shape **shapes,
                              size_t *n_shapes, kw_error *err)
{
    const json *info = json_get(first, "info");
    const char *name = json_text(json_get(info, "task")), *types = json_text(json_get(info, "types"));
    if (!info || !name || !types)
        return kw_error_set(err, KW_BAD_INPUT, "%s: its journal does not begin with a run", folder);
    if (strcmp(name, o->task->name) != 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: it is of the task %s, not %s", folder, name, o->task->name);
    if (unknown_member(info))
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s/journal.jsonl:1: \"%.60s\" of its run is not known here: a later version wrote it",
                            folder, unknown_member(info));
    kw_code code = task_types_parse(o->task, types, &o->types, err);
    if (code == KW_OK)
        code = read_shapes(json_get(info, "shapes"), folder, o->task, shapes, n_shapes, err);
    if (code == KW_OK)
        code = read_switches(info, folder, o, err);
    if (code == KW_OK)
        code = read_numbers(info, folder, o, err);
    o->shapes = *shapes;
    o->n_shapes = *n_shapes;
    return code;
}

/* Ordinal of "generate-000012[-r1].reply.md"; 0: none, or none that this program gives. */
static uint64_t ordinal_of(const char *name)
{
    static const char begin[] = "generate-";
    const size_t n = strlen(begin), digits = strspn(name + (strncmp(name, begin, n) == 0 ? n : 0), "0123456789");
    return strncmp(name, begin, n) == 0 && digits == 6 ? strtoull(name + n, NULL, 10) : 0;
}

bool evolve_record_has_replies(const char *folder)
{
    char **names;
    size_t n;
    bool has = false;
    if (!fs_is_folder(folder) || fs_list(folder, ".reply.md", &names, &n, NULL) != KW_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(folder, names[i]);
        has |= ordinal_of(names[i]) > 0 && fs_is_file(path);
        free(path);
        free(names[i]);
    }
    free(names);
    return has;
}

kw_code evolve_record_attempts(const char *folder, uint64_t *out, kw_error *err)
{
    char **names;
    size_t n;
    uint64_t last = 0;
    kw_code code = fs_list(folder, ".reply.md", &names, &n, err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; i < n; i++) { /* sorted, and six digits each */
        uint64_t ordinal = ordinal_of(names[i]);
        if (ordinal > last + WIDEST_HOLE)
            log_warn("%s/%s: far behind all other replies: it is none of this record and left alone", folder, names[i]);
        else if (ordinal > last)
            last = ordinal;
        free(names[i]);
    }
    free(names);
    *out = last;
    return last > 0 ? KW_OK
                    : kw_error_set(err, KW_BAD_INPUT,
                                   "--llm replay:%s: it has no reply (generate-000001.reply.md, ...)", folder);
}
