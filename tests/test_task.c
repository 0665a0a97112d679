#include "codegen/task.h"

#include "base/fs.h"
#include "codegen/references.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD \
    "{\"task\": \"demo\", \"dims\": {\"M\": {\"min\": 1}, \"K\": {\"min\": 0}, \"lda\": {\"default\": \"K\", " \
    "\"key\": false}},\n"
#define TENSORS \
    "\"types\": {\"T\": [\"f32\", \"f16\"], \"ACC\": \"f32\"},\n" \
    "\"tensors\": [{\"name\": \"A\", \"type\": \"T\", \"shape\": [\"M\", \"K\"], \"strides\": [\"lda\", 1]},\n" \
    "{\"name\": \"y\", \"type\": \"ACC\", \"shape\": [\"M\"], \"access\": \"out\"}],\n" \
    "\"scalars\": [{\"name\": \"alpha\", \"type\": \"f32\", \"values\": [1, 0.5]}]"
#define GOOD HEAD TENSORS ", \"flops\": \"2*M*K\", \"bytes\": \"sizeof(T)*M*K + (4*M if alpha != 1 else 0)\"}"

/* A task in a folder of its own; the caller removes *folder. */
static kw_code load_text(const char *text, task **t, char **folder, kw_error *err)
{
    *folder = fs_temp_folder("kw-task", NULL);
    char *path = fs_join(*folder, "task.json");
    assert_int_equal(fs_write(path, text, strlen(text), NULL), KW_OK);
    memset(err, 0, sizeof *err);
    kw_code code = task_load(*folder, t, err);
    free(path);
    return code;
}

static task *good(const char *text)
{
    task *t = NULL;
    char *folder;
    kw_error err;
    if (load_text(text, &t, &folder, &err) != KW_OK)
        fail_msg("%s", err.message);
    fs_remove_tree(folder);
    free(folder);
    return t;
}

/* Refused with a message that contains `part`. */
static void refused(const char *text, const char *part)
{
    task *t = NULL;
    char *folder;
    kw_error err;
    assert_int_equal(load_text(text, &t, &folder, &err), KW_BAD_INPUT);
    if (strstr(err.message, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, err.message);
    assert_null(strchr(err.message, '\n'));
    fs_remove_tree(folder);
    free(folder);
}

static void reads_a_task(void **state)
{
    (void)state;
    task *t = good(GOOD);
    assert_string_equal(t->name, "demo");
    assert_int_equal(t->n_dims, 3);
    assert_false(t->dims[2].is_key);
    assert_int_equal(t->dims[0].max, INT32_MAX);
    assert_int_equal(t->n_tensors, 2);
    assert_int_equal(t->tensors[0].access, TASK_IN);
    assert_int_equal(t->tensors[1].access, TASK_OUT);
    assert_int_equal(expr_scope_find(t->scope, "T"), t->first_type_slot);
    assert_int_equal(expr_scope_find(t->scope, "M"), t->first_dim_slot);
    assert_int_equal(expr_scope_find(t->scope, "alpha"), t->first_scalar_slot);
    assert_true(expr_scope_find(t->scope, "device.local_mem_bytes") >= t->first_device_slot);
    task_free(t);
}

static void refuses_bad_tasks(void **state)
{
    (void)state;
    refused("{\"task\": \"demo\"} x", "task.json:1:18");
    refused("{\"task\": \"demo\"}", "at least one dim");
    refused(HEAD "\"tensorz\": []}", "task.json:2:12: tensorz: unknown key; did you mean \"tensors\"?");
    refused(HEAD "\"tensors\": []}", "\"access\": \"out\"");
    refused(HEAD "\"types\": {\"T\": [\"f33\"]}}", "types.T");
    refused(HEAD "\"types\": {\"M\": \"f32\"}}", "used twice");
    refused(HEAD "\"types\": {\"vec\": \"f32\"}}", "cannot be a name");
    refused(HEAD "\"tensors\": [{\"name\": \"A\", \"type\": \"f32\", \"shape\": [\"MM\"], \"access\": \"out\"}]}",
            "task.json:2:");
    refused(HEAD "\"tensors\": [{\"name\": \"A\", \"type\": \"Q\", \"shape\": [\"M\"], \"access\": \"out\"}]}",
            "type \"Q\"");
    refused(HEAD "\"tensors\": [{\"name\": \"A\", \"type\": \"f32\", \"shape\": [\"device.compute_units\"]}]}",
            "device.compute_units is a device fact");
    refused(HEAD "\"tensors\": [{\"name\": \"A\", \"type\": \"f32\", \"shape\": [\"M\"], \"strides\": [1, 1]}]}",
            "1 sizes but 2 strides");
    refused(HEAD "\"tensors\": [{\"name\": \"A\", \"type\": \"f32\", \"shape\": [\"M\"], \"access\": \"write\"}]}",
            "must be one of \"in\", \"out\", \"inout\"");
    refused("{\"task\": \"demo\", \"dims\": {\"M\": {\"default\": \"K\"}, \"K\": {\"default\": \"M\"}}}",
            "dims above it");
    refused("{\"task\": \"demo\", \"types\": {\"T\": \"f32\"}, \"dims\": {\"M\": {\"default\": \"sizeof(T)\"}}}",
            "T is a type, which cannot be used here");
    refused("{\"task\": \"demo\", \"dims\": {\"M\": {\"min\": 5, \"max\": 4}}}", "0 <= min <= max");
    refused(HEAD TENSORS ", \"reference\": \"nobody_reference\"}", "is not a built-in reference");
    refused(HEAD TENSORS ", \"flops\": \"2*M*L\"}", "L");
}

static void finds_a_users_reference(void **state)
{
    (void)state;
    char *folder = fs_temp_folder("kw-task", NULL);
    char *json_path = fs_join(folder, "task.json"), *c_path = fs_join(folder, "reference.c");
    const char *text = HEAD TENSORS ", \"reference\": \"demo_reference\"}", *source = "int x;\n";
    kw_error err = {0};
    task *t = NULL, *changed = NULL, *sent = NULL;
    assert_int_equal(fs_write(json_path, text, strlen(text), NULL), KW_OK);
    assert_int_equal(fs_write(c_path, source, strlen(source), NULL), KW_OK);
    assert_int_equal(task_load(json_path, &t, &err), KW_OK);
    assert_string_equal(t->reference_source, source);
    assert_int_equal(fs_write(c_path, "int y;\n", 7, NULL), KW_OK);
    assert_int_equal(task_load(folder, &changed, &err), KW_OK);
    assert_string_not_equal(t->hash, changed->hash);

    json *wire = task_to_json(t);
    assert_int_equal(task_from_json(wire, "worker", &sent, &err), KW_OK);
    assert_string_equal(sent->reference_source, source);
    assert_string_equal(sent->hash, t->hash);
    assert_string_equal(sent->folder, "");
    json_free(wire);
    task_free(sent);
    task_free(changed);
    task_free(t);
    fs_remove_tree(folder);
    free(json_path);
    free(c_path);
    free(folder);
}

static void hash_ignores_what_does_not_decide_numbers(void **state)
{
    (void)state;
    task *a = good(GOOD), *b = good(HEAD TENSORS ", \"doc\": \"other\", \"shapes\": \"s.json\", \"cpu_shapes\": "
                                                 "\"c.json\"}");
    task *c = good(HEAD TENSORS ", \"error\": {\"reduction_length\": \"K\"}}");
    char *more = mem_strdup(GOOD), *f16 = strstr(more, "f16");
    f16[1] = '6';
    f16[2] = '4';
    task *d = good(more);
    assert_string_equal(a->hash, d->hash); /* a measurement names its types */
    task_free(d);
    free(more);
    assert_string_equal(a->hash, b->hash);
    assert_string_not_equal(a->hash, c->hash);
    assert_non_null(strstr(b->shapes_file, "/s.json"));
    assert_non_null(strstr(b->cpu_shapes_file, "/c.json"));
    json *wire = task_to_json(b); /* files are of this machine */
    assert_null(json_get(wire, "shapes"));
    assert_null(json_get(wire, "cpu_shapes"));
    assert_string_equal(json_text(json_get(wire, "doc")), "other");
    json_free(wire);
    task_free(a);
    task_free(b);
    task_free(c);
}

static void chooses_types(void **state)
{
    (void)state;
    task *t = good(GOOD);
    task_types types;
    kw_error err = {0};
    strb text = STRB_INIT;
    assert_int_equal(task_types_parse(t, NULL, &types, &err), KW_OK);
    assert_int_equal(types.of[0], DTYPE_F32);
    assert_int_equal(task_types_parse(t, "f16", &types, &err), KW_OK);
    task_types_print(t, &types, &text);
    assert_string_equal(strb_text(&text), "T=f16,ACC=f32");
    assert_int_equal(task_tensor_type(t, &types, 0), DTYPE_F16);
    assert_int_equal(task_tensor_type(t, &types, 1), DTYPE_F32);
    assert_true(task_error_floor(t, &types, 0) == 0x1p-14);
    assert_int_equal(task_types_parse(t, "T=f16,ACC=f64", &types, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "type ACC cannot be f64; allowed: f32"));
    assert_int_equal(task_types_parse(t, "ACCC=f32", &types, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "did you mean ACC?"));
    strb_clear(&text);
    task_free(t);
}

static void shape_fails(const task *t, const char *text, const char *part)
{
    task_shape s;
    kw_error err = {0};
    assert_int_equal(task_shape_parse(t, text, &s, &err), KW_BAD_INPUT);
    if (strstr(err.message, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, err.message);
}

static void reads_shapes(void **state)
{
    (void)state;
    task *t = good(GOOD);
    task_shape s, back;
    kw_error err = {0};
    strb text = STRB_INIT;
    assert_int_equal(task_shape_parse(t, "K=64,M=32", &s, &err), KW_OK);
    assert_int_equal(s.dims[0], 32);
    assert_int_equal(s.dims[2], 64); /* lda from its default */
    task_shape_print(t, &s, &text);
    assert_string_equal(strb_text(&text), "M=32,K=64");
    assert_int_equal(task_shape_parse(t, "M=32,K=64,lda=80", &s, &err), KW_OK);
    json *j = task_shape_to_json(t, &s);
    assert_int_equal(json_count(j), 3);
    assert_int_equal(task_shape_from_json(t, j, "x", &back, &err), KW_OK);
    assert_memory_equal(s.dims, back.dims, 3 * sizeof *s.dims);
    json_free(j);
    strb_clear(&text);
    shape_fails(t, "M=32", "dim K is not given");
    shape_fails(t, "M=0,K=1", "M=0 is outside the task's range 1 to 2147483647");
    shape_fails(t, "M=1,K=1,M=2", "given twice");
    shape_fails(t, "M=1,K=1,ldb=2", "no dim ldb, did you mean lda; its dims are M, K, lda");
    shape_fails(t, "M=1,K=1x", "not an integer");
    shape_fails(t, "M=1,K", "expected NAME=NUMBER");
    shape_fails(t, "M=99999999999999999999,K=1", "not an integer");
    task_free(t);
}

static void loads_files_of_shapes(void **state)
{
    (void)state;
    task *t = good(GOOD);
    char *folder = fs_temp_folder("kw-task", NULL), *path = fs_join(folder, "shapes.json");
    const char *lines =
        "{\"M\":1,\"K\":2,\"T\":\"f32\",\"count\":3}\n\n{\"M\":5,\"K\":0}\n{\"M\":1,\"K\":2}\n[{\"M\":5,\"K\":0}]\n";
    task_shape *shapes;
    size_t n;
    kw_error err = {0};
    assert_int_equal(fs_write(path, lines, strlen(lines), NULL), KW_OK);
    if (task_shapes_load(t, path, &shapes, &n, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n, 2);
    assert_true(shapes[0].weight == 4 && shapes[1].weight == 2);
    free(shapes);
    assert_int_equal(fs_write(path, "{\"M\":1,\"K\":2}\n{\"M\":1}\n", 22, NULL), KW_OK);
    assert_int_equal(task_shapes_load(t, path, &shapes, &n, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "shapes.json:2: dim K is not given"));
    assert_int_equal(fs_write(path, "{\"M\":1,\"K\":2}\n{\"M\":", 19, NULL), KW_OK);
    assert_int_equal(task_shapes_load(t, path, &shapes, &n, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "shapes.json:2:"));
    assert_int_equal(fs_write(path, "\n", 1, NULL), KW_OK);
    assert_int_equal(task_shapes_load(t, path, &shapes, &n, &err), KW_BAD_INPUT);
    strb many = STRB_INIT; /* minutes, if it grew with the square */
    for (int i = 1; i <= 200000; i++)
        strb_printf(&many, "%s{\"M\":%d,\"K\":2}", i > 1 ? "," : "[", i);
    strb_add(&many, "]");
    assert_int_equal(fs_write(path, strb_text(&many), many.length, NULL), KW_OK);
    assert_int_equal(task_shapes_load(t, path, &shapes, &n, &err), KW_OK);
    assert_int_equal(n, 200000);
    free(shapes);
    strb_clear(&many);
    fs_remove_tree(folder);
    free(path);
    free(folder);
    task_free(t);
}

static void counts_elements_and_costs(void **state)
{
    (void)state;
    task *t = good(GOOD);
    task_types types;
    task_shape s;
    kw_error err = {0};
    uint64_t n;
    task_types_parse(t, NULL, &types, NULL);
    assert_int_equal(task_shape_parse(t, "M=3,K=5,lda=8", &s, &err), KW_OK);
    assert_int_equal(task_tensor_elements(t, &types, &s, 0, &n, &err), KW_OK);
    assert_int_equal(n, 2 * 8 + 5);
    assert_true(task_flops(t, &types, &s) == 30);
    assert_true(task_bytes(t, &types, &s) == 60); /* alpha is 1 when timed */
    assert_true(task_reduction_length(t, &types, &s) == 1);
    s.dims[1] = 0;
    assert_int_equal(task_tensor_elements(t, &types, &s, 0, &n, &err), KW_OK);
    assert_int_equal(n, 0);
    s = (task_shape){{INT64_MAX / 2, 5, INT64_MAX / 2}, 1};
    assert_int_equal(task_tensor_elements(t, &types, &s, 0, &n, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "tensor A"));
    task_free(t);
    t = good(HEAD TENSORS "}");
    assert_true(isnan(task_flops(t, &types, &s)));
    task_free(t);
}

static void finds_tasks_by_name(void **state)
{
    (void)state;
    char *folder = fs_temp_folder("kw-task", NULL), *sub = fs_join(folder, "tasks/demo"), *old = getcwd(NULL, 0);
    char *path = fs_join(sub, "task.json");
    kw_error err = {0};
    task *t = NULL;
    char **names;
    size_t n;
    assert_int_equal(fs_make_folders(sub, &err), KW_OK);
    assert_int_equal(fs_write(path, GOOD, strlen(GOOD), NULL), KW_OK);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(task_load("demo", &t, &err), KW_OK);
    task_free(t);
    assert_int_equal(task_load("tasks/demo", &t, &err), KW_OK);
    task_free(t);
    assert_int_equal(task_load("demos", &t, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "did you mean \"demo\"?"));
    assert_int_equal(task_load("tasks/none", &t, &err), KW_BAD_INPUT);
    assert_int_equal(task_names(&names, &n, &err), KW_OK);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || strcmp(names[i], "demo") == 0;
        free(names[i]);
    }
    free(names);
    assert_true(found);
    assert_int_equal(rename("tasks/demo", "tasks/other"), 0);
    assert_int_equal(task_load("other", &t, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "the folder is called other"));
    assert_int_equal(chdir(old), 0);
    fs_remove_tree(folder);
    free(path);
    free(sub);
    free(old);
    free(folder);
}

static void knows_built_in_references(void **state)
{
    (void)state;
    assert_null(reference_builtin("nobody_reference"));
    for (const reference_entry *e = reference_table; e->function_name != NULL; e++) {
        assert_true(reference_builtin(e->function_name) == e->function);
        assert_true(reference_is_builtin(e->function_name, (const char *)e->source, e->length));
        assert_false(reference_is_builtin(e->function_name, "x", 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_task),
        cmocka_unit_test(refuses_bad_tasks),
        cmocka_unit_test(finds_a_users_reference),
        cmocka_unit_test(hash_ignores_what_does_not_decide_numbers),
        cmocka_unit_test(chooses_types),
        cmocka_unit_test(reads_shapes),
        cmocka_unit_test(loads_files_of_shapes),
        cmocka_unit_test(counts_elements_and_costs),
        cmocka_unit_test(finds_tasks_by_name),
        cmocka_unit_test(knows_built_in_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
