#include "codegen/scaffold.h"

#include "base/json.h"
#include "base/mem.h"
#include "codegen/expand.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 48

typedef enum part_kind { PART_TENSOR_IN, PART_TENSOR_OUT, PART_DIM, PART_SCALAR, PART_LOCAL } part_kind;

typedef struct part {
    part_kind kind;
    char name[64];
    char type[8];   /* "f32" */
} part;

typedef struct macro {
    char name[64];
    int64_t value;
} macro;

/* ---- reading ---- */

static const struct {
    const char *word, *type;
} types[] = {{"float", "f32"}, {"half", "f16"},  {"double", "f64"}, {"int", "i32"},   {"uint", "u32"},
             {"long", "i64"},  {"ulong", "u64"}, {"short", "i16"},  {"ushort", "u16"}, {"char", "i8"},
             {"uchar", "u8"},  {"unsigned", "u32"}, {"size_t", "u64"}};

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

static bool has_word(const char *text, const char *word)
{
    return after_word(text, word) != NULL;
}

/* Text up to the '(' of the next kernel at or after *from; its name is the last word before it. */
static bool next_kernel(const char **from, char name[64], const char **open)
{
    const char *p = after_word(*from, "__kernel");
    if (!p)
        p = after_word(*from, "kernel");
    while (p) {
        const char *v = after_word(p, "void");
        if (!v)
            return false;
        /* Attributes with parentheses may stand between void and the name. */
        const char *q = v;
        for (;;) {
            q += strcspn(q, "(;{");
            if (*q != '(')
                return false;
            const char *end = q;
            while (end > v && isspace((unsigned char)end[-1]))
                end--;
            const char *start = end;
            while (start > v && is_name_char(start[-1]))
                start--;
            size_t n = (size_t)(end - start);
            if (n > 0 && n < 64 && strncmp(start, "__attribute__", n) != 0 && strncmp(start, "reqd_work_group_size", n) != 0) {
                memcpy(name, start, n);
                name[n] = '\0';
                *open = q;
                *from = q;
                return true;
            }
            int depth = 0;
            do {
                depth += *q == '(' ? 1 : *q == ')' ? -1 : 0;
                q++;
            } while (*q && depth > 0);
        }
    }
    return false;
}

/* The scalar type a parameter is made of, vectors by their element ("float4" -> f32). NULL if unknown. */
static const char *type_of(const char *text)
{
    for (const char *p = text; *p;) {
        if (!is_name_char(*p)) {
            p++;
            continue;
        }
        size_t n = 0;
        while (is_name_char(p[n]))
            n++;
        size_t letters = n;
        while (letters > 0 && isdigit((unsigned char)p[letters - 1]))
            letters--;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strlen(types[i].word) == letters && strncmp(types[i].word, p, letters) == 0)
                return types[i].type;
        p += n;
    }
    return NULL;
}

static kw_code read_part(const char *text, const char *file, part *out, kw_error *err)
{
    size_t n = strlen(text);
    while (n > 0 && !is_name_char(text[n - 1]))
        n--;
    size_t start = n;
    while (start > 0 && is_name_char(text[start - 1]))
        start--;
    if (start == n || n - start >= sizeof out->name)
        return kw_error_set(err, KW_BAD_INPUT, "%s: cannot read the kernel parameter '%s'", file, text);
    memset(out, 0, sizeof *out);
    memcpy(out->name, text + start, n - start);
    bool pointer = strchr(text, '*') != NULL;
    const char *type = type_of(text);
    if (!type)
        return kw_error_set(err, KW_BAD_INPUT, "%s: the type of the kernel parameter '%s' is not known: write the sidecar by "
                            "hand (templates/FORMAT.md)", file, text);
    strncpy(out->type, type, sizeof out->type - 1);
    if (pointer && (has_word(text, "__local") || has_word(text, "local")))
        out->kind = PART_LOCAL;
    else if (pointer)
        out->kind = has_word(text, "const") || has_word(text, "__constant") ? PART_TENSOR_IN : PART_TENSOR_OUT;
    else
        out->kind = type[0] == 'f' ? PART_SCALAR : PART_DIM;
    return KW_OK;
}

static kw_code read_parts(const char *open, const char *file, part *parts, size_t *n, kw_error *err)
{
    *n = 0;
    for (const char *p = open + 1; *p && *p != ')';) {
        size_t length = strcspn(p, ",)");
        char *text = mem_strndup(p, length);
        kw_code code = KW_OK;
        if (strspn(text, " \t\r\n") != length && strcmp(text, "void") != 0)
            code = *n < MAX_PARTS ? read_part(text, file, &parts[*n], err)
                                  : kw_error_set(err, KW_BAD_INPUT, "%s: more than %d kernel parameters", file, MAX_PARTS);
        if (code == KW_OK && strspn(text, " \t\r\n") != length && strcmp(text, "void") != 0)
            ++*n;
        free(text);
        if (code != KW_OK)
            return code;
        p += length + (p[length] == ',');
    }
    return KW_OK;
}

/* `#ifndef NAME` followed by `#define NAME 16`. */
static size_t read_macros(const char *source, macro *out, size_t capacity)
{
    size_t n = 0;
    for (const char *p = strstr(source, "#ifndef"); p && n < capacity; p = strstr(p + 1, "#ifndef")) {
        char name[64], again[64];
        long long given;
        if (sscanf(p, "#ifndef %63s #define %63s %lld", name, again, &given) == 3 && strcmp(name, again) == 0) {
            memcpy(out[n].name, name, sizeof name);
            out[n++].value = given;
        }
    }
    return n;
}

/* ---- writing ---- */

static const char *first_dim(const part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == PART_DIM)
            return parts[i].name;
    return "n";
}

static json *strings(const char *a)
{
    json *list = json_new_array();
    json_append(list, json_new_string(a));
    return list;
}

static json *power_values(int64_t around)
{
    json *list = json_new_array();
    for (int64_t v = around >= 4 ? around / 4 : 1; v <= 4 * around && v > 0; v *= 2)
        json_append(list, json_new_int(v));
    return list;
}

static json *sidecar_params(const macro *macros, size_t n_macros)
{
    json *params = json_new_object();
    for (size_t i = 0; i < n_macros; i++) {
        json *p = json_new_object();
        int64_t v = macros[i].value;
        bool power = v > 0 && (v & (v - 1)) == 0;
        json *values = power ? power_values(v) : json_new_array();
        if (!power)
            json_append(values, json_new_int(v));
        json_set(p, "values", values);
        json_set_int(p, "default", v);
        json_set_string(p, "doc", "macro of the kernel: list the values to try");
        json_set(params, macros[i].name, p);
    }
    json *wg = json_new_object(), *values = json_new_array();
    for (int64_t v = 16; v <= 256; v *= 2)
        json_append(values, json_new_int(v));
    json_set(wg, "values", values);
    json_set_int(wg, "default", 64);
    json_set_string(wg, "doc", "work-items per group");
    json_set(params, "WG_SIZE", wg);
    return params;
}

static json *sidecar_args(const part *parts, size_t n)
{
    json *args = json_new_array();
    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind == PART_LOCAL) {
            json *local = json_new_object();
            strb text = STRB_INIT;
            strb_printf(&text, "WG_SIZE * sizeof(%s)", parts[i].type);
            json_set_string(local, "local", strb_text(&text));
            strb_clear(&text);
            json_append(args, local);
        } else {
            json_append(args, json_new_string(parts[i].name));
        }
    }
    return args;
}

static void write_sidecar(scaffold *s, const char *file, const part *parts, size_t n, const macro *macros, size_t n_macros)
{
    json *j = json_new_object(), *launch = json_new_object(), *launches = json_new_array();
    json_set_string(j, "task", s->task);
    json_set_string(j, "language", "opencl");
    json_set(j, "sources", strings(file));
    json_set_bool(j, "macros", true);
    json_set(j, "params", sidecar_params(macros, n_macros));
    json_set(j, "constraints", strings("WG_SIZE <= device.max_work_group_size"));
    json_set_string(launch, "kernel", s->kernel);
    json_set(launch, "args", sidecar_args(parts, n));
    json_set(launch, "local", strings("WG_SIZE"));
    strb groups = STRB_INIT;
    strb_printf(&groups, "ceil_div(%s, WG_SIZE)", first_dim(parts, n));
    json_set(launch, "groups", strings(strb_text(&groups)));
    strb_clear(&groups);
    json_append(launches, launch);
    json_set(j, "launches", launches);
    json_print_pretty(j, &s->sidecar);
    strb_add_char(&s->sidecar, '\n');
    json_free(j);
}

static json *task_tensors(const part *parts, size_t n)
{
    json *tensors = json_new_array();
    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind != PART_TENSOR_IN && parts[i].kind != PART_TENSOR_OUT)
            continue;
        json *t = json_new_object();
        json_set_string(t, "name", parts[i].name);
        json_set_string(t, "type", parts[i].type);
        json_set(t, "shape", strings(first_dim(parts, n)));
        json_set_string(t, "access", parts[i].kind == PART_TENSOR_IN ? "in" : "out");
        json_append(tensors, t);
    }
    return tensors;
}

static void write_task(scaffold *s, const part *parts, size_t n)
{
    json *j = json_new_object(), *dims = json_new_object(), *scalars = json_new_array();
    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind == PART_DIM) {
            json *d = json_new_object();
            json_set_int(d, "min", 1);
            json_set(dims, parts[i].name, d);
        } else if (parts[i].kind == PART_SCALAR) {
            json *o = json_new_object(), *values = json_new_array();
            json_append(values, json_new_int(1));
            json_append(values, json_new_number(0.5));
            json_set_string(o, "name", parts[i].name);
            json_set_string(o, "type", parts[i].type);
            json_set(o, "values", values);
            json_append(scalars, o);
        }
    }
    if (json_count(dims) == 0) {
        json *d = json_new_object();
        json_set_int(d, "min", 1);
        json_set(dims, "n", d);
    }
    strb reference = STRB_INIT;
    strb_printf(&reference, "%s_reference", s->task);
    json_set_string(j, "task", s->task);
    json_set_string(j, "doc", "what the kernel computes, in one line");
    json_set(j, "dims", dims);
    json_set(j, "tensors", task_tensors(parts, n));
    json_set(j, "scalars", scalars);
    json_set_string(j, "reference", strb_text(&reference));
    strb_clear(&reference);
    json *error = json_new_object();
    json_set_string(error, "reduction_length", "1");
    json_set(j, "error", error);
    json_set_string(j, "shapes", "shapes/default.json");
    json_set_string(j, "edge_shapes", "shapes/edge.json");
    json_print_pretty(j, &s->task_json);
    strb_add_char(&s->task_json, '\n');
    json_free(j);
}

static void write_reference(scaffold *s, const part *parts, size_t n)
{
    strb *r = &s->reference;
    strb_printf(r, "/* Reference of task %s: the values of listed elements of an output, in double precision. */\n", s->task);
    strb_add(r, "#include \"kw_reference.h\"\n\n#include <math.h>\n\n"
                "#error \"write this reference (and remove this line): without it no result counts as verified\"\n\n");
    strb_printf(r, "void %s_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *value, "
                "double *scale)\n{\n", s->task);
    int dim = 0, scalar = 0, tensor = 0;
    for (size_t i = 0; i < n; i++) {
        switch (parts[i].kind) {
        case PART_DIM:
            strb_printf(r, "    const int64_t %s = r->dims[%d];\n", parts[i].name, dim++);
            break;
        case PART_SCALAR:
            strb_printf(r, "    const double %s = r->scalars[%d];\n", parts[i].name, scalar++);
            break;
        case PART_TENSOR_IN:
            strb_printf(r, "    const double *%s = r->tensors[%d];\n", parts[i].name, tensor++);
            break;
        case PART_TENSOR_OUT:
            strb_printf(r, "    /* r->tensors[%d] is %s before the kernel ran (NULL while its access is \"out\") */\n", tensor++,
                        parts[i].name);
            break;
        case PART_LOCAL:
            break;
        }
    }
    strb_add(r, "    for (size_t i = 0; i < n; i++) {\n"
                "        const uint64_t e = elements[i]; /* flat index into output number `tensor` */\n"
                "        value[i] = 0;  /* what a right kernel writes there */\n"
                "        scale[i] = 0;  /* sum of the magnitudes of the terms that were added to make it */\n"
                "    }\n}\n");
}

static void write_shapes(scaffold *s, const part *parts, size_t n)
{
    static const int64_t typical[] = {1 << 20, 1 << 16}, edges[] = {1, 2, 3, 17, 64, 127, 1000, 4099};
    for (int which = 0; which < 2; which++) {
        size_t count = which ? sizeof edges / sizeof *edges : sizeof typical / sizeof *typical;
        for (size_t k = 0; k < count; k++) {
            json *o = json_new_object();
            for (size_t i = 0; i < n; i++)
                if (parts[i].kind == PART_DIM)
                    json_set_int(o, parts[i].name, which ? edges[k] : typical[k]);
            if (json_count(o) == 0)
                json_set_int(o, "n", which ? edges[k] : typical[k]);
            json_print(o, which ? &s->edges : &s->shapes);
            strb_add_char(which ? &s->edges : &s->shapes, '\n');
            json_free(o);
        }
    }
}

kw_code scaffold_make(const char *source, const char *file, const char *kernel, scaffold *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    strb plain = STRB_INIT;
    source_strip(source, &plain);
    part parts[MAX_PARTS];
    macro macros[16];
    size_t n = 0;
    const char *from = strb_text(&plain), *open = NULL;
    char name[64];
    bool found = false;
    while (!found && next_kernel(&from, name, &open))
        found = !kernel || strcmp(kernel, name) == 0;
    kw_code code = found ? read_parts(open, file, parts, &n, err)
                         : kw_error_set(err, KW_BAD_INPUT, "%s: no kernel function%s%s found", file, kernel ? " called " : "",
                                        kernel ? kernel : "");
    if (code == KW_OK) {
        memcpy(out->kernel, name, sizeof name);
        memcpy(out->task, name, sizeof name);
        out->n_macros = read_macros(strb_text(&plain), macros, sizeof macros / sizeof *macros);
        for (size_t i = 0; i < n; i++) {
            out->n_dims += parts[i].kind == PART_DIM;
            out->n_scalars += parts[i].kind == PART_SCALAR;
            out->n_tensors += parts[i].kind == PART_TENSOR_IN || parts[i].kind == PART_TENSOR_OUT;
        }
        write_sidecar(out, file, parts, n, macros, out->n_macros);
        write_task(out, parts, n);
        write_reference(out, parts, n);
        write_shapes(out, parts, n);
    }
    strb_clear(&plain);
    return code;
}

void scaffold_clear(scaffold *s)
{
    strb *all[] = {&s->sidecar, &s->task_json, &s->reference, &s->shapes, &s->edges};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        strb_clear(all[i]);
    memset(s, 0, sizeof *s);
}
