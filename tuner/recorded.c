/* Recorded spaces: the door to the readers of all formats. */
#include "tuner/recorded_internal.h"

#include "base/fs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1},
             {"us", 1e3},
             {"ms", 1e6},
             {"s", 1e9},
             {"nanoseconds", 1},
             {"microseconds", 1e3},
             {"milliseconds", 1e6},
             {"miliseconds", 1e6}, /* as some writers of T4 spell it */
             {"seconds", 1e9},
             {"nanosecond", 1},
             {"microsecond", 1e3},
             {"millisecond", 1e6},
             {"second", 1e9},
             {"sec", 1e9}};

double recorded_unit_of(const char *text)
{
    for (size_t i = 0; text && i < sizeof units / sizeof *units; i++)
        if (strcasecmp(units[i].name, text) == 0)
            return units[i].ns;
    return 0;
}

kw_code recorded_unit(const char *name, double *ns, kw_error *err)
{
    *ns = recorded_unit_of(name);
    return *ns > 0 ? KW_OK
                   : kw_error_set(err, KW_BAD_INPUT, "unknown unit of time '%s'; there are: ns, us, ms, s", name);
}

recorded_result recorded_result_of(const json *time, double unit_ns, double *time_ns)
{
    *time_ns = 0;
    if (json_kind_of(time) == JSON_STRING)
        return strcmp(json_text(time), "InvalidConfig") == 0 ? RESULT_INVALID : RESULT_FAILED;
    if (json_kind_of(time) == JSON_NUMBER)
        *time_ns = json_number(time) * unit_ns;
    return RESULT_TIME;
}

static kw_code read_format(recorded_format format, const recorded_source *s, recorded_list *list, kw_error *err)
{
    switch (format) {
    case RECORDED_KERNEL_TUNER:
        return recorded_read_kernel_tuner(s, list, err);
    case RECORDED_T4:
        return recorded_read_t4(s, list, err);
    case RECORDED_KTT:
        return recorded_read_ktt(s, list, err);
    case RECORDED_CLBLAST:
        return recorded_read_clblast(s, list, err);
    case RECORDED_RESULTS:
        return recorded_read_results(s, list, err);
    case RECORDED_UNKNOWN:
        break;
    }
    return KW_BAD_INPUT;
}

/* The name without endings that say what kind of file it is. */
static char *name_of(const char *file)
{
    static const char *const endings[] = {".gz", ".json", ".jsonl", ".kt"};
    const char *base = fs_base_name(file);
    size_t n = strlen(base);
    for (size_t i = 0; i < sizeof endings / sizeof *endings;) {
        size_t length = strlen(endings[i]);
        if (n > length && strncmp(base + n - length, endings[i], length) == 0) {
            n -= length;
            i = 0;
        } else {
            i++;
        }
    }
    return mem_strndup(base, n);
}

/* "FOLDER/NAME" of a file in a folder; NAME otherwise. */
static char *name_with_folder(const recorded *r)
{
    const char *base = fs_base_name(r->file), *end = base;
    while (end > r->file && end[-1] == '/')
        end--;
    const char *begin = end;
    while (begin > r->file && begin[-1] != '/')
        begin--;
    return arena_printf(r->memory, "%.*s%s%s", (int)(end - begin), begin, end > begin ? "/" : "", r->name);
}

/* Collections keep A100.json of each kernel in a folder of its own. */
static void tell_apart(recorded_list *list, size_t before)
{
    size_t n = list->n;
    bool *same = mem_calloc(n + 1, sizeof *same);
    for (size_t i = before; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            const recorded *a = list->items[j], *b = list->items[i];
            if (strcmp(a->file, b->file) != 0 && strcmp(a->plain, b->plain) == 0)
                same[i] = same[j] = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (same[i] && list->items[i]->name == list->items[i]->plain)
            list->items[i]->name = name_with_folder(list->items[i]);
    free(same);
}

/* `text` is changed. */
static kw_code parse(strb *text, const char *file, const recorded_options *o, recorded_list *list, kw_error *err)
{
    const char *other;
    recorded_format format = recorded_format_of(strb_text(text), text->length, &other);
    if (format == RECORDED_UNKNOWN)
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s: not a recorded space but %s; it may be a Kernel Tuner cache, T4 results, KTT output, "
                            "CLBlast tuner output or kernwright results",
                            file, other);
    if (format != RECORDED_RESULTS)
        recorded_mend_numbers(text->data, text->length);
    size_t before = list->n;
    recorded_source s = {strb_text(text), text->length, file, o};
    kw_code code = read_format(format, &s, list, err);
    for (size_t i = before; i < list->n; i++) {
        recorded *r = list->items[i];
        char *name = name_of(file);
        r->name = r->name ? arena_printf(r->memory, "%s:%s", name, r->name) : arena_strdup(r->memory, name);
        r->plain = r->name;
        r->file = arena_strdup(r->memory, file);
        free(name);
    }
    tell_apart(list, before);
    return code;
}

kw_code recorded_read(const char *path, const recorded_options *o, recorded_list *list, kw_error *err)
{
    strb text = STRB_INIT;
    kw_code code = recorded_load(path, &text, err);
    if (code == KW_OK)
        code = parse(&text, path, o, list, err);
    strb_clear(&text);
    return code;
}

kw_code recorded_parse(const char *text, size_t length, const char *name, const recorded_options *o,
                       recorded_list *list, kw_error *err)
{
    strb copy = STRB_INIT;
    strb_add_n(&copy, text, length);
    kw_code code = recorded_unpack(&copy, name, err);
    if (code == KW_OK)
        code = parse(&copy, name, o, list, err);
    strb_clear(&copy);
    return code;
}

void recorded_free(recorded *r)
{
    if (!r)
        return;
    space_free(r->space);
    free(r->times_ns);
    arena_free(r->memory);
    free(r);
}

void recorded_list_clear(recorded_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        recorded_free(list->items[i]);
    free(list->items);
    memset(list, 0, sizeof *list);
}

bool recorded_time(const recorded *r, const uint32_t *config, double *time_ns)
{
    uint64_t rank;
    if (!space_rank(r->space, config, &rank))
        return false;
    *time_ns = r->times_ns[rank];
    return true;
}
