/* The kernels of a folder, and what each says about itself. */
#include "tests/mutants/mutants.h"

#include "base/fs.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(o) ((uint32_t)1 << (o))

/* What says nothing about a kernel's results: it was never run. A mutant whose point this is lists it. */
#define NOT_JUDGED (BIT(OUTCOME_OK) | BIT(OUTCOME_REJECTED) | BIT(OUTCOME_EXPAND_ERROR) | BIT(OUTCOME_COMPILE_ERROR))
#define DEFAULT_EXPECT (UINT32_MAX & ~NOT_JUDGED)

static kw_code copy(char *to, size_t size, const char *text, size_t length, const mutant *m, kw_error *err)
{
    if (length >= size)
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"%.*s\" is too long", m->path, (int)length, text);
    memcpy(to, text, length);
    to[length] = '\0';
    return KW_OK;
}

/* "wrong,timeout" */
static kw_code read_expect(mutant *m, const char *text, size_t length, kw_error *err)
{
    char list[160];
    kw_code code = copy(list, sizeof list, text, length, m, err);
    m->expect = 0;
    for (char *rest = list, *name; code == KW_OK && (name = strtok_r(rest, ",", &rest));) {
        outcome o;
        if (!outcome_from_name(name, &o))
            return kw_error_set(err, KW_BAD_INPUT, "%s: there is no outcome '%s'", m->path, name);
        m->expect |= BIT(o);
    }
    m->is_control = m->expect == BIT(OUTCOME_OK);
    return code;
}

static kw_code read_member(mutant *m, const char *key, size_t key_length, const char *text, size_t length,
                           kw_error *err)
{
    if (key_length == 6 && memcmp(key, "family", 6) == 0)
        return copy(m->family, sizeof m->family, text, length, m, err);
    if (key_length == 4 && memcmp(key, "dims", 4) == 0)
        return copy(m->dims, sizeof m->dims, text, length, m, err);
    if (key_length == 6 && memcmp(key, "expect", 6) == 0)
        return read_expect(m, text, length, err);
    if (key_length == 3 && memcmp(key, "set", 3) == 0) {
        size_t used = strlen(m->set);
        if (used > 0)
            m->set[used++] = ' ';
        return copy(m->set + used, sizeof m->set - used, text, length, m, err);
    }
    return kw_error_set(err, KW_BAD_INPUT, "%s: unknown '%.*s' after \"mutant:\"; known: family, expect, dims, set",
                        m->path, (int)key_length, key);
}

/* "mutant: family=missing-barrier expect=wrong dims=M=64,N=64,K=64", to the end of the line or of the comment. */
static kw_code read_line(mutant *m, const char *text, kw_error *err)
{
    const char *at = strstr(text, "mutant:");
    if (!at)
        return KW_OK;
    at += strlen("mutant:");
    for (;;) {
        at += strspn(at, " \t");
        size_t length = strcspn(at, " \t\r\n");
        if (length == 0 || strncmp(at, "*/", 2) == 0)
            return KW_OK;
        const char *equals = memchr(at, '=', length);
        if (!equals)
            return kw_error_set(err, KW_BAD_INPUT, "%s: \"%.*s\" after \"mutant:\" is not KEY=VALUE", m->path,
                                (int)length, at);
        kw_code code = read_member(m, at, (size_t)(equals - at), equals + 1, length - (size_t)(equals + 1 - at), err);
        if (code != KW_OK)
            return code;
        at += length;
    }
}

static kw_code add(mutant_list *list, const char *folder, const char *below, const char *file, kw_error *err)
{
    list->items = mem_grow(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    mutant *m = &list->items[list->n++];
    memset(m, 0, sizeof *m);
    char *place = below ? fs_join(folder, below) : mem_strdup(folder);
    strb name = STRB_INIT, text = STRB_INIT;
    if (below)
        strb_printf(&name, "%s/", below);
    strb_add_n(&name, file, strlen(file) - strlen(".cl"));
    m->path = fs_join(place, file);
    m->name = strb_take(&name);
    m->expect = DEFAULT_EXPECT;
    free(place);
    kw_code code = fs_read(m->path, 0, &text, err);
    if (code == KW_OK)
        code = read_line(m, strb_text(&text), err);
    if (m->expect == DEFAULT_EXPECT && (strstr(m->family, "compil") || strstr(m->family, "local-memory")))
        m->expect |= BIT(OUTCOME_COMPILE_ERROR); /* a driver may say so of these */
    if (code == KW_OK)
        code = template_task_name(m->path, &m->task, err);
    strb_clear(&text);
    return code;
}

static kw_code add_folder(mutant_list *list, const char *folder, const char *below, kw_error *err)
{
    char **names, *place = below ? fs_join(folder, below) : mem_strdup(folder);
    size_t n;
    kw_code code = fs_list(place, ".cl", &names, &n, err);
    free(place);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; i < n; i++) {
        if (code == KW_OK)
            code = add(list, folder, below, names[i], err);
        free(names[i]);
    }
    free(names);
    return code;
}

kw_code mutants_find(const char *folder, mutant_list *out, kw_error *err)
{
    char **names;
    size_t n;
    memset(out, 0, sizeof *out);
    kw_code code = fs_list(folder, NULL, &names, &n, err);
    if (code != KW_OK)
        return code;
    code = add_folder(out, folder, NULL, err);
    for (size_t i = 0; i < n; i++) {
        char *below = fs_join(folder, names[i]);
        if (code == KW_OK && fs_is_folder(below))
            code = add_folder(out, folder, names[i], err);
        free(below);
        free(names[i]);
    }
    free(names);
    if (code == KW_OK && out->n == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "%s holds no kernel: it should have TASK/NAME.cl", folder);
    if (code != KW_OK)
        mutants_clear(out);
    return code;
}

void mutants_clear(mutant_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].path);
        free(list->items[i].name);
        free(list->items[i].task);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}
