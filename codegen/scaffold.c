#include "codegen/scaffold.h"

#include "base/json.h"
#include "base/mem.h"
#include "codegen/scaffold_read.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The work-group where the kernel's text does not tell: a parameter that no macro of the kernel is named after. */
#define OWN_GROUP "WG_SIZE"
#define MAX_ELEMENTS (1 << 20) /* product of the dims in a shape that nobody chose */

/* A JSON string with its quotes. */
static void add_string(strb *out, const char *text)
{
    json *j = json_new_string(text);
    json_print(j, out);
    json_free(j);
}

static const char *comma(size_t i)
{
    return i ? ", " : "";
}

static size_t count_parts(const kernel_facts *f, part_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_parts; i++)
        n += f->parts[i].kind == kind;
    return n;
}

static bool is_tensor(const part *p)
{
    return p->kind == PART_IN || p->kind == PART_OUT;
}

/* The name of the only dim; "n" for a kernel without one; NULL if there are several. */
static const char *only_dim(const kernel_facts *f)
{
    size_t n = count_parts(f, PART_DIM);
    for (size_t i = 0; n == 1 && i < f->n_parts; i++)
        if (f->parts[i].kind == PART_DIM)
            return f->parts[i].name;
    return n == 0 ? "n" : NULL;
}

/* ---- sidecar ---- */

static bool has_own_group(const kernel_facts *f)
{
    return f->n_local == 0;
}

static const char *local_size(const kernel_facts *f, size_t axis)
{
    if (has_own_group(f))
        return OWN_GROUP;
    return f->local[axis][0] ? f->local[axis] : SCAFFOLD_GAP;
}

static size_t local_rank(const kernel_facts *f)
{
    return has_own_group(f) ? 1 : f->n_local;
}

/* 0 and 1 may be a switch, 1 also a count; around a power of two others are tried. */
static void add_values(strb *out, int64_t v)
{
    if (v == 0) {
        strb_add(out, "[0, 1]");
    } else if (v < 0 || (v & (v - 1)) != 0 || v > 1 << 20) {
        strb_printf(out, "[%" PRId64 "]", v);
    } else {
        strb_add(out, "[");
        for (int64_t x = v >= 4 ? v / 4 : 1; x <= 4 * v; x *= 2)
            strb_printf(out, "%s%" PRId64, x == 1 || x == v / 4 ? "" : ", ", x);
        strb_add(out, "]");
    }
}

static void add_param(strb *out, const char *name, int64_t value, const char *doc)
{
    strb_printf(out, "    \"%s\": {\"values\": ", name);
    add_values(out, value);
    strb_printf(out, ", \"default\": %" PRId64, value);
    if (doc[0]) {
        strb_add(out, ", \"doc\": ");
        add_string(out, doc);
    }
    strb_add(out, "}");
}

static void add_params(strb *out, const kernel_facts *f)
{
    strb_add(out, "  \"params\": {\n");
    for (size_t i = 0; i < f->n_macros; i++) {
        strb_add(out, i ? ",\n" : "");
        add_param(out, f->macros[i].name, f->macros[i].value, f->macros[i].doc);
    }
    if (has_own_group(f)) {
        strb_add(out, f->n_macros ? ",\n" : "");
        add_param(out, OWN_GROUP, 64, "work-items per group");
    }
    strb_add(out, " },\n");
}

/* A group of constant size needs none. */
static void add_constraints(strb *out, const kernel_facts *f)
{
    strb product = STRB_INIT;
    bool any_name = false, gap = false;
    for (size_t i = 0; i < local_rank(f); i++) {
        const char *size = local_size(f, i);
        bool plain = size[strspn(size, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
        any_name |= !isdigit((unsigned char)size[0]) || !plain;
        gap |= strcmp(size, SCAFFOLD_GAP) == 0;
        strb_printf(&product, plain || local_rank(f) == 1 ? "%s%s" : "%s(%s)", i ? " * " : "", size);
    }
    if (any_name && !gap)
        strb_printf(out, "  \"constraints\": [\"%s <= device.max_work_group_size\"],\n", strb_text(&product));
    strb_clear(&product);
}

static void add_argument(strb *out, const part *p)
{
    if (p->kind == PART_LOCAL)
        strb_printf(out, "{\"local\": \"" SCAFFOLD_GAP "\", \"doc\": \"bytes of %s\"}", p->name);
    else if (p->kind == PART_DIM && strcmp(p->type, "i32") != 0)
        strb_printf(out, "{\"expr\": \"%s\", \"type\": \"%s\"}", p->name, p->type);
    else
        strb_printf(out, "\"%s\"", p->name);
}

/* One element per work-item is a fair guess only where there is one dim, and no macro that could change it. */
static void add_groups(strb *out, const kernel_facts *f)
{
    bool simple = only_dim(f) && local_rank(f) == 1 && strcmp(local_size(f, 0), SCAFFOLD_GAP) != 0;
    for (size_t i = 0; i < f->n_macros; i++)
        simple = simple && f->macros[i].is_local;
    if (simple) {
        strb_printf(out, "\"ceil_div(%s, %s)\"", only_dim(f), local_size(f, 0));
        return;
    }
    for (size_t i = 0; i < local_rank(f); i++)
        strb_printf(out, "%s\"" SCAFFOLD_GAP "\"", comma(i));
}

static void write_sidecar(scaffold *s, const kernel_facts *f, const scaffold_options *o)
{
    strb *out = &s->sidecar;
    strb_printf(out, "{ \"task\": \"%s\",\n  \"language\": \"opencl\",\n", s->task);
    if (!o->sidecar_only)
        strb_add(out, "  \"fallback\": true,\n");
    strb_add(out, "  \"sources\": [");
    add_string(out, o->file);
    strb_add(out, "],\n  \"macros\": true,\n");
    add_params(out, f);
    add_constraints(out, f);
    strb_printf(out, "  \"launches\": [\n    {\"kernel\": \"%s\",\n     \"args\": [", f->name);
    for (size_t i = 0; i < f->n_parts; i++) {
        strb_add(out, comma(i));
        add_argument(out, &f->parts[i]);
    }
    strb_add(out, "],\n     \"local\": [");
    for (size_t i = 0; i < local_rank(f); i++)
        strb_printf(out, "%s\"%s\"", comma(i), local_size(f, i));
    strb_add(out, "], \"groups\": [");
    add_groups(out, f);
    strb_add(out, "]} ] }\n");
}

/* ---- task ---- */

static void add_dims(strb *out, const kernel_facts *f)
{
    size_t n = 0;
    strb_add(out, "  \"dims\": {");
    for (size_t i = 0; i < f->n_parts; i++)
        if (f->parts[i].kind == PART_DIM)
            strb_printf(out, "%s\"%s\": {\"min\": 1}", comma(n++), f->parts[i].name);
    if (n == 0)
        strb_printf(out, "\"%s\": {\"min\": 1}", only_dim(f));
    strb_add(out, "},\n");
}

static void add_tensors(strb *out, const kernel_facts *f)
{
    size_t n = 0;
    strb_add(out, "  \"tensors\": [");
    for (size_t i = 0; i < f->n_parts; i++) {
        const part *p = &f->parts[i];
        if (!is_tensor(p))
            continue;
        strb_printf(out, "%s {\"name\": \"%s\", \"type\": \"%s\", \"shape\": [\"%s\"], \"access\": \"%s\"}",
                    n++ ? ",\n              " : "", p->name, p->type ? p->type : SCAFFOLD_GAP,
                    only_dim(f) ? only_dim(f) : SCAFFOLD_GAP, p->kind == PART_IN ? "in" : "out");
    }
    strb_add(out, n ? " ],\n" : "],\n");
}

static void add_scalars(strb *out, const kernel_facts *f)
{
    size_t n = 0;
    strb_add(out, "  \"scalars\": [");
    for (size_t i = 0; i < f->n_parts; i++)
        if (f->parts[i].kind == PART_SCALAR)
            strb_printf(out, "%s {\"name\": \"%s\", \"type\": \"%s\", \"values\": [1, 0.5]}",
                        n++ ? ",\n              " : "", f->parts[i].name, f->parts[i].type);
    strb_add(out, n ? " ],\n" : "],\n");
}

static void write_task(scaffold *s, const kernel_facts *f)
{
    strb *out = &s->task_json;
    strb_printf(out, "{ \"task\": \"%s\",\n  \"doc\": \"what %s computes, in one line\",\n", s->task, f->name);
    add_dims(out, f);
    add_tensors(out, f);
    add_scalars(out, f);
    strb_printf(out,
                "  \"reference\": \"%s_reference\",\n  \"error\": {\"reduction_length\": \"" SCAFFOLD_GAP "\"},\n"
                "  \"shapes\": \"shapes/default.json\",\n  \"edge_shapes\": \"shapes/edge.json\" }\n",
                s->task);
}

/* ---- reference ---- */

/* A name of the kernel in the C function, where keywords and the function's own names are taken. */
static const char *c_name(const char *name, char out[FACTS_NAME + 2])
{
    static const char *const taken[] = {"ref",     "tensor", "count",    "elements", "value",    "scale",    "i",
                                        "at",      "auto",   "break",    "case",     "char",     "const",    "double",
                                        "default", "do",     "else",     "enum",     "extern",   "float",    "for",
                                        "goto",    "if",     "inline",   "int",      "long",     "register", "restrict",
                                        "return",  "short",  "signed",   "sizeof",   "static",   "struct",   "switch",
                                        "typedef", "union",  "unsigned", "void",     "volatile", "while"};
    bool clash = false;
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        clash |= strcmp(taken[k], name) == 0;
    snprintf(out, FACTS_NAME + 2, "%s%s", name, clash ? "_" : "");
    return out;
}

static void add_inputs(strb *out, const kernel_facts *f)
{
    size_t dim = 0, scalar = 0, tensor = 0;
    char c[FACTS_NAME + 2];
    for (size_t i = 0; i < f->n_parts; i++)
        if (f->parts[i].kind == PART_DIM)
            strb_printf(out, "    const int64_t %s = ref->dims[%zu];\n", c_name(f->parts[i].name, c), dim++);
    if (dim == 0)
        strb_printf(out, "    const int64_t %s = ref->dims[0];\n", c_name(only_dim(f), c));
    for (size_t i = 0; i < f->n_parts; i++)
        if (f->parts[i].kind == PART_SCALAR)
            strb_printf(out, "    const double %s = ref->scalars[%zu];\n", c_name(f->parts[i].name, c), scalar++);
    for (size_t i = 0; i < f->n_parts; i++) {
        const part *p = &f->parts[i];
        tensor += is_tensor(p);
        if (p->kind == PART_IN)
            strb_printf(out, "    const double *%s = ref->tensors[%zu];\n", c_name(p->name, c), tensor - 1);
    }
}

/* "`tensor` is 2: y", and where what the kernel finds in it is. */
static void add_outputs(strb *out, const kernel_facts *f)
{
    size_t tensor = 0, n = 0;
    for (size_t i = 0; i < f->n_parts; i++) {
        const part *p = &f->parts[i];
        tensor += is_tensor(p);
        if (p->kind == PART_OUT)
            strb_printf(out, "%s%zu for %s", n++ ? ", " : "    /* `tensor` is ", tensor - 1, p->name);
    }
    strb_add(out, n ? ". What an \"inout\" tensor holds before is in ref->tensors[tensor]. */\n" : "");
}

static void write_reference(scaffold *s, const kernel_facts *f)
{
    strb *out = &s->reference;
    strb_printf(out,
                "/* Reference of task %s: the right values of some elements of an output, in double precision. */\n",
                s->task);
    strb_add(out, "#include \"tasks/kw_reference.h\"\n\n#include <math.h>\n\n"
                  "#error \"compute value[i] and scale[i] below, then remove this line\"\n\n");
    strb_printf(
        out,
        "void %s_reference(const kw_ref *ref, int tensor, size_t count, const uint64_t *elements, double *value,\n"
        "    double *scale)\n{\n",
        s->task);
    add_inputs(out, f);
    add_outputs(out, f);
    strb_add(out, "    for (size_t i = 0; i < count; i++) {\n"
                  "        const uint64_t at = elements[i]; /* index in the output, row-major */\n"
                  "        value[i] = 0; /* what a right kernel writes there */\n"
                  "        scale[i] = 0; /* sum of the magnitudes of all terms that were added to make it */\n"
                  "    }\n}\n");
}

/* ---- shapes ---- */

static void add_shape(strb *out, const kernel_facts *f, const int64_t *sizes, size_t n_sizes)
{
    size_t n = 0;
    strb_add(out, "{");
    for (size_t i = 0; i < f->n_parts; i++) {
        if (f->parts[i].kind != PART_DIM)
            continue;
        strb_printf(out, "%s\"%s\": %" PRId64, comma(n), f->parts[i].name, n < n_sizes ? sizes[n] : 1);
        n++;
    }
    if (n == 0)
        strb_printf(out, "\"%s\": %" PRId64, only_dim(f), sizes[0]);
    strb_add(out, "}\n");
}

/* All dims alike, as large as the elements of a tensor that has all of them may be. */
static int64_t fair_size(size_t n_dims)
{
    int64_t size = MAX_ELEMENTS;
    for (;; size /= 2) {
        double product = 1;
        for (size_t i = 0; i < n_dims; i++)
            product *= (double)size;
        if (product <= MAX_ELEMENTS || size == 2)
            return size;
    }
}

static void write_shapes(scaffold *s, const kernel_facts *f)
{
    static const int64_t line[] = {1, 2, 3, 17, 64, 127, 1000, 4099}, primes[] = {31, 37, 13, 7, 5, 3, 2, 2, 2};
    enum { N_LINE = sizeof line / sizeof *line, N_PRIMES = sizeof primes / sizeof *primes };
    size_t n_dims = count_parts(f, PART_DIM) > 0 ? count_parts(f, PART_DIM) : 1;
    int64_t sizes[FACTS_MAX_PARTS];
    for (int64_t share = 1; share <= 4; share *= 4) {
        for (size_t i = 0; i < n_dims; i++)
            sizes[i] = fair_size(n_dims) / share > 0 ? fair_size(n_dims) / share : 1;
        add_shape(&s->shapes, f, sizes, n_dims);
    }
    if (n_dims == 1) {
        for (size_t i = 0; i < N_LINE; i++)
            add_shape(&s->edges, f, &line[i], 1);
        return;
    }
    add_shape(&s->edges, f, NULL, 0);
    for (size_t d = 0; d < n_dims; d++) {
        for (size_t i = 0; i < n_dims; i++)
            sizes[i] = i == d ? 17 : 1;
        add_shape(&s->edges, f, sizes, n_dims);
        sizes[d] = 1000;
        add_shape(&s->edges, f, sizes, n_dims);
    }
    add_shape(&s->edges, f, primes, n_dims < N_PRIMES ? n_dims : N_PRIMES);
}

/* ---- entry points ---- */

kw_code scaffold_make(const char *source, const scaffold_options *options, scaffold *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    kernel_facts *f = mem_alloc(sizeof *f);
    kw_code code = facts_read(source, options->file, options->kernel, f, err);
    if (code == KW_OK) {
        snprintf(out->kernel, sizeof out->kernel, "%s", f->name);
        snprintf(out->task, sizeof out->task, "%s", options->task ? options->task : f->name);
        write_sidecar(out, f, options);
        if (!options->sidecar_only) {
            write_task(out, f);
            write_reference(out, f);
            write_shapes(out, f);
        }
        strb_add(&out->others, strb_text(&f->others));
        strb_add(&out->undefined, strb_text(&f->undefined));
    }
    facts_clear(f);
    free(f);
    return code;
}

void scaffold_clear(scaffold *s)
{
    strb *all[] = {&s->sidecar, &s->task_json, &s->reference, &s->shapes, &s->edges, &s->others, &s->undefined};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        strb_clear(all[i]);
}
