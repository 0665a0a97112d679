/* What a kernel's text tells, and the files that are made of it. tests/own_kernel.sh follows the whole way. */
#include "codegen/scaffold.h"

#include "base/json.h"
#include "codegen/scaffold_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kernel_facts read_kernel(const char *source, const char *kernel)
{
    kernel_facts f;
    kw_error err;
    kw_error_clear(&err);
    if (facts_read(source, "k.cl", kernel, &f, &err) != KW_OK)
        fail_msg("%s", err.message);
    return f;
}

static void refuses(const char *source, const char *kernel, const char *wanted)
{
    kernel_facts f;
    kw_error err;
    kw_error_clear(&err);
    assert_int_equal(facts_read(source, "k.cl", kernel, &f, &err), KW_BAD_INPUT);
    if (!strstr(err.message, wanted))
        fail_msg("\"%s\" is not in \"%s\"", wanted, err.message);
    facts_clear(&f);
}

static scaffold make(const char *source, const scaffold_options *o)
{
    scaffold s;
    kw_error err;
    kw_error_clear(&err);
    if (scaffold_make(source, o, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static void has_text(const strb *text, const char *words)
{
    if (!strstr(strb_text(text), words))
        fail_msg("\"%s\" is not in\n%s", words, strb_text(text));
}

static void lacks_text(const strb *text, const char *words)
{
    if (strstr(strb_text(text), words))
        fail_msg("\"%s\" is in\n%s", words, strb_text(text));
}

static void is_json(const strb *text)
{
    kw_error err;
    json *j = json_parse(strb_text(text), text->length, "made", 1, 1, &err);
    if (!j)
        fail_msg("%s in\n%s", err.message, strb_text(text));
    json_free(j);
}

/* ---- reading ---- */

static void check_part(const part *p, part_kind kind, const char *name, const char *type)
{
    assert_string_equal(p->name, name);
    assert_int_equal(p->kind, kind);
    if (type)
        assert_string_equal(p->type, type);
    else
        assert_null(p->type);
}

static void parameters_and_their_types(void **state)
{
    (void)state;
    kernel_facts f =
        read_kernel("#define REAL float\n"
                    "typedef double4 wide;\n"
                    "__kernel void k(__global const REAL *restrict a, const global half8* b, __constant uchar *c,\n"
                    "    global wide *d, __global float * const e, global T *f, local REAL *g, __local int4 h[],\n"
                    "    int i, const unsigned int j, unsigned long k, size_t l, unsigned m, short o,\n"
                    "    float p, REAL q, double r, /* , */ __global unsigned char *in)\n{\n}\n",
                    NULL);
    static const struct {
        part_kind kind;
        const char *name, *type;
    } wanted[] = {{PART_IN, "a", "f32"},     {PART_IN, "b", "f16"},     {PART_IN, "c", "u8"},
                  {PART_OUT, "d", "f64"},    {PART_OUT, "e", "f32"},    {PART_OUT, "f", NULL},
                  {PART_LOCAL, "g", "f32"},  {PART_LOCAL, "h", "i32"},  {PART_DIM, "i", "i32"},
                  {PART_DIM, "j", "u32"},    {PART_DIM, "k", "u64"},    {PART_DIM, "l", "u64"},
                  {PART_DIM, "m", "u32"},    {PART_DIM, "o", "i16"},    {PART_SCALAR, "p", "f32"},
                  {PART_SCALAR, "q", "f32"}, {PART_SCALAR, "r", "f64"}, {PART_OUT, "in_", "u8"}};
    assert_int_equal(f.n_parts, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < f.n_parts; i++)
        check_part(&f.parts[i], wanted[i].kind, wanted[i].name, wanted[i].type);
    facts_clear(&f);
}

static void chooses_a_kernel(void **state)
{
    (void)state;
    static const char text[] =
        "/* kernel void not_me(int n) */\n"
        "kernel void first(global float *x);\n"
        "kernel __attribute__((vec_type_hint(float4))) void first(global float *x) { }\n"
        "__kernel void __attribute__((reqd_work_group_size(8, 1, 1))) second(global int *y, int n) { }\n"
        "__attribute__((reqd_work_group_size(4, 2, 1))) kernel void third(void) { }\n";
    kernel_facts f = read_kernel(text, NULL);
    assert_string_equal(f.name, "first");
    assert_string_equal(strb_text(&f.others), "second, third");
    assert_int_equal(f.n_parts, 1);
    assert_int_equal(f.n_local, 0);
    facts_clear(&f);
    f = read_kernel(text, "second");
    assert_string_equal(f.name, "second");
    assert_int_equal(f.n_parts, 2);
    assert_int_equal(f.n_local, 1);
    assert_string_equal(f.local[0], "8");
    facts_clear(&f);
    f = read_kernel(text, "third");
    assert_int_equal(f.n_parts, 0);
    assert_int_equal(f.n_local, 2);
    assert_string_equal(f.local[1], "2");
    facts_clear(&f);
}

static void reads_macros(void **state)
{
    (void)state;
    kernel_facts f = read_kernel("#ifndef K_H\n#define K_H\n#endif\n"
                                 "#ifndef WG // group\n  #  define WG 64   /* work-items \"per\" group */\n#endif\n"
                                 "# ifndef SIZE\n#define SIZE (0x20u) // a size\n#endif\n"
                                 "/*\n#ifndef GONE\n#define GONE 1\n#endif\n*/\n"
                                 "#ifndef A\n#define B 1\n#endif\n"
                                 "#ifndef REAL\n#define REAL float\n#endif\n"
                                 "#ifndef SUM\n#define SUM 1 + 2\n#endif\n"
                                 "#ifndef NEXT\n#define NEXT -3\n#endif\n"
                                 "kernel void k(int n) { }\n",
                                 NULL);
    assert_int_equal(f.n_macros, 3);
    assert_string_equal(f.macros[0].name, "WG");
    assert_int_equal(f.macros[0].value, 64);
    assert_string_equal(f.macros[0].doc, "work-items \"per\" group");
    assert_true(f.macros[0].is_local);
    assert_string_equal(f.macros[1].name, "SIZE");
    assert_int_equal(f.macros[1].value, 32);
    assert_string_equal(f.macros[1].doc, "a size");
    assert_string_equal(f.macros[2].name, "NEXT");
    assert_int_equal(f.macros[2].value, -3);
    assert_false(f.macros[2].is_local);
    facts_clear(&f);
}

#define TWO_MACROS "#ifndef TX\n#define TX 8\n#endif\n#ifndef R\n#define R 2\n#endif\n"

static void reads_the_work_group(void **state)
{
    (void)state;
    kernel_facts f =
        read_kernel(TWO_MACROS "kernel __attribute__((reqd_work_group_size(TX / R, (R), 1)))\nvoid k(int n) { }", NULL);
    assert_int_equal(f.n_local, 2);
    assert_string_equal(f.local[0], "TX // R");
    assert_string_equal(f.local[1], "(R)");
    assert_true(f.macros[0].is_local && f.macros[1].is_local);
    facts_clear(&f);
    /* Y is not a parameter: an expression with it would be wrong. */
    f = read_kernel(
        TWO_MACROS "#define Y (2 * R)\nkernel __attribute__((reqd_work_group_size(TX, Y, 1))) void k(int n) { }", NULL);
    assert_int_equal(f.n_local, 2);
    assert_string_equal(f.local[0], "TX");
    assert_string_equal(f.local[1], "");
    facts_clear(&f);
    f = read_kernel(
        "#ifndef block_size_y\n#define block_size_y 4\n#endif\n#ifndef block_size_x\n#define block_size_x 32\n#endif\n"
        "kernel void k(int n) { }",
        NULL);
    assert_int_equal(f.n_local, 2);
    assert_string_equal(f.local[0], "block_size_x");
    assert_string_equal(f.local[1], "block_size_y");
    facts_clear(&f);
    f = read_kernel(TWO_MACROS "kernel void k(int n) { }", NULL);
    assert_int_equal(f.n_local, 0);
    facts_clear(&f);
}

static void names_what_nobody_defines(void **state)
{
    (void)state;
    kernel_facts f =
        read_kernel("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define TWICE(X1) (2 * (X1))\n"
                    "#ifdef DEBUG\n#endif\n#if defined(FAST)\n#endif\n"
                    "constant float SCALE = 2;\n"
                    "kernel void k(global REAL *x, int NN) {\n"
                    "  local float t[TILE + 1]; barrier(CLK_LOCAL_MEM_FENCE); x[0] = TWICE(M_PI_F) + INFINITY + TILE;\n"
                    "#pragma unroll TURNS\n"
                    "  for (int N = NN; N < 2; N++) { } /* NEVER */\n}\n",
                    NULL);
    assert_string_equal(strb_text(&f.undefined), "REAL, TILE, TURNS");
    facts_clear(&f);
    /* The size of the group becomes a parameter. */
    f = read_kernel("kernel void k(global float *x, int n) { local float t[BLOCK_SIZE], u[LOCAL_SIZE]; }", NULL);
    assert_string_equal(strb_text(&f.undefined), "LOCAL_SIZE");
    assert_int_equal(f.n_macros, 1);
    assert_true(f.macros[0].is_local);
    assert_string_equal(f.macros[0].name, "BLOCK_SIZE");
    assert_string_equal(f.local[0], "BLOCK_SIZE");
    facts_clear(&f);
}

static void bad_kernels(void **state)
{
    (void)state;
    refuses("void f(int n) { }", NULL, "k.cl: no kernel found");
    refuses("", NULL, "no kernel found");
    refuses("kernel void a(int n) { }", "b", "there is no kernel b; there is a");
    refuses("kernel void a(image2d_t x) { }", NULL, "'image2d_t x'");
    refuses("kernel void a(float4 x) { }", NULL, "neither a tensor nor a dim nor a scalar");
    refuses("kernel void a(int n\n#ifdef X\n, int m\n#endif\n) { }", NULL, "preprocessor lines");
    refuses("kernel void a(int n", NULL, "has no end");
    refuses("kernel void a(int n, *)", NULL, "cannot read the kernel parameter");
    strb many = STRB_INIT;
    strb_add(&many, "kernel void a(int a0");
    for (int i = 1; i <= FACTS_MAX_PARTS; i++)
        strb_printf(&many, ", int a%d", i);
    strb_add(&many, ") { }");
    refuses(strb_text(&many), NULL, "more than 48 parameters");
    strb_clear(&many);
}

/* ---- writing ---- */

static void a_simple_kernel_leaves_few_gaps(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "scale.cl"};
    scaffold s = make("kernel void scale(int n, float factor, global const float *x, global float *y)\n"
                      "{ int i = get_global_id(0); if (i < n) y[i] = factor * x[i]; }\n",
                      &o);
    assert_string_equal(
        strb_text(&s.sidecar),
        "{ \"task\": \"scale\",\n"
        "  \"language\": \"opencl\",\n"
        "  \"fallback\": true,\n"
        "  \"sources\": [\"scale.cl\"],\n"
        "  \"macros\": true,\n"
        "  \"params\": {\n"
        "    \"WG_SIZE\": {\"values\": [16, 32, 64, 128, 256], \"default\": 64, \"doc\": \"work-items per group\"} },\n"
        "  \"constraints\": [\"WG_SIZE <= device.max_work_group_size\"],\n"
        "  \"launches\": [\n"
        "    {\"kernel\": \"scale\",\n"
        "     \"args\": [\"n\", \"factor\", \"x\", \"y\"],\n"
        "     \"local\": [\"WG_SIZE\"], \"groups\": [\"ceil_div(n, WG_SIZE)\"]} ] }\n");
    assert_string_equal(
        strb_text(&s.task_json),
        "{ \"task\": \"scale\",\n"
        "  \"doc\": \"what scale computes, in one line\",\n"
        "  \"dims\": {\"n\": {\"min\": 1}},\n"
        "  \"tensors\": [ {\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"n\"], \"access\": \"in\"},\n"
        "               {\"name\": \"y\", \"type\": \"f32\", \"shape\": [\"n\"], \"access\": \"out\"} ],\n"
        "  \"scalars\": [ {\"name\": \"factor\", \"type\": \"f32\", \"values\": [1, 0.5]} ],\n"
        "  \"reference\": \"scale_reference\",\n"
        "  \"error\": {\"reduction_length\": \"FILL_IN\"},\n"
        "  \"shapes\": \"shapes/default.json\",\n"
        "  \"edge_shapes\": \"shapes/edge.json\" }\n");
    has_text(&s.reference, "void scale_reference(const kw_ref *ref, int tensor, ");
    has_text(&s.reference, "    const int64_t n = ref->dims[0];\n    const double factor = ref->scalars[0];\n"
                           "    const double *x = ref->tensors[0];\n    /* `tensor` is 1 for y.");
    has_text(&s.shapes, "{\"n\": 1048576}\n");
    has_text(&s.edges, "{\"n\": 1}\n");
    has_text(&s.edges, "{\"n\": 4099}\n");
    scaffold_clear(&s);
}

static void what_is_not_known_is_a_gap(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "odd \"name\".cl"};
    scaffold s = make("#ifndef WG_SIZE\n#define WG_SIZE 32\n#endif\n#ifndef UNROLL\n#define UNROLL 1\n#endif\n"
                      "#ifndef TILE\n#define TILE 0\n#endif\n#ifndef PAD\n#define PAD 3\n#endif\n"
                      "kernel void f(uint rows, ulong columns, global T *in, local float *buffer) { }\n",
                      &o);
    is_json(&s.sidecar);
    is_json(&s.task_json);
    has_text(&s.sidecar, "\"sources\": [\"odd \\\"name\\\".cl\"]");
    has_text(&s.sidecar, "\"WG_SIZE\": {\"values\": [8, 16, 32, 64, 128], \"default\": 32}");
    has_text(&s.sidecar, "\"UNROLL\": {\"values\": [1, 2, 4], \"default\": 1}");
    has_text(&s.sidecar, "\"TILE\": {\"values\": [0, 1], \"default\": 0}");
    has_text(&s.sidecar, "\"PAD\": {\"values\": [3], \"default\": 3}");
    has_text(&s.sidecar,
             "\"args\": [{\"expr\": \"rows\", \"type\": \"u32\"}, {\"expr\": \"columns\", \"type\": \"u64\"}, \"in_\", "
             "{\"local\": \"FILL_IN\", \"doc\": \"bytes of buffer\"}]");
    has_text(&s.sidecar, "\"local\": [\"WG_SIZE\"], \"groups\": [\"FILL_IN\"]");
    has_text(&s.task_json, "{\"name\": \"in_\", \"type\": \"FILL_IN\", \"shape\": [\"FILL_IN\"], \"access\": \"out\"}");
    scaffold_clear(&s);
}

static void group_sizes_make_a_constraint(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "k.cl"};
    scaffold s = make(
        TWO_MACROS "kernel __attribute__((reqd_work_group_size(TX / R, R, 1))) void k(int n, global float *x) { }", &o);
    has_text(&s.sidecar, "\"constraints\": [\"(TX // R) * R <= device.max_work_group_size\"],\n");
    has_text(&s.sidecar, "\"local\": [\"TX // R\", \"R\"], \"groups\": [\"FILL_IN\", \"FILL_IN\"]");
    scaffold_clear(&s);
    s = make("kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(int n, global float *x) { }", &o);
    lacks_text(&s.sidecar, "constraints");
    has_text(&s.sidecar, "\"params\": {\n }");
    has_text(&s.sidecar, "\"local\": [\"64\"], \"groups\": [\"ceil_div(n, 64)\"]");
    is_json(&s.sidecar);
    scaffold_clear(&s);
}

static void names_do_not_clash_in_the_reference(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "k.cl"};
    scaffold s = make("kernel void k(int count, float ref, global const float *value, global const float *at, int in,\n"
                      "  global float *scale) { }",
                      &o);
    has_text(&s.reference, "const int64_t count_ = ref->dims[0];");
    has_text(&s.reference, "const int64_t in_ = ref->dims[1];");
    has_text(&s.reference, "const double ref_ = ref->scalars[0];");
    has_text(&s.reference, "const double *value_ = ref->tensors[0];");
    has_text(&s.reference, "const double *at_ = ref->tensors[1];");
    has_text(&s.reference, "`tensor` is 2 for scale.");
    has_text(&s.task_json, "\"dims\": {\"count\": {\"min\": 1}, \"in_\": {\"min\": 1}}");
    scaffold_clear(&s);
}

static void shapes_stay_small(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "k.cl"};
    scaffold s = make("kernel void k(int a, int b, int c, global float *x) { }", &o);
    has_text(&s.shapes, "{\"a\": 64, \"b\": 64, \"c\": 64}\n{\"a\": 16, \"b\": 16, \"c\": 16}\n");
    has_text(&s.edges, "{\"a\": 1, \"b\": 1, \"c\": 1}\n{\"a\": 17, \"b\": 1, \"c\": 1}\n");
    has_text(&s.edges, "{\"a\": 31, \"b\": 37, \"c\": 13}\n");
    scaffold_clear(&s);
    s = make("kernel void k(global const float *x, global float *y) { }", &o);
    has_text(&s.task_json, "\"dims\": {\"n\": {\"min\": 1}}");
    has_text(&s.task_json, "\"shape\": [\"n\"]");
    has_text(&s.reference, "const int64_t n = ref->dims[0];");
    has_text(&s.shapes, "{\"n\": 1048576}\n");
    scaffold_clear(&s);
}

static void a_sidecar_for_a_task_that_exists(void **state)
{
    (void)state;
    const scaffold_options o = {.file = "k.cl", .task = "saxpy", .sidecar_only = true};
    scaffold s = make(
        "kernel void mine(int N, float a, global const float *x, global float *y) { }\nkernel void b(int n) { }", &o);
    assert_string_equal(s.task, "saxpy");
    assert_string_equal(s.kernel, "mine");
    assert_string_equal(strb_text(&s.others), "b");
    has_text(&s.sidecar, "\"task\": \"saxpy\"");
    has_text(&s.sidecar, "\"kernel\": \"mine\"");
    lacks_text(&s.sidecar, "fallback");
    assert_int_equal(s.task_json.length + s.reference.length + s.shapes.length + s.edges.length, 0);
    scaffold_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_their_types),
        cmocka_unit_test(chooses_a_kernel),
        cmocka_unit_test(reads_macros),
        cmocka_unit_test(reads_the_work_group),
        cmocka_unit_test(names_what_nobody_defines),
        cmocka_unit_test(bad_kernels),
        cmocka_unit_test(a_simple_kernel_leaves_few_gaps),
        cmocka_unit_test(what_is_not_known_is_a_gap),
        cmocka_unit_test(group_sizes_make_a_constraint),
        cmocka_unit_test(names_do_not_clash_in_the_reference),
        cmocka_unit_test(shapes_stay_small),
        cmocka_unit_test(a_sidecar_for_a_task_that_exists),
    };
    return cmocka_run_group_tests_name("scaffold", tests, NULL, NULL);
}
