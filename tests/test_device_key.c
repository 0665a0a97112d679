/* The device key: recorded devices, and texts that no driver should give. */
#include "base/json.h"
#include "device/device_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RECORDED "tests/recorded/devices.json"

static unsigned number_of(const json *device, const char *key)
{
    return (unsigned)json_number(json_get(device, key));
}

static void key_of_record(const json *device, char *key, size_t size)
{
    const json *cc = json_get(device, "cc");
    device_key_input in = {
        .vendor_id = number_of(device, "vendor_id"),
        .platform_name = json_text(json_get(device, "platform")),
        .vendor_name = json_text(json_get(device, "vendor")),
        .device_name = json_text(json_get(device, "name")),
        .device_version = json_text(json_get(device, "version")),
        .board_name = json_text(json_get(device, "board")),
        .compute_units = number_of(device, "units"),
        .cc_major = (unsigned)json_number(json_at(cc, 0)),
        .cc_minor = (unsigned)json_number(json_at(cc, 1)),
        .intel_ip_version = number_of(device, "intel_ip_version"),
    };
    device_key_make(&in, key, size);
}

static void test_recorded_devices(void **state)
{
    (void)state;
    kw_error err = {0};
    json *file = json_parse_file(RECORDED, &err);
    assert_string_equal(err.message, "");
    const json *devices = json_get(file, "devices");
    assert_true(json_count(devices) >= 40);
    for (size_t i = 0; i < json_count(devices); i++) {
        char key[KW_KEY_SIZE];
        key_of_record(json_at(devices, i), key, sizeof key);
        assert_string_equal(key, json_text(json_get(json_at(devices, i), "key")));
    }
    json_free(file);
}

/* Four segments of known characters, whatever the driver says. */
static void check_form(const char *key)
{
    size_t slashes = 0;
    for (const char *p = key; *p; p++) {
        slashes += *p == '/';
        assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-._+/", *p));
    }
    assert_int_equal(slashes, 3);
    assert_null(strstr(key, "//"));
}

static void test_strange_texts_keep_the_form(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",    " ",     "(",       ")",          "((((",          "a/b/c",   "\xff\xfe", "(R)(TM)", "@ 3.0GHz",
        "---", "r0p0",  "cpu-",    "pthread-",   "gfx",           "Adreno",  "\t\n\x01", "-a-",     "CPU",
        "/",   "hstr:", "HSTR: -", "HSTR: cpu-", "HSTR: cpu-a-b", "x86_64-", "..",       "7 8 9",   "nvidia"};
    size_t n = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < n * n; i++) {
        char key[KW_KEY_SIZE];
        const char *a = texts[i % n], *b = texts[i / n];
        device_key_input in = {.platform_name = i % 3 ? "Portable Computing Language" : a,
                               .vendor_name = b,
                               .device_name = a,
                               .device_version = b,
                               .board_name = b,
                               .vendor_id = i % 2 ? 0x1002 : 0,
                               .compute_units = ~0u};
        device_key_make(&in, key, sizeof key);
        check_form(key);
    }
}

static void test_nothing_known(void **state)
{
    (void)state;
    char key[KW_KEY_SIZE];
    device_key_input in = {0};
    device_key_make(&in, key, sizeof key);
    assert_string_equal(key, "unknown/unknown/unknown/0");
}

static void test_long_names_are_cut(void **state)
{
    (void)state;
    char name[4096], key[KW_KEY_SIZE], small[8];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    device_key_input in = {
        .vendor_id = 0x10de, .vendor_name = name, .device_name = name, .platform_name = name, .compute_units = 7};
    device_key_make(&in, key, sizeof key);
    check_form(key);
    assert_true(strlen(key) < sizeof key);
    assert_string_equal(strrchr(key, '/'), "/7");
    memset(small, 'x', sizeof small);
    device_key_make(&in, small, sizeof small);
    assert_string_equal(small, "nvidia/");
    device_key_make(&in, small, 1);
    assert_string_equal(small, "");
    device_key_make(&in, small, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_devices),
        cmocka_unit_test(test_strange_texts_keep_the_form),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
