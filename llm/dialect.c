#include "llm/dialect.h"

#include <string.h>

static const dialect *const dialects[] = {&dialect_openai, &dialect_anthropic};

const dialect *dialect_find(const char *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        if (strcmp(dialects[i]->name, name) == 0)
            return dialects[i];
    }
    return NULL;
}

char *dialect_fold(const dialect_request *q)
{
    strb text = STRB_INIT;
    if (*q->system)
        strb_printf(&text, "%s\n\n", q->system);
    strb_add(&text, q->prompt);
    return strb_take(&text);
}

void dialect_add_extra(json *body, const json *extra)
{
    for (const json *member = json_first(extra); member; member = json_next(member))
        json_set(body, json_key(member), json_clone(member));
}
