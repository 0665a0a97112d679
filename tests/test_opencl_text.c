/* The parts of the OpenCL back end that need no device: build logs, error names, the look at PoCL's cache. */
#include "base/fs.h"
#include "base/mem.h"
#include "device/opencl.h"
#include "device/device_key_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_unwritable_cache(void **state)
{
    (void)state;
    char *before = getenv("POCL_CACHE_DIR") ? mem_strdup(getenv("POCL_CACHE_DIR")) : NULL;
    kw_error err = {0};
    strb why = STRB_INIT;
    char *folder = fs_temp_folder("kwcache", &err), *file = fs_join(folder, "file"), *below = fs_join(file, "below"),
         *fresh = fs_join(folder, "a/b");
    assert_int_equal(fs_write(file, "x", 1, &err), KW_OK);
    setenv("POCL_CACHE_DIR", below, 1);
    assert_true(opencl_cache_is_unwritable(&why));
    assert_non_null(strstr(strb_text(&why), below));
    setenv("POCL_CACHE_DIR", fresh, 1);
    assert_false(opencl_cache_is_unwritable(&why));
    assert_false(fs_is_folder(fresh)); /* looking makes nothing */
    setenv("POCL_CACHE_DIR", folder, 1);
    assert_false(opencl_cache_is_unwritable(NULL));
    if (before)
        setenv("POCL_CACHE_DIR", before, 1);
    else
        unsetenv("POCL_CACHE_DIR");
    fs_remove_tree(folder);
    free(folder);
    free(file);
    free(below);
    free(fresh);
    free(before);
    strb_clear(&why);
}

static void test_logs(void **state)
{
    (void)state;
    char line[64];
    int64_t registers, spills;
    opencl_first_line("\n\n  warning: x\nprogram.cl:3:5: error: no y\n  z\n", line, sizeof line);
    assert_string_equal(line, "program.cl:3:5: error: no y");
    opencl_first_line("\r\n note\r\n", line, sizeof line);
    assert_string_equal(line, "note");
    opencl_first_line("x\nError(s) while linking: \nCannot find symbol g\n", line, sizeof line);
    assert_string_equal(line, "Error(s) while linking: Cannot find symbol g");
    opencl_first_line("error:", line, sizeof line);
    assert_string_equal(line, "error: ");
    opencl_first_line("", line, sizeof line);
    assert_string_equal(line, "");
    opencl_parse_nvidia_log("ptxas info    : 0 bytes gmem\n"
                            "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
                            "ptxas info    : Function properties for a\n"
                            "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                            "ptxas info    : Used 32 registers, used 1 barriers, 8192 bytes smem, 380 bytes cmem[0]\n"
                            "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
                            "ptxas         .     40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads\n"
                            "ptxas info    : Used 255 registers\n",
                            &registers, &spills);
    assert_int_equal(registers, 255);
    assert_int_equal(spills, 36);
    opencl_parse_nvidia_log("", &registers, &spills);
    assert_int_equal(registers, -1);
    assert_int_equal(spills, -1);
}

static void hides(const char *log, const char *expected)
{
    char text[200];
    snprintf(text, sizeof text, "%s", log);
    opencl_hide_temporaries(text);
    assert_string_equal(text, expected);
}

static void test_temporary_names_are_hidden(void **state)
{
    (void)state;
    hides("error: /root/.cache/pocl/kcache/tempfile_1u1dYM.cl:3:51: bad\nnote: /tmp/tempfile_abcdef.cl:1:1: x",
          "error: kernel.cl:3:51: bad\nnote: kernel.cl:1:1: x");
    hides("/tempfile_ /tempfile_x y.cl /a/tempfile_:z.cl", "/tempfile_ /tempfile_x y.cl /a/tempfile_:z.cl");
    hides("", "");
}

static void test_error_names(void **state)
{
    (void)state;
    assert_string_equal(opencl_error_name(-5), "CL_OUT_OF_RESOURCES");
    assert_string_equal(opencl_error_name(CL_INVALID_WORK_GROUP_SIZE), "CL_INVALID_WORK_GROUP_SIZE");
    assert_string_equal(opencl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(opencl_error_name(-7777), "an unknown error");
}

static void test_extensions(void **state)
{
    (void)state;
    assert_true(kw_key_has_extension("cl_khr_fp64", "cl_khr_fp64"));
    assert_true(kw_key_has_extension("a cl_khr_fp64 b", "cl_khr_fp64"));
    assert_false(kw_key_has_extension("xcl_khr_fp64 cl_khr_fp64x", "cl_khr_fp64"));
    assert_false(kw_key_has_extension("", "cl_khr_fp64"));
    assert_int_equal(kw_key_cache_bytes("cl_khr_fp64", 4096), 4096);
    assert_int_equal(kw_key_cache_bytes("cl_khr_fp64 cl_nv_device_attribute_query", 4325376), 0);
    assert_int_equal(kw_key_cache_bytes("cl_amd_device_attribute_query", 16384), 0);
}

/* NVIDIA's driver promises 256 work-items for every kernel; one that was compiled for 1024 takes them. */
static void group_limit(void **state)
{
    (void)state;
    assert_int_equal(opencl_group_limit(256, (const size_t[]){1024, 1, 1}), 1024);
    assert_int_equal(opencl_group_limit(256, (const size_t[]){32, 16, 1}), 512);
    assert_int_equal(opencl_group_limit(256, (const size_t[]){8, 8, 1}), 256);
    assert_int_equal(opencl_group_limit(256, (const size_t[]){0, 0, 0}), 256);
    assert_int_equal(opencl_group_limit(0, (const size_t[]){512, 1, 1}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_limit),      cmocka_unit_test(test_unwritable_cache),
        cmocka_unit_test(test_logs),        cmocka_unit_test(test_temporary_names_are_hidden),
        cmocka_unit_test(test_error_names), cmocka_unit_test(test_extensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
