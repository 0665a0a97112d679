/* Sources of the scripted device: directives and kernel definitions. */
#include "device/fake.h"

#include "base/hash.h"
#include "base/mem.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- directives ---- */

typedef struct directive {
    const char *key;
    size_t offset;             /* of an int64_t, or of a double if is_real, in fake_script */
    const char *const *values; /* names in the order of the enumeration; NULL: a number */
    bool is_real;
} directive;

static const char *const build_values[] = {"ok", "error", "hang", "crash", "eat", NULL};
static const char *const run_values[] = {"ok",           "crash",        "hang",      "lost",
                                         "launch_error", "does_not_fit", "no_memory", NULL};
static const char *const result_values[] = {"right", "wrong", "nan", "constant", "oob", "oob_before", NULL};
static const char *const modify_values[] = {"nothing", "input", NULL};
static const char *const only_values[] = {"always", "first", NULL};

static const directive directives[] = {
    {"build", offsetof(fake_script, build), build_values, false},
    {"log_mb", offsetof(fake_script, log_mb), NULL, false},
    {"slow_ms", offsetof(fake_script, slow_ms), NULL, false},
    {"run", offsetof(fake_script, run), run_values, false},
    {"after", offsetof(fake_script, after), NULL, false},
    {"result", offsetof(fake_script, result), result_values, false},
    {"modify", offsetof(fake_script, modify_input), modify_values, false},
    {"only", offsetof(fake_script, only_first), only_values, false},
    {"nondeterministic", offsetof(fake_script, nondeterministic), NULL, false},
    {"backwards_timer", offsetof(fake_script, backwards_timer), NULL, false},
    {"host_sleep_us", offsetof(fake_script, host_sleep_us), NULL, false},
    {"time_ns", offsetof(fake_script, time_ns), NULL, true},
    {"noise", offsetof(fake_script, noise), NULL, true},
    {"ns_per_step", offsetof(fake_script, ns_per_step), NULL, true},
    {"registers", offsetof(fake_script, registers), NULL, false},
    {"spill_bytes", offsetof(fake_script, spill_bytes), NULL, false},
    {"local_bytes", offsetof(fake_script, local_bytes), NULL, false},
    {"max_group", offsetof(fake_script, max_group), NULL, false},
};

static const directive *find_directive(const char *key)
{
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++)
        if (strcmp(directives[i].key, key) == 0)
            return &directives[i];
    return NULL;
}

/* Reads a value into its field; false if it is none. */
static bool set_value(fake_script *s, const directive *d, const char *text)
{
    char *end;
    void *field = (char *)s + d->offset;
    if (d->is_real) {
        double x = strtod(text, &end);
        memcpy(field, &x, sizeof x);
        return *text && !*end && x >= 0;
    }
    int64_t n = 0;
    if (d->values) {
        while (d->values[n] && strcmp(d->values[n], text) != 0)
            n++;
        if (!d->values[n])
            return false;
    } else {
        n = strtoll(text, &end, 10);
        if (!*text || *end || n < 0)
            return false;
    }
    memcpy(field, &n, sizeof n);
    return true;
}

static kw_code read_directives(fake_script *s, const char *line, size_t length, int number, kw_error *err)
{
    char *text = mem_strndup(line, length), *rest = text, *word;
    kw_code code = KW_OK;
    while (code == KW_OK && (word = strtok_r(rest, " \t\r", &rest)) != NULL) {
        char *setting = strchr(word, '=');
        if (setting)
            *setting++ = '\0';
        const directive *d = find_directive(word);
        if (!d || !setting || !set_value(s, d, setting))
            code = kw_error_set(err, KW_FAILED, "fake.cl:%d: error: unknown directive \"%s%s%s\"", number, word,
                                setting ? "=" : "", setting ? setting : "");
    }
    free(text);
    return code;
}

/* The text after "//fake:" or "#pragma fake" in a line; NULL if there is neither. */
static const char *directives_of_line(const char *line, size_t length)
{
    static const char *const marks[] = {"//fake:", "#pragma fake"};
    for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
        const char *found = memmem(line, length, marks[m], strlen(marks[m]));
        if (found)
            return found + strlen(marks[m]);
    }
    return NULL;
}

static kw_code read_script(fake_script *s, const char *source, kw_error *err)
{
    *s = (fake_script){.time_ns = 1000, .registers = -1, .spill_bytes = -1, .local_bytes = -1, .max_group = -1};
    int number = 1;
    for (const char *line = source; *line; number++) {
        size_t length = strcspn(line, "\n");
        const char *text = directives_of_line(line, length);
        if (text && read_directives(s, text, length - (size_t)(text - line), number, err) != KW_OK)
            return KW_FAILED;
        line += length + (line[length] == '\n');
    }
    return KW_OK;
}

/* ---- kernels ---- */

/* The source with comments turned to blanks; caller frees. */
static char *without_comments(const char *source)
{
    char *text = mem_strdup(source);
    for (char *p = text; *p; p++) {
        const char *end = NULL;
        if (p[0] == '/' && p[1] == '/')
            end = p + strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*')
            end = strstr(p + 2, "*/") ? strstr(p + 2, "*/") + 2 : p + strlen(p);
        if (!end)
            continue;
        for (; p < end; p++)
            if (*p != '\n')
                *p = ' ';
        p--;
    }
    return text;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* After the bracket that closes the one at p; the end of the text if none does. */
static const char *skip_brackets(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return p;
}

/* Does a word stand at p? Then its end, else NULL. */
static const char *after_word(const char *p, const char *word)
{
    size_t length = strlen(word);
    return strncmp(p, word, length) == 0 && !is_word(p[length]) ? p + length : NULL;
}

/* Skips attributes and the return type in front of a kernel's name. */
static const char *skip_to_name(const char *p)
{
    const char *q;
    for (;;) {
        p = skip_blanks(p);
        if ((q = after_word(p, "__attribute__")) != NULL)
            p = skip_brackets(skip_blanks(q));
        else if ((q = after_word(p, "void")) != NULL)
            p = q;
        else
            return p;
    }
}

static bool is_qualifier(const char *word)
{
    static const char *const words[] = {"const",    "restrict",   "__restrict", "volatile",  "global", "__global",
                                        "constant", "__constant", "private",    "__private", "local",  "__local"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* One parameter: "global const float *restrict x". The last word is the name, the others make the type unless they
 * are qualifiers. */
static void read_param(const char *text, size_t length, device_param *out)
{
    memset(out, 0, sizeof *out);
    bool pointer = memchr(text, '*', length) != NULL;
    bool local = memmem(text, length, "local ", 6) != NULL;
    out->kind = !pointer ? DEVICE_ARG_BYTES : local ? DEVICE_ARG_LOCAL : DEVICE_ARG_BUFFER;
    for (size_t i = 0; i < length;) {
        size_t n = 0;
        char word[sizeof out->name];
        while (i + n < length && is_word(text[i + n]))
            n++;
        snprintf(word, sizeof word, "%.*s", (int)n, text + i);
        i += n > 0 ? n : 1;
        if (n == 0 || is_qualifier(word))
            continue;
        size_t used = strlen(out->type);
        if (out->name[0])
            snprintf(out->type + used, sizeof out->type - used, "%s%.40s", used ? " " : "", out->name);
        memcpy(out->name, word, sizeof out->name);
    }
    if (pointer && strlen(out->type) + 1 < sizeof out->type)
        strcat(out->type, "*");
}

/* Splits "(int n, global float *x)" at p; returns how many parameters there are. */
static size_t read_params(const char *p, device_param *out)
{
    const char *end = skip_brackets(p), *start = p + 1;
    size_t n = 0;
    if (end == start || end[-1] != ')')
        return 0;
    end--;
    const char *inside = skip_blanks(start);
    if (inside == end || (after_word(inside, "void") && skip_blanks(inside + 4) == end))
        return 0;
    int depth = 0;
    for (const char *q = start; q <= end && n < FAKE_MAX_PARAMS; q++) {
        if (q < end)
            depth += (*q == '(') - (*q == ')');
        if (q == end || (*q == ',' && depth == 0)) {
            read_param(start, (size_t)(q - start), &out[n++]);
            start = q + 1;
        }
    }
    return n;
}

static void find_kernels(fake_program *p, const char *text)
{
    size_t capacity = 0;
    for (const char *q = text; *q; q++) {
        if (q > text && is_word(q[-1]))
            continue;
        const char *after = after_word(q, "kernel");
        if (!after)
            after = after_word(q, "__kernel");
        if (!after)
            continue;
        const char *name = skip_to_name(after), *end = name;
        while (is_word(*end))
            end++;
        const char *bracket = skip_blanks(end);
        if (end == name || *bracket != '(')
            continue;
        p->kernels = mem_grow(p->kernels, &capacity, p->n_kernels + 1, sizeof *p->kernels);
        fake_kernel *k = &p->kernels[p->n_kernels++];
        memset(k, 0, sizeof *k);
        snprintf(k->name, sizeof k->name, "%.*s", (int)(end - name), name);
        k->n_params = read_params(bracket, k->params);
    }
}

fake_program *fake_program_parse(const char *source, kw_error *err)
{
    fake_program *p = mem_calloc(1, sizeof *p);
    if (read_script(&p->script, source, err) != KW_OK) {
        fake_program_free(p);
        return NULL;
    }
    char *text = without_comments(source);
    find_kernels(p, text);
    free(text);
    p->hash = hash_u64(source, strlen(source), 0);
    return p;
}

void fake_program_free(fake_program *p)
{
    if (!p)
        return;
    free(p->kernels);
    free(p);
}

const fake_kernel *fake_program_find(const fake_program *p, const char *name)
{
    for (size_t i = 0; i < p->n_kernels; i++)
        if (strcmp(p->kernels[i].name, name) == 0)
            return &p->kernels[i];
    return NULL;
}
