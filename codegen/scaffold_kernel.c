/* Which kernel of a text, and its parameters. */
#include "codegen/scaffold_internal.h"

#include "base/mem.h"
#include "codegen/locate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static const char *after_kernel_word(const char *from)
{
    const char *a = facts_after_word(from, "__kernel"), *b = facts_after_word(from, "kernel");
    return !a || (b && b < a) ? b : a;
}

/* The next kernel definition or declaration in the text at or after *from, which moves behind it. Attributes with
 * parentheses may stand anywhere before the name. */
static bool next_kernel(const char *text, const char **from, kernel_place *out)
{
    for (const char *begin; (begin = after_kernel_word(*from)) != NULL;) {
        *from = begin;
        for (const char *p = begin; *p && !strchr(";{}#", *p);) {
            if (!facts_is_name_char(*p)) {
                p++;
                continue;
            }
            const char *word = p;
            size_t n = facts_word_length(p);
            p += n;
            const char *open = p + strspn(p, " \n");
            if (*open != '(')
                continue;
            if (n == 13 && memcmp(word, "__attribute__", n) == 0) {
                p = facts_skip_parens(open);
                if (!p)
                    return false;
                continue;
            }
            for (out->begin = begin; out->begin > text && !strchr(";}\n", out->begin[-1]);)
                out->begin--;
            out->open = open;
            *from = open;
            if (facts_copy(out->name, sizeof out->name, word, n))
                return true;
            break;
        }
    }
    return false;
}

kw_code facts_choose_kernel(const char *text, const char *file, const char *wanted, kernel_facts *f, kernel_place *out,
                            kw_error *err)
{
    bool found = false;
    kernel_place k;
    for (const char *from = text; next_kernel(text, &from, &k);) {
        if (!found && (!wanted || strcmp(k.name, wanted) == 0)) {
            *out = k;
            found = true;
        } else if (!found || strcmp(k.name, out->name) != 0) {
            facts_add_to_list(&f->others, k.name);
        }
    }
    if (found)
        return KW_OK;
    if (wanted && f->others.length > 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: there is no kernel %s; there is %s", file, wanted,
                            strb_text(&f->others));
    return kw_error_set(err, KW_BAD_INPUT, "%s: no kernel found: a function that begins with kernel or __kernel", file);
}

/* ---- types ---- */

static const struct {
    const char *word, *type;
} types[] = {{"float", "f32"},     {"half", "f16"}, {"double", "f64"}, {"char", "i8"},     {"uchar", "u8"},
             {"short", "i16"},     {"long", "i64"}, {"ulong", "u64"},  {"ushort", "u16"},  {"size_t", "u64"},
             {"ptrdiff_t", "i64"}, {"int", "i32"},  {"uint", "u32"},   {"unsigned", "u32"}};

/* `letters` is the word without the digits of a vector type. */
static const char *type_of_word(const char *word, size_t letters)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].word) == letters && memcmp(types[i].word, word, letters) == 0)
            return types[i].type;
    return NULL;
}

static const char *unsigned_of(const char *type)
{
    static const char *const pairs[][2] = {{"i8", "u8"}, {"i16", "u16"}, {"i32", "u32"}, {"i64", "u64"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0], type) == 0)
            return pairs[i][1];
    return type;
}

/* What `#define NAME float` or `typedef float NAME;` stands for. "" if nothing is known. */
static void look_up_type(const char *source, const char *name, char out[FACTS_NAME])
{
    out[0] = '\0';
    for (const char *p = facts_after_word(source, name); p; p = facts_after_word(p, name)) {
        const char *line = p - strlen(name), *start = line;
        while (start > source && !strchr("\n;{}", start[-1]))
            start--;
        start += strspn(start, " ");
        strb before = STRB_INIT;
        strb_add_n(&before, start, (size_t)(line - start));
        bool defined = strcmp(strb_text(&before), "#define ") == 0 || strcmp(strb_text(&before), "# define ") == 0;
        if (defined)
            facts_copy(out, FACTS_NAME, p + strspn(p, " "), strcspn(p + strspn(p, " "), "\n"));
        else if (strncmp(start, "typedef ", 8) == 0)
            facts_copy(out, FACTS_NAME, start + 8, (size_t)(line - start) - 8);
        strb_clear(&before);
        if (out[0])
            return;
    }
}

/* The element type in `text`, without the parameter's name; vectors by their element. NULL if unknown. Names are
 * looked up in the source up to `depth` times. *is_vector may be NULL. */
static const char *type_of(const char *text, const char *source, int depth, bool *is_vector)
{
    const char *found = NULL;
    for (const char *p = text; *p && !found;) {
        size_t n = facts_word_length(p), letters = n;
        if (n == 0) {
            p++;
            continue;
        }
        while (letters > 0 && isdigit((unsigned char)p[letters - 1]))
            letters--;
        found = type_of_word(p, letters);
        if (found && is_vector)
            *is_vector = letters < n;
        if (found && strcmp(found, "u32") == 0 && strncmp(p, "unsigned", 8) == 0) {
            const char *rest = type_of(p + n, source, 0, NULL);
            return rest ? unsigned_of(rest) : found;
        }
        char name[FACTS_NAME], meaning[FACTS_NAME];
        if (!found && depth > 0 && facts_copy(name, sizeof name, p, n)) {
            look_up_type(source, name, meaning);
            found = meaning[0] ? type_of(meaning, source, depth - 1, is_vector) : NULL;
        }
        p += n;
    }
    return found;
}

/* ---- parameters ---- */

static bool is_input(const char *text)
{
    if (facts_has_word(text, "__constant") || facts_has_word(text, "constant"))
        return true;
    const char *star = strrchr(text, '*'), *word = facts_after_word(text, "const");
    return word && word <= star;
}

static kw_code read_part(const char *text, const char *source, const char *file, part *out, kw_error *err)
{
    size_t n = strcspn(text, "[");
    while (n > 0 && !facts_is_name_char(text[n - 1]))
        n--;
    size_t start = n;
    while (start > 0 && facts_is_name_char(text[start - 1]))
        start--;
    memset(out, 0, sizeof *out);
    if (start == n || !facts_copy(out->name, sizeof out->name - 1, text + start, n - start))
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot read the kernel parameter '%s'", file, text);
    if (!locate_is_name(out->name))
        out->name[n - start] = '_';
    bool pointer = strpbrk(text, "*[") != NULL, is_vector = false;
    char *before = mem_strndup(text, start);
    out->type = type_of(before, source, 3, &is_vector);
    free(before);
    if (pointer && (facts_has_word(text, "__local") || facts_has_word(text, "local")))
        out->kind = PART_LOCAL;
    else if (pointer)
        out->kind = is_input(text) ? PART_IN : PART_OUT;
    else if (!out->type || is_vector)
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s: the kernel parameter '%s' is no pointer and no number, so it can be neither a "
                            "tensor nor a dim nor a scalar: a task has nothing to give to it",
                            file, text);
    else
        out->kind = out->type[0] == 'f' ? PART_SCALAR : PART_DIM;
    return KW_OK;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \n")] == '\0' || strcmp(text + strspn(text, " \n"), "void") == 0;
}

kw_code facts_read_parts(const kernel_place *k, const char *source, const char *file, kernel_facts *f, kw_error *err)
{
    const char *end = facts_skip_parens(k->open);
    if (!end)
        return kw_error_set(err, KW_BAD_INPUT, "%s: the parameter list of %s has no end", file, k->name);
    kw_code code = KW_OK;
    for (const char *p = k->open + 1; code == KW_OK && p < end;) {
        const char *from = p;
        for (int depth = 0; p < end - 1 && (depth > 0 || *p != ','); p++)
            depth += (*p == '(') - (*p == ')');
        char *text = mem_strndup(from + strspn(from, " \n"), (size_t)(p - from) - strspn(from, " \n"));
        if (strchr(text, '#'))
            code = kw_error_set(err, KW_BAD_INPUT,
                                "%s: the parameter list of %s has preprocessor lines, so it depends on macros: "
                                "write the sidecar by hand (templates/FORMAT.md)",
                                file, k->name);
        else if (!is_blank(text) && f->n_parts == FACTS_MAX_PARTS)
            code =
                kw_error_set(err, KW_BAD_INPUT, "%s: %s has more than %d parameters", file, k->name, FACTS_MAX_PARTS);
        else if (!is_blank(text) && (code = read_part(text, source, file, &f->parts[f->n_parts], err)) == KW_OK)
            f->n_parts++;
        free(text);
        p++;
    }
    return code;
}
