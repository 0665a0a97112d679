/* Holds emitted headers to the library: for many shapes and devices, what the header's C code says of a variant
 * (does it fit, what would be launched) is compared with variant_fits and plan_make. The header is compiled without
 * OpenCL. Also: every row of a large table is found, and nothing else. $KERNWRIGHT_TEST_SEED picks other shapes. */
#include "tests/support_header.h"

#include "base/counter_rng.h"
#include "base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SHAPES = 120, N_LIMITS = 3 };

static const device_limits all_limits[N_LIMITS] = {
    {1024, {1024, 1024, 64}, 49152, INT64_C(1) << 34, INT64_C(1) << 36, 132, 32, 1 << 20, 0, 1, 1, 1},
    {256, {256, 64, 16}, 8192, INT64_C(1) << 30, INT64_C(1) << 31, 4, 8, 0, 1, 0, 0, 1},
    {64, {64, 1, 1}, 1024, INT64_C(1) << 20, INT64_C(1) << 20, 1, 1, 0, 1, 0, 0, 0},
};

static uint64_t counter;

static uint64_t draw(uint64_t below)
{
    const char *seed = getenv("KERNWRIGHT_TEST_SEED");
    return counter_rng_u64(seed ? strtoull(seed, NULL, 10) : 1, 2, counter++) % below;
}

/* Small, round, prime, zero, and at the edge of what an int holds. */
static int64_t draw_dim(int64_t min, int64_t max)
{
    int64_t x = 0;
    switch (draw(8)) {
    case 0:
        x = 0;
        break;
    case 1:
        x = (int64_t)draw(8);
        break;
    case 2:
        x = (int64_t)draw(300);
        break;
    case 3:
        x = (int64_t)draw(64) * 64;
        break;
    case 4:
        x = (int64_t)draw(5000);
        break;
    case 5:
        x = INT64_C(1) << draw(31);
        break;
    case 6:
        x = INT32_MAX - (int64_t)draw(3);
        break;
    default:
        x = (int64_t)draw(100000);
        break;
    }
    if (x != 0 && x < min)
        x = min;
    return x > max ? max : x;
}

/* ---- what the library says ---- */

static void print_number(strb *out, dtype type, double x)
{
    unsigned char bytes[8];
    dtype_store(type, bytes, 0, x);
    strb_add(out, " b");
    for (size_t i = 0; i < dtype_bytes(type); i++)
        strb_printf(out, "%02x", bytes[i]);
}

static void print_arg(const plan_arg *a, strb *out)
{
    switch (a->kind) {
    case ARG_TENSOR:
        strb_printf(out, " t%d", a->index);
        break;
    case ARG_TEMP:
        strb_printf(out, " w%d", a->index);
        break;
    case ARG_LOCAL:
        strb_printf(out, " l%" PRId64, a->integer);
        break;
    case ARG_SCALAR:
        print_number(out, a->type, a->real);
        break;
    case ARG_VALUE:
        print_number(out, a->type, dtype_is_float(a->type) ? a->real : (double)a->integer);
        break;
    }
}

/* One line: "fits" or not, temporaries, launches. */
static void print_expected(const variant *v, const task_shape *s, const double *scalars, const device_limits *limits,
                           strb *out)
{
    static plan p;
    if (!variant_fits(v, s, limits, NULL) || plan_make(v, s, scalars, limits, &p, NULL) != KW_OK) {
        strb_add(out, "no\n");
        return;
    }
    strb_add(out, "yes");
    for (size_t i = 0; i < TEMPLATE_MAX_TEMPS; i++)
        strb_printf(out, " %" PRIu64, i < p.n_temps ? p.temp_bytes[i] : 0);
    for (size_t i = 0; i < p.n_launches; i++) {
        const plan_launch *l = &p.launches[i];
        strb_printf(out, "; %s %zu", l->kernel, l->rank);
        for (size_t k = 0; k < 3; k++)
            strb_printf(out, " %" PRIu64 "x%" PRIu64, l->local[k], l->groups[k]);
        for (size_t k = 0; k < l->n_args; k++)
            print_arg(&l->args[k], out);
    }
    strb_add_char(out, '\n');
}

/* ---- what the header says ---- */

static const char driver_head[] =
    "#define KW_NO_LAUNCH\n"
    "static int forced = -1;\n"
    "#define %s_FORCE_VARIANT forced\n"
    "#include \"header.h\"\n"
    "#include <inttypes.h>\n"
    "static void print_plan(const kw_plan *p)\n{\n    int i, k;\n    size_t b;\n    printf(\"yes\");\n"
    "    for (i = 0; i < KW_MAX_TEMPS; i++)\n        printf(\" %%\" PRIu64, p->temp_bytes[i]);\n"
    "    for (i = 0; i < p->n_launches; i++) {\n        const kw_launch *l = &p->launches[i];\n"
    "        printf(\"; %%s %%u\", l->kernel, l->rank);\n"
    "        for (k = 0; k < 3; k++)\n            printf(\" %%zux%%zu\", l->local[k], l->groups[k]);\n"
    "        for (k = 0; k < l->n_args; k++) {\n            const kw_arg *a = &l->args[k];\n"
    "            if (a->kind == KW_ARG_TENSOR || a->kind == KW_ARG_TEMP) {\n"
    "                printf(\" %%c%%d\", a->kind == KW_ARG_TENSOR ? 't' : 'w', a->index);\n"
    "            } else if (a->kind == KW_ARG_LOCAL) {\n                printf(\" l%%zu\", a->size);\n"
    "            } else {\n                printf(\" b\");\n"
    "                for (b = 0; b < a->size; b++)\n                    printf(\"%%02x\", a->bytes[b]);\n            "
    "}\n"
    "        }\n    }\n    printf(\"\\n\");\n}\n";

/* Does every entry of a shape's table on every device and variant. */
static void write_driver(const support_model *s, const task_shape *shapes, const double *scalars, strb *out)
{
    const task *t = s->task;
    strb up = STRB_INIT;
    strb_printf(&up, "KW_%s", t->name);
    for (size_t i = 0; i < up.length; i++)
        if (up.data[i] >= 'a' && up.data[i] <= 'z')
            up.data[i] = (char)(up.data[i] - 'a' + 'A');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    strb_printf(out, driver_head, strb_text(&up));
#pragma GCC diagnostic pop
    strb_clear(&up);
    strb_printf(out, "static const kw_%s_shape shapes[] = {\n", t->name);
    for (size_t i = 0; i < N_SHAPES; i++) {
        strb_add(out, "    {");
        for (size_t k = 0; k < t->n_dims; k++)
            strb_printf(out, "%sINT64_C(%" PRId64 ")", k > 0 ? ", " : "", shapes[i].dims[k]);
        strb_add(out, "},\n");
    }
    strb_add(out, "};\nstatic const kw_limits limits[] = {\n");
    for (size_t i = 0; i < N_LIMITS; i++) {
        strb_add(out, "    {");
        for (size_t k = 0; k < limits_count(); k++)
            strb_printf(out, "%sINT64_C(%" PRId64 ")", k > 0 ? ", " : "", limits_value(&all_limits[i], k));
        strb_add(out, "},\n");
    }
    strb_printf(out,
                "};\nint main(void)\n{\n    static kw_plan plan;\n    size_t i, k;\n"
                "    for (k = 0; k < sizeof limits / sizeof *limits; k++)\n"
                "        for (i = 0; i < sizeof shapes / sizeof *shapes; i++)\n"
                "            for (forced = 0; forced < kw_%s_variant_count(); forced++) {\n"
                "                kw_device d;\n                (void)kw_device_from_key(&d, \"a/b/c/1\", &limits[k]);\n"
                "                if (kw_%s_select(&d, &shapes[i]).layer == KW_LAYER_FORCED && kw_%s_plan(forced, &d, "
                "&shapes[i], ",
                t->name, t->name, t->name);
    for (size_t i = 0; i < t->n_scalars; i++)
        strb_printf(out, "%g, ", scalars[i]);
    strb_add(out, "&plan))\n                    print_plan(&plan);\n                else\n"
                  "                    printf(\"no\\n\");\n            }\n    return 0;\n}\n");
}

/* Compiles the driver and returns what it prints. */
static void run_driver(const char *folder, strb *out)
{
    const char *cc = getenv("CC");
    char command[2048], buffer[65536];
    size_t n;
    (void)snprintf(command, sizeof command,
                   "%s -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -o %s/driver %s/driver.c",
                   cc ? cc : "gcc", folder, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(command, sizeof command, "%s/driver", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((n = fread(buffer, 1, sizeof buffer, pipe)) > 0)
        strb_add_n(out, buffer, n);
    assert_int_equal(pclose(pipe), 0);
}

static void fill_defaults(const task *t, task_shape *s)
{
    kw_error err = {0};
    strb text = STRB_INIT;
    for (size_t i = 0; i < t->n_dims; i++)
        if (!t->dims[i].fallback || s->dims[i] != 0)
            strb_printf(&text, "%s%s=%" PRId64, text.length > 0 ? "," : "", t->dims[i].name, s->dims[i]);
    task_shape full;
    if (task_shape_parse(t, strb_text(&text), &full, &err) == KW_OK)
        *s = full;
    strb_clear(&text);
}

static void compare(support_model *s, const double *scalars)
{
    static task_shape shapes[N_SHAPES];
    kw_error err = {0};
    char *folder = fs_temp_folder("kwheader", &err);
    assert_non_null(folder);
    strb expected = STRB_INIT, got = STRB_INIT, driver = STRB_INIT;
    for (size_t i = 0; i < N_SHAPES; i++)
        for (size_t k = 0; k < s->task->n_dims; k++)
            shapes[i].dims[k] =
                s->task->dims[k].fallback && draw(2) ? 0 : draw_dim(s->task->dims[k].min, s->task->dims[k].max);
    support_write(s, folder, "header.h");
    write_driver(s, shapes, scalars, &driver);
    char *path = fs_join(folder, "driver.c");
    assert_int_equal(fs_write(path, driver.data, driver.length, &err), KW_OK);
    run_driver(folder, &got);
    size_t fitting = 0;
    for (size_t k = 0; k < N_LIMITS; k++)
        for (size_t i = 0; i < N_SHAPES; i++)
            for (size_t v = 0; v < s->model.n_variants; v++) {
                task_shape full = shapes[i];
                size_t before = expected.length;
                fill_defaults(s->task, &full);
                print_expected(s->variants[v], &full, scalars, &all_limits[k], &expected);
                fitting += expected.data[before] == 'y';
                if (strncmp(got.data + before, expected.data + before, expected.length - before) != 0)
                    fail_msg("shape %zu, limits %zu, %s: expected %s", i, k, s->variants[v]->template_name,
                             expected.data + before);
            }
    assert_string_equal(got.data, expected.data);
    assert_true(fitting > N_SHAPES / 4);
    strb_clear(&expected);
    strb_clear(&got);
    strb_clear(&driver);
    fs_remove_tree(folder);
    free(folder);
    free(path);
}

/* ---- tasks ---- */

static void gemm(void **state)
{
    (void)state;
    support_model s;
    support_begin(&s, "gemm", NULL, "kw_");
    size_t naive = support_template(&s, "templates/gemm_naive.cl"),
           tiled = support_template(&s, "templates/gemm_tiled.cl");
    s.model.default_variant = support_variant(&s, naive, "LX=1 LY=1", NULL, NULL);
    (void)support_variant(&s, naive, "LX=32 LY=8", NULL, NULL);
    (void)support_variant(&s, tiled, "", NULL, NULL);
    (void)support_variant(&s, tiled, "TM=128 TN=64 TK=32 RM=8 RN=8 VGA=4 VGB=4 BOUNDS=false", NULL, NULL);
    (void)support_variant(&s, tiled, "TM=32 TN=32 RM=2 RN=2 SPLITK=8", NULL, NULL);
    (void)support_variant(&s, tiled, "SPEC=true", "M=64,N=64,K=64", NULL);
    const double scalars[] = {0.5, -2};
    compare(&s, scalars);
    support_end(&s);
}

static void one_task(const char *name, const char *first, const char *second, const double *scalars)
{
    support_model s;
    support_begin(&s, name, NULL, "kw_");
    s.model.default_variant = support_variant(&s, support_template(&s, first), "", NULL, NULL);
    (void)support_variant(&s, support_template(&s, second), "", NULL, NULL);
    compare(&s, scalars);
    support_end(&s);
}

static void other_tasks(void **state)
{
    const double scalars[] = {-1.25};
    (void)state;
    one_task("saxpy", "templates/saxpy_naive.cl", "templates/saxpy_vec.cl", scalars);
    one_task("reduce_sum", "templates/reduce_sum_naive.cl", "templates/reduce_sum_vec.cl", NULL);
    one_task("softmax", "templates/softmax_naive.cl", "templates/softmax_row.cl", NULL);
    one_task("transpose", "templates/transpose_naive.cl", "templates/transpose_tiled.cl", NULL);
    one_task("scan", "templates/scan_naive.cl", "templates/scan_naive.cl", NULL);
    one_task("argmax", "templates/argmax_naive.cl", "templates/argmax_naive.cl", NULL);
}

/* Everything that the built-in tasks leave out: strides, device facts in geometry, scalars in conditions and arguments,
 * every argument type, global sizes that may not divide, local memory, temporaries under conditions, overflow. */
static void everything(void **state)
{
    static const char task_text[] =
        "{\"task\": \"all\", \"index\": \"i64\", \"dims\": {\"N\": {\"min\": 1}, \"P\": {\"min\": 0, \"max\": 65536}, "
        "\"ld\": {\"default\": \"2 * N + P\", \"key\": false}}, \"types\": {\"T\": [\"f32\"]},\n"
        "\"tensors\": [{\"name\": \"x\", \"type\": \"T\", \"shape\": [\"N\", \"P\"], \"strides\": [\"ld\", \"1\"], "
        "\"access\": \"in\"},\n"
        "{\"name\": \"y\", \"type\": \"T\", \"shape\": [\"N * 2\"], \"access\": \"out\"}],\n"
        "\"scalars\": [{\"name\": \"a\", \"type\": \"f32\", \"values\": [2]}, {\"name\": \"n\", \"type\": \"i16\", "
        "\"values\": [3]}, "
        "{\"name\": \"r\", \"type\": \"f64\", \"values\": [0.25]}]}";
    static const char template_text[] =
        "/*kernwright {\"task\": \"all\", \"language\": \"opencl\", \"index\": \"i64\", \"params\": {\"W\": "
        "{\"values\": [8, 24]}},\n"
        "\"constraints\": [\"device.compute_units * 8 >= W or device.is_gpu\", \"W / 16 <= device.max_local_x / "
        "64\"],\n"
        "\"requires\": [\"N * N * P * 4096 >= 0\", \"P % 3 != 1\", \"ld >= N\", \"N // 3 * 3 <= N <= 10**12\", \"N * "
        "1.5e-07 < 1e+30\"],\n"
        "\"temps\": [{\"name\": \"p\", \"type\": \"f64\", \"elements\": \"N * P\"}, {\"name\": \"q\", \"type\": "
        "\"i8\", \"elements\": \"P\", \"when\": \"P % 2 == 0\"}],\n"
        "\"launches\": [\n"
        "{\"kernel\": \"one\", \"args\": [\"x\", \"p\", {\"local\": \"W * 4 * max(1, P // 64)\"}, {\"expr\": \"P\", "
        "\"type\": \"u16\"}, {\"expr\": \"N - P\", \"type\": \"i64\"}],\n"
        "\"local\": [\"W\"], \"groups\": [\"min(ceil_div(N, W), 4 * device.compute_units)\", \"P\", 2]},\n"
        "{\"kernel\": \"two\", \"args\": [\"n\", \"r\", \"a\", \"q\", {\"expr\": \"a * N / 3\", \"type\": \"f32\"}, "
        "{\"expr\": \"r + n\", \"type\": \"f64\"}],\n"
        "\"when\": \"P % 2 == 0 and P > 0\", \"local\": [\"min(W, P)\", 1], \"groups\": [\"abs(N - P)\", \"P if n > 2 "
        "else 1\"]},\n"
        "{\"kernel\": \"three\", \"args\": [{\"expr\": \"P // 2\", \"type\": \"u8\"}, {\"expr\": \"n - 100\", "
        "\"type\": \"i8\"}, {\"value\": 7, \"type\": \"u64\"}, \"y\"],\n"
        "\"when\": \"a > 1.5 and P < 512\", \"local\": [4], \"groups\": [\"(N + P) / 2\"]}]} */\n"
        "__kernel void one(__global const float *x, __global double *p, __local float *w, ushort a, long b)\n{\n}\n"
        "__kernel void two(short n, double r, float a, __global char *q, float b, double c)\n{\n}\n"
        "__kernel void three(uchar a, char b, ulong c, __global float *y)\n{\n}\n";
    (void)state;
    for (int i = 0; i < 2; i++) {
        const double scalars[] = {1.25 + i, 2 + i, 0.375};
        support_model s;
        support_begin(&s, task_text, NULL, "kw_");
        size_t t = support_template(&s, template_text);
        (void)support_variant(&s, t, "", NULL, NULL);
        (void)support_variant(&s, t, "W=24", NULL, NULL);
        compare(&s, scalars);
        support_end(&s);
    }
}

/* ---- a large table ---- */

static const char table_driver[] =
    "#define KW_NO_LAUNCH\n#include \"header.h\"\n"
    "int main(void)\n{\n    size_t i, n = sizeof kw_gemm_rows / sizeof *kw_gemm_rows;\n    int wrong = 0;\n"
    "    char key[64];\n    kw_device d;\n    for (i = 0; i < n; i++) {\n"
    "        const kw_gemm_row *r = &kw_gemm_rows[i];\n        kw_gemm_shape s = {r->M, r->N, r->K};\n        "
    "kw_gemm_choice c;\n"
    "        (void)snprintf(key, sizeof key, \"v%d/a/d%d/%d\", r->of_device % 3, r->of_device, r->of_device + 1);\n"
    "        wrong += kw_device_from_key(&d, key, NULL) != KW_SUCCESS;\n"
    "        c = kw_gemm_select(&d, &s);\n"
    "        wrong += c.variant != (int)r->runs || c.layer != KW_LAYER_EXACT || c.device_match != KW_MATCH_EXACT;\n"
    "        s.K += 100000;\n        c = kw_gemm_select(&d, &s);\n        wrong += c.layer != KW_LAYER_DEFAULT;\n    "
    "}\n"
    "    printf(\"%d rows, %d wrong\\n\", (int)n, wrong);\n    return 0;\n}\n";

static void large_table(void **state)
{
    static char keys[20][64];
    (void)state;
    kw_error err = {0};
    support_model s;
    char *folder = fs_temp_folder("kwheader", &err);
    support_begin(&s, "gemm", NULL, "kw_");
    size_t naive = support_template(&s, "templates/gemm_naive.cl");
    (void)support_variant(&s, naive, "", NULL, NULL);
    (void)support_variant(&s, naive, "LX=8", NULL, NULL);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "v%d/a/d%d/%d", i % 3, i, i + 1);
        (void)support_device(&s, keys[i], NULL, -1);
    }
    for (int i = 0; i < 10000; i++) {
        const int64_t dims[TASK_MAX_DIMS] = {1 + (int64_t)draw(70000), 1 + (int64_t)draw(4096), 1 + i / 20};
        support_row_dims(&s, i % 20, dims, i % 2, 1.0f);
    }
    support_write(&s, folder, "header.h");
    char *path = fs_join(folder, "driver.c");
    assert_int_equal(fs_write(path, table_driver, strlen(table_driver), &err), KW_OK);
    strb got = STRB_INIT;
    run_driver(folder, &got);
    assert_string_equal(strb_text(&got), "10000 rows, 0 wrong\n");
    strb_clear(&got);
    support_end(&s);
    fs_remove_tree(folder);
    free(folder);
    free(path);
}

/* ---- a row whose variant asks for more than this device of the key has ---- */

static const char limits_driver[] =
    "#define KW_NO_LAUNCH\n#include \"header.h\"\n"
    "int main(void)\n{\n    kw_device d;\n    kw_gemm_shape s = {64, 64, 64};\n"
    "    (void)kw_device_from_key(&d, \"v/a/d/1\", NULL);\n"
    "    printf(\"%s, \", kw_layer_text(kw_gemm_select(&d, &s).layer));\n"
    "    d.limits.max_alloc_bytes = 64 * 64 * 4 - 1;\n"
    "    printf(\"%s\\n\", kw_layer_text(kw_gemm_select(&d, &s).layer));\n    return 0;\n}\n";

static void rows_ask_the_device(void **state)
{
    (void)state;
    kw_error err = {0};
    support_model s;
    char *folder = fs_temp_folder("kwheader", &err);
    support_begin(&s, "gemm", NULL, "kw_");
    size_t naive = support_template(&s, "templates/gemm_naive.cl");
    size_t large = support_template(
        &s, "/*kernwright {\"task\": \"gemm\", \"requires\": [\"M * N * sizeof(T) <= device.max_alloc_bytes\"], "
            "\"launches\": [{\"kernel\": \"k\", \"args\": [\"C\"], \"local\": [1], \"groups\": [1]}]} */\n"
            "kernel void k(global float *C)\n{\n}\n");
    (void)support_variant(&s, naive, "", NULL, NULL);
    int device = support_device(&s, "v/a/d/1", NULL, -1);
    support_row(&s, device, "M=64,N=64,K=64", support_variant(&s, large, "", NULL, NULL), 1);
    support_write(&s, folder, "header.h");
    char *path = fs_join(folder, "driver.c");
    assert_int_equal(fs_write(path, limits_driver, strlen(limits_driver), &err), KW_OK);
    strb got = STRB_INIT;
    run_driver(folder, &got);
    assert_string_equal(strb_text(&got), "exact, default\n");
    strb_clear(&got);
    support_end(&s);
    fs_remove_tree(folder);
    free(folder);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),        cmocka_unit_test(other_tasks),         cmocka_unit_test(everything),
        cmocka_unit_test(large_table), cmocka_unit_test(rows_ask_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
