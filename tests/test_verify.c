/* The comparison of outputs with expected values. */
#include "base/mem.h"
#include "tuner/verify.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POISON 0xff

static tensor_layout dense(dtype type, int64_t rows, int64_t columns)
{
    tensor_layout l = {.type = type, .rank = 2, .shape = {rows, columns}, .stride = {columns, 1}, .dense = true};
    l.count = l.elements = (uint64_t)(rows * columns);
    l.bytes = l.elements * dtype_bytes(type);
    return l;
}

static verify_rule rule_f32(void)
{
    return (verify_rule){.type = DTYPE_F32,
                         .compare = TASK_COMPARE_ERROR,
                         .relative = 4 * 0x1p-23,
                         .per_scale = 8 * 0x1p-23 * 8,
                         .floor = (double)FLT_MIN,
                         .exact_limit = 0x1p24};
}

/* One f32 element against one value. */
static verify_verdict one(const verify_rule *r, double got, double wanted, double scale)
{
    tensor_layout l = dense(r->type, 1, 1);
    unsigned char cell[8] = {0};
    verify_verdict v;
    memset(&v, 0, sizeof v);
    dtype_store(r->type, cell, 0, got);
    verify_values(r, &l, cell, -1, NULL, 1, &wanted, &scale, &v);
    assert_int_equal(v.compared, 1);
    return v;
}

static void test_bound(void **state)
{
    (void)state;
    verify_rule r = rule_f32();
    double bound = 4 * 0x1p-23 * 1.0 + 8 * 0x1p-23 * 8 * 100;
    assert_int_equal(one(&r, 1.0, 1.0, 100).wrong, 0);
    assert_int_equal(one(&r, 1 + bound * 0.99, 1.0, 100).wrong, 0);
    assert_int_equal(one(&r, 1 - bound * 0.99, 1.0, 100).wrong, 0);
    verify_verdict v = one(&r, 1 + bound * 1.01, 1.0, 100);
    assert_int_equal(v.wrong, 1);
    assert_true(v.worst > 1 && v.worst < 1.1);
    assert_true(v.bound > bound * 0.999 && v.bound < bound * 1.001);
    /* A larger scale allows more. */
    assert_int_equal(one(&r, 1 + bound * 1.01, 1.0, 200).wrong, 0);
}

static void test_floor(void **state)
{
    (void)state;
    verify_rule r = rule_f32();
    assert_int_equal(one(&r, 0, 0x1p-130, 0).wrong, 0); /* flushed to zero */
    assert_int_equal(one(&r, 0, 0x1p-120, 0).wrong, 1);
}

static void test_nan_and_infinities(void **state)
{
    (void)state;
    verify_rule r = rule_f32();
    const double inf = (double)INFINITY, nan_ = (double)NAN;
    assert_int_equal(one(&r, nan_, 1, 1).wrong, 1);
    assert_int_equal(one(&r, nan_, nan_, 1).wrong, 0);
    assert_int_equal(one(&r, 1, nan_, 1).wrong, 1);
    assert_int_equal(one(&r, 0, nan_, nan_).wrong, 1);
    assert_int_equal(one(&r, inf, inf, 1).wrong, 0);
    assert_int_equal(one(&r, -inf, inf, inf).wrong, 1);
    assert_int_equal(one(&r, 1, inf, inf).wrong, 1);
    assert_int_equal(one(&r, inf, 1, 1).wrong, 1);
    assert_int_equal(one(&r, nan_, 1, inf).wrong, 1);
    assert_true(isinf(one(&r, nan_, 1, 1).worst));
}

static void test_overflow_of_the_type(void **state)
{
    (void)state;
    verify_rule r = {.type = DTYPE_F16, .compare = TASK_COMPARE_ERROR, .relative = 4 * 0x1p-10, .per_scale = 0};
    assert_int_equal(one(&r, (double)INFINITY, 70000, 70000).wrong, 0);
    assert_int_equal(one(&r, -(double)INFINITY, 70000, 70000).wrong, 1);
    assert_int_equal(one(&r, (double)INFINITY, 60000, 60000).wrong, 1);
    assert_int_equal(one(&r, (double)INFINITY, 65490, 65490).wrong, 0); /* within its own error of the largest */
}

static void test_exact_compare(void **state)
{
    (void)state;
    verify_rule r = rule_f32();
    r.compare = TASK_COMPARE_EXACT;
    assert_int_equal(one(&r, 3.5, 3.5, 3.5).wrong, 0);
    verify_verdict v = one(&r, 3.5, 3.5 + 0x1p-20, 3.5);
    assert_int_equal(v.wrong, 1);
    assert_true(isinf(v.worst));
    r.compare = TASK_COMPARE_ERROR;
    r.exact = true;
    assert_int_equal(one(&r, 3.5, 3.5 + 0x1p-20, 3.5).wrong, 1);
    /* Integers: no tolerance at all. */
    verify_rule i = {.type = DTYPE_I32, .compare = TASK_COMPARE_ERROR};
    assert_int_equal(one(&i, 7, 7, 7).wrong, 0);
    assert_int_equal(one(&i, 8, 7, 100).wrong, 1);
}

static void test_when_exactness_is_demanded(void **state)
{
    (void)state;
    verify_rule r = rule_f32();
    const double whole[3] = {12, -3, 0.25}, scale[3] = {40, 3, 0.25};
    const double third[3] = {12, -3, 1.0 / 3}, huge[3] = {0x1p23, 3, 1}, ones[3] = {1, 0, 1};
    assert_true(verify_must_be_exact(&r, whole, scale, 3));
    assert_false(verify_must_be_exact(&r, third, scale, 3));
    assert_false(verify_must_be_exact(&r, whole, huge, 3)); /* partial sums could be rounded */
    assert_false(verify_must_be_exact(&r, huge, scale, 3));
    assert_false(verify_must_be_exact(&r, ones, ones, 3)); /* a softmax over one element gives 1 */
    assert_false(verify_must_be_exact(&r, (const double[1]){(double)NAN}, scale, 1));
    r.exact_limit = 0x1p11; /* half */
    assert_true(verify_must_be_exact(&r, whole, scale, 3));
    assert_false(verify_must_be_exact(&r, whole, (const double[3]){600, 3, 1}, 3));
}

/* An 8 x 6 output whose expected values are 0, 1, 2, ... */
typedef struct grid {
    tensor_layout l;
    float got[48];
    double wanted[48], scale[48];
} grid;

static grid make_grid(void)
{
    grid g = {.l = dense(DTYPE_F32, 8, 6)};
    for (size_t i = 0; i < 48; i++) {
        g.got[i] = (float)i;
        g.wanted[i] = g.scale[i] = (double)i;
    }
    return g;
}

static char *described(const grid *g, verify_verdict *v)
{
    verify_rule r = rule_f32();
    strb text = STRB_INIT;
    memset(v, 0, sizeof *v);
    verify_values(&r, &g->l, g->got, POISON, NULL, 48, g->wanted, g->scale, v);
    verify_describe("C", &g->l, v, &text);
    return strb_take(&text);
}

static void test_description(void **state)
{
    (void)state;
    grid g = make_grid();
    verify_verdict v;
    g.got[15] = 99;
    char *text = described(&g, &v);
    assert_int_equal(v.wrong, 1);
    assert_int_equal(v.first, 15);
    assert_non_null(strstr(text, "C[2][3] is 99, expected 15 (off by 84, allowed "));
    assert_non_null(strstr(text, "1 of 48 compared elements wrong"));
    assert_null(strstr(text, ", all "));
    free(text);
}

static void test_edge_pattern(void **state)
{
    (void)state;
    grid g = make_grid();
    verify_verdict v;
    for (size_t row = 2; row < 8; row++)
        g.got[row * 6 + 5] = -1;
    char *text = described(&g, &v);
    assert_non_null(strstr(text, "6 of 48"));
    assert_non_null(strstr(text, "all at the last index of dimension 2"));
    assert_non_null(strstr(text, "all within 2..7 of 0..7 in dimension 1"));
    free(text);
}

static void test_unwritten(void **state)
{
    (void)state;
    grid g = make_grid();
    verify_verdict v;
    memset(&g.got[42], POISON, 6 * sizeof(float));
    char *text = described(&g, &v);
    assert_int_equal(v.unwritten, 6);
    assert_non_null(strstr(text, "C[7][0] is "));
    assert_non_null(strstr(text, "6 of them never written"));
    assert_non_null(strstr(text, "all at the last index of dimension 1"));
    free(text);
}

static void test_sampled_elements_only(void **state)
{
    (void)state;
    grid g = make_grid();
    verify_rule r = rule_f32();
    verify_verdict v;
    const uint64_t logical[3] = {0, 20, 47};
    const double wanted[3] = {0, 20, 47};
    memset(&v, 0, sizeof v);
    g.got[30] = 1000; /* not looked at */
    verify_values(&r, &g.l, g.got, POISON, logical, 3, wanted, wanted, &v);
    assert_int_equal(v.compared, 3);
    assert_int_equal(v.wrong, 0);
    g.got[47] = 1000;
    verify_values(&r, &g.l, g.got, POISON, logical, 3, wanted, wanted, &v);
    assert_int_equal(v.wrong, 1);
    assert_int_equal(v.first, 47);
}

static void test_trusted_output(void **state)
{
    (void)state;
    enum { N = 3000 };
    verify_rule r = rule_f32();
    tensor_layout l = dense(DTYPE_F32, 3, 1000);
    float *got = mem_calloc(N, sizeof *got), *trusted = mem_calloc(N, sizeof *trusted);
    for (size_t i = 0; i < N; i++)
        got[i] = trusted[i] = 1 + (float)i;
    double bound = 2 * (4 * 0x1p-23 * 2001 + 8 * 0x1p-23 * 8 * 5000);
    verify_verdict v;
    memset(&v, 0, sizeof v);
    got[2000] = (float)(2001 + 0.9 * bound);
    verify_trusted(&r, &l, got, POISON, trusted, 5000, &v);
    assert_int_equal(v.compared, N);
    assert_int_equal(v.wrong, 0);
    assert_true(v.worst > 0.5 && v.worst <= 1);
    got[2000] = (float)(2001 + 1.2 * bound);
    got[2999] = (float)NAN;
    verify_trusted(&r, &l, got, POISON, trusted, 5000, &v);
    assert_int_equal(v.wrong, 2);
    assert_int_equal(v.first, 2000);
    free(got);
    free(trusted);
}

static void test_set(void **state)
{
    (void)state;
    tensor_layout l = dense(DTYPE_F32, 1, 4);
    verify_rule r = rule_f32();
    r.compare = TASK_COMPARE_SET;
    const double wanted[4] = {1, 2, 2, 5};
    const float shuffled[4] = {2, 5, 1, 2}, lost[4] = {2, 5, 1, 1};
    verify_verdict v;
    memset(&v, 0, sizeof v);
    verify_values(&r, &l, shuffled, POISON, NULL, 4, wanted, wanted, &v);
    assert_int_equal(v.wrong, 0);
    assert_int_equal(v.compared, 4);
    verify_values(&r, &l, lost, POISON, NULL, 4, wanted, wanted, &v);
    assert_int_equal(v.wrong, 1);
    memset(&v, 0, sizeof v);
    verify_trusted(&r, &l, shuffled, POISON, lost, 5, &v);
    assert_int_equal(v.wrong, 1);
}

static tensor_layout strided(void)
{
    /* 2 x 3 in rows of 5: flat 0..2 and 5..7, gaps at 3 and 4 */
    return (tensor_layout){.type = DTYPE_F32,
                           .rank = 2,
                           .shape = {2, 3},
                           .stride = {5, 1},
                           .count = 6,
                           .elements = 8,
                           .bytes = 32,
                           .dense = false};
}

static void test_gaps(void **state)
{
    (void)state;
    tensor_layout l = strided();
    float before[8], got[8];
    uint64_t first = 99;
    for (size_t i = 0; i < 8; i++)
        before[i] = got[i] = (float)i;
    got[0] = got[7] = -1; /* elements may change */
    assert_int_equal(verify_gaps(&l, got, before, -1, &first), 0);
    got[4] = -1;
    assert_int_equal(verify_gaps(&l, got, before, -1, &first), 1);
    assert_int_equal(first, 4);
    memset(&got[3], POISON, 2 * sizeof(float));
    assert_int_equal(verify_gaps(&l, got, NULL, POISON, &first), 0);
    got[3] = 1;
    assert_int_equal(verify_gaps(&l, got, NULL, POISON, &first), 1);
    assert_int_equal(first, 3);
}

static void test_strided_values(void **state)
{
    (void)state;
    tensor_layout l = strided();
    verify_rule r = rule_f32();
    const float got[8] = {10, 11, 12, -1, -1, 13, 14, 99};
    const double wanted[6] = {10, 11, 12, 13, 14, 15};
    verify_verdict v;
    memset(&v, 0, sizeof v);
    verify_values(&r, &l, got, POISON, NULL, 6, wanted, wanted, &v);
    assert_int_equal(v.wrong, 1);
    assert_int_equal(v.first, 5);
    const float trusted[8] = {10, 11, 12, 7, 8, 13, 14, 15};
    memset(&v, 0, sizeof v);
    verify_trusted(&r, &l, got, POISON, trusted, 15, &v);
    assert_int_equal(v.wrong, 1); /* gaps are not compared */
    assert_int_equal(v.first, 5);
}

static void test_rule_of_a_task(void **state)
{
    (void)state;
    static const char text[] =
        "{\"task\":\"try\",\"dims\":{\"M\":{\"min\":1},\"K\":{\"min\":0}},\"types\":{\"T\":[\"f16\"],\"ACC\":\"f32\"},"
        "\"tensors\":[{\"name\":\"x\",\"type\":\"T\",\"shape\":[\"M\",\"K\"],\"access\":\"in\"},"
        "{\"name\":\"y\",\"type\":\"T\",\"shape\":[\"M\"],\"access\":\"out\"}],"
        "\"error\":{\"reduction_length\":\"K\"}}";
    kw_error err;
    task *t;
    task_types types;
    task_shape shape;
    json *j = json_parse(text, strlen(text), "task.json", 1, 1, &err);
    assert_non_null(j);
    if (task_from_json(j, "task.json", &t, &err) != KW_OK)
        fail_msg("%s", err.message);
    json_free(j);
    assert_int_equal(task_types_parse(t, NULL, &types, &err), KW_OK);
    assert_int_equal(task_shape_parse(t, "M=4,K=256", &shape, &err), KW_OK);
    verify_rule r = verify_rule_of(t, &types, &shape, 1);
    assert_true(r.relative == 4 * 0x1p-10);
    assert_true(r.per_scale == 8 * 0x1p-23 * 16);
    assert_true(r.floor == 0x1p-14);
    assert_true(r.exact_limit == 0x1p11);
    assert_int_equal(task_shape_parse(t, "M=4,K=0", &shape, &err), KW_OK);
    assert_true(verify_rule_of(t, &types, &shape, 1).per_scale == 8 * 0x1p-23);
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_nan_and_infinities),
        cmocka_unit_test(test_overflow_of_the_type),
        cmocka_unit_test(test_exact_compare),
        cmocka_unit_test(test_when_exactness_is_demanded),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_edge_pattern),
        cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_sampled_elements_only),
        cmocka_unit_test(test_trusted_output),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_strided_values),
        cmocka_unit_test(test_rule_of_a_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
