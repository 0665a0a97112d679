#include "codegen/references.h"

#include <string.h>

static const reference_entry *find(const char *function_name)
{
    for (const reference_entry *e = reference_table; e->function_name != NULL; e++)
        if (strcmp(e->function_name, function_name) == 0)
            return e;
    return NULL;
}

kw_reference_fn *reference_builtin(const char *function_name)
{
    const reference_entry *e = find(function_name);
    return e != NULL ? e->function : NULL;
}

bool reference_is_builtin(const char *function_name, const char *source, size_t length)
{
    const reference_entry *e = find(function_name);
    return e != NULL && e->length == length && memcmp(e->source, source, length) == 0;
}
