/* The text of dispatch headers: golden text, order of the model, sizes, refusals. That headers compile and do what they
 * say is for test_header_plan.c and consumer.sh. KERNWRIGHT_UPDATE_GOLDEN=1 rewrites the golden files. */
#include "tests/support_header.h"

#include "base/fs.h"
#include "base/hash.h"
#include "codegen/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char task_text[] =
    "{\"task\": \"mix\", \"doc\": \"y = a x + b, row by row\", \"dims\": {\"R\": {\"min\": 1}, \"C\": {\"min\": 1},\n"
    "\"ld\": {\"default\": \"C\", \"key\": false}}, \"types\": {\"T\": [\"f32\", \"f16\"]},\n"
    "\"tensors\": [{\"name\": \"x\", \"type\": \"T\", \"shape\": [\"R\", \"C\"], \"strides\": [\"ld\", \"1\"], "
    "\"access\": \"in\"},\n"
    "{\"name\": \"y\", \"type\": \"T\", \"shape\": [\"R\", \"C\"], \"access\": \"out\"}],\n"
    "\"scalars\": [{\"name\": \"a\", \"type\": \"f32\", \"values\": [2]}, {\"name\": \"b\", \"type\": \"i32\", "
    "\"values\": [1]}]}";

static const char template_text[] =
    "/*kernwright {\"task\": \"mix\", \"language\": \"opencl\",\n"
    "\"params\": {\"WG\": {\"values\": [16, 32, 64]}, \"VEC\": {\"values\": [1, 4]}, \"TWICE\": {\"values\": [false, "
    "true]},\n"
    "\"SPEC\": {\"values\": [false, true]}},\n"
    "\"constraints\": [\"WG * VEC <= device.max_work_group_size\"], \"requires\": [\"C % VEC == 0\", \"ld >= C\"],\n"
    "\"specialize\": {\"C\": \"SPEC\"},\n"
    "\"temps\": [{\"name\": \"half\", \"type\": \"f32\", \"elements\": \"R * C\", \"when\": \"TWICE\"}],\n"
    "\"launches\": [\n"
    "{\"kernel\": \"mix\", \"args\": [\"R\", \"C\", \"ld\", \"a\", \"b\", \"x\", \"y\"], \"when\": \"not TWICE\",\n"
    "\"local\": [\"WG\"], \"groups\": [\"ceil_div(C, WG * VEC)\", \"R\"]},\n"
    "{\"kernel\": \"first\", \"args\": [\"R\", \"C\", \"ld\", \"a\", \"x\", \"half\"], \"when\": \"TWICE\",\n"
    "\"local\": [\"WG\"], \"groups\": [\"ceil_div(C, WG * VEC)\", \"R\"]},\n"
    "{\"kernel\": \"second\", \"args\": [{\"expr\": \"R * C\", \"type\": \"i32\"}, \"b\", \"half\", \"y\"], \"when\": "
    "\"TWICE and b != 0\",\n"
    "\"local\": [\"WG\"], \"groups\": [\"ceil_div(R * C, WG)\"]}]} */\n"
    "/* Every byte counts: \"\?\?/\" \\ \t \303\251 */\n"
    "__kernel void mix(int R, int C, int ld, float a, int b, __global const ${T} *x, __global ${T} *y)\n"
    "{\n    int c = get_global_id(0) * ${VEC}, r = get_global_id(1);\n    if (c < C)\n"
    "        for (int i = 0; i < ${VEC}; i++)\n            y[r * C + c + i] = a * x[r * ld + c + i] + b;\n}\n\n"
    "__kernel void first(int R, int C, int ld, float a, __global const ${T} *x, __global float *part)\n"
    "{\n    int c = get_global_id(0) * ${VEC}, r = get_global_id(1);\n    if (c < C)\n"
    "        for (int i = 0; i < ${VEC}; i++)\n            part[r * C + c + i] = a * x[r * ld + c + i];\n}\n\n"
    "__kernel void second(int n, int b, __global const float *part, __global ${T} *y)\n"
    "{\n    int i = get_global_id(0);\n    if (i < n)\n        y[i] = part[i] + b;\n}\n";

static header_node golden_nodes[] = {{0, 1024, {~0, 1}}, {3, 1, {~1, ~2}}};
static header_leaf golden_leaves[] = {
    {{0, 2, -1, -1}, {1.04f, 1.5f, 0, 0}}, {{0, -1, -1, -1}, {1.02f, 0, 0, 0}}, {{1, 0, -1, -1}, {1.01f, 1.2f, 0, 0}}};
static const header_tree golden_tree = {
    .nodes = golden_nodes, .n_nodes = 2, .leaves = golden_leaves, .n_leaves = 3, .low = {1, 1}, .high = {4096, 8192}};

/* Four variants, two devices, four rows, one tree. */
static void make_model(support_model *s)
{
    support_begin(s, task_text, NULL, "kw_");
    size_t t = support_template(s, template_text);
    int plain = support_variant(s, t, "", NULL, "verified: general; 30 samples");
    int wide = support_variant(s, t, "WG=64 VEC=4", NULL, NULL);
    int twice =
        support_variant(s, t, "WG=32 TWICE=true", NULL, "a note with */ and \?\?/ and \"quotes\"\nand \303\251");
    int constant = support_variant(s, t, "SPEC=true", "R=1,C=100", NULL);
    int a = support_device(s, "nvidia/sm_90/h200/132", "NVIDIA H200, driver 580.159, 2026-11-30, 120 samples", wide);
    int b = support_device(s, "pocl/skylake-avx512/amd-epyc/2", NULL, -1);
    support_row(s, b, "R=1,C=100", constant, 1.0f);
    support_row(s, a, "R=4,C=1024", twice, 1.0f);
    support_row(s, a, "R=4,C=64", wide, 1.05f);
    support_row(s, b, "R=4,C=64", plain, 0.0f);
    s->devices[a].tree = &golden_tree;
    s->model.default_variant = plain;
}

/* ---- golden ---- */

/* What is the task's own: the comment at the top and everything behind the shared part. */
static char *own_part(const strb *header)
{
    strb out = STRB_INIT;
    const char *shared = strstr(header->data, "/* ---- shared by all dispatch headers ---- */");
    const char *own = strstr(header->data, "/* ---- task mix ---- */");
    assert_non_null(shared);
    assert_non_null(own);
    strb_add_n(&out, header->data, (size_t)(shared - header->data));
    strb_add(&out, own);
    return strb_take(&out);
}

static void compare_golden(const char *path, const char *text)
{
    strb golden = STRB_INIT;
    kw_error err = {0};
    if (getenv("KERNWRIGHT_UPDATE_GOLDEN"))
        assert_int_equal(fs_write(path, text, strlen(text), &err), KW_OK);
    if (fs_read(path, 0, &golden, &err) != KW_OK)
        fail_msg("%s", err.message);
    if (strcmp(strb_text(&golden), text) != 0) {
        const char *build = getenv("BUILD");
        char *path_new = fs_join(build ? build : "build", "golden.new");
        (void)fs_write(path_new, text, strlen(text), NULL);
        print_error("%s differs: compare it with %s\n", path, path_new);
        free(path_new);
        fail();
    }
    strb_clear(&golden);
}

static void golden_text(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    strb text = support_text(&s);
    char *own = own_part(&text);
    compare_golden("tests/golden/header/kw_mix.txt", own);
    free(own);
    strb_clear(&text);
    support_end(&s);
}

/* A change of the shared part that is more than a comment must change its version: two headers in one unit would
 * otherwise disagree in silence. */
static void shared_part_has_a_version(void **state)
{
    (void)state;
    support_model s;
    char hash[HASH_HEX_SIZE];
    strb stripped = STRB_INIT, line = STRB_INIT;
    make_model(&s);
    strb text = support_text(&s);
    char *begin = strstr(text.data, "/* ---- shared by all dispatch headers ---- */");
    char *end = strstr(text.data, "/* ---- task mix ---- */");
    const char *version = strstr(text.data, "#define KW_SHARED_VERSION ");
    assert_non_null(begin);
    assert_non_null(end);
    assert_non_null(version);
    *end = '\0';
    source_strip(begin, &stripped);
    hash_hex(stripped.data, stripped.length, hash);
    strb_printf(&line, "KW_SHARED_VERSION %d: %s\n", atoi(version + strlen("#define KW_SHARED_VERSION ")), hash);
    compare_golden("tests/golden/header/shared_version.txt", strb_text(&line));
    strb_clear(&line);
    strb_clear(&stripped);
    strb_clear(&text);
    support_end(&s);
}

static void order_of_rows_does_not_matter(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    strb first = support_text(&s);
    for (size_t i = 0; i < s.model.n_rows / 2; i++) {
        header_row row = s.rows[i];
        s.rows[i] = s.rows[s.model.n_rows - 1 - i];
        s.rows[s.model.n_rows - 1 - i] = row;
    }
    strb second = support_text(&s);
    assert_string_equal(first.data, second.data);
    strb_clear(&first);
    strb_clear(&second);
    support_end(&s);
}

static void prefix_is_everywhere(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    s.model.prefix = "my_app_";
    strb text = support_text(&s);
    const char *own = strstr(text.data, "/* ---- task mix ---- */");
    assert_non_null(strstr(own, "my_app_mix_enqueue("));
    assert_non_null(strstr(own, "#define MY_APP_MIX_VARIANTS 4"));
    assert_null(strstr(own, "kw_mix"));
    assert_null(strstr(own, "KW_MIX"));
    strb_clear(&text);
    support_end(&s);
}

/* ---- sizes ---- */

/* n rows over d devices; what comes before the task's part is not counted. */
static size_t size_with_rows(size_t n, size_t d)
{
    static char keys[20][40];
    support_model s;
    support_begin(&s, task_text, NULL, "kw_");
    size_t t = support_template(&s, template_text);
    for (int i = 0; i < 40; i++)
        (void)support_variant(&s, t, i % 2 ? "WG=64" : "WG=32", NULL, NULL);
    for (size_t i = 0; i < d; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "vendor%zu/arch/name/%zu", i % 3, i + 1);
        (void)support_device(&s, keys[i], NULL, (int)i);
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t dims[TASK_MAX_DIMS] = {(int64_t)(1 + i * 7919 % 8191), (int64_t)(1 + i), 0};
        support_row_dims(&s, (int)(i % d), dims, (int)(i % 40), i % 3 ? 1.0f : 1.0f + (float)(i % 100) / 1000);
    }
    strb text = support_text(&s);
    size_t size = text.length;
    strb_clear(&text);
    support_end(&s);
    return size;
}

static void large_tables_stay_small(void **state)
{
    (void)state;
    size_t thousand = size_with_rows(1000, 1), many = size_with_rows(10000, 20);
    print_message("1,000 rows: %zu bytes; 10,000 rows on 20 devices: %zu bytes\n", thousand, many);
    assert_true(thousand < 200000);
    assert_true(many < 2000000);
}

/* Forty variants that differ in numbers only have one set of functions, and equal text stands once. */
static void variants_share_functions_and_text(void **state)
{
    (void)state;
    support_model s;
    support_begin(&s, task_text, NULL, "kw_");
    size_t t = support_template(&s, template_text), n = 0;
    for (int i = 0; i < 10; i++) {
        char shape[32];
        (void)snprintf(shape, sizeof shape, "R=1,C=%d", 16 * (i + 1));
        (void)support_variant(&s, t, i % 2 ? "WG=64 SPEC=true" : "WG=32 SPEC=true", shape, NULL);
    }
    strb text = support_text(&s);
    assert_null(strstr(text.data, "kw_mix_launches_1("));
    for (const char *p = strstr(text.data, "\"__kernel void mix("); p; p = strstr(p + 1, "\"__kernel void mix("))
        n++;
    assert_int_equal(n, 1);
    strb_clear(&text);
    support_end(&s);
}

/* The line that KW_LOG_MISSES gets is a line of a shapes file. */
static void misses_are_shapes(void **state)
{
    (void)state;
    support_model s;
    kw_error err = {0};
    strb line = STRB_INIT;
    task_shape *shapes = NULL;
    size_t n = 0;
    make_model(&s);
    strb text = support_text(&s);
    const char *p = strstr(text.data, "snprintf(line, sizeof line, \"");
    assert_non_null(p);
    for (p = strchr(p, '"') + 1; *p != '"'; p++) {
        if (*p == '\\')
            p++;
        if (strncmp(p, "%lld", 4) == 0) {
            strb_add(&line, "12");
            p += 3;
        } else {
            strb_add_char(&line, *p);
        }
    }
    strb_add_char(&line, '\n');
    char *folder = fs_temp_folder("kwmiss", &err);
    char *path = fs_join(folder, "misses.jsonl");
    assert_int_equal(fs_write(path, line.data, line.length, &err), KW_OK);
    if (task_shapes_load(s.task, path, &shapes, &n, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n, 1);
    assert_int_equal(shapes[0].dims[0], 12);
    assert_int_equal(shapes[0].dims[2], 12);
    assert_true(shapes[0].weight == 1);
    free(shapes);
    fs_remove_tree(folder);
    free(folder);
    free(path);
    strb_clear(&line);
    strb_clear(&text);
    support_end(&s);
}

/* ---- refusals ---- */

static void wrong_rows(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    support_row(&s, 1, "R=4,C=64", 1, 1.0f);
    support_refuses(&s, "row R=4,C=64 on pocl/skylake-avx512/amd-epyc/2: it is there twice");
    s.rows[4].dims[2] = 4096; /* a stride is no part of the key */
    support_refuses(&s, "it is there twice");
    s.rows[4].dims[1] = 63;
    support_refuses(&s, "row R=4,C=63 on pocl/skylake-avx512/amd-epyc/2: its variant cannot run it");
    s.rows[4].dims[1] = -1;
    support_refuses(&s, "a dim is negative");
    s.rows[4].dims[1] = 68;
    s.rows[4].variant = 4;
    support_refuses(&s, "its variant is not in the model");
    s.rows[4].variant = 1;
    s.rows[4].device = 2;
    support_refuses(&s, "device 2 of 2");
    s.rows[4].device = 1;
    s.rows[4].expected_regret = NAN;
    support_refuses(&s, "expected regret");
    s.rows[4].expected_regret = 1.0f;
    strb text = support_text(&s);
    strb_clear(&text);
    support_end(&s);
}

static void wrong_devices_and_variants(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    s.devices[0].key = "nvidia/h200";
    support_refuses(&s, "device key \"nvidia/h200\" is not vendor/arch/name/units");
    s.devices[0].key = s.devices[1].key;
    support_refuses(&s, "is there twice");
    s.devices[0].key = "a/b/c/1";
    s.devices[0].default_variant = 4;
    support_refuses(&s, "default variant 4 of 4");
    s.devices[0].default_variant = 0;
    s.model.default_variant = -1;
    support_refuses(&s, "default variant -1 of 4");
    s.model.default_variant = 0;
    s.model.types.of[0] = DTYPE_F16;
    support_refuses(&s, "other element types");
    s.model.types.of[0] = DTYPE_F32;
    s.variants[2]->lang = LANGUAGE_CUDA;
    support_refuses(&s, "is in cuda");
    s.variants[2]->lang = LANGUAGE_OPENCL;
    size_t n = s.model.n_variants;
    s.model.n_variants = 0;
    support_refuses(&s, "0 variants");
    s.model.n_variants = n;
    support_end(&s);
}

/* Trees that no header could ask, or that would name what cannot run. */
static void wrong_trees(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    header_node nodes[] = {{0, 1024, {~0, 1}}, {3, 1, {~1, ~2}}};
    header_leaf leaves[3] = {golden_leaves[0], golden_leaves[1], golden_leaves[2]};
    header_tree t = golden_tree;
    t.nodes = nodes;
    t.leaves = leaves;
    s.devices[0].tree = &t;
    t.n_leaves = 0;
    support_refuses(&s, "the tree of device nvidia/sm_90/h200/132: it has no leaf");
    t.n_leaves = HEADER_TREE_LEAVES + 1;
    support_refuses(&s, "more than a header takes");
    t.n_leaves = 3;
    nodes[0].feature = 6;
    support_refuses(&s, "a feature that the task does not have");
    nodes[0].feature = -1;
    support_refuses(&s, "a feature that the task does not have");
    nodes[0].feature = 0;
    nodes[0].next[1] = 0; /* itself */
    support_refuses(&s, "do not make up a tree");
    nodes[0].next[1] = 2;
    support_refuses(&s, "do not make up a tree");
    nodes[0].next[1] = ~2; /* twice */
    support_refuses(&s, "do not make up a tree");
    nodes[0].next[1] = ~3;
    support_refuses(&s, "do not make up a tree");
    nodes[0].next[1] = 1;
    t.n_leaves = 2;
    support_refuses(&s, "do not make up a tree");
    t.n_leaves = 3;
    leaves[1].variants[0] = 4;
    support_refuses(&s, "a variant that is not in the model");
    leaves[1].variants[0] = 3;
    support_refuses(&s, "a variant that is made for one shape");
    leaves[1].variants[0] = 0;
    leaves[1].expected_regret[0] = NAN;
    support_refuses(&s, "not a number of at least 0");
    leaves[1].expected_regret[0] = 1;
    uint16_t cells[6] = {0, 1, 2, 0, 1, 2};
    header_grid g = {.shift = 8, .n = {2, 3}, .leaf = cells};
    t.grid = &g;
    support_refuses(&s, "it has nodes and a grid");
    t.n_nodes = 0;
    cells[5] = 3;
    support_refuses(&s, "a cell names a leaf that it does not have");
    cells[5] = 2;
    g.shift = 3;
    support_refuses(&s, "wider or narrower than a header takes");
    g.shift = 8;
    g.n[1] = HEADER_GRID_CELLS;
    support_refuses(&s, "it has no cell, or more than a header takes");
    g.n[1] = 0;
    support_refuses(&s, "it has no cell, or more than a header takes");
    support_end(&s);
}

static void wrong_names(void **state)
{
    (void)state;
    support_model s;
    make_model(&s);
    s.model.prefix = "9_";
    support_refuses(&s, "prefix \"9_\" makes no C name");
    s.model.prefix = "kw-";
    support_refuses(&s, "makes no C name");
    support_end(&s);
    /* kw_launch is a type of the shared part; with another prefix the task is welcome. */
    support_begin(&s,
                  "{\"task\": \"launch\", \"dims\": {\"N\": {\"min\": 1}}, \"types\": {\"T\": [\"f32\"]}, \"tensors\": "
                  "[{\"name\": \"y\", \"type\": \"T\", \"shape\": [\"N\"], \"access\": \"out\"}], \"scalars\": []}",
                  NULL, "kw_");
    (void)support_variant(
        &s,
        support_template(&s, "/*kernwright {\"task\": \"launch\", \"language\": \"opencl\", \"params\": {},\n"
                             "\"launches\": [{\"kernel\": \"zero\", \"args\": [\"N\", \"y\"], \"local\": [1], "
                             "\"groups\": [\"N\"]}]} */\n"
                             "__kernel void zero(int N, __global float *y)\n{\n    y[get_global_id(0)] = 0;\n}\n"),
        "", NULL, NULL);
    support_refuses(&s, "names that begin with \"kw_launch_\" belong to the shared part");
    s.model.prefix = "my_";
    strb text = support_text(&s);
    strb_clear(&text);
    support_end(&s);
}

/* The size of the workspace is asked for before the scalars are known, and without a device. */
static void temporaries_that_cannot_be_known(void **state)
{
    static const char *const elements[] = {"N * device.compute_units", "N if a > 1 else 2 * N", "N / 2.5"};
    static const char *const expected[] = {"device.compute_units cannot be known here", "cannot be known here",
                                           "N / 2.5"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        support_model s;
        kw_error err = {0};
        strb text = STRB_INIT;
        template *t = NULL;
        strb_printf(
            &text,
            "/*kernwright {\"task\": \"saxpy\", \"language\": \"opencl\", \"params\": {},\n"
            "\"temps\": [{\"name\": \"t\", \"type\": \"f32\", \"elements\": \"%s\"}],\n"
            "\"launches\": [{\"kernel\": \"k\", \"args\": [\"N\", \"a\", \"x\", \"y\", \"t\"], \"local\": [1], "
            "\"groups\": [\"N\"]}]} */\n"
            "__kernel void k(int N, float a, __global const float *x, __global float *y, __global float *t)\n{\n}\n",
            elements[i]);
        support_begin(&s, "saxpy", NULL, "kw_");
        if (template_parse(text.data, text.length, "t.cl", s.task, &t, &err) == KW_OK) {
            template_free(t);
            (void)support_variant(&s, support_template(&s, text.data), "", NULL, NULL);
            support_refuses(&s, expected[i]);
        } else {
            assert_non_null(strstr(err.message, "t.cl")); /* the template reader has refused it already */
        }
        strb_clear(&text);
        support_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_text),
        cmocka_unit_test(shared_part_has_a_version),
        cmocka_unit_test(order_of_rows_does_not_matter),
        cmocka_unit_test(prefix_is_everywhere),
        cmocka_unit_test(large_tables_stay_small),
        cmocka_unit_test(variants_share_functions_and_text),
        cmocka_unit_test(misses_are_shapes),
        cmocka_unit_test(wrong_rows),
        cmocka_unit_test(wrong_devices_and_variants),
        cmocka_unit_test(wrong_trees),
        cmocka_unit_test(wrong_names),
        cmocka_unit_test(temporaries_that_cannot_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
