/* The worker and references: those that it compiles, none, and wrong ones. The test is the coordinator. */
#include "tests/support_worker.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tuner/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int start(void **state)
{
    test_worker *w = mem_calloc(1, sizeof *w);
    message hello;
    test_worker_start(w);
    test_worker_read(w, &hello);
    message_clear(&hello);
    *state = w;
    return 0;
}

static int end(void **state)
{
    test_worker *w = *state;
    int status = test_worker_end(w);
    free(w);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static const char own_task[] = "{\"task\":\"own\",\"dims\":{\"N\":{\"min\":1}},\"types\":{\"T\":[\"f32\"]},"
                               "\"tensors\":[{\"name\":\"x\",\"type\":\"T\",\"shape\":[\"N\"],\"access\":\"in\"},"
                               "{\"name\":\"y\",\"type\":\"T\",\"shape\":[\"N\"],\"access\":\"out\"}]%s}";

static void make_own(test_job *tj, const char *more, const char *reference_source)
{
    kw_error err;
    char text[1024];
    test_job_make(tj, "saxpy", "time_ns=50000");
    task_free(tj->t);
    snprintf(text, sizeof text, own_task, more);
    json *o = json_parse(text, strlen(text), "task.json", 1, 1, &err);
    assert_non_null(o);
    json_set_string(o, "reference_source", reference_source);
    if (task_from_json(o, "task.json", &tj->t, &err) != KW_OK)
        fail_msg("%s", err.message);
    json_free(o);
    tj->j.task = tj->t;
    tj->j.source =
        "//fake: time_ns=50000\n__kernel void fake_copy(int n, __global const float *x, __global float *y) {}";
    job_case *c = &tj->cases[0];
    assert_int_equal(task_shape_parse(tj->t, "N=300", &c->shape, &err), KW_OK);
    c->seed = 3;
    c->plan.n_launches = tj->j.n_cases = 1;
    c->plan.launches[0] = (plan_launch){.kernel = "fake_copy",
                                        .rank = 1,
                                        .local = {64, 1, 1},
                                        .groups = {5, 1, 1},
                                        .n_args = 3,
                                        .args = {{.kind = ARG_VALUE, .type = DTYPE_I32, .integer = 300},
                                                 {.kind = ARG_TENSOR, .index = 0},
                                                 {.kind = ARG_TENSOR, .index = 1}}};
}

static const char own_reference[] =
    "#include \"kw_reference.h\"\n"
    "void own_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *e, double *value, double *scale)\n"
    "{\n"
    "    (void)tensor;\n"
    "    for (size_t i = 0; i < n; i++)\n"
    "        scale[i] = value[i] = FACTOR * r->tensors[0][e[i]];\n"
    "}\n";

static void test_own_reference(void **state)
{
    test_job tj;
    job_record r;
    char source[1024];
    snprintf(source, sizeof source, "#define FACTOR 1\n%s", own_reference);
    for (int again = 0; again < 2; again++) { /* the second time from the cache */
        make_own(&tj, ",\"reference\":\"own_reference\"", source);
        assert_true(test_worker_do(*state, &tj.j, &r));
        if (r.outcome != OUTCOME_OK)
            fail_msg("%s", r.detail);
        job_record_clear(&r);
        test_job_clear(&tj);
    }
    /* A changed reference is another one. */
    snprintf(source, sizeof source, "#define FACTOR 2\n%s", own_reference);
    make_own(&tj, ",\"reference\":\"own_reference\"", source);
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_no_reference(void **state)
{
    test_job tj;
    job_record r;
    make_own(&tj, "", NULL);
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    job_record_clear(&r);
    tj.j.source = "//fake: result=oob\n__kernel void fake_copy(int n, __global const float *x, __global float *y) {}";
    assert_true(test_worker_do(*state, &tj.j, &r));
    assert_int_equal(r.outcome, OUTCOME_OUT_OF_BOUNDS); /* all else is still looked at */
    job_record_clear(&r);
    test_job_clear(&tj);
}

static void test_reference_that_does_not_compile(void **state)
{
    (void)state;
    test_worker *w;
    test_job tj;
    start((void **)&w);
    make_own(&tj, ",\"reference\":\"own_reference\"", "void own_reference(nonsense)\n");
    test_worker_refuses(w, &tj.j, KW_BAD_INPUT, "does not compile");
    free(w);
    test_job_clear(&tj);
    start((void **)&w);
    make_own(&tj, ",\"reference\":\"own_reference\"", "int something_else;\n");
    test_worker_refuses(w, &tj.j, KW_BAD_INPUT, "does not define own_reference");
    free(w);
    test_job_clear(&tj);
}

/* The folder of a task stands in the generated source; whatever its name, it stays a name. */
static void test_folder_with_any_name(void **state)
{
    (void)state;
    static const char *const names[] = {"a \"quoted\" one", "back\\slash", "two\n#error lines", "%s"};
    kw_error err;
    char *top = fs_temp_folder("kernwright-test-", &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *folder = fs_join(top, names[i]), *task_json = fs_join(folder, "task.json"),
             *reference_c = fs_join(folder, "reference.c"), text[1024], source[1024];
        snprintf(text, sizeof text, own_task, ",\"reference\":\"own_reference\"");
        /* each its own text, so that none is in the cache; the second one does not compile */
        snprintf(source, sizeof source, "#define FACTOR %zu\n%s", i + 10, own_reference);
        assert_int_equal(fs_make_folders(folder, &err), KW_OK);
        assert_int_equal(fs_write(task_json, text, strlen(text), &err), KW_OK);
        assert_int_equal(fs_write(reference_c, source, strlen(source), &err), KW_OK);
        task *t = NULL;
        if (task_load(folder, &t, &err) != KW_OK || reference_compile(t, &err) != KW_OK)
            fail_msg("%s: %s", folder, err.message);
        task_free(t);
        snprintf(source, sizeof source, "void own_reference(nonsense %zu)\n", i);
        assert_int_equal(fs_write(reference_c, source, strlen(source), &err), KW_OK);
        assert_int_equal(task_load(folder, &t, &err), KW_OK);
        assert_int_equal(reference_compile(t, &err), KW_BAD_INPUT);
        assert_non_null(strstr(err.message, "reference.c:1:")); /* the user's file */
        task_free(t);
        free(folder);
        free(task_json);
        free(reference_c);
    }
    fs_remove_tree(top);
    free(top);
}

/* Code is not loaded from where others can put it. */
static void test_folder_of_others(void **state)
{
    (void)state;
    kw_error err;
    char *good = mem_strdup(getenv("KERNWRIGHT_CACHE")), *bad = fs_temp_folder("kernwright-test-", &err);
    assert_int_equal(chmod(bad, 0777), 0);
    setenv("KERNWRIGHT_CACHE", bad, 1);
    test_worker *w;
    test_job tj;
    start((void **)&w);
    make_own(&tj, ",\"reference\":\"own_reference\"", own_reference);
    test_worker_refuses(w, &tj.j, KW_ENVIRONMENT, "set KERNWRIGHT_CACHE to a folder that only you can write");
    free(w);
    test_job_clear(&tj);
    setenv("KERNWRIGHT_CACHE", good, 1);
    fs_remove_tree(bad);
    free(bad);
    free(good);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(STDIN_FILENO, STDOUT_FILENO);
    kw_error err;
    char *cache = fs_temp_folder("kernwright-test-", &err);
    assert_non_null(cache);
    setenv("KERNWRIGHT_CACHE", cache, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("KERNWRIGHT_DATA", ".", 0); /* wherever this program was built */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_reference, start, end),
        cmocka_unit_test_setup_teardown(test_no_reference, start, end),
        cmocka_unit_test(test_reference_that_does_not_compile),
        cmocka_unit_test(test_folder_with_any_name),
        cmocka_unit_test(test_folder_of_others),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fs_remove_tree(cache);
    free(cache);
    return failed;
}
