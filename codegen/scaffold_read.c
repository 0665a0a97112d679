#include "codegen/scaffold_internal.h"

#include "codegen/expand.h"

#include <ctype.h>
#include <string.h>

bool facts_is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *facts_after_word(const char *from, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(from, word); p; p = strstr(p + 1, word))
        if ((p == from || !facts_is_name_char(p[-1])) && !facts_is_name_char(p[n]))
            return p + n;
    return NULL;
}

bool facts_has_word(const char *text, const char *word)
{
    return facts_after_word(text, word) != NULL;
}

bool facts_copy(char *to, size_t size, const char *from, size_t n)
{
    if (n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

void facts_add_to_list(strb *list, const char *name)
{
    strb_printf(list, "%s%s", list->length > 0 ? ", " : "", name);
}

const char *facts_skip_parens(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

size_t facts_word_length(const char *p)
{
    size_t n = 0;
    while (facts_is_name_char(p[n]))
        n++;
    return n;
}

kw_code facts_read(const char *source, const char *file, const char *kernel, kernel_facts *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    strb stripped = STRB_INIT;
    source_strip(source, &stripped);
    const char *text = strb_text(&stripped);
    kernel_place k;
    kw_code code = facts_choose_kernel(text, file, kernel, out, &k, err);
    if (code == KW_OK) {
        memcpy(out->name, k.name, sizeof out->name);
        facts_read_macros(text, source, out);
        code = facts_read_parts(&k, text, file, out, err);
    }
    if (code == KW_OK)
        facts_read_local(&k, text, out);
    strb_clear(&stripped);
    return code;
}

void facts_clear(kernel_facts *f)
{
    strb_clear(&f->others);
    strb_clear(&f->undefined);
}
