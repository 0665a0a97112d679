/* Programs that come out of the cache behave like those that were compiled. */
#include "base/cache.h"
#include "base/fs.h"
#include "base/mem.h"
#include "device/opencl.h"
#include "device/opencl_cache.h"
#include "tests/support_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include <cmocka.h>

static const char program[] = "kernel void add(global float *y, float a, local float *t, int n)\n"
                              "{\n"
                              "    int i = get_global_id(0);\n"
                              "    t[get_local_id(0)] = y[i];\n"
                              "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                              "    if (i < n)\n"
                              "        y[i] = t[get_local_id(0)] + a;\n"
                              "}\n"
                              "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global float *y)\n"
                              "{\n"
                              "    y[get_global_id(0)] = 2;\n"
                              "}\n";

static device *open_device_with_cache(void)
{
    device_info *list;
    size_t n, index;
    device *d = NULL;
    kw_error err = {0};
    setenv("KERNWRIGHT_CACHE", test_folder, 1);
    setenv("KERNWRIGHT_BINARY_CACHE", "on", 0);
    device_list(&list, &n, NULL, &err);
    if (n > 0 && device_choose(list, n, NULL, &index, &err) == KW_OK && strncmp(list[index].spec, "opencl:", 7) == 0)
        assert_int_equal(device_open(list[index].spec, &d, &err), KW_OK);
    free(list);
    return d;
}

/* Builds, checks arguments as compiled, runs, and frees; says whether it came out of the cache. */
static bool build_and_run(device *d, const char *source, const char *options, int64_t *registers)
{
    static const char *const names[] = {"add", "fixed"};
    device_program *p;
    device_build_info info;
    kw_error err = {0};
    if (device_build(d, source, options, names, 2, &p, &info, &err) != KW_OK)
        fail_msg("%s", err.message);
    device_buffer *b = device_alloc(d, 64, &err);
    float y[16] = {0}, a = 1.5f;
    int32_t n = 16;
    assert_int_equal(device_write(d, b, 0, y, sizeof y, &err), KW_OK);
    device_arg args[4] = {{.kind = DEVICE_ARG_BUFFER, .buffer = b},
                          {.kind = DEVICE_ARG_BYTES, .n = 4, .type = DTYPE_F32},
                          {.kind = DEVICE_ARG_LOCAL, .n = 16},
                          {.kind = DEVICE_ARG_BYTES, .n = 4, .type = DTYPE_I32}};
    memcpy(args[1].bytes, &a, sizeof a);
    memcpy(args[3].bytes, &n, sizeof n);
    device_launch l = {.kernel = "add", .rank = 1, .local = {4}, .groups = {4}, .args = args, .n_args = 4};
    assert_int_equal(device_check_args(d, p, &l, &err), KW_OK);
    if (device_run(d, p, &l, 1, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(device_read(d, b, 0, y, sizeof y, &err), KW_OK);
    for (size_t i = 0; i < 16; i++)
        assert_true(y[i] == 1.5f);
    args[1].type = DTYPE_I32; /* declared types are known as before */
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    args[1].type = DTYPE_F32;
    args[2].kind = DEVICE_ARG_BYTES;
    assert_int_equal(device_check_args(d, p, &l, &err), KW_BAD_INPUT);
    device_launch fixed = {.kernel = "fixed", .rank = 1, .local = {4}, .groups = {4}, .args = args, .n_args = 1};
    assert_int_not_equal(device_run(d, p, &fixed, 1, &err), KW_OK); /* and so is the group it asks for */
    device_free(d, b);
    bool cached = info.from_cache;
    if (registers)
        *registers = info.registers;
    device_build_info_clear(&info);
    device_program_free(d, p);
    return cached;
}

static char *only_entry(void)
{
    char **names, *path = NULL, *programs = fs_join(test_folder, "programs");
    size_t n;
    kw_error err;
    assert_int_equal(fs_list(programs, ".kwp", &names, &n, &err), KW_OK);
    assert_int_equal(n, 1);
    path = fs_join(programs, names[0]);
    free(names[0]);
    free(names);
    free(programs);
    return path;
}

static void test_programs(void **state)
{
    (void)state;
    char *before = getenv("KERNWRIGHT_CACHE") ? mem_strdup(getenv("KERNWRIGHT_CACHE")) : NULL;
    int64_t registers, again;
    device *d = open_device_with_cache();
    if (!d) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    assert_false(build_and_run(d, program, "", &registers));
    char *path = only_entry();
    assert_true(build_and_run(d, program, "", &again));
    assert_int_equal(again, registers);
    device_close(d);
    d = open_device_with_cache();
    assert_true(build_and_run(d, program, "", NULL));
    /* Whatever makes another binary makes another entry. */
    strb other = STRB_INIT;
    strb_printf(&other, "%s ", program);
    assert_false(build_and_run(d, strb_text(&other), "", NULL));
    assert_false(build_and_run(d, program, "-DX=1", NULL));
    strb_clear(&other);
    snprintf(d->info.driver, sizeof d->info.driver, "another");
    assert_false(build_and_run(d, program, "", NULL));
    device_close(d);
    d = open_device_with_cache();
    /* Damaged on the disk, or whole and refused by the driver: compiled again and replaced. */
    strb text = STRB_INIT;
    kw_error err;
    assert_int_equal(fs_read(path, 0, &text, &err), KW_OK);
    text.data[text.length / 2] ^= 1;
    assert_int_equal(fs_write(path, text.data, text.length, &err), KW_OK);
    assert_false(build_and_run(d, program, "", NULL));
    assert_true(build_and_run(d, program, "", NULL));
    char key[33], *programs = fs_join(test_folder, "programs");
    snprintf(key, sizeof key, "%.32s", fs_base_name(path));
    opencl_cache *c = opencl_cache_open(programs, 1 << 20);
    opencl_cache_entry e = {STRB_INIT, STRB_INIT, STRB_INIT};
    strb_add(&e.facts, "{\"registers\":1,\"spill_bytes\":2,\"kernels\":{}}");
    strb_add(&e.binary, "no program of any driver");
    opencl_cache_store(c, key, &e);
    assert_false(build_and_run(d, program, "", NULL));
    assert_true(build_and_run(d, program, "", NULL));
    opencl_cache_entry_clear(&e);
    opencl_cache_close(c);
    device_close(d);
    /* Off. */
    setenv("KERNWRIGHT_BINARY_CACHE", "off", 1);
    d = open_device_with_cache();
    assert_false(build_and_run(d, program, "", NULL));
    device_close(d);
    unsetenv("KERNWRIGHT_BINARY_CACHE");
    if (before)
        setenv("KERNWRIGHT_CACHE", before, 1);
    else
        unsetenv("KERNWRIGHT_CACHE");
    strb_clear(&text);
    free(programs);
    free(path);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
