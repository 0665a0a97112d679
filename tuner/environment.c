#include "tuner/environment.h"

#include "base/json.h"
#include "base/strb.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 4

typedef struct variable {
    const char *name;
    const char *words[MOST_WORDS];
} variable;

static const variable variables[] = {
    {"KERNWRIGHT_BATCH", {"queue", "host"}},
    {"KERNWRIGHT_COMPARE", {"host", "device"}},
    {"KERNWRIGHT_BINARY_CACHE", {"on", "off"}},
    {"KERNWRIGHT_RUNNER", {"auto", "always", "never", "fresh"}},
};

static size_t words_of(const variable *v)
{
    size_t n = 0;
    while (n < MOST_WORDS && v->words[n])
        n++;
    return n;
}

static kw_code refuse(const variable *v, const char *found, kw_error *err)
{
    const size_t n = words_of(v);
    const char *near = json_nearest(found, v->words, n);
    strb list = STRB_INIT;
    for (size_t i = 0; i < n; i++)
        strb_printf(&list, "%s\"%s\"", i == 0 ? "" : i + 1 == n ? " or " : ", ", v->words[i]);
    kw_error_set(err, KW_BAD_INPUT, "$%s is \"%.40s\", and can be %s%s%s%s; mend or unset it", v->name, found,
                 strb_text(&list), near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
    strb_clear(&list);
    return KW_BAD_INPUT;
}

kw_code environment_check(kw_error *err)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const variable *v = &variables[i];
        const char *found = getenv(v->name);
        bool known = !found || !*found;
        for (size_t k = 0; k < words_of(v); k++)
            known = known || strcmp(found, v->words[k]) == 0;
        if (!known)
            return refuse(v, found, err);
    }
    return KW_OK;
}
