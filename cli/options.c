#include "cli/options.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COUNT 1000000
#define MAX_TOTAL 1000000000000000

static void print_help(const option_set *set)
{
    printf("usage: kernwright %s %s\n\n%s\n", set->command, set->synopsis, set->about);
    if (set->n_rows)
        printf("\noptions:\n");
    for (size_t i = 0; i < set->n_rows; i++) {
        const option_row *r = &set->rows[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", r->name, r->value ? " " : "", r->value ? r->value : "");
        printf("  %-26s %s%s\n", left, r->help, r->kind == OPTION_LIST ? " (may be repeated)" : "");
    }
}

static const option_row *find(const option_set *set, const char *name, size_t n)
{
    for (size_t i = 0; i < set->n_rows; i++)
        if (strlen(set->rows[i].name) == n && strncmp(set->rows[i].name, name, n) == 0)
            return &set->rows[i];
    return NULL;
}

static kw_code unknown(const option_set *set, const char *arg, size_t n, kw_error *err)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < set->n_rows && count < 64; i++)
        names[count++] = set->rows[i].name;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    const char *near = json_nearest(name, names, count);
    return kw_error_set(err, KW_BAD_INPUT, "unknown option %s%s%s; see kernwright %s --help", name,
                        near ? ", did you mean " : "", near ? near : "", set->command);
}

static kw_code add_to_list(option_list *list, const char *value, kw_error *err)
{
    if (list->n >= sizeof list->items / sizeof list->items[0])
        return kw_error_set(err, KW_BAD_INPUT, "too many arguments (%zu at most)",
                            sizeof list->items / sizeof list->items[0]);
    list->items[list->n++] = value;
    return KW_OK;
}

static kw_code store_value(const option_row *r, const char *value, kw_error *err)
{
    switch (r->kind) {
    case OPTION_FLAG:
        *(bool *)r->target = true;
        return KW_OK;
    case OPTION_TEXT:
        *(const char **)r->target = value;
        return KW_OK;
    case OPTION_LIST:
        return add_to_list(r->target, value, err);
    case OPTION_INT:
    case OPTION_COUNT:
    case OPTION_LIMIT:
    case OPTION_TOTAL:
        break;
    }
    char *end;
    errno = 0;
    long long x = strtoll(value, &end, 10);
    if (errno || end == value || *end)
        return kw_error_set(err, KW_BAD_INPUT, "%s needs an integer, not '%s'", r->name, value);
    const long long least = r->kind == OPTION_COUNT ? 0 : 1, most = r->kind == OPTION_TOTAL ? MAX_TOTAL : MAX_COUNT;
    if (r->kind != OPTION_INT && (x < least || x > most))
        return kw_error_set(err, KW_BAD_INPUT, "%s needs an integer from %lld to %lld, not '%s'", r->name, least, most,
                            value);
    *(int64_t *)r->target = x;
    return KW_OK;
}

kw_code options_parse(const option_set *set, int argc, char **argv, option_list *positional, bool *helped,
                      kw_error *err)
{
    *helped = false;
    positional->n = 0;
    bool only_positional = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (only_positional || arg[0] != '-' || arg[1] == '\0') {
            kw_code code = add_to_list(positional, arg, err);
            if (code != KW_OK)
                return code;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(set);
            *helped = true;
            return KW_OK;
        }
        size_t n = strcspn(arg, "=");
        const option_row *r = find(set, arg, n);
        if (!r)
            return unknown(set, arg, n, err);
        const char *value = arg[n] == '=' ? arg + n + 1 : NULL;
        if (r->kind == OPTION_FLAG && value)
            return kw_error_set(err, KW_BAD_INPUT, "%s takes no value", r->name);
        if (r->kind != OPTION_FLAG && !value) {
            if (i + 1 >= argc)
                return kw_error_set(err, KW_BAD_INPUT, "%s needs a value (%s)", r->name, r->value ? r->value : "VALUE");
            value = argv[++i];
        }
        kw_code code = store_value(r, value, err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}
