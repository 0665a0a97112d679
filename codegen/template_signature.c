/* What the text of a kernel says about its name and arguments. Reports only what is certain: macros, ${} and types of
 * unknown meaning leave a doubt, and then the driver has the last word. */
#include "codegen/template_read.h"

#include "codegen/expand.h"

#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *at, *end;
} span;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool same(span s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s.end - s.at) == n && memcmp(s.at, text, n) == 0;
}

static bool contains(span s, char c)
{
    return memchr(s.at, c, (size_t)(s.end - s.at)) != NULL;
}

/* The next word at or after p; empty at the end. */
static span next_word(const char *p, const char *end)
{
    while (p < end && !is_word(*p))
        p++;
    span s = {p, p};
    while (s.end < end && is_word(*s.end))
        s.end++;
    return s;
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\n')
        p++;
    return p;
}

/* p stands on "("; the place after the matching ")". NULL if there is none. */
static const char *skip_parens(const char *p)
{
    int depth = 0;
    for (; *p != '\0'; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

static bool on_preprocessor_line(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return *at == '#';
}

/* ---- finding kernels ---- */

/* The parameter list of a definition NAME(...) [attributes] { at this occurrence of the name. */
static bool definition_at(const char *text, span name, span *params)
{
    const char *open = skip_blanks(name.end);
    if (*open != '(' || on_preprocessor_line(text, name.at))
        return false;
    const char *close = skip_parens(open);
    if (close == NULL)
        return false;
    *params = (span){open + 1, close - 1};
    const char *p = skip_blanks(close);
    while (strncmp(p, "__attribute__", 13) == 0) {
        p = skip_blanks(p + 13);
        p = *p == '(' ? skip_parens(p) : NULL;
        if (p == NULL)
            return false;
        p = skip_blanks(p);
    }
    return *p == '{';
}

static bool is_kernel_word(span w)
{
    return same(w, "kernel") || same(w, "__kernel") || same(w, "__global__");
}

/* The name of the kernel that the word `kernel` at w begins; empty if that is not clear. */
static span kernel_name(span w, const char *end)
{
    for (int i = 0; i < 32; i++) {
        w = next_word(w.end, end);
        const char *p = skip_blanks(w.end);
        if (w.at == w.end || *p != '(')
            continue;
        if (!same(w, "__attribute__") && !same(w, "__launch_bounds__"))
            return w;
        p = skip_parens(p);
        if (p == NULL)
            break;
        w.end = p;
    }
    return (span){end, end};
}

/* Does the text make names that cannot be seen in it? */
static bool hides_names(const char *text)
{
    return strstr(text, "##") != NULL || strstr(text, "#include") != NULL || strstr(text, "# include") != NULL;
}

/* Raw text: could a word with ${} in it, followed by "(", come to be this name? */
static bool pattern_matches(span word, const char *name)
{
    const char *p = word.at;
    while (p < word.end && *p != '$') {
        if (*p != *name)
            return false;
        p++;
        name++;
    }
    size_t tail = 0; /* after the last ${} */
    while (word.end - tail > p && word.end[-1 - (ptrdiff_t)tail] != '}')
        tail++;
    size_t n = strlen(name);
    return n >= tail && memcmp(name + n - tail, word.end - tail, tail) == 0;
}

static bool may_be_made(const char *text, const char *name)
{
    for (const char *at = strstr(text, "${"); at != NULL; at = strstr(at + 2, "${")) {
        span w = {at, at};
        while (w.at > text && (is_word(w.at[-1]) || w.at[-1] == '}'))
            w.at--;
        while (*w.end != '\0' && (is_word(*w.end) || strncmp(w.end, "${", 2) == 0)) {
            const char *close = *w.end == '$' ? strchr(w.end, '}') : NULL;
            if (*w.end == '$' && close == NULL)
                break;
            w.end = close != NULL ? close + 1 : w.end + 1;
        }
        if (*skip_blanks(w.end) == '(' && pattern_matches(w, name))
            return true;
    }
    return false;
}

/* Places where a name or the word `kernel` stands that are looked at: each look may go through the whole text. */
enum { MAX_PLACES = 256 };

static kw_code absent_kernel(const char *text, const char *name, kw_error *err)
{
    const char *end = text + strlen(text);
    const char *names[16] = {NULL};
    char copies[16][64];
    size_t n = 0;
    int places = 0;
    strb list = STRB_INIT;
    for (span w = next_word(text, end); w.at < w.end && n < 16 && places < MAX_PLACES; w = next_word(w.end, end)) {
        places += is_kernel_word(w);
        span found = is_kernel_word(w) ? kernel_name(w, end) : (span){end, end};
        size_t length = (size_t)(found.end - found.at);
        if (length == 0 || length >= sizeof copies[0])
            continue;
        memcpy(copies[n], found.at, length);
        copies[n][length] = '\0';
        names[n] = copies[n];
        strb_printf(&list, "%s%s", n > 0 ? ", " : "", copies[n]);
        n++;
    }
    const char *nearest = json_nearest(name, names, n);
    kw_error_set(err, KW_BAD_INPUT, "no kernel %s in the source%s%s%s%s", name,
                 nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", n > 0 ? "; it defines " : "",
                 strb_text(&list));
    strb_clear(&list);
    return KW_BAD_INPUT;
}

/* ---- macros ---- */

typedef struct macro {
    span name, replacement; /* the rest of the line */
} macro;

/* The text, and what is looked up in it again and again. */
typedef struct source {
    const char *text, *end;
    macro *macros;
    size_t n_macros;
} source;

static source read_source(const char *text)
{
    source s = {text, text + strlen(text), NULL, 0};
    size_t capacity = 0;
    for (const char *at = strchr(text, '#'); at != NULL; at = strchr(at + 1, '#')) {
        span define = next_word(at + 1, s.end);
        if (define.at > at + 2 || !same(define, "define"))
            continue;
        span name = next_word(define.end, s.end);
        s.macros = mem_grow(s.macros, &capacity, s.n_macros + 1, sizeof *s.macros);
        s.macros[s.n_macros++] = (macro){name, {name.end, name.end + strcspn(name.end, "\n")}};
    }
    return s;
}

/* NULL if the word is not defined as a macro. */
static const macro *find_macro(const source *s, span word)
{
    size_t n = (size_t)(word.end - word.at);
    for (size_t i = 0; i < s->n_macros; i++) {
        span name = s->macros[i].name;
        if ((size_t)(name.end - name.at) == n && memcmp(name.at, word.at, n) == 0)
            return &s->macros[i];
    }
    return NULL;
}

/* The next place after `from` where the name stands as a word; empty if there is none. */
static span find_word(const source *s, const char *from, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = from; (at = strstr(at, name)) != NULL; at++)
        if ((at == s->text || !is_word(at[-1])) && !is_word(at[n]))
            return (span){at, at + n};
    return (span){s->end, s->end};
}

/* ---- parameters ---- */

typedef struct param {
    span text;
    bool pointer, local, global; /* certain */
    bool scalar;                 /* certain: no pointer, `type` is known */
    dtype type;
} param;

/* Words of built-in scalar types and what may stand around them. */
static bool scan_type_words(span text, dtype *type)
{
    static const struct {
        const char *word;
        dtype type;
    } rows[] = {{"int", DTYPE_I32},      {"uint", DTYPE_U32},    {"float", DTYPE_F32},   {"double", DTYPE_F64},
                {"half", DTYPE_F16},     {"long", DTYPE_I64},    {"ulong", DTYPE_U64},   {"short", DTYPE_I16},
                {"ushort", DTYPE_U16},   {"char", DTYPE_I8},     {"uchar", DTYPE_U8},    {"int32_t", DTYPE_I32},
                {"uint32_t", DTYPE_U32}, {"int64_t", DTYPE_I64}, {"uint64_t", DTYPE_U64}};
    bool is_unsigned = false;
    *type = DTYPE_NONE;
    for (span w = next_word(text.at, text.end); w.at < w.end; w = next_word(w.end, text.end)) {
        bool last = next_word(w.end, text.end).at == text.end;
        bool known = same(w, "const") || same(w, "signed") || same(w, "unsigned");
        is_unsigned = is_unsigned || same(w, "unsigned");
        for (size_t i = 0; !known && i < sizeof rows / sizeof *rows; i++) {
            if (same(w, rows[i].word)) {
                bool modifier = *type == DTYPE_I64 || *type == DTYPE_I16; /* long int, short int, long long */
                *type = modifier ? *type : rows[i].type;
                known = true;
            }
        }
        if (!known && !last)
            return false;
    }
    if (is_unsigned && *type == DTYPE_NONE)
        *type = DTYPE_U32;
    return *type != DTYPE_NONE;
}

/* false: the text leaves it open what this parameter is, or even how many it stands for. */
static bool read_param(const source *src, language lang, span s, param *x)
{
    size_t n_words = 0;
    bool has_macro = false;
    *x = (param){.text = s};
    if (contains(s, '(') || contains(s, '<') || contains(s, '#') || contains(s, '$') || contains(s, '{'))
        return false;
    for (span w = next_word(s.at, s.end); w.at < w.end; w = next_word(w.end, s.end)) {
        const macro *m = find_macro(src, w);
        if (m != NULL && contains(m->replacement, ','))
            return false;
        has_macro = has_macro || m != NULL;
        if (lang == LANGUAGE_OPENCL) {
            x->local = x->local || same(w, "local") || same(w, "__local");
            x->global =
                x->global || same(w, "global") || same(w, "__global") || same(w, "constant") || same(w, "__constant");
        }
        n_words++;
    }
    x->pointer = contains(s, '*') || contains(s, '[');
    if (n_words < 2 && !x->pointer)
        return false; /* perhaps a macro that stands for several */
    x->scalar = !x->pointer && !has_macro && scan_type_words(s, &x->type);
    return true;
}

/* Splits a parameter list; -1 if the number is not certain. */
static int read_params(const source *src, language lang, span list, param *out, int capacity)
{
    int n = 0;
    list.at = skip_blanks(list.at);
    while (list.end > list.at && list.end[-1] == ' ')
        list.end--;
    if (list.at == list.end || same(list, "void"))
        return 0;
    while (list.at < list.end) {
        const char *comma = list.at;
        for (int depth = 0; comma < list.end && (depth > 0 || *comma != ','); comma++)
            depth += (*comma == '(' || *comma == '[') - (*comma == ')' || *comma == ']');
        if (n == capacity || !read_param(src, lang, (span){skip_blanks(list.at), comma}, &out[n]))
            return -1;
        n++;
        list.at = comma < list.end ? comma + 1 : comma;
    }
    return n;
}

/* ---- comparing ---- */

static bool is_passed_in_list(language lang, const template_arg *a)
{
    return lang != LANGUAGE_CUDA || a->kind != ARG_LOCAL; /* dynamic shared memory is no parameter in CUDA */
}

static dtype arg_type(const task *t, const task_types *types, const template_arg *a)
{
    int symbol = a->kind == ARG_SCALAR ? t->scalars[a->index].type : a->type_symbol;
    if (symbol >= 0)
        return types != NULL ? types->of[symbol] : DTYPE_NONE;
    return a->kind == ARG_SCALAR ? t->scalars[a->index].fixed_type : a->type;
}

static const char *arg_kind_text(arg_kind kind)
{
    switch (kind) {
    case ARG_TENSOR:
        return "a tensor";
    case ARG_TEMP:
        return "a temporary";
    case ARG_LOCAL:
        return "local memory";
    case ARG_SCALAR:
    case ARG_VALUE:
        break;
    }
    return "a number";
}

static bool is_memory(const template_arg *a)
{
    return a->kind == ARG_TENSOR || a->kind == ARG_TEMP || a->kind == ARG_LOCAL;
}

/* Is this argument certainly not what the parameter takes? */
static bool mismatch(const param *x, const template_arg *a, dtype type)
{
    if (x->pointer)
        return !is_memory(a) || (x->local && a->kind != ARG_LOCAL) || (x->global && a->kind == ARG_LOCAL);
    if (!x->scalar)
        return false;
    if (is_memory(a))
        return true;
    return type != DTYPE_NONE &&
           (dtype_bytes(type) != dtype_bytes(x->type) || dtype_is_float(type) != dtype_is_float(x->type));
}

static kw_code compare(const template_launch *l, language lang, const task *t, const task_types *types,
                       const param *params, int n_params, kw_error *err)
{
    int n = 0;
    for (size_t i = 0; i < l->n_args; i++)
        n += is_passed_in_list(lang, &l->args[i]);
    if (n != n_params)
        return kw_error_set(err, KW_BAD_INPUT, "kernel %s takes %d arguments, but the launch passes %d", l->kernel,
                            n_params, n);
    n = 0;
    for (size_t i = 0; i < l->n_args; i++) {
        const template_arg *a = &l->args[i];
        if (!is_passed_in_list(lang, a))
            continue;
        const param *x = &params[n++];
        dtype type = is_memory(a) ? DTYPE_NONE : arg_type(t, types, a);
        if (mismatch(x, a, type))
            return kw_error_set(err, KW_BAD_INPUT,
                                "argument %d of kernel %s is \"%.*s\", but the launch passes %s, %s%s%s%s", n,
                                l->kernel, (int)(x->text.end - x->text.at), x->text.at, a->text, arg_kind_text(a->kind),
                                type != DTYPE_NONE ? " (" : "", type != DTYPE_NONE ? dtype_name(type) : "",
                                type != DTYPE_NONE ? ")" : "");
    }
    return KW_OK;
}

/* One launch against all definitions of its kernel (there may be several in #if branches): one must fit. */
static kw_code check_launch(const source *src, bool raw, language lang, const task *t, const task_types *types,
                            const template_launch *l, kw_error *err)
{
    bool seen = false;
    int places = 0;
    kw_code code = KW_OK;
    for (span w = find_word(src, src->text, l->kernel); w.at < w.end; w = find_word(src, w.end, l->kernel)) {
        span list;
        param params[TEMPLATE_MAX_ARGS];
        seen = true;
        if (++places > MAX_PLACES)
            return KW_OK;
        if (!definition_at(src->text, w, &list))
            continue;
        int n = read_params(src, lang, list, params, TEMPLATE_MAX_ARGS);
        code = n < 0 ? KW_OK : compare(l, lang, t, types, params, n, err);
        if (code == KW_OK)
            return KW_OK;
    }
    if (!seen && !hides_names(src->text) && !(raw && may_be_made(src->text, l->kernel)))
        return absent_kernel(src->text, l->kernel, err);
    return code;
}

/* ${T} of a type symbol stands for one word, so in raw text T can take its place. */
static void replace_type_symbols(const task *t, char *text)
{
    for (char *at = strstr(text, "${"); at != NULL; at = strstr(at + 2, "${")) {
        for (size_t i = 0; i < t->n_types; i++) {
            size_t n = strlen(t->types[i].symbol);
            if (strncmp(at + 2, t->types[i].symbol, n) == 0 && at[2 + n] == '}') {
                at[0] = at[1] = at[2 + n] = ' ';
                break;
            }
        }
    }
}

/* Comments removed; the directives, which are comments, stay visible as $. */
static char *prepare_raw(const task *t, const char *text)
{
    char *copy = mem_strdup(text);
    for (char *at = copy; (at = strstr(at, "//@")) != NULL;)
        at[0] = at[2] = '$';
    replace_type_symbols(t, copy);
    strb out = STRB_INIT;
    source_strip(copy, &out);
    free(copy);
    strb_add_char(&out, ' ');
    return strb_take(&out);
}

kw_code template_check_kernels(const char *text, bool raw, language lang, const task *t, const task_types *types,
                               const template_launch *launches, size_t n_launches, const char *options, size_t *launch,
                               kw_error *err)
{
    if (strchr(options, ',') != NULL || strstr(options, "-include") != NULL)
        return KW_OK; /* -D could define anything */
    char *prepared = raw ? prepare_raw(t, text) : NULL;
    source src = read_source(raw ? prepared : text);
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < n_launches; i++) {
        value never;
        if (launches[i].when != NULL && expr_is_constant(launches[i].when, &never) && never.kind == VALUE_BOOL &&
            !never.as.boolean)
            continue;
        code = check_launch(&src, raw, lang, t, types, &launches[i], err);
        if (code != KW_OK && launch != NULL)
            *launch = i;
    }
    free(src.macros);
    free(prepared);
    return code;
}
