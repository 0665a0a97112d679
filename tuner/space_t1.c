#include "tuner/space_t1.h"

#include "base/json.h"
#include "base/mem.h"
#include "tuner/space_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const space *s;
    const template *p;
    const char **names; /* by slot: dims as ProblemSize[i]; NULL entries: their own */
    char text[TASK_MAX_DIMS][40];
    arena *scratch;
} writer;

/* ---- parameters ---- */

static const char *type_of(const space_param *p)
{
    bool whole = true, numbers = true, truths = true;
    for (size_t i = 0; i < p->n_values; i++) {
        value_kind kind = p->values[i].kind;
        truths &= kind == VALUE_BOOL;
        whole &= kind == VALUE_BOOL || kind == VALUE_INT;
        numbers &= value_is_number(p->values[i]);
    }
    return truths ? "bool" : whole ? "int" : numbers ? "float" : "string";
}

static json *parameters(const space *s)
{
    json *list = json_new_array();
    for (size_t i = 0; i < s->def.n_params; i++) {
        const space_param *p = &s->def.params[i];
        const value all = {.kind = VALUE_LIST, .as.list = {p->values, p->n_values}};
        strb text = STRB_INIT;
        value_print_python(all, &text);
        json *j = json_new_object();
        json_set_string(j, "Name", p->name);
        json_set_string(j, "Type", type_of(p));
        json_set_string(j, "Values", strb_text(&text));
        json_append(list, j);
        strb_clear(&text);
    }
    return list;
}

/* ---- conditions ---- */

/* With everything folded in that is known. A subexpression that fails for every configuration is an error. */
static kw_code print_folded(writer *w, const expr *e, strb *text, bool *always, kw_error *err)
{
    const expr *folded = expr_fold(w->scratch, e, w->s->def.env, err);
    if (!folded)
        return KW_BAD_INPUT;
    value v;
    bool truth = false;
    *always = expr_is_constant(folded, &v) && expr_eval_truth(folded, w->s->def.env, &truth, NULL) == KW_OK && truth;
    return expr_print_python(folded, w->names, text, err);
}

/* Kernel Tuner cuts a condition without `and` or `or` at its comparisons and takes names of functions for parameters;
 * it leaves alone what has an `or`. */
static void protect(strb *text)
{
    const char *s = strb_text(text);
    size_t comparisons = 0, calls = 0;
    if (strstr(s, " and ") || strstr(s, " or "))
        return;
    for (const char *c = s; *c; c++) {
        comparisons += *c == '<' || *c == '>' || ((*c == '=' || *c == '!') && c[1] == '=');
        calls += *c == '(' && c > s && (isalnum((unsigned char)c[-1]) || c[-1] == '_');
    }
    if (comparisons != 1 || calls > 0 || strstr(s, " in ") || strstr(s, " if ") || strstr(s, "(not "))
        strb_add(text, " or False");
}

static json *names_used(const space *s, const expr *e)
{
    json *list = json_new_array();
    for (size_t i = 0; i < s->def.n_params; i++)
        if (expr_uses(e, s->def.params[i].slot))
            json_append(list, json_new_string(s->def.params[i].name));
    return list;
}

static kw_code conditions(writer *w, json *list, kw_error *err)
{
    const space_def *def = &w->s->def;
    for (size_t i = 0; i < def->n_constraints; i++) {
        strb text = STRB_INIT;
        bool always;
        kw_code code = print_folded(w, def->constraints[i].test, &text, &always, err);
        protect(&text);
        if (code == KW_OK && !always) {
            json *j = json_new_object();
            json_set(j, "Parameters", names_used(w->s, def->constraints[i].test));
            json_set_string(j, "Expression", strb_text(&text));
            json_append(list, j);
        }
        strb_clear(&text);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

/* ---- the kernel ---- */

static kw_code set_size(writer *w, json *to, size_t axis, const expr *a, const expr *b, kw_error *err)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    strb text = STRB_INIT;
    bool always;
    kw_code code = print_folded(w, a, &text, &always, err);
    if (code == KW_OK && b) {
        strb_add(&text, " * ");
        code = print_folded(w, b, &text, &always, err);
    }
    if (code == KW_OK)
        json_set_string(to, axes[axis], strb_text(&text));
    strb_clear(&text);
    return code;
}

/* OpenCL counts work-items, CUDA groups. */
static kw_code set_geometry(writer *w, json *kernel, kw_error *err)
{
    const template_launch *l = &w->p->launches[0];
    json *global = json_new_object(), *local = json_new_object();
    json_set(kernel, "GlobalSize", global);
    json_set(kernel, "LocalSize", local);
    kw_code code = KW_OK;
    for (size_t i = 0; i < l->rank && code == KW_OK; i++) {
        code = set_size(w, local, i, l->local[i], NULL, err);
        if (code == KW_OK && l->global[i])
            code = set_size(w, global, i, l->global[i], NULL, err);
        else if (code == KW_OK)
            code = set_size(w, global, i, l->groups[i], w->p->lang == LANGUAGE_CUDA ? NULL : l->local[i], err);
    }
    return code;
}

static kw_code describe_kernel(writer *w, json *kernel, kw_error *err)
{
    bool cuda = w->p && w->p->lang == LANGUAGE_CUDA;
    json_set_string(kernel, "Language", cuda ? "CUDA" : "OpenCL");
    json_set_string(kernel, "GlobalSizeType", cuda ? "CUDA" : "OpenCL");
    json_set_string(kernel, "KernelName", w->p ? w->p->launches[0].kernel : "");
    json_set_string(kernel, "KernelFile", w->p && w->p->path ? w->p->path : "");
    if (w->p)
        return set_geometry(w, kernel, err);
    json *one = json_new_object();
    json_set_string(one, "X", "1");
    json_set(kernel, "GlobalSize", json_clone(one));
    json_set(kernel, "LocalSize", one);
    return KW_OK;
}

/* Dims are not known to conditions of a space without a shape, but sizes of launches use them. */
static void name_dims(writer *w)
{
    for (size_t d = 0; w->p && d < w->p->task->n_dims; d++) {
        int slot = expr_scope_find(w->p->scope, w->p->task->dims[d].name);
        snprintf(w->text[d], sizeof w->text[d], "ProblemSize[%zu]", d);
        if (slot >= 0 && w->s->def.env[slot].kind == VALUE_NONE)
            w->names[slot] = w->text[d];
    }
}

static json *general(void)
{
    json *j = json_new_object();
    json_set_int(j, "FormatVersion", 1);
    json_set_string(j, "TimeUnit", "Milliseconds");
    json_set_string(j, "OutputFormat", "JSON");
    return j;
}

kw_code space_print_t1(const space *s, const template *p, strb *out, kw_error *err)
{
    if (s->is_list)
        return kw_error_set(err, KW_BAD_INPUT,
                            "a recorded space cannot be written as a problem: what makes a "
                            "configuration valid is not recorded");
    writer w = {.s = s, .p = p, .scratch = arena_new()};
    w.names = mem_calloc(s->def.scope_size + 1, sizeof *w.names);
    name_dims(&w);
    json *root = json_new_object(), *config = json_new_object(), *kernel = json_new_object(), *list = json_new_array();
    json_set(root, "General", general());
    json_set(root, "ConfigurationSpace", config);
    json_set(config, "TuningParameters", parameters(s));
    json_set(config, "Conditions", list);
    json_set(root, "KernelSpecification", kernel);
    kw_code code = conditions(&w, list, err);
    if (code == KW_OK)
        code = describe_kernel(&w, kernel, err);
    if (code == KW_OK)
        json_print_pretty(root, out);
    json_free(root);
    free(w.names);
    arena_free(w.scratch);
    return code;
}
