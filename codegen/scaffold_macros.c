/* Macros of a kernel's text: those with a default, those of the work-group's size, those that are missing. */
#include "codegen/scaffold_internal.h"

#include "codegen/locate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    for (const char *p = facts_after_word(source, m->name); p; p = facts_after_word(p, m->name)) {
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
            facts_copy(m->doc, sizeof m->doc, from + skip, n - skip);
        return;
    }
}

void facts_read_macros(const char *stripped, const char *source, kernel_facts *f)
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
        size_t n = facts_word_length(p);
        char name[FACTS_NAME];
        if (n > 0 && !isdigit((unsigned char)*p) && (!facts_copy(name, sizeof name, p, n) || !find_macro(f, name)))
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
    if (!only_known_names(f, strb_text(&e)) || !facts_copy(to, FACTS_NAME, strb_text(&e), e.length))
        to[0] = '\0';
    strb_clear(&e);
}

static bool read_attribute(const char *begin, const char *open, kernel_facts *f)
{
    const char *p = facts_after_word(begin, "reqd_work_group_size");
    if (!p || p >= open || *(p += strspn(p, " ")) != '(')
        return false;
    const char *end = facts_skip_parens(p);
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
    for (const char *p = facts_after_word(text, name); p; p = facts_after_word(p, name)) {
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
        size_t n = facts_word_length(p);
        char name[FACTS_NAME];
        bool fits = n > 0 && facts_copy(name, sizeof name, p, n);
        bool pragma = fits && strncmp(p, "pragma OPENCL", 13) == 0;
        p += pragma ? strcspn(p, "\n") : n ? n : 1;
        if (fits && !pragma && looks_like_macro(name) && !is_known_constant(name) && !is_defined(f, text, name) &&
            !facts_has_word(strb_text(&f->undefined), name) && !take_for_local(f, name))
            facts_add_to_list(&f->undefined, name);
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

void facts_read_local(const kernel_place *k, const char *text, kernel_facts *f)
{
    if (!read_attribute(k->begin, k->open, f))
        guess_local(f);
    find_undefined(text, f);
    mark_local_macros(f);
}
