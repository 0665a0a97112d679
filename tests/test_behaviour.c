/* What kind of kernel it is, from source and from PTX. */
#include "llm/behaviour.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_source(const char *source, size_t launches, int memory, int compute, int parallelism)
{
    strb why = STRB_INIT;
    behaviour b = behaviour_of_source(source, launches, &why);
    if (b.level[0] != memory || b.level[1] != compute || b.level[2] != parallelism)
        fail_msg("%d%d%d instead of %d%d%d\n%s%s", b.level[0], b.level[1], b.level[2], memory, compute, parallelism,
                 source, strb_text(&why));
    assert_false(b.from_artefact);
    strb_clear(&why);
}

static void sources(void **state)
{
    (void)state;
    expect_source("", 1, 0, 0, 0);
    expect_source("__kernel void f(int N, __global float *y)\n{\n    int i = get_global_id(0) * 4 + N;\n    y[i * 2 + "
                  "1] = 0;\n}\n",
                  1, 0, 0, 0);
    expect_source("y[i] = a * x[i] + y[i];\n", 1, 0, 1, 0);
    expect_source("float4 v = vload4(i, x);\nvstore4(v, i, y);\n", 1, 1, 1, 0);
    expect_source("__global const float4 *p = (__global const float4 *)x;\n", 1, 1, 1, 0);
    expect_source("const float4 v = *(const __local float4 *)(tile);\n__local float tile[64];\nbarrier(0);\n", 1, 2, 0,
                  1);
    /* A tile of 4 x 4 in registers: an array, or names of its own. */
    expect_source("float acc[4][4];\nfor (int i = 0; i < 4; i++) { acc[i][j] += a[i] * b[j]; }\n", 1, 0, 2, 0);
    expect_source("float acc[8][8];\nacc[i][j] += a[i] * b[j];\n", 1, 0, 3, 0);
    expect_source("c00 += a0 * b0; c01 += a0 * b1; c10 += a1 * b0; c11 += a1 * b1; c02 += a0 * b2; c12 += a1 * b2;\n",
                  1, 0, 2, 0);
    expect_source("c00 += a0 * b0; c00 += a1 * b1;\n", 1, 0, 1, 0);
    expect_source("float4 acc[8];\nacc[i] += a * b[i];\n__local float s[9];\nbarrier(0);\nfloat4 v = vload4(0, x);\n",
                  1, 3, 2, 1);
    expect_source(
        "for (int i = 0; i < n; i++) { float m2 = fmax(m, x[i]); s = s * exp(m - m2) + exp(x[i] - m2); m = m2; }\n", 1,
        0, 2, 0);
    expect_source("m = fmax(m, x);\nfor (;;) { s += exp(x[i] - m); }\n", 1, 0, 0, 0);
    expect_source("s = sub_group_reduce_add(s);\n", 1, 0, 0, 2);
    expect_source("atomic_add(p, 1);\n", 1, 0, 0, 3);
    expect_source("y[0] = 1;\n", 2, 0, 0, 3);
    expect_source("event_t e = async_work_group_copy(l, g, 4, 0);\n__local float l[4];\n", 1, 3, 0, 0);
}

/* Names, comments, texts and what the preprocessor leaves out do not count. */
static void not_fooled(void **state)
{
    (void)state;
    expect_source("/* __local barrier atomic_add vload4 */\n// sub_group_any\nint barrier_count = 0;\n", 1, 0, 0, 0);
    expect_source("#if 0\nbarrier(0);\n#if 1\natomic_add(p, 1);\n#endif\n__local float x[1];\n#endif\n", 1, 0, 0, 0);
    expect_source("#if 0\natomic_add(p, 1);\n#else\nbarrier(0);\n#endif\n", 1, 0, 0, 1);
    expect_source("const char *s = \"atomic_add barrier\";\n", 1, 0, 0, 0);
    expect_source("/* never closed atomic_add", 1, 0, 0, 0);
    expect_source("#pragma unroll\nint my_atomic_add_like = 1;\n", 1, 0, 0, 0);
}

#define HEAD "//\n// by a compiler\n//\n\n.version 8.3\n.target sm_90\n.address_size 64\n\n.visible .entry f(\n)\n{\n"

static artefact count(const char *ptx)
{
    artefact a;
    assert_true(artefact_is_ptx(ptx, strlen(ptx)));
    artefact_count_ptx(ptx, strlen(ptx), &a);
    return a;
}

static void ptx(void **state)
{
    (void)state;
    artefact a = count(HEAD "\t.shared .align 4 .b8 tile[4096];\n"
                            "\tld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
                            "$L1:\n"
                            "\tst.shared.f32 [%r1], %f1;\n"
                            "\tbar.sync \t0;\n"
                            "\t@%p1 ld.shared.v2.f32 {%f5, %f6}, [%r2];\n"
                            "\tfma.rn.f32 %f7, %f5, %f6, %f7;\n"
                            "\tfma.rn.f16x2 %r7, %r5, %r6, %r7;\n"
                            "\tex2.approx.ftz.f32 %f8, %f7;\n"
                            "\t@!%p2 bra $L1;\n"
                            "\tmax.f32 %f1, %f2, %f3;\n"
                            "$L2:\n"
                            "\tshfl.sync.bfly.b32 %r1|%p3, %r2, 1, 31, -1;\n"
                            "\tatom.global.add.f32 %f1, [%rd1], %f2;\n"
                            "\tst.global.f32 [%rd2], %f7;\n"
                            "\tret;\n}\n");
    assert_int_equal(a.kernels, 1);
    assert_int_equal(a.shared_bytes, 4096);
    assert_int_equal(a.global_loads, 4);
    assert_int_equal(a.global_stores, 1);
    assert_int_equal(a.vector_accesses, 1);
    assert_int_equal(a.shared_loads, 2);
    assert_int_equal(a.shared_stores, 1);
    assert_int_equal(a.fma, 3);
    assert_int_equal(a.special, 1);
    assert_int_equal(a.barriers, 1);
    assert_int_equal(a.shuffles, 1);
    assert_int_equal(a.atomics, 1);
    assert_true(a.online); /* the branch back is in the same block as far as labels show */
    behaviour b = behaviour_of_artefact(&a, 1, NULL);
    assert_true(b.from_artefact);
    assert_int_equal(b.level[BEHAVIOUR_MEMORY], 3);
    assert_int_equal(b.level[BEHAVIOUR_PARALLELISM], 3);
}

static void ptx_levels(void **state)
{
    (void)state;
    artefact a = {.known = true, .global_loads = 8, .fma = 4};
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_COMPUTE], 1);
    a.fma = 16;
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_COMPUTE], 2);
    a.mma = 1;
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_COMPUTE], 3);
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_MEMORY], 0);
    assert_int_equal(behaviour_of_artefact(&a, 2, NULL).level[BEHAVIOUR_PARALLELISM], 3);
}

static void not_ptx(void **state)
{
    (void)state;
    artefact a;
    assert_false(artefact_is_ptx("\x7f"
                                 "ELF",
                                 4));
    assert_false(artefact_is_ptx("", 0));
    assert_false(artefact_is_ptx("// only a comment\n", 18));
    artefact_count_ptx(".shared\n.shared .b8 x[\n@\n@%p\n;\n", 31, &a);
    assert_int_equal(a.kernels, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),    cmocka_unit_test(not_fooled), cmocka_unit_test(ptx),
        cmocka_unit_test(ptx_levels), cmocka_unit_test(not_ptx),
    };
    return cmocka_run_group_tests_name("behaviour", tests, NULL, NULL);
}
