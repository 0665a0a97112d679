/* What kind of kernel it is, from source and from PTX. */
#include "llm/behaviour.h"

#include "base/fs.h"
#include "base/mem.h"
#include "codegen/variant.h"

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

/* Instructions in inline assembler count: they are all that such a kernel has of them. */
static void assembler(void **state)
{
    (void)state;
    expect_source("asm volatile(\"shfl.sync.bfly.b32 %0, %1, 16, 0x1f, -1;\" : \"=f\"(y) : \"f\"(x));\n", 1, 0, 0, 2);
    expect_source("__asm__ volatile(\"{ .reg .b32 t;\\n\"\n  \"ld.global.v4.f32 {%0,%1,%2,%3}, [%4]; }\" : : );\n", 1,
                  1, 1, 0);
    expect_source("__local float t[64];\nasm(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: );\nbarrier(1);\n", 1, 3,
                  0, 1);
    expect_source("asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ...\");\n", 1, 0, 3, 0);
}

/* Names, comments, texts and what the preprocessor leaves out do not count. */
static void not_fooled(void **state)
{
    (void)state;
    expect_source("/* __local barrier atomic_add vload4 */\n// sub_group_any\nint barrier_count = 0;\n", 1, 0, 0, 0);
    expect_source("#if 0\nbarrier(0);\n#if 1\natomic_add(p, 1);\n#endif\n__local float x[1];\n#endif\n", 1, 0, 0, 0);
    expect_source("#if 0\natomic_add(p, 1);\n#else\nbarrier(0);\n#endif\n", 1, 0, 0, 1);
    expect_source("const char *s = \"atomic_add barrier\";\n", 1, 0, 0, 0);
    expect_source("const char *s = \"shfl.sync bar.sync\";\n", 1, 0, 0, 0);
    expect_source("/* shfl.sync */\nasm volatile(\"mov.u32 %0, %1;\" : \"=r\"(a) : \"r\"(b)); // mma.sync\n", 1, 0, 0,
                  0);
    expect_source("in = *(__global const float *)(x + (row + 4) * C + column);\n", 1, 0, 0, 0);
    expect_source("y = a * *(__global const float *)(x + row * C) + b;\n", 1, 0, 1, 0);
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
                            "\tfma.rn.f32 %f7, %f5, %f6, %f7;\n"
                            "\tfma.rn.f32 %f7, %f5, %f6, %f7;\n"
                            "\tfma.rn.f32 %f7, %f5, %f6, %f7;\n"
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
    assert_int_equal(a.fma, 7);
    assert_int_equal(a.special, 1);
    assert_int_equal(a.exponentials, 1);
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

/* The multiply-adds of an exact exponential are its own. */
static void ptx_of_exponentials(void **state)
{
    (void)state;
    artefact a = {.known = true, .global_loads = 2, .fma = 8, .exponentials = 2};
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_COMPUTE], 0);
    a.fma = 9;
    assert_int_equal(behaviour_of_artefact(&a, 1, NULL).level[BEHAVIOUR_COMPUTE], 1);
}

static void as_json(void **state)
{
    (void)state;
    artefact a = {.known = true, .instructions = 7, .fma = 3, .shared_bytes = 4096, .online = true}, b;
    strb text = STRB_INIT;
    json *j = artefact_to_json(&a);
    assert_true(artefact_from_json(j, &b));
    assert_memory_equal(&a, &b, sizeof a);
    artefact_print(&a, &text);
    assert_string_equal(strb_text(&text), "7 instructions, 3 multiply-adds, 4096 bytes of local memory");
    assert_false(artefact_from_json(NULL, &b));
    assert_false(b.known);
    json_free(j);
    strb_clear(&text);
}

/* ---- the template library ---- */

/* The default configuration, sizes as arguments. */
static variant *default_of(const char *path, task **t, template **p)
{
    kw_error err = {0};
    task_types types;
    variant *v = NULL;
    char *name = NULL;
    if (template_task_name(path, &name, &err) != KW_OK || task_load(name, t, &err) != KW_OK ||
        template_load(path, *t, p, &err) != KW_OK || task_types_parse(*t, NULL, &types, &err) != KW_OK)
        fail_msg("%s: %s", path, err.message);
    uint32_t *config = mem_calloc((*p)->n_params + 1, sizeof *config);
    template_default(*p, config);
    if (variant_expand(*p, &types, config, NULL, &v, &err) != KW_OK)
        fail_msg("%s: %s", path, err.message);
    free(config);
    free(name);
    return v;
}

static void compare_one(const char *folder, const char *file)
{
    char path[256];
    char *ptx_path = fs_join(folder, file);
    strb text = STRB_INIT, from_source = STRB_INIT, from_ptx = STRB_INIT;
    task *t;
    template *p;
    (void)snprintf(path, sizeof path, "templates/%.*s.cl", (int)(strlen(file) - 4), file);
    assert_int_equal(fs_read(ptx_path, 0, &text, NULL), KW_OK);
    artefact a = count(strb_text(&text));
    variant *v = default_of(path, &t, &p);
    behaviour x = behaviour_of_source(v->source, v->n_launches, &from_source),
              y = behaviour_of_artefact(&a, v->n_launches, &from_ptx);
    if (memcmp(x.level, y.level, sizeof x.level) != 0)
        fail_msg("%s: the source says\n%sthe program\n%s", path, strb_text(&from_source), strb_text(&from_ptx));
    variant_free(v);
    template_free(p);
    task_free(t);
    strb_clear(&text);
    strb_clear(&from_source);
    strb_clear(&from_ptx);
    free(ptx_path);
}

static void library_agrees(void **state)
{
    (void)state;
    static const char folder[] = "tests/recorded/ptx";
    char **names;
    size_t n;
    assert_int_equal(fs_list(folder, ".ptx", &names, &n, NULL), KW_OK);
    assert_true(n >= 10);
    for (size_t i = 0; i < n; i++) {
        compare_one(folder, names[i]);
        free(names[i]);
    }
    free(names);
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
        cmocka_unit_test(sources),
        cmocka_unit_test(not_fooled),
        cmocka_unit_test(assembler),
        cmocka_unit_test(ptx),
        cmocka_unit_test(ptx_levels),
        cmocka_unit_test(not_ptx),
        cmocka_unit_test(ptx_of_exponentials),
        cmocka_unit_test(as_json),
        cmocka_unit_test(library_agrees),
    };
    return cmocka_run_group_tests_name("behaviour", tests, NULL, NULL);
}
