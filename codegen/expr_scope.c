#include "codegen/expr_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *name;
    expr_role role;
    bool hidden;
} entry;

struct expr_scope {
    entry *entries;
    size_t n, capacity;
    language lang;
};

expr_scope *expr_scope_new(void)
{
    return mem_calloc(1, sizeof(expr_scope));
}

expr_scope *expr_scope_copy(const expr_scope *s)
{
    expr_scope *copy = expr_scope_new();
    copy->lang = s->lang;
    for (size_t i = 0; i < s->n; i++) {
        expr_scope_add(copy, s->entries[i].name, s->entries[i].role);
        copy->entries[i].hidden = s->entries[i].hidden;
    }
    return copy;
}

void expr_scope_free(expr_scope *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->entries[i].name);
    free(s->entries);
    free(s);
}

void expr_scope_set_language(expr_scope *s, language lang)
{
    s->lang = lang;
}

language expr_scope_language(const expr_scope *s)
{
    return s->lang;
}

int expr_scope_add(expr_scope *s, const char *name, expr_role role)
{
    s->entries = mem_grow(s->entries, &s->capacity, s->n + 1, sizeof *s->entries);
    s->entries[s->n] = (entry){mem_strdup(name), role, false};
    return (int)s->n++;
}

void expr_scope_hide_last(expr_scope *s)
{
    for (size_t i = s->n; i-- > 0;) {
        if (!s->entries[i].hidden) {
            s->entries[i].hidden = true;
            return;
        }
    }
}

int expr_scope_find(const expr_scope *s, const char *name)
{
    for (size_t i = s->n; i-- > 0;) {
        if (!s->entries[i].hidden && strcmp(s->entries[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

int expr_scope_size(const expr_scope *s)
{
    return (int)s->n;
}

const char *expr_scope_name(const expr_scope *s, int slot)
{
    return s->entries[slot].name;
}

expr_role expr_scope_role(const expr_scope *s, int slot)
{
    return s->entries[slot].role;
}
