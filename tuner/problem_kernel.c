#include "tuner/problem_kernel.h"

#include "base/fs.h"
#include "codegen/locate.h"
#include "tuner/recorded_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZES 8 /* of the problem */
#define MAX_NAME 64

typedef struct maker {
    const char *path;
    const json *kernel; /* KernelSpecification */
    problem problem;    /* parameters and conditions, checked */
    const json *config; /* ConfigurationSpace */
    int64_t sizes[MAX_SIZES];
    size_t n_sizes;
    expr_scope *scope; /* of the sizes of arguments: ProblemSize, and parameters as lists of their values */
    value *env;
    json *tensors, *args;
    size_t n_outputs;
    kw_error *err;
} maker;

static kw_code refuse(maker *m, const char *what, const char *name)
{
    return kw_error_set(m->err, KW_BAD_INPUT, "%s: KernelSpecification: %s%s%s%s", m->path, what, *name ? " '" : "",
                        name, *name ? "'" : "");
}

/* ---- the problem's size ---- */

static kw_code read_sizes(maker *m)
{
    const json *j = json_get(m->kernel, "ProblemSize");
    bool is_list = json_kind_of(j) == JSON_ARRAY;
    for (const json *item = is_list ? json_first(j) : j; item; item = is_list ? json_next(item) : NULL) {
        if (m->n_sizes == MAX_SIZES || !json_int(item, &m->sizes[m->n_sizes]) || m->sizes[m->n_sizes] < 1)
            return refuse(m, "\"ProblemSize\" must be up to 8 integers from 1", "");
        m->n_sizes++;
    }
    if (m->n_sizes == 0)
        m->sizes[m->n_sizes++] = 1;
    return KW_OK;
}

/* ProblemSize[i] as the number; everything else as it is. */
static void add_text(const maker *m, const char *text, strb *out)
{
    static const char word[] = "ProblemSize[";
    while (*text) {
        const char *at = text + sizeof word - 1;
        char *end = NULL;
        unsigned long i = strncmp(text, word, sizeof word - 1) == 0 && isdigit((unsigned char)*at)
                              ? strtoul(at, &end, 10)
                              : MAX_SIZES;
        if (i < m->n_sizes && *end == ']') {
            strb_printf(out, "%lld", (long long)m->sizes[i]);
            text = end + 1;
        } else {
            strb_add_char(out, *text++);
        }
    }
}

static json *text_of(const maker *m, const char *text)
{
    strb out = STRB_INIT;
    add_text(m, text, &out);
    json *j = json_new_string(strb_text(&out));
    strb_clear(&out);
    return j;
}

/* ---- arguments ---- */

static const struct {
    const char *name, *type;
    int width;
} types[] = {{"bool", "u8", 1},     {"int8", "i8", 1},     {"uint8", "u8", 1},     {"int16", "i16", 1},
             {"uint16", "u16", 1},  {"int32", "i32", 1},   {"uint32", "u32", 1},   {"int64", "i64", 1},
             {"uint64", "u64", 1},  {"half", "f16", 1},    {"half2", "f16", 2},    {"half4", "f16", 4},
             {"half8", "f16", 8},   {"half16", "f16", 16}, {"float", "f32", 1},    {"float2", "f32", 2},
             {"float4", "f32", 4},  {"float8", "f32", 8},  {"float16", "f32", 16}, {"double", "f64", 1},
             {"double2", "f64", 2}, {"double4", "f64", 4}, {"double8", "f64", 8},  {"double16", "f64", 16}};

static int type_of(const char *name)
{
    int n = (int)(sizeof types / sizeof *types);
    for (int i = 0; name && i < n; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return -1;
}

/* Sizes may name parameters: there they stand for the lists of their values, as in max(filter_width). */
static void make_scope(maker *m)
{
    const space_def *def = &m->problem.def;
    m->scope = expr_scope_new();
    m->env = mem_calloc(def->n_params + 1, sizeof *m->env);
    for (size_t i = 0; i < def->n_params; i++) {
        int slot = expr_scope_add(m->scope, def->params[i].name, EXPR_PARAM);
        m->env[slot] = (value){.kind = VALUE_LIST, .as.list = {def->params[i].values, def->params[i].n_values}};
    }
}

static kw_code read_count(maker *m, const json *size, const char *name, int64_t *out)
{
    if (json_kind_of(size) != JSON_STRING)
        return json_int(size, out) && *out > 0 ? KW_OK : refuse(m, "\"Size\" must be an integer from 1 or text:", name);
    strb text = STRB_INIT;
    add_text(m, json_text(size), &text);
    const expr *e = expr_parse(m->problem.memory, strb_text(&text), m->scope, (expr_where){m->path, 0, 0}, m->err);
    strb_clear(&text);
    if (!e || expr_eval_int(e, m->env, out, m->err) != KW_OK)
        return kw_error_prefix(m->err, "%s: size of '%s'", m->path, name);
    return *out > 0 ? KW_OK : refuse(m, "\"Size\" must be 1 or more:", name);
}

static kw_code add_tensor(maker *m, const json *arg, const char *name, int type)
{
    const char *access = json_text(json_get(arg, "AccessType"));
    bool marked = json_truth(json_get(arg, "Output")) || json_number(json_get(arg, "Output")) > 0;
    const char *our = !access                            ? marked ? "inout" : "in"
                      : strcmp(access, "WriteOnly") == 0 ? "out"
                      : strcmp(access, "ReadWrite") == 0 ? "inout"
                                                         : "in";
    int64_t n = 0;
    kw_code code = read_count(m, json_get(arg, "Size"), name, &n);
    if (code != KW_OK)
        return code;
    if (__builtin_mul_overflow(n, (int64_t)types[type].width, &n))
        return refuse(m, "\"Size\" is too large:", name);
    json *j = json_new_object(), *shape = json_new_array();
    json_append(shape, json_new_int(n));
    json_set_string(j, "name", name);
    json_set_string(j, "type", types[type].type);
    json_set(j, "shape", shape);
    json_set_string(j, "access", our);
    json_append(m->tensors, j);
    json_append(m->args, json_new_string(name));
    m->n_outputs += strcmp(our, "in") != 0;
    return KW_OK;
}

static void add_constant(maker *m, const json *arg, int type)
{
    json *j = json_new_object();
    const json *v = json_get(arg, "FillValue");
    json_set(j, "value", v ? json_clone(v) : json_new_int(0));
    json_set_string(j, "type", types[type].type);
    json_append(m->args, j);
}

static kw_code add_local(maker *m, const json *arg, const char *name, int type)
{
    strb text = STRB_INIT;
    const json *size = json_get(arg, "Size");
    int64_t n = 0;
    strb_printf(&text, "sizeof(%s) * %d * (", types[type].type, types[type].width);
    if (json_text(size))
        add_text(m, json_text(size), &text);
    else if (json_int(size, &n))
        strb_printf(&text, "%lld", (long long)n);
    strb_add(&text, ")");
    json *j = json_new_object();
    json_set_string(j, "local", strb_text(&text));
    json_append(m->args, j);
    strb_clear(&text);
    return json_text(size) || n > 0 ? KW_OK : refuse(m, "no \"Size\":", name);
}

static kw_code add_argument(maker *m, const json *arg, size_t i)
{
    char own[24];
    snprintf(own, sizeof own, "arg%zu", i);
    const char *given = json_text(json_get(arg, "Name")), *name = given ? given : own;
    const char *memory = json_text(json_get(arg, "MemoryType"));
    int type = type_of(json_text(json_get(arg, "Type")));
    if (type < 0)
        return refuse(m, "unknown \"Type\" of the argument", name);
    if (memory && strcmp(memory, "Vector") == 0)
        return add_tensor(m, arg, name, type);
    if (memory && strcmp(memory, "Local") == 0)
        return add_local(m, arg, name, type);
    if (!memory || strcmp(memory, "Scalar") != 0)
        return refuse(m, "\"MemoryType\" must be Vector, Scalar or Local:", name);
    if (types[type].width > 1)
        return refuse(m, "a scalar of a vector type cannot be passed:", name);
    add_constant(m, arg, type);
    return KW_OK;
}

static kw_code read_arguments(maker *m)
{
    size_t i = 0;
    kw_code code = KW_OK;
    for (const json *arg = json_first(json_get(m->kernel, "Arguments")); arg && code == KW_OK; arg = json_next(arg))
        code = add_argument(m, arg, i++);
    if (code == KW_OK && m->n_outputs == 0)
        code = refuse(m, "no argument is written: one Vector needs \"AccessType\" WriteOnly or ReadWrite", "");
    return code;
}

/* ---- the two texts ---- */

/* A benchmark may be called anything ("2D convolution", "step"); a task's name is one of C. */
static char *name_of(const maker *m)
{
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s", m->problem.name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    if (locate_is_name(name))
        return mem_strdup(name);
    strb longer = STRB_INIT;
    strb_printf(&longer, "problem%s%.40s", name[0] ? "_" : "", name);
    return strb_take(&longer);
}

/* The dims have one value each: the problem's. */
static json *task_json(maker *m, const char *name)
{
    json *j = json_new_object(), *dims = json_new_object();
    for (size_t i = 0; i < m->n_sizes; i++) {
        char dim[32];
        snprintf(dim, sizeof dim, "size%zu", i);
        json *d = json_new_object();
        json_set_int(d, "min", m->sizes[i]);
        json_set_int(d, "max", m->sizes[i]);
        json_set(dims, dim, d);
    }
    json_set_string(j, "task", name);
    json_set(j, "dims", dims);
    json_set(j, "tensors", json_clone(m->tensors));
    return j;
}

static json *params_json(const maker *m)
{
    json *all = json_new_object();
    const json *given = json_first(json_get(m->config, "TuningParameters"));
    for (size_t i = 0; i < m->problem.def.n_params; i++, given = json_next(given)) {
        const space_param *p = &m->problem.def.params[i];
        json *j = json_new_object(), *list = json_new_array();
        value preset;
        bool has_preset = value_from_json(json_get(given, "Default"), m->problem.memory, &preset);
        for (size_t k = 0; k < p->n_values; k++) {
            json_append(list, value_to_json(p->values[k]));
            if (has_preset && value_equal(p->values[k], preset) && !json_get(j, "default"))
                json_set(j, "default", value_to_json(p->values[k]));
        }
        json_set(j, "values", list);
        json_set(all, p->name, j);
    }
    return all;
}

static kw_code add_sizes(maker *m, json *launch, const char *from, const char *to)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    const json *given = json_get(m->kernel, from);
    json *list = json_new_array();
    json_set(launch, to, list);
    for (size_t i = 0; i < 3; i++) {
        const json *text = json_get(given, axes[i]);
        if (!text)
            break;
        json_append(list, json_text(text) ? text_of(m, json_text(text)) : json_clone(text));
    }
    return json_count(list) > 0 ? KW_OK : refuse(m, "needs text in X of", from);
}

static kw_code launch_json(maker *m, json *launches)
{
    const char *kind = json_text(json_get(m->kernel, "GlobalSizeType"));
    const char *lang = json_text(json_get(m->kernel, "Language"));
    const char *kernel = json_text(json_get(m->kernel, "KernelName"));
    bool in_groups = strcmp(kind ? kind : lang ? lang : "", "OpenCL") != 0;
    json *j = json_new_object();
    json_append(launches, j);
    json_set_string(j, "kernel", kernel ? kernel : "");
    json_set(j, "args", json_clone(m->args));
    kw_code code = add_sizes(m, j, "LocalSize", "local");
    return code == KW_OK ? add_sizes(m, j, "GlobalSize", in_groups ? "groups" : "global") : code;
}

static json *conditions_json(const maker *m)
{
    json *list = json_new_array();
    for (size_t i = 0; i < m->problem.def.n_constraints; i++)
        json_append(list, text_of(m, m->problem.def.constraints[i].text));
    return list;
}

static kw_code sidecar_json(maker *m, const char *name, json *j)
{
    const char *lang = json_text(json_get(m->kernel, "Language"));
    const char *file = json_text(json_get(m->kernel, "KernelFile"));
    const json *options = json_get(m->kernel, "CompilerOptions");
    if (!lang || (strcmp(lang, "OpenCL") != 0 && strcmp(lang, "CUDA") != 0))
        return refuse(m, "\"Language\" must be OpenCL or CUDA", "");
    if (!file)
        return refuse(m, "no \"KernelFile\"", "");
    json *sources = json_new_array(), *launches = json_new_array();
    json_append(sources, json_new_string(file));
    json_set_string(j, "task", name);
    json_set_string(j, "language", strcmp(lang, "CUDA") == 0 ? "cuda" : "opencl");
    json_set(j, "sources", sources);
    json_set_bool(j, "macros", true);
    if (json_count(options) > 0)
        json_set(j, "options", json_clone(options));
    json_set(j, "params", params_json(m));
    json_set(j, "constraints", conditions_json(m));
    json_set(j, "launches", launches);
    return launch_json(m, launches);
}

/* ---- task and template ---- */

/* Said in terms of the problem file; its template is seen by nobody. */
static kw_code check_kernel_file(maker *m)
{
    const char *file = json_text(json_get(m->kernel, "KernelFile"));
    char *folder = fs_folder_of(m->path);
    strb path = STRB_INIT;
    strb_printf(&path, "%s/%s", folder, file);
    bool is_there = file[0] == '/' || fs_is_file(strb_text(&path));
    kw_code code = is_there ? KW_OK
                            : kw_error_set(m->err, KW_BAD_INPUT,
                                           "%s: KernelSpecification: there is no file %s, the \"KernelFile\" as seen "
                                           "from the problem file's folder",
                                           m->path, strb_text(&path));
    strb_clear(&path);
    free(folder);
    return code;
}

static kw_code make_template(maker *m, const json *sidecar, const task *t, template **p)
{
    char *folder = fs_folder_of(m->path), *name = name_of(m);
    strb path = STRB_INIT, text = STRB_INIT;
    strb_printf(&path, "%s/%s.kw.json", folder, name); /* no such file: sources are seen from its folder */
    json_print_pretty(sidecar, &text);
    kw_code code = template_parse(strb_text(&text), text.length, strb_text(&path), t, p, m->err);
    strb_clear(&path);
    strb_clear(&text);
    free(folder);
    free(name);
    return code == KW_OK ? code : kw_error_prefix(m->err, "%s as a template", m->path);
}

static kw_code make_both(maker *m, task **t, template **p, task_shape *shape)
{
    char *name = name_of(m);
    json *sidecar = json_new_object(), *source = NULL;
    kw_code code = sidecar_json(m, name, sidecar);
    if (code == KW_OK)
        code = check_kernel_file(m);
    if (code == KW_OK) {
        source = task_json(m, name);
        code = task_from_json(source, m->path, t, m->err);
    }
    if (code == KW_OK) {
        code = make_template(m, sidecar, *t, p);
        if (code != KW_OK) {
            task_free(*t);
            *t = NULL;
        }
    }
    *shape = (task_shape){.weight = 1};
    for (size_t i = 0; i < m->n_sizes; i++)
        shape->dims[i] = m->sizes[i];
    json_free(sidecar);
    json_free(source);
    free(name);
    return code;
}

kw_code problem_kernel_load(const char *path, task **t, template **p, task_shape *shape, kw_error *err)
{
    kw_error own = {0};
    maker m = {.path = path, .err = err ? err : &own};
    strb text = STRB_INIT;
    *t = NULL;
    *p = NULL;
    kw_code code = recorded_load(path, &text, m.err);
    if (code == KW_OK)
        code = problem_parse(strb_text(&text), text.length, path, &m.problem, m.err);
    json *root = code == KW_OK ? json_parse(strb_text(&text), text.length, path, 1, 1, m.err) : NULL;
    strb_clear(&text);
    if (!root)
        return KW_BAD_INPUT;
    m.kernel = json_get(root, "KernelSpecification");
    m.config = json_get(root, "ConfigurationSpace");
    m.tensors = json_new_array();
    m.args = json_new_array();
    make_scope(&m);
    code = read_sizes(&m);
    if (code == KW_OK)
        code = read_arguments(&m);
    if (code == KW_OK)
        code = make_both(&m, t, p, shape);
    json_free(m.tensors);
    json_free(m.args);
    json_free(root);
    expr_scope_free(m.scope);
    free(m.env);
    problem_clear(&m.problem);
    return code;
}

bool problem_is_file(const char *path)
{
    strb text = STRB_INIT;
    json *root = NULL;
    if (fs_is_file(path) && recorded_load(path, &text, NULL) == KW_OK && text.length > 0 && text.data[0] == '{')
        root = json_parse(text.data, text.length, path, 1, 1, NULL);
    bool yes = problem_is_one(root);
    json_free(root);
    strb_clear(&text);
    return yes;
}
