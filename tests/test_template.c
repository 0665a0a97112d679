#include "tests/support_gemm.h"

#include "codegen/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KERNEL \
    "kernel void k(int M_arg, int N, float alpha, global const ${T} *A, global ${ACC} *part, local float " \
    "*tmp)\n{\n}\n"
#define PARAMS \
    "\"params\": {\"TM\": {\"values\": [16, 32, 64], \"default\": 32, \"doc\": \"rows\"}, " \
    "\"SPEC\": {\"values\": [false, true]}, \"MODE\": {\"values\": [\"a\", \"b\"]}}"
#define TEMPS "\"temps\": [{\"name\": \"part\", \"type\": \"ACC\", \"elements\": \"M*N\", \"when\": \"TM > 16\"}]"
#define ARGS "\"args\": [\"M\", \"N\", \"alpha\", \"A\", \"part\", {\"local\": \"TM*sizeof(T)\"}]"
#define LAUNCH "{\"kernel\": \"k\", " ARGS ", \"local\": [\"TM\", 1], \"groups\": [\"ceil_div(M, TM)\", \"N\", 2]}"
#define FRONT(rest) "/*kernwright {\"task\": \"gemm\",\n" PARAMS ",\n" rest "} */\n"
#define TEXT(rest, kernel) FRONT(TEMPS ",\n\"launches\": [" LAUNCH "]" rest) kernel
#define SPECIALIZE ", \"specialize\": {\"M\": \"SPEC\"}"

static template *good(const char *text)
{
    template *p = NULL;
    kw_error err = {0};
    if (template_parse(text, strlen(text), "dir/k.cl", gemm_task, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    return p;
}

static void refused(const char *text, const char *part)
{
    template *p = NULL;
    kw_error err = {0};
    kw_code code = template_parse(text, strlen(text), "k.cl", gemm_task, &p, &err);
    if (code != KW_BAD_INPUT || strstr(err.message, part) == NULL)
        fail_msg("code %d, \"%s\" is not in: %s", (int)code, part, err.message);
    assert_null(strchr(err.message, '\n'));
    assert_null(p);
}

static void reads_a_template(void **state)
{
    (void)state;
    template *p = good(TEXT(SPECIALIZE ", \"constraints\": [\"TM <= device.max_work_group_size\"], "
                                       "\"requires\": [{\"expr\": \"N % TM == 0\", \"why\": \"whole tiles\"}]",
                            KERNEL));
    assert_string_equal(p->name, "k");
    assert_int_equal(p->n_params, 3);
    assert_int_equal(p->params[0].default_index, 1);
    assert_int_equal(p->params[1].default_index, 0);
    assert_int_equal(p->n_constraints, 1);
    assert_int_equal(p->n_requires, 2);
    assert_string_equal(p->requires_[0].why, "whole tiles");
    assert_non_null(strstr(p->requires_[1].text, "(M - 1)*lda"));
    assert_int_equal(p->specialize[0], 1);
    assert_int_equal(p->specialize[1], -1);
    assert_int_equal(p->temps[0].type_symbol, 1);
    const template_launch *l = &p->launches[0];
    assert_int_equal(l->rank, 3);
    assert_int_equal(l->args[0].kind, ARG_VALUE);
    assert_int_equal(l->args[0].type, DTYPE_I32);
    assert_int_equal(l->args[2].kind, ARG_SCALAR);
    assert_int_equal(l->args[3].kind, ARG_TENSOR);
    assert_int_equal(l->args[4].kind, ARG_TEMP);
    assert_int_equal(l->args[5].kind, ARG_LOCAL);
    assert_null(l->global[0]);
    template_free(p);
}

static void reads_64_bit_indices(void **state)
{
    (void)state;
    template *p =
        good(TEXT(", \"index\": \"i64\"", "kernel void k(long M_arg, long N, float alpha, global const float *A, "
                                          "global float *part, local float *tmp)\n{\n}\n"));
    assert_true(p->index_i64);
    assert_int_equal(p->launches[0].args[0].type, DTYPE_I64);
    assert_int_equal(p->n_requires, 0);
    template_free(p);
}

static void refuses_bad_front_matter(void **state)
{
    (void)state;
    refused("", "k.cl:1:1: no front matter");
    refused("kernel void k() {}", "k.cl.kw.json beside it");
    refused("/* kernwright {} */", "no front matter");
    refused("\n /*kernwright {\"task\": } */", "k.cl:2:");
    refused("/*kernwright {\"task\": \"gemm\"} x */", "k.cl:1:31: the front matter must end here with */");
    refused("/*kernwright {\"task\": \"gemm\"}", "must end here with */");
    refused("/*kernwright [1] */", "must be an object");
    refused("/*kernwright {\"task\": \"saxpy\"} */", "is \"saxpy\", but the task at hand is gemm");
    refused("/*kernwright {\n \"tusk\": 1} */", "k.cl:2:10: tusk: unknown key; did you mean \"task\"?");
    refused("/*kernwright {\"task\": \"gemm\", \"task\": \"gemm\"} */", "k.cl:1:");
    refused("/*kernwright {\"task\": \"gemm\", \"language\": \"sycl\"} */", "must be one of \"opencl\", \"cuda\"");
    refused("/*kernwright {\"task\": \"gemm\", \"sources\": [\"a\"]} */", "sidecars");
    refused("/*kernwright {\"task\": \"gemm\"} */", "at least one launch");
    refused("/*kernwright {\"task\": \"gemm\", \"launches\": {}} */", "must be a list");
}

static void refuses_bad_params(void **state)
{
    (void)state;
#define P(text) "/*kernwright {\"task\": \"gemm\",\n\"params\": {" text "}} */"
    refused(P("\"M\": {\"values\": [1]}"), "k.cl:2:17: params.M: the name M is already used");
    refused(P("\"alpha\": {\"values\": [1]}"), "already used");
    refused(P("\"A\": {\"values\": [1]}"), "already used");
    refused(P("\"a-b\": {\"values\": [1]}"), "cannot be a name");
    refused(P("\"X\": {\"values\": []}"), "must have 1 to 1000000 values");
    refused(P("\"X\": {\"values\": [1, 2, 1]}"), "the value 1 is listed twice");
    refused(P("\"X\": {\"values\": [1, true]}"), "of one kind");
    refused(P("\"X\": {\"values\": [1, null]}"), "must be a list");
    refused(P("\"X\": {\"values\": [[1]]}"), "integers, reals, booleans or strings");
    refused(P("\"X\": {\"values\": 4}"), "must be a list");
    refused(P("\"X\": {\"values\": \"range(1,\"}"), "k.cl:2:");
    refused(P("\"X\": {\"values\": \"TM\"}"), "TM");
    refused(P("\"X\": {\"values\": \"3\"}"), "must be a list");
    refused(P("\"X\": {\"values\": [1, 2], \"default\": 3}"), "is not one of the values");
    refused(P("\"X\": {\"default\": 3}"), "\"values\" is missing");
    refused(P("\"X\": {\"values\": [1], \"defualt\": 1}"), "did you mean \"default\"?");
    refused(P("\"X\": {\"values\": [\"a\\nb\"]}"), "one line of text");
    refused(P("\"X\": 3"), "must be an object");
    refused(P("\"X\": {\"values\": [1], \"when\": \"Y\"}, \"Y\": {\"values\": [0, 1]}"),
            "\"when\" uses parameters that stand above this one");
    refused(P("\"X\": {\"values\": [1, 2], \"when\": \"X > 1\"}"), "k.cl:2:45: unknown name 'X'");
    refused(P("\"X\": {\"values\": [1, 2], \"when\": \"M > 1\"}"), "M is a dim");
    refused(P("\"X\": {\"values\": [1, 2], \"when\": \"device.is_gpu\"}"), "cannot be used here");
    refused(P("\"X\": {\"values\": [1, 2], \"when\": [1]}"), "must be an expression");
#undef P
    template *p =
        good("/*kernwright {\"task\": \"gemm\", \"params\": {\"X\": {\"values\": \"[2**i for i in range(5)]\", "
             "\"default\": 8}, \"R\": {\"values\": [0.5, 1]}},\n"
             "\"launches\": [{\"kernel\": \"k\", \"args\": [], \"local\": [1], \"groups\": [1]}]} */\n"
             "kernel void k(void) { }");
    assert_int_equal(p->params[0].n_values, 5);
    assert_int_equal(p->params[0].default_index, 3);
    template_free(p);
}

static void refuses_bad_expressions(void **state)
{
    (void)state;
    refused(TEXT(",\n\"constraints\": [\"TM >= 1\", \"TN % 4 == 0\"]", KERNEL), "k.cl:5:29: ");
    refused(TEXT(",\n\"constraints\": [\"TMM % 4 == 0\"]", KERNEL), "TM");
    refused(TEXT(",\n\"constraints\": [\"M % TM == 0\"]", KERNEL),
            "k.cl:5:17: constraints[0]: M is a dim of the task: what depends on the shape belongs in \"requires\"");
    refused(TEXT(",\n\"constraints\": [\"alpha == 1\"]", KERNEL), "alpha is a scalar");
    refused(TEXT(",\n\"constraints\": [{\"why\": \"x\"}]", KERNEL), "\"expr\" is missing");
    refused(TEXT(",\n\"constraints\": [\"alpha != 0\"]", KERNEL), "alpha is a scalar of the task");
    refused(TEXT(",\n\"requires\": [\"N > 1\", \"beta == 0\"]", KERNEL), "requires[1]: beta is a scalar of the task");
    refused(TEXT(",\n\"constraints\": \"TM > 1\"", KERNEL), "must be a list");
    refused(TEXT(",\n\"requires\": [null]", KERNEL), "must be an expression");
    refused(TEXT(", \"specialize\": {\"Q\": \"SPEC\"}", KERNEL), "task gemm has no dim Q");
    refused(TEXT(", \"specialize\": {\"M\": \"TM\"}", KERNEL), "[false, true]");
    refused(TEXT(", \"specialize\": {\"M\": true}", KERNEL), "[false, true]");
    refused(TEXT(", \"options\": [\"-DX=${TN}\"]", KERNEL), "unknown name 'TN'");
    refused(TEXT(", \"options\": [\"-DX=${N}\"]", KERNEL), "N is a dim");
    refused(TEXT(", \"defines\": {\"X\": []}", KERNEL), "must be a string, a number or a boolean");
    refused(TEXT("", KERNEL "${TN}"), "k.cl:8:3: ");
    refused(TEXT("", KERNEL "${M}"), "M is a dim, which has no value when text is made");
    refused(TEXT("", KERNEL "${device.compute_units}"), "one text serves every device");
    refused(TEXT("", KERNEL "${alpha}"), "pass it to the kernel as an argument");
    refused(TEXT("", KERNEL "\n// \xff\n"), "k.cl:9:1: a byte here is not UTF-8");
    refused(TEXT("", KERNEL "//@if SPEC\n"), "k.cl:8:1: //@if is never closed");
    template_free(good(TEXT(SPECIALIZE, KERNEL "//@if SPEC\nint x[${M}];\n//@end\n")));
}

#define ONE(launch) FRONT(TEMPS ",\n\"launches\": [" launch "]") KERNEL

static void refuses_bad_launches(void **state)
{
    (void)state;
    refused(ONE("{\"kernel\": \"k\", \"args\": [\"Aa\"], \"local\": [1], \"groups\": [1]}"),
            "launches[0].args[0]: no tensor, temporary, dim or scalar is called Aa, did you mean A");
    refused(ONE("{\"kernel\": \"k\", \"args\": [\"TM\"], \"local\": [1], \"groups\": [1]}"),
            "TM is a parameter: pass it as");
    refused(ONE("{\"kernel\": \"k\", \"args\": [1], \"local\": [1], \"groups\": [1]}"), "must be a name or an object");
    refused(ONE("{\"kernel\": \"k\", \"args\": [{\"value\": 1}], \"local\": [1], \"groups\": [1]}"),
            "\"type\" is missing");
    refused(ONE("{\"kernel\": \"k\", \"args\": [{\"value\": 1, \"local\": 4}], \"local\": [1], \"groups\": [1]}"),
            "exactly one of");
    refused(ONE("{\"kernel\": \"k\", \"args\": [{\"value\": 1, \"type\": \"i31\"}], \"local\": [1], \"groups\": [1]}"),
            "type \"i31\"");
    refused(ONE("{\"kernel\": \"k\", \"args\": [], \"local\": [1]}"), "needs \"groups\"");
    refused(ONE("{\"kernel\": \"k\", \"args\": [], \"local\": [1], \"global\": [1]}"), "\"global\" is for sidecars");
    refused(ONE("{\"kernel\": \"k\", \"args\": [], \"groups\": [1]}"), "needs \"local\"");
    refused(ONE("{\"kernel\": \"k\", \"args\": [], \"local\": [1,1,1,1], \"groups\": [1]}"), "a list of 1 to 3 sizes");
    refused(ONE("{\"kernel\": \"k\", \"local\": [1], \"groups\": [1]}"), "\"args\" is missing");
    refused(ONE("{\"kernel\": \"k k\", \"args\": [], \"local\": [1], \"groups\": [1]}"),
            "cannot be the name of a kernel");
    refused(ONE("{\"kernal\": \"k\"}"), "did you mean \"kernel\"?");
    refused(ONE("{\"kernel\": \"kk\", \"args\": [], \"local\": [1], \"groups\": [1]}"),
            "launches[0].kernel: no kernel kk in the source; did you mean k; it defines k");
    refused(ONE("{\"kernel\": \"k\", \"args\": [\"M\"], \"local\": [1], \"groups\": [1]}"),
            "kernel k takes 6 arguments, but the launch passes 1");
    refused(ONE("{\"kernel\": \"k\", \"args\": [\"M\", \"N\", \"alpha\", \"beta\", \"part\", \"A\"], \"local\": [1], "
                "\"groups\": [1]}"),
            "argument 4 of kernel k is \"global const T *A\"");
}

/* Signatures: what is certain is refused, what is not passes. */
static void checks_in(const char *lang, const char *args, const char *kernel, const char *part)
{
    strb text = STRB_INIT;
    template *p = NULL;
    kw_error err = {0};
    strb_printf(&text,
                "/*kernwright {\"task\": \"gemm\", \"language\": \"%s\", \"params\": {\"TM\": {\"values\": [1, 2]}},\n"
                "\"launches\": [{\"kernel\": \"k\", \"args\": [%s], \"local\": [1], \"groups\": [1]}]} */\n%s",
                lang, args, kernel);
    kw_code code = template_parse(text.data, text.length, "k.cl", gemm_task, &p, &err);
    if (part == NULL && code != KW_OK)
        fail_msg("%s: %s", kernel, err.message);
    if (part != NULL && (code == KW_OK || strstr(err.message, part) == NULL))
        fail_msg("%s: \"%s\" is not in: %s", kernel, part, err.message);
    template_free(p);
    strb_clear(&text);
}

static void checks(const char *args, const char *kernel, const char *part)
{
    checks_in("opencl", args, kernel, part);
}

static void checks_signatures(void **state)
{
    (void)state;
    const char *count = "takes 2 arguments, but the launch passes 1";
    checks("\"A\"", "kernel void k(global float *A, int n) { }", count);
    checks("\"A\"", "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid k(__global float *A,\nint n)\n{ }",
           count);
    checks("\"A\"", "kernel void k(global float *A /*, int b */ // , int c\n, int n) { }", count);
    checks("", "kernel void k(void) { }", NULL);
    checks("", "kernel void k() { }", NULL);
    checks("\"A\"", "kernel void k() { }", "takes 0 arguments");
    checks("\"A\"", "kernel void k(float A) { }", "argument 1 of kernel k is \"float A\"");
    checks("\"M\"", "kernel void k(long n) { }", "(i32)");
    checks("\"M\"", "kernel void k(unsigned n) { }", NULL);
    checks("\"M\"", "kernel void k(const uint n) { }", NULL);
    checks("\"M\"", "kernel void k(float n) { }", "argument 1");
    checks("\"alpha\"", "kernel void k(int n) { }", "argument 1");
    checks("\"alpha\"", "kernel void k(double n) { }", "argument 1");
    checks("\"alpha\"", "kernel void k(real n) { }", NULL);
    checks("\"alpha\"", "#define int float\nkernel void k(int n) { }", NULL);
    checks("\"A\"", "kernel void k(local float *A) { }", "argument 1");
    checks("{\"local\": 4}", "kernel void k(global float *A) { }", "argument 1");
    checks("{\"local\": 4}", "kernel void k(local float *A) { }", NULL);
    checks("\"A\"", "kernel void k(read_only image2d_t A) { }", NULL);
    checks("\"A\", \"M\"", "#define REST , int n\nkernel void k(global float *A REST) { }", NULL);
    checks("\"A\", \"M\"", "# define REST , int n\nkernel void k(global float *A REST) { }", NULL);
    checks("\"A\", \"M\"", "kernel void k(ALL_OF_THEM) { }", NULL);
    checks("\"A\", \"M\"", "kernel void k(global float *A\n#if X\n, int n\n#endif\n) { }", NULL);
    checks("\"A\", \"M\"", "kernel void k(global float *A\n//@if TM > 1\n, int n\n//@end\n) { }", NULL);
    checks("\"A\", \"M\"", "kernel void k(${\"global float *A, int n\"}) { }", NULL);
    checks("\"A\"", "kernel void k(global float *A, int n);\nkernel void k(global float *A) { }", NULL);
    checks("\"A\"", "#if X\nkernel void k(int n) {\n#else\nkernel void k(global float *A) {\n#endif\n}", NULL);
    checks("\"A\"", "#define K(name) kernel void name##_x(global float *A) { }\nK(q)", NULL);
    checks("\"A\"", "#include \"k.h\"", NULL);
    checks("\"A\"", "//@let N2 = 'k'\nkernel void ${N2}(global float *A) { }", NULL);
    checks("\"A\"", "kernel void j(global float *A) { float${TM} x; }", "no kernel k in the source");
    checks("\"A\"", "/* kernel void k(global float *A) { } */\nkernel void j(global float *A) { }", "it defines j");
    checks("\"A\"", "kernel void kk(global float *A) { k(A); }", NULL);
    checks("\"A\"", "kernel void k(global ${T} *A, int n) { }", count);
    checks("\"A\"", "kernel void k(${vec(T, TM)} A, int n) { }", NULL);
    checks("\"A\", \"M\"", "kernel void k(global ${T} *${\"A, int m\"}) { }", NULL);
    checks_in("cuda", "\"A\", {\"local\": 4}",
              "extern \"C\" __global__ void __launch_bounds__(64) k(float *local, long long n) { }",
              "takes 2 arguments, but the launch passes 1");
    checks_in("cuda", "\"A\", \"M\", {\"local\": 4}", "__global__ void k(float *local, long long n) { }", "argument 2");
    checks_in("cuda", "\"A\", \"M\"", "template <int X> __global__ void k(float *local, int n) { }", NULL);
}

/* ---- configurations ---- */

static void sets_and_prints_configurations(void **state)
{
    (void)state;
    template *p = good(TEXT("", KERNEL));
    uint32_t c[3], back[3];
    kw_error err = {0};
    strb text = STRB_INIT;
    template_default(p, c);
    template_config_print(p, c, &text);
    assert_string_equal(strb_text(&text), "TM=32 SPEC=false MODE=a");
    assert_int_equal(template_set(p, "TM=64", c, &err), KW_OK);
    assert_int_equal(template_set(p, "SPEC=true", c, &err), KW_OK);
    assert_int_equal(template_set(p, "MODE=b", c, &err), KW_OK);
    json *j = template_config_to_json(p, c);
    strb_reset(&text);
    json_print(j, &text);
    assert_string_equal(strb_text(&text), "{\"TM\":64,\"SPEC\":true,\"MODE\":\"b\"}");
    assert_int_equal(template_config_from_json(p, j, back, &err), KW_OK);
    assert_memory_equal(c, back, sizeof c);
    assert_int_equal(template_set(p, "TM=48", c, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "TM=48 is not among its values: 16, 32, 64"));
    assert_int_equal(template_set(p, "TN=48", c, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "did you mean TM"));
    assert_int_equal(template_set(p, "TM", c, &err), KW_BAD_INPUT);
    json_set_int(j, "TX", 1);
    assert_int_equal(template_config_from_json(p, j, back, &err), KW_BAD_INPUT);
    json_free(j);
    j = json_new_object();
    assert_int_equal(template_config_from_json(p, j, back, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "does not give TM"));
    json_free(j);
    strb_clear(&text);
    template_free(p);
}

#define SWITCHED \
    "/*kernwright {\"task\": \"gemm\", \"params\": {\"LOCAL\": {\"values\": [0, 1]},\n" \
    "\"PAD\": {\"values\": [0, 1, 2], \"default\": 1, \"when\": \"LOCAL\"}, \"V\": {\"values\": [\"a\", \"b\"], " \
    "\"when\": " \
    "\"PAD > 1\"}},\n\"constraints\": [\"PAD < 3\"],\n" \
    "\"launches\": [{\"kernel\": \"k\", \"args\": [], \"local\": [1], \"groups\": [1]}]} */\n" \
    "kernel void k(void) { }"

static void assert_config(const template *p, const uint32_t *c, const char *text, const char *as_json)
{
    strb found = STRB_INIT;
    uint32_t back[3] = {9, 9, 9};
    kw_error err = {0};
    template_config_print(p, c, &found);
    assert_string_equal(strb_text(&found), text);
    json *j = template_config_to_json(p, c);
    strb_reset(&found);
    json_print(j, &found);
    assert_string_equal(strb_text(&found), as_json);
    assert_int_equal(template_config_from_json(p, j, back, &err), KW_OK);
    assert_memory_equal(back, c, sizeof back);
    json_free(j);
    strb_clear(&found);
}

/* What does not exist is in no text, and comes back as its default. */
static void parameters_may_not_exist(void **state)
{
    (void)state;
    template *p = good(SWITCHED);
    uint32_t c[3];
    value env[256];
    kw_error err = {0};
    task_types types;
    assert_int_equal(task_types_parse(gemm_task, "", &types, &err), KW_OK);
    assert_true(expr_scope_size(p->scope) <= 256);
    assert_int_equal(p->n_constraints, 3);
    template_default(p, c);
    assert_config(p, c, "LOCAL=0", "{\"LOCAL\":0}");
    assert_int_equal(template_set(p, "LOCAL=1", c, &err), KW_OK);
    assert_config(p, c, "LOCAL=1 PAD=1", "{\"LOCAL\":1,\"PAD\":1}");
    assert_int_equal(template_set(p, "PAD=2", c, &err), KW_OK);
    assert_config(p, c, "LOCAL=1 PAD=2 V=a", "{\"LOCAL\":1,\"PAD\":2,\"V\":\"a\"}");
    template_fill(p, &types, NULL, NULL, c, env);
    assert_null(template_rejects(p, env, false, NULL));
    assert_int_equal(template_set(p, "LOCAL=0", c, &err), KW_OK);
    template_fill(p, &types, NULL, NULL, c, env);
    const template_condition *who = template_rejects(p, env, false, &err);
    assert_non_null(who);
    assert_string_equal(who->text, "(LOCAL) or PAD == 1");
    assert_non_null(strstr(err.message, "PAD exists only where LOCAL; leave it at its default elsewhere"));
    json *j = json_new_object(); /* a parameter that exists must be given */
    json_set_int(j, "LOCAL", 1);
    assert_int_equal(template_config_from_json(p, j, c, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "does not give PAD"));
    json_free(j);
    template_free(p);
}

/* `item` n times, with commas. */
static void add_many(strb *out, const char *item, int n)
{
    for (int i = 0; i < n; i++)
        strb_printf(out, "%s%s", i > 0 ? ", " : "", item);
}

/* What grows with the square of these would take minutes here. */
static void bears_large_front_matter(void **state)
{
    (void)state;
    strb text = STRB_INIT;
    strb_add(&text, "/*kernwright {\"task\": \"gemm\", \"params\": {\"P\": {\"values\": [");
    for (int i = 0; i < 200000; i++)
        strb_printf(&text, "%s%d", i > 0 ? "," : "", i);
    strb_add(&text,
             "]}}, \"launches\": [{\"kernel\": \"k\", \"args\": [\"C\"], \"local\": [1], \"groups\": [1]}]} */\n");
    for (int i = 0; i < 200000; i++)
        strb_add(&text, "k(");
    strb_add(&text, "\nkernel void k(global float *C)\n{\n}\n");
    template *p = good(strb_text(&text));
    assert_int_equal(p->params[0].n_values, 200000);
    template_free(p);

    strb_reset(&text);
    strb_add(&text,
             "/*kernwright {\"task\": \"gemm\", \"launches\": [{\"kernel\": \"k\", \"args\": [\"C\"], \"local\": [1], "
             "\"groups\": [1]}]} */\n");
    for (int i = 0; i < 50000; i++)
        strb_add(&text, "kernel __attribute__((");
    refused(strb_text(&text), "no kernel k in the source");

    strb_reset(&text);
    strb_add(&text, "/*kernwright {\"task\": \"gemm\", \"requires\": [");
    add_many(&text, "true", 10001);
    strb_add(&text, "]} */\n");
    refused(strb_text(&text), "requires: at most 10000 conditions");

    strb_reset(&text);
    strb_add(&text, "/*kernwright {\"task\": \"gemm\", \"params\": {");
    for (int i = 0; i < 1001; i++)
        strb_printf(&text, "%s\"P%d\": {\"values\": [1]}", i > 0 ? ", " : "", i);
    strb_add(&text, "}} */\n");
    refused(strb_text(&text), "params: at most 1000 parameters");

    strb_reset(&text);
    strb_add(&text, "/*kernwright {\"task\": \"gemm\", \"options\": [");
    add_many(&text, "\"-w\"", 1001);
    strb_add(&text, "]} */\n");
    refused(strb_text(&text), "options: at most 1000 options");
    strb_clear(&text);
}

static void rejects_with_the_reason(void **state)
{
    (void)state;
    template *p = good(TEXT(", \"constraints\": [\"TM <= device.max_work_group_size\", \"1 // (TM - 64) < 5\"], "
                            "\"requires\": [{\"expr\": \"N % TM == 0\", \"why\": \"whole tiles\"}]",
                            KERNEL));
    uint32_t c[3];
    kw_error why = {0};
    task_types types;
    task_shape s;
    device_limits limits = {.max_work_group_size = 32};
    value *env = mem_calloc((size_t)expr_scope_size(p->scope), sizeof *env);
    task_types_parse(gemm_task, NULL, &types, NULL);
    assert_int_equal(task_shape_parse(gemm_task, "M=64,N=48,K=1", &s, NULL), KW_OK);
    template_default(p, c);
    template_fill(p, &types, &limits, NULL, c, env);
    assert_null(template_rejects(p, env, false, &why));
    template_fill(p, &types, &limits, &s, c, env);
    assert_ptr_equal(template_rejects(p, env, true, &why), &p->requires_[0]);
    assert_non_null(strstr(why.message, "N % TM == 0: whole tiles"));
    s.dims[1] = 64;
    template_fill(p, &types, &limits, &s, c, env);
    assert_null(template_rejects(p, env, true, &why));
    s.dims[0] = 1 << 30;
    template_fill(p, &types, &limits, &s, c, env);
    assert_ptr_equal(template_rejects(p, env, true, &why), &p->requires_[1]);
    assert_non_null(strstr(why.message, "32 bits"));
    assert_int_equal(template_set(p, "TM=64", c, NULL), KW_OK);
    template_fill(p, &types, &limits, NULL, c, env);
    assert_ptr_equal(template_rejects(p, env, false, &why), &p->constraints[0]);
    limits.max_work_group_size = 64;
    template_fill(p, &types, &limits, NULL, c, env);
    assert_ptr_equal(template_rejects(p, env, false, &why), &p->constraints[1]);
    assert_non_null(strstr(why.message, "zero"));
    free(env);
    template_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_template),         cmocka_unit_test(reads_64_bit_indices),
        cmocka_unit_test(refuses_bad_front_matter), cmocka_unit_test(refuses_bad_params),
        cmocka_unit_test(refuses_bad_expressions),  cmocka_unit_test(refuses_bad_launches),
        cmocka_unit_test(checks_signatures),        cmocka_unit_test(sets_and_prints_configurations),
        cmocka_unit_test(parameters_may_not_exist), cmocka_unit_test(bears_large_front_matter),
        cmocka_unit_test(rejects_with_the_reason),
    };
    return cmocka_run_group_tests(tests, gemm_load, gemm_free);
}
