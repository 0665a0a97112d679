/* The space of a template: device limits, types and the shape are known in its conditions. */
#include "tuner/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "/*kernwright {\"task\": \"gemm\", \"language\": \"opencl\",\n"
                           "\"params\": {\"TM\": {\"values\": [16, 32, 64, 128]}, \"RM\": {\"values\": [1, 2, 3, 4]},\n"
                           "  \"VEC\": {\"values\": [1, 2, 4]}, \"MODE\": {\"values\": [\"a\", \"b\"]}},\n"
                           "\"constraints\": [\"TM % RM == 0\", \"TM // RM <= device.max_work_group_size\",\n"
                           "  \"TM * VEC * sizeof(T) <= device.local_mem_bytes\"],\n"
                           "\"requires\": [\"K % VEC == 0\"],\n"
                           "\"launches\": [{\"kernel\": \"k\", \"args\": [\"M\"], \"local\": [\"TM//RM\"], \"groups\": "
                           "[\"ceil_div(M, TM)\"]}]\n"
                           "} */\n"
                           "kernel void k(int M)\n{\n}\n";

typedef struct fixture {
    task *gemm;
    template *source;
    task_types types;
    device_limits limits;
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    kw_error err = {0};
    if (task_load("tests/golden/tasks/gemm", &f.gemm, &err) != KW_OK ||
        template_parse(text, strlen(text), "k.cl", f.gemm, &f.source, &err) != KW_OK ||
        task_types_parse(f.gemm, "", &f.types, &err) != KW_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    f.limits = (device_limits){.max_work_group_size = 32, .local_mem_bytes = 1024};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    template_free(f.source);
    task_free(f.gemm);
    return 0;
}

/* What template_rejects says, for all combinations. */
static uint64_t count_by_rejection(const task_shape *shape, const space *s)
{
    const template *p = f.source;
    value env[256];
    assert_true(expr_scope_size(p->scope) <= 256);
    uint64_t n = 0;
    for (uint32_t i = 0; i < 4 * 4 * 3 * 2; i++) {
        const uint32_t config[4] = {i % 4, i / 4 % 4, i / 16 % 3, i / 48};
        template_fill(p, &f.types, &f.limits, shape, config, env);
        bool valid = template_rejects(p, env, shape != NULL, NULL) == NULL;
        assert_true(space_contains(s, config) == valid);
        n += valid;
    }
    return n;
}

static void counts_are_those_of_the_template(void **state)
{
    (void)state;
    kw_error err = {0};
    task_shape even, odd;
    assert_int_equal(task_shape_parse(f.gemm, "M=64,N=64,K=64", &even, &err), KW_OK);
    assert_int_equal(task_shape_parse(f.gemm, "M=64,N=64,K=63", &odd, &err), KW_OK);
    const task_shape *shapes[] = {NULL, &even, &odd};
    uint64_t count[3];
    for (int i = 0; i < 3; i++) {
        space *s = NULL;
        if (space_of_template(f.source, &f.types, &f.limits, shapes[i], &s, &err) != KW_OK)
            fail_msg("%s", err.message);
        count[i] = space_count(s);
        assert_int_equal(space_params(s), 4);
        assert_string_equal(space_param_at(s, 3)->name, "MODE");
        assert_true(count_by_rejection(shapes[i], s) == count[i]);
        space_free(s);
    }
    assert_true(count[0] == count[1]);
    assert_true(count[2] > 0 && count[2] < count[1]); /* VEC 1 only */
}

static void a_small_device_leaves_nothing(void **state)
{
    (void)state;
    kw_error err = {0};
    space *s = NULL;
    device_limits small = f.limits;
    small.local_mem_bytes = 16;
    assert_int_equal(space_of_template(f.source, &f.types, &small, NULL, &s, &err), KW_FAILED);
    assert_null(s);
    assert_non_null(strstr(err.message, "'TM * VEC * sizeof(T) <= device.local_mem_bytes'"));
}

static void limits_are_needed(void **state)
{
    (void)state;
    kw_error err = {0};
    space *s = NULL;
    assert_int_equal(space_of_template(f.source, &f.types, NULL, NULL, &s, &err), KW_BAD_INPUT);
    task_shape large;
    assert_int_equal(task_shape_parse(f.gemm, "M=65536,N=65536,K=4", &large, &err), KW_OK);
    assert_int_equal(space_of_template(f.source, &f.types, &f.limits, &large, &s, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "rejects every combination: indices must fit in 32 bits")); /* not: relax it */
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_template),
        cmocka_unit_test(a_small_device_leaves_nothing),
        cmocka_unit_test(limits_are_needed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
