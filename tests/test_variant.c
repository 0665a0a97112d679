#include "tests/support_gemm.h"

#include "base/fs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FRONT \
    "/*kernwright {\"task\": \"gemm\",\n" \
    "\"params\": {\"TM\": {\"values\": [8, 16, 32], \"default\": 16}, \"SPLIT\": {\"values\": [1, 2]},\n" \
    "  \"SPEC\": {\"values\": [false, true]}, \"MODE\": {\"values\": [\"a\", \"*/\"]}},\n" \
    "\"constraints\": [\"TM > 4\", \"TM*TM <= device.max_work_group_size\"],\n" \
    "\"requires\": [{\"expr\": \"M % TM == 0\", \"why\": \"whole tiles\"}, \"SPLIT == 1 or N > 3\"],\n" \
    "\"specialize\": {\"K\": \"SPEC\"}, \"options\": [\"-DX=${TM}\", \"-cl-mad-enable\"], \"defines\": {\"REAL\": " \
    "\"${T}\"},\n" \
    "\"temps\": [{\"name\": \"part\", \"type\": \"ACC\", \"elements\": \"M * N * SPLIT\", \"when\": \"SPLIT > " \
    "1\"}],\n" \
    "\"launches\": [\n" \
    "{\"kernel\": \"whole\", \"args\": [\"M\", \"K\", \"alpha\", \"A\", \"C\"], \"when\": \"SPLIT == 1\",\n" \
    "  \"local\": [\"TM\", \"TM\"], \"groups\": [\"ceil_div(M, TM)\", \"ceil_div(N, TM)\"]},\n" \
    "{\"kernel\": \"part\", \"args\": [\"A\", \"part\", {\"local\": \"TM * sizeof(T) * N\"}], \"when\": \"SPLIT > 1 " \
    "and N != 7\",\n" \
    "  \"local\": [\"TM\"], \"groups\": [\"M // TM\", \"SPLIT\"]},\n" \
    "{\"kernel\": \"sum\", \"args\": [{\"expr\": \"M*N\", \"type\": \"i32\"}, {\"expr\": \"N / 8\", \"type\": " \
    "\"f32\"}, " \
    "{\"value\": 2, \"type\": \"ACC\"}], \"when\": \"SPLIT > 1\",\n" \
    "  \"local\": [4], \"groups\": [\"K\"]}]} */\n"
#define KERNEL \
    "\n// a comment\nkernel void whole(int M, int K_arg, float alpha, global REAL *A, global float *C)\n{\n" \
    "//@if SPEC\n    float x[${K}];\n//@end\n    int k = K;\n}\n" \
    "kernel void part(global float *A, global float *p, local float *t) { }\n" \
    "kernel void sum(int n, float x, float y) { }"

static void writes_readable_text(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    variant *v = gemm_variant(p, "SPEC=true MODE=*/", "M=64,N=64,K=48");
    assert_string_equal(v->source,
                        "/* demo TM=16 SPLIT=1 SPEC=true MODE= /; T=f32,ACC=f32; K=48 */\n"
                        "#define K 48\n"
                        "#define REAL float\n"
                        "// a comment\n"
                        "kernel void whole(int M, int K_arg, float alpha, global REAL *A, global float *C)\n{\n"
                        "    float x[48];\n    int k = K;\n}\n"
                        "kernel void part(global float *A, global float *p, local float *t) { }\n"
                        "kernel void sum(int n, float x, float y) { }\n");
    assert_string_equal(v->options, "-DX=16 -cl-mad-enable");
    assert_int_equal(v->fixed_dims[2], 48);
    assert_int_equal(v->fixed_dims[0], -1);
    variant_free(v);
    v = gemm_variant(p, "", NULL);
    assert_non_null(strstr(v->source, "#define K K_arg\n"));
    variant_free(v);
    kw_error err = {0};
    assert_int_equal(gemm_expand(p, "SPEC=true", NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "K is a constant where SPEC is true"));
    template_free(p);
}

static void folds_expressions(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    variant *v = gemm_variant(p, "", NULL);
    assert_int_equal(v->n_constraints, 1); /* TM > 4 is settled */
    assert_string_equal(v->constraints[0].text, "256 <= device.max_work_group_size");
    assert_int_equal(v->n_requires, 2); /* SPLIT == 1 or N > 3 holds; the index rule stays */
    assert_string_equal(v->requires_[0].text, "M % 16 == 0");
    assert_string_equal(v->requires_[0].why, "whole tiles");
    assert_null(strstr(v->requires_[1].text, "true"));
    assert_int_equal(v->n_launches, 1);
    assert_null(v->launches[0].when);
    assert_int_equal(v->temps[0].type, DTYPE_F32);
    template_free(p); /* the variant stands on its own */
    task_shape s = gemm_shape("M=64,N=64,K=4"), odd = gemm_shape("M=65,N=64,K=4");
    device_limits small = {.max_work_group_size = 255}, large = {.max_work_group_size = 256};
    kw_error why = {0};
    assert_true(variant_fits(v, &s, NULL, &why));
    assert_true(variant_fits(v, &s, &large, &why));
    assert_false(variant_fits(v, &s, &small, &why));
    assert_non_null(strstr(why.message, "256 <= device.max_work_group_size"));
    assert_false(variant_fits(v, &odd, NULL, &why));
    assert_non_null(strstr(why.message, "M % 16 == 0: whole tiles"));
    variant_free(v);
}

/* What a shape needs may depend on the device: local memory for a halo, say. */
static void requires_may_name_the_device(void **state)
{
    (void)state;
    template *p = gemm_template(
        "/*kernwright {\"task\": \"gemm\", \"requires\": [\"4 * K <= device.local_mem_bytes\", \"M > 1\"],\n"
        "\"launches\": [{\"kernel\": \"f\", \"args\": [\"A\"], \"local\": [1], \"groups\": [1]}]} */\n"
        "kernel void f(global float *A) { }");
    variant *v = gemm_variant(p, "", NULL);
    task_shape s = gemm_shape("M=2,N=1,K=100"), one = gemm_shape("M=1,N=1,K=100");
    device_limits small = {.local_mem_bytes = 399}, large = {.local_mem_bytes = 400};
    kw_error why = {0};
    assert_true(variant_fits(v, &s, NULL, &why));
    assert_true(variant_fits(v, &s, &large, &why));
    assert_false(variant_fits(v, &s, &small, &why));
    assert_false(variant_fits(v, &one, NULL, &why));
    variant_free(v);
    template_free(p);
}

static void hash_sees_what_runs(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL), *commented = gemm_template(FRONT "/* more */ // words\n\n\n" KERNEL);
    template *changed = gemm_template(FRONT KERNEL "\nint z;");
    variant *a = gemm_variant(p, "", NULL), *b = gemm_variant(commented, "MODE=*/", NULL),
            *c = gemm_variant(changed, "", NULL);
    variant *d = gemm_variant(p, "TM=8", NULL), *e = gemm_variant(p, "SPEC=true", "M=8,N=8,K=8"),
            *f = gemm_variant(p, "SPEC=true", "M=8,N=8,K=9");
    assert_string_equal(a->hash, b->hash);
    assert_string_not_equal(a->hash, c->hash);
    assert_string_not_equal(a->hash, d->hash); /* the text is the same, geometry and options are not */
    assert_string_not_equal(e->hash, f->hash);
    variant *again = gemm_variant(p, "", NULL);
    assert_string_equal(a->source, again->source);
    variant *all[] = {a, b, c, d, e, f, again};
    for (size_t i = 0; i < 7; i++)
        variant_free(all[i]);
    template_free(p);
    template_free(commented);
    template_free(changed);
}

static void checks_fixed_dims(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    variant *v = gemm_variant(p, "SPEC=true", "M=64,N=64,K=48");
    task_shape same = gemm_shape("M=32,N=5,K=48"), other = gemm_shape("M=32,N=5,K=49");
    kw_error why = {0};
    assert_true(variant_fits(v, &same, NULL, &why));
    assert_false(variant_fits(v, &other, NULL, &why));
    assert_non_null(strstr(why.message, "K is the constant 48 in this variant, not 49"));
    variant_free(v);
    template_free(p);
}

static char *plan_text(const variant *v, const char *dims, const double *scalars)
{
    plan pl;
    kw_error err = {0};
    task_shape s = gemm_shape(dims);
    if (plan_make(v, &s, scalars, NULL, &pl, &err) != KW_OK)
        fail_msg("%s", err.message);
    json *j = plan_to_json(&pl);
    strb text = STRB_INIT;
    json_print(j, &text);
    arena *a = arena_new();
    plan back;
    assert_int_equal(plan_from_json(j, a, &back, &err), KW_OK);
    json *again = plan_to_json(&back);
    assert_true(json_equal(j, again));
    json_free(j);
    json_free(again);
    arena_free(a);
    return strb_take(&text);
}

static void plans(const variant *v, const char *dims, const double *scalars, const char *expected)
{
    char *text = plan_text(v, dims, scalars);
    assert_string_equal(text, expected);
    free(text);
}

static void makes_plans(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    variant *v = gemm_variant(p, "", NULL);
    const double half[] = {0.5, 1}, odd[] = {NAN, 1};
    plans(v, "M=64,N=20,K=5", NULL,
          "{\"launches\":[{\"kernel\":\"whole\",\"local\":[16,16],\"groups\":[4,2],\"args\":[{\"type\":\"i32\","
          "\"value\":64},"
          "{\"type\":\"i32\",\"value\":5},{\"scalar\":0,\"type\":\"f32\",\"value\":1},{\"tensor\":0},{\"tensor\":2}]}],"
          "\"temps\":[0]}");
    char *text = plan_text(v, "M=64,N=20,K=5", half);
    assert_non_null(strstr(text, "\"value\":0.5"));
    free(text);
    text = plan_text(v, "M=64,N=20,K=5", odd);
    assert_non_null(strstr(text, "\"value\":\"nan\""));
    free(text);
    variant_free(v);
    v = gemm_variant(p, "SPLIT=2", NULL);
    plans(
        v, "M=32,N=6,K=3", NULL,
        "{\"launches\":[{\"kernel\":\"part\",\"local\":[16,1],\"groups\":[2,2],\"args\":[{\"tensor\":0},{\"temp\":0},"
        "{\"local\":384}]},{\"kernel\":\"sum\",\"local\":[4],\"groups\":[3],\"args\":[{\"type\":\"i32\",\"value\":192},"
        "{\"type\":\"f32\",\"value\":0.75},{\"type\":\"f32\",\"value\":2}]}],\"temps\":[1536]}");
    plans(v, "M=32,N=7,K=0", NULL, "{\"launches\":[],\"temps\":[1792]}"); /* `when`, and no groups */
    variant_free(v);
    template_free(p);
}

static void plan_fails(const template *p, const char *set, const char *dims, const device_limits *limits,
                       const char *part)
{
    variant *v = gemm_variant(p, set, NULL);
    plan pl;
    kw_error err = {0};
    task_shape s = gemm_shape(dims);
    assert_int_equal(plan_make(v, &s, NULL, limits, &pl, &err), KW_BAD_INPUT);
    if (strstr(err.message, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, err.message);
    variant_free(v);
}

static void refuses_bad_plans(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    device_limits group = {.max_work_group_size = 256};
    device_limits item = {.max_work_group_size = 2048, .max_work_item_size = {64, 8, 64}};
    device_limits memory = {.max_work_group_size = 2048, .local_mem_bytes = 100};
    plan_fails(p, "TM=32", "M=64,N=64,K=1", &group, "demo: whole: local size 32x32 = 1024 over the device's limit 256");
    plan_fails(p, "TM=16", "M=64,N=64,K=1", &item, "local size 16x16: dimension 1 is over the device's limit 8");
    plan_fails(p, "SPLIT=2", "M=64,N=64,K=1", &memory, "4096 bytes of local memory over the device's limit 100");
    plan_fails(p, "SPLIT=2", "M=200000,N=20000,K=1", NULL, "argument M*N is 4000000000, which i32 cannot hold");
    template_free(p);
#define T(rest) \
    "/*kernwright {\"task\": \"gemm\", \"params\": {\"X\": {\"values\": [3, 0]}}, \"launches\": [{\"kernel\": " \
    "\"k\", " rest "}]} */ kernel void k() { }"
    p = gemm_template(T("\"args\": [], \"local\": [\"X\"], \"groups\": [\"N - 5\"]"));
    plan_fails(p, "", "M=1,N=4,K=1", NULL, "number of groups N - 5 is -1, below 0");
    plan_fails(p, "X=0", "M=1,N=6,K=1", NULL, "local size 0 has no work-items");
    template_free(p);
    p = gemm_template(T("\"args\": [], \"local\": [\"X\"], \"groups\": [\"N / 4\"]"));
    plan_fails(p, "", "M=1,N=5,K=1", NULL, "ceil_div");
    template_free(p);
    p = gemm_template(T("\"args\": [], \"local\": [1], \"groups\": [1], \"when\": \"1 // (N - 5) > 0\""));
    plan_fails(p, "", "M=1,N=5,K=1", NULL, "when of k");
    template_free(p);
}

static void refuses_what_cannot_be_expanded(void **state)
{
    (void)state;
    variant *v = NULL;
    kw_error err = {0};
    template *p =
        gemm_template(T("\"args\": [], \"local\": [1], \"groups\": [\"N // X\"]") "\n//@require X > 0 \"no zeros\"");
    assert_int_equal(gemm_expand(p, "X=0", NULL, &v, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "demo.cl:2:1: no zeros"));
    template_free(p);
    p = gemm_template(T("\"args\": [], \"local\": [1], \"groups\": [\"4 // X\"]"));
    assert_int_equal(gemm_expand(p, "X=0", NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "number of groups of k"));
    template_free(p);
    p = gemm_template(T("\"args\": [], \"local\": [1], \"groups\": [1], \"when\": \"X > 0\""));
    assert_int_equal(gemm_expand(p, "X=0", NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "no launch remains"));
    template_free(p);
    p = gemm_template(
        "/*kernwright {\"task\": \"gemm\", \"params\": {\"X\": {\"values\": [3, 0]}}, \"launches\": [{\"kernel\": "
        "\"k\", \"args\": [\"M\"], \"local\": [1], \"groups\": [1]}]} */\n"
        "//@if X == 3\nkernel void k(int m, int n) { }\n//@else\nkernel void k(int m) { }\n//@end\n");
    assert_int_equal(gemm_expand(p, "X=3", NULL, &v, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "kernel k takes 2 arguments, but the launch passes 1"));
    variant_free(gemm_variant(p, "X=0", NULL));
    template_free(p);
}

static void round_trips(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    static const char *const sets[] = {"", "SPLIT=2", "SPEC=true TM=8", "SPLIT=2 MODE=*/ TM=32"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        variant *v = gemm_variant(p, sets[i], "M=32,N=32,K=3"), *back = NULL;
        kw_error err = {0};
        json *j = variant_to_json(v);
        strb once = STRB_INIT, twice = STRB_INIT;
        json_print(j, &once);
        json *parsed = json_parse(once.data, once.length, "x", 1, 1, &err);
        if (variant_from_json(gemm_task, parsed, "x", &back, &err) != KW_OK)
            fail_msg("%s", err.message);
        json *again = variant_to_json(back);
        json_print(again, &twice);
        assert_string_equal(strb_text(&once), strb_text(&twice));
        assert_string_equal(v->hash, back->hash);
        char *plan_a = plan_text(v, "M=64,N=40,K=3", NULL), *plan_b = plan_text(back, "M=64,N=40,K=3", NULL);
        assert_string_equal(plan_a, plan_b);
        free(plan_a);
        free(plan_b);
        variant_free(v);
        variant_free(back);
        json_free(j);
        json_free(parsed);
        json_free(again);
        strb_clear(&once);
        strb_clear(&twice);
    }
    template_free(p);
}

static void from_json_fails(const variant *v, const char *key, json *member, const char *part)
{
    json *j = variant_to_json(v);
    variant *back = NULL;
    kw_error err = {0};
    json_set(j, key, member);
    assert_int_equal(variant_from_json(gemm_task, j, "line 3", &back, &err), KW_BAD_INPUT);
    if (strstr(err.message, part) == NULL || strncmp(err.message, "line 3: ", 8) != 0)
        fail_msg("\"%s\" is not in: %s", part, err.message);
    json_free(j);
}

static json *json_of(const char *text)
{
    return json_parse(text, strlen(text), "x", 1, 1, NULL);
}

static void refuses_bad_json(void **state)
{
    (void)state;
    template *p = gemm_template(FRONT KERNEL);
    variant *v = gemm_variant(p, "SPLIT=2", NULL);
    from_json_fails(v, "source", json_new_string("kernel void other() {}"), "it was changed");
    from_json_fails(v, "source", json_new_null(), "source: must be a string");
    from_json_fails(v, "language", json_new_string("x"), "no kernel language");
    from_json_fails(v, "types", json_of("{\"T\": \"i8\"}"), "type T cannot be i8");
    from_json_fails(v, "fixed", json_of("{\"K\": -4}"), "K must be an integer from 0");
    from_json_fails(v, "launches", json_of("[]"), "needs 1 to 8 launches");
    from_json_fails(v, "launches", json_of("[{\"kernel\": \"k\", \"args\": [{\"tensor\": \"Q\"}]}]"), "no tensor Q");
    from_json_fails(v, "launches", json_of("[{\"kernel\": \"k\", \"args\": [{}]}]"), "needs tensor, temp");
    from_json_fails(v, "launches", json_of("[{\"kernel\": \"k\", \"args\": [], \"local\": [\"Q\"]}]"), "Q");
    from_json_fails(v, "temps", json_of("[{\"name\": \"p\", \"type\": \"f32\"}]"), "elements");
    from_json_fails(v, "requires", json_of("[\"TM > 1\"]"), "TM");
    /* Both stand in emitted C text. */
    from_json_fails(v, "launches", json_of("[{\"kernel\": \"k\\\"); system(\\\"x\", \"args\": []}]"),
                    "name of a kernel");
    from_json_fails(v, "temps", json_of("[{\"name\": \"p */ int x; /*\", \"type\": \"f32\", \"elements\": 1}]"),
                    "cannot be a name");
    strb many = STRB_INIT;
    strb_add(&many, "[1");
    for (int i = 0; i < 10000; i++)
        strb_add(&many, ", 1");
    strb_add(&many, "]");
    from_json_fails(v, "requires", json_of(strb_text(&many)), "at most 10000 conditions");
    strb_clear(&many);
    variant_free(v);
    template_free(p);
    static const char *const bad[] = {
        "{}",
        "{\"launches\":[],\"temps\":[-1]}",
        "{\"launches\":[{}],\"temps\":[]}",
        "{\"launches\":[{\"kernel\":\"k\",\"local\":[0],\"groups\":[1],\"args\":[]}],\"temps\":[]}",
        "{\"launches\":[{\"kernel\":\"k\",\"local\":[1],\"groups\":[1,1],\"args\":[]}],\"temps\":[]}",
        "{\"launches\":[{\"kernel\":\"k\",\"local\":[1],\"groups\":[1],\"args\":[{\"tensor\":16}]}],\"temps\":[]}",
        "{\"launches\":[{\"kernel\":\"k\",\"local\":[1],\"groups\":[1],\"args\":[{\"type\":\"i32\",\"value\":0.5}]}],"
        "\"temps\":[]}",
        "{\"launches\":[{\"kernel\":\"k\",\"local\":[1],\"groups\":[1],\"args\":[{\"type\":\"q\",\"value\":0}]}],"
        "\"temps\":[]}",
    };
    arena *a = arena_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json *j = json_of(bad[i]);
        plan pl;
        kw_error err = {0};
        assert_non_null(j);
        if (plan_from_json(j, a, &pl, &err) != KW_BAD_INPUT || *err.message == '\0')
            fail_msg("accepted: %s", bad[i]);
        json_free(j);
    }
    arena_free(a);
}

static void expands_sidecars(void **state)
{
    (void)state;
    char *folder = fs_temp_folder("kw-side", NULL), *side = fs_join(folder, "own.cl.kw.json"),
         *cl = fs_join(folder, "own.cl");
    const char *text =
        "{\"task\": \"gemm\", \"macros\": true, \"params\": {\"WG\": {\"values\": [8, 16]}, \"F\": {\"values\": "
        "[true, false]}, \"S\": {\"values\": [\"abc\"]}}, \"defines\": {\"P\": 32, \"Q\": true, \"R\": \"${T}4\"}, "
        "\"launches\": [{\"kernel\": \"own\", \"args\": [\"A\"], \"local\": [\"WG\"], \"global\": [\"M\"]}]}";
    const char *source = "//@for ${x}\nkernel void own(global float *A) { A[0] = WG; } // ${x}";
    kw_error err = {0};
    template *p = NULL;
    assert_int_equal(fs_write(side, text, strlen(text), NULL), KW_OK);
    assert_int_equal(fs_write(cl, source, strlen(source), NULL), KW_OK);
    if (template_load(cl, gemm_task, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    variant *v = gemm_variant(p, "", NULL);
    assert_string_equal(v->source, "/* own WG=8 F=true S=abc; T=f32,ACC=f32 */\n"
                                   "#define WG 8\n#define F 1\n#define S abc\n"
                                   "#define P 32\n#define Q 1\n#define R float4\n"
                                   "//@for ${x}\nkernel void own(global float *A) { A[0] = WG; } // ${x}\n");
    char *planned = plan_text(v, "M=32,N=1,K=1", NULL);
    assert_non_null(strstr(planned, "\"local\":[8],\"groups\":[4]"));
    free(planned);
    variant_free(v);
    plan_fails(p, "", "M=36,N=1,K=1", NULL, "global size 36 is not a multiple of local size 8: use round_up");
    template_free(p);
    fs_remove_tree(folder);
    free(folder);
    free(side);
    free(cl);
}

/* The sidecar in examples/ with stand-ins for the files that it needs. */
static void example_sidecar_fits(void **state)
{
    (void)state;
    static const char *const files[] = {"common",      "level3",      "transpose_pad", "xgemm_part1",
                                        "xgemm_part2", "xgemm_part3", "xgemm_part4"};
    char *folder = fs_temp_folder("kw-xgemm", NULL), *side = fs_join(folder, "xgemm.kw.json");
    strb text = STRB_INIT;
    kw_error err = {0};
    assert_int_equal(fs_read("examples/clblast-xgemm/xgemm.kw.json", 0, &text, &err), KW_OK);
    assert_int_equal(fs_write(side, text.data, text.length, NULL), KW_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = fs_join(folder, files[i]);
        strb_reset(&text);
        strb_add(&text, "R\"(\n");
        if (i == 2)
            strb_add(&text,
                     "__kernel void TransposePadMatrix(int a, int b, int c, int d, __global float *e, int f, int g, "
                     "int h, int i, __global float *j, const float k, int l) { }\n");
        if (i == 6)
            strb_add(&text,
                     "__kernel void Xgemm(int a, int b, int c, float d, float e, __global float *f, __global float "
                     "*g, __global float *h, int i, int j) { }\n");
        strb_add(&text, ")\"\n");
        strb file = STRB_INIT;
        strb_printf(&file, "%s.opencl", path);
        assert_int_equal(fs_write(strb_text(&file), text.data, text.length, NULL), KW_OK);
        strb_clear(&file);
        free(path);
    }
    template *p = NULL;
    if (template_load(side, gemm_task, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    uint32_t config[32];
    value *env = mem_calloc((size_t)expr_scope_size(p->scope), sizeof *env);
    task_shape s = gemm_shape("M=128,N=64,K=32");
    device_limits limits = {.max_work_group_size = 256, .local_mem_bytes = 32768};
    template_default(p, config);
    template_fill(p, &gemm_types, &limits, &s, config, env);
    if (template_rejects(p, env, true, &err) != NULL)
        fail_msg("%s", err.message);
    variant *v = gemm_variant(p, "", NULL);
    assert_non_null(strstr(v->source, "#define PRECISION 32\n#define GEMMK 0\n"));
    char *planned = plan_text(v, "M=128,N=64,K=32", NULL);
    assert_non_null(strstr(planned, "\"kernel\":\"Xgemm\",\"local\":[8,8],\"groups\":[1,2]"));
    free(planned);
    free(env);
    variant_free(v);
    template_free(p);
    strb_clear(&text);
    fs_remove_tree(folder);
    free(folder);
    free(side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_readable_text),
        cmocka_unit_test(folds_expressions),
        cmocka_unit_test(requires_may_name_the_device),
        cmocka_unit_test(hash_sees_what_runs),
        cmocka_unit_test(checks_fixed_dims),
        cmocka_unit_test(makes_plans),
        cmocka_unit_test(refuses_bad_plans),
        cmocka_unit_test(refuses_what_cannot_be_expanded),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(refuses_bad_json),
        cmocka_unit_test(expands_sidecars),
        cmocka_unit_test(example_sidecar_fits),
    };
    return cmocka_run_group_tests(tests, gemm_load, gemm_free);
}
