#include "tuner/space_show.h"

#include "tuner/recorded_internal.h"
#include "tuner/space_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds of files ---- */

/* JSON that holds no measurements: by what stands at the top. */
static kw_code kind_of_json(const char *text, size_t length, const char *path, const char *other, space_file *out,
                            kw_error *err)
{
    json *root = json_parse(text, length, path, 1, 1, err);
    if (!root)
        return KW_BAD_INPUT;
    bool is_problem = json_get(root, "ConfigurationSpace") != NULL;
    bool is_sidecar = json_get(root, "task") && json_get(root, "launches");
    json_free(root);
    *out = is_problem ? SPACE_FILE_PROBLEM : SPACE_FILE_TEMPLATE;
    if (is_problem || is_sidecar)
        return KW_OK;
    return kw_error_set(err, KW_BAD_INPUT,
                        "%s: neither a template nor a problem file (\"ConfigurationSpace\") nor recorded measurements, "
                        "but %s",
                        path, other);
}

kw_code space_file_kind(const char *path, space_file *out, kw_error *err)
{
    strb text = STRB_INIT;
    const char *other = "";
    kw_code code = recorded_load(path, &text, err);
    const char *start = strb_text(&text) + strspn(strb_text(&text), " \t\r\n");
    *out = SPACE_FILE_TEMPLATE;
    if (code == KW_OK && (*start == '{' || *start == '[')) {
        *out = SPACE_FILE_RECORDED;
        if (recorded_format_of(strb_text(&text), text.length, &other) == RECORDED_UNKNOWN)
            code = kind_of_json(strb_text(&text), text.length, path, other, out, err);
    }
    strb_clear(&text);
    return code;
}

/* ---- configurations as text ---- */

json *space_config_to_json(const space *s, const uint32_t *config)
{
    json *j = json_new_object();
    for (size_t i = 0; i < s->def.n_params; i++)
        if (space_param_exists(s, i, config))
            json_add(j, s->def.params[i].name, value_to_json(s->def.params[i].values[config[i]]));
    return j;
}

void space_config_print(const space *s, const uint32_t *config, strb *out)
{
    const char *between = "";
    for (size_t i = 0; i < s->def.n_params; i++) {
        if (!space_param_exists(s, i, config))
            continue;
        strb_printf(out, "%s%s=", between, s->def.params[i].name);
        value_print(s->def.params[i].values[config[i]], out);
        between = " ";
    }
}

static kw_code unknown_param(const space *s, const char *name, kw_error *err)
{
    const char **names = mem_calloc(s->def.n_params + 1, sizeof *names);
    strb list = STRB_INIT;
    for (size_t i = 0; i < s->def.n_params; i++) {
        names[i] = s->def.params[i].name;
        if (i < 40)
            strb_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *near = json_nearest(name, names, s->def.n_params);
    kw_error_set(err, KW_BAD_INPUT, "there is no parameter '%s'%s%s%s; the space has %s%s", name,
                 near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", strb_text(&list),
                 s->def.n_params > 40 ? ", ..." : "");
    strb_clear(&list);
    free(names);
    return KW_BAD_INPUT;
}

static kw_code read_one(const space *s, const char *name, const char *text, uint32_t *config, kw_error *err)
{
    size_t i = 0;
    while (i < s->def.n_params && strcmp(s->def.params[i].name, name) != 0)
        i++;
    if (i == s->def.n_params)
        return unknown_param(s, name, err);
    if (config[i] != SPACE_OPEN)
        return kw_error_set(err, KW_BAD_INPUT, "%s is given twice", name);
    const space_param *p = &s->def.params[i];
    arena *a = arena_new();
    value v = value_from_text(text, a);
    strb list = STRB_INIT;
    for (size_t k = 0; k < p->n_values && config[i] == SPACE_OPEN; k++) {
        bool is_text = p->values[k].kind == VALUE_STRING;
        if (value_equal(p->values[k], is_text ? value_string(text) : v))
            config[i] = (uint32_t)k;
        if (k < 20) {
            strb_add(&list, k > 0 ? ", " : "");
            value_print(p->values[k], &list);
        }
    }
    kw_code code = KW_OK;
    if (config[i] == SPACE_OPEN)
        code = kw_error_set(err, KW_BAD_INPUT, "%s=%s is not among the parameter's values: %s%s", name, text,
                            strb_text(&list), p->n_values > 20 ? ", ..." : "");
    strb_clear(&list);
    arena_free(a);
    return code;
}

kw_code space_config_read(const space *s, const char *text, uint32_t *config, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; i < s->def.n_params; i++)
        config[i] = SPACE_OPEN;
    char *copy = mem_strdup(text), *rest = NULL;
    for (char *item = strtok_r(copy, ",", &rest); item && code == KW_OK; item = strtok_r(NULL, ",", &rest)) {
        while (*item == ' ')
            item++;
        char *equals = strchr(item, '=');
        if (!equals || equals == item) {
            code = kw_error_set(err, KW_BAD_INPUT, "expected NAME=VALUE,NAME=VALUE,..., found '%s'", item);
            continue;
        }
        *equals = '\0';
        code = read_one(s, item, equals + 1, config, err);
    }
    free(copy);
    return code;
}

/* ---- explaining ---- */

/* What does not exist takes its preset value; then, is everything known? */
static bool complete(const space *s, uint32_t *config)
{
    for (size_t i = 0; i < s->def.n_params; i++) {
        if (config[i] != SPACE_OPEN)
            continue;
        if (space_param_exists(s, i, config)) /* asks the parameters above, which are known here */
            return false;
        config[i] = (uint32_t)s->def.params[i].preset;
    }
    return true;
}

static uint64_t count_listed(const space *s, const uint32_t *config)
{
    uint64_t found = 0;
    uint32_t *listed = mem_alloc(s->def.n_params * sizeof *listed);
    for (uint64_t rank = 0; rank < s->count; rank++) {
        bool agrees = true;
        space_unrank(s, rank, listed);
        for (size_t i = 0; i < s->def.n_params && agrees; i++)
            agrees = config[i] == SPACE_OPEN || config[i] == listed[i];
        found += agrees;
    }
    free(listed);
    return found;
}

kw_code space_explain_some(const space *s, uint32_t *config, const space_limits *limits, uint64_t *count, strb *text,
                           kw_error *err)
{
    *count = 0;
    if (s->is_list) {
        *count = count_listed(s, config);
        strb_add(text, *count > 0 ? "" : "not among the recorded configurations; their file has no constraints");
        return KW_OK;
    }
    if (complete(s, config)) {
        *count = space_explain(s, config, text) < 0;
        return KW_OK;
    }
    space_def def = s->def;
    space_param *params = mem_alloc(def.n_params * sizeof *params);
    memcpy(params, def.params, def.n_params * sizeof *params);
    for (size_t i = 0; i < def.n_params; i++) {
        if (config[i] == SPACE_OPEN)
            continue;
        params[i].values += config[i];
        params[i].n_values = 1;
        params[i].when = NULL; /* the constraint stays */
    }
    def.params = params;
    space *some = NULL;
    kw_error why;
    kw_code code = space_new(&def, limits, &some, &why);
    if (code == KW_OK)
        *count = space_count(some);
    else if (code == KW_FAILED)
        strb_add(text, why.message);
    else
        kw_error_set(err, code, "%s", why.message);
    space_free(some);
    free(params);
    return code == KW_FAILED ? KW_OK : code;
}
