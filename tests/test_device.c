/* What the device table does without a device: describing, choosing, comparing, reading event times. */
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_json_round_trip(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d = NULL;
    assert_int_equal(device_open("fake:1", &d, &err), KW_OK);
    json *j = device_info_to_json(device_describe(d));
    device_info back;
    strb a = STRB_INIT, b = STRB_INIT;
    assert_int_equal(device_info_from_json(j, &back, &err), KW_OK);
    json *again = device_info_to_json(&back);
    json_print(j, &a);
    json_print(again, &b);
    assert_string_equal(strb_text(&a), strb_text(&b));
    assert_string_equal(back.key, "fake/scripted/small/4");
    assert_int_equal(back.limits.max_work_item_size[2], 64);
    json_free(j);
    json_free(again);
    strb_clear(&a);
    strb_clear(&b);
    j = json_new_object();
    assert_int_equal(device_info_from_json(j, &back, &err), KW_BAD_INPUT);
    json_free(j);
    device_close(d);
}

static const device_info some[] = {
    {.spec = "opencl:0:0",
     .name = "pthread-haswell",
     .platform = "Portable Computing Language",
     .key = "pocl/haswell/x/4",
     .limits = {.is_cpu = 1}},
    {.spec = "opencl:1:0",
     .name = "NVIDIA H200",
     .platform = "NVIDIA CUDA",
     .key = "nvidia/sm_90/h200/132",
     .limits = {.is_gpu = 1}},
    {.spec = "opencl:1:1",
     .name = "NVIDIA H200 NVL",
     .platform = "NVIDIA CUDA",
     .key = "nvidia/sm_90/h200-nvl/132",
     .limits = {.is_gpu = 1}},
    {.spec = "opencl:2:0",
     .name = "Oclgrind Simulator",
     .platform = "Oclgrind",
     .key = "oclgrind/s/s/1",
     .simulated = true,
     .limits = {.is_gpu = 1, .is_cpu = 1}},
};

static void choose(const char *wanted, size_t n, kw_code code, size_t index, const char *message)
{
    kw_error err = {0};
    size_t got = 99;
    assert_int_equal(device_choose(some, n, wanted, &got, &err), code);
    if (code == KW_OK)
        assert_int_equal(got, index);
    if (message && !strstr(err.message, message))
        fail_msg("message \"%s\" lacks \"%s\"", err.message, message);
}

static void test_choose(void **state)
{
    (void)state;
    unsetenv("KERNWRIGHT_DEVICE");
    choose(NULL, 4, KW_OK, 1, NULL);
    choose("", 1, KW_OK, 0, NULL);
    choose("opencl:1:1", 4, KW_OK, 2, NULL);
    choose("2", 4, KW_OK, 2, NULL);
    choose("nvidia h200", 4, KW_OK, 1, NULL);
    choose("NVL", 4, KW_OK, 2, NULL);
    choose("portable", 4, KW_OK, 0, NULL);
    choose("nvidia/sm_90/h200/132", 4, KW_OK, 1, NULL);
    choose("cuda", 4, KW_BAD_INPUT, 0, "fits more than one device");
    choose("radeon", 4, KW_BAD_INPUT, 0,
           "part of no device's name; there are: 0 = opencl:0:0 \"pthread-haswell\", 1 = ");
    choose("opencl:0:7", 1, KW_BAD_INPUT, 0,
           "there is no device opencl:0:7; there is one device: 0 = opencl:0:0 \"pthread-haswell\"");
    choose("9", 4, KW_BAD_INPUT, 0, "device index 9 is out of range");
    choose(NULL, 0, KW_ENVIRONMENT, 0, "pocl-opencl-icd");
    setenv("KERNWRIGHT_DEVICE", "oclgrind", 1);
    choose(NULL, 4, KW_OK, 3, NULL);
    choose("0", 4, KW_OK, 0, NULL);
    setenv("KERNWRIGHT_DEVICE", "opencl:9:9", 1);
    choose("", 4, KW_BAD_INPUT, 0, "KERNWRIGHT_DEVICE: there is no device opencl:9:9");
    unsetenv("KERNWRIGHT_DEVICE");
}

static void test_simulators_are_the_last_choice(void **state)
{
    (void)state;
    kw_error err = {0};
    size_t index = 9;
    const device_info list[] = {some[3], some[0]};
    assert_int_equal(device_choose(list, 2, NULL, &index, &err), KW_OK);
    assert_int_equal(index, 1);
    assert_int_equal(device_choose(list, 1, NULL, &index, &err), KW_OK);
    assert_int_equal(index, 0);
}

static void test_open_nonsense(void **state)
{
    (void)state;
    kw_error err = {0};
    device *d;
    assert_int_equal(device_open("fake:2", &d, &err), KW_BAD_INPUT);
    assert_int_equal(device_open("vulkan:0", &d, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "\"vulkan:0\" names no device"));
    assert_null(d);
    device_close(NULL);
}

static void test_event_differences(void **state)
{
    (void)state;
    assert_true(device_event_ns(100, 350) == 250);
    assert_true(device_event_ns(350, 100) == 0);
    assert_true(device_event_ns(7, 7) == 0);
    assert_true(device_event_ns(UINT64_MAX - 9, 10) == 20); /* the counter went round */
}

static void test_fault_names(void **state)
{
    (void)state;
    assert_string_equal(device_fault_name(DEVICE_FAULT_NONE), "none");
    assert_string_equal(device_fault_name(DEVICE_FAULT_DOES_NOT_FIT), "does_not_fit");
    assert_string_equal(device_fault_name(DEVICE_FAULT_LOST), "lost");
}

static void test_compare_memory(void **state)
{
    (void)state;
    static unsigned char a[10000], b[10000];
    uint64_t n = 0, first = 77;
    device_compare_memory(a, b, sizeof a, 0, &n, &first);
    assert_int_equal(n, 0);
    assert_int_equal(first, 77);
    b[4094] = b[4095] = b[4096] = b[9999] = 1; /* one word, the next one, the last one */
    device_compare_memory(a, b, sizeof a, 1000, &n, &first);
    assert_int_equal(n, 3);
    assert_int_equal(first, 1000 + 4092);
    device_compare_memory(a, b, 4094, 0, &n, &first); /* adds, and the first stays */
    assert_int_equal(n, 3);
    device_compare_memory(a, b, 4095, 0, &n, &first); /* a tail of three bytes is a word */
    assert_int_equal(n, 4);
    assert_int_equal(first, 1000 + 4092);
}

static void test_types(void **state)
{
    (void)state;
    assert_int_equal(device_type_of_name("float"), DTYPE_F32);
    assert_int_equal(device_type_of_name("unsigned int"), DTYPE_U32);
    assert_int_equal(device_type_of_name("long"), DTYPE_I64);
    assert_int_equal(device_type_of_name("float4"), DTYPE_NONE);
    assert_int_equal(device_type_of_name("float*"), DTYPE_NONE);
    assert_int_equal(device_type_of_name(""), DTYPE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_simulators_are_the_last_choice),
        cmocka_unit_test(test_open_nonsense),
        cmocka_unit_test(test_event_differences),
        cmocka_unit_test(test_fault_names),
        cmocka_unit_test(test_compare_memory),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
