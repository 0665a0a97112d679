/* Loading templates and sidecars. */
#include "codegen/template.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "codegen/expand.h"
#include "codegen/template_read.h"

#include <stdlib.h>
#include <string.h>

#define SIDECAR_END ".kw.json"
#define FRONT_BEGIN "/*kernwright"

/* ---- paths ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static const char *const kernel_ends[] = {".cl", ".cu", ".opencl"};
enum { N_KERNEL_ENDS = sizeof kernel_ends / sizeof *kernel_ends };

/* File name without folder, .kw.json and the kernel's extension. */
static const char *name_of(arena *a, const char *path)
{
    char *name = arena_strdup(a, fs_base_name(path));
    if (ends_with(name, SIDECAR_END))
        name[strlen(name) - strlen(SIDECAR_END)] = '\0';
    for (size_t i = 0; i < N_KERNEL_ENDS; i++) {
        if (ends_with(name, kernel_ends[i])) {
            name[strlen(name) - strlen(kernel_ends[i])] = '\0';
            break;
        }
    }
    return name;
}

/* KERNEL.cl -> KERNEL.cl.kw.json or KERNEL.kw.json, whichever exists; the caller frees. NULL if neither. */
static char *find_sidecar(const char *path)
{
    strb name = STRB_INIT;
    strb_printf(&name, "%s%s", path, SIDECAR_END);
    if (fs_is_file(strb_text(&name)))
        return strb_take(&name);
    const char *dot = strrchr(fs_base_name(path), '.');
    if (dot != NULL) {
        strb_reset(&name);
        strb_add_n(&name, path, (size_t)(dot - path));
        strb_add(&name, SIDECAR_END);
        if (fs_is_file(strb_text(&name)))
            return strb_take(&name);
    }
    strb_clear(&name);
    return NULL;
}

/* ---- front matter ---- */

/* Where the parts of a template's text lie. */
typedef struct file_parts {
    const char *json_text;
    size_t json_length;
    int line, column; /* of the JSON */
    const char *body;
    int body_line;
} file_parts;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void advance(const char *from, const char *to, int *line, int *column)
{
    for (; from < to; from++) {
        *column = *from == '\n' ? 1 : *column + 1;
        *line += *from == '\n';
    }
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

/* The JSON is parsed into *front, which the caller frees. */
static kw_code read_front(const char *text, size_t length, const char *path, file_parts *out, json **front,
                          kw_error *err)
{
    const char *end = text + length;
    const char *at = skip_blanks(text + (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0), end);
    size_t n = strlen(FRONT_BEGIN);
    out->line = out->column = 1;
    advance(text, at, &out->line, &out->column);
    if ((size_t)(end - at) <= n || memcmp(at, FRONT_BEGIN, n) != 0 || !(is_blank(at[n]) || at[n] == '{'))
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s:%d:%d: no front matter: a template begins with the comment /*kernwright {...} */; a "
                            "kernel that must stay as it is takes a sidecar %s" SIDECAR_END " beside it",
                            path, out->line, out->column, fs_base_name(path));
    const char *begin = skip_blanks(at + n, end);
    advance(at, begin, &out->line, &out->column);
    size_t used;
    *front = json_parse_prefix(begin, (size_t)(end - begin), &used, path, out->line, out->column, err);
    if (*front == NULL)
        return KW_BAD_INPUT;
    out->json_text = begin;
    out->json_length = used;
    const char *close = skip_blanks(begin + used, end);
    int line = out->line, column = out->column;
    advance(begin, close, &line, &column);
    if (end - close < 2 || memcmp(close, "*/", 2) != 0) {
        json_free(*front);
        *front = NULL;
        return kw_error_set(err, KW_BAD_INPUT,
                            "%s:%d:%d: the front matter must end here with */, after one JSON object", path, line,
                            column);
    }
    const char *kernel = close + 2;
    for (const char *p = kernel; p < end && is_blank(*p); p++) /* blank lines between the two */
        if (*p == '\n')
            kernel = p + 1;
    advance(close, kernel, &line, &column);
    out->body = kernel;
    out->body_line = line;
    return KW_OK;
}

/* ---- kernel text ---- */

/* Line of the first byte that is not UTF-8; 0 if all are. */
static int bad_utf8_line(const char *text, size_t length)
{
    int line = 1;
    for (size_t i = 0; i < length;) {
        size_t n = utf8_length(text + i, length - i);
        if (n == 0)
            return line;
        line += text[i] == '\n';
        i += n;
    }
    return 0;
}

/* Sources travel as JSON. In a kernel that stays as it is, comments may have another encoding: they do not count. */
static kw_code check_encoding(const template_reader *r, const char *text, size_t length, const char *path, int line,
                              bool directives)
{
    if (memchr(text, '\0', length) != NULL)
        return kw_error_set(r->err, KW_BAD_INPUT, "%s: contains a NUL byte, so it is no kernel source", path);
    int bad = bad_utf8_line(text, length);
    if (bad > 0 && !directives) {
        strb code = STRB_INIT, copy = STRB_INIT;
        strb_add_n(&copy, text, length);
        source_strip(strb_text(&copy), &code);
        bad = bad_utf8_line(strb_text(&code), code.length) > 0 ? bad : 0;
        strb_clear(&code);
        strb_clear(&copy);
    }
    if (bad > 0)
        return kw_error_set(r->err, KW_BAD_INPUT, "%s:%d:1: a byte here is not UTF-8", path, line + bad - 1);
    return KW_OK;
}

static kw_code add_body(template_reader *r, const char *text, size_t length, const char *path, int line,
                        bool directives)
{
    template *p = r->p;
    kw_code code = check_encoding(r, text, length, path, line, directives);
    if (code != KW_OK)
        return code;
    const struct body *b = directives ? body_parse(p->memory, text, length, path, line, p->scope,
                                                   (body_names){r->known, r->n_known}, r->err)
                                      : body_literal(p->memory, text, length);
    if (b == NULL)
        return KW_BAD_INPUT;
    p->bodies[p->n_bodies++] = b;
    return KW_OK;
}

/* The launches against the text as written; `raw` is what the compiler will see but for directives and ${}. */
static kw_code check_kernels(template_reader *r, const char *raw)
{
    template *p = r->p;
    strb options = STRB_INIT;
    const json *list = json_get(r->front, "options");
    for (size_t i = 0; i < json_count(list); i++)
        strb_printf(&options, "%s ", json_text(json_at(list, i)));
    size_t launch = 0;
    kw_error why = {0};
    kw_code code = template_check_kernels(raw, true, p->lang, p->task, NULL, p->launches, p->n_launches,
                                          strb_text(&options), &launch, &why);
    if (code != KW_OK)
        locate_error(&r->where, locate_join("launches[%zu].kernel", launch).text, r->err, "%s", why.message);
    strb_clear(&options);
    return code;
}

/* Macros that will stand before the kernel text, for the check only. */
static void add_macro_lines(const template *p, const json *front, strb *out)
{
    const json *defines = json_get(front, "defines");
    for (size_t i = 0; i < json_count(defines); i++) {
        const json *j = json_at(defines, i);
        strb_printf(out, "#define %s %s\n", json_key(j), json_kind_of(j) == JSON_STRING ? json_text(j) : "1");
    }
    for (size_t i = 0; p->macros && i < p->n_params; i++)
        strb_printf(out, "#define %s 1\n", p->params[i].name);
}

static kw_code read_template_body(template_reader *r, const file_parts *parts, const char *end)
{
    template *p = r->p;
    p->bodies = arena_alloc(p->memory, sizeof(struct body *));
    kw_code code = add_body(r, parts->body, (size_t)(end - parts->body), p->path, parts->body_line, true);
    if (code != KW_OK)
        return code;
    strb raw = STRB_INIT;
    add_macro_lines(p, r->front, &raw);
    strb_add_n(&raw, parts->body, (size_t)(end - parts->body));
    code = check_kernels(r, strb_text(&raw));
    strb_clear(&raw);
    return code;
}

/* The sidecar's only kernel file when it names none; the caller frees. */
static char *implied_source(const char *sidecar)
{
    size_t n = strlen(sidecar) - strlen(SIDECAR_END);
    char *base = mem_strndup(sidecar, n);
    if (fs_is_file(base))
        return base;
    for (size_t i = 0; i < N_KERNEL_ENDS; i++) {
        strb path = STRB_INIT;
        strb_printf(&path, "%s%s", base, kernel_ends[i]);
        if (fs_is_file(strb_text(&path))) {
            free(base);
            return strb_take(&path);
        }
        strb_clear(&path);
    }
    free(base);
    return NULL;
}

/* Is the line nothing but the begin (R"x() or the end ()x") of a C++ raw string? */
static bool is_raw_string_line(const char *line, size_t n)
{
    const char *at = line, *end = line + n;
    while (at < end && is_blank(*at))
        at++;
    while (end > at && (is_blank(end[-1]) || end[-1] == ';' || end[-1] == ','))
        end--;
    size_t length = (size_t)(end - at);
    if (length < 2 || length > 20)
        return false;
    if (length >= 3 && at[0] == 'R' && at[1] == '"')
        return end[-1] == '(' && memchr(at + 2, '"', length - 2) == NULL;
    return at[0] == ')' && end[-1] == '"' && memchr(at + 1, '"', length - 2) == NULL &&
           memchr(at + 1, ')', length - 2) == NULL;
}

/* Kernel files that C++ programs include as raw strings (CLBlast's, for one) have lines that no kernel compiler takes:
 * they become empty. */
static void blank_raw_string_lines(strb *text)
{
    char *end = text->data + text->length;
    for (char *line = text->data; line != NULL && line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline != NULL ? newline : end) - line);
        if (is_raw_string_line(line, n))
            memset(line, ' ', n);
        line = newline != NULL ? newline + 1 : end;
    }
}

static kw_code add_source(template_reader *r, const char *path, bool directives, strb *raw)
{
    strb text = STRB_INIT;
    kw_code code = fs_read(path, 0, &text, r->err);
    if (code == KW_OK)
        blank_raw_string_lines(&text);
    if (code == KW_OK)
        code = add_body(r, strb_text(&text), text.length, path, 1, directives);
    if (code == KW_OK) {
        strb_add_n(raw, strb_text(&text), text.length);
        strb_add_char(raw, '\n');
    }
    strb_clear(&text);
    return code;
}

static kw_code add_listed_sources(template_reader *r, const json *list, bool directives, strb *raw)
{
    char *folder = fs_folder_of(r->p->path);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < json_count(list); i++) {
        locate_path at = locate_join("sources[%zu]", i);
        const char *name = json_kind_of(json_at(list, i)) == JSON_STRING ? json_text(json_at(list, i)) : "";
        char *path = fs_join(folder, name);
        if (*name == '\0')
            code = locate_error(&r->where, at.text, r->err, "must be the path of a kernel file, seen from the sidecar");
        else if (!fs_is_file(path))
            code = locate_error(&r->where, at.text, r->err, "there is no file %s", path);
        else
            code = add_source(r, path, directives, raw);
        if (code == KW_OK && raw->length > EXPAND_MAX_BYTES)
            code = locate_error(&r->where, at.text, r->err, "the sources are over the limit of %u MiB",
                                EXPAND_MAX_BYTES >> 20);
        free(path);
    }
    free(folder);
    return code;
}

static kw_code read_sidecar_sources(template_reader *r)
{
    template *p = r->p;
    const json *list;
    bool directives = false;
    strb raw = STRB_INIT;
    kw_code code = locate_opt_array(&r->where, "", r->front, "sources", &list, r->err);
    if (code == KW_OK)
        code = locate_opt_bool(&r->where, "", r->front, "directives", false, &directives, r->err);
    if (code != KW_OK)
        return code;
    p->bodies = arena_alloc(p->memory, (json_count(list) + 1) * sizeof(struct body *));
    add_macro_lines(p, r->front, &raw);
    if (list != NULL) {
        code = json_count(list) > 0 ? add_listed_sources(r, list, directives, &raw)
                                    : locate_error(&r->where, "sources", r->err, "must name at least one file");
    } else {
        char *path = implied_source(p->path);
        code = path != NULL ? add_source(r, path, directives, &raw)
                            : locate_error(&r->where, "", r->err,
                                           "no kernel file of that name lies beside the sidecar; "
                                           "name it in \"sources\"");
        free(path);
    }
    if (code == KW_OK)
        code = check_kernels(r, strb_text(&raw));
    strb_clear(&raw);
    return code;
}

/* ---- entry ---- */

static template *new_template(const char *path, const task *t)
{
    template *p = mem_calloc(1, sizeof *p);
    p->memory = arena_new();
    p->path = arena_strdup(p->memory, path);
    p->name = name_of(p->memory, path);
    p->task = t;
    p->doc = "";
    p->is_sidecar = ends_with(path, SIDECAR_END);
    p->scope = expr_scope_copy(t->scope);
    return p;
}

void template_free(template *p)
{
    if (p == NULL)
        return;
    json_free(p->front);
    expr_scope_free(p->scope);
    arena_free(p->memory);
    free(p);
}

static kw_code parse_parts(template *p, const char *text, size_t length, kw_error *err)
{
    file_parts parts = {.json_text = text, .json_length = length, .line = 1, .column = 1};
    kw_code code = KW_OK;
    if (p->is_sidecar) {
        p->front = json_parse(text, length, p->path, 1, 1, err);
        code = p->front != NULL ? KW_OK : KW_BAD_INPUT;
    } else {
        code = read_front(text, length, p->path, &parts, &p->front, err);
    }
    if (code != KW_OK)
        return code;
    template_reader r = {.p = p, .front = p->front, .err = err};
    r.where = (locate){p->path, parts.json_text, parts.json_length, parts.line, parts.column};
    code = template_read_front(&r);
    if (code == KW_OK)
        code = template_read_launches(&r);
    if (code == KW_OK)
        code = template_add_index_rule(&r);
    if (code != KW_OK)
        return code;
    return p->is_sidecar ? read_sidecar_sources(&r) : read_template_body(&r, &parts, text + length);
}

kw_code template_parse(const char *text, size_t length, const char *path, const task *t, template **out, kw_error *err)
{
    template *p = new_template(path, t);
    kw_code code = parse_parts(p, text, length, err);
    if (code != KW_OK) {
        template_free(p);
        return code;
    }
    *out = p;
    return KW_OK;
}

/* Reads the file, or the sidecar beside it when it has no front matter but does have one. *path_out is freed by the
 * caller. */
static kw_code read_file(const char *path, strb *text, char **path_out, kw_error *err)
{
    *path_out = mem_strdup(path);
    kw_code code = fs_read(path, 0, text, err);
    if (code != KW_OK || ends_with(path, SIDECAR_END))
        return code;
    const char *at = skip_blanks(strb_text(text), strb_text(text) + text->length);
    if (strncmp(at, FRONT_BEGIN, strlen(FRONT_BEGIN)) == 0)
        return KW_OK;
    char *sidecar = find_sidecar(path);
    if (sidecar == NULL)
        return KW_OK; /* the reader says what is missing */
    free(*path_out);
    *path_out = sidecar;
    strb_reset(text);
    return fs_read(sidecar, 0, text, err);
}

kw_code template_load(const char *path, const task *t, template **out, kw_error *err)
{
    strb text = STRB_INIT;
    char *found;
    kw_code code = read_file(path, &text, &found, err);
    if (code == KW_OK)
        code = template_parse(strb_text(&text), text.length, found, t, out, err);
    free(found);
    strb_clear(&text);
    return code;
}

kw_code template_task_name(const char *path, char **task_name, kw_error *err)
{
    strb text = STRB_INIT;
    char *found;
    json *front = NULL;
    file_parts parts = {0};
    kw_code code = read_file(path, &text, &found, err);
    if (code == KW_OK && ends_with(found, SIDECAR_END)) {
        front = json_parse(strb_text(&text), text.length, found, 1, 1, err);
        code = front != NULL ? KW_OK : KW_BAD_INPUT;
    } else if (code == KW_OK) {
        code = read_front(strb_text(&text), text.length, found, &parts, &front, err);
    }
    const char *name;
    if (code == KW_OK)
        code = json_get_string(front, "task", found, &name, err);
    if (code == KW_OK)
        *task_name = mem_strdup(name);
    json_free(front);
    free(found);
    strb_clear(&text);
    return code;
}
