#include "codegen/scaffold_read.h"

#include "base/mem.h"
#include "codegen/expand.h"
#include "codegen/locate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Position just after `word` as a whole word at or after `from`; NULL if there is none. */
static const char *after_word(const char *from, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(from, word); p; p = strstr(p + 1, word))
        if ((p == from || !is_name_char(p[-1])) && !is_name_char(p[n]))
            return p + n;
    return NULL;
}

bool facts_has_word(const char *text, const char *word)
{
    return after_word(text, word) != NULL;
}

/* Copies what fits; false if it does not. */
static bool copy_text(char *to, size_t size, const char *from, size_t n)
{
    if (n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

static void add_to_list(strb *list, const char *name)
{
    strb_printf(list, "%s%s", list->length > 0 ? ", " : "", name);
}

/* The place after the parenthesis that matches the one at p; NULL if there is none. */
static const char *skip_parens(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (is_name_char(p[n]))
        n++;
    return n;
}

/* ---- kernels ---- */

typedef struct kernel_place {
    const char *begin; /* of the definition */
    const char *open;  /* the parenthesis of its parameters */
    char name[FACTS_NAME];
} kernel_place;

static const char *after_kernel_word(const char *from)
{
    const char *a = after_word(from, "__kernel"), *b = after_word(from, "kernel");
    return !a || (b && b < a) ? b : a;
}

/* The next kernel definition or declaration in the text at or after *from, which moves behind it. Attributes with
 * parentheses may stand anywhere before the name. */
static bool next_kernel(const char *text, const char **from, kernel_place *out)
{
    for (const char *begin; (begin = after_kernel_word(*from)) != NULL;) {
        *from = begin;
        for (const char *p = begin; *p && !strchr(";{}#", *p);) {
            if (!is_name_char(*p)) {
                p++;
                continue;
            }
            const char *word = p;
            size_t n = word_length(p);
            p += n;
            const char *open = p + strspn(p, " \n");
            if (*open != '(')
                continue;
            if (n == 13 && memcmp(word, "__attribute__", n) == 0) {
                p = skip_parens(open);
                if (!p)
                    return false;
                continue;
            }
            for (out->begin = begin; out->begin > text && !strchr(";}\n", out->begin[-1]);)
                out->begin--;
            out->open = open;
            *from = open;
            if (copy_text(out->name, sizeof out->name, word, n))
                return true;
            break;
        }
    }
    return false;
}

static kw_code choose_kernel(const char *text, const char *file, const char *wanted, kernel_facts *f, kernel_place *out,
                             kw_error *err)
{
    bool found = false;
    kernel_place k;
    for (const char *from = text; next_kernel(text, &from, &k);) {
        if (!found && (!wanted || strcmp(k.name, wanted) == 0)) {
            *out = k;
            found = true;
        } else if (!found || strcmp(k.name, out->name) != 0) {
            add_to_list(&f->others, k.name);
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
    for (const char *p = after_word(source, name); p; p = after_word(p, name)) {
        const char *line = p - strlen(name), *start = line;
        while (start > source && !strchr("\n;{}", start[-1]))
            start--;
        start += strspn(start, " ");
        strb before = STRB_INIT;
        strb_add_n(&before, start, (size_t)(line - start));
        bool defined = strcmp(strb_text(&before), "#define ") == 0 || strcmp(strb_text(&before), "# define ") == 0;
        if (defined)
            copy_text(out, FACTS_NAME, p + strspn(p, " "), strcspn(p + strspn(p, " "), "\n"));
        else if (strncmp(start, "typedef ", 8) == 0)
            copy_text(out, FACTS_NAME, start + 8, (size_t)(line - start) - 8);
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
        size_t n = word_length(p), letters = n;
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
        if (!found && depth > 0 && copy_text(name, sizeof name, p, n)) {
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
    const char *star = strrchr(text, '*'), *word = after_word(text, "const");
    return word && word <= star;
}

static kw_code read_part(const char *text, const char *source, const char *file, part *out, kw_error *err)
{
    size_t n = strcspn(text, "[");
    while (n > 0 && !is_name_char(text[n - 1]))
        n--;
    size_t start = n;
    while (start > 0 && is_name_char(text[start - 1]))
        start--;
    memset(out, 0, sizeof *out);
    if (start == n || !copy_text(out->name, sizeof out->name - 1, text + start, n - start))
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

static kw_code read_parts(const kernel_place *k, const char *source, const char *file, kernel_facts *f, kw_error *err)
{
    const char *end = skip_parens(k->open);
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

/* ---- macros ---- */

static const macro *find_macro(const kernel_facts *f, const char *name)
{
    for (size_t i = 0; i < f->n_macros; i++)
        if (strcmp(f->macros[i].name, name) == 0)
            return &f->macros[i];
    return NULL;
}

/* The comment behind the #define of this macro, in the text with comments. */
static void read_doc(const char *source, macro *m)
{
    for (const char *p = after_word(source, m->name); p; p = after_word(p, m->name)) {
        const char *line = p;
        while (line > source && line[-1] != '\n')
            line--;
        line += strspn(line, " \t");
        if (*line != '#' || strncmp(line + 1 + strspn(line + 1, " \t"), "define", 6) != 0)
            continue;
        size_t rest = strcspn(p, "\n"), begin = 0;
        while (begin + 1 < rest && !(p[begin] == '/' && (p[begin + 1] == '*' || p[begin + 1] == '/')))
            begin++;
        if (begin + 1 >= rest)
            return;
        const char *from = p + begin + 2, *end = strstr(from, p[begin + 1] == '*' ? "*/" : "\n");
        size_t n = end && end < p + rest ? (size_t)(end - from) : (size_t)(p + rest - from);
        size_t skip = strspn(from, " \t*<!");
        while (n > skip && strchr(" \t\r", from[n - 1]))
            n--;
        if (skip < n)
            copy_text(m->doc, sizeof m->doc, from + skip, n - skip);
        return;
    }
}

static void read_macros(const char *stripped, const char *source, kernel_facts *f)
{
    for (const char *p = strstr(stripped, "ifndef "); p && f->n_macros < FACTS_MAX_MACROS;
         p = strstr(p + 1, "ifndef ")) {
        char name[FACTS_NAME], again[FACTS_NAME], given_text[32], *end;
        if (sscanf(p, "ifndef %63s # define %63s %31[^\n]", name, again, given_text) != 3 || strcmp(name, again) != 0)
            continue;
        char *first = given_text + strspn(given_text, "( ");
        long long given = strtoll(first, &end, 0);
        if (end == first || end[strspn(end, "uUlL) ")] != '\0' || !locate_is_name(name) || find_macro(f, name))
            continue;
        macro *m = &f->macros[f->n_macros++];
        memset(m, 0, sizeof *m);
        memcpy(m->name, name, sizeof name);
        m->value = given;
        read_doc(source, m);
    }
}

/* ---- the work-group ---- */

static bool only_known_names(const kernel_facts *f, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n = word_length(p);
        char name[FACTS_NAME];
        if (n > 0 && !isdigit((unsigned char)*p) && (!copy_text(name, sizeof name, p, n) || !find_macro(f, name)))
            return false;
        p += n ? n : 1;
    }
    return true;
}

/* A size as C writes it becomes one of the expression language, where / is not integer division. */
static void set_local(kernel_facts *f, const char *text, size_t n)
{
    strb e = STRB_INIT;
    while (n > 0 && *text == ' ') {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    for (size_t i = 0; i < n; i++)
        strb_printf(&e, "%s%c", text[i] == '/' ? "/" : "", text[i]);
    char *to = f->local[f->n_local++];
    if (!only_known_names(f, strb_text(&e)) || !copy_text(to, FACTS_NAME, strb_text(&e), e.length))
        to[0] = '\0';
    strb_clear(&e);
}

static bool read_attribute(const char *begin, const char *open, kernel_facts *f)
{
    const char *p = after_word(begin, "reqd_work_group_size");
    if (!p || p >= open || *(p += strspn(p, " ")) != '(')
        return false;
    const char *end = skip_parens(p);
    for (p++; end && f->n_local < 3 && p < end;) {
        const char *from = p;
        for (int depth = 0; p < end - 1 && (depth > 0 || *p != ','); p++)
            depth += (*p == '(') - (*p == ')');
        set_local(f, from, (size_t)(p - from));
        p++;
    }
    while (f->n_local > 1 && strcmp(f->local[f->n_local - 1], "1") == 0)
        f->n_local--;
    return f->n_local > 0;
}

static bool names_group(const char *name, const char *end)
{
    static const char *const usual[] = {
        "WG",         "WGS",        "WG_SIZE", "WGSIZE",     "WORK_GROUP_SIZE", "WORKGROUP_SIZE",
        "GROUP_SIZE", "LOCAL_SIZE", "BLOCK",   "BLOCK_SIZE", "BLOCKSIZE",       "THREADS"};
    char text[FACTS_NAME];
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        snprintf(text, sizeof text, "%s%s", usual[i], end);
        if (strcasecmp(name, text) == 0)
            return true;
    }
    return false;
}

/* ---- names that the compiler's command line has to define ---- */

static bool is_known_constant(const char *name)
{
    static const char *const starts[] = {"CLK_", "CL_",     "M_",    "FLT_",   "DBL_",    "HALF_", "__",
                                         "FP_",  "ATOMIC_", "CHAR_", "SCHAR_", "UCHAR_",  "SHRT_", "USHRT_",
                                         "INT_", "UINT_",   "LONG_", "ULONG_", "HUGE_VAL"};
    static const char *const whole[] = {"INFINITY", "NAN", "MAXFLOAT", "NULL"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    return false;
}

static bool looks_like_macro(const char *name)
{
    size_t letters = 0;
    for (const char *p = name; *p; p++) {
        if (islower((unsigned char)*p))
            return false;
        letters += isupper((unsigned char)*p) != 0;
    }
    return letters >= 2;
}

/* Is the name defined, tested, declared, or a parameter of the kernel or of the sidecar? */
static bool is_defined(const kernel_facts *f, const char *text, const char *name)
{
    static const char *const before[] = {"define",
                                         "ifdef",
                                         "ifndef",
                                         "defined",
                                         "defined(",
                                         "defined (",
                                         "float",
                                         "int",
                                         "uint",
                                         "enum {",
                                         "pragma OPENCL EXTENSION"};
    for (size_t i = 0; i < f->n_parts; i++)
        if (strcmp(f->parts[i].name, name) == 0)
            return true;
    if (find_macro(f, name))
        return true;
    for (const char *p = after_word(text, name); p; p = after_word(p, name)) {
        const char *at = p - strlen(name);
        while (at > text && at[-1] == ' ')
            at--;
        for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
            size_t n = strlen(before[i]);
            if ((size_t)(at - text) >= n && memcmp(at - n, before[i], n) == 0)
                return true;
        }
    }
    return false;
}

/* The size of the work-group, which the command line has to define, becomes a parameter. */
static bool take_for_local(kernel_facts *f, const char *name)
{
    if (f->n_local > 0 || !names_group(name, "") || f->n_macros == FACTS_MAX_MACROS)
        return false;
    macro *m = &f->macros[f->n_macros++];
    memset(m, 0, sizeof *m);
    memcpy(m->name, name, FACTS_NAME);
    memcpy(f->local[f->n_local++], name, FACTS_NAME);
    m->value = 64;
    return true;
}

static void find_undefined(const char *text, kernel_facts *f)
{
    for (const char *p = text; *p;) {
        size_t n = word_length(p);
        char name[FACTS_NAME];
        bool fits = n > 0 && copy_text(name, sizeof name, p, n);
        bool pragma = fits && strncmp(p, "pragma OPENCL", 13) == 0;
        p += pragma ? strcspn(p, "\n") : n ? n : 1;
        if (fits && !pragma && looks_like_macro(name) && !is_known_constant(name) && !is_defined(f, text, name) &&
            !facts_has_word(strb_text(&f->undefined), name) && !take_for_local(f, name))
            add_to_list(&f->undefined, name);
    }
}

/* Macros with the usual names: WG_SIZE, or block_size_x, block_size_y. */
static void guess_local(kernel_facts *f)
{
    static const char *const ends[3][3] = {{"", "_X", "X"}, {"_Y", "Y", "_Y"}, {"_Z", "Z", "_Z"}};
    for (size_t axis = 0; axis < 3; axis++) {
        for (size_t i = 0; i < f->n_macros && f->n_local == axis; i++)
            for (size_t e = 0; e < 3 && f->n_local == axis; e++)
                if (names_group(f->macros[i].name, ends[axis][e]))
                    memcpy(f->local[f->n_local++], f->macros[i].name, FACTS_NAME);
        if (f->n_local == axis)
            return;
    }
}

static void mark_local_macros(kernel_facts *f)
{
    for (size_t i = 0; i < f->n_macros; i++)
        for (size_t axis = 0; axis < f->n_local; axis++)
            f->macros[i].is_local |= facts_has_word(f->local[axis], f->macros[i].name);
}

kw_code facts_read(const char *source, const char *file, const char *kernel, kernel_facts *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    strb stripped = STRB_INIT;
    source_strip(source, &stripped);
    const char *text = strb_text(&stripped);
    kernel_place k;
    kw_code code = choose_kernel(text, file, kernel, out, &k, err);
    if (code == KW_OK) {
        memcpy(out->name, k.name, sizeof out->name);
        read_macros(text, source, out);
        code = read_parts(&k, text, file, out, err);
    }
    if (code == KW_OK) {
        if (!read_attribute(k.begin, k.open, out))
            guess_local(out);
        find_undefined(text, out);
        mark_local_macros(out);
    }
    strb_clear(&stripped);
    return code;
}

void facts_clear(kernel_facts *f)
{
    strb_clear(&f->others);
    strb_clear(&f->undefined);
}
